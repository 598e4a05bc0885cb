/* GSO packets: how many segments a frame is on the wire, and frames that are made of some of its segments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/pool.h"

/* The parts of a GSO packet for which segments_measure() has returned true. */
struct layout {
    uint32_t headers;  /* bytes of Ethernet, IP and transport headers, after the vnet header */
    uint32_t payload;  /* bytes after them */
    uint32_t gso_size; /* payload bytes of each segment but the last */
};

/* Sets frame->wire from frame->length and the headers. Returns false if the frame is malformed: shorter than an
 * Ethernet header, or a GSO packet whose headers make no sense. The vnet header's hdr_len is ignored, because the
 * kernel fills it with a linear length. */
bool segments_measure(struct frame *frame);

struct layout segments_layout(const struct frame *frame);

/* The wire bytes of segments `first` to `first + count - 1`. */
uint32_t segments_wire_bytes(const struct layout *layout, uint32_t first, uint32_t count);

/* Copies segments `first` to `first + count - 1`, with the time of arrival of the whole; NULL if there is no memory.
 * The headers and unfinished checksums are those that Linux's own segmentation makes (tcp_gso_segment,
 * inet_gso_segment). */
struct frame *segments_copy(struct pool *pool, const struct frame *whole, const struct layout *layout, uint32_t first,
                            uint32_t count);

/* Cuts off all segments but the first `count`, in place. */
void segments_keep(struct frame *frame, const struct layout *layout, uint32_t count);
