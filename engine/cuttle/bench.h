// SPDX-License-Identifier: Apache-2.0
// bench.h: measures how fast a model runs here, and what the machine could do at most.
// No private data: the contexts are random tokens.
// Example: batch 7, prompt 400 and steps 32 measure texts of 7 references; groups 5 instead of the
// batch, documents whose marks have 5 groups.
#ifndef CUTTLE_BENCH_H
#define CUTTLE_BENCH_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

struct cuttle_bench_params {
	size_t struct_size; /* sizeof this struct: there is no default function */
	uint32_t batch;     /* B; 0 = each text's public context alone */
	uint32_t parallel;  /* texts in flight; 0 = as cuttle_plan_make chooses */
	uint32_t prompt;    /* random tokens of each context; at least 4 */

	/* Tokens per text, at least 1. They are drawn, not simulated, with k = 100, epsilon = 10
	 * and delta = 1e-6. An end token does not end a text. */
	uint32_t steps;

	/* Above 0: documents with marks of so many groups are rewritten, with k = 200 and a
	 * divergence of 0.01. There is a private context for each group. The batch is then 0. */
	uint32_t groups;

	/* Of the prompt's tokens, how many begin every context, as a run's instructions do. It is
	 * less than the prompt. What is behind a multiple of 16 is computed by each context. */
	uint32_t shared;
};

/* The parts that a step's time is divided into. */
enum cuttle_bench_part {
	CUTTLE_GEMM,      /* products with the layers' matrices */
	CUTTLE_ATTENTION, /* scores and sums over the contexts */
	CUTTLE_ROWS,      /* norms, rotations and the like, row by row */
	CUTTLE_HEAD,      /* products with the output head */
	CUTTLE_DCLIP,     /* what the mechanism does with private rows */
	CUTTLE_DRAW,      /* candidates, weights and the draw */
	CUTTLE_OTHER,     /* the rest of the step */
	CUTTLE_PARTS      /* number of parts */
};

struct cuttle_bench_result {
	uint32_t parallel;             /* texts in flight, really used */
	uint32_t threads;              /* worker threads, really used */
	double prompt_tokens_per_s;    /* prompt tokens that are computed, per second */
	double step_ms;                /* median over the steps */
	double step_p10_ms;            /* 10th percentile over the steps */
	double step_p90_ms;            /* 90th percentile over the steps */
	double rows_per_s;             /* parallel * (B or groups, + 1) per median step */
	double tokens_per_s;           /* parallel per median step */
	double parts_ms[CUTTLE_PARTS]; /* per step, means over the middle half of the steps */
	double weight_bytes;           /* bytes of weights read per step, each weight once */
	double multiply_adds;          /* multiply-adds of bytes by bytes, per step */
	uint64_t rss_bytes;            /* bytes of the process in memory, at the end */
};

/* Measures one setting, once. Other calls with the same model make it slower.
 * USAGE: a parameter is out of range, the model has no weights, or the system refuses to lock
 * memory.
 * NOMEM: as cuttle_plan_make.
 * INTERNAL: as cuttle_plan_make and cuttle_job_run.
 * MODEL: the public logits are not finite. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench(struct cuttle_model *model,
                                                          const struct cuttle_bench_params *params,
                                                          struct cuttle_bench_result *result,
                                                          struct cuttle_error *error);

/* Measures what this machine can do with the model's threads. *bytes becomes the bytes read from
 * DRAM per second. *multiply_adds becomes the multiply-adds of bytes per second, in registers, by
 * the kernels in use.
 * USAGE: the model has no weights. NOMEM: there are no 512 MiB to read. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_bench_ceilings(struct cuttle_model *model,
                                                                   double *bytes,
                                                                   double *multiply_adds,
                                                                   struct cuttle_error *error);

/* Bytes of this process in memory. 0 = the system does not say. */
CUTTLE_API uint64_t cuttle_bench_rss(void);

#ifdef __cplusplus
}
#endif

#endif
