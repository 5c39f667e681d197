// SPDX-License-Identifier: Apache-2.0
// Prints what cuttle bench measured, as a Markdown table, CSV or JSON.
//
// tools/bench.c fills a struct bench_table and calls bench_table_print once, at its end. No private
// data passes through: bench uses random tokens. A number that was not measured is NaN. Every
// number that a column shows is a double, since a column knows only its offset.
#ifndef CUTTLE_TOOLS_REPORT_BENCH_TABLE_H
#define CUTTLE_TOOLS_REPORT_BENCH_TABLE_H

#include "tools/common/verbs.h"

/* One combination of settings, over all its repetitions. Least and most are over the repetitions;
 * the other results are those of one repetition, the middle one. */
struct measurement {
	double batch;               /* references per text (B) */
	double groups;              /* groups of a document with marks, instead of B; or 0 */
	double parallel;            /* texts in flight */
	double prompt;              /* tokens in each context before the first step */
	double shared;              /* of these, how many begin every context */
	double steps;               /* private tokens per text */
	double threads;             /* worker threads */
	double repetitions;         /* measurements of this combination */
	double prompt_tokens_per_s; /* of all contexts, the middle repetition by this number */
	double prompt_least;        /* the same, least */
	double prompt_most;         /* the same, most */
	double step_ms;             /* median of the steps, the middle repetition by this number */
	double step_least;          /* the same, least */
	double step_most;           /* the same, most */
	double step_p10;            /* milliseconds: 10th percentile of the steps */
	double step_p90;            /* milliseconds: 90th percentile of the steps */
	double rows_per_s;          /* rows (one token of one context) per second */
	double tokens_per_s;        /* private tokens per second, all texts in flight together */
	double parts[CUTTLE_PARTS]; /* milliseconds per step that each part takes */
	double weight_bytes;        /* bytes of weights read per step */
	double multiply_adds;       /* multiply-adds of bytes per step */
	double dram_share;          /* bytes per second of gemm and head over the DRAM ceiling */
	double int8_share;          /* multiply-adds per second of both over the int8 ceiling */
	double rss_bytes;           /* memory of the process at the end */
	const struct ceilings *ceilings; /* measured with the same opened model */
};

/* What the machine can do with one number of threads. A ceiling that was not measured is NaN, and
 * so are the shares of it. */
struct ceilings {
	double threads;             /* worker threads */
	double bytes_per_s;         /* ceiling: bytes read from DRAM per second */
	double multiply_adds_per_s; /* ceiling: multiply-adds of bytes in registers per second */
	double load_s;              /* seconds that opening the model took */
	double loaded_rss_bytes;    /* memory of the process after that */
};

struct bench_table {
	char cpu[96];        /* name of the processor */
	long cores;          /* that this process may use, 0 = unknown */
	double others_share; /* of the processors' time, that others took; NaN = unknown */
	const char *isa;     /* kernels in use */
	struct cuttle_model_info model;
	struct ceilings *ceilings; /* [ceilings_count], one for each number of threads */
	struct measurement *runs;  /* [run_count], one for each combination of settings */
	size_t ceilings_count;
	size_t run_count;
};

enum bench_format { BENCH_MD, BENCH_JSON, BENCH_CSV };

/* Sets cpu and cores. */
void bench_table_machine(struct bench_table *table);
/* Prints on standard output, or on failure one line on standard error; returns the exit code. */
int bench_table_print(const struct verb *verb, const struct bench_table *table,
                      enum bench_format format);

#endif
