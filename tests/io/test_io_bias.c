// SPDX-License-Identifier: Apache-2.0
// Tests io/receipts/bias.c, and what receipts say of a bias. It fails if a run and its bias
// together promise more than dp/PRIVACY.md, step 56, allows; if one changed byte of a bias, or a
// receipt of another file or kind, is taken; or if numbers come back changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle/budget.h"
#include "engine/cuttle/learn.h"
#include "io/receipts/bias.h"
#include "tests/support/files.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 3 };
static const int64_t ANSWER[WIDTH] = {-310, 0, INT64_C(1) << 40};
static const double VECTOR[WIDTH] = {0.1, -1e-300, 2.5};

static struct learn_receipt learnt(void) {
	struct learn_receipt receipt = {
	    .asked = {.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1},
	    .delta = 1e-6,
	    .records = 1000,
	    .texts = 160,
	    .tokens = 40,
	    .context = 512,
	    .width = WIDTH,
	    .private_output = true,
	    .isa = "scalar",
	    .date = "2026-01-31"};
	(void)strcpy(receipt.model.name, "model");
	receipt.model.file_bytes = 99;
	hash_of("model", 5, receipt.model_sha256);
	bias_prompt("public:\nA\nprivate:\nB{reference}", receipt.template_sha256);
	assert_int_equal(cuttle_queries_solve(&receipt.asked, 1, 1, 1e-6, NULL), CUTTLE_OK);
	assert_int_equal(learn_settle(&receipt, NULL), CUTTLE_OK);
	return receipt;
}

/* Writes a bias of these bytes, and its receipt. */
static void write_bias_line(const struct learn_receipt *receipt, const char *line, size_t size) {
	char sha256[HASH_TEXT], fingerprint[HASH_TEXT];
	size_t receipt_size;
	hash_of(line, size, sha256);
	assert_true(
	    learn_fingerprint(receipt, "notes.jsonl", "text", NULL, UINT64_MAX, fingerprint));
	char *seal = receipt_seal(evidence_json(&LEARN_KIND, receipt, fingerprint, sha256), NULL,
	                          &receipt_size);
	assert_non_null(seal);
	files_put("b", line, size);
	files_put("b.receipt.json", seal, receipt_size);
	free(seal);
}

/* Writes a bias and its receipt. `at` below the bias's size: this byte of it is changed then. */
static void write_bias(const struct learn_receipt *receipt, size_t at) {
	const struct bias_numbers numbers = {.records = 1000,
	                                     .share = 0.5,
	                                     .tokens = 38,
	                                     .clip = 5,
	                                     .answer = ANSWER,
	                                     .vector = VECTOR};
	size_t size;
	char *line = jsonout_dump(bias_line(&numbers, WIDTH), JSON_COMPACT, &size);
	assert_non_null(line);
	write_bias_line(receipt, line, size);
	if (at < size) {
		line[at] ^= 1;
		files_put("b", line, size);
	}
	free(line);
}

static void numbers_come_back(void **state) {
	(void)state;
	const struct learn_receipt receipt = learnt();
	struct cuttle_error error;
	struct bias bias;
	write_bias(&receipt, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_OK);
	assert_memory_equal(bias.vector, VECTOR, sizeof VECTOR);
	assert_true(bias.share == 0.5);
	const struct receipt_bias told = bias_told(&bias);
	assert_true(told.epsilon == receipt.epsilon && told.rho == receipt.rho);
	assert_true(told.delta == 1e-6 && !told.from_public);
	assert_int_equal(bias_fits(&bias, receipt.model_sha256, WIDTH, &error), CUTTLE_OK);
	assert_int_equal(bias_fits(&bias, receipt.model_sha256, WIDTH + 1, &error), CUTTLE_INPUT);
	assert_int_equal(bias_fits(&bias, receipt.template_sha256, WIDTH, &error), CUTTLE_INPUT);
	// Its own words count, and no others.
	assert_true(bias_behind(&bias, "public:\nA\nprivate:\nC{reference}D{reference}"));
	assert_false(bias_behind(&bias, "public:\nAA\nprivate:\nB{reference}"));
	bias_close(&bias);
}

