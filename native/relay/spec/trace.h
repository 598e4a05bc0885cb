/* A rate that changes, as recorded from a real network: a file in the format of mahimahi's mm-link (Netravali et al., USENIX
 * ATC 2015). Each line is a whole number of milliseconds at which one packet may leave; equal lines are several packets; after
 * the last line it starts again. */
#ifndef FLIGHTPATH_TRACE_H
#define FLIGHTPATH_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one opportunity carries: a packet of 1500 bytes with its Ethernet header. Mahimahi counts the same one as 1504. */
#define TRACE_OPPORTUNITY_BYTES 1514u
#define TRACE_OPPORTUNITIES_MAX 10000000u

struct trace {
    atomic_uint holders;
    uint32_t count;
    uint64_t period_ns;
    uint64_t mean_bps;
    uint32_t at_ms[]; /* ascending */
};

/* Where a line is in its trace. */
struct trace_cursor {
    uint64_t period_start_ns;
    uint32_t next;      /* index of the opportunity in use */
    uint32_t left_bytes; /* of it */
};

/* Reads `size` bytes of text. Returns NULL with one sentence in `error` that names the line. Held once. */
struct trace *trace_parse(const char *text, size_t size, char *error, size_t error_size);

/* The same from a file. */
struct trace *trace_load(const char *path, char *error, size_t error_size);

/* NULL is allowed in both. Several threads hold a trace. */
struct trace *trace_hold(struct trace *trace);
void trace_release(struct trace *trace);

/* The trace starts at `now`. */
void trace_start(struct trace_cursor *cursor, uint64_t now);

/* Sends so many bytes with the first opportunities at `from` or later; returns the time of the last one used. What is left of
 * that one is for the next packet, if it is there by then. */
uint64_t trace_send(const struct trace *trace, struct trace_cursor *cursor, uint64_t from, uint32_t bytes);

#endif
