/* Buffers for received packets. Several packets can share one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack.h"

/* Small buffers hold one packet, large ones several that the kernel has merged. */
#define BUFFERS_SMALL_BYTES 2112u
#define BUFFERS_LARGE_BYTES 65600u
#define BUFFERS_SMALL 65536u
#define BUFFERS_LARGE 4096u

struct buffer {
    void *next; /* while it is free */
    uint32_t references;
    bool large;
    _Alignas(64) uint8_t bytes[];
};

struct buffers {
    struct stack stacks[2]; /* small, large */
};

/* No powers of two, so that buffers do not compete for the same cache sets. */
static const size_t buffers_steps[2] = {sizeof(struct buffer) + BUFFERS_SMALL_BYTES,
                                        sizeof(struct buffer) + BUFFERS_LARGE_BYTES};
_Static_assert(BUFFERS_SMALL_BYTES % 64 == 0 && BUFFERS_LARGE_BYTES % 64 == 0, "whole cache lines");

/* Returns false with errno if the address space is not available. */
static inline bool buffers_create(struct buffers *buffers)
{
    return stack_create(&buffers->stacks[false], BUFFERS_SMALL * buffers_steps[false]) &&
           stack_create(&buffers->stacks[true], BUFFERS_LARGE * buffers_steps[true]);
}

/* Returns a buffer with one reference; NULL if all are in use. */
static inline struct buffer *buffers_take(struct buffers *buffers, bool large)
{
    struct buffer *buffer = stack_take(&buffers->stacks[large], buffers_steps[large]);
    if (buffer != NULL) {
        buffer->references = 1;
        buffer->large = large;
    }
    return buffer;
}

static inline void buffers_share(struct buffer *buffer)
{
    buffer->references++;
}

/* Gives up one reference. The buffer is free when it was the last. */
static inline void buffers_release(struct buffers *buffers, struct buffer *buffer)
{
    if (--buffer->references == 0)
        stack_give(&buffers->stacks[buffer->large], buffer);
}
