/* The uplink thread: reads from the device while it has packets, then sends them on the paths. */
#include <errno.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lifecycle.h"
#include "tunnel/tunnel.h"

#define PACKET_MAX 65536u
/* Bytes to read before sending: few enough to stay in the processor's cache. */
#define BATCH_BYTES 65536u
#define ROOM_BYTES (BATCH_BYTES + PACKET_MAX + 4096u)
/* Longest wait for a full socket queue before packets are dropped. */
#define FULL_QUEUE_MS 10

struct uplink {
    struct tunnel *tunnel;
    uint64_t epoch;
    uint32_t used; /* used bytes of `room` */
    _Alignas(64) uint8_t room[ROOM_BYTES];
};

/* Handles an errno of sendmmsg(). Returns whether to try the same message again. */
static bool handle_error(struct tunnel *tunnel, int path, int reason, int attempt)
{
    int fd = tunnel->sockets[path].fd;
    if (reason == EINTR || reason == ECONNREFUSED) /* from an ICMP answer to an earlier message, which may be forged */
        return attempt < 3;
    if (reason == EAGAIN && attempt == 0)
        return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, FULL_QUEUE_MS) > 0;
    if (reason == EMSGSIZE || reason == EINVAL)
        counter_add(&tunnel->sender.stats.too_large, 1); /* the next tick finds out the path's new MTU */
    else if (reason == EIO || reason == EOPNOTSUPP)
        tunnel->sender.segmentation = false; /* this network device cannot do it */
    else
        counter_add(&tunnel->counters.send_errors[path], 1);
    return false;
}

static void send_all(void *context, int path, struct mmsghdr *messages, unsigned count)
{
    struct tunnel *tunnel = context;
    unsigned done = 0;
    for (int attempt = 0; done < count;) {
        int sent = sendmmsg(tunnel->sockets[path].fd, messages + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            done += (unsigned)sent;
            attempt = 0;
        } else if (!handle_error(tunnel, path, errno, attempt++)) {
            counter_add(&tunnel->counters.send_drops[path], 1);
            done++;
            attempt = 0;
        }
    }
}

static void describe_paths(const struct tunnel *tunnel, struct scheduler_path *paths)
{
    for (int i = 0; i < tunnel->configuration->path_count; i++) {
        const struct tunnel_path *path = &tunnel->paths[i];
        paths[i] = (struct scheduler_path){
            .usable = tunnel_path_is_up(tunnel, i),
            .backup = path->changeable.backup,
            .weight = path->changeable.weight * path->adapted,
            .rtt_ns = (uint64_t)tunnel->peer.paths[i].rtt.smoothed_ns,
            .capacity_bps = path->capacity_bps,
        };
    }
}

static void follow_changes(struct uplink *uplink)
{
    struct tunnel *tunnel = uplink->tunnel;
    struct scheduler *scheduler = &tunnel->sender.scheduler;
    uint64_t epoch = counter_read(&tunnel->epoch);
    if (epoch != uplink->epoch) {
        struct scheduler_path paths[PATHS_MAX];
        pthread_mutex_lock(&tunnel->lock);
        describe_paths(tunnel, paths);
        scheduler_change(scheduler, paths, tunnel->run);
        pthread_mutex_unlock(&tunnel->lock);
        uplink->epoch = epoch;
    }
    if (scheduler->kind == SCHEDULER_RTT)
        scheduler_at(scheduler, clock_now());
}

static void flush(struct uplink *uplink)
{
    sender_flush(&uplink->tunnel->sender);
    uplink->used = 0;
}

/* Reads one packet, and serves it. Returns false if there is none. */
static bool read_packet(struct uplink *uplink)
{
    struct tunnel *tunnel = uplink->tunnel;
    struct virtio_net_hdr vnet;
    uint8_t *ip = uplink->room + uplink->used + SENDER_HEADROOM;
    const struct iovec parts[2] = {{&vnet, sizeof vnet}, {ip, PACKET_MAX}};
    ssize_t got = readv(tunnel->tun.fd, parts, 2);
    if (got < (ssize_t)sizeof vnet) {
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            lifecycle_end(&tunnel->ended);
        return false;
    }
    uint32_t length = (uint32_t)got - sizeof vnet;
    uint64_t before = counter_read(&tunnel->sender.stats.packets);
    if (!sender_take(&tunnel->sender, &vnet, ip, length)) {
        sender_flush(&tunnel->sender); /* send the packets before it */
        sender_take(&tunnel->sender, &vnet, ip, length);
    }
    uplink->used += (SENDER_HEADROOM + length + 63) / 64 * 64;
    service_spend(&tunnel->sending, counter_read(&tunnel->sender.stats.packets) - before);
    return true;
}

void *uplink_run(void *context)
{
    static struct uplink uplink;
    struct tunnel *tunnel = uplink.tunnel = context;
    /* A packet that was served leaves, and does not wait until others were. */
    const uint32_t batch_bytes = tunnel->configuration->service_ns > 0 ? 1 : BATCH_BYTES;
    uplink.epoch = UINT64_MAX;
    tunnel->sender.output = (struct sender_output){.send = send_all, .context = tunnel};
    service_begin(&tunnel->sending, tunnel->configuration->service_ns);
    for (;;) {
        follow_changes(&uplink);
        bool more = read_packet(&uplink);
        if (uplink.used >= batch_bytes || (!more && uplink.used > 0))
            flush(&uplink);
        else if (!more) {
            poll(&(struct pollfd){.fd = tunnel->tun.fd, .events = POLLIN}, 1, -1);
            if (tunnel->sending.packet_ns > 0)
                service_waited(&tunnel->sending, clock_now());
        }
    }
    return NULL;
}
