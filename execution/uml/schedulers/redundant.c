// SPDX-License-Identifier: GPL-2.0
/*
 * The redundant MPTCP packet scheduler: each piece of data goes over each
 * subflow. As in the out-of-tree kernel (multipath-tcp.org), each subflow has a
 * place of its own in the stream, and goes on as fast as its congestion window
 * lets it; what was acknowledged meanwhile, it leaves out. So the fastest
 * subflow does not wait for the others.
 */
#include <linux/kernel.h>
#include <net/tcp.h>
#include "protocol.h"

/* The first byte that no subflow has sent; after a failure, that needs to be sent again. */
static u64 unsent_seq(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *head = mptcp_send_head((const struct sock *)msk);

	return head ? head->data_seq + head->already_sent : msk->snd_nxt;
}

/* The byte that a subflow sends next. */
static u64 next_seq(const struct mptcp_sock *msk,
		    const struct mptcp_subflow_context *subflow)
{
	u64 acknowledged = msk->snd_una, next = subflow->sched_seq;

	/* It is new, or others were faster, or all has to be sent again. */
	if (before64(next, acknowledged) || after64(next, unsent_seq(msk)))
		return acknowledged;
	return next;
}

int mptcp_redundant_get_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	int err = -EINVAL;

	mptcp_for_each_subflow(msk, subflow) {
		if (!mptcp_sched_may_use(msk, subflow) ||
		    !mptcp_sched_room(mptcp_subflow_tcp_sock(subflow)) ||
		    !before64(next_seq(msk, subflow), msk->write_seq))
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		err = 0;
	}
	mptcp_set_timeout((struct sock *)msk);
	return err;
}

int mptcp_redundant_push(struct sock *sk, struct sock *ssk,
			 struct mptcp_sendmsg_info *info)
{
	struct mptcp_subflow_context *subflow = mptcp_subflow_ctx(ssk);
	struct mptcp_sock *msk = mptcp_sk(sk);
	struct mptcp_data_frag *dfrag;
	int copied = 0, ret = 1;
	u64 bytes, next;

	bytes = (u64)mptcp_sched_room(ssk) * mptcp_sched_mss(ssk, info);
	next = next_seq(msk, subflow);

	list_for_each_entry(dfrag, &msk->rtx_queue, list) {
		u16 began;

		if (copied >= bytes || ret <= 0)
			break;
		if (!before64(next, dfrag->data_seq + dfrag->data_len))
			continue;
		if (before64(next, dfrag->data_seq))
			next = dfrag->data_seq;
		began = next - dfrag->data_seq;
		info->sent = began;
		ret = mptcp_sched_send(sk, ssk, dfrag, info, bytes - copied);
		copied += info->sent - began;
		next = dfrag->data_seq + info->sent;
	}
	subflow->sched_seq = next;
	return copied ? : min(ret, 0);
}
