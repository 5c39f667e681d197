// SPDX-License-Identifier: Apache-2.0
// The words of promise.h, for each system. A line that cannot be added for want of memory is
// remembered, and promise_make fails at the end.
#include "workflow/report/promise.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void promise_add(struct promise_lines *lines, const char *label, const char *format, ...) {
	struct promise_line *all = realloc(lines->all, (lines->count + 1) * sizeof *lines->all);
	char *text = NULL;
	va_list list;
	if (all) lines->all = all;
	va_start(list, format);
	if (!all || vasprintf(&text, format, list) < 0) lines->failed = true;
	else lines->all[lines->count++] = (struct promise_line){label, text};
	va_end(list);
}

void promise_lines_free(struct promise_lines *lines) {
	for (size_t i = 0; i < lines->count; i++) free(lines->all[i].text);
	free(lines->all);
	*lines = (struct promise_lines){0};
}

/* What the lines are made from, and where they go. */
struct telling {
	const struct verification *v;
	const struct verification_files *files;
	struct promise *promise;
};

/* A line that is promised, one that is not, and one on how it was compared. */
#define TELL_KEPT(telling, ...) promise_add(&(telling)->promise->kept, "", __VA_ARGS__)
#define TELL_LIMIT(telling, ...) promise_add(&(telling)->promise->limits, "", __VA_ARGS__)
#define TELL_ABOUT(telling, label, ...) promise_add(&(telling)->promise->about, label, __VA_ARGS__)

/* Sets one of the two texts that are no lists. */
__attribute__((format(printf, 3, 4))) static void set_promise_text(struct telling *t, char **text,
                                                                   const char *format, ...) {
	va_list list;
	va_start(list, format);
	if (vasprintf(text, format, list) < 0) {
		*text = NULL;
		t->promise->kept.failed = true;
	}
	va_end(list);
}

/* What is said of a file that was not compared; `option` is that of receipt verify. */
static void tell_uncompared(struct telling *t, const char *label, const char *option) {
	if (t->files->hints) TELL_ABOUT(t, label, "not compared (%s)", option);
	else TELL_ABOUT(t, label, "not compared");
}

/* ---- what all systems share ------------------------------------------------------------------ */

static void explain_savings(struct telling *t, const struct cuttle_savings *savings, double gain) {
	if (gain != 1.0)
		TELL_KEPT(t,
		          "What the references say counts %g times, clipped to so much less: the "
		          "guarantee is the same.",
		          gain);
	if (savings->center)
		TELL_KEPT(t, "Each reference's differences were clipped around their own median, "
		             "which costs nothing.");
	if (savings->token_bank)
		TELL_KEPT(t, "Where a text ended early, what was left wrote further texts; all of "
		             "a batch's share its tokens.");
	if (savings->free_tokens)
		TELL_KEPT(t,
		          "Up to %u tokens of a batch were drawn without looking at a reference, "
		          "which costs nothing%s%s%s.",
		          (unsigned)savings->free_tokens,
		          savings->complete || savings->public_when > 0 ? ":" : "",
		          savings->public_when > 0 ? " where the public prompt was sure" : "",
		          !savings->complete         ? ""
		          : savings->public_when > 0 ? ", and after the last paid token"
		                                     : " after the last paid token");
}

/* Parts of members that follow from others but for these: how many records a batch that is not full
 * has, and the noisy counts, which may differ where they seat as many texts. */
static const struct {
	const char *member, *part;
} LOOSE[] = {{"lots", "records"}, {"lots", "groups"}, {"histogram", "counts"}};

/* Names the members of the receipt that nothing given here shows to be true. `also` lists some that
 * follow from others in this receipt, and `all` which members each thing shows. */
