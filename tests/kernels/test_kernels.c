// SPDX-License-Identifier: Apache-2.0
// Tests every op of every kernel tier that this processor has. It fails if one bit differs from
// the scalar tier, or if the scalar tier is off from plain definitions in double or integers.
// CUTTLE_TEST_SEED sets the seed. With `--bench` it prints times instead.
#include "tests/kernels/kernel_bench.h"
#include "tests/kernels/kernel_cases.h"

#include "kernels/exp_f32.h"

#include <time.h>
#if defined(CUTTLE_BLAS)
#include "kernels/gemm_blas.h"
#endif
#if defined(__x86_64__)
#include "kernels/cpu.h"

#include <immintrin.h>
#endif

static struct numbers numbers;
static const struct kernels *tiers[8];
static size_t tier_count;

enum { K_COUNT = 4, MOST_ROWS = 100 };

/* Row lengths: whole blocks of the type, odd and even numbers of them. */
static size_t k_of(enum packed_type type, size_t i) {
	static const size_t ks[2][K_COUNT] = {{32, 64, 576, 1536}, {256, 512, 768, 1536}};
	return ks[packed_has_levels(type)][i];
}

static const size_t row_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                    13, 14, 15, 16, 17, 20, 21, 33, 64, 81, 100};
enum { ROW_COUNTS = sizeof row_counts / sizeof *row_counts };

/* out of `tier` for rows [first, first + count), places [begin, end), between guards; added to
 * `start` when that is not NULL. */
static void check_gemm(const struct kernels *tier, const struct problem *problem,
                       const float *expected, const float *start, size_t first, size_t count,
                       const uint32_t *groups, size_t begin, size_t end) {
	const size_t stride = end * GEMM_GROUP + draw_below(&numbers, 5),
	             floats = (count - 1) * stride + end * GEMM_GROUP;
	struct guarded guard;
	float *out = guarded_new(&guard, floats * sizeof *out, 4 * draw_below(&numbers, 16)),
	      untouched;
	memcpy(&untouched, guard.base, sizeof untouched);
	const size_t all = problem->groups * GEMM_GROUP;
	for (size_t r = 0; start && r < count; r++)
		for (size_t i = begin; i < end; i++)
			memcpy(out + r * stride + i * GEMM_GROUP,
			       start + (first + r) * all + (groups ? groups[i] : i) * GEMM_GROUP,
			       GEMM_GROUP * sizeof *out);
	const struct gemm_rows rows = slice_rows(problem, first, count);
	kernels_gemm(tier, problem->type)(out, stride, start != NULL, &rows, &problem->matrix,
	                                  groups, begin, end);
	for (size_t r = 0; r < count; r++) {
		for (size_t i = begin; i < end; i++)
			expect_same("gemm", tier->name,
			            expected + (first + r) * all +
			                (groups ? groups[i] : i) * GEMM_GROUP,
			            out + r * stride + i * GEMM_GROUP, GEMM_GROUP);
		for (size_t i = 0; i < stride && r * stride + i < floats; i++)
			if (i < begin * GEMM_GROUP || i >= end * GEMM_GROUP)
				assert_memory_equal(&out[r * stride + i], &untouched,
				                    sizeof untouched);
	}
	guarded_end(&guard);
}

/* Each tier, each number of rows, single rows, sparse groups, add: all must give the scalar tier's
 * bits for the whole problem at once. */
static void gemm_same_bits(enum packed_type type, enum mood mood) {
	for (size_t i = 0; i < K_COUNT; i++) {
		const size_t channels =
		    16 * (1 + draw_below(&numbers, 3)) - draw_below(&numbers, 16);
		struct problem problem =
		    problem_new(&numbers, type, channels, k_of(type, i), MOST_ROWS, mood);
		const size_t all = problem.groups * GEMM_GROUP;
		float *expected = new_array(MOST_ROWS * all, sizeof *expected),
		      *start = new_array(MOST_ROWS * all, sizeof *start);
		float *sum = new_array(MOST_ROWS * all, sizeof *sum);
		kernels_gemm(tiers[0], type)(expected, all, false, &problem.given, &problem.matrix,
		                             NULL, 0, problem.groups);
		for (size_t j = 0; j < MOST_ROWS * all; j++) {
			start[j] = draw_plain(&numbers);
			sum[j] = start[j] + expected[j];
		}
		for (size_t t = 0; t < tier_count; t++) {
			for (size_t j = 0; t && j < ROW_COUNTS; j++) {
				const size_t first =
				    draw_below(&numbers, MOST_ROWS - row_counts[j] + 1);
				check_gemm(tiers[t], &problem, expected, NULL, first, row_counts[j],
				           NULL, 0, problem.groups);
			}
			for (size_t r = 0; r < MOST_ROWS; r += t ? 1 : 7)
				check_gemm(tiers[t], &problem, expected, NULL, r, 1, NULL, 0,
				           problem.groups);
			check_gemm(tiers[t], &problem, sum, start, 3, 9, NULL, 0, problem.groups);
			check_gemm(tiers[t], &problem, sum, start, 5, 90, NULL, 0, problem.groups);
			uint32_t sparse[7];
			for (size_t j = 0; j < 7; j++)
				sparse[j] = (uint32_t)draw_below(&numbers, problem.groups);
			check_gemm(tiers[t], &problem, expected, NULL, 0, 8, sparse, 0, 7);
			check_gemm(tiers[t], &problem, expected, NULL, 7, 26, sparse, 1, 6);
			check_gemm(tiers[t], &problem, expected, NULL, 5, 3, sparse, 2, 6);
			check_gemm(tiers[t], &problem, sum, start, 5, 1, sparse, 1, 2);
			if (problem.groups > 1)
				check_gemm(tiers[t], &problem, expected, NULL, 1, 11, NULL, 1,
				           problem.groups);
		}
		free(expected);
		free(start);
		free(sum);
		problem_free(&problem);
	}
}

