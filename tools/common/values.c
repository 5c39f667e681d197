// SPDX-License-Identifier: Apache-2.0
// Defaults of generate's options, and what they mean in a request.
#include "tools/common/values.h"

#include <string.h>

struct generate_values values_defaults(void) {
	struct generate_values values = {.insecure_seed = COUNT_NONE,
	                                 .form = CHOICE_NONE,
	                                 .accountant = CHOICE_NONE,
	                                 .center = CHOICE_NONE,
	                                 .lots = CHOICE_NONE,
	                                 .charge = CHOICE_NONE,
	                                 .method = CHOICE_NONE,
	                                 .trim = CHOICE_NONE,
	                                 .redraw = COUNT_NONE};
	generate_default(&values.request);
	return values;
}

/* What is no order becomes 1, which no method takes. */
static uint32_t read_order(const char *text) {
	uint64_t order = 0;
	if (!text) return 0;
	if (!strcmp(text, "inf")) return CUTTLE_ORDER_INFINITE;
	return options_count(text, UINT16_MAX, &order) && order > 1 ? (uint32_t)order : 1;
}

/* What is no limit becomes 0, which values_check refuses. */
static uint64_t read_limit(const char *text) {
	uint64_t limit = 0;
	if (text && !strcmp(text, "all")) return RUN_RECORDS_ALL;
	return text && options_count(text, UINT32_MAX, &limit) ? limit : 0;
}

static void settle_plan(const struct generate_values *values, struct cuttle_plan_params *plan) {
	plan->savings.center = values->center != 1;
	if (values->method != CHOICE_NONE) plan->method = (enum cuttle_method)values->method;
	plan->method_params.order = read_order(values->order);
	if (values->form == 1) plan->form = CUTTLE_INSTRUCT;
	// A ledger adds up rho. So with a ledger epsilon is that of rho, unless the user chooses.
	if (values->accountant != CHOICE_NONE)
		plan->accountant = (enum cuttle_accountant)values->accountant;
	else if (values->request.common.ledger) plan->accountant = CUTTLE_ZCDP;
	plan->insecure = values->insecure_seed != COUNT_NONE;
	if (plan->insecure) plan->insecure_seed = values->insecure_seed;
	plan->any_memory = values->dry_run;
}

void values_settle(struct generate_values *values) {
	struct generate_request *request = &values->request;
	const char *output = request->common.output;
	settle_plan(values, &request->plan);
	verb_common(&values->open, &values->stops, &request->common);
	request->category_fields = values->category_fields.texts;
	request->category_field_count = values->category_fields.count;
	request->records_per_unit = values->one_per_unit ? 1 : read_limit(values->records_per_unit);
	request->output_format = values->output_format
	                             ? (enum output_format)(values->output_format - 1)
	                             : output_format_of(output ? output : "");
	request->filters.trim = values->trim != 1;
	if (values->lots != CHOICE_NONE) request->lots = (enum run_lots)values->lots;
	if (values->charge != CHOICE_NONE)
		request->charge = values->charge ? RUN_CHARGE_RHO : RUN_CHARGE_EPSILON;
	request->accountant_chosen = values->accountant != CHOICE_NONE;
}
