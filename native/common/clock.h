/* Time in nanoseconds on CLOCK_MONOTONIC, which all modules use. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define NEVER UINT64_MAX

static inline struct timespec clock_split(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static inline uint64_t clock_join(struct timespec time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return clock_join(now);
}

/* Waits for input or until `due`, which may be NEVER; like poll(). */
static inline int clock_poll(struct pollfd *polled, nfds_t count, uint64_t now, uint64_t due)
{
    struct timespec timeout = clock_split(due == NEVER || due < now ? 0 : due - now);
    return ppoll(polled, count, due == NEVER ? NULL : &timeout, NULL);
}

/* CPU time of a thread; 0 if it has ended. */
static inline uint64_t clock_of_thread(pthread_t thread)
{
    struct timespec used;
    clockid_t clock;
    return pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &used) == 0 ? clock_join(used) : 0;
}
