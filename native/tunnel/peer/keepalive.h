/* The control message that each end sends over each path, several times a second: what it holds, and how it is authenticated. */
#ifndef FLIGHTPATH_TUNNEL_KEEPALIVE_H
#define FLIGHTPATH_TUNNEL_KEEPALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEPALIVE_KEY_MIN 16u
#define KEEPALIVE_KEY_MAX 1024u
#define KEEPALIVE_MAC_BYTES 32u
#define KEEPALIVE_BYTES (120u + KEEPALIVE_MAC_BYTES)
/* The first byte: a control message that the reference implementation does not know, and the version. */
#define KEEPALIVE_TYPE 0xf0u
#define KEEPALIVE_VERSION 1u
/* GRE's protocol before it: for local experiments (IEEE 802). */
#define KEEPALIVE_PROTOCOL 0x88b5u

struct keepalive_key {
    uint8_t bytes[KEEPALIVE_KEY_MAX];
    size_t length;
};

enum {
    KEEPALIVE_HEARS = 1,   /* the sender hears the receiver on this path */
    KEEPALIVE_ENABLED = 2, /* the sender wants to use this path */
};

struct keepalive {
    uint8_t path;  /* its number in both ends' configurations */
    uint8_t flags;
    uint32_t next_sequence; /* of the sender's data */
    /* Who speaks: random, new at each start. `counter` grows with each message of a session. */
    uint64_t session, counter;
    /* A random number that the other end shall send back as `response`, to show that it is there now. */
    uint64_t challenge, response;
    uint64_t sent_ns; /* on the sender's clock */
    /* The newest `sent_ns` that the sender has from the receiver, and how long ago it came; 0: none. */
    uint64_t echo_ns, echo_age_ns;
    /* Data on this path since the session began: what the sender has sent, what it has received, and lost. */
    uint64_t sent_packets, received_packets, received_bytes, lost_packets;
    /* How much longer than the sender's clock says the receiver's messages were under way: of use in comparison only. */
    int64_t delay_ns;
};

/* `out` has KEEPALIVE_BYTES. Returns false if the library fails. */
bool keepalive_write(const struct keepalive *keepalive, const struct keepalive_key *key, uint8_t *out);

enum keepalive_verdict { KEEPALIVE_GOOD, KEEPALIVE_MALFORMED, KEEPALIVE_FORGED };

enum keepalive_verdict keepalive_read(const uint8_t *data, size_t length, const struct keepalive_key *key,
                                      struct keepalive *keepalive);

/* HMAC-SHA-256 (RFC 2104). Returns false if the library fails. */
bool keepalive_mac(const struct keepalive_key *key, const uint8_t *data, size_t length, uint8_t *mac);

#endif
