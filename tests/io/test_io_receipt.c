// SPDX-License-Identifier: Apache-2.0
// Tests io/receipts/receipt.c, io/disk/signature.c and io/disk/jsonout.c. It fails if a receipt's
// bytes are not canonical, if a changed parameter leaves the fingerprint as it was, or if another
// parser reads the JSON differently. It fails if a receipt promises less than it spent, or if an
// edited or badly signed one is accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/receipts/evidence.h"
#include "io/disk/jsonout.h"
#include "io/records/units.h"
#include "tests/support/files.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct receipt sample(void) {
	struct receipt receipt = {.texts = 5,
	                          .isa = "scalar",
	                          .unit.weight = 1,
	                          .date = "2026-01-31",
	                          .dataset = "notes"};
	receipt.guarantee = (struct cuttle_guarantee){.epsilon = 2.9999999,
	                                              .epsilon_exact = 2.79,
	                                              .delta = 1e-6,
	                                              .rho = 0.185,
	                                              .clip = 0.2285,
	                                              .temperature = 1.2,
	                                              .gain = 1,
	                                              .clip_fixed = 935,
	                                              .fraction_bits = 12,
	                                              .batch = 7,
	                                              .shots = 1,
	                                              .tokens = 500,
	                                              .top_k = 100,
	                                              .context = 2048,
	                                              .private_output = true};
	(void)strcpy(receipt.model.name, "a \"model\"\n");
	receipt.model.file_bytes = 98362432;
	hash_of("model", 5, receipt.model_sha256);
	hash_of("template", 8, receipt.template_sha256);
	return receipt;
}

static void keys_are_sorted_and_values_right(void **state) {
	(void)state;
	struct receipt receipt = sample();
	size_t one_size, two_size;
	char *one = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &one_size),
	     *two = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &two_size);
	assert_non_null(one);
	assert_int_equal(one_size, two_size);
	assert_memory_equal(one, two, one_size);
	assert_int_equal(one[one_size - 1], '\n');
	json_t *root = json_loadb(one, one_size, JSON_REJECT_DUPLICATES, NULL), *value;
	assert_non_null(root);
	const char *key, *before = "";
	// jansson keeps the order of the file.
	json_object_foreach(root, key, value) {
		assert_true(strcmp(before, key) < 0);
		before = key;
	}
	assert_true(json_real_value(json_object_get(root, "epsilon")) == 2.9999999);
	assert_true(json_real_value(json_object_get(root, "epsilon_exact")) == 2.79);
	assert_null(json_object_get(root, "epsilon_zcdp"));
	assert_int_equal(json_integer_value(json_object_get(root, "receipt")), RECEIPT_FORMAT);
	assert_string_equal(json_string_value(json_object_get(root, "date")), "2026-01-31");
	assert_string_equal(json_string_value(json_object_get(root, "dataset")), "notes");
	assert_string_equal(json_string_value(json_object_get(root, "accountant")), "zcdp");
	assert_int_equal(json_integer_value(json_object_get(root, "clip_fixed")), 935);
	assert_int_equal(json_integer_value(json_object_get(root, "texts")), 5);
	assert_string_equal(json_string_value(json_object_get(root, "adjacency")),
	                    "replace one reference by null");
	assert_string_equal(json_string_value(json_object_get(root, "unit")),
	                    "one record of the input");
	assert_string_equal(json_string_value(json_object_get(root, "model_name")),
	                    "a \"model\"\n");
	assert_true(json_is_true(json_object_get(root, "private")));
	assert_null(json_object_get(root, "note"));
	json_decref(root);
	free(one);
	free(two);
}

