// SPDX-License-Identifier: Apache-2.0
// The system generate: what workflow/run.c calls is in the table at the end. While the engine draws
// it calls the functions below that begin with give_, keep_ or deliver_, and those of run.h.
#include "workflow/generate.h"

#include "workflow/likelihood.h"
#include "workflow/references.h"
#include "workflow/rounds.h"
#include "workflow/seats.h"

struct generate_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct generate_request *request;
	struct setup *setup;
	struct references references;
	struct lots lots;             /* of a run with lots; private */
	struct likelihood likelihood; /* its scorer is NULL where no text is unlikely */
	struct rounds rounds;
	size_t category;           /* of the job, and of its texts; 0 = there are none */
	bool first_round;          /* its texts are shown by those of the next job */
	enum cuttle_status failed; /* what rounds answered; OK = no failure */
	struct cuttle_error failure;
	size_t places; /* of a text: B R, or with lots as many as its rows may have */
	size_t texts;  /* handed out so far */
	size_t told;   /* the batch that the caller was told of last */
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	struct generate_state *state = user;
	state->run.reading = 1 + state->run.first + index / state->places;
	*text = references_text(&state->references, state->run.first * state->places + index, size);
}

static int keep_step(void *user, const struct cuttle_trace_step *step) {
	const struct run *run = user;
	struct cuttle_trace_step counted = *step;
	counted.text += run->first;
	return trace_step(run->delivery.trace, &counted);
}

static int deliver_text(void *user, const struct cuttle_text *text) {
	struct generate_state *state = user;
	struct run *run = &state->run;
	struct cuttle_text counted = *text;
	counted.index = state->texts++;
	counted.batch += run->first;
	if (output_text(run->delivery.output, &counted) != 0) return 1;
	if (state->first_round && output_kept(run->delivery.output))
		state->failed = rounds_keep(&state->rounds, &counted, &state->failure);
	if (state->failed) return 1;
	if (state->texts > 1 && counted.batch == state->told) return 0;
	state->told = counted.batch;
	run->events->text(run->events->user);
	return 0;
}

static const char *name_category(const struct setup *setup, size_t category) {
	return setup->categories.count ? setup->categories.all[category].heading : NULL;
}

/* The prompts of a text of the second round: those of its category, and texts of the first. */
static void give_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	struct generate_state *state = user;
	*params = setup_prompts(state->request, state->setup, state->category);
	params->drawn = rounds_show(&state->rounds, state->run.first + text);
	*heading = name_category(state->setup, state->category);
}

static enum cuttle_status run_job(struct generate_state *state, struct cuttle_job *job,
                                  size_t texts, struct cuttle_error *error) {
	job->texts = texts;
	const enum cuttle_status status =
	    texts ? cuttle_job_run(state->setup->plan, job, error) : CUTTLE_OK;
	state->run.first += texts;
	return status;
}

/* Runs the jobs of a category. The second, if there are two, begins when all texts of the first are
 * written. It does not matter who wrote them, nor in how many starts. */
static enum cuttle_status run_category(struct generate_state *state, struct cuttle_job *job,
                                       struct cuttle_error *error) {
	const struct setup *setup = state->setup;
	const struct run_shard *shard = state->request->shard;
	const size_t texts = setup->categories.count ? setup->categories.all[job->heading].texts
	                                             : setup->receipt.texts,
	             first = setup->drawn.count ? rounds_first(texts) : 0;
	enum cuttle_status status = CUTTLE_OK;
	state->category = job->heading;
	job->prompt = NULL;
	job->first = 0;
	// The numbers of this category begin at run.first, and the shard's are those of the run.
	if (shard) {
		const size_t count = (size_t)shard->number.count;
		job->stride = count;
		job->begin =
		    ((size_t)shard->number.index + count - state->run.first % count) % count;
	}
	if (!first) return run_job(state, job, texts, error);
	status = rounds_begin(&state->rounds, state->category,
	                      name_category(setup, state->category), error);
	state->first_round = true;
	if (!status) status = run_job(state, job, first, error);
	state->first_round = false;
	job->prompt = give_prompt;
	job->first = first;
	return status ? status : run_job(state, job, texts - first, error);
}

