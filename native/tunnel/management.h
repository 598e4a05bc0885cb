/* What happens to a tunnel while it runs: keepalives, failover, MTU, weights. */
#ifndef FLIGHTPATH_TUNNEL_MANAGEMENT_H
#define FLIGHTPATH_TUNNEL_MANAGEMENT_H

#include "tunnel/tunnel.h"

/* Between tunnel_open() and tunnel_start(): takes over control messages and the MTU. */
void management_begin(struct tunnel *tunnel);

/* Two of a struct control_handler (control.h) whose context is the tunnel. */
uint64_t management_next_due(void *tunnel);
void management_run_due(void *tunnel, uint64_t now);

/* Tells the other threads that paths have changed; with `lock` held. */
void management_publish(struct tunnel *tunnel);

/* Sets the device's MTU by the paths', if it is another; with `lock` held. */
void management_follow_mtu(struct tunnel *tunnel);

#endif
