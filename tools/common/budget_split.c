// SPDX-License-Identifier: Apache-2.0
// See budget_split.h. The formula, in nats a token over the public prompt alone:
//
//     BIAS s + REFERENCES x / (x + HALF)
//     s = learn_expected_share: what of the bias is no noise
//     x = clip / temperature of a text, in nats; it follows from the rho that is left
//
// Over the table's 60 rows that have a budget (all but those without noise, references by zcdp) its
// error is .0033 nats on average (root of the mean square), and .010 at most: notes with references
// alone have .046 and .054 at epsilon 3 and 10, where it says .036 and .044. Measured before a
// small share made no bias at all (cuttle_learn_least_share): there the formula says 0, and learn
// gives 0.
#include "tools/common/budget_split.h"

#include "io/disk/fail.h"
#include "workflow/learn.h"
#include <inttypes.h>
#include <math.h>

#define BIAS .056       /* nats that a bias without noise is worth */
#define REFERENCES .050 /* nats of references that move a token as far as can be */
#define HALF .34        /* x that gives half of them */
#define FORMULA                                                                                    \
	"by a formula fitted to measurements of a 135M model (bench/SPENDING.md); not a promise"
enum { STEPS = 20 }; /* shares that are tried: 0, .05 ... 1 */

struct budget_split {
	double share;
	double nats;  /* of this share */
	double alone; /* of references alone */
	double free;  /* of a bias alone */
	double delta; /* of each part */
	double bias;  /* epsilon of the bias; 0 = there is none */
	double references;
	double together; /* epsilon of both */
};

/* rho of an epsilon, or an epsilon of a rho, whichever is NaN. */
static enum cuttle_status convert_loss(enum cuttle_unknown unknown, double *epsilon, double delta,
                                       double *rho, struct cuttle_error *error) {
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	budget.delta = delta;
	if (unknown == CUTTLE_RHO) budget.epsilon = *epsilon;
	else budget.rho = *rho;
	const enum cuttle_status status = cuttle_budget_solve(&budget, unknown, error);
	*epsilon = budget.epsilon;
	*rho = budget.rho;
	return status;
}

/* Nats a token, where `share` of rho is for the bias. */
static double find_worth(const struct budget_split_request *r, double rho, double share) {
	const double x = r->batch * sqrt(2 * (1 - share) * rho / r->tokens),
	             variance = CUTTLE_LEARN_SQUARE / (2 * share * rho);
	return (share > 0 ? BIAS * learn_expected_share(r->width, r->records, variance) : 0) +
	       REFERENCES * x / (x + HALF);
}

/* The epsilon of a part of rho, rounded down to what the command is given, and its own rho. */
static enum cuttle_status spend_part(double rho, double delta, double *epsilon, double *spent,
                                     struct cuttle_error *error) {
	*epsilon = *spent = 0;
	if (!(rho > 0)) return CUTTLE_OK;
	enum cuttle_status status = convert_loss(CUTTLE_EPSILON, epsilon, delta, &rho, error);
	if (status) return status;
	const double parts = pow(10, 4 - floor(log10(*epsilon)));
	*epsilon = floor(*epsilon * parts) / parts;
	return convert_loss(CUTTLE_RHO, epsilon, delta, spent, error);
}

static enum cuttle_status find_split(const struct budget_split_request *r,
                                     struct budget_split *split, struct cuttle_error *error) {
	double rho = NAN, epsilon = r->epsilon, spent[2];
	enum cuttle_status status = convert_loss(CUTTLE_RHO, &epsilon, r->delta, &rho, error);
	if (status) return status;
	*split = (struct budget_split){
	    .nats = -1, .alone = find_worth(r, rho, 0), .free = find_worth(r, rho, 1)};
	for (int i = 0; i <= STEPS; i++) {
		const double share = (double)i / STEPS, nats = find_worth(r, rho, share);
		if (nats <= split->nats) continue;
		split->share = share;
		split->nats = nats;
	}
	// Deltas add up, rho as well: so each part has half of delta.
	split->delta = split->share > 0 && split->share < 1 ? r->delta / 2 : r->delta;
	status = spend_part(split->share * rho, split->delta, &split->bias, &spent[0], error);
	if (!status)
		status = spend_part((1 - split->share) * rho, split->delta, &split->references,
		                    &spent[1], error);
	rho = spent[0] + spent[1];
	return status ? status
	              : convert_loss(CUTTLE_EPSILON, &split->together, r->delta, &rho, error);
}

static void print_shares(const struct budget_split_request *r, const struct budget_split *split) {
	verb_print_number(split->share);
	printf("The share of rho that is best spent on a bias, " FORMULA ".\n");
	if (!(split->share > 0))
		printf("A bias of %" PRIu64
		       " records would be little more than noise: spend all on "
		       "references.\n",
		       r->records);
	else printf("cuttle learn -e %.8g --delta %.8g\n", split->bias, split->delta);
	if (!(split->share < 1))
		printf("cuttle generate -B 0 --bias FILE -N %" PRIu64 " -n %" PRIu32 "\n", r->texts,
		       r->tokens);
	else
		printf("cuttle generate -e %.8g --delta %.8g -N %" PRIu64 " -B %" PRIu32
		       " -n %" PRIu32 " --accountant zcdp --lots off%s\n",
		       split->references, split->delta, r->texts, r->batch, r->tokens,
		       split->share > 0 ? " --bias FILE" : "");
	printf("Together: epsilon %.6g at delta %.6g. Nats a token over the public prompt: about "
	       "%.3f; references alone %.3f, a bias alone %.3f for any number of texts.\n",
	       split->together, r->delta, split->nats, split->alone, split->free);
}

int budget_split_print(const struct verb *verb, const struct budget_split_request *request) {
	struct budget_split split;
	struct cuttle_error error;
	if (request->records / request->batch < request->texts)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--records: too few for so many texts; -N times -B are needed");
	const enum cuttle_status status = find_split(request, &split, &error);
	if (status) return verb_fail(verb, status, &error);
	if (!request->json) {
		print_shares(request, &split);
		return CUTTLE_OK;
	}
	const struct jsonout_member members[] = {
	    {"share", jsonout_real(split.share)},
	    {"epsilon_bias", jsonout_real(split.bias)},
	    {"epsilon_references", jsonout_real(split.references)},
	    {"delta_each", jsonout_real(split.delta)},
	    {"epsilon_together", jsonout_real(split.together)},
	    {"nats", jsonout_real(split.nats)},
	    {"nats_references_alone", jsonout_real(split.alone)},
	    {"nats_bias_alone", jsonout_real(split.free)},
	    {"source", json_string(FORMULA)},
	};
	return verb_print(verb,
	                  jsonout_extend(json_object(), members, sizeof members / sizeof *members),
	                  JSON_COMPACT);
}
