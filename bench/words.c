// SPDX-License-Identifier: Apache-2.0
// Measures lists of words, for bench/INFERDPT.md: how near related words are, how long a list takes
// to make, and how many words' cosines a second, against what the machine could do.
// Usage: words MODEL pairs.txt
// The bounds are measured beside each figure: one pass over the matrix in memory, and the
// multiply-adds of a product whose matrix stays in the cache. Others may use the machine, so the
// rounds alternate, and the best of each counts. All inputs are public.
#include "engine/cuttle.h"
#include "engine/words/multiply.h"
#include "engine/words/words.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 200, PLACES = 64, ROUNDS = 15, CACHED = 256 };

static double read_words_clock(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail_bench(const char *what) {
	fprintf(stderr, "words: %s\n", what);
	return 1;
}

static int compare_ranks(const void *a, const void *b) {
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return (x > y) - (x < y);
}

/* Ranks of the second word of each pair among the neighbours of the first, and the other way round.
 */
static int print_hits(const struct cuttle_words *words, const char *path) {
	FILE *file = fopen(path, "r");
	char one[64], other[64];
	static size_t ranks[2 * PAIRS];
	size_t count = 0, missing = 0, hit[3] = {0};
	const size_t V = cuttle_words_count(words);
	float *vector = malloc(cuttle_words_width(words) * sizeof *vector),
	      *cosines = malloc(V * sizeof *cosines);
	if (!file || !vector || !cosines) return fail_bench("cannot read the pairs");
	while (count + 2 <= 2 * PAIRS && fscanf(file, "%63s %63s", one, other) == 2) {
		const int32_t ids[2] = {cuttle_words_find(words, one, strlen(one)),
		                        cuttle_words_find(words, other, strlen(other))};
		if (ids[0] < 0 || ids[1] < 0) {
			missing++;
			continue;
		}
		for (int side = 0; side < 2; side++) {
			const size_t from = (size_t)ids[side], to = (size_t)ids[1 - side];
			size_t rank = 1;
			cuttle_words_row(words, from, vector);
			cuttle_words_cosines(words, vector, 1, cosines);
			for (size_t i = 0; i < V; i++)
				rank += i != from && cosines[i] > cosines[to];
			ranks[count++] = rank;
			hit[0] += rank <= 10, hit[1] += rank <= 50, hit[2] += rank <= 200;
		}
	}
	fclose(file);
	free(vector);
	free(cosines);
	if (!count) return fail_bench("no pair is in the list");
	qsort(ranks, count, sizeof *ranks, compare_ranks);
	printf("V %zu: %zu pairs, %zu not in the list; hit@10 %.3f, @50 %.3f, @200 %.3f, median "
	       "rank %zu\n",
	       V, count / 2, missing, (double)hit[0] / (double)count,
	       (double)hit[1] / (double)count, (double)hit[2] / (double)count, ranks[count / 2]);
	return 0;
}

/* A product of PLACES rows with a matrix of numbers that do not matter. */
struct product_bench {
	struct packed_matrix w;
	struct region region;
	float *rows; /* [PLACES][k] */
	float *out;  /* [PLACES][channels] */
};

static bool make_product(struct product_bench *p, size_t channels, size_t k) {
	size_t bytes, none, total = 0;
	if (!pack_sizes(PACKED_F32, channels, k, &bytes, &none, &none) ||
	    !region_add(&total, 1, bytes) || !region_add(&total, PLACES * k, sizeof(float)) ||
	    !region_add(&total, PLACES * channels, sizeof(float)) ||
	    !region_map(&p->region, total, false))
		return false;
	float *weights = region_carve(&p->region, bytes);
	p->rows = region_carve(&p->region, PLACES * k * sizeof(float));
	p->out = region_carve(&p->region, PLACES * channels * sizeof(float));
	for (size_t i = 0; i < bytes / sizeof(float); i++) weights[i] = (float)(i % 17) * 0.01f;
	for (size_t i = 0; i < PLACES * k; i++) p->rows[i] = (float)(i % 13) * 0.01f;
	p->w = (struct packed_matrix){
	    .type = PACKED_F32, .channels = channels, .k = k, .weights = weights};
	return true;
}

/* Seconds to read the matrix once, on one core: 16 sums side by side, so only memory limits. */
static double time_pass(const struct product_bench *p) {
	const float *w = p->w.weights;
	float sums[64] = {0};
	const size_t count = p->w.channels / GEMM_GROUP * GEMM_GROUP * p->w.k / 64 * 64;
	const double start = read_words_clock();
	for (size_t i = 0; i < count; i += 64)
		for (size_t j = 0; j < 64; j++) sums[j] += w[i + j];
	const double seconds = read_words_clock() - start;
	volatile float sink = 0;
	for (size_t j = 0; j < 64; j++) sink += sums[j];
	return seconds;
}

static double time_product(struct threads *threads, const struct product_bench *p, size_t places) {
	const double start = read_words_clock();
	multiply_rows(threads, &p->w, p->rows, places, p->out);
	return read_words_clock() - start;
}

static void keep_least(double *least, double seconds) {
	if (seconds < *least) *least = seconds;
}

/* One worker: cosines of 1 place and of PLACES, a pass over the matrix, and the same multiply-adds
 * in the cache. */
static int print_speed(struct threads *threads, size_t V, size_t d) {
	struct product_bench whole = {0}, cached = {0};
	if (!make_product(&whole, V, d) || !make_product(&cached, CACHED, d))
		return fail_bench("out of memory");
	double one = 1e9, many = 1e9, pass = 1e9, flops = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		keep_least(&pass, time_pass(&whole));
		keep_least(&one, time_product(threads, &whole, 1));
		keep_least(&flops, time_product(threads, &cached, PLACES));
		keep_least(&many, time_product(threads, &whole, PLACES));
	}
	flops *= (double)V / CACHED;
	printf(
	    "V %zu, d %zu, one core: 1 place %.3f ms (pass over the matrix %.3f ms, share of the "
	    "bound %.2f); %d places %.3f ms, %.0f words/s (multiply-adds in the cache %.3f ms, "
	    "share %.2f)\n",
	    V, d, one * 1e3, pass * 1e3, pass / one, PLACES, many * 1e3, PLACES / many, flops * 1e3,
	    (flops > pass ? flops : pass) / many);
	region_unmap(&whole.region, false);
	region_unmap(&cached.region, false);
	return 0;
}

