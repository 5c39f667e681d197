// SPDX-License-Identifier: Apache-2.0
// delivery.h: carries what a run draws to its output: charged, journalled, shown, published.
//
// Its functions are called in the order below. It knows no mechanism: tokens come in, whatever drew
// them. They are output, as is the receipt. Steps of the PRIVATE trace pass through to its file,
// and owners of records to the ledger. The order is the promise:
//
//     the output is opened, the run is charged     before a token is drawn
//     the ledger knows that the run draws          before its first token is kept
//     a token is in the journal                    before anybody sees it
//     the ledger knows how far the journal is      before anybody sees the first token that is
//                                                  drawn, and where the run stops
//     the charge is closed with the output's hash  before the output is in place
#ifndef CUTTLE_WORKFLOW_DELIVERY_H
#define CUTTLE_WORKFLOW_DELIVERY_H

#include "io/output/output.h"
#include "io/output/trace.h"
#include "workflow/spending.h"

struct delivery {
	struct output *output; /* NULL: the output stands complete, or it could not be opened */
	struct trace *trace;   /* NULL = none */
	struct spending *spending;
	bool published;              /* the output is in place, and the journal gone */
	bool stream;                 /* standard output, which cannot be continued */
	enum cuttle_status refused;  /* what the ledger said at the first token; OK = draw */
	struct cuttle_error refusal; /* its message */
};

/* Opens output and trace (path; NULL = none), and charges the run. Where --overwrite replaces the
 * journal of another run, the charge comes first: a run that is refused takes nothing away.
 * `spending` is open, and outlives *delivery; so do the request's strings. *complete: the output
 * stands already, and nothing is charged or left to draw. Else *charged is what the receipt shows
 * of the charge. Call delivery_close in any case. Errors as output_open, trace_open and
 * spending_reserve. */
enum cuttle_status delivery_open(const struct output_request *request, const char *trace,
                                 struct spending *spending, const struct ledger_request *charge,
                                 struct delivery *delivery, bool *complete,
                                 struct receipt_ledger *charged, struct cuttle_error *error);

/* Tells the ledger that the run draws. Call it before noisy counts are drawn, which
 * delivery_keep_counts then makes durable, before anything follows from them. Errors as
 * spending_draw; as output_keep_clusters and spending_go_on. */
enum cuttle_status delivery_draw(struct delivery *delivery, struct cuttle_error *error);
enum cuttle_status delivery_keep_counts(struct delivery *delivery, const int64_t *counts,
                                        size_t count, struct cuttle_error *error);
/* Keeps a token that was drawn, for struct cuttle_job; the number of the text counts over the whole
 * run. Nonzero: stop; delivery_explain says why. Texts go to output_text, steps of the trace to
 * trace_step. */
int delivery_token(struct delivery *delivery, size_t text, uint32_t step, int32_t token);
/* Why a job ended with PARTIAL: what the ledger refused, a file that cannot be written, or whoever
 * asked it to stop. Returns the status to end with. */
enum cuttle_status delivery_explain(const struct delivery *delivery, struct cuttle_error *error);

/* After the last text: makes the output durable, gives its hash for the receipt, and closes the
 * charge. Then the receipt can be made, and delivery_publish puts both in place. Errors as
 * output_seal and spending_finish. */
enum cuttle_status delivery_seal(struct delivery *delivery, char sha256[HASH_TEXT],
                                 struct cuttle_error *error);
/* Puts output and receipt in place. receipt[size] is as receipt_seal makes it, and is freed; NULL =
 * it could not be made. NOMEM, or as output_publish. */
enum cuttle_status delivery_publish(struct delivery *delivery, char *receipt, size_t size,
                                    struct cuttle_error *error);
/* Tells the ledger how far a run has come that stops here, and closes output and trace. The
 * spending is open, and stays so. */
void delivery_close(struct delivery *delivery);

#endif
