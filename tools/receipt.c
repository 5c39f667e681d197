// SPDX-License-Identifier: Apache-2.0
// cuttle receipt verify: whether a receipt agrees with itself, its output, its model and its ledger, and what it promises.
#include "tools/verbs.h"

#include "io/fail.h"
#include "io/ledger.h"
#include "io/receipt.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(member) OPTION(struct receipt_values, member)

struct receipt_values {
	const char *output, *model, *ledger, *key;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "the output: its hash must be the receipt's"},
	{.name = "model", .letter = 'm', VALUE(model), .argument = "FILE",
	 .help = "the model: its hash must be the receipt's"},
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "the ledger: it must have the receipt's entry, with its numbers, in an unbroken chain"},
	{.name = "key", VALUE(key), .argument = "PUBLIC",
	 .help = "the receipt must be signed with this key: its 64 digits, or the file with them that cuttle ledger key made"},
};

static const char ABOUT[] =
	"Recomputes rho and both epsilons from the integers in the receipt, compares what is given with its hashes, checks its signature, and "
	"says in words what is promised and what is not. Exit 0: all of it agrees and the output is private. Exit 7: something was changed, or "
	"belongs to another receipt: a number, a byte, the output, the model, the signature, the key, the ledger. Exit 4: a file cannot be read "
	"or is no receipt, or the output is NOT PRIVATE.\n\n"

	"A receipt without signature proves that its numbers belong together and to these files, not who wrote it; one that is signed was "
	"written by somebody with the secret key, so --key is what counts: anybody can sign with a key of their own. The signature "
	"(Ed25519) is of the receipt's bytes without the line \"signature\".\n";
// clang-format on

enum { MOST_RECEIPT = 1 << 20 };

struct claim {
	struct cuttle_guarantee guarantee;
	size_t texts;
	const char *accountant, *sentence, *command_sha256, *output_sha256, *model_sha256,
	    *template_sha256;               /* the document's; never NULL */
	const json_t *ledger, *categories;  /* an object, a list, or NULL */
	const char *public_key, *signature; /* both or none */
	struct receipt_unit unit;
	bool trace;
};

static bool get_count(const json_t *root, const char *key, uint64_t most, uint64_t *value) {
	const json_t *member = json_object_get(root, key);
	json_int_t number = json_integer_value(member);
	*value = number > 0 ? (uint64_t)number : 0;
	return json_is_integer(member) && number >= 0 && *value <= most;
}

static bool get_real(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_real_value(member);
	return json_is_real(member) && *value > 0 && isfinite(*value);
}

static bool get_text(const json_t *root, const char *key, const char **text) {
	*text = json_string_value(json_object_get(root, key));
	return *text != NULL;
}

/* The ways to spend better; what is off is not named. */
static bool get_savings(const json_t *root, struct cuttle_savings *savings) {
	const char *center = NULL;
	uint64_t free_tokens = 0;
	*savings = (struct cuttle_savings){.center = json_object_get(root, "center"),
	                                   .token_bank = json_object_get(root, "token_bank"),
	                                   .complete = json_object_get(root, "complete")};
	bool right = !savings->center || (get_text(root, "center", &center) && !strcmp(center, "median"));
	right &= !savings->token_bank || json_is_true(json_object_get(root, "token_bank"));
	right &= !savings->complete || json_is_true(json_object_get(root, "complete"));
	if (json_object_get(root, "public_when"))
		right &= get_real(root, "public_when", &savings->public_when) && savings->public_when <= 1;
	const bool any = savings->complete || savings->public_when > 0, named = json_object_get(root, "free_tokens");
	right &= any == named && (!named || (get_count(root, "free_tokens", UINT32_MAX, &free_tokens) && free_tokens > 0));
	savings->free_tokens = (uint32_t)free_tokens;
	return right;
}

