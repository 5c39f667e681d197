// SPDX-License-Identifier: Apache-2.0
// Tests the mechanisms that perturb words: engine/run/perturb/perturb.c,
// engine/run/perturb/baselines.c and laws.c, against numbers of a second implementation with 50
// digits (five words on a plane). It fails if a law differs from its formula, or draws from their
// law. It fails if RANTEXT as it is deployed keeps the epsilon of its theorem: it does not. It
// fails if method rank draws after it looked at a word, or unlike for words, unknown words and
// nulls; if a word changes what another place gives; if a baseline is called private; if private
// memory is left. The chance that a statistical test fails though all is right is FALSE_ALARM.
#include "dp/rank.h"
#include "engine/run/perturb/perturb.h"
#include "engine/words/laws.h"
#include "kernels/ranking.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CAT, DOG, COW, CAR, BUS, TOY };
static const char *const TOY_WORDS[TOY] = {"cat", "dog", "cow", "car", "bus"};
static const double PLANE[TOY][2] = {{0, 0}, {1, 0}, {0, 2}, {6, 0}, {6, 1}};

static void assert_near(double seen, double expected, double tolerance) {
	if (!(fabs(seen - expected) <= tolerance)) {
		fprintf(stderr, "%.17g is not %.17g\n", seen, expected);
		fail();
	}
}

static void measure_plane(size_t from, double distances[TOY]) {
	for (size_t y = 0; y < TOY; y++)
		distances[y] = hypot(PLANE[from][0] - PLANE[y][0], PLANE[from][1] - PLANE[y][1]);
}

/* ---- words with vectors of length one -------------------------------------------------------- */

/* Words on a circle. From "cow" at 25 degrees the order is cow, dog, cat, car, bus. */
static const double DEGREES[TOY] = {0, 10, 25, 90, 105};
static const size_t FROM_COW[TOY] = {COW, DOG, CAT, CAR, BUS};

static struct cuttle_words *make_words(const char *const *words, size_t count, size_t width,
                                       const float *vectors) {
	struct cuttle_words_params params;
	struct cuttle_words *made;
	struct cuttle_error error;
	cuttle_words_params_default(&params);
	params.count = count;
	params.width = width;
	params.words = words;
	params.vectors = vectors;
	params.threads = 2;
	if (cuttle_words_make(&params, &made, &error)) fail_msg("%s", error.message);
	return made;
}

static struct cuttle_words *make_toy(void) {
	float vectors[TOY][2];
	for (size_t i = 0; i < TOY; i++) {
		vectors[i][0] = (float)cos(DEGREES[i] * M_PI / 180);
		vectors[i][1] = (float)sin(DEGREES[i] * M_PI / 180);
	}
	return make_words(TOY_WORDS, TOY, 2, vectors[0]);
}

static struct cuttle_perturb_params method(enum cuttle_word_method method, uint32_t millionths) {
	struct cuttle_perturb_params params;
	cuttle_perturb_params_default(&params);
	params.method = method;
	params.epsilon_millionths = millionths;
	params.near = 2;
	params.set_size = 3;
	return params;
}

static struct cuttle_perturber *make(const struct cuttle_words *words, struct cuttle_model *model,
                                     const struct cuttle_perturb_params *params) {
	struct cuttle_perturber *made;
	struct cuttle_error error;
	if (cuttle_perturber_make(words, model, params, &made, &error))
		fail_msg("%s", error.message);
	return made;
}

static struct cuttle_place word(const char *text) {
	return (struct cuttle_place){CUTTLE_PLACE_WORD, text, strlen(text)};
}
static const struct cuttle_place NOTHING = {CUTTLE_PLACE_NULL, NULL, 0};
static const struct cuttle_place NUMBER = {CUTTLE_PLACE_NUMBER, NULL, 0};

static int32_t perturb_one(struct cuttle_perturber *p, struct cuttle_place place, uint64_t text) {
	int32_t id = -1;
	assert_int_equal(cuttle_perturb(p, text, 0, &place, 1, &id, NULL), CUTTLE_OK);
	return id;
}

/* ---- laws ------------------------------------------------------------------------------------ */

static void check_row(double slope, size_t count, const double *distances, const double *expected) {
	double weights[TOY], total = 0;
	uint64_t integers = 0;
	laws_weights(slope, distances, count, weights);
	for (size_t y = 0; y < count; y++) {
		total += weights[y];
		integers += laws_integer(weights[y]);
	}
	for (size_t y = 0; y < count; y++) {
		assert_near(weights[y] / total, expected[y], 6e-12 * expected[y] + 1e-300);
		assert_near((double)laws_integer(weights[y]) / (double)integers, expected[y],
		            1.5e-12);
	}
}

