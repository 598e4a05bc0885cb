/* What one direction of a link does to frames, and its text form, each key optional:
 * `rate_bps=50000000,delay_ns=15000000,loss=0.001,queue_bytes=150000`. See `relay --help` for all keys. */
#ifndef FLIGHTPATH_SPEC_H
#define FLIGHTPATH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/spec/trace.h"

/* A super-frame may keep the line busy for so long and no longer: it arrives whole, so this is the burst that
 * a receiver sees, and the time for which it delays others. */
#define SPEC_FRAME_BOUND_NS UINT64_C(1000000)
/* The largest super-frame that Linux makes without BIG TCP. */
#define SPEC_FRAME_MAX_BYTES 65536u
/* Less than two segments of 1500 and what TCP sets aside for headers: then super-frames save nothing. */
#define SPEC_FRAME_MIN_BYTES 3400u
/* A text form is shorter. */
#define SPEC_TEXT_BYTES 4608u

enum spec_distribution { SPEC_NORMAL, SPEC_UNIFORM };
enum spec_discipline { SPEC_DROPTAIL, SPEC_CODEL, SPEC_FQ_CODEL };
enum spec_bound { SPEC_BOUND_DEFAULT, SPEC_BOUND_BYTES, SPEC_BOUND_PACKETS };

/* The chain of Gilbert and Elliott: before each packet it changes its state with probability `enter` or `leave`. */
struct spec_burst {
    double enter, leave;
    double loss_bad, loss_good;
};

struct spec {
    uint64_t rate_bps;   /* 0: not limited, or by the trace */
    struct trace *trace; /* held by this spec; NULL: none */
    uint64_t delay_ns;
    uint64_t jitter_ns; /* standard deviation, or half the width */
    enum spec_distribution distribution;
    bool reorder;
    double loss; /* probability of each packet, in [0, 1], as all of these */
    struct spec_burst burst;
    double duplicate;
    enum spec_bound bound;
    uint64_t queue_limit; /* bytes or packets, as bound says; see spec_queue_bytes() */
    enum spec_discipline discipline;
    bool ecn;
    bool blackhole; /* what enters vanishes */
    bool down;      /* no carrier; not in the text form, since it is of both directions */
};

/* No effect at all. */
struct spec spec_nothing(void);

/* A second one that holds its trace by itself; spec_release() gives it back. */
struct spec spec_copy(const struct spec *spec);
void spec_release(struct spec *spec);

/* Changes the keys that `text` names and leaves the others. On bad text returns false with one sentence in
 * `error` that names the field and the value; `spec` is then unchanged. */
bool spec_parse(struct spec *spec, const char *text, char *error, size_t error_size);

/* The rate, or the trace's mean; 0: not limited. */
uint64_t spec_mean_bps(const struct spec *spec);

/* The bytes that may wait for serialisation: as given, else the bandwidth-delay product over both directions,
 * taken as equal (rate x 2 x delay), and no less than 10 ms at the rate or 32 KiB. Follows later changes of
 * rate and delay until it is given. Means nothing without a rate: nothing ever waits then; UINT64_MAX if packets are
 * counted instead. */
uint64_t spec_queue_bytes(const struct spec *spec);

/* The packets that may wait; UINT64_MAX if bytes are counted. */
uint64_t spec_queue_packets(const struct spec *spec);

/* The largest super-frame (several segments in one piece) to accept: what the rate serialises in
 * SPEC_FRAME_BOUND_NS, at most SPEC_FRAME_MAX_BYTES. 0: none, because that is less than two segments, or because an effect
 * must hit each segment by itself and is not able to cut: duplication, overtaking, a trace. */
uint32_t spec_frame_bound(const struct spec *spec);

#endif
