// SPDX-License-Identifier: Apache-2.0
// Tests io/receipts/sanitize_receipt.c and io/receipts/sanitize_members.c: receipts of cuttle
// sanitize. It fails if a receipt's numbers or sentence are not those of its caps, or if one that
// was written is refused when it is read back. It fails if a member that follows from others can be
// edited, or any member of a signed one. It fails if what no cuttle writes is taken: other types,
// huge numbers, members too few or too many, another version. With CUTTLE_TEST_SHORT=1 it edits
// receipts of one mix.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/receipts/evidence.h"
#include "io/receipts/sanitize_receipt.h"
#include "io/documents/spans.h"
#include "tests/support/files.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char file[] = "/tmp/cuttle-rewrite-XXXXXX", key_file[] = "/tmp/cuttle-key-XXXXXX";
static struct signature_key *signer;

/* ---- receipts -------------------------------------------------------------------------------- */

/* Three groups; 6 documents, of which 1 has no mark, 2 have marks of one group and 3 of three. */
static struct sanitize_receipt sample(enum cuttle_mix mix, struct groups *groups) {
	static const char *const options[] = {"NAMES=PERSON,CODE", "DATE", "CITY"};
	const double caps[GROUPS_MOST][GROUPS_MOST] = {
	    {0.03, 0.02, 0.01}, {0.02, 0.02, 0.01}, {0.02, 0.01, 0.01}};
	struct sanitize_receipt receipt = {.groups = groups,
	                                   .documents = 6,
	                                   .marked = {1, 2, 0, 3},
	                                   .isa = "scalar",
	                                   .placeholder = "[{type}]",
	                                   .tagger = "rules 1",
	                                   .form = "auto",
	                                   .offsets = "codepoints",
	                                   .unit_key = "who",
	                                   .date = "2026-01-31",
	                                   .dataset = "notes"};
	*groups = (struct groups){.count = 0};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(groups_add(groups, options[i], NULL), CUTTLE_OK);
	assert_int_equal(groups_leave(groups, "GPE", NULL), CUTTLE_OK);
	receipt.guarantee = (struct cuttle_rewrite_guarantee){
	    .delta = 1e-3,
	    .temperature = 0.5,
	    .mix = mix,
	    .alpha = 2,
	    .groups = 3,
	    .tokens = 90,
	    .max_length = 120,
	    .savings = {.complete = true, .public_when = 0.9, .free_tokens = 30},
	    .top_k = 200,
	    .context = 2048,
	    .document_tokens = 1900,
	    .document_bytes = 60000,
	    .private_output = true};
	(void)strcpy(receipt.model.name, "a \"model\"\n");
	receipt.model.file_bytes = 98362432;
	hash_of("model", 5, receipt.model_sha256);
	hash_of("template", 8, receipt.template_sha256);
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_OK);
	hash_of("entry", 5, receipt.ledger.entry);
	receipt.ledger.rho = sanitize_receipt_charge(&receipt);
	return receipt;
}

