// SPDX-License-Identifier: Apache-2.0
// From a request to a rewriter and its receipt, and the system that draws with it. While the engine
// draws it calls the functions below that begin with offer_, and those of run.h.
#include "workflow/sanitize.h"

#include "io/disk/fail.h"
#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/disk/paths.h"
#include "workflow/spending.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* At it a small model paraphrases; at 1.0 it wanders off. */
static const double SANITIZE_TEMPERATURE = 0.5;

/* ---- the request ----------------------------------------------------------------------------- */

void sanitize_default(struct sanitize_request *request) {
	*request = (struct sanitize_request){
	    .spans = {.text_field = "text", .id_field = "id", .spans_field = "spans"},
	    .placeholder = "[{type}]",
	    .sweep = true,
	    .common.now = (uint64_t)time(NULL)};
	cuttle_rewrite_params_default(&request->params);
	request->params.temperature = SANITIZE_TEMPERATURE;
}

enum cuttle_status sanitize_check(const struct sanitize_request *request,
                                  struct cuttle_error *error) {
	const struct cuttle_rewrite_params *params = &request->params;
	const char *fault = common_chat_fault(params->chat_format, params->system, params->form);
	if (!fault) fault = common_fault(&request->common);
	if (!fault)
		fault = grammar_choice_fault(request->grammar, request->schema,
		                             request->common.stop_count);
	if (!fault && (request->grammar || request->schema) && params->max_length)
		fault = "--grammar and --schema say how long a text may be: leave out --max-length "
		        "and --paper";
	if (!fault) fault = common_sign_fault(&request->common);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault)
	             : marks_placeholder(request->placeholder, error);
}

enum cuttle_status sanitize_paths(const struct sanitize_request *request,
                                  struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status =
	    common_receipt_beside(request->common.output, request->common.receipt, &receipt, error);
	if (status) return status;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->common.model, PATH_MODEL),
	    PATH_ALONE("-i", request->common.input, PATH_STREAM),
	    PATH_ALONE("--names", request->names, PATH_FILE),
	    PATH_ALONE("--instruction", request->instruction, PATH_STREAM),
	    PATH_ALONE("--grammar", request->grammar, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    PATH_ALONE("--sign", request->common.sign, PATH_FILE),
	    {"--ledger", request->common.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->common.output,
	     PATH_OUTPUT,
	     receipt,
	     {".journal", ".journal.key", SPENDING_BESIDE}},
	    PATH_ALONE("--receipt", request->common.receipt, PATH_RECORD),
	};
	status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status && request->common.output)
		status = formats_check_lines("-o", request->common.output, error);
	free(receipt);
	return status || !request->common.input ? status
	                                        : formats_check_name(request->common.input, error);
}

/* ---- what is made from it -------------------------------------------------------------------- */

static enum cuttle_status make_rewriter(const struct sanitize_request *request,
                                        struct cuttle_model *model, struct sanitize *sanitize,
                                        struct cuttle_error *error) {
	struct cuttle_rewrite_params params = request->params;
	double epsilons[GROUPS_MOST];
	bool own = false;
	params.groups = (uint32_t)groups_count(&request->groups);
	for (size_t i = 0; i < request->groups.count; i++) {
		epsilons[i] =
		    request->groups.all[i].epsilon > 0 ? request->groups.all[i].epsilon : NAN;
		own |= !isnan(epsilons[i]);
	}
	if (own) params.group_epsilons = epsilons;
	if (sanitize->instruction) params.instruction = sanitize->instruction;
	params.stops = sanitize->stop.stops;
	if (sanitize->grammar.count) params.grammar = sanitize->grammar.grammars[0];
	return cuttle_rewriter_make(model, &params, &sanitize->rewriter, error);
}

/* Asks the rewriter for the cap of each group among m that have a mark, for every m. */
static enum cuttle_status set_costs(struct sanitize *sanitize, struct cuttle_error *error) {
	double caps[GROUPS_MOST][GROUPS_MOST];
	const uint32_t groups = sanitize->receipt.guarantee.groups;
	for (uint32_t m = 1; m <= groups; m++)
		for (uint32_t group = 0; group < groups; group++) {
			// m groups with this one among them. Its cap is the same in all such sets.
			uint32_t present = UINT32_C(1) << group;
			for (uint32_t i = 0; (uint32_t)__builtin_popcount(present) < m; i++)
				present |= UINT32_C(1) << i;
			struct cuttle_rewrite_cost cost;
			cuttle_rewriter_cost(sanitize->rewriter, present, group, &cost);
			caps[m - 1][group] = cost.divergence;
		}
	return sanitize_receipt_cost(&sanitize->receipt, caps, error);
}

