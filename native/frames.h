/* What a frame read from a TAP with IFF_VNET_HDR is on the wire: its segments, and their bytes with the
 * headers that each one carries. */
#ifndef FLIGHTPATH_FRAMES_H
#define FLIGHTPATH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct virtio_net_hdr, which the kernel puts before each frame. */
#define FRAMES_VNET_BYTES 10u
/* All headers of a super-frame that the kernel makes lie within so many bytes. */
#define FRAMES_HEADERS_MAX 512u

struct wire_size {
    uint32_t segments;
    uint32_t bytes; /* from the Ethernet header, no FCS, no preamble: the kernel's qdisc_pkt_len */
};

/* `data` is the vnet header and the frame's start; `available` bytes of it may be read (the first
 * FRAMES_HEADERS_MAX, or all); `length` is that of the whole, vnet header included.
 * Returns false if the frame is malformed: shorter than an Ethernet header, or a super-frame whose header
 * makes no sense. The vnet header's hdr_len is not believed: the kernel fills it with a linear length. */
bool frames_measure(const uint8_t *data, size_t available, size_t length, struct wire_size *wire);

#endif
