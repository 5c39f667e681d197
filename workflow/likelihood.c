// SPDX-License-Identifier: Apache-2.0
// See likelihood.h. The scorer keeps what the last prompt and this one have in common, so that a
// text behind the same examples costs no more than its own tokens.
#include "workflow/likelihood.h"

#include "io/fail.h"
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

/* Which of headings[count] the example begins with; NULL = none of them. */
static const char *find_heading(const char *example, const char *const *headings, size_t count) {
	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(headings[i]);
		if (!strncmp(example, headings[i], size) && example[size] == '\n')
			return headings[i];
	}
	return NULL;
}

enum cuttle_status likelihood_begin(struct likelihood *likelihood, struct cuttle_model *model,
                                    const struct cuttle_plan_params *params,
                                    struct cuttle_error *error) {
	*likelihood = (struct likelihood){.params = *params};
	likelihood->scale = (struct filter_scale){weigh_drawn_text, likelihood, INFINITY};
	return cuttle_scorer_make(model, params->context, &likelihood->scorer, error);
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

/* Scores example `which` behind the prompt that shows the others. */
static enum cuttle_status score_example(struct likelihood *of, size_t which,
                                        const char *const *headings, size_t count,
                                        const char **others, struct cuttle_error *error) {
	struct cuttle_plan_params params = of->params;
	const char *example = params.examples[which],
	           *heading = find_heading(example, headings, count);
	size_t left = 0;
	for (size_t i = 0; i < params.example_count; i++)
		if (i != which) others[left++] = params.examples[i];
	params.examples = others;
	params.example_count = left;
	if (heading) example += strlen(heading) + 1;
	return likelihood_lower(of, &params, heading, example, error);
}

enum cuttle_status likelihood_open(struct likelihood *likelihood, struct cuttle_model *model,
                                   const struct cuttle_plan_params *params,
                                   const char *const *headings, size_t count,
                                   struct cuttle_error *error) {
	const size_t examples = params->example_count;
	*likelihood = (struct likelihood){0};
	enum cuttle_status status = likelihood_enough(examples, error);
	if (status) return status;
	const char **others = calloc(examples, sizeof *others);
	if (!others) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = likelihood_begin(likelihood, model, params, error);
	for (size_t i = 0; i < examples && !status; i++)
		status = score_example(likelihood, i, headings, count, others, error);
	free(others);
	return status ? status : likelihood_enough(likelihood->examples, error);
}

void likelihood_close(struct likelihood *likelihood) {
	cuttle_scorer_free(&likelihood->scorer);
}