/* From here on texts are drawn, and judged, with the bias of this category. */
static enum cuttle_status use_category_bias(struct generate_state *state, size_t category,
                                            struct cuttle_error *error) {
	const struct setup *setup = state->setup;
	const enum cuttle_status status = setup_category_bias(setup, category, error);
	if (status || !setup->bias.vector || !state->likelihood.scorer) return status;
	return cuttle_scorer_bias(state->likelihood.scorer,
	                          bias_of(&setup->bias, name_category(setup, category)), error);
}

/* Runs the jobs of each category, one after the other, as each has prompts of its own. Without
 * categories all texts are of one. */
static enum cuttle_status run_categories(struct generate_state *state, struct cuttle_job *job,
                                         struct cuttle_error *error) {
	const struct categories *categories = &state->setup->categories;
	enum cuttle_status status = CUTTLE_OK;
	if (!categories->count) return run_category(state, job, error);
	for (job->heading = 0; !status && job->heading < categories->count; job->heading++) {
		state->likelihood.params =
		    setup_prompts(state->request, state->setup, job->heading);
		state->likelihood.heading = categories->all[job->heading].heading;
		status = use_category_bias(state, job->heading, error);
		if (!status) status = run_category(state, job, error);
	}
	return status;
}

static enum cuttle_status draw_texts(void *user, struct cuttle_error *error) {
	struct generate_state *state = user;
	const struct setup *setup = state->setup;
	struct cuttle_job job;
	const struct cuttle_trace trace = {keep_step, state};
	cuttle_job_default(&job);
	job.user = state;
	job.reference = give_reference;
	job.drawn = run_drawn;
	job.token = run_token;
	job.text = deliver_text;
	job.progress = run_progress;
	if (state->run.delivery.trace) job.trace = &trace;
	enum cuttle_status status = CUTTLE_OK;
	if (setup->drawn.count)
		status = rounds_open(&state->rounds, &setup->drawn, setup->model,
		                     setup->fingerprint, error);
	if (!status) status = run_categories(state, &job, error);
	rounds_close(&state->rounds);
	if (state->failed && error) *error = state->failure;
	return state->failed ? state->failed : status;
}

static json_t *describe_texts(void *user, const struct filter_counts *counts, const char *sha256) {
	const struct generate_state *state = user;
	struct setup *setup = state->setup;
	const struct run_shard *shard = state->request->shard;
	setup->receipt.counts = *counts;
	return shard ? shard_run_part(&shard->run, shard->number.index, setup->receipt.isa, sha256)
	             : receipt_json(&setup->receipt, setup->fingerprint, sha256);
}

static enum cuttle_status open_likelihood(struct generate_state *state,
                                          struct cuttle_error *error) {
	const struct setup *setup = state->setup;
	const struct cuttle_plan_params params = setup_prompts(state->request, setup, 0);
	const char *headings[MOST_CATEGORIES];
	for (size_t i = 0; i < setup->categories.count; i++)
		headings[i] = setup->categories.all[i].heading;
	const struct likelihood_examples examples = {.all = (const char *const *)setup->examples,
	                                             .count = setup->example_count,
	                                             .per_text = setup->examples_per_text,
	                                             .headings = headings,
	                                             .heading_count = setup->categories.count};
	return likelihood_open(&state->likelihood, setup->model, &params, setup->bias.vector,
	                       &examples, error);
}

/* New lots are drawn before the records are read. A run that is continued takes its own from beside
 * the output, so places come after that. */
