/* Elastic-TCP: grows fast while the queue is short, and more slowly the fuller it is.
 *
 * M. A. Alrshah, M. A. Al-Maqri, M. Othman, "Elastic-TCP: Flexible Congestion Control Algorithm to Adapt for High-BDP
 * Networks", IEEE Systems Journal 13(2), 2019. On each ACK cwnd += WWF / cwnd, with the window-correlated weighting
 * function WWF = sqrt(RTTmax / RTT x cwnd): the window grows by WWF per round trip; RTTmax / RTT is 1 when the queue
 * is full. Slow start and the reaction to a loss are Reno's. A timeout resets RTTmax, because the path may have
 * changed.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define FRACTION_BITS 8 /* fraction bits of WWF; rounding to whole segments would lose a tenth of it at a window of 100 */

struct elastic {
    __u32 max_rtt_us;
    __u32 rtt_us;
    __u64 credit; /* sum of WWF since the last increase, with FRACTION_BITS; the window grows when it reaches cwnd */
};

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct elastic *elastic = private_of(sk);
    if (sample->rtt_us < 0)
        return;
    elastic->rtt_us = sample->rtt_us + 1;
    elastic->max_rtt_us = max(elastic->max_rtt_us, elastic->rtt_us);
}

void PROGRAM(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    struct elastic *elastic = private_of(sk);
    if (event == CA_EVENT_LOSS)
        elastic->max_rtt_us = 0;
}

/* WWF with FRACTION_BITS; 1 until a round trip has been measured. */
static __always_inline __u32 weight(const struct elastic *elastic, __u32 cwnd)
{
    if (elastic->rtt_us == 0 || elastic->max_rtt_us == 0)
        return 1u << FRACTION_BITS;
    __u64 square = ((__u64)cwnd * elastic->max_rtt_us << 2 * FRACTION_BITS) / elastic->rtt_us;
    return square_root(square);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct elastic *elastic = private_of(sk);
    acked = after_slow_start(tp, acked);
    if (!acked)
        return;
    __u64 due = (__u64)tp->snd_cwnd << FRACTION_BITS;
    elastic->credit += (__u64)weight(elastic, tp->snd_cwnd) * acked;
    if (elastic->credit >= due) {
        tp->snd_cwnd = min(tp->snd_cwnd + (__u32)(elastic->credit / due), tp->snd_cwnd_clamp);
        elastic->credit %= due;
    }
}

RENO(ssthresh)
RENO(undo_cwnd)
ALGORITHM(elastic, ssthresh, cong_avoid, cwnd_event, pkts_acked, undo_cwnd);
