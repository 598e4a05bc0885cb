/* Requests to a running tunnel over its control socket: one line of text each.
 *
 *   stats                                 -> one JSON object, see below
 *   table                                 -> the most important of it as text (`mptgre status`)
 *   set PATH weight=2,backup=0,enabled=1  -> {"ok":true}; changes the given keys
 *   a wrong request                       -> {"error":"..."}
 *
 * The statistics (times in ns of CLOCK_MONOTONIC):
 *   mtu, scheduler, weights, offloads      as now in use
 *   run, rate_bps      packets in a row on a path; rate into the tunnel
 *   in_*, out_*        packets and bytes from the device, after segmentation, and to it; without GRE
 *   drops              packets. no_path: no path was up; too_large: for the paths' MTU; malformed: GRE or IP; refused:
 *                      by the device; duplicates, stale, strays: see enum reorder_fate
 *   control            control messages that were not accepted, see enum peer_verdict
 *   reordering         held, held_peak: packets that wait now, and the most that have; given_up: numbers that did not
 *                      arrive in time; margin_ns: the wait for a packet after each path has brought a later one
 *   cpu_ns             of the two threads
 *   service_ns         what packets have taken them if there is a service time (service.h)
 * For each path:
 *   state, backup      up, down or disabled; whether it is used only while no other is up
 *   weight, share      as set; part of the sum of all paths that are up, after adaptation
 *   mtu                of the path itself
 *   rtt_ns, rtt_least_ns, rtt_variation_ns   null before the first answer
 *   tx_*, rx_*         data: packets, bytes with GRE; lost: packets in this session; loss: smoothed share
 *   delivered_bps, capacity_bps              rate that arrives at the peer; what the path can carry, or null
 *   tx_queued_ns, queue_bytes                delay in the path's queues; bytes in this host's queue
 *   held, late, late_drops                   packets from this path that waited for others, that were delivered out of
 *                      order, and that came too late
 *   lead_ns            how long this path's packets are delayed to match slower paths
 *   errors, drops      system calls that failed; messages dropped because of that
 *   ups, downs         how often the path went up and down
 *   keepalives_sent, keepalives_heard */
#pragma once

#include <stddef.h>

/* For struct control_handler (control.h), with the tunnel as context. */
void requests_answer(void *tunnel, char *request, char *out, size_t size);