static void laws_have_their_digits(void **state) {
	(void)state;
	double d[TOY];
	measure_plane(CAT, d);
	check_row(laws_santext_slope(2), TOY, d,
	          (double[]){.663140817321, .243955873294, .0897463503379, .00164376174437,
	                     .00151319730304});
	measure_plane(COW, d);
	check_row(laws_santext_slope(2), TOY, d,
	          (double[]){.108590798950, .0857570846273, .802383505269, .00143768094328,
	                     .00183093021039});
	measure_plane(CAT, d);
	check_row(laws_custext_slope(2, d, 3), 3, d,
	          (double[]){.506480391056, .307195885718, .186323723226});
	measure_plane(DOG, d);
	check_row(laws_custext_slope(2, d, 3), 3, d,
	          (double[]){.318543086019, .498184922932, .183271991048});
	measure_plane(CAT, d);
	check_row(laws_rantext_slope(6, 2.1, d, TOY), TOY, d,
	          (double[]){.770960296661, .184761434150, .0442782691886, 0, 0});
	measure_plane(COW, d);
	check_row(laws_rantext_slope(6, 6.05, d, TOY), TOY, d,
	          (double[]){.218081464950, .193990693095, .587927841955, 0, 0});
	/* One distinct distance: all words alike. */
	check_row(laws_custext_slope(2, (double[]){0, 0}, 2), 2, (double[]){0, 0},
	          (double[]){.5, .5});
	/* The radius itself is outside; a word in the list never has the weight 0. */
	double edge[] = {0, 1, .5};
	const double slope = laws_rantext_slope(64, 1, edge, 3);
	double weights[3];
	laws_weights(slope * 1e6, edge, 3, weights);
	assert_true(isinf(edge[1]) && weights[1] == 0 && laws_integer(weights[1]) == 0);
	assert_int_equal(laws_integer(weights[2]), 1);
	assert_int_equal(laws_integer(1), UINT64_C(1) << 40);
}

static void laplace_has_its_digits(void **state) {
	(void)state;
	assert_near(laws_laplace(0), 37.429947750237, 5e-13);
	assert_near(laws_laplace(0x0010000000000000), .693147180559945, 5e-16);
	assert_near(laws_laplace(0x8008000000000000), -1.38629436111989, 5e-15);
	assert_near(laws_laplace(0x801fffffffffffff), -5.55111512312578e-17, 5e-31);
	assert_near(laws_laplace(0x123456789abcdef0), .453255771944516, 5e-16);
	/* The norm of Laplace numbers of scales 3 / 2 and 4 / 2, both of size ln 2. */
	const uint64_t bits[] = {0x0010000000000000, 0x8010000000000000};
	assert_near(laws_rantext_radius((double[]){3, 4}, 2, bits, 2), 2.5 * M_LN2, 1e-14);
}

/* Rows of baselines_law, with the distances of the plane. */
static void laws_of_methods(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	double d[TOY], law[TOY];
	const char *sensitive[] = {"cow", "car", "bus", "unheard"};
	struct cuttle_perturb_params params = method(CUTTLE_SANTEXT_PLUS, 2000000);
	params.sensitive = sensitive;
	params.sensitive_count = 4;
	struct cuttle_perturber *p = make(words, NULL, &params);
	measure_plane(CAT, d);
	baselines_law(p->baselines, CAT, 0, d, law);
	assert_near(law[CAT], .7, 1e-12);
	assert_near(law[DOG], 0, 0);
	assert_near(law[COW], .289805662247, 1e-12);
	assert_near(law[CAR], .00530797585763, 1e-12);
	assert_near(law[BUS], .00488636189512, 1e-12);
	measure_plane(COW, d);
	baselines_law(p->baselines, COW, 0, d, law);
	assert_near(law[CAT] + law[DOG], 0, 0);
	assert_near(law[COW] + law[CAR] + law[BUS], 1, 1e-12);
	assert_near(law[CAR] / law[COW], exp(-hypot(6, 2)), 1e-12);
	cuttle_perturber_free(&p);

	/* Sets {cat dog cow} and {car bus}, from the vectors on the circle, too. */
	params = method(CUTTLE_CUSTEXT, 2000000);
	p = make(words, NULL, &params);
	measure_plane(DOG, d);
	baselines_law(p->baselines, DOG, 0, d, law);
	assert_near(law[CAT], .318543086019, 1e-12);
	assert_near(law[DOG], .498184922932, 1e-12);
	assert_near(law[COW], .183271991048, 1e-12);
	assert_near(law[CAR] + law[BUS], 0, 0);
	measure_plane(BUS, d);
	baselines_law(p->baselines, BUS, 0, d, law);
	assert_near(law[BUS], 1 / (1 + exp(-1)), 1e-12);
	assert_near(law[CAR], 1 / (1 + exp(1)), 1e-12);
	cuttle_perturber_free(&p);
	cuttle_words_free(&words);
}

