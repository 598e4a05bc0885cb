/* A running tunnel: its device, its paths, and what its threads share.
 *
 *   uplink    reads the device, sends on the paths            (uplink.c)
 *   downlink  reads the paths, writes the device              (downlink.c)
 *   control   keepalives, failover, MTU, requests: main()'s   (management.c, requests.c)
 *
 * Sender and receiver belong to their threads. What the three share is under `lock`, which is taken for control messages and
 * changes only; `epoch` tells the other two that something has changed. */
#ifndef FLIGHTPATH_TUNNEL_TUNNEL_H
#define FLIGHTPATH_TUNNEL_TUNNEL_H

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
#include "tunnel/tun.h"

/* Under `lock`. */
struct tunnel_path {
    struct path_changeable changeable; /* as configured, or set since */
    double adapted;                /* factor of the weight */
    uint64_t capacity_bps;
    uint32_t mtu;        /* of the path itself */
    uint64_t changed_ns; /* when it went up or down */
};

/* What the threads count beside sender and receiver. One writer each. */
struct tunnel_counters {
    counter send_errors[PATHS_MAX], send_drops[PATHS_MAX]; /* uplink */
    counter keepalives_sent[PATHS_MAX], keepalives_heard[PATHS_MAX]; /* under `lock` */
    counter verdicts[PEER_VERDICTS]; /* on control messages: downlink */
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
    _Atomic bool ended; /* the device was deleted */

    pthread_mutex_t lock;
    counter epoch;
    struct peer peer;
    struct tunnel_path paths[PATHS_MAX];
    uint32_t mtu;
    uint32_t run;
    uint64_t next_tick_ns;
    uint64_t measured_ns, measured_bytes; /* for the rate */
    double rate_bps;
};

/* Opens sockets and device. Returns false with one sentence and its remedy in `error`. */
bool tunnel_open(struct tunnel *tunnel, const struct configuration *configuration, char *error, size_t error_size);

/* Starts both threads; returns an errno value. */
int tunnel_start(struct tunnel *tunnel);

/* The calling thread goes before what fills the paths, if the privilege allows it. */
void tunnel_take_precedence(void);

/* From here on no message is signed or checked: exit() takes down the library that does it while the threads still run. */
void tunnel_still(struct tunnel *tunnel);

/* The device is gone: ends the program. For the threads. */
_Noreturn void tunnel_end(struct tunnel *tunnel);

/* Of one path, whatever is known; with `lock` held. */
bool tunnel_path_is_up(const struct tunnel *tunnel, int path);
/* How long its packets wait for those of slower paths, where all take turns: then a connection's round trip is always the same. */
uint64_t tunnel_lead_ns(const struct tunnel *tunnel, int path);
void tunnel_describe_paths(const struct tunnel *tunnel, struct scheduler_path *paths);

/* Threads. */
void *uplink_run(void *tunnel);
void *downlink_run(void *tunnel);

/* CPU time of a thread. */
uint64_t tunnel_cpu_ns(pthread_t thread);

#endif
