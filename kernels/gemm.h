// SPDX-License-Identifier: Apache-2.0
// gemm: packed weights times rows of activations, one fixed order of arithmetic for every output element, in every tier, for any number of
// rows: the root of row isolation.
//
// Block types (Q8_0, Q4_0, Q4_1), activations quantised by rowquant, kb = 0 .. k/32-1 ascending:
//   isum = sum over the block of w[j] * a[j]        exact int32; w signed (Q8_0: -128..127, Q4_0: -8..7), Q4_1: unsigned 0..15
//   acc  = fma(scale_w * scale_a, (float)isum, acc)  the product rounded once, then one fp32 FMA
//   acc  = fma(minimum_w, scaled_sum_a, acc)         Q4_1 only, after it
// Float types (F32, F16): acc = fma(w, x[j], acc) for j = 0 .. k-1 ascending, x in fp32.
// Then out = add ? out + acc : acc.
//
// Packed layout N16K4: channels in groups of 16 (zero-padded), per group and 32-block
//   Q8_0: 512 bytes, [8 quads of k][16 channels][4 k], stored as w ^ 0x80 (unsigned)
//   Q4_x: 256 bytes, [4][16 channels][4 k]: byte j of quad i holds k = 4i+j in the low nibble and k = 16+4i+j in the high one
//   scales, minima: fp16 [group][block][16 channels]
//   F32, F16: [group][k][16 channels]
#ifndef CUTTLE_KERNELS_GEMM_H
#define CUTTLE_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMM_BLOCK = 32, GEMM_GROUP = 16 };

enum packed_type { PACKED_F32, PACKED_F16, PACKED_Q8_0, PACKED_Q4_0, PACKED_Q4_1 };

struct packed_matrix {
	enum packed_type type;
	size_t channels;        /* n, as in the model; groups = ceil(n / 16) */
	size_t k;               /* multiple of 32 */
	const void *weights;    /* 64-byte aligned */
	const uint16_t *scales; /* fp16, block types */
	const uint16_t *minima; /* fp16, Q4_1 */
};

/* Rows of activations as a gemm wants them: x for the float types, the rest for the block types. */
struct gemm_rows {
	size_t rows, k;
	const float *x;          /* [rows][k] */
	const int8_t *q;         /* [rows][k] */
	const float *scale;      /* [rows][k/32] */
	const float *scaled_sum; /* [rows][k/32]: scale * (float)sum */
	const int32_t *sum;      /* [rows][k/32]: sum of q over the block */
};

/* out[r * out_stride + 16 * i + c] for the groups at places i = begin .. end-1 of the list `groups` (NULL: the list 0, 1, 2, ...).
 * out_stride in floats. Writes all 16 channels of a group, padding too. No alignment needed of out; no aliasing. */
typedef void gemm_fn(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                     const uint32_t *groups, size_t begin, size_t end);

gemm_fn gemm_q8_scalar, gemm_q4_scalar, gemm_float_scalar;
gemm_fn gemm_q8_neon, gemm_q4_neon, gemm_float_neon;
gemm_fn gemm_q8_dotprod, gemm_q4_dotprod;
gemm_fn gemm_q8_avx2, gemm_q4_avx2, gemm_float_avx2;
gemm_fn gemm_q8_avx512, gemm_q4_avx512, gemm_float_avx512;
gemm_fn gemm_q8_amx, gemm_q4_amx; /* below 8 rows the avx512 ones */

#endif
