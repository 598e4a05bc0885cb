/* A TUN or TAP device: opened in any network namespace, and its attributes set wherever it is by then. Its file descriptor keeps
 * working when the device is moved to another namespace and renamed there; the device vanishes with the process. */
#ifndef FLIGHTPATH_DEVICE_H
#define FLIGHTPATH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEVICE_NAME_BYTES 16u

/* Opens a device that does not exist yet; it is down. `flags` are IFF_TUN or IFF_TAP and others of linux/if_tun.h; `process` is
 * one in whose network namespace it is made, 0 for this one's. Returns the descriptor (non-blocking), or -1 with one sentence and
 * its remedy in `error`. */
int device_open(const char *name, pid_t process, int flags, char *error, size_t error_size);

/* Puts `cannot WHAT for NAME`, errno's reason and a remedy into `error`, closes `fd` and returns -1. */
int device_fail(int fd, const char *what, const char *name, char *error, size_t error_size);

/* Sets an attribute of the device (IFLA_*), from any thread of this process that has CAP_SYS_ADMIN; that thread enters the
 * device's namespace for a moment. Returns false if the kernel refuses. */
bool device_set(int fd, unsigned short attribute, const void *value, size_t bytes);
bool device_set_number(int fd, unsigned short attribute, uint32_t value);

/* Brings it up. Returns false if the kernel refuses. */
bool device_set_up(int fd);

/* Gives it an address: 4 bytes of `address` for AF_INET, 16 for AF_INET6. Returns false if the kernel refuses. */
bool device_add_address(int fd, int family, const uint8_t *address, uint8_t prefix_length);

/* Tells the kernel to leave checksums unfinished, and which super-frames to hand over. Returns whether it can. */
enum device_offload { DEVICE_CHECKSUMS, DEVICE_TCP, DEVICE_TCP_UDP };
bool device_offer(int fd, enum device_offload offload);

#endif
