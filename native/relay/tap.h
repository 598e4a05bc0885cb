/* A TAP device: one end of a link. See device.h for how long it lives, and where. */
#ifndef FLIGHTPATH_TAP_H
#define FLIGHTPATH_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/device.h"

/* Frames that the kernel keeps for the relay to read. */
#define TAP_QUEUE_FRAMES 10000

struct tap_request {
    const char *name;
    pid_t process; /* in whose network namespace; 0: this one's */
    uint32_t mtu;  /* 0: the kernel's own choice, 1500 */
    bool has_mac;
    uint8_t mac[6];
};

/* Creates the device, down. Made where it belongs and not moved there later: a move makes the kernel wait for all its
 * processors, twice 20 ms a link. Returns the descriptor (non-blocking), or -1 with one sentence and its remedy in `error`. */
int tap_create(const struct tap_request *wanted, char *error, size_t error_size);

/* Makes the kernel hand over super-frames of at most `bound` bytes: 0, none; then it cuts them itself. Checksums
 * are left unfinished in any case. Works wherever the device is by now, from any thread of this process that has
 * CAP_SYS_ADMIN; that thread enters the device's namespace for a moment.
 * Returns the bound in force: `bound`, or 0 if the kernel cannot do it. */
uint32_t tap_bound_frames(int fd, uint32_t bound);

/* Whether the device has a carrier, as if a cable were plugged in. Returns false with errno if the kernel cannot do it. */
bool tap_set_carrier(int fd, bool on);

#endif
