#include "relay/line/impairments.h"

#include <linux/if_ether.h>
#include <linux/virtio_net.h>
#include <math.h>
#include <string.h>

#include "packets/checksum.h"
#include "relay/frames/segments.h"

/* New ones at the end: a seed must keep its meaning. */
enum { LOSS, BURST, DUPLICATION, JITTER, CORRUPTION };

void impairments_init(struct impairments *impairments, const struct spec *spec, struct ledger *ledger,
                      struct flight *flight, uint64_t seed, uint64_t stream)
{
    *impairments = (struct impairments){.spec = spec, .ledger = ledger, .flight = flight};
    /* Both directions take their sequences from groups of four in turn: 0-3 and 4-7, then 8-11 and 12-15. */
    for (uint64_t i = 0; i < IMPAIRMENTS_SEQUENCES; i++)
        random_seed(&impairments->sequences[i], seed, i / 4 * 8 + stream * 4 + i % 4);
}

static double draw(struct impairments *impairments, int sequence)
{
    return random_fraction(&impairments->sequences[sequence]);
}

static bool happens(struct impairments *impairments, int sequence, double probability)
{
    return probability > 0 && draw(impairments, sequence) < probability;
}

static bool has_bursts(const struct spec *spec)
{
    return spec->burst_enter > 0 || spec->burst_loss_good > 0;
}

/* Gilbert (1960) and Elliott (1963): the chain makes a step, then its state decides. Each packet takes two numbers
 * in any case, so that the sequence does not depend on the probabilities. */
static bool is_lost_in_burst(struct impairments *impairments)
{
    const struct spec *spec = impairments->spec;
    double step = draw(impairments, BURST), loss = draw(impairments, BURST);
    if (step < (impairments->is_bad ? spec->burst_leave : spec->burst_enter))
        impairments->is_bad = !impairments->is_bad;
    return loss < (impairments->is_bad ? spec->burst_loss_bad : spec->burst_loss_good);
}

/* Whether the next packet is lost. */
static bool is_lost(struct impairments *impairments)
{
    bool lost = happens(impairments, LOSS, impairments->spec->loss);
    if (has_bursts(impairments->spec))
        lost |= is_lost_in_burst(impairments);
    return lost;
}