/* The document that is written of it. */
static json_t *document_of(const struct sanitize_receipt *receipt) {
	char sha256[HASH_TEXT];
	size_t size;
	hash_of("output", 6, sha256);
	char *text =
	    receipt_seal(sanitize_receipt_json(receipt, sha256, sha256), receipt->signer, &size);
	assert_non_null(text);
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

/* What is said of these bytes, in a file. */
static enum cuttle_status judge_bytes(const void *bytes, size_t size, struct cuttle_error *error) {
	struct attested attested;
	struct evidence evidence = {0};
	files_put(file, bytes, size);
	enum cuttle_status status = attest_open(file, &attested, error);
	if (!status) status = evidence_read(&SANITIZE_KIND, &attested, &evidence, error);
	if (!status) status = evidence_check(&evidence, NULL, error);
	evidence_free(&evidence);
	attest_close(&attested);
	if (status && status != CUTTLE_INPUT && status != CUTTLE_LEDGER)
		fail_msg("status %d: %s", status, error->message);
	return status;
}

static enum cuttle_status judge(json_t *root, struct cuttle_error *error) {
	size_t size;
	char *text = receipt_canonical(json_incref(root), &size);
	assert_non_null(text);
	const enum cuttle_status status = judge_bytes(text, size, error);
	free(text);
	return status;
}

static void expect_right(const struct sanitize_receipt *receipt) {
	struct cuttle_error error;
	json_t *root = document_of(receipt);
	if (judge(root, &error)) fail_msg("%s", error.message);
	json_decref(root);
}

static void expect_wrong(const struct sanitize_receipt *receipt, const char *says) {
	struct cuttle_error error;
	json_t *root = document_of(receipt);
	if (!judge(root, &error)) fail_msg("not seen: %s", says);
	if (!strstr(error.message, says)) fail_msg("\"%s\" instead of \"%s\"", error.message, says);
	json_decref(root);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void receipts_are_read_back(void **state) {
	(void)state;
	struct groups groups;
	for (int mix = CUTTLE_MIX_ALL; mix <= CUTTLE_MIX_CAPPED; mix++) {
		struct sanitize_receipt receipt = sample((enum cuttle_mix)mix, &groups);
		expect_right(&receipt);
		receipt.signer = signer;
		expect_right(&receipt);
		receipt.signer = NULL;
		receipt.dataset = receipt.unit_key = NULL;
		receipt.ledger = (struct receipt_ledger){.entry = ""};
		expect_right(&receipt);
		receipt.guarantee.private_output = false;
		expect_right(&receipt);
		receipt.guarantee.savings = (struct cuttle_savings){.center = false};
		expect_right(&receipt);
		// No document has a mark.
		memset(receipt.marked, 0, sizeof receipt.marked);
		receipt.marked[0] = receipt.documents;
		expect_right(&receipt);
		// No group was named.
		receipt = sample((enum cuttle_mix)mix, &groups);
		const double caps[GROUPS_MOST][GROUPS_MOST] = {{0.02}};
		groups = (struct groups){.count = 0};
		receipt.marked[1] = 5;
		receipt.marked[3] = 0;
		assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_OK);
		expect_right(&receipt);
	}
}

/* The numbers of design vectors: T 900, c .01, delta 1e-3, alpha 2, eight groups. */
static void costs_are_those_of_the_caps(void **state) {
	(void)state;
	struct groups groups = {.count = 0};
	struct sanitize_receipt receipt = sample(CUTTLE_MIX_AVERAGE, &groups);
	struct cuttle_rewrite_cost one, all;
	double caps[GROUPS_MOST][GROUPS_MOST];
	char name[16], sentence[REWRITE_SENTENCE];
	groups = (struct groups){.count = 0};
	for (int i = 0; i < 8; i++) {
		(void)snprintf(name, sizeof name, "T%d", i);
		assert_int_equal(groups_add(&groups, name, NULL), CUTTLE_OK);
	}
	for (size_t i = 0; i < GROUPS_MOST * GROUPS_MOST; i++)
		caps[i / GROUPS_MOST][i % GROUPS_MOST] = 0.01;
	receipt.guarantee.groups = 8;
	receipt.guarantee.tokens = receipt.guarantee.max_length = 900;
	memset(receipt.marked, 0, sizeof receipt.marked);
	receipt.marked[8] = receipt.documents = 1;
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_OK);
	sanitize_receipt_worst(&receipt, &one, &all);
	assert_true(fabs(one.epsilon - 6.65139511163) < 1e-7);
	assert_true(fabs(all.epsilon - 14.5214609179) < 1e-7);
	assert_true(fabs(all.epsilon_exchange - 45.473925) < 1e-5);
	const double charge = sanitize_receipt_charge(&receipt);
	assert_true(charge >= 9 && charge < 9.00001);
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "Groups of marks: T0; T1; T2; T3; T4; T5; T6; T7. "));
	// exp(6.6514) = 773.9, and all is rounded up.
	assert_non_null(strstr(
	    sentence, "at most e^6.6514 = 774 times the probability it has with the marks of any "
	              "one group blank, plus delta = 0.001. The same holds the other way round. "));
	assert_non_null(strstr(sentence, " With the marks of all groups blank it is at most "
	                                 "e^14.5215, and with other contents in all of them "
	                                 "e^45.474, plus delta."));
	assert_non_null(strstr(sentence, "the true one: at most "));
	assert_null(strstr(sentence, "promises little"));
	// The m that costs most is charged, and promised: fewer groups cost one of them more.
	receipt.marked[1] = receipt.documents++;
	sanitize_receipt_worst(&receipt, &one, &all);
	assert_true(fabs(one.epsilon - 14.5214609179) < 1e-7);
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "no ceiling is proven"));
	assert_non_null(strstr(sentence, " An epsilon this large promises little."));
	assert_true(sanitize_receipt_charge(&receipt) == charge);
	// With one row for all marks that is what is promised, and nothing stands beside it.
	receipt.guarantee.mix = CUTTLE_MIX_ALL;
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_OK);
	assert_true(isnan(receipt.costs[7].of[0].epsilon));
	sanitize_receipt_worst(&receipt, &one, &all);
	assert_true(one.epsilon == all.epsilon && one.epsilon_exchange == all.epsilon_exchange);
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "it has with all marks blank, plus"));
	assert_null(strstr(sentence, "all groups"));
	// Out of range.
	caps[2][3] = 701;
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_USAGE);
	receipt.guarantee.alpha = 17;
	assert_int_equal(sanitize_receipt_cost(&receipt, caps, NULL), CUTTLE_USAGE);
}

