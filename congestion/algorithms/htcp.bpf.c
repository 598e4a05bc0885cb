/* H-TCP: grows faster the longer the last loss was ago, and backs off after a loss by how deep the queue is.
 *
 * D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004, and
 * draft-leith-tcp-htcp-06: alpha(t) = 1 + 10 (t - 1 s) + ((t - 1 s) / 2)^2 for t > 1 s since the last loss, else 1;
 * scaled from a round trip of 100 ms to the connection's, and by 2 (1 - beta). beta = RTTmin / RTTmax, limited to 0.5
 * to 0.8, or 0.5 if the throughput before this loss differed by more than a fifth from that before the previous one.
 * As in the authors' implementation in Linux, alpha(t) is a whole number of segments, and each loss lowers RTTmax -
 * RTTmin by 5 %.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define BITS 7                         /* fraction bits of alpha and beta */
#define ONE (1u << BITS)
#define BETA_MIN (ONE / 2)
#define BETA_MAX 102u                  /* 0.8 */
#define SLOW_PERIOD_US US_PER_S        /* after a loss it grows as Reno for this time */
#define RTT_REFERENCE_US 100000u
#define RTT_SCALE_MIN (1u << 2)        /* 0.5 and 10, in eighths */
#define RTT_SCALE_MAX (10u << 3)
#define RTT_MAX_STEP_US 20000u         /* larger jumps of RTTmax are ignored as noise */
#define RTT_MIN_FOR_ADAPTIVE_US 10000u /* with shorter round trips, RTTmin / RTTmax says too little about the queue */
#define FADE_PERCENT 95u
#define FIRST_ROUNDS 3u                /* after a loss, during which throughput is not averaged */

struct htcp {
    __u32 alpha, beta;
    __u32 min_rtt_us, max_rtt_us;
    __u64 last_loss_us;
    __u32 pkts_acked; /* by the last ACK; 1 once they have been counted */
    /* Throughput in segments/s, sampled once per round trip: its mean, maximum, and maximum before the last loss. */
    __u32 rate, max_rate, old_max_rate;
    __u32 counted;
    __u64 counting_since_us;
    bool is_adaptive;
    bool can_undo;
    /* The values before the last loss, for undo_cwnd. */
    __u64 undo_last_loss_us;
    __u32 undo_max_rtt_us, undo_old_max_rate;
};

void PROGRAM(init, struct sock *sk)
{
    struct htcp *htcp = private_of(sk);
    htcp->alpha = ONE;
    htcp->beta = BETA_MIN;
    htcp->pkts_acked = 1;
    htcp->last_loss_us = tcp_sk(sk)->tcp_mstamp;
    htcp->counting_since_us = htcp->last_loss_us;
}

static __always_inline void measure_rtt(struct htcp *htcp, __u32 rtt_us, bool is_open)
{
    if (htcp->min_rtt_us == 0 || rtt_us < htcp->min_rtt_us)
        htcp->min_rtt_us = rtt_us;
    if (!is_open)
        return;
    htcp->max_rtt_us = max(htcp->max_rtt_us, htcp->min_rtt_us);
    if (rtt_us > htcp->max_rtt_us && rtt_us <= htcp->max_rtt_us + RTT_MAX_STEP_US)
        htcp->max_rtt_us = rtt_us;
}

static __always_inline void average_rate(struct htcp *htcp, __u32 sample, bool is_first)
{
    if (is_first) {
        htcp->rate = htcp->max_rate = sample;
        return;
    }
    htcp->rate = (3 * (__u64)htcp->rate + sample) / 4;
    htcp->max_rate = max(htcp->max_rate, htcp->rate);
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct htcp *htcp = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    __u64 now_us = tp->tcp_mstamp;
    __u8 state = ca_state(sk);
    if (state == TCP_CA_Open)
        htcp->pkts_acked = sample->pkts_acked;
    if (sample->rtt_us > 0)
        measure_rtt(htcp, sample->rtt_us, state == TCP_CA_Open);
    if (state != TCP_CA_Open && state != TCP_CA_Disorder) {
        htcp->counted = 0;
        htcp->counting_since_us = now_us;
        return;
    }
    htcp->counted += sample->pkts_acked;
    __u64 elapsed_us = now_us - htcp->counting_since_us;
    __u32 growth = at_least(1, htcp->alpha >> BITS);
    if (htcp->min_rtt_us == 0 || htcp->counted + growth < tp->snd_cwnd || elapsed_us < htcp->min_rtt_us)
        return;
    __u32 rate = (__u64)htcp->counted * US_PER_S / elapsed_us;
    average_rate(htcp, rate, (now_us - htcp->last_loss_us) / htcp->min_rtt_us <= FIRST_ROUNDS);
    htcp->counted = 0;
    htcp->counting_since_us = now_us;
}

