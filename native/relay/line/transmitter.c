#include "relay/line/transmitter.h"

#include "common/clock.h"

void transmitter_change(struct transmitter *transmitter, const struct spec *before, const struct spec *spec,
                        uint64_t now)
{
    if (before->rate_bps != spec->rate_bps)
        transmitter->remainder = 0;
    if (spec->trace != NULL && before->trace != spec->trace)
        trace_start(&transmitter->cursor, now);
}

/* The fraction of a nanosecond is carried over: cut off, it would be an error of 0.4 % for an acknowledgement at 10
 * Gb/s. No overflow: a super-frame is under 2^27 bits even if every segment is tiny. */
static uint64_t serialisation_ns(struct transmitter *transmitter, uint64_t rate_bps, uint32_t bytes)
{
    if (rate_bps == 0)
        return 0;
    uint64_t work = (uint64_t)bytes * 8 * NS_PER_S + transmitter->remainder;
    transmitter->remainder = work % rate_bps;
    return work / rate_bps;
}

uint64_t transmitter_send(struct transmitter *transmitter, const struct spec *spec, uint64_t arrived_ns, uint32_t bytes)
{
    uint64_t began_ns = transmitter->free_ns > arrived_ns ? transmitter->free_ns : arrived_ns;
    if (spec->trace != NULL)
        transmitter->free_ns = trace_send(spec->trace, &transmitter->cursor, began_ns, bytes);
    else
        transmitter->free_ns = began_ns + serialisation_ns(transmitter, spec->rate_bps, bytes);
    return began_ns;
}
