// SPDX-License-Identifier: Apache-2.0
// Tests dp/threshold.c: AboveThreshold on lattice noise. The linker puts a function below in the
// place of dp_noise_laplace, so a test decides what is drawn, and learns by which law. So chances
// of strings of answers are sums over all noise, without a draw. It fails if a string of at most
// six answers has other odds in two worlds than a unit may cost, or if the worst of them reaches
// less than nine tenths of that. It fails if a row moves the distance by more than it may, or if a
// source that failed gives noise.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/noise.h"
#include "dp/threshold.h"

enum dp_status __real_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise);
enum dp_status __wrap_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise);

/* What the next draw is, and what was asked for. */
static struct {
	bool on;
	int64_t noise;
	uint64_t scale;
	size_t draws;
} plan;

enum dp_status __wrap_dp_noise_laplace(uint64_t t, const struct dp_random *random, int64_t *noise) {
	if (!plan.on) return __real_dp_noise_laplace(t, random, noise);
	plan.scale = t;
	plan.draws++;
	*noise = plan.noise;
	return DP_OK;
}

/* ---- the law of noise ------------------------------------------------------------------------ */

static double mass(uint64_t t, int64_t x) {
	const double r = exp(-1.0 / (double)t);
	return (1.0 - r) / (1.0 + r) * exp(-fabs((double)x) / (double)t);
}

/* The chance of noise >= x. */
static double tail(uint64_t t, int64_t x) {
	const double r = exp(-1.0 / (double)t);
	return x > 0 ? exp(-(double)x / (double)t) / (1.0 + r)
	             : 1.0 - exp(-(double)(1 - x) / (double)t) / (1.0 + r);
}

/* ---- chances, from the code's own answers ---------------------------------------------------- */

enum { REACH = 150, MOST_GAP = 60, QUERIES = 6 }; /* N1 in -150 .. 150; D - Theta in -60 .. 60 */

static struct {
	uint64_t scale;                                /* the law of N1, as the code drew it */
	double first[2 * REACH + 1];                   /* chance of N1 */
	double fires[2 * REACH + 1][2 * MOST_GAP + 1]; /* chance of yes, given N1 and gap */
} table;

/* The answer where N1 and N2 are these. The unit keeps N1 from start to answer. */
static bool answer(const struct dp_threshold *t, int64_t first, int64_t second, int64_t distance) {
	struct dp_threshold_unit unit = {0};
	int64_t noise;
	plan.on = true;
	plan.noise = first;
	plan.draws = 0;
	assert_int_equal(dp_threshold_start(t, NULL, &unit), DP_OK);
	table.scale = plan.scale;
	assert_true(unit.standing);
	plan.noise = second;
	assert_int_equal(dp_threshold_noise(t, NULL, &noise), DP_OK);
	assert_int_equal(plan.draws, 2);
	const bool fires = dp_threshold_fires(t, &unit, distance, noise);
	assert_int_equal(unit.standing, !fires);
	assert_int_equal(unit.noise, fires ? 0 : first); /* kept until it fires, then wiped */
	plan.on = false;
	return fires;
}

/* The chance of yes is that of N2 at or above the least one that gives yes. */
static double chance_of_yes(const struct dp_threshold *t, int64_t first, int64_t distance) {
	int64_t no = -100000, yes = 100000;
	assert_false(answer(t, first, no, distance));
	assert_true(answer(t, first, yes, distance));
	while (yes - no > 1) {
		const int64_t middle = no + (yes - no) / 2;
		if (answer(t, first, middle, distance)) yes = middle;
		else no = middle;
	}
	return tail(plan.scale, yes);
}

static void make_table(const struct dp_threshold *t) {
	for (int i = -REACH; i <= REACH; i++) {
		for (int gap = -MOST_GAP; gap <= MOST_GAP; gap++)
			table.fires[i + REACH][gap + MOST_GAP] =
			    chance_of_yes(t, i, t->theta + gap);
		table.first[i + REACH] = mass(table.scale, i);
	}
}

/* The chance of `count` - 1 times no and then `last`, for gaps that were chosen. */
static double chance_of_string(const int *gaps, size_t count, bool last) {
	double whole = 0.0;
	for (int i = 0; i <= 2 * REACH; i++) {
		double p = table.first[i];
		for (size_t q = 0; q < count; q++) {
			const double yes = table.fires[i][gaps[q] + MOST_GAP];
			p *= q + 1 == count && last ? yes : 1.0 - yes;
		}
		whole += p;
	}
	return whole;
}

