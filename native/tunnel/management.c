#include "tunnel/tunnel.h"

#include <sys/socket.h>

#include "common/clock.h"
#include "tunnel/peer/adaptation.h"
#include "tunnel/data/gre.h"
#include "tunnel/peer/plain.h"

/* The longest time that a run chosen by the rate takes on its path, so that packets on paths of one delay arrive in
 * order. */
#define RUN_NS 200000.0
/* Every IPv4 host accepts packets of this size (RFC 791). */
#define MTU_MIN 576u
/* Factor of the reordering margin at each keepalive, so that it shrinks again. */
#define MARGIN_KEPT 0.95

static struct peer_report report_on(const struct tunnel *tunnel, int path)
{
    return (struct peer_report){
        .enabled = tunnel->paths[path].changeable.enabled,
        .next_sequence = (uint32_t)counter_read(&tunnel->sender.sent),
        .sent_packets = counter_read(&tunnel->sender.path_stats[path].packets),
        .received_packets = counter_read(&tunnel->receiver.path_stats[path].packets),
        .received_bytes = counter_read(&tunnel->receiver.path_stats[path].bytes),
    };
}

/* The first call may only report an error of an earlier message. If the second fails, the next keepalive follows
 * soon. */
static void send_message(struct tunnel *tunnel, int path, const uint8_t *message, size_t length)
{
    if (send(tunnel->sockets[path].fd, message, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        send(tunnel->sockets[path].fd, message, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    counter_add(&tunnel->counters.keepalives_sent[path], 1);
}

static void send_keepalive(struct tunnel *tunnel, int path, uint64_t response, uint64_t now)
{
    uint8_t message[GRE_BYTES + KEEPALIVE_BYTES];
    struct peer_report report = report_on(tunnel, path);
    gre_write(message, KEEPALIVE_PROTOCOL, false, 0);
    if (peer_write(&tunnel->peer, path, &report, response, now, message + GRE_BYTES))
        send_message(tunnel, path, message, sizeof message);
}

static struct adaptation_path quality(const struct tunnel *tunnel, int path)
{
    const struct peer_path *peer = &tunnel->peer.paths[path];
    return (struct adaptation_path){
        .usable = tunnel_path_is_up(tunnel, path) && !tunnel->paths[path].changeable.backup,
        .loss = peer->loss_outwards,
        .queued_ns = peer_queued_ns(peer),
    };
}

static void adapt(struct tunnel *tunnel)
{
    int count = tunnel->configuration->path_count;
    struct adaptation_path paths[PATHS_MAX] = {0};
    double weights[PATHS_MAX] = {0};
    for (int i = 0; i < count; i++) {
        paths[i] = quality(tunnel, i);
        weights[i] = tunnel->paths[i].adapted;
        tunnel->paths[i].capacity_bps =
            adaptation_capacity(tunnel->paths[i].capacity_bps, &paths[i], tunnel->peer.paths[i].delivered_bps);
    }
    if (tunnel->configuration->weights == WEIGHTS_FIXED)
        return;
    adaptation_step(weights, paths, count);
    for (int i = 0; i < count; i++)
        tunnel->paths[i].adapted = weights[i];
}

static int paths_in_use(const struct tunnel *tunnel)
{
    int used = 0;
    for (int i = 0; i < tunnel->configuration->path_count; i++)
        used += quality(tunnel, i).usable;
    return used > 0 ? used : 1;
}

static void measure_rate(struct tunnel *tunnel, uint64_t now)
{
    uint64_t bytes = counter_read(&tunnel->sender.stats.bytes), elapsed = now - tunnel->measured_ns;
    if (elapsed == 0)
        return;
    tunnel->rate_bps = (double)(bytes - tunnel->measured_bytes) * 8 * (double)NS_PER_S / (double)elapsed;
    tunnel->measured_bytes = bytes;
    tunnel->measured_ns = now;
    double run = tunnel->rate_bps / paths_in_use(tunnel) * RUN_NS / (double)NS_PER_S / 8 / tunnel->mtu;
    tunnel->run = run < 1 ? 1 : run > SEGMENTS_MAX ? SEGMENTS_MAX : (uint32_t)run;
    if (tunnel->configuration->run != 0)
        tunnel->run = tunnel->configuration->run;
}

void management_follow_mtu(struct tunnel *tunnel)
{
    const struct configuration *configuration = tunnel->configuration;
    uint32_t gre = gre_bytes(tunnel->sender.sequenced), least = configuration->mtu != 0 ? configuration->mtu : 65535;
    for (int i = 0; i < configuration->path_count; i++) {
        int family = configuration->paths[i].local.family;
        uint32_t mtu = path_socket_mtu(tunnel->sockets[i].fd, family), overhead = path_socket_overhead(family) + gre;
        if (mtu != 0) /* it is 0 while there is no route */
            tunnel->paths[i].mtu = mtu;
        mtu = tunnel->paths[i].mtu;
        if (tunnel->paths[i].changeable.enabled && mtu > overhead && mtu - overhead < least)
            least = mtu - overhead;
    }
    if (least < MTU_MIN)
        least = MTU_MIN;
    if (least == tunnel->mtu || !tunnel_set_mtu(&tunnel->tun, least, DATAGRAM_MAX / (least + gre)))
        return;
    tunnel->mtu = least;
    tunnel->sender.mtu = tunnel->receiver.mtu = least;
}

static void tick(struct tunnel *tunnel, uint64_t now)
{
    const struct configuration *configuration = tunnel->configuration;
    for (int i = 0; configuration->keepalives && i < configuration->path_count; i++)
        send_keepalive(tunnel, i, tunnel->peer.peer_challenge, now);
    management_follow_mtu(tunnel);
    measure_rate(tunnel, now);
    if (configuration->keepalives)
        adapt(tunnel);
    tunnel->next_tick_ns = now + configuration->interval_ns;
}

uint64_t management_next_due(void *context)
{
    struct tunnel *tunnel = context;
    pthread_mutex_lock(&tunnel->lock);
    uint64_t due = peer_due(&tunnel->peer);
    if (tunnel->next_tick_ns < due)
        due = tunnel->next_tick_ns;
    pthread_mutex_unlock(&tunnel->lock);
    return due;
}

void management_run_due(void *context, uint64_t now)
{
    struct tunnel *tunnel = context;
    pthread_mutex_lock(&tunnel->lock);
    bool changed = peer_check(&tunnel->peer, now);
    if (now >= tunnel->next_tick_ns) {
        tick(tunnel, now);
        changed = true;
    }
    if (changed)
        counter_add(&tunnel->epoch, 1);
    pthread_mutex_unlock(&tunnel->lock);
}

/* Updates the reordering from a keepalive. In the downlink thread, which it belongs to. */
static void update_reordering(struct tunnel *tunnel, int path, uint32_t next_sequence)
{
    struct reorder *reorder = &tunnel->receiver.reorder;
    reorder_compare(reorder, next_sequence);
    reorder_pass(reorder, path, next_sequence);
    if (tunnel->configuration->reordering != REORDERING_ADAPTIVE)
        return;
    reorder->margin_ns = (uint64_t)((double)reorder->margin_ns * MARGIN_KEPT);
    reorder->paths[path].lead_ns = tunnel_lead_ns(tunnel, path);
}

static void handle_plain(struct tunnel *tunnel, int path, const uint8_t *data, size_t length, uint64_t now)
{
    uint8_t answer[PLAIN_DATAGRAM_BYTES];
    if (!tunnel->configuration->answer_plain || !plain_answer(data, length, answer)) {
        counter_add(&tunnel->counters.verdicts[PEER_MALFORMED], 1);
        return;
    }
    counter_add(&tunnel->counters.keepalives_heard[path], 1);
    send_message(tunnel, path, answer, sizeof answer);
    if (peer_hear_plain(&tunnel->peer, path, now))
        counter_add(&tunnel->epoch, 1);
}

static void handle_keepalive(struct tunnel *tunnel, int path, const uint8_t *data, size_t length, uint64_t now)
{
    struct keepalive message;
    struct peer_report report = report_on(tunnel, path);
    bool was_up = tunnel->peer.paths[path].up;
    enum peer_verdict verdict = peer_read(&tunnel->peer, path, data, length, &report, now, &message);
    counter_add(&tunnel->counters.verdicts[verdict], 1);
    if (verdict == PEER_HEARD || verdict == PEER_NEW)
        counter_add(&tunnel->counters.keepalives_heard[path], 1);
    if (verdict == PEER_NEW || verdict == PEER_GREETING)
        send_keepalive(tunnel, path, verdict == PEER_NEW ? tunnel->peer.peer_challenge : message.challenge, now);
    if (verdict == PEER_NEW && tunnel->receiver.ordered)
        reorder_restart(&tunnel->receiver.reorder, message.next_sequence);
    if (verdict == PEER_HEARD && tunnel->receiver.ordered)
        update_reordering(tunnel, path, message.next_sequence);
    if (was_up != tunnel->peer.paths[path].up || verdict == PEER_NEW)
        counter_add(&tunnel->epoch, 1);
}

/* Handles a control message, in the downlink thread. */
static void handle_control(void *context, int path, const uint8_t *data, size_t length, uint64_t now)
{
    struct tunnel *tunnel = context;
    pthread_mutex_lock(&tunnel->lock);
    if (tunnel->configuration->keepalives)
        handle_keepalive(tunnel, path, data, length, now);
    else
        handle_plain(tunnel, path, data, length, now);
    pthread_mutex_unlock(&tunnel->lock);
}

void management_begin(struct tunnel *tunnel)
{
    tunnel->receiver.control = handle_control;
    tunnel->receiver.control_context = tunnel;
    management_follow_mtu(tunnel);
}
