// SPDX-License-Identifier: Apache-2.0
// rewrite_job.c: what the loop of generate.h reads of a rewriter and its job, see rewrite.h.
// A document is a batch. Its public context comes first, then a private one for each row; each is
// made of its own text alone. What two of them share is found by comparing their tokens.
// Everything that decides how a document is drawn follows from which groups have a mark in it.
#include "base/misuse.h"
#include "engine/params.h"
#include "engine/run/loop/generate.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/rewrite.h"
#include "engine/status.h"
#include "kernels/attention.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PATTERNS = 64 };

/* The mechanism of all documents that have these divergences, one a row. */
struct row_pattern {
	uint32_t rows;
	double divergences[REWRITE_MOST_GROUPS]; /* [rows] */
	struct dp_mechanism mechanism;           /* self NULL = not built yet */
};

struct rewrite_run {
	const struct cuttle_rewriter *rewriter;
	const struct cuttle_rewrite_job *job;
	struct row_pattern patterns[MOST_PATTERNS];
	size_t pattern_count; /* at least 1 once the job runs */
	uint32_t rows;        /* of a document, at most; at least 1 */
};

/* Finds the pattern of a document's groups; NULL: there is none yet. */
static struct row_pattern *find_pattern(struct rewrite_run *run, uint32_t rows,
                                        const double *divergences) {
	for (size_t i = 0; i < run->pattern_count; i++)
		if (run->patterns[i].rows == rows &&
		    !memcmp(run->patterns[i].divergences, divergences, rows * sizeof *divergences))
			return &run->patterns[i];
	return NULL;
}

/* Lists the pattern of the groups `present`, unless it is listed. */
static enum cuttle_status add_pattern(struct rewrite_run *run, uint32_t present,
                                      struct cuttle_error *error) {
	double divergences[REWRITE_MOST_GROUPS];
	const uint32_t groups = rewrite_groups(run->rewriter, present, divergences),
	               rows = rewrite_rows(&run->rewriter->terms, groups);
	if (!rows || find_pattern(run, rows, divergences)) return CUTTLE_OK;
	if (run->pattern_count == MOST_PATTERNS)
		return status_fail(error, CUTTLE_USAGE,
		                   "the documents have more than %d sets of groups with unlike "
		                   "epsilons; give all groups the same epsilon",
		                   MOST_PATTERNS);
	struct row_pattern *pattern = &run->patterns[run->pattern_count++];
	pattern->rows = rows;
	memcpy(pattern->divergences, divergences, rows * sizeof *divergences);
	if (rows > run->rows) run->rows = rows;
	return CUTTLE_OK;
}

/* Lists the patterns of all documents: what groups they have is public. */
static enum cuttle_status list_patterns(struct rewrite_run *run, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < run->job->documents && !status; i++)
		status = add_pattern(run, run->job->groups(run->job->user, i), error);
	// Without any mark there is still a public row to draw from.
	return status || run->pattern_count ? status : add_pattern(run, 1, error);
}

/* Builds all mechanisms, before anything is drawn. */
static enum cuttle_status build_mechanisms(struct rewrite_run *run, struct cuttle_error *error) {
	struct dp_fusion_params params = run->rewriter->mechanism;
	for (size_t i = 0; i < run->pattern_count; i++) {
		struct row_pattern *pattern = &run->patterns[i];
		params.least_places = params.most_places = pattern->rows;
		params.divergences = pattern->divergences;
		const enum dp_status status = dp_fusion_mechanism(&params, &pattern->mechanism);
		if (status) return plan_status(status, error);
	}
	return CUTTLE_OK;
}

static void free_patterns(struct rewrite_run *run) {
	for (size_t i = 0; i < run->pattern_count; i++) {
		struct dp_mechanism *mechanism = &run->patterns[i].mechanism;
		if (mechanism->self) mechanism->free(mechanism->self);
	}
}

/* A document without a mark has no private row. Any mechanism draws its tokens, all of them free.
 */
static struct batch_terms terms_of_document(void *self, size_t document) {
	struct rewrite_run *run = self;
	double divergences[REWRITE_MOST_GROUPS];
	const uint32_t present = run->job->groups(run->job->user, document),
	               groups = rewrite_groups(run->rewriter, present, divergences),
	               rows = rewrite_rows(&run->rewriter->terms, groups);
	const struct row_pattern *pattern =
	    rows ? find_pattern(run, rows, divergences) : run->patterns;
	REQUIRE(pattern);
	return (struct batch_terms){.mechanism = &pattern->mechanism,
	                            .places = pattern->rows,
	                            .unpaid = !rows,
	                            .grammar = run->rewriter->grammar};
}

/* Tokens that two contexts begin with, a multiple of 16. Either has another one behind them. */
static size_t count_common_tokens(const struct tokens *a, const struct tokens *b) {
	const size_t most = (a->count < b->count ? a->count : b->count) - 1;
	size_t common = 0;
	while (common < most && a->ids[common] == b->ids[common]) common++;
	return common - common % ATTENTION_TILE;
}

/* Writes one private context. Whatever is wrong with it makes it blank, without a word. */
static void write_private_version(struct rewrite_run *run, size_t document, uint32_t group,
                                  const struct tokens *public_context, int32_t *ids,
                                  struct place_context *place) {
	const struct cuttle_rewriter *r = run->rewriter;
	const char *text = NULL;
	size_t size = 0;
	run->job->context(run->job->user, document, group, &text, &size);
	*place = (struct place_context){.tokens = {.ids = ids}};
	if (!text || prompt_document(r->model, &r->prompt, text, size, r->guarantee.document_tokens,
	                             ids, &place->tokens.count, NULL))
		return;
	place->shared = r->share ? count_common_tokens(&place->tokens, public_context) : 0;
}

