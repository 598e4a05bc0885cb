/* Management of a running tunnel: keepalives, failover, MTU, weights. */
#pragma once

#include "tunnel/tunnel.h"

/* Sets the MTU, and connects control messages to the management. Call it between tunnel_open() and tunnel_start(). */
void management_begin(struct tunnel *tunnel);

/* For struct control_handler (control.h), with the tunnel as context. */
uint64_t management_next_due(void *tunnel);
void management_run_due(void *tunnel, uint64_t now);

/* Tells the other threads that paths have changed. The caller has `lock`. */
void management_publish(struct tunnel *tunnel);

/* Sets the device's MTU to what all paths in use can carry. The caller has `lock`. */
void management_follow_mtu(struct tunnel *tunnel);
