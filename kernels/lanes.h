// SPDX-License-Identifier: Apache-2.0
// lanes.h: sixteen floats as one value, with the same arithmetic on every tier.
// Values may be private.
// Sums over a row of floats are made in these 16 lanes: lane t % 16 takes entry t, then the halving
// tree of lanes_sum adds the lanes. So all tiers add in the same order: this is the canonical sum.
// The lanes lie in parts, vectors of the tier's own width. Example: with AVX2 two parts of 8.
// (One 64-byte vector for every tier would be simpler. But gcc splits a vector wider than the
// registers into scalars at each comparison.)
// The compiler flags of a file choose its tier. LANES_NEON is defined to choose ASIMD: the flags
// cannot tell, since every aarch64 file has it, the scalar tier's too.
#ifndef CUTTLE_KERNELS_LANES_H
#define CUTTLE_KERNELS_LANES_H

#include "kernels/exp_f32.h"

#include <stddef.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(LANES_NEON)
#include <arm_neon.h>
#endif

// Always inlined, so no call passes these types. Their ABI differs from tier to tier and does not
// matter then (-Wno-psabi).
#define LANES_INLINE inline __attribute__((always_inline))
#if defined(__AVX512F__)
enum { LANES_PART = 16 };
#elif defined(__AVX2__)
enum { LANES_PART = 8 };
#else
enum { LANES_PART = 4 };
#endif
enum { LANES = 16, LANES_PARTS = LANES / LANES_PART };
typedef float lanes_part __attribute__((vector_size(4 * LANES_PART)));
typedef int32_t lanes_part_int __attribute__((vector_size(4 * LANES_PART)));
typedef uint32_t lanes_part_bits __attribute__((vector_size(4 * LANES_PART)));
typedef struct {
	lanes_part part[LANES_PARTS];
} lanes;

#define LANES_EACH(expression)                                                                     \
	lanes result;                                                                              \
	for (int i = 0; i < LANES_PARTS; i++) result.part[i] = (expression);                       \
	return result

// One part at a time: gcc would copy the whole struct through memory.
static LANES_INLINE lanes lanes_load(const float *from) {
	lanes value;
	for (int i = 0; i < LANES_PARTS; i++)
		memcpy(&value.part[i], from + i * LANES_PART, sizeof value.part[i]);
	return value;
}

static LANES_INLINE void lanes_store(float *to, lanes value) {
	for (int i = 0; i < LANES_PARTS; i++)
		memcpy(to + i * LANES_PART, &value.part[i], sizeof value.part[i]);
}

/* Each tier's own instruction. The portable `{0} + value` costs an addition and turns -0 into 0. */
static LANES_INLINE lanes_part lanes_part_of(float value) {
#if defined(__AVX512F__)
	return (lanes_part)_mm512_set1_ps(value);
#elif defined(__AVX2__)
	return (lanes_part)_mm256_set1_ps(value);
#elif defined(LANES_NEON)
	return (lanes_part)vdupq_n_f32(value);
#else
	return (lanes_part){value, value, value, value};
#endif
}

static LANES_INLINE lanes lanes_of(float value) {
	LANES_EACH(lanes_part_of(value));
}
static LANES_INLINE lanes lanes_add(lanes a, lanes b) {
	LANES_EACH(a.part[i] + b.part[i]);
}
static LANES_INLINE lanes lanes_sub(lanes a, lanes b) {
	LANES_EACH(a.part[i] - b.part[i]);
}
static LANES_INLINE lanes lanes_mul(lanes a, lanes b) {
	LANES_EACH(a.part[i] * b.part[i]);
}
static LANES_INLINE lanes lanes_div(lanes a, lanes b) {
	LANES_EACH(a.part[i] / b.part[i]);
}

/* a * b + c, rounded once, by each tier's own instruction. No portable spelling keeps both the
 * vector and the single rounding. */
static LANES_INLINE lanes_part lanes_part_fma(lanes_part a, lanes_part b, lanes_part c) {
#if defined(__AVX512F__)
	return (lanes_part)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
	return (lanes_part)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(LANES_NEON)
	return (lanes_part)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
	for (int i = 0; i < LANES_PART; i++) c[i] = fmaf(a[i], b[i], c[i]);
	return c;
#endif
}

static LANES_INLINE lanes lanes_fma(lanes a, lanes b, lanes c) {
	LANES_EACH(lanes_part_fma(a.part[i], b.part[i], c.part[i]));
}

static LANES_INLINE lanes_part lanes_part_of_f16(const uint16_t *from) {
#if defined(__AVX512F__)
	return (lanes_part)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
#elif defined(__AVX2__)
	return (lanes_part)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
#elif defined(LANES_NEON)
	return (lanes_part)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
#else
	lanes_part value;
	for (int i = 0; i < LANES_PART; i++) value[i] = float_of_f16(from[i]);
	return value;
#endif
}