static bool read_claim(const json_t *root, struct claim *claim) {
	struct cuttle_guarantee *guarantee = &claim->guarantee;
	const json_t *private_output = json_object_get(root, "private"), *ledger = json_object_get(root, "ledger");
	const json_t *key = json_object_get(root, "unit_key"), *limited = json_object_get(root, "unit_limited"),
	             *categories = json_object_get(root, "categories"), *trace = json_object_get(root, "trace");
	uint64_t batch = 0, tokens = 0, clip_fixed = 0, fraction_bits = 0, texts = 0;
	*claim = (struct claim){.ledger = json_is_object(ledger) ? ledger : NULL,
	                        .categories = json_is_array(categories) ? categories : NULL,
	                        .unit = {.key = json_string_value(key), .limited = json_is_true(limited)}};
	bool right = json_is_boolean(private_output) && (claim->ledger || json_is_null(ledger)) && json_is_boolean(trace);
	right &= (claim->categories || json_is_null(categories)) && (claim->unit.key || json_is_null(key)) && json_is_boolean(limited);
	right &= get_count(root, "unit_weight", INT64_MAX, &claim->unit.weight) && claim->unit.weight > 0;
	// One record cannot cost more than one, nor be limited.
	right &= claim->unit.key || (claim->unit.weight == 1 && !claim->unit.limited);
	right &= get_count(root, "batch", UINT32_MAX, &batch) && get_count(root, "tokens", UINT32_MAX, &tokens);
	right &= get_count(root, "clip_fixed", INT32_MAX, &clip_fixed) && get_count(root, "fraction_bits", 30, &fraction_bits);
	right &= get_savings(root, &guarantee->savings);
	right &= get_count(root, guarantee->savings.token_bank ? "batches" : "texts", SIZE_MAX / 2, &texts);
	right &= get_real(root, "clip", &guarantee->clip) && get_real(root, "temperature", &guarantee->temperature);
	right &= get_real(root, "rho", &guarantee->rho) && get_real(root, "epsilon", &guarantee->epsilon);
	right &= get_real(root, "delta", &guarantee->delta) && get_text(root, "accountant", &claim->accountant);
	guarantee->epsilon_exact = NAN;
	if (!json_is_null(json_object_get(root, "epsilon_exact"))) right &= get_real(root, "epsilon_exact", &guarantee->epsilon_exact);
	right &= get_text(root, "guarantee", &claim->sentence) && get_text(root, "command_sha256", &claim->command_sha256);
	right &= get_text(root, "output_sha256", &claim->output_sha256) && get_text(root, "model_sha256", &claim->model_sha256);
	right &= get_text(root, "template_sha256", &claim->template_sha256);
	const bool public_key = get_text(root, "public_key", &claim->public_key);
	right &= public_key == get_text(root, "signature", &claim->signature);
	const bool exact = right && !strcmp(claim->accountant, "exact");
	right &= exact ? !isnan(guarantee->epsilon_exact) : right && !strcmp(claim->accountant, "zcdp");
	if (!right || !batch || !tokens || !clip_fixed || !texts) return false;
	guarantee->accountant = exact ? CUTTLE_EXACT : CUTTLE_ZCDP;
	guarantee->private_output = json_is_true(private_output);
	claim->trace = json_is_true(trace);
	guarantee->batch = (uint32_t)batch;
	guarantee->tokens = (uint32_t)tokens;
	guarantee->clip_fixed = (int32_t)clip_fixed;
	guarantee->fraction_bits = (uint32_t)fraction_bits;
	claim->texts = (size_t)texts;
	return true;
}

/* ---- the numbers --------------------------------------------------------------------------------------------------------------------- */

/* What is claimed must not be below what follows, nor so far above that it belongs to other numbers: the mechanism's own margin (1e-9 of
 * the step's loss, squared in rho) and the rounding of the receipt's digits are far smaller. */
static bool agrees(double claimed, double follows) {
	return claimed >= follows * (1 - 1e-12) && claimed <= follows * (1 + 1e-6);
}

/* Whether the sentence is that of the numbers. The digits of epsilon went up a little after the sentence was made. */
static bool says(const struct claim *claim, double factor) {
	char sentence[RECEIPT_SENTENCE];
	struct cuttle_guarantee guarantee = claim->guarantee;
	guarantee.epsilon *= factor;
	guarantee.epsilon_exact *= factor;
	receipt_sentence(&guarantee, claim->texts, claim->unit.key, sentence);
	return !strcmp(sentence, claim->sentence);
}

