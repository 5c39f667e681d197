// SPDX-License-Identifier: Apache-2.0
// gemm.h: multiplies packed weights by rows of activations.
// Rows may come from private contexts; weights are public.
// Every output element has one fixed order of arithmetic, in every tier and for any number of rows.
// So a row's outputs depend on that row and the weights alone. All row isolation rests on this.
// Weights are packed by pack.h. Rows for block types are quantised by rowquant.h.
// Example, all groups of w, not added:
//   kernels_gemm(kernels_get(), w->type)(out, out_stride, false, &rows, w, NULL, 0, groups);
// Below: the arithmetic, the types, the packed layout, the functions.
#ifndef CUTTLE_KERNELS_GEMM_H
#define CUTTLE_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The arithmetic of one output element: one row of activations, one channel of weights.
//
// Block types. k is cut into parts of `span` weights (see the table below), in ascending order.
// acc begins at 0. Each part does:
//   isum = sum over the part of w[j] * a[j]            exact, int32
//   acc  = fma(scale_w * scale_a, (float)isum, acc)    the product is rounded once, then one FMA
//   acc  = fma(minimum_w, scaled_sum_a, acc)           only types with minima
// a: the activations as rowquant left them.
// w: the weight's code minus the type's offset; for IQ4 types the table's value of that code.
// scaled_sum_a = scale_a * (float)(sum of a over the part).
// scale_w is an fp16 with one level. With two levels it is an fp16 per 256 weights times a signed
// byte per part: exact in fp32, for 11 + 8 bits are enough. minimum_w likewise.
//
// Float types (F32, F16, BF16): acc = fma(w, x[j], acc) for j = 0 .. k-1 ascending, x in fp32.
//
// At the end, for all types: out = add ? out + acc : acc.
//
// The block types. "bits" is the size of a code. Q8_0 (*) has an offset because its bytes are
// stored as w ^ 0x80: as an unsigned byte that is w + 128.
//
//   type     bits  span  minima  levels  offset      type     bits  span  minima  levels  offset
//   Q8_0      8     32     no      1      128*       Q4_K      4     32    yes      2        0
//   Q4_0      4     32     no      1        8        Q5_K      5     32    yes      2        0
//   Q4_1      4     32    yes      1        0        Q6_K      6     16     no      2       32
//   Q5_0      5     32     no      1       16        Q3_K      3     16     no      2        4
//   Q5_1      5     32    yes      1        0        Q2_K      2     16    yes      2        0
//   IQ4_NL    4     32     no      1    table        IQ4_XS    4     32     no      2    table
//
// The packed layout, N16K4. A group is 16 channels; the last one is padded with zeros. A block is
// 32 weights along k. A vector is 64 bytes, [16 channels][4 k].
//
// Q8_0: a block of a group is 512 bytes, [8 quads of k][16 channels][4 k].
//   Channel c, weight k: byte 64 * (k / 4) + 4 * c + k % 4.
//   Example: channel 2, k = 9 is byte 128 + 8 + 1 = 137.
//
// The other block types: the code is cut into planes of 4, 2 and 1 bits. The widest plane comes
// first and holds the code's lowest bits. Example: Q6_K has bits 0-3 in a plane of 4 bits, then
// bits 4-5 in a plane of 2 bits. A plane is made of vectors.
//   Weight k = 16 h + 4 i + t of channel c is in byte 4 * c + t of a vector:
//     plane    bytes    vector    bits in that byte
//     4 bits    256        i      nibble h (0 is the low one)
//     2 bits    128        h      2 i and 2 i + 1
//     1 bit      64        0      4 h + i
//   Example: channel 2, k = 25 has h = 1, i = 2, t = 1. It is in byte 9 of each vector: in the high
//   nibble of vector 2, in bits 4-5 of vector 1, in bit 6 of the only vector.
//
// Scales and minima of one level: fp16 [group][block][16 channels].
// Of two levels: per group and 256 weights fp16 [16 channels], then int8 [part][16 channels].
//   A minimum's fp16 has its sign turned, because files hold what is to be subtracted.
// F32, F16, BF16: [group][k][16 channels].

