// SPDX-License-Identifier: Apache-2.0
// run_texts goes through the steps that run.h lists. In between the engine draws, and calls the
// functions below that begin with give_, keep_, deliver_ or tell_. keep_token records each token
// before anybody can see it.
#include "workflow/run.h"

#include "io/fail.h"
#include "workflow/delivery.h"
#include "workflow/likelihood.h"
#include "workflow/prior.h"
#include "workflow/references.h"
#include "workflow/rounds.h"
#include "workflow/seats.h"
#include <stdlib.h>
#include <string.h>

struct run_state {
	const struct run_request *request;
	const struct setup *setup;
	const struct references *references;
	const struct run_events *events;
	struct delivery delivery;
	struct lots lots;             /* of a run with lots; private */
	struct likelihood likelihood; /* its scorer is NULL where no text is unlikely */
	struct rounds rounds;
	size_t category;           /* of the job, and of its texts; 0 = there are none */
	bool first_round;          /* its texts are shown by those of the next job */
	enum cuttle_status failed; /* what rounds answered; OK = no failure */
	struct cuttle_error failure;
	/* Number of the job's first text in the run; with a token bank of its first batch. The
	 * engine counts from 0 in each job. For example the second category's job begins at text
	 * 30 of the run. Then first is 30, and the engine's text 2 is text 32. */
	size_t first;
	size_t places;  /* places of a text: B, or with lots as many rows as it may have */
	size_t texts;   /* handed out so far */
	size_t told;    /* the batch that the caller was told of last */
	size_t reading; /* the text whose references were asked for last */
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	struct run_state *run = user;
	run->reading = run->first + index / run->places;
	*text = references_text(run->references, run->first * run->places + index, size);
}

static size_t give_drawn(void *user, size_t text, const int32_t **tokens) {
	const struct run_state *run = user;
	return output_drawn(run->delivery.output, run->first + text, tokens);
}

static int keep_step(void *user, const struct cuttle_trace_step *step) {
	const struct run_state *run = user;
	struct cuttle_trace_step counted = *step;
	counted.text += run->first;
	return trace_step(run->delivery.trace, &counted);
}

static int keep_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct run_state *run = user;
	if (delivery_token(&run->delivery, run->first + text, step, token) != 0) return 1;
	run->events->token(run->events->user);
	// Never stops here. tell_progress does, once every token of the step is recorded and
	// traced.
	return 0;
}

static int deliver_text(void *user, const struct cuttle_text *text) {
	struct run_state *run = user;
	struct cuttle_text counted = *text;
	counted.index = run->texts++;
	counted.batch += run->first;
	if (output_text(run->delivery.output, &counted) != 0) return 1;
	if (run->first_round && output_kept(run->delivery.output))
		run->failed = rounds_keep(&run->rounds, &counted, &run->failure);
	if (run->failed) return 1;
	if (run->texts > 1 && counted.batch == run->told) return 0;
	run->told = counted.batch;
	run->events->text(run->events->user);
	return 0;
}

static int tell_progress(void *user, const struct cuttle_progress *progress) {
	const struct run_state *run = user;
	if (!strcmp(progress->phase, "prompt"))
		run->events->reading(run->events->user, run->reading);
	return run->events->stop(run->events->user);
}

static const char *name_category(const struct setup *setup, size_t category) {
	return setup->categories.count ? setup->categories.all[category].heading : NULL;
}

/* The prompts of a text of the second round: those of its category, and texts of the first. */
static void give_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	struct run_state *run = user;
	*params = setup_prompts(run->request, run->setup, run->category);
	params->drawn = rounds_show(&run->rounds, run->first + text);
	*heading = name_category(run->setup, run->category);
}

static enum cuttle_status run_job(struct run_state *run, struct cuttle_job *job, size_t texts,
                                  struct cuttle_error *error) {
	job->texts = texts;
	const enum cuttle_status status =
	    texts ? cuttle_job_run(run->setup->plan, job, error) : CUTTLE_OK;
	run->first += texts;
	return status;
}

/* Runs the jobs of a category: the second, if there are two, begins when all texts of the first are
 * written, whoever wrote them and in how many starts. */
