/* What happens to packets by chance: loss, duplication, jitter. Each has a random sequence of its own, so that switching one on
 * does not change the others: a seed repeats them packet for packet. */
#ifndef FLIGHTPATH_IMPAIRMENTS_H
#define FLIGHTPATH_IMPAIRMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/random.h"
#include "relay/spec/spec.h"

struct impairments {
    struct random loss, burst, duplication, jitter;
    bool bad;            /* the state of Gilbert and Elliott's chain */
    bool has_spare;      /* the polar method makes normal deviates in pairs */
    double spare;
};

void impairments_init(struct impairments *impairments, uint64_t seed, uint64_t stream);

/* Whether any packet can be lost: else impair_loses() need not be asked. */
bool impair_may_lose(const struct spec *spec);

/* Whether the next packet is lost. */
bool impair_loses(struct impairments *impairments, const struct spec *spec);

bool impair_duplicates(struct impairments *impairments, const struct spec *spec);

/* The delay of the next frame, jitter included; never below 0. */
uint64_t impair_delay(struct impairments *impairments, const struct spec *spec);

#endif