static const char *wrong_numbers(const struct claim *claim) {
	const struct cuttle_guarantee *guarantee = &claim->guarantee;
	const double clip = ldexp(guarantee->clip_fixed, -(int)guarantee->fraction_bits);
	struct cuttle_budget rho, epsilon, exact;
	if (!agrees(guarantee->clip, clip)) return "clip is not clip_fixed / 2^fraction_bits";
	cuttle_budget_none(&rho);
	rho.clip = clip;
	rho.temperature = guarantee->temperature;
	rho.batch = guarantee->batch;
	rho.tokens = guarantee->tokens;
	if (cuttle_budget_solve(&rho, CUTTLE_RHO, NULL)) return "its parameters are out of range";
	if (!agrees(guarantee->rho, rho.rho * (double)claim->unit.weight))
		return "rho does not follow from clip, batch, temperature, tokens and unit_weight";
	cuttle_budget_none(&epsilon);
	epsilon.rho = guarantee->rho;
	epsilon.delta = guarantee->delta;
	if (cuttle_budget_solve(&epsilon, CUTTLE_EPSILON, NULL)) return "its parameters are out of range";
	if (!agrees(guarantee->epsilon, epsilon.epsilon)) return "epsilon does not follow from rho and delta";
	exact = rho;
	exact.rho = NAN;
	exact.delta = guarantee->delta;
	exact.accountant = CUTTLE_EXACT;
	const bool known = !isnan(guarantee->epsilon_exact);
	// Exact composition is of texts that have one record of the unit each, as a limit makes them.
	if (known && claim->unit.weight > 1 && !claim->unit.limited) return "epsilon_exact is not known of several records in one text";
	if (known && claim->unit.weight > UINT32_MAX / exact.tokens) return "its parameters are out of range";
	exact.tokens *= (uint32_t)claim->unit.weight;
	if (known && cuttle_budget_solve(&exact, CUTTLE_EPSILON, NULL)) return "its parameters are out of range";
	if (known && !agrees(guarantee->epsilon_exact, exact.epsilon)) return "epsilon_exact does not follow from clip, tokens and delta";
	return says(claim, 1) || says(claim, 1 - 1e-13) ? NULL : "its sentence says something else than its numbers";
}

/* The bytes that the same content has when this program writes it. */
static bool canonical(json_t *root, const char *bytes, size_t size) {
	size_t wanted;
	char *text = receipt_canonical(json_incref(root), &wanted);
	bool same = text && wanted == size && !memcmp(text, bytes, size);
	free(text);
	return same;
}

/* Takes the signature out of the document: what is left is what was signed. */
static const char *wrong_signature(json_t *root, const struct claim *claim, const char *key) {
	char signature[SIGNATURE_TEXT];
	size_t size;
	if (!claim->signature) return key ? "it has no signature" : NULL;
	if (key && strcmp(key, claim->public_key) != 0) return "it is signed with another key";
	if (strlen(claim->signature) >= sizeof signature) return "its signature is wrong";
	memcpy(signature, claim->signature, strlen(claim->signature) + 1);
	(void)json_object_del(root, "signature");
	char *bytes = receipt_canonical(json_incref(root), &size);
	const bool right = bytes && signature_right(claim->public_key, signature, bytes, size);
	free(bytes);
	return right ? NULL : "its signature is wrong: it was changed after it was signed";
}

/* ---- the files ----------------------------------------------------------------------------------------------------------------------- */

static enum cuttle_status check_file(const char *path, const char *what, const char *wanted, struct cuttle_error *error) {
	char is[HASH_TEXT];
	if (!path) return CUTTLE_OK;
	enum cuttle_status status = hash_file(path, is, error);
	if (!status && strcmp(is, wanted) != 0)
		status = io_fail(error, CUTTLE_LEDGER, "%s is not the %s of this receipt: other bytes", path, what);
	return status;
}

