// SPDX-License-Identifier: Apache-2.0
// cuttle receipt verify: checks whether a receipt agrees with itself, its output, its model and its
// ledger. Then it says in words what the receipt promises and what it does not.
//
// io/claim.h, io/rewrite_claim.h and io/word_claim.h read it and check it against itself and its
// signature. Here are the checks against other files, and the words. A receipt is public: no
// private data passes through.
#include "tools/verbs.h"

#include "io/claim.h"
#include "io/expand_receipt.h"
#include "io/rewrite_claim.h"
#include "io/word_claim.h"
#include "io/fail.h"
#include "io/ledger.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define VALUE(member) OPTION(struct receipt_values, member)

struct receipt_values {
	const char *output;  /* path; NULL = not compared */
	const char *dropped; /* path of the texts that were dropped; NULL = not compared */
	const char *model;   /* path; NULL = not compared */
	const char *words;   /* path; NULL = not compared */
	const char *parent;  /* path; NULL = not compared */
	const char *ledger;  /* path; NULL = not compared */
	const char *key;     /* 64 hex digits, or the path of a file with them; NULL = any key */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "the output: its hash must be the receipt's"},
	{.name = "dropped", VALUE(dropped), .argument = "FILE",
	 .help = "the texts that --drop left out: their hash must be the receipt's"},
	{.name = "model", .letter = 'm', VALUE(model), .argument = "FILE",
	 .help = "the model: its hash must be the receipt's"},
	{.name = "words", VALUE(words), .argument = "FILE",
	 .help = "the words file of cuttle perturb: its hash must be the receipt's"},
	{.name = "parent", VALUE(parent), .argument = "FILE",
	 .help = "of cuttle expand: the receipt of the output that it expanded, which must hold "
	         "and be the one that is named"},
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "the ledger: it must have the receipt's entry, with its numbers and closed with "
	         "its output, in an unbroken chain"},
	{.name = "key", VALUE(key), .argument = "PUBLIC",
	 .help = "the receipt must be signed with this key: its 64 digits, or the file with them "
	         "that cuttle ledger key made"},
};

static const char ABOUT[] =
	"Makes the receipt anew from what the run chose: rho and both epsilons from the integers, "
	"or of cuttle sanitize each group's losses and epsilons from the caps, of cuttle perturb "
	"the table and both epsilons from that of a word; what an expansion's parent promised is "
	"taken as it stands, unless --parent has its receipt; the guarantee in "
	"words, whom it is for, the charge. Compares every member with that, what "
	"is given with its hashes, and checks its signature; says in words what is promised and "
	"what is not, and names the members that nothing given shows to be true (not checked). "
	"Exit 0: all of it agrees and the output is private. Exit 7: something was changed, or "
	"belongs to another receipt: a member, a byte, the output, the model, the signature, the "
	"key, the ledger. Exit 4: a file cannot be read or is no receipt, another version of "
	"cuttle wrote it, or the output is NOT PRIVATE.\n\n"

	"\"epsilon\" is that of the accountant that was asked for, \"accountant\"; the other one's "
	"is epsilon_zcdp or epsilon_exact. \"date\" is the day, in UTC, on which the command began "
	"that finished the output (SOURCE_DATE_EPOCH, when set, says which), \"dataset\" the name "
	"given with generate --dataset.\n\n"

	"A receipt without signature proves that its numbers belong together and to these files, "
	"not who wrote it; one that is signed was written by somebody with the secret key, so "
	"--key is what counts: anybody can sign with a key of their own. The signature (Ed25519) "
	"is of the receipt's bytes without the line \"signature\".\n";
// clang-format on

/* What receipts of all mechanisms say about other files. */
struct receipt_facts {
	const struct attested *attested;
	const char *model_sha256;
	uint64_t model_bytes;
	const char *words_sha256;     /* of the words file; NULL = the run had none */
	bool expanded;                /* there is a parent's receipt */
	const char *dropped_sha256;   /* of the texts that were dropped; NULL = none could be */
	const char *dataset;          /* NULL = none */
	const char *unit_key;         /* "" = lines */
	struct receipt_ledger ledger; /* its entry is "" = nobody counted */
	unsigned order;               /* of the losses that the ledger counts; 0 = rho of zCDP */
};