/* The receipt as another program reads it. */
static json_t *read_back(const struct receipt *receipt) {
	size_t size;
	char *text = receipt_seal(receipt_json(receipt, "f", "o"), receipt->signer, &size);
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static void insecure_runs_say_so(void **state) {
	(void)state;
	struct receipt receipt = sample();
	receipt.guarantee.private_output = false;
	json_t *root = read_back(&receipt);
	assert_true(json_is_false(json_object_get(root, "private")));
	assert_string_equal(json_string_value(json_object_get(root, "note")), "NOT PRIVATE");
	assert_non_null(
	    strstr(json_string_value(json_object_get(root, "guarantee")), "NOT PRIVATE"));
	assert_null(
	    strstr(json_string_value(json_object_get(root, "guarantee")), "differential privacy"));
	json_decref(root);
}

/* What was promised stands under "epsilon", whichever accountant it was asked of. */
static void one_epsilon_is_promised(void **state) {
	(void)state;
	struct receipt receipt = sample();
	receipt.guarantee.accountant = CUTTLE_EXACT;
	json_t *root = read_back(&receipt);
	assert_string_equal(json_string_value(json_object_get(root, "accountant")), "exact");
	assert_true(json_real_value(json_object_get(root, "epsilon")) == 2.79);
	assert_true(json_real_value(json_object_get(root, "epsilon_zcdp")) == 2.9999999);
	assert_null(json_object_get(root, "epsilon_exact"));
	json_decref(root);
}

/* A run may go on the next day, and under a name or a ledger that it began without. */
static void no_part_of_the_command(void **state) {
	(void)state;
	struct receipt receipt = sample();
	const struct receipt_command command = {"in.jsonl", "text", "auto", "jsonl", 0};
	char before[HASH_TEXT], after[HASH_TEXT];
	size_t size;
	assert_true(receipt_fingerprint(&receipt, &command, before));
	char *text = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &size);
	assert_non_null(strstr(text, "\n  \"ledger\": null,\n"));
	free(text);
	assert_non_null(
	    strstr(text = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &size),
	           "\n  \"dataset\": \"notes\",\n"));
	free(text);
	receipt.ledger.rho = 0.75;
	receipt.dataset = NULL;
	(void)strcpy(receipt.date, "2026-02-01");
	hash_of("entry", 5, receipt.ledger.entry);
	assert_true(receipt_fingerprint(&receipt, &command, after));
	assert_string_equal(before, after);
	text = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &size);
	assert_non_null(strstr(text, "\n  \"dataset\": null,\n"));
	assert_non_null(strstr(text, "\n  \"date\": \"2026-02-01\",\n"));
	assert_non_null(strstr(text, receipt.ledger.entry));
	free(text);
}

static void what_is_off_is_not_named(void **state) {
	(void)state;
	static const char *const keys[] = {"center",      "token_bank",  "complete",
	                                   "public_when", "free_tokens", "batches"};
	struct receipt receipt = sample();
	const struct cuttle_savings on = {.center = true,
	                                  .token_bank = true,
	                                  .complete = true,
	                                  .public_when = 0.9,
	                                  .free_tokens = 9};
	for (int all = 0; all < 2; all++) {
		if (all) receipt.guarantee.savings = on;
		json_t *root = read_back(&receipt);
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			assert_int_equal(json_object_get(root, keys[i]) != NULL, all);
		assert_int_equal(json_object_get(root, "texts") != NULL, !all);
		assert_int_equal(strstr(json_string_value(json_object_get(root, "guarantee")),
		                        "for all texts of 5 batches together") != NULL,
		                 all);
		json_decref(root);
	}
}

static void units_and_categories(void **state) {
	(void)state;
	struct receipt receipt = sample();
	struct categories categories;
	char before[HASH_TEXT], after[HASH_TEXT];
	const struct receipt_command command = {"in.jsonl", "text", "auto", "jsonl", 0};
	assert_true(receipt_fingerprint(&receipt, &command, before));
	receipt.unit = (struct receipt_unit){.key = "who", .weight = 1};
	assert_true(receipt_fingerprint(&receipt, &command, after));
	assert_string_not_equal(before, after);
	// Five times the rho, and the epsilon of that; exact composition has no number for it.
	receipt.guarantee.accountant = CUTTLE_EXACT;
	assert_int_equal(receipt_weigh(&receipt, 1, receipt.guarantee.rho, NULL), CUTTLE_OK);
	assert_true(receipt.guarantee.rho == 0.185 && receipt.guarantee.epsilon_exact == 2.79);
	assert_int_equal(receipt_weigh(&receipt, 5, 5 * receipt.guarantee.rho, NULL), CUTTLE_OK);
	assert_true(receipt.guarantee.rho >= 0.925 && receipt.guarantee.rho < 0.925000001);
	assert_true(receipt.guarantee.epsilon > 7.3 && receipt.guarantee.epsilon < 7.5 &&
	            isnan(receipt.guarantee.epsilon_exact));
	assert_int_equal(receipt.guarantee.accountant, CUTTLE_ZCDP);
	assert_int_equal(
	    categories_read((const char *const[]){"kind"}, 1, "sea,land", &categories, NULL),
	    CUTTLE_OK);
	categories_spread(&categories, 5);
	receipt.categories = &categories;
	json_t *root = read_back(&receipt),
	       *land = json_array_get(json_object_get(root, "categories"), 1);
	assert_int_equal(json_integer_value(json_object_get(land, "texts")), 2);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(land, "values"), "kind")), "land");
	assert_string_equal(json_string_value(json_object_get(root, "adjacency")),
	                    "replace all references of one unit by null; their categories stay");
	assert_string_equal(json_string_value(json_object_get(root, "unit")),
	                    "everybody with one value of who");
	assert_int_equal(json_integer_value(json_object_get(root, "unit_weight")), 5);
	assert_non_null(strstr(json_string_value(json_object_get(root, "guarantee")),
	                       "privacy per value of who"));
	json_decref(root);
	categories_free(&categories);
}

