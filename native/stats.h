/* What one direction has counted. Written by its own thread alone, read by the control thread at any time: relaxed
 * atomics, so a snapshot of a busy direction may be a frame out of step with itself, and one at rest is exact. */
#ifndef FLIGHTPATH_STATS_H
#define FLIGHTPATH_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"

/* Lateness is kept in octaves of 8 steps: percentiles to 12 %. 2^40 ns is 18 minutes. */
#define STATS_OCTAVES 40
#define STATS_STEPS 8

typedef _Atomic uint64_t counter;

struct lateness {
    counter steps[STATS_OCTAVES * STATS_STEPS];
    counter max_ns;
};

/* Why a packet did not arrive; stats_format() has their names. */
enum drop { DROP_QUEUE, DROP_AQM, DROP_LOSS, DROP_BLACKHOLE, DROP_DOWN, DROP_MALFORMED, DROP_DEVICE, DROP_CAUSES };

struct stats {
    counter in_packets, in_bytes;
    counter out_packets, out_bytes;
    counter held_packets, held_bytes; /* inside: waiting or in propagation */
    counter duplicated_packets, duplicated_bytes;
    counter dropped[DROP_CAUSES], dropped_bytes;
    counter ecn_marked;
    counter queue_peak_bytes;
    struct lateness lateness;
    counter epoch_wanted; /* by the control thread */
    counter epoch;        /* that `lateness` and `queue_peak_bytes` belong to */
};

static inline uint64_t counter_read(const counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void counter_write(counter *c, uint64_t value)
{
    atomic_store_explicit(c, value, memory_order_relaxed);
}

/* One writer: no locked instruction needed. */
static inline void counter_add(counter *c, uint64_t n)
{
    counter_write(c, counter_read(c) + n);
}

static inline void counter_subtract(counter *c, uint64_t n)
{
    counter_write(c, counter_read(c) - n);
}

static inline void counter_raise(counter *c, uint64_t value)
{
    if (value > counter_read(c))
        counter_write(c, value);
}

/* For the writing thread, before it counts: forgets lateness and queue peak if stats_forget() was called. */
void stats_follow(struct stats *stats);
void stats_lateness(struct lateness *lateness, uint64_t ns);

/* For the control thread: lateness and queue peak start again. */
void stats_forget(struct stats *stats);

/* Appends `"in_packets":...` to `"lateness_ns":{...}`, without braces around, to the text in `out`, which ends up
 * shorter than `size`. */
void stats_format(const struct stats *stats, char *out, size_t size);

#endif
