// SPDX-License-Identifier: Apache-2.0
// Tests dp/ when memory, the system's randomness or libm fail. Each allocation fails in turn,
// getrandom gives each kind of answer, and an exponential is a little wrong. The linker puts the
// functions below in the place of the real ones.
// It fails if a failure is not reported, if a result is changed all the same, or if freed memory
// holds private numbers.
#include "tests/dp/test_dp_support.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <sys/random.h>
#include <sys/types.h>

#include "dp/account.h"
#include "dp/center.h"
#include "dp/draw.h"
#include "dp/exact.h"
#include "dp/fixed.h"
#include "dp/histogram_account.h"
#include "dp/invisibleink.h"
#include "dp/learn.h"
#include "dp/seats.h"
#include "dp/topk.h"
#include "dp/weights.h"
#include "dp/wide.h"
#include "dp/zcdp.h"

#define NONE ((double)NAN)

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
ssize_t __real_getrandom(void *bytes, size_t size, unsigned flags);
long double __real_expl(long double x);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
long double __wrap_expl(long double x);
void __wrap_free(void *block);

/* allocations: how many still succeed. answers: what getrandom answers to its next calls; 0 calls
 * the real one. wrong: a factor on expl(x) for x > 0. */
static int allocations = INT_MAX, answers[4], next_answer;
static long double wrong = 1;

static bool fails(void) {
	return allocations < INT_MAX && allocations-- == 0;
}

void *__wrap_malloc(size_t size) {
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
	return fails() ? NULL : __real_calloc(count, size);
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags) {
	const int answer = next_answer < 4 ? answers[next_answer++] : 0;
	if (answer == 0) return __real_getrandom(bytes, size, flags);
	if (answer > 0)
		return answer > (int)size ? answer : __real_getrandom(bytes, (size_t)answer, flags);
	errno = -answer;
	return -1;
}

long double __wrap_expl(long double x) {
	return __real_expl(x) * (x > 0 ? wrong : 1);
}

/* The bytes that no freed block may hold, and how many blocks held them. */
static struct {
	const void *bytes;
	size_t size, found;
} secret;

void __wrap_free(void *block) {
	if (block && secret.size)
		secret.found +=
		    memmem(block, malloc_usable_size(block), secret.bytes, secret.size) != NULL;
	__real_free(block);
}

/* Fails allocation 0, 1, 2, ... of the call, until none is left to fail. Returns how many there
 * are. */
#define EACH_ALLOCATION(call, after)                                                               \
	for (int nth_ = 0;; nth_++) {                                                              \
		allocations = nth_;                                                                \
		const enum dp_status status_ = (call);                                             \
		const bool reached_ = allocations < 0;                                             \
		allocations = INT_MAX;                                                             \
		if (!reached_) {                                                                   \
			assert_int_equal(status_, DP_OK);                                          \
			assert_true(nth_ > 0);                                                     \
			break;                                                                     \
		}                                                                                  \
		assert_int_equal(status_, DP_NO_MEMORY);                                           \
		after;                                                                             \
	}

