#include "relay/frames/pool.h"

#include <sys/mman.h>

_Static_assert(sizeof(struct frame) == POOL_FRAME_BYTES, "the head fills the frame");

void *pool_reserve(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

static bool create(struct stack *stack, size_t bytes)
{
    uint8_t *start = pool_reserve(bytes);
    *stack = (struct stack){.fresh = start, .fresh_end = start + bytes};
    return start != NULL;
}

static void *take(struct stack *stack, size_t bytes)
{
    void *item = stack->free;
    if (item != NULL) {
        stack->free = *(void **)item;
    } else if (stack->fresh < stack->fresh_end) {
        item = stack->fresh;
        stack->fresh += bytes;
    }
    return item;
}

static void give(struct stack *stack, void *item)
{
    *(void **)item = stack->free;
    stack->free = item;
}

bool pool_create(struct pool *pool)
{
    return create(&pool->frames, (size_t)POOL_FRAMES * POOL_FRAME_BYTES) &&
           create(&pool->tails, (size_t)POOL_TAILS * POOL_TAIL_BYTES);
}

struct frame *pool_take_frame(struct pool *pool)
{
    return take(&pool->frames, POOL_FRAME_BYTES);
}

uint8_t *pool_take_tail(struct pool *pool)
{
    return take(&pool->tails, POOL_TAIL_BYTES);
}

void pool_give_frame(struct pool *pool, struct frame *frame)
{
    if (frame->tail != NULL)
        give(&pool->tails, frame->tail);
    frame->tail = NULL;
    give(&pool->frames, frame);
}
