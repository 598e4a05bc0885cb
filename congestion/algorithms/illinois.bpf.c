/* TCP-Illinois: losses decide when the window shrinks, queueing delay by how much it grows and shrinks.
 *
 * S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
 * networks", VALUETOOLS 2006. With da the mean queueing delay of the last round trip and dm the largest so far, alpha
 * falls from ALPHA_MAX at da <= dm / 100 to ALPHA_MIN at dm as k1 / (k2 + da), and beta rises from BETA_MIN at da <=
 * dm / 10 to BETA_MAX at 0.8 dm. After a high delay, alpha returns to ALPHA_MAX only after THETA round trips in a row
 * with a low one.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define ALPHA_BITS 7
#define ALPHA_ONE (1u << ALPHA_BITS)
#define ALPHA_MIN (3 * ALPHA_ONE / 10) /* 0.3 segments per round trip */
#define ALPHA_MAX (10 * ALPHA_ONE)
#define BETA_BITS 6
#define BETA_ONE (1u << BETA_BITS)
#define BETA_MIN (BETA_ONE / 8)
#define BETA_MAX (BETA_ONE / 2)
#define MIN_WINDOW 15u /* Reno below this window */
#define THETA 5u
#define RTT_LIMIT_US (0xffffffffu / ALPHA_MAX) /* 3.3 s, so that products fit into 32 bits */

struct illinois {
    __u64 rtt_sum_us;  /* sum over the samples of this round trip */
    __u32 rtt_samples;
    __u32 round_ends;  /* sequence number that ends this round trip */
    __u32 base_rtt_us, max_rtt_us;
    __u32 alpha, beta;
    __u32 acked;       /* segments acknowledged by the last ACK; 1 once they have been counted */
    __u32 low_rounds;  /* since a high delay */
    bool was_high;
};

static __always_inline void begin_round(struct illinois *illinois, const struct tcp_sock *tp)
{
    illinois->round_ends = tp->snd_nxt;
    illinois->rtt_samples = 0;
    illinois->rtt_sum_us = 0;
}

void PROGRAM(init, struct sock *sk)
{
    struct illinois *illinois = private_of(sk);
    illinois->alpha = ALPHA_MAX;
    illinois->beta = BETA_MAX;
    illinois->base_rtt_us = 0x7fffffff;
    begin_round(illinois, tcp_sk(sk));
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct illinois *illinois = private_of(sk);
    illinois->acked = sample->pkts_acked;
    if (sample->rtt_us < 0)
        return;
    __u32 rtt_us = min((__u32)sample->rtt_us, RTT_LIMIT_US);
    illinois->base_rtt_us = min(illinois->base_rtt_us, rtt_us);
    illinois->max_rtt_us = max(illinois->max_rtt_us, rtt_us);
    illinois->rtt_samples++;
    illinois->rtt_sum_us += rtt_us;
}

static __always_inline __u32 alpha(struct illinois *illinois, __u32 da, __u32 dm)
{
    __u32 d1 = dm / 100;
    if (da > d1) {
        illinois->was_high = true;
        dm -= d1;
        da -= d1;
        return dm * ALPHA_MAX / (dm + da * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN);
    }
    if (illinois->was_high && ++illinois->low_rounds < THETA)
        return illinois->alpha;
    illinois->low_rounds = 0;
    illinois->was_high = false;
    return ALPHA_MAX;
}

static __always_inline __u32 beta(__u32 da, __u32 dm)
{
    __u32 d2 = dm / 10, d3 = 8 * dm / 10;
    if (da <= d2)
        return BETA_MIN;
    if (da >= d3 || d3 <= d2)
        return BETA_MAX;
    return (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * da - BETA_MAX * d2) / (d3 - d2);
}

static __always_inline void end_round(struct illinois *illinois, const struct tcp_sock *tp)
{
    if (tp->snd_cwnd < MIN_WINDOW) {
        illinois->alpha = ALPHA_ONE;
        illinois->beta = BETA_MAX;
    } else if (illinois->rtt_samples) {
        __u32 dm = illinois->max_rtt_us - illinois->base_rtt_us;
        __u32 da = (__u32)(illinois->rtt_sum_us / illinois->rtt_samples) - illinois->base_rtt_us;
        illinois->alpha = alpha(illinois, da, dm);
        illinois->beta = beta(da, dm);
    }
    begin_round(illinois, tp);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct illinois *illinois = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    if (after(ack, illinois->round_ends))
        end_round(illinois, tp);
    if (!is_cwnd_limited(tp))
        return;
    if (in_slow_start(tp)) {
        tcp_slow_start(tp, acked);
        return;
    }
    __u32 count = tp->snd_cwnd_cnt + illinois->acked;
    illinois->acked = 1;
    __u32 earned = (__u64)count * illinois->alpha >> ALPHA_BITS;
    if (earned >= tp->snd_cwnd) {
        tp->snd_cwnd = min(tp->snd_cwnd + earned / tp->snd_cwnd, tp->snd_cwnd_clamp);
        count = 0;
    }
    tp->snd_cwnd_cnt = count;
}

/* A timeout makes the measured delays worthless. */
void PROGRAM(set_state, struct sock *sk, __u8 new_state)
{
    struct illinois *illinois = private_of(sk);
    if (new_state != TCP_CA_Loss)
        return;
    illinois->alpha = ALPHA_ONE;
    illinois->beta = BETA_MAX;
    illinois->low_rounds = 0;
    illinois->was_high = false;
    begin_round(illinois, tcp_sk(sk));
}

__u32 PROGRAM(ssthresh, struct sock *sk)
{
    struct illinois *illinois = private_of(sk);
    __u32 cwnd = tcp_sk(sk)->snd_cwnd;
    return at_least(MIN_CWND, cwnd - ((__u64)cwnd * illinois->beta >> BETA_BITS));
}

RENO(undo_cwnd)
ALGORITHM(illinois, init, ssthresh, cong_avoid, set_state, pkts_acked, undo_cwnd);
