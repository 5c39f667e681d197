// SPDX-License-Identifier: Apache-2.0
// From a request to texts, see sample.h. While the engine draws it calls the functions below that
// begin with name_ or deliver_, and those of run.h.
#include "workflow/sample.h"

#include "engine/cuttle/learn.h"
#include "engine/cuttle/public.h"
#include "io/disk/fail.h"
#include "io/output/binding.h"
#include <math.h>
#include <string.h>

/* Options that say how records are read or what they are promised: none is read. */
static const char *name_sample_fault(const struct generate_request *request) {
	const struct common_request *common = &request->common;
	const struct cuttle_plan_params *plan = &request->plan;
	struct cuttle_plan_params unsaid;
	cuttle_plan_params_default(&unsaid);
	if (!request->bias)
		return "-B 0 reads no record: give --bias FILE, which cuttle learn makes of all "
		       "records";
	if (common->input || common->unit_key || request->records_per_unit)
		return "-B 0 reads no record: leave out -i and --unit-key, or give -B 1 or more";
	if (!isnan(plan->epsilon) || !isnan(plan->clip))
		return "-B 0 costs nothing: leave out -e and --clip, or give -B 1 or more";
	if (common->ledger || common->dataset || request->charge != RUN_CHARGE_AUTO)
		return "-B 0 costs nothing: leave out --ledger, --dataset and --charge; the bias "
		       "has been charged";
	if (request->accountant_chosen || plan->delta != unsaid.delta || !plan->savings.center)
		return "-B 0 costs nothing: leave out --delta, --accountant and --center, which "
		       "are for references";
	if (plan->insecure)
		return "-B 0 draws nothing private: leave out --insecure-seed; the receipt tells "
		       "the seed";
	if (plan->method != CUTTLE_INVISIBLEINK || plan->gain != 0.0 || plan->shots > 1)
		return "-B 0 has no references: leave out --method, --gain and --shots";
	if (request->clusters || (request->categories && !request->category_public))
		return "-B 0 counts no records of categories: give --category-public, by which "
		       "texts follow the shares";
	if (request->lots == RUN_LOTS_ON || request->rounds > 1 || request->trace)
		return "-B 0 draws no batches: leave out --lots on, --rounds and --trace";
	if (plan->savings.token_bank || plan->savings.complete || plan->savings.public_when > 0)
		return "-B 0: all tokens are free; leave out --token-bank, --complete and "
		       "--public-when";
	if (plan->savings.free_tokens) return "-B 0: all tokens are free; leave out --free-tokens";
	return request->filters.drop[FILTER_UNLIKELY]
	           ? "-B 0: --drop unlikely is for texts that references say something in"
	           : NULL;
}

