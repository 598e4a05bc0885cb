#include "spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define RATE_MIN UINT64_C(1000)
#define RATE_MAX UINT64_C(1000000000000)
#define DELAY_MAX (600 * NS_PER_S)
#define QUEUE_MAX (UINT64_C(1) << 36)
#define QUEUE_DEFAULT_NS UINT64_C(10000000)
#define QUEUE_DEFAULT_MIN UINT64_C(32768)

struct complaint {
    char *text;
    size_t size;
};

static bool whole_number(const char *field, const char *value, uint64_t low, uint64_t high, uint64_t *out,
                         struct complaint *complaint)
{
    bool digits = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    errno = 0;
    unsigned long long number = digits ? strtoull(value, NULL, 10) : 0;
    if (!digits || errno != 0 || number < low || number > high) {
        snprintf(complaint->text, complaint->size, "%s: '%s' is not a whole number from %llu to %llu", field, value,
                 (unsigned long long)low, (unsigned long long)high);
        return false;
    }
    *out = number;
    return true;
}

static bool probability(const char *field, const char *value, double *out, struct complaint *complaint)
{
    char *end = NULL;
    /* strtod also reads nan, infinity and hexadecimal, which nobody means. */
    bool plain = *value != '\0' && value[strspn(value, "0123456789.eE+-")] == '\0';
    double number = plain ? strtod(value, &end) : -1;
    if (!plain || *end != '\0' || !(number >= 0 && number <= 1)) {
        snprintf(complaint->text, complaint->size, "%s: '%s' is not a probability from 0 to 1", field, value);
        return false;
    }
    *out = number;
    return true;
}

static bool assign(struct spec *spec, const char *key, const char *value, struct complaint *complaint)
{
    if (strcmp(key, "rate_bps") == 0)
        return whole_number(key, value, RATE_MIN, RATE_MAX, &spec->rate_bps, complaint);
    if (strcmp(key, "delay_ns") == 0)
        return whole_number(key, value, 0, DELAY_MAX, &spec->delay_ns, complaint);
    if (strcmp(key, "loss") == 0)
        return probability(key, value, &spec->loss, complaint);
    if (strcmp(key, "queue_bytes") == 0) {
        spec->queue_given = whole_number(key, value, 0, QUEUE_MAX, &spec->queue_bytes, complaint);
        return spec->queue_given;
    }
    snprintf(complaint->text, complaint->size, "unknown key '%s' with value '%s': known are rate_bps, delay_ns, loss, queue_bytes",
             key, value);
    return false;
}

bool spec_parse(struct spec *spec, const char *text, char *error, size_t error_size)
{
    struct complaint complaint = {error, error_size};
    struct spec changed = *spec;
    char copy[512];

    if (strlen(text) >= sizeof copy) {
        snprintf(error, error_size, "spec of %zu characters is too long", strlen(text));
        return false;
    }
    strcpy(copy, text);
    for (char *rest = copy; rest != NULL && *copy != '\0';) {
        char *pair = strsep(&rest, ",");
        char *value = strchr(pair, '=');
        if (value == NULL) {
            snprintf(error, error_size, "'%s' is not of the form key=value", pair);
            return false;
        }
        *value++ = '\0';
        if (!assign(&changed, pair, value, &complaint))
            return false;
    }
    *spec = changed;
    return true;
}

static uint64_t bytes_in(uint64_t rate_bps, uint64_t ns)
{
    return (uint64_t)((unsigned __int128)rate_bps * ns / (8 * NS_PER_S));
}

uint64_t spec_queue_bytes(const struct spec *spec)
{
    if (spec->queue_given)
        return spec->queue_bytes;
    uint64_t round_trip_ns = 2 * spec->delay_ns;
    uint64_t bytes = bytes_in(spec->rate_bps, round_trip_ns > QUEUE_DEFAULT_NS ? round_trip_ns : QUEUE_DEFAULT_NS);
    return bytes > QUEUE_DEFAULT_MIN ? bytes : QUEUE_DEFAULT_MIN;
}

uint32_t spec_frame_bound(const struct spec *spec)
{
    if (spec->loss > 0)
        return 0;
    if (spec->rate_bps == 0)
        return SPEC_FRAME_MAX_BYTES;
    uint64_t bytes = bytes_in(spec->rate_bps, SPEC_FRAME_BOUND_NS);
    if (bytes < SPEC_FRAME_MIN_BYTES)
        return 0;
    return bytes < SPEC_FRAME_MAX_BYTES ? (uint32_t)bytes : SPEC_FRAME_MAX_BYTES;
}
