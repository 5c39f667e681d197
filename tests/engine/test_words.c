// SPDX-License-Identifier: Apache-2.0
// Tests lists of words: look-up, cosines, half-whitening against Jacobi's method, sets, vectors of
// unknown words, and what is refused. It fails if a cosine has other bits in another tier, for
// another number of places or threads; if whitened vectors differ from those of an independent
// method; if a set is no set of nearest words; or if an unknown word of one token has another
// vector than that token. The real model is skipped when it is not there.
#include "engine/cuttle.h"
#include "base/eigen.h"
#include "kernels/kernels.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 100, WIDTH = 37, PLACES = 70 };

static char texts[COUNT][8];
static const char *list[COUNT];
static float raw[COUNT * WIDTH];

static void ok(enum cuttle_status status, const struct cuttle_error *error) {
	if (status != CUTTLE_OK) fail_msg("status %d: %s", (int)status, error->message);
}

static float next_float(uint64_t *state) {
	return (float)((double)(tiny_random(state) >> 11) / 0x1p52 - 1.0);
}

/* Words aa, ba, ca ... and vectors whose coordinates lie on very different scales. */
static int make_sample(void **state) {
	(void)state;
	uint64_t random = 7;
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], "%c%c", (char)('a' + i % 26),
		         (char)('a' + i / 26));
		list[i] = texts[i];
		for (size_t j = 0; j < WIDTH; j++)
			raw[i * WIDTH + j] = next_float(&random) * (float)(1 + j * j) +
			                     (j ? 0.3f * raw[i * WIDTH + j - 1] : 5.0f);
	}
	return 0;
}

static struct cuttle_words_params sample_params(void) {
	struct cuttle_words_params p;
	cuttle_words_params_default(&p);
	p.count = COUNT;
	p.width = WIDTH;
	p.words = list;
	p.vectors = raw;
	p.raw = true;
	p.threads = 1;
	return p;
}

static struct cuttle_words *make_words(const struct cuttle_words_params *p) {
	struct cuttle_words *words;
	struct cuttle_error error = {""};
	ok(cuttle_words_make(p, &words, &error), &error);
	return words;
}

