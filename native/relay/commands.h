/* Requests to a running link, which `relay --help` lists: each is one line of text, and the answer one JSON object.
 *
 *   stats          {"name":...,"uptime_ns":...,"seed":...,"directions":{"a_to_b":{...},"b_to_a":{...}}}
 *   other requests {"ok":true}
 *   a wrong one    {"error":"..."}
 *
 * The statistics of a direction are the counters of frames/stats.h and
 *   spec              in force; rate_bps is null without a rate or with a trace; queue_bytes and queue_packets are null
 *                     without a rate, and one of them always is; max_frame_bytes 0: no GSO packets
 *   queue_peak_bytes  the most bytes that ever waited for serialisation, which queue_bytes limits
 *   lateness_ns       by how much frames were written too late; histogram[k] counts 2^k to 2^(k+1)-1 ns ([0] also 0)
 *   cpu_ns            CPU time of the direction's thread, with what the receiving host's kernel does on a write. If one
 *                     thread serves both (see worker.h), all of it is in a_to_b, so that the sum is right */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "relay/direction.h"
#include "relay/worker.h"

struct relay_link {
    const char *name;
    uint64_t started_ns;
    uint64_t seed;
    struct direction directions[2]; /* a_to_b, b_to_a */
    struct worker workers[2];
    int worker_count;            /* 1: it serves both directions */
    struct scheduled *scheduled; /* requests for a later time, by time and then in the order in which they came */
    int scheduled_count;
};

/* The functions of a struct control_handler whose context is the link: answers a request, tells when the next scheduled
 * request is due, and carries out the requests that are due at `now`. */
void commands_answer(void *relay_link, char *request, char *out, size_t size);
uint64_t commands_next_due(void *relay_link);
void commands_run_due(void *relay_link, uint64_t now);
