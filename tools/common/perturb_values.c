// SPDX-License-Identifier: Apache-2.0
// What the options of a perturbation mean in a request.
#include "tools/common/perturb_values.h"

#include <math.h>
#include <string.h>

enum { RADIUS_PAPER = 1 }; /* the second name of --radius */

/* Whether an option belongs to another method than the one that was chosen. Names it, or NULL. */
static const char *name_stranger(const struct perturb_values *values) {
	const int method = values->method;
	const bool rank = method == CUTTLE_RANK, rantext = method == CUTTLE_RANTEXT,
	           custext = method == CUTTLE_CUSTEXT || method == CUTTLE_CUSTEXT_PLUS;
	if (values->table != CHOICE_NONE && !rank) return "--table is for --method rank";
	if (values->near != COUNT_NONE && !rank && !custext)
		return "-k is for --method rank and custext";
	if (values->near != COUNT_NONE && values->table == CUTTLE_ENVELOPE)
		return "-k: the envelope has no k; leave it out, or choose --table step";
	if (!isnan(values->list_share) && !rantext) return "--list-share is for --method rantext";
	if (values->radius != CHOICE_NONE && !rantext) return "--radius is for --method rantext";
	if (!isnan(values->list_share) && values->radius == RADIUS_PAPER)
		return "--list-share and --radius paper exclude each other";
	if (!isnan(values->keep_share) && method != CUTTLE_SANTEXT_PLUS)
		return "--keep-share is for --method santext+";
	return NULL;
}

/* Sets epsilon in millionths. False: it is out of range, or has more decimals. */
static bool settle_epsilon(double epsilon, uint32_t *millionths) {
	if (isnan(epsilon)) return true;
	const double scaled = rint(epsilon * 1e6);
	// So close is nothing but the decimal number that was typed, read as a double.
	if (!(scaled >= 1 && scaled <= 64e6) || fabs(epsilon * 1e6 - scaled) > 1e-6) return false;
	*millionths = (uint32_t)scaled;
	return true;
}

static bool settle_keep(const struct option_list *keep, struct perturb_request *request) {
	for (size_t i = 0; i < keep->count; i++) {
		if (!strcmp(keep->texts[i], "punctuation")) request->keep_punctuation = true;
		else if (!strcmp(keep->texts[i], "numbers")) request->keep_numbers = true;
		else return false;
	}
	return true;
}

const char *perturb_values_settle(const struct perturb_values *values,
                                  struct perturb_request *request) {
	struct cuttle_perturb_params *params = &request->params;
	const char *stranger = name_stranger(values);
	if (stranger) return stranger;
	if (!settle_epsilon(values->epsilon, &params->epsilon_millionths))
		return "--epsilon: must be above 0 and at most 64, with at most six decimals";
	if (!settle_keep(&values->keep, request)) return "--keep: must be punctuation or numbers";
	params->method = (enum cuttle_word_method)values->method;
	if (values->table != CHOICE_NONE) params->table = (enum cuttle_rank_table)values->table;
	if (values->near != COUNT_NONE) params->near = params->set_size = (uint32_t)values->near;
	if (!isnan(values->list_share)) params->list_share = values->list_share;
	if (!isnan(values->keep_share)) params->keep_share = values->keep_share;
	params->paper_radius = values->radius == RADIUS_PAPER;
	return NULL;
}