static enum cuttle_status write_document_contexts(void *self, size_t document, bool alone,
                                                  int32_t *ids, struct tokens *public_context,
                                                  struct place_context *places,
                                                  struct cuttle_error *error) {
	struct rewrite_run *run = self;
	const struct cuttle_rewriter *r = run->rewriter;
	const size_t limit = r->guarantee.document_tokens,
	             capacity = prompt_private_capacity(&r->prompt, limit);
	const char *text = NULL;
	size_t size = 0, row = 0;
	run->job->context(run->job->user, document, CUTTLE_NO_GROUP, &text, &size);
	REQUIRE(text || !size);
	public_context->ids = ids;
	const enum cuttle_status status = prompt_document(r->model, &r->prompt, text, size, limit,
	                                                  ids, &public_context->count, error);
	if (status || alone) return status;
	const bool all = r->terms.mix == CUTTLE_MIX_ALL;
	const uint32_t present = run->job->groups(run->job->user, document);
	for (uint32_t group = 0; group < (all ? 1 : r->guarantee.groups); group++) {
		if (!all && !(present >> group & 1)) continue;
		write_private_version(run, document, all ? CUTTLE_EVERY_GROUP : group,
		                      public_context, ids + (row + 1) * capacity, &places[row]);
		row++;
	}
	return CUTTLE_OK;
}

static enum cuttle_status generate_documents(struct rewrite_run *run, struct seeded *seeded,
                                             const struct logit_source *source,
                                             struct cuttle_error *error) {
	const struct cuttle_rewriter *r = run->rewriter;
	const struct cuttle_rewrite_job *job = run->job;
	const struct cuttle_rewrite_guarantee *g = &r->guarantee;
	const struct generation generation = {
	    .model = r->model,
	    .rules = {.vocab = r->model->vocab,
	              .stops = &r->stops,
	              .tokens = g->tokens,
	              .free_tokens = g->savings.free_tokens,
	              .length = g->max_length,
	              .completes = g->savings.complete || r->grammar,
	              .exact = r->grammar != NULL},
	    .goes_on = g->savings.complete,
	    .texts = job->documents,
	    .places = run->rows,
	    .context_tokens =
	        (run->rows + 1) * prompt_private_capacity(&r->prompt, g->document_tokens),
	    .seeded = seeded,
	    .self = run,
	    .terms = terms_of_document,
	    .contexts = write_document_contexts,
	    .user = job->user,
	    .drawn = job->drawn,
	    .token = job->token,
	    .text = job->text,
	    .progress = job->progress};
	return generate_run(&generation, source, error);
}

enum cuttle_status rewrite_generate(struct cuttle_rewriter *rewriter,
                                    const struct cuttle_rewrite_job *job,
                                    const struct logit_source *source, struct cuttle_error *error) {
	struct rewrite_run *run = calloc(1, sizeof *run);
	if (!run) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	run->rewriter = rewriter;
	run->job = job;
	struct lockstep *lockstep = NULL;
	struct logit_source own;
	enum cuttle_status status = list_patterns(run, error);
	if (!status) status = build_mechanisms(run, error);
	if (!status && !source) {
		const size_t documents = job->documents ? job->documents : 1;
		const struct lockstep_params params = rewrite_lockstep(
		    rewriter, run->rows, documents < rewriter->slots ? documents : rewriter->slots);
		status = lockstep_new(rewriter->model, &params, &lockstep, error);
		if (!status) own = lockstep_source(lockstep);
	}
	if (!status)
		status = generate_documents(run, &rewriter->seeded, source ? source : &own, error);
	lockstep_free(&lockstep);
	free_patterns(run);
	free(run);
	return status;
}

void cuttle_rewrite_job_default(struct cuttle_rewrite_job *job) {
	*job = (struct cuttle_rewrite_job){.struct_size = sizeof *job};
}

/* Copies what was given, which may be of an older library. */
static enum cuttle_status take_rewrite_job(const struct cuttle_rewrite_job *given,
                                           struct cuttle_rewrite_job *job,
                                           struct cuttle_error *error) {
	cuttle_rewrite_job_default(job);
	return params_take(job, sizeof *job, given, "struct cuttle_rewrite_job", error);
}

enum cuttle_status cuttle_rewriter_takes(const struct cuttle_rewriter *rewriter,
                                         const struct cuttle_rewrite_job *given,
                                         struct cuttle_error *error) {
	REQUIRE(rewriter && given);
	struct cuttle_rewrite_job job;
	enum cuttle_status status = take_rewrite_job(given, &job, error);
	if (status) return status;
	REQUIRE(job.groups);
	struct rewrite_run *run = calloc(1, sizeof *run);
	if (!run) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	run->rewriter = rewriter;
	run->job = &job;
	status = list_patterns(run, error);
	free(run);
	return status;
}

enum cuttle_status cuttle_rewriter_run(struct cuttle_rewriter *rewriter,
                                       const struct cuttle_rewrite_job *given,
                                       struct cuttle_error *error) {
	REQUIRE(rewriter && given);
	struct cuttle_rewrite_job job;
	const enum cuttle_status status = take_rewrite_job(given, &job, error);
	if (status) return status;
	REQUIRE(job.groups && job.context && job.text);
	return rewrite_generate(rewriter, &job, NULL, error);
}