static void test_gemm_same_bits(void **state) {
	(void)state;
	for (enum packed_type type = PACKED_F32; type < PACKED_TYPES; type++)
		for (enum mood mood = PLAIN; mood < MOODS; mood++) gemm_same_bits(type, mood);
}

/* Against the weights of pack_row's making, which tests/engine/test_types.c holds to the file's. */
static void gemm_definition(enum packed_type type, size_t k, enum mood mood) {
	struct problem problem = problem_new(&numbers, type, 19, k, 3, mood);
	float out[3 * 32], *weights = new_array(k, sizeof *weights);
	kernels_gemm(tiers[0], type)(out, 32, false, &problem.given, &problem.matrix, NULL, 0, 2);
	const bool is_float = packed_is_float(type), has_minimum = packed_has_minimum(type);
	// A float type rounds once per k; a block type once per fma and once per product of scales.
	const double steps = is_float ? (double)k : (double)(k / packed_span(type)) * 2 + 3;
	for (size_t c = 0; c < 32; c++) {
		if (c < 19) pack_row(&problem.matrix, c, weights);
		else memset(weights, 0, k * sizeof *weights);
		for (size_t r = 0; r < 3; r++) {
			double sum = 0, size = 0;
			for (size_t j = 0; j < k; j++) {
				const size_t at = r * k + j;
				const double a =
				    is_float ? (double)problem.x[at]
				             : (double)problem.scale[at / 32] * problem.q[at];
				// The two parts of a weight with a minimum may cancel.
				const double minimum =
				    has_minimum
				        ? (double)pack_scale(&problem.matrix, problem.matrix.minima,
				                             c / 16, c % 16, j)
				        : 0;
				sum += (double)weights[j] * a;
				size += (fabs((double)weights[j]) + 2 * fabs(minimum)) * fabs(a);
			}
			// Beside the gemm's own roundings: one of each weight.
			expect_near("gemm", "scalar", sum, (double)out[r * 32 + c],
			            (steps + 1) * 0x1p-24 * size);
		}
	}
	free(weights);
	problem_free(&problem);
}

static void test_gemm_definition(void **state) {
	(void)state;
	for (enum packed_type type = PACKED_F32; type < PACKED_TYPES; type++)
		for (size_t i = 0; i < K_COUNT; i++)
			for (enum mood mood = PLAIN; mood <= EXTREME; mood++)
				gemm_definition(type, k_of(type, i), mood);
}

static void test_gemm_blas(void **state) {
	(void)state;
#if defined(CUTTLE_BLAS)
	if (gemm_blas_init() != GEMM_BLAS_READY) {
		print_message("libopenblas.so.0 is not here: no oracle\n");
		skip();
	}
	float *scratch = new_array(GEMM_BLAS_SCRATCH, sizeof *scratch);
	for (enum packed_type type = PACKED_Q8_0; type < PACKED_TYPES; type++)
		for (size_t i = 0; i < K_COUNT; i++) {
			const size_t k = k_of(type, i), panel = gemm_blas_panel(k), count = 9,
			             groups = panel + 2, all = groups * GEMM_GROUP;
			struct problem problem =
			    problem_new(&numbers, type, all - 5, k, count, PLAIN);
			float *ours = new_array(count * all, sizeof *ours),
			      *oracle = new_array(count * all, sizeof *oracle);
			float *weights = new_array(k, sizeof *weights);
			for (size_t j = 0; j < count * k; j++)
				problem.x[j] = problem.scale[j / 32] * (float)problem.q[j];
			for (size_t j = 0; j < count * all; j++)
				ours[j] = oracle[j] = draw_plain(&numbers);
			kernels_gemm(tiers[tier_count - 1], type)(ours, all, true, &problem.given,
			                                          &problem.matrix, NULL, 0, groups);
			gemm_blas(oracle, all, true, &problem.given, &problem.matrix, NULL, 0,
			          panel, scratch);
			gemm_blas(oracle, all, true, &problem.given, &problem.matrix, NULL, panel,
			          groups, scratch);
			for (size_t c = 0; c < all; c++) {
				if (c < problem.channels) pack_row(&problem.matrix, c, weights);
				for (size_t r = 0; r < count; r++) {
					double size = 1;
					for (size_t j = 0; c < problem.channels && j < k; j++)
						size += fabs((double)weights[j] *
						             (double)problem.x[r * k + j]);
					expect_near("gemm against BLAS", "blas",
					            (double)oracle[r * all + c],
					            (double)ours[r * all + c], 2e-6 * size);
				}
			}
			// A sparse list picks the same channels; the bits may differ with the
			// shape.
			const uint32_t sparse[3] = {(uint32_t)groups - 1, 0, 1};
			float few[9 * 48];
			gemm_blas(few, 48, false, &problem.given, &problem.matrix, sparse, 0, 3,
			          scratch);
			kernels_gemm(tiers[0], type)(ours, 48, false, &problem.given,
			                             &problem.matrix, sparse, 0, 3);
			const double reach =
			    packed_has_levels(type)
			        ? 64
			        : 1; // a second scale and a second minimum are up to 127
			for (size_t j = 0; j < 9 * 48; j++)
				expect_near("sparse BLAS", "blas", (double)few[j], (double)ours[j],
				            1e-4 * reach + 1e-4 * fabs((double)ours[j]));
			free(ours);
			free(oracle);
			free(weights);
			problem_free(&problem);
		}
	free(scratch);
#else
	print_message("built without CUTTLE_BLAS: no oracle\n");
	skip();
#endif
}

