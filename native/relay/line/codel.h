/* Controlled delay (CoDel), RFC 8289: which packets to drop, by how long they have waited. */
#ifndef FLIGHTPATH_CODEL_H
#define FLIGHTPATH_CODEL_H

#include <stdbool.h>
#include <stdint.h>

/* The RFC's own values. */
#define CODEL_TARGET_NS UINT64_C(5000000)
#define CODEL_INTERVAL_NS UINT64_C(100000000)
/* A backlog of one packet is no standing queue. */
#define CODEL_BACKLOG_BYTES 1514u

struct codel {
    uint64_t first_above_ns; /* when the wait will have been above the target for an interval; 0: it is not above */
    uint64_t drop_next_ns;
    uint32_t count, last_count; /* drops of this phase, and of the last one */
    bool dropping;
};

/* Whether a packet that was taken from the queue should go, having waited so long and left so much behind. */
bool codel_should_drop(struct codel *codel, uint64_t waited_ns, uint64_t backlog_bytes, uint64_t now);

/* When the next drop of a phase is due: after an interval, divided by the square root of the drops so far. */
uint64_t codel_next(uint64_t from_ns, uint32_t count);

/* A phase of dropping begins with a drop now. */
void codel_enter(struct codel *codel, uint64_t now);

#endif
