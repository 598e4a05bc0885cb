/* Transfers over QUIC with picoquic: a server, and a client that downloads, uploads or makes requests, and reports as
 * JSON.
 *
 *     quic_picoquic server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS
 *     quic_picoquic download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...
 *     quic_picoquic requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...
 *
 * The client connects to the first address, and opens a path to each of the others. A transfer has one stream, a
 * request a stream of its own. A stream begins with a letter and a number: `d` asks for so many bytes, `u` announces
 * some, `r` asks for the server's report. SIGTERM ends a transfer early; `bytes` are then those of the stream that were
 * sent or have come so far, and there is no report of the server.
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "picoquic.h"
#include "picoquic_internal.h"
#include "picosocks.h"
#include "picoquic_utils.h"

enum { MOST_PATHS = 8, REQUEST_LENGTH = 9, REPORT_LENGTH = 1 << 13, MOST_CONNECTIONS = 64 };
enum { AT_ONCE = 32, DATAGRAM_LENGTH = 1 << 11, CONTROL_LENGTH = 1 << 8 };
enum { LOSS_CHECK_US = 100000, LONGEST_WAIT_US = 1000000 };

/* A window for 1 Gbit/s and 100 ms; picoquic gives the peer more credit only when half of it is used. */
static const uint64_t WINDOW = 16 << 20;
static const char ALPN[] = "flightpath";
static const char USAGE[] = "quic_picoquic server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS\n"
                            "quic_picoquic download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...\n"
                            "quic_picoquic requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...\n";

/* One end of a stream: a request and its answer. */
typedef struct {
    uint64_t id;
    uint8_t head[REQUEST_LENGTH];  /* of the request: sent by the client, read by the server */
    size_t head_length;            /* how much of it was sent or read so far */
    uint64_t to_send;              /* bytes without meaning that follow */
    uint64_t arrived;              /* bytes so far, without the head */
    uint64_t due;                  /* when a request was due, in us */
    uint8_t text[REPORT_LENGTH];   /* an answer that has a meaning */
} stream_t;

/* The part of a report about paths that are gone. */
typedef struct {
    char paths[REPORT_LENGTH];
    size_t length;
} gone_t;

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

static void fail(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
    fputc('\n', stderr);
    exit(1);
}

static void *allocated(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        fail("no memory");
    return memory;
}

static uint64_t number_of(const char *text)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        fail("%s is no number", text);
    return number;
}

static struct sockaddr_storage address_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    if (colon == NULL)
        fail("%s has no port", endpoint);
    const int is_bracketed = *endpoint == '[';
    char host[INET6_ADDRSTRLEN] = "";
    const size_t length = (size_t)(colon - endpoint) - (is_bracketed ? 2 : 0);
    if (length >= sizeof host)
        fail("%s is no address", endpoint);
    memcpy(host, endpoint + is_bracketed, length);
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        fail("%s is no address", endpoint);
    struct sockaddr_storage address = {0};
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The address from which the kernel would send to a server, with our port. */
static struct sockaddr_storage source_towards(const struct sockaddr_storage *server, in_port_t port)
{
    struct sockaddr_storage source = {0};
    socklen_t length = sizeof source;
    const int probe = socket(server->ss_family, SOCK_DGRAM, 0);
    if (probe < 0 || connect(probe, (const struct sockaddr *)server, length_of(server)) != 0 ||
        getsockname(probe, (struct sockaddr *)&source, &length) != 0)
        fail("no way to an address of the server");
    close(probe);
    if (source.ss_family == AF_INET)
        ((struct sockaddr_in *)&source)->sin_port = port;
    else
        ((struct sockaddr_in6 *)&source)->sin6_port = port;
    return source;
}

