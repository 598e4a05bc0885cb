#include "bpf/registration.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_USERS 1024
#define FIXED 2 /* signals, and the socket on which users connect */
#define REQUEST_BYTES 16
#define LOCK_POLL_MS 20

struct table {
    struct pollfd polls[FIXED + MAX_USERS];
    nfds_t count;
    bool is_kept; /* by `congestion load`, which has no process that lives on */
};

bool holder_listen(struct holder *holder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(holder->socket_path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(address.sun_path, holder->socket_path);
    unlink(holder->socket_path); /* of one that was killed */
    holder->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return holder->listener >= 0 && bind(holder->listener, (void *)&address, sizeof address) == 0 &&
           listen(holder->listener, SOMAXCONN) == 0;
}

/* In clock ticks since boot, as proc(5) has it: with the process number it names a process for ever. */
static unsigned long long started(void)
{
    char line[1024];
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return 0;
    if (fgets(line, sizeof line, file)) {
        char *after_name = strrchr(line, ')');
        if (after_name)
            sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                   &ticks);
    }
    fclose(file);
    return ticks;
}

bool holder_record(const struct holder *holder, const char *object_path)
{
    FILE *file = fopen(holder->record_path, "we");
    if (!file)
        return false;
    fprintf(file, "{\"name\": \"%s\", \"pid\": %d, \"started\": %llu, \"map_id\": %u, \"linked\": %s, \"object\": \"%s\"}\n",
            holder->algorithm.name, (int)getpid(), started(), holder->algorithm.map_id,
            holder->algorithm.link_fd >= 0 ? "true" : "false", object_path);
    return fclose(file) == 0;
}

static void add_user(struct table *table, int fd)
{
    if (fd < 0)
        return;
    if (table->count == FIXED + MAX_USERS) {
        close(fd);
        return;
    }
    table->polls[table->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void greet(struct table *table, const struct holder *holder)
{
    int user = accept4(holder->listener, NULL, NULL, SOCK_CLOEXEC);
    if (user >= 0)
        send(user, holder->algorithm.name, strlen(holder->algorithm.name), MSG_NOSIGNAL);
    add_user(table, user);
}

/* The processes that connected, one number each. */
static void answer_who(const struct table *table, int asker)
{
    char text[MAX_USERS * 8] = "";
    size_t length = 0;
    for (nfds_t i = FIXED; i < table->count; i++) {
        struct ucred peer;
        socklen_t size = sizeof peer;
        if (table->polls[i].fd != asker && getsockopt(table->polls[i].fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
            length < sizeof text - 16)
            length += (size_t)sprintf(text + length, "%d ", (int)peer.pid);
    }
    length += (size_t)sprintf(text + length, "%s", table->is_kept ? "kept" : "");
    send(asker, text, length ? length : 1, MSG_NOSIGNAL);
}

/* False: the user has gone. */
static bool serve_user(struct table *table, int fd)
{
    char request[REQUEST_BYTES] = "";
    ssize_t length = recv(fd, request, sizeof request - 1, 0);
    if (length <= 0)
        return false;
    if (strcmp(request, "who") == 0) {
        answer_who(table, fd);
        return true;
    }
    if (strcmp(request, "keep") == 0)
        table->is_kept = true;
    else if (strcmp(request, "release") == 0)
        table->is_kept = false;
    send(fd, "ok", 2, MSG_NOSIGNAL);
    return true;
}

static void serve_users(struct table *table)
{
    for (nfds_t i = table->count; i-- > FIXED;) {
        if (table->polls[i].revents == 0 || serve_user(table, table->polls[i].fd))
            continue;
        close(table->polls[i].fd);
        table->polls[i] = table->polls[--table->count];
    }
}

static int ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

static bool is_needed(const struct table *table)
{
    return table->count > FIXED || table->is_kept;
}

/* Serves until it may end. Who holds the lock may be about to connect: so it is not waited for. */
static void serve_until_unneeded(struct table *table, const struct holder *holder, int lock)
{
    for (;;) {
        bool may_end = !is_needed(table) && flock(lock, LOCK_EX | LOCK_NB) == 0;
        int wait_ms = is_needed(table) ? -1 : may_end ? 0 : LOCK_POLL_MS;
        int ready = poll(table->polls, table->count, wait_ms);
        if (ready > 0 && table->polls[0].revents)
            return;
        if (ready == 0 && may_end)
            return;
        if (ready > 0)
            serve_users(table);
        if (ready > 0 && table->polls[1].revents)
            greet(table, holder);
        if (may_end)
            flock(lock, LOCK_UN);
    }
}

void holder_serve(struct holder *holder, int first_user)
{
    static struct table table;
    int lock = open(holder->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    table.polls[0] = (struct pollfd){.fd = ending_signals(), .events = POLLIN};
    table.polls[1] = (struct pollfd){.fd = holder->listener, .events = POLLIN};
    table.count = FIXED;
    add_user(&table, first_user);
    serve_until_unneeded(&table, holder, lock);
    algorithm_unregister(&holder->algorithm);
    unlink(holder->socket_path);
    unlink(holder->record_path);
}