/* ---- the files ------------------------------------------------------------------------------- */

static enum cuttle_status check_file_hash(const char *path, const char *what, const char *wanted,
                                          struct cuttle_error *error) {
	char is[HASH_TEXT];
	if (!path) return CUTTLE_OK;
	enum cuttle_status status = hash_file(path, is, error);
	if (!status && strcmp(is, wanted) != 0)
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s is not the %s of this receipt: other bytes", path, what);
	return status;
}

/* Checks the model's hash, and then its size: a receipt with the right hash and another model_bytes
 * was changed. A run may have had no model. */
static enum cuttle_status check_model(const char *path, const struct receipt_facts *facts,
                                      struct cuttle_error *error) {
	struct stat file;
	// CUTTLE_MODEL in the environment names a model for every receipt.
	if (!*facts->model_sha256) return CUTTLE_OK;
	enum cuttle_status status = check_file_hash(path, "model", facts->model_sha256, error);
	if (!path || status) return status;
	if (stat(path, &file) != 0 || (uint64_t)file.st_size != facts->model_bytes)
		status = io_fail(error, CUTTLE_LEDGER, "%s does not have the receipt's model_bytes",
		                 path);
	return status;
}

struct entry_search {
	const struct receipt_facts *facts;
	char run[LEDGER_RUN]; /* the run of the receipt's entry; "" = not found yet */
	bool same_unit;       /* the data set counts the receipt's units, in its measure */
	bool found;           /* the receipt's entry is in the ledger */
	bool right;           /* that entry reserves what the receipt says, for its command */
	bool closed;          /* the run was closed later */
	bool same_output;     /* and with the receipt's output */
};

/* Sees each entry of the ledger, in order. So the data set comes before the receipt's entry, and
 * the entry that closes its run comes after it. */
static enum cuttle_status match_entry(void *user, const struct chain_entry *entry) {
	struct entry_search *search = user;
	const struct receipt_facts *facts = search->facts;
	const bool here = !strcmp(entry->dataset, facts->dataset);
	if (here && !strcmp(entry->kind, "dataset"))
		search->same_unit =
		    entry->order == facts->order && !strcmp(entry->unit_key, facts->unit_key);
	if (here && search->found && !strcmp(entry->kind, "close") &&
	    !strcmp(entry->run, search->run)) {
		search->closed = true;
		search->same_output = !strcmp(entry->command, facts->attested->output_sha256);
	}
	if (strcmp(entry->hash, facts->ledger.entry) != 0) return CUTTLE_OK;
	search->found = true;
	(void)snprintf(search->run, sizeof search->run, "%s", entry->run);
	search->right = here && search->same_unit && !strcmp(entry->kind, "reserve") &&
	                entry->rho == facts->ledger.rho && entry->delta == facts->ledger.delta &&
	                !strcmp(entry->command, facts->attested->command_sha256);
	return CUTTLE_OK;
}

static enum cuttle_status check_ledger(const char *path, const struct receipt_facts *facts,
                                       struct cuttle_error *error) {
	struct ledger *ledger;
	struct entry_search search = {.facts = facts};
	const char *hash = facts->ledger.entry;
	if (!path) return CUTTLE_OK;
	if (!*hash) return io_fail(error, CUTTLE_LEDGER, "this run was counted in no ledger");
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_open(path, &ledger, error);
	if (status) return status;
	status = ledger_verify(ledger, NULL, &entries, head, error);
	if (!status) status = ledger_walk(ledger, NULL, match_entry, &search, error);
	ledger_close(&ledger);
	if (!status && !search.found)
		status = io_fail(error, CUTTLE_LEDGER, "%s has no entry %s", path, hash);
	if (!status && !search.right)
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s has this receipt's entry with other numbers", path);
	if (!status && !search.closed)
		status = io_fail(
		    error, CUTTLE_LEDGER,
		    "%s has this receipt's entry, but no output was ever finished under it", path);
	if (!status && !search.same_output)
		status =
		    io_fail(error, CUTTLE_LEDGER,
		            "%s says that this receipt's entry has paid for another output", path);
	return status;
}

