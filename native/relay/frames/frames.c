#include "relay/frames/frames.h"

#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <string.h>

#include "packets/cut.h"
#include "packets/headers.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define IPV4_HEADER 20u
#define IPV6_HEADER 40u
#define TCP_HEADER_MIN 20u
#define UDP_HEADER 8u

_Static_assert(sizeof(struct virtio_net_hdr) == FRAMES_VNET_BYTES, "the TAP's default vnet header");

/* Whether the headers of a super-frame are where its vnet header says; frames_cut() relies on it. */
static bool headers_fit(const struct virtio_net_hdr *vnet, const uint8_t *frame, size_t headers, size_t available,
                        size_t checksum)
{
    if (headers > available || headers > FRAMES_HEADERS_MAX || vnet->csum_offset != checksum)
        return false;
    uint32_t network = headers_network(frame, headers);
    if (network == 0)
        return false;
    bool v4 = frame[network] >> 4 == 4;
    size_t ip = v4 ? (size_t)(frame[network] & 15) * 4 : IPV6_HEADER;
    return ip >= IPV4_HEADER && network + ip <= vnet->csum_start;
}

/* Length of Ethernet, IP and transport headers together, or 0 if they make no sense. The kernel always leaves the
 * checksum of a super-frame unfinished; it starts with the transport header. */
static size_t headers_length(const struct virtio_net_hdr *vnet, const uint8_t *frame, size_t available)
{
    size_t transport = vnet->csum_start, length;
    if (!(vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || transport < ETH_HLEN)
        return 0;
    switch (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        if (transport + TCP_HEADER_MIN > available)
            return 0;
        length = (size_t)(frame[transport + 12] >> 4) * 4;
        length += transport;
        return length >= transport + TCP_HEADER_MIN && headers_fit(vnet, frame, length, available, 16) ? length : 0;
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        length = transport + UDP_HEADER;
        return headers_fit(vnet, frame, length, available, 6) ? length : 0;
    default:
        return 0;
    }
}

bool frames_measure(const uint8_t *data, size_t available, size_t length, struct wire_size *wire)
{
    struct virtio_net_hdr vnet;

    if (length < sizeof vnet + ETH_HLEN || available < sizeof vnet)
        return false;
    memcpy(&vnet, data, sizeof vnet);
    size_t bytes = length - sizeof vnet;
    if (vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE) {
        *wire = (struct wire_size){.segments = 1, .bytes = (uint32_t)bytes};
        return true;
    }
    size_t headers = headers_length(&vnet, data + sizeof vnet, available - sizeof vnet);
    if (headers == 0 || headers >= bytes || vnet.gso_size == 0)
        return false;
    size_t segments = (bytes - headers + vnet.gso_size - 1) / vnet.gso_size;
    *wire = (struct wire_size){
        .segments = (uint32_t)segments,
        .bytes = (uint32_t)(bytes + (segments - 1) * headers),
    };
    return true;
}

struct layout frames_layout(const uint8_t *data, size_t available, size_t length)
{
    struct virtio_net_hdr vnet;
    memcpy(&vnet, data, sizeof vnet);
    size_t headers = headers_length(&vnet, data + sizeof vnet, available - sizeof vnet);
    return (struct layout){
        .headers = (uint32_t)headers,
        .payload = (uint32_t)(length - sizeof vnet - headers),
        .gso_size = vnet.gso_size,
    };
}

/* The unfinished transport checksum is the sum of the pseudo header, which contains the length. */
static void replace_length_in_checksum(uint8_t *checksum, uint32_t before, uint32_t after)
{
    headers_write16(checksum, headers_sum(headers_read16(checksum), headers_sum((uint16_t)after, (uint16_t)~before)));
}

void frames_cut(uint8_t *data, const struct layout *layout, uint32_t first, uint32_t count)
{
    struct virtio_net_hdr vnet;
    memcpy(&vnet, data, sizeof vnet);
    uint8_t *frame = data + sizeof vnet, *transport = frame + vnet.csum_start;
    uint32_t end = frames_payload_before(layout, first + count);
    struct cut cut = {
        .first = first,
        .before = frames_payload_before(layout, first),
        .payload = end - frames_payload_before(layout, first),
        .has_start = first == 0,
        .has_end = end == layout->payload,
        .udp = (vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4,
    };
    uint32_t network = headers_network(frame, layout->headers);
    uint32_t transport_headers = layout->headers - vnet.csum_start;

    cut_headers(frame + network, vnet.csum_start - network, layout->headers - network, &cut);
    replace_length_in_checksum(transport + vnet.csum_offset, transport_headers + layout->payload,
                               transport_headers + cut.payload);
    vnet.hdr_len = (uint16_t)layout->headers; /* a device refuses a frame that is shorter than hdr_len */
    if (count == 1) {
        vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
        vnet.gso_size = 0;
    }
    memcpy(data, &vnet, sizeof vnet);
}
