// SPDX-License-Identifier: Apache-2.0
// From a request to a rewriter and its receipt, and from there to an output. While the engine draws
// it calls the functions below that begin with offer_, store_, finish_ or report_.
#include "workflow/rewriting.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/formats.h"
#include "io/jsonout.h"
#include "io/paths.h"
#include "workflow/delivery.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* At it a small model paraphrases; at 1.0 it wanders off. */
static const double REWRITING_TEMPERATURE = 0.5;

/* ---- the request ----------------------------------------------------------------------------- */

void rewriting_default(struct rewriting_request *request) {
	*request = (struct rewriting_request){
	    .spans = {.text_field = "text", .id_field = "id", .spans_field = "spans"},
	    .placeholder = "[{type}]",
	    .sweep = true,
	    .now = (uint64_t)time(NULL)};
	cuttle_rewrite_params_default(&request->params);
	request->params.temperature = REWRITING_TEMPERATURE;
}

static const char *name_rewriting_fault(const struct rewriting_request *request) {
	if (request->params.chat_format && request->params.form != CUTTLE_INSTRUCT)
		return "--chat-format needs --template instruct";
	if (request->params.system && request->params.form != CUTTLE_INSTRUCT)
		return "--system needs --template instruct";
	const char *fault = request_dataset_fault(request->ledger, request->dataset);
	if (!fault) fault = request_approval_fault(request->approved, request->ledger);
	if (fault) return fault;
	if (request->unit_key && !utf8_name(request->unit_key, strlen(request->unit_key)))
		return "--unit-key: must be 1 to 128 bytes";
	return request_sign_fault(request->sign, request->receipt, request->output);
}

enum cuttle_status rewriting_check(const struct rewriting_request *request,
                                   struct cuttle_error *error) {
	const char *fault = name_rewriting_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault)
	             : marks_placeholder(request->placeholder, error);
}

enum cuttle_status rewriting_paths(const struct rewriting_request *request,
                                   struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status =
	    request_receipt_beside(request->output, request->receipt, &receipt, error);
	if (status) return status;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->model, PATH_MODEL),
	    PATH_ALONE("-i", request->input, PATH_STREAM),
	    PATH_ALONE("--names", request->names, PATH_FILE),
	    PATH_ALONE("--instruction", request->instruction, PATH_STREAM),
	    PATH_ALONE("--sign", request->sign, PATH_FILE),
	    {"--ledger", request->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o", request->output, PATH_OUTPUT, receipt, {".journal", ".journal.key", ".run"}},
	    PATH_ALONE("--receipt", request->receipt, PATH_RECORD),
	};
	status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status && request->output) status = formats_check_lines("-o", request->output, error);
	free(receipt);
	return status || !request->input ? status : formats_check_name(request->input, error);
}

/* ---- what is made from it -------------------------------------------------------------------- */

static enum cuttle_status make_rewriter(const struct rewriting_request *request,
                                        struct cuttle_model *model, struct rewriting *rewriting,
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
	if (rewriting->instruction) params.instruction = rewriting->instruction;
	params.stops = rewriting->stop.stops;
	return cuttle_rewriter_make(model, &params, &rewriting->rewriter, error);
}

/* Asks the rewriter for the cap of each group among m that have a mark, for every m. */
static enum cuttle_status set_costs(struct rewriting *rewriting, struct cuttle_error *error) {
	double caps[GROUPS_MOST][GROUPS_MOST];
	const uint32_t groups = rewriting->receipt.guarantee.groups;
	for (uint32_t m = 1; m <= groups; m++)
		for (uint32_t group = 0; group < groups; group++) {
			// m groups with this one among them. Its cap is the same in all such sets.
			uint32_t present = UINT32_C(1) << group;
			for (uint32_t i = 0; (uint32_t)__builtin_popcount(present) < m; i++)
				present |= UINT32_C(1) << i;
			struct cuttle_rewrite_cost cost;
			cuttle_rewriter_cost(rewriting->rewriter, present, group, &cost);
			caps[m - 1][group] = cost.divergence;
		}
	return rewrite_receipt_cost(&rewriting->receipt, caps, error);
}