static LANES_INLINE lanes_part lanes_part_of_i8(const int8_t *from) {
#if defined(__AVX512F__)
	return (lanes_part)_mm512_cvtepi32_ps(
	    _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#elif defined(__AVX2__)
	return (lanes_part)_mm256_cvtepi32_ps(
	    _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from)));
#elif defined(LANES_NEON)
	uint32_t four;
	memcpy(&four, from, sizeof four);
	return (lanes_part)vcvtq_f32_s32(
	    vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))))));
#else
	lanes_part value;
	for (int i = 0; i < LANES_PART; i++) value[i] = (float)from[i];
	return value;
#endif
}

/* Each lane of a part holds two numbers of 16 bits: a pair. Of 2 * LANES_PART int8 numbers. */
static LANES_INLINE lanes_part_int lanes_part_of_pairs(const int8_t *from) {
#if defined(__AVX512F__)
	return (lanes_part_int)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)from));
#elif defined(__AVX2__)
	return (lanes_part_int)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from));
#elif defined(LANES_NEON)
	return (lanes_part_int)vmovl_s8(vld1_s8(from));
#else
	int16_t pairs[2 * LANES_PART];
	lanes_part_int value;
	for (int i = 0; i < 2 * LANES_PART; i++) pairs[i] = from[i];
	memcpy(&value, pairs, sizeof value);
	return value;
#endif
}

/* The same pair in every lane. */
static LANES_INLINE lanes_part_int lanes_part_of_pair(const int16_t *pair) {
	int32_t both;
	memcpy(&both, pair, sizeof both);
#if defined(__AVX512F__)
	return (lanes_part_int)_mm512_set1_epi32(both);
#elif defined(__AVX2__)
	return (lanes_part_int)_mm256_set1_epi32(both);
#elif defined(LANES_NEON)
	return (lanes_part_int)vdupq_n_s32(both);
#else
	return (lanes_part_int){both, both, both, both};
#endif
}

/* sum + a's first * b's first + a's second * b's second, per lane, exactly. */
static LANES_INLINE lanes_part_int lanes_part_dot(lanes_part_int sum, lanes_part_int a,
                                                  lanes_part_int b) {
#if defined(__AVX512F__)
	return (lanes_part_int)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
	return (lanes_part_int)_mm256_add_epi32((__m256i)sum,
	                                        _mm256_madd_epi16((__m256i)a, (__m256i)b));
#elif defined(LANES_NEON)
	const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
	return (lanes_part_int)vaddq_s32((int32x4_t)sum,
	                                 vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)),
	                                            vmull_s16(vget_high_s16(x), vget_high_s16(y))));
#else
	int16_t x[2 * LANES_PART], y[2 * LANES_PART];
	memcpy(x, &a, sizeof x);
	memcpy(y, &b, sizeof y);
	for (int i = 0; i < LANES_PART; i++)
		sum[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
	return sum;
#endif
}

/* a > b ? yes : no, per lane. */
static LANES_INLINE lanes_part lanes_part_greater(lanes_part a, lanes_part b, lanes_part yes,
                                                  lanes_part no) {
#if defined(__AVX512F__)
	return (lanes_part)_mm512_mask_blend_ps(
	    _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ), (__m512)no, (__m512)yes);
#elif defined(__AVX2__)
	return (lanes_part)_mm256_blendv_ps((__m256)no, (__m256)yes,
	                                    _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
#else
	const lanes_part_int mask = a > b;
	return (lanes_part)(((lanes_part_int)yes & mask) | ((lanes_part_int)no & ~mask));
#endif
}

static LANES_INLINE lanes lanes_greater(lanes a, lanes b, lanes yes, lanes no) {
	LANES_EACH(lanes_part_greater(a.part[i], b.part[i], yes.part[i], no.part[i]));
}

/* a > b ? a : b per lane. So where a is NaN, b is taken. */
static LANES_INLINE lanes lanes_max(lanes a, lanes b) {
	return lanes_greater(a, b, a, b);
}

#if defined(__AVX512F__)
#define LANES_EVEN 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14
#define LANES_ODD 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15
#define LANES_SWAP 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#elif defined(__AVX2__)
#define LANES_EVEN 0, 0, 2, 2, 4, 4, 6, 6
#define LANES_ODD 1, 1, 3, 3, 5, 5, 7, 7
#define LANES_SWAP 1, 0, 3, 2, 5, 4, 7, 6
#else
#define LANES_EVEN 0, 0, 2, 2
#define LANES_ODD 1, 1, 3, 3
#define LANES_SWAP 1, 0, 3, 2
#endif

/* Turns pairs of neighbours (a, b) by pairs (cos, sin). The result is
 * (fma(a, cos, -(b*sin)), fma(a, sin, b*cos)). */
