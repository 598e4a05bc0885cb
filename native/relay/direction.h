/* One direction of a link: frames read from one TAP pass through a line, and each is written to the other TAP when it is
 * due. When to work is for worker.h. */
#ifndef FLIGHTPATH_DIRECTION_H
#define FLIGHTPATH_DIRECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/frames/pool.h"
#include "relay/frames/stats.h"
#include "relay/line/line.h"
#include "relay/spec/spec.h"

/* Frames read before due ones get their turn, and the other way round. */
#define DIRECTION_BATCH 32

struct change {
    struct spec spec;
    bool cut; /* see line_change() */
    uint64_t at_ns;
};

struct direction {
    /* For the control thread. */
    const char *key; /* in the statistics: a_to_b */
    struct spec spec;
    uint32_t frame_bound; /* in force; 0: no super-frames */
    int in_fd, out_fd;

    /* Between it and the worker. */
    _Atomic(struct change *) change; /* newest that is not yet taken */
    atomic_bool ended;               /* its input device is gone */
    struct stats stats;

    /* For the worker. */
    struct line line;
    struct pool pool;
    struct ledger ledger;
    struct frame *hand; /* for the next read; not in the pool */
};

/* `spec`, `key` and the descriptors are filled in. Returns false if there is no memory. */
bool direction_init(struct direction *direction, uint64_t seed, uint64_t stream);

/* Writes what is due and reads what is there, a batch of each at most. Returns whether anything was read. From the worker. */
bool direction_work(struct direction *direction);

/* The input device was deleted, with its namespace for example, and a link with one end is no link: ends the process by
 * SIGTERM and does not return. From the worker. */
void direction_end(struct direction *direction);

/* Puts a spec in force from `at_ns` on, which is not in the future. Nothing inside is lost, unless the spec is down. From the
 * control thread. */
void direction_change(struct direction *direction, const struct spec *spec, uint64_t at_ns);

#endif
