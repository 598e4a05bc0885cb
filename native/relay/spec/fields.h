/* The fields of a link's specification: a packet waits in the queue for the rate, and then meets the others in this
 * order. A line here makes the member of struct spec, the key in the text form with its bounds and error texts, the
 * value in the statistics, and the line in `relay --help`.
 *
 * FIELD(type of the member, key, kind, frames, example, help). The kinds are in spec.c. Frames: WHOLE if super-frames
 * pass while the field is set, SINGLE if the kernel must cut them first. */
#pragma once

#define SPEC_FIELDS(FIELD)                                                                                             \
    FIELD(uint64_t, rate_bps, RATE, WHOLE, "50000000",                                                                 \
          "bits per second, 1000 to 10^12, counted from the Ethernet header; 0: no limit")                             \
    FIELD(struct trace *, trace, TRACE, SINGLE, "FILE",                                                                \
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
    FIELD(uint64_t, delay_ns, NANOSECONDS, WHOLE, "15000000", "propagation delay in nanoseconds, at most 600 s")       \
    FIELD(uint64_t, jitter_ns, NANOSECONDS, WHOLE, "2000000", "standard deviation of the delay, or half its width")    \
    FIELD(enum spec_distribution, jitter, DISTRIBUTION, WHOLE, "normal", "its distribution: normal or uniform")        \
    FIELD(bool, reorder, SWITCH, WHOLE, "1", "packets may overtake each other by jitter (default: they wait)")         \
    FIELD(bool, blackhole, SWITCH, WHOLE, "1", "what enters vanishes, while both interfaces stay up")
