// SPDX-License-Identifier: Apache-2.0
// Says what is in the way of lots, counts the records, and asks the engine whether lots pay.
#include "workflow/lot_choice.h"

#include "io/disk/fail.h"
#include "io/records/places.h"
#include "io/records/records.h"
#include "io/disk/secrecy.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What keeps this request from having lots; NULL = nothing. */
static const char *name_obstacle(const struct generate_request *request) {
	struct stat state;
	if (generate_private(request) && request->common.input &&
	    (!strcmp(request->common.input, "-") ||
	     (stat(request->common.input, &state) == 0 && !S_ISREG(state.st_mode))))
		return request->clusters
		           ? "--clusters needs -i FILE, whose records are counted first: a pipe "
		             "cannot be read twice"
		           : "--category-field: private categories need -i FILE, whose records "
		             "are counted first: a pipe cannot be read twice";
	if (generate_private(request)) return NULL;
	// Of units a run takes lots where it is told to: it may have fewer texts than without.
	if (request->common.unit_key && !generate_owners(request)) return "";
	if (request->common.unit_key && request->records_per_unit != 1)
		return "--lots on with --unit-key needs --one-per-unit: a lot is for everybody "
		       "with one value, who is read once";
	if (request->common.unit_key && !request->common.input) return NULL;
	if (!request->common.input) return "--lots on needs -i FILE, whose records are counted";
	if (!strcmp(request->common.input, "-") ||
	    (stat(request->common.input, &state) == 0 && !S_ISREG(state.st_mode)))
		return "--lots on needs -i FILE: a pipe cannot be read twice, and records are "
		       "counted first";
	return NULL;
}

/* Sets R and M of each cluster. *enough: each has the records that its texts need. */
static enum cuttle_status count_clusters(const struct generate_request *request,
                                         const struct categories *categories, size_t texts,
                                         const struct schema *schema, struct lot_choice *choice,
                                         bool *enough, struct cuttle_error *error) {
	const uint32_t batch = request->plan.batch, shots = request->plan.shots;
	const struct records_request wanted = {
	    .path = request->common.input,
	    .field = request->text_field,
	    .schema = schema,
	    .format = request->input_format,
	    .delimiter = request->delimiter,
	    .limit = SIZE_MAX,
	    .all_columns = true,
	    .labels = request->category_fields,
	    .label_count = categories->count ? request->category_field_count : 0,
	    .most = 1};
	struct records *records = NULL;
	uint64_t *counts = calloc(choice->count, sizeof *counts);
	if (!counts) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// From here on the memory that the process holds follows from the number of records.
	enum cuttle_status status = secrecy_room(1, error);
	if (!status) status = records_read(&wanted, &records, error);
	if (!status) choice->records = counts[0] = records_count(records);
	if (!status && categories->count) places_count(records, categories, counts);
	records_free(&records);
	*enough = true;
	for (size_t i = 0; !status && i < choice->count; i++) {
		struct cuttle_lots *lots = &choice->all[i];
		const uint64_t rows = counts[i] / shots, whole = rows / batch;
		lots->records = rows + (counts[i] % shots != 0);
		lots->batches = lots->records / batch + (lots->records % batch != 0);
		lots->used = categories->count ? categories->all[i].texts : texts;
		if (whole < lots->used) *enough = false;
		choice->batches += whole;
		if (!lots->batches) lots->batches = 1;
	}
	free(counts);
	return status;
}

/* Takes what was counted when the run of shards was opened. */
static enum cuttle_status take_counted(const struct generate_request *request,
                                       struct lot_choice *choice, struct cuttle_error *error) {
	const struct shard_terms *terms = &request->shard->run.terms;
	if (request->lots == (terms->lot_count ? RUN_LOTS_OFF : RUN_LOTS_ON))
		return io_fail(error, CUTTLE_USAGE, "--lots: the run was opened %s lots",
		               terms->lot_count ? "with" : "without");
	if (!terms->lot_count) return CUTTLE_OK;
	choice->all = calloc(terms->lot_count, sizeof *choice->all);
	if (!choice->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	memcpy(choice->all, terms->lots, terms->lot_count * sizeof *choice->all);
	choice->count = terms->lot_count;
	choice->records = terms->records;
	return CUTTLE_OK;
}

enum cuttle_status lot_choice_make(const struct generate_request *request,
                                   const struct categories *categories, size_t texts,
                                   const struct cuttle_plan_params *params,
                                   const struct schema *schema, struct lot_choice *choice,
                                   struct cuttle_error *error) {
	*choice = (struct lot_choice){0};
	if (request->shard) return take_counted(request, choice, error);
	if (request->lots == RUN_LOTS_OFF || !request->plan.batch ||
	    request->plan.method != CUTTLE_INVISIBLEINK)
		return CUTTLE_OK;
	const char *obstacle = name_obstacle(request);
	if (obstacle)
		return request->lots == RUN_LOTS_ON || generate_private(request)
		           ? io_fail(error, CUTTLE_USAGE, "%s", obstacle)
		           : CUTTLE_OK;
	bool enough = false, pay = true;
	choice->count = categories->count ? categories->count : 1;
	choice->all = calloc(choice->count, sizeof *choice->all);
	if (!choice->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// A dry run may have no input. Then its records are as many as its texts need.
	if (generate_counts(request) && !request->common.input) {
		choice->records = texts * request->plan.batch;
		return CUTTLE_OK;
	}
	enum cuttle_status status =
	    count_clusters(request, categories, texts, schema, choice, &enough, error);
	if (generate_counts(request)) return status;
	// What is wrong with the file is said when it is read.
	if (status == CUTTLE_INPUT && request->lots == RUN_LOTS_AUTO) {
		choice->count = 0;
		return CUTTLE_OK;
	}
	if (!status && enough && request->lots == RUN_LOTS_AUTO) {
		struct cuttle_plan_params with = *params;
		with.lots = choice->all;
		with.lot_count = choice->count;
		// What is wrong with the params cuttle_plan_make says.
		if (cuttle_lots_pay(&with, &pay, error) == CUTTLE_NOMEM) status = CUTTLE_NOMEM;
	}
	if (!enough || !pay) choice->count = 0;
	return status;
}

void lot_choice_free(struct lot_choice *choice) {
	free(choice->all);
	*choice = (struct lot_choice){0};
}
