/* Frames made of some of a super-frame's segments. */
#ifndef FLIGHTPATH_SEGMENTS_H
#define FLIGHTPATH_SEGMENTS_H

#include <stdint.h>

#include "relay/frames/frames.h"
#include "relay/frames/pool.h"

/* The layout of a frame with more than one segment. */
struct layout segments_layout(const struct frame *frame);

/* Copies segments `first` to `first + count - 1`, with the time of arrival of the whole; NULL if there is no memory. */
struct frame *segments_copy(struct pool *pool, const struct frame *whole, const struct layout *layout, uint32_t first,
                            uint32_t count);

/* Cuts off all segments but the first `count`, in place. */
void segments_keep(struct frame *frame, const struct layout *layout, uint32_t count);

#endif
