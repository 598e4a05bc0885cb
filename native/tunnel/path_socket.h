/* The UDP socket of a path. It is connected, so that it receives only from the peer's address and port. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration/configuration.h"

struct path_socket {
    int fd;
    bool segmentation; /* whether the kernel cuts messages into datagrams, and merges datagrams into messages */
};

/* Returns false with a sentence and a remedy in `error`. */
bool path_socket_open(const struct path_configuration *path, uint16_t port, bool offloads, struct path_socket *opened,
                      char *error, size_t error_size);

/* The MTU of the path as far as the kernel knows it; 0 if it does not. */
uint32_t path_socket_mtu(int fd, int family);

/* Bytes of IP and UDP headers. */
static inline uint32_t path_socket_overhead(int family)
{
    return (family == AF_INET ? 20 : 40) + 8;
}

/* Bytes in the sending queue. */
uint32_t path_socket_queued(int fd);
