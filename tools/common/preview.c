// SPDX-License-Identifier: Apache-2.0
// The texts of --dry-run, in the order in which they are printed. tools/common/pace.h estimates
// time and memory.
#include "tools/common/preview.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "tools/common/load.h"
#include "tools/common/pace.h"
#include "tools/common/watch.h"
#include <inttypes.h>
#include <math.h>

/* `weighed`: the records were counted, where all of a unit are read. */
static void print_parts(const struct setup *setup, bool weighed) {
	const struct receipt_unit *unit = &setup->receipt.unit;
	const struct cuttle_histogram *histogram = setup->receipt.histogram;
	if (histogram && unit->key)
		printf("lots of units their number is private: texts, %" PRIu32
		       " or fewer, follow from a count with noise of scale %" PRIu32 "\n",
		       histogram->texts, histogram->scale);
	else if (histogram)
		printf("categories    %" PRIu32 ", private: their texts, %" PRIu32
		       " or fewer, follow from counts with noise of scale %" PRIu32 "\n",
		       histogram->clusters, histogram->texts, histogram->scale);
	for (size_t i = 0; !histogram && i < setup->categories.count; i++) {
		const struct category *category = &setup->categories.all[i];
		printf("category      %zu texts, %" PRIu64 " references", category->texts,
		       category->texts * cuttle_guarantee_references(&setup->receipt.guarantee));
		for (size_t j = 0; j < setup->categories.field_count; j++)
			printf(", %s: %s", setup->categories.fields[j], category->values[j]);
		printf("\n");
	}
	if (unit->limited)
		printf("unit          everybody with one value of %s: one record in each of at "
		       "most %" PRIu64 " texts\n",
		       unit->key, unit->weight);
	else if (unit->key && weighed)
		printf("unit          everybody with one value of %s: all records of the most "
		       "frequent one cost %" PRIu64 " times the rho of one. Who has how many is "
		       "public\n",
		       unit->key, unit->weight);
	else if (unit->key)
		printf("unit          everybody with one value of %s: with -i this says what the "
		       "most frequent one costs. Below it is one record\n",
		       unit->key);
}

static void print_lots(const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	for (size_t i = 0; i < setup->lots.count; i++) {
		const struct cuttle_lots *lots = &setup->lots.all[i];
		printf("lots          %" PRIu64 " %s in %" PRIu64 " batches, %" PRIu64
		       " of them used%s\n",
		       lots->records, guarantee->shots > 1 ? "rows" : "records", lots->batches,
		       lots->used,
		       !setup->receipt.histogram ? ""
		       : setup->receipt.unit.key ? " at most; of the units a share as large"
		                                 : " at most, in each category by this share");
	}
	if (!setup->lots.count && setup->lots.batches > 0)
		printf("lots          none: the records make %" PRIu64 " batches. --lots on works "
		       "for any number of texts up to that. auto takes them for half of it or "
		       "fewer, where they buy a tenth of the clip\n",
		       setup->lots.batches);
	if (setup->lots.count)
		printf("rows          %" PRIu32 " %s per text on average, at most %" PRIu32
		       "\nif known      epsilon %.10g at delta %g against who knows a record's "
		       "batch\n",
		       guarantee->batch, guarantee->shots > 1 ? "of them" : "references",
		       guarantee->places, guarantee->epsilon_if_known, guarantee->delta_if_known);
}

static void print_savings(const struct cuttle_guarantee *guarantee) {
	const struct cuttle_savings *savings = &guarantee->savings;
	if (savings->center) printf("differences   clipped around their median\n");
	if (savings->token_bank) printf("token bank    what is left of n begins further texts\n");
	if (savings->public_when > 0)
		printf("public when   the top probability is %.6g or more\n", savings->public_when);
	if (savings->complete)
		printf("complete      after n tokens from the public prompt alone\n");
	if (savings->free_tokens)
		printf("free tokens   at most %" PRIu32 " %s\n", savings->free_tokens,
		       savings->token_bank ? "per batch" : "per text");
}

static void print_filters(const struct filters *filters) {
	if (filters->trim) printf("trim          after the last sentence, where a text is cut\n");
	const char *before = "drop          ";
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++)
		if (filters->drop[rule]) {
			printf("%s%s", before, filters_name(rule));
			before = ", ";
		}
	if (filters_drop_any(filters)) printf("\n");
}

static void print_rounds(const struct setup *setup) {
	if (setup->drawn.count)
		printf(
		    "rounds        2: a tenth of the texts of each category with 8 or more, then "
		    "the others. These show up to %zu of the tenth among %zu examples\n",
		    setup->drawn.count, setup->drawn.places);
}

