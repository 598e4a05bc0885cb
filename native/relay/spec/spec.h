/* What one direction of a link does to packets, and its text form, for example
 * `rate_bps=50000000,delay_ns=15000000,loss=0.001`: each key is optional, and `relay --help` explains all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "relay/spec/fields.h"
#include "relay/spec/trace.h"

/* A super-frame arrives whole: for this long at most it may keep the line busy, delay others and arrive as a burst. */
#define SPEC_FRAME_BOUND_NS UINT64_C(1000000)
/* The largest super-frame that Linux makes without BIG TCP. */
#define SPEC_FRAME_MAX_BYTES 65536u
/* Less than two segments of 1500 bytes and the room that TCP sets aside for headers: super-frames would save
 * nothing. */
#define SPEC_FRAME_MIN_BYTES 3400u
/* A text form is shorter. */
#define SPEC_TEXT_BYTES 4608u
/* In queue_bytes and queue_packets: no bound was given in this unit. */
#define SPEC_UNSET UINT64_MAX

enum spec_distribution { SPEC_NORMAL, SPEC_UNIFORM };
enum spec_discipline { SPEC_DROPTAIL, SPEC_CODEL, SPEC_FQ_CODEL };

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

/* The rate, or the trace's mean rate; 0: no limit. */
uint64_t spec_mean_bps(const struct spec *spec);

/* The bytes that may wait for the line: as given, else the bandwidth-delay product of both directions (taken as equal),
 * at least 10 ms at the rate and at least 32 KiB; so the default follows later changes of rate and delay. UINT64_MAX if
 * packets are counted instead. Has no meaning without a rate, since nothing waits then. */
uint64_t spec_queue_bytes(const struct spec *spec);

/* The largest super-frame (several segments in one piece) that may enter: what the rate sends in
 * SPEC_FRAME_BOUND_NS, at most SPEC_FRAME_MAX_BYTES. 0: none, because that is less than two segments, or because a
 * field needs single segments. */
uint32_t spec_frame_bound(const struct spec *spec);