static enum cuttle_status set_rewrite_receipt(const struct rewriting_request *request,
                                              struct rewriting *rewriting,
                                              struct cuttle_error *error) {
	struct rewrite_receipt *receipt = &rewriting->receipt;
	const char *template = cuttle_rewriter_template(rewriting->rewriter);
	hash_of(template, strlen(template), receipt->template_sha256);
	cuttle_rewriter_describe(rewriting->rewriter, &receipt->guarantee);
	receipt->groups = &request->groups;
	receipt->signer = rewriting->signer;
	receipt->isa = cuttle_isa();
	receipt->placeholder = request->placeholder;
	receipt->tagger = request->tagged_by;
	receipt->form = SPANS_FORMAT_NAMES[request->spans.format];
	receipt->offsets = SPANS_OFFSETS_NAMES[request->spans.offsets];
	receipt->sweep = request->sweep;
	receipt->chosen = (request->tagger.tag ? REWRITE_BY_TAGGER : 0u) |
	                  (request->sweep ? REWRITE_BY_SWEEP : 0u);
	receipt->dataset = request->dataset;
	receipt->unit_key = request->unit_key;
	receipt->stops = rewriting->stop.stops;
	const struct rewrite_command command = {
	    .input = request->input ? request->input : "",
	    .text_field = request->spans.text_field,
	    .id_field = request->spans.id_field,
	    .spans_field = request->spans.spans_field,
	    .leave_identifier = request->spans.leave_identifier,
	    .insecure_seed = request->params.insecure ? request->params.insecure_seed : UINT64_MAX};
	const enum cuttle_status status = set_costs(rewriting, error);
	if (status) return status;
	if (!rewrite_receipt_fingerprint(receipt, &command, rewriting->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->now, receipt->date, error);
}

enum cuttle_status rewriting_make(const struct rewriting_request *request,
                                  const struct setup_model *opened, struct rewriting *rewriting,
                                  struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	memset(rewriting, 0, sizeof *rewriting);
	memcpy(rewriting->receipt.model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(opened->model, &rewriting->receipt.model);
	if (request->instruction)
		status = setup_prompt(request->instruction, &rewriting->instruction, error);
	if (!status && request->sign)
		status = signature_open(request->sign, &rewriting->signer, error);
	if (!status && request->stop_count)
		status = stop_choice_make(request->stops, request->stop_count, NULL, 0,
		                          request->params.form == CUTTLE_CONTINUE, &rewriting->stop,
		                          error);
	if (!status) status = make_rewriter(request, opened->model, rewriting, error);
	return status ? status : set_rewrite_receipt(request, rewriting, error);
}

void rewriting_free(struct rewriting *rewriting) {
	cuttle_rewriter_free(&rewriting->rewriter);
	signature_close(&rewriting->signer);
	free(rewriting->instruction);
	stop_choice_free(&rewriting->stop);
	rewriting->instruction = NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct rewriting_state {
	struct documents documents;
	struct cuttle_rewrite_job job; /* of all of them */
	const struct run_events *events;
	struct delivery delivery;
	size_t reading; /* the document whose contexts were asked for last */
};

static uint32_t offer_groups(void *user, size_t document) {
	const struct rewriting_state *state = user;
	return documents_groups(&state->documents, document);
}

static void offer_context(void *user, size_t document, uint32_t group, const char **text,
                          size_t *size) {
	struct rewriting_state *state = user;
	state->reading = document;
	documents_context(&state->documents, document, group, text, size);
}

static size_t offer_drawn(void *user, size_t document, const int32_t **tokens) {
	const struct rewriting_state *state = user;
	return output_drawn(state->delivery.output, document, tokens);
}

static int store_token(void *user, size_t document, uint32_t step, int32_t token) {
	struct rewriting_state *state = user;
	if (delivery_token(&state->delivery, document, step, token) != 0) return 1;
	state->events->token(state->events->user);
	return 0;
}

static int finish_document(void *user, const struct cuttle_text *text) {
	struct rewriting_state *state = user;
	if (output_text(state->delivery.output, text) != 0) return 1;
	state->events->text(state->events->user);
	return 0;
}

static int report_rewriting(void *user, const struct cuttle_progress *progress) {
	const struct rewriting_state *state = user;
	if (!strcmp(progress->phase, "prompt"))
		state->events->reading(state->events->user, state->reading);
	return state->events->stop(state->events->user);
}

/* The line of a document. */
static json_t *make_document_line(void *user, const struct cuttle_text *text) {
	const struct documents *documents = &((const struct rewriting_state *)user)->documents;
	const bool ended = text->finish != CUTTLE_FINISH_LENGTH;
	size_t size = 0;
	const char *id = documents_id(documents, text->batch, &size);
	json_t *line = output_add_id(json_object(), id, size);
	const struct jsonout_member members[] = {
	    {"text", json_stringn(text->text, text->size)},
	    {"tokens", json_integer(text->tokens)},
	    {"ended", json_string(ended ? "end" : "cap")},
	    {"groups", json_integer(__builtin_popcount(documents_groups(documents, text->batch)))},
	};
	return jsonout_extend(line, members, sizeof members / sizeof *members);
}

static void digest_documents(void *user, const unsigned char *key, char *digest) {
	documents_digest(&((struct rewriting_state *)user)->documents, key, digest);
}

/* Reads the documents, and checks that they can be drawn as one job. */
static enum cuttle_status read_rewriting(const struct rewriting_request *request,
                                         struct rewriting *rewriting, struct rewriting_state *state,
                                         struct cuttle_error *error) {
	struct documents *documents = &state->documents;
	struct documents_request wanted = {.spans = request->spans,
	                                   .groups = &request->groups,
	                                   .placeholder = request->placeholder,
	                                   .tagger = request->tagger,
	                                   .rewriter = rewriting->rewriter,
	                                   .sweep = request->sweep,
	                                   .lock = request->lock};
	wanted.spans.path = request->input;
	wanted.spans.owner_field = request->unit_key;
	const enum cuttle_status status = documents_read(&wanted, documents, error);
	if (status) return status;
	struct rewrite_receipt *receipt = &rewriting->receipt;
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
	job->drawn = offer_drawn;
	job->token = store_token;
	job->text = finish_document;
	job->progress = report_rewriting;
	return cuttle_rewriter_takes(rewriting->rewriter, job, error);
}

enum cuttle_status rewriting_count(const struct rewriting_request *request,
                                   struct rewriting *rewriting, struct cuttle_error *error) {
	struct rewriting_state state = {0};
	enum cuttle_status status = read_rewriting(request, rewriting, &state, error);
	if (!status)
		status =
		    documents_most(&state.documents, rewrite_receipt_charge(&rewriting->receipt),
		                   &rewriting->charge, error);
	documents_free(&state.documents);
	return status;
}

/* Opens the output and charges the run. Without a mark in any document there is nothing to charge.
 */
static enum cuttle_status open_rewriting(const struct rewriting_request *request,
                                         struct rewriting *rewriting, struct rewriting_state *state,
                                         struct spending *spending, bool *complete,
                                         struct cuttle_error *error) {
	const struct cuttle_rewrite_guarantee *guarantee = &rewriting->receipt.guarantee;
	const struct output_request output = {.path = request->output,
	                                      .receipt_path = request->receipt,
	                                      .fingerprint = rewriting->fingerprint,
	                                      .format = OUTPUT_JSONL,
	                                      .texts = rewriting->receipt.documents,
	                                      .private_output = guarantee->private_output,
	                                      .line = make_document_line,
	                                      .overwrite = request->overwrite,
	                                      .digest = digest_documents,
	                                      .user = state};
	const double loss = rewrite_receipt_charge(&rewriting->receipt);
	const struct ledger_request charge =
	    documents_charge(&state->documents, rewriting->fingerprint, loss, guarantee->alpha);
	if (!(loss > 0)) spending_close(spending);
	return delivery_open(&output, NULL, spending, &charge, &state->delivery, complete,
	                     &rewriting->receipt.ledger, error);
}

static enum cuttle_status draw_documents(struct rewriting *rewriting, struct rewriting_state *state,
                                         struct cuttle_error *error) {
	const enum cuttle_status status =
	    cuttle_rewriter_run(rewriting->rewriter, &state->job, error);
	state->events->end(state->events->user);
	return status == CUTTLE_PARTIAL ? delivery_explain(&state->delivery, error) : status;
}

/* Seals the output, closes its charge, then puts receipt and output in place. */
static enum cuttle_status publish_documents(const struct rewriting *rewriting,
                                            struct rewriting_state *state,
                                            struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = delivery_seal(&state->delivery, sha256, error);
	if (status) return status;
	char *receipt =
	    receipt_seal(rewrite_receipt_json(&rewriting->receipt, rewriting->fingerprint, sha256),
	                 rewriting->signer, &size);
	status = delivery_publish(&state->delivery, receipt, size, error);
	if (!status)
		state->events->publish(state->events->user,
		                       output_receipt_path(state->delivery.output));
	return status;
}

enum cuttle_status rewriting_run(const struct rewriting_request *request,
                                 struct rewriting *rewriting, const struct run_events *events,
                                 struct cuttle_error *error) {
	struct rewriting_state state = {.events = events};
	struct spending spending;
	bool complete = false;
	// A run that is not private is not counted.
	const struct spending_request counted = {
	    .ledger = rewriting->receipt.guarantee.private_output ? request->ledger : NULL,
	    .dataset = request->dataset,
	    .unit_key = request->unit_key,
	    .output = request->output,
	    .approved = request->approved};
	enum cuttle_status status = spending_open(&counted, &spending, error);
	if (!status) status = read_rewriting(request, rewriting, &state, error);
	if (!status)
		status = open_rewriting(request, rewriting, &state, &spending, &complete, error);
	if (!status) events->begin(events->user, complete);
	if (!status && !complete) {
		status = draw_documents(rewriting, &state, error);
		if (!status) status = publish_documents(rewriting, &state, error);
	}
	if (!status) spending_done(&spending);
	delivery_close(&state.delivery);
	spending_close(&spending);
	documents_free(&state.documents);
	return status;
}
