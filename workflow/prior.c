// SPDX-License-Identifier: Apache-2.0
// See prior.h. What is drawn is on the disk before anything follows from it. It is the journal's
// line of counts: how many tokens there are, then each with its count.
#include "workflow/prior.h"

#include "engine/cuttle/prior.h"
#include "io/disk/fail.h"
#include <stdlib.h>

static void give_counted_text(void *user, size_t index, const char **text, size_t *size) {
	const struct references *references = user;
	*text = records_text(references->records, references->counted[index], size);
}

/* Reads the tokens from the numbers that the journal kept. */
static enum cuttle_status load_prior(const int64_t *numbers, size_t count,
                                     struct cuttle_prior_token **kept, size_t *tokens,
                                     struct cuttle_error *error) {
	*tokens = count / 2;
	if (count % 2 == 0 || numbers[0] != (int64_t)*tokens)
		return io_fail(error, CUTTLE_INPUT, "the journal has no counts of a token prior");
	*kept = calloc(*tokens + 1, sizeof **kept);
	if (!*kept) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < *tokens; i++)
		(*kept)[i] =
		    (struct cuttle_prior_token){(int32_t)numbers[1 + 2 * i], numbers[2 + 2 * i]};
	return CUTTLE_OK;
}

static enum cuttle_status keep_prior(struct delivery *delivery,
                                     const struct cuttle_prior_token *kept, size_t tokens,
                                     struct cuttle_error *error) {
	int64_t *numbers = calloc(2 * tokens + 1, sizeof *numbers);
	if (!numbers) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	numbers[0] = (int64_t)tokens;
	for (size_t i = 0; i < tokens; i++) {
		numbers[1 + 2 * i] = kept[i].token;
		numbers[2 + 2 * i] = kept[i].count;
	}
	const enum cuttle_status status =
	    delivery_keep_counts(delivery, numbers, 2 * tokens + 1, error);
	free(numbers);
	return status;
}

/* Draws the counts, and keeps them. */
static enum cuttle_status draw_prior(const struct generate_request *request,
                                     const struct setup *setup, struct delivery *delivery,
                                     const struct references *references,
                                     struct cuttle_prior_token **kept, size_t *tokens,
                                     struct cuttle_error *error) {
	const int32_t *drawn;
	if (output_drawn(delivery->output, 0, &drawn))
		return io_fail(error, CUTTLE_PARTIAL,
		               "the token prior of this run is lost; --overwrite draws all texts "
		               "anew and spends again");
	// What counts spent cannot be given back, nor pay for others.
	enum cuttle_status status = delivery_draw(delivery, error);
	if (!status)
		status =
		    cuttle_prior_draw(setup->plan, references->counted_count, give_counted_text,
		                      (void *)(uintptr_t)references, // the callback only reads
		                      request->plan.insecure ? &request->plan.insecure_seed : NULL,
		                      kept, tokens, error);
	return status ? status : keep_prior(delivery, *kept, *tokens, error);
}

enum cuttle_status prior_take(const struct generate_request *request, struct setup *setup,
                              struct delivery *delivery, const struct references *references,
                              struct cuttle_error *error) {
	struct cuttle_prior_token *kept = NULL;
	const int64_t *numbers;
	size_t tokens = 0;
	const size_t count = output_clusters(delivery->output, &numbers);
	enum cuttle_status status =
	    count ? load_prior(numbers, count, &kept, &tokens, error)
	          : draw_prior(request, setup, delivery, references, &kept, &tokens, error);
	if (!status)
		status = cuttle_prior_use(setup->plan, kept, tokens, setup->plain,
		                          setup->example_count, error);
	setup->receipt.prior.kept = tokens;
	free(kept);
	return status;
}
