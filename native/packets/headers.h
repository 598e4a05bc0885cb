/* Fields of a packet's Ethernet and IP headers: of which flow it is, and its congestion mark. Anything may stand in a packet:
 * nothing here reads beyond `available` bytes. */
#ifndef FLIGHTPATH_HEADERS_H
#define FLIGHTPATH_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `frame` begins with the Ethernet header, `ip` with an IP header that is whole (20 or 40 bytes). */

/* Where the IP header starts: behind one VLAN tag, if there is one. 0 if there is no IP header. */
uint32_t headers_network(const uint8_t *frame, size_t available);

/* The same number for all packets of a flow: protocol, addresses and ports; or of one kind that is not IP. */
uint64_t headers_flow(const uint8_t *frame, size_t available, uint64_t perturbation);

uint64_t headers_ip_flow(const uint8_t *ip, size_t available, uint64_t perturbation);

/* Sets "congestion experienced" (RFC 3168), and mends the IPv4 checksum. Returns false if the sender does not understand it:
 * then the packet is unchanged. */
bool headers_mark_congestion(uint8_t *frame, size_t available);

/* The Internet checksum (RFC 1071), as a number; see checksum.h for much data. */
uint16_t headers_checksum(const uint8_t *data, size_t bytes);

/* One's complement addition. */
static inline uint16_t headers_sum(uint16_t a, uint16_t b)
{
    uint32_t sum = (uint32_t)a + b;
    return (uint16_t)(sum + (sum >> 16));
}

/* Big-endian, unaligned. */
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

#endif
