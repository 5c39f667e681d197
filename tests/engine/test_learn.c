// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/learn.c and engine/forward/law.c on a tiny model whose tokens are bytes. It
// fails if a record's vector, the whitening or the clip is not what cuttle/learn.h says, computed
// here in doubles, row by row. It fails if a bit of a vector depends on threads, kernels, shared
// prompts, or the records beside it, if a record without text can be told from null, if an answer
// is not noise and records, or if a plan's public weights do not turn by the bias.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/misuse.h"
#include "dp/invisibleink.h"
#include "dp/learn.h"
#include "engine/cuttle.h"
#include "engine/forward/forward.h"
#include "engine/run/loop/learn.h"
#include "engine/run/plan/plan.h"
#include "kernels/f16.h"
#include "kernels/pack.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 40, TOKENS = 12, RECORDS = 37, RUNS = 3 };

static struct cuttle_plan *plan_of(struct cuttle_model *model, bool sharing) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_error error;
	cuttle_plan_params_default(&params);
	params.clip = 0.5;
	params.batch = 2;
	params.tokens = TOKENS;
	params.kind = "note";
	params.no_sharing = !sharing;
	if (cuttle_plan_make(model, &params, &plan, &error)) fail_msg("%s", error.message);
	return plan;
}

static struct cuttle_learner *learner_of(const struct cuttle_plan *plan) {
	const struct cuttle_learn_params params = {.texts = TEXTS, .tokens = TOKENS};
	struct cuttle_learner *learner;
	struct cuttle_error error;
	if (cuttle_learner_make(plan, &params, &learner, &error)) fail_msg("%s", error.message);
	return learner;
}

/* Records of 1 to 20 letters, of which 12 are read; some cannot be read at all. */
struct records_read {
	const char *texts[RECORDS];
	char letters[RECORDS][24];
	const size_t *order;     /* NULL: as they are */
	double (*u)[TINY_WIDTH]; /* of each, in the order in which they come */
	size_t taken;
};

static const char *const UNREADABLE[] = {NULL, "", " \t ", "\n\n", "ab\xff\xfe"};
enum { UNREADABLE_COUNT = sizeof UNREADABLE / sizeof *UNREADABLE };

static void make_records(struct records_read *of) {
	uint64_t seed = 4;
	*of = (struct records_read){0};
	for (size_t i = 0; i < RECORDS; i++) {
		const size_t size = 1 + tiny_random(&seed) % 20;
		for (size_t j = 0; j < size; j++)
			of->letters[i][j] = (char)('a' + tiny_random(&seed) % 25);
		if (i % 9 == 4) of->letters[i][size / 2] = '\n';
		of->texts[i] = i % 7 == 3 ? UNREADABLE[i / 7 % UNREADABLE_COUNT] : of->letters[i];
	}
}

static void give_test_record(void *user, size_t index, const char **text, size_t *size) {
	const struct records_read *of = user;
	*text = of->texts[of->order ? of->order[index] : index];
	*size = *text ? strlen(*text) : 0;
}

static void keep_vector(void *self, const double *u) {
	struct records_read *of = self;
	memcpy(of->u[of->taken++], u, TINY_WIDTH * sizeof *u);
}

static void read_all(struct cuttle_learner *learner, struct records_read *of, size_t count,
                     double (*u)[TINY_WIDTH]) {
	of->u = u;
	of->taken = 0;
	(void)learner_read(learner, count, give_test_record, of, keep_vector, of);
	assert_int_equal(of->taken, count);
}

/* ---- the formulas, slowly -------------------------------------------------------------------- */

static bool counts(int32_t token) {
	return token != '\n' && (token < TINY_BYTES || token == TINY_NAN);
}

static void vector_of(const struct model *m, int32_t token, double *e) {
	float row[TINY_WIDTH];
	pack_row(&m->head, (size_t)token, row);
	for (size_t i = 0; i < TINY_WIDTH; i++) e[i] = (double)float_of_f16(f16_of_float(row[i]));
}

