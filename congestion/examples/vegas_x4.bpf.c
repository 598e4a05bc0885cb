/* TCP Vegas with thresholds 4 times as wide, for paths on which round trips vary by more than the time of 2 packets.
 *
 * See scenarios/vegas_thresholds.py. It is also an example of a variant of an algorithm that is not a copy.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#define NAME vegas_x4
#define ALPHA 8u /* segments */
#define BETA 16u
#define GAMMA 4u
#include "vegas.bpf.c"
