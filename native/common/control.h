/* The control socket of a program: SOCK_SEQPACKET, so that each request and each answer is one datagram. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_CLIENTS 16
#define CONTROL_ANSWER_BYTES 32768

/* A program's callbacks: for requests, and for work that is due between them. */
struct control_handler {
    void *context;
    /* Appends the answer to the text in `out`. May change the request, which is one line of text. */
    void (*answer)(void *context, char *request, char *out, size_t size);
    /* Returns the time at which to call run_due(), or NEVER (clock.h). */
    uint64_t (*next_due)(void *context);
    void (*run_due)(void *context, uint64_t now);
};

/* Listens at `path`, also if a program that was killed has left a socket there. Returns a non-blocking descriptor, or -1 with errno. */
int control_bind(const char *path);

/* The same, but with a sentence and a remedy in `error`. */
int control_listen(const char *path, char *error, size_t error_size);

/* Answers clients, and does what is due, until `stop_fd` is readable. */
void control_serve(int listen_fd, int stop_fd, const struct control_handler *handler);

/* Appends the answer to a request that changes something: {"ok":true}, or {"error":"..."} if `error` is not NULL. */
void control_reply(char *out, size_t size, char *error);

/* Sends a request to the program at `path`. Returns false with the reason in `error` if the program does not answer, or
 * answers with an error. `answer` has CONTROL_ANSWER_BYTES. */
bool control_ask(const char *path, const char *request, char *answer, char *error, size_t error_size);
