/* Scalable TCP: recovers from a loss in a fixed number of round trips, however large the window.
 *
 * T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003: on each ACK
 * cwnd += 0.01, on a loss cwnd -= cwnd / 8. Below a window of 100, where the paper's increase is less than Reno's one
 * segment per round trip, the increase is Reno's, as in Linux.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define SEGMENTS_PER_INCREASE 100u /* 1 / a, a = 0.01 */
#define DECREASE_DIVISOR 8u        /* 1 / b, b = 0.125 */

__u32 PROGRAM(ssthresh, struct sock *sk)
{
    __u32 cwnd = tcp_sk(sk)->snd_cwnd;
    return at_least(MIN_CWND, cwnd - cwnd / DECREASE_DIVISOR);
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    acked = after_slow_start(tp, acked);
    if (acked)
        tcp_cong_avoid_ai(tp, min(tp->snd_cwnd, SEGMENTS_PER_INCREASE), acked);
}

RENO(undo_cwnd)
ALGORITHM(scalable, ssthresh, cong_avoid, undo_cwnd);
