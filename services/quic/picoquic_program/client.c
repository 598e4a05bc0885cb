/* The client. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "picoquic_internal.h"
#include "picoquic_utils.h"
#include "picosocks.h"
#include "program.h"

typedef struct {
    char letter;
    uint64_t count, bytes, interval;  /* of requests: how many, of which size, at which interval in us */
    struct sockaddr_storage servers[MOST_PATHS];
    int paths, opened;
    in_port_t port;  /* our own, in network order */
    picoquic_cnx_t *connection;
    stream_t *newest;
    gone_t gone;
    uint64_t began, handshake, ended, begun, answered, arrived;
    double *times_ms;
    char server_report[REPORT_LENGTH];
    int is_ready, is_complete;
} client_t;

static volatile sig_atomic_t is_ended_early;

static void end_early(int unused)
{
    (void)unused;
    is_ended_early = 1;
}

static void ask(client_t *client, char letter, uint64_t number, uint64_t to_send, uint64_t due)
{
    stream_t *stream = allocated(1, sizeof *stream);
    stream->id = picoquic_get_next_local_stream_id(client->connection, 0);
    stream->head[0] = (uint8_t)letter;
    picoformat_64(stream->head + 1, number);
    stream->to_send = to_send;
    stream->due = due;
    if (picoquic_mark_active_stream(client->connection, stream->id, 1, stream) != 0)
        fail("no stream for a request");
    client->newest = stream;
}

/* Makes the requests that are due, and tells picoquic when the next one is. */
static void make_requests(client_t *client, uint64_t now)
{
    while (client->begun < client->count) {
        uint64_t due = now;
        if (client->interval > 0)
            due = client->began + client->handshake + client->begun * client->interval;
        else if (client->begun > client->answered)
            return;
        if (due > now) {
            picoquic_set_app_wake_time(client->connection, due);
            return;
        }
        client->begun++;
        ask(client, 'd', client->bytes, 0, due);
    }
}

static void begin(client_t *client, uint64_t now)
{
    client->is_ready = 1;
    client->handshake = now - client->began;
    if (client->letter == 'q')
        make_requests(client, now);
    else
        ask(client, client->letter, client->bytes, client->letter == 'u' ? client->bytes : 0, now);
}

/* Opens what paths the server allows by now. */
static void open_paths(client_t *client, uint64_t now)
{
    while (client->opened < client->paths) {
        const struct sockaddr_storage *server = &client->servers[client->opened];
        const struct sockaddr_storage source = source_towards(server, client->port);
        const int result = picoquic_probe_new_path(client->connection, (const struct sockaddr *)server,
                                                   (const struct sockaddr *)&source, now);
        int is_allowed = 0;
        switch (result) {
        case 0:
            client->opened++;
            break;
        case PICOQUIC_ERROR_PATH_ID_BLOCKED:
        case PICOQUIC_ERROR_PATH_CID_BLOCKED:
        case PICOQUIC_ERROR_PATH_NOT_READY:
        case PICOQUIC_ERROR_PATH_LIMIT_EXCEEDED:
            picoquic_subscribe_new_path_allowed(client->connection, &is_allowed);
            if (!is_allowed)
                return;
            break;
        default:
            fail("path %d: picoquic's error %d", client->opened, result);
        }
    }
}

static void take_answer(client_t *client, stream_t *stream, uint64_t now)
{
    if (stream->head[0] == 'r') {
        memcpy(client->server_report, stream->text, sizeof client->server_report);
        client->is_complete = 1;
        return;
    }
    if (stream->head[0] == 'u')
        client->arrived = PICOPARSE_64(stream->text);
    else
        client->arrived += stream->arrived;
    client->times_ms[client->answered++] = (double)(now - stream->due) / 1e3;
    if (client->answered < client->count) {
        make_requests(client, now);
        return;
    }
    client->ended = now;
    ask(client, 'r', 0, 0, now);
}

