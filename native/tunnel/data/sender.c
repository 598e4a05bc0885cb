#include "tunnel/data/sender.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "packets/checksum.h"

/* The first sequence number, how many to pass over after each flush, and until which number. Only tests build a program
 * with others (Makefile), so that a session comes to 2^31 and 2^32 in seconds; nothing can set them in a program. */
#ifndef SENDER_FIRST
#define SENDER_FIRST 0
#define SENDER_PASSED_OVER 0
#define SENDER_PASSED_UNTIL 0
#endif
static const uint64_t first = SENDER_FIRST, passed_over = SENDER_PASSED_OVER, passed_until = SENDER_PASSED_UNTIL;

/* A packet to send, in two parts: headers after GRE, and payload, which may be empty. */
struct parcel {
    uint8_t *gre;
    uint32_t headers;
    const uint8_t *payload;
    uint32_t payload_bytes;
    uint16_t protocol;
    uint64_t flow;
};

bool sender_init(struct sender *sender)
{
    counter_write(&sender->next, first);
    counter_write(&sender->sent, first);
    sender->queues = calloc((size_t)sender->scheduler.count, sizeof *sender->queues);
    return sender->queues != NULL;
}

static bool fits_last_message(const struct sender *sender, const struct sender_queue *queue, uint32_t bytes)
{
    if (!queue->open)
        return false;
    const struct sender_message *last = &queue->messages[queue->message_count - 1];
    return sender->segmentation && bytes <= last->segment && last->count < SEGMENTS_MAX &&
           last->bytes + bytes <= DATAGRAM_MAX;
}

static void enqueue(struct sender *sender, int path, const struct parcel *parcel)
{
    struct sender_queue *queue = &sender->queues[path];
    uint32_t headers = gre_bytes(sender->sequenced) + parcel->headers, bytes = headers + parcel->payload_bytes;

    if (!fits_last_message(sender, queue, bytes))
        queue->messages[queue->message_count++] =
            (struct sender_message){.segment = (uint16_t)bytes, .first_part = queue->part_count};
    struct sender_message *message = &queue->messages[queue->message_count - 1];
    message->count++;
    message->bytes += bytes;
    queue->open = bytes == message->segment;
    queue->parts[queue->part_count++] = (struct iovec){.iov_base = parcel->gre, .iov_len = headers};
    if (parcel->payload_bytes > 0)
        queue->parts[queue->part_count++] =
            (struct iovec){.iov_base = (void *)parcel->payload, .iov_len = parcel->payload_bytes};
    counter_add(&sender->path_stats[path].packets, 1);
    counter_add(&sender->path_stats[path].bytes, bytes);
}

static void enqueue_everywhere(struct sender *sender, const struct parcel *parcel)
{
    bool any = false;
    for (int i = 0; i < sender->scheduler.count; i++) {
        if (sender->scheduler.eligible[i])
            enqueue(sender, i, parcel);
        any |= sender->scheduler.eligible[i];
    }
    if (!any)
        counter_add(&sender->stats.no_path, 1);
}

static void dispatch(struct sender *sender, const struct parcel *parcel)
{
    uint32_t bytes = parcel->headers + parcel->payload_bytes;
    if (bytes > sender->mtu) {
        counter_add(&sender->stats.too_large, 1);
        return;
    }
    uint32_t sequence = (uint32_t)counter_read(&sender->next);
    gre_write(parcel->gre, parcel->protocol, sender->sequenced, sequence);
    counter_add(&sender->stats.packets, 1);
    counter_add(&sender->stats.bytes, bytes);
    sender->batched++;
    if (sender->scheduler.kind == SCHEDULER_REDUNDANT) {
        counter_add(&sender->next, 1);
        enqueue_everywhere(sender, parcel);
        return;
    }
    int path = scheduler_pick(&sender->scheduler, bytes, parcel->flow);
    if (path == SCHEDULER_NONE) {
        counter_add(&sender->stats.no_path, 1);
        return;
    }
    counter_add(&sender->next, 1);
    enqueue(sender, path, parcel);
}

static uint16_t protocol_of(const struct packet *packet)
{
    return packet->v4 ? GRE_IPV4 : GRE_IPV6;
}

static uint64_t flow_of(const struct sender *sender, const struct packet *packet)
{
    return sender->scheduler.kind == SCHEDULER_FLOWHASH ? headers_ip_flow(packet->ip, packet->length, 0) : 0;
}

/* Completes a checksum that the kernel has left to the network card. Returns false if it is not in the packet. */
static bool finish_checksum(const struct virtio_net_hdr *vnet, const struct packet *packet)
{
    uint32_t at = (uint32_t)vnet->csum_start + vnet->csum_offset;
    if (vnet->csum_start < IPV4_HEADER || at + 2 > packet->length)
        return false;
    /* The field holds the sum of the pseudo header. */
    uint16_t sum =
        (uint16_t)~checksum_fold(checksum_add(0, packet->ip + vnet->csum_start, packet->length - vnet->csum_start));
    if (sum == 0 && vnet->csum_offset == 6)
        sum = 0xffff; /* in UDP, 0 means that there is none (RFC 768) */
    memcpy(packet->ip + at, &sum, sizeof sum);
    return true;
}

