// SPDX-License-Identifier: Apache-2.0
// What the options of an extraction mean in a request.
#include "tools/common/extract_values.h"

void extract_values_settle(const struct extract_values *values, struct extract_request *request) {
	struct cuttle_complete_params *params = &request->params;
	params->form = values->form ? CUTTLE_INSTRUCT : CUTTLE_CONTINUE;
	params->stop_at_blank = !values->whole;
	params->insecure = values->insecure_seed != COUNT_NONE;
	if (params->insecure) params->insecure_seed = values->insecure_seed;
}
