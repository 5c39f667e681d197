// SPDX-License-Identifier: Apache-2.0
// The two ceilings a step runs against: bytes read from DRAM, and multiply-adds of bytes. Both are the best of many short windows, so that
// another process on the machine lowers them less than it lowers a run.
#include "engine/model.h"
#include "engine/status.h"

#include "base/misuse.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
	BUFFER = 512 << 20, /* far beyond any cache near the cores */
	WINDOW = 64 << 20,  /* a few milliseconds; read again only after all the others */
	CHUNK = 1 << 20,
	PASSES = 12,
	PEAK_TASKS = 8, /* per thread */
	PEAK_WINDOWS = 40
};
static const double PEAK_SECONDS = 0.003; /* of a window */

static double seconds(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (double)clock.tv_sec + (double)clock.tv_nsec * 1e-9;
}

static void fill_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	memset((unsigned char *)context + index * CHUNK, 1, CHUNK);
}

/* The C library's search reads as fast as its widest loads can. */
static void read_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	REQUIRE(!memchr((const unsigned char *)context + index * CHUNK, 0, CHUNK));
}

static enum cuttle_status measure_reading(struct threads *threads, double *bytes, struct cuttle_error *error) {
	struct region region;
	*bytes = 0.0;
	if (!region_map(&region, BUFFER, false)) return status_fail(error, CUTTLE_NOMEM, "out of memory for the DRAM ceiling");
	threads_run(threads, BUFFER / CHUNK, fill_task, region.base);
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t at = 0; at < BUFFER; at += WINDOW) {
			const double start = seconds();
			threads_run(threads, WINDOW / CHUNK, read_task, region.base + at);
			const double speed = WINDOW / (seconds() - start);
			if (speed > *bytes) *bytes = speed;
		}
	region_unmap(&region, false);
	return CUTTLE_OK;
}

struct peak {
	uint64_t rounds;
	atomic_uint_fast64_t done;
};

static void peak_task(void *context, size_t index, unsigned worker) {
	(void)index;
	(void)worker;
	struct peak *peak = context;
	atomic_fetch_add_explicit(&peak->done, kernels_get()->int8_peak(peak->rounds), memory_order_relaxed);
}

static double measure_multiplying(struct threads *threads) {
	struct peak peak = {.rounds = 16};
	const size_t tasks = (size_t)threads_count(threads) * PEAK_TASKS;
	double best = 0.0;
	for (int window = 0; window < PEAK_WINDOWS;) {
		atomic_store(&peak.done, 0);
		const double start = seconds();
		threads_run(threads, tasks, peak_task, &peak);
		const double spent = seconds() - start, speed = (double)atomic_load(&peak.done) / spent;
		if (spent < PEAK_SECONDS) peak.rounds *= 2; // not yet long enough to count
		else {
			window++;
			if (speed > best) best = speed;
		}
	}
	return best;
}

enum cuttle_status cuttle_bench_ceilings(struct cuttle_model *model, double *bytes, double *multiply_adds, struct cuttle_error *error) {
	REQUIRE(model && bytes && multiply_adds);
	*multiply_adds = measure_multiplying(model->model.threads);
	return measure_reading(model->model.threads, bytes, error);
}
