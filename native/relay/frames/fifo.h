/* A queue of frames, linked through the frames themselves. */
#pragma once

#include "relay/frames/pool.h"

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