static void no_memory_for_the_accountants(void **state) {
	(void)state;
	double answer = 17;
	uint32_t tokens = 17;
	EACH_ALLOCATION(dp_exact_delta(0.1, 9, 0.2, 16, &answer), assert_true(answer == 17));
	answer = 17;
	EACH_ALLOCATION(dp_exact_epsilon(0.1, 9, 1e-3, 16, &answer), assert_true(answer == 17));
	answer = 17;
	EACH_ALLOCATION(dp_exact_eta(1, 1e-3, 9, 16, &answer), assert_true(answer == 17));
	EACH_ALLOCATION(dp_exact_tokens(0.1, 0.3, 1e-3, 16, &tokens), assert_true(tokens == 17));
	const struct dp_histogram_terms terms = {
	    .accountant = DP_EXACT, .grid = 16, .q = 1, .t = 9};
	const struct dp_claim claim = {.units = 9, .eta = 0.1L};
	answer = 17;
	EACH_ALLOCATION(dp_histogram_delta(&terms, &claim, 0.3, &answer),
	                assert_true(answer == 17));
	answer = 17;
	EACH_ALLOCATION(dp_histogram_epsilon(&terms, &claim, 1e-3, &answer),
	                assert_true(answer == 17));
	struct dp_integers coarse = {.batch = 7,
	                             .tokens = 9,
	                             .temperature_num = 1,
	                             .temperature_den = 1,
	                             .clip_fixed = 4096,
	                             .fraction_bits = 12};
	EACH_ALLOCATION(dp_histogram_lower(&terms, 1, 1e-3, &coarse),
	                assert_int_equal(coarse.clip_fixed, 4096));
	uint32_t cap = 17;
	EACH_ALLOCATION(
	    dp_seats_cap((int64_t[]){150}, (uint64_t[]){10}, (uint64_t[]){10}, 1, 9, 3, 1e-6, &cap),
	    assert_int_equal(cap, 17));
	struct dp_budget b = {.epsilon = 1,
	                      .delta = 1e-3,
	                      .rho = NONE,
	                      .clip = NONE,
	                      .temperature = 1,
	                      .batch = 7,
	                      .tokens = 9,
	                      .accountant = DP_EXACT,
	                      .grid = 16};
	const char *reason = NULL;
	EACH_ALLOCATION(dp_budget_solve(&b, DP_CLIP, &reason),
	                assert_string_equal(reason, "out of memory"));
	struct dp_integers n = {
	    .batch = 7, .tokens = 2, .temperature_num = 1, .temperature_den = 1};
	EACH_ALLOCATION(dp_calibrate_exact(&n, 3, 1e-3, &reason),
	                assert_true(n.clip_fixed == 0 && !strcmp(reason, "out of memory")));
	n.clip_fixed = 0;
	EACH_ALLOCATION(dp_calibrate_exact(&n, 3, 1e-3, NULL), assert_int_equal(n.clip_fixed, 0));
	answer = 17;
	EACH_ALLOCATION(dp_guarantee_exact(&n, 1e-3, &answer), assert_true(answer == 17));
}

static const uint8_t allowed[5] = {1, 0, 1, 1, 1};
static const struct dp_invisibleink_params mechanism = {.batch = 2,
                                                        .top_k = 3,
                                                        .tokens = 9,
                                                        .vocab = 5,
                                                        .temperature_num = 1,
                                                        .temperature_den = 1,
                                                        .clip_fixed = 100,
                                                        .fraction_bits = 8,
                                                        .allowed = allowed};

static void no_memory_for_the_mechanism(void **state) {
	(void)state;
	struct dp_invisibleink_params params = mechanism;
	struct dp_invisibleink *m;
	params.random = dp_random_system();
	EACH_ALLOCATION(dp_invisibleink_new(&params, &m), assert_null(m));
	dp_invisibleink_free(&m);
	assert_null(m);
	dp_invisibleink_free(&m);
}

/* Without memory no answer begins. What records said is wiped with one that ended. */
static void no_memory_for_an_answer(void **state) {
	(void)state;
	enum { WIDTH = 7 };
	static const double u[WIDTH] = {0.5, 0.25, -0.5, 0, 0.125, 0, 0.25};
	static const int32_t q[WIDTH] = {32, 16, -32, 0, 8, 0, 16};
	const struct dp_random random = dp_random_system();
	struct dp_learn *learn;
	int64_t x[WIDTH];
	EACH_ALLOCATION(dp_learn_begin(WIDTH, 1, (struct dp_variance){9, 1}, &random, &learn),
	                assert_null(learn));
	secret.bytes = q;
	secret.size = sizeof q;
	secret.found = 0;
	dp_learn_add(learn, u);
	dp_learn_end(&learn, x);
	assert_int_equal(secret.found, 0);
	secret.size = 0;
}

/* Without memory for a shift a mechanism keeps its weights. */
static void no_memory_for_a_shift(void **state) {
	(void)state;
	static const int32_t shift[5] = {5, 6, 7, 8, 9};
	struct dp_invisibleink_params params = mechanism;
	struct dp_invisibleink *m;
	params.random = dp_random_system();
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	EACH_ALLOCATION(dp_invisibleink_shift(m, shift), (void)0);
	dp_invisibleink_free(&m);
}

