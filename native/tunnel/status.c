#include "tunnel/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_BYTES 65536
#define PATIENCE_S 5

/* Returns its length, or -1 with errno. */
static ssize_t exchange(const char *socket_path, const char *request, char *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool sent = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && send(fd, request, strlen(request), MSG_NOSIGNAL) >= 0;
    ssize_t got = sent ? recv(fd, answer, ANSWER_BYTES - 1, 0) : -1;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return got;
}

/* Our own JSON: no spaces, no escapes. What follows `"key":` first after `from`, up to the next comma or bracket. */
static const char *member(const char *from, const char *key)
{
    static char values[16][40];
    static unsigned turn;
    char *value = values[turn++ % 16], pattern[48];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *found = strstr(from, pattern);
    *value = '\0';
    if (found == NULL)
        return value;
    found += strlen(pattern);
    found += *found == '"';
    snprintf(value, sizeof values[0], "%.*s", (int)strcspn(found, "\",}]"), found);
    return value;
}

static double number(const char *from, const char *key)
{
    return strtod(member(from, key), NULL);
}

static void show_path(const char *path)
{
    const char *rtt = member(path, "rtt_ns");
    printf("%-12s %-8s %7.1f%% ", member(path, "name"), member(path, "state"), 100 * number(path, "share"));
    if (strcmp(rtt, "null") == 0)
        printf("%10s ", "-");
    else
        printf("%10.3f ", strtod(rtt, NULL) / 1e6);
    printf("%7.2f%% %7.2f%% %12s %12s %10s %8s\n", 100 * number(path, "tx_loss"), 100 * number(path, "rx_loss"),
           member(path, "tx_packets"), member(path, "rx_packets"), member(path, "held"), member(path, "late_drops"));
}

static void show(const char *answer)
{
    const char *reordering = strstr(answer, "\"reordering\""), *paths = strstr(answer, "\"paths\"");
    printf("%s: %s, weights %s, MTU %s, %.1f Mb/s in; reordering %s, %s packets held (at most %s), %s given up\n",
           member(answer, "device"), member(answer, "scheduler"), member(answer, "weights"), member(answer, "mtu"),
           number(answer, "rate_bps") / 1e6, member(reordering, "mode"), member(reordering, "held"),
           member(reordering, "held_peak"), member(reordering, "given_up"));
    printf("%-12s %-8s %8s %10s %8s %8s %12s %12s %10s %8s\n", "path", "state", "share", "RTT ms", "tx loss", "rx loss",
           "tx packets", "rx packets", "held", "too late");
    while ((paths = strstr(paths, "{\"name\"")) != NULL)
        show_path(paths++);
}

bool status_ask(const char *socket_path, const char *request, bool as_json, char *error, size_t error_size)
{
    static char answer[ANSWER_BYTES];
    ssize_t got = exchange(socket_path, request, answer);
    if (got <= 0) {
        snprintf(error, error_size, "no tunnel answers at '%s': %s; is it running?", socket_path,
                 got == 0 ? "it hung up" : strerror(errno));
        return false;
    }
    answer[got] = '\0';
    if (strncmp(answer, "{\"error\":", 9) == 0) {
        snprintf(error, error_size, "%s", member(answer, "error"));
        return false;
    }
    if (as_json || strstr(answer, "\"paths\"") == NULL)
        puts(answer);
    else
        show(answer);
    return true;
}
