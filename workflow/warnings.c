// SPDX-License-Identifier: Apache-2.0
// One function for each warning. Each says what is the matter and what to type instead.
#include "workflow/warnings.h"

#include "engine/cuttle/text.h"
#include "io/disk/jsonout.h"
#include "workflow/rounds.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters. A smaller model needs examples to know what is wanted, and is for trying out. */
static const uint64_t SMALL_MODEL = 1000000000;

/* Share of the tokens that the documents can change. With less the texts are nearly public. */
static const double FEW_TOKENS = 0.1;

/* -n is too long when it is more than this many times the longest public example. */
enum { LONG_TEXT = 4 };

static void warn_examples(FILE *file, const struct generate_request *request,
                          const struct setup *setup) {
	// Own prompts can say what is wanted without examples.
	if (request->prompt_public || setup->example_count ||
	    setup->receipt.model.parameters >= SMALL_MODEL)
		return;
	fprintf(file,
	        "Warning: no public examples. A model of %.0f million parameters hardly knows "
	        "what to write without them. Give two to four texts of the kind wanted with "
	        "--public-examples FILE.\n",
	        (double)setup->receipt.model.parameters / 1e6);
}

/* The times are those of models/README, for two cores with AVX2 alone. */
void warnings_model(FILE *file, const struct cuttle_model_info *model) {
	if (model->parameters >= SMALL_MODEL) return;
	fprintf(
	    file,
	    "Note: a model of %.0f million parameters is for trying out. On two cores with AVX2 "
	    "100 texts (200 tokens, -B 7) take one of a billion about half an hour. One of 8 "
	    "billion takes about 4 hours. With AVX-512 both take less than half of that "
	    "(models/README). cuttle generate --dry-run says it of this machine.\n",
	    (double)model->parameters / 1e6);
}

void warnings_bias(FILE *file, const struct setup *setup, const char *template) {
	// Each category has a prompt of its own.
	if (setup->bias.vector && !setup->categories.count && !bias_behind(&setup->bias, template))
		fprintf(file, "Note: " BIAS_OTHER_PROMPT ".\n");
}

static void warn_epsilon(FILE *file, double epsilon, const char *what, const char *remedy) {
	const double shown = jsonout_round_up(epsilon, 1e2);
	if (!(epsilon > RECEIPT_WEAK)) return;
	fprintf(file,
	        "Warning: epsilon %.10g is hardly a promise. %s may change the odds of a "
	        "statement about a record by a factor of e^%.10g. Give a smaller %s.\n",
	        shown, what, shown, remedy);
}

/* A mechanism that publishes one of the records whole, drawn at random, has delta = 1 / records,
 * which `name` stands for. */
static void warn_delta(FILE *file, double delta, double records, const char *name) {
	const double most = 0.1 / records;
	if (delta <= most * (1 + 1e-9)) return;
	fprintf(file,
	        "Warning: delta %.3g is above 1 / (10 %s) = %.3g. So large a delta would allow "
	        "publishing a record now and then: give --delta %.0e or less.\n",
	        delta, name, most, pow(10, floor(log10(most))));
}

void warnings_learn(FILE *file, const struct learn_receipt *receipt) {
	if (receipt->from_public || !receipt->private_output) return;
	warn_epsilon(file, receipt->epsilon, "The bias", "-e; more records make up for it");
	if (receipt->records) warn_delta(file, receipt->delta, (double)receipt->records, "records");
}

static void warn_epsilon_of_texts(FILE *file, const struct cuttle_guarantee *guarantee) {
	warn_epsilon(file, receipt_epsilon(guarantee), "The texts",
	             "-e or --clip; a larger -B makes up for it");
}

static void warn_delta_of_texts(FILE *file, const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const double each = (double)cuttle_guarantee_references(guarantee);
	if (setup->lots.count) warn_delta(file, guarantee->delta, (double)setup->lots.records, "R");
	else
		warn_delta(file, guarantee->delta, (double)setup->receipt.texts * each,
		           guarantee->shots > 1 ? "N B R" : "N B");
}

/* Let x = gain clip / temperature. The references together move the logarithm of each token's
 * weight by at most x, up or down. So they change the odds of any two tokens by a factor of at most
 * e^2x. Two laws of a token with that ratio differ by at most tanh(x / 2) in the probability of any
 * event. So at most this share of the tokens differs from what the public prompt alone would have
 * given. For example: with x = 0.2 it is tanh(0.1), 10 % of the tokens. */
