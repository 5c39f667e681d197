// SPDX-License-Identifier: Apache-2.0
// Tests measure/next_token.c: by hand, against tests/oracle/next_token.py, and by what must be so.
// It fails if a context reaches over the beginning of a text, if a guess is not the likeliest token
// of all, if the cache sees what comes later or in another text, if tokens beyond the most that
// teach do, or if shuffled texts and those of another kind teach as much as texts of the same.
#include "measure/next_token.h"
#include "tests/support/golden.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST_TEXTS = 64, MOST_TOKENS = 4096 };

struct texts {
	struct next_token_text text[MOST_TEXTS];
	size_t count;
	uint32_t id[MOST_TOKENS];
	size_t used;
};

static void assert_near(double value, double wanted) {
	if (!(fabs(value - wanted) < 1e-9)) fail_msg("%.15g for %.15g", value, wanted);
}

static struct next_token_score score_of(const struct next_token_model *model, const uint32_t *id,
                                        size_t count) {
	const struct next_token_text text = {id, count};
	struct next_token_score score;
	assert_true(next_token_measure(model, &text, 1, &score));
	assert_true(score.tokens == (double)count);
	return score;
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const uint32_t taught[] = {1, 2, 1, 3, 1, 2};
static const struct next_token_text hand[] = {{taught, 4}, {taught + 4, 2}};

static void test_by_hand(void **state) {
	(void)state;
	struct next_token_model *model = next_token_teach(hand, 2, 10);
	assert_non_null(model);
	// Of six tokens three are 1, two 2, one 3. Both texts begin with 1.
	const double one = (3 + .3) / 9, two = (2 + .3) / 9, three = (1 + .3) / 9, other = .3 / 9;
	const double first = (2 + one) / 3;
	static const uint32_t text[] = {1, 2, 7, 7, 1, 3, 1, 2};
	struct next_token_score score = score_of(model, text, 1);
	assert_true(score.right == 1);
	assert_near(score.bits, -log2(first));
	// Behind "1" 2 came twice and 3 once; behind the mark and 1 came 2 twice.
	const double second = (2 + (2 + 2 * two) / 5) / 3;
	score = score_of(model, text, 2);
	assert_true(score.right == 2);
	assert_near(score.bits, -log2(first) - log2(second));
	// Behind 1 2 came 1 once in the first text; the end of the second is no token. 7 is
	// unknown.
	score = score_of(model, text, 3);
	assert_true(score.right == 2);
	assert_near(score.bits, -log2(first) - log2(second) - log2(other / 8));
	// Behind 7 nothing came, so 1 is the likeliest token, even where the cache says 7.
	score = score_of(model, text + 2, 3);
	assert_true(score.right == 1);
	assert_near(score.bits, -log2(other / 3) - log2(other) - log2(.9 * one));
	// Nothing came behind 3. Of the last 1 the cache knows that 3 stood behind 1 before.
	score = score_of(model, text + 4, 4);
	assert_true(score.right == 3);
	assert_near(score.bits, -log2(first) - log2((1 + 2 * three) / 5 / 3) - log2(one) -
	                            log2(.9 * (2 + 2 * two) / 5));
	next_token_free(model);
}

/* Two tokens are equally likely, and the lower one is guessed, in whatever order they came. */
static void test_ties(void **state) {
	(void)state;
	static const uint32_t both[] = {5, 4};
	const struct next_token_text texts[] = {{both, 1}, {both + 1, 1}};
	struct next_token_model *model = next_token_teach(texts, 2, 6);
	assert_non_null(model);
	assert_true(score_of(model, both, 1).right == 0);
	assert_true(score_of(model, both + 1, 1).right == 1);
	next_token_free(model);
}

static void test_nothing(void **state) {
	(void)state;
	static const uint32_t text[] = {0, 3, 0};
	const struct next_token_text empty[] = {{NULL, 0}, {text, 3}};
	struct next_token_score scores[2];
	for (size_t count = 0; count <= 1; count++) {
		struct next_token_model *model = next_token_teach(empty, count, 4);
		assert_non_null(model);
		assert_true(next_token_measure(model, empty, 2, scores));
		assert_true(scores[0].tokens == 0 && scores[0].bits == 0 && scores[0].right == 0);
		assert_true(scores[1].tokens == 3 && scores[1].right == 0);
		assert_near(scores[1].bits, 6);
		assert_true(next_token_measure(model, empty, 0, NULL));
		next_token_free(model);
	}
	// One token in the vocabulary has chance 1, and is known once it was taught.
	static const uint32_t only[] = {0};
	struct next_token_model *model = next_token_teach(&(struct next_token_text){only, 1}, 1, 1);
	assert_non_null(model);
	assert_near(score_of(model, only, 1).bits, 0);
	assert_true(score_of(model, only, 1).right == 1);
	next_token_free(model);
	next_token_free(NULL);
}

/* ---- the second implementation --------------------------------------------------------------- */

static void make_texts(uint64_t seed, size_t count, size_t longest, uint32_t vocabulary,
                       struct texts *texts) {
	texts->count = count;
	texts->used = 0;
	for (size_t i = 0; i < count; i++) {
		const size_t tokens = tiny_random(&seed) % (longest + 1);
		uint32_t token = 0;
		assert_true(texts->used + tokens <= MOST_TOKENS);
		texts->text[i] = (struct next_token_text){texts->id + texts->used, tokens};
		for (size_t t = 0; t < tokens; t++) {
			const bool fresh = tiny_random(&seed) % 3 == 0;
			const uint64_t drawn = tiny_random(&seed);
			token = (uint32_t)(fresh ? drawn % vocabulary
			                         : (3 * token + drawn % 2) % vocabulary);
			texts->id[texts->used++] = token;
		}
	}
}

static void test_oracle(void **state) {
	(void)state;
	static const struct {
		const char *name;
		uint64_t teach, test;
		size_t taught, tested, longest;
		uint32_t vocabulary;
	} cases[] = {
	    {"case_0", 1, 2, 12, 6, 20, 5},  {"case_1", 3, 4, 40, 8, 60, 30},
	    {"case_2", 5, 5, 3, 3, 90, 3},   {"case_3", 6, 7, 0, 2, 9, 4},
	    {"case_4", 8, 9, 30, 4, 200, 2}, {"case_5", 10, 11, 25, 5, 40, 300},
	};
	static struct texts teach, test;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct next_token_score scores[MOST_TEXTS];
		double wanted[3 * MOST_TEXTS];
		make_texts(cases[i].teach, cases[i].taught, cases[i].longest, cases[i].vocabulary,
		           &teach);
		make_texts(cases[i].test, cases[i].tested, cases[i].longest, cases[i].vocabulary,
		           &test);
		struct next_token_model *model =
		    next_token_teach(teach.text, teach.count, cases[i].vocabulary);
		assert_non_null(model);
		assert_true(next_token_measure(model, test.text, test.count, scores));
		assert_int_equal(golden_read("tests/golden/next_token.txt", cases[i].name, wanted,
		                             3 * MOST_TEXTS),
		                 3 * test.count);
		for (size_t t = 0; t < test.count; t++) {
			assert_true(scores[t].tokens == wanted[3 * t]);
			assert_true(scores[t].right == wanted[3 * t + 1]);
			assert_near(scores[t].bits, wanted[3 * t + 2]);
		}
		next_token_free(model);
	}
}