static void test_pack_sizes(void **state) {
	(void)state;
	size_t weights, scales, minima;
	assert_false(pack_sizes(PACKED_F32, SIZE_MAX, 32, &weights, &scales, &minima));
	assert_false(
	    pack_sizes(PACKED_Q8_0, SIZE_MAX / 1024, SIZE_MAX / 1024, &weights, &scales, &minima));
	assert_false(pack_sizes(PACKED_Q4_1, SIZE_MAX / 16, 32, &weights, &scales, &minima));
	assert_false(pack_sizes(PACKED_Q2_K, SIZE_MAX / 16, 256, &weights, &scales, &minima));
}

static void test_rowquant(void **state) {
	(void)state;
	enum { K = 1536, BLOCKS = K / GEMM_BLOCK };
	for (size_t round = 0; round < 60; round++) {
		float x[K + 1], *from = x + round % 2;
		for (size_t i = 0; i < K; i++) {
			const float spread = ldexpf(1.0f, (int)draw_below(&numbers, 3) * 60 - 100);
			from[i] = draw_plain(&numbers) * (round < 20 ? 4.0f : spread);
			if (round >= 40 && draw_below(&numbers, 40) == 0)
				from[i] = draw_hostile(&numbers);
		}
		// One block of ties: with an amax of 127 every half is exact.
		for (size_t i = 0; round < 20 && i < GEMM_BLOCK; i++)
			from[i] = (float)i * 4 - 126.5f + 63.0f * (i == 0);
		if (round < 20) from[5] = -127.0f;
		for (size_t t = 0; t < tier_count; t++) {
			struct guarded guards[5];
			int8_t *q = guarded_new(&guards[0], K, draw_below(&numbers, 64));
			float *scale = guarded_new(&guards[1], BLOCKS * sizeof *scale, 4),
			      *scaled_sum = guarded_new(&guards[2], BLOCKS * sizeof *scale, 8);
			int32_t *sum = guarded_new(&guards[3], BLOCKS * sizeof *sum, 12);
			int32_t *half_sum = guarded_new(&guards[4], 2 * BLOCKS * sizeof *sum, 4);
			tiers[t]->rowquant(from, K, q, scale, scaled_sum, sum, half_sum);
			for (size_t b = 0; b < BLOCKS; b++) {
				const float *in = from + b * GEMM_BLOCK;
				float amax = 0;
				bool finite = true;
				for (size_t j = 0; j < GEMM_BLOCK; j++) {
					finite = finite && isfinite(in[j]);
					amax = fmaxf(amax, fabsf(in[j]));
				}
				const bool used = finite && amax >= 0x1p-100f;
				const float expected_scale = !finite ? NAN
				                             : used  ? amax / 127.0f
				                                     : 0.0f;
				int32_t total = 0, halves[2] = {0};
				for (size_t j = 0; j < GEMM_BLOCK; j++) {
					const int value = q[b * GEMM_BLOCK + j];
					const float scaled = used ? in[j] * (127.0f / amax) : 0.0f;
					if (value != (int)nearbyint((double)scaled))
						fail_msg("rowquant, %s: %d for %a", tiers[t]->name,
						         value, (double)scaled);
					if (used)
						expect_near("rowquant", tiers[t]->name,
						            (double)in[j] * 127 / (double)amax,
						            value, 0.5 + 3e-5);
					total += value;
					halves[j / GEMM_HALF] += value;
				}
				assert_int_equal(sum[b], total);
				assert_memory_equal(half_sum + 2 * b, halves, sizeof halves);
				expect_same("rowquant scale", tiers[t]->name, &expected_scale,
				            &scale[b], 1);
				expect_same("rowquant sum", tiers[t]->name,
				            &(float){expected_scale * (float)total}, &scaled_sum[b],
				            1);
			}
			for (size_t i = 0; i < 5; i++) guarded_end(&guards[i]);
		}
	}
}

