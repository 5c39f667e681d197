// SPDX-License-Identifier: Apache-2.0
// Tests dp/prior.c, the token prior: noisy counts of the tokens that records begin with, and what
// they cost. Counts are compared with the noise that equal bits give, and with a count of its own.
// It fails if a record counts for more than its first 64 distinct tokens that may be drawn, if the
// noise is of another variance or comes after the records, if a count below 3 sigma is told, or if
// a promise of prior and texts together is below what they come to.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/account.h"
#include "dp/noise.h"
#include "dp/prior.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

enum { VOCAB = 300, RECORDS = 40, LONGEST = 200 };

struct file {
	int32_t ids[RECORDS][LONGEST];
	size_t sizes[RECORDS];
	uint8_t allowed[VOCAB];
	size_t asked; /* records looked at */
};

static size_t give_tokens(void *user, size_t record, const int32_t **ids) {
	struct file *file = user;
	assert_true(record < RECORDS);
	file->asked++;
	*ids = file->ids[record];
	return file->sizes[record];
}

static void fill_file(struct file *file, uint64_t *seed) {
	file->asked = 0;
	for (size_t y = 0; y < VOCAB; y++) file->allowed[y] = test_below(seed, 8) != 0;
	for (size_t i = 0; i < RECORDS; i++) {
		file->sizes[i] = test_below(seed, LONGEST + 1);
		// Few tokens make records of less than 64 distinct ones.
		const uint64_t most = 1 + test_below(seed, VOCAB);
		for (size_t t = 0; t < LONGEST; t++)
			file->ids[i][t] = (int32_t)test_below(seed, most);
	}
}

static struct dp_prior_records records_of(struct file *file) {
	return (struct dp_prior_records){.count = RECORDS, .tokens = give_tokens, .user = file};
}

/* The tokens that a record counts for, found in another way: for each token, whether it may be
 * drawn and how many others stand before its first place. Returns their number. */
static size_t count_record(const struct file *file, size_t record, int64_t *counts) {
	size_t found = 0;
	for (int32_t y = 0; y < VOCAB; y++) {
		size_t first = 0, before = 0;
		while (first < file->sizes[record] && file->ids[record][first] != y) first++;
		if (first == file->sizes[record] || !file->allowed[y]) continue;
		for (int32_t z = 0; z < VOCAB; z++) {
			bool stands = false;
			for (size_t t = 0; t < first; t++) stands |= file->ids[record][t] == z;
			before += z != y && file->allowed[z] && stands;
		}
		if (before >= 64) continue;
		counts[y]++;
		found++;
	}
	return found;
}

/* Random files: what is told is noise and records, or 0. A record that becomes null takes its own
 * tokens with it, at most 64, each by one, and the same bits are drawn. */
static void counts_are_noise_and_records(void **state) {
	(void)state;
	uint64_t seed = 3;
	size_t full = 0;
	// sigma^2 = 0.32: whatever counts for two records or more is nearly always told.
	const uint32_t parts = 100000000;
	for (int n = 0; n < test_cases(20); n++) {
		static struct file file;
		int64_t told[VOCAB], expected[VOCAB] = {0}, own[VOCAB] = {0};
		fill_file(&file, &seed);
		const size_t null = test_below(&seed, RECORDS);
		const uint64_t bits = test_random(&seed);
		uint64_t source = bits, noise_source = bits, drawn;
		const struct dp_random random = {test_fill, &source},
		                       other = {test_fill, &noise_source};
		for (size_t i = 0; i < RECORDS; i++) {
			const size_t found = count_record(&file, i, expected);
			assert_true(found <= 64);
			full += found == 64;
		}
		(void)count_record(&file, null, own);
		const struct dp_prior_records records = records_of(&file);
		assert_int_equal(dp_prior(&records, file.allowed, VOCAB, parts, &random, told),
		                 DP_OK);
		assert_int_equal(file.asked, RECORDS);
		drawn = source;
		for (size_t y = 0; y < VOCAB; y++) {
			int64_t noise = 0;
			if (file.allowed[y])
				assert_int_equal(dp_noise_gaussian(32000000, parts, &other, &noise),
				                 DP_OK);
			expected[y] += noise;
			// 3 sigma are 1.697.
			assert_true(told[y] == (expected[y] >= 2 ? expected[y] : 0));
		}
		file.sizes[null] = 0;
		source = bits;
		assert_int_equal(dp_prior(&records, file.allowed, VOCAB, parts, &random, told),
		                 DP_OK);
		assert_true(source == drawn);
		for (size_t y = 0; y < VOCAB; y++) {
			const int64_t left = expected[y] - own[y];
			assert_true(told[y] == (left >= 2 ? left : 0));
		}
	}
	assert_true(full > 0);
}

