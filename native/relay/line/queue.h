/* What waits for the line: drop-tail, CoDel (RFC 8289), or FQ-CoDel (RFC 8290), within a bound in bytes or packets. Pure: it is
 * told the time. Packets are wire segments; a super-frame is let in as far as there is room, but an AQM drops or marks it
 * whole, as Linux's own does. */
#ifndef FLIGHTPATH_QUEUE_H
#define FLIGHTPATH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/fifo.h"
#include "relay/frames/ledger.h"
#include "relay/line/codel.h"
#include "relay/spec/spec.h"

#define QUEUE_FLOWS 1024u
/* Bytes that a flow may send before it is the next one's turn. */
#define QUEUE_QUANTUM 1514

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
    uint64_t perturbation;   /* of the flows' hash */
    struct flow all;         /* without fair queueing */
    struct flow *flows;      /* QUEUE_FLOWS of them; touched only with fair queueing */
    struct flow_list fresh, old;
    struct ledger *ledger;
};

/* Returns false with errno if the address space cannot be had. */
bool queue_init(struct queue *queue, const struct spec *spec, struct ledger *ledger, uint64_t seed);

/* Another discipline or bound; what waits stays, also beyond a smaller bound. */
void queue_change(struct queue *queue, const struct spec *spec);

/* Takes the frame over, which arrived at frame->arrived_ns; what finds no room is dropped. */
void queue_push(struct queue *queue, struct frame *frame);

/* The next to be sent, at the time `now`; NULL if none is left. May drop some on the way. */
struct frame *queue_pop(struct queue *queue, uint64_t now);

static inline bool queue_is_empty(const struct queue *queue)
{
    return queue->packets == 0;
}

#endif
