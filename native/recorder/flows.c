#include "recorder/flows.h"

#include <string.h>

#include "recorder/record_file.h"

#define SLOTS (1u << 18)

static struct {
    struct flow_key key;
    uint32_t initial_seq;
    bool has_start; /* else only its socket was seen, or it is older than the recording */
} known[FLOWS_MAX];

/* Number of a flow plus 1, by the hash of its ends; 0 is free. */
static uint32_t slots[SLOTS];
static unsigned count;

static void add(unsigned flow, const struct flow_start *start, uint32_t seq)
{
    known[flow].initial_seq = seq;
    known[flow].has_start = start->is_syn;
    struct flow_row row = {
        .key = known[flow].key,
        .mptcp_value = start->mptcp_value,
        .flow = (uint16_t)flow,
        .mptcp = start->mptcp,
        .window_scale = start->window_scale,
    };
    record_flow(&row);
}

static unsigned find(const struct flow_key *key, const struct flow_start *start, uint32_t seq)
{
    uint32_t slot = packet_hash(2166136261u, key, sizeof *key) % SLOTS;
    while (slots[slot] != 0 && memcmp(&known[slots[slot] - 1].key, key, sizeof *key) != 0)
        slot = (slot + 1) % SLOTS;
    unsigned flow = slots[slot] - 1;
    bool is_known = slots[slot] != 0;
    if (is_known && (!start->is_syn || (known[flow].has_start && known[flow].initial_seq == seq)))
        return flow;
    if (!is_known || known[flow].has_start) { /* a port that is used again gets a flow of its own */
        if (count == FLOWS_MAX)
            return FLOWS_MAX;
        flow = count++;
        known[flow].key = *key;
        slots[slot] = count;
    }
    add(flow, start, seq);
    return flow;
}

unsigned flows_of_packet(const struct packet *packet)
{
    return find(&packet->key, &packet->start, packet->seq);
}

unsigned flows_of_key(const struct flow_key *key)
{
    return find(key, &(struct flow_start){0}, 0);
}