/* Each of 64 tokens stands in all records. sigma^2 is 64 / (2 rho): the variance of 64 x 200 draws
 * shows it, and would show a twentieth of sigma less. */
static void noise_of_its_variance(void **state) {
	(void)state;
	static struct file file;
	uint64_t seed = nightly_seed(8);
	for (size_t i = 0; i < RECORDS; i++) {
		file.sizes[i] = 64;
		for (int32_t t = 0; t < 64; t++) file.ids[i][t] = t;
	}
	memset(file.allowed, 1, sizeof file.allowed);
	const struct dp_random random = {test_fill, &seed};
	const struct dp_prior_records records = records_of(&file);
	double sum = 0, squares = 0;
	const int runs = 200;
	for (int n = 0; n < runs; n++) {
		int64_t told[64];
		// rho 0.5: sigma 8, and 3 sigma 24; 40 records are 2 sigma more.
		assert_int_equal(dp_prior(&records, file.allowed, 64, 500000, &random, told),
		                 DP_OK);
		for (int y = 0; y < 64; y++) {
			const double noise = told[y] ? (double)told[y] - RECORDS : -17.7;
			sum += noise;
			squares += noise * noise;
		}
	}
	const double draws = 64.0 * runs, mean = sum / draws, variance = squares / draws;
	// Told counts are cut off at 24, two sigma below: 2.2 % are put at their mean there. The
	// standard deviation of the variance is 64 sqrt(2 / draws) = 0.8.
	assert_true(fabs(mean) < 0.5);
	assert_true(fabs(variance - 64.0) < 4.5);
}

/* What is told is 3 sigma or more: of rho 0.05, 76 (3 sigma is 75.89). */
static void little_is_not_told(void **state) {
	(void)state;
	static struct file file;
	uint64_t seed = nightly_seed(9);
	memset(file.sizes, 0, sizeof file.sizes);
	memset(file.allowed, 1, sizeof file.allowed);
	const struct dp_random random = {test_fill, &seed};
	const struct dp_prior_records records = records_of(&file);
	int64_t least = INT64_MAX;
	size_t some = 0, all = 0;
	for (int n = 0; n < 100; n++) {
		int64_t told[VOCAB];
		assert_int_equal(dp_prior(&records, file.allowed, VOCAB, 50000, &random, told),
		                 DP_OK);
		for (int y = 0; y < VOCAB; y++, all++) {
			if (!told[y]) continue;
			some++;
			if (told[y] < least) least = told[y];
		}
	}
	// The chance of 76 or more is 0.0014: of 30,000 about 41.
	assert_true(least >= 76);
	assert_true(some > 5 && some < 120 && all == 30000);
	int64_t told[VOCAB];
	memset(file.allowed, 0, sizeof file.allowed);
	const uint64_t before = seed;
	assert_int_equal(dp_prior(&records, file.allowed, VOCAB, 50000, &random, told), DP_OK);
	assert_true(seed == before); // a token that cannot be drawn has no count, nor noise
}

struct failing {
	uint64_t seed;
	size_t calls, fails_at;
	struct file *file; /* its records become null at each call; NULL = they stay */
};

static enum dp_status failing_fill(void *user, void *bytes, size_t size) {
	struct failing *source = user;
	for (size_t i = 0; source->file && i < RECORDS; i++) source->file->sizes[i] = 0;
	if (++source->calls == source->fails_at) return DP_NO_ENTROPY;
	return test_fill(&source->seed, bytes, size);
}