static void sentences_promise_no_more(void **state) {
	(void)state;
	struct groups groups;
	char sentence[REWRITE_SENTENCE];
	struct sanitize_receipt receipt = sample(CUTTLE_MIX_AVERAGE, &groups);
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "Groups of marks: NAMES; DATE; CITY."));
	assert_non_null(strstr(sentence, "all groups"));
	assert_non_null(strstr(sentence, "Not covered: text outside marks; "));
	// Nothing is said of all groups where no document has two.
	receipt.marked[1] += receipt.marked[3];
	receipt.marked[3] = 0;
	sanitize_receipt_sentence(&receipt, sentence);
	assert_null(strstr(sentence, "all groups"));
	receipt.marked[0] += receipt.marked[1];
	receipt.marked[1] = 0;
	assert_true(sanitize_receipt_charge(&receipt) == 0);
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "nothing is promised"));
	receipt.guarantee.private_output = false;
	sanitize_receipt_sentence(&receipt, sentence);
	assert_non_null(strstr(sentence, "NOT PRIVATE"));
	assert_null(strstr(sentence, "Guarantee"));
	json_t *root = document_of(&receipt);
	assert_string_equal(json_string_value(json_object_get(root, "note")), "NOT PRIVATE");
	json_decref(root);
}

/* Makes it the receipt of marks that these chose by their content. */
static void choose_marks(struct sanitize_receipt *receipt, unsigned chosen) {
	double caps[GROUPS_MOST][GROUPS_MOST];
	for (size_t i = 0; i < GROUPS_MOST * GROUPS_MOST; i++)
		caps[i / GROUPS_MOST][i % GROUPS_MOST] = 1e-3;
	receipt->chosen = chosen;
	receipt->sweep = (chosen & REWRITE_BY_SWEEP) != 0;
	assert_int_equal(sanitize_receipt_cost(receipt, caps, NULL), CUTTLE_OK);
	receipt->ledger.rho = sanitize_receipt_charge(receipt);
}

/* Where contents chose the marks, the receipt says who, and states no ceiling of guessing; where
 * spans are as given it states one. One that is older than this is read as it was written. */
