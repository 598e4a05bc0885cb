#include "relay/frames/segments.h"

#include <linux/if_ether.h>
#include <string.h>

#include "packets/headers.h"

/* The headers of a GSO packet that the kernel makes are no longer than this. */
#define HEADERS_MAX 512u

_Static_assert(sizeof(struct virtio_net_hdr) == FRAME_VNET_BYTES, "the TAP's default vnet header");

static struct virtio_net_hdr read_vnet(const struct frame *frame)
{
    struct virtio_net_hdr vnet;
    memcpy(&vnet, frame->head, sizeof vnet);
    return vnet;
}

static bool is_udp(const struct virtio_net_hdr *vnet)
{
    return (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4;
}

/* Whether the headers of a GSO packet are where its vnet header says; cut() relies on it. */
static bool headers_fit(const struct virtio_net_hdr *vnet, const uint8_t *packet, size_t headers, size_t available,
                        size_t checksum)
{
    if (headers > available || headers > HEADERS_MAX || vnet->csum_offset != checksum)
        return false;
    uint32_t network = headers_network(packet, headers);
    if (network == 0)
        return false;
    bool v4 = packet[network] >> 4 == 4;
    size_t ip = v4 ? (size_t)(packet[network] & 15) * 4 : IPV6_HEADER;
    return ip >= IPV4_HEADER && network + ip <= vnet->csum_start;
}

/* Length of Ethernet, IP and transport headers together, or 0 if they make no sense. The kernel always leaves the
 * checksum of a GSO packet unfinished; it starts with the transport header. */
static size_t headers_length(const struct frame *frame, const struct virtio_net_hdr *vnet)
{
    const uint8_t *packet = frame->head + sizeof *vnet;
    size_t transport = vnet->csum_start, available = frame_head_bytes(frame) - sizeof *vnet, length;
    if (!(vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || transport < ETH_HLEN)
        return 0;
    switch (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        if (transport + TCP_HEADER > available)
            return 0;
        length = transport + (size_t)(packet[transport + 12] >> 4) * 4;
        return length >= transport + TCP_HEADER && headers_fit(vnet, packet, length, available, 16) ? length : 0;
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        length = transport + UDP_HEADER;
        return headers_fit(vnet, packet, length, available, 6) ? length : 0;
    default:
        return 0;
    }
}

bool segments_measure(struct frame *frame)
{
    if (frame->length < FRAME_VNET_BYTES + ETH_HLEN)
        return false;
    size_t bytes = frame->length - FRAME_VNET_BYTES;
    if (frame->head[offsetof(struct virtio_net_hdr, gso_type)] == VIRTIO_NET_HDR_GSO_NONE) {
        frame->wire = (struct wire_size){.segments = 1, .bytes = (uint32_t)bytes};
        return true;
    }
    struct virtio_net_hdr vnet = read_vnet(frame);
    size_t headers = headers_length(frame, &vnet);
    if (headers == 0 || headers >= bytes || vnet.gso_size == 0)
        return false;
    size_t segments = (bytes - headers + vnet.gso_size - 1) / vnet.gso_size;
    frame->wire = (struct wire_size){
        .segments = (uint32_t)segments,
        .bytes = (uint32_t)(bytes + (segments - 1) * headers),
    };
    return true;
}

struct layout segments_layout(const struct frame *frame)
{
    struct virtio_net_hdr vnet = read_vnet(frame);
    size_t headers = headers_length(frame, &vnet);
    return (struct layout){
        .headers = (uint32_t)headers,
        .payload = (uint32_t)(frame->length - sizeof vnet - headers),
        .gso_size = vnet.gso_size,
    };
}

/* Payload bytes in the segments before number `segment`. */
static uint32_t payload_before(const struct layout *layout, uint32_t segment)
{
    uint32_t bytes = segment * layout->gso_size;
    return bytes < layout->payload ? bytes : layout->payload;
}

uint32_t segments_wire_bytes(const struct layout *layout, uint32_t first, uint32_t count)
{
    return payload_before(layout, first + count) - payload_before(layout, first) + count * layout->headers;
}

/* The unfinished transport checksum is the sum of the pseudo header, which contains the length. */
static void replace_length_in_checksum(uint8_t *checksum, uint32_t before, uint32_t after)
{
    headers_write16(checksum, headers_sum(headers_read16(checksum), headers_sum((uint16_t)after, (uint16_t)~before)));
}

/* Turns the headers of a GSO packet, which are in `piece`, into those of `count` of its segments, and sets the
 * sizes. */
static void cut(struct frame *piece, const struct layout *layout, uint32_t first, uint32_t count)
{
    struct virtio_net_hdr vnet = read_vnet(piece);
    uint8_t *packet = piece->head + sizeof vnet, *transport = packet + vnet.csum_start;
    uint32_t before = payload_before(layout, first), end = payload_before(layout, first + count);
    uint32_t network = headers_network(packet, layout->headers), transport_headers = layout->headers - vnet.csum_start;
    struct cut fields = {
        .first = first,
        .before = before,
        .payload = end - before,
        .has_start = first == 0,
        .has_end = end == layout->payload,
        .udp = is_udp(&vnet),
    };

    headers_cut(packet + network, vnet.csum_start - network, layout->headers - network, &fields);
    replace_length_in_checksum(transport + vnet.csum_offset, transport_headers + layout->payload,
                               transport_headers + fields.payload);
    vnet.hdr_len = (uint16_t)layout->headers; /* a device refuses a frame that is shorter than hdr_len */
    if (count == 1) {
        vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
        vnet.gso_size = 0;
    }
    memcpy(piece->head, &vnet, sizeof vnet);
    piece->length = (uint32_t)sizeof vnet + layout->headers + fields.payload;
    piece->wire = (struct wire_size){.segments = count, .bytes = segments_wire_bytes(layout, first, count)};
}

/* Copies bytes from the head, the tail, or both. */
static void read_bytes(const struct frame *frame, size_t from, uint8_t *to, size_t bytes)
{
    size_t in_head = from >= sizeof frame->head ? 0 : sizeof frame->head - from;
    if (in_head > bytes)
        in_head = bytes;
    if (in_head > 0)
        memcpy(to, frame->head + from, in_head);
    if (bytes > in_head)
        memcpy(to + in_head, frame->tail + (from + in_head - sizeof frame->head), bytes - in_head);
}

struct frame *segments_copy(struct pool *pool, const struct frame *whole, const struct layout *layout, uint32_t first,
                            uint32_t count)
{
    size_t headers = FRAME_VNET_BYTES + layout->headers, from = payload_before(layout, first);
    size_t payload = payload_before(layout, first + count) - from, room = sizeof whole->head - headers;
    size_t in_head = payload < room ? payload : room;
    struct frame *piece = pool_take_frame(pool);

    if (piece == NULL)
        return NULL;
    piece->tail = NULL;
    if (payload > in_head && (piece->tail = pool_take_tail(pool)) == NULL) {
        pool_give_frame(pool, piece);
        return NULL;
    }
    piece->arrived_ns = whole->arrived_ns;
    memcpy(piece->head, whole->head, headers);
    read_bytes(whole, headers + from, piece->head + headers, in_head);
    if (payload > in_head)
        read_bytes(whole, headers + from + in_head, piece->tail, payload - in_head);
    cut(piece, layout, first, count);
    return piece;
}

void segments_keep(struct frame *frame, const struct layout *layout, uint32_t count)
{
    cut(frame, layout, 0, count);
}
