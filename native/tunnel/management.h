/* Management of a running tunnel: keepalives, failover, MTU, weights. */
#pragma once

#include "tunnel/tunnel.h"

/* Sets the MTU, and connects control messages to the management. Call it before the threads start. */
void management_begin(struct tunnel *tunnel);

/* For struct control_handler (control.h), with the tunnel as context. */
uint64_t management_next_due(void *tunnel);
void management_run_due(void *tunnel, uint64_t now);

/* Sets the device's MTU to what all paths in use can carry. The caller has `lock`. */
void management_follow_mtu(struct tunnel *tunnel);