/* A row at a time: what a text is read by, without anything shared. */
struct slow {
	const struct model *m;
	struct forward *forward;
	struct region region;
	struct context context;
	size_t count; /* tokens so far */
	float logits[(TINY_VOCAB + 15) / 16 * 16];
	double p[TINY_VOCAB], mean[TINY_WIDTH];
};

static void slow_append(struct slow *s, int32_t token) {
	float hidden[TINY_WIDTH];
	const float *rows[] = {hidden};
	const struct row row = {&s->context, s->count++, token, hidden};
	double most = -INFINITY, sum = 0;
	forward_rows(s->forward, &row, 1, false);
	forward_head(s->forward, rows, 1, NULL, (TINY_VOCAB + 15) / 16, s->logits,
	             sizeof s->logits / 4);
	memset(s->mean, 0, sizeof s->mean);
	for (int32_t y = 0; y < TINY_VOCAB; y++)
		if (counts(y)) most = fmax(most, (double)s->logits[y]);
	for (int32_t y = 0; y < TINY_VOCAB; y++)
		sum += s->p[y] = counts(y) ? exp((double)s->logits[y] - most) : 0;
	for (int32_t y = 0; y < TINY_VOCAB; y++) {
		double e[TINY_WIDTH];
		s->p[y] /= sum;
		vector_of(s->m, y, e);
		for (size_t i = 0; i < TINY_WIDTH; i++) s->mean[i] += s->p[y] * e[i];
	}
}

static void slow_begin(struct slow *s, const struct cuttle_plan *plan) {
	size_t kv;
	*s = (struct slow){.m = plan->model};
	assert_int_equal(forward_new(s->m, 1, 1, TINY_CONTEXT, &s->forward, NULL), CUTTLE_OK);
	assert_true(kv_bytes(s->m, TINY_CONTEXT, &kv) && region_map(&s->region, kv, true));
	s->context = (struct context){.own = {region_carve(&s->region, kv), TINY_CONTEXT}};
	for (size_t i = 0; i < plan->prompts->whole.count; i++)
		slow_append(s, plan->prompts->whole.ids[i]);
}

static void slow_end(struct slow *s) {
	region_unmap(&s->region, true);
	forward_free(&s->forward);
}

/* g of a text, and F of it, not divided yet; returns how many of its tokens count. */
static size_t slow_text(const struct cuttle_plan *plan, const int32_t *ids, size_t count, double *g,
                        double (*moments)[TINY_WIDTH]) {
	struct slow s;
	size_t some = 0;
	slow_begin(&s, plan);
	for (size_t i = 0; i < TINY_WIDTH; i++) g[i] = 0;
	for (size_t t = 0; t < count; t++) {
		double e[TINY_WIDTH];
		vector_of(plan->model, ids[t], e);
		for (size_t i = 0; counts(ids[t]) && i < TINY_WIDTH; i++) g[i] += e[i] - s.mean[i];
		some += counts(ids[t]);
		for (int32_t y = 0; moments && y < TINY_VOCAB; y++) {
			vector_of(plan->model, y, e);
			for (size_t i = 0; i < TINY_WIDTH; i++)
				for (size_t j = 0; j < TINY_WIDTH; j++)
					moments[i][j] +=
					    s.p[y] * (e[i] - s.mean[i]) * (e[j] - s.mean[j]);
		}
		slow_append(&s, ids[t]);
	}
	slow_end(&s);
	return some;
}

/* What a token weighs in a public text: the first one is none that ends it. */
static double weigh(const struct slow *s, size_t step, int32_t y) {
	return step || counts(y) ? exp((double)s->logits[y]) : 0;
}

