/* Memory for what has been received: buffers that several packets may share, handed out last-in first-out (see pool.h for why). */
#ifndef FLIGHTPATH_TUNNEL_BUFFERS_H
#define FLIGHTPATH_TUNNEL_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A super-packet from the network, and a packet by itself. */
#define BUFFERS_LARGE_BYTES 65600u
#define BUFFERS_SMALL_BYTES 2112u
#define BUFFERS_LARGE 4096u
#define BUFFERS_SMALL 65536u

struct buffer {
    struct buffer *next; /* while it is free */
    uint32_t references;
    bool large;
    _Alignas(64) uint8_t bytes[];
};

struct buffers {
    struct buffer *free_large, *free_small;
    uint8_t *fresh_large, *fresh_large_end; /* never used yet */
    uint8_t *fresh_small, *fresh_small_end;
};

/* Returns false with errno if the address space cannot be had. */
bool buffers_create(struct buffers *buffers);

/* With one reference; NULL when all are in use. */
struct buffer *buffers_take(struct buffers *buffers, bool large);

static inline void buffers_share(struct buffer *buffer)
{
    buffer->references++;
}

/* The last reference gives the memory back. */
void buffers_release(struct buffers *buffers, struct buffer *buffer);

#endif
