/* Impairments between the transmitter and the other end, random or not: from loss to delay. Each random one has a
 * sequence of its own, so that switching it on does not change the others: a seed repeats them packet by packet. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/random.h"
#include "relay/frames/ledger.h"
#include "relay/line/flight.h"
#include "relay/spec/spec.h"

/* Room for more sequences than there are yet. */
#define IMPAIRMENTS_SEQUENCES 8

struct impairments {
    const struct spec *spec;
    struct ledger *ledger;
    struct flight *flight;
    struct random sequences[IMPAIRMENTS_SEQUENCES];
    bool is_bad; /* the state of Gilbert and Elliott's chain */
    bool has_spare;
    double spare; /* the polar method makes normal deviates in pairs */
};

/* Keeps the pointers, which are to parts of the line. `stream` is 0 or 1, for the two directions of a link. */
void impairments_init(struct impairments *impairments, const struct spec *spec, struct ledger *ledger,
                      struct flight *flight, uint64_t seed, uint64_t stream);

/* Takes over a frame that was serialised from `began_ns` to `left_ns`. Each of its segments is lost separately; what
 * survives goes into propagation, in pieces if segments are missing in between, each due when its last segment would
 * be. */
void impairments_pass(struct impairments *impairments, struct frame *frame, uint64_t began_ns, uint64_t left_ns);