/* ln of the odds of a string in two worlds whose distances differ by at most `most` a query. */
static double loss_of_string(const int *gaps, const int *moves, size_t count, bool last) {
	int moved[QUERIES];
	for (size_t q = 0; q < count; q++) moved[q] = gaps[q] + moves[q];
	return fabs(
	    log(chance_of_string(gaps, count, last) / chance_of_string(moved, count, last)));
}

static void chances_of_one_answer(void **state) {
	(void)state;
	static const struct {
		int gap;
		double chance;
	} known[] = {{-20, .091306505107809}, {-10, .232569841337038}, {-3, .417870496577882},
	             {0, .516721798442720},   {3, .613262889573158},   {10, .787433418799479},
	             {20, .917094371284448}};
	const struct dp_threshold t = {.most = 1, .scale = 5, .theta = 100};
	make_table(&t);
	assert_int_equal(table.scale, 5);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_float_equal(chance_of_string(&known[i].gap, 1, true), known[i].chance,
		                   1e-12);
}

static void strings_of_answers(void **state) {
	(void)state;
	static const struct dp_threshold units[] = {{.most = 1, .scale = 3, .theta = 100},
	                                            {.most = 4, .scale = 3, .theta = 7000},
	                                            {.most = 1, .scale = 5, .theta = 100},
	                                            {.most = 1, .scale = 1, .theta = 100}};
	uint64_t seed = 11;
	for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
		const struct dp_threshold *t = &units[u];
		const int most = (int)t->most, reach = MOST_GAP - most;
		const double claim = 2.0 * most / (double)t->scale;
		double worst = 0.0, sum = 0.0;
		make_table(t);
		for (int gap = 0; gap < QUERIES; gap++) /* all strings together have chance 1 */
			sum += chance_of_string((int[QUERIES]){1, 2, -5, 3, 0, 9}, (size_t)gap + 1,
			                        true);
		sum += chance_of_string((int[QUERIES]){1, 2, -5, 3, 0, 9}, QUERIES, false);
		assert_float_equal(sum, 1.0, 1e-12);
		/* the same question before the last one, and all distances moved alike */
		for (size_t count = 1; count <= QUERIES; count++)
			for (int before = -reach; before <= reach; before += 6)
				for (int last = -reach; last <= reach; last += 6)
					for (int signs = 0; signs < 8; signs++) {
						int gaps[QUERIES], moves[QUERIES];
						for (size_t q = 0; q < count; q++) {
							const bool end = q + 1 == count;
							gaps[q] = end ? last : before;
							moves[q] =
							    (signs >> end) & 1 ? most : -most;
						}
						const double loss =
						    loss_of_string(gaps, moves, count, signs & 4);
						assert_true(loss <= claim + 1e-9);
						worst = loss > worst ? loss : worst;
					}
		/* questions and moves at random */
		const int cases = test_cases(20000);
		for (int i = 0; i < cases; i++) {
			int gaps[QUERIES], moves[QUERIES];
			const size_t count = 1 + test_below(&seed, QUERIES);
			for (size_t q = 0; q < count; q++) {
				gaps[q] = (int)test_below(&seed, 2 * (uint64_t)reach + 1) - reach;
				moves[q] = (int)test_below(&seed, 2 * t->most + 1) - most;
			}
			assert_true(loss_of_string(gaps, moves, count, test_below(&seed, 2)) <=
			            claim + 1e-9);
		}
		print_message("scale %d, most %d: %.4f of %.4f\n", (int)t->scale, most, worst,
		              claim);
		assert_true(worst >= 0.9 * claim);
	}
}

/* ---- the distance ---------------------------------------------------------------------------- */

enum { VOCAB = 9, ROWS = 5 };

/* D of these rows without row `without`; ROWS: with all. */
static int64_t distance_of(const struct dp_threshold *t, uint64_t rows[ROWS][VOCAB],
                           const uint64_t *public_p, size_t without) {
	uint64_t sum[VOCAB] = {0};
	for (size_t i = 0; i < ROWS; i++)
		if (i != without) dp_threshold_add(t, rows[i], VOCAB, sum);
	return dp_threshold_distance(sum, public_p, VOCAB, ROWS);
}

