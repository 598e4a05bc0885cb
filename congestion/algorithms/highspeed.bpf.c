/* HighSpeed TCP: Reno up to a window of 38, and more aggressive the larger the window, by a table.
 *
 * S. Floyd, RFC 3649 (2003), with the RFC's parameters Low_Window 38, High_Window 83000, High_Decrease 0.1, and its
 * table (Appendix B): up to a window of w[i], an ACK adds a(w) / w with a(w) = i + 1, and a loss reduces the window
 * by the fraction b(w).
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#include "tcp.bpf.h"

#define MAX_CWND (0xffffffffu / 128) /* so that products with the table's values fit into 32 bits */
#define B_BITS 8

struct step {
    __u32 w; /* largest window of this step */
    __u32 b; /* b(w) in units of 1 / (1 << B_BITS) */
};

static const struct step table[] = {
    {38, 128},    {118, 112},   {221, 104},   {347, 98},    {495, 93},    {663, 89},    {851, 86},    {1058, 83},
    {1284, 81},   {1529, 78},   {1793, 76},   {2076, 74},   {2378, 72},   {2699, 71},   {3039, 69},   {3399, 68},
    {3778, 66},   {4177, 65},   {4596, 64},   {5036, 62},   {5497, 61},   {5979, 60},   {6483, 59},   {7009, 58},
    {7558, 57},   {8130, 56},   {8726, 55},   {9346, 54},   {9991, 53},   {10661, 52},  {11358, 52},  {12082, 51},
    {12834, 50},  {13614, 49},  {14424, 48},  {15265, 48},  {16137, 47},  {17042, 46},  {17981, 45},  {18955, 45},
    {19965, 44},  {21013, 43},  {22101, 43},  {23230, 42},  {24402, 41},  {25618, 41},  {26881, 40},  {28193, 39},
    {29557, 39},  {30975, 38},  {32450, 38},  {33986, 37},  {35586, 36},  {37253, 36},  {38992, 35},  {40808, 35},
    {42707, 34},  {44694, 33},  {46776, 33},  {48961, 32},  {51258, 32},  {53677, 31},  {56230, 30},  {58932, 30},
    {61799, 29},  {64851, 28},  {68113, 28},  {71617, 27},  {75401, 26},  {79517, 26},  {84035, 25},  {89053, 24},
    {94717, 23},
};
#define STEPS (sizeof table / sizeof *table)

struct highspeed {
    __u32 step; /* set in congestion avoidance only: a loss in slow start halves the window, as in Linux */
};

/* The step that a window belongs to, by bisection. */
static __always_inline __u32 step_of(__u32 cwnd)
{
    __u32 step = 0;
    for (__u32 half = 64; half > 0; half /= 2)
        if (step + half < STEPS && cwnd > table[step + half - 1].w)
            step += half;
    return step;
}

void PROGRAM(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct highspeed *highspeed = private_of(sk);
    if (!is_cwnd_limited(tp))
        return;
    if (in_slow_start(tp)) {
        tcp_slow_start(tp, acked);
        return;
    }
    highspeed->step = step_of(tp->snd_cwnd);
    /* Once per ACK, as the RFC says, however many segments it acknowledges. */
    __u32 count = tp->snd_cwnd_cnt + highspeed->step + 1;
    if (count >= tp->snd_cwnd && tp->snd_cwnd < min(tp->snd_cwnd_clamp, MAX_CWND)) {
        count -= tp->snd_cwnd;
        tp->snd_cwnd++;
    }
    tp->snd_cwnd_cnt = count;
}

__u32 PROGRAM(ssthresh, struct sock *sk)
{
    __u32 cwnd = min(tcp_sk(sk)->snd_cwnd, MAX_CWND);
    struct highspeed *highspeed = private_of(sk);
    __u32 step = highspeed->step;
    __u32 b = step < STEPS ? table[step].b : table[0].b; /* the verifier requires the check */
    return at_least(MIN_CWND, cwnd - (cwnd * b >> B_BITS));
}

RENO(undo_cwnd)
ALGORITHM(highspeed, ssthresh, cong_avoid, undo_cwnd);