/* Lists the problem's tokens from `from` to `end` - 1 as segments, cut where it happens. Returns
 * how many there are, at most 8. */
static size_t cut_segments(const struct contexts *contexts, bool q8, size_t from, size_t end,
                           struct attention_segment *segments) {
	const size_t cuts = draw_below(&numbers, 8), size = contexts->head_size;
	size_t count = 0;
	for (size_t i = 0; i <= cuts; i++) {
		const size_t tiles = (end - from + 15) / 16,
		             next = i < cuts ? from + 16 * draw_below(&numbers, tiles + 1) : end;
		if (next > end) continue;
		segments[count++] =
		    q8 ? (struct attention_segment){contexts->k8 + from * size,
		                                    contexts->v8 + from * size, next - from,
		                                    contexts->k_scale + from,
		                                    contexts->v_scale + from}
		       : (struct attention_segment){contexts->k + from * size,
		                                    contexts->v + from * size, next - from, NULL,
		                                    NULL};
		from = next;
	}
	return count;
}

/* Attention of some problems in one call. They have the first `shared` tokens in common: those of
 * the first problem are read. out[i] receives what row i has. */
static void attention_of(const struct kernels *tier, bool q8, const struct contexts *contexts,
                         size_t count, size_t shared, float *const *out) {
	const size_t heads = contexts->heads, size = contexts->head_size;
	struct attention_segment common[8], own[ATTENTION_MOST_ROWS][8];
	struct attention_row rows[ATTENTION_MOST_ROWS];
	struct guarded guards[ATTENTION_MOST_ROWS + 1];
	const size_t common_count = shared ? cut_segments(contexts, q8, 0, shared, common) : 0;
	size_t most = 0;
	for (size_t i = 0; i < count; i++) {
		if (contexts[i].tokens > most) most = contexts[i].tokens;
		rows[i] = (struct attention_row){
		    contexts[i].q,
		    guarded_new(&guards[i], heads * size * sizeof(float),
		                4 * draw_below(&numbers, 16)),
		    own[i], cut_segments(&contexts[i], q8, shared, contexts[i].tokens, own[i]),
		    contexts[i].unseen};
	}
	float *scratch = guarded_new(
	    &guards[count], attention_scratch(count, heads, size, most) * sizeof *scratch, 4);
	(q8 ? tier->attention_q8 : tier->attention)(rows, count, heads, size, common, common_count,
	                                            0.125f, scratch);
	for (size_t i = 0; i < count; i++)
		memcpy(out[i], rows[i].out, heads * size * sizeof(float));
	for (size_t i = 0; i <= count; i++) guarded_end(&guards[i]);
}

static void attention_definition(const struct contexts *contexts, const float *got) {
	double *p = new_array(contexts->tokens, sizeof *p);
	const size_t size = contexts->head_size;
	for (size_t h = 0; h < contexts->heads; h++) {
		double most = -INFINITY, total = 0, doubt = 0;
		for (size_t t = 0; t < contexts->unseen; t++) p[t] = -INFINITY;
		for (size_t t = contexts->unseen; t < contexts->tokens; t++) {
			double score = 0, reach = 0;
			for (size_t d = 0; d < size; d++) {
				const double product =
				    (double)contexts->q[h * size + d] *
				    (double)float_of_f16(
				        contexts->k[(t / 16 * size + d) * 16 + t % 16]);
				score += product;
				reach += fabs(product);
			}
			p[t] = score * 0.125;
			most = fmax(most, p[t]);
			doubt = fmax(doubt, reach * 0.125);
		}
		for (size_t t = 0; t < contexts->tokens; t++) total += p[t] = exp(p[t] - most);
		// A score is off by at most (size + 2) roundings of its reach, exp by 3e-7; each
		// sum adds a rounding per token.
		const double relative = 2 * (double)(size + 2) * 0x1p-24 * doubt + 6e-7 +
		                        2 * (double)(contexts->tokens + 16) * 0x1p-24;
		for (size_t d = 0; d < size; d++) {
			double sum = 0, reach = 0;
			for (size_t t = 0; t < contexts->tokens; t++) {
				const double term =
				    p[t] / total * (double)float_of_f16(contexts->v[t * size + d]);
				sum += term;
				reach += fabs(term);
			}
			expect_near("attention", "scalar", sum, (double)got[h * size + d],
			            relative * reach + 1e-30);
		}
	}
	free(p);
}

/* Entry d of a token's key and value, as attention_q8 has them. */
static double key_of(const struct contexts *c, size_t t, size_t d) {
	return (double)c->k8[t / 16 * 16 * c->head_size + d / 2 * 32 + t % 16 * 2 + d % 2] *
	       (double)c->k_scale[t];
}

static double value_of(const struct contexts *c, size_t t, size_t d) {
	return (double)c->v8[(t / 2 * c->head_size + d) * 2 + t % 2] * (double)c->v_scale[t];
}

/* In place of fmax, of whose loops gcc 12 for aarch64 cannot make vectors: it ends. */
static double larger_of(double a, double b) {
	return a > b ? a : b;
}

