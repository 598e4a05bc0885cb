/* The control socket of a link: SOCK_SEQPACKET, so that each request and each answer is one datagram.
 *
 *   stats                              -> {"name":...,"uptime_ns":...,"seed":...,"directions":{"a_to_b":{...},"b_to_a":{...}}}
 *   set a-to-b rate_bps=...,loss=...   -> {"ok":true}; changes the keys given, from now on
 *   reset                              -> {"ok":true}; forgets lateness and queue peaks, keeps the counters
 *   anything else                      -> {"error":"..."}
 *
 * In the statistics of a direction:
 *   spec              as in force; rate_bps and queue_bytes are null without a rate; max_frame_bytes 0: no super-frames
 *   in_*, out_*       packets: wire segments; bytes: of each segment from its Ethernet header, no FCS, no preamble
 *   queued_*          all that is inside: waiting for serialisation, or in propagation
 *   queue_peak_bytes  the most that ever waited for serialisation; what queue_bytes limits
 *   drops             packets. queue: no room; loss: random; malformed: a super-frame whose header makes no sense; device: the
 *                     kernel refused the write, usually because that end is down
 *   lateness_ns       how much later than due frames were written; histogram[k] counts 2^k to 2^(k+1)-1 ns ([0] with 0 ns)
 *   cpu_ns            CPU time of the direction's thread; it includes what the receiving host's kernel does on a write. One
 *                     thread for both (see worker.h): then all of it is in a_to_b and b_to_a has 0, so that the sum is right
 * At rest in = out + drops + queued. A super-frame is admitted, lost or dropped as a whole, and counts as its segments. */
#ifndef FLIGHTPATH_CONTROL_H
#define FLIGHTPATH_CONTROL_H

#include <stdint.h>

#include "direction.h"
#include "worker.h"

#define CONTROL_CLIENTS 16

struct relay_link {
    const char *name;
    uint64_t started_ns;
    uint64_t seed;
    struct direction directions[2]; /* a_to_b, b_to_a */
    struct worker workers[2];
    int worker_count; /* 1: it serves both directions */
};

/* Returns the listening descriptor, or -1 with a sentence in `error`. */
int control_listen(const char *path, char *error, size_t error_size);

/* Answers clients until `stop_fd` is readable. */
void control_serve(int listen_fd, int stop_fd, struct relay_link *link);

#endif