/* ---- RANTEXT is not what its theorem says ---------------------------------------------------- */

/* P(b | a) of two words at distance 1: the radius is exponential with rate Z, and b is in the list
 * of a when it is above 1. Simpson's rule over the radius, through the law that runs. */
static double chance_of_other(double epsilon) {
	const double scale = laws_rantext_scale(epsilon), end = 1 + 45 / scale;
	enum { STEPS = 40000 };
	double sum = 0;
	for (int i = 0; i <= STEPS; i++) {
		const double radius = 1 + (end - 1) * i / STEPS + (i == 0 ? 1e-15 : 0);
		double d[] = {0, 1}, weights[2];
		const double slope = laws_rantext_slope(epsilon, radius, d, 2);
		laws_weights(slope, d, 2, weights);
		const double value =
		    scale * exp(-scale * radius) * weights[1] / (weights[0] + weights[1]);
		sum += value * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
	}
	return sum * (end - 1) / STEPS / 3;
}

static void rantext_breaks_its_epsilon(void **state) {
	(void)state;
	static const struct {
		double epsilon, scale, chance, ratio;
	} rows[] = {{1, 1, .156797881091564, 1.68224909634},
	            {2, 9.11999999601, 3.14690066727e-5, 10.3664759421},
	            {3, 9.35996372148, 1.75540382647e-5, 10.9502089798},
	            {6, 9.38295069558, 5.25726127804e-6, 12.1558950791},
	            {10, 9.39444418478, 9.38911746678e-7, 13.8785434097},
	            {14, 9.40116744523, 1.67296757482e-7, 15.6034964433},
	            {18, 9.40593767451, 3.0929728e-8, 17.2915480128}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const double epsilon = rows[i].epsilon, chance = chance_of_other(epsilon),
		             ratio = log((1 - chance) / chance);
		/* Near 2 the curve takes the logarithm of a difference of nearly equal numbers. */
		assert_near(laws_rantext_scale(epsilon), rows[i].scale, 1e-10);
		assert_near(chance / rows[i].chance, 1,
		            i + 1 < sizeof rows / sizeof *rows ? 1e-9 : 1e-8);
		assert_near(ratio, rows[i].ratio, 1e-9);
		/* The output b has odds e^ratio between the words b and a: more than e^epsilon. */
		if (epsilon < 18) assert_true(ratio > epsilon);
	}
}

/* The same through the call that runs: vectors -1 and 1, so d and the spread are both 2. */
static void rantext_runs_as_deployed(void **state) {
	(void)state;
	const char *const names[] = {"a", "b"};
	struct cuttle_words *words = make_words(names, 2, 1, (float[]){-1, 1});
	struct cuttle_perturb_params params = method(CUTTLE_RANTEXT, 1000000);
	params.paper_radius = true;
	params.insecure = true;
	params.insecure_seed = nightly_seed(7);
	struct cuttle_perturber *p = make(words, NULL, &params);
	const size_t draws = repetitions(50000, 1000000);
	size_t seen[2] = {0};
	for (size_t i = 0; i < draws; i++) seen[perturb_one(p, word("a"), i)]++;
	const double law[] = {1 - .156797881091564, .156797881091564};
	assert_true(fit(seen, law, 2, draws) > FALSE_ALARM);
	cuttle_perturber_free(&p);
	cuttle_words_free(&words);
}

