// SPDX-License-Identifier: GPL-2.0
/*
 * MPTCP packet schedulers of research, as part of the kernel: BLEST, ECF,
 * round robin, and what they share with the redundant one (redundant.c).
 *
 * The papers say that a subflow is available if its congestion window has room.
 * Linux's own scheduler fills the subflows' send buffers instead. So here a
 * subflow gets no more than what it can send at once, and a call of get_send
 * that finds no room, or decides to wait, is repeated with the next
 * acknowledgement of any subflow.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <net/tcp.h>
#include "protocol.h"

/* ECF's hysteresis: a quarter, as in its paper. */
#define ECF_BETA_INVERSE	4

/* BLEST's correction, in thousandths: the values of its authors' own code. */
#define BLEST_LAMBDA_START	1200
#define BLEST_LAMBDA_MIN	1000
#define BLEST_LAMBDA_MAX	1300
#define BLEST_LAMBDA_UP		40
#define BLEST_LAMBDA_DOWN	10

/* Fractions of round trips are counted in these. */
#define PARTS			256

struct choice {
	struct sock *fastest;	/* of all subflows that may be used */
	struct sock *open;	/* of those whose congestion window has room */
};

static bool is_backup(const struct mptcp_subflow_context *subflow)
{
	return subflow->backup || subflow->request_bkup;
}

/* As Linux's own scheduler: backups only while no other subflow is active. */
bool mptcp_sched_may_use(struct mptcp_sock *msk,
			 struct mptcp_subflow_context *subflow)
{
	struct mptcp_subflow_context *other;

	if (!mptcp_subflow_active(subflow))
		return false;
	if (!is_backup(subflow))
		return true;
	mptcp_for_each_subflow(msk, other)
		if (!is_backup(other) && mptcp_subflow_active(other))
			return false;
	return true;
}

/* Segments in flight, and those that wait for the congestion window. */
static u32 occupied(const struct tcp_sock *tp)
{
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);

	return tcp_packets_in_flight(tp) +
	       DIV_ROUND_UP(unsent, max(1U, tp->mss_cache));
}

/* Segments for which the congestion window has room. */
u32 mptcp_sched_room(struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 window = tcp_snd_cwnd(tp);

	if (!sk_stream_memory_free(ssk) || occupied(tp) >= window)
		return 0;
	return window - occupied(tp);
}

/* Bytes of a segment with all its options; the caller holds the subflow's lock. */
int mptcp_sched_mss(struct sock *ssk, struct mptcp_sendmsg_info *info)
{
	return tcp_send_mss(ssk, &info->size_goal, info->flags);
}

static u64 rtt_us(const struct sock *ssk)
{
	return max(1U, READ_ONCE(tcp_sk(ssk)->srtt_us) >> 3);
}

static u64 deviation_us(const struct sock *ssk)
{
	return READ_ONCE(tcp_sk(ssk)->mdev_us) >> 2;
}

static struct choice choose(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	struct choice choice = {};

	mptcp_for_each_subflow(msk, subflow) {
		struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

		if (!mptcp_sched_may_use(msk, subflow))
			continue;
		if (!choice.fastest || rtt_us(ssk) < rtt_us(choice.fastest))
			choice.fastest = ssk;
		if (mptcp_sched_room(ssk) &&
		    (!choice.open || rtt_us(ssk) < rtt_us(choice.open)))
			choice.open = ssk;
	}
	mptcp_set_timeout((struct sock *)msk);
	return choice;
}

