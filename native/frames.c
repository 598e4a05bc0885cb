#include "frames.h"

#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <string.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define TCP_HEADER_MIN 20u
#define UDP_HEADER 8u

_Static_assert(sizeof(struct virtio_net_hdr) == FRAMES_VNET_BYTES, "the TAP's default vnet header");

/* Length of Ethernet, IP and transport headers together, or 0 if it cannot be. The kernel hands super-frames over
 * with an unfinished checksum, always: its start is where the transport header starts. */
static size_t headers_length(const struct virtio_net_hdr *vnet, const uint8_t *frame, size_t available)
{
    size_t transport = vnet->csum_start;
    if (!(vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || transport < ETH_HLEN)
        return 0;
    switch (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6: {
        if (transport + TCP_HEADER_MIN > available)
            return 0;
        size_t tcp = (size_t)(frame[transport + 12] >> 4) * 4;
        return tcp < TCP_HEADER_MIN ? 0 : transport + tcp;
    }
    case VIRTIO_NET_HDR_GSO_UDP_L4:
        return transport + UDP_HEADER;
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
