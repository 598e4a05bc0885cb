#include "relay/line/queue.h"

#include <math.h>
#include <stddef.h>

#include "packets/headers.h"
#include "relay/frames/segments.h"

/* When the bound is reached, fair queueing drops this many frames in one go from the longest flow, at most half of it,
 * because the search for the longest flow is expensive. */
#define BATCH_MAX 64

/* The values of RFC 8289. */
#define CODEL_TARGET_NS UINT64_C(5000000)
#define CODEL_INTERVAL_NS UINT64_C(100000000)
/* A backlog of one packet is not a standing queue. */
#define CODEL_BACKLOG_BYTES 1514u
/* A phase that begins so soon after the previous one continues at its rate. */
#define CODEL_RECENT_NS (16 * CODEL_INTERVAL_NS)

static void list_append(struct flow_list *list, struct flow *flow)
{
    flow->next = NULL;
    if (list->head == NULL)
        list->head = flow;
    else
        list->last->next = flow;
    list->last = flow;
}

static void list_remove_first(struct flow_list *list)
{
    list->head = list->head->next;
}

static void append(struct queue *queue, struct flow *flow, struct frame *frame)
{
    fifo_push(&flow->frames, frame);
    flow->bytes += frame->wire.bytes;
    queue->bytes += frame->wire.bytes;
    queue->packets += frame->wire.segments;
}

static struct frame *take(struct queue *queue, struct flow *flow)
{
    struct frame *frame = fifo_pop(&flow->frames);
    if (frame == NULL)
        return NULL;
    flow->bytes -= frame->wire.bytes;
    queue->bytes -= frame->wire.bytes;
    queue->packets -= frame->wire.segments;
    return frame;
}

static size_t readable_bytes(const struct frame *frame)
{
    return frame_head_bytes(frame) - FRAME_VNET_BYTES;
}

/* Returns the number of the frame's segments for which there is room. */
static uint32_t segments_admitted(const struct queue *queue, const struct frame *frame)
{
    uint64_t packets = queue->packets_limit > queue->packets ? queue->packets_limit - queue->packets : 0;
    uint64_t bytes = queue->bytes_limit > queue->bytes ? queue->bytes_limit - queue->bytes : 0;
    if (frame->wire.bytes <= bytes && frame->wire.segments <= packets)
        return frame->wire.segments;
    if (frame->wire.segments == 1)
        return 0;
    /* All but the last are of one size. */
    struct layout layout = segments_layout(frame);
    uint64_t fitting = bytes / (layout.headers + layout.gso_size);
    uint64_t least = fitting < packets ? fitting : packets;
    return least < frame->wire.segments ? (uint32_t)least : frame->wire.segments - 1;
}

static void push_one_flow(struct queue *queue, struct frame *frame)
{
    uint32_t admitted = segments_admitted(queue, frame);
    struct wire_size whole = frame->wire;

    if (admitted == 0) {
        ledger_drop(queue->ledger, frame, DROP_QUEUE);
        return;
    }
    if (admitted < whole.segments) {
        struct layout layout = segments_layout(frame);
        segments_keep(frame, &layout, admitted);
        struct wire_size rest = {whole.segments - admitted, whole.bytes - frame->wire.bytes};
        ledger_drop_part(queue->ledger, rest, DROP_QUEUE);
    }
    append(queue, &queue->all, frame);
}

static struct flow *find_longest(struct queue *queue)
{
    struct flow *longest = &queue->flows[0];
    for (unsigned i = 1; i < QUEUE_FLOWS; i++)
        if (queue->flows[i].bytes > longest->bytes)
            longest = &queue->flows[i];
    return longest;
}

static void shorten_longest(struct queue *queue)
{
    struct flow *flow = find_longest(queue);
    uint64_t half = flow->bytes / 2;
    for (int dropped = 0; dropped < BATCH_MAX && flow->bytes > half; dropped++) {
        struct frame *frame = take(queue, flow);
        flow->codel.count++; /* as Linux does: these drops slow the flow down too */
        ledger_drop(queue->ledger, frame, DROP_QUEUE);
    }
}

static bool is_overfull(const struct queue *queue)
{
    return queue->bytes > queue->bytes_limit || queue->packets > queue->packets_limit;
}

static void push_fair(struct queue *queue, struct frame *frame)
{
    uint64_t hash = headers_flow(frame->head + FRAME_VNET_BYTES, readable_bytes(frame), queue->perturbation);
    struct flow *flow = &queue->flows[hash % QUEUE_FLOWS];

    append(queue, flow, frame);
    if (!flow->listed) {
        flow->listed = true;
        flow->deficit = QUEUE_QUANTUM;
        list_append(&queue->fresh, flow);
    }
    while (is_overfull(queue))
        shorten_longest(queue);
}

void queue_push(struct queue *queue, struct frame *frame)
{
    if (queue->discipline == SPEC_FQ_CODEL)
        push_fair(queue, frame);
    else
        push_one_flow(queue, frame);
}

/* Whether to drop a packet that was taken from the queue after `waited_ns`, with that many bytes still behind it. */
static bool should_drop_after(struct codel *codel, uint64_t waited_ns, uint64_t backlog_bytes, uint64_t now)
{
    if (waited_ns < CODEL_TARGET_NS || backlog_bytes <= CODEL_BACKLOG_BYTES) {
        codel->first_above_ns = 0;
        return false;
    }
    if (codel->first_above_ns == 0) {
        codel->first_above_ns = now + CODEL_INTERVAL_NS;
        return false;
    }
    return now >= codel->first_above_ns;
}