/* Adds the counters of a path, as a sender, to a report; returns the report's new length. */
static size_t add_path(picoquic_cnx_t *connection, picoquic_path_t *path, char *text, size_t used)
{
    picoquic_path_quality_t quality;
    if (!path->first_tuple->challenge_verified ||
        picoquic_get_path_quality(connection, path->unique_path_id, &quality) != 0)
        return used;
    used += (size_t)snprintf(
        text + used, REPORT_LENGTH - used,
        "%s{\"congestion_control\": \"%s\", \"rtt_ms\": %.3f, \"sent_packets\": %llu, \"lost_packets\": %llu, "
        "\"spurious_losses\": %llu, \"sent_bytes\": %llu, \"mtu\": %zu}",
        used > 0 ? ", " : "", connection->congestion_alg->congestion_algorithm_id, (double)quality.rtt / 1e3,
        (unsigned long long)quality.sent, (unsigned long long)quality.lost,
        (unsigned long long)quality.spurious_losses, (unsigned long long)quality.bytes_sent, path->send_mtu);
    if (used >= REPORT_LENGTH)
        fail("the report of %d paths is too long", connection->nb_paths);
    return used;
}

/* What this end knows of a connection: of its paths, also of those that picoquic has given up. */
static void report(picoquic_cnx_t *connection, const gone_t *gone, char *text)
{
    char paths[REPORT_LENGTH];
    size_t used = gone->length;
    memcpy(paths, gone->paths, sizeof paths);
    for (int number = 0; number < connection->nb_paths; number++)
        used = add_path(connection, connection->path[number], paths, used);
    snprintf(text, REPORT_LENGTH, "{\"multipath\": %s, \"paths\": [%.*s]}",
             connection->is_multipath_enabled ? "true" : "false", (int)used, paths);
}

static void remember_path(picoquic_cnx_t *connection, uint64_t id, gone_t *gone)
{
    for (int number = 0; number < connection->nb_paths; number++)
        if (connection->path[number]->unique_path_id == id)
            gone->length = add_path(connection, connection->path[number], gone->paths, gone->length);
}

/* Writes what picoquic has room for: the rest of the head, then bytes without meaning. */
static int send_some(stream_t *stream, void *place, size_t room, int has_head)
{
    const size_t head = has_head ? REQUEST_LENGTH - stream->head_length : 0;
    const size_t size = head + stream->to_send < room ? head + (size_t)stream->to_send : room;
    const size_t of_head = head < size ? head : size;
    const int is_last = size == head + stream->to_send;
    uint8_t *buffer = picoquic_provide_stream_data_buffer(place, size, is_last, !is_last);
    if (buffer == NULL)
        return -1;
    if (has_head)
        memcpy(buffer, stream->head + stream->head_length, of_head);
    memset(buffer + of_head, 0, size - of_head);
    stream->head_length += of_head;
    stream->to_send -= size - of_head;
    return 0;
}

static picoquic_quic_t *context_of(picoquic_stream_data_cb_fn on_event, void *argument, const char *certificate,
                                   const char *key, const char *trusted, const char *algorithm, int paths)
{
    picoquic_register_all_congestion_control_algorithms();
    if (picoquic_get_congestion_algorithm(algorithm) == NULL)
        fail("picoquic has no congestion control %s", algorithm);
    picoquic_quic_t *quic = picoquic_create(MOST_CONNECTIONS, certificate, key, trusted, ALPN, on_event, argument, NULL,
                                            NULL, NULL, picoquic_current_time(), NULL, NULL, NULL, 0);
    if (quic == NULL)
        fail("picoquic does not take the certificate %s", certificate != NULL ? certificate : trusted);
    picoquic_set_default_congestion_algorithm_by_name(quic, algorithm);
    /* It would go on with packets of 1252 bytes: it looks for the largest only if it sees enough data queued, and there
     * is never any, since it asks for data when it has room. */
    picoquic_set_default_pmtud_policy(quic, picoquic_pmtud_required);
    picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_data, WINDOW);
    picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_stream_data_bidi_local, WINDOW);
    picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_stream_data_bidi_remote, WINDOW);
    if (paths > 1) {
        picoquic_enable_path_callbacks_default(quic, 1);
        picoquic_set_default_multipath_option(quic, 1);
        picoquic_set_default_tp_value(quic, picoquic_tp_initial_max_path_id, (uint64_t)paths);
    }
    return quic;
}