static void test_words_are_letters(void **state) {
	(void)state;
	static const char *const good[] = {"a", "don't", "caf\xc3\xa9", "\xd0\xb4\xd0\xbe\xd0\xbc",
	                                   "o'clock"};
	static const char *const bad[] = {
	    "",   "A", "a b", "'a",  "a'",  "a''b",         "a1", "a\xff",
	    "a.", "-", "\n",  "a\t", "a_b", "\xe2\x80\x99", "aB", "\xc3"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(cuttle_words_is_word(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(cuttle_words_is_word(bad[i], strlen(bad[i])));
	assert_false(cuttle_words_is_word("a\0b", 3));
	char longest[CUTTLE_WORDS_BYTES + 1];
	memset(longest, 'x', sizeof longest);
	assert_true(cuttle_words_is_word(longest, CUTTLE_WORDS_BYTES));
	assert_false(cuttle_words_is_word(longest, CUTTLE_WORDS_BYTES + 1));
}

static void test_find(void **state) {
	(void)state;
	const struct cuttle_words_params p = sample_params();
	struct cuttle_words *words = make_words(&p);
	assert_int_equal(cuttle_words_count(words), COUNT);
	assert_int_equal(cuttle_words_width(words), WIDTH);
	float vector[WIDTH], row[WIDTH];
	for (size_t i = 0; i < COUNT; i++) {
		assert_string_equal(cuttle_words_text(words, i), list[i]);
		assert_int_equal(cuttle_words_find(words, list[i], 2), (int)i);
		assert_int_equal(cuttle_words_find(words, list[i], 1), -1);
		cuttle_words_row(words, i, row);
		assert_true(cuttle_words_vector(words, NULL, list[i], 2, vector));
		assert_memory_equal(vector, row, sizeof row);
	}
	static const char *const unknown[] = {"", "aaa", "zzz", "AA"};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		assert_int_equal(cuttle_words_find(words, unknown[i], strlen(unknown[i])), -1);
		assert_false(
		    cuttle_words_vector(words, NULL, unknown[i], strlen(unknown[i]), vector));
		for (size_t j = 0; j < WIDTH; j++) assert_true(vector[j] == 0.0f);
	}
	assert_int_equal(cuttle_words_find(words, "aa\0", 3), -1);
	assert_false(cuttle_words_pieces(words, vector, raw));
	cuttle_words_free(&words);
	assert_null(words);
}

/* Jacobi's method, written for clearness: turns away each element beside the diagonal in turn. */
static void jacobi(size_t n, double *a, double *v) {
	for (size_t i = 0; i < n * n; i++) v[i] = i % (n + 1) ? 0.0 : 1.0;
	for (int sweep = 0; sweep < 30; sweep++)
		for (size_t p = 0; p < n; p++)
			for (size_t q = p + 1; q < n; q++) {
				const double angle =
				    0.5 * atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
				const double c = cos(angle), s = sin(angle);
				for (size_t k = 0; k < n; k++) {
					const double x = a[k * n + p], y = a[k * n + q];
					a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
				}
				for (size_t k = 0; k < n; k++) {
					const double x = a[p * n + k], y = a[q * n + k];
					a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
					const double vx = v[p * n + k], vy = v[q * n + k];
					v[p * n + k] = c * vx - s * vy;
					v[q * n + k] = s * vx + c * vy;
				}
			}
}

/* cosines[i][j] of half-whitened vectors: x' C^(-1/2) y, with C^(-1/2) from Jacobi's method. */
static void reference_cosines(double *cosines) {
	static double mean[WIDTH], c[WIDTH * WIDTH], v[WIDTH * WIDTH], x[COUNT * WIDTH],
	    turned[COUNT * WIDTH];
	memset(mean, 0, sizeof mean);
	memset(c, 0, sizeof c);
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < WIDTH; j++) mean[j] += (double)raw[i * WIDTH + j] / COUNT;
	for (size_t i = 0; i < COUNT * WIDTH; i++) x[i] = (double)raw[i] - mean[i % WIDTH];
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < WIDTH; j++)
			for (size_t k = 0; k < WIDTH; k++)
				c[j * WIDTH + k] += x[i * WIDTH + j] * x[i * WIDTH + k] / COUNT;
	jacobi(WIDTH, c, v);
	for (size_t i = 0; i < COUNT; i++) {
		double square = 0;
		for (size_t j = 0; j < WIDTH; j++) {
			double sum = 0;
			for (size_t k = 0; k < WIDTH; k++)
				sum += v[j * WIDTH + k] * x[i * WIDTH + k];
			turned[i * WIDTH + j] = sum / pow(c[j * WIDTH + j], 0.25);
			square += turned[i * WIDTH + j] * turned[i * WIDTH + j];
		}
		for (size_t j = 0; j < WIDTH; j++) turned[i * WIDTH + j] /= sqrt(square);
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < COUNT; j++) {
			cosines[i * COUNT + j] = 0;
			for (size_t k = 0; k < WIDTH; k++)
				cosines[i * COUNT + j] +=
				    turned[i * WIDTH + k] * turned[j * WIDTH + k];
		}
}

static void test_half_whitened(void **state) {
	(void)state;
	static double wanted[COUNT * COUNT];
	static float rows[COUNT * WIDTH], cosines[COUNT * COUNT];
	const struct cuttle_words_params p = sample_params();
	struct cuttle_words *words = make_words(&p);
	for (size_t i = 0; i < COUNT; i++) cuttle_words_row(words, i, rows + i * WIDTH);
	cuttle_words_cosines(words, rows, COUNT, cosines);
	reference_cosines(wanted);
	for (size_t i = 0; i < COUNT * COUNT; i++)
		assert_true(fabs((double)cosines[i] - wanted[i]) < 2e-6);
	cuttle_words_free(&words);
}

