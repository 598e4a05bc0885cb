/* What one direction has counted. Written by its own thread alone, read by the control thread at any time (see counter.h). */
#ifndef FLIGHTPATH_STATS_H
#define FLIGHTPATH_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"
#include "relay/frames/frames.h"

/* Lateness is kept in octaves of 8 steps: percentiles to 12 %. 2^40 ns is 18 minutes. */
#define STATS_OCTAVES 40
#define STATS_STEPS 8

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

/* For the writing thread, before it counts: forgets lateness and queue peak if stats_forget() was called. */
void stats_follow(struct stats *stats);
void stats_lateness(struct lateness *lateness, uint64_t ns);

/* For the control thread: lateness and queue peak start again. */
void stats_forget(struct stats *stats);

/* Appends `"in_packets":...` to `"lateness_ns":{...}`, without braces around, to the text in `out`, which ends up
 * shorter than `size`. */
void stats_format(const struct stats *stats, char *out, size_t size);

#endif
