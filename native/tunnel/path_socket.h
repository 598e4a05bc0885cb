/* The UDP socket of a path: connected, so that only what comes from the peer's address and port is received. */
#ifndef FLIGHTPATH_TUNNEL_PATH_SOCKET_H
#define FLIGHTPATH_TUNNEL_PATH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration/configuration.h"

struct path_socket {
    int fd;
    bool segmentation; /* the kernel cuts messages into datagrams, and merges them */
};

/* Returns false with one sentence and its remedy in `error`. */
bool path_socket_open(const struct path_configuration *path, uint16_t port, bool offloads, struct path_socket *opened, char *error,
                      size_t error_size);

/* What one IP packet may hold on this path, as far as the kernel knows. */
uint32_t path_socket_mtu(int fd, int family);

/* Bytes of IP and UDP headers. */
static inline uint32_t path_socket_overhead(int family)
{
    return (family == AF_INET ? 20 : 40) + 8;
}

/* Bytes that wait in this host to be sent. */
uint32_t path_socket_queued(int fd);

#endif
