/* The choice of a path for each packet. For one thread; does no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/limits.h"

enum scheduler_kind {
    SCHEDULER_WRR,       /* weighted round robin, by bytes, in runs of packets */
    SCHEDULER_RTT,       /* the path on which the packet is expected to arrive first */
    SCHEDULER_REDUNDANT, /* every path */
    SCHEDULER_FLOWHASH,  /* one path for each flow; flows are distributed by weight */
};

#define SCHEDULER_NONE (-1)

struct scheduler_path {
    bool usable; /* up and enabled */
    bool backup; /* used only while no other is usable */
    double weight;
    uint64_t rtt_ns;       /* 0 if not measured */
    uint64_t capacity_bps; /* 0 if not known */
};

struct scheduler {
    enum scheduler_kind kind;
    int count;
    uint32_t run; /* packets in a row on a path; SCHEDULER_WRR */
    struct scheduler_path paths[PATHS_MAX];
    /* Derived by scheduler_change(): */
    bool eligible[PATHS_MAX];
    double cost[PATHS_MAX]; /* cost of a byte: 1 / weight */
    /* State: */
    double spent[PATHS_MAX]; /* cost of the bytes sent: the path with the least is next */
    int current;
    uint32_t left;             /* packets in the current run */
    double backlog[PATHS_MAX]; /* estimated bytes in the path's queue */
    uint64_t updated_ns;       /* time of `backlog` */
};

void scheduler_init(struct scheduler *scheduler, enum scheduler_kind kind, int count, uint32_t run);

/* Sets the paths, `count` of them, and the run. */
void scheduler_change(struct scheduler *scheduler, const struct scheduler_path *paths, uint32_t run);

/* Chooses a path for a packet of `bytes`; SCHEDULER_NONE if there is none. All packets of a flow have the same `flow`.
 * Not for SCHEDULER_REDUNDANT, with which every eligible path takes the packet. */
int scheduler_pick(struct scheduler *scheduler, uint32_t bytes, uint64_t flow);

/* Announces packets that are cheaper to send together: ends the current run if it has no room for them, but a new one
 * has. */
void scheduler_expect(struct scheduler *scheduler, uint32_t packets);

/* Updates the backlogs to a time. For SCHEDULER_RTT. */
void scheduler_at(struct scheduler *scheduler, uint64_t now_ns);
