/* TCP Westwood+: a loss sets the window to the measured bandwidth-delay product, so a random one costs nothing.
 *
 * S. Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001;
 * L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
 * control", ACM CCR 34(2), 2004. BWE is the rate of acknowledged bytes per round trip (at least 50 ms), smoothed by
 * two low-pass filters of 7/8 in a row as in Linux; at a loss ssthresh = BWE x RTTmin. Growth is Reno's.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define MIN_INTERVAL_US 50000u
#define FILTER 8u /* a new sample has the weight 1 / FILTER */
#define FIRST_RTT_US (20 * US_PER_S)

struct westwood {
    __u64 once_filtered_bps, bandwidth_bps; /* bytes/s */
    __u64 since_us;                         /* start of this interval */
    __u32 acked_bytes;                      /* in this interval */
    __u32 snd_una;                          /* as of the last ACK */
    __u32 accounted_bytes;                  /* counted for duplicate ACKs, before snd_una has moved */
    __u32 rtt_us, min_rtt_us;
    bool has_seen_ack;
    bool renew_min_rtt; /* set by a timeout, because the path may have changed */
};

void PROGRAM(init, struct sock *sk)
{
    struct westwood *westwood = private_of(sk);
    westwood->rtt_us = westwood->min_rtt_us = FIRST_RTT_US;
    westwood->since_us = tcp_sk(sk)->tcp_mstamp;
    westwood->renew_min_rtt = true;
    westwood->snd_una = tcp_sk(sk)->snd_una;
}

void PROGRAM(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
    struct westwood *westwood = private_of(sk);
    if (sample->rtt_us > 0)
        westwood->rtt_us = sample->rtt_us;
}

/* The first sample that is not 0 initialises the filters; 0 would keep the estimate low for dozens of round trips. */
static __always_inline void filter(struct westwood *westwood, __u64 sample_bps)
{
    if (westwood->once_filtered_bps == 0 && westwood->bandwidth_bps == 0) {
        westwood->once_filtered_bps = westwood->bandwidth_bps = sample_bps;
        return;
    }
    westwood->once_filtered_bps = ((FILTER - 1) * westwood->once_filtered_bps + sample_bps) / FILTER;
    westwood->bandwidth_bps = ((FILTER - 1) * westwood->bandwidth_bps + westwood->once_filtered_bps) / FILTER;
}

static __always_inline void end_interval(struct westwood *westwood, const struct tcp_sock *tp)
{
    __u64 elapsed_us = tp->tcp_mstamp - westwood->since_us;
    if (!westwood->has_seen_ack) { /* the SYN is not data */
        westwood->snd_una = tp->snd_una;
        westwood->has_seen_ack = true;
    }
    if (elapsed_us <= max(westwood->rtt_us, MIN_INTERVAL_US))
        return;
    filter(westwood, (__u64)westwood->acked_bytes * US_PER_S / elapsed_us);
    westwood->acked_bytes = 0;
    westwood->since_us = tp->tcp_mstamp;
}

/* Bytes that this ACK reports as received. A duplicate ACK reports one segment, which is not counted again later. */
static __always_inline __u32 arrived_bytes(struct westwood *westwood, const struct tcp_sock *tp)
{
    __u32 bytes = tp->snd_una - westwood->snd_una;
    __u32 segment = tp->mss_cache;
    if (bytes == 0) {
        westwood->accounted_bytes += segment;
        bytes = segment;
    } else if (bytes > segment && westwood->accounted_bytes >= bytes) {
        westwood->accounted_bytes -= bytes;
        bytes = segment;
    } else if (bytes > segment) {
        bytes -= westwood->accounted_bytes;
        westwood->accounted_bytes = 0;
    }
    return bytes;
}

void PROGRAM(in_ack_event, struct sock *sk, __u32 flags)
{
    struct westwood *westwood = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    end_interval(westwood, tp);
    westwood->acked_bytes +=
        flags & CA_ACK_SLOWPATH ? arrived_bytes(westwood, tp) : tp->snd_una - westwood->snd_una;
    westwood->snd_una = tp->snd_una;
    westwood->min_rtt_us =
        westwood->renew_min_rtt ? westwood->rtt_us : min(westwood->rtt_us, westwood->min_rtt_us);
    westwood->renew_min_rtt = false;
}

static __always_inline __u32 bandwidth_delay_product(struct sock *sk)
{
    struct westwood *westwood = private_of(sk);
    __u64 bytes = westwood->bandwidth_bps * westwood->min_rtt_us / US_PER_S;
    return at_least(MIN_CWND, bytes / at_least(1, tcp_sk(sk)->mss_cache));
}

void PROGRAM(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
    struct westwood *westwood = private_of(sk);
    struct tcp_sock *tp = tcp_sk(sk);
    if (event == CA_EVENT_COMPLETE_CWR) {
        tp->snd_cwnd = tp->snd_ssthresh = bandwidth_delay_product(sk);
    } else if (event == CA_EVENT_LOSS) {
        tp->snd_ssthresh = bandwidth_delay_product(sk);
        westwood->renew_min_rtt = true;
    }
}

RENO(cong_avoid)
RENO(ssthresh)
RENO(undo_cwnd)
ALGORITHM(westwood, init, ssthresh, cong_avoid, cwnd_event, in_ack_event, pkts_acked, undo_cwnd);
