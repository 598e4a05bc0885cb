#include "relay/spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define RATE_MIN UINT64_C(1000)
#define RATE_MAX UINT64_C(1000000000000)
#define DELAY_MAX (600 * NS_PER_S)
#define QUEUE_MAX (UINT64_C(1) << 36)
#define QUEUE_DEFAULT_NS UINT64_C(10000000)
#define QUEUE_DEFAULT_MIN UINT64_C(32768)

/* A field that is being read, and where to complain. */
struct reading {
    const char *key, *value;
    char *error;
    size_t error_size;
};

static bool refuse(const struct reading *reading, const char *wanted)
{
    snprintf(reading->error, reading->error_size, "%s: '%.200s' is not %s", reading->key, reading->value, wanted);
    return false;
}

static bool whole_number(const struct reading *reading, uint64_t low, uint64_t high, uint64_t *out)
{
    const char *value = reading->value;
    bool digits = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    errno = 0;
    unsigned long long number = digits ? strtoull(value, NULL, 10) : 0;
    if (!digits || errno != 0 || number < low || number > high) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)low, (unsigned long long)high);
        return refuse(reading, wanted);
    }
    *out = number;
    return true;
}

static bool probability(const struct reading *reading, double *out)
{
    const char *value = reading->value;
    char *end = NULL;
    /* strtod also reads nan, infinity and hexadecimal, which nobody means. */
    bool plain = *value != '\0' && value[strspn(value, "0123456789.eE+-")] == '\0';
    double number = plain ? strtod(value, &end) : -1;
    if (!plain || *end != '\0' || !(number >= 0 && number <= 1))
        return refuse(reading, "a probability from 0 to 1");
    *out = number;
    return true;
}

static bool flag(const struct reading *reading, bool *out)
{
    uint64_t number;
    if (!whole_number(reading, 0, 1, &number))
        return false;
    *out = number == 1;
    return true;
}

/* `words` is one list, separated by spaces; the answer is the number of the one that was found in it. */
static bool one_of(const struct reading *reading, const char *words, int *out)
{
    size_t length = strlen(reading->value);
    int number = 0;
    for (const char *word = words; *word != '\0'; number++) {
        size_t word_length = strcspn(word, " ");
        if (word_length == length && strncmp(word, reading->value, length) == 0) {
            *out = number;
            return true;
        }
        word += word_length + strspn(word + word_length, " ");
    }
    char wanted[96];
    snprintf(wanted, sizeof wanted, "one of: %s", words);
    return refuse(reading, wanted);
}

static bool read_rate(struct spec *spec, const struct reading *reading)
{
    bool unlimited = strcmp(reading->value, "0") == 0;
    if (!whole_number(reading, unlimited ? 0 : RATE_MIN, RATE_MAX, &spec->rate_bps))
        return false;
    if (!unlimited) {
        trace_release(spec->trace);
        spec->trace = NULL;
    }
    return true;
}

static bool read_trace(struct spec *spec, const struct reading *reading)
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

static bool read_queue(struct spec *spec, const struct reading *reading, enum spec_bound bound)
{
    if (!whole_number(reading, 0, QUEUE_MAX, &spec->queue_limit))
        return false;
    spec->bound = bound;
    return true;
}

static bool read_distribution(struct spec *spec, const struct reading *reading)
{
    int found;
    if (!one_of(reading, "normal uniform", &found))
        return false;
    spec->distribution = (enum spec_distribution)found;
    return true;
}

static bool read_discipline(struct spec *spec, const struct reading *reading)
{
    int found;
    if (!one_of(reading, "droptail codel fq_codel", &found))
        return false;
    spec->discipline = (enum spec_discipline)found;
    return true;
}