static void explain_unchecked(struct telling *t, const char *also) {
	const struct verification_files *files = t->files;
	const struct {
		bool checked;
		const char *keys;
	} all[] = {
	    {true, also},
	    {files->output, " output_sha256 "},
	    {files->dropped, " dropped_sha256 "},
	    {files->model, " model_bytes model_sha256 "},
	    {files->words, " words_sha256 "},
	    {files->grammar, " grammar_sha256 "},
	    {files->schema, " schema_sha256 "},
	    {files->bias, " bias "},
	    {files->parent, " accountant adjacency dataset delta epsilon parent private rho unit "
	                    "unit_key unit_limited unit_weight "},
	    {files->ledger, " command_sha256 dataset ledger output_sha256 unit_key "},
	};
	const char *key;
	json_t *value;
	char *list = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&list, &size);
	if (!file) {
		t->promise->kept.failed = true;
		return;
	}
	const char *before = "";
	json_object_foreach(t->v->attested->root, key, value) {
		char word[64];
		bool checked = evidence_follows(&t->v->evidence, key);
		(void)snprintf(word, sizeof word, " %s ", key);
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			checked |= all[i].checked && strstr(all[i].keys, word);
		if (!checked) fprintf(file, "%s%s", before, key);
		before = checked ? before : ", ";
		for (size_t i = 0; checked && i < sizeof LOOSE / sizeof *LOOSE; i++) {
			if (strcmp(LOOSE[i].member, key) != 0 ||
			    !json_object_get(value, LOOSE[i].part))
				continue;
			fprintf(file, "%s%s.%s", before, key, LOOSE[i].part);
			before = ", ";
		}
	}
	if (fclose(file)) t->promise->kept.failed = true;
	else
		set_promise_text(
		    t, &t->promise->unchecked,
		    "%s: nothing that was given shows them, they are the word of whoever %s", list,
		    files->key ? "has the key" : "wrote the receipt");
	free(list);
}

/* What all texts are of, and `more` of it. */
static void explain_form(struct telling *t, const char *more) {
	if (t->v->schema_sha256) TELL_KEPT(t, "Each text is an object of a public schema.%s", more);
	if (t->v->grammar_sha256) TELL_KEPT(t, "Each text is one of a public grammar.%s", more);
}

/* The lines about other files, for receipts of all systems. */
static void explain_files(struct telling *t) {
	const struct verification *v = t->v;
	const struct verification_files *files = t->files;
	TELL_ABOUT(t, "begun", "%s", v->date);
	if (files->output) TELL_ABOUT(t, "output", "these are its bytes");
	else tell_uncompared(t, "output", "--output");
	if (v->dropped_sha256 && files->dropped) TELL_ABOUT(t, "dropped", "these are its bytes");
	else if (v->dropped_sha256) tell_uncompared(t, "dropped", "--dropped");
	if (!*v->model_sha256) TELL_ABOUT(t, "model", "none");
	else if (files->model) TELL_ABOUT(t, "model", "this is its model");
	else tell_uncompared(t, "model", "--model");
	if (v->bias && files->bias) TELL_ABOUT(t, "bias", "this is its bias, whose receipt holds");
	else if (v->bias) tell_uncompared(t, "bias", "--bias");
	if (v->grammar_sha256 && files->grammar) TELL_ABOUT(t, "grammar", "this is its grammar");
	else if (v->grammar_sha256) tell_uncompared(t, "grammar", "--grammar");
	if (v->schema_sha256 && files->schema) TELL_ABOUT(t, "schema", "this is its schema");
	else if (v->schema_sha256) tell_uncompared(t, "schema", "--schema");
	if (v->dataset) TELL_ABOUT(t, "data set", "%s", v->dataset);
	if (!*v->ledger.entry) TELL_ABOUT(t, "ledger", "nobody counted");
	else
		TELL_ABOUT(t, "ledger", "counted per %s%s%s%s", *v->unit_key ? "value of " : "line",
		           v->unit_key, files->ledger ? ": it has the entry" : ", not compared",
		           files->hints && !files->ledger ? " (--ledger)" : "");
}

static void explain_signer(struct telling *t) {
	const char *key = t->v->attested->public_key;
	if (!key) TELL_ABOUT(t, "signed", "by nobody");
	else
		TELL_ABOUT(t, "signed", "with key %s%s%s", key,
		           t->files->key ? ": the one given" : ", not compared",
		           t->files->hints && !t->files->key ? " (--key)" : "");
}

/* What nobody but the signer can promise about the receipt. */
static const char *doubt_of_signature(const struct telling *t) {
	return !t->v->attested->public_key ? "That this receipt is genuine: it has no signature."
	       : t->files->key
	           ? "That its signer told the truth: the signature says who wrote it, and "
	             "that it stands as written."
	           : "Who wrote it: its key is whosoever; compare it with --key.";
}

