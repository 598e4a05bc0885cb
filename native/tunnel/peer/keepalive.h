/* Keepalives: the authenticated messages that each end sends over each path several times a second. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEPALIVE_KEY_MIN 16u
#define KEEPALIVE_KEY_MAX 1024u
#define KEEPALIVE_MAC_BYTES 32u
#define KEEPALIVE_NUMBERS 12
#define KEEPALIVE_BYTES (120u + KEEPALIVE_MAC_BYTES)
/* The first two bytes: a type that the reference implementation does not know, and the version. */
#define KEEPALIVE_TYPE 0xf0u
#define KEEPALIVE_VERSION 1u
/* The protocol in the GRE header: the EtherType for local experiments (IEEE 802). */
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
    uint8_t path; /* its index in the configurations of both ends */
    uint8_t flags;
    uint32_t next_sequence; /* next sequence number of the sender's data */
    union {
        uint64_t numbers[KEEPALIVE_NUMBERS]; /* all of the following, as they follow each other in a message */
        struct {
            /* A random number for each start of the sender, and a number that grows with each of its messages. */
            uint64_t session, counter;
            /* A random number, which the receiver returns as `response` to prove that its messages are new. */
            uint64_t challenge, response;
            uint64_t sent_ns; /* on the sender's clock */
            /* The newest `sent_ns` that the sender has received, and its age; 0 if there is none. */
            uint64_t echo_ns, echo_age_ns;
            /* Data on this path in this session: what the sender has sent, and what of the receiver's it has received
             * and missed. */
            uint64_t sent_packets, received_packets, received_bytes, lost_packets;
            /* One-way delay of the receiver's messages plus the difference of the clocks; only comparable between
             * paths. */
            int64_t delay_ns;
        };
    };
};

/* Writes KEEPALIVE_BYTES. Returns false if the cryptographic library fails. */
bool keepalive_write(const struct keepalive *keepalive, const struct keepalive_key *key, uint8_t *out);

enum keepalive_verdict { KEEPALIVE_GOOD, KEEPALIVE_MALFORMED, KEEPALIVE_FORGED };

enum keepalive_verdict keepalive_read(const uint8_t *data, size_t length, const struct keepalive_key *key,
                                      struct keepalive *keepalive);

/* HMAC-SHA-256 (RFC 2104). Returns false if the cryptographic library fails. */
bool keepalive_mac(const struct keepalive_key *key, const uint8_t *data, size_t length, uint8_t *mac);