/* ---- the words ------------------------------------------------------------------------------- */

static void explain_savings(const struct cuttle_savings *savings, double gain) {
	if (gain != 1.0)
		printf("  What the references say counts %g times, clipped to so much less: the "
		       "guarantee is the same.\n",
		       gain);
	if (savings->center)
		printf("  Each reference's differences were clipped around their own median, which "
		       "costs nothing.\n");
	if (savings->token_bank)
		printf("  Where a text ended early, what was left wrote further texts; all of a "
		       "batch's share its tokens.\n");
	if (savings->free_tokens)
		printf("  Up to %u tokens of a batch were drawn without looking at a reference, "
		       "which costs nothing:%s%s.\n",
		       (unsigned)savings->free_tokens,
		       savings->public_when > 0 ? " where the public prompt was sure" : "",
		       !savings->complete         ? ""
		       : savings->public_when > 0 ? ", and after the last paid token"
		                                  : " after the last paid token");
}

/* Names the members of the receipt that nothing given here shows to be true. `follows` lists those
 * that follow from others, and `all` which members each thing shows. */
static void explain_unchecked(const struct attested *attested, const char *follows,
                              const struct receipt_values *values) {
	const struct {
		bool checked;
		const char *keys;
	} all[] = {
	    {true, follows},
	    {values->output, " output_sha256 "},
	    {values->dropped, " dropped_sha256 "},
	    {values->model, " model_bytes model_sha256 "},
	    {values->words, " words_sha256 "},
	    {values->parent, " accountant adjacency dataset delta epsilon parent private rho unit "
	                     "unit_key unit_limited unit_weight "},
	    {values->ledger, " command_sha256 dataset ledger output_sha256 unit_key "},
	};
	const char *key, *before = "not checked:";
	json_t *value;
	json_object_foreach(attested->root, key, value) {
		char word[64];
		bool checked = false;
		(void)snprintf(word, sizeof word, " %s ", key);
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			checked |= all[i].checked && strstr(all[i].keys, word);
		if (!checked) printf("%s %s", before, key);
		before = checked ? before : ",";
	}
	printf(": nothing that was given shows them, they are the word of whoever %s\n",
	       values->key ? "has the key" : "wrote the receipt");
}

/* The lines about other files, for receipts of all mechanisms. */
static void explain_files(const struct receipt_facts *facts, const char *date,
                          const struct receipt_values *values) {
	printf("begun    %s\n", date);
	printf("output   %s\n", values->output ? "these are its bytes" : "not compared (--output)");
	if (facts->dropped_sha256)
		printf("dropped  %s\n",
		       values->dropped ? "these are its bytes" : "not compared (--dropped)");
	printf("model    %s\n", !*facts->model_sha256 ? "none"
	                        : values->model       ? "this is its model"
	                                              : "not compared (--model)");
	if (facts->dataset) printf("data set %s\n", facts->dataset);
	if (*facts->ledger.entry)
		printf("ledger   counted per %s%s%s\n", *facts->unit_key ? "value of " : "line",
		       facts->unit_key,
		       values->ledger ? ": it has the entry" : ", not compared (--ledger)");
	else printf("ledger   nobody counted\n");
}

static void explain_signer(const struct attested *attested, const struct receipt_values *values) {
	if (attested->public_key)
		printf("signed   with key %s%s\n", attested->public_key,
		       values->key ? ": the one given" : ", not compared (--key)");
	else printf("signed   by nobody\n");
}

/* What nobody but the signer can promise about the receipt. */
static const char *doubt_of_signature(const struct attested *attested,
                                      const struct receipt_values *values) {
	return !attested->public_key ? "That this receipt is genuine: it has no signature."
	       : values->key
	           ? "That its signer told the truth: the signature says who wrote it, and "
	             "that it stands as written."
	           : "Who wrote it: its key is whosoever; compare it with --key.";
}

/* Whether the ledger knows of other runs, too. */
static const char *count_of_runs(const struct receipt_facts *facts) {
	return *facts->ledger.entry ? "; the ledger counts those it was told of"
	                            : ", and nobody counted them";
}

