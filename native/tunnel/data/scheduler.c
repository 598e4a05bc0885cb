#include "tunnel/data/scheduler.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/random.h"

void scheduler_init(struct scheduler *scheduler, enum scheduler_kind kind, int count, uint32_t run)
{
    *scheduler = (struct scheduler){.kind = kind, .count = count, .run = run, .current = SCHEDULER_NONE};
}

static double lowest_spent(const struct scheduler *scheduler, const bool *among)
{
    double lowest = INFINITY;
    for (int i = 0; i < scheduler->count; i++)
        if (among[i] && scheduler->spent[i] < lowest)
            lowest = scheduler->spent[i];
    return lowest == INFINITY ? 0 : lowest;
}

/* Keeps the numbers small, and thus precise, however long the tunnel runs. */
static void rebase(struct scheduler *scheduler, double by)
{
    for (int i = 0; i < scheduler->count; i++)
        scheduler->spent[i] -= by;
}

void scheduler_change(struct scheduler *scheduler, const struct scheduler_path *paths, uint32_t run)
{
    bool before[PATHS_MAX], primary = false;
    memcpy(before, scheduler->eligible, sizeof before);
    memcpy(scheduler->paths, paths, sizeof *paths * (size_t)scheduler->count);
    for (int i = 0; i < scheduler->count; i++)
        primary |= paths[i].usable && !paths[i].backup;
    rebase(scheduler, lowest_spent(scheduler, before));
    for (int i = 0; i < scheduler->count; i++) {
        scheduler->eligible[i] = paths[i].usable && paths[i].backup != primary;
        scheduler->cost[i] = 1 / paths[i].weight;
        /* A path that comes back does not make up for what the others have carried meanwhile. */
        if (scheduler->eligible[i] && !before[i])
            scheduler->spent[i] = scheduler->backlog[i] = 0;
    }
    scheduler->run = run;
    if (scheduler->left > run)
        scheduler->left = run;
}

static int pick_in_turn(struct scheduler *scheduler, uint32_t bytes)
{
    int chosen = scheduler->current;
    if (scheduler->left == 0 || chosen == SCHEDULER_NONE || !scheduler->eligible[chosen]) {
        chosen = SCHEDULER_NONE;
        for (int i = 0; i < scheduler->count; i++)
            if (scheduler->eligible[i] && (chosen == SCHEDULER_NONE || scheduler->spent[i] < scheduler->spent[chosen]))
                chosen = i;
        scheduler->current = chosen;
        scheduler->left = scheduler->run;
    }
    if (chosen == SCHEDULER_NONE)
        return SCHEDULER_NONE;
    scheduler->left--;
    scheduler->spent[chosen] += bytes * scheduler->cost[chosen];
    return chosen;
}

/* The estimated time until a packet that is sent now arrives: half the round trip and the queue before it. */
static double arrival_ns(const struct scheduler *scheduler, int path, uint32_t bytes)
{
    const struct scheduler_path *known = &scheduler->paths[path];
    double queued =
        known->capacity_bps == 0 ? 0 : (scheduler->backlog[path] + bytes) * 8e9 / (double)known->capacity_bps;
    return (double)known->rtt_ns / 2 + queued;
}

static int pick_first_to_arrive(struct scheduler *scheduler, uint32_t bytes)
{
    int chosen = SCHEDULER_NONE;
    double best = INFINITY;
    for (int i = 0; i < scheduler->count; i++) {
        double arrival = scheduler->eligible[i] ? arrival_ns(scheduler, i, bytes) : INFINITY;
        if (arrival < best) {
            best = arrival;
            chosen = i;
        }
    }
    if (chosen != SCHEDULER_NONE)
        scheduler->backlog[chosen] += bytes;
    return chosen;
}

/* Weighted rendezvous hashing: if a path goes down, only its own flows move. */
static int pick_by_flow(const struct scheduler *scheduler, uint64_t flow)
{
    int chosen = SCHEDULER_NONE;
    double best = 0;
    for (int i = 0; i < scheduler->count; i++) {
        if (!scheduler->eligible[i])
            continue;
        uint64_t state = flow ^ (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        double fraction = ((double)(random_splitmix(&state) >> 11) + 0.5) * 0x1p-53;
        double score = -scheduler->paths[i].weight / log(fraction);
        if (chosen == SCHEDULER_NONE || score > best) {
            best = score;
            chosen = i;
        }
    }
    return chosen;
}

int scheduler_pick(struct scheduler *scheduler, uint32_t bytes, uint64_t flow)
{
    switch (scheduler->kind) {
    case SCHEDULER_RTT:
        return pick_first_to_arrive(scheduler, bytes);
    case SCHEDULER_FLOWHASH:
        return pick_by_flow(scheduler, flow);
    default:
        return pick_in_turn(scheduler, bytes);
    }
}

void scheduler_expect(struct scheduler *scheduler, uint32_t packets)
{
    if (scheduler->left < packets && packets <= scheduler->run)
        scheduler->left = 0;
}

void scheduler_at(struct scheduler *scheduler, uint64_t now_ns)
{
    double elapsed = (double)(now_ns - scheduler->updated_ns) / (8.0 * (double)NS_PER_S);
    scheduler->updated_ns = now_ns;
    for (int i = 0; i < scheduler->count; i++) {
        double left = scheduler->backlog[i] - elapsed * (double)scheduler->paths[i].capacity_bps;
        scheduler->backlog[i] = left > 0 && scheduler->paths[i].capacity_bps > 0 ? left : 0;
    }
}
