/* From the paths to the TUN device: removes GRE, reorders packets, merges them, and passes on control messages. For one
 * thread; does no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"
#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"
#include "tunnel/data/merger.h"
#include "tunnel/data/reorder.h"

/* First bytes from here on mean a control message instead of IP, as in the reference implementation. */
#define RECEIVER_CONTROL_BYTE 0xa0

struct receiver_stats {
    counter packets, bytes; /* for the device, without GRE */
    counter malformed, refused, duplicates, stale, strays;
    counter given_up, held, held_peak, margin_ns; /* copies from struct reorder */
};

struct receiver_path_stats {
    counter packets, bytes; /* data, with the GRE header */
    counter late;           /* delivered out of order */
    counter late_drops;     /* dropped because they came too late (REORDER_STALE) */
    counter held;           /* waited for others */
};

struct receiver {
    bool ordered; /* whether to reorder packets by their sequence numbers */
    bool clamp;
    _Atomic uint32_t mtu; /* MTU of the device; any thread may change it */
    struct reorder reorder;
    struct merger merger;
    struct buffers buffers;
    /* Called with each control message, without the GRE header. */
    void (*control)(void *context, int path, const uint8_t *message, size_t length, uint64_t now);
    void *control_context;
    struct receiver_stats stats;
    struct receiver_path_stats path_stats[PATHS_MAX];
};

/* Returns false if there is no memory. */
bool receiver_init(struct receiver *receiver, uint32_t window);

/* Takes over a buffer with `length` bytes: one datagram if `segment` is 0, else several of `segment` bytes each (the
 * last may be shorter) that the kernel has merged. */
void receiver_take(struct receiver *receiver, int path, struct buffer *buffer, size_t length, size_t segment,
                   uint64_t now);

/* Writes the packets that can be delivered now. */
void receiver_flush(struct receiver *receiver, uint64_t now);

/* If all buffers are in use: writes what is held, in order, without waiting for missing packets. */
void receiver_relieve(struct receiver *receiver, uint64_t now);

/* Returns when to call receiver_flush() even if nothing has arrived; NEVER if not at all. */
uint64_t receiver_due(const struct receiver *receiver, uint64_t now);