static bool assign(struct spec *spec, const struct reading *reading)
{
    const char *key = reading->key;
    if (strcmp(key, "rate_bps") == 0)
        return read_rate(spec, reading);
    if (strcmp(key, "trace") == 0)
        return read_trace(spec, reading);
    if (strcmp(key, "delay_ns") == 0)
        return whole_number(reading, 0, DELAY_MAX, &spec->delay_ns);
    if (strcmp(key, "jitter_ns") == 0)
        return whole_number(reading, 0, DELAY_MAX, &spec->jitter_ns);
    if (strcmp(key, "jitter") == 0)
        return read_distribution(spec, reading);
    if (strcmp(key, "reorder") == 0)
        return flag(reading, &spec->reorder);
    if (strcmp(key, "loss") == 0)
        return probability(reading, &spec->loss);
    if (strcmp(key, "burst_enter") == 0)
        return probability(reading, &spec->burst.enter);
    if (strcmp(key, "burst_leave") == 0)
        return probability(reading, &spec->burst.leave);
    if (strcmp(key, "burst_loss_bad") == 0)
        return probability(reading, &spec->burst.loss_bad);
    if (strcmp(key, "burst_loss_good") == 0)
        return probability(reading, &spec->burst.loss_good);
    if (strcmp(key, "duplicate") == 0)
        return probability(reading, &spec->duplicate);
    if (strcmp(key, "queue_bytes") == 0)
        return read_queue(spec, reading, SPEC_BOUND_BYTES);
    if (strcmp(key, "queue_packets") == 0)
        return read_queue(spec, reading, SPEC_BOUND_PACKETS);
    if (strcmp(key, "discipline") == 0)
        return read_discipline(spec, reading);
    if (strcmp(key, "ecn") == 0)
        return flag(reading, &spec->ecn);
    if (strcmp(key, "blackhole") == 0)
        return flag(reading, &spec->blackhole);
    snprintf(reading->error, reading->error_size,
             "unknown key '%.60s' with value '%.200s': known are rate_bps, trace, delay_ns, jitter_ns, jitter, reorder, loss, "
             "burst_enter, burst_leave, burst_loss_bad, burst_loss_good, duplicate, queue_bytes, queue_packets, discipline, "
             "ecn, blackhole",
             key, reading->value);
    return false;
}

/* `text` is taken apart. */
static bool assign_all(struct spec *spec, char *text, char *error, size_t error_size)
{
    for (char *rest = *text == '\0' ? NULL : text; rest != NULL;) {
        char *pair = strsep(&rest, ",");
        char *value = strchr(pair, '=');
        if (value == NULL) {
            snprintf(error, error_size, "'%.200s' is not of the form key=value", pair);
            return false;
        }
        *value++ = '\0';
        struct reading reading = {.key = pair, .value = value, .error = error, .error_size = error_size};
        if (!assign(spec, &reading))
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
    bool good = assign_all(&changed, copy, error, error_size);
    if (good) {
        struct spec before = *spec;
        *spec = changed;
        changed = before;
    }
    spec_release(&changed);
    return good;
}

struct spec spec_nothing(void)
{
    return (struct spec){.burst = {.loss_bad = 1}};
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
    if (spec->bound != SPEC_BOUND_DEFAULT)
        return spec->bound == SPEC_BOUND_BYTES ? spec->queue_limit : UINT64_MAX;
    uint64_t round_trip_ns = 2 * spec->delay_ns;
    uint64_t bytes = bytes_in(spec_mean_bps(spec), round_trip_ns > QUEUE_DEFAULT_NS ? round_trip_ns : QUEUE_DEFAULT_NS);
    return bytes > QUEUE_DEFAULT_MIN ? bytes : QUEUE_DEFAULT_MIN;
}

uint64_t spec_queue_packets(const struct spec *spec)
{
    return spec->bound == SPEC_BOUND_PACKETS ? spec->queue_limit : UINT64_MAX;
}

uint32_t spec_frame_bound(const struct spec *spec)
{
    if (spec->duplicate > 0 || spec->trace != NULL || (spec->jitter_ns > 0 && spec->reorder))
        return 0;
    if (spec->rate_bps == 0)
        return SPEC_FRAME_MAX_BYTES;
    uint64_t bytes = bytes_in(spec->rate_bps, SPEC_FRAME_BOUND_NS);
    if (bytes < SPEC_FRAME_MIN_BYTES)
        return 0;
    return bytes < SPEC_FRAME_MAX_BYTES ? (uint32_t)bytes : SPEC_FRAME_MAX_BYTES;
}
