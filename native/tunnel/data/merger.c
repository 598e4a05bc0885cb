#include "tunnel/data/merger.h"

#include <netinet/in.h>
#include <string.h>

#include "packets/checksum.h"

/* The largest total length of IPv4. */
#define PACKET_MAX 65535u

static uint8_t flags_of(const struct packet *packet)
{
    return packet->protocol == IPPROTO_TCP ? packet->ip[packet->transport + 13] : 0;
}

static uint32_t payload_of(const struct packet *packet)
{
    return packet->length - packet->headers;
}

/* Whether a packet can be part of a GSO packet: the same conditions as in Linux's GRO. */
static bool is_mergeable(const struct merger *merger, const struct packet *packet)
{
    if (payload_of(packet) == 0 || (packet->v4 && packet->transport != IPV4_HEADER))
        return false;
    if (packet->protocol == IPPROTO_TCP)
        return merger->tcp && (flags_of(packet) & ~TCP_PSH) == TCP_ACK;
    return merger->udp && packet->protocol == IPPROTO_UDP;
}

/* Compares all of IP but length, identification and checksum. Packets that may be fragmented are never alike. */
static bool is_same_ip(const struct packet *a, const struct packet *b)
{
    const uint8_t *x = a->ip, *y = b->ip;
    if (a->v4 != b->v4)
        return false;
    if (a->v4)
        return memcmp(x, y, 2) == 0 && memcmp(x + 6, y + 6, 4) == 0 && memcmp(x + 12, y + 12, 8) == 0 &&
               (x[6] & 0x40) != 0;
    return memcmp(x, y, 4) == 0 && memcmp(x + 6, y + 6, 34) == 0;
}

/* Compares ports, and all of TCP but sequence number, flags and checksum. */
static bool is_same_transport(const struct packet *a, const struct packet *b)
{
    const uint8_t *x = a->ip + a->transport, *y = b->ip + b->transport;
    if (a->headers != b->headers || a->protocol != b->protocol || memcmp(x, y, 4) != 0)
        return false;
    if (a->protocol == IPPROTO_UDP)
        return true;
    return memcmp(x + 8, y + 8, 5) == 0 && memcmp(x + 14, y + 14, 2) == 0 &&
           memcmp(x + 18, y + 18, a->headers - a->transport - 18u) == 0;
}

static bool continues(const struct merger *merger, const struct packet *packet)
{
    const struct packet *first = &merger->first;
    uint32_t payload = payload_of(packet);
    if (!is_same_transport(first, packet) || !is_same_ip(first, packet))
        return false;
    if (payload > merger->segment || first->headers + merger->payload + payload > PACKET_MAX ||
        merger->count == SEGMENTS_MAX)
        return false;
    return first->protocol == IPPROTO_UDP || headers_read32(packet->ip + packet->transport + 4) ==
                                                 headers_read32(first->ip + first->transport + 4) + merger->payload;
}

/* Whether a packet can be appended. A GSO packet is marked as "checksum not yet computed", so a packet with a wrong
 * checksum stays alone for its receiver to reject. */
static bool may_append(struct merger *merger, const struct packet *packet)
{
    if (!merger->open || !is_mergeable(merger, packet) || !continues(merger, packet))
        return false;
    if (!merger->checked)
        merger->checked = merger->open = packet_checksum_holds(&merger->first);
    return merger->open && packet_checksum_holds(packet);
}

static void append(struct merger *merger, const struct packet *packet, struct buffer *buffer)
{
    uint32_t payload = payload_of(packet);
    merger->held[merger->count] = buffer;
    merger->parts[2 + merger->count++] = (struct iovec){.iov_base = packet->ip + packet->headers, .iov_len = payload};
    merger->payload += payload;
    merger->last_flags = flags_of(packet);
    merger->open = payload == merger->segment && !(merger->last_flags & TCP_PSH);
}

static void begin(struct merger *merger, const struct packet *packet, struct buffer *buffer)
{
    merger->first = *packet;
    merger->segment = payload_of(packet);
    merger->payload = 0;
    merger->checked = false;
    append(merger, packet, buffer);
    merger->open = merger->open && is_mergeable(merger, packet);
}

/* Turns the first packet's headers into the GSO packet's, with the checksum of the pseudo header alone. */
static void write_headers(struct merger *merger)
{
    const struct packet *first = &merger->first;
    uint32_t length = first->headers + merger->payload, transport_bytes = length - first->transport;
    uint8_t *ip = first->ip, *transport = ip + first->transport;
    bool tcp = first->protocol == IPPROTO_TCP;
    uint16_t unfinished = checksum_fold(packet_pseudo_sum(first, transport_bytes));

    if (first->v4) {
        headers_write16(ip + 2, (uint16_t)length);
        headers_write16(ip + 10, 0);
        headers_write16(ip + 10, headers_checksum(ip, IPV4_HEADER));
    } else {
        headers_write16(ip + 4, (uint16_t)transport_bytes);
    }
    if (tcp)
        transport[13] |= merger->last_flags;
    else
        headers_write16(transport + 4, (uint16_t)transport_bytes);
    memcpy(transport + (tcp ? 16 : 6), &unfinished, sizeof unfinished);
    merger->vnet = (struct virtio_net_hdr){
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = !tcp        ? VIRTIO_NET_HDR_GSO_UDP_L4
                    : first->v4 ? VIRTIO_NET_HDR_GSO_TCPV4
                                : VIRTIO_NET_HDR_GSO_TCPV6,
        .hdr_len = first->headers,
        .gso_size = (uint16_t)merger->segment,
        .csum_start = first->transport,
        .csum_offset = tcp ? 16 : 6,
    };
}

uint32_t merger_flush(struct merger *merger)
{
    uint32_t count = merger->count;
    if (count == 0)
        return 0;
    merger->vnet = (struct virtio_net_hdr){0};
    if (count > 1)
        write_headers(merger);
    merger->parts[0] = (struct iovec){.iov_base = &merger->vnet, .iov_len = sizeof merger->vnet};
    merger->parts[1] = (struct iovec){.iov_base = merger->first.ip, .iov_len = merger->first.headers};
    bool written = merger->output.write(merger->output.context, merger->parts, 2 + (int)count);
    for (uint32_t i = 0; i < count; i++)
        buffers_release(merger->buffers, merger->held[i]);
    merger->count = 0;
    return written ? 0 : count;
}

uint32_t merger_add(struct merger *merger, const struct reorder_packet *added)
{
    struct packet packet;
    packet_read(added->ip, added->length, &packet); /* succeeds, as it did in the receiver */
    if (merger->count > 0 && may_append(merger, &packet)) {
        append(merger, &packet, added->buffer);
        return 0;
    }
    uint32_t refused = merger_flush(merger);
    begin(merger, &packet, added->buffer);
    return refused;
}