static enum cuttle_status run_category(struct run_state *run, struct cuttle_job *job,
                                       struct cuttle_error *error) {
	const struct setup *setup = run->setup;
	const struct run_shard *shard = run->request->shard;
	const size_t texts = setup->categories.count ? setup->categories.all[job->heading].texts
	                                             : setup->receipt.texts,
	             first = setup->drawn.count ? rounds_first(texts) : 0;
	enum cuttle_status status = CUTTLE_OK;
	run->category = job->heading;
	job->prompt = NULL;
	job->first = 0;
	// The numbers of this category begin at run->first, and the shard's are those of the run.
	if (shard) {
		const size_t count = (size_t)shard->number.count;
		job->stride = count;
		job->begin = ((size_t)shard->number.index + count - run->first % count) % count;
	}
	if (!first) return run_job(run, job, texts, error);
	status =
	    rounds_begin(&run->rounds, run->category, name_category(setup, run->category), error);
	run->first_round = true;
	if (!status) status = run_job(run, job, first, error);
	run->first_round = false;
	job->prompt = give_prompt;
	job->first = first;
	return status ? status : run_job(run, job, texts - first, error);
}

/* Runs the jobs of each category, one after the other, as each has prompts of its own. Without
 * categories all texts are of one. */
static enum cuttle_status run_categories(const struct setup *setup, struct run_state *run,
                                         struct cuttle_job *job, struct cuttle_error *error) {
	const struct categories *categories = &setup->categories;
	enum cuttle_status status = CUTTLE_OK;
	if (!categories->count) return run_category(run, job, error);
	for (job->heading = 0; !status && job->heading < categories->count; job->heading++) {
		run->likelihood.params = setup_prompts(run->request, setup, job->heading);
		run->likelihood.heading = categories->all[job->heading].heading;
		status = run_category(run, job, error);
	}
	return status;
}

static enum cuttle_status draw_texts(const struct setup *setup, struct run_state *run,
                                     struct cuttle_error *error) {
	struct cuttle_job job;
	const struct cuttle_trace trace = {keep_step, run};
	cuttle_job_default(&job);
	job.user = run;
	job.reference = give_reference;
	job.drawn = give_drawn;
	job.token = keep_token;
	job.text = deliver_text;
	job.progress = tell_progress;
	if (run->delivery.trace) job.trace = &trace;
	enum cuttle_status status = CUTTLE_OK;
	if (setup->drawn.count)
		status = rounds_open(&run->rounds, &setup->drawn, setup->model, setup->fingerprint,
		                     error);
	if (!status) status = run_categories(setup, run, &job, error);
	rounds_close(&run->rounds);
	run->events->end(run->events->user);
	if (run->failed && error) *error = run->failure;
	if (run->failed) return run->failed;
	return status == CUTTLE_PARTIAL ? delivery_explain(&run->delivery, error) : status;
}

/* Seals the output, closes its charge, then puts receipt and output in place. */
static enum cuttle_status publish_output(struct setup *setup, struct run_state *run,
                                         struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = delivery_seal(&run->delivery, sha256, error);
	if (status) return status;
	setup->receipt.counts = *output_counts(run->delivery.output);
	const struct run_shard *shard = run->request->shard;
	json_t *root =
	    shard ? shard_run_part(&shard->run, shard->number.index, setup->receipt.isa, sha256)
	          : receipt_json(&setup->receipt, setup->fingerprint, sha256);
	char *receipt = receipt_seal(root, setup->signer, &size);
	status = delivery_publish(&run->delivery, receipt, size, error);
	if (!status)
		run->events->publish(run->events->user, output_receipt_path(run->delivery.output));
	return status;
}

/* Before anything private is read: what can fail here fails by public things alone. */
static enum cuttle_status open_likelihood(const struct run_request *request,
                                          const struct setup *setup, struct likelihood *likelihood,
                                          struct cuttle_error *error) {
	const struct cuttle_plan_params params = setup_prompts(request, setup, 0);
	const char *headings[MOST_CATEGORIES];
	for (size_t i = 0; i < setup->categories.count; i++)
		headings[i] = setup->categories.all[i].heading;
	const struct likelihood_examples examples = {.all = (const char *const *)setup->examples,
	                                             .count = setup->example_count,
	                                             .per_text = setup->examples_per_text,
	                                             .headings = headings,
	                                             .heading_count = setup->categories.count};
	return likelihood_open(likelihood, setup->model, &params, &examples, error);
}

