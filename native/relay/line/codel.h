/* Controlled delay (CoDel), RFC 8289: decides which packets to drop from the time that they have waited. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The values of the RFC. */
#define CODEL_TARGET_NS UINT64_C(5000000)
#define CODEL_INTERVAL_NS UINT64_C(100000000)
/* A backlog of one packet is no standing queue. */
#define CODEL_BACKLOG_BYTES 1514u

struct codel {
    uint64_t first_above_ns; /* when the wait will have been above the target for an interval; 0: it is not above */
    uint64_t drop_next_ns;
    uint32_t count, last_count; /* drops of this phase, and of the previous one */
    bool dropping;
};

/* Whether to drop a packet that was taken from the queue after `waited_ns`, with so many bytes still behind it. */
bool codel_should_drop(struct codel *codel, uint64_t waited_ns, uint64_t backlog_bytes, uint64_t now);

/* When the next drop of a phase is due: an interval later, divided by the square root of the drops so far. */
uint64_t codel_next(uint64_t from_ns, uint32_t count);

/* A phase of dropping begins with a drop now. */
void codel_enter(struct codel *codel, uint64_t now);
