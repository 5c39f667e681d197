// SPDX-License-Identifier: Apache-2.0
// run_texts goes through the steps that run.h lists. In between the engine draws, and calls the
// functions below that begin with give_, keep_, deliver_ or tell_. keep_token records each token
// before anybody can see it.
#include "workflow/run.h"

#include "io/fail.h"
#include "workflow/delivery.h"
#include "workflow/likelihood.h"
#include "workflow/references.h"
#include "workflow/seats.h"
#include <stdlib.h>
#include <string.h>

struct run_state {
	const struct run_request *request;
	const struct references *references;
	const struct run_events *events;
	struct delivery delivery;
	struct lots lots;             /* of a run with lots; private */
	struct likelihood likelihood; /* its scorer is NULL where no text is unlikely */
	/* Number of the job's first text in the run; with a token bank of its first batch. The
	 * engine counts from 0 in each job. For example the second category's job begins at text
	 * 30 of the run. Then first is 30, and the engine's text 2 is text 32. */
	size_t first;
	size_t places;  /* places of a text: B, or with lots as many rows as it may have */
	size_t texts;   /* handed out so far */
	size_t told;    /* texts that the caller was told of; with a token bank batches */
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
	if (counted.batch != run->told) return 0;
	run->told++;
	run->events->text(run->events->user);
	return 0;
}

static int tell_progress(void *user, const struct cuttle_progress *progress) {
	const struct run_state *run = user;
	if (!strcmp(progress->phase, "prompt"))
		run->events->reading(run->events->user, run->reading);
	return run->events->stop(run->events->user);
}

/* Runs one job for each category, one after the other, as each has prompts of its own. Without
 * categories runs one job for all texts. */
static enum cuttle_status run_categories(const struct setup *setup, struct run_state *run,
                                         struct cuttle_job *job, struct cuttle_error *error) {
	const struct categories *categories = &setup->categories;
	enum cuttle_status status = CUTTLE_OK;
	job->texts = setup->receipt.texts;
	if (!categories->count) return cuttle_job_run(setup->plan, job, error);
	for (job->heading = 0; !status && job->heading < categories->count; job->heading++) {
		job->texts = categories->all[job->heading].texts;
		run->likelihood.params = setup_prompts(run->request, setup, job->heading);
		run->likelihood.heading = categories->all[job->heading].heading;
		if (job->texts) status = cuttle_job_run(setup->plan, job, error);
		run->first += job->texts;
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
	const enum cuttle_status status = run_categories(setup, run, &job, error);
	run->events->end(run->events->user);
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
	char *receipt = receipt_dump(&setup->receipt, setup->fingerprint, sha256, &size);
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
	                                             .per_text = (size_t)request->examples_per_text,
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
	const struct output_request output = {.path = request->output,
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
	                        .references = &references,
	                        .events = events,
	                        .places = setup->receipt.guarantee.places};
	bool complete = false;
	// A run that is not private is not counted.
	const struct spending_request counted = {
	    .ledger = setup->receipt.guarantee.private_output ? request->ledger : NULL,
	    .dataset = request->dataset,
	    .unit_key = request->unit_key,
	    .output = request->output};
	enum cuttle_status status = spending_open(&counted, &spending, error);
	if (!status && request->filters.drop[FILTER_UNLIKELY])
		status = open_likelihood(request, setup, &run.likelihood, error);
	// New lots are drawn before the records are read. A run that is continued takes its own
	// from beside the output, so places come after that.
	if (!status && setup->lots.count) {
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
	if (!status && !complete && references.lots)
		status = references_draw(setup, &run.lots, &references, error);
	if (!status) events->begin(events->user, complete);
	if (!status && !complete) {
		status = draw_texts(setup, &run, error);
		if (!status) status = publish_output(setup, &run, error);
	}
	if (!status) spending_done(&spending);
	spending_close(&spending);
	delivery_close(&run.delivery);
	lots_close(&run.lots);
	likelihood_close(&run.likelihood);
	references_free(&references);
	return status;
}
