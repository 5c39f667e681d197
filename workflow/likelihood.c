// SPDX-License-Identifier: Apache-2.0
// See likelihood.h. The scorer keeps what the last prompt and this one have in common. So a text
// behind the same examples costs no more than its own tokens.
#include "workflow/likelihood.h"

#include "io/disk/fail.h"
#include "workflow/examples.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum cuttle_status likelihood_enough(size_t examples, struct cuttle_error *error) {
	return examples >= LIKELIHOOD_EXAMPLES
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_USAGE,
	                     "--drop unlikely needs at least %d public examples to compare with, "
	                     "and there are %zu",
	                     LIKELIHOOD_EXAMPLES, examples);
}

static enum cuttle_status weigh_drawn_text(void *user, const char *text, size_t size, double *mean,
                                           struct cuttle_error *error) {
	const struct likelihood *of = user;
	return cuttle_scorer_mean(of->scorer, &of->params, of->heading, text, size, mean, error);
}

enum cuttle_status likelihood_begin(struct likelihood *likelihood, struct cuttle_model *model,
                                    const struct cuttle_plan_params *params, const double *bias,
                                    struct cuttle_error *error) {
	*likelihood = (struct likelihood){.params = *params};
	likelihood->scale = (struct filter_scale){weigh_drawn_text, likelihood, INFINITY};
	const enum cuttle_status status =
	    cuttle_scorer_make(model, params->context, &likelihood->scorer, error);
	return status ? status : cuttle_scorer_bias(likelihood->scorer, bias, error);
}

enum cuttle_status likelihood_lower(struct likelihood *likelihood,
                                    const struct cuttle_plan_params *params, const char *heading,
                                    const char *example, struct cuttle_error *error) {
	double mean;
	const enum cuttle_status status = cuttle_scorer_mean(
	    likelihood->scorer, params, heading, example, strlen(example), &mean, error);
	if (status || isnan(mean)) return status;
	likelihood->examples++;
	if (mean < likelihood->scale.least) likelihood->scale.least = mean;
	return CUTTLE_OK;
}

/* Room for the numbers below. */
struct example_lists {
	size_t *groups;     /* [count] category of each */
	size_t *chosen;     /* [count] */
	const char **shown; /* [count] */
};

/* Scores example `which` behind others. */
static enum cuttle_status score_example(struct likelihood *of,
                                        const struct likelihood_examples *examples,
                                        const struct example_lists *lists, size_t which,
                                        struct cuttle_error *error) {
	struct cuttle_plan_params params = of->params;
	const size_t group = lists->groups[which];
	const char *text;
	params.example_count = examples_choose(lists->groups, examples->count, group,
	                                       examples->per_text, which, lists->chosen);
	for (size_t i = 0; i < params.example_count; i++)
		lists->shown[i] = examples->all[lists->chosen[i]];
	params.examples = lists->shown;
	(void)examples_group(examples->all[which], examples->headings, examples->heading_count,
	                     &text);
	return likelihood_lower(of, &params,
	                        group == EXAMPLES_NO_GROUP ? NULL : examples->headings[group], text,
	                        error);
}

enum cuttle_status likelihood_open(struct likelihood *likelihood, struct cuttle_model *model,
                                   const struct cuttle_plan_params *params, const double *bias,
                                   const struct likelihood_examples *examples,
                                   struct cuttle_error *error) {
	const size_t count = examples->count;
	const char *text;
	*likelihood = (struct likelihood){0};
	enum cuttle_status status = likelihood_enough(count, error);
	if (status) return status;
	const struct example_lists lists = {calloc(count, sizeof *lists.groups),
	                                    calloc(count, sizeof *lists.chosen),
	                                    calloc(count, sizeof *lists.shown)};
	if (!lists.groups || !lists.chosen || !lists.shown)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < count && !status; i++)
		lists.groups[i] = examples_group(examples->all[i], examples->headings,
		                                 examples->heading_count, &text);
	if (!status) status = likelihood_begin(likelihood, model, params, bias, error);
	for (size_t i = 0; i < count && !status; i++)
		status = score_example(likelihood, examples, &lists, i, error);
	free(lists.groups);
	free(lists.chosen);
	free(lists.shown);
	return status ? status : likelihood_enough(likelihood->examples, error);
}

void likelihood_close(struct likelihood *likelihood) {
	cuttle_scorer_free(&likelihood->scorer);
}
