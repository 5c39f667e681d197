// SPDX-License-Identifier: Apache-2.0
// Defaults and checks of a request, which need no file to be open. The order of the checks decides
// which of two faults is told, so it stays as it is.
#include "workflow/request.h"

#include "io/disk/fail.h"
#include "io/ledger/ledger.h"
#include "io/disk/paths.h"
#include "workflow/grammar_choice.h"
#include "workflow/spending.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void generate_default(struct generate_request *request) {
	*request = (struct generate_request){
	    .text_field = "text", .texts = 100, .rounds = 1, .common.now = (uint64_t)time(NULL)};
	request->filters.trim = true;
	cuttle_plan_params_default(&request->plan);
}

/* Says what is wrong about clusters; NULL = nothing. */
static const char *name_cluster_contradiction(const struct generate_request *request) {
	if (!request->clusters) return NULL;
	if (request->category_field_count || request->categories || request->category_public)
		return "--clusters and --category-field exclude each other: records are grouped by "
		       "what they say, or by a field";
	if (request->common.unit_key)
		return "--clusters: each record must be a unit; leave out --unit-key";
	if (request->lots == RUN_LOTS_OFF) return "--clusters needs lots; leave out --lots off";
	if (isnan(request->plan.epsilon)) return "--clusters: its counts need -e, not --clip";
	return request->texts_per_share ? "--clusters: how many texts a cluster has follows from a "
	                                  "count of its records; give -N"
	                                : NULL;
}

/* Shots put records into rows by where they stand in the file. A count that is private leaves
 * nothing to go by. */
static const char *name_shots_contradiction(const struct generate_request *request) {
	if (request->plan.shots <= 1) return NULL;
	if (generate_owners(request))
		return "--shots and --lots on with --unit-key exclude each other: leave out one";
	return generate_private(request)
	           ? "--shots needs rows of one category or cluster, and which records those are "
	             "stays private: leave out --shots, or declare --category-public"
	           : NULL;
}

/* Says what is wrong about units and categories; NULL = nothing. */
static const char *name_group_contradiction(const struct generate_request *request) {
	if (request->records_per_unit && !request->common.unit_key)
		return "--one-per-unit and --records-per-unit need --unit-key FIELD";
	if (!request->category_field_count != !request->categories)
		return "--category-field and --categories go together: --category-field FIELD "
		       "--categories A,B,C, or a file .csv or .jsonl with a column FIELD";
	if (request->categories && categories_like_file(request->categories))
		return "--categories: this one name looks like a file. A file of categories ends "
		       "in .csv or .jsonl and has a column or member of the field's name";
	if (request->category_public && !request->categories)
		return "--category-public needs --category-field FIELD";
	if (generate_private(request) && request->common.unit_key)
		return "--category-field: categories stay private where each record is a unit; "
		       "leave out --unit-key, or declare them with --category-public";
	if (generate_owners(request) && request->categories)
		return "--lots on with --unit-key: categories would need a count of owners each; "
		       "leave out --category-field or --lots on";
	if (generate_owners(request) && isnan(request->plan.epsilon))
		return "--lots on with --unit-key needs -e, not --clip: the noise of how many "
		       "units there are follows from it";
	if (generate_private(request) && request->lots == RUN_LOTS_OFF)
		return "--lots off: private categories need lots; declare them with "
		       "--category-public";
	if (generate_private(request) && isnan(request->plan.epsilon))
		return "--clip: the counts of private categories need -e; or declare the "
		       "categories with --category-public";
	if (generate_private(request) && request->texts_per_share)
		return "--num-per-category needs --category-public: how many texts a private "
		       "category has follows from a count of its records";
	// With these the output has members of its own by that name.
	const struct cuttle_savings *savings = &request->plan.savings;
	const bool batches = savings->token_bank || savings->complete || savings->public_when > 0 ||
	                     generate_guided(request);
	for (size_t i = 0; batches && i < request->category_field_count; i++)
		if (!strcmp(request->category_fields[i], "batch") ||
		    !strcmp(request->category_fields[i], "free"))
			return "--category-field: no field can be called batch or free with "
			       "--token-bank, --public-when, --complete, --grammar or --schema";
	return request->texts_per_share && !request->categories
	           ? "--num-per-category needs --category-field FIELD"
	           : NULL;
}

/* Says what does not go with a grammar, or a schema; NULL = nothing. */
static const char *name_grammar_contradiction(const struct generate_request *request) {
	if (!generate_guided(request)) return NULL;
	const char *fault =
	    grammar_choice_fault(request->grammar, request->schema, request->common.stop_count);
	if (fault) return fault;
	if (request->plan.method != CUTTLE_INVISIBLEINK)
		return "--grammar and --schema are for --method invisibleink";
	if (request->plan.savings.token_bank)
		return "--token-bank writes texts of no grammar: leave it out, or --grammar and "
		       "--schema";
	if (request->trace)
		return "--trace is of texts of no grammar: leave it out, or --grammar and --schema";
	if (!request->schema) return NULL;
	if (strcmp(request->text_field, "text") != 0 || request->examples_field)
		return "--schema reads whole records: leave out --text-field and --examples-field";
	if (request->clusters) return "--schema and --clusters exclude each other: leave out one";
	return request->rounds > 1 ? "--schema and --rounds 2 exclude each other: leave out one"
	                           : NULL;
}

