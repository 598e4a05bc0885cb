#include "common/control.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"

#define REQUEST_BYTES 5000
#define ANSWER_BYTES 32768

int control_listen(const char *path, char *error, size_t error_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(error, error_size, "--control: the path '%s' is longer than %zu bytes; choose a shorter folder", path,
                 sizeof address.sun_path - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, CONTROL_CLIENTS) == 0)
        return fd;
    int reason = errno;
    snprintf(error, error_size, "--control: cannot listen at '%s': %s; %s", path, strerror(reason),
             reason == EADDRINUSE ? "delete the file if no other program uses it" : "choose a folder that exists and is writable");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Returns whether the client stays. */
static bool serve_client(int fd, const struct control_handler *handler)
{
    static char out[ANSWER_BYTES];
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
    /* A client that does not read its answers is dropped rather than waited for. */
    return send(fd, out, strlen(out), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Until a client asks, or something is due. */
static int wait_for_work(struct pollfd *polled, nfds_t count, const struct control_handler *handler)
{
    uint64_t due = handler->next_due(handler->context), now = clock_now();
    struct timespec timeout = clock_split(due == NEVER || due < now ? 0 : due - now);
    return ppoll(polled, count, due == NEVER ? NULL : &timeout, NULL);
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
        /* One too many waits in the backlog until another leaves. */
        polled[1].events = count < 2 + CONTROL_CLIENTS ? POLLIN : 0;
        int ready = wait_for_work(polled, count, handler);
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