/* Whether the ledger knows of other runs, too. */
static const char *count_of_runs(const struct telling *t) {
	return *t->v->ledger.entry ? "; the ledger counts those it was told of"
	                           : ", and nobody counted them";
}

static void explain_other_runs(struct telling *t) {
	TELL_LIMIT(t,
	           "Anything about other runs over the same records: what they cost adds to "
	           "this%s.",
	           count_of_runs(t));
}

static void explain_filters(struct telling *t, const struct filters *filters,
                            const struct filter_counts *counts, const char *paid) {
	if (filters->trim)
		TELL_KEPT(t, "Texts that were cut short may end with their last whole sentence.");
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++)
		if (filters->drop[rule])
			TELL_KEPT(t,
			          "%" PRIu64 " of the %" PRIu64
			          " texts drawn are not in the output (%s): %swhat dropped them "
			          "looked at drawn texts and public data alone.",
			          counts->dropped[rule], counts->drawn, filters_name(rule), paid);
}

/* Limits that every system has: of time, of truth, and of the signature. */
static void explain_watching(struct telling *t) {
	TELL_LIMIT(t, "Anything against someone who could watch the run: its time, its memory, its "
	              "files.");
}

static void explain_truth(struct telling *t) {
	TELL_LIMIT(t, "That the texts are true, or that no name in them is anybody's: names can "
	              "come from the model.");
}

/* ---- the systems ----------------------------------------------------------------------------- */

/* By enum cuttle_accountant and enum cuttle_claim_kind. */
static const char *const ACCOUNTANTS[] = {"zcdp", "exact", "renyi"};
static const char *const UNITS[] = {"eta", "rho", "Renyi loss", ""};

/* What epsilon follows from: of InvisibleInk its clip, of other methods what a unit costs. */
static void open_receipt(struct telling *t, const struct cuttle_guarantee *guarantee) {
	const char *const accountant = ACCOUNTANTS[guarantee->accountant];
	char shown[48] = "references";
	if (guarantee->shots > 1)
		(void)snprintf(shown, sizeof shown, "rows of %" PRIu32 " references",
		               guarantee->shots);
	if (guarantee->method == CUTTLE_INVISIBLEINK)
		set_promise_text(
		    t, &t->promise->opening,
		    "epsilon %.6g (%s) at delta %g follows from clip %d / 2^%u, gain %g, %u %s "
		    "and at most %u paid tokens per %s, temperature %g.",
		    receipt_epsilon(guarantee), accountant, guarantee->delta,
		    (int)guarantee->clip_fixed, (unsigned)guarantee->fraction_bits, guarantee->gain,
		    (unsigned)guarantee->batch, shown, (unsigned)guarantee->tokens,
		    guarantee->savings.token_bank ? "batch" : "text", guarantee->temperature);
	else
		set_promise_text(
		    t, &t->promise->opening,
		    "epsilon %.6g (%s) at delta %g follows from the parameters of method %s: "
		    "at most %u unit%s per %s, each of %s %.6g.",
		    receipt_epsilon(guarantee), accountant, guarantee->delta,
		    cuttle_method_name(guarantee->method), (unsigned)guarantee->claim.units,
		    guarantee->claim.units == 1 ? "" : "s",
		    guarantee->savings.token_bank ? "batch" : "text", UNITS[guarantee->claim.kind],
		    guarantee->claim.unit);
}

/* A run that several machines wrote. What was drawn again was drawn twice, and somebody may have
 * seen both. */
static void explain_shards(struct telling *t) {
	const json_t *root = t->v->attested->root,
	             *redraws = json_object_get(root, "shard_redraws");
	uint64_t shards;
	if (!attest_count(root, "shards", UINT64_MAX, &shards)) return;
	TELL_ABOUT(t, "shards", "%" PRIu64 " wrote it, each batch once", shards);
	for (size_t i = 0; i < json_array_size(redraws); i++) {
		const json_t *redraw = json_array_get(redraws, i);
		const char *word = json_string_value(json_object_get(redraw, "word"));
		const uint64_t shard =
		    (uint64_t)json_integer_value(json_object_get(redraw, "shard"));
		if (word && *word)
			TELL_LIMIT(t,
			           "That nobody saw what shard %" PRIu64
			           " drew before it was lost and drawn again: on the word of %s.",
			           shard, word);
		else
			TELL_LIMIT(t,
			           "This much against who saw what shard %" PRIu64
			           " drew before it was lost. Both together cost twice, as the "
			           "ledger was charged.",
			           shard);
	}
}