void preview_say_cap(const struct generate_values *values, const struct setup *setup, FILE *file) {
	if (setup->receipt.guarantee.clip_capped)
		fprintf(file,
		        "At this batch and temperature the weights hold no clip above %.6g. That "
		        "one is used, and epsilon is what it comes to, less than the %g asked "
		        "for.\n",
		        setup->receipt.guarantee.clip, values->request.plan.epsilon);
}

/* Parameters of a method other than InvisibleInk, as the plan uses them. */
static void print_method(const struct cuttle_guarantee *guarantee) {
	size_t count;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	if (guarantee->method == CUTTLE_INVISIBLEINK) return;
	printf("method        %s", cuttle_method_name(guarantee->method));
	for (size_t i = 0; i < count; i++) {
		const void *at = (const char *)&guarantee->method_params + fields[i].offset;
		if (!(fields[i].methods >> guarantee->method & 1)) continue;
		if (fields[i].kind == CUTTLE_FIELD_REAL && isnan(*(const double *)at)) continue;
		printf(", %s ", fields[i].name);
		if (fields[i].kind == CUTTLE_FIELD_REAL) printf("%.10g", *(const double *)at);
		else if (fields[i].kind == CUTTLE_FIELD_FLAG)
			printf("%s", *(const bool *)at ? "yes" : "no");
		else if (*(const uint32_t *)at == CUTTLE_ORDER_INFINITE) printf("infinity");
		else printf("%" PRIu32, *(const uint32_t *)at);
	}
	printf("\n");
	if (guarantee->claim.kind != CUTTLE_CLAIM_NOTHING)
		printf("units         %" PRIu32 " a text, each of %s %.10g\n",
		       guarantee->claim.units,
		       guarantee->claim.kind == CUTTLE_CLAIM_RANGE ? "eta"
		       : guarantee->claim.kind == CUTTLE_CLAIM_RHO ? "rho"
		                                                   : "Renyi loss",
		       guarantee->claim.unit);
}

/* What each accountant that can speak says. */
static void print_accounts(const struct cuttle_guarantee *guarantee) {
	static const char *const names[] = {"zCDP", "exact composition", "Renyi, one order"};
	printf("epsilon       %.10g (%s)\n", receipt_epsilon(guarantee),
	       names[guarantee->accountant]);
	if (guarantee->accountant == CUTTLE_EXACT)
		printf("epsilon       %.10g (zCDP)\n", guarantee->epsilon);
	else if (isfinite(guarantee->epsilon_exact))
		printf("epsilon       %.10g (exact composition)\n", guarantee->epsilon_exact);
	printf("delta         %g\n", guarantee->delta);
	if (guarantee->claim.order)
		printf("Renyi loss    %.10g at order %" PRIu32 "\n", guarantee->claim.loss,
		       guarantee->claim.order);
	else printf("rho           %.10g\n", guarantee->rho);
}

/* What a bias promises, and what it and the run promise together. */
static void print_bias(const struct receipt *receipt) {
	const struct receipt_joint joint = bias_joint_promise(receipt);
	const double own = jsonout_round_up(receipt->bias.epsilon, 1e4),
	             both = jsonout_round_up(joint.epsilon, 1e4);
	char delta[UNITS_NUMBER];
	if (!*receipt->bias.sha256) return;
	units_print(joint.delta, true, delta);
	if (receipt->bias.from_public) printf("bias          of public records\n");
	else
		printf("bias          epsilon %.10g of its own; with it epsilon %.10g at delta "
		       "%s\n",
		       own, both, delta);
}

void preview_print(const struct generate_values *values, const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const struct cuttle_model_info *model = &setup->receipt.model;
	const bool weighed = values->request.common.input != NULL;
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       values->open.model, model->file_bytes, setup->receipt.model_sha256, cuttle_isa());
	printf("%s%zu, of at most n = %" PRIu32 " tokens\nbatch B       %" PRIu32,
	       guarantee->savings.token_bank ? "batches N     " : "texts N       ",
	       setup->receipt.texts, guarantee->tokens, guarantee->batch);
	if (guarantee->shots > 1)
		printf(" rows per text\nshots R       %" PRIu32 " references per row",
		       guarantee->shots);
	else printf(" references per text");
	// Of private categories as many texts as there are records for, and no error.
	printf(setup->receipt.histogram ? ": %" PRIu64 " for all N\n" : ": %" PRIu64 " needed\n",
	       setup->receipt.texts * cuttle_guarantee_references(guarantee));
	print_parts(setup, weighed);
	print_lots(setup);
	watch_form(&setup->grammar);
	print_savings(guarantee);
	print_rounds(setup);
	print_filters(&setup->receipt.filters);
	printf("temperature   %.10g\ntop-k         %" PRIu32 "\n", guarantee->temperature,
	       guarantee->top_k);
	print_method(guarantee);
	if (guarantee->clip_fixed)
		printf("clip          %.10g (%" PRId32 " / 2^%" PRIu32 ")\n", guarantee->clip,
		       guarantee->clip_fixed, guarantee->fraction_bits);
	if (guarantee->method == CUTTLE_INVISIBLEINK) printf("gain          %g\n", guarantee->gain);
	if (cuttle_method_promises(guarantee->method)) print_accounts(guarantee);
	print_bias(&setup->receipt);
	printf("context       %" PRIu32 " tokens: %" PRIu32 " shared by all prompts, %" PRIu32
	       " in the public prompt, at most %" PRIu32 " of a %s\n",
	       guarantee->context, guarantee->shared_prefix, guarantee->public_tokens,
	       guarantee->reference_tokens, guarantee->shots > 1 ? "row" : "reference");
	printf("template      %s\ncommand       %s\n", setup->receipt.template_sha256,
	       setup->fingerprint);
	char sentence[RECEIPT_SENTENCE];
	const struct receipt_unit *unit = &setup->receipt.unit;
	receipt_sentence(&setup->receipt, unit->limited || weighed ? unit->key : NULL, sentence);
	preview_say_cap(values, setup, stdout);
	printf("%s\n", sentence);
}

