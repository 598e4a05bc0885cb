/* Adaptation of weights and capacities to measured queues and losses. Does no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/limits.h"

/* Measurements of a path towards the peer. */
struct adaptation_path {
    bool usable;
    double loss;        /* share of the packets sent lately */
    uint64_t queued_ns; /* delay by the path's queues */
};

/* Changes weights, whose mean is 1, so that queues and losses become the same on all paths: one with more than the
 * others gets less. Call it once per measurement. */
void adaptation_step(double *weights, const struct adaptation_path *paths, int count);

/* Returns a new estimate of what the path can carry, from the old one (0: none) and the rate that arrives. */
uint64_t adaptation_capacity(uint64_t capacity_bps, const struct adaptation_path *path, double delivered_bps);
