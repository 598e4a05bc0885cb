#include "recorder/packet.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

#include "packets/headers.h"

#define MPTCP_OPTION 30u
#define PAYLOAD_HASHED 16u

static const uint32_t hash_start = 2166136261u;

/* FNV-1a. */
uint32_t packet_hash(uint32_t hash, const void *data, size_t bytes)
{
    for (const uint8_t *at = data; bytes > 0; at++, bytes--)
        hash = (hash ^ *at) * 16777619u;
    return hash;
}

static void parse_mptcp(const uint8_t *option, uint8_t length, struct flow_start *start)
{
    unsigned subtype = option[2] >> 4;
    if (subtype == 0) {
        start->mptcp = MPTCP_CAPABLE;
        if (length >= 12)
            memcpy(&start->mptcp_value, option + 4, 8);
    } else if (subtype == 1 && length >= 8) {
        start->mptcp = MPTCP_JOIN;
        start->mptcp_value = length == 12 ? headers_read32(option + 4) : 0; /* only the SYN has the token */
    }
}

static void parse_options(const uint8_t *at, size_t bytes, struct flow_start *start)
{
    while (bytes > 1 && at[0] != 0) {
        if (at[0] == 1) {
            at++, bytes--;
            continue;
        }
        uint8_t length = at[1];
        if (length < 2 || length > bytes)
            break;
        if (at[0] == 3 && length == 3)
            start->window_scale = at[2];
        else if (at[0] == MPTCP_OPTION && length >= 3)
            parse_mptcp(at, length, start);
        at += length, bytes -= length;
    }
}

static uint32_t identify(const struct packet *packet, uint32_t rest)
{
    uint32_t hash = packet_hash(rest, &packet->key, sizeof packet->key);
    hash = packet_hash(hash, &packet->seq, sizeof packet->seq);
    hash = packet_hash(hash, &packet->ack, sizeof packet->ack);
    hash = packet_hash(hash, &packet->id, sizeof packet->id);
    return packet_hash(hash, &packet->payload, sizeof packet->payload);
}

/* Parses the transport header at `at`; returns its length and a hash of what else is the packet's own. */
static size_t parse_transport(const uint8_t *at, size_t available, struct packet *packet, uint32_t *rest)
{
    size_t header = 0;
    if (packet->key.protocol == IPPROTO_TCP && available >= TCP_HEADER) {
        header = (size_t)(at[12] >> 4) * 4;
        packet->seq = headers_read32(at + 4), packet->ack = headers_read32(at + 8);
        packet->flags = at[13], packet->window = headers_read16(at + 14);
        packet->start.is_syn = packet->flags & TCP_SYN;
        size_t end = header < available ? header : available;
        if (end > TCP_HEADER) /* timestamps tell retransmissions apart, and SACK duplicate acknowledgements */
            *rest = packet_hash(*rest, at + TCP_HEADER, end - TCP_HEADER);
        if (end > TCP_HEADER && packet->start.is_syn)
            parse_options(at + TCP_HEADER, end - TCP_HEADER, &packet->start);
    } else if (packet->key.protocol == IPPROTO_UDP && available >= UDP_HEADER) {
        header = UDP_HEADER;
    }
    if (header > 0) {
        packet->key.source_port = headers_read16(at), packet->key.target_port = headers_read16(at + 2);
    }
    if (packet->key.protocol != IPPROTO_TCP && available > header) {
        size_t bytes = available - header < PAYLOAD_HASHED ? available - header : PAYLOAD_HASHED;
        *rest = packet_hash(*rest, at + header, bytes);
    }
    return header;
}

static size_t parse_ip(const uint8_t *ip, size_t available, struct packet *packet, size_t *length)
{
    struct flow_key *key = &packet->key;
    if (ip[0] >> 4 == 4) {
        key->family = 4, key->protocol = ip[9], packet->ecn = ip[1] & 3;
        packet->id = headers_read16(ip + 4);
        memcpy(key->source, ip + 12, 4);
        memcpy(key->target, ip + 16, 4);
        size_t total = headers_read16(ip + 2);
        if (total != 0 && total < *length)
            *length = total; /* without the padding of a short frame */
        return (size_t)(ip[0] & 15) * 4;
    }
    if (available < IPV6_HEADER)
        return available;
    key->family = 6, key->protocol = ip[6], packet->ecn = ip[1] >> 4 & 3;
    memcpy(key->source, ip + 8, 16);
    memcpy(key->target, ip + 24, 16);
    return IPV6_HEADER;
}

void packet_parse(const uint8_t *frame, size_t available, size_t length, struct packet *packet)
{
    memset(packet, 0, sizeof *packet);
    size_t network = headers_network(frame, available), headers = ETH_HLEN;
    uint32_t rest = hash_start;
    if (network == 0 || available < network + IPV4_HEADER) {
        packet->key.ethertype = available >= ETH_HLEN ? headers_read16(frame + 12) : 0;
        rest = packet_hash(rest, frame, available);
    } else {
        size_t ip_length = length - network;
        size_t header = parse_ip(frame + network, available - network, packet, &ip_length);
        length = network + ip_length, headers = network + header;
        if (headers < available)
            headers += parse_transport(frame + headers, available - headers, packet, &rest);
    }
    packet->headers = (uint16_t)headers;
    packet->payload = length > headers ? (uint32_t)(length - headers) : 0;
    packet->identity = rest;
    if (packet->key.protocol != IPPROTO_TCP)
        packet->identity = identify(packet, rest);
}

void packet_cut(const struct packet *whole, uint32_t number, uint32_t size, struct packet *segment)
{
    *segment = *whole;
    bool is_tcp = whole->key.protocol == IPPROTO_TCP;
    if (size > 0 && whole->payload > size) {
        uint32_t before = number * size, left = whole->payload - before;
        segment->payload = left < size ? left : size;
        if (whole->key.family == 4)
            segment->id = (uint16_t)(whole->id + number);
        if (is_tcp) {
            segment->seq = whole->seq + before;
            if (number > 0)
                segment->flags &= (uint8_t)~TCP_CWR;
            if (left > size)
                segment->flags &= (uint8_t) ~(TCP_FIN | TCP_PSH);
        }
    }
    if (is_tcp)
        segment->identity = identify(segment, whole->identity);
}
