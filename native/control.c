#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

#define REQUEST_BYTES 1024
#define ANSWER_BYTES 16384
#define ERROR_BYTES 512

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
             reason == EADDRINUSE ? "delete the file if no other relay uses it" : "choose a folder that exists and is writable");
    if (fd >= 0)
        close(fd);
    return -1;
}

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

static void append_limited(char *out, size_t size, const char *key, bool limited, uint64_t value)
{
    if (limited)
        append(out, size, "\"%s\":%" PRIu64 ",", key, value);
    else
        append(out, size, "\"%s\":null,", key);
}

static void append_direction(char *out, size_t size, const struct direction *direction,
                             uint64_t cpu_ns)
{
    const struct spec *spec = &direction->spec;
    bool limited = spec->rate_bps != 0;

    append(out, size, "\"%s\":{\"spec\":{", direction->key);
    append_limited(out, size, "rate_bps", limited, spec->rate_bps);
    append_limited(out, size, "queue_bytes", limited, spec_queue_bytes(spec));
    append(out, size, "\"delay_ns\":%" PRIu64 ",\"loss\":%.17g,\"max_frame_bytes\":%" PRIu32 "},", spec->delay_ns,
           spec->loss, direction->frame_bound);
    stats_format(&direction->stats, out, size);
    append(out, size, ",\"cpu_ns\":%" PRIu64 "}", cpu_ns);
}

static void answer_stats(const struct relay_link *link, char *out, size_t size)
{
    append(out, size, "{\"name\":\"%s\",\"uptime_ns\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"directions\":{", link->name,
           clock_now() - link->started_ns, link->seed);
    append_direction(out, size, &link->directions[0], worker_cpu_ns(&link->workers[0]));
    append(out, size, ",");
    append_direction(out, size, &link->directions[1], link->worker_count == 2 ? worker_cpu_ns(&link->workers[1]) : 0);
    append(out, size, "}}");
}

static void answer_reset(struct relay_link *link, char *out, size_t size)
{
    stats_forget(&link->directions[0].stats);
    stats_forget(&link->directions[1].stats);
    append(out, size, "{\"ok\":true}");
}

/* Requests are quoted in errors: what JSON would need to escape must not get there. */
static void disarm(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            *text = '?';
}

static struct direction *direction_called(struct relay_link *link, const char *name)
{
    if (name != NULL && strcmp(name, "a-to-b") == 0)
        return &link->directions[0];
    if (name != NULL && strcmp(name, "b-to-a") == 0)
        return &link->directions[1];
    return NULL;
}

static void answer_set(struct relay_link *link, char *arguments, char *out, size_t size)
{
    char error[ERROR_BYTES];
    char *text = arguments;
    const char *name = strsep(&text, " ");
    struct direction *direction = direction_called(link, name);

    if (direction == NULL || text == NULL || *text == '\0') {
        append(out, size, "{\"error\":\"set needs a direction, a-to-b or b-to-a, and key=value,...\"}");
        return;
    }
    struct spec changed = direction->spec;
    if (!spec_parse(&changed, text, error, sizeof error)) {
        append(out, size, "{\"error\":\"%s\"}", error);
        return;
    }
    direction_change(direction, &changed);
    append(out, size, "{\"ok\":true}");
}

static void answer(struct relay_link *link, char *request, char *out, size_t size)
{
    request[strcspn(request, "\n")] = '\0';
    disarm(request);
    char *arguments = request;
    const char *command = strsep(&arguments, " ");

    if (strcmp(command, "stats") == 0 && arguments == NULL)
        answer_stats(link, out, size);
    else if (strcmp(command, "reset") == 0 && arguments == NULL)
        answer_reset(link, out, size);
    else if (strcmp(command, "set") == 0 && arguments != NULL)
        answer_set(link, arguments, out, size);
    else
        append(out, size, "{\"error\":\"unknown command '%.64s': known are stats, set a-to-b|b-to-a key=value,..., reset\"}",
               command);
}

/* Returns whether the client stays. */
static bool serve_client(int fd, struct relay_link *link)
{
    static char out[ANSWER_BYTES];
    char request[REQUEST_BYTES + 1];

    ssize_t length = recv(fd, request, REQUEST_BYTES, MSG_DONTWAIT | MSG_TRUNC);
    if (length <= 0)
        return length < 0 && (errno == EAGAIN || errno == EINTR);
    out[0] = '\0';
    if (length > REQUEST_BYTES) {
        append(out, sizeof out, "{\"error\":\"a request is at most %d bytes\"}", REQUEST_BYTES);
    } else {
        request[length] = '\0';
        answer(link, request, out, sizeof out);
    }
    /* A client that does not read its answers is dropped rather than waited for. */
    return send(fd, out, strlen(out), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void accept_client(struct pollfd *polled, nfds_t *count)
{
    int fd = accept4(polled[1].fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        polled[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void control_serve(int listen_fd, int stop_fd, struct relay_link *link)
{
    struct pollfd polled[2 + CONTROL_CLIENTS] = {
        {.fd = stop_fd, .events = POLLIN},
        {.fd = listen_fd, .events = POLLIN},
    };
    nfds_t count = 2;

    for (;;) {
        /* One too many waits in the backlog until another leaves. */
        polled[1].events = count < 2 + CONTROL_CLIENTS ? POLLIN : 0;
        if (poll(polled, count, -1) < 0)
            continue;
        if (polled[0].revents != 0)
            return;
        for (nfds_t i = count; i-- > 2;) {
            if (polled[i].revents != 0 && !serve_client(polled[i].fd, link)) {
                close(polled[i].fd);
                polled[i] = polled[--count];
            }
        }
        if (polled[1].revents != 0)
            accept_client(polled, &count);
    }
}
