/* The line of one direction: queue -> transmitter -> impairments -> propagation. It gets the time from its caller
 * and does no I/O, and it runs on a virtual clock.
 *
 * A packet that is lost has been serialised, as on a real line: it took its time there. A duplicate follows its
 * original at once and takes no time of the line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/ledger.h"
#include "relay/line/flight.h"
#include "relay/line/impairments.h"
#include "relay/line/queue.h"
#include "relay/spec/spec.h"
#include "relay/spec/trace.h"

/* The rate of a line, on a virtual clock: a frame starts when the one before it has left, or on arrival if the line
 * is idle, and leaves size/rate later. Because this is computed and not observed, the rate is exact however late the
 * thread wakes, and an idle line gathers no credit. */
struct transmitter {
    uint64_t free_ns;   /* when everything that was started has left */
    uint64_t remainder; /* remainder of the integer division, in bit x 1e9, below rate_bps */
    struct trace_cursor cursor;
};

struct line {
    struct spec spec;
    struct queue queue;
    struct transmitter transmitter;
    struct impairments impairments;
    struct flight flight; /* serialised or being serialised */
    struct ledger ledger;
};

/* Uses the pool and the statistics of `ledger` from now on. Returns false with errno if there is no memory. */
bool line_init(struct line *line, const struct spec *spec, struct ledger ledger, uint64_t seed, uint64_t stream,
               uint64_t now);

/* Puts a specification in force at the time `now`: what was started before keeps its times, what waits is sent under
 * the new one. When the delay shrinks, frames do not overtake each other unless jitter may reorder. `cut`: the link
 * has been down since the last change, if only for a moment, and what was inside then is lost. */
void line_change(struct line *line, const struct spec *spec, bool cut, uint64_t now);

/* Takes over a frame that is held in the ledger. If the line is idle, it needs no room in the queue. */
void line_arrive(struct line *line, struct frame *frame, uint64_t now);

/* The next frame due at `now`, or NULL. It is still held in the ledger. */
struct frame *line_depart(struct line *line, uint64_t now);

/* When about everything inside will have been serialised: what arrives earlier has to wait. In the past, or 0, if
 * the line is idle. */
uint64_t line_busy_until(const struct line *line);

/* When line_depart() will next return a frame, or the queue needs attention, if nothing more arrives; NEVER if the
 * line is empty. */
uint64_t line_next(struct line *line, uint64_t now);
