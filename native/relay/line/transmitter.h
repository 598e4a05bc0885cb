/* The rate of a line, on a virtual clock: a frame starts when the one before it has left, or on arrival if the line
 * is idle, and leaves size/rate later. Because this is computed and not observed, the rate is exact however late the
 * thread wakes, and an idle line gathers no credit. */
#pragma once

#include <stdint.h>

#include "relay/spec/spec.h"
#include "relay/spec/trace.h"

struct transmitter {
    uint64_t free_ns;   /* when everything that was started has left */
    uint64_t remainder; /* of the integer division, in bit x 1e9, below rate_bps */
    struct trace_cursor cursor;
};

/* The rate or trace of `spec` begins at `now`; what was started before keeps its times. */
void transmitter_change(struct transmitter *transmitter, const struct spec *before, const struct spec *spec,
                        uint64_t now);

/* Sends so many bytes that arrived at `arrived_ns`. Returns when the first one leaves; free_ns is when the last one
 * has. */
uint64_t transmitter_send(struct transmitter *transmitter, const struct spec *spec, uint64_t arrived_ns,
                          uint32_t bytes);
