/* Control requests that are carried out at a later time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_MAX 4096

struct scheduled {
    struct scheduled *next;
    uint64_t at_ns;
    char request[]; /* without its time */
};

/* Sorted by time; requests for the same time are in the order in which they were added. */
struct schedule {
    struct scheduled *first;
    int count;
};

/* Returns false if the schedule is full, or there is no memory. */
bool schedule_add(struct schedule *schedule, uint64_t at_ns, const char *request);

/* When the next request is due; NEVER if there is none. */
uint64_t schedule_next(const struct schedule *schedule);

/* Removes and returns the next request that is due at `now`, or NULL. The caller frees it. */
struct scheduled *schedule_pop(struct schedule *schedule, uint64_t now);
