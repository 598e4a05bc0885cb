#include "relay/line/line.h"

#include <stddef.h>

#include "common/clock.h"
#include "relay/frames/segments.h"

static void fly(struct line *line, struct frame *frame, uint64_t left_ns)
{
    const struct spec *spec = &line->spec;
    frame->copies = impair_duplicates(&line->impairments, spec) ? 2 : 1;
    frame->due_ns = left_ns + impair_delay(&line->impairments, spec);
    if (spec->reorder && spec->jitter_ns > 0)
        flight_insert(&line->flight, frame);
    else
        flight_append(&line->flight, frame);
}

/* A frame on its way through the lottery, segment by segment. */
struct passage {
    struct line *line;
    struct frame *whole;
    struct layout layout;
    uint64_t began_ns, left_ns; /* of the whole */
    struct wire_size lost;
};

/* Segments `first` to `end - 1` have survived, and their neighbours have not. */
static void pass_piece(struct passage *passage, uint32_t first, uint32_t end)
{
    struct line *line = passage->line;
    if (end == first)
        return;
    uint32_t bytes = frames_wire_bytes(&passage->layout, first, end - first);
    struct frame *piece = segments_copy(line->ledger.pool, passage->whole, &passage->layout, first, end - first);
    if (piece == NULL) {
        ledger_drop_part(&line->ledger, (struct wire_size){end - first, bytes}, DROP_QUEUE);
    } else {
        uint64_t duration = passage->left_ns - passage->began_ns;
        uint64_t before = frames_wire_bytes(&passage->layout, 0, end);
        uint64_t share = (uint64_t)((unsigned __int128)duration * before / passage->whole->wire.bytes);
        fly(line, piece, passage->began_ns + share);
    }
    passage->lost.segments -= end - first;
    passage->lost.bytes -= bytes;
}

/* `lost` is the first segment that is. */
static void pass_in_pieces(struct passage *passage, uint32_t lost)
{
    struct line *line = passage->line;
    struct frame *whole = passage->whole;
    uint32_t first = 0, end = whole->wire.segments;

    passage->layout = segments_layout(whole);
    passage->lost = whole->wire;
    for (uint32_t i = lost; i < end; i++) {
        if (i == lost || impair_loses(&line->impairments, &line->spec)) {
            pass_piece(passage, first, i);
            first = i + 1;
        }
    }
    pass_piece(passage, first, end);
    whole->wire = passage->lost;
    ledger_drop(&line->ledger, whole, DROP_LOSS);
}

/* The frame has been given its time on the line. */
static void pass(struct line *line, struct frame *frame, uint64_t began_ns)
{
    uint64_t left_ns = line->transmitter.free_ns;
    if (!impair_may_lose(&line->spec)) {
        fly(line, frame, left_ns);
        return;
    }
    uint32_t lost = 0, segments = frame->wire.segments;
    while (lost < segments && !impair_loses(&line->impairments, &line->spec))
        lost++;
    if (lost == segments) {
        fly(line, frame, left_ns);
    } else if (segments == 1) {
        ledger_drop(&line->ledger, frame, DROP_LOSS);
    } else {
        struct passage passage = {.line = line, .whole = frame, .began_ns = began_ns, .left_ns = left_ns};
        pass_in_pieces(&passage, lost);
    }
}

static void start(struct line *line, struct frame *frame)
{
    uint64_t free_ns = line->transmitter.free_ns;
    transmitter_send(&line->transmitter, &line->spec, frame->arrived_ns, frame->wire.bytes);
    pass(line, frame, free_ns > frame->arrived_ns ? free_ns : frame->arrived_ns);
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

bool line_init(struct line *line, const struct spec *spec, struct ledger ledger, uint64_t seed, uint64_t stream, uint64_t now)
{
    *line = (struct line){.spec = spec_copy(spec), .ledger = ledger};
    impairments_init(&line->impairments, seed, stream);
    transmitter_change(&line->transmitter, &(struct spec){0}, spec, now);
    return queue_init(&line->queue, spec, &line->ledger, seed) && flight_init(&line->flight);
}

static void drop_all(struct line *line)
{
    struct frame *frame;
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
    transmitter_change(&line->transmitter, &line->spec, spec, now);
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
    /* What is being sent is in flight, unless it is lost; and what starts next is due later, unless it may overtake. */
    bool start_matters = due == NEVER || (line->spec.reorder && start_ns < due);
    return start_matters && !queue_is_empty(&line->queue) ? start_ns : due;
}

uint64_t line_busy_until(const struct line *line)
{
    uint64_t rate_bps = spec_mean_bps(&line->spec);
    if (rate_bps == 0)
        return line->transmitter.free_ns;
    return line->transmitter.free_ns + (uint64_t)((unsigned __int128)line->queue.bytes * 8 * NS_PER_S / rate_bps);
}
