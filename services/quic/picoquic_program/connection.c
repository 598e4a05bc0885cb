/* A connection of either end: its settings, its report, and what it sends. */
#include <stdio.h>
#include <string.h>

#include "picoquic_internal.h"
#include "program.h"

enum { MOST_CONNECTIONS = 64 };

/* A window for 1 Gbit/s and 100 ms; picoquic gives the peer more credit only when half of it is used. */
static const uint64_t WINDOW = 16 << 20;

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
void report(picoquic_cnx_t *connection, const gone_t *gone, char *text)
{
    char paths[REPORT_LENGTH];
    size_t used = gone->length;
    memcpy(paths, gone->paths, sizeof paths);
    for (int number = 0; number < connection->nb_paths; number++)
        used = add_path(connection, connection->path[number], paths, used);
    snprintf(text, REPORT_LENGTH, "{\"multipath\": %s, \"paths\": [%.*s]}",
             connection->is_multipath_enabled ? "true" : "false", (int)used, paths);
}

void remember_path(picoquic_cnx_t *connection, uint64_t id, gone_t *gone)
{
    for (int number = 0; number < connection->nb_paths; number++)
        if (connection->path[number]->unique_path_id == id)
            gone->length = add_path(connection, connection->path[number], gone->paths, gone->length);
}

/* Writes what picoquic has room for: the rest of the head, then bytes without meaning. */
int send_some(stream_t *stream, void *place, size_t room, int has_head)
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

picoquic_quic_t *context_of(picoquic_stream_data_cb_fn on_event, void *argument, const char *certificate,
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
