/* The Internet checksum (RFC 1071) over much data: 8 bytes at a time and more. */
#ifndef FLIGHTPATH_CHECKSUM_H
#define FLIGHTPATH_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds the 16-bit words of `data` to a sum. In the machine's own byte order: the folded sum, stored as it is, is right in
 * memory on any machine (RFC 1071, section 2). A piece of odd length must be the last. Up to 2^31 bytes together. */
uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t bytes);

/* To 16 bits, not inverted. */
static inline uint16_t checksum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    uint32_t half = (uint32_t)((sum & 0xffff) + (sum >> 16 & 0xffff));
    return (uint16_t)((half & 0xffff) + (half >> 16));
}

#endif