static void choices_are_told(void **state) {
	(void)state;
	struct groups groups;
	char sentence[REWRITE_SENTENCE];
	for (unsigned chosen = 0; chosen < 2 * REWRITE_CHOICES; chosen++) {
		struct sanitize_receipt receipt = sample(CUTTLE_MIX_AVERAGE, &groups);
		struct cuttle_rewrite_cost one, all;
		choose_marks(&receipt, chosen % REWRITE_CHOICES);
		// No document has a mark.
		if (chosen >= REWRITE_CHOICES) {
			memset(receipt.marked, 0, sizeof receipt.marked);
			receipt.marked[0] = receipt.documents;
		}
		sanitize_receipt_sentence(&receipt, sentence);
		sanitize_receipt_worst(&receipt, &one, &all);
		json_t *root = document_of(&receipt), *object;
		const char *told = json_string_value(json_object_get(root, "marks_chosen"));
		if (!receipt.chosen) {
			assert_null(told);
			assert_null(strstr(sentence, "chosen"));
			if (!chosen) {
				assert_non_null(strstr(sentence, "the true one: at most 0.4"));
				assert_true(one.ceiling < .5 && all.ceiling < .5);
			}
		} else {
			char words[64];
			(void)snprintf(words, sizeof words, "chosen by what they say, %s. ", told);
			assert_string_equal(told, REWRITE_CHOSEN[receipt.chosen]);
			assert_non_null(strstr(sentence, words));
			assert_non_null(
			    strstr(sentence, "not covered, so no ceiling of guessing is"));
			assert_null(strstr(sentence, "the true one"));
			assert_true(one.ceiling >= 1 && all.ceiling >= 1);
			assert_true(json_real_value(json_object_get(root, "recovery_ceiling_5")) >=
			            1);
			size_t i;
			json_array_foreach(json_object_get(root, "costs"), i, object) assert_true(
			    json_real_value(json_object_get(object, "recovery_ceiling_5")) >= 1);
		}
		json_decref(root);
		expect_right(&receipt);
		receipt.signer = signer;
		expect_right(&receipt);
		receipt.signer = NULL;
		receipt.sweep = !receipt.sweep;
		if (receipt.chosen)
			expect_wrong(&receipt, "its sweep contradicts its marks_chosen");
		else if (chosen) expect_right(&receipt);
		else expect_wrong(&receipt, "does not say that the sweep chose marks");
		// An older cuttle did not know that it has to say so.
		for (receipt.wording = RECEIPT_NOW; receipt.wording <= RECEIPT_OLDEST;
		     receipt.wording++)
			if (receipt.chosen) expect_wrong(&receipt, "its sweep contradicts");
			else if (chosen || receipt.wording == RECEIPT_OLDEST)
				expect_right(&receipt);
			else expect_wrong(&receipt, "does not say that the sweep chose marks");
	}
	struct sanitize_receipt receipt = sample(CUTTLE_MIX_ALL, &groups);
	json_t *root = document_of(&receipt);
	struct cuttle_error error;
	static const char *const wrong[] = {"as given", "by the sweeps", ""};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		(void)json_object_set_new(root, "marks_chosen", json_string(wrong[i]));
		assert_int_equal(judge(root, &error), CUTTLE_INPUT);
	}
	json_decref(root);
}

static void fingerprints_differ(void **state) {
	(void)state;
	struct groups groups, other_groups;
	const struct sanitize_receipt receipt = sample(CUTTLE_MIX_ALL, &groups);
	struct sanitize_receipt changed;
	const struct sanitize_command command = {"in.jsonl", "text", "id", "spans", NULL, 0};
	struct sanitize_command other;
	char first[HASH_TEXT], second[HASH_TEXT];
	assert_true(sanitize_receipt_fingerprint(&receipt, &command, first));
#define CHANGED(change)                                                                            \
	do {                                                                                       \
		changed = receipt;                                                                 \
		other = command;                                                                   \
		change;                                                                            \
		assert_true(sanitize_receipt_fingerprint(&changed, &other, second));               \
	} while (0)
#define SAME(change)                                                                               \
	do {                                                                                       \
		CHANGED(change);                                                                   \
		assert_string_equal(first, second);                                                \
	} while (0)
#define DIFFERS(change)                                                                            \
	do {                                                                                       \
		CHANGED(change);                                                                   \
		assert_string_not_equal(first, second);                                            \
	} while (0)
	// A run goes on the next day, under another name, with exact kernels of another machine.
	SAME(changed.isa = "avx512");
	SAME((void)strcpy(changed.date, "2026-02-01"));
	SAME(changed.dataset = NULL);
	SAME(changed.ledger.rho = 7);
	SAME(changed.signer = signer);
	// What is read of the documents is bound otherwise (io/output/binding.h).
	SAME(changed.documents = 7);
	SAME(changed.marked[1] = 3);
	DIFFERS(changed.isa = "blas");
	DIFFERS(changed.costs[1].of[0].divergence = 0.021);
	DIFFERS(changed.costs[2].all.loss *= 1.5);
	DIFFERS(changed.guarantee.mix = CUTTLE_MIX_AVERAGE);
	DIFFERS(changed.guarantee.alpha++);
	DIFFERS(changed.guarantee.delta = nextafter(1e-3, 1));
	DIFFERS(changed.guarantee.tokens++);
	DIFFERS(changed.guarantee.max_length++);
	DIFFERS(changed.guarantee.top_k++);
	DIFFERS(changed.guarantee.context++);
	DIFFERS(changed.guarantee.temperature = 0.500001);
	DIFFERS(changed.guarantee.private_output = false);
	DIFFERS(changed.guarantee.savings.complete = false);
	DIFFERS(changed.guarantee.savings.public_when = 0.8);
	DIFFERS(changed.guarantee.savings.free_tokens++);
	DIFFERS(changed.placeholder = "_");
	DIFFERS(changed.tagger = "rules 2");
	DIFFERS(changed.form = "tab");
	DIFFERS(changed.offsets = "bytes");
	DIFFERS(changed.sweep = true);
	DIFFERS(changed.chosen = REWRITE_BY_SWEEP);
	DIFFERS(changed.unit_key = NULL);
	DIFFERS(changed.model_sha256[0] ^= 1);
	DIFFERS(changed.template_sha256[0] ^= 1);
	DIFFERS(other.input = "other.jsonl");
	DIFFERS(other.text_field = "body");
	DIFFERS(other.id_field = "name");
	DIFFERS(other.spans_field = NULL);
	DIFFERS(other.leave_identifier = "NO_MASK");
	DIFFERS(other.insecure_seed = 1);
	other_groups = groups;
	other_groups.members[1].type[0] = 'K';
	DIFFERS(changed.groups = &other_groups);
#undef CHANGED
#undef SAME
#undef DIFFERS
}

