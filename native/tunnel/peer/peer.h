/* The other end: whether it is who it says, which paths reach it, and how good they are. Told the time; does no I/O. */
#ifndef FLIGHTPATH_TUNNEL_PEER_H
#define FLIGHTPATH_TUNNEL_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/peer/keepalive.h"
#include "tunnel/limits.h"

/* A delay's least value is taken over so long a time, and over the one before it. */
#define PEER_WINDOW_NS UINT64_C(10000000000)

struct peer_settings {
    int paths;
    uint64_t dead_ns;     /* a path on which nothing was heard for so long is down */
    uint32_t recover;     /* messages in a row that bring it up */
    struct keepalive_key key;
};

/* Smoothed as TCP does with its round trip (RFC 6298), and its least value of the last 10 to 20 s. */
struct peer_delay {
    bool known;
    int64_t smoothed_ns, variation_ns;
    int64_t least_ns, least_before_ns, newest_least_ns;
    uint64_t window_ns; /* since when newest_least_ns */
};

struct peer_path {
    bool up;
    bool heard;
    uint64_t heard_ns;
    uint64_t counter; /* the highest accepted */
    uint32_t in_row;
    uint8_t flags;    /* of the newest message */
    uint64_t remote_ns; /* its sent_ns, to be sent back */
    uint64_t ups, downs;
    struct peer_delay rtt;      /* round trip */
    struct peer_delay inwards;  /* one way, from the peer, beside the clocks' difference */
    struct peer_delay outwards; /* to the peer, as it tells */
    /* Data, by the newest message. Lost are those sent before it that had not come when it came. */
    uint64_t sent_then, received_then; /* by the peer, by us: at the session's first message */
    uint64_t lost_inwards, lost_outwards;
    double loss_inwards, loss_outwards; /* smoothed shares */
    uint64_t told_sent, told_received;  /* at the message before */
    uint64_t out_sent, out_lost;        /* what we had sent when the peer's last report came, and its lost_packets */
    /* What arrives at the peer. */
    uint64_t out_bytes, out_at_ns; /* its report, on its clock */
    double delivered_bps;          /* smoothed */
};

struct peer {
    struct peer_settings settings;
    uint64_t session, counter;
    uint64_t challenge;
    bool known; /* a session of the peer's is accepted */
    uint64_t peer_session, peer_challenge;
    uint64_t secret; /* of which challenges are made */
    struct peer_path paths[PATHS_MAX];
};

enum peer_verdict {
    PEER_HEARD,     /* accepted */
    PEER_NEW,       /* accepted, and the first of a session: answer it at once; its data is numbered anew */
    PEER_GREETING,  /* whoever has the key, but perhaps long ago: answer it, and believe nothing else */
    PEER_MALFORMED,
    PEER_FORGED,    /* the key is another */
    PEER_REPLAYED,  /* not newer than what was heard */
    PEER_MISPLACED, /* on another path than it was made for, or our own sent back */
    PEER_VERDICTS,
};

/* What a message says about this end's data on the path. */
struct peer_report {
    bool enabled;
    uint32_t next_sequence;
    uint64_t sent_packets, received_packets, received_bytes;
};

/* `seed` are random bytes that nobody can foresee. */
void peer_init(struct peer *peer, const struct peer_settings *settings, const uint64_t seed[3]);

/* Makes a message; `response` is peer->peer_challenge, or what a greeting challenged with. Returns false if the library fails. */
bool peer_write(struct peer *peer, int path, const struct peer_report *report, uint64_t response, uint64_t now, uint8_t *out);

/* `message` is what it says, if its key is right. */
enum peer_verdict peer_read(struct peer *peer, int path, const uint8_t *data, size_t length, const struct peer_report *report,
                            uint64_t now, struct keepalive *message);

/* Finds paths that have fallen silent. Returns whether one has. */
bool peer_check(struct peer *peer, uint64_t now);

/* When peer_check() has to look next; NEVER if not before something is heard. */
uint64_t peer_due(const struct peer *peer);

/* How much earlier than on the other path packets arrive on this one where none has to queue; 0: not known to be earlier. */
uint64_t peer_lead_ns(const struct peer_path *path, const struct peer_path *other);

/* How long what is sent to the peer now waits in the path's queues, by what it is above its least. */
uint64_t peer_queued_ns(const struct peer_path *path);

#endif