/* A normal deviate by Marsaglia's polar method. */
static double normal(struct impairments *impairments)
{
    double x, y, square;
    if (impairments->has_spare) {
        impairments->has_spare = false;
        return impairments->spare;
    }
    do {
        x = 2 * draw(impairments, JITTER) - 1;
        y = 2 * draw(impairments, JITTER) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double scale = sqrt(-2 * log(square) / square);
    impairments->spare = y * scale;
    impairments->has_spare = true;
    return x * scale;
}

/* The delay of the next frame, jitter included; never below 0. */
static uint64_t next_delay(struct impairments *impairments)
{
    const struct spec *spec = impairments->spec;
    if (spec->jitter_ns == 0)
        return spec->delay_ns;
    double deviation = spec->jitter == SPEC_UNIFORM ? 2 * draw(impairments, JITTER) - 1 : normal(impairments);
    double delay = (double)spec->delay_ns + deviation * (double)spec->jitter_ns;
    return delay > 0 ? (uint64_t)delay : 0;
}

/* Completes a checksum that the sending host left to its network card, because the receiver could not notice the damage
 * otherwise. Returns false if the vnet header makes no sense. */
static bool complete_checksum(struct frame *frame)
{
    struct virtio_net_hdr vnet;
    memcpy(&vnet, frame->head, sizeof vnet);
    if (!(vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
        return true;
    size_t start = sizeof vnet + vnet.csum_start, field = start + vnet.csum_offset, head = frame_head_bytes(frame);
    if (field + sizeof(uint16_t) > head)
        return false;
    uint64_t sum = checksum_add(0, frame->head + start, head - start);
    if (frame->length > head) /* the first piece is even then, because all headers before the checksum's start are */
        sum = checksum_add(sum, frame->tail, frame->length - head);
    uint16_t checksum = (uint16_t)~checksum_fold(sum);
    checksum = checksum == 0 ? UINT16_MAX : checksum; /* in UDP 0 means that there is none */
    memcpy(frame->head + field, &checksum, sizeof checksum);
    return true;
}

/* Flips a random bit of the packet. Not of a GSO packet: they do not enter while this is on, and those that are inside
 * already pass as they are. */
static void corrupt(struct impairments *impairments, struct frame *frame)
{
    size_t first = FRAME_VNET_BYTES + ETH_HLEN, bits = (frame->length - first) * 8;
    size_t bit = (size_t)(draw(impairments, CORRUPTION) * (double)bits), at = first + bit / 8;
    if (frame->wire.segments > 1 || bits == 0 || !complete_checksum(frame))
        return;
    uint8_t *byte = at < sizeof frame->head ? frame->head + at : frame->tail + (at - sizeof frame->head);
    *byte ^= (uint8_t)(1u << bit % 8);
    memset(frame->head, 0, FRAME_VNET_BYTES); /* nothing is left to a card, and nothing has been verified */
    counter_add(&impairments->ledger->stats->corrupted, 1);
}

static void propagate(struct impairments *impairments, struct frame *frame, uint64_t left_ns)
{
    const struct spec *spec = impairments->spec;
    if (happens(impairments, CORRUPTION, spec->corrupt))
        corrupt(impairments, frame);
    frame->copies = happens(impairments, DUPLICATION, spec->duplicate) ? 2 : 1;
    frame->due_ns = left_ns + next_delay(impairments);
    if (spec->reorder && spec->jitter_ns > 0)
        flight_insert(impairments->flight, frame);
    else
        flight_append(impairments->flight, frame);
}

/* A GSO packet that loses some of its segments. */
struct split {
    struct impairments *impairments;
    struct frame *whole;
    struct layout layout;
    uint64_t began_ns, left_ns; /* times of the whole packet */
    struct wire_size lost;
};

/* Propagates segments `first` to `end - 1` as a frame of their own. */
static void propagate_piece(struct split *split, uint32_t first, uint32_t end)
{
    struct ledger *ledger = split->impairments->ledger;
    const struct spec *spec = split->impairments->spec;
    if (end == first)
        return;
    struct wire_size wire = {end - first, segments_wire_bytes(&split->layout, first, end - first)};
    struct frame *piece = segments_copy(ledger->pool, split->whole, &split->layout, first, end - first);
    if (piece == NULL) {
        ledger_drop_part(ledger, wire, DROP_QUEUE);
    } else {
        uint64_t duration_ns = split->left_ns - split->began_ns;
        struct wire_size until_end = {end, segments_wire_bytes(&split->layout, 0, end)};
        uint64_t sent = spec_charged_bytes(spec, until_end), all = spec_charged_bytes(spec, split->whole->wire);
        uint64_t sent_ns = (uint64_t)((unsigned __int128)duration_ns * sent / all);
        propagate(split->impairments, piece, split->began_ns + sent_ns);
    }
    split->lost.segments -= wire.segments;
    split->lost.bytes -= wire.bytes;
}

/* `lost` is the first segment that is lost; whether the following ones are has not been drawn yet. */
static void propagate_pieces(struct split *split, uint32_t lost)
{
    uint32_t first = 0, end = split->whole->wire.segments;

    split->layout = segments_layout(split->whole);
    split->lost = split->whole->wire;
    for (uint32_t i = lost; i < end; i++) {
        if (i == lost || is_lost(split->impairments)) {
            propagate_piece(split, first, i);
            first = i + 1;
        }
    }
    propagate_piece(split, first, end);
    split->whole->wire = split->lost;
    ledger_drop(split->impairments->ledger, split->whole, DROP_LOSS);
}

/* Draws for each segment whether it is lost. Not inlined, which would make impairments_pass() slower without loss. */
__attribute__((noinline)) static void propagate_survivors(struct impairments *impairments, struct frame *frame,
                                                          uint64_t began_ns, uint64_t left_ns)
{
    uint32_t lost = 0, segments = frame->wire.segments;
    while (lost < segments && !is_lost(impairments))
        lost++;
    if (lost == segments) {
        propagate(impairments, frame, left_ns);
    } else if (segments == 1) {
        ledger_drop(impairments->ledger, frame, DROP_LOSS);
    } else {
        struct split split = {.impairments = impairments, .whole = frame, .began_ns = began_ns, .left_ns = left_ns};
        propagate_pieces(&split, lost);
    }
}

void impairments_pass(struct impairments *impairments, struct frame *frame, uint64_t began_ns, uint64_t left_ns)
{
    if (impairments->spec->loss > 0 || has_bursts(impairments->spec))
        propagate_survivors(impairments, frame, began_ns, left_ns);
    else
        propagate(impairments, frame, left_ns);
}
