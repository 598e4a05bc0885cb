/* A flat interface for Python to the tunnel's modules without I/O, with a device and paths in memory. Cuts messages
 * into datagrams as the kernel does. */
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "tunnel/peer/keepalive.h"
#include "tunnel/peer/peer.h"
#include "tunnel/data/receiver.h"
#include "tunnel/data/sender.h"

#define ROOM 66000u

struct piece {
    struct piece *next;
    int path;
    size_t length;
    uint8_t bytes[];
};

struct pieces {
    struct piece *first, **last;
};

/* Begins with the receiver, so that its functions take an end. */
struct end {
    struct receiver receiver;
    struct sender sender;
    struct pieces sent, written, control;
    uint32_t messages, longest; /* calls for the kernel, and the most datagrams in one */
    uint8_t *taken[1000];       /* until the flush */
    int taken_count;
};

static void push(struct pieces *pieces, int path, const struct iovec *parts, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += parts[i].iov_len;
    struct piece *piece = malloc(sizeof *piece + length);
    *piece = (struct piece){.path = path, .length = 0};
    for (size_t i = 0; i < count; i++) {
        memcpy(piece->bytes + piece->length, parts[i].iov_base, parts[i].iov_len);
        piece->length += parts[i].iov_len;
    }
    if (pieces->first == NULL)
        pieces->last = &pieces->first;
    *pieces->last = piece;
    pieces->last = &piece->next;
}

static size_t pop(struct pieces *pieces, int *path, uint8_t *out)
{
    struct piece *piece = pieces->first;
    if (piece == NULL)
        return 0;
    size_t length = piece->length;
    pieces->first = piece->next;
    *path = piece->path;
    memcpy(out, piece->bytes, length);
    free(piece);
    return length;
}

static size_t segment_of(struct msghdr *header, size_t whole)
{
    uint16_t size;
    struct cmsghdr *option = header->msg_controllen == 0 ? NULL : CMSG_FIRSTHDR(header);
    if (option == NULL)
        return whole;
    memcpy(&size, CMSG_DATA(option), sizeof size);
    return size;
}

static void send_message(struct end *end, int path, struct msghdr *header)
{
    uint8_t *all = malloc(ROOM);
    size_t length = 0;
    for (size_t i = 0; i < header->msg_iovlen; i++) {
        memcpy(all + length, header->msg_iov[i].iov_base, header->msg_iov[i].iov_len);
        length += header->msg_iov[i].iov_len;
    }
    if (length > DATAGRAM_MAX)
        abort();
    size_t segment = segment_of(header, length);
    uint32_t count = 0;
    for (size_t at = 0; at < length; at += segment, count++) {
        size_t bytes = length - at < segment ? length - at : segment;
        push(&end->sent, path, &(struct iovec){all + at, bytes}, 1);
    }
    end->messages++;
    end->longest = count > end->longest ? count : end->longest;
    free(all);
}

static void send_all(void *context, int path, struct mmsghdr *messages, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        send_message(context, path, &messages[i].msg_hdr);
}

static bool write_device(void *context, const struct iovec *parts, int count)
{
    struct end *end = context;
    push(&end->written, 0, parts, (size_t)count);
    return true;
}

static void take_control(void *context, int path, const uint8_t *message, size_t length, uint64_t now)
{
    struct end *end = context;
    (void)now;
    push(&end->control, path, &(struct iovec){(void *)message, length}, 1);
}

struct end *end_new(int paths, int scheduler, uint32_t run, bool sequenced, bool offloads, uint32_t mtu,
                    uint32_t window, bool by_paths, bool backwards, uint64_t limit_ns)
{
    struct end *end = calloc(1, sizeof *end);
    scheduler_init(&end->sender.scheduler, (enum scheduler_kind)scheduler, paths, run);
    end->sender.output = (struct sender_output){.send = send_all, .context = end};
    end->sender.sequenced = sequenced;
    end->sender.segmentation = offloads;
    end->sender.mtu = end->receiver.mtu = mtu;
    end->sender.clamp = end->receiver.clamp = true;
    end->receiver.ordered = sequenced;
    end->receiver.merger.tcp = end->receiver.merger.udp = offloads;
    end->receiver.merger.output = (struct merger_output){.write = write_device, .context = end};
    end->receiver.control = take_control;
    end->receiver.control_context = end;
    if (!sender_init(&end->sender) || !receiver_init(&end->receiver, window))
        abort();
    end->receiver.reorder.limit_ns = limit_ns;
    end->receiver.reorder.by_paths = by_paths;
    end->receiver.reorder.backwards = backwards;
    return end;
}

void end_path(struct end *end, int path, bool usable, bool backup, double weight, uint64_t rtt_ns,
              uint64_t capacity_bps)
{
    struct scheduler *scheduler = &end->sender.scheduler;
    struct scheduler_path paths[PATHS_MAX];
    memcpy(paths, scheduler->paths, sizeof paths);
    paths[path] = (struct scheduler_path){usable, backup, weight, rtt_ns, capacity_bps};
    for (int i = 0; i < scheduler->count; i++)
        if (paths[i].weight == 0)
            paths[i].weight = 1;
    scheduler_change(scheduler, paths, scheduler->run);
}

void end_time(struct end *end, uint64_t now)
{
    scheduler_at(&end->sender.scheduler, now);
}

void end_flush(struct end *end)
{
    sender_flush(&end->sender);
    while (end->taken_count > 0)
        free(end->taken[--end->taken_count]);
}

