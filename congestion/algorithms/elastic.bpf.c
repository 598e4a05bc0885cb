/* Elastic-TCP: grows fast while the queue is short, and ever more slowly as it fills.
 *
 * M. A. Alrshah, M. A. Al-Maqri, M. Othman, "Elastic-TCP: Flexible Congestion Control Algorithm to Adapt for High-BDP
 * Networks", IEEE Systems Journal 13(2), 2019. On each ACK cwnd += WWF / cwnd, with the window-correlated weighting
 * function WWF = sqrt(RTTmax / RTT x cwnd): the window grows by WWF a round trip, which is RTTmax / RTT = 1 in a full
 * queue. Slow start, and what a loss does, are Reno's. RTTmax is forgotten at a timeout: the path may be another one.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define FRACTION_BITS 8 /* of WWF: whole segments would lose a tenth of it at a window of 100 */

struct elastic {
    __u32 max_rtt_us;
    __u32 rtt_us;
    __u64 credit; /* towards the next increase, in segments of the window and FRACTION_BITS */
};

void PROGRAM(elastic_init, struct sock *sk)
{
    struct elastic *elastic = private_of(sk);
    elastic->max_rtt_us = 0;
    elastic->rtt_us = 0;
    elastic->credit = 0;
}

void PROGRAM(elastic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct elastic *elastic = private_of(sk);
    if (sample->rtt_us < 0)
        return;
    elastic->rtt_us = sample->rtt_us + 1;
    elastic->max_rtt_us = max(elastic->max_rtt_us, elastic->rtt_us);
}

void PROGRAM(elastic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    struct elastic *elastic = private_of(sk);
    if (event == CA_EVENT_LOSS)
        elastic->max_rtt_us = 0;
}

/* WWF with FRACTION_BITS; 1 before there is a round trip to weigh with. */
static __always_inline __u32 weight(const struct elastic *elastic, __u32 cwnd)
{
    if (elastic->rtt_us == 0 || elastic->max_rtt_us == 0)
        return 1u << FRACTION_BITS;
    __u64 square = ((__u64)cwnd * elastic->max_rtt_us << 2 * FRACTION_BITS) / elastic->rtt_us;
    return square_root(square);
}

void PROGRAM(elastic_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct elastic *elastic = private_of(sk);
    if (!is_cwnd_limited(tp))
        return;
    if (in_slow_start(tp))
        acked = tcp_slow_start(tp, acked);
    if (!acked)
        return;
    __u64 due = (__u64)tp->snd_cwnd << FRACTION_BITS;
    elastic->credit += (__u64)weight(elastic, tp->snd_cwnd) * acked;
    if (elastic->credit >= due) {
        tp->snd_cwnd = min(tp->snd_cwnd + (__u32)(elastic->credit / due), tp->snd_cwnd_clamp);
        elastic->credit %= due;
    }
}

__u32 PROGRAM(elastic_ssthresh, struct sock *sk)
{
    return tcp_reno_ssthresh(sk);
}

__u32 PROGRAM(elastic_undo_cwnd, struct sock *sk)
{
    return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops elastic = {
    .init = (void *)elastic_init,
    .ssthresh = (void *)elastic_ssthresh,
    .cong_avoid = (void *)elastic_cong_avoid,
    .cwnd_event = (void *)elastic_cwnd_event,
    .pkts_acked = (void *)elastic_pkts_acked,
    .undo_cwnd = (void *)elastic_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = NAME_PREFIX "elastic",
};
