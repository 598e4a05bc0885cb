/* Frames in propagation, by the time at which they are due. Those that must keep their order wait in a FIFO, which costs
 * nothing; those that may overtake each other in a heap. */
#ifndef FLIGHTPATH_FLIGHT_H
#define FLIGHTPATH_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/frames/fifo.h"

struct flight {
    struct fifo in_order;
    struct frame **heap;
    size_t heap_size;
    uint64_t orders; /* handed out */
};

/* Returns false with errno if the address space cannot be had. */
bool flight_init(struct flight *flight);

/* Due at frame->due_ns, or when the one before it in order is due, if that is later. */
void flight_append(struct flight *flight, struct frame *frame);

/* Due at frame->due_ns, whatever is due before or after. */
void flight_insert(struct flight *flight, struct frame *frame);

/* The next that is due at `now`, or NULL. */
struct frame *flight_pop(struct flight *flight, uint64_t now);

/* When the next is due; NEVER if there is none. */
uint64_t flight_next(const struct flight *flight);

#endif
