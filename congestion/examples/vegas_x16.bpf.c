/* TCP Vegas with thresholds 16 times as wide, for paths on which round trips vary by more than the time of 2 packets.
 *
 * See scenarios/vegas_thresholds.py. It is also an example of a variant of an algorithm that is not a copy.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#define NAME vegas_x16
#define ALPHA 32u /* segments */
#define BETA 64u
#define GAMMA 16u
#include "vegas.bpf.c"
