/* The functions of Linux that congestion controls call: with them, a BPF program can be built for this machine's own
 * processor, and called by a test. They do what those in net/ipv4/tcp_cong.c do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tcp.bpf.h"

const unsigned long tcp_sock_bytes = sizeof(struct tcp_sock);

static void grow(struct tcp_sock *tp, __u32 segments)
{
    tp->snd_cwnd = min(tp->snd_cwnd + segments, tp->snd_cwnd_clamp);
}

__u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked)
{
    __u32 used = min(acked, tp->snd_ssthresh - tp->snd_cwnd);
    grow(tp, used);
    return acked - used;
}

/* What was counted for a larger window, before `per` became less, is worth one segment at most. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 per, __u32 acked)
{
    if (tp->snd_cwnd_cnt >= per) {
        tp->snd_cwnd_cnt = 0;
        tp->snd_cwnd++;
    }
    tp->snd_cwnd_cnt += acked;
    __u32 segments = tp->snd_cwnd_cnt / per;
    tp->snd_cwnd_cnt %= per;
    grow(tp, segments);
}

__u32 tcp_reno_ssthresh(struct sock *sk)
{
    return at_least(MIN_CWND, tcp_sk(sk)->snd_cwnd / 2);
}

void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    acked = after_slow_start(tp, acked);
    if (acked)
        tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

__u32 tcp_reno_undo_cwnd(struct sock *sk)
{
    return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}
