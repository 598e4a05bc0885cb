/* The control socket of a link: SOCK_SEQPACKET, so that each request and each answer is one datagram. What can be asked is in
 * commands.h. */
#ifndef FLIGHTPATH_CONTROL_H
#define FLIGHTPATH_CONTROL_H

#include <stddef.h>

#include "commands.h"

#define CONTROL_CLIENTS 16

/* Returns the listening descriptor, or -1 with a sentence in `error`. */
int control_listen(const char *path, char *error, size_t error_size);

/* Answers clients, and carries out what was scheduled, until `stop_fd` is readable. */
void control_serve(int listen_fd, int stop_fd, struct relay_link *link);

#endif
