/* select_backoff.so: makes a program wait that calls select() in a busy loop (LD_PRELOAD).
 *
 * At the end of a transfer iperf3 (before 3.16) waits for its server like this, for as long as the queues on the path
 * take to empty. In real time that is a busy loop of a fraction of a second. On a virtual clock, which stands still
 * while programs compute, it takes a minute: only reading the clock moves the time, by 256 ns. */
#include <dlfcn.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* The C library's function of a name that is replaced here. */
#define ORIGINAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
/* Calls without a read or a write in between from which a program is in a busy loop. */
#define MAX_CALLS 50

static int calls;

int select(int count, fd_set *reads, fd_set *writes, fd_set *errors, struct timeval *timeout) {
    if (++calls > MAX_CALLS)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return ORIGINAL(select)(count, reads, writes, errors, timeout);
}

ssize_t read(int fd, void *buffer, size_t size) {
    calls = 0;
    return ORIGINAL(read)(fd, buffer, size);
}

ssize_t write(int fd, const void *buffer, size_t size) {
    calls = 0;
    return ORIGINAL(write)(fd, buffer, size);
}