static void explain_receipt(struct telling *t) {
	const struct receipt *receipt = t->v->receipt;
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const struct receipt_unit *unit = &receipt->unit;
	const json_t *categories = json_object_get(t->v->attested->root, "categories");
	open_receipt(t, guarantee);
	explain_files(t);
	if (unit->key && unit->limited)
		TELL_ABOUT(t, "unit",
		           "everybody with one value of %s: one record in each of at most %" PRIu64
		           " texts was read",
		           unit->key, unit->weight);
	else if (unit->key)
		TELL_ABOUT(
		    t, "unit",
		    "everybody with one value of %s: all records were read, and those of the "
		    "most frequent one cost %" PRIu64 " times the rho of one",
		    unit->key, unit->weight);
	if (json_is_array(categories))
		TELL_ABOUT(t, "category", "%zu declared%s", json_array_size(categories),
		           receipt->histogram ? ", private" : "");
	explain_shards(t);
	explain_signer(t);
	// Lots add up to the number of texts. A filter's budget is each record's own, whatever B
	// is.
	explain_unchecked(t, guarantee->method_params.record_filter ? ""
	                     : receipt->lot_count                   ? " batch histogram lots texts "
	                                                            : " batch ");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	TELL_KEPT(t,
	          "%s and drawing are exact integer arithmetic; how a text turned out changes "
	          "nothing of this, nor does it cost less.",
	          guarantee->clip_fixed ? "Clipping" : "Mixing");
	explain_form(t, " What that leaves no choice about was written without looking at "
	                "a reference, which costs nothing.");
	explain_savings(t, &guarantee->savings, guarantee->gain);
	if (receipt->places_of_rounds)
		TELL_KEPT(t,
		          "A tenth of the texts was written first. Prompts of the others showed "
		          "up to %u of them each. This costs nothing, as they were drawn under "
		          "the same promise.",
		          (unsigned)receipt->places_of_rounds / 2);
	explain_filters(t, &receipt->filters, &receipt->counts, "they were paid for, and ");
	if (guarantee->claim.kind == CUTTLE_CLAIM_ORDER && !unit->key)
		TELL_LIMIT(t, "This much for a person with several records: no rule adds their "
		              "losses up.");
	else if (!unit->key)
		TELL_LIMIT(t, "This much for a person with several records: g of them in one text "
		              "multiply rho by g^2, in g texts by g.");
	else if (!unit->limited)
		TELL_LIMIT(t,
		           "Secrecy of who has how many records, and which have the same %s: "
		           "--records-per-unit all declared it public.",
		           unit->key);
	if (json_is_array(categories) && !receipt->histogram)
		TELL_LIMIT(t, "Secrecy of the category of any record: it counts as public.");
	explain_other_runs(t);
	TELL_LIMIT(t, "Secrecy of prompts, public examples, the model's training data, or how many "
	              "records there are: they count as public.");
	explain_watching(t);
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
	if (receipt->trace)
		TELL_LIMIT(t, "Anything once the trace is seen: this run also wrote one (--trace). "
		              "It holds private numbers; it may not leave with the texts.");
	else if (!t->files->key)
		TELL_LIMIT(t,
		           "That no trace was written, whose private numbers nothing covers. The "
		           "receipt says that none was, and nothing that was given shows it.");
}

static const char *const MIXES[] = {"of all marks", "of one group", "of one group"};

