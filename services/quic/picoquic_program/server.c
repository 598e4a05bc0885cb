/* The server. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "picoquic_internal.h"
#include "picoquic_utils.h"
#include "program.h"

/* Begins the answer to a request that is complete. */
static int answer(picoquic_cnx_t *connection, stream_t *stream, const gone_t *gone)
{
    switch (stream->head[0]) {
    case 'd':
        stream->to_send = PICOPARSE_64(stream->head + 1);
        return picoquic_mark_active_stream(connection, stream->id, 1, stream);
    case 'u': {
        uint8_t counted[8];
        picoformat_64(counted, stream->arrived);
        return picoquic_add_to_stream_with_ctx(connection, stream->id, counted, sizeof counted, 1, stream);
    }
    default:
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
        const int is_complete = event == picoquic_callback_stream_fin && stream->head_length == REQUEST_LENGTH;
        return is_complete ? answer(connection, stream, gone) : 0;
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

_Noreturn void serve(char **words)
{
    const struct sockaddr_storage address = address_of(words[0]);
    picoquic_quic_t *quic =
        context_of(on_server_event, NULL, words[1], words[2], NULL, words[3], (int)number_of(words[4]));
    const int port = ntohs(((const struct sockaddr_in *)&address)->sin_port);  /* in the same place in IPv6 */
    const int udp = open_socket(address.ss_family, port, quic);
    for (;;)
        go_on(quic, udp);
}
