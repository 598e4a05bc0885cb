/* What a running link can be asked: one line of text each, answered by one JSON object.
 *
 *   stats                              -> {"name":...,"uptime_ns":...,"seed":...,"directions":{"a_to_b":{...},"b_to_a":{...}}}
 *   set a-to-b rate_bps=...,loss=...   -> {"ok":true}; changes the keys given, from now on
 *   down, up                           -> {"ok":true}; carrier off or on at both ends; what was inside at `down` is lost
 *   reset                              -> {"ok":true}; forgets lateness and queue peaks, keeps the counters
 *   at NS REQUEST                      -> {"ok":true}; set, down, up or reset at this time on CLOCK_MONOTONIC
 *   cancel                             -> {"ok":true}; forgets all that `at` has not carried out yet
 *   anything else                      -> {"error":"..."}
 *
 * In the statistics of a direction:
 *   spec              as in force; rate_bps is null without a rate or with a trace, queue_bytes without a rate or if packets are
 *                     counted, queue_packets if bytes are; max_frame_bytes 0: no super-frames
 *   in_*, out_*       packets: wire segments; bytes: of each segment from its Ethernet header, no FCS, no preamble
 *   queued_*          all that is inside: waiting for serialisation, or in propagation
 *   duplicated_*      what went out a second time
 *   ecn_marked        packets that an AQM marked instead of dropping them
 *   queue_peak_bytes  the most that ever waited for serialisation; what queue_bytes limits
 *   drops             packets. queue: no room; aqm: by CoDel; loss: random, single or in bursts; blackhole, down: while the link
 *                     was so; malformed: a super-frame whose header makes no sense; device: the kernel refused the write,
 *                     usually because that end is down
 *   lateness_ns       how much later than due frames were written; histogram[k] counts 2^k to 2^(k+1)-1 ns ([0] with 0 ns)
 *   cpu_ns            CPU time of the direction's thread; it includes what the receiving host's kernel does on a write. One
 *                     thread for both (see worker.h): then all of it is in a_to_b and b_to_a has 0, so that the sum is right
 * At rest in + duplicated = out + drops + queued, in packets and in bytes. */
#ifndef FLIGHTPATH_COMMANDS_H
#define FLIGHTPATH_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "relay/direction.h"
#include "relay/schedule.h"
#include "relay/worker.h"

struct relay_link {
    const char *name;
    uint64_t started_ns;
    uint64_t seed;
    struct direction directions[2]; /* a_to_b, b_to_a */
    struct worker workers[2];
    int worker_count; /* 1: it serves both directions */
    struct schedule schedule;
};

/* The three of a struct control_handler whose context is the link. */
void commands_answer(void *relay_link, char *request, char *out, size_t size);
/* When the next scheduled request is due. */
uint64_t commands_next_due(void *relay_link);
/* Carries out what was scheduled for `now` or before. */
void commands_run_due(void *relay_link, uint64_t now);

#endif