static enum cuttle_status open_delivery(const struct run_request *request, struct setup *setup,
                                        struct references *references, struct spending *spending,
                                        const struct filter_scale *scale, struct lots *lots,
                                        struct delivery *delivery, bool *complete,
                                        struct cuttle_error *error) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const struct run_shard *shard = request->shard;
	struct output_request output = {.path = request->output,
	                                .receipt_path = request->receipt,
	                                .fingerprint = setup->fingerprint,
	                                .format = request->output_format,
	                                .texts = setup->receipt.texts,
	                                .categories = setup->receipt.categories,
	                                .private_output = guarantee->private_output,
	                                .batches = guarantee->savings.token_bank ||
	                                           guarantee->savings.free_tokens > 0,
	                                .filters = request->filters,
	                                .scale = scale,
	                                .overwrite = request->overwrite,
	                                .lots = setup->lots.count ? lots : NULL,
	                                .digest = references_digest,
	                                .user = references};
	// What becomes of the texts is decided when all shards are there: merge asks the filters.
	if (shard) {
		output.fingerprint = shard->command;
		output.format = OUTPUT_JSONL;
		output.batches = true;
		output.filters = (struct filters){0};
		output.begin = (size_t)shard->number.index;
		output.stride = (size_t)shard->number.count;
		output.taken = shard->taken;
		output.lots = NULL;
	}
	const struct ledger_request charge =
	    references_charge(references, setup, !*spending->dataset.unit_key);
	return delivery_open(&output, request->trace, spending, &charge, delivery, complete,
	                     &setup->receipt.ledger, error);
}

enum cuttle_status run_texts(const struct run_request *request, struct setup *setup,
                             const struct run_events *events, struct cuttle_error *error) {
	struct references references = {0};
	struct spending spending;
	struct run_state run = {.request = request,
	                        .setup = setup,
	                        .references = &references,
	                        .events = events,
	                        .places = setup->receipt.guarantee.places};
	bool complete = false;
	// A run that is not private is not counted.
	const struct spending_request counted = {
	    .ledger = setup->receipt.guarantee.private_output ? request->ledger : NULL,
	    .dataset = request->dataset,
	    .unit_key = request->unit_key,
	    .output = request->output,
	    .approved = request->approved};
	enum cuttle_status status = spending_open(&counted, &spending, error);
	if (!status && request->filters.drop[FILTER_UNLIKELY])
		status = open_likelihood(request, setup, &run.likelihood, error);
	// New lots are drawn before the records are read. A run that is continued takes its own
	// from beside the output, so places come after that.
	if (!status && setup->lots.count && !request->shard) {
		status = lots_begin(
		    &run.lots, request->plan.insecure ? &request->plan.insecure_seed : NULL, error);
		run.lots.records = setup->lots.records;
	}
	// References before output: when they are too few, standard output must not have begun.
	if (!status) status = references_read(request, setup, &references, error);
	if (!status)
		status =
		    open_delivery(request, setup, &references, &spending, &run.likelihood.scale,
		                  &run.lots, &run.delivery, &complete, error);
	if (!status && !complete && setup->histogram.clusters)
		status =
		    seats_take(request, setup, run.delivery.output, &spending, &references, error);
	if (!status && !complete && setup->receipt.guarantee.token_prior > 0.0)
		status =
		    prior_take(request, setup, run.delivery.output, &spending, &references, error);
	if (!status && !complete && references.lots)
		status = references_draw(setup, &run.lots, &references, error);
	if (!status) events->begin(events->user, complete);
	if (!status && !complete) {
		status = draw_texts(setup, &run, error);
		if (!status) status = publish_output(setup, &run, error);
	}
	if (!status) spending_done(&spending);
	delivery_close(&run.delivery);
	spending_close(&spending);
	lots_close(&run.lots);
	likelihood_close(&run.likelihood);
	references_free(&references);
	return status;
}