static bool take_single(struct sender *sender, const struct virtio_net_hdr *vnet, const struct packet *packet)
{
    if ((vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) && !finish_checksum(vnet, packet))
        return false;
    if (sender->clamp)
        packet_clamp_segments(packet, sender->mtu);
    struct parcel parcel = {
        .gre = packet->ip - gre_bytes(sender->sequenced),
        .headers = packet->length,
        .protocol = protocol_of(packet),
        .flow = flow_of(sender, packet),
    };
    dispatch(sender, &parcel);
    return true;
}

/* Computes the checksum of a piece whose headers are complete otherwise. */
static void write_checksum(uint8_t *ip, const struct packet *whole, const uint8_t *payload, uint32_t payload_bytes)
{
    struct packet piece = *whole;
    uint8_t *transport = ip + whole->transport;
    uint32_t header = (uint32_t)(whole->headers - whole->transport);
    bool udp = whole->protocol == IPPROTO_UDP;
    uint8_t *field = transport + (udp ? 6 : 16);

    piece.ip = ip;
    memset(field, 0, 2);
    uint64_t sum = checksum_add(packet_pseudo_sum(&piece, header + payload_bytes), transport, header);
    uint16_t done = (uint16_t)~checksum_fold(checksum_add(sum, payload, payload_bytes));
    if (done == 0 && udp)
        done = 0xffff;
    memcpy(field, &done, sizeof done);
}

static void take_pieces(struct sender *sender, const struct packet *whole, uint32_t segment)
{
    uint32_t payload = whole->length - whole->headers;
    struct cut cut = {.has_start = true, .udp = whole->protocol == IPPROTO_UDP};
    uint64_t flow = flow_of(sender, whole);

    scheduler_expect(&sender->scheduler, (payload + segment - 1) / segment);
    for (; cut.before < payload; cut.first++, cut.before += segment) {
        const uint8_t *data = whole->ip + whole->headers + cut.before;
        uint8_t *gre = sender->headers[sender->batched], *ip = gre + gre_bytes(sender->sequenced);
        cut.payload = payload - cut.before < segment ? payload - cut.before : segment;
        cut.has_start = cut.before == 0;
        cut.has_end = cut.before + cut.payload == payload;
        memcpy(ip, whole->ip, whole->headers);
        headers_cut(ip, whole->transport, whole->headers, &cut);
        write_checksum(ip, whole, data, cut.payload);
        dispatch(sender, &(struct parcel){
                             .gre = gre,
                             .headers = whole->headers,
                             .payload = data,
                             .payload_bytes = cut.payload,
                             .protocol = protocol_of(whole),
                             .flow = flow,
                         });
    }
}

/* Whether the vnet header fits the GSO packet, which must be TCP or UDP with an unfinished checksum. */
static bool is_consistent(const struct virtio_net_hdr *vnet, const struct packet *packet)
{
    uint8_t protocol =
        (vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_UDP_L4 ? IPPROTO_UDP : IPPROTO_TCP;
    return packet->protocol == protocol && packet->headers <= PACKET_HEADERS_MAX && packet->length > packet->headers &&
           vnet->gso_size > 0 && vnet->csum_start == packet->transport && (vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
}

bool sender_take(struct sender *sender, const struct virtio_net_hdr *vnet, uint8_t *ip, uint32_t length)
{
    struct packet packet;
    bool super = vnet->gso_type != VIRTIO_NET_HDR_GSO_NONE;
    bool good = packet_read(ip, length, &packet) && (!super || is_consistent(vnet, &packet));
    uint32_t pieces = 1;
    if (good && super)
        pieces = (packet.length - packet.headers + vnet->gso_size - 1) / vnet->gso_size;
    if (good && sender->batched > 0 && sender->batched + pieces > SENDER_BATCH)
        return false;
    if (!good || pieces > SENDER_BATCH || (!super && !take_single(sender, vnet, &packet)))
        counter_add(&sender->stats.malformed, 1);
    else if (super)
        take_pieces(sender, &packet, vnet->gso_size);
    return true;
}

static void set_segment(struct msghdr *header, void *control, uint16_t segment)
{
    header->msg_control = control;
    header->msg_controllen = CMSG_SPACE(sizeof segment);
    struct cmsghdr *option = CMSG_FIRSTHDR(header);
    option->cmsg_level = IPPROTO_UDP;
    option->cmsg_type = UDP_SEGMENT;
    option->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(option), &segment, sizeof segment);
}

static void flush_queue(struct sender *sender, int path)
{
    struct sender_queue *queue = &sender->queues[path];
    for (uint32_t i = 0; i < queue->message_count; i++) {
        const struct sender_message *message = &queue->messages[i];
        uint32_t end = i + 1 < queue->message_count ? queue->messages[i + 1].first_part : queue->part_count;
        struct msghdr *header = &queue->headers[i].msg_hdr;
        *header =
            (struct msghdr){.msg_iov = queue->parts + message->first_part, .msg_iovlen = end - message->first_part};
        if (message->count > 1)
            set_segment(header, queue->controls[i], message->segment);
    }
    sender->output.send(sender->output.context, path, queue->headers, queue->message_count);
    queue->message_count = queue->part_count = 0;
    queue->open = false;
}

void sender_flush(struct sender *sender)
{
    for (int i = 0; i < sender->scheduler.count; i++)
        if (sender->queues[i].message_count > 0)
            flush_queue(sender, i);
    sender->batched = 0;
    if (counter_read(&sender->next) < passed_until)
        counter_add(&sender->next, passed_over);
    counter_write(&sender->sent, counter_read(&sender->next));
}