enum {
	GEMM_BLOCK = 32,            /* weights along k */
	GEMM_GROUP = 16,            /* channels */
	GEMM_HALF = GEMM_BLOCK / 2, /* weights: half a block */
	GEMM_SUPER = 256            /* weights that share an fp16 scale, with two levels */
};

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
	size_t channels;        /* outputs, as in the model; groups = ceil(channels / 16) */
	size_t k;               /* weights of a channel: a multiple of 32, of 256 with two levels;
	                           with float types any number */
	const void *weights;    /* 64-byte aligned */
	const uint16_t *scales; /* only block types */
	const uint16_t *minima; /* only block types that have them */
};

/* Rows of activations. Float types read x; block types read the rest, as rowquant.h makes it. */
struct gemm_rows {
	size_t rows;
	size_t k;                /* activations of a row */
	const float *x;          /* [rows][k] */
	const int8_t *q;         /* [rows][k] */
	const float *scale;      /* [rows][k/32] */
	const float *scaled_sum; /* [rows][k/32]: scale * (float)sum */
	const int32_t *sum;      /* [rows][k/32]: sum of q over the block */
	const int32_t *half_sum; /* [rows][k/16]: sum of q over each half of a block */
};

/* Computes the groups at places begin .. end-1 of the list `groups`. NULL is the list 0, 1, 2, ...
 * Channel c of the group at place i goes to out[r * out_stride + 16 * i + c], for each row r.
 * Example: groups = {5, 9}, begin = 1, end = 2 writes group 9 to out[r * out_stride + 16 ...].
 * out_stride is in floats. All 16 channels of a group are written, padding too. out needs no
 * alignment; nothing may overlap it. */
typedef void gemm_fn(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                     const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                     size_t end);

gemm_fn gemm_q8_scalar, gemm_q4_scalar, gemm_planes_scalar, gemm_float_scalar;
gemm_fn gemm_q8_neon, gemm_q4_neon, gemm_planes_neon, gemm_float_neon;
gemm_fn gemm_q8_dotprod, gemm_q4_dotprod, gemm_planes_dotprod;
gemm_fn gemm_q8_avx2, gemm_q4_avx2, gemm_planes_avx2, gemm_float_avx2;
gemm_fn gemm_q8_avxvnni, gemm_q4_avxvnni, gemm_planes_avxvnni;
gemm_fn gemm_q8_avx512, gemm_q4_avx512, gemm_planes_avx512, gemm_float_avx512;
gemm_fn gemm_panels_avx2, gemm_panels_avx512;      /* those of gemm_planes, for many rows */
gemm_fn gemm_q8_amx, gemm_q4_amx, gemm_planes_amx; /* below 16 rows they call those of avx512 */

/* The columns of the table above. With a constant type the compiler makes each a constant. */
static inline bool packed_is_float(enum packed_type type) {
	return type <= PACKED_BF16;
}
static inline size_t packed_bits(enum packed_type type) {
	static const uint8_t bits[PACKED_TYPES] = {32, 16, 16, 8, 4, 4, 5, 5, 4, 4, 4, 5, 6, 3, 2};
	return bits[type];
}
static inline bool packed_has_minimum(enum packed_type type) {
	return type == PACKED_Q4_1 || type == PACKED_Q5_1 || type == PACKED_Q4_K ||
	       type == PACKED_Q5_K || type == PACKED_Q2_K;
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
/* Weight = code - offset. IQ4 types have offset 0: their table gives the weight itself. */
static inline int packed_offset(enum packed_type type) {
	static const uint8_t offset[PACKED_TYPES] = {[PACKED_Q8_0] = 128,
	                                             [PACKED_Q4_0] = 8,
	                                             [PACKED_Q5_0] = 16,
	                                             [PACKED_Q6_K] = 32,
	                                             [PACKED_Q3_K] = 4};
	return offset[type];
}
/* Bytes of the scales (or minima) of one group: per 32 weights with one level, per 256 with two.
 * Examples: Q4_0 has 16 * 2 = 32, Q4_K 16 * (2 + 8) = 160, Q6_K 16 * (2 + 16) = 288. */
static inline size_t packed_scale_bytes(enum packed_type type) {
	const size_t parts = packed_has_levels(type) ? GEMM_SUPER / packed_span(type) : 0;
	return GEMM_GROUP * (sizeof(uint16_t) + parts);
}

/* The values of the codes 0 .. 15 of IQ4_NL and IQ4_XS. Source: kvalues_iq4nl of ggml-common.h. */
#define GEMM_IQ4_TABLE -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

#endif
