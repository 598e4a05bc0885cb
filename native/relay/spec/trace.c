#include "relay/spec/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

/* The longest period: a week. It also keeps all sums of times far from overflow. */
#define PERIOD_MAX_MS 604800000u
#define FILE_MAX_BYTES ((off_t)TRACE_OPPORTUNITIES_MAX * 11)

/* Reads a line of `length` bytes, its end included; false if it is not a whole number of at most PERIOD_MAX_MS. */
static bool read_number(const char *line, size_t length, uint32_t *out)
{
    size_t digits = strspn(line, "0123456789");
    unsigned long long number = strtoull(line, NULL, 10);
    *out = (uint32_t)number;
    return digits > 0 && digits + strspn(line + digits, "\r\n") == length && number <= PERIOD_MAX_MS;
}

/* The trace has memory for `room` lines. */
static bool read_lines(struct trace *trace, uint32_t room, FILE *file, char *error, size_t error_size)
{
    char *line = NULL;
    size_t line_room = 0;
    uint32_t *at_ms = trace->at_ms, before = 0;
    ssize_t length;

    *error = '\0';
    while (*error == '\0' && (length = getline(&line, &line_room, file)) > 0) {
        uint32_t number = trace->count + 1;
        if (number > room)
            snprintf(error, error_size, "it has more than %u lines", room);
        else if (!read_number(line, (size_t)length, at_ms))
            snprintf(error, error_size, "line %u is not a whole number of ms up to %u", number, PERIOD_MAX_MS);
        else if (*at_ms < before)
            snprintf(error, error_size, "line %u: %u comes after %u, but times must not decrease", number, *at_ms,
                     before);
        else
            before = *at_ms++;
        trace->count = number;
    }
    free(line);
    if (*error == '\0' && ferror(file))
        snprintf(error, error_size, "it cannot be read to its end");
    else if (*error == '\0' && before == 0)
        snprintf(error, error_size, "it lasts 0 ms; its last line must be above 0");
    return *error == '\0';
}

/* The time of an opportunity, counted on into the next period. */
static uint64_t at_ms(const struct trace *trace, uint64_t number)
{
    return trace->at_ms[number % trace->count] + number / trace->count * trace->at_ms[trace->count - 1];
}

/* The least number of opportunities in any millisecond that begins with one, its end included. */
static uint32_t shortest_burst(const struct trace *trace)
{
    uint64_t end = 0, least = UINT32_MAX;
    for (uint64_t first = 0; first < trace->count; first++) {
        while (end - first < least && at_ms(trace, end) <= at_ms(trace, first) + 1)
            end++;
        if (end - first < least)
            least = end - first;
    }
    return (uint32_t)least;
}

struct trace *trace_read(FILE *file, size_t size, char *error, size_t error_size)
{
    /* A line has at least one digit and its end. */
    uint32_t room = size / 2 < TRACE_OPPORTUNITIES_MAX ? (uint32_t)size / 2 + 1 : TRACE_OPPORTUNITIES_MAX;
    struct trace *trace = calloc(1, sizeof *trace + room * sizeof trace->at_ms[0]);
    if (trace == NULL) {
        snprintf(error, error_size, "no memory for %u lines", room);
        return NULL;
    }
    if (!read_lines(trace, room, file, error, error_size)) {
        free(trace);
        return NULL;
    }
    atomic_init(&trace->holders, 1);
    trace->period_ns = trace->at_ms[trace->count - 1] * NS_PER_MS;
    unsigned __int128 bits = (unsigned __int128)trace->count * TRACE_OPPORTUNITY_BYTES * 8;
    trace->mean_bps = (uint64_t)(bits * NS_PER_S / trace->period_ns);
    trace->burst = shortest_burst(trace);
    return trace;
}

/* Opens a regular file: nothing else may keep a link waiting. NULL with the reason in `error`. */
static FILE *open_file(const char *path, size_t *size, char *error, size_t error_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool exists = fd >= 0 && fstat(fd, &status) == 0;
    bool good = exists && S_ISREG(status.st_mode) && status.st_size <= FILE_MAX_BYTES;
    FILE *file = good ? fdopen(fd, "r") : NULL;

    if (file == NULL) {
        snprintf(error, error_size, "%s", exists && !good ? "it is no regular file, or too large" : strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *size = (size_t)status.st_size;
    return file;
}

struct trace *trace_load(const char *path, char *error, size_t error_size)
{
    char reason[160];
    size_t size;
    FILE *file = open_file(path, &size, reason, sizeof reason);
    struct trace *trace = file == NULL ? NULL : trace_read(file, size, reason, sizeof reason);

    if (file != NULL)
        fclose(file);
    if (trace == NULL)
        snprintf(error, error_size, "trace: '%.200s': %s", path, reason);
    return trace;
}

struct trace *trace_hold(struct trace *trace)
{
    if (trace != NULL)
        atomic_fetch_add(&trace->holders, 1);
    return trace;
}

void trace_release(struct trace *trace)
{
    if (trace != NULL && atomic_fetch_sub(&trace->holders, 1) == 1)
        free(trace);
}

static uint64_t time_of(const struct trace *trace, const struct trace_cursor *cursor)
{
    return cursor->period_start_ns + trace->at_ms[cursor->next] * NS_PER_MS;
}

static void step(const struct trace *trace, struct trace_cursor *cursor)
{
    cursor->left_bytes = TRACE_OPPORTUNITY_BYTES;
    if (++cursor->next == trace->count) {
        cursor->next = 0;
        cursor->period_start_ns += trace->period_ns;
    }
}

/* The first opportunity of the period at `from` or later. There is one: `from` is not after the period's end. */
static uint32_t find_opportunity(const struct trace *trace, uint64_t period_start_ns, uint64_t from)
{
    uint64_t wanted_ms = (from - period_start_ns + NS_PER_MS - 1) / NS_PER_MS;
    uint32_t low = 0, high = trace->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->at_ms[middle] < wanted_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Opportunities that were not used in time are gone. */
static void skip_to(const struct trace *trace, struct trace_cursor *cursor, uint64_t from)
{
    if (time_of(trace, cursor) >= from)
        return;
    /* Less 1: the last opportunity is at the very end of its period. */
    cursor->period_start_ns += (from - cursor->period_start_ns - 1) / trace->period_ns * trace->period_ns;
    cursor->next = find_opportunity(trace, cursor->period_start_ns, from);
    cursor->left_bytes = TRACE_OPPORTUNITY_BYTES;
}

void trace_start(struct trace_cursor *cursor, uint64_t now)
{
    *cursor = (struct trace_cursor){.period_start_ns = now, .left_bytes = TRACE_OPPORTUNITY_BYTES};
}

uint64_t trace_send(const struct trace *trace, struct trace_cursor *cursor, uint64_t from, uint32_t bytes)
{
    skip_to(trace, cursor, from);
    while (bytes > cursor->left_bytes) {
        bytes -= cursor->left_bytes;
        step(trace, cursor);
    }
    cursor->left_bytes -= bytes;
    return time_of(trace, cursor);
}