/* The public texts: token t of text i is where the law passes the number that the seed gives. */
static size_t slow_public(const struct cuttle_plan *plan, size_t text, int32_t *ids) {
	struct slow s;
	size_t count = 0;
	slow_begin(&s, plan);
	for (; count < TOKENS; count++) {
		struct seeded seeded = {.heading = SEEDED_PUBLIC, .text = text, .step = count};
		const struct dp_random random = seeded_random(&seeded);
		uint64_t bits;
		double sum = 0, passed = 0;
		int32_t token = -1;
		assert_int_equal(random.fill(random.user, &bits, sizeof bits), DP_OK);
		for (int32_t y = 0; y <= TINY_EOS; y++) sum += weigh(&s, count, y);
		// A control token, and "zz", which is no byte, but may be drawn.
		sum += weigh(&s, count, TINY_NAN);
		while (passed <= ldexp((double)(bits >> 11), -53) * sum) {
			token += 1 + (token == TINY_EOS);
			passed += weigh(&s, count, token);
		}
		if (!counts(token)) break;
		ids[count] = token;
		slow_append(&s, token);
	}
	slow_end(&s);
	return count;
}

/* So many that an answer of 2^30 is no longer than they may be. */
enum { PLACES_OF_AXES = CUTTLE_LEARN_RECORDS };

/* A / clip, read off what an answer of one number alone gives. */
static void read_axes(const struct cuttle_learner *learner, double (*axes)[TINY_WIDTH]) {
	const struct cuttle_learner_info info = cuttle_learner_describe(learner);
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 1, 1u << 31};
	for (size_t k = 0; k < TINY_WIDTH; k++) {
		int64_t answer[TINY_WIDTH] = {0};
		answer[k] = INT64_C(1) << 30;
		const double share =
		    cuttle_learner_bias(learner, answer, PLACES_OF_AXES, &query, axes[k]);
		assert_true(share > 0.999999);
		for (size_t i = 0; i < TINY_WIDTH; i++)
			axes[k][i] *= 64.0 * PLACES_OF_AXES * info.mean_tokens * 0.85 /
			              (0.6 * share * info.clip * info.clip * 0x1p30);
	}
}

