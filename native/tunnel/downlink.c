/* The downlink thread: receives from all paths, then writes to the device what is in order. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lifecycle.h"
#include "tunnel/tunnel.h"

/* Messages per system call: of several datagrams each, or of one. */
#define SUPER_BATCH 4u
#define PLAIN_BATCH 64u

/* What the kernel says of a message: its time of arrival, and the size of its datagrams. */
#define CONTROL_BYTES (CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(int)))

struct downlink {
    struct tunnel *tunnel;
    uint64_t epoch;
    bool up[PATHS_MAX];
    bool large;     /* whether to receive into large buffers */
    unsigned batch; /* messages per system call */
    struct buffer *buffers[PLAIN_BATCH];
    struct mmsghdr messages[PLAIN_BATCH];
    struct iovec parts[PLAIN_BATCH];
    _Alignas(struct cmsghdr) uint8_t controls[PLAIN_BATCH][CONTROL_BYTES];
};

static bool write_device(void *context, const struct iovec *parts, int count)
{
    struct tunnel *tunnel = context;
    if (writev(tunnel->tun.fd, parts, count) >= 0)
        return true;
    if (errno == EBADFD)
        lifecycle_end(&tunnel->ended);
    return false;
}

/* Prepares a buffer for each message of a call. Returns false if there is none at all. */
static bool prepare_buffers(struct downlink *downlink, uint64_t now)
{
    struct receiver *receiver = &downlink->tunnel->receiver;
    for (unsigned i = 0; i < downlink->batch; i++) {
        if (downlink->buffers[i] == NULL)
            downlink->buffers[i] = buffers_take(&receiver->buffers, downlink->large);
        if (downlink->buffers[i] == NULL) {
            receiver_relieve(receiver, now);
            downlink->buffers[i] = buffers_take(&receiver->buffers, downlink->large);
        }
        if (downlink->buffers[i] == NULL)
            return i > 0;
        downlink->parts[i] = (struct iovec){
            .iov_base = downlink->buffers[i]->bytes,
            .iov_len = downlink->buffers[i]->large ? BUFFERS_LARGE_BYTES : BUFFERS_SMALL_BYTES,
        };
        downlink->messages[i].msg_hdr = (struct msghdr){
            .msg_iov = &downlink->parts[i],
            .msg_iovlen = 1,
            .msg_control = downlink->controls[i],
            .msg_controllen = sizeof downlink->controls[i],
        };
    }
    return true;
}

/* Copies what the kernel says of a message, if it does. */
static void read_control(struct msghdr *header, int level, int type, void *value, size_t size)
{
    for (struct cmsghdr *option = CMSG_FIRSTHDR(header); option != NULL; option = CMSG_NXTHDR(header, option))
        if (option->cmsg_level == level && option->cmsg_type == type)
            memcpy(value, CMSG_DATA(option), size);
}

/* The size of the datagrams that the kernel has merged; 0 if there is only one. */
static size_t segment_of(struct msghdr *header)
{
    int size = 0;
    read_control(header, IPPROTO_UDP, UDP_GRO, &size, sizeof size);
    return size > 0 ? (size_t)size : 0;
}

/* When the first datagram that waits in a socket came, in ns; NEVER if none does. */
static uint64_t arrival(int socket)
{
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
    struct msghdr header = {.msg_control = control, .msg_controllen = sizeof control};
    struct timespec came = {0};
    if (recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT) < 0)
        return NEVER;
    read_control(&header, SOL_SOCKET, SCM_TIMESTAMPNS, &came, sizeof came);
    return clock_join(came);
}

/* Serves the datagrams of a message. Returns the time when that is done. */
static uint64_t serve(struct service *service, size_t length, size_t segment, uint64_t now)
{
    if (service->packet_ns == 0)
        return now;
    service_spend(service, segment == 0 ? 1 : (length + segment - 1) / segment);
    return service->free_ns;
}

/* A datagram did not fit: the path's MTU has grown, or the peer's is larger than ours. */
static void enlarge_buffers(struct downlink *downlink)
{
    downlink->large = true;
    for (unsigned i = 0; i < downlink->batch; i++) {
        if (downlink->buffers[i] != NULL)
            buffers_release(&downlink->tunnel->receiver.buffers, downlink->buffers[i]);
        downlink->buffers[i] = NULL;
    }
}

