/* The queue in front of the line: drop-tail, CoDel (RFC 8289) or FQ-CoDel (RFC 8290), within a bound in bytes or
 * packets. Packets are wire segments: of a GSO packet as many enter as there is room for, but an AQM drops or marks
 * it whole, as Linux's own does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/ledger.h"
#include "relay/spec/spec.h"

#define QUEUE_FLOWS 1024u
/* Bytes that a flow may send before the next flow has its turn. */
#define QUEUE_QUANTUM 1514

/* Controlled delay (CoDel): decides which packets to drop from the time that they have waited. */
struct codel {
    uint64_t first_above_ns; /* when the wait will have been above the target for an interval; 0: it is not above */
    uint64_t drop_next_ns;
    uint32_t count, last_count; /* drops of this phase, and of the previous one */
    bool dropping;
};

struct flow {
    struct fifo frames;
    uint64_t bytes;
    struct codel codel;
    int64_t deficit;
    struct flow *next; /* in the list of new or old flows */
    bool listed;
};

struct flow_list {
    struct flow *head, *last;
};

struct queue {
    enum spec_discipline discipline;
    bool ecn;
    uint64_t bytes_limit, packets_limit;
    uint64_t bytes, packets; /* waiting */
    uint64_t perturbation;   /* perturbation of the flows' hash */
    struct flow all;         /* without fair queueing */
    struct flow *flows;      /* QUEUE_FLOWS of them, used with fair queueing only */
    struct flow_list fresh, old;
    struct ledger *ledger;
};

/* Returns false with errno if the address space cannot be had. */
bool queue_init(struct queue *queue, const struct spec *spec, struct ledger *ledger, uint64_t seed);

/* Changes discipline and bound. What waits stays, also beyond a smaller bound. */
void queue_change(struct queue *queue, const struct spec *spec);

/* Takes over a frame that arrived at frame->arrived_ns; segments for which there is no room are dropped. */
void queue_push(struct queue *queue, struct frame *frame);

/* The next frame to be sent at the time `now`, or NULL; an AQM may drop frames first. */
struct frame *queue_pop(struct queue *queue, uint64_t now);

static inline bool queue_is_empty(const struct queue *queue)
{
    return queue->packets == 0;
}
