#include "packets/checksum.h"

#include <string.h>

/* Where only some processors of a kind have wider vectors, the loader chooses the variant: twice as fast. */
#if defined(WIDEST_VECTORS) && defined(__x86_64__)
#define WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define WIDEST
#endif

#define LOW UINT64_C(0xffffffff)

/* A 64-bit sum holds 2^32 numbers of 32 bits with their carries. The compiler turns this loop into vector instructions
 * (-O3). */
WIDEST uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t bytes)
{
    uint64_t even = 0, odd = 0;
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, data + 8 * i, sizeof word);
        even += word & LOW;
        odd += word >> 32;
    }
    uint64_t rest = 0;
    memcpy(&rest, data + 8 * words, bytes % 8);
    sum += (even & LOW) + (even >> 32) + (odd & LOW) + (odd >> 32);
    return sum + (rest & LOW) + (rest >> 32);
}
