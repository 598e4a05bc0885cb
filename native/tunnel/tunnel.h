/* A running tunnel: its device, its paths, and its threads.
 *
 *   uplink    reads the device, sends on the paths                       (uplink.c)
 *   downlink  receives from the paths, writes the device                 (downlink.c)
 *   control   keepalives, failover, MTU, requests, in the main thread    (management.c, requests.c)
 *
 * The uplink owns the sender, the downlink the receiver. What all share is protected by `lock`, which is taken only for
 * control messages and changes; a new `epoch` tells the other two that something has changed. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/counter.h"
#include "tunnel/configuration/configuration.h"
#include "tunnel/path_socket.h"
#include "tunnel/peer/peer.h"
#include "tunnel/data/receiver.h"
#include "tunnel/data/sender.h"
#include "tunnel/service.h"

/* The TUN device, the interface that applications use. */
struct tun {
    int fd;
    bool tcp, udp; /* whether GSO packets pass, in both directions */
};

/* The state of a path, protected by `lock`. */
struct tunnel_path {
    struct path_changeable changeable; /* as configured, or set since */
    double adapted;                    /* factor of the weight */
    uint64_t capacity_bps;
    uint32_t mtu; /* MTU of the path itself */
};

/* Counters besides those of sender and receiver; each has one writer. */
struct tunnel_counters {
    counter send_errors[PATHS_MAX], send_drops[PATHS_MAX];           /* uplink */
    counter keepalives_sent[PATHS_MAX], keepalives_heard[PATHS_MAX]; /* protected by `lock`, as the next */
    counter verdicts[PEER_VERDICTS];                                 /* on control messages */
};

struct tunnel {
    const struct configuration *configuration;
    uint64_t started_ns;
    struct tun tun;
    struct path_socket sockets[PATHS_MAX];
    struct sender sender;
    struct receiver receiver;
    struct tunnel_counters counters;
    pthread_t uplink, downlink;
    struct service sending, receiving; /* of these two threads */
    atomic_bool ended; /* the device was deleted */

    pthread_mutex_t lock; /* protects all that follows */
    counter epoch;
    struct peer peer;
    struct tunnel_path paths[PATHS_MAX];
    uint32_t mtu;
    uint32_t run;
    uint64_t next_tick_ns;
    uint64_t measured_ns, measured_bytes; /* for the rate */
    double rate_bps;
};

/* Opens sockets and device. Returns false with a sentence and a remedy in `error`. */
bool tunnel_open(struct tunnel *tunnel, const struct configuration *configuration, char *error, size_t error_size);

/* Sets the device's MTU. `segments` is the most that a GSO packet may have; 0 for the default. Returns false if the
 * kernel refuses. */
bool tunnel_set_mtu(const struct tun *tun, uint32_t mtu, uint32_t segments);

/* For these two the caller has `lock`. */
bool tunnel_path_is_up(const struct tunnel *tunnel, int path);
/* Returns how long to delay the path's packets to match slower paths, if the scheduler takes them in turn: then a
 * connection's round trip stays the same. */
uint64_t tunnel_lead_ns(const struct tunnel *tunnel, int path);

/* The threads. */
void *uplink_run(void *tunnel);
void *downlink_run(void *tunnel);

/* The control. */

/* Sets the MTU, and connects control messages to the management. Call it before the threads start. */
void management_begin(struct tunnel *tunnel);

/* For struct control_handler (control.h), with the tunnel as context. */
uint64_t management_next_due(void *tunnel);
void management_run_due(void *tunnel, uint64_t now);

/* Sets the device's MTU to what all paths in use can carry. The caller has `lock`. */
void management_follow_mtu(struct tunnel *tunnel);
