/* The headers of a piece of a super-packet, made from those of the whole. */
#ifndef FLIGHTPATH_CUT_H
#define FLIGHTPATH_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct cut {
    uint32_t first;   /* segments before it */
    uint32_t before;  /* payload bytes before it */
    uint32_t payload; /* of the piece */
    bool has_start, has_end;
    bool udp; /* else TCP */
};

/* Turns the IP header at `ip` and the transport header `transport` bytes after it, `headers` bytes together, into the piece's:
 * lengths, sequence number, IPv4 identification and checksum, flags that only the first or last segment has; as Linux's own
 * segmentation does (tcp_gso_segment, inet_gso_segment). The transport checksum stays as it is. */
void cut_headers(uint8_t *ip, uint32_t transport, uint32_t headers, const struct cut *cut);

#endif
