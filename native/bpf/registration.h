/* The registration daemon: keeps a congestion control registered for as long as a client is connected.
 *
 * The kernel closes a client's connection when its process ends, however that happens. */
#ifndef FLIGHTPATH_REGISTRATION_H
#define FLIGHTPATH_REGISTRATION_H

#include "bpf/struct_ops.h"

struct registration {
    struct algorithm algorithm;
    const char *socket_path, *record_path, *lock_path;
    int listener;
};

/* Opens the socket to which clients connect. Returns false with errno. */
bool registration_listen(struct registration *registration);

/* Writes the record: which process has registered what. Returns false with errno. */
bool registration_record(const struct registration *registration, const char *object_path);

/* Serves clients until the last one has gone or a signal stops it, then removes registration, socket and record. Does so only
 * while it has the lock, which whoever looks for an algorithm has too: that process finds all of them, or none. */
void registration_serve(struct registration *registration, int first_client);

#endif
