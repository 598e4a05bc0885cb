/* TCP Vegas: keeps a few segments in the bottleneck's queue, and thus avoids losses instead of causing them.
 *
 * L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995.
 * Once per round trip: diff = cwnd x (RTT - BaseRTT) / BaseRTT estimates the segments queued in the network; below
 * alpha the window grows by a segment, above beta it shrinks by one. Slow start ends when diff exceeds gamma. As in
 * Linux, slow start doubles the window every round trip (the paper: every second one), and RTT is the least of the
 * last round trip, which delayed ACKs do not inflate. Losses are handled as in Reno.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#ifndef NAME /* examples/ include this file with other values */
#define NAME vegas
#define ALPHA 2u /* segments */
#define BETA 4u
#define GAMMA 1u
#endif
#define MIN_SAMPLES 2u /* a round trip with no more is ignored: a delayed ACK may have distorted them */
#define NONE 0x7fffffffu

struct vegas {
    __u32 round_ends;  /* sequence number that ends this round trip */
    __u32 base_rtt_us; /* least ever */
    __u32 min_rtt_us;  /* least of this round trip */
    __u32 samples;
    bool active; /* false while a loss is being repaired */
};

static __always_inline void begin_round(struct vegas *vegas, const struct tcp_sock *tp)
{
    vegas->round_ends = tp->snd_nxt;
    vegas->min_rtt_us = NONE;
    vegas->samples = 0;
}

static __always_inline void start(struct sock *sk)
{
    struct vegas *vegas = private_of(sk);
    vegas->base_rtt_us = NONE;
    vegas->active = true;
    begin_round(vegas, tcp_sk(sk));
}

void PROGRAM(init, struct sock *sk)
{
    start(sk);
}

void PROGRAM(set_state, struct sock *sk, __u8 new_state)
{
    struct vegas *vegas = private_of(sk);
    vegas->active = new_state == TCP_CA_Open;
    if (vegas->active)
        begin_round(vegas, tcp_sk(sk));
}

/* The path may have changed during a pause. */
void PROGRAM(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
        start(sk);
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct vegas *vegas = private_of(sk);
    if (sample->rtt_us < 0)
        return;
    __u32 rtt_us = sample->rtt_us + 1; /* never 0, because it is a divisor */
    vegas->base_rtt_us = min(vegas->base_rtt_us, rtt_us);
    vegas->min_rtt_us = min(vegas->min_rtt_us, rtt_us);
    vegas->samples++;
}

/* Sets the window at the end of a round trip. */
static __always_inline void decide(const struct vegas *vegas, struct tcp_sock *tp, __u32 acked)
{
    __u32 cwnd = tp->snd_cwnd;
    __u32 queued = (__u64)cwnd * (vegas->min_rtt_us - vegas->base_rtt_us) / vegas->base_rtt_us;
    if (in_slow_start(tp) && queued <= GAMMA) {
        tcp_slow_start(tp, acked);
        return;
    }
    if (in_slow_start(tp)) { /* down to the bandwidth-delay product and one segment */
        __u32 fits = (__u64)cwnd * vegas->base_rtt_us / vegas->min_rtt_us;
        cwnd = min(cwnd, fits + 1);
        tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
    } else if (queued > BETA) {
        cwnd--;
        tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
    } else if (queued < ALPHA) {
        cwnd++;
    }
    cwnd = min(at_least(MIN_CWND, cwnd), tp->snd_cwnd_clamp);
    tp->snd_cwnd = cwnd;
    tp->snd_ssthresh = max(tp->snd_ssthresh, cwnd / 2 + cwnd / 4);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct vegas *vegas = private_of(sk);
    bool is_round_over = after(ack, vegas->round_ends);
    if (!vegas->active || (is_round_over && vegas->samples <= MIN_SAMPLES))
        tcp_reno_cong_avoid(sk, ack, acked);
    else if (is_round_over)
        decide(vegas, tp, acked);
    else if (in_slow_start(tp))
        tcp_slow_start(tp, acked);
    if (vegas->active && is_round_over)
        begin_round(vegas, tp);
}

RENO(ssthresh)
RENO(undo_cwnd)
ALGORITHM(NAME, init, ssthresh, cong_avoid, set_state, cwnd_event, pkts_acked, undo_cwnd);
