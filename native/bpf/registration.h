/* A congestion control is registered for as long as somebody needs it: each user is a connection that the kernel closes. */
#ifndef FLIGHTPATH_REGISTRATION_H
#define FLIGHTPATH_REGISTRATION_H

#include "bpf/struct_ops.h"

struct holder {
    struct algorithm algorithm;
    const char *socket_path, *record_path, *lock_path;
    int listener;
};

/* Makes the socket on which further users connect. False with errno. */
bool holder_listen(struct holder *holder);

/* Writes who holds what, for those who only want to know. False with errno. */
bool holder_record(const struct holder *holder, const char *object_path);

/* Serves until the last user has gone; then takes the registration, the socket and the record back, under the lock that is
 * also held by whoever looks for an algorithm: it finds all of this, or nothing. */
void holder_serve(struct holder *holder, int first_user);

#endif
