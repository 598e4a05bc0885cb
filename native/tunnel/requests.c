#include "tunnel/requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/text.h"
#include "tunnel/tunnel.h"

struct member {
    const char *key;
    uint64_t value;
};

/* `"a":1,"b":2` */
static void append_members(char *out, size_t size, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_append(out, size, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", members[i].key, members[i].value);
}
#define APPEND(out, size, ...)                                      \
    append_members(out, size, (const struct member[]){__VA_ARGS__}, \
                   sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

static void append_device(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    const struct sender_stats *in = &tunnel->sender.stats;
    const struct receiver_stats *to = &tunnel->receiver.stats;
    text_append(out, size, "\"device\":\"%s\",\"scheduler\":\"%s\",\"weights\":\"%s\",\"offloads\":%s,",
                configuration->device, configuration_schedulers[configuration->scheduler],
                configuration_weights[configuration->weights], tunnel->sender.segmentation ? "true" : "false");
    APPEND(out, size, {"uptime_ns", clock_now() - tunnel->started_ns}, {"mtu", tunnel->mtu}, {"run", tunnel->run},
           {"rate_bps", (uint64_t)tunnel->rate_bps}, {"in_packets", counter_read(&in->packets)},
           {"in_bytes", counter_read(&in->bytes)}, {"out_packets", counter_read(&to->packets)},
           {"out_bytes", counter_read(&to->bytes)});
    text_append(out, size, ",\"drops\":{");
    APPEND(out, size, {"no_path", counter_read(&in->no_path)}, {"too_large", counter_read(&in->too_large)},
           {"malformed", counter_read(&in->malformed) + counter_read(&to->malformed)},
           {"refused", counter_read(&to->refused)}, {"duplicates", counter_read(&to->duplicates)},
           {"stale", counter_read(&to->stale)}, {"strays", counter_read(&to->strays)});
    text_append(out, size, "},");
}

static void append_control(char *out, size_t size, const struct tunnel *tunnel)
{
    const counter *verdicts = tunnel->counters.verdicts;
    text_append(out, size, "\"control\":{");
    APPEND(out, size, {"greetings", counter_read(&verdicts[PEER_GREETING])},
           {"malformed", counter_read(&verdicts[PEER_MALFORMED])}, {"forged", counter_read(&verdicts[PEER_FORGED])},
           {"replayed", counter_read(&verdicts[PEER_REPLAYED])},
           {"misplaced", counter_read(&verdicts[PEER_MISPLACED])});
    text_append(out, size, "},");
}

static void append_reordering(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct receiver_stats *stats = &tunnel->receiver.stats;
    text_append(out, size, "\"reordering\":{\"mode\":\"%s\",",
                configuration_reordering[tunnel->configuration->reordering]);
    APPEND(out, size, {"window", tunnel->receiver.reorder.window}, {"held", counter_read(&stats->held)},
           {"held_peak", counter_read(&stats->held_peak)}, {"given_up", counter_read(&stats->given_up)},
           {"margin_ns", counter_read(&stats->margin_ns)});
    text_append(out, size, "},");
}

static double weight_of(const struct tunnel *tunnel, int path)
{
    return tunnel_path_is_up(tunnel, path) ? tunnel->paths[path].changeable.weight * tunnel->paths[path].adapted : 0;
}

static double share_of(const struct tunnel *tunnel, int path)
{
    double sum = 0, weight = weight_of(tunnel, path);
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        sum += weight_of(tunnel, i);
    return weight == 0 ? 0 : weight / sum;
}

static const char *state_of(const struct tunnel *tunnel, int path)
{
    return !tunnel->paths[path].changeable.enabled ? "disabled" : tunnel_path_is_up(tunnel, path) ? "up" : "down";
}

static void append_quality(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct peer_path *peer = &tunnel->peer.paths[number];
    if (peer->rtt.known)
        APPEND(out, size, {"rtt_ns", (uint64_t)peer->rtt.smoothed_ns}, {"rtt_least_ns", (uint64_t)peer->rtt.least_ns},
               {"rtt_variation_ns", (uint64_t)peer->rtt.variation_ns});
    else
        text_append(out, size, "\"rtt_ns\":null,\"rtt_least_ns\":null,\"rtt_variation_ns\":null");
    text_append(out, size, ",\"tx_loss\":%.6g,\"rx_loss\":%.6g,", peer->loss_outwards, peer->loss_inwards);
    if (tunnel->paths[number].capacity_bps == 0)
        text_append(out, size, "\"capacity_bps\":null,");
    else
        text_append(out, size, "\"capacity_bps\":%" PRIu64 ",", tunnel->paths[number].capacity_bps);
    APPEND(out, size, {"tx_lost", peer->lost_outwards}, {"rx_lost", peer->lost_inwards},
           {"delivered_bps", (uint64_t)peer->delivered_bps}, {"tx_queued_ns", peer_queued_ns(peer)}, {"ups", peer->ups},
           {"downs", peer->downs});
    text_append(out, size, ",");
}

static void append_path(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct path_changeable *changeable = &tunnel->paths[number].changeable;
    const struct sender_path_stats *sent = &tunnel->sender.path_stats[number];
    const struct receiver_path_stats *received = &tunnel->receiver.path_stats[number];
    const struct tunnel_counters *counters = &tunnel->counters;
    text_append(out, size, "%s{\"name\":\"%s\",\"state\":\"%s\",\"backup\":%s,\"weight\":%.6g,\"share\":%.6g,",
                number == 0 ? "" : ",", tunnel->configuration->paths[number].name, state_of(tunnel, number),
                changeable->backup ? "true" : "false", changeable->weight, share_of(tunnel, number));
    append_quality(out, size, tunnel, number);
    APPEND(out, size, {"mtu", tunnel->paths[number].mtu}, {"tx_packets", counter_read(&sent->packets)},
           {"tx_bytes", counter_read(&sent->bytes)}, {"rx_packets", counter_read(&received->packets)},
           {"rx_bytes", counter_read(&received->bytes)}, {"held", counter_read(&received->held)},
           {"late", counter_read(&received->late)}, {"late_drops", counter_read(&received->late_drops)},
           {"lead_ns", tunnel_lead_ns(tunnel, number)}, {"queue_bytes", path_socket_queued(tunnel->sockets[number].fd)},
           {"errors", counter_read(&counters->send_errors[number])},
           {"drops", counter_read(&counters->send_drops[number])},
           {"keepalives_sent", counter_read(&counters->keepalives_sent[number])},
           {"keepalives_heard", counter_read(&counters->keepalives_heard[number])});
    text_append(out, size, "}");
}

static void append_stats(char *out, size_t size, const struct tunnel *tunnel)
{
    text_append(out, size, "{");
    append_device(out, size, tunnel);
    append_control(out, size, tunnel);
    append_reordering(out, size, tunnel);
    text_append(out, size, "\"cpu_ns\":{");
    APPEND(out, size, {"uplink", clock_of_thread(tunnel->uplink)}, {"downlink", clock_of_thread(tunnel->downlink)});
    text_append(out, size, "},\"service_ns\":{");
    APPEND(out, size, {"uplink", counter_read(&tunnel->sending.spent_ns)},
           {"downlink", counter_read(&tunnel->receiving.spent_ns)});
    text_append(out, size, "},\"paths\":[");
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        append_path(out, size, tunnel, i);
    text_append(out, size, "]}");
}

static void append_row(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct peer_path *peer = &tunnel->peer.paths[number];
    const struct receiver_path_stats *received = &tunnel->receiver.path_stats[number];
    char rtt_ms[24] = "-";
    if (peer->rtt.known)
        snprintf(rtt_ms, sizeof rtt_ms, "%.3f", (double)peer->rtt.smoothed_ns / 1e6);
    text_append(
        out, size, "\n%-12s %-8s %7.1f%% %10s %7.2f%% %7.2f%% %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %8" PRIu64,
        tunnel->configuration->paths[number].name, state_of(tunnel, number), 100 * share_of(tunnel, number), rtt_ms,
        100 * peer->loss_outwards, 100 * peer->loss_inwards, counter_read(&tunnel->sender.path_stats[number].packets),
        counter_read(&received->packets), counter_read(&received->held), counter_read(&received->late_drops));
}

/* The statistics that people look at most. */
static void append_table(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    const struct receiver_stats *stats = &tunnel->receiver.stats;
    text_append(out, size, "%s: %s, weights %s, MTU %" PRIu32 ", %.1f Mb/s in; ", configuration->device,
                configuration_schedulers[configuration->scheduler], configuration_weights[configuration->weights],
                tunnel->mtu, tunnel->rate_bps / 1e6);
    text_append(out, size, "reordering %s, %" PRIu64 " packets held (at most %" PRIu64 "), %" PRIu64 " given up\n",
                configuration_reordering[configuration->reordering], counter_read(&stats->held),
                counter_read(&stats->held_peak), counter_read(&stats->given_up));
    text_append(out, size, "%-12s %-8s %8s %10s %8s %8s %12s %12s %10s %8s", "path", "state", "share", "RTT ms",
                "tx loss", "rx loss", "tx packets", "rx packets", "held", "too late");
    for (int i = 0; i < configuration->path_count; i++)
        append_row(out, size, tunnel, i);
}

static int find_path(const struct tunnel *tunnel, const char *name)
{
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        if (strcmp(tunnel->configuration->paths[i].name, name) == 0)
            return i;
    return -1;
}

/* `arguments` is `PATH KEY=VALUE,...`. Returns false with a sentence in `error`. */
static bool set(struct tunnel *tunnel, char *arguments, char *error, size_t error_size)
{
    const char *name = strsep(&arguments, " ");
    int number = find_path(tunnel, name);
    if (number < 0) {
        snprintf(error, error_size, "there is no path '%.64s'", name);
        return false;
    }
    if (arguments == NULL) {
        snprintf(error, error_size, "KEY=VALUE,... is missing after '%s'", name);
        return false;
    }
    if (!configuration_change_path(&tunnel->paths[number].changeable, arguments, error, error_size))
        return false;
    management_follow_mtu(tunnel);
    counter_add(&tunnel->epoch, 1);
    return true;
}

void requests_answer(void *context, char *request, char *out, size_t size)
{
    struct tunnel *tunnel = context;
    char error[512];
    pthread_mutex_lock(&tunnel->lock);
    if (strcmp(request, "stats") == 0) {
        append_stats(out, size, tunnel);
    } else if (strcmp(request, "table") == 0) {
        append_table(out, size, tunnel);
    } else if (strncmp(request, "set ", 4) == 0) {
        bool done = set(tunnel, request + 4, error, sizeof error);
        control_reply(out, size, done ? NULL : error);
    } else {
        snprintf(error, sizeof error, "unknown request '%.64s': known are stats, table, set PATH KEY=VALUE,...",
                 request);
        control_reply(out, size, error);
    }
    pthread_mutex_unlock(&tunnel->lock);
}