static int compare_doubles(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void vectors_are_the_formula(void **state) {
	(void)state;
	static double axes[TINY_WIDTH][TINY_WIDTH], moments[TINY_WIDTH][TINY_WIDTH],
	    u[RECORDS][TINY_WIDTH], public[TEXTS][TINY_WIDTH];
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	const struct cuttle_learner_info info = cuttle_learner_describe(learner);
	double lengths[TEXTS], squares[TINY_WIDTH] = {0}, trace = 0;
	size_t tokens = 0, rows = 0;
	assert_int_equal(info.width, TINY_WIDTH);
	read_axes(learner, axes);
	for (size_t text = 0; text < TEXTS; text++) {
		int32_t ids[TOKENS];
		const size_t count = slow_public(plan, text, ids);
		tokens += count;
		rows += slow_text(plan, ids, count, public[text], moments);
	}
	assert_true(fabs(info.mean_tokens - (double)tokens / TEXTS) < 1e-12);
	for (size_t i = 0; i < TINY_WIDTH; i++) trace += moments[i][i] / (double)rows;
	// (A / clip) (F + ridge) (A / clip)' clip^2 = 1
	for (size_t a = 0; a < TINY_WIDTH; a++)
		for (size_t b = 0; b < TINY_WIDTH; b++) {
			double sum = 0;
			for (size_t i = 0; i < TINY_WIDTH; i++)
				for (size_t j = 0; j < TINY_WIDTH; j++)
					sum += axes[a][i] * axes[b][j] *
					       (moments[i][j] / (double)rows +
					        (i == j ? trace / (10 * TINY_WIDTH) : 0));
			assert_true(fabs(sum * info.clip * info.clip - (a == b)) < 1e-3);
		}
	// A row is the shorter the larger its eigenvalue is: that one comes first.
	for (size_t k = 0; k < TINY_WIDTH; k++)
		for (size_t i = 0; i < TINY_WIDTH; i++) squares[k] += axes[k][i] * axes[k][i];
	for (size_t k = 1; k < TINY_WIDTH; k++)
		assert_true(squares[k] > squares[k - 1] * (1 - 1e-5));
	assert_true(squares[TINY_WIDTH - 1] > 2 * squares[0]);
	for (size_t text = 0; text < TEXTS; text++) {
		lengths[text] = 0;
		for (size_t k = 0; k < TINY_WIDTH; k++) {
			double turned = 0;
			for (size_t i = 0; i < TINY_WIDTH; i++)
				turned += axes[k][i] * public[text][i];
			lengths[text] += turned * turned;
		}
	}
	qsort(lengths, TEXTS, sizeof *lengths, compare_doubles);
	assert_true(fabs(0.85 * sqrt(lengths[TEXTS / 2]) - 1) < 1e-3); // in units of the clip
	make_records(&of);
	read_all(learner, &of, RECORDS, u);
	for (size_t record = 0; record < RECORDS; record++) {
		int32_t ids[64];
		double g[TINY_WIDTH];
		const char *text = of.texts[record];
		size_t count = 0;
		if (text && text[strspn(text, " \t\n")] && record % 7 != 3)
			assert_int_equal(cuttle_tokenize(model, text, strlen(text), false, ids, 64,
			                                 &count, NULL),
			                 CUTTLE_OK);
		(void)slow_text(plan, ids, count < TOKENS ? count : TOKENS, g, NULL);
		for (size_t k = 0; k < TINY_WIDTH; k++) {
			double turned = 0;
			for (size_t i = 0; i < TINY_WIDTH; i++) turned += axes[k][i] * g[i];
			assert_true(fabs(turned - u[record][k]) < 1e-3);
		}
	}
	cuttle_learner_free(&learner);
	assert_null(learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* ---- isolation ------------------------------------------------------------------------------- */

static void vectors_are_isolated(void **state) {
	(void)state;
	static double base[RECORDS][TINY_WIDTH], u[RECORDS][TINY_WIDTH], zero[TINY_WIDTH];
	static struct records_read of;
	const struct kernels *tiers[8];
	const size_t tier_count = kernels_available(tiers);
	size_t order[RECORDS];
	make_records(&of);
	for (size_t way = 0; way < 3 + tier_count; way++) {
		assert_true(kernels_set(way < 3 ? "auto" : tiers[way - 3]->name));
		struct cuttle_model *model = tiny_model_open_healthy(way == 2 ? 3 : 1);
		struct cuttle_plan *plan = plan_of(model, way != 1);
		struct cuttle_learner *learner = learner_of(plan);
		of.order = NULL;
		read_all(learner, &of, RECORDS, way ? u : base);
		if (way) assert_memory_equal(u, base, sizeof u);
		// Alone, and in another order.
		for (size_t i = 0; i < RECORDS; i++) order[i] = (i * 5 + 3) % RECORDS;
		of.order = order;
		read_all(learner, &of, RECORDS, u);
		for (size_t i = 0; i < RECORDS; i++)
			assert_memory_equal(u[i], base[order[i]], sizeof *u);
		for (size_t i = 0; i < RECORDS; i++) {
			of.order = &i;
			read_all(learner, &of, 1, u);
			assert_memory_equal(u[0], base[i], sizeof *u);
		}
		cuttle_learner_free(&learner);
		cuttle_plan_free(&plan);
		cuttle_model_free(&model);
	}
	assert_true(kernels_set("auto"));
	for (size_t i = 0; i < RECORDS; i++)
		assert_int_equal(memcmp(base[i], zero, sizeof zero) == 0, i % 7 == 3);
}

/* A record of which a logit is no number is null, and says nothing. */
static void numbers_that_are_none_are_null(void **state) {
	(void)state;
	const struct cuttle_learn_params params = {.texts = 1, .tokens = 3};
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 81, 1};
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner;
	struct cuttle_error error = {""};
	int64_t with[TINY_WIDTH], without[TINY_WIDTH];
	const uint64_t seed = 9;
	if (cuttle_learner_make(plan, &params, &learner, &error)) fail_msg("%s", error.message);
	of.texts[0] = "ab";
	of.texts[1] = "zzab";
	assert_int_equal(cuttle_learner_read(learner, 2, give_test_record, NULL, &of, &query, &seed,
	                                     with, &error),
	                 CUTTLE_OK);
	of.texts[1] = NULL;
	assert_int_equal(cuttle_learner_read(learner, 2, give_test_record, NULL, &of, &query, &seed,
	                                     without, &error),
	                 CUTTLE_OK);
	assert_memory_equal(with, without, sizeof with);
	assert_string_equal(error.message, "");
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* ---- the answer, and what follows ------------------------------------------------------------ */

/* Owners of three records each, the last one of fewer. */
static bool end_owner(void *user, size_t index) {
	(void)user;
	return index % 3 == 2 || index + 1 == RECORDS;
}

/* The records of an owner are one vector, which is cut as one. */
static void owners_are_one_vector(void **state) {
	(void)state;
	static double u[RECORDS][TINY_WIDTH];
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 81, 1};
	struct cuttle_error error;
	int64_t answer[TINY_WIDTH], wanted[TINY_WIDTH];
	const uint64_t seed = 4;
	double sum[TINY_WIDTH] = {0};
	int32_t q[TINY_WIDTH];
	make_records(&of);
	read_all(learner, &of, RECORDS, u);
	assert_int_equal(cuttle_learner_read(learner, 0, give_test_record, NULL, &of, &query, &seed,
	                                     wanted, &error),
	                 CUTTLE_OK);
	for (size_t i = 0; i < RECORDS; i++) {
		for (size_t k = 0; k < TINY_WIDTH; k++) sum[k] += u[i][k];
		if (!end_owner(NULL, i)) continue;
		dp_learn_round(sum, TINY_WIDTH, q);
		for (size_t k = 0; k < TINY_WIDTH; k++) wanted[k] += q[k];
		memset(sum, 0, sizeof sum);
	}
	assert_int_equal(cuttle_learner_read(learner, RECORDS, give_test_record, end_owner, &of,
	                                     &query, &seed, answer, &error),
	                 CUTTLE_OK);
	assert_memory_equal(answer, wanted, sizeof answer);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static void answers_are_noise_and_vectors(void **state) {
	(void)state;
	static double u[RECORDS][TINY_WIDTH];
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	struct cuttle_query query = {.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
	struct cuttle_error error;
	int64_t answer[TINY_WIDTH], noise[TINY_WIDTH];
	int32_t q[TINY_WIDTH];
	assert_int_equal(cuttle_queries_solve(&query, 1, 3, 1e-6, &error), CUTTLE_OK);
	make_records(&of);
	read_all(learner, &of, RECORDS, u);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		assert_int_equal(cuttle_learner_read(learner, 0, give_test_record, NULL, &of,
		                                     &query, &seed, noise, &error),
		                 CUTTLE_OK);
		assert_int_equal(cuttle_learner_read(learner, RECORDS, give_test_record, NULL, &of,
		                                     &query, &seed, answer, &error),
		                 CUTTLE_OK);
		for (size_t i = 0; i < RECORDS; i++) {
			dp_learn_round(u[i], TINY_WIDTH, q);
			for (size_t k = 0; k < TINY_WIDTH; k++) noise[k] += q[k];
		}
		assert_memory_equal(answer, noise, sizeof answer);
	}
	// Without a seed the system's bits: another noise each time.
	assert_int_equal(cuttle_learner_read(learner, 0, give_test_record, NULL, &of, &query, NULL,
	                                     noise, &error),
	                 CUTTLE_OK);
	assert_int_equal(cuttle_learner_read(learner, 0, give_test_record, NULL, &of, &query, NULL,
	                                     answer, &error),
	                 CUTTLE_OK);
	assert_memory_not_equal(answer, noise, sizeof answer);
	assert_int_equal(cuttle_learner_read(learner, CUTTLE_LEARN_RECORDS + (size_t)1,
	                                     give_test_record, NULL, &of, &query, NULL, answer,
	                                     &error),
	                 CUTTLE_USAGE);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static jmp_buf misused;

static void spring_misuse(const char *what) {
	(void)what;
	longjmp(misused, 1);
}

/* The noise of a query is for vectors as long as its square says, given once. Another is misuse. */
static void other_queries_are_misuse(void **state) {
	(void)state;
	static const struct cuttle_query others[] = {{CUTTLE_LEARN_SQUARE / 4, 1, 1, 81, 1},
	                                             {CUTTLE_LEARN_SQUARE, 2, 1, 81, 1}};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	static struct records_read of;
	for (volatile size_t i = 0; i < 2; i++) {
		int64_t answer[TINY_WIDTH];
		cuttle_misuse_hook(spring_misuse);
		if (setjmp(misused) == 0) {
			const enum cuttle_status status =
			    cuttle_learner_read(learner, 0, give_test_record, NULL, &of, &others[i],
			                        NULL, answer, NULL);
			cuttle_misuse_hook(NULL);
			fail_msg("query %zu is read: %d", i, (int)status);
		}
		cuttle_misuse_hook(NULL);
	}
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* Stops where the records begin: the public texts were told of with 0, or all at once before. */
static int stop_reading(void *user, size_t texts) {
	size_t *left = user;
	if (*left <= texts) return 1;
	*left -= texts;
	return 0;
}

/* A sum that lacks records is no answer: nothing of it is given. */
static void stopped_answers_are_none(void **state) {
	(void)state;
	size_t left = TEXTS + 20;
	const struct cuttle_learn_params params = {
	    .texts = TEXTS, .tokens = TOKENS, .progress = stop_reading, .user = &left};
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 81, 1};
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner;
	struct cuttle_error error;
	int64_t answer[TINY_WIDTH], none[TINY_WIDTH] = {0};
	const uint64_t seed = 4;
	make_records(&of);
	if (cuttle_learner_make(plan, &params, &learner, &error)) fail_msg("%s", error.message);
	memset(answer, 7, sizeof answer);
	assert_int_equal(cuttle_learner_read(learner, RECORDS, give_test_record, NULL, &of, &query,
	                                     &seed, answer, &error),
	                 CUTTLE_PARTIAL);
	assert_memory_equal(answer, none, sizeof answer);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* Each sixteenth of an answer has a share of its own; all count places, null ones too. */
static void biases_are_shares_of_answers(void **state) {
	(void)state;
	enum { PART = TINY_WIDTH / 16, PLACES = 100 };
	static double axes[TINY_WIDTH][TINY_WIDTH];
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	const struct cuttle_learner_info info = cuttle_learner_describe(learner);
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 90000, 2};
	const struct dp_variance v = {90000, 2};
	int64_t answer[TINY_WIDTH] = {0};
	double bias[TINY_WIDTH], shares[16], most = 0, square = 0;
	read_axes(learner, axes);
	for (size_t k = 0; k < TINY_WIDTH; k++) answer[k] = (int64_t)(k * k) - 1000;
	for (size_t part = 0; part < 16; part++)
		shares[part] = dp_learn_share(answer + part * PART, PART, TINY_WIDTH, PLACES, v);
	assert_true(shares[7] == 0 && shares[15] > 0.9 && shares[0] > 0.5 && shares[0] < 0.95);
	const double share = cuttle_learner_bias(learner, answer, PLACES, &query, bias);
	assert_true(share == dp_learn_share(answer, TINY_WIDTH, TINY_WIDTH, PLACES, v));
	for (size_t i = 0; i < TINY_WIDTH; i++) most = fmax(most, fabs(bias[i]));
	// No mean is longer than the clip, whatever noise makes of it.
	for (size_t k = 0; k < TINY_WIDTH; k++)
		square += pow(shares[k / PART] * (double)answer[k], 2);
	const double cut = 64 * PLACES / sqrt(square);
	assert_true(cut < 0.9);
	for (size_t i = 0; i < TINY_WIDTH; i++) {
		double sum = 0;
		for (size_t k = 0; k < TINY_WIDTH; k++)
			sum += shares[k / PART] * (double)answer[k] * axes[k][i];
		const double expected = 0.6 / 0.85 * cut * sum * info.clip * info.clip /
		                        (64 * PLACES * info.mean_tokens);
		assert_true(fabs(bias[i] - expected) < 1e-5 * most);
	}
	// A little more than noise has on average is none: it may be noise.
	const double least = cuttle_learn_least_share(TINY_WIDTH);
	assert_true(fabs(least - 0.3466) < 1e-4);
	for (size_t way = 0; way < 2; way++) {
		const double square_of =
		    (TINY_WIDTH * 45000.0 + PLACES * 4096.0) / (1 - least * (way ? 1.01 : 0.99));
		for (size_t k = 0; k < TINY_WIDTH; k++)
			answer[k] = llround(sqrt(square_of / TINY_WIDTH));
		assert_true((cuttle_learner_bias(learner, answer, PLACES, &query, bias) > 0) ==
		            (way == 1));
		assert_true((bias[0] != 0) == (way == 1));
	}
	// Noise as a whole: no bias, though a sixteenth of it is large.
	memset(answer, 0, sizeof answer);
	answer[1] = 1000;
	assert_true(dp_learn_share(answer, PART, TINY_WIDTH, 0, v) > 0.8);
	assert_true(cuttle_learner_bias(learner, answer, 0, &query, bias) == 0);
	for (size_t i = 0; i < TINY_WIDTH; i++) assert_true(bias[i] == 0);
	// Of no places there is no mean, however long the answer is.
	for (size_t k = 0; k < TINY_WIDTH; k++) answer[k] = 1000000;
	assert_true(cuttle_learner_bias(learner, answer, 0, &query, bias) == 0);
	for (size_t i = 0; i < TINY_WIDTH; i++) assert_true(bias[i] == 0);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* What is public of a learner knows nothing of the records that it has read: not how many of them
 * are null, not how long their vectors are, not in which directions these go. */
static void public_numbers_know_no_record(void **state) {
	(void)state;
	static double u[RECORDS][TINY_WIDTH];
	static struct records_read of;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learner *learner = learner_of(plan);
	const struct cuttle_learner_info info = cuttle_learner_describe(learner);
	const struct cuttle_query query = {CUTTLE_LEARN_SQUARE, 1, 1, 81, 1};
	int64_t answer[TINY_WIDTH];
	double before[TINY_WIDTH], after[TINY_WIDTH];
	for (size_t k = 0; k < TINY_WIDTH; k++) answer[k] = 70 + (int64_t)k;
	const double share = cuttle_learner_bias(learner, answer, RECORDS, &query, before);
	assert_true(share > 0 && share < 1);
	make_records(&of);
	read_all(learner, &of, RECORDS, u);
	assert_true(cuttle_learner_bias(learner, answer, RECORDS, &query, after) == share);
	assert_memory_equal(after, before, sizeof after);
	assert_true(cuttle_learner_describe(learner).clip == info.clip);
	assert_true(cuttle_learner_describe(learner).mean_tokens == info.mean_tokens);
	cuttle_learner_free(&learner);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

/* The public weights of two tokens of a row, with and without a bias. */
static double log_ratio(struct cuttle_plan *plan, const float *row, uint32_t *first,
                        uint32_t *second) {
	struct dp_invisibleink *m = plan->mechanism.self;
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, row, &candidates, &count), DP_OK);
	*first = candidates[3];
	*second = candidates[40];
	const double ratio = log((double)(long double)dp_invisibleink_public_weight(m, 3)) -
	                     log((double)(long double)dp_invisibleink_public_weight(m, 40));
	assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
	return ratio;
}

static void weights_turn_by_a_bias(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_error error;
	double bias[TINY_WIDTH], e[2][TINY_WIDTH], expected = 0;
	float row[TINY_VOCAB];
	uint32_t token[2], again[2];
	uint64_t seed = 6;
	for (size_t i = 0; i < TINY_WIDTH; i++)
		bias[i] = (double)(tiny_random(&seed) % 100) * 0.01 - 0.5;
	for (size_t y = 0; y < TINY_VOCAB; y++) row[y] = (float)(tiny_random(&seed) % 32) / 16;
	const double before = log_ratio(plan, row, &token[0], &token[1]);
	assert_int_equal(cuttle_bias_use(plan, bias, &error), CUTTLE_OK);
	const double after = log_ratio(plan, row, &again[0], &again[1]);
	assert_memory_equal(token, again, sizeof token); // V+ stays
	for (int i = 0; i < 2; i++) vector_of(&model->model, (int32_t)token[i], e[i]);
	for (size_t i = 0; i < TINY_WIDTH; i++) expected += (e[0][i] - e[1][i]) * bias[i];
	assert_true(fabs(expected) > 0.01);
	assert_true(fabs(after - before - expected) < 2e-3); // steps of 2^-F, and fp16
	bias[5] = (double)NAN;
	assert_int_equal(cuttle_bias_use(plan, bias, &error), CUTTLE_USAGE);
	assert_true(log_ratio(plan, row, &again[0], &again[1]) == after); // as before
	for (size_t i = 0; i < TINY_WIDTH; i++) bias[i] = 1e300;
	assert_int_equal(cuttle_bias_use(plan, bias, &error), CUTTLE_OK);
	cuttle_plan_free(&plan);
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 30;
	params.batch = 2;
	params.tokens = TOKENS;
	params.method = CUTTLE_PMIXED;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_OK);
	bias[0] = 0;
	assert_int_equal(cuttle_bias_use(plan, bias, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "a bias is for InvisibleInk alone");
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

static void learners_that_cannot_be(void **state) {
	(void)state;
	static const struct cuttle_learn_params wrong[] = {{.texts = 0, .tokens = 9},
	                                                   {.texts = 9, .tokens = 0},
	                                                   {.texts = 9, .tokens = 257},
	                                                   {.texts = (1 << 16) + 1, .tokens = 9}};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan = plan_of(model, true);
	struct cuttle_learn_params params;
	struct cuttle_learner *learner;
	struct cuttle_error error;
	cuttle_learn_params_default(&params);
	assert_int_equal(params.texts, 160);
	assert_int_equal(params.tokens, 40);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(cuttle_learner_make(plan, &wrong[i], &learner, &error),
		                 CUTTLE_USAGE);
		assert_null(learner);
	}
	cuttle_plan_free(&plan);
	struct cuttle_plan_params long_ones;
	char example[300];
	const char *const examples[] = {example};
	memset(example, 'a', sizeof example - 1);
	example[sizeof example - 1] = 0;
	cuttle_plan_params_default(&long_ones);
	long_ones.clip = 0.5;
	long_ones.batch = 2;
	long_ones.tokens = TOKENS;
	long_ones.examples = examples;
	long_ones.example_count = 1;
	assert_int_equal(cuttle_plan_make(model, &long_ones, &plan, &error), CUTTLE_OK);
	params.tokens = 256;
	assert_int_equal(cuttle_learner_make(plan, &params, &learner, &error), CUTTLE_USAGE);
	assert_null(learner);
	cuttle_learner_free(&learner);
	cuttle_learner_free(NULL);
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vectors_are_the_formula),
	    cmocka_unit_test(vectors_are_isolated),
	    cmocka_unit_test(numbers_that_are_none_are_null),
	    cmocka_unit_test(owners_are_one_vector),
	    cmocka_unit_test(answers_are_noise_and_vectors),
	    cmocka_unit_test(other_queries_are_misuse),
	    cmocka_unit_test(stopped_answers_are_none),
	    cmocka_unit_test(biases_are_shares_of_answers),
	    cmocka_unit_test(public_numbers_know_no_record),
	    cmocka_unit_test(weights_turn_by_a_bias),
	    cmocka_unit_test(learners_that_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