/* rho of a unit is never below its weight times rho of one text, not by a last digit either. */
static void a_weight_rounds_up(void **state) {
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct receipt receipt = sample();
		const double rho = (i + 100) / 3e4;
		const uint64_t weight = 2 + 37 * (uint64_t)i % 500;
		receipt.guarantee.rho = rho;
		assert_int_equal(receipt_weigh(&receipt, weight,
		                               units_multiply(weight, receipt.guarantee.rho), NULL),
		                 CUTTLE_OK);
		assert_int_equal(receipt.unit.weight, weight);
		// The difference of a product and its rounding is a double, so fma has its sign.
		assert_true(fma((double)weight, rho, -receipt.guarantee.rho) <= 0);
		assert_true(receipt.guarantee.rho <= (double)weight * rho * (1 + 1e-15));
	}
}

/* The fingerprint of a command does not follow from how its sentence is worded. */
static void words_make_no_other_command(void **state) {
	(void)state;
	struct receipt receipt = sample();
	const struct receipt_command command = {.input = "i",
	                                        .text_field = "text",
	                                        .input_format = "auto",
	                                        .output_format = "jsonl",
	                                        .insecure_seed = UINT64_MAX};
	char sentence[RECEIPT_SENTENCE], one[HASH_TEXT], other[HASH_TEXT];
	assert_true(receipt_fingerprint(&receipt, &command, one));
	static const char *const says[] = {
	    [RECEIPT_NOW] = ": any event has at most e^3 = 20.09 times the probability",
	    [RECEIPT_FORMER] =
	        "together, the probability of any event is at most e^3 = 20.09 times",
	    [RECEIPT_OLDEST] = "they would have concluded nearly as well without any one record"};
	for (receipt.wording = RECEIPT_NOW; receipt.wording <= RECEIPT_OLDEST; receipt.wording++) {
		receipt_sentence(&receipt, NULL, sentence);
		for (size_t i = 0; i <= RECEIPT_OLDEST; i++)
			assert_true((strstr(sentence, says[i]) != NULL) == (i == receipt.wording));
		assert_true(receipt_fingerprint(&receipt, &command, other));
		assert_string_equal(one, other);
	}
	// What it has been since 0.1.0: a run that was begun then goes on.
	assert_string_equal(one,
	                    "22fa7b6632deeb00f02a35652ad881103f56927c5d0ebafda5b9c282dc90944f");
}

