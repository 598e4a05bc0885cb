/* What the server and the client have in common. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "picoquic.h"

enum { MOST_PATHS = 8, REQUEST_LENGTH = 9, REPORT_LENGTH = 1 << 13 };

#define ALPN "flightpath"

/* One end of a stream: a request and its answer. */
typedef struct {
    uint64_t id;
    uint8_t head[REQUEST_LENGTH];  /* of the request: sent by the client, read by the server */
    size_t head_length;            /* how much of it was sent or read so far */
    uint64_t to_send;              /* bytes without meaning that follow */
    uint64_t arrived;              /* bytes so far, without the head */
    uint64_t due;                  /* when a request was due, in us */
    uint8_t text[REPORT_LENGTH];   /* an answer that has a meaning */
} stream_t;

/* The part of a report about paths that are gone. */
typedef struct {
    char paths[REPORT_LENGTH];
    size_t length;
} gone_t;

/* Ends the program with a sentence and exit code 1. */
_Noreturn void fail(const char *format, ...);
void *allocated(size_t count, size_t size);
uint64_t number_of(const char *text);
struct sockaddr_storage address_of(const char *endpoint);
struct sockaddr_storage source_towards(const struct sockaddr_storage *server, in_port_t port);

void report(picoquic_cnx_t *connection, const gone_t *gone, char *text);
void remember_path(picoquic_cnx_t *connection, uint64_t id, gone_t *gone);
int send_some(stream_t *stream, void *place, size_t room, int has_head);
picoquic_quic_t *context_of(picoquic_stream_data_cb_fn on_event, void *argument, const char *certificate,
                            const char *key, const char *trusted, const char *algorithm, int paths);

int open_socket(sa_family_t family, int port, const picoquic_quic_t *quic);
void send_all(picoquic_quic_t *quic, int udp);
void go_on(picoquic_quic_t *quic, int udp);

_Noreturn void serve(char **words);
int transfer(const char *word, int numbers, char **words, int paths);
