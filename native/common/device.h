/* TUN and TAP devices in any network namespace. A device's file descriptor keeps working when the device is moved to
 * another namespace and renamed there; the device vanishes with the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEVICE_NAME_BYTES 16u

/* Makes a new device, which is down, in the network namespace of `process`, or of this one if it is 0. `flags` are
 * IFF_TUN or IFF_TAP, and others of linux/if_tun.h. Returns a non-blocking descriptor, or -1 with a sentence and a
 * remedy in `error`. */
int device_open(const char *name, pid_t process, int flags, char *error, size_t error_size);

/* Puts `cannot WHAT for NAME`, the reason in errno, and a remedy into `error`, closes `fd`, and returns -1. */
int device_fail(int fd, const char *what, const char *name, char *error, size_t error_size);

/* The following return false if the kernel refuses. The calling thread needs CAP_SYS_ADMIN, and enters the device's
 * namespace for a moment. */

/* An attribute of a device (IFLA_*). */
struct device_attribute {
    unsigned short type;
    const void *value;
    size_t bytes;
};

/* Sets some attributes, in one request to the kernel, or one of them. */
bool device_set_all(int fd, const struct device_attribute *attributes, size_t count);
bool device_set(int fd, unsigned short attribute, const void *value, size_t bytes);
bool device_set_number(int fd, unsigned short attribute, uint32_t value);

/* Sets the speed that ethtool, sysfs and OpenFlow's port description report, in Mb/s, with full duplex. */
bool device_set_speed(int fd, uint32_t mbit);

/* Has the kernel tell all listeners about the device anew, so that they read what it does not announce by itself. */
bool device_announce(int fd);

/* Brings the device up. */
bool device_set_up(int fd);

/* Adds an address: 4 bytes of `address` for AF_INET, 16 for AF_INET6. */
bool device_add_address(int fd, int family, const uint8_t *address, uint8_t prefix_length);

/* Makes the kernel leave checksums unfinished, and pass GSO packets of these protocols. */
enum device_offload { DEVICE_CHECKSUMS, DEVICE_TCP, DEVICE_TCP_UDP };
bool device_offer(int fd, enum device_offload offload);