static void explain_filters(const struct filters *filters, const struct filter_counts *counts,
                            const char *paid) {
	if (filters->trim)
		printf("  Texts that were cut short may end with their last whole sentence.\n");
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++)
		if (filters->drop[rule])
			printf("  %" PRIu64 " of the %" PRIu64
			       " texts drawn are not in the output (%s): %swhat dropped them "
			       "looked at drawn texts and public data alone.\n",
			       counts->dropped[rule], counts->drawn, filters_name(rule), paid);
}

static void explain_receipt(const struct claim *claim, const struct receipt_facts *facts,
                            const struct receipt_values *values) {
	const struct cuttle_guarantee *guarantee = &claim->receipt.guarantee;
	const struct receipt_unit *unit = &claim->receipt.unit;
	printf("The receipt agrees with itself: epsilon %.6g (%s) at delta %g follows from clip %d "
	       "/ 2^%u, gain %g, %u references and at most %u paid tokens per %s, temperature "
	       "%g.\n",
	       receipt_epsilon(guarantee), guarantee->accountant == CUTTLE_EXACT ? "exact" : "zcdp",
	       guarantee->delta, (int)guarantee->clip_fixed, (unsigned)guarantee->fraction_bits,
	       guarantee->gain, (unsigned)guarantee->batch, (unsigned)guarantee->tokens,
	       guarantee->savings.token_bank ? "batch" : "text", guarantee->temperature);
	explain_files(facts, claim->receipt.date, values);
	if (unit->key && unit->limited)
		printf("unit     everybody with one value of %s: one record in each of at most "
		       "%" PRIu64 " texts was read\n",
		       unit->key, unit->weight);
	else if (unit->key)
		printf(
		    "unit     everybody with one value of %s: the most frequent one costs %" PRIu64
		    " times the rho of one record\n",
		    unit->key, unit->weight);
	if (claim->categories)
		printf("category %zu declared%s\n", json_array_size(claim->categories),
		       claim->receipt.histogram ? ", private" : "");
	explain_signer(&claim->attested, values);
	explain_unchecked(&claim->attested,
	                  " adjacency clip epsilon epsilon_exact epsilon_zcdp guarantee note "
	                  "public_key receipt rho unit version ",
	                  values);
	printf("\nPromised\n  %s\n", claim->attested.sentence);
	printf("  Clipping and drawing are exact integer arithmetic; how a text turned out changes "
	       "nothing of this, nor does it cost less.\n");
	explain_savings(&guarantee->savings, guarantee->gain);
	explain_filters(&claim->receipt.filters, &claim->receipt.counts,
	                "they were paid for, and ");
	printf("\nNot promised\n");
	if (!unit->key)
		printf("  - This much for a person with several records: g of them in one text "
		       "multiply rho by g^2, in g texts by g.\n");
	else if (!unit->limited)
		printf("  - Secrecy of which records have the same %s: it counts as public.\n",
		       unit->key);
	if (claim->categories && !claim->receipt.histogram)
		printf("  - Secrecy of the category of any record: it counts as public.\n");
	printf(
	    "  - Anything about other runs over the same records: what they cost adds to this%s.\n"
	    "  - Secrecy of prompts, public examples, the model's training data, or how many "
	    "records there are: they count as public.\n"
	    "  - Anything against someone who could watch the run: its time, its memory, its "
	    "files.\n"
	    "  - That the texts are true, or that no name in them is anybody's: names can come "
	    "from the model.\n"
	    "  - %s\n",
	    count_of_runs(facts), doubt_of_signature(&claim->attested, values));
	if (claim->receipt.trace)
		printf("  - Anything once the trace is seen: this run also wrote one (--trace). It "
		       "holds private numbers; it may not leave with the texts.\n");
}

static const char *const MIXES[] = {"of all marks", "of one group", "of one group"};