/* ---- what is edited -------------------------------------------------------------------------- */

/* Members that follow from no others: a receipt says them, and only its signature keeps them. The
 * types of a group are such strings, too. */
static const char *const GIVEN[] = {"candidates",
                                    "command_sha256",
                                    "context",
                                    "dataset",
                                    "date",
                                    "document_bytes",
                                    "isa",
                                    "document_tokens",
                                    "max_length",
                                    "model_bytes",
                                    "model_name",
                                    "model_sha256",
                                    "output_sha256",
                                    "placeholder",
                                    "public_when",
                                    "free_tokens",
                                    "sweep",
                                    "tagger",
                                    "temperature",
                                    "unit_key",
                                    "template_sha256",
                                    "ledger/entry",
                                    "ledger/loss",
                                    "groups/#/types/#",
                                    "types_left/#",
                                    "ledger",
                                    "groups/#/types",
                                    "types_left"};

static bool is_given(const char *path) {
	char plain[128];
	size_t size = 0;
	for (const char *p = path; *p && size + 1 < sizeof plain; p++) {
		plain[size++] = *p >= '0' && *p <= '9' && (p == path || p[-1] == '/') ? '#' : *p;
	}
	plain[size] = 0;
	for (size_t i = 0; i < sizeof GIVEN / sizeof *GIVEN; i++)
		if (!strcmp(GIVEN[i], plain)) return true;
	return false;
}

/* What stands instead of a member. NULL behind the last. */
static json_t *replacement(const json_t *value, size_t number) {
	const double real = json_real_value(value);
	const json_int_t integer = json_integer_value(value);
	switch (number) {
	case 0:
		return json_null();
	case 1:
		return json_true();
	case 2:
		return json_false();
	case 3:
		return json_integer(0);
	case 4:
		return json_integer(-1);
	case 5:
		return json_integer(INT64_MAX);
	case 6:
		return json_integer(INT64_MIN);
	case 7:
		return json_integer(INT64_C(1) << 32);
	case 8:
		return json_real(1.7976931348623157e308);
	case 9:
		return json_real(5e-324);
	case 10:
		return json_real(-0.5);
	case 11:
		return json_real(0);
	case 12:
		return json_string("");
	case 13:
		return json_string("\x1b[2J");
	case 14:
		return json_string("DATE");
	case 15:
		return json_array();
	case 16:
		return json_object();
	case 17:
		return json_pack("[{}]");
	case 18:
		return json_pack("[[n], {s:s}, s]", "m", "1", "2");
	// A little more or less.
	case 19:
		return json_is_integer(value) ? json_integer(integer + 1) : json_real(real * 1.001);
	case 20:
		return json_is_integer(value) ? json_integer(integer - 1) : json_real(real * 0.999);
	case 21:
		return json_is_integer(value) ? json_real((double)integer)
		                              : json_integer((json_int_t)real);
	default:
		return NULL;
	}
}

struct edits {
	json_t *root; /* the whole receipt */
	enum cuttle_mix mix;
	bool is_signed;
	size_t tried;
	size_t taken; /* edits of a given member that were not refused */
};

