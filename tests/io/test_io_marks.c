// SPDX-License-Identifier: Apache-2.0
// Tests that io/documents/marks.c decides nothing public by contents. Pairs of documents have equal
// spans and other contents, of other lengths, under every kind of groups. It fails if without a
// sweep their public part, groups, costs, charge or receipt differ; if with a sweep their groups,
// costs, charge or receipt do, or are others than without it; or if a sweep moves, joins or drops
// what spans mark.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/documents/marks.h"
#include "io/receipts/sanitize_receipt.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16, SPANS = 8, PAIRS = 500, TYPES = 5 };

static const char *const TYPE_NAMES[TYPES] = {"A", "B", "BB", "C", "L"};
/* Few, so that contents often stand again, in other marks and outside of them. */
static const char *const WORDS[] = {"Victoria", "VICTORIA",   "Veronica", "Ann",
                                    "ann roe",  "Ann\r\nRoe", "Roe",      "Bo",
                                    "\u00c9va", "Ev",         "x",        "a-a"};
static const char *const JOINTS[] = {" ", ", ", "-", ". The ", "\n", " was treated in "};

/* A document as parts: words, with joints between them. */
struct parts {
	size_t count;
	const char *text[PARTS];
	struct part_span {
		size_t first, last; /* parts */
		uint32_t type;
	} spans[SPANS];
	size_t span_count;
};

static size_t pick(uint64_t *random, size_t count) {
	return (size_t)(tiny_random(random) % count);
}

static const char *pick_part(uint64_t *random, size_t part) {
	return part % 2 ? JOINTS[pick(random, sizeof JOINTS / sizeof *JOINTS)]
	                : WORDS[pick(random, sizeof WORDS / sizeof *WORDS)];
}

static void draw_parts(uint64_t *random, struct parts *parts) {
	*parts = (struct parts){.count = 3 + 2 * pick(random, (PARTS - 2) / 2),
	                        .span_count = pick(random, SPANS + 1)};
	for (size_t i = 0; i < parts->count; i++) parts->text[i] = pick_part(random, i);
	for (size_t i = 0; i < parts->span_count; i++) {
		struct part_span *span = &parts->spans[i];
		span->first = pick(random, parts->count);
		span->last = span->first + (pick(random, 3) ? 0 : pick(random, 3));
		if (span->last >= parts->count) span->last = parts->count - 1;
		span->type = (uint32_t)pick(random, TYPES);
	}
}

/* The same document, with other contents where spans mark it. Spans of L may be public. */
static struct parts with_other_contents(uint64_t *random, const struct parts *parts) {
	struct parts other = *parts;
	for (size_t i = 0; i < parts->span_count; i++)
		for (size_t j = parts->spans[i].first; j <= parts->spans[i].last; j++)
			if (strcmp(TYPE_NAMES[parts->spans[i].type], "L") != 0)
				other.text[j] = pick_part(random, pick(random, 2));
	return other;
}

/* What follows from a document. */
struct outcome {
	struct spans spans;
	struct span_types types;
	struct marks marks;
	struct arena blank;
};

static void make_outcome(const struct parts *parts, const struct groups *groups, bool sweep,
                         struct outcome *outcome) {
	size_t starts[PARTS + 1] = {0};
	struct cuttle_error error;
	outcome->spans.text.used = outcome->spans.list.used = outcome->blank.used = 0;
	outcome->types.count = 0;
	for (size_t i = 0; i < parts->count; i++) {
		const size_t size = strlen(parts->text[i]);
		assert_true(arena_append(&outcome->spans.text, parts->text[i], size));
		starts[i + 1] = starts[i] + size;
	}
	for (size_t i = 0; i < parts->span_count; i++) {
		const struct part_span *span = &parts->spans[i];
		assert_int_equal(spans_add(&outcome->spans, &outcome->types, starts[span->first],
		                           starts[span->last + 1], TYPE_NAMES[span->type], &error),
		                 CUTTLE_OK);
	}
	if (marks_make(&outcome->spans, &outcome->types, groups, sweep, &outcome->marks, &error) ||
	    marks_write(&outcome->marks, &outcome->spans, &outcome->types, MARKS_BLANK, "[{type}]",
	                &outcome->blank, &error))
		fail_msg("%s", error.message);
}