static void the_sentence_rounds_up(void **state) {
	(void)state;
	struct receipt receipt = sample();
	char sentence[RECEIPT_SENTENCE];
	receipt_sentence(&receipt, NULL, sentence);
	assert_non_null(strstr(sentence, "(epsilon = 3, delta = 1e-06)-differential privacy"));
	assert_non_null(strstr(sentence,
	                       "Guarantee for all 5 texts together: any event has at most "
	                       "e^3 = 20.09 times the probability it has without any one "
	                       "record, plus delta = 1e-06. The same holds the other way "
	                       "round. An event is "));
	assert_non_null(strstr(sentence, "Even odds become at most 20.09 to 1, but for delta. "));
	assert_null(strstr(sentence, "promises little"));
	for (int large = 0; large < 2; large++) {
		receipt.guarantee.epsilon = large ? 300 : 10.5;
		receipt_sentence(&receipt, NULL, sentence);
		assert_non_null(strstr(sentence, large ? " at most e^300 to 1, but"
		                                       : " at most 36316 to 1, but"));
		assert_non_null(strstr(sentence, " An epsilon this large promises little."));
	}
	receipt.guarantee.epsilon = 3.00001;
	receipt_sentence(&receipt, NULL, sentence);
	assert_non_null(strstr(sentence, "(epsilon = 3.0001, "));
	receipt.guarantee.delta = nextafter(1e-6, 1);
	receipt_sentence(&receipt, NULL, sentence);
	assert_non_null(strstr(sentence, ", delta = 1.00001e-06)-differential privacy"));
	// Six digits would round this epsilon down, as earlier words did.
	struct receipt method = receipt;
	method.guarantee.method = CUTTLE_DP_PROMPT;
	method.guarantee.claim = (struct cuttle_method_claim){
	    .epsilon_pair = 1234.5643, .units = 2, .epsilon_worst = NAN};
	receipt_sentence(&method, NULL, sentence);
	assert_non_null(strstr(sentence, "epsilon is 1234.5643 a token, 2469.1286 the text: no"));
	method.wording = RECEIPT_FORMER;
	receipt_sentence(&method, NULL, sentence);
	assert_non_null(strstr(sentence, "epsilon is 1234.56 a token, 2469.13 the text: no"));
	// The sentence is that of the accountant asked for; one that has no number is null in the
	// document.
	receipt.guarantee.accountant = CUTTLE_EXACT;
	receipt_sentence(&receipt, NULL, sentence);
	assert_non_null(strstr(sentence, "(epsilon = 2.79, "));
	assert_true(receipt_epsilon(&receipt.guarantee) == 2.79);
	receipt.guarantee.accountant = CUTTLE_ZCDP;
	receipt.guarantee.epsilon_exact = NAN;
	size_t size;
	char *text = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &size);
	assert_non_null(strstr(text, "\"epsilon_exact\": null"));
	free(text);
}

static void fingerprints_differ(void **state) {
	(void)state;
	struct receipt receipt = sample(), changed = receipt;
	struct receipt_command command = {"in.jsonl", "text", "auto", "jsonl", 0}, other = command;
	char first[HASH_TEXT], second[HASH_TEXT];
	assert_true(receipt_fingerprint(&receipt, &command, first));
	assert_int_equal(strlen(first), 64);
	changed.isa = "avx512";
	assert_true(receipt_fingerprint(&changed, &command, second));
	assert_string_equal(first, second);
#define DIFFERS(change)                                                                            \
	do {                                                                                       \
		changed = receipt;                                                                 \
		other = command;                                                                   \
		change;                                                                            \
		assert_true(receipt_fingerprint(&changed, &other, second));                        \
		assert_string_not_equal(first, second);                                            \
	} while (0)
	DIFFERS(changed.isa = "blas");
	DIFFERS(changed.texts = 6);
	DIFFERS(changed.guarantee.clip_fixed++);
	DIFFERS(changed.guarantee.delta = nextafter(1e-6, 1));
	DIFFERS(changed.guarantee.temperature = 1.200001);
	DIFFERS(changed.guarantee.tokens++);
	DIFFERS(changed.guarantee.accountant = CUTTLE_EXACT);
	DIFFERS(changed.guarantee.gain = 1.5);
	DIFFERS(changed.filters.trim = true);
	DIFFERS(changed.filters.drop[FILTER_LOOPS] = true);
	DIFFERS(changed.filters.drop[FILTER_DUPLICATES] = true);
	DIFFERS(changed.guarantee.batch++);
	DIFFERS(changed.guarantee.top_k++);
	DIFFERS(changed.guarantee.context++);
	DIFFERS(changed.guarantee.private_output = false);
	DIFFERS(changed.guarantee.savings.center = true);
	DIFFERS(changed.guarantee.savings.token_bank = true);
	DIFFERS(changed.guarantee.savings.complete = true);
	DIFFERS(changed.guarantee.savings.public_when = 0.9);
	DIFFERS(changed.guarantee.savings.free_tokens = 1);
	DIFFERS(changed.trace = true);
	DIFFERS(changed.model_sha256[0] ^= 1);
	DIFFERS(changed.template_sha256[0] ^= 1);
	DIFFERS(other.input = "other.jsonl");
	DIFFERS(other.text_field = "body");
	DIFFERS(other.output_format = "csv");
	receipt.guarantee.private_output = false;
	assert_true(receipt_fingerprint(&receipt, &command, first));
	DIFFERS(other.insecure_seed = 1);
}