static enum cuttle_status open_generate(void *user, struct cuttle_error *error) {
	struct generate_state *state = user;
	const struct generate_request *request = state->request;
	const struct setup *setup = state->setup;
	enum cuttle_status status = CUTTLE_OK;
	if (request->filters.drop[FILTER_UNLIKELY]) status = open_likelihood(state, error);
	if (status || !setup->lots.count || request->shard) return status;
	status = lots_begin(&state->lots,
	                    request->plan.insecure ? &request->plan.insecure_seed : NULL, error);
	state->lots.records = setup->lots.records;
	return status;
}

static enum cuttle_status read_references(void *user, struct cuttle_error *error) {
	struct generate_state *state = user;
	return references_read(state->request, state->setup, &state->references, error);
}

static void digest_references(void *user, const unsigned char *key, char *digest) {
	references_digest(&((struct generate_state *)user)->references, key, digest);
}

/* What becomes of a shard's texts is decided when all shards are there: merge asks the filters. */
static void set_shard_output(const struct run_shard *shard, struct output_request *output) {
	output->fingerprint = shard->command;
	output->format = OUTPUT_JSONL;
	output->batches = true;
	output->filters = (struct filters){0};
	output->begin = (size_t)shard->number.index;
	output->stride = (size_t)shard->number.count;
	output->taken = shard->taken;
	output->lots = NULL;
}

static void set_generate_terms(void *user, struct system_terms *terms) {
	struct generate_state *state = user;
	const struct generate_request *request = state->request;
	struct setup *setup = state->setup;
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	terms->output = (struct output_request){.fingerprint = setup->fingerprint,
	                                        .format = request->output_format,
	                                        .texts = setup->receipt.texts,
	                                        .categories = setup->receipt.categories,
	                                        .private_output = guarantee->private_output,
	                                        .batches = guarantee->savings.token_bank ||
	                                                   guarantee->savings.free_tokens > 0,
	                                        .objects = setup->grammar.schema != NULL,
	                                        .filters = request->filters,
	                                        .scale = &state->likelihood.scale,
	                                        .lots = setup->lots.count ? &state->lots : NULL,
	                                        .digest = digest_references};
	setup_rows(setup, &terms->output);
	if (request->shard) set_shard_output(request->shard, &terms->output);
	terms->charge =
	    references_charge(&state->references, setup, !*state->run.spending.dataset.unit_key);
	terms->charged = &setup->receipt.ledger;
	terms->trace = request->trace;
}

/* Noisy counts, each before what follows from it. */
static enum cuttle_status take_noisy_counts(void *user, struct cuttle_error *error) {
	struct generate_state *state = user;
	struct setup *setup = state->setup;
	struct delivery *delivery = &state->run.delivery;
	enum cuttle_status status = CUTTLE_OK;
	if (setup->histogram.clusters)
		status = seats_take(state->request, setup, delivery, &state->references, error);
	if (!status && state->references.lots)
		status = references_draw(setup, &state->lots, &state->references, error);
	return status;
}

static void free_generate(void *user) {
	struct generate_state *state = user;
	lots_close(&state->lots);
	likelihood_close(&state->likelihood);
	references_free(&state->references);
}

static const struct system GENERATE = {.open = open_generate,
                                       .read = read_references,
                                       .terms = set_generate_terms,
                                       .take = take_noisy_counts,
                                       .draw = draw_texts,
                                       .receipt = describe_texts,
                                       .free = free_generate};

enum cuttle_status generate_texts(const struct generate_request *request, struct setup *setup,
                                  const struct run_events *events, struct cuttle_error *error) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	struct generate_state state = {.run = {.request = &request->common,
	                                       .events = events,
	                                       .signer = setup->signer,
	                                       .counted = guarantee->private_output,
	                                       .reading = 1},
	                               .request = request,
	                               .setup = setup,
	                               .places = (size_t)cuttle_guarantee_asked(guarantee)};
	return run_system(&GENERATE, &state, error);
}