/* A matrix with equal and with zero eigenvalues, and one that is diagonal already. */
static void test_eigen(void **state) {
	(void)state;
	double a[9] = {2, 1, 1, 1, 2, 1, 1, 1, 2}, values[3], vectors[9], scratch[24];
	assert_int_equal(eigen_scratch(3), 24);
	assert_true(eigen_symmetric(3, a, values, vectors, scratch));
	for (size_t i = 0; i < 3; i++) {
		const double *v = vectors + 3 * i, sum = v[0] + v[1] + v[2];
		assert_true(fabs(values[i] - 4) < 1e-12 || fabs(values[i] - 1) < 1e-12);
		for (size_t j = 0; j < 3; j++)
			assert_true(fabs(v[j] + sum - values[i] * v[j]) < 1e-12);
		assert_true(fabs(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] - 1) < 1e-12);
	}
	double diagonal[4] = {3, 0, 0, 0};
	assert_true(eigen_symmetric(2, diagonal, values, vectors, scratch));
	assert_true(values[0] == 3 && values[1] == 0 && fabs(vectors[0]) == 1);
	double infinite[4] = {INFINITY, 1, 1, 1};
	assert_false(eigen_symmetric(2, infinite, values, vectors, scratch));
}

static void test_same_bits_everywhere(void **state) {
	(void)state;
	static float wanted[PLACES * COUNT], cosines[PLACES * COUNT + 1], one[COUNT],
	    rows[PLACES * WIDTH];
	const struct kernels *tables[8];
	const size_t count = kernels_available(tables);
	struct cuttle_words_params p = sample_params();
	for (size_t t = 0; t < count; t++)
		for (unsigned threads = 1; threads <= 3; threads += 2) {
			assert_true(kernels_set(tables[t]->name));
			p.threads = threads;
			struct cuttle_words *words = make_words(&p);
			for (size_t i = 0; i < PLACES; i++)
				cuttle_words_row(words, i, rows + i * WIDTH);
			cosines[PLACES * COUNT] = 77.0f;
			cuttle_words_cosines(words, rows, PLACES, cosines);
			assert_true(cosines[PLACES * COUNT] == 77.0f);
			if (!t && threads == 1) memcpy(wanted, cosines, sizeof wanted);
			assert_memory_equal(cosines, wanted, sizeof wanted);
			for (size_t i = 0; i < PLACES; i++) {
				cuttle_words_cosines(words, rows + i * WIDTH, 1, one);
				assert_memory_equal(one, wanted + i * COUNT, sizeof one);
				assert_true(fabs((double)one[i] - 1.0) < 1e-6);
			}
			cuttle_words_free(&words);
		}
	assert_true(kernels_set("auto"));
}

static void check_partition(const struct cuttle_words *words, size_t set_size) {
	static float rows[COUNT * WIDTH], cosines[COUNT * COUNT];
	uint32_t sets[COUNT], wanted[COUNT], next = 0;
	struct cuttle_error error = {""};
	ok(cuttle_words_partition(words, set_size, sets, &error), &error);
	for (size_t i = 0; i < COUNT; i++) cuttle_words_row(words, i, rows + i * WIDTH);
	cuttle_words_cosines(words, rows, COUNT, cosines);
	memset(wanted, 0xff, sizeof wanted);
	for (size_t i = 0; i < COUNT; i++) {
		if (wanted[i] != UINT32_MAX) continue;
		wanted[i] = next;
		for (size_t n = 1; n < set_size; n++) {
			size_t best = COUNT;
			for (size_t j = 0; j < COUNT; j++)
				if (wanted[j] == UINT32_MAX &&
				    (best == COUNT ||
				     cosines[i * COUNT + j] > cosines[i * COUNT + best]))
					best = j;
			if (best < COUNT) wanted[best] = next;
		}
		next++;
	}
	assert_memory_equal(sets, wanted, sizeof sets);
}

static void test_partition(void **state) {
	(void)state;
	struct cuttle_words_params p = sample_params();
	struct cuttle_words *words = make_words(&p);
	static const size_t sizes[] = {2, 3, 20, 33, COUNT};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_partition(words, sizes[i]);
	uint32_t sets[COUNT];
	struct cuttle_error error = {""};
	ok(cuttle_words_partition(words, 33, sets, &error), &error);
	cuttle_words_free(&words);
	p.sets = sets;
	p.set_size = 33;
	words = make_words(&p);
	size_t set_size;
	assert_memory_equal(cuttle_words_sets(words, &set_size), sets, sizeof sets);
	assert_int_equal(set_size, 33);
	cuttle_words_free(&words);
	sets[0] = sets[0] == 0; // one set has 34 words now, or a middle one 32
	assert_int_equal(cuttle_words_make(&p, &words, &error), CUTTLE_USAGE);
	assert_null(words);
}

