/* Fuzz target: both ends of a tunnel, with packets from a device, datagrams from paths, and control messages with and
 * without the key. Claims that packets leave complete, that none is delivered twice, that every buffer is released, and
 * that only messages with the key are accepted. */
#include "common/clock.h"
#include "fuzz.h"
#include "tunnel/data/gre.h"
#include "tunnel/peer/peer.h"
#include "tunnel/data/receiver.h"
#include "tunnel/data/sender.h"

#define PATHS 3
#define MTU 1400u

struct bench {
    struct sender sender;
    struct receiver receiver;
    struct peer peer;
    uint64_t now;
    uint8_t room[70000];
};

static void claim_whole_datagram(const uint8_t *data, size_t length)
{
    struct gre gre;
    struct packet packet;
    uint8_t copy[2048];
    CLAIM(length <= MTU + GRE_SEQUENCED_BYTES && length <= sizeof copy);
    memcpy(copy, data, length);
    CLAIM(gre_read(copy, length, &gre) && gre.sequenced);
    CLAIM(packet_read(copy + gre.bytes, length - gre.bytes, &packet) && packet.length <= length - gre.bytes);
}

static void send_all(void *context, int path, struct mmsghdr *messages, unsigned count)
{
    static uint8_t all[70000];
    (void)context;
    CLAIM(path >= 0 && path < PATHS);
    for (unsigned i = 0; i < count; i++) {
        struct msghdr *header = &messages[i].msg_hdr;
        uint16_t segment = 0;
        size_t length = 0;
        for (size_t part = 0; part < header->msg_iovlen; part++) {
            CLAIM(length + header->msg_iov[part].iov_len <= DATAGRAM_MAX);
            memcpy(all + length, header->msg_iov[part].iov_base, header->msg_iov[part].iov_len);
            length += header->msg_iov[part].iov_len;
        }
        if (header->msg_controllen > 0)
            memcpy(&segment, CMSG_DATA(CMSG_FIRSTHDR(header)), sizeof segment);
        for (size_t at = 0, step = segment == 0 ? length : segment; at < length; at += step)
            claim_whole_datagram(all + at, length - at < step ? length - at : step);
    }
}

static bool write_device(void *context, const struct iovec *parts, int count)
{
    struct bench *bench = context;
    size_t length = 0;
    struct packet packet;
    CLAIM(parts[0].iov_len == sizeof(struct virtio_net_hdr));
    for (int i = 1; i < count; i++) {
        memcpy(bench->room + length, parts[i].iov_base, parts[i].iov_len);
        length += parts[i].iov_len;
    }
    CLAIM(length <= 65535 && packet_read(bench->room, length, &packet) && packet.length == length);
    return true;
}

static void hear(void *context, int path, const uint8_t *message, size_t length, uint64_t now)
{
    struct bench *bench = context;
    struct peer_report report = {0};
    struct keepalive heard;
    enum peer_verdict verdict = peer_read(&bench->peer, path, message, length, &report, now, &heard);
    CLAIM(verdict == PEER_MALFORMED || verdict == PEER_FORGED);
}

/* With the key: its content is hostile all the same. */
static void hear_signed(struct bench *bench, int path, const uint8_t *data, size_t length)
{
    uint8_t message[KEEPALIVE_BYTES] = {KEEPALIVE_TYPE, KEEPALIVE_VERSION};
    struct peer_report report = {.sent_packets = bench->now, .received_packets = bench->now / 2};
    struct keepalive heard;
    const size_t body = KEEPALIVE_BYTES - KEEPALIVE_MAC_BYTES;
    memcpy(message, data, length < body ? length : body);
    /* So that some get further than the greeting. */
    if (length > 40 && data[length - 1] % 2 == 0)
        for (int i = 0; i < 8; i++)
            message[32 + i] = (uint8_t)(bench->peer.challenge >> (56 - 8 * i));
    CLAIM(keepalive_mac(&bench->peer.settings.key, message, body, message + body));
    enum peer_verdict verdict = peer_read(&bench->peer, path, message, sizeof message, &report, bench->now, &heard);
    CLAIM(verdict != PEER_FORGED);
    if (verdict == PEER_NEW)
        reorder_restart(&bench->receiver.reorder, heard.next_sequence);
    uint32_t announced = bench->peer.known ? heard.next_sequence : 0;
    reorder_compare(&bench->receiver.reorder, announced);
    reorder_pass(&bench->receiver.reorder, path, announced);
    bench->receiver.reorder.paths[path].lead_ns = peer_lead_ns(&bench->peer.paths[path], &bench->peer.paths[0]) % 200;
    peer_check(&bench->peer, bench->now);
}

