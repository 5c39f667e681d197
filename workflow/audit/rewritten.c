// SPDX-License-Identifier: Apache-2.0
// From a receipt of cuttle sanitize back to its rewriter. Its divergence is the cap of the receipt,
// so that the costs follow again; prompts have to be given, and are compared by their hash.
#include "workflow/audit/rewritten.h"

#include "io/disk/fail.h"
#include "io/disk/paths.h"
#include <math.h>
#include <string.h>

/* Divergence of the control, in nats a token. exp(46) is 9.5e19: no odds that a token may have are
 * refused, at any order. cuttle_rewriter_make takes it at any order, too. */
#define CONTROL_DIVERGENCE 46.0

/* The cap of the one row that the run mixed in; NaN where it mixed none. */
static double find_cap(const struct sanitize_receipt *receipt) {
	for (size_t m = 1; m <= groups_count(receipt->groups); m++)
		if (receipt->marked[m]) return receipt->costs[m - 1].of[0].divergence;
	return NAN;
}

static enum cuttle_status refuse_rewriting(const struct evidence *evidence, double cap,
                                           struct cuttle_error *error) {
	const struct sanitize_receipt *receipt = evidence->receipt;
	const char *path = file_shown(evidence->attested.path);
	if (receipt->guarantee.mix != CUTTLE_MIX_ALL)
		return io_fail(error, CUTTLE_INPUT,
		               "%s is of a run that mixed a row for each group: recover plays with "
		               "--mix all alone",
		               path);
	if (isnan(cap))
		return io_fail(error, CUTTLE_INPUT,
		               "%s is of documents without a mark: nothing of them was promised",
		               path);
	return CUTTLE_OK;
}

/* INPUT: what was made is not what the receipt is of. */
static enum cuttle_status compare_rewritten(const struct evidence *evidence,
                                            const struct sanitize *made,
                                            struct cuttle_error *error) {
	const struct sanitize_receipt *claimed = evidence->receipt;
	struct cuttle_rewrite_cost one, all, cost;
	sanitize_receipt_worst(claimed, &one, &all);
	cuttle_rewriter_cost(made->rewriter, 1, CUTTLE_EVERY_GROUP, &cost);
	const char *other = strcmp(claimed->model_sha256, made->receipt.model_sha256) != 0 ? "model"
	                    : strcmp(claimed->template_sha256, made->receipt.template_sha256) != 0
	                        ? "prompt (--template, --instruction, --prefill, --system ...)"
	                    : !attest_confirm(one.epsilon, cost.epsilon) ? "epsilon"
	                                                                 : NULL;
	return other ? io_fail(error, CUTTLE_INPUT, "%s is of a run with another %s",
	                       file_shown(evidence->attested.path), other)
	             : CUTTLE_OK;
}

enum cuttle_status rewritten_make(const struct rewritten_prompt *prompt,
                                  const struct evidence *evidence, const struct setup_model *opened,
                                  bool control, struct sanitize *made, struct cuttle_error *error) {
	const struct sanitize_receipt *receipt = evidence->receipt;
	const struct cuttle_rewrite_guarantee *g = &receipt->guarantee;
	const double cap = find_cap(receipt);
	struct sanitize_request request;
	*made = (struct sanitize){0};
	enum cuttle_status status = refuse_rewriting(evidence, cap, error);
	if (status) return status;
	sanitize_default(&request);
	request.groups = *receipt->groups;
	request.placeholder = receipt->placeholder;
	request.tagged_by = receipt->tagger;
	request.instruction = prompt->instruction;
	struct cuttle_rewrite_params *params = &request.params;
	params->epsilon = NAN;
	params->divergence = control ? CONTROL_DIVERGENCE : cap;
	params->delta = g->delta;
	params->alpha = g->alpha;
	params->mix = g->mix;
	params->tokens = g->tokens;
	params->max_length = g->max_length;
	params->savings = g->savings;
	params->temperature = g->temperature;
	params->top_k = g->top_k;
	params->context = g->context;
	params->form = prompt->form;
	params->chat_format = prompt->chat_format;
	params->system = prompt->system;
	params->prefill = prompt->prefill;
	params->parallel = prompt->parallel;
	params->insecure = prompt->insecure_seed != NULL;
	if (prompt->insecure_seed) params->insecure_seed = *prompt->insecure_seed;
	if (control) {
		// Candidates and free tokens follow from the public row alone, and so protect.
		params->top_k = 0;
		params->savings = (struct cuttle_savings){0};
	}
	status = sanitize_open(&request, opened, made, error);
	if (!status && !control) status = compare_rewritten(evidence, made, error);
	made->receipt.groups = NULL; // They are the request's, which ends here.
	return status;
}
