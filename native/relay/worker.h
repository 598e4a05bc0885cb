/* The thread that serves one direction of a link, or both. In between it sleeps until input arrives or a frame is
 * due, so that a link at rest uses no CPU.
 *
 * Waking up is expensive (15 to 30 us of CPU in a virtual machine, against 2 us for a packet), so it is avoided:
 * - While a line is busy, its worker does not wake up for input. A frame that arrives then cannot start before the
 *   backlog is serialised, so it is early enough to read it at the next due time (or after nap_limit() at the
 *   latest). The only effect is that drop-tail may see a queue that is one nap shorter. An exact direction does not.
 * - A slow link has one worker for both directions: what a host answers to a frame at once, an acknowledgement or
 *   new data, is read in the same wake-up. A fast one needs two cores. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/direction.h"

/* Up to this rate in both directions one worker serves the link. Decided at the start: a later `set` does not change
 * it. */
#define WORKER_SHARED_RATE_BPS UINT64_C(1000000000)

struct worker {
    struct direction *served[2];
    int count;
    pthread_t thread;
};

/* Whether one worker is enough for both directions. */
bool worker_suffices(const struct spec *a, const struct spec *b);

/* Starts the thread; returns an errno value. `served` and `count` are set already. */
int worker_start(struct worker *worker);
