/* From the TUN device to the paths: cuts super-packets into packets that fit, numbers them, chooses a path for each, and makes
 * messages for the kernel of those that are alike. Does no I/O itself. */
#ifndef FLIGHTPATH_TUNNEL_SENDER_H
#define FLIGHTPATH_TUNNEL_SENDER_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/counter.h"
#include "tunnel/data/gre.h"
#include "tunnel/limits.h"
#include "tunnel/data/packet.h"
#include "tunnel/data/scheduler.h"

/* Packets that wait together for their path. One super-packet always fits, however small its segments. */
#define SENDER_BATCH 512u
/* Room that sender_take() needs before a packet. */
#define SENDER_HEADROOM GRE_SEQUENCED_BYTES

/* A message is one datagram, or several of the same size (the last may be shorter) that the kernel cuts apart. */
struct sender_message {
    uint16_t segment; /* bytes of each datagram */
    uint16_t count;
    uint32_t bytes;
    uint32_t first_part;
};

/* What waits for one path. */
struct sender_queue {
    struct sender_message messages[SENDER_BATCH];
    struct iovec parts[2 * SENDER_BATCH];
    uint32_t message_count, part_count;
    bool open; /* the last message takes more */
    struct mmsghdr headers[SENDER_BATCH];
    _Alignas(8) uint8_t controls[SENDER_BATCH][CMSG_SPACE(sizeof(uint16_t))];
};

/* Where messages go: the paths' sockets, or a test. */
struct sender_output {
    void (*send)(void *context, int path, struct mmsghdr *messages, unsigned count);
    void *context;
};

struct sender_stats {
    counter packets, bytes;    /* from the device, as they are on a path, without GRE */
    counter no_path, malformed, too_large;
};

struct sender_path_stats {
    counter packets, bytes; /* GRE header included */
};

struct sender {
    struct sender_output output;
    struct scheduler scheduler;
    bool sequenced;
    bool segmentation; /* several datagrams a message */
    _Atomic uint32_t mtu; /* of the device; any thread may change it */
    bool clamp;
    counter next; /* sequence number */
    counter sent; /* what is below has left, on one path or another */

    struct sender_queue *queues; /* one a path */
    uint32_t batched;
    uint8_t headers[SENDER_BATCH][GRE_SEQUENCED_BYTES + PACKET_HEADERS_MAX];
    struct sender_stats stats;
    struct sender_path_stats path_stats[PATHS_MAX];
};

/* Returns false if there is no memory. The scheduler is initialised by the caller, before. */
bool sender_init(struct sender *sender);

/* A packet or super-packet of `length` bytes, as read from the device. It must stay where it is until sender_flush(), and
 * the SENDER_HEADROOM before it are overwritten. Returns false if the batch has no room for it: flush, and call again. */
bool sender_take(struct sender *sender, const struct virtio_net_hdr *vnet, uint8_t *ip, uint32_t length);

/* Sends what was taken. */
void sender_flush(struct sender *sender);

#endif