static void changed_files_are_refused(void **state) {
	(void)state;
	const struct learn_receipt receipt = learnt();
	struct cuttle_error error;
	struct bias bias;
	for (size_t at = 0; at < 100; at++) {
		write_bias(&receipt, at);
		assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_LEDGER);
		bias_close(&bias);
	}
	write_bias(&receipt, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "none", &error), CUTTLE_INPUT);
	bias_close(&bias);
	assert_int_equal(bias_open(&bias, "none", "b.receipt.json", &error), CUTTLE_INPUT);
	bias_close(&bias);
	// A receipt that says another width than the file has.
	struct learn_receipt wide = receipt;
	wide.width = WIDTH + 1;
	write_bias(&wide, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_INPUT);
	bias_close(&bias);
	// Wider than any model: so much memory is never asked for.
	wide.width = UINT64_C(1) << 40;
	write_bias(&wide, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_LEDGER);
	bias_close(&bias);
	struct learn_receipt many = receipt;
	many.records = (size_t)CUTTLE_LEARN_RECORDS + 1;
	write_bias(&many, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_LEDGER);
	bias_close(&bias);
	// Standard input has no receipt beside it.
	assert_int_equal(bias_open(&bias, "-", NULL, &error), CUTTLE_USAGE);
	bias_close(&bias);
	// One that promises more than its noise gives.
	struct learn_receipt small = receipt;
	small.epsilon = 0.1;
	write_bias(&small, SIZE_MAX);
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_LEDGER);
	bias_close(&bias);
}

/* Anybody may write a file and a receipt with its hash. */
static void strange_lines_are_refused(void **state) {
	(void)state;
	static const char *const lines[] = {
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,NaN]}\n",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,1e999]}\n",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3]}\n",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0]}\n",
	    "{\"cuttle_bias\":1,\"share\":-0.5,\"bias\":[1.0,2.0,3.0]}\n",
	    "{\"cuttle_bias\":1,\"share\":1.5,\"bias\":[1.0,2.0,3.0]}\n",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n\n",
	    "{\"heading\":\"a: b\",\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n",
	    "{\"cuttle_bias\":2,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n",
	    "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[9.0,9.0,9.0],\"bias\":[1.0,2.0,3.0]}\n",
	    ""};
	static const char good[] = "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n";
	const struct learn_receipt receipt = learnt();
	struct cuttle_error error;
	struct bias bias;
	write_bias_line(&receipt, good, strlen(good));
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_OK);
	bias_close(&bias);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		write_bias_line(&receipt, lines[i], strlen(lines[i]));
		assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_INPUT);
		bias_close(&bias);
	}
}

/* A line of each category, behind that of all records. */
static void categories_have_their_own(void **state) {
	(void)state;
	static const char all[] = "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n",
	                  sea[] = "{\"heading\":\"kind: sea\",\"cuttle_bias\":1,\"share\":0.25,"
	                          "\"bias\":[4.0,5.0,6.0]}\n";
	char lines[3 * sizeof sea];
	struct learn_receipt receipt = learnt();
	struct cuttle_error error;
	struct bias bias;
	receipt.categories = 1;
	(void)snprintf(lines, sizeof lines, "%s%s", all, sea);
	write_bias_line(&receipt, lines, strlen(lines));
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_OK);
	assert_true(bias.share == 0.5 && *bias_of(&bias, NULL) == 1);
	assert_true(*bias_of(&bias, "kind: land") == 1 && *bias_of(&bias, "kind: sea") == 4);
	bias_close(&bias);
	// Fewer lines than the receipt says, more, or in another order.
	const char *const others[][2] = {{all, ""}, {sea, all}, {all, all}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		(void)snprintf(lines, sizeof lines, "%s%s", others[i][0], others[i][1]);
		write_bias_line(&receipt, lines, strlen(lines));
		assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_INPUT);
		bias_close(&bias);
	}
	(void)snprintf(lines, sizeof lines, "%s%s%s", all, sea, sea);
	write_bias_line(&receipt, lines, strlen(lines));
	assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), CUTTLE_INPUT);
	bias_close(&bias);
}

/* What a ledger charged is no less than the bias costs, in what the ledger counts, and has a data
 * set. A bias that promises nothing has no charge. */
