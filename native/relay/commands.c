#include "relay/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/control.h"
#include "common/text.h"
#include "relay/tap.h"

#define ERROR_BYTES 512

static void append_direction(char *out, size_t size, const struct direction *direction, uint64_t cpu_ns)
{
    text_append(out, size, "\"%s\":{\"spec\":{", direction->key);
    spec_format(&direction->spec, out, size);
    text_append(out, size, "\"max_frame_bytes\":%" PRIu32 "},", direction->frame_bound);
    stats_format(&direction->stats, out, size);
    text_append(out, size, ",\"cpu_ns\":%" PRIu64 "}", cpu_ns);
}

static void answer_stats(const struct relay_link *link, char *out, size_t size)
{
    text_append(out, size, "{\"name\":\"%s\",\"uptime_ns\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"directions\":{",
                link->name, clock_now() - link->started_ns, link->seed);
    append_direction(out, size, &link->directions[0], worker_cpu_ns(&link->workers[0]));
    text_append(out, size, ",");
    append_direction(out, size, &link->directions[1], link->worker_count == 2 ? worker_cpu_ns(&link->workers[1]) : 0);
    text_append(out, size, "}}");
}

/* A request that changes something, parsed but not executed yet. */
enum action { ACTION_DOWN, ACTION_UP, ACTION_RESET, ACTION_SET };

struct command {
    enum action action;
    struct direction *direction; /* of ACTION_SET, as is spec, which must be released */
    struct spec spec;
};

static void release(struct command *command)
{
    if (command->action == ACTION_SET)
        spec_release(&command->spec);
}

static struct direction *find_direction(struct relay_link *link, const char *name)
{
    if (strcmp(name, "a-to-b") == 0)
        return &link->directions[0];
    return strcmp(name, "b-to-a") == 0 ? &link->directions[1] : NULL;
}

static bool parse_set(struct relay_link *link, char *arguments, struct command *command, char *error)
{
    char *text = arguments;
    struct direction *direction = find_direction(link, strsep(&text, " "));

    if (direction == NULL || text == NULL || *text == '\0') {
        snprintf(error, ERROR_BYTES, "set needs a direction, a-to-b or b-to-a, and key=value,...");
        return false;
    }
    *command = (struct command){.action = ACTION_SET, .direction = direction, .spec = spec_copy(&direction->spec)};
    if (spec_parse(&command->spec, text, error, ERROR_BYTES))
        return true;
    release(command);
    return false;
}

/* Returns false with a sentence in `error`, of ERROR_BYTES; else the command must be released. */
static bool parse(struct relay_link *link, char *request, struct command *command, char *error)
{
    static const char *const names[] = {[ACTION_DOWN] = "down", [ACTION_UP] = "up", [ACTION_RESET] = "reset"};
    char *arguments = request;
    const char *name = strsep(&arguments, " ");

    if (arguments != NULL && strcmp(name, "set") == 0)
        return parse_set(link, arguments, command, error);
    for (enum action action = 0; arguments == NULL && action < ACTION_SET; action++) {
        if (strcmp(name, names[action]) == 0) {
            *command = (struct command){.action = action};
            return true;
        }
    }
    snprintf(error, ERROR_BYTES, "unknown command '%.64s'; known commands: stats, set a-to-b|b-to-a key=value,..., "
             "down, up, reset, at NS REQUEST, cancel", name);
    return false;
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

static bool execute(struct relay_link *link, char *request, uint64_t at_ns, char *error)
{
    struct command command;
    if (!parse(link, request, &command, error))
        return false;
    if (command.action == ACTION_SET)
        direction_change(command.direction, &command.spec, at_ns);
    else if (command.action == ACTION_RESET)
        for (int i = 0; i < 2; i++)
            stats_forget(&link->directions[i].stats);
    else
        set_carrier(link, command.action == ACTION_UP, at_ns);
    release(&command);
    return true;
}

/* The request is parsed at once, so that a mistake is reported now and not later. */
static bool add_to_schedule(struct relay_link *link, char *arguments, char *error)
{
    char *request = arguments;
    const char *time = strsep(&request, " ");
    uint64_t at_ns;
    struct command command;

    if (!spec_parse_number(time, 0, UINT64_MAX, &at_ns) || request == NULL) {
        snprintf(error, ERROR_BYTES, "at needs a time in nanoseconds of CLOCK_MONOTONIC, and a request");
        return false;
    }
    char *copy = strdup(request);
    bool good = copy != NULL && parse(link, request, &command, error);
    if (good) {
        release(&command);
        good = schedule_add(&link->schedule, at_ns, copy);
        if (!good)
            snprintf(error, ERROR_BYTES, "no room: at most %d requests can wait for their time", SCHEDULE_MAX);
    }
    free(copy);
    return good;
}

static void cancel(struct relay_link *link)
{
    for (struct scheduled *due; (due = schedule_pop(&link->schedule, NEVER)) != NULL;)
        free(due);
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
        good = execute(link, request, clock_now(), error);
    control_reply(out, size, good ? NULL : error);
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
        if (!execute(link, due->request, due->at_ns, error))
            fprintf(stderr, "relay: %s: at %" PRIu64 ": %s\n", link->name, due->at_ns, error);
}
