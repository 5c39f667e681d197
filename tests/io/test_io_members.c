// SPDX-License-Identifier: Apache-2.0
// Tests the table of members: each kind is written and read back, refuses what it must, and is
// blank or not in a fingerprint. The receipts that cuttle writes are edited by
// tests/cli/receipts.sh.
#include "io/receipts/attest.h"
#include "io/receipts/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs those before it
#include <cmocka.h>

struct sample {
	uint64_t count, seed;
	uint32_t number, length, choice;
	double real;
	bool flag;
	const char *text, *name, *label, *isa, *word;
	char hash[HASH_TEXT], date[RECEIPT_DATE], given[8];
	struct receipt_ledger ledger;
};

#define FIELD(field) MEMBER_AT(struct sample, field)
static const char *const WORDS[] = {"one", "two"};

static json_t *make_twice(const void *at) {
	return json_integer((json_int_t)((const struct sample *)at)->number * 2);
}

static const struct member MEMBERS[] = {
    {"count", MEMBER_COUNT, FIELD(count), .least = 2, .most = 9, .late = true},
    {"seed", MEMBER_SEED, FIELD(seed)},
    {"number", MEMBER_NUMBER, FIELD(number), .least = 1},
    {"length", MEMBER_LENGTH, FIELD(length)},
    {"choice", MEMBER_CHOICE, FIELD(choice), .names = WORDS, .most = MEMBERS_IN(WORDS)},
    {"real", MEMBER_REAL, FIELD(real)},
    {"flag", MEMBER_FLAG, FIELD(flag)},
    {"text", MEMBER_TEXT, FIELD(text)},
    {"name", MEMBER_NAME, FIELD(name)},
    {"label", MEMBER_LABEL, FIELD(label), .late = true},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"word", MEMBER_WORD, FIELD(word), .names = WORDS, .most = MEMBERS_IN(WORDS)},
    {"hash", MEMBER_HASH, FIELD(hash)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"given", MEMBER_GIVEN, FIELD(given), .given = true},
    {"ledger", MEMBER_CHARGE, FIELD(ledger), .text = "rho", .late = true},
    {"fixed", MEMBER_FIXED, .text = "always"},
    {"twice", MEMBER_MADE, .make = make_twice},
    {"shards", MEMBER_FOREIGN, .given = true},
};

static struct sample good(void) {
	struct sample sample = {.count = 5,
	                        .seed = 7,
	                        .number = 3,
	                        .length = 4,
	                        .choice = 1,
	                        .real = 0.5,
	                        .flag = true,
	                        .text = "t",
	                        .name = "n",
	                        .label = "l",
	                        .isa = "avx2",
	                        .word = WORDS[1],
	                        .date = "2026-01-31",
	                        .given = "g",
	                        .ledger.rho = 0.25};
	memset(sample.hash, 'a', HASH_TEXT - 1);
	memcpy(sample.ledger.entry, sample.hash, HASH_TEXT);
	return sample;
}

static json_t *written(const struct sample *sample) {
	json_t *root = members_add(json_object(), MEMBERS, MEMBERS_IN(MEMBERS), sample);
	assert_non_null(root);
	return root;
}

/* Whether the document is read once a member of it is this JSON; NULL = it is taken out. */
static bool reads_with(const char *name, const char *value, struct sample *sample) {
	const struct sample first = good();
	struct attested attested = {.root = written(&first)};
	*sample = (struct sample){0};
	if (value)
		assert_int_equal(json_object_set_new(attested.root, name,
		                                     json_loads(value, JSON_DECODE_ANY, NULL)),
		                 0);
	else assert_int_equal(json_object_del(attested.root, name), 0);
	const bool right = members_take(&attested, MEMBERS, MEMBERS_IN(MEMBERS), sample);
	json_decref(attested.root);
	return right;
}

static void what_is_written_is_read(void **state) {
	(void)state;
	const struct sample first = good();
	struct sample second = {0};
	struct attested attested = {.root = written(&first)};
	assert_true(members_take(&attested, MEMBERS, MEMBERS_IN(MEMBERS), &second));
	// What is given is kept nowhere.
	memcpy(second.given, first.given, sizeof second.given);
	json_t *again = written(&second);
	assert_true(json_equal(attested.root, again));
	assert_null(json_object_get(again, "shards"));
	assert_int_equal(json_integer_value(json_object_get(again, "twice")), 6);
	json_decref(again);
	json_decref(attested.root);
}

static void what_is_wrong_is_refused(void **state) {
	(void)state;
	static const struct {
		const char *name, *value;
	} wrong[] = {
	    {"count", "1"},
	    {"count", "10"},
	    {"count", "\"5\""},
	    {"seed", "null"},
	    {"seed", "-1"},
	    {"number", "0"},
	    {"number", "4294967296"},
	    {"length", "0"},
	    {"choice", "\"three\""},
	    {"choice", "1"},
	    {"real", "0.0"},
	    {"real", "1"},
	    {"flag", "1"},
	    {"text", "null"},
	    {"name", "1"},
	    {"label", "\"a\\nb\""},
	    {"isa", "null"},
	    {"word", "\"three\""},
	    {"hash", "\"aa\""},
	    {"date", "\"2026-02-31\""},
	    {"given", "null"},
	    {"ledger", "{}"},
	};
	struct sample sample;
	for (size_t i = 0; i < MEMBERS_IN(wrong); i++)
		if (reads_with(wrong[i].name, wrong[i].value, &sample))
			fail_msg("%s is read as %s", wrong[i].value, wrong[i].name);
	for (size_t i = 0; i < MEMBERS_IN(MEMBERS); i++) {
		const enum member_kind kind = MEMBERS[i].kind;
		if (kind == MEMBER_FIXED || kind == MEMBER_MADE || kind == MEMBER_FOREIGN) continue;
		if (reads_with(MEMBERS[i].name, NULL, &sample))
			fail_msg("nobody misses %s", MEMBERS[i].name);
	}
}

static void null_is_none(void **state) {
	(void)state;
	struct sample sample;
	assert_true(reads_with("length", "null", &sample));
	assert_int_equal(sample.length, 0);
	assert_true(reads_with("name", "null", &sample));
	assert_null(sample.name);
	assert_true(reads_with("ledger", "null", &sample));
	assert_int_equal(*sample.ledger.entry, 0);
}

static void late_members_are_blank(void **state) {
	(void)state;
	struct sample sample = good();
	members_blank(MEMBERS, MEMBERS_IN(MEMBERS), &sample);
	assert_int_equal(sample.count, 0);
	assert_null(sample.label);
	assert_int_equal(*sample.date, 0);
	assert_int_equal(*sample.ledger.entry, 0);
	assert_string_equal(sample.isa, "exact");
	assert_int_equal(sample.number, 3);
	assert_string_equal(sample.name, "n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),
	    cmocka_unit_test(what_is_wrong_is_refused),
	    cmocka_unit_test(null_is_none),
	    cmocka_unit_test(late_members_are_blank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
