/* Numbers of flows: one for each direction of each connection. */
#pragma once

#include "recorder/packet.h"

#define FLOWS_MAX 65535u /* the number of all flows beyond these */

/* The flow of a packet; a new one, which is recorded, with its first packet. */
unsigned flows_of_packet(const struct packet *packet);

/* The flow with these ends. */
unsigned flows_of_key(const struct flow_key *key);
