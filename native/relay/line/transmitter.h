/* The rate of a line, on a virtual clock: a frame starts when the one before it has left, or on arrival if the line is idle, and
 * it leaves size/rate later: computed, not observed. So the rate is exact however late the thread wakes, and an idle line
 * gathers no credit. */
#ifndef FLIGHTPATH_TRANSMITTER_H
#define FLIGHTPATH_TRANSMITTER_H

#include <stdint.h>

#include "relay/spec/spec.h"
#include "relay/spec/trace.h"

struct transmitter {
    uint64_t free_ns;   /* when all that started has left */
    uint64_t remainder; /* what integer division left over, in bit x 1e9, below rate_bps */
    struct trace_cursor cursor;
};

/* The rate or trace of `spec` begins at `now`; what started before keeps its times. */
void transmitter_change(struct transmitter *transmitter, const struct spec *before, const struct spec *spec, uint64_t now);

/* Sends so many bytes that are there since `arrived`; free_ns is then the time at which the last one has left. */
void transmitter_send(struct transmitter *transmitter, const struct spec *spec, uint64_t arrived, uint32_t bytes);

#endif