/* The softmax of attention in double, but for the roundings to 16 bits. */
static void attention_q8_definition(const struct contexts *contexts, const float *got) {
	double *p = new_array(contexts->tokens, sizeof *p);
	const size_t size = contexts->head_size, tokens = contexts->tokens;
	for (size_t h = 0; h < contexts->heads; h++) {
		const float *q = contexts->q + h * size;
		double most = -INFINITY, total = 0, largest = 0, doubt = 0;
		for (size_t d = 0; d < size; d++) largest = larger_of(largest, fabs((double)q[d]));
		for (size_t t = 0; t < contexts->unseen; t++) p[t] = -INFINITY;
		for (size_t t = contexts->unseen; t < tokens; t++) {
			double score = 0, reach = 0;
			for (size_t d = 0; d < size; d++) {
				score += (double)q[d] * key_of(contexts, t, d);
				reach += fabs(key_of(contexts, t, d));
			}
			p[t] = score * 0.125;
			most = fmax(most, p[t]);
			// Each Q is off by half of largest / 32767.
			doubt = fmax(doubt, reach * 0.125 * largest * (0x1p-16 + 0x1p-22));
		}
		for (size_t t = 0; t < tokens; t++) total += p[t] = exp(p[t] - most);
		for (size_t d = 0; d < size; d++) {
			double sum = 0, bound = 1e-30;
			for (size_t t = 0; t < tokens; t++) {
				const double term = p[t] / total * value_of(contexts, t, d);
				sum += term;
				// A weight is off by half of its tile's largest / 32767.
				double heaviest = 0;
				for (size_t i = t / 16 * 16; i < t / 16 * 16 + 16 && i < tokens;
				     i++)
					heaviest = larger_of(heaviest,
					                     p[i] * (double)contexts->v_scale[i]);
				bound += fabs(term) * (2.1 * doubt + 1e-5) +
				         heaviest / total * 0x1p-16 * 1.01 *
				             abs(contexts->v8[(t / 2 * size + d) * 2 + t % 2]);
			}
			expect_near("attention_q8", "scalar", sum, (double)got[h * size + d],
			            bound);
		}
	}
	free(p);
}

/* Each row's bits are those that the scalar tier gives it alone, from keys and values of its own.
 */
static void check_attention(bool q8) {
	static const size_t sizes[] = {64, 16, 48, 80, 128},
	                    lengths[] = {1, 15, 16, 17, 64, 100, 333, 31};
	for (size_t round = 0; round < 120; round++) {
		const enum mood mood = (enum mood)(round % MOODS);
		const size_t heads = 1 + draw_below(&numbers, 9), size = sizes[round % 5],
		             floats = heads * size,
		             count = 1 + draw_below(&numbers, ATTENTION_MOST_ROWS),
		             common = 16 * draw_below(&numbers, 6);
		struct contexts contexts[ATTENTION_MOST_ROWS];
		float *expected[ATTENTION_MOST_ROWS], *got[ATTENTION_MOST_ROWS];
		for (size_t i = 0; i < count; i++) {
			contexts[i] = contexts_new(&numbers, heads, size,
			                           common + lengths[(round + i * i) % 8], mood);
			memcpy(contexts[i].k, contexts[0].k, common * size * sizeof(uint16_t));
			memcpy(contexts[i].v, contexts[0].v, common * size * sizeof(uint16_t));
			contexts_quantise(&contexts[i], &numbers);
			// Most rows see everything.
			if (draw_below(&numbers, 3) == 0)
				contexts[i].unseen =
				    draw_below(&numbers, contexts[i].tokens < ATTENTION_TILE
				                             ? contexts[i].tokens
				                             : ATTENTION_TILE);
			expected[i] = new_array(floats, sizeof(float));
			got[i] = new_array(floats, sizeof(float));
			attention_of(tiers[0], q8, &contexts[i], 1, 0, &expected[i]);
			if (mood != HOSTILE && !q8) attention_definition(&contexts[i], expected[i]);
			if (mood == PLAIN && q8) attention_q8_definition(&contexts[i], expected[i]);
		}
		for (size_t t = 0; t < tier_count; t++)
			for (size_t i = 0; i < 4; i++) {
				// Some of the rows, and all or a part of what they share.
				const size_t first = draw_below(&numbers, count),
				             some = 1 + draw_below(&numbers, count - first),
				             shared = 16 * draw_below(&numbers, common / 16 + 1);
				attention_of(tiers[t], q8, contexts + first, some, shared, got);
				for (size_t r = 0; r < some; r++)
					expect_same(q8 ? "attention_q8" : "attention",
					            tiers[t]->name, expected[first + r], got[r],
					            floats);
			}
		for (size_t i = 0; i < count; i++) {
			free(expected[i]);
			free(got[i]);
			contexts_free(&contexts[i]);
		}
	}
}

static void test_attention(void **state) {
	(void)state, check_attention(false);
}

static void test_attention_q8(void **state) {
	(void)state, check_attention(true);
}

