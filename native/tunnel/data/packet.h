/* IP packets inside the tunnel. Anything may stand in one: packet_read() says what may be relied on. */
#ifndef FLIGHTPATH_TUNNEL_PACKET_H
#define FLIGHTPATH_TUNNEL_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_IPV4_HEADER 20u
#define PACKET_IPV6_HEADER 40u
/* Of IP, options included, and TCP. */
#define PACKET_HEADERS_MAX 120u

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_PSH = 0x08, TCP_ACK = 0x10 };

struct packet {
    uint8_t *ip;
    uint32_t length;    /* what IP says, at most what there is */
    uint16_t transport; /* where the transport header starts */
    uint16_t headers;   /* bytes of IP and TCP or UDP headers; of IP alone if it is neither, or a fragment */
    uint8_t protocol;   /* IPPROTO_TCP or IPPROTO_UDP, 0 if it is neither, or a fragment, or cut short */
    bool v4;
};

/* Returns false if it is not an IP packet that is whole. `available` may be more. */
bool packet_read(uint8_t *ip, size_t available, struct packet *packet);

/* The pseudo header's sum over addresses, protocol and a transport length; not folded (checksum.h). */
uint64_t packet_pseudo_sum(const struct packet *packet, uint32_t transport_bytes);

/* Whether the TCP or UDP checksum is right; a UDP packet without one is not. */
bool packet_checksum_holds(const struct packet *packet);

/* Lowers the maximum segment size that a TCP SYN announces to what fits into packets of `mtu` bytes, and mends the checksum. */
void packet_clamp_segments(const struct packet *packet, uint32_t mtu);

#endif
