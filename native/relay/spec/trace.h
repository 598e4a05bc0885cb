/* A changing rate, recorded from a real network, in the format of mahimahi's mm-link (Netravali et al., USENIX ATC
 * 2015): each line is a whole number of milliseconds at which one packet may leave; equal lines are several packets;
 * after the last line the trace starts again. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of one opportunity: a packet of 1500 bytes with its Ethernet header (1504 bytes as mahimahi counts). */
#define TRACE_OPPORTUNITY_BYTES 1514u
#define TRACE_OPPORTUNITIES_MAX 10000000u

struct trace {
    atomic_uint holders;
    uint32_t count;
    uint64_t period_ns;
    uint64_t mean_bps;
    uint32_t burst; /* opportunities, one after the other, that anywhere in the trace pass within a millisecond */
    uint32_t at_ms[]; /* ascending */
};

/* Where a line is in its trace. */
struct trace_cursor {
    uint64_t period_start_ns;
    uint32_t next;      /* index of the opportunity in use */
    uint32_t left_bytes; /* bytes left of this opportunity */
};

/* Reads a trace from a file of at most `size` bytes. Returns NULL with a sentence in `error` that names the line. The
 * caller holds it. */
struct trace *trace_read(FILE *file, size_t size, char *error, size_t error_size);

/* The same, with the path in `error`. */
struct trace *trace_load(const char *path, char *error, size_t error_size);

/* A trace is shared between threads, and freed when the last one releases it. NULL is allowed in both. */
struct trace *trace_hold(struct trace *trace);
void trace_release(struct trace *trace);

/* The trace starts at `now`. */
void trace_start(struct trace_cursor *cursor, uint64_t now);

/* Sends bytes with the first opportunities at `from` or later, and returns the time of the last one used.
 * The next packet may use the rest of that one, if it has arrived by then. */
uint64_t trace_send(const struct trace *trace, struct trace_cursor *cursor, uint64_t from, uint32_t bytes);
