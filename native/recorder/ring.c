#include "recorder/ring.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "recorder/flows.h"
#include "recorder/record_file.h"

#define BLOCK_BYTES (1u << 18)
#define FRAME_BYTES (1u << 11)
#define SNAPSHOT_BYTES 160u
#define FILTER_MAX 4096u

#define LOOPBACK 1 /* its index in each network namespace */
#define BATCHES 40
#define PACKETS 16 /* few enough that the machine seldom does something else meanwhile */
#define SEEN 2 /* as it is sent and as it is received */
#define BYTES 1400u

/* Keeps the beginning of each packet of the ring's interfaces, and nothing of others. */
static bool attach_filter(const struct ring *ring)
{
    static struct sock_filter program[FILTER_MAX];
    size_t size = 0;
    if (2 * ring->count + 2 > FILTER_MAX)
        return false;
    program[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX));
    for (size_t i = 0; i < ring->count; i++) {
        program[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ring->interfaces[i].index, 0, 1);
        program[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SNAPSHOT_BYTES);
    }
    program[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog filter = {(unsigned short)size, program};
    return setsockopt(ring->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

const char *ring_open(struct ring *ring, unsigned blocks)
{
    int version = TPACKET_V3, on = 1;
    struct tpacket_req3 request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_block_nr = blocks,
        .tp_frame_size = FRAME_BYTES,
        .tp_frame_nr = blocks * (BLOCK_BYTES / FRAME_BYTES),
        .tp_retire_blk_tov = RING_TIMEOUT_MS,
    };
    ring->blocks = blocks;
    ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: nothing arrives before bind() */
    if (ring->fd < 0)
        return "no packet socket";
    if (!attach_filter(ring))
        return "no filter for the interfaces";
    if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(ring->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) != 0 ||
        setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
        return "no ring of packets";
    ring->memory = mmap(NULL, (size_t)blocks * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (ring->memory == MAP_FAILED)
        return "no memory for a ring of packets";
    struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    return bind(ring->fd, (struct sockaddr *)&all, sizeof all) == 0 ? NULL : "cannot listen to the interfaces";
}

static void record_packet(const struct ring *ring, const struct tpacket3_hdr *head)
{
    const uint8_t *start = (const uint8_t *)head, *frame = start + head->tp_mac;
    struct sockaddr_ll from;
    struct virtio_net_hdr vnet;
    memcpy(&from, start + TPACKET_ALIGN(sizeof *head), sizeof from);
    memcpy(&vnet, frame - sizeof vnet, sizeof vnet);
    size_t at = 0;
    while (at < ring->count && ring->interfaces[at].index != from.sll_ifindex)
        at++;
    if (at == ring->count)
        return;
    bool is_entry = from.sll_pkttype == PACKET_OUTGOING;
    unsigned number = ring->interfaces[at].number, point = is_entry ? number : number ^ 1;
    uint64_t time = (uint64_t)head->tp_sec * NS_PER_S + head->tp_nsec;
    struct packet whole, segment;
    packet_parse(frame, head->tp_snaplen, head->tp_len, &whole);
    uint32_t size = vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : vnet.gso_size;
    uint32_t count = size > 0 && whole.payload > size ? (whole.payload + size - 1) / size : 1;
    unsigned flow = flows_of_packet(&whole);
    for (uint32_t i = 0; i < count; i++) {
        packet_cut(&whole, i, size, &segment);
        if (is_entry)
            record_entry(time, point, flow, &segment);
        else
            record_arrival(time, point, &segment);
    }
}

static struct tpacket_block_desc *next_block(const struct ring *ring)
{
    struct tpacket_block_desc *block = (void *)(ring->memory + (size_t)ring->next * BLOCK_BYTES);
    return __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER ? block : NULL;
}

static void give_back(struct ring *ring, struct tpacket_block_desc *block)
{
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->next = (ring->next + 1) % ring->blocks;
}

void ring_drain(struct ring *ring)
{
    struct tpacket_block_desc *block;
    while ((block = next_block(ring)) != NULL) {
        const uint8_t *at = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
        ring->seen += block->hdr.bh1.num_pkts;
        for (uint32_t i = 0; i < block->hdr.bh1.num_pkts; i++) {
            const struct tpacket3_hdr *head = (const void *)at;
            record_packet(ring, head);
            at += head->tp_next_offset;
        }
        give_back(ring, block);
    }
}

uint64_t ring_missing(const struct ring *ring)
{
    struct tpacket_stats_v3 stats;
    socklen_t size = sizeof stats;
    return getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops : 0;
}

/* The cycles that a batch of packets to oneself takes: the fewest of several batches. */
static uint64_t batch(int fd, struct ring *ring)
{
    static uint8_t data[BYTES];
    uint64_t fewest = UINT64_MAX;
    for (int n = 0; n < BATCHES; n++) {
        uint64_t began = cycles_now();
        for (int i = 0; i < PACKETS; i++)
            if (send(fd, data, sizeof data, 0) < 0 || recv(fd, data, sizeof data, 0) < 0)
                return 0;
        uint64_t took = cycles_now() - began;
        if (took < fewest)
            fewest = took;
        for (struct tpacket_block_desc *block; ring != NULL && (block = next_block(ring)) != NULL;)
            give_back(ring, block);
    }
    return fewest;
}

double ring_cost(void)
{
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof self;
    struct interface loopback = {LOOPBACK, 0};
    struct ring ring = {.fd = -1, .interfaces = &loopback, .count = 1};
    uint64_t without = 0, with = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (bind(fd, (struct sockaddr *)&self, size) == 0 && getsockname(fd, (struct sockaddr *)&self, &size) == 0 &&
        connect(fd, (struct sockaddr *)&self, size) == 0 && (without = batch(fd, NULL)) > 0 &&
        ring_open(&ring, 2) == NULL)
        with = batch(fd, &ring);
    if (ring.fd >= 0)
        close(ring.fd); /* its two blocks of memory stay */
    uint64_t again = with > 0 ? batch(fd, NULL) : 0; /* the machine may have been busier before */
    if (again > 0 && again < without)
        without = again;
    close(fd);
    return with > without ? (double)(with - without) / (PACKETS * SEEN) : 0;
}
