// SPDX-License-Identifier: Apache-2.0
// The one order of all runs, see run.h. Whoever changes it changes the promise: tests/workflow/
// test_system.c walks it with a system that fails at every step.
#include "workflow/run.h"

#include <string.h>

/* ---- what an engine calls -------------------------------------------------------------------- */

size_t run_drawn(void *state, size_t text, const int32_t **tokens) {
	const struct run *run = state;
	return output_drawn(run->delivery.output, run->first + text, tokens);
}

int run_token(void *state, size_t text, uint32_t step, int32_t token) {
	struct run *run = state;
	if (delivery_token(&run->delivery, run->first + text, step, token) != 0) return 1;
	run->events->token(run->events->user);
	// Never stops here. run_progress does, once every token of the step is recorded and traced.
	return 0;
}

int run_text(void *state, const struct cuttle_text *text) {
	struct run *run = state;
	if (output_text(run->delivery.output, text) != 0) return 1;
	run->events->text(run->events->user);
	return 0;
}

bool run_stop(void *state) {
	const struct run *run = state;
	return run->events->stop(run->events->user);
}

int run_progress(void *state, const struct cuttle_progress *progress) {
	const struct run *run = state;
	if (run->reading && !strcmp(progress->phase, "prompt"))
		run->events->reading(run->events->user, run->reading - 1);
	return run_stop(state);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Opens output and trace, and charges the run. */
static enum cuttle_status charge_system(const struct system *system, struct run *run,
                                        bool *complete, struct cuttle_error *error) {
	struct receipt_ledger untold;
	struct system_terms terms = {.charged = &untold};
	system->terms(run, &terms);
	terms.output.path = run->request->output;
	terms.output.receipt_path = run->request->receipt;
	terms.output.overwrite = run->request->overwrite;
	terms.output.user = run;
	if (terms.free) spending_close(&run->spending);
	const enum cuttle_status status =
	    delivery_open(&terms.output, terms.trace, &run->spending, &terms.charge, &run->delivery,
	                  complete, terms.charged, error);
	if (!status && !*complete && terms.seed && *terms.seed == SYSTEM_NO_SEED)
		*terms.seed = output_seed(run->delivery.output);
	return status;
}

static enum cuttle_status draw_system(const struct system *system, struct run *run,
                                      struct cuttle_error *error) {
	const enum cuttle_status status = system->draw(run, error);
	run->events->end(run->events->user);
	return status == CUTTLE_PARTIAL ? delivery_explain(&run->delivery, error) : status;
}

/* Seals the output, closes its charge, then puts receipt and output in place. */
static enum cuttle_status publish_system(const struct system *system, struct run *run,
                                         struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = delivery_seal(&run->delivery, sha256, error);
	if (status) return status;
	const struct filter_counts *counts = output_counts(run->delivery.output);
	char *receipt = receipt_seal(system->receipt(run, counts, sha256), run->signer, &size);
	status = delivery_publish(&run->delivery, receipt, size, error);
	if (!status)
		run->events->publish(run->events->user, output_receipt_path(run->delivery.output));
	return status;
}

enum cuttle_status run_system(const struct system *system, void *state,
                              struct cuttle_error *error) {
	struct run *run = state;
	const struct spending_request counted = common_spending(run->request, run->counted);
	bool complete = false;
	enum cuttle_status status = spending_open(&counted, &run->spending, error);
	if (!status && system->open) status = system->open(run, error);
	// Input before output: when it is wrong, standard output must not have begun.
	if (!status && system->read) status = system->read(run, error);
	if (!status) status = charge_system(system, run, &complete, error);
	if (!status && !complete && system->take) status = system->take(run, error);
	if (!status) run->events->begin(run->events->user, complete);
	if (!status && !complete) status = draw_system(system, run, error);
	if (!status && !complete) status = publish_system(system, run, error);
	delivery_close(&run->delivery);
	spending_close(&run->spending);
	if (system->free) system->free(run);
	return status;
}
