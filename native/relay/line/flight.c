#include "relay/line/flight.h"

#include "common/clock.h"

static bool before(const struct frame *a, const struct frame *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

bool flight_init(struct flight *flight, size_t frames)
{
    *flight = (struct flight){.heap = stack_reserve(frames * sizeof(struct frame *))};
    return flight->heap != NULL;
}

void flight_append(struct flight *flight, struct frame *frame)
{
    struct fifo *fifo = &flight->in_order;
    frame->order = flight->orders++;
    if (fifo->head != NULL && fifo->last->due_ns > frame->due_ns)
        frame->due_ns = fifo->last->due_ns;
    fifo_push(fifo, frame);
}

void flight_insert(struct flight *flight, struct frame *frame)
{
    size_t at = flight->heap_size++;
    frame->order = flight->orders++;
    while (at > 0 && before(frame, flight->heap[(at - 1) / 2])) {
        flight->heap[at] = flight->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    flight->heap[at] = frame;
}

static struct frame *heap_pop(struct flight *flight)
{
    struct frame **heap = flight->heap, *top = heap[0], *last = heap[--flight->heap_size];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < flight->heap_size; at = child) {
        if (child + 1 < flight->heap_size && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static const struct frame *first_or_null(const struct flight *flight)
{
    const struct frame *in_order = flight->in_order.head;
    if (flight->heap_size == 0)
        return in_order;
    return in_order == NULL || before(flight->heap[0], in_order) ? flight->heap[0] : in_order;
}

struct frame *flight_pop(struct flight *flight, uint64_t now)
{
    const struct frame *next = first_or_null(flight);
    if (next == NULL || next->due_ns > now)
        return NULL;
    return next == flight->in_order.head ? fifo_pop(&flight->in_order) : heap_pop(flight);
}

uint64_t flight_next(const struct flight *flight)
{
    const struct frame *next = first_or_null(flight);
    return next == NULL ? NEVER : next->due_ns;
}
