/* The kernel's TCP as a congestion control sees it: the declarations that it needs of the four megabytes of vmlinux.h.
 *
 * Fields are located by name when the program is loaded (CO-RE), so one object runs on every kernel from 6.1 on that
 * has them. Add the fields that you need, with the kernel's types. The kernel lets a program write snd_cwnd,
 * snd_cwnd_cnt, snd_ssthresh, sk_pacing_rate and the bytes behind private_of(), and nothing else.
 *
 * These programs are Apache-2.0 OR GPL-2.0-or-later, because the kernel loads only programs under the GPL. */
#ifndef FLIGHTPATH_TCP_BPF_H
#define FLIGHTPATH_TCP_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };
enum bpf_map_type { BPF_MAP_TYPE_UNSPEC };

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
    unsigned long sk_pacing_rate; /* bytes/s */
};

struct inet_sock {
    struct sock sk;
};

struct inet_connection_sock {
    struct inet_sock icsk_inet;
    __u8 icsk_ca_state : 5; /* one of enum tcp_ca_state */
    __u64 icsk_ca_priv[104 / sizeof(__u64)];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 snd_una, snd_nxt;
    __u32 mss_cache;        /* bytes */
    __u32 srtt_us;          /* eight times the smoothed round trip, us */
    __u32 packets_out;
    __u32 max_packets_out;
    __u32 snd_ssthresh;     /* segments, as everything below */
    __u32 snd_cwnd;
    __u32 snd_cwnd_cnt;     /* segments acknowledged since the last increase */
    __u32 snd_cwnd_clamp;
    __u32 prior_cwnd;       /* before the last reduction */
    __u32 delivered, lost;  /* since the connection began */
    __u8 is_cwnd_limited : 1;
    __u64 tcp_mstamp;       /* now: time of the last packet sent or received, us on the monotonic clock */
};

struct ack_sample {
    __u32 pkts_acked;
    __s32 rtt_us; /* negative if this ACK gave no sample */
    __u32 in_flight;
};

#pragma clang attribute pop

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

enum tcp_ca_event {
    CA_EVENT_TX_START,     /* the first packet after everything was acknowledged */
    CA_EVENT_CWND_RESTART, /* the window starts again after idleness */
    CA_EVENT_COMPLETE_CWR, /* end of a reduction */
    CA_EVENT_LOSS,         /* retransmission timeout */
    CA_EVENT_ECN_NO_CE,
    CA_EVENT_ECN_IS_CE,
};

/* The hooks that the kernel calls. ssthresh, cong_avoid and undo_cwnd are required. */
struct tcp_congestion_ops {
    void (*init)(struct sock *sk);
    void (*release)(struct sock *sk);
    __u32 (*ssthresh)(struct sock *sk);                          /* returns the slow start threshold after a loss */
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked); /* an ACK of `acked` segments, up to sequence `ack` */
    void (*set_state)(struct sock *sk, __u8 new_state);
    void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
    void (*in_ack_event)(struct sock *sk, __u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    __u32 (*undo_cwnd)(struct sock *sk); /* nothing was lost after all: returns the window to go back to */
    char name[16];
    __u32 flags;
};

/* Without this flag, only the initial network namespace may use an algorithm; others get EPERM. */
#define TCP_CONG_NON_RESTRICTED 1

/* A flag of in_ack_event: the ACK changed more than snd_una. */
#define CA_ACK_SLOWPATH 1

/* The kernel refuses programs under other licences. */
char _license[] SEC("license") = "GPL";

/* Functions of the kernel. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;              /* returns what is left of `acked` */
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 per, __u32 acked) __ksym; /* one more per `per` segments */
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;                            /* half the window */
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Defines a hook, with the hook's name: `void PROGRAM(init, struct sock *sk) { ... }`. */
#define PROGRAM(name, arguments...) SEC("struct_ops/" #name) BPF_PROG(name, arguments)

/* Defines a hook that does what Reno does: RENO(ssthresh), RENO(cong_avoid) or RENO(undo_cwnd). */
#define RENO(hook) RENO_##hook
#define RENO_ssthresh __u32 PROGRAM(ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }
#define RENO_undo_cwnd __u32 PROGRAM(undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }
#define RENO_cong_avoid \
    void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked) { tcp_reno_cong_avoid(sk, ack, acked); }

/* Defines the algorithm with the hooks listed: ALGORITHM(mine, ssthresh, cong_avoid, undo_cwnd) at the end of the file.
 * NAME_PREFIX lets a second copy of an algorithm exist beside the kernel's own. */
#define ALGORITHM(algorithm, hooks...)                             \
    SEC(".struct_ops") struct tcp_congestion_ops algorithm = {     \
        ___bpf_apply(HOOKS_, ___bpf_narg(hooks))(hooks),           \
        .flags = TCP_CONG_NON_RESTRICTED,                          \
        .name = NAME_PREFIX STRING(algorithm),                     \
    }
#define STRING(word) STRING_OF(word)
#define STRING_OF(word) #word
#ifndef NAME_PREFIX
#define NAME_PREFIX ""
#endif

/* HOOKS_n initialises the members of n hooks. */
#define HOOKS_1(hook) .hook = (void *)hook
#define HOOKS_2(hook, more...) HOOKS_1(hook), HOOKS_1(more)
#define HOOKS_3(hook, more...) HOOKS_1(hook), HOOKS_2(more)
#define HOOKS_4(hook, more...) HOOKS_1(hook), HOOKS_3(more)
#define HOOKS_5(hook, more...) HOOKS_1(hook), HOOKS_4(more)
#define HOOKS_6(hook, more...) HOOKS_1(hook), HOOKS_5(more)
#define HOOKS_7(hook, more...) HOOKS_1(hook), HOOKS_6(more)
#define HOOKS_8(hook, more...) HOOKS_1(hook), HOOKS_7(more)
#define HOOKS_9(hook, more...) HOOKS_1(hook), HOOKS_8(more)

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define US_PER_S 1000000u
#define MIN_CWND 2u /* no algorithm here goes below, as in Linux */

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
    return (struct tcp_sock *)sk;
}

/* The 104 bytes that each connection has for its algorithm; zero when init is called. */
static __always_inline void *private_of(struct sock *sk)
{
    return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u8 ca_state(struct sock *sk)
{
    return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
    return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Whether the window limits the sender. If not it must not grow: the unused increase would become a burst later. */
static __always_inline bool is_cwnd_limited(struct tcp_sock *tp)
{
    if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
        return true;
    return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Slow start, if the connection is in it. Returns the acknowledged segments that are left for congestion avoidance; 0
 * if the window must not grow. */
static __always_inline __u32 after_slow_start(struct tcp_sock *tp, __u32 acked)
{
    if (!is_cwnd_limited(tp))
        return 0;
    return in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Whether sequence number `a` is later than `b`; they wrap. */
static __always_inline bool after(__u32 a, __u32 b)
{
    return (__s32)(b - a) < 0;
}

static __always_inline __u32 at_least(__u32 least, __u32 value)
{
    return max(least, value);
}

/* The largest integer whose square is not above n. */
static __always_inline __u32 square_root(__u64 n)
{
    __u64 root = 0;
    for (int bit = 31; bit >= 0; bit--) {
        __u64 larger = root | 1ull << bit;
        if (larger * larger <= n)
            root = larger;
    }
    return root;
}

#endif