static void documents_read_back(void **state) {
	(void)state;
	static const double reals[] = {
	    0,         -0.5,   0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308,
	    123456789, 2.5e-7, NAN, INFINITY};
	static const int32_t integers[] = {INT32_MIN, 0, 49151};
	static const char odd[] = "\x01\"\\\n\t\0\xE2\x82\xAC\xED\xA0\x80\xF0\x9F\x90\x99\xC3";
	static const char wanted[] = "\x01\"\\\n\t\0\xE2\x82\xAC\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF"
	                             "\xBD\xF0\x9F\x90\x99\xEF\xBF\xBD";
	enum { REALS = sizeof reals / sizeof *reals };
	json_t *list = json_array();
	for (size_t i = 0; i < REALS; i++)
		assert_int_equal(json_array_append_new(list, jsonout_real(reals[i])), 0);
	const struct jsonout_member members[] = {{"reals", list},
	                                         {"integers", jsonout_integers(integers, 3)},
	                                         {"text", jsonout_text(odd, sizeof odd - 1)}};
	size_t size;
	char *text = jsonout_dump(jsonout_extend(json_object(), members, 3), JSON_COMPACT, &size);
	assert_non_null(text);
	assert_ptr_equal(memchr(text, '\n', size), text + size - 1);
	json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
	list = json_object_get(root, "reals");
	for (size_t i = 0; i < REALS; i++)
		if (isfinite(reals[i]))
			assert_true(json_real_value(json_array_get(list, i)) == reals[i]);
		else assert_true(json_is_null(json_array_get(list, i)));
	list = json_object_get(root, "integers");
	for (size_t i = 0; i < 3; i++)
		assert_true(json_integer_value(json_array_get(list, i)) == integers[i]);
	assert_int_equal(json_string_length(json_object_get(root, "text")), sizeof wanted - 1);
	assert_memory_equal(json_string_value(json_object_get(root, "text")), wanted,
	                    sizeof wanted - 1);
	json_decref(root);
	free(text);
}

static void a_missing_member_is_no_document(void **state) {
	(void)state;
	const struct jsonout_member members[] = {
	    {"one", json_integer(1)}, {"two", NULL}, {"three", json_integer(3)}};
	size_t size = 1;
	assert_null(jsonout_dump(jsonout_extend(json_object(), members, 3), 0, &size));
	assert_int_equal(size, 0);
	assert_null(jsonout_extend(NULL, &(struct jsonout_member){"one", json_integer(1)}, 1));
}

