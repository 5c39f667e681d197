// SPDX-License-Identifier: Apache-2.0
// gemm: packed weights times rows of activations, one fixed order of arithmetic for every output element, in every tier, for any number of
// rows: the root of row isolation.
//
// Block types, activations quantised by rowquant, parts of `span` weights (32; 16 for Q2_K, Q3_K, Q6_K) in ascending order of k:
//   isum = sum over the part of w[j] * a[j]         exact int32; w is the code minus the type's offset, or what the table of IQ4 says
//   acc  = fma(scale_w * scale_a, (float)isum, acc)  the product rounded once, then one fp32 FMA
//   acc  = fma(minimum_w, scaled_sum_a, acc)         types with minima, after it; scaled_sum_a = scale_a * (float)(sum of a over the part)
// scale_w is an fp16; with two levels, an fp16 per 256 weights times a signed byte per part, exact in fp32 (11 + 8 bits). Minima likewise.
// Float types (F32, F16, BF16): acc = fma(w, x[j], acc) for j = 0 .. k-1 ascending, x in fp32.
// Then out = add ? out + acc : acc.
//
//   type     bits  span  minima  levels  offset      type     bits  span  minima  levels  offset
//   Q8_0      8     32     no      1      128*       Q4_K      4     32    yes      2        0
//   Q4_0      4     32     no      1        8        Q5_K      5     32    yes      2        0
//   Q4_1      4     32    yes      1        0        Q6_K      6     16     no      2       32
//   Q5_0      5     32     no      1       16        Q3_K      3     16     no      2        4
//   Q5_1      5     32    yes      1        0        Q2_K      2     16    yes      2        0
//   IQ4_NL    4     32     no      1    table        IQ4_XS    4     32     no      2    table      * of the stored w ^ 0x80
//
// Packed layout N16K4: channels in groups of 16 (zero-padded), per group and 32-block
//   Q8_0: 512 bytes, [8 quads of k][16 channels][4 k]
//   others: planes of 4, 2 and 1 bits that add up to the code, the widest plane its lowest bits, each in vectors of [16 channels][4 k].
//     k = 16 h + 4 i + t, t the byte within the channel:
//     4 bits: 256 bytes, vector i, nibble h (0 the low one);  2 bits: 128 bytes, vector h, bits 2i;  1 bit: 64 bytes, bit 4h + i
//   scales, minima of one level: fp16 [group][block][16 channels]
//   of two: [group][256 weights] of fp16 [16 channels], then int8 [part][16 channels]; a minimum's fp16 has its sign turned, for files
//     hold what is subtracted
//   F32, F16, BF16: [group][k][16 channels]
#ifndef CUTTLE_KERNELS_GEMM_H
#define CUTTLE_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMM_BLOCK = 32, GEMM_GROUP = 16, GEMM_HALF = GEMM_BLOCK / 2, GEMM_SUPER = 256 };

enum packed_type {
	PACKED_F32,
	PACKED_F16,
	PACKED_BF16,
	PACKED_Q8_0,
	PACKED_Q4_0,
	PACKED_Q4_1,
	PACKED_Q5_0, /* from here on: gemm_planes */
	PACKED_Q5_1,
	PACKED_IQ4_NL,
	PACKED_IQ4_XS,
	PACKED_Q4_K,
	PACKED_Q5_K,
	PACKED_Q6_K,
	PACKED_Q3_K,
	PACKED_Q2_K,
	PACKED_TYPES
};

struct packed_matrix {
	enum packed_type type;
	size_t channels;        /* n, as in the model; groups = ceil(n / 16) */
	size_t k;               /* multiple of 32; of 256 with two levels */
	const void *weights;    /* 64-byte aligned */
	const uint16_t *scales; /* block types */
	const uint16_t *minima; /* block types that have them */
};

/* Rows of activations as a gemm wants them: x for the float types, the rest for the block types. */
struct gemm_rows {
	size_t rows, k;
	const float *x;          /* [rows][k] */
	const int8_t *q;         /* [rows][k] */
	const float *scale;      /* [rows][k/32] */
	const float *scaled_sum; /* [rows][k/32]: scale * (float)sum */
	const int32_t *sum;      /* [rows][k/32]: sum of q over the block */
	const int32_t *half_sum; /* [rows][k/16]: over each half of it */
};

/* out[r * out_stride + 16 * i + c] for the groups at places i = begin .. end-1 of the list `groups` (NULL: the list 0, 1, 2, ...).
 * out_stride in floats. Writes all 16 channels of a group, padding too. No alignment needed of out; no aliasing. */
typedef void gemm_fn(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                     const uint32_t *groups, size_t begin, size_t end);

gemm_fn gemm_q8_scalar, gemm_q4_scalar, gemm_planes_scalar, gemm_float_scalar;
gemm_fn gemm_q8_neon, gemm_q4_neon, gemm_planes_neon, gemm_float_neon;
gemm_fn gemm_q8_dotprod, gemm_q4_dotprod, gemm_planes_dotprod;
gemm_fn gemm_q8_avx2, gemm_q4_avx2, gemm_planes_avx2, gemm_float_avx2;
gemm_fn gemm_q8_avxvnni, gemm_q4_avxvnni, gemm_planes_avxvnni;
gemm_fn gemm_q8_avx512, gemm_q4_avx512, gemm_planes_avx512, gemm_float_avx512;
gemm_fn gemm_q8_amx, gemm_q4_amx, gemm_planes_amx; /* below 16 rows the avx512 ones */

/* What the table above says, as constants once the type is one. */
static inline bool packed_is_float(enum packed_type type) {
	return type <= PACKED_BF16;
}
static inline size_t packed_bits(enum packed_type type) {
	static const uint8_t bits[PACKED_TYPES] = {32, 16, 16, 8, 4, 4, 5, 5, 4, 4, 4, 5, 6, 3, 2};
	return bits[type];
}
static inline bool packed_has_minimum(enum packed_type type) {
	return type == PACKED_Q4_1 || type == PACKED_Q5_1 || type == PACKED_Q4_K || type == PACKED_Q5_K || type == PACKED_Q2_K;
}
static inline bool packed_has_table(enum packed_type type) {
	return type == PACKED_IQ4_NL || type == PACKED_IQ4_XS;
}
static inline bool packed_has_levels(enum packed_type type) {
	return type >= PACKED_IQ4_XS;
}
static inline size_t packed_span(enum packed_type type) {
	return type >= PACKED_Q6_K ? GEMM_HALF : GEMM_BLOCK;
}
/* Weight = code - offset; the tables give weights themselves. */
static inline int packed_offset(enum packed_type type) {
	static const uint8_t offset[PACKED_TYPES] = {
	    [PACKED_Q8_0] = 128, [PACKED_Q4_0] = 8, [PACKED_Q5_0] = 16, [PACKED_Q6_K] = 32, [PACKED_Q3_K] = 4};
	return offset[type];
}
/* Bytes of the scales (or minima) of 16 channels: per 32 weights with one level, per 256 with two. */
static inline size_t packed_scale_bytes(enum packed_type type) {
	const size_t parts = packed_has_levels(type) ? GEMM_SUPER / packed_span(type) : 0;
	return GEMM_GROUP * (sizeof(uint16_t) + parts);
}

/* Source: kvalues_iq4nl of ggml-common.h, the values of IQ4_NL's and IQ4_XS's codes. */
#define GEMM_IQ4_TABLE -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

#endif
