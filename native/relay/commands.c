#include "relay/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "relay/tap.h"

#define ERROR_BYTES 512

static const char *const disciplines[] = {"droptail", "codel", "fq_codel"};
static const char *const distributions[] = {"normal", "uniform"};

static void append_limited(char *out, size_t size, const char *key, bool limited, uint64_t value)
{
    if (limited)
        text_append(out, size, "\"%s\":%" PRIu64 ",", key, value);
    else
        text_append(out, size, "\"%s\":null,", key);
}

static void append_trace(char *out, size_t size, const struct trace *trace)
{
    if (trace == NULL)
        text_append(out, size, "\"trace\":null,");
    else
        text_append(out, size, "\"trace\":{\"opportunities\":%" PRIu32 ",\"period_ns\":%" PRIu64 ",\"mean_bps\":%" PRIu64 "},",
                    trace->count, trace->period_ns, trace->mean_bps);
}

static void append_chance(char *out, size_t size, const struct spec *spec)
{
    const struct spec_burst *burst = &spec->burst;
    text_append(out, size, "\"loss\":%.17g,\"burst_enter\":%.17g,\"burst_leave\":%.17g,\"burst_loss_bad\":%.17g,", spec->loss,
                burst->enter, burst->leave, burst->loss_bad);
    text_append(out, size, "\"burst_loss_good\":%.17g,\"duplicate\":%.17g,", burst->loss_good, spec->duplicate);
}

static void append_spec(char *out, size_t size, const struct direction *direction)
{
    const struct spec *spec = &direction->spec;
    bool limited = spec_mean_bps(spec) != 0, counted = spec->bound == SPEC_BOUND_PACKETS;

    text_append(out, size, "\"spec\":{");
    append_limited(out, size, "rate_bps", spec->rate_bps != 0, spec->rate_bps);
    append_trace(out, size, spec->trace);
    append_limited(out, size, "queue_bytes", limited && !counted, spec_queue_bytes(spec));
    append_limited(out, size, "queue_packets", limited && counted, spec->queue_limit);
    text_append(out, size, "\"discipline\":\"%s\",\"ecn\":%s,", disciplines[spec->discipline], spec->ecn ? "true" : "false");
    text_append(out, size, "\"delay_ns\":%" PRIu64 ",\"jitter_ns\":%" PRIu64 ",\"jitter\":\"%s\",\"reorder\":%s,", spec->delay_ns,
                spec->jitter_ns, distributions[spec->distribution], spec->reorder ? "true" : "false");
    append_chance(out, size, spec);
    text_append(out, size, "\"blackhole\":%s,\"down\":%s,\"max_frame_bytes\":%" PRIu32 "},", spec->blackhole ? "true" : "false",
                spec->down ? "true" : "false", direction->frame_bound);
}

static void append_direction(char *out, size_t size, const struct direction *direction, uint64_t cpu_ns)
{
    text_append(out, size, "\"%s\":{", direction->key);
    append_spec(out, size, direction);
    stats_format(&direction->stats, out, size);
    text_append(out, size, ",\"cpu_ns\":%" PRIu64 "}", cpu_ns);
}

static void answer_stats(const struct relay_link *link, char *out, size_t size)
{
    text_append(out, size, "{\"name\":\"%s\",\"uptime_ns\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"directions\":{", link->name,
                clock_now() - link->started_ns, link->seed);
    append_direction(out, size, &link->directions[0], worker_cpu_ns(&link->workers[0]));
    text_append(out, size, ",");
    append_direction(out, size, &link->directions[1], link->worker_count == 2 ? worker_cpu_ns(&link->workers[1]) : 0);
    text_append(out, size, "}}");
}

/* A request that changes something, understood but not carried out. */
enum action { ACTION_SET, ACTION_DOWN, ACTION_UP, ACTION_RESET };

struct order {
    enum action action;
    struct direction *direction; /* of ACTION_SET, as is spec, which is held */
    struct spec spec;
};

static void order_release(struct order *order)
{
    if (order->action == ACTION_SET)
        spec_release(&order->spec);
}

static struct direction *direction_called(struct relay_link *link, const char *name)
{
    if (name != NULL && strcmp(name, "a-to-b") == 0)
        return &link->directions[0];
    if (name != NULL && strcmp(name, "b-to-a") == 0)
        return &link->directions[1];
    return NULL;
}

static bool read_set(struct relay_link *link, char *arguments, struct order *order, char *error)
{
    char *text = arguments;
    const char *name = strsep(&text, " ");
    struct direction *direction = direction_called(link, name);

    if (direction == NULL || text == NULL || *text == '\0') {
        snprintf(error, ERROR_BYTES, "set needs a direction, a-to-b or b-to-a, and key=value,...");
        return false;
    }
    *order = (struct order){.action = ACTION_SET, .direction = direction, .spec = spec_copy(&direction->spec)};
    if (spec_parse(&order->spec, text, error, ERROR_BYTES))
        return true;
    spec_release(&order->spec);
    return false;
}

