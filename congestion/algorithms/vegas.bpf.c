/* TCP Vegas: keeps a few segments in the bottleneck's queue, and so avoids losses instead of causing them.
 *
 * L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995.
 * Once a round trip: diff = cwnd x (RTT - BaseRTT) / BaseRTT is what is queued in the network; below alpha the window
 * grows by a segment, above beta it shrinks by one. Slow start ends when diff exceeds gamma. As in Linux, slow start
 * doubles each round trip (the paper: every second), and RTT is the least of the last round trip, which delayed ACKs do
 * not inflate. Losses are handled as Reno does.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#ifndef NAME /* a file that includes this one may choose others */
#define NAME "vegas"
#define ALPHA 2u /* segments */
#define BETA 4u
#define GAMMA 1u
#endif
#define MIN_CWND 2u
#define MIN_SAMPLES 2u /* with so few, one of them may be a delayed ACK's: this round trip decides nothing */
#define NONE 0x7fffffffu

struct vegas {
    __u32 round_ends;  /* at this sequence number */
    __u32 base_rtt_us; /* least ever */
    __u32 min_rtt_us;  /* least of this round trip */
    __u32 samples;
    bool active; /* not while a loss is being repaired */
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

void PROGRAM(vegas_init, struct sock *sk)
{
    start(sk);
}

void PROGRAM(vegas_set_state, struct sock *sk, __u8 new_state)
{
    struct vegas *vegas = private_of(sk);
    vegas->active = new_state == TCP_CA_Open;
    if (vegas->active)
        begin_round(vegas, tcp_sk(sk));
}

/* After a pause the path may be another one. */
void PROGRAM(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
        start(sk);
}

void PROGRAM(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct vegas *vegas = private_of(sk);
    if (sample->rtt_us < 0)
        return;
    __u32 rtt_us = sample->rtt_us + 1; /* never zero: it is divided by */
    vegas->base_rtt_us = min(vegas->base_rtt_us, rtt_us);
    vegas->min_rtt_us = min(vegas->min_rtt_us, rtt_us);
    vegas->samples++;
}

/* A decision once a round trip, on what the round trip has shown. */
static __always_inline void decide(const struct vegas *vegas, struct tcp_sock *tp, __u32 acked)
{
    __u32 cwnd = tp->snd_cwnd;
    __u32 queued = (__u64)cwnd * (vegas->min_rtt_us - vegas->base_rtt_us) / vegas->base_rtt_us;
    if (in_slow_start(tp) && queued <= GAMMA) {
        tcp_slow_start(tp, acked);
        return;
    }
    if (in_slow_start(tp)) { /* down to what the path itself holds, and one */
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

void PROGRAM(vegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
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

__u32 PROGRAM(vegas_ssthresh, struct sock *sk)
{
    return tcp_reno_ssthresh(sk);
}

__u32 PROGRAM(vegas_undo_cwnd, struct sock *sk)
{
    return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops vegas = {
    .init = (void *)vegas_init,
    .ssthresh = (void *)vegas_ssthresh,
    .cong_avoid = (void *)vegas_cong_avoid,
    .set_state = (void *)vegas_set_state,
    .cwnd_event = (void *)vegas_cwnd_event,
    .pkts_acked = (void *)vegas_pkts_acked,
    .undo_cwnd = (void *)vegas_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = NAME_PREFIX NAME,
};
