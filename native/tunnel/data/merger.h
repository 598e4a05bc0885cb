/* Merges consecutive packets of a flow into GSO packets, so that the kernel handles up to 64 KiB at once. */
#pragma once

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"
#include "tunnel/data/packet.h"
#include "tunnel/data/reorder.h"

/* Where packets go: a TUN device, or a test. `parts` are the vnet header and the packet. Returns false if it is
 * refused. */
struct merger_output {
    bool (*write)(void *context, const struct iovec *parts, int count);
    void *context;
};

struct merger {
    struct merger_output output;
    struct buffers *buffers;
    bool tcp, udp; /* whether the kernel accepts GSO packets of these */

    struct packet first; /* first packet of the GSO packet; its headers are unchanged */
    bool open;           /* another packet may be appended */
    bool checked;        /* whether the first packet's checksum is known to be right */
    uint32_t count;      /* packets */
    uint32_t segment;    /* payload bytes of each but the last, which may have less */
    uint32_t payload;    /* bytes of all */
    uint8_t last_flags;  /* TCP flags of the last segment */
    struct virtio_net_hdr vnet;
    struct iovec parts[2 + SEGMENTS_MAX];
    struct buffer *held[SEGMENTS_MAX];
};

/* Takes over a packet, and writes it by the next merger_flush() at the latest. Both return the number of refused
 * packets. */
uint32_t merger_add(struct merger *merger, const struct reorder_packet *added);
uint32_t merger_flush(struct merger *merger);