/* No record is looked at before all noise is drawn: where bits are missing, none is. */
static void noise_comes_first(void **state) {
	(void)state;
	static struct file file;
	uint64_t seed = 4;
	int64_t told[VOCAB];
	for (size_t fails_at = 1; fails_at < 60; fails_at += 7) {
		fill_file(&file, &seed);
		struct failing source = {.seed = 1, .fails_at = fails_at};
		const struct dp_random random = {failing_fill, &source};
		const struct dp_prior_records records = records_of(&file);
		memset(told, 7, sizeof told);
		assert_int_equal(dp_prior(&records, file.allowed, VOCAB, 50000, &random, told),
		                 DP_NO_ENTROPY);
		assert_int_equal(file.asked, 0);
		for (int y = 0; y < VOCAB; y++) assert_true(told[y] == 0);
	}
	fill_file(&file, &seed);
	struct failing source = {.seed = 1, .file = &file};
	const struct dp_random random = {failing_fill, &source};
	const struct dp_prior_records records = records_of(&file);
	int64_t noise_alone[VOCAB];
	assert_int_equal(dp_prior(&records, file.allowed, VOCAB, 50000, &random, told), DP_OK);
	source = (struct failing){.seed = 1};
	assert_int_equal(dp_prior(&records, file.allowed, VOCAB, 50000, &random, noise_alone),
	                 DP_OK);
	assert_memory_equal(told, noise_alone, sizeof told);
	for (int wrong = 0; wrong < 3; wrong++) {
		static const uint32_t parts[] = {0, 999, 100000001};
		assert_int_equal(
		    dp_prior(&records, file.allowed, VOCAB, parts[wrong], &random, told),
		    DP_BAD_PARAMETER);
	}
	const int32_t foreign = VOCAB;
	uint64_t last[VOCAB] = {0};
	assert_misuse(dp_prior_add(&foreign, 1, file.allowed, VOCAB, 1, last, told));
}

/* Random parameters: prior and texts together keep to epsilon, one clip more does not; and rho is
 * their sum, rounded up. */
static void both_are_paid_for(void **state) {
	(void)state;
	uint64_t seed = 6;
	int made = 0;
	for (int n = 0; n < test_cases(300); n++) {
		const uint32_t parts = 1000 + (uint32_t)test_below(&seed, 100000);
		const double epsilon = 0.5 + (double)test_below(&seed, 10000) / 1000,
		             delta = pow(10, -4 - (double)test_below(&seed, 6));
		struct dp_integers i = {.batch = 1 + (uint32_t)test_below(&seed, 60),
		                        .tokens = 1 + (uint32_t)test_below(&seed, 400),
		                        .temperature_num = 1,
		                        .temperature_den = 1,
		                        .gain = DP_GAIN_AUTO},
		                   without = i;
		const char *reason = NULL;
		if (dp_prior_calibrate(&i, parts, epsilon, delta, &reason) != DP_OK) {
			assert_non_null(reason);
			continue;
		}
		made++;
		const double rho = dp_prior_rho(parts, dp_guarantee_rho(&i));
		assert_true((long double)rho >=
		            (long double)dp_guarantee_rho(&i) + (long double)parts / 1e6L);
		assert_true(rho < (dp_guarantee_rho(&i) + parts / 1e6) * (1 + 1e-15));
		assert_true(dp_epsilon_of_rho(rho, delta) <= epsilon);
		assert_int_equal(dp_calibrate(&without, epsilon, delta, NULL), DP_OK);
		double least, most;
		assert_int_equal(dp_clip_range(&i, &least, &most), DP_OK);
		const bool largest = i.clip_fixed == dp_clip_fixed(most, i.fraction_bits);
		if (i.gain == without.gain && i.fraction_bits == without.fraction_bits)
			assert_true(i.clip_fixed <= without.clip_fixed);
		i.clip_fixed++;
		assert_true(largest || dp_epsilon_of_rho(dp_prior_rho(parts, dp_guarantee_rho(&i)),
		                                         delta) > epsilon);
	}
	assert_true(made > test_cases(300) / 2);
	struct dp_integers i = {
	    .batch = 7, .tokens = 100, .temperature_num = 1, .temperature_den = 1};
	const char *reason = NULL;
	assert_int_equal(dp_prior_calibrate(&i, 1000000, 0.5, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_non_null(strstr(reason, "--token-prior"));
	assert_int_equal(dp_prior_calibrate(&i, 1000, -1, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_int_equal(dp_prior_calibrate(&i, 1000, 3, 2, &reason), DP_BAD_PARAMETER);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counts_are_noise_and_records),
	    cmocka_unit_test(noise_of_its_variance),
	    cmocka_unit_test(little_is_not_told),
	    cmocka_unit_test(noise_comes_first),
	    cmocka_unit_test(both_are_paid_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
