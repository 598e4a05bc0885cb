#include "relay/frames/segments.h"

#include <string.h>

struct layout segments_layout(const struct frame *frame)
{
    return frames_layout(frame->head, frame_head_bytes(frame), frame->length);
}

/* Copies bytes from the head, the tail, or both. */
static void read_bytes(const struct frame *frame, size_t from, uint8_t *to, size_t bytes)
{
    size_t in_head = from >= sizeof frame->head ? 0 : sizeof frame->head - from;
    if (in_head > bytes)
        in_head = bytes;
    if (in_head > 0)
        memcpy(to, frame->head + from, in_head);
    if (bytes > in_head)
        memcpy(to + in_head, (const uint8_t *)frame->tail + (from + in_head - sizeof frame->head), bytes - in_head);
}

static void append_bytes(struct frame *piece, const struct frame *whole, size_t from, size_t bytes)
{
    size_t room = sizeof piece->head - piece->length;
    size_t in_head = bytes < room ? bytes : room;
    read_bytes(whole, from, piece->head + piece->length, in_head);
    if (bytes > in_head)
        read_bytes(whole, from + in_head, (uint8_t *)piece->tail, bytes - in_head);
    piece->length += (uint32_t)bytes;
}

static struct frame *take(struct pool *pool, size_t length)
{
    struct frame *frame = pool_take_frame(pool);
    if (frame == NULL)
        return NULL;
    frame->tail = NULL;
    if (length > sizeof frame->head && (frame->tail = pool_take_tail(pool)) == NULL) {
        pool_give_frame(pool, frame);
        return NULL;
    }
    return frame;
}

struct frame *segments_copy(struct pool *pool, const struct frame *whole, const struct layout *layout, uint32_t first,
                            uint32_t count)
{
    uint32_t headers = FRAMES_VNET_BYTES + layout->headers;
    uint32_t from = frames_payload_before(layout, first), payload = frames_payload_before(layout, first + count) - from;
    struct frame *piece = take(pool, headers + payload);
    if (piece == NULL)
        return NULL;
    piece->arrived_ns = whole->arrived_ns;
    piece->length = headers;
    memcpy(piece->head, whole->head, headers);
    append_bytes(piece, whole, headers + from, payload);
    frames_cut(piece->head, layout, first, count);
    piece->wire = (struct wire_size){.segments = count, .bytes = frames_wire_bytes(layout, first, count)};
    return piece;
}

void segments_keep(struct frame *frame, const struct layout *layout, uint32_t count)
{
    frames_cut(frame->head, layout, 0, count);
    frame->length = FRAMES_VNET_BYTES + layout->headers + frames_payload_before(layout, count);
    frame->wire = (struct wire_size){.segments = count, .bytes = frames_wire_bytes(layout, 0, count)};
}
