// SPDX-License-Identifier: Apache-2.0
// kernel_bench.h: measures the time of every op and tier at the shapes of SmolLM2-135M, on one
// thread. test_kernels includes it and runs it for `test_kernels --bench`.
#ifndef CUTTLE_TESTS_KERNEL_BENCH_H
#define CUTTLE_TESTS_KERNEL_BENCH_H

#include "tests/kernels/kernel_cases.h"

#include <time.h>

/* Processor time of this thread in seconds. It stands still while another process has the core. */
static inline double bench_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Declares `best`: the shortest time of one `call`, in seconds. There are at least 3 tries, and
 * tries for at least 0.15 s. */
#define BENCH(best, call)                                                                          \
	double best = INFINITY;                                                                    \
	const double best##_start = bench_now();                                                   \
	for (size_t try = 0; try < 3 || bench_now() - best##_start < 0.15; try++) {                \
		const double start = bench_now();                                                  \
		call;                                                                              \
		best = fmin(best, bench_now() - start);                                            \
	}

static inline void bench_gemm(const struct kernels *tier, enum packed_type type, size_t k,
                              size_t row_count, double *scalar_cost) {
	static const char *const names[PACKED_TYPES] = {"f32",  "f16",  "bf16", "q8_0",   "q4_0",
	                                                "q4_1", "q5_0", "q5_1", "iq4_nl", "iq4_xs",
	                                                "q4_k", "q5_k", "q6_k", "q3_k",   "q2_k"};
	struct numbers numbers = {1};
	// For the vector tiers the matrix is larger than every cache: 64 Mi weights. The scalar
	// tier gets 64 channels. Arithmetic limits it, not memory, and a large matrix would take
	// minutes.
	const bool slow = !strcmp(tier->name, "scalar");
	struct problem problem = problem_new(
	    &numbers, type, slow ? 64 : ((size_t)64 << 20) / k / 16 * 16, k, row_count, PLAIN);
	float *out = new_array(row_count * problem.channels, sizeof *out);
	gemm_fn *gemm = kernels_gemm(tier, type);
	BENCH(seconds, gemm(out, problem.channels, false, &problem.given, &problem.matrix, NULL, 0,
	                    problem.groups))
	const double cost = seconds * 1e3 / ((double)problem.channels * (double)k) * 1e9;
	if (slow) *scalar_cost = cost;
	printf("gemm %-6s k %4zu rows %2zu  %-7s %9.1f ms per 1e9 weights  %7.1f x\n", names[type],
	       k, row_count, tier->name, cost, *scalar_cost / cost);
	free(out);
	problem_free(&problem);
}

static inline void bench_report(const char *what, const char *tier, double seconds,
                                double *scalar_seconds) {
	if (!strcmp(tier, "scalar")) *scalar_seconds = seconds;
	printf("%-32s %-7s %9.2f us  %7.1f x\n", what, tier, seconds * 1e6,
	       *scalar_seconds / seconds);
}

static inline void bench_all_tiers(const struct kernels *const *tiers, size_t tier_count) {
	static const size_t ks[2][2] = {{576, 1536}, {512, 1536}}, row_counts[] = {1, 8, 64};
	struct numbers numbers = {1};
	double base = 0;
	for (enum packed_type type = PACKED_F32; type < PACKED_TYPES; type++)
		for (size_t k = 0; k < 2; k++)
			for (size_t rows = 0; rows < 3; rows++)
				for (size_t t = 0; t < tier_count; t++)
					bench_gemm(tiers[t], type, ks[packed_has_levels(type)][k],
					           row_counts[rows], &base);

	enum { HEADS = 3, HEAD = 64, TOKENS = 400, WIDE = 1536, HEAD_SET = 1840 };
	struct contexts contexts = contexts_new(&numbers, HEADS, HEAD, TOKENS, PLAIN);
	// A row of 400 tokens; 8 rows of 112 tokens behind 288 shared ones.
	const struct attention_segment segment = {contexts.k, contexts.v, TOKENS, NULL, NULL},
	                               shared = {contexts.k, contexts.v, 288, NULL, NULL},
	                               own = {contexts.k + 288 * HEAD, contexts.v + 288 * HEAD, 112,
	                                      NULL, NULL},
	                               q8 = {contexts.k8, contexts.v8, TOKENS, contexts.k_scale,
	                                     contexts.v_scale};
	static float scores[ATTENTION_MOST_ROWS * HEADS * (TOKENS + HEAD)];
	float out[WIDE], x[HEAD_SET], y[WIDE], scale[WIDE / 32], scaled_sum[WIDE / 32];
	int32_t half_sum[WIDE / 16];
	int32_t sum[HEAD_SET] = {0}, fixed[HEAD_SET] = {0};
	int8_t q[WIDE];
	for (size_t i = 0; i < HEAD_SET; i++) x[i] = draw_plain(&numbers);
	for (size_t i = 0; i < WIDE; i++) y[i] = draw_plain(&numbers);
		// A hundred calls are timed together: one alone is too short for the clock.
#define BENCH_OP(what, call)                                                                       \
	for (size_t t = 0; t < tier_count; t++) {                                                  \
		BENCH(seconds, for (size_t again = 0; again < 100; again++) call)                  \
		bench_report(what, tiers[t]->name, seconds / 100, &base);                          \
	}
	const struct attention_row row = {contexts.q, out, &segment, 1, 0},
	                           row_q8 = {contexts.q, out, &q8, 1, 0};
	struct attention_row rows[ATTENTION_MOST_ROWS];
	for (size_t r = 0; r < ATTENTION_MOST_ROWS; r++)
		rows[r] = (struct attention_row){contexts.q, out + r * HEADS * HEAD, &own, 1, 0};
	BENCH_OP("attention 3 x 64, 400 tokens",
	         tiers[t]->attention(&row, 1, HEADS, HEAD, NULL, 0, 0.125f, scores))
	BENCH_OP("attention_q8 3 x 64, 400 tokens",
	         tiers[t]->attention_q8(&row_q8, 1, HEADS, HEAD, NULL, 0, 0.125f, scores))
	BENCH_OP("attention 1 x 64, 400 tokens",
	         tiers[t]->attention(&row, 1, 1, HEAD, NULL, 0, 0.125f, scores))
	BENCH_OP(
	    "attention 8 x 3 x 64, 288 + 112",
	    tiers[t]->attention(rows, ATTENTION_MOST_ROWS, HEADS, HEAD, &shared, 1, 0.125f, scores))
	BENCH_OP("rowquant 1536", tiers[t]->rowquant(x, WIDE, q, scale, scaled_sum, sum, half_sum))
	BENCH_OP("rmsnorm 576", tiers[t]->rmsnorm(x, y, 576, 1e-5f, out))
	BENCH_OP("rope 9 x 64", tiers[t]->rope(out, 9, HEAD, y, HEAD))
	BENCH_OP("swiglu 1536", tiers[t]->swiglu(x, y, WIDE, out))
	BENCH_OP("geglu 1536", tiers[t]->geglu(x, y, WIDE, out))
	BENCH_OP("dclip 1840", tiers[t]->dclip(x, fixed, HEAD_SET, 16, 1000, sum))
#undef BENCH_OP
	contexts_free(&contexts);
}

#endif