/* Checks the edited receipt. `before`: what stood there; `after`: what stands there now, or NULL.
 */
static void try_edit(struct edits *edits, const char *path, const json_t *before,
                     const json_t *after) {
	struct cuttle_error error;
	edits->tried++;
	if (judge(edits->root, &error)) return;
	edits->taken++;
	char *shown = after ? json_dumps(after, JSON_ENCODE_ANY) : NULL;
	const bool alike = after && (json_typeof(before) == json_typeof(after) ||
	                             (json_is_boolean(before) && json_is_boolean(after)) ||
	                             (json_is_null(after) && json_is_string(before)) ||
	                             (json_is_null(after) && !strcmp(path, "ledger")));
	// With one row for all marks three groups cost what two do.
	const bool same_row = edits->mix == CUTTLE_MIX_ALL && !strcmp(path, "costs/1/m") &&
	                      json_integer_value(after) == 2;
	// One of two savings may be off.
	const bool off = !after && (!strcmp(path, "complete") || !strcmp(path, "public_when"));
	if (edits->is_signed || !(off || same_row || (is_given(path) && alike)))
		fail_msg("%s can be edited to %s", path, shown ? shown : "nothing");
	free(shown);
}

static void edit_value(struct edits *edits, json_t *value, const char *path);

/* Replaces one member of an object (key), or of an array (index), by everything else. */
static void edit_member(struct edits *edits, json_t *parent, const char *key, size_t index,
                        const char *path) {
	json_t *value =
	    json_incref(key ? json_object_get(parent, key) : json_array_get(parent, index));
	json_t *other;
	for (size_t i = 0; (other = replacement(value, i)); i++) {
		if (!json_equal(other, value)) {
			assert_int_equal(key ? json_object_set(parent, key, other)
			                     : json_array_set(parent, index, other),
			                 0);
			try_edit(edits, path, value, other);
		}
		json_decref(other);
	}
	if (key) {
		assert_int_equal(json_object_del(parent, key), 0);
		try_edit(edits, path, value, NULL);
		assert_int_equal(json_object_set(parent, key, value), 0);
	} else assert_int_equal(json_array_set(parent, index, value), 0);
	edit_value(edits, value, path);
	json_decref(value);
}

/* Edits every member below a value. */
static void edit_value(struct edits *edits, json_t *value, const char *path) {
	char below[256];
	const char *separator = *path ? "/" : "";
	if (json_is_object(value)) {
		// A member more. Names in byte order, so that what follows meets each once.
		assert_int_equal(json_object_set_new(value, "databank", json_integer(1)), 0);
		try_edit(edits, path, value, NULL);
		assert_int_equal(json_object_del(value, "databank"), 0);
		json_t *copy = json_copy(value), *ignored;
		const char *key;
		json_object_foreach(copy, key, ignored) {
			(void)snprintf(below, sizeof below, "%s%s%s", path, separator, key);
			edit_member(edits, value, key, 0, below);
		}
		json_decref(copy);
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		(void)snprintf(below, sizeof below, "%s%s%zu", path, separator, i);
		edit_member(edits, value, NULL, i, below);
	}
	if (!json_array_size(value)) return;
	// The first part a second time.
	json_t *first = json_deep_copy(json_array_get(value, 0));
	assert_int_equal(json_array_append(value, first), 0);
	try_edit(edits, path, value, NULL);
	assert_int_equal(json_array_remove(value, json_array_size(value) - 1), 0);
	json_decref(first);
}

/* Every member is edited in turn. What follows from others must then be refused; what does not must
 * stay of its type. Where the receipt is signed every edit is refused. */
static void edits_are_seen(void **state) {
	(void)state;
	const int last = getenv("CUTTLE_TEST_SHORT") ? CUTTLE_MIX_ALL : CUTTLE_MIX_CAPPED;
	struct groups groups;
	struct cuttle_error error;
	for (int mix = CUTTLE_MIX_ALL; mix <= last; mix++)
		for (int kind = 0; kind < (mix == CUTTLE_MIX_ALL ? 3 : 2); kind++) {
			const bool is_signed = kind == 1;
			struct sanitize_receipt receipt = sample((enum cuttle_mix)mix, &groups);
			if (kind == 2) choose_marks(&receipt, REWRITE_BY_SWEEP);
			receipt.signer = is_signed ? signer : NULL;
			struct edits edits = {.root = document_of(&receipt),
			                      .mix = (enum cuttle_mix)mix,
			                      .is_signed = is_signed};
			edit_value(&edits, edits.root, "");
			assert_int_equal(judge(edits.root, &error), CUTTLE_OK);
			assert_true(edits.tried > 1000);
			assert_int_equal(edits.taken > 20, !is_signed);
			json_decref(edits.root);
		}
}

