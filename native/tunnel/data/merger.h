/* Merges packets that continue each other into super-packets for the kernel, so that it handles up to 64 KiB at once. */
#ifndef FLIGHTPATH_TUNNEL_MERGER_H
#define FLIGHTPATH_TUNNEL_MERGER_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"
#include "tunnel/data/packet.h"
#include "tunnel/data/reorder.h"

/* Where super-packets go: a TUN device, or a test. `parts` are the vnet header and the packet; returns false if it was refused. */
struct merger_output {
    bool (*write)(void *context, const struct iovec *parts, int count);
    void *context;
};

struct merger {
    struct merger_output output;
    struct buffers *buffers;
    bool tcp, udp; /* whether the kernel takes super-packets of these */

    struct packet first;   /* of what is being merged; its headers are still its own */
    bool open;             /* another may follow */
    bool checked;          /* the first one's checksum holds */
    uint32_t count;        /* packets; 0: none */
    uint32_t segment;      /* payload bytes of each but the last */
    uint32_t payload;      /* bytes */
    uint8_t last_flags;    /* TCP */
    struct virtio_net_hdr vnet;
    struct iovec parts[2 + SEGMENTS_MAX];
    struct buffer *held[SEGMENTS_MAX];
};

/* Takes the packet over; it is written by the next merger_flush() at the latest. Returns how many packets have been refused. */
uint32_t merger_add(struct merger *merger, const struct reorder_packet *added);
uint32_t merger_flush(struct merger *merger);

#endif
