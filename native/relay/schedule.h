/* Requests that wait for their time. */
#ifndef FLIGHTPATH_SCHEDULE_H
#define FLIGHTPATH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_MAX 4096

struct scheduled {
    struct scheduled *next;
    uint64_t at_ns;
    char request[]; /* without its time */
};

/* In the order of time; of equal times, in the order of adding. */
struct schedule {
    struct scheduled *first;
    int count;
};

/* Returns false if it is full, or there is no memory. */
bool schedule_add(struct schedule *schedule, uint64_t at_ns, const char *request);

/* NEVER if there is none. */
uint64_t schedule_next(const struct schedule *schedule);

/* The next one due at `now`, or NULL; the caller frees it. */
struct scheduled *schedule_pop(struct schedule *schedule, uint64_t now);

#endif
