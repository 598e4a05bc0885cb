#include "line.h"

#include <stddef.h>

#include "clock.h"

static void fifo_push(struct fifo *fifo, struct frame *frame)
{
    frame->next = NULL;
    if (fifo->head == NULL)
        fifo->head = frame;
    else
        fifo->last->next = frame;
    fifo->last = frame;
}

static struct frame *fifo_pop(struct fifo *fifo)
{
    struct frame *frame = fifo->head;
    fifo->head = frame->next;
    return frame;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The fraction of a nanosecond is carried over: at 10 Gb/s, cutting it off would be an error of 0.4 % for an
 * acknowledgement. No overflow: a super-frame is under 2^27 bits even if every segment is tiny. */
static uint64_t serialisation_ns(struct line *line, uint32_t bytes)
{
    if (line->spec.rate_bps == 0)
        return 0;
    uint64_t work = (uint64_t)bytes * 8 * NS_PER_S + line->remainder;
    line->remainder = work % line->spec.rate_bps;
    return work / line->spec.rate_bps;
}

static void fly(struct line *line, struct frame *frame)
{
    uint64_t due = line->free_ns + line->spec.delay_ns;
    frame->due_ns = line->flight.head == NULL ? due : later(due, line->flight.last->due_ns);
    fifo_push(&line->flight, frame);
}

static void start(struct line *line, struct frame *frame)
{
    line->free_ns = later(line->free_ns, frame->arrived_ns) + serialisation_ns(line, frame->wire.bytes);
    frame->lost = line->spec.loss > 0 && random_fraction(&line->random) < line->spec.loss;
    fly(line, frame);
}

/* Starts all frames whose turn has come. */
static void advance(struct line *line, uint64_t now)
{
    while (line->queue.head != NULL && line->free_ns <= now) {
        struct frame *frame = fifo_pop(&line->queue);
        line->waiting_bytes -= frame->wire.bytes;
        start(line, frame);
    }
}

void line_init(struct line *line, const struct spec *spec, uint64_t seed, uint64_t stream)
{
    *line = (struct line){.spec = *spec, .queue_limit = spec_queue_bytes(spec)};
    random_seed(&line->random, seed, stream);
}

void line_change(struct line *line, const struct spec *spec, uint64_t now)
{
    advance(line, now);
    line->spec = *spec;
    line->queue_limit = spec_queue_bytes(spec);
    line->remainder = 0;
}

static bool idle(const struct line *line, uint64_t now)
{
    return line->queue.head == NULL && line->free_ns <= now;
}

bool line_admits(struct line *line, uint32_t bytes, uint64_t now)
{
    advance(line, now);
    return idle(line, now) || line->spec.rate_bps == 0 || line->waiting_bytes + bytes <= line->queue_limit;
}

void line_arrive(struct line *line, struct frame *frame, uint64_t now)
{
    advance(line, now);
    frame->arrived_ns = now;
    if (idle(line, now)) {
        start(line, frame);
        return;
    }
    fifo_push(&line->queue, frame);
    line->waiting_bytes += frame->wire.bytes;
}

struct frame *line_depart(struct line *line, uint64_t now)
{
    advance(line, now);
    if (line->flight.head == NULL || line->flight.head->due_ns > now)
        return NULL;
    return fifo_pop(&line->flight);
}

uint64_t line_next(struct line *line, uint64_t now)
{
    advance(line, now);
    /* Something waits only behind a frame being serialised, and that one is in flight. */
    return line->flight.head == NULL ? NEVER : line->flight.head->due_ns;
}

uint64_t line_busy_until(const struct line *line)
{
    if (line->spec.rate_bps == 0)
        return line->free_ns;
    return line->free_ns + (uint64_t)((unsigned __int128)line->waiting_bytes * 8 * NS_PER_S / line->spec.rate_bps);
}
