/* The line of one direction: queue -> serialisation -> propagation. Pure: it is told the time and does no I/O.
 *
 * The line runs on a virtual clock. A frame starts when the one before it has left, or on arrival if the line is idle,
 * and it leaves size/rate later: computed, not observed. So the rate is exact however late the thread wakes, and an
 * idle line gathers no credit. Random loss marks a frame when it has been serialised, as on a real line: it took its
 * time there, and vanishes at the moment it would have arrived.
 *
 * A further effect (an AQM, jitter, duplication) belongs at one of the three steps: arrive, start, fly. */
#ifndef FLIGHTPATH_LINE_H
#define FLIGHTPATH_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"
#include "random.h"
#include "spec.h"

struct fifo {
    struct frame *head, *last;
};

struct line {
    struct spec spec;
    uint64_t queue_limit;     /* spec_queue_bytes() of spec */
    struct fifo queue;        /* wait for serialisation */
    struct fifo flight;       /* serialised or being serialised, in the order of due_ns */
    uint64_t waiting_bytes;   /* wire bytes in queue */
    uint64_t free_ns;         /* when the line has serialised all that started */
    uint64_t remainder;       /* what integer division left over, in bit x 1e9, below rate_bps */
    struct random random;
};

void line_init(struct line *line, const struct spec *spec, uint64_t seed, uint64_t stream);

/* Takes effect at the time `now`: what started before keeps its times, what waits starts under the new spec.
 * Frames never overtake each other, also not when the delay shrinks. */
void line_change(struct line *line, const struct spec *spec, uint64_t now);

/* Whether a frame of so many wire bytes finds room at `now`: drop-tail, in bytes. An idle line needs no queue. */
bool line_admits(struct line *line, uint32_t bytes, uint64_t now);

/* Takes the frame over. */
void line_arrive(struct line *line, struct frame *frame, uint64_t now);

/* The next frame due at `now`, or NULL. Lost ones come out too, marked. */
struct frame *line_depart(struct line *line, uint64_t now);

/* When all that is inside by now will have been serialised: what arrives before then waits in any case. In the past, or 0,
 * if the line is idle. */
uint64_t line_busy_until(const struct line *line);

/* When line_depart() will next have one, if nothing more arrives; NEVER if the line is empty. */
uint64_t line_next(struct line *line, uint64_t now);

#endif
