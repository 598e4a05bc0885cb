#include "tunnel/requests.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "tunnel/management.h"
#include "tunnel/tunnel.h"

#define ERROR_BYTES 256

static const char *const schedulers[] = {"wrr", "rtt", "redundant", "flowhash"};
static const char *const modes[] = {"off", "fixed", "adaptive"};

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
#define APPEND(out, size, ...)                                                                                                 \
    append_members(out, size, (const struct member[]){__VA_ARGS__},                                                            \
                   sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

static void append_device(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    const struct sender_stats *in = &tunnel->sender.stats;
    const struct receiver_stats *to = &tunnel->receiver.stats;
    text_append(out, size, "\"device\":\"%s\",\"scheduler\":\"%s\",\"weights\":\"%s\",\"offloads\":%s,", configuration->device,
                schedulers[configuration->scheduler], configuration->adaptive_weights ? "adaptive" : "fixed",
                tunnel->sender.segmentation ? "true" : "false");
    APPEND(out, size, {"uptime_ns", clock_now() - tunnel->started_ns}, {"mtu", tunnel->mtu}, {"run", tunnel->run},
           {"rate_bps", (uint64_t)tunnel->rate_bps}, {"in_packets", counter_read(&in->packets)},
           {"in_bytes", counter_read(&in->bytes)}, {"out_packets", counter_read(&to->packets)},
           {"out_bytes", counter_read(&to->bytes)});
    text_append(out, size, ",\"drops\":{");
    APPEND(out, size, {"no_path", counter_read(&in->no_path)}, {"too_large", counter_read(&in->too_large)},
           {"malformed", counter_read(&in->malformed) + counter_read(&to->malformed)}, {"refused", counter_read(&to->refused)},
           {"duplicates", counter_read(&to->duplicates)}, {"stale", counter_read(&to->stale)},
           {"strays", counter_read(&to->strays)});
    text_append(out, size, "},");
}

static void append_control(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct tunnel_counters *counters = &tunnel->counters;
    text_append(out, size, "\"control\":{");
    APPEND(out, size, {"greetings", counter_read(&counters->greetings)}, {"malformed", counter_read(&counters->malformed)},
           {"forged", counter_read(&counters->forged)}, {"replayed", counter_read(&counters->replayed)},
           {"misplaced", counter_read(&counters->misplaced)});
    text_append(out, size, "},");
}

static void append_reordering(char *out, size_t size, const struct tunnel *tunnel)
{
    const struct receiver_stats *stats = &tunnel->receiver.stats;
    text_append(out, size, "\"reordering\":{\"mode\":\"%s\",", modes[tunnel->configuration->reordering]);
    APPEND(out, size, {"window", tunnel->receiver.reorder.window}, {"held", counter_read(&stats->held)},
           {"held_peak", counter_read(&stats->held_peak)}, {"given_up", counter_read(&stats->given_up)},
           {"margin_ns", counter_read(&stats->margin_ns)});
    text_append(out, size, "},");
}

static double share_of(const struct tunnel *tunnel, int path)
{
    double sum = 0;
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        sum += tunnel_path_is_up(tunnel, i) ? tunnel->paths[i].weight * tunnel->paths[i].adapted : 0;
    return tunnel_path_is_up(tunnel, path) ? tunnel->paths[path].weight * tunnel->paths[path].adapted / sum : 0;
}

static void append_state(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct tunnel_path *path = &tunnel->paths[number];
    const char *state = !path->enabled ? "disabled" : tunnel_path_is_up(tunnel, number) ? "up" : "down";
    text_append(out, size, "\"name\":\"%s\",\"state\":\"%s\",\"backup\":%s,\"weight\":%.6g,\"share\":%.6g,",
                tunnel->configuration->paths[number].name, state, path->backup ? "true" : "false", path->weight,
                share_of(tunnel, number));
}

static void append_quality(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct peer_path *known = &tunnel->peer.paths[number];
    if (known->rtt.known)
        APPEND(out, size, {"rtt_ns", (uint64_t)known->rtt.smoothed_ns}, {"rtt_least_ns", (uint64_t)known->rtt.least_ns},
               {"rtt_variation_ns", (uint64_t)known->rtt.variation_ns});
    else
        text_append(out, size, "\"rtt_ns\":null,\"rtt_least_ns\":null,\"rtt_variation_ns\":null");
    text_append(out, size, ",\"tx_loss\":%.6g,\"rx_loss\":%.6g,", known->loss_outwards, known->loss_inwards);
    if (tunnel->paths[number].capacity_bps == 0)
        text_append(out, size, "\"capacity_bps\":null,");
    else
        text_append(out, size, "\"capacity_bps\":%" PRIu64 ",", tunnel->paths[number].capacity_bps);
    APPEND(out, size, {"tx_lost", known->lost_outwards}, {"rx_lost", known->lost_inwards},
           {"delivered_bps", (uint64_t)known->delivered_bps}, {"tx_queued_ns", peer_queued_ns(known)}, {"ups", known->ups},
           {"downs", known->downs});
    text_append(out, size, ",");
}

static void append_path(char *out, size_t size, const struct tunnel *tunnel, int number)
{
    const struct sender_path_stats *sent = &tunnel->sender.path_stats[number];
    const struct receiver_path_stats *received = &tunnel->receiver.path_stats[number];
    const struct tunnel_counters *counters = &tunnel->counters;
    text_append(out, size, "%s{", number == 0 ? "" : ",");
    append_state(out, size, tunnel, number);
    append_quality(out, size, tunnel, number);
    APPEND(out, size, {"mtu", tunnel->paths[number].mtu}, {"tx_packets", counter_read(&sent->packets)},
           {"tx_bytes", counter_read(&sent->bytes)}, {"rx_packets", counter_read(&received->packets)},
           {"rx_bytes", counter_read(&received->bytes)}, {"held", counter_read(&received->held)},
           {"late", counter_read(&received->late)}, {"late_drops", counter_read(&received->late_drops)},
           {"lead_ns", tunnel_lead_ns(tunnel, number)},
           {"queue_bytes", path_socket_queued(tunnel->sockets[number].fd)},
           {"errors", counter_read(&counters->send_errors[number])}, {"drops", counter_read(&counters->send_drops[number])},
           {"keepalives_sent", counter_read(&counters->keepalives_sent[number])},
           {"keepalives_heard", counter_read(&counters->keepalives_heard[number])});
    text_append(out, size, "}");
}

static void answer_stats(const struct tunnel *tunnel, char *out, size_t size)
{
    text_append(out, size, "{");
    append_device(out, size, tunnel);
    append_control(out, size, tunnel);
    append_reordering(out, size, tunnel);
    text_append(out, size, "\"cpu_ns\":{");
    APPEND(out, size, {"uplink", tunnel_cpu_ns(tunnel->uplink)}, {"downlink", tunnel_cpu_ns(tunnel->downlink)});
    text_append(out, size, "},\"paths\":[");
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        append_path(out, size, tunnel, i);
    text_append(out, size, "]}");
}

/* Requests return false with a sentence in `error`, of ERROR_BYTES. */
__attribute__((format(printf, 2, 3))) static bool refuse(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool read_flag(const char *key, const char *value, bool *flag, char *error)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return refuse(error, "%s: '%.32s' is neither 0 nor 1", key, value);
    *flag = value[0] == '1';
    return true;
}

static bool read_setting(struct tunnel_path *path, char *text, char *error)
{
    char *value = text, *end;
    const char *key = strsep(&value, "=");
    if (value == NULL)
        return refuse(error, "'%.32s' is not key=value", key);
    if (strcmp(key, "backup") == 0)
        return read_flag(key, value, &path->backup, error);
    if (strcmp(key, "enabled") == 0)
        return read_flag(key, value, &path->enabled, error);
    if (strcmp(key, "weight") != 0)
        return refuse(error, "unknown key '%.32s': known are weight, backup, enabled", key);
    double weight = strtod(value, &end);
    if (*value < '0' || *value > '9' || *end != '\0' || !(weight >= 0.001 && weight <= 1e6))
        return refuse(error, "weight: '%.32s' is not a number from 0.001 to 1000000", value);
    path->weight = weight;
    return true;
}

static int find_path(const struct tunnel *tunnel, const char *name)
{
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        if (strcmp(tunnel->configuration->paths[i].name, name) == 0)
            return i;
    return -1;
}

/* `arguments` is `PATH key=value,...`. All of it, or nothing. */
static bool set(struct tunnel *tunnel, char *arguments, char *error)
{
    const char *name = strsep(&arguments, " ");
    int number = find_path(tunnel, name);
    if (number < 0)
        return refuse(error, "there is no path '%.64s'", name);
    if (arguments == NULL || *arguments == '\0')
        return refuse(error, "set needs a path and key=value,...");
    struct tunnel_path changed = tunnel->paths[number];
    for (char *setting; (setting = strsep(&arguments, ",")) != NULL;)
        if (!read_setting(&changed, setting, error))
            return false;
    tunnel->paths[number] = changed;
    management_follow_mtu(tunnel);
    management_publish(tunnel);
    return true;
}

void requests_answer(void *context, char *request, char *out, size_t size)
{
    struct tunnel *tunnel = context;
    char error[ERROR_BYTES] = "";
    bool good = true;

    pthread_mutex_lock(&tunnel->lock);
    if (strcmp(request, "stats") == 0)
        answer_stats(tunnel, out, size);
    else if (strncmp(request, "set ", 4) == 0)
        good = set(tunnel, request + 4, error);
    else
        good = refuse(error, "unknown command '%.64s': known are stats, set PATH key=value,...", request);
    pthread_mutex_unlock(&tunnel->lock);
    text_sanitise(error);
    if (!good)
        text_append(out, size, "{\"error\":\"%s\"}", error);
    else if (*out == '\0')
        text_append(out, size, "{\"ok\":true}");
}
