// SPDX-License-Identifier: Apache-2.0
// quantise.h: numbers as small integers with one scale, for attention_q8 (attention.h).
// Values may be private.
//   amax  = max |x[j]|, compared as bit patterns: infinity and NaN are then the largest
//   q[j]  = round_half_even(x[j] * (limit / amax))
//   scale = amax / limit
// If amax < 2^-100: scale = 0 and q = 0. If amax is not finite: scale = NaN and q = 0.
// Plain loops: a maximum and products are the same in every order, so each file's compiler flags
// may make vectors of them.
#ifndef CUTTLE_KERNELS_QUANTISE_H
#define CUTTLE_KERNELS_QUANTISE_H

#include "kernels/f16.h"

#include <math.h>
#include <stddef.h>

/* Returns the scale of x[n]. *inverse becomes limit / amax, or 0 where all q are 0. */
static inline float quantise_scale(const float *x, size_t n, float limit, float *inverse) {
	uint32_t most = 0;
	for (size_t i = 0; i < n; i++) {
		const uint32_t bits = bits_of_float(x[i]) & 0x7fffffff;
		most = bits > most ? bits : most;
	}
	*inverse = 0.0f;
	if (most >= 0x7f800000) return NAN;
	if (most < (127 - 100) << 23) return 0.0f; // 2^-100
	*inverse = limit / float_of_bits(most);
	return float_of_bits(most) / limit;
}

/* Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, whatever the libm. An inverse of 0
 * gives 0 for every x, NaN too. */
static inline int32_t quantise_number(float x, float inverse) {
	const float rounded = x * inverse + 12582912.0f;
	return inverse == 0.0f ? 0 : (int32_t)(bits_of_float(rounded) - 0x4b400000u);
}

static inline float quantise_to_8(const float *x, size_t n, int8_t *q) {
	float inverse;
	const float scale = quantise_scale(x, n, 127.0f, &inverse);
	for (size_t i = 0; i < n; i++) q[i] = (int8_t)quantise_number(x[i], inverse);
	return scale;
}

static inline float quantise_to_16(const float *x, size_t n, int16_t *q) {
	float inverse;
	const float scale = quantise_scale(x, n, 32767.0f, &inverse);
	for (size_t i = 0; i < n; i++) q[i] = (int16_t)quantise_number(x[i], inverse);
	return scale;
}

#endif
