#include "relay/frames/stats.h"

#include <inttypes.h>

#include "common/text.h"

/* Octave 0 is 0 to 7 ns, one step each; octave k > 0 starts at 2^(k+2). */
static unsigned step_of(uint64_t ns)
{
    if (ns < STATS_STEPS)
        return (unsigned)ns;
    unsigned log = 63u - (unsigned)__builtin_clzll(ns);
    unsigned octave = log - 2;
    if (octave >= STATS_OCTAVES)
        return STATS_OCTAVES * STATS_STEPS - 1;
    return octave * STATS_STEPS + (unsigned)((ns >> (log - 3)) & (STATS_STEPS - 1));
}

/* The largest lateness that falls into the step. */
static uint64_t step_end(unsigned step)
{
    unsigned octave = step / STATS_STEPS, within = step % STATS_STEPS;
    if (octave == 0)
        return within;
    return ((uint64_t)(STATS_STEPS + within + 1) << (octave - 1)) - 1;
}

void stats_lateness(struct lateness *lateness, uint64_t ns)
{
    counter_add(&lateness->steps[step_of(ns)], 1);
    counter_raise(&lateness->max_ns, ns);
}

void stats_follow(struct stats *stats)
{
    uint64_t wanted = atomic_load_explicit(&stats->epoch_wanted, memory_order_relaxed);
    if (wanted == counter_read(&stats->epoch))
        return;
    for (unsigned i = 0; i < STATS_OCTAVES * STATS_STEPS; i++)
        counter_write(&stats->lateness.steps[i], 0);
    counter_write(&stats->lateness.max_ns, 0);
    counter_write(&stats->queue_peak_bytes, 0);
    atomic_store_explicit(&stats->epoch, wanted, memory_order_release);
}

struct snapshot {
    uint64_t steps[STATS_OCTAVES * STATS_STEPS];
    uint64_t frames, max_ns, queue_peak_bytes;
};

/* Empty if the thread has not yet followed a new epoch: then nothing has happened since. */
static struct snapshot snapshot(const struct stats *stats)
{
    struct snapshot copy = {0};
    if (atomic_load_explicit(&stats->epoch, memory_order_acquire) != counter_read(&stats->epoch_wanted))
        return copy;
    for (unsigned i = 0; i < STATS_OCTAVES * STATS_STEPS; i++)
        copy.frames += copy.steps[i] = counter_read(&stats->lateness.steps[i]);
    copy.max_ns = counter_read(&stats->lateness.max_ns);
    copy.queue_peak_bytes = counter_read(&stats->queue_peak_bytes);
    return copy;
}

static uint64_t percentile(const struct snapshot *copy, double fraction)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < STATS_OCTAVES * STATS_STEPS; i++) {
        seen += copy->steps[i];
        if (seen > 0 && (double)seen >= fraction * (double)copy->frames)
            return step_end(i) < copy->max_ns ? step_end(i) : copy->max_ns;
    }
    return 0;
}

/* Element k counts lateness from 2^k to 2^(k+1) - 1 ns; element 0 takes 0 ns too. */
static void fold(const struct snapshot *copy, uint64_t *histogram)
{
    for (unsigned i = 0; i < STATS_OCTAVES * STATS_STEPS; i++) {
        uint64_t end = step_end(i);
        histogram[end < 2 ? 0 : 63 - __builtin_clzll(end)] += copy->steps[i];
    }
}

static void append_drops(const struct stats *stats, char *out, size_t size)
{
    static const char *const names[DROP_CAUSES] = {
        [DROP_QUEUE] = "queue", [DROP_AQM] = "aqm", [DROP_LOSS] = "loss", [DROP_BLACKHOLE] = "blackhole",
        [DROP_DOWN] = "down", [DROP_MALFORMED] = "malformed", [DROP_DEVICE] = "device",
    };
    text_append(out, size, "\"drops\":{");
    for (int i = 0; i < DROP_CAUSES; i++)
        text_append(out, size, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", names[i], counter_read(&stats->dropped[i]));
    text_append(out, size, "},");
}

static void append_lateness(const struct snapshot *copy, char *out, size_t size)
{
    uint64_t histogram[STATS_OCTAVES + 2] = {0};
    fold(copy, histogram);
    text_append(out, size,
                "\"lateness_ns\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 ",\"histogram\":[",
                percentile(copy, 0.50), percentile(copy, 0.99), copy->max_ns);
    for (unsigned i = 0; i < STATS_OCTAVES + 2; i++)
        text_append(out, size, "%s%" PRIu64, i == 0 ? "" : ",", histogram[i]);
    text_append(out, size, "]}");
}

void stats_format(const struct stats *stats, char *out, size_t size)
{
    struct snapshot copy = snapshot(stats);
#define APPEND(name) text_append(out, size, "\"" #name "\":%" PRIu64 ",", counter_read(&stats->name));
    STATS_COUNTERS(APPEND)
    text_append(out, size, "\"queue_peak_bytes\":%" PRIu64 ",", copy.queue_peak_bytes);
    append_drops(stats, out, size);
    append_lateness(&copy, out, size);
}
