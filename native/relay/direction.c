#include "relay/direction.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/lifecycle.h"
#include "relay/frames/segments.h"
#include "relay/tap.h"

/* A frame that is due so soon is written now: to sleep until then takes as much CPU time, and makes it later than
 * this makes it early. So small frames (acknowledgements) need no wake-up each. */
#define EARLY_NS UINT64_C(50000)

/* The first `length` bytes of a frame, in its head and tail. */
static int vectors(struct frame *frame, size_t length, struct iovec *out)
{
    size_t head = length < sizeof frame->head ? length : sizeof frame->head;
    out[0] = (struct iovec){.iov_base = frame->head, .iov_len = head};
    out[1] = (struct iovec){.iov_base = frame->tail, .iov_len = length - head};
    return length > head ? 2 : 1;
}

/* The length of the next frame is known only after reading it, so the buffer always has a tail; a short frame leaves
 * its tail to its successor. Returns false if there is no memory for a successor. */
static bool replace_buffer(struct direction *direction)
{
    struct frame *frame = direction->buffer, *next = pool_take_frame(&direction->pool);
    bool is_short = frame->length <= sizeof frame->head;
    if (next == NULL)
        return false;
    next->tail = is_short ? frame->tail : pool_take_tail(&direction->pool);
    if (next->tail == NULL) {
        pool_give_frame(&direction->pool, next);
        return false;
    }
    if (is_short)
        frame->tail = NULL;
    direction->buffer = next;
    return true;
}

/* Passes the frame in the buffer to the line, unless it must be dropped; then the next read overwrites it. */
static void receive(struct direction *direction, uint64_t now)
{
    struct frame *frame = direction->buffer;
    bool is_sound = segments_measure(frame);
    if (!is_sound)
        frame->wire = (struct wire_size){.segments = 1, .bytes = frame->length - FRAME_VNET_BYTES};
    ledger_enter(&direction->ledger, frame);
    /* No memory: the pool's frames or tails are all inside. Dropped as if the queue were full. */
    if (!is_sound || !replace_buffer(direction)) {
        ledger_drop_part(&direction->ledger, frame->wire, is_sound ? DROP_QUEUE : DROP_MALFORMED);
        return;
    }
    line_arrive(&direction->line, frame, now);
    counter_raise(&direction->stats.queue_peak_bytes, direction->line.queue.bytes);
}

static void write_frame(struct direction *direction, struct frame *frame, uint64_t now)
{
    struct iovec parts[2];
    int count = vectors(frame, frame->length, parts);
    unsigned copies = 0;

    stats_lateness(&direction->stats.lateness, now > frame->due_ns ? now - frame->due_ns : 0);
    while (copies < frame->copies && writev(direction->out_fd, parts, count) >= 0)
        copies++;
    if (copies == 0)
        ledger_drop(&direction->ledger, frame, DROP_DEVICE);
    else
        ledger_leave(&direction->ledger, frame, copies);
}

/* Writes up to a batch of frames that are due, or soon will be. */
static void write_due(struct direction *direction, uint64_t now)
{
    uint64_t early_ns = direction->exact ? 0 : EARLY_NS;
    struct frame *frame;
    for (int i = 0; i < DIRECTION_BATCH && (frame = line_depart(&direction->line, now + early_ns)) != NULL; i++) {
        write_frame(direction, frame, now);
        now = clock_now();
    }
}

static bool read_frame(struct direction *direction)
{
    struct frame *frame = direction->buffer;
    struct iovec parts[2];
    int count = vectors(frame, sizeof frame->head + POOL_TAIL_BYTES, parts);

    ssize_t length = readv(direction->in_fd, parts, count);
    if (length < (ssize_t)FRAME_VNET_BYTES) { /* with IFF_VNET_HDR every frame has at least this header */
        if (length >= 0 || (errno != EAGAIN && errno != EINTR))
            lifecycle_end(&direction->ended);
        return false;
    }
    frame->length = (uint32_t)length;
    receive(direction, clock_now());
    return true;
}

/* Reads up to a batch of frames, and writes in between what becomes due. Returns whether it has read any. */
static bool read_batch(struct direction *direction)
{
    int read = 0;
    while (read < DIRECTION_BATCH && read_frame(direction)) {
        write_due(direction, clock_now());
        read++;
    }
    return read > 0;
}

static void free_change(struct spec_change *change)
{
    if (change != NULL)
        spec_release(&change->spec);
    free(change);
}

static void take_change(struct direction *direction)
{
    if (atomic_load_explicit(&direction->pending, memory_order_relaxed) == NULL)
        return;
    struct spec_change *change = atomic_exchange_explicit(&direction->pending, NULL, memory_order_acquire);
    if (change == NULL)
        return;
    line_change(&direction->line, &change->spec, change->cut, change->at_ns);
    free_change(change);
}

bool direction_work(struct direction *direction)
{
    stats_follow(&direction->stats);
    take_change(direction);
    write_due(direction, clock_now());
    return read_batch(direction);
}

static void show_speed(struct direction *direction)
{
    uint32_t speed = tap_speed(spec_mean_bps(&direction->spec));
    bool is_new = direction->speed == 0; /* nobody reads it before it comes up */
    if (speed != (is_new ? TAP_SPEED : direction->speed))
        tap_show_speed(direction->in_fd, speed, !is_new);
    direction->speed = speed;
}

void direction_configure_sender(struct direction *direction)
{
    uint64_t longest_ns = direction->exact ? SPEC_EXACT_FRAME_BOUND_NS : SPEC_FRAME_BOUND_NS;
    direction->frame_bound = tap_bound_frames(direction->in_fd, spec_frame_bound(&direction->spec, longest_ns));
    show_speed(direction);
}

bool direction_init(struct direction *direction, uint64_t seed, uint64_t stream, uint64_t memory)
{
    direction->ledger = (struct ledger){.pool = &direction->pool, .stats = &direction->stats};
    if (!pool_create(&direction->pool, memory) ||
        !line_init(&direction->line, &direction->spec, direction->ledger, seed, stream, clock_now()))
        return false;
    direction->buffer = pool_take_frame(&direction->pool);
    direction->buffer->tail = pool_take_tail(&direction->pool);
    return true;
}

void direction_change(struct direction *direction, const struct spec *spec, uint64_t at_ns)
{
    struct spec_change *change = malloc(sizeof *change);
    if (change == NULL)
        abort();
    *change = (struct spec_change){.spec = spec_copy(spec), .cut = spec->down, .at_ns = at_ns};
    spec_release(&direction->spec);
    direction->spec = spec_copy(spec);
    direction_configure_sender(direction);
    /* A change that the worker has not taken yet is out of date, except for its cut. */
    struct spec_change *unseen = atomic_exchange_explicit(&direction->pending, NULL, memory_order_acq_rel);
    change->cut |= unseen != NULL && unseen->cut;
    free_change(unseen);
    atomic_store_explicit(&direction->pending, change, memory_order_release);
}