/* Numbers that are each right, and not together. */
static void contradictions_are_seen(void **state) {
	(void)state;
	struct groups groups;
	const struct sanitize_receipt good = sample(CUTTLE_MIX_AVERAGE, &groups);
	struct sanitize_receipt receipt;
#define WRONG(says, change)                                                                        \
	do {                                                                                       \
		receipt = good;                                                                    \
		change;                                                                            \
		expect_wrong(&receipt, says);                                                      \
	} while (0)
	WRONG("do not add up", receipt.documents = 5);
	WRONG("do not add up", receipt.documents = 7);
	WRONG("do not add up", receipt.marked[0] = 0);
	// A sum beyond 2^64 that comes out as 6.
	WRONG("do not add up", receipt.marked[1] = INT64_MAX; receipt.marked[3] = INT64_MAX;
	      receipt.marked[2] = 7; receipt.marked[0] = 1);
	WRONG("room", receipt.guarantee.context = 2020);
	WRONG("room", receipt.guarantee.document_tokens = 1928);
	WRONG("room", receipt.guarantee.document_tokens = 0);
	WRONG("room", receipt.guarantee.document_tokens = UINT32_MAX);
	WRONG("no receipt", receipt.guarantee.max_length = 89);
	WRONG("charged less", receipt.ledger.rho = nextafter(receipt.ledger.rho, 0));
	WRONG("no data set", receipt.dataset = NULL);
	WRONG("no receipt", receipt.dataset = "no\ntes");
	WRONG("no receipt", (void)strcpy(receipt.date, "2026-02-30"));
	WRONG("out of range", receipt.guarantee.alpha = 17);
	WRONG("does not follow", receipt.guarantee.alpha = 3);
	WRONG("does not follow", receipt.guarantee.delta = 1e-2);
	WRONG("does not follow", receipt.guarantee.tokens = 89);
	WRONG("does not follow", receipt.guarantee.mix = CUTTLE_MIX_ALL);
	WRONG("does not follow", receipt.costs[2].all.epsilon *= 0.5);
	WRONG("does not follow", receipt.costs[2].of[1].epsilon_exchange = NAN);
	WRONG("no receipt", receipt.guarantee.savings.token_bank = true);
	WRONG("no receipt", receipt.guarantee.savings.free_tokens = 0);
	WRONG("of its tokens", hash_of("form", 4, receipt.grammar_sha256);
	      receipt.guarantee.savings.free_tokens = 31);
	WRONG("of its tokens", hash_of("form", 4, receipt.schema_sha256);
	      receipt.guarantee.max_length = 119);
#undef WRONG
	// Two groups of one name, a type in two groups, one in a group and left.
	for (int i = 0; i < 3; i++) {
		receipt = sample(CUTTLE_MIX_AVERAGE, &groups);
		if (i == 0) (void)strcpy(groups.all[1].name, "NAMES");
		if (i == 1) (void)strcpy(groups.members[2].type, "CODE");
		if (i == 2) (void)strcpy(groups.members[4].type, "CODE");
		expect_wrong(&receipt, "no receipt");
	}
}

/* Every form and unit that an option takes is read back; a name that is none is refused, as is one
 * that begins like one. */
static void spans_have_a_known_form(void **state) {
	(void)state;
	static const char *const others[] = {"TAB", "autos", "byte", "utf8"};
	struct groups groups;
	struct sanitize_receipt receipt = sample(CUTTLE_MIX_ALL, &groups);
	struct cuttle_error error;
	for (size_t i = 0; i < SPANS_FORMATS * SPANS_UNITS; i++) {
		receipt.form = SPANS_FORMAT_NAMES[i / SPANS_UNITS];
		receipt.offsets = SPANS_OFFSETS_NAMES[i % SPANS_UNITS];
		json_t *root = document_of(&receipt);
		assert_int_equal(judge(root, &error), CUTTLE_OK);
		json_decref(root);
	}
	for (size_t i = 0; i < 2 * (sizeof others / sizeof *others); i++) {
		receipt.form = i % 2 ? others[i / 2] : "auto";
		receipt.offsets = i % 2 ? "bytes" : others[i / 2];
		json_t *root = document_of(&receipt);
		assert_int_equal(judge(root, &error), CUTTLE_INPUT);
		json_decref(root);
	}
}

