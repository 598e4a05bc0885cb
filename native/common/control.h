/* The control socket of a program: SOCK_SEQPACKET, so that each request and each answer is one datagram. */
#ifndef FLIGHTPATH_CONTROL_H
#define FLIGHTPATH_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#define CONTROL_CLIENTS 16

/* What the program does with requests, and at times of its own choosing between them. */
struct control_handler {
    void *context;
    /* Appends the answer to the text in `out`. The request, one line of text, is taken apart. */
    void (*answer)(void *context, char *request, char *out, size_t size);
    /* When run_due() wants to be called next, NEVER if not at all (clock.h). */
    uint64_t (*next_due)(void *context);
    void (*run_due)(void *context, uint64_t now);
};

/* Returns the listening descriptor, or -1 with a sentence in `error`. */
int control_listen(const char *path, char *error, size_t error_size);

/* Answers clients, and does what is due, until `stop_fd` is readable. */
void control_serve(int listen_fd, int stop_fd, const struct control_handler *handler);

#endif
