#include "relay/direction.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "relay/tap.h"

/* A frame that is due so soon is written now: to sleep until then takes a processor as long, and would make it later than
 * this makes it early. It spares the small frames (acknowledgements) their own wake-up each. */
#define EARLY_NS UINT64_C(50000)

/* Both halves of a frame, or what of them `length` covers. */
static int vectors(struct frame *frame, struct tail *tail, size_t length, struct iovec *out)
{
    size_t head = length < sizeof frame->head ? length : sizeof frame->head;
    out[0] = (struct iovec){.iov_base = frame->head, .iov_len = head};
    if (length == head)
        return 1;
    out[1] = (struct iovec){.iov_base = tail, .iov_len = length - head};
    return 2;
}

void direction_end(struct direction *direction)
{
    direction->ended = true;
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

/* Only the kernel knows how long the next frame is, so one with a tail is always at hand; a short frame leaves the tail to
 * its successor. Returns false if there is no memory for a successor. */
static bool replace_hand(struct direction *direction, struct frame *frame)
{
    bool is_short = frame->length <= sizeof frame->head;
    struct frame *next = pool_take_frame(&direction->pool);
    if (next == NULL)
        return false;
    next->tail = is_short ? frame->tail : pool_take_tail(&direction->pool);
    if (next->tail == NULL) {
        pool_give_frame(&direction->pool, next);
        return false;
    }
    if (is_short)
        frame->tail = NULL;
    direction->hand = next;
    return true;
}

/* Passes the frame on to the line, unless it must be dropped; then it stays at hand for the next read. */
static void accept_frame(struct direction *direction, struct frame *frame, uint64_t now)
{
    struct stats *stats = &direction->stats;
    size_t available = frame->length < sizeof frame->head ? frame->length : sizeof frame->head;

    bool sound = frames_measure(frame->head, available, frame->length, &frame->wire);
    if (!sound)
        frame->wire = (struct wire_size){.segments = 1, .bytes = frame->length - FRAMES_VNET_BYTES};
    counter_add(&stats->in_packets, frame->wire.segments);
    counter_add(&stats->in_bytes, frame->wire.bytes);
    ledger_hold(&direction->ledger, frame->wire);
    /* Without memory, as by a full queue: POOL_FRAMES frames or POOL_TAILS super-frames are inside. */
    if (!sound || !replace_hand(direction, frame)) {
        ledger_drop_part(&direction->ledger, frame->wire, sound ? DROP_QUEUE : DROP_MALFORMED);
        return;
    }
    line_arrive(&direction->line, frame, now);
    counter_raise(&stats->queue_peak_bytes, direction->line.queue.bytes);
}

/* Returns whether the kernel took it. */
static bool write_once(struct direction *direction, struct frame *frame)
{
    struct iovec parts[2];
    int count = vectors(frame, frame->tail, frame->length, parts);
    if (writev(direction->out_fd, parts, count) < 0)
        return false;
    counter_add(&direction->stats.out_packets, frame->wire.segments);
    counter_add(&direction->stats.out_bytes, frame->wire.bytes);
    return true;
}

static void write_frame(struct direction *direction, struct frame *frame, uint64_t now)
{
    struct stats *stats = &direction->stats;

    stats_lateness(&stats->lateness, now > frame->due_ns ? now - frame->due_ns : 0);
    if (!write_once(direction, frame)) {
        ledger_drop(&direction->ledger, frame, DROP_DEVICE);
        return;
    }
    ledger_release(&direction->ledger, frame->wire);
    for (uint8_t copy = 1; copy < frame->copies && write_once(direction, frame); copy++) {
        counter_add(&stats->duplicated_packets, frame->wire.segments);
        counter_add(&stats->duplicated_bytes, frame->wire.bytes);
    }
    pool_give_frame(&direction->pool, frame);
}

/* Writes up to a batch of frames that are due, or as good as. */
static void write_due(struct direction *direction, uint64_t now)
{
    struct frame *frame;
    for (int i = 0; i < DIRECTION_BATCH && (frame = line_depart(&direction->line, now + EARLY_NS)) != NULL; i++) {
        write_frame(direction, frame, now);
        now = clock_now();
    }
}

static bool read_frame(struct direction *direction)
{
    struct frame *frame = direction->hand;
    struct iovec parts[2];
    int count = vectors(frame, frame->tail, sizeof frame->head + POOL_TAIL_BYTES, parts);

    ssize_t length = readv(direction->in_fd, parts, count);
    if (length < (ssize_t)FRAMES_VNET_BYTES) { /* a TAP with IFF_VNET_HDR gives no less */
        if (length >= 0 || (errno != EAGAIN && errno != EINTR))
            direction_end(direction);
        return false;
    }
    frame->length = (uint32_t)length;
    accept_frame(direction, frame, clock_now());
    return true;
}

/* Reads up to a batch, and writes in between what becomes due. Returns whether there was any. */
static bool read_batch(struct direction *direction)
{
    int read = 0;
    while (read < DIRECTION_BATCH && read_frame(direction)) {
        write_due(direction, clock_now());
        read++;
    }
    return read > 0;
}

static void free_change(struct change *change)
{
    if (change != NULL)
        spec_release(&change->spec);
    free(change);
}

static void take_change(struct direction *direction)
{
    if (atomic_load_explicit(&direction->change, memory_order_relaxed) == NULL)
        return;
    struct change *change = atomic_exchange_explicit(&direction->change, NULL, memory_order_acquire);
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

bool direction_init(struct direction *direction, uint64_t seed, uint64_t stream)
{
    direction->ledger = (struct ledger){.pool = &direction->pool, .stats = &direction->stats};
    if (!pool_create(&direction->pool) ||
        !line_init(&direction->line, &direction->spec, direction->ledger, seed, stream, clock_now()))
        return false;
    direction->hand = pool_take_frame(&direction->pool);
    direction->hand->tail = pool_take_tail(&direction->pool);
    return true;
}

void direction_change(struct direction *direction, const struct spec *spec, uint64_t at_ns)
{
    struct change *change = malloc(sizeof *change);
    if (change == NULL)
        abort();
    *change = (struct change){.spec = spec_copy(spec), .cut = spec->down, .at_ns = at_ns};
    direction->frame_bound = tap_bound_frames(direction->in_fd, spec_frame_bound(spec));
    spec_release(&direction->spec);
    direction->spec = spec_copy(spec);
    /* One that the worker has not seen yet is out of date, but for the cut. */
    struct change *unseen = atomic_exchange_explicit(&direction->change, NULL, memory_order_acq_rel);
    change->cut |= unseen != NULL && unseen->cut;
    free_change(unseen);
    atomic_store_explicit(&direction->change, change, memory_order_release);
}
