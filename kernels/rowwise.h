// SPDX-License-Identifier: Apache-2.0
// rowwise: the small ops over one row of floats. One body (rowwise_body.h) compiled once per tier: plain loops over 16 lanes, FMA only
// where written, so every tier gives the same bits.
#ifndef CUTTLE_KERNELS_ROWWISE_H
#define CUTTLE_KERNELS_ROWWISE_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = (x[i] * (1 / sqrt(S/n + epsilon))) * weight[i], S = canonical sum of fma(x,x,.): lane i mod 16, then the halving tree.
 * n a multiple of 16. out may be x. */
typedef void rmsnorm_fn(const float *x, const float *weight, size_t n, float epsilon, float *out);

/* Rotates adjacent pairs of each head in place (RoPE, NORM order): (a, b) -> (fma(a, cos, -(b*sin)), fma(a, sin, b*cos)).
 * x[heads][head_size]; cos_sin[rotated/2][2]; only the first `rotated` entries of a head turn. */
typedef void rope_fn(float *x, size_t heads, size_t head_size, const float *cos_sin, size_t rotated);

/* out[i] = (gate[i] / (1 + exp(-gate[i]))) * up[i]. n a multiple of 16. out may be gate. */
typedef void swiglu_fn(const float *gate, const float *up, size_t n, float *out);

/* out[i] = x[i] in fp16, rounded to nearest even. n a multiple of 16. */
typedef void narrow_fn(const float *x, size_t n, uint16_t *out);

rmsnorm_fn rmsnorm_scalar, rmsnorm_neon, rmsnorm_avx2, rmsnorm_avx512;
rope_fn rope_scalar, rope_neon, rope_avx2, rope_avx512;
narrow_fn narrow_scalar, narrow_neon, narrow_avx2, narrow_avx512;
swiglu_fn swiglu_scalar, swiglu_neon, swiglu_avx2, swiglu_avx512;

#endif