/* S, the weights of its tokens and a centred row are wiped before their memory goes back. */
static void nothing_private_is_freed(void **state) {
	(void)state;
	enum { VOCAB = 5 };
	static const float public_row[VOCAB] = {1, -9, 1.5f, 1.25f, 2},
	                   private_row[VOCAB] = {1.125f, 0, 1.75f, 1.5f, 1.875f};
	for (int what = 0; what < 4; what++) {
		struct dp_invisibleink_params params = mechanism;
		struct dp_invisibleink *m;
		const uint32_t *candidates;
		size_t count;
		uint32_t token;
		int32_t sums[VOCAB], row[VOCAB], center[VOCAB];
		struct dp_wide weights[VOCAB];
		float logits[VOCAB];
		params.random = dp_random_system();
		params.center = what == 2;
		assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
		dp_invisibleink_begin(m, 0);
		assert_int_equal(dp_invisibleink_public(m, public_row, &candidates, &count), DP_OK);
		assert_true(count >= 3);
		for (size_t i = 0; i < count; i++) {
			logits[i] = private_row[candidates[i]];
			(void)dp_fix(&public_row[candidates[i]], 1, params.fraction_bits,
			             &center[i]);
		}
		assert_true(dp_fix(logits, count, params.fraction_bits, row));
		dp_center(row, center, count);
		dp_invisibleink_private(m, logits);
		assert_int_equal(dp_invisibleink_draw(m, &token), DP_OK);
		for (size_t i = 0; i < count; i++) {
			sums[i] = dp_invisibleink_sum(m, i);
			weights[i] = dp_wide_product(dp_invisibleink_public_weight(m, i),
			                             dp_invisibleink_private_weight(m, i));
		}
		secret.bytes = what == 0   ? (const void *)sums
		               : what == 1 ? (const void *)weights
		                           : row;
		secret.size = count * (what == 1 ? sizeof *weights : sizeof *sums);
		secret.found = 0;
		void *copy =
		    what == 3 ? malloc(sizeof row) : NULL; // the search finds what is there
		if (copy) memcpy(copy, row, sizeof row);
		free(copy);
		dp_invisibleink_free(&m);
		assert_int_equal(secret.found, what == 3);
		secret.size = 0;
	}
}

/* Where the exponential is wrong by a millionth above 0, the check refuses the table of weights,
 * and there is no mechanism. */
static void a_libm_that_errs(void **state) {
	(void)state;
	struct dp_invisibleink_params params = mechanism;
	struct dp_invisibleink *m;
	struct dp_weights weights;
	params.random = dp_random_system();
	wrong = 1 + 1e-6L;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_SELF_CHECK);
	assert_null(m);
	assert_int_equal(dp_weights_init(&weights, 2, 100, 8, 1, 1, 100), DP_SELF_CHECK);
	assert_null(weights.table);
	wrong = 1;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	dp_invisibleink_free(&m);
}

static enum dp_status fill_after(int first, int second, unsigned char *bytes, size_t size) {
	const struct dp_random random = dp_random_system();
	memset(bytes, 0, size);
	answers[0] = first;
	answers[1] = second;
	answers[2] = answers[3] = next_answer = 0;
	return random.fill(random.user, bytes, size);
}

static bool no_stretch_of_zeros(const unsigned char *bytes, size_t size) {
	size_t zeros = 0;
	for (size_t i = 0; i < size && zeros < 8; i++) zeros = bytes[i] ? 0 : zeros + 1;
	return zeros < 8;
}

/* Interrupted and short answers are continued to the last byte. Any other answer is a failure. */
static void getrandom_in_every_mood(void **state) {
	(void)state;
	unsigned char bytes[32];
	assert_int_equal(fill_after(-EINTR, -EINTR, bytes, sizeof bytes), DP_OK);
	assert_true(no_stretch_of_zeros(bytes, sizeof bytes));
	assert_int_equal(fill_after(5, -EINTR, bytes, sizeof bytes), DP_OK);
	assert_true(no_stretch_of_zeros(bytes, sizeof bytes));
	assert_int_equal(fill_after(-ENOSYS, 0, bytes, sizeof bytes), DP_NO_ENTROPY);
	assert_int_equal(fill_after(9, -EIO, bytes, sizeof bytes), DP_NO_ENTROPY);
	assert_int_equal(fill_after(33, 0, bytes, sizeof bytes), DP_NO_ENTROPY);
	assert_int_equal(fill_after(0, 0, bytes, 0), DP_OK);
}

