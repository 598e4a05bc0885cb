/* The Internet checksum (RFC 1071) over much data, in steps of 8 bytes or more. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Adds the 16-bit words of `data` to a sum, in the machine's byte order: copied to memory as it is, the folded sum is
 * right on any machine (RFC 1071, section 2). Only the last piece may have an odd length; all together at most 2^31
 * bytes. */
uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t bytes);

/* Folds a sum to 16 bits, without inverting it. */
static inline uint16_t checksum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    uint32_t half = (uint32_t)((sum & 0xffff) + (sum >> 16 & 0xffff));
    return (uint16_t)((half & 0xffff) + (half >> 16));
}
