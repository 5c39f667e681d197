// SPDX-License-Identifier: Apache-2.0
// exp_f32.h: exp in fp32 as one fixed expression, so every tier and every libm gives the same bits.
// Values may be private.
// On [-87, 88] the relative error is below 3e-7. Below -87 the result is 0, above 88 it is exp(88),
// and for NaN it is NaN.
// How: exp(x) = 2^n * exp(r) with n the nearest integer to x / ln 2 and r = x - n * ln 2.
//   t = fma(x, log2 e, 1.5 * 2^23)                     the addition rounds to an integer
//   n = t - 1.5 * 2^23
//   r = fma(n, -ln2_hi, x), r = fma(n, -ln2_lo, r)     ln 2 = ln2_hi + ln2_lo
//   p = the Taylor polynomial of degree 7 in r, by Horner's rule with fma
//   exp(x) = p * 2^n, and 2^n is built from the low bits of t
#ifndef CUTTLE_KERNELS_EXP_F32_H
#define CUTTLE_KERNELS_EXP_F32_H

#include "kernels/f16.h"

#include <math.h>

#define EXP_LOW (-87.0f)
#define EXP_HIGH 88.0f
#define EXP_MAGIC 12582912.0f // 1.5 * 2^23: floats near it are integers, so adding it rounds
#define EXP_LOG2E 0x1.715476p+0f
#define EXP_LN2_HI 0x1.62e400p-1f
#define EXP_LN2_LO 0x1.7f7d1cp-20f
static const float exp_taylor[8] = {
    1.0f,           1.0f, 0.5f, 0x1.555556p-3f, 0x1.555556p-5f, 0x1.111112p-7f, 0x1.6c16c2p-10f,
    0x1.a01a02p-13f};

static inline float exp_f32(float x) {
	const float bounded = EXP_HIGH < x ? EXP_HIGH : x;
	const float t = fmaf(bounded, EXP_LOG2E, EXP_MAGIC);
	const float n = t - EXP_MAGIC;
	float r = fmaf(n, -EXP_LN2_HI, bounded);
	r = fmaf(n, -EXP_LN2_LO, r);
	float p = exp_taylor[7];
	for (int i = 6; i >= 0; i--) p = fmaf(p, r, exp_taylor[i]);
	const float scale = float_of_bits((bits_of_float(t) + 127u) << 23);
	const float result = p * scale;
	return x < EXP_LOW ? 0.0f : result;
}

#endif