static void explain_rewriting(const struct rewrite_claim *claim, const struct receipt_facts *facts,
                              const struct receipt_values *values) {
	const struct rewrite_receipt *receipt = &claim->receipt;
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	struct cuttle_rewrite_cost one, all;
	rewrite_receipt_worst(receipt, &one, &all);
	printf("The receipt agrees with itself: epsilon %.6g %s at delta %g follows from its caps, "
	       "alpha %u and at most %u paid tokens per document.\n",
	       one.epsilon, MIXES[guarantee->mix], guarantee->delta, (unsigned)guarantee->alpha,
	       (unsigned)guarantee->tokens);
	explain_files(facts, receipt->date, values);
	printf("texts    %zu documents, %zu of them without a mark\n", receipt->documents,
	       receipt->marked[0]);
	printf("tagged   by %s\n", receipt->tagger);
	explain_signer(&claim->attested, values);
	explain_unchecked(
	    &claim->attested,
	    " adjacency costs epsilon epsilon_all guarantee mechanism note public_key "
	    "receipt recovery_ceiling_5 unit version ",
	    values);
	printf("\nPromised\n  %s\n", claim->attested.sentence);
	printf("  Mixing and drawing are exact integer arithmetic; how a text turned out changes "
	       "nothing of this, nor does it cost less.\n");
	explain_savings(&guarantee->savings, 1);
	printf("\nNot promised\n"
	       "  - This much for somebody who is in several documents, or in the marks of several "
	       "groups: add their losses.\n"
	       "  - Anything about other runs over the same documents: their losses add to this "
	       "one's%s.\n"
	       "  - Secrecy of what the tagger missed: text outside marks counts as public, as do "
	       "ids, prompts and the model's training data.\n"
	       "  - Anything against someone who could watch the run: its time, its memory, its "
	       "files.\n"
	       "  - That the texts are true, or that no name in them is anybody's: names can come "
	       "from the model.\n"
	       "  - %s\n",
	       count_of_runs(facts), doubt_of_signature(&claim->attested, values));
}

static void explain_words(const struct word_claim *claim, const struct receipt_facts *facts,
                          const struct receipt_values *values) {
	const struct word_receipt *receipt = &claim->receipt;
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	printf("The receipt agrees with itself: epsilon %.10g per word follows from its table of "
	       "%u words, first %s, last %s.\n",
	       guarantee->epsilon_word, (unsigned)guarantee->words, guarantee->table_first,
	       guarantee->table_last);
	explain_files(facts, receipt->date, values);
	printf("texts    %zu, %s\n", receipt->records,
	       receipt->pad ? "all with the same number of words" : "each as long as it was");
	printf("words    %s\n", values->words ? "this is their file" : "not compared (--words)");
	explain_signer(&claim->attested, values);
	explain_unchecked(&claim->attested,
	                  " adjacency baseline epsilon_text epsilon_word guarantee mechanism "
	                  "private public_key receipt table unit version ",
	                  values);
	printf("\nPromised\n  %s\n", claim->attested.sentence);
	printf("  The rank of a word is drawn by exact integer arithmetic, before the word is "
	       "looked at.\n");
	printf("\nNot promised\n"
	       "  - This much for a text of many words: their epsilons add up, and at a useful "
	       "epsilon little is left.\n"
	       "  - That a reader who knows the language cannot repair a text: words tell about "
	       "each other.\n");
	if (!receipt->pad) printf("  - Secrecy of how many words a text has: it is public.\n");
	printf("  - Anything about other runs over the same records: their losses add to this "
	       "one's%s.\n"
	       "  - Secrecy of the words file, of how many records there are, or of what was "
	       "declared public.\n"
	       "  - Anything against someone who could watch the run: its time, its memory, its "
	       "files.\n"
	       "  - %s\n",
	       count_of_runs(facts), doubt_of_signature(&claim->attested, values));
}

/* Compares with the files that were given. */
static enum cuttle_status check_files(const struct receipt_facts *facts, bool is_private,
                                      const struct receipt_values *values,
                                      struct cuttle_error *error) {
	enum cuttle_status status =
	    check_file_hash(values->output, "output", facts->attested->output_sha256, error);
	if (!status) status = check_model(values->model, facts, error);
	if (!status && values->words)
		status =
		    facts->words_sha256
		        ? check_file_hash(values->words, "words file", facts->words_sha256, error)
		        : io_fail(error, CUTTLE_LEDGER, "this run had no words file");
	if (!status && values->parent && !facts->expanded)
		status = io_fail(error, CUTTLE_LEDGER, "this run expanded no other output");
	if (!status && values->dropped)
		status = facts->dropped_sha256
		             ? check_file_hash(values->dropped, "file of dropped texts",
		                               facts->dropped_sha256, error)
		             : io_fail(error, CUTTLE_LEDGER, "this run dropped no texts");
	if (!status && !is_private)
		status = io_fail(error, CUTTLE_INPUT, "%s", facts->attested->sentence);
	return status ? status : check_ledger(values->ledger, facts, error);
}