static void refuse(const struct cuttle_words_params *p, const char *reason) {
	struct cuttle_words *words;
	struct cuttle_error error = {""};
	assert_int_equal(cuttle_words_make(p, &words, &error), CUTTLE_USAGE);
	assert_null(words);
	if (!strstr(error.message, reason)) fail_msg("\"%s\" lacks %s", error.message, reason);
}

static void test_refused(void **state) {
	(void)state;
	struct cuttle_words_params p = sample_params();
	p.count = 1;
	refuse(&p, "outside");
	p.count = CUTTLE_WORDS_MOST + 1;
	refuse(&p, "outside");
	p = sample_params();
	p.width = CUTTLE_WORDS_WIDTH + 1;
	refuse(&p, "outside");
	p = sample_params();
	p.struct_size = 0;
	refuse(&p, "struct_size");
	p = sample_params();
	p.raw = false;
	refuse(&p, "length one");
	p = sample_params();
	p.model_sha256 = "abc";
	refuse(&p, "SHA-256");
	list[50] = "No";
	p = sample_params();
	refuse(&p, "is no word");
	list[50] = list[51];
	refuse(&p, "twice");
	list[50] = texts[50];
	static float bad[COUNT * WIDTH];
	memcpy(bad, raw, sizeof bad);
	p.vectors = bad;
	static const float wrong[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < 3; i++) {
		bad[5 * WIDTH + 3] = wrong[i];
		refuse(&p, "not finite");
	}
	for (size_t i = 0; i < COUNT * WIDTH; i++) bad[i] = (float)(i % WIDTH);
	refuse(&p, "all equal");
}

static void test_of_model(void **state) {
	(void)state;
	struct cuttle_error error = {""};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_words_of_model_params p;
	cuttle_words_of_model_params_default(&p);
	struct cuttle_words *words;
	assert_int_equal(cuttle_words_of_model(model, &p, &words, &error), CUTTLE_USAGE);
	assert_null(words);
	cuttle_model_free(&model);
	const char *path = getenv("CUTTLE_MODEL");
	if (!path || getenv("CUTTLE_TEST_SHORT")) skip();
	if (cuttle_model_open(path, NULL, &model, &error) != CUTTLE_OK) skip();
	// "kidn" is a token of this model and a fragment; "kidney" is one, too.
	static const char *const allowed[] = {"kidney", "kidn", "doctor", "nothingofthekind"};
	p.count = 300;
	ok(cuttle_words_of_model(model, &p, &words, &error), &error);
	assert_int_equal(cuttle_words_count(words), 300);
	assert_string_equal(cuttle_words_text(words, 0), "the");
	cuttle_words_free(&words);
	p.allowed = allowed;
	p.allowed_count = 4;
	ok(cuttle_words_of_model(model, &p, &words, &error), &error);
	assert_int_equal(cuttle_words_count(words), 3);
	const size_t d = cuttle_words_width(words);
	float *known = malloc(d * sizeof *known), *pieces = malloc(d * sizeof *pieces);
	assert_non_null(known);
	assert_non_null(pieces);
	cuttle_words_row(words, (size_t)cuttle_words_find(words, "doctor", 6), known);
	cuttle_words_free(&words);
	// Not in the list now, so its vector comes from its one token: the same bits.
	p.allowed_count = 2;
	ok(cuttle_words_of_model(model, &p, &words, &error), &error);
	assert_true(cuttle_words_vector(words, model, "doctor", 6, pieces));
	assert_memory_equal(pieces, known, d * sizeof *known);
	assert_false(cuttle_words_vector(words, NULL, "doctor", 6, pieces));
	cuttle_words_free(&words);
	free(known);
	free(pieces);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_words_are_letters),
	    cmocka_unit_test(test_find),
	    cmocka_unit_test(test_half_whitened),
	    cmocka_unit_test(test_eigen),
	    cmocka_unit_test(test_same_bits_everywhere),
	    cmocka_unit_test(test_partition),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_of_model),
	};
	return cmocka_run_group_tests(tests, make_sample, NULL);
}