static void free_outcome(struct outcome *outcome) {
	spans_free(&outcome->spans);
	marks_free(&outcome->marks);
	arena_free(&outcome->blank);
}

/* The receipt of a run over this document. */
static char *receipt_of(const struct outcome *outcome, const struct groups *groups,
                        enum cuttle_mix mix, bool sweep, double *charge) {
	double caps[GROUPS_MOST][GROUPS_MOST];
	struct sanitize_receipt receipt = {.groups = groups,
	                                   .documents = 1,
	                                   .isa = "scalar",
	                                   .placeholder = "_",
	                                   .tagger = "",
	                                   .form = "auto",
	                                   .offsets = "bytes",
	                                   .sweep = sweep,
	                                   .chosen = sweep ? REWRITE_BY_SWEEP : 0,
	                                   .date = "2026-01-31"};
	receipt.guarantee =
	    (struct cuttle_rewrite_guarantee){.delta = 1e-3,
	                                      .mix = mix,
	                                      .alpha = 2,
	                                      .groups = (uint32_t)groups_count(groups),
	                                      .tokens = 50,
	                                      .max_length = 50,
	                                      .private_output = true};
	receipt.marked[__builtin_popcount(marks_groups(&outcome->marks))] = 1;
	for (size_t m = 0; m < GROUPS_MOST; m++)
		for (size_t g = 0; g < GROUPS_MOST; g++)
			caps[m][g] = 0.01 * (double)(g + 1) / (double)(m + 1);
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_OK);
	*charge = sanitize_receipt_charge(&receipt);
	json_t *root = sanitize_receipt_json(&receipt, "", "");
	char *text = json_dumps(root, JSON_SORT_KEYS);
	assert_non_null(text);
	json_decref(root);
	return text;
}

static void expect_same_receipts(const struct outcome *one, const struct outcome *other,
                                 const struct groups *groups, bool sweep) {
	static unsigned mixes;
	const enum cuttle_mix mix = (enum cuttle_mix)(mixes++ / 7 % 3);
	double charges[2];
	char *a = receipt_of(one, groups, mix, sweep, &charges[0]);
	char *b = receipt_of(other, groups, mix, sweep, &charges[1]);
	assert_int_equal(marks_groups(&one->marks), marks_groups(&other->marks));
	assert_string_equal(a, b);
	assert_true(charges[0] == charges[1]);
	free(a);
	free(b);
}

/* Whether both have the same public part: strings between marks, and the marks but for contents. */
static void expect_same_public(const struct outcome *one, const struct outcome *other) {
	assert_int_equal(one->blank.used, other->blank.used);
	assert_memory_equal(one->blank.bytes, other->blank.bytes, one->blank.used);
	assert_int_equal(marks_count(&one->marks), marks_count(&other->marks));
	for (size_t i = 0; i < marks_count(&one->marks); i++)
		assert_int_equal(marks_all(&one->marks)[i].group,
		                 marks_all(&other->marks)[i].group);
}

/* What spans mark stands among the marks of the sweep as it is. Returns how many marks are new. */
static size_t expect_kept(const struct outcome *given, const struct outcome *swept) {
	const struct mark *all = marks_all(&swept->marks), *wanted = marks_all(&given->marks);
	size_t kept = 0, count = marks_count(&given->marks);
	for (size_t i = 0; i < marks_count(&swept->marks); i++) {
		assert_true(all[i].start < all[i].end && (!i || all[i - 1].end <= all[i].start));
		if (kept < count && all[i].start == wanted[kept].start) {
			assert_int_equal(all[i].end, wanted[kept].end);
			assert_int_equal(all[i].type, wanted[kept].type);
			assert_true(all[i].group == wanted[kept].group ||
			            all[i].group == GROUP_BLANK);
			kept++;
		}
	}
	assert_int_equal(kept, count);
	assert_int_equal(marks_groups(&given->marks), marks_groups(&swept->marks));
	return marks_count(&swept->marks) - count;
}