/* The preconditions that no other test breaks. */
static void preconditions(void **state) {
	(void)state;
	const double bad[] = {0, -1, 1e-310, INFINITY, NONE};
	for (volatile size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_misuse((void)dp_rho_of_clip(bad[i], 1, 1, 1));
		assert_misuse((void)dp_rho_of_clip(1, 1, bad[i], 1));
		assert_misuse((void)dp_clip_of_rho(bad[i], 1, 1, 1));
		assert_misuse((void)dp_clip_of_rho(1, 1, bad[i], 1));
		assert_misuse((void)dp_delta_of_rho(bad[i], 1));
		assert_misuse((void)dp_delta_of_rho(1, bad[i]));
		assert_misuse((void)dp_epsilon_of_rho(bad[i], 0.1));
		assert_misuse((void)dp_epsilon_of_rho(1, bad[i]));
		assert_misuse((void)dp_rho_of_epsilon(bad[i], 0.1));
		assert_misuse((void)dp_rho_of_epsilon(1, bad[i]));
		assert_misuse((void)dp_epsilon_bun_steinke(bad[i], 0.1));
		assert_misuse((void)dp_epsilon_bun_steinke(1, bad[i]));
	}
	assert_misuse((void)dp_rho_of_clip(1, 1, 1, 0));
	assert_misuse((void)dp_clip_of_rho(1, 0, 1, 1));
	assert_misuse((void)dp_clip_of_rho(1, 1, 1, 0));
	assert_misuse((void)dp_budget_solve(NULL, DP_CLIP, NULL));
	assert_misuse((void)dp_clip_fixed(0, 12));
	assert_misuse((void)dp_clip_fixed(1, 17));
	assert_misuse((void)dp_clip_fixed(1e6, 12));
	const struct dp_integers good = {1, 1, 1, 1, 1, 8, 100};
	struct dp_integers none[5] = {good, good, good, good, good};
	none[0].batch = none[1].tokens = 0;
	none[2].temperature_num = none[3].temperature_den = none[4].clip_fixed = 0;
	for (volatile int i = 0; i < 5; i++) assert_misuse((void)dp_guarantee_rho(&none[i]));
	assert_misuse((void)dp_exact_delta(1, 1, 1, 0, NULL));
	assert_misuse((void)dp_exact_eta(1, 0.1, 1, 0, NULL));
	assert_misuse((void)dp_exact_tokens(1, 1, 0.1, 0, NULL));

	const struct dp_random random = dp_random_system();
	const struct dp_wide nothing = {0, 0}, vast = {0, (unsigned __int128)1 << 127};
	size_t index;
	assert_misuse((void)dp_draw(&nothing, 1, &random, &index));
	assert_misuse((void)dp_draw(&vast, 1, &random, &index));
	assert_misuse((void)dp_pick(&vast, 0, nothing));
	float logit = 1;
	int32_t fixed = 1, heap;
	uint32_t candidate;
	assert_misuse((void)dp_fix(&logit, 1, 17, &fixed));
	assert_misuse((void)dp_topk(&fixed, NULL, 0, 0, 1, 1, &heap, &candidate));
	assert_misuse(
	    (void)dp_topk(&fixed, NULL, ((size_t)1 << 24) + 1, 0, 1, 1, &heap, &candidate));
	assert_misuse((void)dp_topk(&fixed, NULL, 1, 0, 0, 1, &heap, &candidate));
	assert_misuse((void)dp_topk(&fixed, NULL, 1, 0, 1, -1, &heap, &candidate));

	struct dp_invisibleink_params params = mechanism;
	struct dp_invisibleink *volatile made = NULL;
	struct dp_invisibleink *m;
	assert_misuse((void)dp_invisibleink_new(&params, &m));
	params.random = random;
	assert_misuse((void)dp_invisibleink_new(NULL, &m));
	assert_misuse((void)dp_invisibleink_new(&params, NULL));
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	made = m;
	assert_misuse((void)dp_invisibleink_sum(made, 0));
	assert_misuse((void)dp_invisibleink_public_weight(made, 0));
	assert_misuse((void)dp_invisibleink_private_weight(made, 0));
	m = made;
	dp_invisibleink_free(&m);
}

static double given(double x, double otherwise) {
	return x != 0 ? x : otherwise;
}

