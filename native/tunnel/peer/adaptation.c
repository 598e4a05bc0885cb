#include "tunnel/peer/adaptation.h"

#include <math.h>

/* This queue, or this loss, is one unit of pressure. */
#define QUEUE_NS 20e6
#define LOSS 0.02
/* In a step, a path with one unit more than the mean loses a tenth of its weight. */
#define GAIN 0.1
#define PRESSURE_MAX 3.0
/* A path that is hardly used could not show that it has improved. */
#define WEIGHT_MIN 0.01
/* For adaptation_capacity(). */
#define FULL_QUEUE_NS 5000000u
#define FULL_LOSS 0.005
#define PROBE 1.1

static double pressure_of(const struct adaptation_path *path)
{
    double pressure = (double)path->queued_ns / QUEUE_NS + path->loss / LOSS;
    return pressure < PRESSURE_MAX ? pressure : PRESSURE_MAX;
}

void adaptation_step(double *weights, const struct adaptation_path *paths, int count)
{
    double sum = 0, mean = 0;
    int usable = 0;
    for (int i = 0; i < count; i++) {
        if (!paths[i].usable)
            continue;
        usable++;
        sum += weights[i];
        mean += weights[i] * pressure_of(&paths[i]);
    }
    if (usable < 2)
        return;
    mean /= sum; /* weighted, so that many idle paths do not hide a busy one */
    double total = 0;
    for (int i = 0; i < count; i++) {
        if (!paths[i].usable)
            continue;
        weights[i] *= exp(-GAIN * (pressure_of(&paths[i]) - mean));
        total += weights[i];
    }
    for (int i = 0; i < count; i++)
        if (paths[i].usable)
            weights[i] = fmax(weights[i] * usable / total, WEIGHT_MIN);
}

uint64_t adaptation_capacity(uint64_t capacity_bps, const struct adaptation_path *path, double delivered_bps)
{
    /* If packets wait or are lost, the path is full, and its capacity is the rate that arrives. */
    bool full = path->queued_ns > FULL_QUEUE_NS || path->loss > FULL_LOSS;
    if (full && delivered_bps > 0)
        return (uint64_t)delivered_bps;
    return (uint64_t)((double)capacity_bps * PROBE);
}
