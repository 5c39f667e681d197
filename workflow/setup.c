// SPDX-License-Identifier: Apache-2.0
// Turns a request into plan and receipt, in the order of generate_open. The order decides which of
// two faults is told.
#include "workflow/setup.h"

#include "base/utf8.h"
#include "engine/cuttle/learn.h"
#include "topics/clusters_file.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/model_hash.h"
#include "io/ledger/ledger.h"
#include "io/output/output.h"
#include "io/shards/shard_run.h"
#include "workflow/examples.h"
#include "workflow/likelihood.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MOST_EXAMPLES = 1024, /* public examples */
	FEW_EXAMPLES = 4,     /* of them in the prompts of a cluster, unless told otherwise */
	MOST_PROMPT = 1 << 20 /* bytes of an own prompt */
};
/* Seconds since 1970 of 9999-12-31 23:59:59 UTC: later years have five digits. */
#define END_OF_9999 253402300799u

static void hash_bytes(void *user, const void *bytes, size_t size) {
	model_hash_add(user, bytes, size);
}

static double read_opening_clock(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum cuttle_status setup_open(const char *path, const struct cuttle_model_params *params,
                              struct setup_model *opened, struct cuttle_error *error) {
	struct model_hash hash;
	struct cuttle_model_params hashed;
	const double start = read_opening_clock();
	*opened = (struct setup_model){0};
	model_hash_begin(&hash);
	cuttle_model_params_default(&hashed);
	if (params) hashed = *params;
	hashed.on_bytes = hash_bytes;
	hashed.user = &hash;
	const enum cuttle_status status = cuttle_model_open(path, &hashed, &opened->model, error);
	if (!status) model_hash_end(&hash, opened->sha256);
	opened->opening_s = read_opening_clock() - start;
	return status;
}

enum cuttle_status setup_prompt(const char *path, char **prompt, struct cuttle_error *error) {
	size_t size;
	enum cuttle_status status = file_read(path, MOST_PROMPT, prompt, &size, error);
	if (!status && (strlen(*prompt) != size || !utf8_valid(*prompt, size)))
		status =
		    io_fail(error, CUTTLE_INPUT, "%s: a prompt must be UTF-8 without NUL", path);
	return status;
}

void setup_public_law(struct cuttle_plan_params *plan) {
	plan->batch = 1;
	plan->clip = 0.01;
	plan->accountant = CUTTLE_ZCDP;
	plan->insecure = plan->any_memory = true;
}

enum cuttle_status setup_bias_read(const char *path, const struct cuttle_model *model,
                                   const char *model_sha256, struct bias *bias,
                                   struct cuttle_error *error) {
	struct cuttle_model_info info;
	char *beside;
	cuttle_model_describe(model, &info);
	*bias = (struct bias){0};
	enum cuttle_status status = common_receipt_beside(path, NULL, &beside, error);
	if (!status) status = bias_open(bias, path, beside, error);
	if (!status) status = bias_fits(bias, model_sha256, info.width, error);
	free(beside);
	return status;
}

/* Whether a heading is of the promise's fields, in their order, and of no others. */
static bool is_heading_of(const char *heading, const struct setup_promise *promise) {
	for (size_t i = 0; i < promise->field_count; i++) {
		if (!heading || !categories_names(heading, promise->fields[i])) return false;
		const char *end = strchr(heading, '\n');
		heading = end ? end + 1 : NULL;
	}
	return !heading;
}

enum cuttle_status setup_bias(const char *path, const struct cuttle_model *model,
                              const char *model_sha256, const struct setup_promise *promise,
                              struct bias *bias, struct cuttle_error *error) {
	const char *unit_key = promise->unit_key;
	const enum cuttle_status status = setup_bias_read(path, model, model_sha256, bias, error);
	if (status) return status;
	const struct learn_receipt *receipt = bias->receipt;
	if (!receipt->private_output && !promise->insecure)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is NOT PRIVATE: it was learnt with --insecure-seed", path);
	if (receipt->from_public) return CUTTLE_OK;
	// Where a record becomes null, what its owner says changes by up to twice the clip.
	if (!receipt->unit_key != !unit_key ||
	    (unit_key && strcmp(receipt->unit_key, unit_key) != 0))
		return io_fail(
		    error, CUTTLE_USAGE,
		    "%s promises something to each %s, and this run to each %s: give both "
		    "the same --unit-key",
		    path, receipt->unit_key ? receipt->unit_key : "record",
		    unit_key ? unit_key : "record");
	// Its promise is to a record that becomes null and keeps its category.
	for (size_t i = 0; i < receipt->categories; i++)
		if (!is_heading_of(bias->headings[i], promise))
			return io_fail(
			    error, CUTTLE_USAGE,
			    "%s tells how many records each category has, and this run promises "
			    "to hide that: give both --category-public and the same fields, or "
			    "learn without --categories",
			    path);
	return CUTTLE_OK;
}

/* The text of a public example. Above it the heading of its cluster, if any, or a line "FIELD:
 * VALUE" for each category field, when the record has all of them. NULL: out of memory. */
static char *make_example(const struct generate_request *request, const struct records *records,
                          size_t index, const char *heading) {
	const size_t fields = request->category_field_count;
	char *example = NULL;
	size_t size, known = 0, length;
	const char *text = records_text(records, index, &size);
	FILE *out = open_memstream(&example, &length);
	if (!out) return NULL;
	if (heading) (void)fprintf(out, "%s\n", heading);
	while (known < fields && records_label(records, index, known, &length)) known++;
	for (size_t i = 0; known == fields && i < known; i++) {
		const char *value = records_label(records, index, i, &length);
		(void)fprintf(out, "%s: %.*s\n", request->category_fields[i], (int)length, value);
	}
	(void)fwrite(text, 1, size, out);
	if (!fclose(out)) return example;
	free(example);
	return NULL;
}

/* Sets *heading to that of the cluster of a public example; NULL = it has none. */
static enum cuttle_status name_cluster(const struct setup *setup, const char *text, size_t size,
                                       const char **heading, struct cuttle_error *error) {
	const struct hidden_text example = {text, size};
	uint32_t found = CLUSTERS_NONE;
	enum cuttle_status status = CUTTLE_OK;
	if (setup->clusters.count)
		status = clusters_find(&setup->clusters, setup->model, &example, 1, &found, error);
	*heading = !status && found != CLUSTERS_NONE ? setup->categories.all[found].heading : NULL;
	return status;
}

static enum cuttle_status read_examples(const struct generate_request *request, struct setup *setup,
                                        struct cuttle_error *error) {
	const char *path = request->public_examples;
	const struct records_request wanted = {
	    .path = path,
	    .field = request->examples_field ? request->examples_field : request->text_field,
	    .option = "--examples-field",
	    .schema = setup->grammar.schema,
	    .limit = MOST_EXAMPLES + 1,
	    .labels = request->category_fields,
	    .label_count = request->category_field_count};
	struct records *records;
	enum cuttle_status status = records_read(&wanted, &records, error);
	if (status) return status;
	size_t count = records_count(records);
	setup->examples = calloc(count + 1, sizeof *setup->examples);
	if (!setup->examples) {
		records_free(&records);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (count > MOST_EXAMPLES)
		status = io_fail(error, CUTTLE_INPUT, "%s: more than %d public examples", path,
		                 MOST_EXAMPLES);
	for (size_t i = 0; !status && i < count; i++) {
		size_t size;
		const char *text = records_text(records, i, &size);
		const char *heading;
		status = name_cluster(setup, text, size, &heading, error);
		if (status) break;
		// Examples are public. So a wrong one is an error, as it never is for a reference.
		if (!text && setup->grammar.schema)
			status = io_fail(error, CUTTLE_INPUT, "%s: record %zu is one %s", path, i,
			                 records_state_words(records_state(records, i)));
		else if (!text || !size || memchr(text, 0, size))
			status = io_fail(
			    error, CUTTLE_INPUT, "%s: record %zu has no text in its field %s: %s%s",
			    path, i, wanted.field, records_state_words(records_state(records, i)),
			    records_state(records, i) == RECORD_NO_FIELD
			        ? "; name it with --examples-field"
			        : "");
		else if (!(setup->examples[setup->example_count++] =
		               make_example(request, records, i, heading)))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	records_free(&records);
	return status;
}

/* Reads the clusters file. Its clusters are then the categories, of the one field "cluster". */
static enum cuttle_status read_clusters(const struct generate_request *request, struct setup *setup,
                                        struct cuttle_error *error) {
	static const char *const field = "cluster";
	const char *path = request->clusters;
	char *list = NULL;
	size_t size;
	enum cuttle_status status =
	    clusters_file_read(path, &setup->clusters, setup->clusters_sha256, error);
	if (status) return status;
	if (setup->clusters.by == CLUSTERS_BY_MODEL &&
	    strcmp(setup->clusters.model_sha256, setup->receipt.model_sha256) != 0)
		return io_fail(error, CUTTLE_INPUT,
		               "%s was made with another model: make it anew with this one, by "
		               "cuttle clusters --by model",
		               file_shown(path));
	// No name has a comma: it has letters and spaces.
	FILE *out = open_memstream(&list, &size);
	for (size_t j = 0; out && j < setup->clusters.count; j++)
		(void)fprintf(out, "%s%s", j ? "," : "", setup->clusters.names[j]);
	if (!out || fclose(out)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = categories_read(&field, 1, list, &setup->categories, error);
	free(list);
	setup->receipt.clusters_sha256 = setup->clusters_sha256;
	return status;
}

static enum cuttle_status read_public(const struct generate_request *request, struct setup *setup,
                                      struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (request->prompt_public)
		status = setup_prompt(request->prompt_public, &setup->prompt_public, error);
	if (!status && request->prompt_private)
		status = setup_prompt(request->prompt_private, &setup->prompt_private, error);
	if (!status && request->bias)
		status = setup_bias(
		    request->bias, setup->model, setup->receipt.model_sha256,
		    &(struct setup_promise){
		        .unit_key = request->common.unit_key,
		        .fields = request->category_fields,
		        .field_count = request->category_public ? request->category_field_count : 0,
		        .insecure = request->plan.insecure},
		    &setup->bias, error);
	if (!status)
		status =
		    grammar_choice_read(request->grammar, request->schema, &setup->grammar, error);
	if (!status && setup->grammar.schema && request->output_format == OUTPUT_CSV)
		status = schema_table_make(setup->grammar.schema, &setup->table, error);
	if (!status && request->clusters) status = read_clusters(request, setup, error);
	if (!status && request->public_examples) status = read_examples(request, setup, error);
	if (!status && request->categories)
		status = categories_read(request->category_fields, request->category_field_count,
		                         request->categories, &setup->categories, error);
	if (!status && setup->grammar.schema && request->categories)
		status = grammar_choice_divide(&setup->grammar, &setup->categories, error);
	if (!status && generate_private(request) &&
	    categories_shares(&setup->categories) != setup->categories.count)
		status = io_fail(error, CUTTLE_USAGE,
		                 "%s: a share needs --category-public: how many texts a private "
		                 "category has follows from a count of its records",
		                 request->categories);
	return status;
}

/* Decides how many texts are written of each category, and for which unit the guarantee is. */
static enum cuttle_status set_parts(const struct generate_request *request, struct setup *setup,
                                    struct cuttle_error *error) {
	const uint64_t most = request->records_per_unit;
	const bool limited = most && most != RUN_RECORDS_ALL;
	const uint64_t limit = limited ? most : 1, shares = categories_shares(&setup->categories);
	uint64_t texts = request->texts;
	if (request->texts_per_share &&
	    __builtin_mul_overflow(request->texts_per_share, shares, &texts))
		texts = SIZE_MAX;
	if (texts > SIZE_MAX / 2)
		return io_fail(error, CUTTLE_USAGE, "--num-per-category: too many texts");
	setup->receipt.texts = (size_t)texts;
	setup->receipt.unit = (struct receipt_unit){
	    .key = request->common.unit_key, .limited = limited, .weight = limit};
	if (!setup->categories.count) return CUTTLE_OK;
	categories_spread(&setup->categories, setup->receipt.texts);
	setup->receipt.categories = &setup->categories;
	return CUTTLE_OK;
}

/* Decides what a ledger is charged. What is wrong with the ledger is said when it is charged. */
static bool choose_charge(const struct generate_request *request, const struct setup *setup) {
	struct ledger *ledger;
	struct ledger_standing standing = {.in_epsilon = false};
	if (request->charge != RUN_CHARGE_AUTO) return request->charge == RUN_CHARGE_EPSILON;
	// Epsilon is charged by lines alone.
	if (request->common.unit_key) return false;
	if (request->common.ledger && !request->plan.insecure &&
	    !ledger_open(request->common.ledger, &ledger, NULL)) {
		(void)ledger_look(ledger, request->common.dataset, &standing, NULL);
		ledger_close(&ledger);
	}
	return standing.in_epsilon || (setup->lots.count > 0 && !(standing.spent > 0));
}

/* Lists the examples that the prompts of each category show: of E the category's own first. */
static enum cuttle_status list_shown(const struct generate_request *request, struct setup *setup,
                                     struct cuttle_error *error) {
	const size_t count = setup->example_count, lists = setup->categories.count;
	const bool few = setup->clusters.count || request->rounds > 1;
	const size_t shown = setup->examples_per_text = !request->examples_per_text && few
	                                                    ? (size_t)FEW_EXAMPLES
	                                                    : (size_t)request->examples_per_text;
	// Half of the examples, rounded down, are texts of the first round.
	if (request->rounds > 1)
		setup->drawn = (struct cuttle_drawn){.count = shown / 2, .places = shown};
	const char *headings[MOST_CATEGORIES];
	size_t groups[MOST_EXAMPLES], chosen[MOST_EXAMPLES];
	for (size_t i = 0; i < lists; i++) headings[i] = setup->categories.all[i].heading;
	setup->plain = calloc(count + 1, sizeof *setup->plain);
	setup->shown = calloc(lists ? lists : 1, sizeof *setup->shown);
	if (!setup->plain || !setup->shown) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		groups[i] = examples_group(setup->examples[i], headings, lists, &setup->plain[i]);
	do {
		const char **list = calloc(count + 1, sizeof *list);
		if (!list) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		const size_t most = examples_choose(groups, count, setup->shown_count, shown,
		                                    EXAMPLES_NO_GROUP, chosen);
		for (size_t i = 0; i < most; i++) list[i] = setup->examples[chosen[i]];
		setup->shown[setup->shown_count++] = list;
	} while (setup->shown_count < lists);
	return CUTTLE_OK;
}

struct cuttle_plan_params setup_prompts(const struct generate_request *request,
                                        const struct setup *setup, size_t category) {
	struct cuttle_plan_params params = request->plan;
	params.stops = setup->stop.stops;
	if (request->prompt_public) params.form = CUTTLE_CUSTOM;
	params.prompt_public = setup->prompt_public;
	params.prompt_private = setup->prompt_private;
	params.examples = setup->shown[category];
	for (params.example_count = 0; params.examples[params.example_count];)
		params.example_count++;
	return params;
}

enum cuttle_status setup_category_bias(const struct setup *setup, size_t category,
                                       struct cuttle_error *error) {
	const struct bias *bias = &setup->bias;
	if (!bias->vector || !bias->receipt->categories) return CUTTLE_OK;
	return cuttle_bias_use(setup->plan, bias_of(bias, setup->categories.all[category].heading),
	                       error);
}

static enum cuttle_status make_setup_plan(const struct generate_request *request,
                                          struct setup *setup, struct cuttle_error *error) {
	struct cuttle_plan_params params = setup_prompts(request, setup, 0);
	params.spread = (uint32_t)setup->receipt.unit.weight;
	params.grammars = (const struct cuttle_grammar *const *)setup->grammar.grammars;
	params.grammar_count = setup->grammar.count;
	const char *headings[MOST_CATEGORIES];
	for (size_t i = 0; i < setup->categories.count; i++)
		headings[i] = setup->categories.all[i].heading;
	params.headings = headings;
	params.heading_count = setup->categories.count;
	params.heading_examples = (const char *const *const *)setup->shown;
	if (setup->drawn.count) params.drawn = &setup->drawn;
	// Rho adds up by zCDP. What is charged as epsilon may have the smaller one.
	const bool follows = request->common.ledger && !request->accountant_chosen;
	if (follows && request->charge != RUN_CHARGE_RHO) params.accountant = CUTTLE_EXACT;
	// Of records whose categories are private, all that is known is how many there are.
	const struct categories none = {0};
	enum cuttle_status status = lot_choice_make(
	    request, generate_counts(request) ? &none : &setup->categories, setup->receipt.texts,
	    &params, setup->grammar.schema, &setup->lots, error);
	if (!status && generate_counts(request)) {
		const size_t clusters = generate_owners(request) ? 1 : setup->categories.count;
		status = cuttle_histogram_make(
		    params.epsilon, (uint32_t)clusters, setup->receipt.texts, setup->lots.records,
		    params.batch, &setup->histogram, setup->lots.all, error);
		params.histogram = setup->receipt.histogram = &setup->histogram;
	}
	if (status) return status;
	params.lots = setup->lots.all;
	params.lot_count = setup->lots.count;
	setup->receipt.lots = setup->lots.all;
	setup->receipt.lot_count = setup->lots.count;
	setup->charges_epsilon = choose_charge(request, setup);
	if (follows && !setup->charges_epsilon) params.accountant = CUTTLE_ZCDP;
	// A shard opens no ledger. What the run's ledger decided stands in run.json.
	if (request->shard && !request->accountant_chosen)
		params.accountant = request->shard->run.terms.accountant;
	setup->accountant = params.accountant;
	status = cuttle_plan_make(setup->model, &params, &setup->plan, error);
	return !status && setup->bias.vector
	           ? cuttle_bias_use(setup->plan, setup->bias.vector, error)
	           : status;
}

enum cuttle_status setup_date(uint64_t now, char date[RECEIPT_DATE], struct cuttle_error *error) {
	struct tm parts;
	if (now > END_OF_9999)
		return io_fail(error, CUTTLE_USAGE,
		               "SOURCE_DATE_EPOCH: must be seconds since 1970, a whole number");
	const time_t moment = (time_t)now;
	(void)strftime(date, RECEIPT_DATE, "%Y-%m-%d", gmtime_r(&moment, &parts));
	return CUTTLE_OK;
}

/* By enum records_format, and for outputs by 1 + enum output_format. */
static const char *const FORMATS[] = {"auto", "jsonl", "csv"};

/* The command's fingerprint, by the stops that its receipt has. */
static enum cuttle_status set_fingerprint(const struct generate_request *request,
                                          struct setup *setup, struct cuttle_error *error) {
	const struct cuttle_plan_params *plan = &request->plan;
	// A delimiter belongs to the format, and so to the command: "csv ;".
	char input_format[64];
	(void)snprintf(input_format, sizeof input_format, "%s%s%.48s",
	               FORMATS[request->input_format], request->delimiter ? " " : "",
	               request->delimiter ? request->delimiter : "");
	struct receipt_command command = {
	    .input = request->common.input ? request->common.input : "",
	    .text_field = request->text_field,
	    .input_format = input_format,
	    .output_format = FORMATS[1 + request->output_format],
	    .insecure_seed = plan->insecure ? plan->insecure_seed : UINT64_MAX};
	return receipt_fingerprint(&setup->receipt, &command, setup->fingerprint)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Whether a run of this fingerprint was begun where this one writes. */
static bool was_begun(const struct generate_request *request, const char *fingerprint) {
	if (request->shard) return !strcmp(request->shard->run.fingerprint, fingerprint);
	if (!request->common.output || !strcmp(request->common.output, "-")) return false;
	return output_stands(request->common.output, request->common.receipt, fingerprint) ||
	       shard_run_stands(request->common.output, fingerprint);
}

/* Without --stop a run that was begun before there were stops goes on without them. The same
 * command gives its journal the same fingerprint, and another rule would end its texts elsewhere.
 */
static enum cuttle_status follow_standing(const struct generate_request *request,
                                          struct setup *setup, struct cuttle_error *error) {
	if (request->common.stop_count || !setup->receipt.stops.given) return CUTTLE_OK;
	const struct cuttle_stops stops = setup->receipt.stops;
	char fingerprint[HASH_TEXT];
	memcpy(fingerprint, setup->fingerprint, sizeof fingerprint);
	setup->receipt.stops = (struct cuttle_stops){.given = false};
	const enum cuttle_status status = set_fingerprint(request, setup, error);
	if (status) return status;
	if (was_begun(request, setup->fingerprint)) {
		stop_choice_forget(&setup->stop);
		lot_choice_free(&setup->lots);
		cuttle_plan_free(&setup->plan);
		return make_setup_plan(request, setup, error);
	}
	setup->receipt.stops = stops;
	memcpy(setup->fingerprint, fingerprint, sizeof fingerprint);
	return CUTTLE_OK;
}

static enum cuttle_status set_receipt(const struct generate_request *request, struct setup *setup,
                                      struct cuttle_error *error) {
	const char *template;
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; (template = cuttle_plan_template(setup->plan, i)); i++)
		hash_add(&hash, template, strlen(template));
	hash_end(&hash, setup->receipt.template_sha256);
	cuttle_plan_describe(setup->plan, &setup->receipt.guarantee);
	setup->rho = setup->receipt.guarantee.rho;
	setup->receipt.stops = setup->stop.stops;
	grammar_choice_tell(&setup->grammar, setup->receipt.grammar_sha256,
	                    setup->receipt.schema_sha256);
	setup->receipt.trace = request->trace != NULL;
	if (setup->bias.vector) setup->receipt.bias = bias_told(&setup->bias);
	setup->receipt.filters = request->filters;
	if (setup->grammar.count) setup->receipt.filters.trim = false; // none is cut short
	setup->receipt.places_of_rounds = (uint32_t)setup->drawn.places;
	setup->receipt.signer = setup->signer;
	setup->receipt.isa = cuttle_isa();
	setup->receipt.dataset = request->common.dataset;
	if (bias_joint_promise(&setup->receipt).delta >= 1)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "--bias %s: its delta and this run's together are 1 or more, so both "
		    "would promise nothing together: give a smaller --delta, or a bias "
		    "that was learnt with one",
		    request->bias);
	enum cuttle_status status = set_fingerprint(request, setup, error);
	if (!status) status = follow_standing(request, setup, error);
	if (status) return status;
	if (request->shard && strcmp(setup->fingerprint, request->shard->run.fingerprint) != 0)
		return io_fail(error, CUTTLE_USAGE,
		               "these are not the model, the prompts and the options that the "
		               "run was opened with. Give generate what cuttle shard open was "
		               "given, -i as well, but for the ledger");
	if (request->shard &&
	    (request->shard->run.terms.batches != setup->receipt.texts ||
	     request->shard->run.terms.places != cuttle_guarantee_asked(&setup->receipt.guarantee)))
		return io_fail(error, CUTTLE_LEDGER,
		               SHARD_RUN " has other batches than those that its command has");
	return setup_date(request->common.now, setup->receipt.date, error);
}

enum cuttle_status setup_read(const struct generate_request *request, struct setup *setup,
                              struct cuttle_error *error) {
	const enum cuttle_status status = read_public(request, setup, error);
	return status ? status : list_shown(request, setup, error);
}

enum cuttle_status generate_open(const struct generate_request *request,
                                 const struct setup_model *opened, struct setup *setup,
                                 struct cuttle_error *error) {
	*setup = (struct setup){.model = opened->model, .opening_s = opened->opening_s};
	memcpy(setup->receipt.model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(setup->model, &setup->receipt.model);
	enum cuttle_status status = setup_read(request, setup, error);
	if (!status && request->filters.drop[FILTER_UNLIKELY])
		status = likelihood_enough(setup->example_count, error);
	// A grammar says where its texts end.
	if (!status && !setup->grammar.count)
		status = stop_choice_make(request->common.stops, request->common.stop_count,
		                          setup->plain, setup->example_count,
		                          request->plan.form == CUTTLE_CONTINUE &&
		                              !request->prompt_public,
		                          &setup->stop, error);
	if (!status) status = set_parts(request, setup, error);
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &setup->signer, error);
	if (!status) status = make_setup_plan(request, setup, error);
	if (!status) status = set_receipt(request, setup, error);
	return status;
}

/* The cells of a record, in a table. */
static json_t *make_row(void *user, const struct cuttle_text *text) {
	(void)user;
	return schema_table_row(text->text, text->size);
}

void setup_rows(const struct setup *setup, struct output_request *output) {
	if (!setup->table) return;
	output->columns = schema_table_names(setup->table);
	output->column_count = schema_table_columns(setup->table);
	output->line = make_row;
}

void generate_free(struct setup *setup) {
	cuttle_plan_free(&setup->plan);
	signature_close(&setup->signer);
	for (size_t i = 0; i < setup->example_count; i++) free(setup->examples[i]);
	free(setup->examples);
	clusters_free(&setup->clusters);
	bias_close(&setup->bias);
	for (size_t i = 0; i < setup->shown_count; i++) free(setup->shown[i]);
	free(setup->shown);
	free(setup->plain);
	categories_free(&setup->categories);
	lot_choice_free(&setup->lots);
	stop_choice_free(&setup->stop);
	schema_table_free(&setup->table);
	grammar_choice_free(&setup->grammar);
	free(setup->counts);
	free(setup->seats);
	free(setup->prompt_public);
	free(setup->prompt_private);
	*setup = (struct setup){0};
}