static int on_client_event(picoquic_cnx_t *connection, uint64_t id, uint8_t *bytes, size_t length,
                           picoquic_call_back_event_t event, void *argument, void *context)
{
    client_t *client = argument;
    stream_t *stream = context;
    const uint64_t now = picoquic_current_time();
    switch (event) {
    case picoquic_callback_ready:
        open_paths(client, now);
        if (!client->is_ready)
            begin(client, now);
        return 0;
    case picoquic_callback_next_path_allowed:
        open_paths(client, now);
        return 0;
    case picoquic_callback_path_deleted:
        remember_path(connection, id, &client->gone);
        return 0;
    case picoquic_callback_app_wakeup:
        make_requests(client, now);
        return 0;
    case picoquic_callback_prepare_to_send:
        return send_some(stream, bytes, length, 1);
    case picoquic_callback_stream_data:
    case picoquic_callback_stream_fin:
        if (stream->head[0] != 'd') {
            if (stream->arrived + length >= REPORT_LENGTH)
                fail("an answer of the server is too long");
            memcpy(stream->text + stream->arrived, bytes, length);
        }
        stream->arrived += length;
        if (event == picoquic_callback_stream_fin)
            take_answer(client, stream, now);
        return 0;
    case picoquic_callback_stream_released:
        free(stream);
        return 0;
    case picoquic_callback_close:
    case picoquic_callback_application_close:
    case picoquic_callback_stateless_reset:
        if (!client->is_complete)
            fail("the connection ended: picoquic's error %llu here, %llu at the server",
                 (unsigned long long)picoquic_get_local_error(connection),
                 (unsigned long long)picoquic_get_remote_error(connection));
        return 0;
    default:
        return 0;
    }
}

static void print_result(client_t *client)
{
    char own_report[REPORT_LENGTH];
    report(client->connection, &client->gone, own_report);
    printf("{\"bytes\": %llu, \"streams\": %llu, \"seconds\": %.6f, \"handshake_s\": %.6f, \"times_ms\": [",
           (unsigned long long)client->arrived, (unsigned long long)client->count,
           (double)(client->ended - client->began) / 1e6, (double)client->handshake / 1e6);
    for (uint64_t number = 0; client->letter == 'q' && number < client->count; number++)
        printf("%s%.3f", number > 0 ? ", " : "", client->times_ms[number]);
    printf("], \"client\": %s, \"server\": %s}\n", own_report, client->server_report);
}

int transfer(const char *word, int numbers, char **words, int paths)
{
    client_t client = {.letter = *word == 'r' ? 'q' : *word, .count = 1, .paths = paths, .opened = 1};
    if (numbers == 3) {
        client.count = number_of(words[0]);
        client.interval = number_of(words[2]);
    }
    client.bytes = number_of(words[numbers == 3]);
    const char *certificate = words[numbers], *algorithm = words[numbers + 1];
    for (int number = 0; number < paths; number++)
        client.servers[number] = address_of(words[numbers + 2 + number]);
    client.times_ms = allocated(client.count, sizeof *client.times_ms);

    picoquic_quic_t *quic = context_of(NULL, NULL, NULL, NULL, certificate, algorithm, paths);
    const int udp = open_socket(client.servers[0].ss_family, 0, quic);
    struct sockaddr_storage own;
    picoquic_get_local_address(udp, &own);
    client.port = ((const struct sockaddr_in *)&own)->sin_port;  /* in the same place in IPv6 */
    client.began = picoquic_current_time();
    client.connection = picoquic_create_client_cnx(quic, (struct sockaddr *)&client.servers[0], client.began, 0,
                                                   "localhost", ALPN, on_client_event, &client);
    if (client.connection == NULL)
        fail("no connection to the server");
    signal(SIGTERM, end_early);
    while (!client.is_complete && !is_ended_early)
        go_on(quic, udp);
    if (!client.is_complete && client.newest == NULL)
        fail("the transfer was ended before it began");
    if (!client.is_complete) {
        client.ended = picoquic_current_time();
        client.arrived = client.letter == 'u' ? client.bytes - client.newest->to_send : client.newest->arrived;
        client.count = client.letter == 'q' ? client.answered : client.count;
        strcpy(client.server_report, "null");
        client.is_complete = 1;
    }
    print_result(&client);
    picoquic_close(client.connection, 0);
    send_all(quic, udp);
    picoquic_free(quic);
    close(udp);
    free(client.times_ms);
    return 0;
}
