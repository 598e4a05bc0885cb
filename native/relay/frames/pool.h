/* Memory for the frames inside one direction: reserved at the start, handed out last-in first-out.
 *
 * A frame is a head of about 2 KiB, enough for one segment of 1500 bytes, and a tail of 64 KiB for anything larger.
 * Both come from stacks, so that the memory in use is no more than the data in flight: cycling through a ring was
 * measured to be six times slower. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct virtio_net_hdr, which the kernel puts before each frame that is read from a TAP with IFF_VNET_HDR. */
#define FRAME_VNET_BYTES 10u
/* 33 cache lines instead of 32, so that the heads of different frames do not compete for the same cache sets. */
#define POOL_FRAME_BYTES 2112u
#define POOL_TAIL_BYTES 65600u
#define POOL_FRAMES 262144u
#define POOL_TAILS 16384u

struct wire_size {
    uint32_t segments;
    uint32_t bytes; /* of all segments from the Ethernet header, without FCS and preamble: the kernel's qdisc_pkt_len */
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

/* How many of the frame's bytes are in its head. */
static inline size_t frame_head_bytes(const struct frame *frame)
{
    return frame->length < sizeof frame->head ? frame->length : sizeof frame->head;
}

/* Items of one size. */
struct stack {
    void *free; /* each free item begins with a pointer to the next one */
    uint8_t *fresh, *fresh_end; /* never used yet */
};

struct pool {
    struct stack frames, tails;
};

/* Address space, filled with zeros; the kernel adds pages when they are touched. NULL with errno if there is none. */
void *pool_reserve(size_t bytes);

/* Returns false with errno if there is no address space. */
bool pool_create(struct pool *pool);

/* NULL when all are in use. */
struct frame *pool_take_frame(struct pool *pool);
uint8_t *pool_take_tail(struct pool *pool);

/* Its tail too. */
void pool_give_frame(struct pool *pool, struct frame *frame);
