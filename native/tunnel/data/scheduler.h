/* Which path a packet takes. Told everything, asks nobody: one thread uses it. */
#ifndef FLIGHTPATH_TUNNEL_SCHEDULER_H
#define FLIGHTPATH_TUNNEL_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "tunnel/limits.h"

enum scheduler_kind {
    SCHEDULER_WRR,       /* weighted round robin, by bytes, in runs of packets */
    SCHEDULER_RTT,       /* where the packet is expected to arrive first */
    SCHEDULER_REDUNDANT, /* on every path */
    SCHEDULER_FLOWHASH,  /* a flow stays on its path; weights say how many flows */
};

#define SCHEDULER_NONE (-1)

/* What is known of a path. */
struct scheduler_path {
    bool usable; /* up and enabled */
    bool backup; /* used only while no other is usable */
    double weight;
    uint64_t rtt_ns;       /* 0: not measured */
    uint64_t capacity_bps; /* 0: not known */
};

struct scheduler {
    enum scheduler_kind kind;
    int count;
    uint32_t run; /* packets that follow each other on a path; SCHEDULER_WRR */
    struct scheduler_path paths[PATHS_MAX];
    /* Derived by scheduler_change(): */
    bool eligible[PATHS_MAX];
    double cost[PATHS_MAX]; /* of a byte: 1 / weight */
    /* State: */
    double turn[PATHS_MAX]; /* bytes sent times cost: whose is lowest is next */
    int current;
    uint32_t left; /* packets of the current run */
    double backlog[PATHS_MAX]; /* bytes sent beyond what the capacity has taken away */
    uint64_t told_ns;
};

void scheduler_init(struct scheduler *scheduler, enum scheduler_kind kind, int count, uint32_t run);

/* What is known has changed: `paths` of `count`. */
void scheduler_change(struct scheduler *scheduler, const struct scheduler_path *paths, uint32_t run);

/* The path of the next packet of `bytes`, or SCHEDULER_NONE. `flow` is the same number for all packets of a flow. Not for
 * SCHEDULER_REDUNDANT: there each path that is eligible takes it. */
int scheduler_pick(struct scheduler *scheduler, uint32_t bytes, uint64_t flow);

/* So many packets follow that are cheaper to send together: a run that has room for all of them is not broken among them. */
void scheduler_expect(struct scheduler *scheduler, uint32_t packets);

/* Time passes: for SCHEDULER_RTT. */
void scheduler_at(struct scheduler *scheduler, uint64_t now_ns);

#endif