/* ---- what must be so ------------------------------------------------------------------------- */

/* Bits a token, and the share guessed, of 20 texts that were taught by `teach`. */
static struct next_token_score mean_score(const struct texts *teach, const struct texts *test) {
	struct next_token_score scores[MOST_TEXTS], sum = {0};
	struct next_token_model *model = next_token_teach(teach->text, teach->count, 30);
	assert_non_null(model);
	assert_true(next_token_measure(model, test->text, test->count, scores));
	next_token_free(model);
	for (size_t i = 0; i < test->count; i++) {
		sum.tokens += scores[i].tokens;
		sum.right += scores[i].right / (double)test->used;
		sum.bits += scores[i].bits / (double)test->used;
	}
	return sum;
}

static void test_kinds(void **state) {
	(void)state;
	static struct texts same, shuffled, other, test;
	uint64_t random = 77;
	make_texts(20, 60, 60, 30, &same);
	make_texts(21, 20, 60, 30, &test);
	// The same tokens in another order; and texts in which another token comes behind each.
	shuffled = other = same;
	for (size_t i = 0; i < MOST_TEXTS && i < same.count; i++) {
		shuffled.text[i].id = shuffled.id + (same.text[i].id - same.id);
		other.text[i].id = other.id + (same.text[i].id - same.id);
	}
	for (size_t t = same.used; t-- > 1;) {
		const size_t from = tiny_random(&random) % (t + 1);
		const uint32_t kept = shuffled.id[t];
		shuffled.id[t] = shuffled.id[from];
		shuffled.id[from] = kept;
	}
	for (size_t t = 0; t < same.used; t++) other.id[t] = (same.id[t] + 11) % 30;
	const struct next_token_score a = mean_score(&same, &test),
	                              b = mean_score(&shuffled, &test),
	                              c = mean_score(&other, &test);
	print_message("right %.3f %.3f %.3f, bits %.3f %.3f %.3f: same, shuffled, other\n", a.right,
	              b.right, c.right, a.bits, b.bits, c.bits);
	assert_true(a.right > b.right + .1 && a.right > c.right + .1);
	assert_true(a.bits < b.bits - .3 && a.bits < c.bits - .3);
}

/* Behind the most tokens that teach stands one that would be guessed. */
static void test_most(void **state) {
	(void)state;
	uint32_t *id = calloc(NEXT_TOKEN_MOST + 8, sizeof *id);
	assert_non_null(id);
	for (size_t t = 0; t < NEXT_TOKEN_MOST + 8; t++) id[t] = t % 7 ? 1 : (uint32_t)(t % 60000);
	for (size_t t = NEXT_TOKEN_MOST; t < NEXT_TOKEN_MOST + 8; t++) id[t] = 65000;
	struct next_token_text texts[] = {
	    {id, NEXT_TOKEN_MOST - 5}, {id, 0}, {id + NEXT_TOKEN_MOST - 5, 13}, {id, 9}};
	struct next_token_model *more = next_token_teach(texts, 4, 65536);
	texts[2].count = 5;
	struct next_token_model *most = next_token_teach(texts, 3, 65536);
	assert_non_null(more);
	assert_non_null(most);
	static const uint32_t late[] = {65000, 1};
	assert_true(score_of(more, late, 2).bits == score_of(most, late, 2).bits);
	next_token_free(more);
	next_token_free(most);
	free(id);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_by_hand), cmocka_unit_test(test_ties),
	    cmocka_unit_test(test_nothing), cmocka_unit_test(test_oracle),
	    cmocka_unit_test(test_kinds),   cmocka_unit_test(test_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