static void explain_rewriting(struct telling *t) {
	const struct sanitize_receipt *receipt = t->v->receipt;
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	struct cuttle_rewrite_cost one, all;
	sanitize_receipt_worst(receipt, &one, &all);
	set_promise_text(
	    t, &t->promise->opening,
	    "epsilon %.6g %s at delta %g follows from its caps, alpha %u and at most %u paid "
	    "tokens per document.",
	    one.epsilon, MIXES[guarantee->mix], guarantee->delta, (unsigned)guarantee->alpha,
	    (unsigned)guarantee->tokens);
	explain_files(t);
	TELL_ABOUT(t, "texts", "%zu documents, %zu of them without a mark", receipt->documents,
	           receipt->marked[0]);
	TELL_ABOUT(t, "tagged", "by %s", receipt->tagger);
	explain_signer(t);
	explain_unchecked(t, "");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	TELL_KEPT(t, "Mixing and drawing are exact integer arithmetic; how a text turned out "
	             "changes nothing of this, nor does it cost less.");
	explain_form(t, " What that leaves no choice about was written without looking at a mark, "
	                "which costs nothing.");
	explain_savings(t, &guarantee->savings, 1);
	if (receipt->chosen)
		TELL_LIMIT(t,
		           "Secrecy of which words are marked: they were chosen by what they say, "
		           "%s, and the choice may tell contents. No ceiling of guessing holds.",
		           REWRITE_CHOSEN[receipt->chosen]);
	else if (receipt->sweep)
		TELL_LIMIT(t,
		           "A ceiling of guessing, or numbers of groups that do not depend on "
		           "contents: an older cuttle wrote this. It let its sweep decide them.");
	TELL_LIMIT(t, "This much for somebody who is in several documents, or in the marks of "
	              "several groups: add their losses.");
	TELL_LIMIT(t,
	           "Anything about other runs over the same documents: their losses add to this "
	           "one's%s.",
	           count_of_runs(t));
	TELL_LIMIT(t, "Secrecy of what the tagger missed: text outside marks counts as public, as "
	              "do ids, prompts and the model's training data.");
	explain_watching(t);
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

static void explain_words(struct telling *t) {
	const struct perturb_receipt *receipt = t->v->receipt;
	const struct cuttle_perturb_guarantee *guarantee = &receipt->guarantee;
	set_promise_text(
	    t, &t->promise->opening,
	    "epsilon %.10g per word follows from its table of %u words, first %s, last %s.",
	    guarantee->epsilon_word, (unsigned)guarantee->words, guarantee->table_first,
	    guarantee->table_last);
	explain_files(t);
	TELL_ABOUT(t, "texts", "%zu, %s", receipt->records,
	           receipt->pad ? "all with the same number of words" : "each as long as it was");
	if (t->files->words) TELL_ABOUT(t, "words", "this is their file");
	else tell_uncompared(t, "words", "--words");
	explain_signer(t);
	explain_unchecked(t, "");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	TELL_KEPT(t, "The rank of a word is drawn by exact integer arithmetic, before the word is "
	             "looked at.");
	TELL_LIMIT(t, "This much for a text of many words: their epsilons add up, and at a useful "
	              "epsilon little is left.");
	TELL_LIMIT(t, "That a reader who knows the language cannot repair a text: words tell about "
	              "each other.");
	if (!receipt->pad) TELL_LIMIT(t, "Secrecy of how many words a text has: it is public.");
	TELL_LIMIT(t,
	           "Anything about other runs over the same records: their losses add to this "
	           "one's%s.",
	           count_of_runs(t));
	TELL_LIMIT(t, "Secrecy of the words file, of how many records there are, or of what was "
	              "declared public.");
	explain_watching(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

static void explain_expansion(struct telling *t) {
	const struct expand_receipt *receipt = t->v->receipt;
	set_promise_text(
	    t, &t->promise->opening,
	    "%zu texts of at most %u tokens, each behind at most %u kept texts of the earlier "
	    "output.",
	    receipt->texts, (unsigned)receipt->tokens, (unsigned)receipt->examples);
	explain_files(t);
	if (t->files->parent) TELL_ABOUT(t, "parent", "this is its receipt, which holds");
	else tell_uncompared(t, "parent", "--parent");
	explain_signer(t);
	explain_unchecked(t, "");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	TELL_KEPT(t, "No record was read for it.");
	explain_form(t, "");
	explain_filters(t, &receipt->filters, &receipt->counts, "");
	TELL_LIMIT(t, "Anything that the earlier output's receipt does not promise.");
	TELL_LIMIT(t, "That more texts say more about the records: they say what the earlier ones "
	              "do, and what the model adds.");
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

static void explain_evolution(struct telling *t) {
	const struct evolve_receipt *receipt = t->v->receipt;
	set_promise_text(t, &t->promise->opening,
	                 "%zu texts of at most %u tokens, chosen by %zu records in %u generations.",
	                 receipt->texts, (unsigned)receipt->tokens, receipt->records,
	                 (unsigned)receipt->votes.times);
	explain_files(t);
	explain_signer(t);
	explain_unchecked(t, "");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	explain_form(t, "");
	TELL_LIMIT(t, "Anything about several records of one person together, or about records "
	              "that are exchanged for others. More than one becomes null then.");
	explain_other_runs(t);
	explain_watching(t);
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

static void explain_learning(struct telling *t) {
	const struct learn_receipt *receipt = t->v->receipt;
	const char *key = receipt->unit_key;
	set_promise_text(t, &t->promise->opening,
	                 "A bias of %llu numbers, learnt from the first %u tokens of %zu records.",
	                 (unsigned long long)receipt->width, (unsigned)receipt->tokens,
	                 receipt->records);
	explain_files(t);
	explain_signer(t);
	// The bias says these itself. With categories its records may be fewer than the input's.
	explain_unchecked(t, !t->files->output     ? ""
	                     : receipt->categories ? " categories width "
	                                           : " categories records width ");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	TELL_KEPT(t, "Texts that are made of the bias, without reading records, are covered by "
	             "this. There may be any number of them.");
	TELL_LIMIT(t, "Anything about several %s together.",
	           key ? "owners" : "records of one person");
	explain_other_runs(t);
	explain_watching(t);
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

static void explain_sample(struct telling *t) {
	const struct sample_receipt *receipt = t->v->receipt;
	set_promise_text(
	    t, &t->promise->opening,
	    "%zu texts of at most %u tokens, from the public prompt and a learnt bias.",
	    receipt->texts, (unsigned)receipt->tokens);
	explain_files(t);
	explain_signer(t);
	// The bias's own receipt has these.
	explain_unchecked(t, t->files->bias ? " categories dataset model_sha256 private unit_key "
	                                    : "");
	TELL_KEPT(t, "%s", t->v->attested->sentence);
	explain_form(t, "");
	explain_filters(t, &receipt->filters, &receipt->counts, "");
	TELL_LIMIT(t, "Anything that the receipt of the bias does not promise.");
	TELL_LIMIT(t,
	           "That more texts say more about the records: they say what the bias does, and "
	           "what the model adds.");
	explain_truth(t);
	TELL_LIMIT(t, "%s", doubt_of_signature(t));
}

/* A row for each kind that verification_open reads. */
static const struct {
	const struct receipt_kind *kind;
	void (*explain)(struct telling *t);
} EXPLAINS[] = {{&GENERATE_KIND, explain_receipt}, {&SANITIZE_KIND, explain_rewriting},
                {&PERTURB_KIND, explain_words},    {&EXPAND_KIND, explain_expansion},
                {&EVOLVE_KIND, explain_evolution}, {&LEARN_KIND, explain_learning},
                {&SAMPLE_KIND, explain_sample}};

enum cuttle_status promise_make(const struct verification *v,
                                const struct verification_files *files, struct promise *promise,
                                struct cuttle_error *error) {
	const size_t count = sizeof EXPLAINS / sizeof *EXPLAINS;
	size_t row = 0;
	*promise = (struct promise){0};
	struct telling telling = {v, files, promise};
	while (row < count && EXPLAINS[row].kind != v->evidence.kind) row++;
	REQUIRE(row < count);
	EXPLAINS[row].explain(&telling);
	return promise->about.failed || promise->kept.failed || promise->limits.failed
	           ? io_fail(error, CUTTLE_NOMEM, "out of memory")
	           : CUTTLE_OK;
}

void promise_free(struct promise *promise) {
	free(promise->opening);
	free(promise->unchecked);
	promise_lines_free(&promise->about);
	promise_lines_free(&promise->kept);
	promise_lines_free(&promise->limits);
	*promise = (struct promise){0};
}
