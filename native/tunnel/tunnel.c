#include "tunnel/tunnel.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/device.h"
#include "tunnel/data/gre.h"

/* The device's MTU until those of the paths are known. */
#define FIRST_MTU 1280u
/* Smaller differences between the delays of paths are ignored. */
#define LEAD_MIN_NS UINT64_C(1000000)

/* Length of the kernel's queue for the tunnel, in packets of up to 64 KiB. When processors limited a transfer, a queue
 * of 1000 caused delays of 40 to 155 ms and losses of thousands of packets at once; this one 12 to 14 ms and at most
 * 900. */
#define TUN_QUEUE_PACKETS 250

bool tunnel_set_mtu(const struct tun *tun, uint32_t mtu, uint32_t segments)
{
    if (segments > 0)
        device_set_number(tun->fd, IFLA_GSO_MAX_SEGS, segments); /* if refused, larger ones take two calls */
    return device_set_number(tun->fd, IFLA_MTU, mtu);
}

static bool bring_up(const struct configuration *configuration, int fd)
{
    if (!device_set_number(fd, IFLA_TXQLEN, TUN_QUEUE_PACKETS))
        return false;
    for (int i = 0; i < configuration->addresses.count; i++) {
        const struct address *address = &configuration->addresses.list[i];
        if (!device_add_address(fd, address->family, address->bytes, address->prefix_length))
            return false;
    }
    return device_set_up(fd);
}

/* Creates the configured device with its addresses, and brings it up. Returns false with a sentence and a remedy in
 * `error`. */
static bool create_device(const struct configuration *configuration, struct tun *tun, char *error, size_t error_size)
{
    tun->fd = device_open(configuration->device, 0, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, error, error_size);
    if (tun->fd < 0)
        return false;
    tun->udp = configuration->offloads && device_offer(tun->fd, DEVICE_TCP_UDP);
    tun->tcp = tun->udp || (configuration->offloads && device_offer(tun->fd, DEVICE_TCP));
    if (!tun->tcp)
        device_offer(tun->fd, DEVICE_CHECKSUMS);
    if (tunnel_set_mtu(tun, FIRST_MTU, 0) && bring_up(configuration, tun->fd))
        return true;
    device_fail(tun->fd, "set MTU, addresses and state", configuration->device, error, error_size);
    return false;
}

static void prepare_sender(struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    struct sender *sender = &tunnel->sender;
    sender->sequenced = configuration->reordering != REORDERING_OFF;
    sender->clamp = configuration->clamp;
    sender->segmentation = configuration->offloads;
    for (int i = 0; i < configuration->path_count; i++)
        sender->segmentation &= tunnel->sockets[i].segmentation;
    scheduler_init(&sender->scheduler, configuration->scheduler, configuration->path_count, tunnel->run);
}

/* Returns false if there is no memory. */
static bool prepare_receiver(struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    struct receiver *receiver = &tunnel->receiver;
    receiver->ordered = configuration->reordering != REORDERING_OFF;
    receiver->clamp = configuration->clamp;
    receiver->merger.tcp = tunnel->tun.tcp;
    receiver->merger.udp = tunnel->tun.udp;
    if (!receiver_init(receiver, configuration->window))
        return false;
    receiver->reorder.limit_ns = configuration->max_delay_ns;
    receiver->reorder.by_paths = configuration->reordering == REORDERING_ADAPTIVE;
    receiver->reorder.backwards = !configuration->keepalives;
    return true;
}

static bool prepare_peer(struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    const struct peer_settings settings = {
        .paths = configuration->path_count,
        .dead_ns = configuration->dead_ns,
        .recover = configuration->recover,
        .key = configuration->key,
    };
    uint64_t seed[3];
    if (getrandom(seed, sizeof seed, 0) != sizeof seed)
        return false;
    peer_init(&tunnel->peer, &settings, seed);
    return true;
}

bool tunnel_open(struct tunnel *tunnel, const struct configuration *configuration, char *error, size_t error_size)
{
    *tunnel = (struct tunnel){.configuration = configuration, .lock = PTHREAD_MUTEX_INITIALIZER};
    tunnel->started_ns = tunnel->measured_ns = clock_now();
    tunnel->run = configuration->run != 0 ? configuration->run : 1;
    for (int i = 0; i < configuration->path_count; i++)
        if (!path_socket_open(&configuration->paths[i], configuration->port, configuration->offloads,
                              &tunnel->sockets[i], error, error_size))
            return false;
    if (!create_device(configuration, &tunnel->tun, error, error_size))
        return false;
    prepare_sender(tunnel);
    for (int i = 0; i < configuration->path_count; i++)
        tunnel->paths[i] = (struct tunnel_path){.changeable = configuration->paths[i].changeable, .adapted = 1};
    if (!prepare_peer(tunnel) || !sender_init(&tunnel->sender) || !prepare_receiver(tunnel)) {
        snprintf(error, error_size, "cannot get memory: %s; raise `ulimit -v`", strerror(errno));
        return false;
    }
    return true;
}

bool tunnel_path_is_up(const struct tunnel *tunnel, int path)
{
    const struct peer_path *peer = &tunnel->peer.paths[path];
    if (!tunnel->configuration->keepalives)
        return tunnel->paths[path].changeable.enabled && (peer->up || !peer->heard);
    return tunnel->paths[path].changeable.enabled && peer->up && (peer->flags & KEEPALIVE_ENABLED);
}

uint64_t tunnel_lead_ns(const struct tunnel *tunnel, int path)
{
    const struct configuration *configuration = tunnel->configuration;
    uint64_t longest = 0;
    if (configuration->reordering != REORDERING_ADAPTIVE || configuration->scheduler != SCHEDULER_WRR)
        return 0;
    for (int i = 0; i < configuration->path_count; i++) {
        uint64_t lead = peer_lead_ns(&tunnel->peer.paths[path], &tunnel->peer.paths[i]);
        if (tunnel_path_is_up(tunnel, i) && !tunnel->paths[i].changeable.backup && lead > longest)
            longest = lead;
    }
    if (longest < LEAD_MIN_NS)
        return 0;
    return longest < configuration->max_delay_ns ? longest : configuration->max_delay_ns;
}