/* ---- time and memory ------------------------------------------------------------------------- */

static void print_time(double seconds) {
	if (seconds < 90) printf("%.0f seconds", fmax(1, seconds));
	else if (seconds < 2 * 3600) printf("%.0f minutes", seconds / 60);
	else printf("%.1f hours", seconds / 3600);
}

/* Prints the time for references of `usual` tokens, 0 = nobody said, and for references that fill
 * their room. Both begin with the seconds of the model's opening. Memory is for full ones. It does
 * not depend on how long the references are: that is private. */
static void print_cost(const struct setup *setup, const struct pace *pace, double usual,
                       double opening_s) {
	const struct cuttle_guarantee *g = &setup->receipt.guarantee;
	const double texts = (double)setup->receipt.texts, batch = g->batch, tokens = g->tokens;
	// Tokens of a prompt around its reference, without the shared prefix, which is computed
	// once for all contexts. For example: a context of 1000, 200 tokens to draw, 600 of a
	// reference, 150 shared, none free: 50.
	const double room = g->reference_tokens, around = (double)g->context - tokens -
	                                                  g->savings.free_tokens - room -
	                                                  g->shared_prefix;
	const double each = usual > 0 ? usual : PACE_PROMPT, shots = g->shots,
	             typical = fmin(shots * each, room);
	// With lots all records are read.
	const double records =
	    setup->lots.count ? (double)setup->lots.records : texts * batch * shots;
	const double memory =
	    pace_process_bytes(&setup->receipt.model, g->job_bytes) + records * g->reference_bytes;
	printf("time          about ");
	print_time(opening_s + pace_seconds(pace, texts, batch, around + typical, tokens));
	printf(" if references have %.0f tokens", fmin(each, room));
	if (room > typical) {
		printf(", more than ");
		print_time(opening_s + pace_seconds(pace, texts, batch, around + room, tokens));
		printf(" if each has %.0f", room / shots);
	}
	printf("\n");
	if (usual == 0)
		printf(
		    "likely time   give --reference-tokens R, the usual length: cuttle inspect -m "
		    "prints the median, for your eyes\n");
	pace_print_memory(memory, "", "-B, -c or --parallel");
}

int preview_print_cost(const struct verb *verb, const struct generate_values *values,
                       const struct setup *setup) {
	const struct cuttle_guarantee *g = &setup->receipt.guarantee;
	const double usual = (double)values->reference_tokens;
	struct cuttle_error error;
	struct paces paces = {0};
	struct pace measured;
	struct load load;
	enum cuttle_status status;
	if (values->bench) {
		status = paces_read(values->bench, &paces, &error);
		if (!status && paces.model_bytes != (double)setup->receipt.model.file_bytes &&
		    !isnan(paces.model_bytes))
			status = io_fail(
			    &error, CUTTLE_INPUT,
			    "%s: measured with another model; measure this one with cuttle bench",
			    file_shown(values->bench));
		if (!status) print_cost(setup, paces_nearest(&paces, g->batch), usual, 0);
		if (!status) printf("measured      by cuttle bench, in %s\n", values->bench);
	} else {
		load_begin(&load);
		status = pace_measure(setup->model, g->batch, values->request.plan.parallel,
		                      &measured, &error);
		if (!status) load_warn(verb->name, load_of_others(&load));
		if (!status) print_cost(setup, &measured, usual, setup->opening_s);
		if (!status)
			printf("measured      now, on %.0f threads, with B = %.0f: %.0f prompt "
			       "tokens and %.0f rows of steps a second\n",
			       measured.threads, measured.batch, measured.prompt_tokens_per_s,
			       measured.rows_per_s);
		if (!status)
			printf("opening       the model took %.1f seconds now, and the time begins "
			       "with that\n",
			       setup->opening_s);
	}
	paces_free(&paces);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}
