// SPDX-License-Identifier: Apache-2.0
// What cuttle bench found, as a Markdown table, CSV or JSON.
#ifndef CUTTLE_TOOLS_BENCH_TABLE_H
#define CUTTLE_TOOLS_BENCH_TABLE_H

#include "tools/verbs.h"

/* One setting, over all its repetitions. Numbers a column shows are doubles. */
struct measurement {
	double batch, parallel, prompt, steps, threads, repetitions;
	double prompt_tokens_per_s, prompt_least, prompt_most;
	double step_ms, step_least, step_most, step_p10, step_p90;
	double rows_per_s, tokens_per_s;
	double parts[CUTTLE_PARTS];
	double weight_bytes, multiply_adds, dram_share, int8_share, rss_bytes;
};

/* The machine with one number of threads. */
struct ceilings {
	double threads, bytes_per_s, multiply_adds_per_s, load_s, loaded_rss_bytes;
};

struct bench_table {
	char cpu[96];
	long cores; /* this process may use */
	const char *isa;
	struct cuttle_model_info model;
	struct ceilings *ceilings;
	struct measurement *runs;
	size_t ceilings_count, run_count;
};

enum bench_format { BENCH_MD, BENCH_JSON, BENCH_CSV };

/* Names the processor and counts its cores. */
void bench_table_machine(struct bench_table *table);
/* Prints on standard output, or on failure one line on standard error; returns the exit code. */
int bench_table_print(const struct verb *verb, const struct bench_table *table, enum bench_format format);

#endif
