/* Memory for the frames inside one direction: fixed at the start, handed out last-in first-out.
 *
 * A frame is a head of under 2 KiB, enough for one segment of 1500, and for anything larger a tail of 64 KiB. Both come
 * from stacks, so that the memory in use is the data in flight and no more: cycling through a ring instead was measured
 * six times slower. The address space is reserved at once; the kernel adds pages as the data in flight first grows. */
#ifndef FLIGHTPATH_POOL_H
#define FLIGHTPATH_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/frames/frames.h"

/* 33 cache lines and not 32, so that the heads of different frames do not compete for the same cache sets. */
#define POOL_FRAME_BYTES 2112u
#define POOL_TAIL_BYTES 65600u
#define POOL_FRAMES 262144u
#define POOL_TAILS 16384u

struct tail {
    struct tail *next; /* while it is free; a frame's bytes overwrite it */
};

struct frame {
    struct frame *next;
    struct tail *tail; /* the bytes after those in head, or NULL */
    uint64_t arrived_ns;
    uint64_t due_ns;
    uint64_t order;  /* among frames due at the same time */
    uint32_t length; /* as read: with the vnet header */
    struct wire_size wire;
    uint8_t copies; /* to write: 2 if the line duplicates it */
    _Alignas(64) uint8_t head[POOL_FRAME_BYTES - 64];
};

struct pool {
    struct frame *free_frames;
    struct tail *free_tails;
    uint8_t *fresh_frames, *fresh_frames_end; /* never used yet */
    uint8_t *fresh_tails, *fresh_tails_end;
};

/* Returns false with errno if the address space cannot be had. */
bool pool_create(struct pool *pool);
/* NULL when all are in use. */
struct frame *pool_take_frame(struct pool *pool);
struct tail *pool_take_tail(struct pool *pool);
void pool_give_tail(struct pool *pool, struct tail *tail);
/* Its tail too. */
void pool_give_frame(struct pool *pool, struct frame *frame);

#endif
