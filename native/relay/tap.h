/* A TAP device: one end of a link. See device.h for its lifetime and its namespace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/device.h"

/* The speed in Mb/s that the kernel gives a new device. */
#define TAP_SPEED 10000u
/* Frames that the kernel keeps for the relay to read. */
#define TAP_QUEUE_FRAMES 10000

struct tap_request {
    const char *name;
    pid_t process; /* make it in this process's network namespace; 0: in the own one */
    uint32_t mtu;  /* 0: the kernel's default, 1500 */
    bool has_mac;
    uint8_t mac[6];
};

/* Creates the device, down, in the namespace where it will stay: to move it later would cost 40 ms a link, because
 * the kernel waits for all its processors. Returns the descriptor (non-blocking), or -1 with a sentence and its
 * remedy in `error`. */
int tap_create(const struct tap_request *request, char *error, size_t error_size);

/* Lets the kernel pass GSO packets of at most `bound` bytes; 0: none, the kernel cuts them. Checksums stay
 * unfinished in either case. Works wherever the device is, from any thread with CAP_SYS_ADMIN, which enters the
 * device's namespace for a moment. Returns the bound in force: `bound`, or 0 if the kernel cannot do it. */
uint32_t tap_bound_frames(int fd, uint32_t bound);

/* The speed in whole Mb/s, at least 1, that ethtool, sysfs and OpenFlow show for an end which sends at this rate.
 * Without a rate (0) it is that of a new device. */
uint32_t tap_speed(uint64_t rate_bps);

/* Shows a speed, to listeners too if `announce`. Without effect on a kernel that cannot (before Linux 5.7). */
void tap_show_speed(int fd, uint32_t mbit, bool announce);

/* Switches the carrier on or off, as if a cable were plugged in or not. Returns false with errno if the kernel
 * cannot do it. */
bool tap_set_carrier(int fd, bool on);
