/* The registration daemon: keeps a congestion control registered for as long as a client is connected.
 *
 * The kernel closes a client's connection when its process ends, however that happens. */
#pragma once

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

/* Serves clients until the last one has gone or a signal stops it, then removes registration, socket and record. It has
 * the lock while it does so, as processes have that look for an algorithm: they find all three, or none. */
void registration_serve(struct registration *registration, int first_client);
