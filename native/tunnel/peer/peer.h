/* The other end of the tunnel: its identity, the paths that reach it, and their quality. Does no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/peer/keepalive.h"
#include "tunnel/limits.h"

/* The least delay is taken over this window and the one before. */
#define PEER_WINDOW_NS UINT64_C(10000000000)

struct peer_settings {
    int paths;
    uint64_t dead_ns; /* a path is down after this silence */
    uint32_t recover; /* messages in a row that bring it up */
    struct keepalive_key key;
};

/* Smoothed as TCP's round trip (RFC 6298), and the least value of the last 10 to 20 s. */
struct peer_delay {
    bool known;
    int64_t smoothed_ns, variation_ns;
    int64_t least_ns;                /* the smaller of the two below */
    int64_t previous_ns, current_ns; /* least values of the last window and of this one */
    uint64_t window_ns;              /* when this window began */
};

struct peer_path {
    bool up;
    bool heard;        /* a message of this session has come */
    uint64_t heard_ns; /* when the last one came */
    uint64_t counter;  /* its counter, flags and sent_ns */
    uint8_t flags;
    uint64_t remote_ns;
    uint32_t in_row; /* messages since the path went down */
    uint64_t ups, downs;
    struct peer_delay rtt;      /* round trip */
    struct peer_delay inwards;  /* one way from the peer, plus the difference of the clocks */
    struct peer_delay outwards; /* the same to the peer, as it reports */
    /* Data packets as of the last message. Lost are those sent before it that had not arrived when it did. */
    uint64_t first_sent, first_received; /* by the peer, and by us, at the session's first message */
    uint64_t sent_inwards;               /* by the peer since then */
    uint64_t lost_inwards, lost_outwards;
    double loss_inwards, loss_outwards; /* smoothed shares */
    uint64_t sent_outwards;             /* by us */
    /* Data that has arrived at the peer. */
    uint64_t arrived_bytes, arrived_at_ns; /* as it last reported, on its clock */
    double delivered_bps;                  /* smoothed */
};

struct peer {
    struct peer_settings settings;
    uint64_t session, counter; /* ours */
    uint64_t challenge;
    bool known; /* a session of the peer has been accepted: */
    uint64_t peer_session, peer_challenge;
    uint64_t secret; /* from which challenges are derived */
    struct peer_path paths[PATHS_MAX];
};

enum peer_verdict {
    PEER_HEARD,    /* accepted */
    PEER_NEW,      /* accepted, the first of a session: answer at once, and expect new sequence numbers */
    PEER_GREETING, /* has the key, but may be a replay from another session: answer it, and ignore the rest */
    PEER_MALFORMED,
    PEER_FORGED,    /* has another key */
    PEER_REPLAYED,  /* not newer than the last message */
    PEER_MISPLACED, /* made for another path, or sent by ourselves */
    PEER_VERDICTS,
};

/* This end's data on a path, for a message. */
struct peer_report {
    bool enabled;
    uint32_t next_sequence;
    uint64_t sent_packets, received_packets, received_bytes;
};

/* `seed` is random. */
void peer_init(struct peer *peer, const struct peer_settings *settings, const uint64_t seed[3]);

/* Writes a message of KEEPALIVE_BYTES; `response` is peer->peer_challenge, or the challenge of a greeting. Returns
 * false if the cryptographic library fails. */
bool peer_write(struct peer *peer, int path, const struct peer_report *report, uint64_t response, uint64_t now,
                uint8_t *out);

/* Reads a message. `message` becomes its content, if the key is right. */
enum peer_verdict peer_read(struct peer *peer, int path, const uint8_t *data, size_t length,
                            const struct peer_report *report, uint64_t now, struct keepalive *message);

/* A plain keepalive (plain.h) has come. Returns whether that has brought the path up. */
bool peer_hear_plain(struct peer *peer, int path, uint64_t now);

/* Sets the paths down that have fallen silent. Returns whether there were any. */
bool peer_check(struct peer *peer, uint64_t now);

/* Returns when to call peer_check() next; NEVER if no path is up. */
uint64_t peer_due(const struct peer *peer);

/* Returns how much sooner packets arrive on this path than on the other, both without queues; 0 if they do not, or it
 * is not known. */
uint64_t peer_lead_ns(const struct peer_path *path, const struct peer_path *other);

/* Returns how long packets to the peer wait in the path's queues, from the delay above its least. */
uint64_t peer_queued_ns(const struct peer_path *path);
