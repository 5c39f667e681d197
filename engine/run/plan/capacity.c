// SPDX-License-Identifier: Apache-2.0
// capacity.c: see capacity.h.
#include "engine/run/plan/capacity.h"

#include "engine/cuttle/plan.h"
#include "engine/forward/kv.h"
#include "engine/machine/memory.h"
#include "engine/machine/region.h"
#include "engine/status.h"

#include <stdio.h>

enum {
	DEFAULT_CONTEXT = 4096, /* tokens of the longest context, if the model's is not shorter */
	MAX_PARALLEL = 256      /* texts in flight */
};

enum cuttle_status capacity_context(const struct model *model, uint32_t asked, size_t *context,
                                    struct cuttle_error *error) {
	*context = asked                              ? asked
	           : model->context < DEFAULT_CONTEXT ? model->context
	                                              : DEFAULT_CONTEXT;
	if (*context > model->context)
		return status_fail(error, CUTTLE_USAGE, "context %zu is above the model's %zu",
		                   *context, model->context);
	return CUTTLE_OK;
}

enum cuttle_status capacity_check(uint32_t parallel, uint32_t chunk, struct cuttle_error *error) {
	if (chunk > CAPACITY_MOST_CHUNK)
		return status_fail(error, CUTTLE_USAGE, "prompt chunk %u is above %d", chunk,
		                   CAPACITY_MOST_CHUNK);
	if (parallel > MAX_PARALLEL)
		return status_fail(error, CUTTLE_USAGE, "%u texts in flight are above %d", parallel,
		                   MAX_PARALLEL);
	return CUTTLE_OK;
}

/* All rows of a step share one pass over the weights. So more rows cost little, until the rows
 * themselves are the work: at CUTTLE_STEP_ROWS. */
size_t capacity_slots(const struct model *model, size_t places, size_t context, uint32_t asked) {
	const size_t rows = places + 1, memory = memory_available();
	size_t slots = asked ? asked : CUTTLE_STEP_ROWS / rows, text_bytes;
	if (!slots) slots = 1;
	if (!kv_bytes(model, rows * kv_capacity(context), &text_bytes)) return 1;
	while (!asked && slots > 1 && text_bytes > memory / 2 / slots) slots--;
	return slots;
}

uint64_t capacity_bytes(const struct model *model, const struct lockstep_params *params,
                        size_t place_tokens) {
	size_t bytes, tokens;
	return lockstep_bytes(model, params, &bytes) &&
	               !__builtin_mul_overflow(params->batch, place_tokens, &tokens) &&
	               region_add(&bytes, tokens, sizeof(int32_t))
	           ? bytes
	           : UINT64_MAX;
}

enum cuttle_status capacity_fits(uint64_t bytes, const struct lockstep_params *params,
                                 const char *advice, struct cuttle_error *error) {
	char what[96];
	(void)snprintf(what, sizeof what, "a job with %zu contexts of up to %zu tokens",
	               params->slots * (params->batch + 1), params->context);
	return memory_check(bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX, what, advice, error);
}
