/* Accounting for the frames inside one direction: counts what enters, leaves and is dropped, and gives memory back. */
#pragma once

#include "relay/frames/pool.h"
#include "relay/frames/stats.h"

struct ledger {
    struct pool *pool;
    struct stats *stats;
};

/* A frame enters; frame->wire is its size. */
static inline void ledger_enter(struct ledger *ledger, const struct frame *frame)
{
    struct stats *stats = ledger->stats;
    counter_add(&stats->in_packets, frame->wire.segments);
    counter_add(&stats->in_bytes, frame->wire.bytes);
    counter_add(&stats->queued_packets, frame->wire.segments);
    counter_add(&stats->queued_bytes, frame->wire.bytes);
}

/* Drops some segments of a frame, which itself stays with the caller. */
static inline void ledger_drop_part(struct ledger *ledger, struct wire_size wire, enum drop cause)
{
    struct stats *stats = ledger->stats;
    counter_subtract(&stats->queued_packets, wire.segments);
    counter_subtract(&stats->queued_bytes, wire.bytes);
    counter_add(&stats->dropped[cause], wire.segments);
    counter_add(&stats->dropped_bytes, wire.bytes);
}

/* Drops a frame and frees it. */
static inline void ledger_drop(struct ledger *ledger, struct frame *frame, enum drop cause)
{
    ledger_drop_part(ledger, frame->wire, cause);
    pool_give_frame(ledger->pool, frame);
}

/* Counts a frame that leaves, written once or more, and frees it. */
static inline void ledger_leave(struct ledger *ledger, struct frame *frame, unsigned copies)
{
    struct stats *stats = ledger->stats;
    counter_subtract(&stats->queued_packets, frame->wire.segments);
    counter_subtract(&stats->queued_bytes, frame->wire.bytes);
    counter_add(&stats->out_packets, (uint64_t)copies * frame->wire.segments);
    counter_add(&stats->out_bytes, (uint64_t)copies * frame->wire.bytes);
    if (copies > 1) {
        counter_add(&stats->duplicated_packets, (copies - 1ul) * frame->wire.segments);
        counter_add(&stats->duplicated_bytes, (copies - 1ul) * frame->wire.bytes);
    }
    pool_give_frame(ledger->pool, frame);
}
