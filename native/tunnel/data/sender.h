/* From the TUN device to the paths: cuts GSO packets into packets that fit, numbers them, chooses a path for each,
 * and joins packets of one size into messages for the kernel. Does no I/O. */
#pragma once

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/counter.h"
#include "tunnel/data/gre.h"
#include "tunnel/limits.h"
#include "tunnel/data/packet.h"
#include "tunnel/data/scheduler.h"

/* Packets between two flushes. A GSO packet with more segments counts as malformed. */
#define SENDER_BATCH 512u
/* Bytes before a packet that sender_take() overwrites. */
#define SENDER_HEADROOM GRE_SEQUENCED_BYTES

/* One datagram, or several of one size (the last may be shorter) that the kernel cuts apart. */
struct sender_message {
    uint16_t segment; /* bytes of each datagram */
    uint16_t count;
    uint32_t bytes;
    uint32_t first_part;
};

/* The messages for one path. */
struct sender_queue {
    struct sender_message messages[SENDER_BATCH];
    struct iovec parts[2 * SENDER_BATCH];
    uint32_t message_count, part_count;
    bool open; /* whether datagrams can be added to the last message */
    struct mmsghdr headers[SENDER_BATCH];
    _Alignas(8) uint8_t controls[SENDER_BATCH][CMSG_SPACE(sizeof(uint16_t))];
};

/* Where messages go: the paths' sockets, or a test. */
struct sender_output {
    void (*send)(void *context, int path, struct mmsghdr *messages, unsigned count);
    void *context;
};

struct sender_stats {
    counter packets, bytes; /* from the device, after segmentation, without GRE */
    counter no_path, malformed, too_large;
};

struct sender_path_stats {
    counter packets, bytes; /* with the GRE header */
};

struct sender {
    struct sender_output output;
    struct scheduler scheduler;
    bool sequenced;
    bool segmentation;    /* whether messages may have several datagrams */
    _Atomic uint32_t mtu; /* MTU of the device; any thread may change it */
    bool clamp;           /* lower the segment size that TCP announces to what fits */
    counter next;         /* sequence number */
    counter sent;         /* all packets with lower sequence numbers have been sent */

    struct sender_queue *queues; /* one for each path */
    uint32_t batched;            /* packets since the last flush */
    uint8_t headers[SENDER_BATCH][GRE_SEQUENCED_BYTES + PACKET_HEADERS_MAX];
    struct sender_stats stats;
    struct sender_path_stats path_stats[PATHS_MAX];
};

/* Returns false if there is no memory. The caller initialises the scheduler first. */
bool sender_init(struct sender *sender);

/* Takes a packet or GSO packet of `length` bytes, as read from the device; it must stay in place until
 * sender_flush(). Overwrites the SENDER_HEADROOM bytes before it. Returns false if the batch has no room: flush, and
 * call again. */
bool sender_take(struct sender *sender, const struct virtio_net_hdr *vnet, uint8_t *ip, uint32_t length);

/* Sends all that was taken. */
void sender_flush(struct sender *sender);
