/* The TUN device: the tunnel as applications see it. */
#ifndef FLIGHTPATH_TUNNEL_TUN_H
#define FLIGHTPATH_TUNNEL_TUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/configuration/configuration.h"

/* Packets, of up to 64 KiB, that the kernel keeps for the tunnel to read. With 1000 a transfer that the processors limit stood in a
 * queue of 40 to 155 ms and lost thousands of packets at once; with this many it was 12 to 14 ms, and none to 900. */
#define TUN_QUEUE_PACKETS 250

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
