/* IP packets inside the tunnel. They may hold anything; what packet_read() returns has been checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packets/headers.h"

/* IP and TCP headers with options. */
#define PACKET_HEADERS_MAX 120u

struct packet {
    uint8_t *ip;
    uint32_t length;    /* by its IP header */
    uint16_t transport; /* offset of the transport header */
    uint16_t headers;   /* bytes of the IP header, and of the TCP or UDP header if `protocol` is not 0 */
    uint8_t protocol;   /* IPPROTO_TCP or IPPROTO_UDP; 0 for others, fragments, and incomplete headers */
    bool v4;
};

/* Returns false if `available` bytes at `ip` do not begin with a complete IP packet. */
bool packet_read(uint8_t *ip, size_t available, struct packet *packet);

/* The sum of the pseudo header: addresses, protocol and the transport length; not folded (checksum.h). */
uint64_t packet_pseudo_sum(const struct packet *packet, uint32_t transport_bytes);

/* Whether the TCP or UDP checksum is right. False for UDP without one. */
bool packet_checksum_holds(const struct packet *packet);

/* Lowers the maximum segment size that a TCP SYN announces to what fits into packets of `mtu` bytes; updates the
 * checksum. */
void packet_clamp_segments(const struct packet *packet, uint32_t mtu);
