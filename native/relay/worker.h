/* The thread that serves one direction of a link, or both, and sleeps in between: until input or the next due time, and
 * without a limit when there is neither, so that a link at rest uses no CPU.
 *
 * Waking is the dear part (15 to 30 us of CPU in a virtual machine, against 2 for a packet), so wake-ups are saved:
 * - While a line is busy, its worker does not wake for its input. A frame that arrives then cannot start before the
 *   backlog is serialised, so it is enough to read it at the next due time (or after nap_limit() at the latest). The only
 *   effect is that drop-tail may judge by a queue that is one nap shorter.
 * - A slow link has one worker for both directions: what a host answers to a frame at once, an acknowledgement or new
 *   data, is read in the same wake-up. A fast one needs the two cores. */
#ifndef FLIGHTPATH_WORKER_H
#define FLIGHTPATH_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/direction.h"

/* Up to this rate in both directions one worker serves the link. Fixed at the start: a link raised later by `set` stays
 * with one. */
#define WORKER_SHARED_RATE_BPS UINT64_C(1000000000)

struct worker {
    struct direction *served[2];
    int count;
    pthread_t thread;
};

/* Whether one worker is enough for both. */
bool worker_suffices(const struct spec *a, const struct spec *b);

/* Starts the thread; returns an errno value. `served` and `count` are filled in. */
int worker_start(struct worker *worker);

/* CPU time of the thread. */
uint64_t worker_cpu_ns(const struct worker *worker);

#endif