static void charges_are_costs(void **state) {
	(void)state;
	static const struct {
		double part;     /* of the cost that was charged */
		bool in_epsilon; /* with so much of the delta */
		double delta;
		uint32_t order;
		bool nobody, open, seeded; /* no data set; of public records; with a seed */
		enum cuttle_status status;
	} tries[] = {{1, false, 0, 0, false, false, false, CUTTLE_OK},
	             {0.999, false, 0, 0, false, false, false, CUTTLE_LEDGER},
	             {1, true, 1, 0, false, false, false, CUTTLE_OK},
	             {0.999, true, 1, 0, false, false, false, CUTTLE_LEDGER},
	             {1, true, 0.5, 0, false, false, false, CUTTLE_LEDGER},
	             {1, false, 0, 4, false, false, false, CUTTLE_OK},
	             {0.999, false, 0, 4, false, false, false, CUTTLE_LEDGER},
	             {1, false, 0, 1, false, false, false, CUTTLE_INPUT},
	             {1, false, 0, 0, true, false, false, CUTTLE_LEDGER},
	             {1, false, 0, 0, false, true, false, CUTTLE_LEDGER},
	             {1, false, 0, 0, false, false, true, CUTTLE_LEDGER}};
	static const char line[] = "{\"cuttle_bias\":1,\"share\":0.5,\"bias\":[1.0,2.0,3.0]}\n";
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		struct learn_receipt receipt = learnt();
		struct cuttle_error error;
		struct bias bias;
		const double cost = tries[i].in_epsilon ? receipt.epsilon
		                    : tries[i].order    ? tries[i].order * receipt.rho
		                                        : receipt.rho;
		receipt.dataset = tries[i].nobody ? NULL : "notes";
		receipt.from_public = tries[i].open;
		receipt.private_output = !tries[i].seeded;
		receipt.order = tries[i].order;
		receipt.ledger = (struct receipt_ledger){
		    .rho = tries[i].part * cost,
		    .delta = tries[i].in_epsilon ? tries[i].delta * receipt.delta : 0};
		hash_of("entry", 5, receipt.ledger.entry);
		if (tries[i].open) receipt.rho = receipt.epsilon = receipt.delta = 0;
		write_bias_line(&receipt, line, strlen(line));
		assert_int_equal(bias_open(&bias, "b", "b.receipt.json", &error), tries[i].status);
		bias_close(&bias);
	}
}

static double epsilon_of(double rho, double delta) {
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	budget.rho = rho;
	budget.delta = delta;
	assert_int_equal(cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL), CUTTLE_OK);
	return budget.epsilon;
}

static void both_promises_add_up(void **state) {
	(void)state;
	static const struct cuttle_lots lots[1];
	struct receipt receipt = {.texts = 1, .guarantee = {.epsilon = 2, .delta = 1e-5}};
	receipt.guarantee.rho = 0.05;
	receipt.guarantee.accountant = CUTTLE_ZCDP;
	// Without a bias, and with one of public records, it is the run's own.
	struct receipt_joint joint = bias_joint_promise(&receipt);
	assert_true(joint.epsilon == 2 && joint.delta == 1e-5);
	(void)strcpy(receipt.bias.sha256, "b");
	receipt.bias.from_public = true;
	joint = bias_joint_promise(&receipt);
	assert_true(joint.epsilon == 2 && joint.delta == 1e-5);
	receipt.bias =
	    (struct receipt_bias){.sha256 = "b", .epsilon = 1, .delta = 1e-6, .rho = 0.024356};
	joint = bias_joint_promise(&receipt);
	const double by_rho = epsilon_of(0.05 + 0.024356, 1.1e-5);
	assert_true(by_rho < 3);
	assert_true(fabs(joint.epsilon - by_rho) < 1e-9 && joint.epsilon >= by_rho * (1 - 1e-12));
	assert_true(joint.delta >= 1.1e-5 && joint.delta < 1.1000001e-5);
	// With lots rho is not the run's: basic composition, although rho would promise less.
	receipt.lots = lots;
	receipt.lot_count = 1;
	joint = bias_joint_promise(&receipt);
	assert_true(joint.epsilon >= 3 && joint.epsilon < 3.0000001);
	// Where basic composition is the smaller one, it is told.
	receipt.lot_count = 0;
	receipt.guarantee.epsilon = 0.01;
	joint = bias_joint_promise(&receipt);
	assert_true(joint.epsilon >= 1.01 && joint.epsilon < 1.0100001);
	char sentence[RECEIPT_SENTENCE];
	receipt_tell_bias(false, &(struct receipt_joint){1.0101, 1.1e-5}, sentence,
	                  sizeof sentence);
	assert_non_null(strstr(sentence, "epsilon is 1.0101 at delta 1.1e-05 for both together."));
}

static char folder[] = "/tmp/cuttle-bias-XXXXXX";

static int enter_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state) {
	static const char *const names[] = {"b", "b.receipt.json"};
	(void)state;
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_come_back),
	    cmocka_unit_test(changed_files_are_refused),
	    cmocka_unit_test(strange_lines_are_refused),
	    cmocka_unit_test(categories_have_their_own),
	    cmocka_unit_test(charges_are_costs),
	    cmocka_unit_test(both_promises_add_up),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