int main(int argc, char **argv) {
	if (argc != 3) return fail_bench("usage: words MODEL pairs.txt");
	struct cuttle_error error = {""};
	struct cuttle_model *model;
	if (cuttle_model_open(argv[1], NULL, &model, &error)) return fail_bench(error.message);
	struct cuttle_words_of_model_params params;
	cuttle_words_of_model_params_default(&params);
	static const size_t counts[] = {3000, 11000, CUTTLE_WORDS_MOST};
	for (size_t i = 0; i < 3; i++)
		for (int keep = 0; keep < 2; keep++) {
			struct cuttle_words *words;
			params.count = counts[i];
			params.keep_fragments = keep;
			const double start = read_words_clock();
			if (cuttle_words_of_model(model, &params, &words, &error))
				return fail_bench(error.message);
			const double seconds = read_words_clock() - start;
			printf("fragments %s, %.2f s; ", keep ? "kept" : "dropped", seconds);
			if (print_hits(words, argv[2])) return 1;
			cuttle_words_free(&words);
		}
	cuttle_model_free(&model);
	struct threads *threads;
	if (threads_new(1, &threads, &error)) return fail_bench(error.message);
	for (size_t i = 0; i < 3; i++)
		if (print_speed(threads, (size_t[]){3000, 11000, 50000}[i], 576)) return 1;
	threads_free(&threads);
	return 0;
}