enum cuttle_status sample_check(const struct generate_request *request,
                                struct cuttle_error *error) {
	const char *fault = name_sample_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

static enum cuttle_status set_sample_receipt(const struct generate_request *request,
                                             struct sample *sample, struct cuttle_error *error) {
	static const char *const formats[] = {"jsonl", "csv"};
	const struct setup *setup = &sample->setup;
	const struct cuttle_guarantee *law = &setup->receipt.guarantee;
	const struct learn_receipt *learnt = setup->bias.receipt;
	struct sample_receipt *receipt = &sample->receipt;
	receipt->bias = bias_told(&setup->bias);
	receipt->unit_key = learnt->unit_key;
	receipt->categories = learnt->categories;
	receipt->dataset = learnt->dataset;
	receipt->private_output = learnt->private_output;
	receipt->temperature = law->temperature;
	receipt->top_k = law->top_k;
	receipt->tokens = law->tokens;
	receipt->context = law->context;
	receipt->texts = setup->receipt.texts;
	receipt->seed = SYSTEM_NO_SEED;
	receipt->isa = cuttle_isa();
	receipt->model = setup->receipt.model;
	memcpy(receipt->model_sha256, setup->receipt.model_sha256, HASH_TEXT);
	memcpy(receipt->template_sha256, setup->receipt.template_sha256, HASH_TEXT);
	grammar_choice_tell(&setup->grammar, receipt->grammar_sha256, receipt->schema_sha256);
	receipt->stops = setup->stop.stops;
	receipt->filters = setup->receipt.filters;
	if (!sample_fingerprint(receipt, formats[request->output_format], &setup->categories,
	                        sample->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->common.now, receipt->date, error);
}

enum cuttle_status sample_open(const struct generate_request *request,
                               const struct setup_model *opened, struct sample *sample,
                               struct cuttle_error *error) {
	*sample = (struct sample){.asked = *request};
	struct generate_request *asked = &sample->asked;
	asked->lots = RUN_LOTS_OFF;
	setup_public_law(&asked->plan);
	// No record is read, so the bias may promise something to any units.
	asked->bias = NULL;
	struct setup *setup = &sample->setup;
	enum cuttle_status status = generate_open(asked, opened, setup, error);
	if (!status)
		status = setup_bias_read(request->bias, opened->model, opened->sha256, &setup->bias,
		                         error);
	if (!status) status = cuttle_bias_use(setup->plan, setup->bias.vector, error);
	return status ? status : set_sample_receipt(request, sample, error);
}

void sample_free(struct sample *sample) {
	generate_free(&sample->setup);
	*sample = (struct sample){0};
}

/* ---- the run --------------------------------------------------------------------------------- */

struct sample_state {
	struct run run; /* first: it is what the functions of run.h are told */
	struct sample *sample;
	size_t category; /* of the texts that are drawn; 0 = there are none */
};

static void name_sample_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                               const char **heading) {
	const struct sample_state *state = user;
	const struct setup *setup = &state->sample->setup;
	(void)text;
	*params = setup_prompts(&state->sample->asked, setup, state->category);
	*heading = setup->categories.count ? setup->categories.all[state->category].heading : NULL;
}

/* The category's grammar is that of its texts. */
static size_t name_sample_heading(void *user, size_t text) {
	(void)text;
	return ((const struct sample_state *)user)->category;
}

static int deliver_sampled(void *user, const struct cuttle_text *text) {
	const struct run *run = user;
	struct cuttle_text counted = *text;
	counted.index = counted.batch = run->first + text->index;
	return run_text(user, &counted);
}

/* The texts of a category, or all. Each category has numbers of its own. */
static enum cuttle_status draw_category(struct sample_state *state, size_t texts,
                                        struct cuttle_error *error) {
	const struct setup *setup = &state->sample->setup;
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = texts;
	job.parallel = state->sample->asked.plan.parallel;
	job.seed = state->sample->receipt.seed + state->category;
	job.user = state;
	job.prompt = name_sample_prompt;
	job.heading = name_sample_heading;
	job.drawn = run_drawn;
	job.token = run_token;
	job.text = deliver_sampled;
	job.progress = run_progress;
	const enum cuttle_status status =
	    texts ? cuttle_public_run(setup->plan, &job, error) : CUTTLE_OK;
	state->run.first += texts;
	return status;
}

static enum cuttle_status draw_sample(void *user, struct cuttle_error *error) {
	struct sample_state *state = user;
	const struct categories *categories = &state->sample->setup.categories;
	enum cuttle_status status = CUTTLE_OK;
	if (!categories->count) return draw_category(state, state->sample->receipt.texts, error);
	for (; state->category < categories->count && !status; state->category++) {
		status = setup_category_bias(&state->sample->setup, state->category, error);
		if (!status)
			status =
			    draw_category(state, categories->all[state->category].texts, error);
	}
	return status;
}

/* A stopped run goes on with the same bias: its hashes are all that was read. */
static void digest_bias(void *user, const unsigned char *key, char *digest) {
	const struct receipt_bias *bias =
	    &((const struct sample_state *)user)->sample->receipt.bias;
	struct binding_digest made;
	binding_digest_begin(&made, key);
	binding_digest_add(&made, bias->receipt_sha256, HASH_TEXT - 1);
	binding_digest_add(&made, bias->sha256, HASH_TEXT - 1);
	binding_digest_end(&made, digest);
}

static void set_sample_terms(void *user, struct system_terms *terms) {
	struct sample *sample = ((struct sample_state *)user)->sample;
	terms->output = (struct output_request){.fingerprint = sample->fingerprint,
	                                        .format = sample->asked.output_format,
	                                        .texts = sample->receipt.texts,
	                                        .categories = sample->setup.receipt.categories,
	                                        .private_output = sample->receipt.private_output,
	                                        .filters = sample->receipt.filters,
	                                        .objects = sample->setup.grammar.schema != NULL,
	                                        .digest = digest_bias};
	setup_rows(&sample->setup, &terms->output);
	terms->free = true;
	terms->seed = &sample->receipt.seed;
}

static json_t *describe_sample(void *user, const struct filter_counts *counts, const char *sha256) {
	struct sample *sample = ((struct sample_state *)user)->sample;
	sample->receipt.counts = *counts;
	return evidence_json(&SAMPLE_KIND, &sample->receipt, sample->fingerprint, sha256);
}

static const struct system SAMPLE = {
    .terms = set_sample_terms, .draw = draw_sample, .receipt = describe_sample};

enum cuttle_status sample_run(struct sample *sample, const struct run_events *events,
                              struct cuttle_error *error) {
	struct sample_state state = {.run = {.request = &sample->asked.common,
	                                     .events = events,
	                                     .signer = sample->setup.signer},
	                             .sample = sample};
	return run_system(&SAMPLE, &state, error);
}