/* Returns the time, which has passed if packets have a service time. */
static uint64_t receive(struct downlink *downlink, int path, uint64_t now)
{
    struct tunnel *tunnel = downlink->tunnel;
    bool is_cut = false;
    if (!prepare_buffers(downlink, now))
        return now;
    int got = recvmmsg(tunnel->sockets[path].fd, downlink->messages, downlink->batch, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++) {
        struct msghdr *header = &downlink->messages[i].msg_hdr;
        struct buffer *buffer = downlink->buffers[i];
        downlink->buffers[i] = NULL;
        if (downlink->messages[i].msg_len == 0 || (header->msg_flags & MSG_TRUNC)) {
            is_cut |= (header->msg_flags & MSG_TRUNC) != 0;
            counter_add(&tunnel->receiver.stats.malformed, 1);
            buffers_release(&tunnel->receiver.buffers, buffer);
            continue;
        }
        size_t length = downlink->messages[i].msg_len, segment = segment_of(header);
        now = serve(&tunnel->receiving, length, segment, now);
        receiver_take(&tunnel->receiver, path, buffer, length, segment, now);
    }
    if (is_cut && !downlink->large)
        enlarge_buffers(downlink);
    return now;
}

/* Receives what came first: a model of a processor serves packets in the order of their arrival. Returns the time. */
static uint64_t receive_first(struct downlink *downlink, uint64_t now)
{
    const struct tunnel *tunnel = downlink->tunnel;
    uint64_t earliest = NEVER;
    int first = -1;
    for (int i = 0; i < tunnel->configuration->path_count; i++) {
        uint64_t came = arrival(tunnel->sockets[i].fd);
        if (came < earliest) {
            earliest = came;
            first = i;
        }
    }
    return first < 0 ? now : receive(downlink, first, now);
}

/* Receives from all paths that have something. Returns the time. */
static uint64_t receive_all(struct downlink *downlink, const struct pollfd *polled, uint64_t now)
{
    for (int i = 0; i < downlink->tunnel->configuration->path_count; i++)
        if (polled[i].revents != 0)
            now = receive(downlink, i, now);
    return now;
}

static void follow_path(struct downlink *downlink, int path, uint64_t now)
{
    struct reorder *reorder = &downlink->tunnel->receiver.reorder;
    bool up = tunnel_path_is_up(downlink->tunnel, path);
    if (up && !downlink->up[path])
        reorder_expect_path(reorder, path, now);
    else if (!up)
        reorder->paths[path].seen = false;
    downlink->up[path] = up;
}

static void follow_changes(struct downlink *downlink, uint64_t now)
{
    struct tunnel *tunnel = downlink->tunnel;
    uint64_t epoch = counter_read(&tunnel->epoch);
    if (epoch == downlink->epoch)
        return;
    downlink->epoch = epoch;
    pthread_mutex_lock(&tunnel->lock);
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        follow_path(downlink, i, now);
    pthread_mutex_unlock(&tunnel->lock);
}

void *downlink_run(void *context)
{
    static struct downlink downlink;
    struct tunnel *tunnel = downlink.tunnel = context;
    struct pollfd polled[PATHS_MAX];
    int count = tunnel->configuration->path_count;

    tunnel->receiver.merger.output = (struct merger_output){.write = write_device, .context = tunnel};
    /* Keeps queues short and packets in the processor's cache. Over two paths of 10 Gb/s on two cores (medians of three
     * runs in turn): 7.3 Gb/s; 5.9 without it; 5.1 if the uplink has high priority as well. */
    lifecycle_raise_priority();
    downlink.epoch = UINT64_MAX;
    downlink.large = tunnel->sender.segmentation || tunnel->mtu > BUFFERS_SMALL_BYTES - 128;
    downlink.batch = tunnel->sender.segmentation ? SUPER_BATCH : PLAIN_BATCH;
    bool is_model = tunnel->configuration->service_ns > 0;
    if (is_model)
        downlink.batch = 1; /* others stay in the socket's buffer until they are served */
    service_begin(&tunnel->receiving, tunnel->configuration->service_ns);
    for (int i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = tunnel->sockets[i].fd, .events = POLLIN};
        if (is_model)
            setsockopt(tunnel->sockets[i].fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int));
    }
    for (uint64_t now = clock_now();;) {
        bool waits = is_model && poll(polled, (nfds_t)count, 0) == 0;
        clock_poll(polled, (nfds_t)count, now, receiver_due(&tunnel->receiver, now));
        now = clock_now();
        if (waits)
            service_waited(&tunnel->receiving, now);
        follow_changes(&downlink, now);
        now = is_model ? receive_first(&downlink, now) : receive_all(&downlink, polled, now);
        receiver_flush(&tunnel->receiver, now);
    }
    return NULL;
}