/* Answers at and beyond the ends of double, by either accountant. */
static void beyond_the_range(void **state) {
	(void)state;
	static const struct {
		struct dp_budget budget;
		enum dp_unknown unknown;
		const char *reason;
	} v[] = {
	    /* 0 stands for: not given; in delta for 1e-6, temperature 1, batch 7, tokens 500 */
	    {{.epsilon = 1e300, .temperature = 1e300}, DP_CLIP, "clip would be out"},
	    {{.epsilon = 3, .temperature = 1e-307}, DP_CLIP, "clip would be out"},
	    {{.epsilon = 3, .temperature = 1.5e-307, .group = 4}, DP_CLIP, "clip would be out"},
	    {{.epsilon = 3, .temperature = 1e308, .accountant = DP_EXACT, .batch = 1u << 30},
	     DP_CLIP,
	     "clip would be out"},
	    {{.epsilon = 3, .temperature = 1e-307, .accountant = DP_EXACT, .grid = 8},
	     DP_CLIP,
	     "clip would be out"},
	    {{.rho = DBL_MAX}, DP_EPSILON, "epsilon would be out"},
	    {{.clip = 1e-300, .epsilon = 3, .accountant = DP_EXACT, .grid = 8},
	     DP_BATCH,
	     "rho would be out"},
	    {{.clip = 32, .epsilon = 1e-300, .batch = 1, .tokens = 1, .accountant = DP_EXACT},
	     DP_DELTA,
	     "delta would be 1"},
	    {{.clip = 1, .tokens = 1u << 31, .group = 2, .spread = true},
	     DP_EPSILON,
	     "tokens times group"},
	    {{.clip = 1e308, .group = 2}, DP_EPSILON, "clip times group"},
	    {{.epsilon = 3, .grid = 7}, DP_CLIP, "grid must lie"},
	    {{.epsilon = 3, .grid = 1025}, DP_CLIP, "grid must lie"},
	    {{.epsilon = 500, .clip = 4, .batch = 1, .delta = 0.99, .accountant = DP_EXACT},
	     DP_TOKENS,
	     "this would be out"},
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct dp_budget b = v[i].budget;
		b.epsilon = given(b.epsilon, NONE);
		b.rho = given(b.rho, NONE);
		b.clip = given(b.clip, NONE);
		b.delta = given(b.delta, 1e-6);
		b.temperature = given(b.temperature, 1);
		b.batch = (uint32_t)given(b.batch, 7);
		b.tokens = (uint32_t)given(b.tokens, 500);
		const char *reason = "";
		if (dp_budget_solve(&b, v[i].unknown, &reason) != DP_BAD_PARAMETER ||
		    strncmp(reason, v[i].reason, strlen(v[i].reason)) != 0)
			fail_msg("case %zu: \"%s\", not \"%s\"", i, reason, v[i].reason);
		assert_int_equal(dp_budget_solve(&b, v[i].unknown, NULL), DP_BAD_PARAMETER);
	}
	assert_true(dp_rho_of_epsilon(DBL_MIN, DBL_MIN) == 0);
	double answer;
	uint32_t tokens;
	assert_int_equal(dp_exact_delta(0.1, 8, 1, 7, &answer), DP_BAD_PARAMETER);
	assert_int_equal(dp_exact_eta(1, 0.1, 8, 7, &answer), DP_BAD_PARAMETER);
	assert_int_equal(dp_exact_tokens(0.1, 1, 0.1, 7, &tokens), DP_BAD_PARAMETER);
	assert_int_equal(dp_exact_tokens(64 * (1 + 5e-10), 1, 0.1, 0, &tokens), DP_BAD_PARAMETER);
	/* At large delta many more tokens fit than by zCDP. */
	assert_int_equal(dp_exact_tokens(0.01, 1e-6, 0.25, 8, &tokens), DP_OK);
	assert_true(tokens > 8 + 1.2 * 8 * dp_rho_of_epsilon(1e-6, 0.25) / 1e-4);
	/* The budget of the least clip, without the 1e-9 that the guarantee adds to it. */
	struct dp_integers n = {
	    .batch = 7, .tokens = 200, .temperature_num = 6, .temperature_den = 5};
	const double hair =
	    dp_epsilon_of_rho(dp_rho_of_clip(0x1p-12, 7, 1.2, 200), 1e-6) * (1 + 1e-11);
	const char *reason = "";
	assert_int_equal(dp_calibrate(&n, hair, 1e-6, &reason), DP_BAD_PARAMETER);
	assert_true(strncmp(reason, "clip would be too small", 23) == 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(preconditions),
	    cmocka_unit_test(beyond_the_range),
	    cmocka_unit_test(no_memory_for_the_accountants),
	    cmocka_unit_test(no_memory_for_the_mechanism),
	    cmocka_unit_test(no_memory_for_an_answer),
	    cmocka_unit_test(no_memory_for_a_shift),
	    cmocka_unit_test(nothing_private_is_freed),
	    cmocka_unit_test(a_libm_that_errs),
	    cmocka_unit_test(getrandom_in_every_mood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