static void read_device(struct bench *bench, const uint8_t *data, size_t length)
{
    struct virtio_net_hdr vnet;
    if (length < sizeof vnet)
        return;
    size_t bytes = length - sizeof vnet;
    uint8_t *packet = malloc(SENDER_HEADROOM + bytes); /* of just its size */
    memcpy(&vnet, data, sizeof vnet);
    memcpy(packet + SENDER_HEADROOM, data + sizeof vnet, bytes);
    if (!sender_take(&bench->sender, &vnet, packet + SENDER_HEADROOM, (uint32_t)bytes))
        CLAIM(0); /* the batch is empty */
    sender_flush(&bench->sender);
    free(packet);
}

static void receive(struct bench *bench, int path, const uint8_t *data, size_t length, size_t segment)
{
    struct buffer *buffer = buffers_take(&bench->receiver.buffers, true);
    CLAIM(buffer != NULL);
    memcpy(buffer->bytes, data, length);
    if (length == 0)
        buffers_release(&bench->receiver.buffers, buffer);
    else
        receiver_take(&bench->receiver, path, buffer, length, segment, bench->now);
}

static struct bench *make_bench(void)
{
    static struct bench bench;
    const struct peer_settings settings = {
        .paths = PATHS, .dead_ns = 500000000, .recover = 2, .key = {"0123456789abcdef", 16}};
    const uint64_t seed[3] = {1, 2, 3};
    struct scheduler_path paths[PATHS_MAX];
    scheduler_init(&bench.sender.scheduler, SCHEDULER_WRR, PATHS, 3);
    for (int i = 0; i < PATHS; i++)
        paths[i] = (struct scheduler_path){.usable = true, .weight = i + 1};
    scheduler_change(&bench.sender.scheduler, paths, 3);
    bench.sender.sequenced = bench.sender.segmentation = bench.sender.clamp = true;
    bench.sender.mtu = bench.receiver.mtu = MTU;
    bench.sender.output = (struct sender_output){.send = send_all, .context = &bench};
    bench.receiver.ordered = bench.receiver.clamp = true;
    bench.receiver.merger.tcp = bench.receiver.merger.udp = true;
    bench.receiver.merger.output = (struct merger_output){.write = write_device, .context = &bench};
    bench.receiver.control = hear;
    bench.receiver.control_context = &bench;
    CLAIM(sender_init(&bench.sender) && receiver_init(&bench.receiver, 64));
    bench.receiver.reorder.limit_ns = 100;
    bench.receiver.reorder.by_paths = bench.receiver.reorder.backwards = true;
    peer_init(&bench.peer, &settings, seed);
    return &bench;
}

static int in_use(const struct buffers *buffers)
{
    const struct stack *large = &buffers->stacks[true];
    int free_now = 0, taken = BUFFERS_LARGE - (int)((size_t)(large->end - large->fresh) / (BUFFERS_LARGE_BYTES + 64));
    for (const struct buffer *buffer = large->free; buffer != NULL; buffer = buffer->next)
        free_now++;
    return taken - free_now;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bench *bench;
    struct input input = {data, size};
    if (bench == NULL)
        bench = make_bench();
    while (input.size > 0) {
        uint64_t kind = input_number(&input, 1), path = input_number(&input, 1);
        size_t length;
        const uint8_t *bytes = input_bytes(&input, input_number(&input, 2) % 8192, &length);
        bench->now += kind;
        if (kind % 3 == 0)
            read_device(bench, bytes, length);
        else if (kind % 3 == 1)
            receive(bench, (int)(path % PATHS), bytes, length, path / PATHS * 10);
        else
            hear_signed(bench, (int)(path % PATHS), bytes, length);
        receiver_flush(&bench->receiver, bench->now);
    }
    receiver_flush(&bench->receiver, bench->now += NS_PER_S);
    CLAIM(bench->receiver.reorder.held == 0);
    CLAIM(in_use(&bench->receiver.buffers) == 0);
    return 0;
}
