/* Counters of one direction. Only its own thread writes them; the control thread reads them at any time (see
 * counter.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"

/* The counters, under the names that they have in the statistics. Packets are wire segments; bytes are those of each
 * segment from its Ethernet header, without FCS and preamble. At rest in + duplicated = out + dropped + queued. */
#define STATS_COUNTERS(COUNTER)                                                                                        \
    COUNTER(in_packets) COUNTER(in_bytes)                                                                              \
    COUNTER(out_packets) COUNTER(out_bytes)                                                                            \
    COUNTER(queued_packets) COUNTER(queued_bytes) /* inside: waiting for serialisation, or in propagation */           \
    COUNTER(duplicated_packets) COUNTER(duplicated_bytes) /* written a second time */                                  \
    COUNTER(corrupted) /* packets of which a bit was flipped; they are delivered */                                    \
    COUNTER(dropped_bytes)                                                                                             \
    COUNTER(ecn_marked) /* packets that an AQM marked instead of dropping them */

/* Why packets did not arrive. Queue: no room; AQM: dropped by CoDel; loss: random, single or in bursts; black hole,
 * down: the link was in this state; malformed: a GSO packet whose headers make no sense; device: the kernel refused
 * the write, usually because that end is down. */
enum drop { DROP_QUEUE, DROP_AQM, DROP_LOSS, DROP_BLACKHOLE, DROP_DOWN, DROP_MALFORMED, DROP_DEVICE, DROP_CAUSES };

/* Lateness is counted in octaves of 8 steps, so that percentiles are exact to 12 %. 2^40 ns are 18 minutes. */
#define STATS_OCTAVES 40
#define STATS_STEPS 8

struct lateness {
    counter steps[STATS_OCTAVES * STATS_STEPS];
    counter max_ns;
};

#define STATS_MEMBER(name) counter name;
struct stats {
    STATS_COUNTERS(STATS_MEMBER)
    counter dropped[DROP_CAUSES];
    counter queue_peak_bytes;
    struct lateness lateness;
    counter epoch;        /* period of `lateness` and `queue_peak_bytes` */
    counter epoch_wanted; /* the control thread adds 1 to let both start again */
};
#undef STATS_MEMBER

/* For the writing thread, before it counts: clears lateness and queue peak if a new epoch is wanted. */
void stats_follow(struct stats *stats);
void stats_lateness(struct lateness *lateness, uint64_t ns);

/* Appends `"in_packets":...` to `"lateness_ns":{...}`, without braces around, to the text in `out`, which ends up
 * shorter than `size`. */
void stats_format(const struct stats *stats, char *out, size_t size);
