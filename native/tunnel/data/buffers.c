#include "tunnel/data/buffers.h"

#include <sys/mman.h>

/* An odd number of cache lines, so that buffers do not compete for the same cache sets. */
#define HEADER 64u
#define LARGE_STEP (BUFFERS_LARGE_BYTES + HEADER)
#define SMALL_STEP (BUFFERS_SMALL_BYTES + HEADER)

_Static_assert(sizeof(struct buffer) <= HEADER && LARGE_STEP % 64 == 0 && SMALL_STEP % 64 == 0, "whole cache lines");

static uint8_t *reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

bool buffers_create(struct buffers *buffers)
{
    size_t large = (size_t)BUFFERS_LARGE * LARGE_STEP, small = (size_t)BUFFERS_SMALL * SMALL_STEP;
    *buffers = (struct buffers){.fresh_large = reserve(large), .fresh_small = reserve(small)};
    if (buffers->fresh_large == NULL || buffers->fresh_small == NULL)
        return false;
    buffers->fresh_large_end = buffers->fresh_large + large;
    buffers->fresh_small_end = buffers->fresh_small + small;
    return true;
}

struct buffer *buffers_take(struct buffers *buffers, bool large)
{
    struct buffer **stack = large ? &buffers->free_large : &buffers->free_small, *taken = *stack;
    uint8_t **fresh = large ? &buffers->fresh_large : &buffers->fresh_small;
    uint8_t *end = large ? buffers->fresh_large_end : buffers->fresh_small_end;

    if (taken != NULL) {
        *stack = taken->next;
    } else if (*fresh < end) {
        taken = (struct buffer *)*fresh;
        *fresh += large ? LARGE_STEP : SMALL_STEP;
        taken->large = large;
    } else {
        return NULL;
    }
    taken->references = 1;
    return taken;
}

void buffers_release(struct buffers *buffers, struct buffer *buffer)
{
    struct buffer **stack = buffer->large ? &buffers->free_large : &buffers->free_small;
    if (--buffer->references > 0)
        return;
    buffer->next = *stack;
    *stack = buffer;
}
