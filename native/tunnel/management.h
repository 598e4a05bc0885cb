/* What happens to a tunnel while it runs: keepalives, failover, MTU, weights. */
#ifndef FLIGHTPATH_TUNNEL_MANAGEMENT_H
#define FLIGHTPATH_TUNNEL_MANAGEMENT_H

#include "tunnel/tunnel.h"

/* Two of a struct control_handler (control.h) whose context is the tunnel. */
uint64_t management_next_due(void *tunnel);
void management_run_due(void *tunnel, uint64_t now);

/* Tells the other threads that paths have changed; with `lock` held. */
void management_publish(struct tunnel *tunnel);

/* For the receiver: a control message has come. */
void management_hear(void *tunnel, int path, const uint8_t *message, size_t length, uint64_t now);

/* Sets the device's MTU by the paths', if it is another; with `lock` held. */
void management_follow_mtu(struct tunnel *tunnel);

#endif