/* How often a sweep found something, and found it in one of the two documents alone. */
struct tally {
	size_t found, unlike;
};

/* Of both documents, without and with a sweep: memory that each pair takes again. */
static struct outcome given[2], swept[2];

static void check_pair(const struct parts *one, const struct parts *other,
                       const struct groups *groups, struct tally *tally) {
	for (int i = 0; i < 2; i++) {
		make_outcome(i ? other : one, groups, false, &given[i]);
		make_outcome(i ? other : one, groups, true, &swept[i]);
		tally->found += expect_kept(&given[i], &swept[i]) > 0;
	}
	expect_same_public(&given[0], &given[1]);
	expect_same_receipts(&given[0], &given[1], groups, false);
	expect_same_receipts(&swept[0], &swept[1], groups, true);
	tally->unlike += marks_count(&swept[0].marks) != marks_count(&swept[1].marks);
}

static const char *const GROUPINGS[][4] = {{NULL},
                                           {"A"},
                                           {"C"},
                                           {"A", "B"},
                                           {"A,B"},
                                           {"names=A,BB", "B:2", "C"},
                                           {"A:1", "B:2", "BB:3", "C:4"},
                                           {"A,B,BB,C"}};
static const char *const LEFT[] = {NULL, "L", "L,D"};

/* Sets groups as a number of settings says. */
static void set_groups(struct groups *groups, size_t setting) {
	const char *const *options = GROUPINGS[setting / 3], *left = LEFT[setting % 3];
	struct cuttle_error error;
	*groups = (struct groups){.count = 0};
	for (size_t i = 0; i < 4 && options[i]; i++)
		assert_int_equal(groups_add(groups, options[i], &error), CUTTLE_OK);
	if (left) assert_int_equal(groups_leave(groups, left, &error), CUTTLE_OK);
}

static void pairs(void **state) {
	(void)state;
	static struct groups groups;
	uint64_t random = 11;
	struct tally tally = {0, 0};
	for (size_t pair = 0; pair < PAIRS; pair++) {
		struct parts one, other;
		draw_parts(&random, &one);
		other = with_other_contents(&random, &one);
		for (size_t setting = 0; setting < 3 * (sizeof GROUPINGS / sizeof *GROUPINGS);
		     setting++) {
			set_groups(&groups, setting);
			check_pair(&one, &other, &groups, &tally);
		}
	}
	// The pairs show something: sweeps find contents, and other ones in each of the two.
	assert_true(tally.found > 1000 && tally.unlike > 1000);
}

/* Equal contents in two groups: the document has both of them all the same, and pays for both. */
static void equal_contents(void **state) {
	(void)state;
	static struct groups groups;
	struct tally tally = {0, 0};
	const struct parts one = {
	    .count = 4,
	    .text = {"Victoria", " was treated in ", "Victoria", " last week."},
	    .spans = {{0, 0, 0}, {2, 2, 1}},
	    .span_count = 2};
	struct parts other = one;
	struct outcome outcome = {.types.count = 0};
	double charge;
	other.text[0] = "Veronica";
	for (size_t setting = 0; setting < 3 * (sizeof GROUPINGS / sizeof *GROUPINGS); setting++) {
		set_groups(&groups, setting);
		check_pair(&one, &other, &groups, &tally);
	}
	set_groups(&groups, 9);
	make_outcome(&one, &groups, true, &outcome);
	assert_int_equal(marks_groups(&outcome.marks), 3);
	free(receipt_of(&outcome, &groups, CUTTLE_MIX_AVERAGE, true, &charge));
	assert_true(charge > 0);
	free_outcome(&outcome);
}

static int free_outcomes(void **state) {
	(void)state;
	for (int i = 0; i < 2; i++) {
		free_outcome(&given[i]);
		free_outcome(&swept[i]);
	}
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pairs),
	    cmocka_unit_test(equal_contents),
	};
	return cmocka_run_group_tests(tests, NULL, free_outcomes);
}
