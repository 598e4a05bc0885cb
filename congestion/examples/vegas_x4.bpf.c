/* Vegas with thresholds 4 times as wide: for paths on which 2 packets pass in less time than round trips vary by themselves.
 *
 * See scenarios/vegas_thresholds.py. An example, too, of an algorithm that changes one which is there.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#define NAME "vegas_x4"
#define ALPHA 8u /* segments */
#define BETA 16u
#define GAMMA 4u
#include "vegas.bpf.c"
