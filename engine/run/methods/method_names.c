// SPDX-License-Identifier: Apache-2.0
// method_names.c: what methods and their parameters are called, see engine/cuttle/method.h.
// It stands below methods.c, which calls the methods. No private data.
#include "engine/cuttle/method.h"

#include <math.h>
#include <stddef.h>

static const char *const NAMES[CUTTLE_METHODS] = {[CUTTLE_INVISIBLEINK] = "invisibleink",
                                                  [CUTTLE_AMIN] = "amin",
                                                  [CUTTLE_PMIXED] = "pmixed",
                                                  [CUTTLE_ADAPMIXED] = "adapmixed",
                                                  [CUTTLE_DP_DECODING] = "dp-decoding",
                                                  [CUTTLE_DP_PROMPT] = "dp-prompt",
                                                  [CUTTLE_NONE] = "none"};

#define BIT(method) (1u << (method))
#define AT(member) offsetof(struct cuttle_method_params, member)

static const struct cuttle_method_field FIELDS[] = {
    {"clip_width", AT(clip_width), CUTTLE_FIELD_REAL, BIT(CUTTLE_DP_PROMPT)},
    {"divergence", AT(divergence), CUTTLE_FIELD_REAL, BIT(CUTTLE_PMIXED) | BIT(CUTTLE_ADAPMIXED)},
    {"mix", AT(mix), CUTTLE_FIELD_REAL, BIT(CUTTLE_DP_DECODING)},
    {"order", AT(order), CUTTLE_FIELD_COUNT, BIT(CUTTLE_PMIXED)},
    {"record_budget", AT(record_budget), CUTTLE_FIELD_REAL,
     BIT(CUTTLE_PMIXED) | BIT(CUTTLE_ADAPMIXED)},
    {"record_filter", AT(record_filter), CUTTLE_FIELD_FLAG, BIT(CUTTLE_PMIXED)},
    {"svt_noise", AT(svt_noise), CUTTLE_FIELD_REAL, BIT(CUTTLE_AMIN)},
    {"svt_threshold", AT(svt_threshold), CUTTLE_FIELD_REAL, BIT(CUTTLE_AMIN)},
    {"temperature_public", AT(temperature_public), CUTTLE_FIELD_REAL, BIT(CUTTLE_AMIN)},
    {"units", AT(units), CUTTLE_FIELD_COUNT, BIT(CUTTLE_AMIN)},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

void cuttle_method_params_none(struct cuttle_method_params *params) {
	*params = (struct cuttle_method_params){.clip_width = NAN,
	                                        .svt_noise = NAN,
	                                        .svt_threshold = NAN,
	                                        .temperature_public = NAN,
	                                        .divergence = NAN,
	                                        .record_budget = NAN,
	                                        .mix = NAN};
}

const char *cuttle_method_name(enum cuttle_method method) {
	return (unsigned)method < CUTTLE_METHODS ? NAMES[method] : NULL;
}

const struct cuttle_method_field *cuttle_method_fields(size_t *count) {
	*count = FIELD_COUNT;
	return FIELDS;
}
