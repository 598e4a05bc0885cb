#include "tunnel/peer/peer.h"

#include <string.h>

#include "common/clock.h"

/* Weights of a new value in smoothed ones. */
#define LOSS_GAIN 0.2
#define RATE_GAIN 0.3
/* Bounds for what a peer reports, so that no sum overflows: nine years between the clocks, 1 Pb/s. */
#define DELAY_MAX (INT64_C(1) << 58)
#define RATE_MAX 1e15

void peer_init(struct peer *peer, const struct peer_settings *settings, const uint64_t seed[3])
{
    *peer = (struct peer){.settings = *settings, .session = seed[0], .challenge = seed[1], .secret = seed[2]};
}

/* Makes a challenge that is unpredictable without the key. */
static void renew_challenge(struct peer *peer)
{
    uint8_t mac[KEEPALIVE_MAC_BYTES];
    uint64_t text[2] = {peer->secret, peer->challenge};
    if (keepalive_mac(&peer->settings.key, (const uint8_t *)text, sizeof text, mac))
        memcpy(&peer->challenge, mac, sizeof peer->challenge);
}

bool peer_write(struct peer *peer, int path, const struct peer_report *report, uint64_t response, uint64_t now,
                uint8_t *out)
{
    const struct peer_path *to = &peer->paths[path];
    bool hears = to->heard && now - to->heard_ns < peer->settings.dead_ns;
    const struct keepalive message = {
        .path = (uint8_t)path,
        .flags = (uint8_t)((hears ? KEEPALIVE_HEARS : 0) | (report->enabled ? KEEPALIVE_ENABLED : 0)),
        .next_sequence = report->next_sequence,
        .session = peer->session,
        .counter = ++peer->counter,
        .challenge = peer->challenge,
        .response = response,
        .sent_ns = now,
        .echo_ns = to->remote_ns,
        .echo_age_ns = to->remote_ns == 0 ? 0 : now - to->heard_ns,
        .sent_packets = report->sent_packets,
        .received_packets = report->received_packets,
        .received_bytes = report->received_bytes,
        .lost_packets = to->lost_inwards,
        .delay_ns = to->inwards.smoothed_ns,
    };
    return keepalive_write(&message, &peer->settings.key, out);
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void note_least(struct peer_delay *delay, int64_t value, uint64_t now)
{
    if (!delay->known) {
        delay->previous_ns = delay->current_ns = value;
        delay->window_ns = now;
    } else if (now - delay->window_ns > PEER_WINDOW_NS) {
        delay->previous_ns = delay->current_ns;
        delay->current_ns = value;
        delay->window_ns = now;
    }
    delay->current_ns = lesser(delay->current_ns, value);
    delay->least_ns = lesser(delay->current_ns, delay->previous_ns);
}

static void note_delay(struct peer_delay *delay, int64_t value, uint64_t now)
{
    value = value < -DELAY_MAX ? -DELAY_MAX : lesser(value, DELAY_MAX);
    note_least(delay, value, now);
    if (!delay->known) {
        delay->smoothed_ns = value;
        delay->variation_ns = 0;
    } else {
        int64_t error = value - delay->smoothed_ns;
        delay->variation_ns += ((error < 0 ? -error : error) - delay->variation_ns) / 4;
        delay->smoothed_ns += error / 4;
    }
    delay->known = true;
}

/* The clocks show different times, so one-way delays can only be compared with those of other paths. */
static void note_delays(struct peer_path *path, const struct keepalive *message, uint64_t now)
{
    note_delay(&path->inwards, (int64_t)(now - message->sent_ns), now);
    if (message->echo_ns == 0)
        return;
    uint64_t round_trip = now - message->echo_ns - message->echo_age_ns;
    if ((int64_t)round_trip >= 0)
        note_delay(&path->rtt, (int64_t)round_trip, now);
    note_delay(&path->outwards, message->delay_ns, now);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void note_share(double *share, uint64_t lost, uint64_t sent)
{
    if (sent > 0)
        *share += LOSS_GAIN * ((double)(lost < sent ? lost : sent) / (double)sent - *share);
}

/* A message arrives after the data that was sent before it, so data that it counts and that has not arrived is lost. */
static void note_losses(struct peer_path *path, const struct keepalive *message, const struct peer_report *report)
{
    uint64_t sent = message->sent_packets - path->first_sent,
             received = report->received_packets - path->first_received;
    uint64_t lost = difference(sent, received);
    note_share(&path->loss_inwards, difference(lost, path->lost_inwards), sent - path->sent_inwards);
    path->lost_inwards = lost;
    path->sent_inwards = sent;

    note_share(&path->loss_outwards, difference(message->lost_packets, path->lost_outwards),
               report->sent_packets - path->sent_outwards);
    path->lost_outwards = message->lost_packets;
    path->sent_outwards = report->sent_packets;
}

static void note_rate(struct peer_path *path, const struct keepalive *message)
{
    if (path->arrived_at_ns != 0 && message->sent_ns > path->arrived_at_ns) {
        double bits = 8 * (double)(message->received_bytes - path->arrived_bytes);
        double rate_bps = bits * (double)NS_PER_S / (double)(message->sent_ns - path->arrived_at_ns);
        path->delivered_bps += RATE_GAIN * ((rate_bps < RATE_MAX ? rate_bps : RATE_MAX) - path->delivered_bps);
    }
    path->arrived_bytes = message->received_bytes;
    path->arrived_at_ns = message->sent_ns;
}

static void begin_counting(struct peer_path *path, const struct keepalive *message, const struct peer_report *report)
{
    path->first_sent = message->sent_packets;
    path->first_received = report->received_packets;
    path->sent_inwards = path->lost_inwards = 0;
    path->lost_outwards = message->lost_packets;
    path->sent_outwards = report->sent_packets;
    path->arrived_at_ns = 0;
}

static void bring_up_if_ready(struct peer *peer, struct peer_path *path)
{
    if (!path->up && path->in_row >= peer->settings.recover && (path->flags & KEEPALIVE_HEARS)) {
        path->up = true;
        path->ups++;
    }
}

static void take_down(struct peer_path *path)
{
    path->in_row = 0;
    path->downs += path->up;
    path->up = false;
}

static void accept(struct peer *peer, struct peer_path *path, const struct keepalive *message,
                   const struct peer_report *report, uint64_t now)
{
    if (!path->heard)
        begin_counting(path, message, report);
    path->heard = true;
    path->heard_ns = now;
    path->counter = message->counter;
    path->flags = message->flags;
    path->remote_ns = message->sent_ns;
    path->in_row++;
    peer->peer_challenge = message->challenge;
    note_delays(path, message, now);
    note_losses(path, message, report);
    note_rate(path, message);
    if (path->up && !(message->flags & KEEPALIVE_HEARS))
        take_down(path);
    bring_up_if_ready(peer, path);
}

/* A new session of the peer ends the old one: forgets its paths, and makes answers to the old challenge invalid. */
static void begin_session(struct peer *peer, uint64_t session)
{
    peer->known = true;
    peer->peer_session = session;
    renew_challenge(peer);
    for (int i = 0; i < peer->settings.paths; i++) {
        struct peer_path *path = &peer->paths[i];
        take_down(path);
        *path = (struct peer_path){.ups = path->ups, .downs = path->downs};
    }
}

enum peer_verdict peer_read(struct peer *peer, int path, const uint8_t *data, size_t length,
                            const struct peer_report *report, uint64_t now, struct keepalive *message)
{
    enum keepalive_verdict verdict = keepalive_read(data, length, &peer->settings.key, message);
    if (verdict != KEEPALIVE_GOOD)
        return verdict == KEEPALIVE_FORGED ? PEER_FORGED : PEER_MALFORMED;
    if (message->path != path || message->session == peer->session)
        return PEER_MISPLACED;
    bool is_new = !peer->known || message->session != peer->peer_session;
    if (is_new && message->response != peer->challenge)
        return PEER_GREETING;
    if (is_new)
        begin_session(peer, message->session);
    else if (message->counter <= peer->paths[path].counter)
        return PEER_REPLAYED;
    accept(peer, &peer->paths[path], message, report, now);
    return is_new ? PEER_NEW : PEER_HEARD;
}

bool peer_hear_plain(struct peer *peer, int number, uint64_t now)
{
    struct peer_path *path = &peer->paths[number];
    bool is_first = !path->heard;
    path->heard = true;
    path->heard_ns = now;
    path->in_row++;
    if (path->up || (!is_first && path->in_row < peer->settings.recover))
        return false;
    path->up = true;
    path->ups++;
    return true;
}

bool peer_check(struct peer *peer, uint64_t now)
{
    bool changed = false;
    for (int i = 0; i < peer->settings.paths; i++) {
        struct peer_path *path = &peer->paths[i];
        if (path->heard && now - path->heard_ns >= peer->settings.dead_ns) {
            changed |= path->up;
            take_down(path);
        }
    }
    return changed;
}

uint64_t peer_due(const struct peer *peer)
{
    uint64_t due = NEVER;
    for (int i = 0; i < peer->settings.paths; i++) {
        const struct peer_path *path = &peer->paths[i];
        if (path->up && path->heard_ns + peer->settings.dead_ns < due)
            due = path->heard_ns + peer->settings.dead_ns;
    }
    return due;
}

uint64_t peer_lead_ns(const struct peer_path *path, const struct peer_path *other)
{
    bool known = path->inwards.known && other->inwards.known;
    int64_t lead_ns = other->inwards.least_ns - path->inwards.least_ns;
    return known && lead_ns > 0 ? (uint64_t)lead_ns : 0;
}

uint64_t peer_queued_ns(const struct peer_path *path)
{
    return path->outwards.known ? (uint64_t)(path->outwards.smoothed_ns - path->outwards.least_ns) : 0;
}
