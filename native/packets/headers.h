/* Fields of Ethernet, IP and TCP headers. A packet may hold anything: nothing here reads beyond `available` bytes. */
#pragma once

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linux 6.2; not in older headers. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/* Bytes of headers without options. */
#define IPV4_HEADER 20u
#define IPV6_HEADER 40u
#define TCP_HEADER 20u
#define UDP_HEADER 8u

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_PSH = 0x08, TCP_ACK = 0x10, TCP_CWR = 0x80 };

/* `frame` begins with an Ethernet header, `ip` with a complete IP header (20 or 40 bytes). */

/* The offset of the IP header, which may follow one VLAN tag; 0 if there is no IP header. */
uint32_t headers_network(const uint8_t *frame, size_t available);

/* A hash of protocol, addresses and ports: the same for all packets of a flow, or of one EtherType other than IP. */
uint64_t headers_flow(const uint8_t *frame, size_t available, uint64_t perturbation);
uint64_t headers_ip_flow(const uint8_t *ip, size_t available, uint64_t perturbation);

/* Sets Congestion Experienced (RFC 3168). Returns false, without a change, if the packet's sender does not use ECN. */
bool headers_mark_congestion(uint8_t *frame, size_t available);

/* The Internet checksum (RFC 1071), as a number; checksum.h is faster for much data. */
uint16_t headers_checksum(const uint8_t *data, size_t bytes);

/* One's complement addition. */
static inline uint16_t headers_sum(uint16_t a, uint16_t b)
{
    uint32_t sum = (uint32_t)a + b;
    return (uint16_t)(sum + (sum >> 16));
}

/* Updates an Internet checksum after one of its 16-bit words has changed (RFC 1624). */
void headers_update_checksum(uint8_t *checksum, uint16_t before, uint16_t after);

/* Big-endian numbers, at any alignment. */
static inline uint16_t headers_read16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void headers_write16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline uint32_t headers_read32(const uint8_t *at)
{
    return (uint32_t)headers_read16(at) << 16 | headers_read16(at + 2);
}

static inline void headers_write32(uint8_t *at, uint32_t value)
{
    headers_write16(at, (uint16_t)(value >> 16));
    headers_write16(at + 2, (uint16_t)value);
}

/* One piece of a GSO packet that is cut into segments. */
struct cut {
    uint32_t first;   /* segments before the piece */
    uint32_t before;  /* payload bytes before the piece */
    uint32_t payload; /* its own payload bytes */
    bool has_start, has_end;
    bool udp; /* else TCP */
};

/* Turns the IP header at `ip` and the transport header `transport` bytes after it, `headers` bytes together, from those
 * of the GSO packet into the piece's: lengths, sequence number, IPv4 identification and checksum, and flags that only
 * the first or last segment has, as Linux does (tcp_gso_segment, inet_gso_segment). Leaves the transport checksum as it
 * is. */
void headers_cut(uint8_t *ip, uint32_t transport, uint32_t headers, const struct cut *cut);
