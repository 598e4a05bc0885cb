/* The tunnel's header: GRE (RFC 2784) in UDP (RFC 8086), with a sequence number (RFC 2890) if the receiver reorders
 * packets, and without key and checksum, as in MPT-GRE's reference implementation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packets/headers.h"

#define GRE_PORT 4754 /* RFC 8086 */
#define GRE_BYTES 4u
#define GRE_SEQUENCED_BYTES 8u
#define GRE_SEQUENCED 0x1000u

enum { GRE_IPV4 = 0x0800, GRE_IPV6 = 0x86dd };

struct gre {
    uint32_t sequence; /* if sequenced */
    uint8_t bytes;     /* length of the header */
    bool sequenced;
    uint16_t protocol; /* type of the payload; the reference implementation looks at its first byte instead */
};

static inline uint8_t gre_bytes(bool sequenced)
{
    return sequenced ? GRE_SEQUENCED_BYTES : GRE_BYTES;
}

static inline void gre_write(uint8_t *at, uint16_t protocol, bool sequenced, uint32_t sequence)
{
    headers_write16(at, sequenced ? GRE_SEQUENCED : 0);
    headers_write16(at + 2, protocol);
    if (sequenced)
        headers_write32(at + 4, sequence);
}

/* Returns false if there is no such header, or nothing behind it. */
static inline bool gre_read(const uint8_t *data, size_t length, struct gre *gre)
{
    if (length <= GRE_BYTES)
        return false;
    uint16_t flags = headers_read16(data);
    gre->sequenced = flags == GRE_SEQUENCED;
    gre->bytes = gre_bytes(gre->sequenced);
    gre->protocol = headers_read16(data + 2);
    if ((flags & ~GRE_SEQUENCED) != 0 || length <= gre->bytes)
        return false;
    gre->sequence = gre->sequenced ? headers_read32(data + 4) : 0;
    return true;
}