/* Every tier quantises as the formula does in double. What is not finite gives no number. */
static void test_narrow_q8(void **state) {
	(void)state;
	for (size_t round = 0; round < 300; round++) {
		const size_t n = 16 * (1 + draw_below(&numbers, 16));
		float x[256];
		int8_t q[256];
		bool finite = true;
		double most = 0;
		for (size_t i = 0; i < n; i++) {
			x[i] = round % 3 == 1 && draw_below(&numbers, 200) == 0
			           ? draw_hostile(&numbers)
			           : draw_plain(&numbers) * 3.0f;
			if (round % 3 == 2) x[i] *= 0x1p-102f;
			finite = finite && isfinite(x[i]);
			most = fmax(most, fabs((double)x[i]));
		}
		for (size_t t = 0; t < tier_count; t++) {
			const float scale = tiers[t]->narrow_q8(x, n, q);
			const bool tiny = most < 0x1p-100;
			const float expected = !finite ? NAN : tiny ? 0.0f : (float)most / 127.0f;
			expect_same("narrow_q8", tiers[t]->name, &expected, &scale, 1);
			for (size_t i = 0; i < n; i++) {
				const float inverse = !finite || tiny ? 0.0f : 127.0f / (float)most;
				assert_int_equal(
				    q[i], finite ? (int)nearbyint((double)(x[i] * inverse)) : 0);
			}
		}
	}
}

static void test_rowwise(void **state) {
	(void)state;
	static const size_t lengths[] = {16, 32, 576, 1536};
	for (size_t round = 0; round < 48; round++) {
		const size_t n = lengths[round % 4];
		const bool is_hostile = round >= 32;
		float a[1536], b[1536], expected[4][1536];
		for (size_t i = 0; i < n; i++) {
			a[i] = is_hostile && draw_below(&numbers, 500) == 0
			           ? draw_hostile(&numbers)
			           : draw_plain(&numbers) * 9.0f;
			b[i] = is_hostile && draw_below(&numbers, 500) == 0 ? draw_hostile(&numbers)
			                                                    : draw_plain(&numbers);
		}
		for (size_t t = 0; t < tier_count; t++) {
			for (size_t op = 0; op < 4; op++) {
				struct guarded guard;
				const bool in_place = op == 1 || round % 2;
				float *out = guarded_new(&guard, n * sizeof *out,
				                         4 * draw_below(&numbers, 16));
				if (in_place) memcpy(out, a, n * sizeof *out);
				if (op == 0)
					tiers[t]->rmsnorm(in_place ? out : a, b, n, 1e-5f, out);
				if (op == 1)
					tiers[t]->rope(out, n / 16, 16, b, round % 3 ? 16 : 10);
				if (op == 2) tiers[t]->swiglu(in_place ? out : a, b, n, out);
				if (op == 3) tiers[t]->geglu(in_place ? out : a, b, n, out);
				if (t == 0) memcpy(expected[op], out, n * sizeof *out);
				expect_same(op == 0   ? "rmsnorm"
				            : op == 1 ? "rope"
				            : op == 2 ? "swiglu"
				                      : "geglu",
				            tiers[t]->name, expected[op], out, n);
				guarded_end(&guard);
			}
		}
		if (is_hostile) continue;
		double squares = 0;
		for (size_t i = 0; i < n; i++) squares += (double)a[i] * (double)a[i];
		const double scale = 1 / sqrt(squares / (double)n + (double)1e-5f);
		for (size_t i = 0; i < n; i++) {
			const double x = (double)a[i], norm = x * scale * (double)b[i],
			             gated = x / (1 + exp(-x)) * (double)b[i];
			expect_near("rmsnorm", "scalar", norm, (double)expected[0][i],
			            (double)n / 16 * 0x1p-24 * fabs(norm) +
			                8 * 0x1p-24 * fabs(norm));
			const size_t j = i % 16, turned = round % 3 ? 16 : 10,
			             even = j & ~(size_t)1;
			const double cosine = (double)b[even], sine = (double)b[even + 1],
			             other = (double)a[i ^ 1];
			const double rotated = j >= turned ? x
			                       : j % 2     ? fma(other, sine, x * cosine)
			                                   : fma(x, cosine, -other * sine);
			expect_near("rope", "scalar", rotated, (double)expected[1][i],
			            2 * 0x1p-24 * 18);
			expect_near("swiglu", "scalar", gated, (double)expected[2][i],
			            8e-7 * fabs(gated) + 1e-37);
			// Far below 0, 1 + tanh cancels: erfc's relative, so to say. So is u in
			// exp.
			const double u = 2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x),
			             gelu = x / (1 + exp(-u)) * (double)b[i];
			expect_near("geglu", "scalar", gelu, (double)expected[3][i],
			            (8e-7 + fabs(u) * 0x1p-22) * fabs(gelu) + 1e-36);
		}
	}
}

static int64_t dclip_difference(float value, int32_t public_fixed, unsigned fraction_bits,
                                int64_t clip) {
	double scaled = nearbyint((double)value * (double)(1 << fraction_bits));
	scaled = fmin(fmax(scaled, -0x1p26), 0x1p26);
	const int64_t difference = (int64_t)scaled - public_fixed;
	return difference > clip ? clip : difference < -clip ? -clip : difference;
}

