/* Puts packets that came over several paths back in order: holds what is ahead of a missing packet, and not for long. */
#ifndef FLIGHTPATH_TUNNEL_REORDER_H
#define FLIGHTPATH_TUNNEL_REORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/data/buffers.h"
#include "tunnel/limits.h"

struct reorder_packet {
    uint8_t *ip;
    uint32_t length;
    struct buffer *buffer; /* that it lies in; a reference of its own */
};

struct reorder_slot {
    struct reorder_packet packet; /* no buffer: empty */
    uint64_t arrived_ns;          /* if empty: when its number was given up */
    uint64_t due_ns;              /* not to be handed out before */
};

enum reorder_fate {
    REORDER_NOW,       /* it is the next: deliver it at once, then what reorder_next() has */
    REORDER_KEPT,      /* reorder_next() will hand it out */
    REORDER_AHEAD,     /* no room: deliver what reorder_next() has, which makes room, and put it again */
    REORDER_LATE,      /* its place was given up, it did not come before: deliver it now, out of order */
    REORDER_DUPLICATE, /* it came before */
    REORDER_STALE,     /* its place was given up too long ago to know */
    REORDER_STRAY,     /* far from the others: not believed before a second one says the same */
};

struct reorder_path {
    bool seen;
    uint32_t newest; /* what is missing below does not come on this path any more */
    uint64_t at_ns;  /* when it last brought a packet */
    uint64_t lead_ns; /* so much earlier than the slowest path's are its packets: they wait, so that the delay is the same on all */
};

struct reorder {
    uint32_t window; /* packets, a power of two */
    /* A missing packet is waited for so long at most. */
    uint64_t limit_ns;
    /* Also give it up as soon as each path has brought a later one, and `margin_ns` has passed: paths rarely reorder by themselves. */
    bool by_paths;
    uint64_t margin_ns;

    struct reorder_slot *slots;
    uint8_t *given; /* of the window before `next`: a bit for each that was delivered */
    bool started, start_known;
    uint32_t start; /* what was said to be the first */
    uint32_t next;  /* the sequence number to deliver */
    uint32_t held;
    uint64_t waits_since_ns; /* of use while the next is missing and others are held: when the first of those arrived */
    uint32_t floor; /* what is missing below is given up at once; of use if it is beyond `next` */
    bool backwards; /* strays may turn the numbers back: nobody else tells that the peer has started again */
    uint32_t strays; /* in a row */
    uint32_t stray;
    struct reorder_path paths[PATHS_MAX];
    uint64_t busy_since_ns, busy_ns; /* since when packets come without long pauses, and when the last came */
    uint64_t given_up, peak; /* missing packets that were waited for in vain; the most that were held */
};

/* Returns false if there is no memory. `window` is rounded up to a power of two. */
bool reorder_init(struct reorder *reorder, uint32_t window);

/* Tells the packet's fate; of REORDER_KEPT the reference is taken over. */
enum reorder_fate reorder_put(struct reorder *reorder, uint32_t sequence, const struct reorder_packet *packet, int path,
                              uint64_t now);

/* The next packet in order, which is the caller's then; false if none may be delivered yet. */
bool reorder_next(struct reorder *reorder, struct reorder_packet *packet, uint64_t now);

/* When reorder_next() will deliver though nothing arrives; NEVER if it will not. */
uint64_t reorder_due(const struct reorder *reorder, uint64_t now);

/* The peer counts anew: what is held goes out with reorder_next() at once. `start` is its next number; what comes first says
 * otherwise if it is far from that. */
void reorder_restart(struct reorder *reorder, uint32_t start);

/* The peer will send this number next, or has done so not long ago: if the numbers here are far ahead, somebody forged one. */
void reorder_compare(struct reorder *reorder, uint32_t announced);

/* The path has brought a message that was sent after all packets before `sequence`. */
void reorder_pass(struct reorder *reorder, int path, uint32_t sequence);

/* The path is up, and will bring what is missing until it has been silent for a while. */
void reorder_expect_path(struct reorder *reorder, int path, uint64_t now);

/* The path is down: it is not waited for. */
void reorder_forget_path(struct reorder *reorder, int path);

#endif
