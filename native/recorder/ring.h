/* A ring of packets that the kernel fills: those of some interfaces of one network namespace (packet(7), TPACKET_V3). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct interface {
    int index;
    unsigned number; /* twice the number of its link, plus 1 at end b */
};

struct ring {
    int fd;
    uint8_t *memory;
    unsigned blocks, next;
    uint64_t seen; /* packets; a GSO packet is one */
    struct interface *interfaces;
    size_t count;
};

#define RING_TIMEOUT_MS 20 /* after which the kernel hands over a block that is not full */

/* Opens the ring in the network namespace of the calling thread. Returns a sentence if that fails, with errno, or NULL. */
const char *ring_open(struct ring *ring, unsigned blocks);

/* Records all packets in blocks that the kernel has handed over. */
void ring_drain(struct ring *ring);

/* Packets that came while the ring was full. */
uint64_t ring_missing(const struct ring *ring);

/* The processor's cycles, because in virtual time no clock shows how long the machine computes; 0 where programs cannot
 * read them. */
static inline uint64_t cycles_now(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Measures, over the loopback interface, how many cycles the kernel needs to put a packet into a ring; 0 if unknown. */
double ring_cost(void);
