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
    append_direction(out, size, &link->directions[0], clock_of_thread(link->workers[0].thread));
    text_append(out, size, ",");
    append_direction(out, size, &link->directions[1],
                     link->worker_count == 2 ? clock_of_thread(link->workers[1].thread) : 0);
    text_append(out, size, "}}");
}

static struct direction *find_direction(struct relay_link *link, const char *name)
{
    if (strcmp(name, "a-to-b") == 0)
        return &link->directions[0];
    return strcmp(name, "b-to-a") == 0 ? &link->directions[1] : NULL;
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

/* A request whose time is CHECK_ONLY is not carried out, but its mistakes are reported. */
#define CHECK_ONLY NEVER

static bool set(struct relay_link *link, char *arguments, uint64_t at_ns, char *error)
{
    struct direction *direction = find_direction(link, strsep(&arguments, " "));
    if (direction == NULL || arguments == NULL || *arguments == '\0') {
        snprintf(error, ERROR_BYTES, "set needs a direction, a-to-b or b-to-a, and key=value,...");
        return false;
    }
    struct spec changed = spec_copy(&direction->spec);
    bool good = spec_parse(&changed, arguments, error, ERROR_BYTES);
    if (good && at_ns != CHECK_ONLY)
        direction_change(direction, &changed, at_ns);
    spec_release(&changed);
    return good;
}

/* Returns false with a sentence in `error`, of ERROR_BYTES. */
static bool execute(struct relay_link *link, char *request, uint64_t at_ns, char *error)
{
    char *arguments = request;
    const char *name = strsep(&arguments, " ");
    bool up = strcmp(name, "up") == 0, carrier = up || strcmp(name, "down") == 0;

    if (arguments != NULL && strcmp(name, "set") == 0)
        return set(link, arguments, at_ns, error);
    if (arguments != NULL || (!carrier && strcmp(name, "reset") != 0)) {
        snprintf(error, ERROR_BYTES, "unknown command '%.64s'; known commands: stats, set a-to-b|b-to-a key=value,..., "
                 "down, up, reset, at NS REQUEST, cancel", name);
        return false;
    }
    if (at_ns == CHECK_ONLY)
        return true;
    if (carrier)
        set_carrier(link, up, at_ns);
    else
        for (int i = 0; i < 2; i++)
            counter_add(&link->directions[i].stats.epoch_wanted, 1);
    return true;
}

#define SCHEDULED_MAX 4096

struct scheduled {
    struct scheduled *next;
    uint64_t at_ns;
    char request[]; /* without its time */
};

/* Returns false if the schedule is full, or there is no memory. */
static bool insert(struct relay_link *link, uint64_t at_ns, const char *request)
{
    size_t bytes = strlen(request) + 1;
    struct scheduled *added = link->scheduled_count < SCHEDULED_MAX ? malloc(sizeof *added + bytes) : NULL;
    if (added == NULL)
        return false;
    added->at_ns = at_ns;
    memcpy(added->request, request, bytes);
    struct scheduled **place = &link->scheduled;
    while (*place != NULL && (*place)->at_ns <= at_ns)
        place = &(*place)->next;
    added->next = *place;
    *place = added;
    link->scheduled_count++;
    return true;
}

/* Removes and returns the next request that is due at `now`, or NULL. The caller frees it. */
static struct scheduled *pop(struct relay_link *link, uint64_t now)
{
    struct scheduled *first = link->scheduled;
    if (first == NULL || first->at_ns > now)
        return NULL;
    link->scheduled = first->next;
    link->scheduled_count--;
    return first;
}

/* The request is checked at once, so that a mistake is reported now and not later. */
static bool schedule(struct relay_link *link, char *arguments, char *error)
{
    char *request = arguments;
    const char *time = strsep(&request, " ");
    const struct reading reading = {.key = "at", .value = time, .error = error, .error_size = ERROR_BYTES};
    uint64_t at_ns;

    if (request == NULL || !text_read_whole(&reading, 0, UINT64_MAX, &at_ns)) {
        snprintf(error, ERROR_BYTES, "at needs a time in nanoseconds of CLOCK_MONOTONIC, and a request");
        return false;
    }
    char *copy = strdup(request);
    bool good = copy != NULL && execute(link, request, CHECK_ONLY, error);
    if (good && !(good = insert(link, at_ns, copy)))
        snprintf(error, ERROR_BYTES, "no room: at most %d requests can wait for their time", SCHEDULED_MAX);
    free(copy);
    return good;
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
        for (struct scheduled *next; (next = pop(link, NEVER)) != NULL;)
            free(next);
    else if (strncmp(request, "at ", 3) == 0)
        good = schedule(link, request + 3, error);
    else
        good = execute(link, request, clock_now(), error);
    control_reply(out, size, good ? NULL : error);
}

uint64_t commands_next_due(void *relay_link)
{
    const struct relay_link *link = relay_link;
    return link->scheduled == NULL ? NEVER : link->scheduled->at_ns;
}

void commands_run_due(void *relay_link, uint64_t now)
{
    struct relay_link *link = relay_link;
    char error[ERROR_BYTES];
    for (struct scheduled *due; (due = pop(link, now)) != NULL; free(due))
        if (!execute(link, due->request, due->at_ns, error))
            fprintf(stderr, "relay: %s: at %" PRIu64 ": %s\n", link->name, due->at_ns, error);
}