/* Whatever code made the rows: of any sum, of any size. */
static void a_row_moves_the_distance_by_its_part(void **state) {
	(void)state;
	uint64_t seed = 12;
	int64_t widest = 0;
	const int cases = test_cases(10000);
	for (int round = 0; round < cases; round++) {
		const struct dp_threshold t = {
		    .most = UINT64_C(1) << test_below(&seed, 33), .scale = 1, .theta = 0};
		uint64_t rows[ROWS][VOCAB], public_p[VOCAB];
		for (size_t y = 0; y < VOCAB; y++) {
			public_p[y] = test_random(&seed) % (t.most + 1);
			for (size_t i = 0; i < ROWS; i++) {
				const uint64_t kind = test_below(&seed, 4);
				rows[i][y] = kind == 0   ? 0
				             : kind == 1 ? UINT64_MAX
				             : kind == 2
				                 ? t.most
				                 : test_random(&seed) >> test_below(&seed, 60);
			}
		}
		const int64_t all = distance_of(&t, rows, public_p, ROWS);
		assert_true(all >= 0 && all < INT64_C(1) << 50);
		for (size_t i = 0; i < ROWS; i++) {
			const int64_t moved = llabs(distance_of(&t, rows, public_p, i) - all);
			assert_true(moved <= (int64_t)t.most);
			if (t.most == DP_THRESHOLD_MOST && moved > widest) widest = moved;
		}
	}
	assert_int_equal(widest, DP_THRESHOLD_MOST);
	/* the example of the header */
	const struct dp_threshold t = {.most = 4, .scale = 9, .theta = 3};
	uint64_t sum[2] = {0};
	dp_threshold_add(&t, (uint64_t[]){4, 0}, 2, sum);
	dp_threshold_add(&t, (uint64_t[]){3, 1}, 2, sum);
	assert_int_equal(dp_threshold_distance(sum, (uint64_t[]){1, 3}, 2, 2), 10);
	assert_false(answer(&t, 4, -5, 10));
	assert_true(answer(&t, 4, -3, 10));
}

/* ---- failures -------------------------------------------------------------------------------- */

static enum dp_status no_bits(void *user, void *bytes, size_t size) {
	(void)user, (void)bytes, (void)size;
	return DP_NO_ENTROPY;
}

static void no_entropy(void **state) {
	(void)state;
	const struct dp_threshold t = {.most = 1, .scale = 5, .theta = 0};
	const struct dp_random random = {no_bits, NULL};
	struct dp_threshold_unit unit = {0};
	int64_t noise = 77;
	assert_int_equal(dp_threshold_start(&t, &random, &unit), DP_NO_ENTROPY);
	assert_false(unit.standing);
	assert_int_equal(dp_threshold_noise(&t, &random, &noise), DP_NO_ENTROPY);
	assert_int_equal(noise, 77);
}

static void refuses_start(const struct dp_threshold *t, struct dp_threshold_unit *unit) {
	int64_t noise;
	assert_misuse((void)dp_threshold_start(t, NULL, unit));
	if (!unit->standing) assert_misuse((void)dp_threshold_noise(t, NULL, &noise));
}

static void refuses_answer(const struct dp_threshold *t, struct dp_threshold_unit *unit) {
	assert_misuse((void)dp_threshold_fires(t, unit, 0, 0));
}

static void refuses_places(void) {
	assert_misuse((void)dp_threshold_distance(NULL, NULL, 0, (1 << 16) + 1));
}

static void misuse_is_stopped(void **state) {
	(void)state;
	static const struct dp_threshold wrong[] = {
	    {.most = 0, .scale = 1},
	    {.most = DP_THRESHOLD_MOST + 1, .scale = 1},
	    {.most = 1, .scale = 0},
	    {.most = 1, .scale = DP_THRESHOLD_MOST_SCALE + 1},
	    {.most = 1, .scale = 1, .theta = -1},
	    {.most = 1, .scale = 1, .theta = (INT64_C(1) << 50) + 1}};
	const struct dp_threshold right = {.most = 1, .scale = 1};
	struct dp_threshold_unit unit = {0};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_false(dp_threshold_fits(&wrong[i]));
		refuses_start(&wrong[i], &unit);
	}
	assert_true(dp_threshold_fits(&right));
	refuses_answer(&right, &unit);
	refuses_places();
	unit = (struct dp_threshold_unit){.noise = 5, .standing = true};
	refuses_start(&right, &unit);
	dp_threshold_drop(&unit);
	assert_true(unit.noise == 0 && !unit.standing);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chances_of_one_answer),
	    cmocka_unit_test(strings_of_answers),
	    cmocka_unit_test(a_row_moves_the_distance_by_its_part),
	    cmocka_unit_test(no_entropy),
	    cmocka_unit_test(misuse_is_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