static __always_inline void update_alpha(struct htcp *htcp, __u64 now_us)
{
    __u64 since_us = now_us - htcp->last_loss_us;
    __u64 factor = 1;
    if (since_us > SLOW_PERIOD_US) {
        since_us -= SLOW_PERIOD_US;
        factor += (10 * since_us + since_us / 2 * (since_us / 2) / US_PER_S) / US_PER_S;
    }
    if (htcp->min_rtt_us) {
        __u32 scale = 8 * RTT_REFERENCE_US / htcp->min_rtt_us;
        scale = min(at_least(RTT_SCALE_MIN, scale), RTT_SCALE_MAX);
        factor = 8 * factor / scale;
        if (factor == 0)
            factor = 1;
    }
    htcp->alpha = at_least(1, 2 * factor * (ONE - htcp->beta));
}

static __always_inline bool is_throughput_steady(const struct htcp *htcp)
{
    __u64 now = 5ull * htcp->max_rate, before = htcp->old_max_rate;
    return now >= 4 * before && now <= 6 * before;
}

static __always_inline void update_beta(struct htcp *htcp)
{
    bool is_steady = is_throughput_steady(htcp);
    htcp->old_max_rate = htcp->max_rate;
    htcp->beta = BETA_MIN;
    if (is_steady && htcp->is_adaptive && htcp->min_rtt_us > RTT_MIN_FOR_ADAPTIVE_US && htcp->max_rtt_us)
        htcp->beta = min(at_least(BETA_MIN, (htcp->min_rtt_us << BITS) / htcp->max_rtt_us), BETA_MAX);
    else
        htcp->is_adaptive = is_steady;
}

__u32 PROGRAM(ssthresh, struct sock *sk)
{
    struct htcp *htcp = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    update_beta(htcp);
    update_alpha(htcp, tp->tcp_mstamp);
    if (htcp->max_rtt_us > htcp->min_rtt_us)
        htcp->max_rtt_us =
            htcp->min_rtt_us + (__u64)(htcp->max_rtt_us - htcp->min_rtt_us) * FADE_PERCENT / 100;
    return at_least(MIN_CWND, (__u64)tp->snd_cwnd * htcp->beta >> BITS);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct htcp *htcp = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    if (!is_cwnd_limited(tp))
        return;
    if (in_slow_start(tp)) {
        tcp_slow_start(tp, acked);
        return;
    }
    if ((__u64)tp->snd_cwnd_cnt * htcp->alpha >> BITS >= tp->snd_cwnd) {
        if (tp->snd_cwnd < tp->snd_cwnd_clamp)
            tp->snd_cwnd++;
        tp->snd_cwnd_cnt = 0;
        update_alpha(htcp, tp->tcp_mstamp);
    } else {
        tp->snd_cwnd_cnt += htcp->pkts_acked;
    }
    htcp->pkts_acked = 1;
}

void PROGRAM(set_state, struct sock *sk, __u8 new_state)
{
    struct htcp *htcp = private_of(sk);
    __u64 now_us = tcp_sk(sk)->tcp_mstamp;
    if (new_state == TCP_CA_Open && htcp->can_undo) {
        htcp->last_loss_us = now_us;
        htcp->can_undo = false;
    } else if (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery || new_state == TCP_CA_Loss) {
        htcp->undo_last_loss_us = htcp->last_loss_us;
        htcp->undo_max_rtt_us = htcp->max_rtt_us;
        htcp->undo_old_max_rate = htcp->old_max_rate;
        htcp->can_undo = true;
        htcp->last_loss_us = now_us;
    }
}

__u32 PROGRAM(undo_cwnd, struct sock *sk)
{
    struct htcp *htcp = private_of(sk);
    if (htcp->can_undo) {
        htcp->last_loss_us = htcp->undo_last_loss_us;
        htcp->max_rtt_us = htcp->undo_max_rtt_us;
        htcp->old_max_rate = htcp->undo_old_max_rate;
        htcp->can_undo = false;
    }
    return tcp_reno_undo_cwnd(sk);
}

ALGORITHM(htcp, init, ssthresh, cong_avoid, set_state, pkts_acked, undo_cwnd);
