/* TCP Veno: treats a loss while little is queued as a random one (wireless), and backs off less.
 *
 * C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2),
 * 2003. N = cwnd x (RTT - BaseRTT) / RTT estimates the segments queued. While N < beta, the path is not congested:
 * the window grows as Reno's, and a loss reduces it by a fifth. Otherwise it grows every second round trip, and a
 * loss halves it. As in Linux, RTT is that of the last ACK.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define BETA_HALVES 6u /* beta = 3 segments; N is counted in half segments */
#define MIN_SAMPLES 2u
#define NONE 0x7fffffffu

struct veno {
    __u32 base_rtt_us; /* least ever */
    __u32 min_rtt_us;  /* since the last ACK that moved the window */
    __u32 samples;     /* since the last loss */
    __u32 queued_halves;
    bool active;  /* false while a loss is being repaired */
    bool skipped; /* the last round trip did not increase the window (grow_slowly) */
};

static __always_inline void resume(struct veno *veno)
{
    veno->min_rtt_us = NONE;
    veno->samples = 0;
    veno->active = true;
}

static __always_inline void start(struct veno *veno)
{
    veno->base_rtt_us = NONE;
    veno->queued_halves = 0;
    veno->skipped = true;
    resume(veno);
}

void PROGRAM(init, struct sock *sk)
{
    start(private_of(sk));
}

void PROGRAM(set_state, struct sock *sk, __u8 new_state)
{
    struct veno *veno = private_of(sk);
    if (new_state == TCP_CA_Open)
        resume(veno);
    else
        veno->active = false;
}

void PROGRAM(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
        start(private_of(sk));
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct veno *veno = private_of(sk);
    if (sample->rtt_us < 0)
        return;
    __u32 rtt_us = sample->rtt_us + 1;
    veno->base_rtt_us = min(veno->base_rtt_us, rtt_us);
    veno->min_rtt_us = min(veno->min_rtt_us, rtt_us);
    veno->samples++;
}

/* One segment every second round trip. */
static __always_inline void grow_slowly(struct veno *veno, struct tcp_sock *tp, __u32 acked)
{
    if (tp->snd_cwnd_cnt < tp->snd_cwnd) {
        tp->snd_cwnd_cnt += acked;
        return;
    }
    if (veno->skipped && tp->snd_cwnd < tp->snd_cwnd_clamp)
        tp->snd_cwnd++;
    veno->skipped = !veno->skipped;
    tp->snd_cwnd_cnt = 0;
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct veno *veno = private_of(sk);
    if (!veno->active) {
        tcp_reno_cong_avoid(sk, ack, acked);
        return;
    }
    if (!is_cwnd_limited(tp))
        return;
    if (veno->samples <= MIN_SAMPLES) {
        tcp_reno_cong_avoid(sk, ack, acked);
    } else {
        __u64 fits_halves = 2ull * tp->snd_cwnd * veno->base_rtt_us / veno->min_rtt_us;
        veno->queued_halves = 2 * tp->snd_cwnd - (__u32)fits_halves;
        if (in_slow_start(tp))
            acked = tcp_slow_start(tp, acked);
        if (acked && veno->queued_halves < BETA_HALVES)
            tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
        else if (acked)
            grow_slowly(veno, tp, acked);
    }
    veno->min_rtt_us = NONE;
}

__u32 PROGRAM(ssthresh, struct sock *sk)
{
    __u32 cwnd = tcp_sk(sk)->snd_cwnd;
    struct veno *veno = private_of(sk);
    return at_least(MIN_CWND, veno->queued_halves < BETA_HALVES ? cwnd * 4 / 5 : cwnd / 2);
}

RENO(undo_cwnd)
ALGORITHM(veno, init, ssthresh, cong_avoid, set_state, cwnd_event, pkts_acked, undo_cwnd);
