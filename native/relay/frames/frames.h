/* Frames as read from a TAP with IFF_VNET_HDR: how many segments they are on the wire, how many bytes with the
 * headers of each segment, and the headers of a frame that is made of some of them. */
#ifndef FLIGHTPATH_FRAMES_H
#define FLIGHTPATH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct virtio_net_hdr, which the kernel puts before each frame. */
#define FRAMES_VNET_BYTES 10u
/* The headers of a super-frame that the kernel makes are no longer than this. */
#define FRAMES_HEADERS_MAX 512u

struct wire_size {
    uint32_t segments;
    uint32_t bytes; /* from the Ethernet header, no FCS, no preamble: the kernel's qdisc_pkt_len */
};

/* `data` is the vnet header and the start of the frame, of which `available` bytes may be read (FRAMES_HEADERS_MAX,
 * or all); `length` is that of the whole, vnet header included. Returns false if the frame is malformed: shorter
 * than an Ethernet header, or a super-frame whose headers make no sense. The vnet header's hdr_len is ignored,
 * because the kernel fills it with a linear length. */
bool frames_measure(const uint8_t *data, size_t available, size_t length, struct wire_size *wire);

/* The parts of a super-frame for which frames_measure() has returned true. */
struct layout {
    uint32_t headers; /* bytes of Ethernet, IP and transport headers, after the vnet header */
    uint32_t payload; /* bytes after them */
    uint32_t gso_size; /* payload bytes of each segment but the last */
};

struct layout frames_layout(const uint8_t *data, size_t available, size_t length);

/* Payload bytes in the segments before number `segment`. */
static inline uint32_t frames_payload_before(const struct layout *layout, uint32_t segment)
{
    uint32_t bytes = segment * layout->gso_size;
    return bytes < layout->payload ? bytes : layout->payload;
}

/* The wire bytes of segments `first` to `first + count - 1`. */
static inline uint32_t frames_wire_bytes(const struct layout *layout, uint32_t first, uint32_t count)
{
    uint32_t payload = frames_payload_before(layout, first + count) - frames_payload_before(layout, first);
    return payload + count * layout->headers;
}

/* Turns `data`, the vnet header and all other headers of a super-frame, into those of its segments `first` to `first
 * + count - 1`: lengths, sequence number, IPv4 identification, flags of the first or last segment only, and
 * checksums, as Linux's own segmentation does (tcp_gso_segment, inet_gso_segment). */
void frames_cut(uint8_t *data, const struct layout *layout, uint32_t first, uint32_t count);

#endif
