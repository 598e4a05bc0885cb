/* Frames in propagation, by the time at which they are due. Frames that keep their order wait in a FIFO, which is
 * cheapest; frames that may overtake each other wait in a heap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/frames/pool.h"

struct flight {
    struct fifo in_order;
    struct frame **heap;
    size_t heap_size;
    uint64_t orders; /* numbers given out so far, see struct frame */
};

/* Makes room for that many frames. Returns false with errno if there is no address space. */
bool flight_init(struct flight *flight, size_t frames);

/* Adds a frame that is due at frame->due_ns, or together with the frame before it in order, if that is later. */
void flight_append(struct flight *flight, struct frame *frame);

/* Adds a frame that is due at frame->due_ns, whatever is due before or after it. */
void flight_insert(struct flight *flight, struct frame *frame);

/* The next frame that is due at `now`, or NULL. */
struct frame *flight_pop(struct flight *flight, uint64_t now);

/* When the next frame is due; NEVER if there is none. */
uint64_t flight_next(const struct flight *flight);
