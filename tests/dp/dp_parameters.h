// SPDX-License-Identifier: Apache-2.0
// dp_parameters.h: every fixed set of the mechanism's integers that a test builds, in one place.
// test_dp_tables scans the table of each. A test that draws a set at random (test_dp_ratio,
// test_dp_oracle) scans its table itself.
#ifndef CUTTLE_TESTS_DP_PARAMETERS_H
#define CUTTLE_TESTS_DP_PARAMETERS_H

#include "dp/account.h"

/* batch, tokens, temperature_num, temperature_den, clip_fixed, fraction_bits, gain */
static const struct dp_integers DP_PARAMETERS[] = {
    /* a table of lambda^ (test_dp_weights) */
    {7, 500, 6, 5, 168, 8, 100},
    {7, 500, 6, 5, 675, 10, 100},
    {3, 500, 1, 1, 512, 8, 100},
    {15, 500, 4, 5, 256, 6, 100},
    /* the worked example (test_dp_invisibleink, test_dp_oracle) */
    {3, 100, 6, 5, 128, 8, 100},
    /* all transcripts (test_dp_transcripts) */
    {1, 8, 6, 5, 1229, 12, 100},
    {2, 8, 1, 1, 410, 12, 100},
    {3, 5, 4, 5, 9830, 12, 100},
    {1, 3, 1, 1, 37, 8, 100},
    /* B = 7, T = 500 at epsilon 1, 3, 5, 10, for tau 1, 1.1, 1.2 (test_dp_account,
       golden/accountant.txt, test_sampling) */
    {7, 500, 1, 1, 283, 12, 100},
    {7, 500, 1, 1, 780, 12, 100},
    {7, 500, 1, 1, 1233, 12, 100},
    {7, 500, 1, 1, 2249, 12, 100},
    {7, 500, 11, 10, 311, 12, 100},
    {7, 500, 11, 10, 858, 12, 100},
    {7, 500, 11, 10, 1357, 12, 100},
    {7, 500, 11, 10, 2474, 12, 100},
    {7, 500, 6, 5, 339, 12, 100},
    {7, 500, 6, 5, 936, 12, 100},
    {7, 500, 6, 5, 1480, 12, 100},
    {7, 500, 6, 5, 2699, 12, 100},
    /* tables of 126 bits (test_dp_weights, test_dp_draw, test_dp_ratio, golden/accountant.txt) */
    {31, 60, 1, 1, 28774, 12, 100},
    {63, 100, 1, 1, 22536, 11, 100},
    {127, 100, 1, 1, 11417, 9, 100},
    {127, 100, 1, 1, 28 << 9, 9, 100},
    {1, 100, 1, 1, 31 << 12, 12, 100},
    {7, 100, 6, 5, 37 << 12, 12, 100},
    {1000, 100, 1, 1, 28 << 6, 6, 100},
    {127, 100, 1, 1, 22 << 8, 8, 100},
    {127, 100, 1, 1, 22 << 4, 4, 100},
    /* the largest clips of large batches, with the largest table that there is (test_dp_account,
       test_dp_ratio, test_dp_transcripts) */
    {31, 4, 1, 1, 65535, 11, 100},
    {255, 100, 1, 1, 8162, 8, 100},
    {1024, 100, 1, 1, 1996, 6, 100},
    {4096, 100, 1, 1, 487, 4, 100},
    {4096, 100, 6, 5, 512, 4, 100},
    {7, 100, 6, 5, 2703, 12, 100},
    {7, 100, 6, 5, 22 << 12, 12, 100},
    /* with a gain (test_dp_transcripts, test_dp_invisibleink) */
    {2, 6, 1, 1, 410, 12, 200},
    {3, 4, 4, 5, 3001, 12, 150},
    {3, 100, 6, 5, 64, 8, 200},
    {3, 100, 6, 5, 85, 8, 150},
    /* the tiny model's runs (test_generate and others: clip 0.8, B = 3) */
    {3, 20, 1, 1, 3276, 12, 100},
};
enum { DP_PARAMETER_SETS = sizeof DP_PARAMETERS / sizeof *DP_PARAMETERS };

#endif
