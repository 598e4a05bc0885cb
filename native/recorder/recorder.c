/* recorder: keeps what happens to each packet on the links of a network. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lifecycle.h"
#include "recorder/record_file.h"
#include "recorder/ring.h"
#include "recorder/sockets.h"

static const char help[] =
    "recorder - keeps when each packet enters and leaves each link, and the state of each TCP connection\n"
    "\n"
    "  recorder FILE LIMIT_BYTES INTERVAL_US INTERFACE[@PID]...\n"
    "\n"
    "Interfaces come in pairs, the two ends of a link; PID is a process in the network namespace of the interface. Prints\n"
    "`ready`, and records until SIGTERM, SIGINT, SIGHUP, or the end of the thread that started it; then it prints as JSON\n"
    "what it has recorded. Connections are sampled in each namespace with a PID, at most every INTERVAL_US. The format of\n"
    "the file is in record_file.h.\n"
    "\n"
    "Exit codes: 0 done; 1 the system refuses; 2 usage; 3 this user may not open packet sockets.\n";

#define HOST_BLOCKS 4u
#define SWITCH_BLOCKS 32u
#define CONNECTIONS_AT_FULL_PACE 32u

struct namespace {
    long process; /* 0 is this process's namespace */
    struct ring ring;
    int sockets; /* -1 where nothing is sampled */
};

static struct namespace *namespaces;
static size_t namespace_count;

_Noreturn static void fail(const char *what, const char *name)
{
    fprintf(stderr, "recorder: %s: %s%s%s\n", what, name, *name ? ": " : "", strerror(errno));
    exit(errno == EPERM ? EXIT_MISSING : EXIT_BROKEN);
}

static struct namespace *namespace_of(long process, size_t most)
{
    size_t i = 0;
    while (i < namespace_count && namespaces[i].process != process)
        i++;
    if (i == namespace_count) {
        namespaces[i] = (struct namespace){.process = process, .sockets = -1};
        namespaces[i].ring.interfaces = calloc(most, sizeof(struct interface));
        if (namespaces[i].ring.interfaces == NULL)
            fail("no memory", "");
        namespace_count++;
    }
    return &namespaces[i];
}

static void enter(int home, long process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/net", process);
    int fd = process == 0 ? home : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        fail("cannot enter the network namespace", path);
    if (fd != home)
        close(fd);
}

static void open_all(int count, char **names)
{
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    namespaces = calloc((size_t)count, sizeof *namespaces);
    if (namespaces == NULL)
        fail("no memory", "");
    for (int i = 0; i < count; i++) {
        char *at = strchr(names[i], '@');
        if (at != NULL)
            *at = 0;
        struct namespace *namespace = namespace_of(at == NULL ? 0 : atol(at + 1), (size_t)count);
        enter(home, namespace->process);
        int index = (int)if_nametoindex(names[i]);
        if (index == 0)
            fail("there is no interface", names[i]);
        namespace->ring.interfaces[namespace->ring.count++] = (struct interface){index, (unsigned)i};
    }
    for (size_t i = 0; i < namespace_count; i++) {
        struct namespace *namespace = &namespaces[i];
        enter(home, namespace->process);
        const char *problem = ring_open(&namespace->ring, namespace->process ? HOST_BLOCKS : SWITCH_BLOCKS);
        if (problem != NULL)
            fail(problem, "");
        if (namespace->process != 0 && (namespace->sockets = sockets_open()) < 0)
            fail("no diagnostics of sockets", "");
    }
    enter(home, 0);
    close(home);
}

static uint64_t wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_join(now);
}

/* Returns when to sample next: later if there are many connections. */
static uint64_t sample(uint64_t now, uint64_t interval)
{
    unsigned connections = 0;
    uint64_t time = wall_clock();
    for (size_t i = 0; i < namespace_count; i++)
        if (namespaces[i].sockets >= 0)
            connections += sockets_sample(namespaces[i].sockets, time);
    return now + interval * (1 + connections / CONNECTIONS_AT_FULL_PACE);
}

static void drain_all(void)
{
    for (size_t i = 0; i < namespace_count; i++)
        ring_drain(&namespaces[i].ring);
}

/* Records until it shall stop; returns the cycles that this process has computed for. */
static uint64_t record_until(int stop_fd, uint64_t interval)
{
    struct pollfd *polled = calloc(namespace_count + 1, sizeof *polled);
    if (polled == NULL)
        fail("no memory", "");
    for (size_t i = 0; i < namespace_count; i++)
        polled[i] = (struct pollfd){.fd = namespaces[i].ring.fd, .events = POLLIN};
    polled[namespace_count] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
    uint64_t due = 0, computed = 0, woke = cycles_now();
    while (polled[namespace_count].revents == 0) {
        uint64_t now = clock_now();
        if (now >= due)
            due = sample(now, interval);
        computed += cycles_now() - woke;
        clock_poll(polled, namespace_count + 1, now, due);
        woke = cycles_now();
        drain_all();
    }
    sample(clock_now(), interval);
    /* The kernel hands over the last blocks when they are so old. */
    clock_poll(NULL, 0, 0, 3 * RING_TIMEOUT_MS * NS_PER_MS);
    drain_all();
    free(polled);
    return computed;
}

/* How many times as long everything took because of the recording; 0 if unknown. */
static double slowdown(double all, double own, double packets, double cost)
{
    double recording = own + packets * cost;
    return cost > 0 && recording < all ? all / (all - recording) : 0;
}

int main(int count, char **arguments)
{
    if (count < 6 || count % 2 != 0) {
        fputs(help, count == 2 && strcmp(arguments[1], "--help") == 0 ? stdout : stderr);
        return count == 2 && strcmp(arguments[1], "--help") == 0 ? EXIT_SUCCESS : EXIT_USAGE;
    }
    int stop_fd = lifecycle_stop_fd();
    lifecycle_end_with_parent();
    if (!record_open(arguments[1], strtoull(arguments[2], NULL, 10)))
        fail("cannot write", arguments[1]);
    double cost = ring_cost();
    open_all(count - 4, arguments + 4);
    if (puts("ready") == EOF || fflush(stdout) != 0)
        return EXIT_BROKEN;
    uint64_t began = cycles_now(), own = record_until(stop_fd, strtoull(arguments[3], NULL, 10) * 1000);
    uint64_t all = cycles_now() - began, seen = 0;
    uint64_t missing = 0;
    for (size_t i = 0; i < namespace_count; i++) {
        missing += ring_missing(&namespaces[i].ring);
        seen += namespaces[i].ring.seen;
    }
    struct record_totals totals;
    if (!record_close(&totals))
        fail("cannot write", arguments[1]);
    printf("{\"packets\": %llu, \"arrivals\": %llu, \"missing\": %llu, \"bytes\": %llu, \"full\": %s, \"slowdown\": %.3f}\n",
           (unsigned long long)totals.entries, (unsigned long long)totals.arrivals, (unsigned long long)missing,
           (unsigned long long)totals.bytes, totals.is_full ? "true" : "false",
           slowdown((double)all, (double)own, (double)seen, cost));
    return EXIT_SUCCESS;
}
