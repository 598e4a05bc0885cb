/* From the paths to the TUN device: takes off GRE, puts packets back in order if asked to, merges them, and hands control messages
 * on. Does no I/O itself. One thread uses it. */
#ifndef FLIGHTPATH_TUNNEL_RECEIVER_H
#define FLIGHTPATH_TUNNEL_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"
#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"
#include "tunnel/data/merger.h"
#include "tunnel/data/reorder.h"

#define RECEIVER_CONTROL_BYTE 0xa0 /* of what follows GRE, and above: not IP but a control message, as in the reference */

struct receiver_stats {
    counter packets, bytes; /* written to the device, without GRE */
    counter malformed, refused, duplicates, stale, strays;
    counter given_up, held, held_peak, margin_ns; /* see reorder.h */
};

struct receiver_path_stats {
    counter packets, bytes; /* data, GRE header included */
    counter late;           /* delivered out of order */
    counter late_drops;     /* came so late that nothing was known of them any more, or a second time */
    counter held;           /* had to wait for others */
};

struct receiver {
    bool ordered; /* else sequence numbers are ignored */
    bool clamp;
    _Atomic uint32_t mtu; /* of the device; any thread may change it */
    struct reorder reorder;
    struct merger merger;
    struct buffers buffers;
    /* `message` follows GRE. */
    void (*control)(void *context, int path, const uint8_t *message, size_t length, uint64_t now);
    void *control_context;
    struct receiver_stats stats;
    struct receiver_path_stats path_stats[PATHS_MAX];
};

/* Returns false if there is no memory. */
bool receiver_init(struct receiver *receiver, uint32_t window);

/* `length` bytes in `buffer`, whose reference is taken over: one datagram, or several of `segment` bytes each (the last may be
 * shorter) that the kernel has merged. */
void receiver_take(struct receiver *receiver, int path, struct buffer *buffer, size_t length, size_t segment, uint64_t now);

/* Writes what may be delivered. */
void receiver_flush(struct receiver *receiver, uint64_t now);

/* All buffers are in use: writes what is held, in order, and waits for nothing that is missing. */
void receiver_relieve(struct receiver *receiver, uint64_t now);

/* When receiver_flush() is to be called though nothing has arrived; NEVER if not. */
uint64_t receiver_due(const struct receiver *receiver, uint64_t now);

#endif