/* Verifies a receipt of cuttle generate. */
static enum cuttle_status verify_generation(struct attested *attested, const char *key,
                                            const struct receipt_values *values,
                                            struct cuttle_error *error) {
	struct claim claim;
	const struct receipt *receipt = &claim.receipt;
	const struct filter_counts *counts = &receipt->counts;
	enum cuttle_status status = claim_read(attested, &claim, error);
	if (!status) status = claim_check(&claim, key, error);
	const struct receipt_facts facts = {
	    .attested = &claim.attested,
	    .model_sha256 = receipt->model_sha256,
	    .model_bytes = receipt->model.file_bytes,
	    .dataset = receipt->dataset,
	    .unit_key = receipt->unit.key ? receipt->unit.key : "",
	    .dropped_sha256 = *counts->dropped_sha256 ? counts->dropped_sha256 : NULL,
	    .ledger = receipt->ledger};
	if (!status) status = check_files(&facts, receipt->guarantee.private_output, values, error);
	if (!status) explain_receipt(&claim, &facts, values);
	claim_free(&claim);
	return status;
}

/* Verifies a receipt of cuttle sanitize. */
static enum cuttle_status verify_rewriting(struct attested *attested, const char *key,
                                           const struct receipt_values *values,
                                           struct cuttle_error *error) {
	struct rewrite_claim *claim;
	enum cuttle_status status = rewrite_claim_read(attested, &claim, error);
	if (!status) status = rewrite_claim_check(claim, key, error);
	if (!status) {
		const struct rewrite_receipt *receipt = &claim->receipt;
		const struct receipt_facts facts = {.attested = &claim->attested,
		                                    .model_sha256 = receipt->model_sha256,
		                                    .model_bytes = receipt->model.file_bytes,
		                                    .dataset = receipt->dataset,
		                                    .unit_key =
		                                        receipt->unit_key ? receipt->unit_key : "",
		                                    .ledger = receipt->ledger,
		                                    .order = receipt->guarantee.alpha};
		status = check_files(&facts, receipt->guarantee.private_output, values, error);
		if (!status) explain_rewriting(claim, &facts, values);
	}
	rewrite_claim_free(&claim);
	return status;
}

/* Verifies a receipt of cuttle perturb. */
static enum cuttle_status verify_words(struct attested *attested, const char *key,
                                       const struct receipt_values *values,
                                       struct cuttle_error *error) {
	struct word_claim claim;
	const struct word_receipt *receipt = &claim.receipt;
	enum cuttle_status status = word_claim_read(attested, &claim, error);
	if (!status) status = word_claim_check(&claim, key, error);
	const struct receipt_facts facts = {.attested = &claim.attested,
	                                    .model_sha256 = receipt->model_sha256,
	                                    .model_bytes = receipt->model_bytes,
	                                    .words_sha256 = receipt->words_sha256,
	                                    .dataset = receipt->dataset,
	                                    .unit_key = receipt->unit_key ? receipt->unit_key : "",
	                                    .ledger = receipt->ledger};
	if (!status) status = check_files(&facts, receipt->guarantee.private_output, values, error);
	if (!status) explain_words(&claim, &facts, values);
	word_claim_free(&claim);
	return status;
}

