// SPDX-License-Identifier: Apache-2.0
// The rotary angles of every position, computed in double by fixed expressions of our own, so that no libm version changes a bit.
// Source: Su et al. 2021 (RoFormer), GGUF NORM order: pair i of a head turns by position * base^(-2i/rotated) / factor_i.
#ifndef CUTTLE_ENGINE_ROPE_H
#define CUTTLE_ENGINE_ROPE_H

#include <stddef.h>

/* Turns per position of pair 0 .. rotated/2-1. factors[rotated/2] divides them (Llama-3.1 rope_freqs), NULL = 1; scale divides all (linear
 * scaling). 1 <= base <= 1e9. */
void rope_frequencies(double base, size_t rotated, const float *factors, double scale, double *frequencies);

/* cos and sin of position * frequencies[i] for one position: cos_sin[rotated/2][2], each the double rounded once. |angle| < 2^30. */
void rope_angles(size_t position, const double *frequencies, size_t rotated, float *cos_sin);

#endif
