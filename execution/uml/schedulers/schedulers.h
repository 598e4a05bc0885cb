/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __MPTCP_SCHEDULERS_H
#define __MPTCP_SCHEDULERS_H

struct mptcp_data_frag;
struct mptcp_sendmsg_info;
struct mptcp_sock;
struct mptcp_subflow_context;
struct sock;

/* What the schedulers remember of a connection, under the lock of its socket. */
struct mptcp_sched_state {
	u32	segments;	/* limit of the next push; 0: all the window's room */
	u32	last_id;	/* roundrobin: the subflow that was used last */
	u32	lambda;		/* blest: the correction, in thousandths */
	u32	lambda_set;	/* blest: when it was changed, in jiffies */
	bool	blocked;	/* blest: the send window was full since then */
	bool	waiting;	/* ecf: it decided to wait for the fastest subflow */
};

void mptcp_register_research_schedulers(void);

/* Whether there is something to send: what mptcp_send_head() has, or copies. */
bool mptcp_sched_pending(const struct sock *sk);

/* For all of the schedulers: */
bool mptcp_sched_may_use(struct mptcp_sock *msk,
			 struct mptcp_subflow_context *subflow);
u32 mptcp_sched_room(struct sock *ssk);
int mptcp_sched_mss(struct sock *ssk, struct mptcp_sendmsg_info *info);
int mptcp_sched_send(struct sock *sk, struct sock *ssk, struct mptcp_data_frag *dfrag,
		     struct mptcp_sendmsg_info *info, u64 bytes);

/* redundant.c */
int mptcp_redundant_get_send(struct mptcp_sock *msk);
int mptcp_redundant_push(struct sock *sk, struct sock *ssk,
			 struct mptcp_sendmsg_info *info);

#endif
