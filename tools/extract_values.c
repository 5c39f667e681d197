// SPDX-License-Identifier: Apache-2.0
// What the options of an extraction mean in a request.
#include "tools/extract_values.h"

struct extract_values extract_values_defaults(const struct extracting_request *request) {
	return (struct extract_values){.tokens = request->params.tokens,
	                               .insecure_seed = COUNT_NONE};
}

void extract_values_settle(const struct extract_values *values,
                           struct extracting_request *request) {
	struct cuttle_complete_params *params = &request->params;
	params->tokens = (uint32_t)values->tokens;
	params->context = (uint32_t)values->context;
	params->parallel = (uint32_t)values->parallel;
	params->form = values->form ? CUTTLE_INSTRUCT : CUTTLE_CONTINUE;
	params->stop_at_blank = !values->whole;
	params->insecure = values->insecure_seed != COUNT_NONE;
	if (params->insecure) params->insecure_seed = values->insecure_seed;
}