/* ---- what no cuttle writes ------------------------------------------------------------------- */

static void foreign_files(void **state) {
	(void)state;
	static char big[(1 << 20) + 2], deep[40000];
	static const char *const texts[] = {"",
	                                    "\n",
	                                    "{}\n",
	                                    "[]\n",
	                                    "null\n",
	                                    "7\n",
	                                    "{\"receipt\": 2",
	                                    "{\"a\": 1, \"a\": 1}\n",
	                                    "{\"mechanism\": \"dp-fusion\"}\n",
	                                    "\xff\xfe",
	                                    "{\"epsilon\": 1e999}\n"};
	struct groups groups;
	struct cuttle_error error;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(judge_bytes(texts[i], strlen(texts[i]), &error), CUTTLE_INPUT);
	memset(big, ' ', sizeof big);
	assert_int_equal(judge_bytes(big, sizeof big, &error), CUTTLE_INPUT);
	memset(deep, '[', sizeof deep);
	assert_int_equal(judge_bytes(deep, sizeof deep, &error), CUTTLE_INPUT);
	// Other formats are told apart from wrong ones.
	const struct sanitize_receipt receipt = sample(CUTTLE_MIX_ALL, &groups);
	for (int i = 0; i < 3; i++) {
		json_t *root = document_of(&receipt);
		if (i == 0) (void)json_object_set_new(root, "receipt", json_integer(1));
		if (i == 1) (void)json_object_del(root, "receipt");
		if (i == 2) (void)json_object_set_new(root, "version", json_string("one"));
		assert_int_equal(judge(root, &error), CUTTLE_INPUT);
		assert_non_null(strstr(error.message,
		                       i == 1 ? "this is no receipt of cuttle" : "another cuttle"));
		json_decref(root);
	}
	// Too many of everything.
	for (int i = 0; i < 4; i++) {
		json_t *root = document_of(&receipt), *list = json_object_get(root, "types_left");
		char name[16];
		if (i == 1) list = json_object_get(root, "groups");
		if (i == 2) list = json_object_get(root, "costs");
		for (int j = 0; j < 300; j++) {
			(void)snprintf(name, sizeof name, "X%d", j);
			json_t *part = i == 1
			                   ? json_pack("{s:s, s:[s]}", "name", name, "types", name)
			               : i == 2 ? json_deep_copy(json_array_get(list, 0))
			                        : json_string(name);
			if (i == 2) (void)json_object_set_new(part, "m", json_integer(j));
			assert_int_equal(json_array_append_new(list, part), 0);
		}
		if (i == 3) {
			static char long_name[200];
			memset(long_name, 'a', sizeof long_name - 1);
			(void)json_object_set_new(root, "types_left", json_pack("[s]", long_name));
		}
		assert_int_equal(judge(root, &error), CUTTLE_INPUT);
		json_decref(root);
	}
	// The bytes must be those that cuttle writes.
	json_t *root = document_of(&receipt);
	char *loose = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
	assert_int_equal(judge_bytes(loose, strlen(loose), &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "bytes"));
	free(loose);
	json_decref(root);
}

static int make_files(void **state) {
	(void)state;
	static const char seed[] =
	    "cuttle-secret-key "
	    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n";
	files_put_new(file, "", 0);
	files_put_new(key_file, seed, sizeof seed - 1);
	return chmod(key_file, 0600) || signature_open(key_file, &signer, NULL);
}

static int remove_files(void **state) {
	(void)state;
	signature_close(&signer);
	return unlink(file) || unlink(key_file);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(receipts_are_read_back),
	    cmocka_unit_test(costs_are_those_of_the_caps),
	    cmocka_unit_test(sentences_promise_no_more),
	    cmocka_unit_test(choices_are_told),
	    cmocka_unit_test(fingerprints_differ),
	    cmocka_unit_test(edits_are_seen),
	    cmocka_unit_test(contradictions_are_seen),
	    cmocka_unit_test(spans_have_a_known_form),
	    cmocka_unit_test(foreign_files),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
