// SPDX-License-Identifier: Apache-2.0
// ceilings.c: cuttle_bench_ceilings, the two limits that no step can beat on this machine. They are
// bytes read from DRAM per second, and multiply-adds of bytes per second.
// Both are the best of many short windows. Another process on the machine disturbs some windows, so
// it lowers the best one less than it lowers a run.
#include "engine/cuttle/bench.h"
#include "engine/model/model.h"
#include "engine/status.h"

#include "base/misuse.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
	BUFFER = 512 << 20, /* bytes read in a pass: far beyond any cache near the cores */
	WINDOW = 64 << 20,  /* bytes timed at once: a few milliseconds */
	CHUNK = 1 << 20,    /* bytes of one task */
	PASSES = 12,        /* passes over the buffer */
	PEAK_TASKS = 8,     /* multiplying tasks per thread */
	PEAK_WINDOWS = 40   /* multiplying windows that count */
};
static const double PEAK_SECONDS = 0.003; /* a shorter multiplying window does not count */

static double read_seconds(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (double)clock.tv_sec + (double)clock.tv_nsec * 1e-9;
}

static void fill_chunk_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	memset((unsigned char *)context + index * CHUNK, 1, CHUNK);
}

/* Reads by searching for a byte that is not there: the C library's search reads as fast as its
 * widest loads can. */
static void read_chunk_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	REQUIRE(!memchr((const unsigned char *)context + index * CHUNK, 0, CHUNK));
}

/* Bytes read per second. A window is read again only after all the others, so that no cache holds
 * it. */
static enum cuttle_status measure_reading(struct threads *threads, double *bytes,
                                          struct cuttle_error *error) {
	struct region region;
	*bytes = 0.0;
	if (!region_map(&region, BUFFER, false))
		return status_fail(error, CUTTLE_NOMEM, "out of memory for the DRAM ceiling");
	threads_run(threads, BUFFER / CHUNK, fill_chunk_task, region.base);
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t at = 0; at < BUFFER; at += WINDOW) {
			const double start = read_seconds();
			threads_run(threads, WINDOW / CHUNK, read_chunk_task, region.base + at);
			const double speed = WINDOW / (read_seconds() - start);
			if (speed > *bytes) *bytes = speed;
		}
	region_unmap(&region, false);
	return CUTTLE_OK;
}

struct peak {
	uint64_t rounds;           /* of int8_peak, per task */
	atomic_uint_fast64_t done; /* multiply-adds in this window */
};

static void multiply_peak_task(void *context, size_t index, unsigned worker) {
	(void)index;
	(void)worker;
	struct peak *peak = context;
	atomic_fetch_add_explicit(&peak->done, kernels_get()->int8_peak(peak->rounds),
	                          memory_order_relaxed);
}

/* Multiply-adds per second. Rounds are doubled until a window is long enough. */
static double measure_multiplying(struct threads *threads) {
	struct peak peak = {.rounds = 16};
	const size_t tasks = (size_t)threads_count(threads) * PEAK_TASKS;
	double best = 0.0;
	for (int window = 0; window < PEAK_WINDOWS;) {
		atomic_store(&peak.done, 0);
		const double start = read_seconds();
		threads_run(threads, tasks, multiply_peak_task, &peak);
		const double spent = read_seconds() - start,
		             speed = (double)atomic_load(&peak.done) / spent;
		if (spent < PEAK_SECONDS) peak.rounds *= 2;
		else {
			window++;
			if (speed > best) best = speed;
		}
	}
	return best;
}

enum cuttle_status cuttle_bench_ceilings(struct cuttle_model *model, double *bytes,
                                         double *multiply_adds, struct cuttle_error *error) {
	REQUIRE(model && bytes && multiply_adds);
	const enum cuttle_status status = model_needs_weights(&model->model, error);
	if (status) return status;
	*multiply_adds = measure_multiplying(model->model.threads);
	return measure_reading(model->model.threads, bytes, error);
}
