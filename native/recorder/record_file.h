/* The file of a recording: blocks of columns, in this machine's byte order (results/recording/file.py reads it).
 *
 * A block is a header and then its columns, one after the other. Times are nanoseconds after the block's base. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/packet.h"

enum block_kind { BLOCK_ENTRIES = 1, BLOCK_ARRIVALS, BLOCK_SOCKETS, BLOCK_FLOWS };

struct block_header {
    uint32_t kind, rows;
    uint64_t base_ns;
};

/* A connection's state as its sender sees it. */
struct socket_row {
    uint64_t time_ns, pacing_rate;
    uint32_t cwnd, ssthresh, rtt_us, rttvar_us, unacked, sacked, lost, retransmitted, total_retransmitted, mss;
    uint16_t flow;
    uint8_t state, congestion_state, backoff, padding[3];
};

/* A flow; the last row with its number holds. */
struct flow_row {
    struct flow_key key;
    uint64_t mptcp_value;
    uint16_t flow;
    uint8_t mptcp, window_scale, padding[4];
};

/* Opens a file that never becomes larger than `limit` bytes; false with errno if that fails. */
bool record_open(const char *path, uint64_t limit);

/* A packet that comes to the queue of a link, or leaves the link at its other end. `point` is twice the number of the
 * link, plus 1 for the direction from b to a. */
void record_entry(uint64_t time_ns, unsigned point, unsigned flow, const struct packet *packet);
void record_arrival(uint64_t time_ns, unsigned point, const struct packet *packet);
void record_socket(const struct socket_row *row);
void record_flow(const struct flow_row *row);

struct record_totals {
    uint64_t entries, arrivals, bytes;
    bool is_full;
};

/* Writes what is left. Returns false with errno if anything could not be written. */
bool record_close(struct record_totals *totals);
