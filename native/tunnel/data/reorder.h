/* Reordering: puts packets that came over several paths back in order. A missing packet is waited for, but not for
 * long. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"

struct reorder_packet {
    uint8_t *ip;
    uint32_t length;
    struct buffer *buffer; /* that holds it; the packet has a reference of its own */
};

struct reorder_slot {
    struct reorder_packet packet; /* without a buffer the slot is empty */
    uint64_t arrived_ns;          /* arrival time; in an empty slot, the time its number was given up */
    uint64_t due_ns;              /* when it may be delivered */
};

enum reorder_fate {
    REORDER_NOW,       /* it is the next: deliver it, then what reorder_next() returns */
    REORDER_KEPT,      /* reorder_next() will return it */
    REORDER_AHEAD,     /* no room: deliver what reorder_next() returns, and put it again */
    REORDER_LATE,      /* its number was given up: deliver it now, out of order */
    REORDER_DUPLICATE, /* its number has arrived before */
    REORDER_STALE,     /* its number was given up so long ago that it may be a duplicate */
    REORDER_STRAY,     /* its number is far from the others; accepted only if further ones confirm it */
};

struct reorder_path {
    bool seen;        /* missing packets may arrive on it */
    uint32_t newest;  /* lower numbers that are missing do not come on this path any more */
    uint64_t at_ns;   /* when its last packet arrived */
    uint64_t lead_ns; /* how long its packets are delayed, to match the delay of the slowest path */
};

struct reorder {
    uint32_t window;   /* packets, a power of two */
    uint64_t limit_ns; /* the longest wait for a missing packet */
    /* Whether a packet is given up sooner: `margin_ns` after each path has brought a later one, since paths seldom
     * reorder. */
    bool by_paths;
    uint64_t margin_ns;

    struct reorder_slot *slots;
    bool *delivered; /* for the numbers in the window before `next` */
    bool started, start_known;
    uint32_t start;          /* the first number as announced */
    uint32_t next;           /* the number to deliver next */
    uint32_t held;           /* packets in slots */
    uint64_t waits_since_ns; /* if `next` is missing and packets are held: when the first of these arrived */
    uint32_t floor;          /* missing numbers below are given up at once; at `next` or ahead of it */
    bool backwards;  /* packets may set the numbers back, because nothing else tells that the peer has restarted */
    uint32_t strays; /* in a row */
    uint32_t stray;  /* the last one's number */
    struct reorder_path paths[PATHS_MAX];
    uint64_t busy_since_ns, busy_ns; /* first and last packet of the current series without long pauses */
    uint64_t given_up, peak;         /* numbers that did not arrive in time; the most packets that were held */
};

/* Returns false if there is no memory. `window` is rounded up to a power of two. */
bool reorder_init(struct reorder *reorder, uint32_t window);

/* Decides on a packet. If the fate is REORDER_KEPT, the reference to the buffer is taken over. */
enum reorder_fate reorder_put(struct reorder *reorder, uint32_t sequence, const struct reorder_packet *packet, int path,
                              uint64_t now);

/* Hands over the next packet in order. Returns false if none may be delivered yet. */
bool reorder_next(struct reorder *reorder, struct reorder_packet *packet, uint64_t now);

/* Returns when reorder_next() will have a packet even if none arrives; NEVER if it will not. */
uint64_t reorder_due(const struct reorder *reorder, uint64_t now);

/* The peer has restarted: reorder_next() hands over at once what is held. `start` is the peer's next number; the first
 * packet overrides it if it is far from that. */
void reorder_restart(struct reorder *reorder, uint32_t start);

/* The peer's next number is `announced`, or was so recently. If ours is far ahead, a forged packet has set it: start
 * again. */
void reorder_compare(struct reorder *reorder, uint32_t announced);

/* A path has brought a message that was sent after all packets before `sequence`. */
void reorder_pass(struct reorder *reorder, int path, uint32_t sequence);

/* A path has come up: missing packets may arrive on it, until it has been silent for a while. */
void reorder_expect_path(struct reorder *reorder, int path, uint64_t now);
