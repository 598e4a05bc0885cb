/* Where the frames of one direction end before they reach the other side: counted by cause, and their memory given back. */
#ifndef FLIGHTPATH_LEDGER_H
#define FLIGHTPATH_LEDGER_H

#include "relay/frames/pool.h"
#include "relay/frames/stats.h"

struct ledger {
    struct pool *pool;
    struct stats *stats;
};

/* Counts segments that were inside as in or out; a piece of a frame may be given. */
static inline void ledger_hold(struct ledger *ledger, struct wire_size wire)
{
    counter_add(&ledger->stats->held_packets, wire.segments);
    counter_add(&ledger->stats->held_bytes, wire.bytes);
}

static inline void ledger_release(struct ledger *ledger, struct wire_size wire)
{
    counter_subtract(&ledger->stats->held_packets, wire.segments);
    counter_subtract(&ledger->stats->held_bytes, wire.bytes);
}

/* Part of a frame ends; the frame goes on without it. */
static inline void ledger_drop_part(struct ledger *ledger, struct wire_size wire, enum drop cause)
{
    ledger_release(ledger, wire);
    counter_add(&ledger->stats->dropped[cause], wire.segments);
    counter_add(&ledger->stats->dropped_bytes, wire.bytes);
}

static inline void ledger_drop(struct ledger *ledger, struct frame *frame, enum drop cause)
{
    ledger_drop_part(ledger, frame->wire, cause);
    pool_give_frame(ledger->pool, frame);
}

#endif