struct entry_search {
	const struct claim *claim;
	const char *hash, *dataset;
	double rho;
	bool found, right;
};

static enum cuttle_status look_at(void *user, const struct chain_entry *entry) {
	struct entry_search *search = user;
	if (strcmp(entry->hash, search->hash) != 0) return CUTTLE_OK;
	search->found = true;
	search->right = !strcmp(entry->kind, "reserve") && !strcmp(entry->dataset, search->dataset) && agrees(search->rho, entry->rho) &&
	                search->rho >= search->claim->guarantee.rho / (double)search->claim->unit.weight * (1 - 1e-12) &&
	                !strcmp(entry->command, search->claim->command_sha256);
	return CUTTLE_OK;
}

static enum cuttle_status check_ledger(const char *path, const struct claim *claim, struct cuttle_error *error) {
	struct ledger *ledger;
	struct entry_search search = {.claim = claim};
	if (!path) return CUTTLE_OK;
	if (!claim->ledger) return io_fail(error, CUTTLE_LEDGER, "this run was counted in no ledger");
	if (!get_text(claim->ledger, "entry", &search.hash) || !get_text(claim->ledger, "dataset", &search.dataset) ||
	    !get_real(claim->ledger, "rho", &search.rho))
		return io_fail(error, CUTTLE_INPUT, "the receipt's ledger entry lacks a field");
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_open(path, &ledger, error);
	if (status) return status;
	status = ledger_verify(ledger, NULL, &entries, head, error);
	if (!status) status = ledger_walk(ledger, NULL, look_at, &search, error);
	ledger_close(&ledger);
	if (!status && !search.found) status = io_fail(error, CUTTLE_LEDGER, "%s has no entry %.64s", path, search.hash);
	if (!status && !search.right) status = io_fail(error, CUTTLE_LEDGER, "%s has this receipt's entry with other numbers", path);
	return status;
}

/* ---- the words ----------------------------------------------------------------------------------------------------------------------- */

static void explain_savings(const struct cuttle_savings *savings) {
	if (savings->center) printf("  Each reference's differences were clipped around their own median, which costs nothing.\n");
	if (savings->token_bank)
		printf("  Where a text ended early, what was left wrote further texts; all of a batch's share its tokens.\n");
	if (savings->free_tokens)
		printf("  Up to %u tokens of a batch were drawn without looking at a reference, which costs nothing:%s%s.\n",
		       (unsigned)savings->free_tokens, savings->public_when > 0 ? " where the public prompt was sure" : "",
		       !savings->complete         ? ""
		       : savings->public_when > 0 ? ", and after the last paid token"
		                                  : " after the last paid token");
}

