#include "tunnel/data/packet.h"

#include <netinet/in.h>
#include <string.h>

#include "packets/checksum.h"

static bool read_ip(struct packet *packet, size_t available, uint8_t *protocol)
{
    const uint8_t *ip = packet->ip;
    if (available < IPV4_HEADER)
        return false;
    packet->v4 = ip[0] >> 4 == 4;
    if (packet->v4) {
        packet->transport = (uint16_t)((ip[0] & 15) * 4);
        packet->length = headers_read16(ip + 2);
        *protocol = (headers_read16(ip + 6) & 0x3fff) == 0 ? ip[9] : 0;
        return packet->transport >= IPV4_HEADER && packet->length >= packet->transport &&
               packet->length <= available;
    }
    if (ip[0] >> 4 != 6 || available < IPV6_HEADER)
        return false;
    packet->transport = IPV6_HEADER;
    packet->length = IPV6_HEADER + headers_read16(ip + 4);
    *protocol = ip[6];
    return packet->length <= available;
}

static uint32_t transport_header(const struct packet *packet, uint8_t protocol)
{
    uint32_t available = packet->length - packet->transport;
    if (protocol == IPPROTO_UDP && available >= UDP_HEADER)
        return UDP_HEADER;
    if (protocol != IPPROTO_TCP || available < TCP_HEADER)
        return 0;
    uint32_t length = (uint32_t)(packet->ip[packet->transport + 12] >> 4) * 4;
    return length >= TCP_HEADER && length <= available ? length : 0;
}

bool packet_read(uint8_t *ip, size_t available, struct packet *packet)
{
    uint8_t protocol;
    packet->ip = ip;
    if (!read_ip(packet, available, &protocol))
        return false;
    uint32_t header = transport_header(packet, protocol);
    packet->headers = (uint16_t)(packet->transport + header);
    packet->protocol = header == 0 ? 0 : protocol;
    return true;
}

uint64_t packet_pseudo_sum(const struct packet *packet, uint32_t transport_bytes)
{
    uint8_t rest[4];
    uint64_t sum = packet->v4 ? checksum_add(0, packet->ip + 12, 8) : checksum_add(0, packet->ip + 8, 32);
    headers_write16(rest, packet->protocol);
    headers_write16(rest + 2, (uint16_t)transport_bytes);
    return checksum_add(sum, rest, sizeof rest);
}

bool packet_checksum_holds(const struct packet *packet)
{
    uint32_t bytes = packet->length - packet->transport;
    const uint8_t *transport = packet->ip + packet->transport;
    if (packet->protocol == IPPROTO_UDP &&
        (headers_read16(transport + 6) == 0 || headers_read16(transport + 4) != bytes))
        return false;
    return checksum_fold(checksum_add(packet_pseudo_sum(packet, bytes), transport, bytes)) == 0xffff;
}

static uint16_t swap(uint16_t number)
{
    return (uint16_t)(number << 8 | number >> 8);
}

void packet_clamp_segments(const struct packet *packet, uint32_t mtu)
{
    enum { END = 0, NOTHING = 1, SEGMENT_SIZE = 2 };
    uint32_t fixed = TCP_HEADER + (packet->v4 ? IPV4_HEADER : IPV6_HEADER);
    if (packet->protocol != IPPROTO_TCP || !(packet->ip[packet->transport + 13] & TCP_SYN) || mtu <= fixed)
        return;
    uint8_t *tcp = packet->ip + packet->transport;
    uint32_t length = packet->headers - packet->transport;
    for (uint32_t at = TCP_HEADER; at + 1 < length && tcp[at] != END; at += tcp[at] == NOTHING ? 1 : tcp[at + 1]) {
        if (tcp[at] != NOTHING && tcp[at + 1] < 2)
            return;
        if (tcp[at] != SEGMENT_SIZE || tcp[at + 1] != 4 || at + 4 > length)
            continue;
        uint16_t announced = headers_read16(tcp + at + 2), fits = (uint16_t)(mtu - fixed);
        if (announced > mtu - fixed) {
            bool odd = at % 2 != 0; /* then it lies across two words of the checksum */
            headers_write16(tcp + at + 2, fits);
            headers_update_checksum(tcp + 16, odd ? swap(announced) : announced, odd ? swap(fits) : fits);
        }
        return;
    }
}