/* Any bits at all, and every tie between two neighbouring halves. */
static void test_narrow(void **state) {
	(void)state;
	for (uint32_t round = 0; round < 4096; round++) {
		float in[32];
		uint16_t out[32 + 1] = {0};
		for (uint32_t i = 0; i < 32; i++) {
			const uint16_t half = (uint16_t)(round * 16 + i / 2);
			in[i] =
			    i % 2
			        ? float_of_bits((uint32_t)draw_test_bits(&numbers))
			        : 0.5f * (float_of_f16(half) + float_of_f16((uint16_t)(half + 1)));
		}
		for (size_t t = 0; t < tier_count; t++) {
			tiers[t]->narrow(in, 32, out);
			for (size_t i = 0; i < 32; i++)
				if (in[i] == in[i]) assert_int_equal(out[i], f16_of_float(in[i]));
			assert_int_equal(out[32], 0);
		}
	}
}

static void test_dclip(void **state) {
	(void)state;
	for (size_t round = 0; round < 2000; round++) {
		const size_t n = round % 50 == 0 ? 1840 : draw_below(&numbers, 41);
		const unsigned fraction_bits = (unsigned)draw_below(&numbers, 17);
		const int32_t limit = 1 << 26, farthest = 1 << 28,
		              clips[4] = {0, 1, limit,
		                          (int32_t)draw_below(&numbers, (size_t)limit)},
		              clip = clips[draw_below(&numbers, 4)];
		float *row = new_array(n + 1, sizeof *row);
		row[n] = NAN; // in the engine the next row stands here
		int32_t *public_fixed = new_array(n, sizeof *public_fixed),
		        *before = new_array(n, sizeof *before);
		bool finite = true;
		for (size_t i = 0; i < n; i++) {
			const size_t kind = draw_below(&numbers, 8);
			row[i] = draw_plain(&numbers) * 40.0f;
			if (kind == 0)
				row[i] = ((float)draw_below(&numbers, 200) - 100.5f) /
				         (float)(1u << fraction_bits);
			if (kind == 1)
				row[i] = ldexpf(draw_plain(&numbers),
				                (int)draw_below(&numbers, 250) - 122);
			if (round % 4 == 0 && draw_below(&numbers, 20) == 0)
				row[i] = draw_hostile(&numbers);
			finite = finite && isfinite(row[i]);
			public_fixed[i] =
			    kind == 2
			        ? (draw_below(&numbers, 2) ? farthest : -farthest)
			        : (int32_t)(row[i] < 99 && row[i] > -99 ? row[i] * 60000.0f : 5);
			before[i] = (int32_t)draw_below(&numbers, 1 << 30);
		}
		for (size_t t = 0; t < tier_count; t++) {
			struct guarded guard;
			int32_t *sum =
			    guarded_new(&guard, n * sizeof *sum, 4 * draw_below(&numbers, 16));
			memcpy(sum, before, n * sizeof *sum);
			assert_int_equal(
			    tiers[t]->dclip(row, public_fixed, n, fraction_bits, clip, sum),
			    finite);
			for (size_t i = 0; i < n; i++) {
				const int64_t expected =
				    before[i] + (finite ? dclip_difference(row[i], public_fixed[i],
				                                           fraction_bits, clip)
				                        : 0);
				if (sum[i] != expected)
					fail_msg("dclip, %s: %d for %a, should be %lld",
					         tiers[t]->name, sum[i], (double)row[i],
					         (long long)expected);
			}
			guarded_end(&guard);
		}
		free(row);
		free(public_fixed);
		free(before);
	}
}

static void test_exp(void **state) {
	(void)state;
	enum { STEP = 1021 };
	for (uint32_t bits = 0; bits <= bits_of_float(88.0f); bits += STEP)
		for (int sign = 0; sign < 2; sign++) {
			const float x = sign ? -float_of_bits(bits) : float_of_bits(bits);
			if (x < -87.0f) continue;
			const double expected = exp((double)x);
			expect_near("exp", "scalar", expected, (double)exp_f32(x), 3e-7 * expected);
		}
	assert_true(exp_f32(-87.001f) == 0 && exp_f32(-INFINITY) == 0 && isnan(exp_f32(NAN)));
	assert_true(exp_f32(88.001f) == exp_f32(88.0f) && exp_f32(INFINITY) == exp_f32(88.0f) &&
	            exp_f32(0) == 1);
}

/* The vector exp of each tier, seen from outside: attention leaves exp(s - 0) in its scratch when
 * one key is zero and q <= 0 <= k; swiglu shows exp of positive numbers. */