static void sha256_is_sha256(void **state) {
	(void)state;
	char text[HASH_TEXT];
	hash_of("abc", 3, text);
	// FIPS 180-4, example 1.
	assert_string_equal(text,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* Writes text to a new file of that mode in /tmp; returns its name. */
static const char *file_of(const char *text, mode_t mode) {
	static char path[] = "/tmp/cuttle-receipt-XXXXXX";
	memcpy(path + sizeof path - 7, "XXXXXX", 6);
	files_put_new(path, text, strlen(text));
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* RFC 8032, 7.1, test 1. */
static const char SEED[] =
    "cuttle-secret-key 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n";
static const char PUBLIC[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

static void signatures_are_ed25519(void **state) {
	(void)state;
	struct signature_key *key;
	char signature[SIGNATURE_TEXT], other[SIGNATURE_TEXT];
	const char *path = file_of(SEED, 0600);
	assert_int_equal(signature_open(path, &key, NULL), CUTTLE_OK);
	assert_string_equal(signature_public(key), PUBLIC);
	signature_sign(key, "", 0, signature);
	assert_string_equal(signature, "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224"
	                               "901555fb8821590a33bacc61e39701cf9b46b"
	                               "d25bf5f0595bbe24655141438e7a100b");
	assert_true(signature_right(PUBLIC, signature, "", 0));
	assert_false(signature_right(PUBLIC, signature, "x", 1));
	for (size_t i = 0; i < sizeof signature - 1; i++) {
		(void)strcpy(other, signature);
		other[i] = other[i] == '0' ? '1' : '0';
		assert_false(signature_right(PUBLIC, other, "", 0));
		other[i] = 'x';
		assert_false(signature_right(PUBLIC, other, "", 0));
	}
	assert_false(signature_right("", signature, "", 0));
	// A key that is no hexadecimal would be read as far as it is, over what the stack held.
	(void)snprintf(other, sizeof other, "%s", PUBLIC);
	other[63] = 'G';
	assert_true(signature_right(PUBLIC, signature, "", 0));
	assert_false(signature_right(other, signature, "", 0));
	assert_false(signature_right(PUBLIC, PUBLIC, "", 0));
	signature_close(&key);
	assert_null(key);
	assert_int_equal(unlink(path), 0);
}

static void a_bad_key_is_no_key(void **state) {
	(void)state;
	struct signature_key *key;
	char public_key[SIGNATURE_PUBLIC], text[128];
	const char *path;
	static const mode_t open_modes[] = {0640, 0604, 0620, 0601};
	for (size_t i = 0; i < 4; i++) {
		path = file_of(SEED, open_modes[i]);
		assert_int_equal(signature_open(path, &key, NULL), CUTTLE_USAGE);
		assert_null(key);
		assert_int_equal(unlink(path), 0);
	}
	for (size_t cut = 0; cut < sizeof SEED + 1; cut++) {
		(void)snprintf(text, sizeof text, "%.*s%s", (int)cut, SEED,
		               cut == sizeof SEED ? "\n" : "");
		if (cut == sizeof SEED - 1) text[40] = 'g';
		path = file_of(text, 0600);
		assert_int_equal(signature_open(path, &key, NULL), CUTTLE_INPUT);
		assert_int_equal(signature_read_public(path, public_key, NULL), CUTTLE_INPUT);
		assert_int_equal(unlink(path), 0);
	}
	// Of the right length, but another word before the digits, or no line break behind them.
	static const size_t wrong[] = {0, 17, sizeof SEED - 2};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		memcpy(text, SEED, sizeof SEED);
		text[wrong[i]] = 'x';
		path = file_of(text, 0600);
		assert_int_equal(signature_open(path, &key, NULL), CUTTLE_INPUT);
		assert_int_equal(unlink(path), 0);
	}
	(void)snprintf(text, sizeof text, "%s of the ward\n", PUBLIC);
	path = file_of(text, 0644);
	assert_int_equal(signature_read_public(path, public_key, NULL), CUTTLE_INPUT);
	assert_int_equal(unlink(path), 0);
	memcpy(text, PUBLIC, sizeof PUBLIC);
	text[9] = 'G';
	assert_int_equal(signature_read_public(text, public_key, NULL), CUTTLE_INPUT);
	assert_int_equal(signature_open("/tmp", &key, NULL), CUTTLE_USAGE);
	assert_int_equal(signature_read_public(PUBLIC, public_key, NULL), CUTTLE_OK);
	(void)snprintf(text, sizeof text, "%s\n", PUBLIC);
	path = file_of(text, 0644);
	memset(public_key, 0, sizeof public_key);
	assert_int_equal(signature_read_public(path, public_key, NULL), CUTTLE_OK);
	assert_string_equal(public_key, PUBLIC);
	assert_int_equal(unlink(path), 0);
}

static void the_signature_is_of_the_rest(void **state) {
	(void)state;
	struct receipt receipt = sample();
	struct signature_key *key;
	const char *path = file_of(SEED, 0600);
	size_t size, plain_size;
	char before[HASH_TEXT], after[HASH_TEXT], signature[SIGNATURE_TEXT];
	const struct receipt_command command = {"in.jsonl", "text", "auto", "jsonl", 0};
	assert_int_equal(signature_open(path, &key, NULL), CUTTLE_OK);
	assert_true(receipt_fingerprint(&receipt, &command, before));
	char *plain = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &plain_size);
	receipt.signer = key;
	assert_true(receipt_fingerprint(&receipt, &command, after));
	assert_string_equal(before, after);
	char *text = receipt_seal(receipt_json(&receipt, "f", "o"), receipt.signer, &size);
	char *line = strstr(text, "\n  \"signature\": \"") + 1, *end = strchr(line, '\n') + 1;
	memcpy(signature, strchr(line, ':') + 3, SIGNATURE_TEXT - 1);
	signature[SIGNATURE_TEXT - 1] = 0;
	memmove(line, end, (size_t)(text + size - end));
	size -= (size_t)(end - line);
	assert_true(signature_right(PUBLIC, signature, text, size));
	assert_int_equal(size, plain_size + strlen("  \"public_key\": \"\",\n") + strlen(PUBLIC));
	free(text);
	free(plain);
	signature_close(&key);
	assert_int_equal(unlink(path), 0);
}

/* ---- read back and checked ------------------------------------------------------------------- */

/* Numbers that follow from each other. */
static struct receipt consistent(void) {
	struct receipt receipt = sample();
	struct cuttle_guarantee *guarantee = &receipt.guarantee;
	struct cuttle_budget budget;
	guarantee->tokens = 20; // few, as the exact accountant is asked each time
	guarantee->reference_tokens = 1000;
	guarantee->clip = 935 / 4096.0;
	cuttle_budget_none(&budget);
	budget.clip = guarantee->clip;
	budget.delta = guarantee->delta;
	budget.temperature = guarantee->temperature;
	budget.batch = guarantee->batch;
	budget.tokens = guarantee->tokens;
	struct cuttle_budget exact = budget;
	exact.accountant = CUTTLE_EXACT;
	assert_int_equal(cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_budget_solve(&exact, CUTTLE_EPSILON, NULL), CUTTLE_OK);
	guarantee->epsilon = budget.epsilon;
	guarantee->epsilon_exact = exact.epsilon;
	guarantee->rho = budget.rho;
	return receipt;
}

/* What is said of the receipt when `from` (NULL: nothing) in it reads `to`. */
static enum cuttle_status checked(const struct receipt *receipt, const char *from, const char *to,
                                  struct cuttle_error *error) {
	struct evidence evidence = {0};
	char sha256[HASH_TEXT], edited[8192];
	size_t size;
	hash_of("output", 6, sha256);
	char *text = receipt_seal(receipt_json(receipt, sha256, sha256), receipt->signer, &size),
	     *at = text;
	assert_non_null(text);
	if (from && !(at = strstr(text, from))) fail_msg("%s is not in %s", from, text);
	const int length = snprintf(edited, sizeof edited, "%.*s%s%.*s", (int)(at - text), text, to,
	                            (int)(text + size - at - strlen(from ? from : "")),
	                            at + strlen(from ? from : ""));
	assert_in_range(length, 1, sizeof edited - 1);
	const char *path = file_of(edited, 0600);
	struct attested attested;
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status) status = evidence_read(&GENERATE_KIND, &attested, &evidence, error);
	if (!status) status = evidence_check(&evidence, NULL, error);
	evidence_free(&evidence);
	attest_close(&attested);
	assert_int_equal(unlink(path), 0);
	free(text);
	return status;
}

static void edits_are_seen(void **state) {
	(void)state;
	static const struct {
		const char *from, *to, *says;
	} edits[] = {
	    {"replace one reference by null", "replace one reference by any other", "adjacency"},
	    {"\"unit\": \"one record", "\"unit\": \"one token", "its unit "},
	    {"it has without", "it has within", "guarantee"},
	    {"delta = 1e-06)", "delta = 1e-09)", "guarantee"},
	    {"\"clip\": 0.228271484375", "\"clip\": 0.22827148437500003", "clip"},
	    {"\"clip_fixed\": 935", "\"clip_fixed\": 934", "follow"},
	    {"\"temperature\": 1.2", "\"temperature\": 1.3", "follow"},
	    {"\"batch\": 7", "\"batch\": 6", "follow"},
	    {"\"tokens\": 20", "\"tokens\": 21", "follow"},
	    {"\"tokens\": 20", "\"tokens\": 1500", "room"},
	    {"\"context\": 2048", "\"context\": 1019", "room"},
	    {"\"top_k\": 100", "\"top_k\": 4294967296", "no receipt"},
	    {"\"texts\": 5", "\"texts\": 6", "guarantee"},
	    {"\"unit_weight\": 1", "\"unit_weight\": 2", "no receipt"},
	    {"\"unit_key\": null", "\"unit_key\": \"who\"", "follow"},
	    {"\"private\": true", "\"private\": false", "follow"},
	    {"\"center\": \"median\"", "\"center\": \"mean\"", "center"},
	    {"\"free_tokens\": 9", "\"free_tokens\": 0", "no receipt"},
	    {"2026-01-31", "2026-02-31", "no receipt"},
	    {"\"dataset\": \"notes\"", "\"dataset\": \"no\\ntes\"", "no receipt"},
	    {"  \"dataset\"", "  \"databank\": 1,\n  \"dataset\"", "does not write"},
	    {"  \"dataset\"", " \"dataset\"", "bytes"},
	    {"\"receipt\": 2", "\"receipt\": 1", "another cuttle"},
	    {"\"version\": \"0", "\"version\": \"x",
	     "another cuttle, in another format (version ;"},
	    {"  \"receipt\": 2,\n", "", "this is no receipt of cuttle"},
	};
	struct cuttle_error error;
	struct receipt receipt = consistent();
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	// Another version of the same format.
	assert_int_equal(checked(&receipt, "\"version\": \"0.2.0", "\"version\": \"0.17", &error),
	                 CUTTLE_OK);
	receipt.guarantee.savings =
	    (struct cuttle_savings){.center = true, .complete = true, .free_tokens = 9};
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		const enum cuttle_status status =
		    checked(&receipt, edits[i].from, edits[i].to, &error);
		if (status != CUTTLE_LEDGER && status != CUTTLE_INPUT)
			fail_msg("%s passes", edits[i].to);
		if (!strstr(error.message, edits[i].says))
			fail_msg("%s: %s", edits[i].to, error.message);
	}
}