/* Z is fitted so that lists have the share asked for, by radii drawn here. */
static void rantext_lists_have_their_share(void **state) {
	(void)state;
	enum { WORDS = 700, WIDTH = 24, RADII = 4000 };
	static char text[WORDS][8];
	static const char *names[WORDS];
	static float vectors[WORDS][WIDTH];
	uint64_t seed = 3;
	for (size_t i = 0; i < WORDS; i++) {
		snprintf(text[i], sizeof text[i], "%c%c%c", (int)('a' + i / 676),
		         (int)('a' + i / 26 % 26), (int)('a' + i % 26));
		names[i] = text[i];
		double square = 0;
		for (size_t j = 0; j < WIDTH; j++) {
			vectors[i][j] = (float)(tiny_random(&seed) % 2001) - 1000;
			square += (double)vectors[i][j] * vectors[i][j];
		}
		for (size_t j = 0; j < WIDTH; j++) vectors[i][j] /= (float)sqrt(square);
	}
	struct cuttle_words *words = make_words(names, WORDS, WIDTH, vectors[0]);
	for (int which = 0; which < 2; which++) {
		struct cuttle_perturb_params params = method(CUTTLE_RANTEXT, 6000000);
		params.list_share = which ? .02 : .1;
		struct cuttle_perturber *p = make(words, NULL, &params);
		struct cuttle_perturb_guarantee guarantee;
		assert_int_equal(cuttle_perturber_describe(p, 0, &guarantee, NULL), CUTTLE_OK);
		assert_near(guarantee.list_scale, p->baselines->scale, 0);
		float cosines[WORDS];
		double distances[WORDS];
		size_t inside = 0;
		for (size_t i = 0; i < RADII; i++) {
			uint64_t bits[WIDTH];
			for (size_t j = 0; j < WIDTH; j++) bits[j] = tiny_random(&seed);
			const double radius = laws_rantext_radius(
			    p->baselines->spreads, guarantee.list_scale, bits, WIDTH);
			const uint32_t own = (uint32_t)(tiny_random(&seed) % WORDS);
			cuttle_words_cosines(words, vectors[own], 1, cosines);
			baselines_distances(cosines, WORDS, own, distances);
			for (size_t y = 0; y < WORDS; y++) inside += distances[y] < radius;
		}
		const double share = (double)inside / (RADII * WORDS);
		fprintf(stderr, "share %g\n", share);
		assert_true(share > .9 * params.list_share && share < 1.1 * params.list_share);
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

/* ---- draws have their law -------------------------------------------------------------------- */

static void check_draws(struct cuttle_perturber *p, struct cuttle_place place, const double *law) {
	const size_t draws = repetitions(30000, 1000000);
	size_t seen[TOY] = {0};
	for (size_t i = 0; i < draws; i++) {
		const int32_t id = perturb_one(p, place, i);
		assert_true(id >= 0 && id < TOY);
		seen[id]++;
	}
	const double value = fit(seen, law, TOY, draws);
	if (value <= FALSE_ALARM) fail_msg("p = %g of method %d", value, p->params.method);
}

static void draws_follow_their_law(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	static const double even[TOY] = {.2, .2, .2, .2, .2};
	/* [table] the chances of the ranks 0 .. 4 at epsilon 2 */
	static const double ranks[2][TOY] = {
	    {.415626587159, .415626587159, .0562489418939, .0562489418939, .0562489418939},
	    {.404609675192, .239795307453, .158644704041, .112726504913, .0842238084009}};
	for (int table = 0; table < 2; table++) {
		struct cuttle_perturb_params params = method(CUTTLE_RANK, 2000000);
		params.table = table ? CUTTLE_ENVELOPE : CUTTLE_STEP;
		params.insecure = true;
		params.insecure_seed = nightly_seed(11);
		struct cuttle_perturber *p = make(words, NULL, &params);
		double law[TOY];
		for (size_t r = 0; r < TOY; r++) law[FROM_COW[r]] = ranks[table][r];
		check_draws(p, word("cow"), law);
		check_draws(p, NOTHING, even);
		check_draws(p, word("unheard"), even);
		cuttle_perturber_free(&p);
	}
	const char *sensitive[] = {"cow", "bus"};
	for (int m = CUTTLE_SANTEXT; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params = method((enum cuttle_word_method)m, 4000000);
		params.sensitive = sensitive;
		params.sensitive_count = 2;
		params.insecure = true;
		params.insecure_seed = nightly_seed(13);
		struct cuttle_perturber *p = make(words, NULL, &params);
		for (uint32_t id = 0; id < TOY; id++) {
			double distances[TOY], law[TOY];
			for (size_t y = 0; y < TOY; y++)
				distances[y] =
				    2 * fabs(sin((DEGREES[y] - DEGREES[id]) * M_PI / 360));
			baselines_law(p->baselines, id, 0, distances, law);
			check_draws(p, word(TOY_WORDS[id]), law);
		}
		check_draws(p, NOTHING, even);
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

/* Unknown words, stop words and numbers, by each method. */
static void other_places(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	const char *sensitive[] = {"cow", "bus"}, *stop_words[] = {"the", "of", "dog", "a"};
	for (int m = CUTTLE_RANK; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params = method((enum cuttle_word_method)m, 1000000);
		params.sensitive = sensitive;
		params.sensitive_count = 2;
		params.stop_words = stop_words;
		params.stop_word_count = 4;
		params.list_share = .6;
		struct cuttle_perturber *p = make(words, NULL, &params);
		int32_t least = INT32_MAX, most = 0;
		bool unsure = false;
		for (uint64_t i = 0; i < 200; i++) {
			const int32_t number = perturb_one(p, NUMBER, i);
			if (number < least) least = number;
			if (number > most) most = number;
			const int32_t id = perturb_one(p, word("unheard"), i);
			if (m == CUTTLE_RANTEXT) assert_int_equal(id, TOY + CUTTLE_OUTPUT_DROPPED);
			else if (m == CUTTLE_CUSTEXT_PLUS)
				assert_int_equal(id, TOY + CUTTLE_OUTPUT_KEPT);
			else if (m == CUTTLE_SANTEXT_PLUS) assert_true(id == COW || id == BUS);
			else assert_true(id >= 0 && id < TOY);
			const int32_t dog = perturb_one(p, word("dog"), i),
			              the = perturb_one(p, word("the"), i);
			unsure = unsure || dog != DOG;
			if (m == CUTTLE_CUSTEXT_PLUS)
				assert_int_equal(the, TOY + CUTTLE_OUTPUT_KEPT);
		}
		/* Only a stop word is sure to stay. */
		assert_int_equal(unsure, m != CUTTLE_CUSTEXT_PLUS);
		assert_true(least >= TOY && least < TOY + 100);
		assert_true(most < TOY + CUTTLE_OUTPUT_NUMBERS && most > TOY + 900);
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

/* ---- method rank: what is proven ------------------------------------------------------------- */

enum { MANY = 150 }; /* places of a call: three blocks */

/* A source of random bits that repeats, counts, and looks whether a word was looked at. */
struct watched_source {
	uint64_t state;
	size_t calls, bytes, fail_at; /* fail_at: the call that fails; 0 = none */
	const struct cuttle_perturber *perturber;
	bool looked;
};

static bool all_zero(const unsigned char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++)
		if (bytes[i]) return false;
	return true;
}

static enum dp_status fill_watched(void *user, void *bytes, size_t size) {
	struct watched_source *source = user;
	source->calls++;
	source->bytes += size;
	if (source->fail_at && source->calls >= source->fail_at) return DP_NO_ENTROPY;
	const struct cuttle_perturber *p = source->perturber;
	source->looked = source->looked || !all_zero(p->scratch, p->scratch_size);
	for (size_t i = 0; i < size; i++)
		((unsigned char *)bytes)[i] = (unsigned char)tiny_random(&source->state);
	return DP_OK;
}

/* A perturber by rank whose random bits come from *source. */
static struct cuttle_perturber *make_watched(const struct cuttle_words *words,
                                             struct cuttle_model *model,
                                             struct watched_source *source) {
	struct cuttle_perturb_params params = method(CUTTLE_RANK, 2000000);
	struct cuttle_perturber *p = make(words, model, &params);
	const struct dp_rank_params rank = {.shape = DP_RANK_STEP,
	                                    .words = (uint32_t)p->count,
	                                    .near = 2,
	                                    .epsilon_millionths = 2000000,
	                                    .random = {fill_watched, source}};
	dp_rank_free(&p->rank);
	assert_int_equal(dp_rank_new(&rank, &p->rank), DP_OK);
	p->random = rank.random;
	source->perturber = p;
	return p;
}

/* Perturbs MANY places with the same random bits each time. */
static void perturb_many(const struct cuttle_words *words, struct cuttle_model *model,
                         const struct cuttle_place places[MANY], int32_t ids[MANY],
                         struct watched_source *source) {
	*source = (struct watched_source){.state = 17};
	struct cuttle_perturber *p = make_watched(words, model, source);
	assert_int_equal(cuttle_perturb(p, 0, 0, places, MANY, ids, NULL), CUTTLE_OK);
	assert_false(source->looked);
	assert_true(all_zero(p->scratch, p->scratch_size));
	cuttle_perturber_free(&p);
}

/* Where id stands in the order of a word's vector. */
static uint32_t rank_of(const struct cuttle_words *words, const struct cuttle_model *model,
                        const char *text, int32_t id) {
	float vector[TINY_WIDTH], cosines[TOY];
	assert_true(cuttle_words_vector(words, model, text, strlen(text), vector));
	cuttle_words_cosines(words, vector, 1, cosines);
	uint32_t before = 0;
	for (int32_t y = 0; y < TOY; y++) {
		const int32_t key = cosine_key(cosines[y]), own = cosine_key(cosines[id]);
		before += key > own || (key == own && y < id);
	}
	return before;
}

/* The same bits are drawn whatever stands at the places, before any of it is looked at; and they
 * give the same rank for each word. */
static void ranks_do_not_depend_on_words(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	static const char *const other[] = {"dog", "bus", "cat", "unheard", "cow", "x", "car"};
	struct cuttle_place known[MANY], mixed[MANY], nulls[MANY], numbers[MANY];
	for (size_t i = 0; i < MANY; i++) {
		known[i] = word("cow");
		mixed[i] = word(other[i % 7]);
		nulls[i] = NOTHING;
		numbers[i] = NUMBER;
	}
	int32_t of_known[MANY], of_mixed[MANY], of_nulls[MANY], of_numbers[MANY];
	struct watched_source first, source;
	perturb_many(words, NULL, known, of_known, &first);
	perturb_many(words, NULL, mixed, of_mixed, &source);
	assert_int_equal(source.bytes, first.bytes);
	assert_int_equal(source.state, first.state);
	perturb_many(words, NULL, nulls, of_nulls, &source);
	assert_int_equal(source.bytes, first.bytes);
	perturb_many(words, NULL, numbers, of_numbers, &source);
	assert_int_equal(source.bytes, first.bytes);
	size_t seen[TOY] = {0};
	for (size_t i = 0; i < MANY; i++) {
		const uint32_t rank = rank_of(words, NULL, "cow", of_known[i]);
		seen[rank]++;
		if (cuttle_words_find(words, mixed[i].word, mixed[i].size) >= 0)
			assert_int_equal(rank_of(words, NULL, mixed[i].word, of_mixed[i]), rank);
		else assert_int_equal(of_mixed[i], of_nulls[i]);
	}
	for (size_t r = 0; r < TOY; r++) assert_true(seen[r] > 0);
	cuttle_words_free(&words);
}

/* What stands at a place changes no other place. */
static void places_do_not_meet(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	struct cuttle_place places[MANY];
	for (size_t i = 0; i < MANY; i++) places[i] = word(TOY_WORDS[i * 3 % TOY]);
	int32_t before[MANY], after[MANY];
	struct watched_source source;
	perturb_many(words, NULL, places, before, &source);
	static const size_t changed[] = {0, 63, 64, 100, MANY - 1};
	for (size_t j = 0; j < sizeof changed / sizeof *changed; j++) {
		const size_t at = changed[j];
		for (int kind = 0; kind < 3; kind++) {
			const struct cuttle_place kept = places[at];
			places[at] = kind == 0   ? word("car")
			             : kind == 1 ? NOTHING
			                         : word("unheard");
			perturb_many(words, NULL, places, after, &source);
			places[at] = kept;
			after[at] = before[at];
			assert_memory_equal(after, before, sizeof after);
		}
	}
	cuttle_words_free(&words);
}

/* A word that the list does not know stands where its tokens put it: it is neither kept nor dropped
 * nor null. */
static void unknown_words_are_ranked(void **state) {
	(void)state;
	enum { WIDTH = TINY_WIDTH };
	struct cuttle_model *model = tiny_model_open_healthy(1);
	static float vectors[TOY][WIDTH], mean[WIDTH], transform[WIDTH][WIDTH];
	uint64_t seed = 5;
	for (size_t i = 0; i < TOY; i++) vectors[i][i] = 1;
	for (size_t i = 0; i < WIDTH; i++) transform[i][i] = 1;
	struct cuttle_words_params params;
	struct cuttle_words *words;
	cuttle_words_params_default(&params);
	params.count = TOY;
	params.width = WIDTH;
	params.words = TOY_WORDS;
	params.vectors = vectors[0];
	params.mean = mean;
	params.transform = transform[0];
	assert_int_equal(cuttle_words_make(&params, &words, NULL), CUTTLE_OK);
	struct cuttle_place known[MANY], unknown[MANY];
	static const char *const strange[] = {"horse", "yak", "llama", "gnu"};
	for (size_t i = 0; i < MANY; i++) {
		known[i] = word("cow");
		unknown[i] = word(strange[tiny_random(&seed) % 4]);
	}
	int32_t of_known[MANY], of_unknown[MANY];
	struct watched_source source;
	perturb_many(words, model, known, of_known, &source);
	perturb_many(words, model, unknown, of_unknown, &source);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(of_unknown[i] >= 0 && of_unknown[i] < TOY);
		assert_int_equal(rank_of(words, model, unknown[i].word, of_unknown[i]),
		                 rank_of(words, model, "cow", of_known[i]));
	}
	cuttle_words_free(&words);
	cuttle_model_free(&model);
}

static void keys_are_rounded_cosines(void **state) {
	(void)state;
	assert_int_equal(cosine_key(1), 1 << 20);
	assert_int_equal(cosine_key(-1), -(1 << 20));
	assert_int_equal(cosine_key(.75f * 0x1p-20f), 1);
	assert_int_equal(cosine_key(-.75f * 0x1p-20f), -1);
	assert_int_equal(cosine_key(.5f * 0x1p-20f), 0);
	assert_int_equal(cosine_key(1.5f * 0x1p-20f), 2);
	assert_int_equal(cosine_key(.25f * 0x1p-20f), 0);
	for (int32_t i = -3000000; i <= 3000000; i += 77)
		assert_int_equal(cosine_key((float)i / 0x1p21f), (int32_t)rintf((float)i / 2));
	assert_int_equal(cosine_key(NAN), INT32_MIN);
	assert_int_equal(cosine_key(INFINITY), 1 << 21);
	assert_int_equal(cosine_key(-INFINITY), -(1 << 21));
}

/* ---- all methods ----------------------------------------------------------------------------- */

/* With a seed, a place's output is a function of seed, text and place, however calls are cut. */
static void seeds_repeat(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	const char *sensitive[] = {"cow"};
	for (int m = CUTTLE_RANK; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params = method((enum cuttle_word_method)m, 1000000);
		params.sensitive = sensitive;
		params.sensitive_count = 1;
		params.insecure = true;
		params.insecure_seed = 99;
		struct cuttle_perturber *p = make(words, NULL, &params);
		struct cuttle_place places[MANY];
		int32_t at_once[MANY], alone[MANY], other_text[MANY];
		for (size_t i = 0; i < MANY; i++)
			places[i] = i % 9 ? word(TOY_WORDS[i % TOY]) : NOTHING;
		assert_int_equal(cuttle_perturb(p, 4, 0, places, MANY, at_once, NULL), CUTTLE_OK);
		assert_int_equal(cuttle_perturb(p, 5, 0, places, MANY, other_text, NULL),
		                 CUTTLE_OK);
		for (size_t i = MANY; i-- > 0;)
			assert_int_equal(cuttle_perturb(p, 4, i, places + i, 1, alone + i, NULL),
			                 CUTTLE_OK);
		assert_memory_equal(at_once, alone, sizeof alone);
		assert_memory_not_equal(at_once, other_text, sizeof alone);
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

/* Rank alone is private; each method says what holds. */
static void baselines_have_no_guarantee(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	const char *sensitive[] = {"cow"};
	static const char *const says[] = {"exact",        "NO GUARANTEE", "Not counted",
	                                   "NO GUARANTEE", "Not counted",  "NO GUARANTEE"};
	for (int m = CUTTLE_RANK; m <= CUTTLE_CUSTEXT_PLUS; m++)
		for (int insecure = 0; insecure < 2; insecure++) {
			struct cuttle_perturb_params params =
			    method((enum cuttle_word_method)m, 6000000);
			params.sensitive = sensitive;
			params.sensitive_count = 1;
			params.insecure = insecure;
			struct cuttle_perturber *p = make(words, NULL, &params);
			struct cuttle_perturb_guarantee g;
			assert_int_equal(cuttle_perturber_describe(p, 50, &g, NULL), CUTTLE_OK);
			const bool proven = m == CUTTLE_RANK && !insecure;
			assert_int_equal(g.private_output, proven);
			assert_int_equal(isnan(g.epsilon_word), !proven);
			assert_int_equal(isnan(g.epsilon_text), !proven);
			assert_non_null(strstr(g.sentence, insecure ? "NOT PRIVATE" : says[m]));
			if (proven) {
				assert_near(g.epsilon_word, 6, 1e-9);
				assert_near(g.epsilon_text, 300, 1e-9);
				assert_non_null(strstr(g.sentence, "e^6 = 404"));
			}
			assert_int_equal(isnan(g.list_scale), m != CUTTLE_RANTEXT);
			cuttle_perturber_free(&p);
		}
	cuttle_words_free(&words);
}

static void scratch_is_wiped(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	const char *sensitive[] = {"cow"};
	for (int m = CUTTLE_RANK; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params = method((enum cuttle_word_method)m, 6000000);
		params.sensitive = sensitive;
		params.sensitive_count = 1;
		struct cuttle_perturber *p = make(words, NULL, &params);
		const struct cuttle_place places[] = {word("cat"), NOTHING, NUMBER, word("unheard"),
		                                      word("bus")};
		int32_t ids[5];
		assert_int_equal(cuttle_perturb(p, 0, 0, places, 5, ids, NULL), CUTTLE_OK);
		assert_true(all_zero(p->scratch, p->scratch_size));
		if (p->baselines)
			assert_true(all_zero(p->baselines->scratch, p->baselines->scratch_size));
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

/* Without entropy nothing is given out, and the answer does not depend on the places. */
static void entropy_fails(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	struct cuttle_place places[MANY];
	for (size_t i = 0; i < MANY; i++) places[i] = i % 2 ? NOTHING : word("cat");
	for (size_t fail_at = 1; fail_at < 3 * MANY; fail_at += 97) {
		struct watched_source source = {.fail_at = fail_at};
		struct cuttle_perturber *p = make_watched(words, NULL, &source);
		int32_t ids[MANY];
		memset(ids, 0x55, sizeof ids);
		struct cuttle_error error;
		assert_int_equal(cuttle_perturb(p, 0, 0, places, MANY, ids, &error),
		                 CUTTLE_INTERNAL);
		for (size_t i = 0; i < MANY; i++) assert_int_equal(ids[i], 0x55555555);
		assert_true(strlen(error.message) > 0);
		cuttle_perturber_free(&p);
	}
	const char *sensitive[] = {"cow"};
	for (int m = CUTTLE_RANTEXT; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params = method((enum cuttle_word_method)m, 6000000);
		params.sensitive = sensitive;
		params.sensitive_count = 1;
		struct cuttle_perturber *p = make(words, NULL, &params);
		struct watched_source source = {.fail_at = 1, .perturber = p};
		p->random = (struct dp_random){fill_watched, &source};
		int32_t ids[MANY];
		assert_int_equal(cuttle_perturb(p, 0, 0, places, MANY, ids, NULL), CUTTLE_INTERNAL);
		cuttle_perturber_free(&p);
	}
	cuttle_words_free(&words);
}

static void refuse(const struct cuttle_words *words, const struct cuttle_perturb_params *params) {
	struct cuttle_perturber *p;
	struct cuttle_error error = {""};
	assert_int_equal(cuttle_perturber_make(words, NULL, params, &p, &error), CUTTLE_USAGE);
	assert_null(p);
	assert_true(strlen(error.message) > 0);
}

static void bad_parameters_are_refused(void **state) {
	(void)state;
	struct cuttle_words *words = make_toy();
	struct cuttle_perturb_params p;
	const char *unheard[] = {"unheard"};
#define REFUSE(which, change)                                                                      \
	do {                                                                                       \
		p = method(which, 6000000);                                                        \
		change;                                                                            \
		refuse(words, &p);                                                                 \
	} while (0)
	REFUSE(CUTTLE_RANK, p.epsilon_millionths = 0);
	REFUSE(CUTTLE_RANK, p.epsilon_millionths = 64000001);
	REFUSE(CUTTLE_RANK, p.near = 0);
	REFUSE(CUTTLE_RANK, p.near = TOY);
	REFUSE(CUTTLE_RANK, p.struct_size = 0);
	REFUSE(CUTTLE_RANTEXT, p.list_share = 0);
	REFUSE(CUTTLE_RANTEXT, p.list_share = 1);
	REFUSE(CUTTLE_RANTEXT, p.list_share = NAN);
	REFUSE(CUTTLE_SANTEXT_PLUS, p.sensitive = NULL);
	REFUSE(CUTTLE_SANTEXT_PLUS, (p.sensitive = unheard, p.sensitive_count = 1));
	REFUSE(CUTTLE_SANTEXT_PLUS, p.keep_share = 1.5);
	REFUSE(CUTTLE_SANTEXT_PLUS, p.keep_share = NAN);
	REFUSE(CUTTLE_CUSTEXT, p.set_size = 1);
	REFUSE(CUTTLE_CUSTEXT_PLUS, p.set_size = TOY + 1);
#undef REFUSE
	cuttle_words_free(&words);
	const char *const names[] = {"a", "b"};
	words = make_words(names, 2, 1, (float[]){1, 1});
	p = method(CUTTLE_RANTEXT, 6000000);
	refuse(words, &p);
	cuttle_words_free(&words);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(laws_have_their_digits),
	    cmocka_unit_test(laplace_has_its_digits),
	    cmocka_unit_test(laws_of_methods),
	    cmocka_unit_test(rantext_breaks_its_epsilon),
	    cmocka_unit_test(rantext_runs_as_deployed),
	    cmocka_unit_test(rantext_lists_have_their_share),
	    cmocka_unit_test(draws_follow_their_law),
	    cmocka_unit_test(other_places),
	    cmocka_unit_test(ranks_do_not_depend_on_words),
	    cmocka_unit_test(places_do_not_meet),
	    cmocka_unit_test(unknown_words_are_ranked),
	    cmocka_unit_test(keys_are_rounded_cosines),
	    cmocka_unit_test(seeds_repeat),
	    cmocka_unit_test(baselines_have_no_guarantee),
	    cmocka_unit_test(scratch_is_wiped),
	    cmocka_unit_test(entropy_fails),
	    cmocka_unit_test(bad_parameters_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
