/* The TUN device, the interface that applications use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration/configuration.h"

/* Length of the kernel's queue for the tunnel, in packets of up to 64 KiB. When processors limited a transfer, a queue
 * of 1000 caused delays of 40 to 155 ms and losses of thousands of packets at once; this one 12 to 14 ms and at most
 * 900. */
#define TUN_QUEUE_PACKETS 250

struct tun {
    int fd;
    bool tcp, udp; /* whether super-packets pass, in both directions */
};

/* Creates the configured device with its addresses, and brings it up. Returns false with a sentence and a remedy in
 * `error`. */
bool tun_create(const struct configuration *configuration, uint32_t mtu, struct tun *tun, char *error,
                size_t error_size);

/* `segments` is the most that a super-packet may have; 0 for the default. Returns false if the kernel refuses. */
bool tun_set_mtu(const struct tun *tun, uint32_t mtu, uint32_t segments);
