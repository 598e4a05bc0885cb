#include "tunnel/data/buffers.h"

#include <sys/mman.h>

/* An odd number of cache lines each, so that buffers do not compete for the same cache sets. */
#define HEADER 64u
static const size_t steps[2] = {BUFFERS_SMALL_BYTES + HEADER, BUFFERS_LARGE_BYTES + HEADER};

_Static_assert(sizeof(struct buffer) <= HEADER && BUFFERS_SMALL_BYTES % 64 == 0 && BUFFERS_LARGE_BYTES % 64 == 0,
               "whole cache lines");

static bool reserve(struct buffer_stack *stack, size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return false;
    *stack = (struct buffer_stack){.fresh = start, .end = (uint8_t *)start + bytes};
    return true;
}

bool buffers_create(struct buffers *buffers)
{
    return reserve(&buffers->stacks[false], BUFFERS_SMALL * steps[false]) &&
           reserve(&buffers->stacks[true], BUFFERS_LARGE * steps[true]);
}

struct buffer *buffers_take(struct buffers *buffers, bool large)
{
    struct buffer_stack *stack = &buffers->stacks[large];
    struct buffer *buffer = stack->free;
    if (buffer != NULL) {
        stack->free = buffer->next;
    } else if (stack->fresh < stack->end) {
        buffer = (struct buffer *)stack->fresh;
        stack->fresh += steps[large];
        buffer->large = large;
    } else {
        return NULL;
    }
    buffer->references = 1;
    return buffer;
}

void buffers_release(struct buffers *buffers, struct buffer *buffer)
{
    struct buffer_stack *stack = &buffers->stacks[buffer->large];
    if (--buffer->references > 0)
        return;
    buffer->next = stack->free;
    stack->free = buffer;
}
