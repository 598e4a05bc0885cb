/* TCP's state of each connection of a host, by sock_diag(7). */
#pragma once

#include <stdint.h>

/* Opens a descriptor in the network namespace of the calling thread; -1 with errno if that fails. */
int sockets_open(void);

/* Records each connection whose state has changed since it was sampled last. Returns the number of connections. */
unsigned sockets_sample(int fd, uint64_t time_ns);
