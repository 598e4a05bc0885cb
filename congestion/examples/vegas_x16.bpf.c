/* Vegas with thresholds 16 times as wide: for paths on which 2 packets pass in less time than round trips vary by themselves.
 *
 * See scenarios/vegas_thresholds.py. An example, too, of an algorithm that changes one which is there.
 *
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
#define NAME "vegas_x16"
#define ALPHA 32u /* segments */
#define BETA 64u
#define GAMMA 16u
#include "vegas.bpf.c"
