#include "relay/line/line.h"

#include <stddef.h>

#include "common/clock.h"

/* The rate or trace of `spec` begins at `now`; what was started before keeps its times. */
static void change_rate(struct transmitter *transmitter, const struct spec *before, const struct spec *spec,
                        uint64_t now)
{
    if (before->rate_bps != spec->rate_bps)
        transmitter->remainder = 0;
    if (spec->trace != NULL && before->trace != spec->trace)
        trace_start(&transmitter->cursor, now);
}

/* The fraction of a nanosecond is carried over: cut off, it would be an error of 0.4 % for an acknowledgement at 10
 * Gb/s. No overflow: a GSO packet is under 2^30 bits even if every segment is tiny and has the largest overhead. */
static uint64_t serialisation_ns(struct transmitter *transmitter, uint64_t rate_bps, uint32_t bytes)
{
    if (rate_bps == 0)
        return 0;
    uint64_t work = (uint64_t)bytes * 8 * NS_PER_S + transmitter->remainder;
    transmitter->remainder = work % rate_bps;
    return work / rate_bps;
}

/* Sends what arrived at `arrived_ns`. Returns when its first byte leaves; free_ns is when the last one has. */
static uint64_t transmit(struct transmitter *transmitter, const struct spec *spec, uint64_t arrived_ns,
                         struct wire_size wire)
{
    uint64_t began_ns = transmitter->free_ns > arrived_ns ? transmitter->free_ns : arrived_ns;
    if (spec->trace != NULL)
        transmitter->free_ns = trace_send(spec->trace, &transmitter->cursor, began_ns, wire.bytes);
    else
        transmitter->free_ns = began_ns + serialisation_ns(transmitter, spec->rate_bps, spec_charged_bytes(spec, wire));
    return began_ns;
}

/* Not inlined, so that advance() is: most of the time there is nothing to start (2 ns a packet). */
__attribute__((noinline)) static void start(struct line *line, struct frame *frame)
{
    uint64_t began_ns = transmit(&line->transmitter, &line->spec, frame->arrived_ns, frame->wire);
    impairments_pass(&line->impairments, frame, began_ns, line->transmitter.free_ns);
}

/* Starts all frames whose turn has come. */
static void advance(struct line *line, uint64_t now)
{
    while (!queue_is_empty(&line->queue) && line->transmitter.free_ns <= now) {
        struct frame *frame = queue_pop(&line->queue, line->transmitter.free_ns);
        if (frame != NULL)
            start(line, frame);
    }
}

bool line_init(struct line *line, const struct spec *spec, struct ledger ledger, uint64_t seed, uint64_t stream,
               uint64_t now)
{
    *line = (struct line){.spec = spec_copy(spec), .ledger = ledger};
    impairments_init(&line->impairments, &line->spec, &line->ledger, &line->flight, seed, stream);
    change_rate(&line->transmitter, &(struct spec){0}, spec, now);
    return queue_init(&line->queue, spec, &line->ledger, seed) && flight_init(&line->flight, ledger.pool->frame_count);
}

static void drop_all(struct line *line)
{
    struct frame *frame;
    /* Else an AQM might drop some, and count them as its own. */
    queue_change(&line->queue, &(struct spec){.discipline = SPEC_DROPTAIL});
    while ((frame = queue_pop(&line->queue, 0)) != NULL)
        ledger_drop(&line->ledger, frame, DROP_DOWN);
    while ((frame = flight_pop(&line->flight, NEVER)) != NULL)
        ledger_drop(&line->ledger, frame, DROP_DOWN);
    line->transmitter.free_ns = 0;
}

void line_change(struct line *line, const struct spec *spec, bool cut, uint64_t now)
{
    advance(line, now);
    if (cut)
        drop_all(line);
    queue_change(&line->queue, spec);
    change_rate(&line->transmitter, &line->spec, spec, now);
    spec_release(&line->spec);
    line->spec = spec_copy(spec);
}

void line_arrive(struct line *line, struct frame *frame, uint64_t now)
{
    const struct spec *spec = &line->spec;
    frame->arrived_ns = now;
    if (spec->down || spec->blackhole) {
        ledger_drop(&line->ledger, frame, spec->down ? DROP_DOWN : DROP_BLACKHOLE);
        return;
    }
    advance(line, now);
    if (queue_is_empty(&line->queue) && line->transmitter.free_ns <= now)
        start(line, frame);
    else
        queue_push(&line->queue, frame);
}

struct frame *line_depart(struct line *line, uint64_t now)
{
    advance(line, now);
    return flight_pop(&line->flight, now);
}

uint64_t line_next(struct line *line, uint64_t now)
{
    advance(line, now);
    uint64_t due = flight_next(&line->flight), start_ns = line->transmitter.free_ns;
    /* A frame that is being sent is in flight already, unless it is lost; the next one is due later, unless it may
     * overtake. */
    bool start_matters = due == NEVER || (line->spec.reorder && start_ns < due);
    return start_matters && !queue_is_empty(&line->queue) ? start_ns : due;
}

uint64_t line_busy_until(const struct line *line)
{
    uint64_t rate_bps = spec_mean_bps(&line->spec);
    if (rate_bps == 0)
        return line->transmitter.free_ns;
    unsigned __int128 bytes = line->queue.bytes + (unsigned __int128)line->queue.packets * line->spec.overhead_bytes;
    return line->transmitter.free_ns + (uint64_t)(bytes * 8 * NS_PER_S / rate_bps);
}
