// SPDX-License-Identifier: Apache-2.0
// rope.h: the rotary angles of every position.
// Private data: none.
// How: pair i of a head is entries 2i and 2i + 1 (GGUF NORM order). It turns by the angle
// position * base^(-2i/rotated) / factor_i / scale.
// Example: base 10000, rotated 64, no factors, scale 1: pair 16 turns by position / 100.
// Rule: all is computed in double by expressions of our own, so no libm version changes a bit.
// Source: Su et al. 2021 (RoFormer).
#ifndef CUTTLE_ENGINE_ROPE_H
#define CUTTLE_ENGINE_ROPE_H

#include <stddef.h>

/* Sets frequencies[i] to the angle that pair i turns per position, in radians, for i in
 * 0 .. rotated/2 - 1. factors[i] divides it (Llama-3.1 rope_freqs); NULL = 1. scale divides all
 * (linear scaling). 1 <= base <= 1e9. */
void rope_frequencies(double base, size_t rotated, const float *factors, double scale,
                      double *frequencies);

/* Sets cos_sin[i][0] and [1] to cosine and sine of position * frequencies[i], for one position:
 * cos_sin[rotated/2][2]. Each is computed in double and rounded once. |angle| < 2^30. */
void rope_angles(size_t position, const double *frequencies, size_t rotated, float *cos_sin);

#endif