static void explain(const struct claim *claim, const struct receipt_values *values) {
	const char *key = NULL, *dataset = NULL;
	const struct cuttle_guarantee *guarantee = &claim->guarantee;
	printf("The receipt agrees with itself: epsilon %.6g (%s) at delta %g follows from clip %d / 2^%u, %u references and at most %u "
	       "paid tokens per %s, temperature %g.\n",
	       receipt_epsilon(guarantee), claim->accountant, guarantee->delta, (int)guarantee->clip_fixed,
	       (unsigned)guarantee->fraction_bits, (unsigned)guarantee->batch, (unsigned)guarantee->tokens,
	       guarantee->savings.token_bank ? "batch" : "text", guarantee->temperature);
	printf("output   %s\n", values->output ? "these are its bytes" : "not compared (--output)");
	printf("model    %s\n", values->model ? "this is its model" : "not compared (--model)");
	if (claim->ledger && get_text(claim->ledger, "dataset", &dataset) && get_text(claim->ledger, "unit_key", &key))
		printf("ledger   data set %s%s%s%s\n", dataset, *key ? ", counted per value of " : "", key,
		       values->ledger ? ": it has the entry" : ", not compared (--ledger)");
	else printf("ledger   nobody counted\n");
	if (claim->unit.key && claim->unit.limited)
		printf("unit     everybody with one value of %s: one record in each of at most %" PRIu64 " texts was read\n",
		       claim->unit.key, claim->unit.weight);
	else if (claim->unit.key)
		printf("unit     everybody with one value of %s: the most frequent one costs %" PRIu64 " times the rho of one record\n",
		       claim->unit.key, claim->unit.weight);
	if (claim->categories) printf("category %zu declared\n", json_array_size(claim->categories));
	if (claim->public_key)
		printf("signed   with key %s%s\n", claim->public_key, values->key ? ": the one given" : ", not compared (--key)");
	else printf("signed   by nobody\n");
	printf("\nPromised\n  %s\n", claim->sentence);
	printf(
	    "  Clipping and drawing are exact integer arithmetic; how a text turned out changes nothing of this, nor does it cost less.\n");
	explain_savings(&guarantee->savings);
	printf("\nNot promised\n");
	if (!claim->unit.key)
		printf("  - This much for a person with several records: g of them in one text multiply rho by g^2, in g texts by g.\n");
	else if (!claim->unit.limited) printf("  - Secrecy of which records have the same %s: it counts as public.\n", claim->unit.key);
	if (claim->categories) printf("  - Secrecy of the category of any record: it counts as public.\n");
	printf("  - Anything about other runs over the same records: their rho adds to this one's%s.\n"
	       "  - Secrecy of prompts, public examples, the model's training data, or how many records there are: they count as public.\n"
	       "  - Anything against someone who could watch the run: its time, its memory, its files.\n"
	       "  - That the texts are true, or that no name in them is anybody's: names can come from the model.\n"
	       "  - %s\n",
	       claim->ledger ? "; the ledger counts those it was told of" : ", and nobody counted them",
	       !claim->public_key ? "That this receipt is genuine: it has no signature."
	       : values->key      ? "That its signer told the truth: the signature says who wrote it, and that it stands as written."
	                          : "Who wrote it: its key is whosoever; compare it with --key.");
	if (claim->trace)
		printf("  - Anything once the trace is seen: this run also wrote one (--trace). It holds private numbers; it may not leave "
		       "with the texts.\n");
}

static enum cuttle_status verify(const char *path, const struct receipt_values *values, struct cuttle_error *error) {
	struct claim claim;
	char *bytes, key[SIGNATURE_PUBLIC];
	size_t size;
	enum cuttle_status status = values->key ? signature_read_public(values->key, key, error) : CUTTLE_OK;
	if (!status) status = file_read(path, MOST_RECEIPT, &bytes, &size, error);
	if (status) return status;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	const char *problem = NULL;
	const bool receipt = root && read_claim(root, &claim);
	if (!receipt) problem = "it is no receipt, or lacks a field";
	else if (!canonical(root, bytes, size)) problem = "its bytes are not those that cuttle writes";
	else if (!(problem = wrong_signature(root, &claim, values->key ? key : NULL))) problem = wrong_numbers(&claim);
	if (problem) status = io_fail(error, receipt ? CUTTLE_LEDGER : CUTTLE_INPUT, "%s: %s", file_shown(path), problem);
	if (!status) status = check_file(values->output, "output", claim.output_sha256, error);
	if (!status) status = check_file(values->model, "model", claim.model_sha256, error);
	if (!status && !claim.guarantee.private_output) status = io_fail(error, CUTTLE_INPUT, "%s", claim.sentence);
	if (!status) status = check_ledger(values->ledger, &claim, error);
	if (!status) explain(&claim, values);
	json_decref(root);
	free(bytes);
	return status;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct receipt_values values = {0};
	struct cuttle_error error = {"out of memory"};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand + 2 != argc || strcmp(argv[operand], "verify") != 0)
		return verb_refuse(verb, CUTTLE_USAGE, "say what to do: verify FILE");
	enum cuttle_status status = verify(argv[operand + 1], &values, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb receipt_verb = {
    .name = "receipt",
    .usage = "verify RECEIPT [--output FILE] [--model FILE] [--ledger FILE] [--key PUBLIC]",
    .summary = "what a receipt promises, and whether it agrees with its output",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
