/* steady_time.so: gives Java a time of day that nobody can set while it runs (LD_PRELOAD).
 *
 * JMeter starts threads, waits and reuses connections by the time of day: when somebody sets it back by an hour, JMeter
 * waits for an hour. Here the time of day is CLOCK_MONOTONIC plus the nanoseconds in STEADY_TIME_OFFSET_NS.
 *
 * Java's compiler asks some ten times for each method which thread it is, through syscall(2). A system call is dear in
 * virtual time, so each thread keeps the answer. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The C library's function of a name that is replaced here. */
#define ORIGINAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define NS_PER_S 1000000000
#define ARGUMENTS 6

static int64_t offset_ns;
static __typeof__(&clock_gettime) read_clock;
static __typeof__(&syscall) call_kernel;
static __thread long thread;

static void forget_thread(void) { thread = 0; }

__attribute__((constructor)) static void set_up(void) {
    const char *offset = getenv("STEADY_TIME_OFFSET_NS");
    offset_ns = offset ? strtoll(offset, NULL, 10) : 0;
    read_clock = ORIGINAL(clock_gettime);
    call_kernel = ORIGINAL(syscall);
    pthread_atfork(NULL, NULL, forget_thread);
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

long syscall(long number, ...) {
    if (!call_kernel) set_up();
    if (number == SYS_gettid && thread) return thread;
    long given[ARGUMENTS];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++) given[i] = va_arg(list, long);
    va_end(list);
    long result = call_kernel(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    if (number == SYS_gettid) thread = result;
    return result;
}
