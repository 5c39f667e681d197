// SPDX-License-Identifier: Apache-2.0
// kernel_cases.h: what the kernel tests share. It has seeded numbers, guarded buffers, comparison
// of bits, and problems for gemm and attention in three moods.
#ifndef CUTTLE_TESTS_KERNEL_CASES_H
#define CUTTLE_TESTS_KERNEL_CASES_H

#include "kernels/f16.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "kernels/quantise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct numbers {
	uint64_t state;
};

/* The next 64 random bits (splitmix64). The same state gives the same bits. */
static inline uint64_t draw_test_bits(struct numbers *numbers) {
	uint64_t z = numbers->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline size_t draw_below(struct numbers *numbers, size_t bound) {
	return (size_t)(draw_test_bits(numbers) % bound);
}

/* Uniform in [-1, 1). */
static inline float draw_plain(struct numbers *numbers) {
	return (float)(draw_test_bits(numbers) >> 40) * 0x1p-23f - 1.0f;
}

/* Any bit pattern one time in four; otherwise a value that went wrong somewhere before. */
static inline float draw_hostile(struct numbers *numbers) {
	static const float values[] = {0.0f,       -0.0f,     1.0f,      -1.0f,     0.5f,
	                               -2.5f,      INFINITY,  -INFINITY, NAN,       0x1p-149f,
	                               -0x1p-149f, 0x1p-126f, 0x1p-101f, 0x1p-100f, 0x1.fffffep127f,
	                               -0x1p127f,  88.1f,     -87.5f,    1e4f,      1e-30f};
	const size_t pick = draw_below(numbers, 4 * sizeof values / sizeof *values / 3);
	return pick < sizeof values / sizeof *values
	           ? values[pick]
	           : float_of_bits((uint32_t)draw_test_bits(numbers));
}

/* A buffer between two guards. A write outside the buffer changes a guard. */
struct guarded {
	unsigned char *base; /* of the first guard, aligned to 64 bytes */
	size_t bytes;        /* of the buffer */
	size_t shift;        /* bytes from a multiple of 64 to the buffer's start */
};
enum {
	GUARD = 192,      /* bytes of a guard, at least */
	GUARD_BYTE = 0xa7 /* the value of each */
};

static inline void *guarded_new(struct guarded *guarded, size_t bytes, size_t shift) {
	const size_t all = (bytes + shift + 2 * GUARD + 63) / 64 * 64;
	*guarded = (struct guarded){.base = aligned_alloc(64, all), .bytes = bytes, .shift = shift};
	assert_non_null(guarded->base);
	memset(guarded->base, GUARD_BYTE, all);
	return guarded->base + GUARD + shift;
}

/* Fails when a byte outside the buffer has changed; frees it. */
static inline void guarded_end(struct guarded *guarded) {
	const size_t all = (guarded->bytes + guarded->shift + 2 * GUARD + 63) / 64 * 64;
	for (size_t i = 0; i < all; i++)
		if (i < GUARD + guarded->shift || i >= GUARD + guarded->shift + guarded->bytes)
			if (guarded->base[i] != GUARD_BYTE)
				fail_msg("a write %zd bytes from the start of a buffer of %zu",
				         i - GUARD - guarded->shift, guarded->bytes);
	free(guarded->base);
}

/* Equal as bits; two NaN are equal whatever their payload. */
static inline void expect_same(const char *what, const char *tier, const float *expected,
                               const float *got, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (memcmp(&expected[i], &got[i], sizeof(float)) &&
		    !(isnan(expected[i]) && isnan(got[i])))
			fail_msg("%s, %s: element %zu of %zu is %a (%08x), should be %a (%08x)",
			         what, tier, i, count, (double)got[i], bits_of_float(got[i]),
			         (double)expected[i], bits_of_float(expected[i]));
}

static inline void expect_near(const char *what, const char *tier, double expected, double got,
                               double bound) {
	if (!(fabs(expected - got) <= bound))
		fail_msg("%s, %s: %.9g, should be %.9g within %.3g", what, tier, got, expected,
		         bound);
}

static inline void *new_array(size_t count, size_t size) {
	void *array = calloc(count ? count : 1, size);
	assert_non_null(array);
	return array;
}

/* PLAIN: random numbers of ordinary size. EXTREME: the largest and smallest codes, which bring sums
 * to their limits. HOSTILE: PLAIN with some numbers of any bits, as infinity and NaN. */
enum mood { PLAIN, EXTREME, HOSTILE, MOODS };

/* One matrix and rows for it: the arguments of a gemm, as kernels/gemm.h has them. */
struct problem {
	enum packed_type type;
	size_t channels, k, rows, groups;
	uint8_t *file;               /* the matrix as a GGUF file has it */
	struct packed_matrix matrix; /* the same, packed */
	float *x, *scale, *scaled_sum;
	int8_t *q;
	int32_t *sum, *half_sum;
	struct gemm_rows given;
};

/* places[0] is the byte of a file's block where its fp16 scale is, places[1] that of its fp16
 * minimum. Both are the scale's where the type has no minimum. */
static inline void locate_scales(enum packed_type type, size_t places[2]) {
	static const uint8_t odd[PACKED_TYPES] = {
	    [PACKED_Q6_K] = 208, [PACKED_Q3_K] = 108, [PACKED_Q2_K] = 80};
	places[0] = odd[type];
	places[1] = places[0] + (packed_has_minimum(type) ? 2 : 0);
}

static inline void write_problem_file(struct problem *problem, struct numbers *numbers,
                                      enum mood mood) {
	const enum packed_type type = problem->type;
	const size_t bytes = problem->channels * pack_row_bytes(type, problem->k),
	             block = pack_block_bytes(type);
	if (packed_is_float(type)) {
		for (size_t i = 0; i < problem->channels * problem->k; i++) {
			const float value = mood == HOSTILE && draw_below(numbers, 64) == 0
			                        ? draw_hostile(numbers)
			                        : draw_plain(numbers);
			const uint16_t half = type == PACKED_F16
			                          ? f16_of_float(value)
			                          : (uint16_t)(bits_of_float(value) >> 16);
			if (type == PACKED_F32) memcpy(problem->file + 4 * i, &value, 4);
			else memcpy(problem->file + 2 * i, &half, 2);
		}
		return;
	}
	for (size_t i = 0; i < bytes; i++) problem->file[i] = (uint8_t)draw_test_bits(numbers);
	static const uint8_t ends[4] = {0x80, 0x7f, 0xff, 0x00};
	for (size_t i = 0; i < bytes; i += block) {
		const uint8_t end = ends[draw_below(numbers, 4)];
		for (size_t j = 0; mood == EXTREME && j < block; j++)
			problem->file[i + j] =
			    draw_below(numbers, 64) ? end : ends[draw_below(numbers, 4)];
		uint16_t scales[2] = {f16_of_float(draw_plain(numbers) * 0.01f),
		                      f16_of_float(draw_plain(numbers))};
		size_t places[2];
		locate_scales(type, places);
		for (size_t j = 2; j--;) {
			if (mood == HOSTILE && draw_below(numbers, 16) == 0)
				scales[j] =
				    (uint16_t)(draw_below(numbers, 2) ? draw_test_bits(numbers)
				                                      : 0);
			memcpy(problem->file + i + places[j], &scales[j], sizeof scales[j]);
		}
	}
}

static inline void write_problem_rows(struct problem *problem, struct numbers *numbers,
                                      enum mood mood) {
	const size_t blocks = problem->k / GEMM_BLOCK;
	for (size_t i = 0; i < problem->rows * problem->k; i++)
		problem->x[i] = mood == HOSTILE && draw_below(numbers, 256) == 0
		                    ? draw_hostile(numbers)
		                    : draw_plain(numbers);
	for (size_t r = 0; r < problem->rows; r++)
		rowquant_scalar(problem->x + r * problem->k, problem->k,
		                problem->q + r * problem->k, problem->scale + r * blocks,
		                problem->scaled_sum + r * blocks, problem->sum + r * blocks,
		                problem->half_sum + 2 * r * blocks);
	if (mood != EXTREME) return;
	for (size_t b = 0; b < problem->rows * blocks; b++) {
		const size_t sign = draw_below(numbers, 3);
		problem->sum[b] = problem->half_sum[2 * b] = problem->half_sum[2 * b + 1] = 0;
		for (size_t j = 0; j < GEMM_BLOCK; j++) {
			const bool minus = sign == 2 ? draw_below(numbers, 2) : sign;
			problem->q[b * GEMM_BLOCK + j] = minus ? -127 : 127;
			problem->sum[b] += minus ? -127 : 127;
			problem->half_sum[2 * b + j / GEMM_HALF] += minus ? -127 : 127;
		}
		problem->scaled_sum[b] = problem->scale[b] * (float)problem->sum[b];
	}
}

static inline struct problem problem_new(struct numbers *numbers, enum packed_type type,
                                         size_t channels, size_t k, size_t rows, enum mood mood) {
	struct problem problem = {.type = type,
	                          .channels = channels,
	                          .k = k,
	                          .rows = rows,
	                          .groups = (channels + GEMM_GROUP - 1) / GEMM_GROUP};
	size_t weights, scales, minima;
	assert_true(pack_sizes(type, channels, k, &weights, &scales, &minima));
	void *packed = aligned_alloc(64, weights);
	assert_non_null(packed);
	problem.file = new_array(channels, pack_row_bytes(type, k));
	problem.matrix = (struct packed_matrix){.type = type,
	                                        .channels = channels,
	                                        .k = k,
	                                        .weights = packed,
	                                        .scales = new_array(scales, 1),
	                                        .minima = new_array(minima, 1)};
	const size_t blocks = rows * k / GEMM_BLOCK;
	problem.x = new_array(rows * k, sizeof *problem.x);
	problem.q = new_array(rows * k, sizeof *problem.q);
	problem.scale = new_array(blocks, sizeof *problem.scale);
	problem.scaled_sum = new_array(blocks, sizeof *problem.scaled_sum);
	problem.sum = new_array(blocks, sizeof *problem.sum);
	problem.half_sum = new_array(2 * blocks, sizeof *problem.half_sum);
	problem.given = (struct gemm_rows){rows,          k,
	                                   problem.x,     problem.q,
	                                   problem.scale, problem.scaled_sum,
	                                   problem.sum,   problem.half_sum};
	write_problem_file(&problem, numbers, mood);
	write_problem_rows(&problem, numbers, mood);
	pack_groups(&problem.matrix, problem.file, 0, problem.groups);
	return problem;
}

static inline void problem_free(struct problem *problem) {
	free((void *)problem->matrix.weights);
	free((void *)problem->matrix.scales);
	free((void *)problem->matrix.minima);
	free(problem->file);
	free(problem->x);
	free(problem->q);
	free(problem->scale);
	free(problem->scaled_sum);
	free(problem->sum);
	free(problem->half_sum);
}

/* Rows [first, first + count) of a problem as a gemm's argument. */
static inline struct gemm_rows slice_rows(const struct problem *problem, size_t first,
                                          size_t count) {
	const size_t blocks = problem->k / GEMM_BLOCK;
	return (struct gemm_rows){count,
	                          problem->k,
	                          problem->x + first * problem->k,
	                          problem->q + first * problem->k,
	                          problem->scale + first * blocks,
	                          problem->scaled_sum + first * blocks,
	                          problem->sum + first * blocks,
	                          problem->half_sum + 2 * first * blocks};
}

/* One attention problem: queries, keys and values. Keys lie in tiles of 16 tokens. The tokens that
 * fill up the last tile are hostile: they may not change a result. */
struct contexts {
	size_t heads;
	size_t head_size;
	size_t tokens;
	size_t unseen; /* first tokens that a sliding window leaves out */
	size_t padded; /* tokens, rounded up to whole tiles */
	float *q;      /* [heads][head_size] */
	uint16_t *k;   /* fp16, [padded] in tiles */
	uint16_t *v;   /* fp16, [tokens][head_size] */

	/* The same in 8 bits, as attention_q8 takes it: contexts_quantise. */
	int8_t *k8, *v8;
	float *k_scale, *v_scale;
};

/* Writes one token's key or value: entry d goes to to[d / group * step + d % group]. */
static inline float store_quantised(const float *x, size_t n, int8_t *to, size_t group,
                                    size_t step) {
	int8_t q[256];
	const float scale = quantise_to_8(x, n, q);
	for (size_t d = 0; d < n; d++) to[d / group * step + d % group] = q[d];
	return scale;
}

/* Makes the numbers of 8 bits from those of 16. */
static inline void contexts_quantise(struct contexts *contexts, struct numbers *numbers) {
	const size_t size = contexts->head_size;
	for (size_t t = 0; t < contexts->padded; t++) {
		float key[256], value[256];
		for (size_t d = 0; d < size; d++) {
			key[d] = float_of_f16(contexts->k[(t / 16 * size + d) * 16 + t % 16]);
			value[d] = t < contexts->tokens ? float_of_f16(contexts->v[t * size + d])
			                                : draw_hostile(numbers);
		}
		contexts->k_scale[t] = store_quantised(
		    key, size, contexts->k8 + t / 16 * 16 * size + t % 16 * 2, 2, 32);
		contexts->v_scale[t] =
		    store_quantised(value, size, contexts->v8 + t / 2 * 2 * size + t % 2, 1, 2);
	}
}

static inline struct contexts contexts_new(struct numbers *numbers, size_t heads, size_t head_size,
                                           size_t tokens, enum mood mood) {
	struct contexts contexts = {.heads = heads,
	                            .head_size = head_size,
	                            .tokens = tokens,
	                            .padded = (tokens + 15) / 16 * 16};
	contexts.k8 = new_array(contexts.padded * head_size, sizeof *contexts.k8);
	contexts.v8 = new_array(contexts.padded * head_size, sizeof *contexts.v8);
	contexts.k_scale = new_array(contexts.padded, sizeof *contexts.k_scale);
	contexts.v_scale = new_array(contexts.padded, sizeof *contexts.v_scale);
	contexts.q = new_array(heads * head_size, sizeof *contexts.q);
	contexts.k = new_array(contexts.padded * head_size, sizeof *contexts.k);
	contexts.v = new_array(tokens * head_size, sizeof *contexts.v);
	const float reach = mood == EXTREME ? 60.0f : 2.0f;
	for (size_t i = 0; i < heads * head_size; i++)
		contexts.q[i] = mood == HOSTILE && draw_below(numbers, 400) == 0
		                    ? draw_hostile(numbers)
		                    : draw_plain(numbers) * reach;
	for (size_t i = 0; i < contexts.padded * head_size; i++) {
		const size_t token = i / (16 * head_size) * 16 + i % 16;
		const bool bad =
		    token >= tokens || (mood == HOSTILE && draw_below(numbers, 2000) == 0);
		contexts.k[i] =
		    f16_of_float(bad ? draw_hostile(numbers) : draw_plain(numbers) * reach);
	}
	for (size_t i = 0; i < tokens * head_size; i++)
		contexts.v[i] = f16_of_float(mood == HOSTILE && draw_below(numbers, 2000) == 0
		                                 ? draw_hostile(numbers)
		                                 : draw_plain(numbers));
	contexts_quantise(&contexts, numbers);
	return contexts;
}

static inline void contexts_free(struct contexts *contexts) {
	free(contexts->q);
	free(contexts->k);
	free(contexts->v);
	free(contexts->k8);
	free(contexts->v8);
	free(contexts->k_scale);
	free(contexts->v_scale);
}

#endif