/* Says what a method does not take; NULL = nothing. */
static const char *name_method_contradiction(const struct generate_request *request) {
	const struct cuttle_plan_params *plan = &request->plan;
	const char *fault = cuttle_method_fault(plan->method, &plan->method_params);
	if (fault || plan->method == CUTTLE_INVISIBLEINK) return fault;
	if (generate_private(request))
		return "private categories and clusters are for --method invisibleink; declare "
		       "categories with --category-public";
	if (request->common.unit_key) return "--unit-key is for --method invisibleink";
	if (request->lots == RUN_LOTS_ON) return "--lots on is for --method invisibleink";
	if (request->trace) return "--trace is for --method invisibleink";
	return !isnan(plan->clip) || plan->gain != 0.0
	           ? "--clip and --gain are for --method invisibleink"
	           : NULL;
}

static const char *name_contradiction(const struct generate_request *request) {
	if (!request->prompt_public != !request->prompt_private)
		return "--prompt-public and --prompt-private go together";
	const char *problem =
	    common_chat_fault(request->plan.chat_format, NULL,
	                      request->prompt_public ? CUTTLE_CUSTOM : request->plan.form);
	if (problem) return problem;
	if (request->common.output && !strcmp(request->common.output, "-") &&
	    filters_drop_any(&request->filters))
		return "--drop needs -o FILE: what is dropped goes to FILE" OUTPUT_DROPPED;
	if (request->rounds > 1 && request->examples_per_text == 1)
		return "--rounds 2 shows drawn texts as half of the examples: --examples-per-text "
		       "must be 2 or more";
	if (request->filters.drop[FILTER_UNLIKELY] && !request->public_examples)
		return "--drop unlikely needs --public-examples FILE: it compares with them";
	problem = common_fault(&request->common);
	if (!problem) problem = name_method_contradiction(request);
	if (!problem) problem = name_cluster_contradiction(request);
	if (!problem) problem = name_group_contradiction(request);
	if (!problem) problem = name_shots_contradiction(request);
	if (!problem) problem = name_grammar_contradiction(request);
	if (!problem && request->charge == RUN_CHARGE_EPSILON && request->common.unit_key)
		problem = "--charge epsilon is for records that are units: leave out --unit-key";
	if (!problem && request->common.unit_key && !request->records_per_unit)
		problem = "--unit-key: say what is read of each unit: --one-per-unit, "
		          "--records-per-unit G, or --records-per-unit all. The last declares "
		          "public who has how many records";
	return problem ? problem : common_sign_fault(&request->common);
}

enum cuttle_status generate_check(const struct generate_request *request,
                                  struct cuttle_error *error) {
	const char *problem = name_contradiction(request);
	return problem ? io_fail(error, CUTTLE_USAGE, "%s", problem) : CUTTLE_OK;
}

enum cuttle_status generate_paths(const struct generate_request *request,
                                  struct cuttle_error *error) {
	const char *categories = request->categories && categories_in_file(request->categories)
	                             ? request->categories
	                             : NULL;
	char *receipt, *learnt = NULL;
	enum cuttle_status status =
	    common_receipt_beside(request->common.output, request->common.receipt, &receipt, error);
	if (!status) status = common_receipt_beside(request->bias, NULL, &learnt, error);
	const char *const dropped = filters_drop_any(&request->filters) ? OUTPUT_DROPPED : NULL;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->common.model, PATH_MODEL),
	    PATH_ALONE("-i", request->common.input, PATH_STREAM),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--prompt-private", request->prompt_private, PATH_STREAM),
	    PATH_ALONE("--public-examples", request->public_examples, PATH_STREAM),
	    PATH_ALONE("--categories", categories, PATH_STREAM),
	    PATH_ALONE("--clusters", request->clusters, PATH_STREAM),
	    {"--bias", request->bias, PATH_FILE, learnt, {NULL}},
	    PATH_ALONE("--grammar", request->grammar, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    PATH_ALONE("--sign", request->common.sign, PATH_FILE),
	    {"--ledger", request->common.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->common.output,
	     PATH_OUTPUT,
	     receipt,
	     {".journal", ".journal.key", LOTS_BESIDE, SPENDING_BESIDE, dropped}},
	    PATH_ALONE("--receipt", request->common.receipt, PATH_RECORD),
	    PATH_ALONE("--trace", request->trace, PATH_RECORD),
	};
	const struct records_request records[] = {{.path = request->common.input,
	                                           .format = request->input_format,
	                                           .delimiter = request->delimiter},
	                                          {.path = request->public_examples}};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	free(receipt);
	free(learnt);
	for (size_t i = 0; !status && i < sizeof records / sizeof *records; i++)
		if (records[i].path) status = records_check_name(&records[i], error);
	return status;
}
