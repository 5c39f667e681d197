// SPDX-License-Identifier: Apache-2.0
// likelihood.h: how likely the public prompt holds a text, and the least that a public example has.
//
// It serves --drop unlikely. No private data: it is given prompts and examples, which are public,
// and texts that were drawn. It never sees a reference, a private prompt's context, or how many
// records there are. An example is scored behind the prompt that shows the others, as a new text
// would stand behind them. For example, of 5 examples:
//
//     status = likelihood_open(&likelihood, model, &params, NULL, &examples, &error);
//     likelihood.heading = "genre: sea";      that of the texts that come now; NULL = none
//     output.scale = &likelihood.scale;       before output_open
//     likelihood_close(&likelihood);          after output_close
#ifndef CUTTLE_WORKFLOW_LIKELIHOOD_H
#define CUTTLE_WORKFLOW_LIKELIHOOD_H

#include "engine/cuttle/public.h"
#include "io/text/filters.h"

/* Fewer examples than this say nothing about the least likely of them. */
enum { LIKELIHOOD_EXAMPLES = 5 };

struct likelihood {
	struct filter_scale scale; /* for filters_open */
	struct cuttle_scorer *scorer;
	struct cuttle_plan_params
	    params;          /* of the texts' public prompt; its strings the caller's */
	const char *heading; /* of the text that is judged next; NULL = none */
	size_t examples;     /* how many have set the least */
};

/* USAGE: they are fewer than LIKELIHOOD_EXAMPLES. */
enum cuttle_status likelihood_enough(size_t examples, struct cuttle_error *error);

/* All public examples, and which of them a prompt shows. */
struct likelihood_examples {
	const char *const *all; /* [count] */
	size_t count;
	size_t per_text;             /* E; 0 = all */
	const char *const *headings; /* [heading_count] of the categories */
	size_t heading_count;
};

/* Scores all examples, each behind a prompt with the others that a text of its category would have
 * (workflow/examples.h). An example that begins with a heading and a line end stands under it, and
 * the rest of it is scored. Texts are judged behind params->examples: set params.examples and
 * heading for each category. params is copied; what it points to must outlive *likelihood. bias:
 * the vector that the texts are drawn with, or NULL; examples and texts are scored with it, too.
 * Call likelihood_close in any case. USAGE: as likelihood_enough, where an example without a token
 * does not count; else as cuttle_scorer_make, cuttle_scorer_bias and cuttle_scorer_mean. NOMEM. */
enum cuttle_status likelihood_open(struct likelihood *likelihood, struct cuttle_model *model,
                                   const struct cuttle_plan_params *params, const double *bias,
                                   const struct likelihood_examples *examples,
                                   struct cuttle_error *error);
/* The two steps of likelihood_open, for examples that have prompts of their own. The first has no
 * least yet. Each of the second lowers it, unless the example has no token. Both as
 * likelihood_open. */
enum cuttle_status likelihood_begin(struct likelihood *likelihood, struct cuttle_model *model,
                                    const struct cuttle_plan_params *params, const double *bias,
                                    struct cuttle_error *error);
enum cuttle_status likelihood_lower(struct likelihood *likelihood,
                                    const struct cuttle_plan_params *params, const char *heading,
                                    const char *example, struct cuttle_error *error);
void likelihood_close(struct likelihood *likelihood);

#endif