/* When the next drop of a phase is due: an interval later, divided by the square root of the drops so far. */
static uint64_t next_drop(uint64_t from_ns, uint32_t count)
{
    return from_ns + (uint64_t)((double)CODEL_INTERVAL_NS / sqrt(count));
}

/* A phase of dropping begins with a drop now. */
static void begin_dropping(struct codel *codel, uint64_t now)
{
    uint32_t more = codel->count - codel->last_count;
    codel->dropping = true;
    codel->count = more > 1 && now < codel->drop_next_ns + CODEL_RECENT_NS ? more : 1;
    codel->last_count = codel->count;
    codel->drop_next_ns = next_drop(now, codel->count);
}

/* Instead of dropping the frame, if its sender understands marks. */
static bool mark(struct queue *queue, struct frame *frame)
{
    if (!queue->ecn || !headers_mark_congestion(frame->head + FRAME_VNET_BYTES, readable_bytes(frame)))
        return false;
    counter_add(&queue->ledger->stats->ecn_marked, frame->wire.segments);
    return true;
}

/* The next frame of a flow, and whether CoDel drops it. */
static struct frame *take_judged(struct queue *queue, struct flow *flow, uint64_t now, bool *should_drop)
{
    struct frame *frame = take(queue, flow);
    if (frame == NULL) {
        flow->codel.first_above_ns = 0;
        *should_drop = false;
        return NULL;
    }
    uint64_t waited = now > frame->arrived_ns ? now - frame->arrived_ns : 0;
    *should_drop = should_drop_after(&flow->codel, waited, flow->bytes, now);
    return frame;
}

/* RFC 8289, section 5.5; marks as Linux's codel sets them. */
static struct frame *take_controlled(struct queue *queue, struct flow *flow, uint64_t now)
{
    struct codel *codel = &flow->codel;
    bool should_drop;
    struct frame *frame = take_judged(queue, flow, now, &should_drop);

    if (!should_drop) {
        codel->dropping = false;
        return frame;
    }
    if (!codel->dropping) {
        if (!mark(queue, frame)) {
            ledger_drop(queue->ledger, frame, DROP_AQM);
            frame = take_judged(queue, flow, now, &should_drop);
        }
        begin_dropping(codel, now);
        return frame;
    }
    while (codel->dropping && now >= codel->drop_next_ns) {
        codel->count++;
        codel->drop_next_ns = next_drop(codel->drop_next_ns, codel->count);
        if (mark(queue, frame))
            return frame;
        ledger_drop(queue->ledger, frame, DROP_AQM);
        frame = take_judged(queue, flow, now, &should_drop);
        codel->dropping = should_drop;
    }
    return frame;
}

/* RFC 8290, section 4.2. */
static struct frame *take_fair(struct queue *queue, uint64_t now)
{
    for (;;) {
        struct flow_list *list = queue->fresh.head != NULL ? &queue->fresh : &queue->old;
        struct flow *flow = list->head;
        if (flow == NULL)
            return NULL;
        if (flow->deficit <= 0) {
            flow->deficit += QUEUE_QUANTUM;
            list_remove_first(list);
            list_append(&queue->old, flow);
            continue;
        }
        struct frame *frame = take_controlled(queue, flow, now);
        if (frame != NULL) {
            flow->deficit -= frame->wire.bytes;
            return frame;
        }
        list_remove_first(list);
        /* A new flow that is empty now becomes an old one first, so that it cannot be new again at once. */
        if (list == &queue->fresh && queue->old.head != NULL)
            list_append(&queue->old, flow);
        else
            flow->listed = false;
    }
}

struct frame *queue_pop(struct queue *queue, uint64_t now)
{
    switch (queue->discipline) {
    case SPEC_CODEL:
        return take_controlled(queue, &queue->all, now);
    case SPEC_FQ_CODEL:
        return take_fair(queue, now);
    default:
        return take(queue, &queue->all);
    }
}

static void set_limits(struct queue *queue, const struct spec *spec)
{
    queue->ecn = spec->ecn;
    queue->bytes_limit = spec_queue_bytes(spec);
    queue->packets_limit = spec->queue_packets;
}

bool queue_init(struct queue *queue, const struct spec *spec, struct ledger *ledger, uint64_t seed)
{
    *queue = (struct queue){
        .discipline = spec->discipline,
        .perturbation = seed,
        .flows = stack_reserve(QUEUE_FLOWS * sizeof(struct flow)),
        .ledger = ledger,
    };
    set_limits(queue, spec);
    return queue->flows != NULL;
}

/* Removes everything that waits, in the order in which it would be sent. */
static struct fifo drain(struct queue *queue)
{
    struct fifo frames = {0};
    /* At a time before all arrivals nothing has waited, so that no AQM drops. */
    for (struct frame *frame; (frame = queue_pop(queue, 0)) != NULL;)
        fifo_push(&frames, frame);
    return frames;
}

void queue_change(struct queue *queue, const struct spec *spec)
{
    if (queue->discipline != spec->discipline) {
        struct fifo frames = drain(queue);
        queue->discipline = spec->discipline;
        queue->bytes_limit = queue->packets_limit = UINT64_MAX;
        for (struct frame *frame; (frame = fifo_pop(&frames)) != NULL;)
            queue_push(queue, frame);
    }
    set_limits(queue, spec);
}
