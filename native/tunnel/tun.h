/* The TUN device: the tunnel as applications see it. */
#ifndef FLIGHTPATH_TUNNEL_TUN_H
#define FLIGHTPATH_TUNNEL_TUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration.h"

/* Packets, of up to 64 KiB, that the kernel keeps for the tunnel to read. */
#define TUN_QUEUE_PACKETS 1000

struct tun {
    int fd;
    bool tcp, udp; /* super-packets pass, in and out */
};

/* Creates the device of the configuration with its addresses, and brings it up. Returns false with one sentence and its remedy in
 * `error`. */
bool tun_create(const struct configuration *configuration, uint32_t mtu, struct tun *tun, char *error, size_t error_size);

/* Returns false if the kernel refuses. `segments` is how many of them a super-packet may have. */
bool tun_set_mtu(const struct tun *tun, uint32_t mtu, uint32_t segments);

#endif
