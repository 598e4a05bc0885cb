#include "tunnel/data/receiver.h"

#include <string.h>

#include "common/clock.h"
#include "tunnel/data/gre.h"
#include "tunnel/data/packet.h"

bool receiver_init(struct receiver *receiver, uint32_t window)
{
    receiver->merger.buffers = &receiver->buffers;
    return buffers_create(&receiver->buffers) && (!receiver->ordered || reorder_init(&receiver->reorder, window));
}

static void deliver(struct receiver *receiver, const struct reorder_packet *packet)
{
    counter_add(&receiver->stats.packets, 1);
    counter_add(&receiver->stats.bytes, packet->length);
    counter_add(&receiver->stats.refused, merger_add(&receiver->merger, packet));
}

static void deliver_ordered(struct receiver *receiver, uint64_t now)
{
    struct reorder_packet packet;
    while (reorder_next(&receiver->reorder, &packet, now))
        deliver(receiver, &packet);
}

/* Moves a short packet that will wait from a large buffer to a small one. */
static void shrink(struct receiver *receiver, struct reorder_packet *packet)
{
    if (packet->buffer->references > 1 || !packet->buffer->large || packet->length > BUFFERS_SMALL_BYTES)
        return;
    struct buffer *small = buffers_take(&receiver->buffers, false);
    if (small == NULL)
        return;
    memcpy(small->bytes, packet->ip, packet->length);
    buffers_release(&receiver->buffers, packet->buffer);
    packet->buffer = small;
    packet->ip = small->bytes;
}

static void take_ordered(struct receiver *receiver, int path, uint32_t sequence, struct reorder_packet *packet,
                         uint64_t now)
{
    struct reorder *reorder = &receiver->reorder;
    struct receiver_path_stats *stats = &receiver->path_stats[path];

    if (reorder->started && (sequence != reorder->next || reorder->paths[path].lead_ns > 0))
        shrink(receiver, packet);
    enum reorder_fate fate = reorder_put(reorder, sequence, packet, path, now);
    if (fate == REORDER_AHEAD) {
        deliver_ordered(receiver, now);
        fate = reorder_put(reorder, sequence, packet, path, now);
    }
    switch (fate) {
    case REORDER_NOW:
        deliver(receiver, packet);
        if (reorder->held > 0)
            deliver_ordered(receiver, now);
        return;
    case REORDER_KEPT:
        counter_add(&stats->held, 1);
        return;
    case REORDER_LATE:
        counter_add(&stats->late, 1);
        deliver(receiver, packet);
        return;
    case REORDER_DUPLICATE:
        counter_add(&receiver->stats.duplicates, 1);
        break;
    case REORDER_STALE:
        counter_add(&receiver->stats.stale, 1);
        counter_add(&stats->late_drops, 1);
        break;
    default:
        counter_add(&receiver->stats.strays, 1);
    }
    buffers_release(&receiver->buffers, packet->buffer);
}

static void take_packet(struct receiver *receiver, int path, const struct gre *gre, const struct packet *packet,
                        struct buffer *buffer, uint64_t now)
{
    struct reorder_packet taken = {.ip = packet->ip, .length = packet->length, .buffer = buffer};
    if (receiver->clamp)
        packet_clamp_segments(packet, receiver->mtu);
    if (gre->sequenced && receiver->ordered)
        take_ordered(receiver, path, gre->sequence, &taken, now);
    else
        deliver(receiver, &taken);
}

/* Takes over a reference to the buffer, which holds the datagram. */
static void take_datagram(struct receiver *receiver, int path, struct buffer *buffer, uint8_t *data, size_t length,
                          uint64_t now)
{
    struct gre gre;
    struct packet packet;
    if (!gre_read(data, length, &gre)) {
        counter_add(&receiver->stats.malformed, 1);
    } else if (data[gre.bytes] >= RECEIVER_CONTROL_BYTE) {
        receiver->control(receiver->control_context, path, data + gre.bytes, length - gre.bytes, now);
    } else if (!packet_read(data + gre.bytes, length - gre.bytes, &packet)) {
        counter_add(&receiver->stats.malformed, 1);
    } else {
        counter_add(&receiver->path_stats[path].packets, 1);
        counter_add(&receiver->path_stats[path].bytes, length);
        take_packet(receiver, path, &gre, &packet, buffer, now);
        return;
    }
    buffers_release(&receiver->buffers, buffer);
}

void receiver_take(struct receiver *receiver, int path, struct buffer *buffer, size_t length, size_t segment,
                   uint64_t now)
{
    uint8_t *data = buffer->bytes;
    if (segment == 0)
        segment = length;
    while (length > segment) {
        buffers_share(buffer);
        take_datagram(receiver, path, buffer, data, segment, now);
        data += segment;
        length -= segment;
    }
    take_datagram(receiver, path, buffer, data, length, now);
}

void receiver_relieve(struct receiver *receiver, uint64_t now)
{
    if (!receiver->ordered)
        return;
    receiver->reorder.floor = receiver->reorder.next + receiver->reorder.window;
    deliver_ordered(receiver, now);
    counter_add(&receiver->stats.refused, merger_flush(&receiver->merger));
}

static void note_reordering(struct receiver *receiver)
{
    counter_write(&receiver->stats.given_up, receiver->reorder.given_up);
    counter_write(&receiver->stats.held, receiver->reorder.held);
    counter_write(&receiver->stats.held_peak, receiver->reorder.peak);
    counter_write(&receiver->stats.margin_ns, receiver->reorder.margin_ns);
}

void receiver_flush(struct receiver *receiver, uint64_t now)
{
    if (receiver->ordered) {
        deliver_ordered(receiver, now);
        note_reordering(receiver);
    }
    counter_add(&receiver->stats.refused, merger_flush(&receiver->merger));
}

uint64_t receiver_due(const struct receiver *receiver, uint64_t now)
{
    return receiver->ordered ? reorder_due(&receiver->reorder, now) : NEVER;
}
