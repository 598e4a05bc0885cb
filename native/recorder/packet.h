/* The fields of a packet that a recording keeps. A packet may hold anything: nothing here reads beyond its bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mptcp_kind { MPTCP_NONE, MPTCP_CAPABLE, MPTCP_JOIN };

/* Both ends of a flow, in the direction of its packets. What is not IP is a flow for each EtherType. */
struct flow_key {
    uint8_t source[16], target[16];
    uint16_t source_port, target_port;
    uint8_t family; /* 4, 6, or 0 if it is not IP */
    uint8_t protocol;
    uint16_t ethertype;
};

/* Facts from a connection's first segment in one direction. */
struct flow_start {
    uint64_t mptcp_value; /* the sender's key (MP_CAPABLE), or the receiver's token (MP_JOIN) */
    uint8_t mptcp, window_scale;
    bool is_syn;
};

struct packet {
    struct flow_key key;
    struct flow_start start;
    uint32_t seq, ack;
    uint32_t identity; /* a hash of the fields that are the same along the whole path */
    uint32_t payload;
    uint16_t window, id, headers;
    uint8_t flags, ecn;
};

/* Parses a frame of `length` bytes, of which `available` are there. */
void packet_parse(const uint8_t *frame, size_t available, size_t length, struct packet *packet);

/* Makes a GSO packet its segment number `number` of those with up to `size` bytes of payload. */
void packet_cut(const struct packet *whole, uint32_t number, uint32_t size, struct packet *segment);

uint32_t packet_hash(uint32_t hash, const void *data, size_t bytes);
