/* BIC TCP: searches for the largest window that the path carries, by bisection up to that of the last loss.
 *
 * L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
 * 2004: far below the last maximum the window grows by at most S_max segments per round trip (additive increase),
 * near it by a fraction of the distance (binary search), and beyond it slowly at first and then faster and faster
 * (max probing). As in Linux, the step is a quarter of the distance, the last step takes several round trips (smooth
 * part), and acknowledged segments are counted with a correction for delayed ACKs.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define S_MAX 16u           /* segments per round trip */
#define SEARCH_DIVISOR 4u   /* step = distance / SEARCH_DIVISOR */
#define SMOOTH_PART 20u     /* SMOOTH_PART / SEARCH_DIVISOR round trips for the last segment */
#define LOW_WINDOW 14u      /* Reno up to this window */
#define BETA 819u           /* factor of the window after a loss: 0.8, in units of 1 / SCALE */
#define SCALE 1024u
#define FIRST_SEARCH 20u    /* until the first loss: one more segment for at most this many acknowledged ones */
#define HOLD_US 31250u      /* after this time the step is computed anew even if the window has not changed */
#define ACK_BITS 4          /* fraction bits of the mean number of segments per ACK, which starts at 2 */

struct bic {
    __u32 segments_per_increase;
    __u32 last_max;
    __u32 decided_for; /* window and time of the last call of decide() */
    __u64 decided_us;
    __u32 segments_per_ack; /* moving mean with ACK_BITS fraction bits */
};

static __always_inline void reset(struct bic *bic)
{
    *bic = (struct bic){.segments_per_ack = 2 << ACK_BITS};
}

void PROGRAM(init, struct sock *sk)
{
    reset(private_of(sk));
}

/* How many segments must be acknowledged for the window to grow by one. */
static __always_inline __u32 search(__u32 cwnd, __u32 last_max)
{
    __u32 smooth = cwnd * SMOOTH_PART / SEARCH_DIVISOR;
    if (cwnd < last_max) {
        __u32 step = (last_max - cwnd) / SEARCH_DIVISOR;
        return step > S_MAX ? cwnd / S_MAX : step <= 1 ? smooth : cwnd / step;
    }
    if (cwnd < last_max + SEARCH_DIVISOR)
        return smooth;
    if (cwnd < last_max + S_MAX * (SEARCH_DIVISOR - 1))
        return cwnd * (SEARCH_DIVISOR - 1) / (cwnd - last_max);
    return cwnd / S_MAX;
}

static __always_inline void decide(struct bic *bic, const struct tcp_sock *tp)
{
    __u32 cwnd = tp->snd_cwnd;
    if (bic->decided_for == cwnd && tp->tcp_mstamp - bic->decided_us <= HOLD_US)
        return;
    bic->decided_for = cwnd;
    bic->decided_us = tp->tcp_mstamp;
    if (cwnd <= LOW_WINDOW) {
        bic->segments_per_increase = cwnd;
        return;
    }
    __u32 segments = search(cwnd, bic->last_max);
    if (bic->last_max == 0)
        segments = min(segments, FIRST_SEARCH);
    bic->segments_per_increase = at_least(1, (segments << ACK_BITS) / bic->segments_per_ack);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct bic *bic = private_of(sk);
    acked = after_slow_start(tp, acked);
    if (!acked)
        return;
    decide(bic, tp);
    tcp_cong_avoid_ai(tp, bic->segments_per_increase, acked);
}

/* After a loss below the last maximum, probably caused by a new flow, the search ends lower (fast convergence). */
__u32 PROGRAM(ssthresh, struct sock *sk)
{
    struct bic *bic = private_of(sk);
    __u32 cwnd = tcp_sk(sk)->snd_cwnd;
    bic->last_max = cwnd < bic->last_max ? (__u64)cwnd * (SCALE + BETA) / (2 * SCALE) : cwnd;
    return at_least(MIN_CWND, cwnd <= LOW_WINDOW ? cwnd / 2 : (__u64)cwnd * BETA / SCALE);
}

void PROGRAM(set_state, struct sock *sk, __u8 new_state)
{
    if (new_state == TCP_CA_Loss)
        reset(private_of(sk));
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct bic *bic = private_of(sk);
    if (ca_state(sk) == TCP_CA_Open)
        bic->segments_per_ack += sample->pkts_acked - (bic->segments_per_ack >> ACK_BITS);
}

RENO(undo_cwnd)
ALGORITHM(bic, init, ssthresh, cong_avoid, set_state, pkts_acked, undo_cwnd);
