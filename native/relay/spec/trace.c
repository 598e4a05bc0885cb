#include "relay/spec/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

#define NS_PER_MS UINT64_C(1000000)
/* A period of a week: also what keeps all sums of times far from overflow. */
#define PERIOD_MAX_MS UINT32_C(604800000)
#define FILE_MAX_BYTES ((off_t)TRACE_OPPORTUNITIES_MAX * 11)

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (const char *end = text + size; text < end; lines++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline == NULL ? end : newline + 1;
    }
    return lines;
}

/* One line without its end; false if it is not a whole number of at most PERIOD_MAX_MS. */
static bool read_number(const char *text, size_t length, uint32_t *out)
{
    uint64_t number = 0;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
        if (number > PERIOD_MAX_MS)
            return false;
    }
    *out = (uint32_t)number;
    return true;
}

static bool read_lines(struct trace *trace, const char *text, size_t size, char *error, size_t error_size)
{
    const char *end = text + size;
    uint32_t before = 0;

    for (uint32_t i = 0; i < trace->count; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline == NULL ? end : newline) - text);
        if (!read_number(text, length, &trace->at_ms[i])) {
            snprintf(error, error_size, "line %u is not a whole number of milliseconds up to %u", i + 1, PERIOD_MAX_MS);
            return false;
        }
        if (trace->at_ms[i] < before) {
            snprintf(error, error_size, "line %u: %u comes after %u, but time does not run back", i + 1, trace->at_ms[i], before);
            return false;
        }
        before = trace->at_ms[i];
        text += length + 1;
    }
    if (before == 0) {
        snprintf(error, error_size, "it lasts 0 ms; its last line must be above 0");
        return false;
    }
    return true;
}

struct trace *trace_parse(const char *text, size_t size, char *error, size_t error_size)
{
    size_t lines = count_lines(text, size);
    if (lines > TRACE_OPPORTUNITIES_MAX) {
        snprintf(error, error_size, "it has more than %u lines", TRACE_OPPORTUNITIES_MAX);
        return NULL;
    }
    struct trace *trace = malloc(sizeof *trace + lines * sizeof trace->at_ms[0]);
    if (trace == NULL) {
        snprintf(error, error_size, "no memory for %zu lines", lines);
        return NULL;
    }
    atomic_init(&trace->holders, 1);
    trace->count = (uint32_t)lines;
    if (!read_lines(trace, text, size, error, error_size)) {
        free(trace);
        return NULL;
    }
    trace->period_ns = trace->at_ms[lines - 1] * NS_PER_MS;
    trace->mean_bps = (uint64_t)((unsigned __int128)lines * TRACE_OPPORTUNITY_BYTES * 8 * NS_PER_S / trace->period_ns);
    return trace;
}

static bool read_all(int fd, char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, text + done, size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The whole file, or NULL. Only a regular one: nothing else may keep a link waiting. */
static char *read_file(const char *path, size_t *size, char *error, size_t error_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool found = fd >= 0 && fstat(fd, &status) == 0;
    bool good = found && S_ISREG(status.st_mode) && status.st_size <= FILE_MAX_BYTES;
    char *text = good ? malloc((size_t)status.st_size + 1) : NULL;

    *size = good ? (size_t)status.st_size : 0;
    if (text == NULL || !read_all(fd, text, *size)) {
        snprintf(error, error_size, "%s", found && !good ? "it is no regular file, or too large" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

struct trace *trace_load(const char *path, char *error, size_t error_size)
{
    char why[160];
    size_t size;
    char *text = read_file(path, &size, why, sizeof why);
    struct trace *trace = text == NULL ? NULL : trace_parse(text, size, why, sizeof why);

    free(text);
    if (trace == NULL)
        snprintf(error, error_size, "trace: '%.200s': %s", path, why);
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
static uint32_t find(const struct trace *trace, uint64_t period_start_ns, uint64_t from)
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

/* What was not used in its time is gone. */
static void skip_to(const struct trace *trace, struct trace_cursor *cursor, uint64_t from)
{
    if (time_of(trace, cursor) >= from)
        return;
    /* Less 1: the last opportunity is at the very end of its period. */
    cursor->period_start_ns += (from - cursor->period_start_ns - 1) / trace->period_ns * trace->period_ns;
    cursor->next = find(trace, cursor->period_start_ns, from);
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
