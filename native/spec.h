/* What one direction of a link does to frames: rate, delay, loss, queue; and its text form
 * `rate_bps=50000000,delay_ns=15000000,loss=0.001,queue_bytes=150000`, each key optional. */
#ifndef FLIGHTPATH_SPEC_H
#define FLIGHTPATH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A super-frame may keep the line busy for so long and no longer: it arrives whole, so this is the burst that
 * a receiver sees, and the time for which it delays others. */
#define SPEC_FRAME_BOUND_NS UINT64_C(1000000)
/* The largest super-frame that Linux makes without BIG TCP. */
#define SPEC_FRAME_MAX_BYTES 65536u
/* Less than two segments of 1500 and what TCP sets aside for headers: then super-frames save nothing. */
#define SPEC_FRAME_MIN_BYTES 3400u

struct spec {
    uint64_t rate_bps; /* 0: not limited */
    uint64_t delay_ns;
    double loss;          /* probability of each frame, in [0, 1] */
    uint64_t queue_bytes; /* given, or 0: see spec_queue_bytes() */
    bool queue_given;
};

/* Changes the keys that `text` names and leaves the others. On bad text returns false with one sentence in
 * `error` that names the field and the value; `spec` is then unchanged. */
bool spec_parse(struct spec *spec, const char *text, char *error, size_t error_size);

/* The bytes that may wait for serialisation: as given, else the bandwidth-delay product over both directions,
 * taken as equal (rate x 2 x delay), and no less than 10 ms at the rate or 32 KiB. Follows later changes of
 * rate and delay until it is given. Means nothing without a rate: nothing ever waits then. */
uint64_t spec_queue_bytes(const struct spec *spec);

/* The largest super-frame (several segments in one piece) to accept: what the rate serialises in
 * SPEC_FRAME_BOUND_NS, at most SPEC_FRAME_MAX_BYTES. 0: none, because that is less than two segments or
 * because frames are lost at random, and loss must hit each segment by itself. */
uint32_t spec_frame_bound(const struct spec *spec);

#endif
