/* What a running tunnel can be asked: one line of text each, answered by one JSON object.
 *
 *   stats                              -> {"device":...,"paths":[{...},...],...}
 *   set PATH weight=2,backup=0,enabled=1  -> {"ok":true}; the keys given, from now on
 *   anything else                      -> {"error":"..."}
 *
 * In the statistics (times in ns of CLOCK_MONOTONIC; bytes of a path with GRE, of the device without):
 *   mtu, scheduler, reordering, weights, run, rate_bps   as in force; run: packets in a row on a path; rate: into the tunnel
 *   in_*               from the device, as packets on a path; out_*: to the device
 *   drops              packets. no_path: none was up; too_large: did not fit; malformed: GRE or IP made no sense; refused: by the
 *                      device; duplicates, stale, strays: by their numbers (reorder.h)
 *   control            messages that were not heard. greetings: from a peer that has just started, or replayed from another session;
 *                      malformed; forged: by another key; replayed; misplaced: from another path, or our own
 *   reordering         held: packets that wait now; held_peak; given_up: numbers that did not come in time; margin_ns: how
 *                      long is waited after each path has brought a later one
 *   cpu_ns             of the thread from the device, and of the one to it
 * Of a path:
 *   state              up, down, disabled; backup, weight (configured), share (weight as adapted, of all up), mtu (of the path)
 *   rtt_ns, rtt_least_ns, rtt_variation_ns   null before the first answer
 *   tx_*, rx_*         data packets and bytes
 *   tx_lost, rx_lost   packets since the session began, by either end's count; *_loss: smoothed share
 *   delivered_bps, capacity_bps              what arrives at the peer; what the path can carry, null if not known
 *   tx_queued_ns       that packets wait in the path beyond its least delay; queue_bytes: in this host
 *   held, late, late_drops   packets of this path that waited for others; came after their place was given up and were delivered;
 *                      came so late that they were dropped; lead_ns: that packets of this path wait to be as late as the others'
 *   errors, drops      calls that the kernel refused; messages dropped for it
 *   ups, downs         how often it came up and went down; keepalives_sent, keepalives_heard */
#ifndef FLIGHTPATH_TUNNEL_REQUESTS_H
#define FLIGHTPATH_TUNNEL_REQUESTS_H

#include <stddef.h>

/* One of a struct control_handler (control.h) whose context is the tunnel. */
void requests_answer(void *tunnel, char *request, char *out, size_t size);

#endif