/* `data` begins with the vnet header. */
void end_read(struct end *end, const uint8_t *data, size_t length)
{
    struct virtio_net_hdr vnet;
    size_t bytes = length - sizeof vnet;
    uint8_t *copy = malloc(SENDER_HEADROOM + bytes); /* of just its size, for a sanitizer */
    memcpy(&vnet, data, sizeof vnet);
    memcpy(copy + SENDER_HEADROOM, data + sizeof vnet, bytes);
    if (end->taken_count == 1000)
        end_flush(end);
    if (!sender_take(&end->sender, &vnet, copy + SENDER_HEADROOM, (uint32_t)bytes)) {
        sender_flush(&end->sender);
        if (!sender_take(&end->sender, &vnet, copy + SENDER_HEADROOM, (uint32_t)bytes))
            abort(); /* the batch is empty */
    }
    end->taken[end->taken_count++] = copy;
}

size_t end_sent(struct end *end, int *path, uint8_t *out)
{
    return pop(&end->sent, path, out);
}

void end_receive(struct end *end, int path, const uint8_t *data, size_t length, size_t segment, uint64_t now)
{
    struct buffer *buffer = buffers_take(&end->receiver.buffers, true);
    if (buffer == NULL)
        abort();
    memcpy(buffer->bytes, data, length);
    receiver_take(&end->receiver, path, buffer, length, segment, now);
}

struct reorder *end_reorder(struct end *end)
{
    return &end->receiver.reorder;
}

void end_lead(struct end *end, int path, uint64_t lead_ns)
{
    end->receiver.reorder.paths[path].lead_ns = lead_ns;
}

void end_next(struct end *end, uint64_t sequence)
{
    counter_write(&end->sender.next, sequence);
}

size_t end_written(struct end *end, int *path, uint8_t *out)
{
    return pop(&end->written, path, out);
}

size_t end_control(struct end *end, int *path, uint8_t *out)
{
    return pop(&end->control, path, out);
}

uint64_t end_counter(const struct end *end, const char *name)
{
    const struct sender *sender = &end->sender;
    const struct receiver *receiver = &end->receiver;
    const struct {
        const char *name;
        uint64_t value;
    } known[] = {
        {"messages", end->messages},
        {"longest", end->longest},
        {"no_path", counter_read(&sender->stats.no_path)},
        {"too_large", counter_read(&sender->stats.too_large)},
        {"unsound", counter_read(&sender->stats.malformed)},
        {"malformed", counter_read(&receiver->stats.malformed)},
        {"duplicates", counter_read(&receiver->stats.duplicates)},
        {"stale", counter_read(&receiver->stats.stale)},
        {"strays", counter_read(&receiver->stats.strays)},
        {"given_up", receiver->reorder.given_up},
        {"held", receiver->reorder.held},
        {"sent", counter_read(&sender->sent)},
        {"margin_ns", receiver->reorder.margin_ns},
        {"late", counter_read(&receiver->path_stats[0].late) + counter_read(&receiver->path_stats[1].late)},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].value;
    abort();
}

/* Peers. */

struct peer *driver_peer(int paths, uint64_t dead_ns, uint32_t recover, const char *key, uint64_t seed)
{
    struct peer *peer = calloc(1, sizeof *peer);
    struct peer_settings settings = {.paths = paths, .dead_ns = dead_ns, .recover = recover};
    const uint64_t seeds[3] = {seed, seed * 31 + 1, seed * 57 + 2};
    settings.key.length = strlen(key);
    memcpy(settings.key.bytes, key, settings.key.length);
    peer_init(peer, &settings, seeds);
    return peer;
}

/* `greeted` is the challenge of a greeting to answer, or 0. */
void driver_say(struct peer *peer, int path, uint64_t sent, uint64_t received, uint64_t greeted, uint64_t now,
                uint8_t *out)
{
    struct peer_report report = {.enabled = true, .sent_packets = sent, .received_packets = received};
    if (!peer_write(peer, path, &report, greeted != 0 ? greeted : peer->peer_challenge, now, out))
        abort();
}

/* Returns the verdict; `*challenge` is the message's. */
int driver_hear(struct peer *peer, int path, const uint8_t *data, size_t length, uint64_t sent, uint64_t received,
                uint64_t now, uint64_t *challenge)
{
    struct peer_report report = {.enabled = true, .sent_packets = sent, .received_packets = received};
    struct keepalive message = {0};
    enum peer_verdict verdict = peer_read(peer, path, data, length, &report, now, &message);
    *challenge = message.challenge;
    return (int)verdict;
}

uint64_t driver_lead(const struct peer *peer, int path, int other)
{
    return peer_lead_ns(&peer->paths[path], &peer->paths[other]);
}

/* up, ups, downs, round trip (ns), packets lost inwards, outwards, of a million lately inwards, outwards */
void driver_path(const struct peer *peer, int path, int64_t out[8])
{
    const struct peer_path *known = &peer->paths[path];
    const int64_t values[8] = {
        known->up,
        (int64_t)known->ups,
        (int64_t)known->downs,
        known->rtt.smoothed_ns,
        (int64_t)known->lost_inwards,
        (int64_t)known->lost_outwards,
        (int64_t)(known->loss_inwards * 1e6),
        (int64_t)(known->loss_outwards * 1e6),
    };
    memcpy(out, values, sizeof values);
}
