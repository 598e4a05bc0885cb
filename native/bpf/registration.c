#include "bpf/registration.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"
#include "common/lifecycle.h"
#include "common/text.h"

#define MAX_CLIENTS 1024
#define FIXED 2 /* stop signals, and the socket to which clients connect */
#define REQUEST_BYTES 16
#define LOCK_POLL_MS 20

struct clients {
    struct pollfd polls[FIXED + MAX_CLIENTS];
    nfds_t count;
    bool is_kept; /* without clients: for `python -m congestion load`, whose process ends */
};

bool registration_listen(struct registration *registration)
{
    unlink(registration->socket_path); /* left over if a daemon was killed */
    registration->listener = control_bind(registration->socket_path);
    return registration->listener >= 0;
}

/* Start of this process in clock ticks since boot (proc(5)); with its PID it identifies the process for ever. */
static unsigned long long start_ticks(void)
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

bool registration_record(const struct registration *registration, const char *object_path)
{
    const struct algorithm *algorithm = &registration->algorithm;
    FILE *file = fopen(registration->record_path, "we");
    if (!file)
        return false;
    fprintf(file,
            "{\"name\": \"%s\", \"pid\": %d, \"started\": %llu, \"map_id\": %u, \"linked\": %s, \"object\": \"%s\"}\n",
            algorithm->name, (int)getpid(), start_ticks(), algorithm->map_id,
            algorithm->link_fd >= 0 ? "true" : "false", object_path);
    return fclose(file) == 0;
}

static void add_client(struct clients *clients, int fd)
{
    if (fd >= 0 && clients->count < FIXED + MAX_CLIENTS)
        clients->polls[clients->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    else if (fd >= 0)
        close(fd);
}

static void accept_client(struct clients *clients, const struct registration *registration)
{
    int fd = accept4(registration->listener, NULL, NULL, SOCK_CLOEXEC);
    const char *name = registration->algorithm.name;
    if (fd >= 0)
        send(fd, name, strlen(name), MSG_DONTWAIT | MSG_NOSIGNAL);
    add_client(clients, fd);
}

/* Returns false if the client has gone, or does not read its answers: then it is dropped, so that nobody waits for it. */
static bool answer(int fd, const char *text)
{
    /* An empty message would look like the end. */
    return send(fd, text, *text == '\0' ? 1 : strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The PIDs of the other clients, and "kept" if so. */
static bool answer_who(const struct clients *clients, int asking)
{
    static char text[(MAX_CLIENTS + 1) * 8];
    text[0] = '\0';
    for (nfds_t i = FIXED; i < clients->count; i++) {
        struct ucred peer;
        socklen_t size = sizeof peer;
        int fd = clients->polls[i].fd;
        if (fd != asking && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
            text_append(text, sizeof text, "%d ", (int)peer.pid);
    }
    text_append(text, sizeof text, "%s", clients->is_kept ? "kept" : "");
    return answer(asking, text);
}

/* As answer(). */
static bool serve_client(struct clients *clients, int fd)
{
    char request[REQUEST_BYTES] = "";
    if (recv(fd, request, sizeof request - 1, 0) <= 0)
        return false;
    if (strcmp(request, "who") == 0)
        return answer_who(clients, fd);
    if (strcmp(request, "keep") == 0)
        clients->is_kept = true;
    else if (strcmp(request, "release") == 0)
        clients->is_kept = false;
    return answer(fd, "ok");
}

static void serve_clients(struct clients *clients)
{
    for (nfds_t i = clients->count; i-- > FIXED;) {
        if (clients->polls[i].revents == 0 || serve_client(clients, clients->polls[i].fd))
            continue;
        close(clients->polls[i].fd);
        clients->polls[i] = clients->polls[--clients->count];
    }
}

static bool is_needed(const struct clients *clients)
{
    return clients->count > FIXED || clients->is_kept;
}

/* The lock's holder may be about to connect, so the daemon ends only when it gets the lock and nobody has connected. */
static void serve_until_unneeded(struct clients *clients, const struct registration *registration, int lock)
{
    for (;;) {
        bool may_end = !is_needed(clients) && flock(lock, LOCK_EX | LOCK_NB) == 0;
        int wait_ms = is_needed(clients) ? -1 : may_end ? 0 : LOCK_POLL_MS;
        int ready = poll(clients->polls, clients->count, wait_ms);
        if ((ready > 0 && clients->polls[0].revents) || (ready == 0 && may_end))
            return;
        if (ready > 0)
            serve_clients(clients);
        if (ready > 0 && clients->polls[1].revents)
            accept_client(clients, registration);
        if (may_end)
            flock(lock, LOCK_UN);
    }
}

void registration_serve(struct registration *registration, int first_client)
{
    static struct clients clients;
    int lock = open(registration->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    clients.polls[0] = (struct pollfd){.fd = lifecycle_stop_fd(), .events = POLLIN};
    clients.polls[1] = (struct pollfd){.fd = registration->listener, .events = POLLIN};
    clients.count = FIXED;
    add_client(&clients, first_client);
    serve_until_unneeded(&clients, registration, lock);
    algorithm_unregister(&registration->algorithm);
    unlink(registration->socket_path);
    unlink(registration->record_path);
}