static enum cuttle_status set_sanitize_receipt(const struct sanitize_request *request,
                                               struct sanitize *sanitize,
                                               struct cuttle_error *error) {
	struct sanitize_receipt *receipt = &sanitize->receipt;
	const char *template = cuttle_rewriter_template(sanitize->rewriter);
	hash_of(template, strlen(template), receipt->template_sha256);
	cuttle_rewriter_describe(sanitize->rewriter, &receipt->guarantee);
	receipt->groups = &request->groups;
	receipt->signer = sanitize->signer;
	receipt->isa = cuttle_isa();
	receipt->placeholder = request->placeholder;
	receipt->tagger = request->tagged_by;
	receipt->form = SPANS_FORMAT_NAMES[request->spans.format];
	receipt->offsets = SPANS_OFFSETS_NAMES[request->spans.offsets];
	receipt->sweep = request->sweep;
	receipt->chosen = (request->tagger.tag ? REWRITE_BY_TAGGER : 0u) |
	                  (request->sweep ? REWRITE_BY_SWEEP : 0u);
	receipt->dataset = request->common.dataset;
	receipt->unit_key = request->common.unit_key;
	receipt->stops = sanitize->stop.stops;
	grammar_choice_tell(&sanitize->grammar, receipt->grammar_sha256, receipt->schema_sha256);
	const struct sanitize_command command = {
	    .input = request->common.input ? request->common.input : "",
	    .text_field = request->spans.text_field,
	    .id_field = request->spans.id_field,
	    .spans_field = request->spans.spans_field,
	    .leave_identifier = request->spans.leave_identifier,
	    .insecure_seed = request->params.insecure ? request->params.insecure_seed : UINT64_MAX};
	const enum cuttle_status status = set_costs(sanitize, error);
	if (status) return status;
	if (!sanitize_receipt_fingerprint(receipt, &command, sanitize->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->common.now, receipt->date, error);
}

enum cuttle_status sanitize_open(const struct sanitize_request *request,
                                 const struct setup_model *opened, struct sanitize *sanitize,
                                 struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	memset(sanitize, 0, sizeof *sanitize);
	memcpy(sanitize->receipt.model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(opened->model, &sanitize->receipt.model);
	if (request->instruction)
		status = setup_prompt(request->instruction, &sanitize->instruction, error);
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &sanitize->signer, error);
	if (!status && request->common.stop_count)
		status = stop_choice_make(request->common.stops, request->common.stop_count, NULL,
		                          0, request->params.form == CUTTLE_CONTINUE,
		                          &sanitize->stop, error);
	if (!status)
		status = grammar_choice_read(request->grammar, request->schema, &sanitize->grammar,
		                             error);
	if (!status) status = make_rewriter(request, opened->model, sanitize, error);
	return status ? status : set_sanitize_receipt(request, sanitize, error);
}

void sanitize_free(struct sanitize *sanitize) {
	cuttle_rewriter_free(&sanitize->rewriter);
	signature_close(&sanitize->signer);
	free(sanitize->instruction);
	stop_choice_free(&sanitize->stop);
	grammar_choice_free(&sanitize->grammar);
	sanitize->instruction = NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct sanitize_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct sanitize_request *request;
	struct sanitize *sanitize;
	struct documents documents;
	struct cuttle_rewrite_job job; /* of all of them */
};

static uint32_t offer_groups(void *user, size_t document) {
	const struct sanitize_state *state = user;
	return documents_groups(&state->documents, document);
}

static void offer_context(void *user, size_t document, uint32_t group, const char **text,
                          size_t *size) {
	struct sanitize_state *state = user;
	state->run.reading = 1 + document;
	documents_context(&state->documents, document, group, text, size);
}

/* The line of a document. */
static json_t *make_document_line(void *user, const struct cuttle_text *text) {
	const struct documents *documents = &((const struct sanitize_state *)user)->documents;
	const bool closed = text->finish == CUTTLE_FINISH_CLOSED,
	           ended = text->finish != CUTTLE_FINISH_LENGTH;
	size_t size = 0;
	const char *id = documents_id(documents, text->batch, &size);
	json_t *line = output_add_id(json_object(), id, size);
	const struct jsonout_member members[] = {
	    {"text", json_stringn(text->text, text->size)},
	    {"tokens", json_integer(text->tokens)},
	    {"ended", json_string(closed  ? output_finish(text->finish)
	                          : ended ? "end"
	                                  : "cap")},
	    {"groups", json_integer(__builtin_popcount(documents_groups(documents, text->batch)))},
	};
	return jsonout_extend(line, members, sizeof members / sizeof *members);
}

static void digest_documents(void *user, const unsigned char *key, char *digest) {
	documents_digest(&((struct sanitize_state *)user)->documents, key, digest);
}

/* Reads the documents, and checks that they can be drawn as one job. */
static enum cuttle_status read_sanitize(void *user, struct cuttle_error *error) {
	struct sanitize_state *state = user;
	const struct sanitize_request *request = state->request;
	const struct sanitize *sanitize = state->sanitize;
	struct documents *documents = &state->documents;
	struct documents_request wanted = {.spans = request->spans,
	                                   .groups = &request->groups,
	                                   .placeholder = request->placeholder,
	                                   .tagger = request->tagger,
	                                   .rewriter = sanitize->rewriter,
	                                   .sweep = request->sweep,
	                                   .lock = request->common.lock};
	wanted.spans.path = request->common.input;
	wanted.spans.owner_field = request->common.unit_key;
	const enum cuttle_status status = documents_read(&wanted, documents, error);
	if (status) return status;
	struct sanitize_receipt *receipt = &state->sanitize->receipt;
	receipt->documents = documents_count(documents);
	memset(receipt->marked, 0, sizeof receipt->marked);
	for (size_t i = 0; i < receipt->documents; i++)
		receipt->marked[__builtin_popcount(documents_groups(documents, i))]++;
	struct cuttle_rewrite_job *job = &state->job;
	cuttle_rewrite_job_default(job);
	job->documents = receipt->documents;
	job->user = state;
	job->groups = offer_groups;
	job->context = offer_context;
	job->drawn = run_drawn;
	job->token = run_token;
	job->text = run_text;
	job->progress = run_progress;
	return cuttle_rewriter_takes(sanitize->rewriter, job, error);
}

enum cuttle_status sanitize_count(const struct sanitize_request *request, struct sanitize *sanitize,
                                  struct cuttle_error *error) {
	struct sanitize_state state = {.request = request, .sanitize = sanitize};
	enum cuttle_status status = read_sanitize(&state, error);
	if (!status)
		status =
		    documents_most(&state.documents, sanitize_receipt_charge(&sanitize->receipt),
		                   &sanitize->charge, error);
	documents_free(&state.documents);
	return status;
}

/* Without a mark in any document there is nothing to charge. */
static void set_sanitize_terms(void *user, struct system_terms *terms) {
	struct sanitize_state *state = user;
	struct sanitize *sanitize = state->sanitize;
	struct sanitize_receipt *receipt = &sanitize->receipt;
	const double loss = sanitize_receipt_charge(receipt);
	terms->output = (struct output_request){.fingerprint = sanitize->fingerprint,
	                                        .format = OUTPUT_JSONL,
	                                        .texts = receipt->documents,
	                                        .private_output = receipt->guarantee.private_output,
	                                        .line = make_document_line,
	                                        .digest = digest_documents};
	terms->charge = documents_charge(&state->documents, sanitize->fingerprint, loss,
	                                 receipt->guarantee.alpha);
	terms->charged = &receipt->ledger;
	terms->free = !(loss > 0);
}

static enum cuttle_status draw_documents(void *user, struct cuttle_error *error) {
	struct sanitize_state *state = user;
	return cuttle_rewriter_run(state->sanitize->rewriter, &state->job, error);
}

static json_t *describe_documents(void *user, const struct filter_counts *counts,
                                  const char *sha256) {
	const struct sanitize *sanitize = ((const struct sanitize_state *)user)->sanitize;
	(void)counts;
	return sanitize_receipt_json(&sanitize->receipt, sanitize->fingerprint, sha256);
}

static void free_documents(void *user) {
	documents_free(&((struct sanitize_state *)user)->documents);
}

static const struct system SANITIZE = {.read = read_sanitize,
                                       .terms = set_sanitize_terms,
                                       .draw = draw_documents,
                                       .receipt = describe_documents,
                                       .free = free_documents};

enum cuttle_status sanitize_run(const struct sanitize_request *request, struct sanitize *sanitize,
                                const struct run_events *events, struct cuttle_error *error) {
	const struct cuttle_rewrite_guarantee *guarantee = &sanitize->receipt.guarantee;
	struct sanitize_state state = {.run = {.request = &request->common,
	                                       .events = events,
	                                       .signer = sanitize->signer,
	                                       .counted = guarantee->private_output,
	                                       .reading = 1},
	                               .request = request,
	                               .sanitize = sanitize};
	return run_system(&SANITIZE, &state, error);
}