static void warn_clip(FILE *file, const struct cuttle_guarantee *guarantee) {
	if (guarantee->method != CUTTLE_INVISIBLEINK) return;
	const double reach = guarantee->gain * guarantee->clip / guarantee->temperature,
	             share = tanh(reach / 2);
	if (share >= FEW_TOKENS) return;
	fprintf(file,
	        "Warning: gain x clip / temperature is %.3g, so the documents change at most "
	        "%.2g %% of the tokens. The texts are nearly what the public prompt alone would "
	        "give. Raise -B or -e, or lower -n.\n",
	        reach, 100 * share);
}

static void warn_context(FILE *file, const struct cuttle_guarantee *guarantee) {
	if (guarantee->reference_tokens >= guarantee->tokens) return;
	fprintf(file,
	        "Warning: texts may have %" PRIu32 " tokens, but of a document only %" PRIu32
	        " fit beside them in a context of %" PRIu32 ". Lower -n, raise -c as far as the "
	        "model goes, or give shorter public examples.\n",
	        guarantee->tokens, guarantee->reference_tokens, guarantee->context);
}

/* Tokens of the longest public example. 0: there is none, or no memory to count; then nobody is
 * warned. */
static size_t measure_longest_example(const struct setup *setup) {
	size_t longest = 0;
	for (size_t i = 0; i < setup->example_count; i++) {
		const size_t size = strlen(setup->examples[i]),
		             capacity = cuttle_tokens_bound(size);
		size_t count = 0;
		int32_t *ids = reallocarray(NULL, capacity, sizeof *ids);
		if (!ids || cuttle_tokenize(setup->model, setup->examples[i], size, false, ids,
		                            capacity, &count, NULL))
			count = 0;
		free(ids);
		if (count > longest) longest = count;
	}
	return longest;
}

/* Warns when most of what is paid for is lost, as texts end long before T. A token bank loses none
 * of it. */
static void warn_length(FILE *file, const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const size_t longest = guarantee->savings.token_bank ? 0 : measure_longest_example(setup);
	if (!longest || guarantee->tokens <= LONG_TEXT * longest) return;
	fprintf(file,
	        "Warning: every text is charged for %" PRIu32
	        " tokens, and the longest public example has %zu. Lower -n, or use the rest with "
	        "--token-bank.\n",
	        guarantee->tokens, longest);
}

/* Where no category has enough texts there is one round only. How many texts of private categories
 * there are follows from noisy counts; before these no category can have more than all. */
static void warn_rounds(FILE *file, const struct setup *setup) {
	const bool known = setup->categories.count && (!setup->histogram.clusters || setup->seats);
	bool any = !known && rounds_first(setup->receipt.texts);
	for (size_t i = 0; known && i < setup->categories.count; i++)
		any = any || rounds_first(setup->categories.all[i].texts);
	if (!setup->drawn.count || any) return;
	fprintf(file, "Warning: --rounds 2 does nothing here: no category has 8 texts or more. "
	              "Raise -N, or leave it out.\n");
}

/* R, N and B are public. How many texts there will be follows from the noisy counts. */
static void warn_seats(FILE *file, const struct setup *setup) {
	const uint64_t texts = setup->receipt.texts, batch = setup->receipt.guarantee.batch,
	               records = setup->lots.records;
	if (!setup->histogram.clusters) return;
	// q* is then below one batch of a category of mean size.
	if (!setup->receipt.unit.key && 2 * texts < setup->histogram.clusters)
		fprintf(file,
		        "Warning: %" PRIu64 " texts for %" PRIu32 " categories or clusters. With "
		        "fewer than half as many texts only large ones can have "
		        "one, maybe none. Raise -N, or name fewer.\n",
		        texts, setup->histogram.clusters);
	if (texts <= records / batch) return;
	fprintf(file,
	        "Warning: %" PRIu64 " texts of %" PRIu64 " references each are more than %" PRIu64
	        " records have. There will be fewer "
	        "texts, maybe none, at the same price. "
	        "Lower -N or -B.\n",
	        texts, batch, records);
}

void warnings_print(FILE *file, const struct generate_request *request, const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	warnings_model(file, &setup->receipt.model);
	warnings_bias(file, setup, cuttle_plan_template(setup->plan, 0));
	warn_examples(file, request, setup);
	warn_epsilon_of_texts(file, guarantee);
	warn_delta_of_texts(file, setup);
	warn_seats(file, setup);
	warn_rounds(file, setup);
	warn_clip(file, guarantee);
	warn_context(file, guarantee);
	warn_length(file, setup);
	if (request->categories)
		fprintf(file, "A record of no declared category is read as nothing, and capitals "
		              "count. cuttle inspect with --category-field and --categories "
		              "shows, to you alone, how many there are.\n");
}
