/* Fuzz target: both ends of a tunnel, with packets from a device, datagrams from paths, and control messages with and
 * without the key. Claims that packets leave complete, that none is delivered twice, that every buffer is released, and
 * that only messages with the key are accepted. */
#include "../support/tunnel_driver.c"
#include "common/clock.h"
#include "fuzz.h"
#include "tunnel/data/gre.h"

#define PATHS 3
#define MTU 1400u
#define VNET_BYTES sizeof(struct virtio_net_hdr)

struct bench {
    struct end *end;
    struct peer *peer;
    uint64_t now;
};

static void claim_whole_datagram(uint8_t *data, size_t length)
{
    struct gre gre;
    struct packet packet;
    CLAIM(length <= MTU + GRE_SEQUENCED_BYTES);
    CLAIM(gre_read(data, length, &gre) && gre.sequenced);
    CLAIM(packet_read(data + gre.bytes, length - gre.bytes, &packet) && packet.length <= length - gre.bytes);
}

/* The other end does not have the key. */
static void claim_refused(struct bench *bench, int path, const uint8_t *message, size_t length)
{
    struct peer_report report = {0};
    struct keepalive heard;
    enum peer_verdict verdict = peer_read(bench->peer, path, message, length, &report, bench->now, &heard);
    CLAIM(verdict == PEER_MALFORMED || verdict == PEER_FORGED);
}

static void claim_outputs(struct bench *bench)
{
    static uint8_t room[ROOM + VNET_BYTES];
    struct packet packet;
    size_t length;
    int path;
    while ((length = end_sent(bench->end, &path, room)) > 0) {
        CLAIM(path >= 0 && path < PATHS);
        claim_whole_datagram(room, length);
    }
    while ((length = end_written(bench->end, &path, room)) > 0) {
        CLAIM(length > VNET_BYTES && length <= 65535 + VNET_BYTES);
        CLAIM(packet_read(room + VNET_BYTES, length - VNET_BYTES, &packet) && packet.length == length - VNET_BYTES);
    }
    while ((length = end_control(bench->end, &path, room)) > 0)
        claim_refused(bench, path, room, length);
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
            message[32 + i] = (uint8_t)(bench->peer->challenge >> (56 - 8 * i));
    CLAIM(keepalive_mac(&bench->peer->settings.key, message, body, message + body));
    enum peer_verdict verdict = peer_read(bench->peer, path, message, sizeof message, &report, bench->now, &heard);
    CLAIM(verdict != PEER_FORGED);
    if (verdict == PEER_NEW)
        reorder_restart(&bench->end->receiver.reorder, heard.next_sequence);
    uint32_t announced = bench->peer->known ? heard.next_sequence : 0;
    reorder_compare(&bench->end->receiver.reorder, announced);
    reorder_pass(&bench->end->receiver.reorder, path, announced);
    bench->end->receiver.reorder.paths[path].lead_ns = peer_lead_ns(&bench->peer->paths[path], &bench->peer->paths[0]) % 200;
    peer_check(bench->peer, bench->now);
}

static void read_device(struct bench *bench, const uint8_t *data, size_t length)
{
    if (length < VNET_BYTES)
        return;
    end_read(bench->end, data, length);
    end_flush(bench->end);
}

static struct bench *make_bench(void)
{
    static struct bench bench;
    bench.end = end_new(PATHS, SCHEDULER_WRR, 3, true, true, MTU, 64, true, true, 100);
    for (int i = 0; i < PATHS; i++)
        end_path(bench.end, i, true, false, i + 1, 0, 0);
    bench.peer = driver_peer(PATHS, 500000000, 2, "0123456789abcdef", 1);
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
        else if (kind % 3 == 2)
            hear_signed(bench, (int)(path % PATHS), bytes, length);
        else if (length > 0)
            end_receive(bench->end, (int)(path % PATHS), bytes, length, path / PATHS * 10, bench->now);
        receiver_flush(&bench->end->receiver, bench->now);
        claim_outputs(bench);
    }
    receiver_flush(&bench->end->receiver, bench->now += NS_PER_S);
    claim_outputs(bench);
    CLAIM(bench->end->receiver.reorder.held == 0);
    CLAIM(in_use(&bench->end->receiver.buffers) == 0);
    return 0;
}