static void explain_expansion(const struct expand_claim *claim, const struct receipt_facts *facts,
                              const struct receipt_values *values) {
	const struct expand_receipt *receipt = &claim->receipt;
	printf(
	    "The receipt agrees with itself: %zu texts of at most %u tokens, each behind at most "
	    "%u kept texts of the earlier output.\n",
	    receipt->texts, (unsigned)receipt->tokens, (unsigned)receipt->examples);
	explain_files(facts, receipt->date, values);
	printf("parent   %s\n",
	       values->parent ? "this is its receipt, which holds" : "not compared (--parent)");
	explain_signer(&claim->attested, values);
	explain_unchecked(&claim->attested, " guarantee mechanism note public_key receipt version ",
	                  values);
	printf("\nPromised\n  %s\n", claim->attested.sentence);
	printf("  No record was read for it.\n");
	explain_filters(&receipt->filters, &receipt->counts, "");
	printf("\nNot promised\n"
	       "  - Anything that the earlier output's receipt does not promise.\n"
	       "  - That more texts say more about the records: they say what the earlier ones do, "
	       "and what the model adds.\n"
	       "  - That the texts are true, or that no name in them is anybody's: names can come "
	       "from the model.\n"
	       "  - %s\n",
	       doubt_of_signature(&claim->attested, values));
}

/* Verifies a receipt of cuttle expand. */
static enum cuttle_status verify_expansion(struct attested *attested, const char *key,
                                           const struct receipt_values *values,
                                           struct cuttle_error *error) {
	struct expand_claim claim;
	const struct expand_receipt *receipt = &claim.receipt;
	enum cuttle_status status = expand_claim_read(attested, &claim, error);
	if (!status) status = expand_claim_check(&claim, key, error);
	if (!status && values->parent) status = expand_claim_parent(&claim, values->parent, error);
	const struct receipt_facts facts = {.attested = &claim.attested,
	                                    .model_sha256 = receipt->model_sha256,
	                                    .model_bytes = receipt->model.file_bytes,
	                                    .expanded = true,
	                                    .unit_key = "",
	                                    .ledger = {.entry = ""}};
	if (!status) status = check_files(&facts, receipt->private_output, values, error);
	if (!status) explain_expansion(&claim, &facts, values);
	attest_close(&claim.attested);
	return status;
}

static enum cuttle_status verify_receipt(const char *path, const struct receipt_values *values,
                                         struct cuttle_error *error) {
	struct attested attested;
	char public_key[SIGNATURE_PUBLIC];
	const char *key = values->key ? public_key : NULL;
	enum cuttle_status status =
	    key ? signature_read_public(values->key, public_key, error) : CUTTLE_OK;
	if (status) return status;
	status = attest_open(path, &attested, error);
	if (!status)
		status = attest_mechanism(&attested, REWRITE_MECHANISM)
		             ? verify_rewriting(&attested, key, values, error)
		         : attest_mechanism(&attested, WORD_MECHANISM)
		             ? verify_words(&attested, key, values, error)
		         : attest_mechanism(&attested, EXPAND_MECHANISM)
		             ? verify_expansion(&attested, key, values, error)
		             : verify_generation(&attested, key, values, error);
	attest_close(&attested);
	return status;
}

static int run_receipt_verb(const struct verb *verb, int argc, char **argv) {
	struct receipt_values values = {0};
	struct cuttle_error error = {"out of memory"};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand + 2 != argc || strcmp(argv[operand], "verify") != 0)
		return verb_refuse(verb, CUTTLE_USAGE, "say what to do: verify FILE");
	const char *path = argv[operand + 1];
	const struct path_use uses[] = {
	    PATH_ALONE("receipt", strcmp(path, "-") ? path : NULL, PATH_FILE),
	    PATH_ALONE("--output", values.output, PATH_FILE),
	    PATH_ALONE("--dropped", values.dropped, PATH_FILE),
	    PATH_ALONE("--model", values.model, PATH_MODEL),
	    PATH_ALONE("--words", values.words, PATH_FILE),
	    PATH_ALONE("--parent", values.parent, PATH_FILE),
	    PATH_ALONE("--key", values.key, PATH_FILE),
	    {"--ledger", values.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	};
	code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	if (code) return code;
	enum cuttle_status status = verify_receipt(path, &values, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb receipt_verb = {
    .name = "receipt",
    .usage = "verify RECEIPT [--output FILE] [--ledger FILE] [--key PUBLIC] [OPTION]...",
    .summary = "what a receipt promises, and whether it agrees with its output",
    .example = "verify out.receipt.json --output out.jsonl --model MODEL.gguf",
    .another = "verify more.receipt.json --dropped more.jsonl.dropped.jsonl "
               "--parent out.receipt.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_receipt_verb,
};