/* Returns false with a sentence in `error`, of ERROR_BYTES; else the order must be released. */
static bool read_order(struct relay_link *link, char *request, struct order *order, char *error)
{
    char *arguments = request;
    const char *command = strsep(&arguments, " ");

    if (strcmp(command, "set") == 0 && arguments != NULL)
        return read_set(link, arguments, order, error);
    if (strcmp(command, "down") == 0 && arguments == NULL)
        *order = (struct order){.action = ACTION_DOWN};
    else if (strcmp(command, "up") == 0 && arguments == NULL)
        *order = (struct order){.action = ACTION_UP};
    else if (strcmp(command, "reset") == 0 && arguments == NULL)
        *order = (struct order){.action = ACTION_RESET};
    else {
        snprintf(error, ERROR_BYTES, "unknown command '%.64s': known are stats, set a-to-b|b-to-a key=value,..., down, up, "
                 "reset, at NS REQUEST, cancel", command);
        return false;
    }
    return true;
}

static void set_carrier(struct relay_link *link, bool up, uint64_t at_ns)
{
    for (int i = 0; i < 2; i++) {
        struct direction *direction = &link->directions[i];
        struct spec changed = spec_copy(&direction->spec);
        changed.down = !up;
        direction_change(direction, &changed, at_ns);
        spec_release(&changed);
    }
    for (int i = 0; i < 2; i++)
        tap_set_carrier(link->directions[i].in_fd, up);
}

static void carry_out(struct relay_link *link, const struct order *order, uint64_t at_ns)
{
    switch (order->action) {
    case ACTION_SET:
        direction_change(order->direction, &order->spec, at_ns);
        break;
    case ACTION_DOWN:
    case ACTION_UP:
        set_carrier(link, order->action == ACTION_UP, at_ns);
        break;
    case ACTION_RESET:
        for (int i = 0; i < 2; i++)
            stats_forget(&link->directions[i].stats);
        break;
    }
}

/* It is read at once, so that a mistake is answered now and not later. */
static bool add_to_schedule(struct relay_link *link, char *arguments, char *error)
{
    char *request = arguments, *end;
    const char *time = strsep(&request, " ");
    errno = 0;
    unsigned long long at_ns = strtoull(time, &end, 10);
    struct order order;

    if (*time < '0' || *time > '9' || *end != '\0' || errno != 0 || request == NULL) {
        snprintf(error, ERROR_BYTES, "at needs a time in nanoseconds of CLOCK_MONOTONIC, and a request");
        return false;
    }
    char *copy = strdup(request);
    bool good = copy != NULL && read_order(link, request, &order, error);
    if (good) {
        order_release(&order);
        good = schedule_add(&link->schedule, at_ns, copy);
        if (!good)
            snprintf(error, ERROR_BYTES, "more than %d requests are waiting for their time", SCHEDULE_MAX);
    }
    free(copy);
    return good;
}

static void cancel(struct relay_link *link)
{
    for (struct scheduled *due; (due = schedule_pop(&link->schedule, NEVER)) != NULL;)
        free(due);
}

static bool obey(struct relay_link *link, char *request, uint64_t at_ns, char *error)
{
    struct order order;
    if (!read_order(link, request, &order, error))
        return false;
    carry_out(link, &order, at_ns);
    order_release(&order);
    return true;
}

void commands_answer(void *relay_link, char *request, char *out, size_t size)
{
    struct relay_link *link = relay_link;
    char error[ERROR_BYTES] = "";
    bool good = true;

    if (strcmp(request, "stats") == 0) {
        answer_stats(link, out, size);
        return;
    }
    if (strcmp(request, "cancel") == 0)
        cancel(link);
    else if (strncmp(request, "at ", 3) == 0)
        good = add_to_schedule(link, request + 3, error);
    else
        good = obey(link, request, clock_now(), error);
    text_disarm(error);
    if (good)
        text_append(out, size, "{\"ok\":true}");
    else
        text_append(out, size, "{\"error\":\"%s\"}", error);
}

uint64_t commands_next_due(void *relay_link)
{
    const struct relay_link *link = relay_link;
    return schedule_next(&link->schedule);
}

void commands_run_due(void *relay_link, uint64_t now)
{
    struct relay_link *link = relay_link;
    char error[ERROR_BYTES];
    for (struct scheduled *due; (due = schedule_pop(&link->schedule, now)) != NULL; free(due))
        if (!obey(link, due->request, due->at_ns, error))
            fprintf(stderr, "relay: %s: at %" PRIu64 ": %s\n", link->name, due->at_ns, error);
}
