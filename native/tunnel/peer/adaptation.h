/* Finds weights that fit what paths can carry, by what their queues and losses say. Told measurements; does no I/O. */
#ifndef FLIGHTPATH_TUNNEL_ADAPTATION_H
#define FLIGHTPATH_TUNNEL_ADAPTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/limits.h"

/* Of a path in use, outwards. */
struct adaptation_path {
    bool usable;
    double loss;        /* share of what was sent lately */
    uint64_t queued_ns; /* that what is sent now waits */
};

/* Changes weights (their mean is 1) so that the pressure on all paths becomes the same: one with a longer queue or more loss than the
 * others gets less. To be called once per measurement. */
void adaptation_step(double *weights, const struct adaptation_path *paths, int count);

/* What the path can carry, from what was known before (0: nothing) and what arrives lately. */
uint64_t adaptation_capacity(uint64_t capacity_bps, const struct adaptation_path *path, double delivered_bps);

#endif