static int schedule_segments(struct mptcp_sock *msk, struct sock *ssk, u32 segments)
{
	msk->sched_state.segments = segments;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

static int get_retrans(struct mptcp_sock *msk)
{
	struct sock *ssk = mptcp_subflow_get_retrans(msk);

	if (!ssk)
		return -EINVAL;
	mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
	return 0;
}

static void reset(struct mptcp_sock *msk)
{
	msk->sched_state = (struct mptcp_sched_state) {
		.lambda = BLEST_LAMBDA_START,
		.lambda_set = tcp_jiffies32,
	};
}

/*
 * Sends bytes of a piece from info->sent on, and says there how far it came.
 * Returns 0 or an error if the subflow takes no more.
 */
int mptcp_sched_send(struct sock *sk, struct sock *ssk, struct mptcp_data_frag *dfrag,
		     struct mptcp_sendmsg_info *info, u64 bytes)
{
	struct mptcp_sock *msk = mptcp_sk(sk);
	int ret = 1;

	info->limit = min_t(u64, dfrag->data_len, info->sent + bytes);
	while (info->sent < info->limit) {
		ret = mptcp_sendmsg_frag(sk, ssk, dfrag, info);
		if (ret <= 0)
			break;
		msk->last_data_sent = tcp_jiffies32;
		info->sent += ret;
		if (info->sent > dfrag->already_sent)
			mptcp_update_post_push(msk, dfrag, info->sent - dfrag->already_sent);
	}
	if (dfrag == msk->first_pending && dfrag->already_sent == dfrag->data_len)
		msk->first_pending = mptcp_send_next(sk);
	return ret;
}

/* Sends new data: as many segments as get_send() allowed, and have room. */
static int push(struct sock *sk, struct sock *ssk, struct mptcp_sendmsg_info *info)
{
	u32 segments = mptcp_sched_room(ssk), limit;
	struct mptcp_sock *msk = mptcp_sk(sk);
	struct mptcp_data_frag *dfrag;
	int copied = 0, ret = 1;
	u64 bytes;

	limit = msk->sched_state.segments;
	if (limit)
		segments = min(segments, limit);
	bytes = (u64)segments * mptcp_sched_mss(ssk, info);

	while (copied < bytes && ret > 0 && (dfrag = mptcp_send_head(sk))) {
		u16 began = dfrag->already_sent;

		info->sent = began;
		ret = mptcp_sched_send(sk, ssk, dfrag, info, bytes - copied);
		copied += info->sent - began;
	}
	return copied ? : min(ret, 0);
}

/*
 * ECF: Lim, Nahum, Towsley, Gibbens, "ECF: An MPTCP Path Scheduler to Manage
 * Heterogeneous Paths", CoNEXT 2017, algorithm 1. k segments wait in the
 * connection's buffer. f is the fastest subflow, and its window is full; s is
 * the one that would be used instead.
 */
static bool ecf_waits(struct mptcp_sock *msk, struct sock *f, struct sock *s)
{
	struct mptcp_sched_state *state = &msk->sched_state;
	u64 delta = max(deviation_us(f), deviation_us(s));
	u64 k = DIV_ROUND_UP_ULL(msk->write_seq - msk->snd_nxt,
				 max(1U, tcp_sk(f)->mss_cache));
	/* n * RTT_f, with n = 1 + k / CWND_f */
	u64 over_f = rtt_us(f) + div_u64(k * rtt_us(f), max(1U, tcp_snd_cwnd(tcp_sk(f))));
	u64 over_s = div_u64(k * rtt_us(s), max(1U, tcp_snd_cwnd(tcp_sk(s))));

	/* n * RTT_f < (1 + waiting * beta) * (RTT_s + delta) */
	if (ECF_BETA_INVERSE * over_f >=
	    (ECF_BETA_INVERSE + state->waiting) * (rtt_us(s) + delta)) {
		state->waiting = false;
		return false;
	}
	/* k / CWND_s * RTT_s >= 2 * RTT_f + delta */
	if (over_s < 2 * rtt_us(f) + delta)
		return false;
	state->waiting = true;
	return true;
}

static int ecf_get_send(struct mptcp_sock *msk)
{
	struct choice choice = choose(msk);

	if (!choice.open)
		return -EINVAL;
	if (choice.open == choice.fastest)
		return schedule_segments(msk, choice.open, 0);
	if (ecf_waits(msk, choice.fastest, choice.open))
		return -EINVAL;
	return schedule_segments(msk, choice.open, 1);
}

/*
 * BLEST: Ferlin, Alay, Mehani, Boreli, "BLEST: Blocking Estimation-based MPTCP
 * Scheduler for Heterogeneous Networks", IFIP Networking 2016. A segment on the
 * slower subflow s takes room in the connection's send window M for a round trip
 * of s. If the fastest subflow f could fill the rest of M meanwhile, it would be
 * blocked, so wait for it.
 */
static bool blest_waits(struct mptcp_sock *msk, struct sock *f, struct sock *s)
{
	u64 window = READ_ONCE(msk->wnd_end) - msk->snd_una, by_f, by_s;
	u64 rtts = max_t(u64, PARTS, div64_u64(PARTS * rtt_us(s), rtt_us(f)));

	/* X = MSS_f * (CWND_f + (rtts - 1) / 2) * rtts, with rtts = RTT_s / RTT_f */
	by_f = tcp_sk(f)->mss_cache *
	       ((PARTS * tcp_snd_cwnd(tcp_sk(f)) + (rtts - PARTS) / 2) * rtts / (PARTS * PARTS));
	by_s = (u64)tcp_sk(s)->mss_cache * (occupied(tcp_sk(s)) + 1);
	/* Send if X * lambda <= |M| - MSS_s * (inflight_s + 1). */
	return by_s > window ||
	       by_f * msk->sched_state.lambda > 1000 * (window - by_s);
}

/*
 * lambda grows if the send window has blocked the fastest subflow although the
 * estimate said that it would not, and shrinks otherwise, once in a round trip
 * of the slowest subflow.
 */
static void blest_correct(struct mptcp_sock *msk, struct choice choice)
{
	struct mptcp_sched_state *state = &msk->sched_state;
	struct mptcp_subflow_context *subflow;
	u64 slowest_us = 0;

	mptcp_for_each_subflow(msk, subflow) {
		struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

		if (ssk == choice.fastest || !mptcp_subflow_active(subflow))
			continue;
		slowest_us = max(slowest_us, rtt_us(ssk));
		if (choice.open == choice.fastest && occupied(tcp_sk(ssk)) &&
		    !before64(msk->snd_nxt, READ_ONCE(msk->wnd_end)))
			state->blocked = true;
	}
	if (!slowest_us || tcp_jiffies32 - state->lambda_set < usecs_to_jiffies(slowest_us))
		return;
	if (state->blocked)
		state->lambda = min(state->lambda + BLEST_LAMBDA_UP, BLEST_LAMBDA_MAX);
	else
		state->lambda = max(state->lambda - BLEST_LAMBDA_DOWN, BLEST_LAMBDA_MIN);
	state->lambda_set = tcp_jiffies32;
	state->blocked = false;
}

static int blest_get_send(struct mptcp_sock *msk)
{
	struct choice choice = choose(msk);

	if (!choice.open)
		return -EINVAL;
	blest_correct(msk, choice);
	if (choice.open == choice.fastest)
		return schedule_segments(msk, choice.open, 0);
	if (blest_waits(msk, choice.fastest, choice.open))
		return -EINVAL;
	return schedule_segments(msk, choice.open, 1);
}

/* A segment on each subflow in turn, as long as its window has room. */
static int roundrobin_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow, *first = NULL, *next = NULL;
	u32 last = msk->sched_state.last_id;

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_may_use(msk, subflow) ||
		    !mptcp_sched_room(mptcp_subflow_tcp_sock(subflow)))
			continue;
		if (!first || subflow->subflow_id < first->subflow_id)
			first = subflow;
		if (subflow->subflow_id > last &&
		    (!next || subflow->subflow_id < next->subflow_id))
			next = subflow;
	}
	mptcp_set_timeout((struct sock *)msk);
	next = next ? : first;
	if (!next)
		return -EINVAL;
	msk->sched_state.last_id = next->subflow_id;
	return schedule_segments(msk, mptcp_subflow_tcp_sock(next), 1);
}

bool mptcp_sched_pending(const struct sock *sk)
{
	const struct mptcp_sock *msk = mptcp_sk(sk);

	if (mptcp_send_head(sk))
		return true;
	return msk->sched && msk->sched->sends_copies &&
	       !__mptcp_check_fallback(msk) && !list_empty(&msk->rtx_queue);
}

#define SCHEDULER(NAME, GET_SEND, PUSH, COPIES) { \
	.get_send = GET_SEND, .get_retrans = get_retrans, .init = reset, \
	.push = PUSH, .sends_copies = COPIES, .name = NAME, .owner = THIS_MODULE }

static struct mptcp_sched_ops schedulers[] = {
	SCHEDULER("blest", blest_get_send, push, false),
	SCHEDULER("ecf", ecf_get_send, push, false),
	SCHEDULER("redundant", mptcp_redundant_get_send, mptcp_redundant_push, true),
	SCHEDULER("roundrobin", roundrobin_get_send, push, false),
};

void mptcp_register_research_schedulers(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(schedulers); i++)
		mptcp_register_scheduler(&schedulers[i]);
}
