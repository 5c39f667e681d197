// SPDX-License-Identifier: Apache-2.0
// Each function calls io/output/output, io/output/trace and workflow/spending in the order that
// delivery.h promises. Nothing else is between them.
#include "workflow/delivery.h"

#include "io/disk/fail.h"
#include <stdlib.h>
#include <string.h>

/* Who pays for a run that replaces the journal of another one. */
struct payer {
	struct spending *spending;
	const struct ledger_request *charge;
	struct receipt_ledger *charged;
	bool paid;
};

static enum cuttle_status pay_first(void *user, const char *scratch, struct cuttle_error *error) {
	struct payer *payer = user;
	const enum cuttle_status status =
	    spending_reserve(payer->spending, payer->charge, NULL, scratch, payer->charged, error);
	payer->paid = !status;
	return status;
}

enum cuttle_status delivery_open(const struct output_request *request, const char *trace,
                                 struct spending *spending, const struct ledger_request *charge,
                                 struct delivery *delivery, bool *complete,
                                 struct receipt_ledger *charged, struct cuttle_error *error) {
	*delivery = (struct delivery){.spending = spending, .stream = !strcmp(request->path, "-")};
	struct payer payer = {spending, charge, charged, false};
	struct output_request paying = *request;
	paying.pay = pay_first;
	paying.payer = &payer;
	paying.charge = spending->name_file;
	enum cuttle_status status = output_open(&paying, &delivery->output, complete, error);
	if (status || *complete) return status;
	const int64_t *counts;
	const bool drawn = output_texts_drawn(delivery->output) > 0 ||
	                   output_clusters(delivery->output, &counts) > 0;
	const struct spending_journal journal = {delivery->output, ".journal", !drawn, output_mark};
	if (trace) status = trace_open(trace, request->fingerprint, drawn, &delivery->trace, error);
	if (!status && !payer.paid)
		status = spending_reserve(spending, charge,
		                          output_stood(delivery->output) ? &journal : NULL,
		                          output_scratch(delivery->output), charged, error);
	return status;
}

enum cuttle_status delivery_draw(struct delivery *delivery, struct cuttle_error *error) {
	const struct spending_journal journal = {delivery->output, ".journal", true, output_mark};
	const enum cuttle_status status = spending_draw(delivery->spending, &journal, error);
	// What the ledger names must be there when the run goes on. Where it refused, it names
	// nothing.
	if (delivery->spending->path && status != CUTTLE_BUDGET) output_hold(delivery->output);
	return status;
}

static enum cuttle_status go_on(struct delivery *delivery, struct cuttle_error *error) {
	const struct spending_journal journal = {delivery->output, ".journal", false, output_mark};
	return spending_go_on(delivery->spending, &journal, error);
}

enum cuttle_status delivery_keep_counts(struct delivery *delivery, const int64_t *counts,
                                        size_t count, struct cuttle_error *error) {
	const enum cuttle_status status =
	    output_keep_clusters(delivery->output, counts, count, error);
	return status ? status : go_on(delivery, error);
}

int delivery_token(struct delivery *delivery, size_t text, uint32_t step, int32_t token) {
	delivery->refused = delivery_draw(delivery, &delivery->refusal);
	if (delivery->refused || output_token(delivery->output, text, step, token) != 0) return 1;
	delivery->refused = go_on(delivery, &delivery->refusal);
	return delivery->refused != CUTTLE_OK;
}

enum cuttle_status delivery_explain(const struct delivery *delivery, struct cuttle_error *error) {
	if (delivery->refused) {
		if (error) *error = delivery->refusal;
		return delivery->refused;
	}
	const enum cuttle_status status = output_problem(delivery->output, error);
	if (status) return status;
	if (trace_problem(delivery->trace, error)) return CUTTLE_PARTIAL;
	return io_fail(
	    error, CUTTLE_PARTIAL,
	    delivery->stream
	        ? "stopped; what was written stands, but standard output cannot be continued"
	        : "stopped; the same command continues from here");
}

enum cuttle_status delivery_seal(struct delivery *delivery, char sha256[HASH_TEXT],
                                 struct cuttle_error *error) {
	enum cuttle_status status = output_seal(delivery->output, sha256, error);
	if (!status) status = spending_finish(delivery->spending, sha256, error);
	return status;
}

enum cuttle_status delivery_publish(struct delivery *delivery, char *receipt, size_t size,
                                    struct cuttle_error *error) {
	if (!receipt) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = output_publish(delivery->output, receipt, size, error);
	free(receipt);
	delivery->published = !status;
	return status;
}

void delivery_close(struct delivery *delivery) {
	const struct spending_journal journal = {delivery->output, ".journal", false, output_mark};
	if (delivery->output && !delivery->published) spending_stop(delivery->spending, &journal);
	trace_close(&delivery->trace);
	output_close(&delivery->output);
}