static void categories_are_checked(void **state) {
	(void)state;
	static const char *const edits[][2] = {{"\"texts\": 3", "\"texts\": 2"},
	                                       {"\"texts\": 3", "\"texts\": -3"},
	                                       {"\"kind\": \"land\"", "\"kind\": \"sea\""},
	                                       {"\"kind\": \"land\"", "\"kine\": \"land\""},
	                                       {"\"kind\": \"land\"", "\"kind\": 1"},
	                                       {"\"kind\": \"land\"", ""},
	                                       {"by null; its category stays", "by null"}};
	struct receipt receipt = consistent();
	struct categories categories;
	struct cuttle_error error;
	assert_int_equal(
	    categories_read((const char *const[]){"kind"}, 1, "sea,land", &categories, NULL),
	    CUTTLE_OK);
	categories_spread(&categories, 5);
	receipt.categories = &categories;
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		if (!checked(&receipt, edits[i][0], edits[i][1], &error))
			fail_msg("%s passes", edits[i][1]);
	categories_free(&categories);
}

/* The ledger must have charged the unit that it charged most at least what the receipt says it
 * costs. */
static void the_charge_covers_it(void **state) {
	(void)state;
	struct cuttle_error error;
	struct receipt receipt = consistent();
	const double rho = receipt.guarantee.rho;
	hash_of("entry", 5, receipt.ledger.entry);
	receipt.ledger.rho = rho;
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	assert_int_equal(checked(&receipt, "\"dataset\": \"notes\"", "\"dataset\": null", &error),
	                 CUTTLE_LEDGER);
	receipt.ledger.rho = nextafter(rho, 0);
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_LEDGER);
	// Without a limit all that a unit costs is charged at once.
	receipt.unit = (struct receipt_unit){.key = "who"};
	assert_int_equal(receipt_weigh(&receipt, 4, 4 * receipt.guarantee.rho, &error), CUTTLE_OK);
	receipt.ledger.rho = receipt.guarantee.rho;
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	receipt.ledger.rho = nextafter(receipt.guarantee.rho, 0);
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_LEDGER);
	// With one a unit is charged for the texts it stands in, at least one of those it is
	// promised for.
	receipt.unit.limited = true;
	receipt.ledger.rho = rho;
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_OK);
	receipt.ledger.rho = rho * (1 - 1e-12);
	assert_int_equal(checked(&receipt, NULL, "", &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "charged less"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_are_sorted_and_values_right),
	    cmocka_unit_test(insecure_runs_say_so),
	    cmocka_unit_test(one_epsilon_is_promised),
	    cmocka_unit_test(no_part_of_the_command),
	    cmocka_unit_test(a_weight_rounds_up),
	    cmocka_unit_test(what_is_off_is_not_named),
	    cmocka_unit_test(units_and_categories),
	    cmocka_unit_test(words_make_no_other_command),
	    cmocka_unit_test(the_sentence_rounds_up),
	    cmocka_unit_test(fingerprints_differ),
	    cmocka_unit_test(documents_read_back),
	    cmocka_unit_test(a_missing_member_is_no_document),
	    cmocka_unit_test(sha256_is_sha256),
	    cmocka_unit_test(signatures_are_ed25519),
	    cmocka_unit_test(a_bad_key_is_no_key),
	    cmocka_unit_test(the_signature_is_of_the_rest),
	    cmocka_unit_test(edits_are_seen),
	    cmocka_unit_test(categories_are_checked),
	    cmocka_unit_test(the_charge_covers_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
