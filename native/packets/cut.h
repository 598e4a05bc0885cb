/* Segmentation of super-packets: the headers of one piece. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cut {
    uint32_t first;   /* segments before the piece */
    uint32_t before;  /* payload bytes before the piece */
    uint32_t payload; /* its own payload bytes */
    bool has_start, has_end;
    bool udp; /* else TCP */
};

/* Turns the IP header at `ip` and the transport header `transport` bytes after it, `headers` bytes together, from those
 * of the super-packet into the piece's: lengths, sequence number, IPv4 identification and checksum, and flags that only
 * the first or last segment has, as Linux does (tcp_gso_segment, inet_gso_segment). Leaves the transport checksum as it
 * is. */
void cut_headers(uint8_t *ip, uint32_t transport, uint32_t headers, const struct cut *cut);