static int open_socket(sa_family_t family, int port, uint8_t ecn)
{
    int receives, sends;
    const int udp = socket(family, SOCK_DGRAM, 0);
    if (udp < 0 || picoquic_socket_set_ecn_options_ex(udp, family, &receives, &sends, ecn) != 0 ||
        picoquic_socket_set_pkt_info(udp, family) != 0 || picoquic_bind_to_port(udp, family, port) != 0 ||
        picoquic_socket_set_pmtud_options(udp, family) != 0)
        fail("no UDP socket at port %d", port);
    return udp;
}

/* Gives picoquic what has arrived, several datagrams at once. */
static void receive(picoquic_quic_t *quic, int udp)
{
    static uint8_t bytes[AT_ONCE][DATAGRAM_LENGTH], control[AT_ONCE][CONTROL_LENGTH];
    struct mmsghdr messages[AT_ONCE] = {0};
    struct sockaddr_storage senders[AT_ONCE];
    struct iovec places[AT_ONCE];
    for (int number = 0; number < AT_ONCE; number++) {
        places[number] = (struct iovec){bytes[number], DATAGRAM_LENGTH};
        messages[number].msg_hdr = (struct msghdr){
            .msg_name = &senders[number],
            .msg_namelen = sizeof senders[number],
            .msg_iov = &places[number],
            .msg_iovlen = 1,
            .msg_control = control[number],
            .msg_controllen = CONTROL_LENGTH,
        };
    }
    const int count = recvmmsg(udp, messages, AT_ONCE, MSG_DONTWAIT, NULL);
    const uint64_t now = picoquic_current_time();
    picoquic_cnx_t *first = NULL;
    for (int number = 0; number < count; number++) {
        struct sockaddr_storage receiver = {0};
        int interface = 0;
        unsigned char ecn = 0;
        picoquic_socks_cmsg_parse(&messages[number].msg_hdr, &receiver, &interface, &ecn, NULL);
        picoquic_incoming_packet_ex(quic, bytes[number], messages[number].msg_len, (struct sockaddr *)&senders[number],
                                    (struct sockaddr *)&receiver, interface, ecn, &first, now);
    }
}

/* Sends what picoquic has to send now, with GSO. What the kernel does not take is a lost datagram, as elsewhere:
 * picoquic's own loop says then that the path is gone, and a connection with no other path ends.
 *
 * After each batch picoquic is asked again before long, even if it wants to wait: if a batch ends because the window is
 * full, it has set no timer for losses (1.1.53: picoquic_prepare_packet_ready_fast does not look at what is
 * unacknowledged). If the path is cut then, nothing is sent until the idle timeout. */
static void send_all(picoquic_quic_t *quic, int udp)
{
    static uint8_t bytes[UINT16_MAX];
    const uint64_t now = picoquic_current_time();
    for (;;) {
        struct sockaddr_storage peer, source = {0};
        picoquic_connection_id_t id;
        picoquic_cnx_t *connection = NULL;
        size_t length = 0, packet = 0;
        int interface = 0, error = 0;
        if (picoquic_prepare_next_packet_ex(quic, now, bytes, sizeof bytes, &length, &peer, &source, &interface, &id,
                                            &connection, &packet) != 0 ||
            length == 0)
            return;
        picoquic_sendmsg(udp, (struct sockaddr *)&peer, (struct sockaddr *)&source, interface, (const char *)bytes,
                         (int)length, (int)packet, &error);
        if (connection != NULL && connection->next_wake_time > now + LOSS_CHECK_US)
            picoquic_reinsert_by_wake_time(quic, connection, now + LOSS_CHECK_US);
    }
}

/* Sends and receives once, after a wait for a datagram or for picoquic's timer. picoquic's own loop waits in whole ms,
 * and the last half of one by polling without end, on which virtual time stands still. */
