// SPDX-License-Identifier: Apache-2.0
// rowwise.h: the small ops over one row of floats.
// Rows may be private.
// One body (rowwise_body.h) is compiled once per tier. It loops over 16 lanes and uses FMA only
// where the formulas below do, so every tier gives the same bits.
#ifndef CUTTLE_KERNELS_ROWWISE_H
#define CUTTLE_KERNELS_ROWWISE_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = (x[i] * (1 / sqrt(S / n + epsilon))) * weight[i]. S is the canonical sum of the squares:
 * lane i % 16 takes fma(x[i], x[i], lane), then the halving tree. n a multiple of 16. out may be x.
 */
typedef void rmsnorm_fn(const float *x, const float *weight, size_t n, float epsilon, float *out);

/* Rotates adjacent pairs (a, b) of each head in place (RoPE, NORM order):
 *   (a, b) -> (fma(a, cos, -(b*sin)), fma(a, sin, b*cos))
 * x[heads][head_size]; cos_sin[rotated/2][2]. Only the first `rotated` entries of a head turn.
 * Example: entries 4 and 5 turn by cos_sin[2]. */
typedef void rope_fn(float *x, size_t heads, size_t head_size, const float *cos_sin,
                     size_t rotated);

/* out[i] = (gate[i] / (1 + exp(-gate[i]))) * up[i]. n a multiple of 16. out may be gate. */
typedef void swiglu_fn(const float *gate, const float *up, size_t n, float *out);

/* out[i] = (gate[i] / (1 + exp(-u))) * up[i], u = gate[i] * fma(gate[i] * gate[i], B, A). It is
 * GELU with tanh, since 0.5 (1 + tanh(u / 2)) = 1 / (1 + exp(-u)). A = 2 sqrt(2 / pi), B = 0.044715
 * A. n a multiple of 16. out may be gate. */
typedef void geglu_fn(const float *gate, const float *up, size_t n, float *out);
#define GEGLU_A 0x1.988454p+0f
#define GEGLU_B 0x1.2444f2p-4f

/* out[i] = x[i] in fp16, rounded to the nearest, ties to even. n a multiple of 16. */
typedef void narrow_fn(const float *x, size_t n, uint16_t *out);

/* x[n] as int8 by quantise.h, limit 127. Returns the scale. */
typedef float narrow_q8_fn(const float *x, size_t n, int8_t *q);

rmsnorm_fn rmsnorm_scalar, rmsnorm_neon, rmsnorm_avx2, rmsnorm_avx512;
rope_fn rope_scalar, rope_neon, rope_avx2, rope_avx512;
narrow_fn narrow_scalar, narrow_neon, narrow_avx2, narrow_avx512;
narrow_q8_fn narrow_q8_scalar, narrow_q8_neon, narrow_q8_avx2, narrow_q8_avx512;
swiglu_fn swiglu_scalar, swiglu_neon, swiglu_avx2, swiglu_avx512;
geglu_fn geglu_scalar, geglu_neon, geglu_avx2, geglu_avx512;

#endif
