#include "relay/frames/pool.h"

#include <sys/mman.h>

_Static_assert(sizeof(struct frame) == POOL_FRAME_BYTES, "the head fills the frame");

void *pool_reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

bool pool_create(struct pool *pool)
{
    size_t frames = (size_t)POOL_FRAMES * POOL_FRAME_BYTES;
    size_t tails = (size_t)POOL_TAILS * POOL_TAIL_BYTES;

    *pool = (struct pool){.fresh_frames = pool_reserve(frames), .fresh_tails = pool_reserve(tails)};
    if (pool->fresh_frames == NULL || pool->fresh_tails == NULL)
        return false;
    pool->fresh_frames_end = pool->fresh_frames + frames;
    pool->fresh_tails_end = pool->fresh_tails + tails;
    return true;
}

struct frame *pool_take_frame(struct pool *pool)
{
    struct frame *frame = pool->free_frames;
    if (frame != NULL) {
        pool->free_frames = frame->next;
    } else if (pool->fresh_frames < pool->fresh_frames_end) {
        frame = (struct frame *)pool->fresh_frames;
        pool->fresh_frames += POOL_FRAME_BYTES;
    }
    return frame;
}

struct tail *pool_take_tail(struct pool *pool)
{
    struct tail *tail = pool->free_tails;
    if (tail != NULL) {
        pool->free_tails = tail->next;
    } else if (pool->fresh_tails < pool->fresh_tails_end) {
        tail = (struct tail *)pool->fresh_tails;
        pool->fresh_tails += POOL_TAIL_BYTES;
    }
    return tail;
}

void pool_give_tail(struct pool *pool, struct tail *tail)
{
    tail->next = pool->free_tails;
    pool->free_tails = tail;
}

void pool_give_frame(struct pool *pool, struct frame *frame)
{
    if (frame->tail != NULL)
        pool_give_tail(pool, frame->tail);
    frame->tail = NULL;
    frame->next = pool->free_frames;
    pool->free_frames = frame;
}
