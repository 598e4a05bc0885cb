/* The specification of one direction of a link, and its text form, for example
 * `rate_bps=50000000,delay_ns=15000000,loss=0.001`: each key is optional, and `relay --help` explains all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "relay/frames/pool.h"
#include "relay/spec/trace.h"

/* A GSO packet arrives whole: for this long at most it may keep the line busy, delay others and arrive as a burst. */
#define SPEC_FRAME_BOUND_NS UINT64_C(1000000)
/* The same on a virtual clock, where more packets cost nothing. */
#define SPEC_EXACT_FRAME_BOUND_NS UINT64_C(100000)
/* The largest GSO packet that Linux makes without BIG TCP. */
#define SPEC_FRAME_MAX_BYTES 65536u
/* Less than two segments of 1500 bytes and the room that TCP sets aside for headers: GSO packets would save
 * nothing. */
#define SPEC_FRAME_MIN_BYTES 3400u
/* A text form is shorter. */
#define SPEC_TEXT_BYTES 4608u
/* In queue_bytes and queue_packets: no bound was given in this unit. */
#define SPEC_UNSET UINT64_MAX

enum spec_distribution { SPEC_NORMAL, SPEC_UNIFORM };
enum spec_discipline { SPEC_DROPTAIL, SPEC_CODEL, SPEC_FQ_CODEL };

/* The fields of a link's specification: a packet waits in the queue for the rate, and then meets the others in this
 * order. A line here makes the member of struct spec, the key in the text form with its bounds and error texts, the
 * value in the statistics, and the line in `relay --help`.
 *
 * FIELD(type of the member, key, kind, frames, example, help). The kinds are in spec.c. Frames: WHOLE if GSO packets
 * pass while the field is set, SINGLE if the kernel must cut them first. */
#define SPEC_FIELDS(FIELD)                                                                                             \
    FIELD(uint64_t, rate_bps, RATE, WHOLE, "50000000",                                                                 \
          "bits per second, 1000 to 10^12, counted from the Ethernet header; 0: no limit")                             \
    FIELD(uint64_t, overhead_bytes, OVERHEAD, WHOLE, "24",                                                             \
          "bytes charged for each packet besides its own, at most 1000; not to a trace. Ethernet's framing: 24")       \
    FIELD(struct trace *, trace, TRACE, WHOLE, "FILE",                                                                \
          "a changing rate in mahimahi's format: each line is a millisecond at which 1514 bytes may leave")            \
    FIELD(uint64_t, queue_bytes, QUEUE_BYTES, WHOLE, "150000",                                                         \
          "bytes that may wait for the line (default: rate x 2 x delay, at least 10 ms of it and 32768)")              \
    FIELD(uint64_t, queue_packets, QUEUE_PACKETS, WHOLE, "100", "packets that may wait, instead of bytes")             \
    FIELD(enum spec_discipline, discipline, DISCIPLINE, WHOLE, "droptail",                                             \
          "droptail, codel (RFC 8289) or fq_codel (RFC 8290)")                                                         \
    FIELD(bool, ecn, SWITCH, WHOLE, "1", "codel and fq_codel mark packets, where they can, instead of dropping them")  \
    FIELD(double, loss, PROBABILITY, WHOLE, "0.001", "probability that a packet is lost")                              \
    FIELD(double, burst_enter, PROBABILITY, WHOLE, "0.01",                                                             \
          "loss in bursts (Gilbert-Elliott): probability, at each packet, to enter the bad state")                     \
    FIELD(double, burst_leave, PROBABILITY, WHOLE, "0.25", "probability, at each packet, to leave the bad state")      \
    FIELD(double, burst_loss_bad, PROBABILITY, WHOLE, "1", "probability of loss in the bad state (default: 1)")        \
    FIELD(double, burst_loss_good, PROBABILITY, WHOLE, "0", "probability of loss in the good state")                   \
    FIELD(double, corrupt, PROBABILITY, SINGLE, "0.001",                                                               \
          "probability that one bit of a packet is flipped, anywhere behind the Ethernet header")                      \
    FIELD(double, duplicate, PROBABILITY, SINGLE, "0.001", "probability that a packet arrives twice")                  \
    FIELD(uint64_t, delay_ns, NANOSECONDS, WHOLE, "15000000", "propagation delay in nanoseconds, at most 30 days")       \
    FIELD(uint64_t, jitter_ns, NANOSECONDS, WHOLE, "2000000", "standard deviation of the delay, or half its width")    \
    FIELD(enum spec_distribution, jitter, DISTRIBUTION, WHOLE, "normal", "its distribution: normal or uniform")        \
    FIELD(bool, reorder, SWITCH, WHOLE, "1", "packets may overtake each other by jitter (default: they wait)")         \
    FIELD(bool, blackhole, SWITCH, WHOLE, "1", "what enters vanishes, while both interfaces stay up")

#define SPEC_MEMBER(type, key, kind, frames, example, help) type key;
struct spec {
    SPEC_FIELDS(SPEC_MEMBER)
    bool down; /* no carrier; not in the text form, because it is a state of both directions */
};
#undef SPEC_MEMBER

/* A link without any effect. */
struct spec spec_nothing(void);

/* A second specification, which holds the trace too; spec_release() gives it back. */
struct spec spec_copy(const struct spec *spec);
void spec_release(struct spec *spec);

/* Changes the fields that `text` names. On bad text returns false with a sentence in `error` that names the key and the
 * value; `spec` is unchanged then. */
bool spec_parse(struct spec *spec, const char *text, char *error, size_t error_size);

/* Appends `"queue_bytes":...,"queue_packets":...,` and so on to the text in `out`, which ends up shorter than
 * `size`. */
void spec_format(const struct spec *spec, char *out, size_t size);

/* Prints a line or more for each key. */
void spec_print_help(FILE *out);

/* The bytes for which the rate is charged. */
static inline uint32_t spec_charged_bytes(const struct spec *spec, struct wire_size wire)
{
    return wire.bytes + wire.segments * (uint32_t)spec->overhead_bytes;
}

/* The rate, or the trace's mean rate; 0: no limit. */
uint64_t spec_mean_bps(const struct spec *spec);

/* The bytes that may wait for the line: as given, else the bandwidth-delay product of both directions (taken as equal),
 * at least 10 ms at the rate and at least 32 KiB; so the default follows later changes of rate and delay. UINT64_MAX if
 * packets are counted instead. Has no meaning without a rate, since nothing waits then. */
uint64_t spec_queue_bytes(const struct spec *spec);

/* The largest GSO packet (several segments in one piece) that may enter: what the rate sends in `longest_ns`, or the
 * trace in any millisecond of it, at most SPEC_FRAME_MAX_BYTES. 0: none, because that is less than two segments, or
 * because a field needs single segments. */
uint32_t spec_frame_bound(const struct spec *spec, uint64_t longest_ns);