static LANES_INLINE lanes_part lanes_part_turn(lanes_part x, lanes_part cos_sin) {
	lanes_part_bits minus_first = {0};
	for (int i = 0; i < LANES_PART; i += 2) minus_first[i] = 0x80000000u;
	const lanes_part a = __builtin_shufflevector(x, x, LANES_EVEN),
	                 b = __builtin_shufflevector(x, x, LANES_ODD);
	const lanes_part sin_cos = __builtin_shufflevector(cos_sin, cos_sin, LANES_SWAP);
	return lanes_part_fma(a, cos_sin, b * (lanes_part)((lanes_part_bits)sin_cos ^ minus_first));
}

static LANES_INLINE lanes lanes_turn(lanes x, lanes cos_sin) {
	LANES_EACH(lanes_part_turn(x.part[i], cos_sin.part[i]));
}

/* To fp16, rounded to the nearest, ties to even. */
static LANES_INLINE void lanes_store_f16(uint16_t *to, lanes value) {
	for (int i = 0; i < LANES_PARTS; i++) {
#if defined(__AVX512F__)
		_mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph((__m512)value.part[i],
		                                                   _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
		_mm_storeu_si128((__m128i *)(to + i * LANES_PART),
		                 _mm256_cvtps_ph((__m256)value.part[i], _MM_FROUND_TO_NEAREST_INT));
#elif defined(LANES_NEON)
		vst1_f16((float16_t *)(to + i * LANES_PART),
		         vcvt_f16_f32((float32x4_t)value.part[i]));
#else
		for (int j = 0; j < LANES_PART; j++)
			to[i * LANES_PART + j] = f16_of_float(value.part[i][j]);
#endif
	}
}

/* The end of the canonical sum, the halving tree: lane j adds lane j + 8, for j = 0 .. 7. Then lane
 * j adds lane j + 4, then j + 2, then j + 1. Lane 0 is the sum. */
static LANES_INLINE float lanes_sum(lanes value) {
#if defined(__AVX2__)
#if defined(__AVX512F__)
	const __m256 low = _mm512_castps512_ps256((__m512)value.part[0]);
	const __m256 eight = _mm256_add_ps(low, _mm512_extractf32x8_ps((__m512)value.part[0], 1));
#else
	const __m256 eight = _mm256_add_ps((__m256)value.part[0], (__m256)value.part[1]);
#endif
	const __m128 four =
	    _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
	const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
	const lanes_part four = (value.part[0] + value.part[2]) + (value.part[1] + value.part[3]);
	return (four[0] + four[2]) + (four[1] + four[3]);
#endif
}

/* The exp of exp_f32.h, sixteen at a time. */
static LANES_INLINE lanes lanes_exp(lanes x) {
	const lanes high = lanes_of(EXP_HIGH), magic = lanes_of(EXP_MAGIC);
	const lanes bounded = lanes_greater(x, high, high, x);
	const lanes t = lanes_fma(bounded, lanes_of(EXP_LOG2E), magic);
	const lanes n = lanes_sub(t, magic);
	lanes r = lanes_fma(n, lanes_of(-EXP_LN2_HI), bounded);
	r = lanes_fma(n, lanes_of(-EXP_LN2_LO), r);
	lanes p = lanes_of(exp_taylor[7]);
	for (int i = 6; i >= 0; i--) p = lanes_fma(p, r, lanes_of(exp_taylor[i]));
	lanes scale;
	for (int i = 0; i < LANES_PARTS; i++)
		scale.part[i] = (lanes_part)(((lanes_part_bits)t.part[i] + 127u) << 23);
	return lanes_greater(lanes_of(EXP_LOW), x, lanes_of(0.0f), lanes_mul(p, scale));
}

/* The softmax of attention.h, before the division. Each score s becomes exp(s - m), where m is the
 * largest; their canonical sum is returned. scores[padded]: padded is a multiple of 16, and scores
 * beyond the tokens are -Inf. */
static LANES_INLINE float lanes_softmax(float *scores, size_t padded) {
	lanes most = lanes_of(-INFINITY);
	for (size_t i = 0; i < padded; i += LANES) most = lanes_max(lanes_load(scores + i), most);
	float lane[LANES], maximum = -INFINITY;
	lanes_store(lane, most);
	for (size_t j = 0; j < LANES; j++) maximum = lane[j] > maximum ? lane[j] : maximum;
	lanes sum = lanes_of(0.0f);
	for (size_t i = 0; i < padded; i += LANES) {
		const lanes e = lanes_exp(lanes_sub(lanes_load(scores + i), lanes_of(maximum)));
		lanes_store(scores + i, e);
		sum = lanes_add(sum, e);
	}
	return lanes_sum(sum);
}

#endif
