/* Buffers for received packets. Several packets can share one. They are reused last-in first-out (pool.h says why). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small buffers hold one packet, large ones several that the kernel has merged. */
#define BUFFERS_SMALL_BYTES 2112u
#define BUFFERS_LARGE_BYTES 65600u
#define BUFFERS_SMALL 65536u
#define BUFFERS_LARGE 4096u

struct buffer {
    struct buffer *next; /* while it is free */
    uint32_t references;
    bool large;
    _Alignas(64) uint8_t bytes[];
};

struct buffers {
    struct buffer_stack {
        struct buffer *free;
        uint8_t *fresh, *end; /* memory that was never used yet */
    } stacks[2];              /* small, large */
};

/* Returns false with errno if the address space is not available. */
bool buffers_create(struct buffers *buffers);

/* Returns a buffer with one reference; NULL if all are in use. */
struct buffer *buffers_take(struct buffers *buffers, bool large);

static inline void buffers_share(struct buffer *buffer)
{
    buffer->references++;
}

/* Gives up one reference. The buffer is free when it was the last. */
void buffers_release(struct buffers *buffers, struct buffer *buffer);
