#include "relay/spec/spec.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"

#define RATE_MIN UINT64_C(1000)
#define RATE_MAX UINT64_C(1000000000000)
#define OVERHEAD_MAX 1000
#define DELAY_MAX (30 * 86400 * NS_PER_S)
#define QUEUE_MAX (UINT64_C(1) << 36)
#define QUEUE_DEFAULT_NS UINT64_C(10000000)
#define QUEUE_DEFAULT_MIN UINT64_C(32768)
#define HELP_WIDTH 24

enum kind { QUEUE_BYTES, QUEUE_PACKETS, RATE, OVERHEAD, TRACE, NANOSECONDS, PROBABILITY, SWITCH, DISCIPLINE, DISTRIBUTION };

struct field {
    const char *key;
    enum kind kind;
    bool needs_single_segments;
    size_t offset, size; /* place of the member */
    const char *example, *help;
};

#define WHOLE false
#define SINGLE true
#define DESCRIBE(type, key, kind, frames, example, help)                                                               \
    {#key, kind, frames, offsetof(struct spec, key), sizeof(type), example, help},
static const struct field fields[] = {SPEC_FIELDS(DESCRIBE)};
static const struct field *const fields_end = fields + sizeof fields / sizeof fields[0];

static const char *const disciplines[] = {"droptail", "codel", "fq_codel", NULL};
static const char *const distributions[] = {"normal", "uniform", NULL};

/* A rate ends a trace, and the other way round. */
static bool read_rate(const struct reading *reading, struct spec *spec)
{
    bool unlimited = strcmp(reading->value, "0") == 0;
    if (!text_read_whole(reading, unlimited ? 0 : RATE_MIN, RATE_MAX, &spec->rate_bps))
        return false;
    if (!unlimited) {
        trace_release(spec->trace);
        spec->trace = NULL;
    }
    return true;
}

static bool read_trace(const struct reading *reading, struct spec *spec)
{
    struct trace *trace = NULL;
    if (*reading->value != '\0') {
        if ((trace = trace_load(reading->value, reading->error, reading->error_size)) == NULL)
            return false;
        spec->rate_bps = 0;
    }
    trace_release(spec->trace);
    spec->trace = trace;
    return true;
}

/* If it returns false, `spec` is of no further use. */
static bool read_field(const struct reading *reading, const struct field *field, struct spec *spec)
{
    void *member = (char *)spec + field->offset;
    switch (field->kind) {
    case QUEUE_BYTES: spec->queue_packets = SPEC_UNSET; return text_read_whole(reading, 0, QUEUE_MAX, member);
    case QUEUE_PACKETS: spec->queue_bytes = SPEC_UNSET; return text_read_whole(reading, 0, QUEUE_MAX, member);
    case RATE: return read_rate(reading, spec);
    case OVERHEAD: return text_read_whole(reading, 0, OVERHEAD_MAX, member);
    case TRACE: return read_trace(reading, spec);
    case NANOSECONDS: return text_read_whole(reading, 0, DELAY_MAX, member);
    case PROBABILITY: return text_read_number(reading, 0, 1, member);
    case SWITCH: return text_read_switch(reading, member);
    case DISCIPLINE: return text_read_choice(reading, disciplines, member);
    case DISTRIBUTION: return text_read_choice(reading, distributions, member);
    }
    return false;
}

static bool read_pair(const struct reading *reading, struct spec *spec)
{
    for (const struct field *field = fields; field < fields_end; field++)
        if (strcmp(reading->key, field->key) == 0)
            return read_field(reading, field, spec);
    snprintf(reading->error, reading->error_size, "unknown key '%.60s' with value '%.200s'; known keys:", reading->key,
             reading->value);
    for (const struct field *field = fields; field < fields_end; field++)
        text_append(reading->error, reading->error_size, " %s", field->key);
    return false;
}

/* `text` is taken apart. */
static bool read_pairs(struct spec *spec, char *text, char *error, size_t error_size)
{
    for (char *rest = *text == '\0' ? NULL : text; rest != NULL;) {
        char *value = strsep(&rest, ",");
        const char *key = strsep(&value, "=");
        if (value == NULL) {
            snprintf(error, error_size, "'%.200s' is not of the form key=value", key);
            return false;
        }
        struct reading reading = {.key = key, .value = value, .error = error, .error_size = error_size};
        if (!read_pair(&reading, spec))
            return false;
    }
    return true;
}

bool spec_parse(struct spec *spec, const char *text, char *error, size_t error_size)
{
    char copy[SPEC_TEXT_BYTES];

    if (strlen(text) >= sizeof copy) {
        snprintf(error, error_size, "spec of %zu characters is too long", strlen(text));
        return false;
    }
    strcpy(copy, text);
    struct spec changed = spec_copy(spec);
    bool good = read_pairs(&changed, copy, error, error_size);
    if (good) {
        struct spec before = *spec;
        *spec = changed;
        changed = before;
    }
    spec_release(&changed);
    return good;
}

static void append_number(char *out, size_t size, bool has_value, uint64_t number)
{
    if (has_value)
        text_append(out, size, "%" PRIu64, number);
    else
        text_append(out, size, "null");
}

static void append_trace(char *out, size_t size, const struct trace *trace)
{
    if (trace == NULL)
        text_append(out, size, "null");
    else
        text_append(out, size, "{\"opportunities\":%" PRIu32 ",\"period_ns\":%" PRIu64 ",\"mean_bps\":%" PRIu64 "}",
                    trace->count, trace->period_ns, trace->mean_bps);
}

static void append_value(const struct spec *spec, const struct field *field, char *out, size_t size)
{
    const void *member = (const char *)spec + field->offset;
    bool limited = spec_mean_bps(spec) != 0, in_packets = spec->queue_packets != SPEC_UNSET;
    switch (field->kind) {
    case QUEUE_BYTES: append_number(out, size, limited && !in_packets, spec_queue_bytes(spec)); break;
    case QUEUE_PACKETS: append_number(out, size, limited && in_packets, spec->queue_packets); break;
    case RATE: append_number(out, size, spec->rate_bps != 0, spec->rate_bps); break;
    case TRACE: append_trace(out, size, spec->trace); break;
    case OVERHEAD:
    case NANOSECONDS: append_number(out, size, true, *(const uint64_t *)member); break;
    case PROBABILITY: text_append(out, size, "%.17g", *(const double *)member); break;
    case SWITCH: text_append(out, size, *(const bool *)member ? "true" : "false"); break;
    case DISCIPLINE: text_append(out, size, "\"%s\"", disciplines[spec->discipline]); break;
    case DISTRIBUTION: text_append(out, size, "\"%s\"", distributions[spec->jitter]); break;
    }
}

void spec_format(const struct spec *spec, char *out, size_t size)
{
    for (const struct field *field = fields; field < fields_end; field++) {
        text_append(out, size, "\"%s\":", field->key);
        append_value(spec, field, out, size);
        text_append(out, size, ",");
    }
    text_append(out, size, "\"down\":%s,", spec->down ? "true" : "false");
}

void spec_print_help(FILE *out)
{
    for (const struct field *field = fields; field < fields_end; field++)
        fprintf(out, "  %s=%-*s %s%s\n", field->key, HELP_WIDTH - (int)strlen(field->key), field->example, field->help,
                field->needs_single_segments ? " *" : "");
}

struct spec spec_nothing(void)
{
    return (struct spec){.queue_bytes = SPEC_UNSET, .queue_packets = SPEC_UNSET, .burst_loss_bad = 1};
}

struct spec spec_copy(const struct spec *spec)
{
    trace_hold(spec->trace);
    return *spec;
}

void spec_release(struct spec *spec)
{
    trace_release(spec->trace);
    spec->trace = NULL;
}

uint64_t spec_mean_bps(const struct spec *spec)
{
    return spec->trace != NULL ? spec->trace->mean_bps : spec->rate_bps;
}

static uint64_t bytes_in(uint64_t rate_bps, uint64_t ns)
{
    return (uint64_t)((unsigned __int128)rate_bps * ns / (8 * NS_PER_S));
}

uint64_t spec_queue_bytes(const struct spec *spec)
{
    if (spec->queue_bytes != SPEC_UNSET || spec->queue_packets != SPEC_UNSET)
        return spec->queue_bytes;
    uint64_t round_trip_ns = 2 * spec->delay_ns;
    uint64_t bytes = bytes_in(spec_mean_bps(spec), round_trip_ns > QUEUE_DEFAULT_NS ? round_trip_ns : QUEUE_DEFAULT_NS);
    return bytes > QUEUE_DEFAULT_MIN ? bytes : QUEUE_DEFAULT_MIN;
}

static bool needs_single_segments(const struct spec *spec)
{
    static const char zero[sizeof(struct spec)];
    for (const struct field *field = fields; field < fields_end; field++)
        if (field->needs_single_segments && memcmp((const char *)spec + field->offset, zero, field->size) != 0)
            return true;
    return spec->reorder && spec->jitter_ns > 0;
}

uint32_t spec_frame_bound(const struct spec *spec, uint64_t longest_ns)
{
    if (needs_single_segments(spec))
        return 0;
    if (spec->rate_bps == 0 && spec->trace == NULL)
        return SPEC_FRAME_MAX_BYTES;
    uint64_t bytes = bytes_in(spec->rate_bps, longest_ns);
    if (spec->trace != NULL) /* its times are whole milliseconds */
        bytes = longest_ns < NS_PER_MS ? 0 : (uint64_t)spec->trace->burst * TRACE_OPPORTUNITY_BYTES;
    if (bytes < SPEC_FRAME_MIN_BYTES)
        return 0;
    return bytes < SPEC_FRAME_MAX_BYTES ? (uint32_t)bytes : SPEC_FRAME_MAX_BYTES;
}