static void go_on(picoquic_quic_t *quic, int udp)
{
    const int64_t wait_us = picoquic_get_next_wake_delay(quic, picoquic_current_time(), LONGEST_WAIT_US);
    const struct timespec wait = {wait_us / 1000000, wait_us % 1000000 * 1000};
    struct pollfd ready = {.fd = udp, .events = POLLIN};
    if (ppoll(&ready, 1, &wait, NULL) > 0)
        receive(quic, udp);
    send_all(quic, udp);
}

static int answer(picoquic_cnx_t *connection, stream_t *stream, const gone_t *gone, int is_end)
{
    const uint64_t number = PICOPARSE_64(stream->head + 1);
    switch (stream->head[0]) {
    case 'd':
        stream->to_send = number;
        return !is_end ? 0 : picoquic_mark_active_stream(connection, stream->id, 1, stream);
    case 'u': {
        uint8_t counted[8];
        picoformat_64(counted, stream->arrived);
        return is_end ? picoquic_add_to_stream_with_ctx(connection, stream->id, counted, sizeof counted, 1, stream) : 0;
    }
    default:
        if (!is_end)
            return 0;
        report(connection, gone, (char *)stream->text);
        return picoquic_add_to_stream_with_ctx(connection, stream->id, stream->text, strlen((char *)stream->text), 1,
                                               stream);
    }
}

static int on_server_event(picoquic_cnx_t *connection, uint64_t id, uint8_t *bytes, size_t length,
                           picoquic_call_back_event_t event, void *argument, void *context)
{
    stream_t *stream = context;
    gone_t *gone = argument;
    if (gone == NULL) {
        gone = allocated(1, sizeof *gone);
        picoquic_set_callback(connection, on_server_event, gone);
    }
    switch (event) {
    case picoquic_callback_stream_data:
    case picoquic_callback_stream_fin: {
        if (stream == NULL) {
            stream = allocated(1, sizeof *stream);
            stream->id = id;
            picoquic_set_app_stream_ctx(connection, id, stream);
        }
        const size_t missing = REQUEST_LENGTH - stream->head_length;
        const size_t of_head = missing < length ? missing : length;
        memcpy(stream->head + stream->head_length, bytes, of_head);
        stream->head_length += of_head;
        stream->arrived += length - of_head;
        const int is_complete = stream->head_length == REQUEST_LENGTH;
        return is_complete ? answer(connection, stream, gone, event == picoquic_callback_stream_fin) : 0;
    }
    case picoquic_callback_prepare_to_send:
        return send_some(stream, bytes, length, 0);
    case picoquic_callback_stream_released:
        free(stream);
        return 0;
    case picoquic_callback_path_deleted:
        remember_path(connection, id, gone);
        return 0;
    case picoquic_callback_close:
    case picoquic_callback_application_close:
    case picoquic_callback_stateless_reset:
        picoquic_set_callback(connection, NULL, NULL);
        free(gone);
        return 0;
    default:
        return 0;
    }
}

static _Noreturn void serve(char **words)
{
    const struct sockaddr_storage address = address_of(words[0]);
    picoquic_quic_t *quic =
        context_of(on_server_event, NULL, words[1], words[2], NULL, words[3], (int)number_of(words[4]));
    const int port = ntohs(((const struct sockaddr_in *)&address)->sin_port);  /* in the same place in IPv6 */
    const int udp = open_socket(address.ss_family, port, quic->default_congestion_alg->ecn_mark);
    for (;;)
        go_on(quic, udp);
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

static int transfer(const char *word, int numbers, char **words, int paths)
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
    const int udp = open_socket(client.servers[0].ss_family, 0, quic->default_congestion_alg->ecn_mark);
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

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    if (strcmp(word, "server") == 0 && count == 7)
        serve(words + 2);
    const int is_requests = strcmp(word, "requests") == 0;
    const int numbers = is_requests ? 3 : 1;
    const int paths = count - 4 - numbers;
    if ((is_requests || strcmp(word, "download") == 0 || strcmp(word, "upload") == 0) && paths >= 1 &&
        paths <= MOST_PATHS)
        return transfer(word, numbers, words + 2, paths);
    fputs(USAGE, stderr);
    return 2;
}
