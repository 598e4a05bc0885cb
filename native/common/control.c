#include "common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"

#define REQUEST_BYTES 5000
#define ANSWERS_WITHIN_S 5
#define LOCK_TRIES 1000
#define LOCK_PAUSE_MS 10

/* A socket that is bound to a path, or connected to it; -1 with errno. */
static int open_socket(const char *path, int flags, bool binds)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    if (fd >= 0 && (binds ? bind : connect)(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

/* Keeps programs that start at once from deleting each other's sockets. Returns the lock, or -1 if the folder cannot be
 * read. Others may hold it, so it is not waited for long. */
static int lock_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int left = LOCK_TRIES; fd >= 0 && left > 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; left--)
        poll(NULL, 0, LOCK_PAUSE_MS);
    return fd;
}

/* Returns whether the path has a socket on which nobody listens, because its program was killed. */
static bool is_left_over(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int fd = open_socket(path, SOCK_NONBLOCK, false);
    if (fd < 0)
        return errno == ECONNREFUSED;
    close(fd);
    return false;
}

static int bind_and_listen(const char *path)
{
    int fd = open_socket(path, SOCK_NONBLOCK, true);
    if (fd < 0 || listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

int control_bind(const char *path)
{
    int lock = lock_folder(path), fd = bind_and_listen(path), reason = errno;
    if (fd < 0 && reason == EADDRINUSE && is_left_over(path) && unlink(path) == 0) {
        fd = bind_and_listen(path);
        reason = errno;
    }
    if (lock >= 0)
        close(lock);
    errno = reason;
    return fd;
}

static const char *remedy(int reason)
{
    switch (reason) {
    case EADDRINUSE:
        return "another program listens there, or it is not a socket: choose another path, or delete it yourself";
    case ENAMETOOLONG:
        return "choose a folder with a shorter path";
    default:
        return "choose a folder that exists and is writable";
    }
}

int control_listen(const char *path, char *error, size_t error_size)
{
    int fd = control_bind(path);
    if (fd < 0)
        snprintf(error, error_size, "control socket: cannot listen at '%s': %s; %s", path, strerror(errno),
                 remedy(errno));
    return fd;
}

/* Returns whether the client stays. */
static bool serve_client(int fd, const struct control_handler *handler)
{
    static char out[CONTROL_ANSWER_BYTES];
    char request[REQUEST_BYTES + 1];

    ssize_t length = recv(fd, request, REQUEST_BYTES, MSG_DONTWAIT | MSG_TRUNC);
    if (length <= 0)
        return length < 0 && (errno == EAGAIN || errno == EINTR);
    out[0] = '\0';
    if (length > REQUEST_BYTES) {
        snprintf(out, sizeof out, "{\"error\":\"a request is at most %d bytes\"}", REQUEST_BYTES);
    } else {
        request[length] = '\0';
        request[strcspn(request, "\n")] = '\0';
        handler->answer(handler->context, request, out, sizeof out);
    }
    /* A client that does not read its answers is dropped. */
    return send(fd, out, strlen(out), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void accept_client(struct pollfd *polled, nfds_t *count)
{
    int fd = accept4(polled[1].fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        polled[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void control_serve(int listen_fd, int stop_fd, const struct control_handler *handler)
{
    struct pollfd polled[2 + CONTROL_CLIENTS] = {
        {.fd = stop_fd, .events = POLLIN},
        {.fd = listen_fd, .events = POLLIN},
    };
    nfds_t count = 2;

    for (;;) {
        /* Further clients wait in the backlog until one leaves. */
        polled[1].events = count < 2 + CONTROL_CLIENTS ? POLLIN : 0;
        int ready = clock_poll(polled, count, clock_now(), handler->next_due(handler->context));
        handler->run_due(handler->context, clock_now());
        if (ready <= 0)
            continue;
        if (polled[0].revents != 0)
            return;
        for (nfds_t i = count; i-- > 2;) {
            if (polled[i].revents != 0 && !serve_client(polled[i].fd, handler)) {
                close(polled[i].fd);
                polled[i] = polled[--count];
            }
        }
        if (polled[1].revents != 0)
            accept_client(polled, &count);
    }
}

void control_reply(char *out, size_t size, char *error)
{
    if (error == NULL) {
        text_append(out, size, "{\"ok\":true}");
        return;
    }
    text_sanitise(error);
    text_append(out, size, "{\"error\":\"%s\"}", error);
}

static ssize_t exchange(int fd, const char *request, char *answer)
{
    const struct timeval limit = {.tv_sec = ANSWERS_WITHIN_S};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return -1;
    return recv(fd, answer, CONTROL_ANSWER_BYTES - 1, 0);
}

bool control_ask(const char *path, const char *request, char *answer, char *error, size_t error_size)
{
    int fd = open_socket(path, 0, false);
    ssize_t length = fd < 0 ? -1 : exchange(fd, request, answer);
    const char *reason = length == 0 ? "it closed the connection" : strerror(errno);
    if (fd >= 0)
        close(fd);
    if (length <= 0) {
        snprintf(error, error_size, "nothing answers at '%s': %s; is the program running?", path, reason);
        return false;
    }
    answer[length] = '\0';
    static const char refusal[] = "{\"error\":\"";
    if (strncmp(answer, refusal, sizeof refusal - 1) != 0)
        return true;
    const char *sentence = answer + sizeof refusal - 1; /* has no quotes: text_sanitise() */
    snprintf(error, error_size, "%.*s", (int)strcspn(sentence, "\""), sentence);
    return false;
}
