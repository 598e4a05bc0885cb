/* One direction of a link: frames that are read from one TAP pass through a line, and are written to the other TAP
 * when they are due. worker.h decides when to work. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/pool.h"
#include "relay/frames/stats.h"
#include "relay/line/line.h"
#include "relay/spec/spec.h"

/* Number of frames to read before due ones get their turn, and the other way round. */
#define DIRECTION_BATCH 32

/* The arguments of line_change(). */
struct spec_change {
    struct spec spec;
    bool cut;
    uint64_t at_ns;
};

struct direction {
    /* For the control thread. */
    const char *key; /* in the statistics: a_to_b */
    struct spec spec;
    uint32_t frame_bound; /* largest GSO packet in force; 0: none */
    uint32_t speed;       /* that the sending end shows, in Mb/s; 0: as a new device */
    int in_fd, out_fd;
    bool exact; /* no frame is written early or read late, as suits a virtual clock */

    /* Between it and the worker. */
    _Atomic(struct spec_change *) pending; /* the newest change that the worker has not taken yet */
    atomic_bool ended;                     /* its input device was deleted, with its namespace for example */
    struct stats stats;

    /* For the worker. */
    struct line line;
    struct pool pool;
    struct ledger ledger;
    struct frame *buffer; /* the frame that the next read fills */
};

/* `spec`, `key`, `exact` and the descriptors are set already. `memory` bounds what is inside, in bytes. Returns false if
 * there is not enough address space. */
bool direction_init(struct direction *direction, uint64_t seed, uint64_t stream, uint64_t memory);

/* Lets the sending end's kernel cut GSO packets that the specification does not let pass, and show the rate as its
 * interface's speed. */
void direction_configure_sender(struct direction *direction);

/* Writes what is due and reads what has arrived, at most a batch of each. Returns whether anything was read. For the
 * worker. */
bool direction_work(struct direction *direction);

/* Puts a specification in force from `at_ns` on, which is not in the future. What is inside is lost only if the
 * specification is down. For the control thread. */
void direction_change(struct direction *direction, const struct spec *spec, uint64_t at_ns);