static void test_exp_lanes(void **state) {
	(void)state;
	enum { TOKENS = 400, HEAD = 16 };
	static uint16_t k[TOKENS * HEAD], v[TOKENS * HEAD];
	static float scores[TOKENS + HEAD], gate[TOKENS], up[TOKENS], gated[TOKENS];
	const struct attention_segment segment = {.k = k, .v = v, .tokens = TOKENS};
	for (size_t round = 0; round < 500; round++) {
		float q[HEAD] = {-ldexpf(1.0f + fabsf(draw_plain(&numbers)),
		                         (int)draw_below(&numbers, 10) - 3)},
		      out[HEAD];
		const struct attention_row row = {q, out, &segment, 1, 0};
		for (size_t t = 0; t < TOKENS; t++) {
			k[t / 16 * 16 * HEAD + t % 16] =
			    t ? f16_of_float(fabsf(draw_plain(&numbers))) : 0;
			gate[t] = draw_plain(&numbers) * 100.0f;
			up[t] = 1.0f;
		}
		for (size_t tier = 0; tier < tier_count; tier++) {
			tiers[tier]->attention(&row, 1, 1, HEAD, NULL, 0, 1.0f, scores);
			tiers[tier]->swiglu(gate, up, TOKENS, gated);
			for (size_t t = 0; t < TOKENS; t++) {
				const float score =
				    q[0] * float_of_f16(k[t / 16 * 16 * HEAD + t % 16]);
				expect_same("exp of a score", tiers[tier]->name,
				            &(float){exp_f32(score)}, &scores[t], 1);
				expect_same("exp in swiglu", tiers[tier]->name,
				            &(float){gate[t] / (exp_f32(-gate[t]) + 1.0f)},
				            &gated[t], 1);
			}
		}
	}
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static uint16_t hardware_half(float value) {
	return (uint16_t)_mm_cvtsi128_si32(
	    _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT));
}

__attribute__((target("avx,f16c"))) static float hardware_float(uint16_t half) {
	return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

static void expect_half(float value) {
	const uint16_t ours = f16_of_float(value), theirs = hardware_half(value);
	if (ours != theirs)
		fail_msg("f16 of %a is %04x, should be %04x", (double)value, ours, theirs);
}
#endif

static void test_f16(void **state) {
	(void)state;
	for (uint32_t half = 0; half < 0x10000; half++) {
		const float value = float_of_f16((uint16_t)half);
		const uint32_t magnitude = half & 0x7fff, exponent = magnitude >> 10,
		               fraction = magnitude & 0x3ff;
		if (exponent == 31 && fraction) {
			assert_true(isnan(value) && (f16_of_float(value) & 0x7fff) > 0x7c00);
			continue;
		}
		double expected = exponent == 31 ? INFINITY
		                                 : ldexp(exponent ? 1024.0 + fraction : fraction,
		                                         (int)(exponent ? exponent : 1) - 25);
		expected = half & 0x8000 ? -expected : expected;
		assert_true((double)value == expected && !signbit(value) == !signbit(expected));
		assert_int_equal(f16_of_float(value), half);
	}
#if defined(__x86_64__)
	if (!(cpu_flags() & CPU_AVX2)) return;
	for (uint32_t half = 0; half < 0x10000; half++) {
		expect_same("float of f16", "scalar", &(float){hardware_float((uint16_t)half)},
		            &(float){float_of_f16((uint16_t)half)}, 1);
		// Around the tie between this half and the next, and on either side of the half
		// itself.
		const float value = float_of_f16((uint16_t)half),
		            next = float_of_f16((uint16_t)(half + 1));
		const float places[2] = {value, isfinite(next) ? (value + next) / 2 : 65520.0f};
		for (size_t i = 0; i < 2; i++)
			for (uint32_t j = 0; j < 5; j++)
				expect_half(float_of_bits(bits_of_float(places[i]) + j - 2));
	}
	for (size_t i = 0; i < 1000000; i++)
		expect_half(float_of_bits((uint32_t)draw_test_bits(&numbers)));
#endif
}

static void test_dispatch(void **state) {
	(void)state;
	assert_string_equal(tiers[0]->name, "scalar");
	for (size_t t = 0; t < tier_count; t++) {
		assert_true(kernels_set(tiers[t]->name));
		assert_ptr_equal(kernels_get(), tiers[t]);
	}
	assert_false(kernels_set("avx3"));
	assert_ptr_equal(kernels_get(), tiers[tier_count - 1]);
	assert_true(kernels_set("auto"));
	assert_ptr_equal(kernels_get(), tiers[tier_count - 1]);
}

int main(int argc, char **argv) {
	const char *seed = getenv("CUTTLE_TEST_SEED");
	numbers.state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	tier_count = kernels_available(tiers);
	printf("CUTTLE_TEST_SEED=%llu, tiers:", (unsigned long long)numbers.state);
	for (size_t t = 0; t < tier_count; t++) printf(" %s", tiers[t]->name);
	printf("\n");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		bench_all_tiers(tiers, tier_count);
		return 0;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dispatch),
	    cmocka_unit_test(test_f16),
	    cmocka_unit_test(test_exp),
	    cmocka_unit_test(test_exp_lanes),
	    cmocka_unit_test(test_pack_sizes),
	    cmocka_unit_test(test_rowquant),
	    cmocka_unit_test(test_gemm_definition),
	    cmocka_unit_test(test_gemm_blas),
	    cmocka_unit_test(test_gemm_same_bits),
	    cmocka_unit_test(test_attention),
	    cmocka_unit_test(test_rowwise),
	    cmocka_unit_test(test_narrow),
	    cmocka_unit_test(test_narrow_q8),
	    cmocka_unit_test(test_attention_q8),
	    cmocka_unit_test(test_dclip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
