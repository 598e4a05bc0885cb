/* Memory for the frames inside one direction. A frame is a head of about 2 KiB, enough for one segment of 1500 bytes,
 * and a tail of 64 KiB for anything larger. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack.h"

/* struct virtio_net_hdr, which the kernel puts before each frame that is read from a TAP with IFF_VNET_HDR. */
#define FRAME_VNET_BYTES 10u
/* 33 cache lines instead of 32, so that the heads of different frames do not compete for the same cache sets. */
#define POOL_FRAME_BYTES 2112u
#define POOL_TAIL_BYTES 65600u
/* The memory of a pool by default, and the least that is of use. */
#define POOL_BYTES (UINT64_C(1) << 30)
#define POOL_BYTES_MIN UINT64_C(1000000)

struct wire_size {
    uint32_t segments;
    uint32_t bytes; /* size of all segments from the Ethernet header, without FCS and preamble (qdisc_pkt_len) */
};

struct frame {
    struct frame *next;
    uint8_t *tail; /* POOL_TAIL_BYTES for the bytes after those in head, or NULL */
    uint64_t arrived_ns;
    uint64_t due_ns;
    uint64_t order;  /* among frames that are due at the same time */
    uint32_t length; /* as read: with the vnet header */
    struct wire_size wire;
    uint8_t copies; /* how often to write it: 2 if it is duplicated */
    _Alignas(64) uint8_t head[POOL_FRAME_BYTES - 64];
};

/* Returns the number of the frame's bytes that are in its head. */
static inline size_t frame_head_bytes(const struct frame *frame)
{
    return frame->length < sizeof frame->head ? frame->length : sizeof frame->head;
}

_Static_assert(sizeof(struct frame) == POOL_FRAME_BYTES, "the head fills the frame");

struct pool {
    struct stack frames, tails;
    size_t frame_count; /* the most frames that can be in use */
};

/* Takes at most that many bytes, as they are needed: a third for frames, the rest for tails. If they shared all of it,
 * small packets could leave none for tails, for good. Returns false with errno if there is no address space. */
static inline bool pool_create(struct pool *pool, uint64_t bytes)
{
    uint64_t tails = bytes / 3 * 2 / POOL_TAIL_BYTES;
    pool->frame_count = bytes / 3 / POOL_FRAME_BYTES;
    return stack_create(&pool->frames, pool->frame_count * POOL_FRAME_BYTES) &&
           stack_create(&pool->tails, tails * POOL_TAIL_BYTES);
}

/* NULL when all are in use. */
static inline struct frame *pool_take_frame(struct pool *pool)
{
    return stack_take(&pool->frames, POOL_FRAME_BYTES);
}

static inline uint8_t *pool_take_tail(struct pool *pool)
{
    return stack_take(&pool->tails, POOL_TAIL_BYTES);
}

/* Its tail too. */
static inline void pool_give_frame(struct pool *pool, struct frame *frame)
{
    if (frame->tail != NULL)
        stack_give(&pool->tails, frame->tail);
    frame->tail = NULL;
    stack_give(&pool->frames, frame);
}

/* A queue of frames, linked through the frames themselves. */
struct fifo {
    struct frame *head, *last; /* last is valid only if head is not NULL */
};

static inline void fifo_push(struct fifo *fifo, struct frame *frame)
{
    frame->next = NULL;
    if (fifo->head == NULL)
        fifo->head = frame;
    else
        fifo->last->next = frame;
    fifo->last = frame;
}

/* NULL if there is none. */
static inline struct frame *fifo_pop(struct fifo *fifo)
{
    struct frame *frame = fifo->head;
    if (frame != NULL)
        fifo->head = frame->next;
    return frame;
}
