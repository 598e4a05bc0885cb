/* steady_time.so: gives a program a time of day that nobody can set while it runs (LD_PRELOAD).
 *
 * JMeter starts threads, waits and reuses connections by the time of day: when somebody sets it back by an hour, JMeter
 * waits for an hour. Here the time of day is CLOCK_MONOTONIC plus the nanoseconds in STEADY_TIME_OFFSET_NS. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* The C library's function of a name that is replaced here. */
#define ORIGINAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define NS_PER_S 1000000000

static int64_t offset_ns;
static __typeof__(&clock_gettime) read_clock;

__attribute__((constructor)) static void set_up(void) {
    const char *offset = getenv("STEADY_TIME_OFFSET_NS");
    offset_ns = offset ? strtoll(offset, NULL, 10) : 0;
    read_clock = ORIGINAL(clock_gettime);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!read_clock) set_up(); /* another library's constructor came first */
    if (clock != CLOCK_REALTIME || !offset_ns) return read_clock(clock, now);
    int result = read_clock(CLOCK_MONOTONIC, now);
    int64_t now_ns = (int64_t)now->tv_sec * NS_PER_S + now->tv_nsec + offset_ns;
    now->tv_sec = now_ns / NS_PER_S;
    now->tv_nsec = now_ns % NS_PER_S;
    return result;
}
