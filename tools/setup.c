// SPDX-License-Identifier: Apache-2.0
// Turns the options of generate into model, plan and receipt, in the order of setup_make. Below
// that are the texts of --dry-run: configuration, guarantee, time and memory.
#include "tools/setup.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/records.h"
#include "tools/load.h"
#include "tools/pace.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MOST_EXAMPLES = 1024, /* public examples */
	MOST_PROMPT = 1 << 20 /* bytes of an own prompt */
};
/* Seconds since 1970 of 9999-12-31 23:59:59 UTC: later years have five digits. */
#define END_OF_9999 253402300799u

struct generate_values setup_defaults(void) {
	struct cuttle_plan_params plan;
	cuttle_plan_params_default(&plan);
	return (struct generate_values){.text_field = "text",
	                                .kind = plan.kind,
	                                .epsilon = NAN,
	                                .clip = NAN,
	                                .delta = plan.delta,
	                                .temperature = plan.temperature,
	                                .batch = plan.batch,
	                                .texts = 100,
	                                .tokens = plan.tokens,
	                                .top_k = plan.top_k,
	                                .context = plan.context,
	                                .insecure_seed = COUNT_NONE,
	                                .texts_per_category = COUNT_NONE,
	                                .records_per_unit = COUNT_NONE,
	                                .prompt_chunk = plan.prompt_chunk,
	                                .form = CHOICE_NONE,
	                                .accountant = CHOICE_NONE,
	                                .center = CHOICE_NONE};
}

static void hash_bytes(void *user, const void *bytes, size_t size) {
	hash_add(user, bytes, size);
}

static int open_hashed_model(const struct verb *verb, const struct generate_values *values,
                             struct setup *setup) {
	struct hash hash;
	struct cuttle_model_params params;
	hash_begin(&hash);
	cuttle_model_params_default(&params);
	params.on_bytes = hash_bytes;
	params.user = &hash;
	int code = verb_open(verb, &values->open, &params, &setup->model);
	if (code) return code;
	hash_end(&hash, setup->receipt.model_sha256);
	cuttle_model_describe(setup->model, &setup->receipt.model);
	return CUTTLE_OK;
}

static enum cuttle_status read_prompt(const char *path, char **prompt, struct cuttle_error *error) {
	size_t size;
	enum cuttle_status status = file_read(path, MOST_PROMPT, prompt, &size, error);
	if (!status && (strlen(*prompt) != size || !utf8_valid(*prompt, size)))
		status =
		    io_fail(error, CUTTLE_INPUT, "%s: a prompt must be UTF-8 without NUL", path);
	return status;
}

/* The text of a public example. Above it a line "FIELD: VALUE" for each category field, when the
 * record has all of them. NULL: out of memory. */
static char *make_example(const struct generate_values *values, const struct records *records,
                          size_t index) {
	const struct option_list *fields = &values->category_fields;
	char *example = NULL;
	size_t size, known = 0, length;
	const char *text = records_text(records, index, &size);
	FILE *out = open_memstream(&example, &length);
	if (!out) return NULL;
	while (known < fields->count && records_label(records, index, known, &length)) known++;
	for (size_t i = 0; known == fields->count && i < known; i++) {
		const char *value = records_label(records, index, i, &length);
		(void)fprintf(out, "%s: %.*s\n", fields->texts[i], (int)length, value);
	}
	(void)fwrite(text, 1, size, out);
	if (!fclose(out)) return example;
	free(example);
	return NULL;
}

static enum cuttle_status read_examples(const struct generate_values *values, struct setup *setup,
                                        struct cuttle_error *error) {
	const char *path = values->public_examples;
	const struct records_request request = {
	    .path = path,
	    .field = values->examples_field ? values->examples_field : values->text_field,
	    .limit = MOST_EXAMPLES + 1,
	    .labels = values->category_fields.texts,
	    .label_count = values->category_fields.count};
	struct records *records;
	enum cuttle_status status = records_read(&request, &records, error);
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
		// Examples are public. So a wrong one is an error, as it never is for a reference.
		if (!text || !size || memchr(text, 0, size))
			status = io_fail(error, CUTTLE_INPUT,
			                 "%s: record %zu has no text in its field %s", path, i,
			                 request.field);
		else if (!(setup->examples[setup->example_count++] =
		               make_example(values, records, i)))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	records_free(&records);
	return status;
}

static enum cuttle_status read_public(const struct generate_values *values, struct setup *setup,
                                      struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (values->prompt_public)
		status = read_prompt(values->prompt_public, &setup->prompt_public, error);
	if (!status && values->prompt_private)
		status = read_prompt(values->prompt_private, &setup->prompt_private, error);
	if (!status && values->public_examples) status = read_examples(values, setup, error);
	if (!status && values->categories)
		status =
		    categories_read(values->category_fields.texts, values->category_fields.count,
		                    values->categories, &setup->categories, error);
	return status;
}

uint64_t setup_unit_limit(const struct generate_values *values) {
	return values->one_per_unit                     ? 1
	       : values->records_per_unit != COUNT_NONE ? values->records_per_unit
	                                                : 0;
}

/* Decides how many texts are written of each category, and for which unit the guarantee is. */
static enum cuttle_status set_parts(const struct generate_values *values, struct setup *setup,
                                    struct cuttle_error *error) {
	const uint64_t limit = setup_unit_limit(values),
	               shares = categories_shares(&setup->categories);
	uint64_t texts = values->texts;
	if (values->texts_per_category != COUNT_NONE &&
	    __builtin_mul_overflow(values->texts_per_category, shares, &texts))
		texts = SIZE_MAX;
	if (texts > SIZE_MAX / 2)
		return io_fail(error, CUTTLE_USAGE, "--num-per-category: too many texts");
	setup->receipt.texts = (size_t)texts;
	setup->receipt.unit = (struct receipt_unit){
	    .key = values->unit_key, .limited = limit > 0, .weight = limit ? limit : 1};
	if (!setup->categories.count) return CUTTLE_OK;
	categories_spread(&setup->categories, setup->receipt.texts);
	setup->receipt.categories = &setup->categories;
	return CUTTLE_OK;
}

static enum cuttle_status make_setup_plan(const struct generate_values *values, struct setup *setup,
                                          struct cuttle_error *error) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = values->epsilon;
	params.clip = values->clip;
	params.delta = values->delta;
	params.temperature = values->temperature;
	params.batch = (uint32_t)values->batch;
	// A ledger adds up rho. So with a ledger epsilon is that of rho, unless the user chooses.
	if (values->accountant != CHOICE_NONE)
		params.accountant = (enum cuttle_accountant)values->accountant;
	else if (values->ledger) params.accountant = CUTTLE_ZCDP;
	params.tokens = (uint32_t)values->tokens;
	params.top_k = (uint32_t)values->top_k;
	params.context = (uint32_t)values->context;
	params.savings = (struct cuttle_savings){.center = values->center == 0,
	                                         .token_bank = values->token_bank,
	                                         .complete = values->complete,
	                                         .public_when = values->public_when,
	                                         .free_tokens = (uint32_t)values->free_tokens};
	params.form = values->prompt_public ? CUTTLE_CUSTOM
	              : values->form == 1   ? CUTTLE_INSTRUCT
	                                    : CUTTLE_CONTINUE;
	params.kind = values->kind;
	params.system = values->system;
	params.chat_format = values->chat_format;
	params.spread = (uint32_t)setup->receipt.unit.weight;
	const char *headings[MOST_CATEGORIES];
	for (size_t i = 0; i < setup->categories.count; i++)
		headings[i] = setup->categories.all[i].heading;
	params.headings = headings;
	params.heading_count = setup->categories.count;
	params.prompt_public = setup->prompt_public;
	params.prompt_private = setup->prompt_private;
	params.examples = (const char *const *)setup->examples;
	params.example_count = setup->example_count;
	params.insecure = values->insecure_seed != COUNT_NONE;
	params.insecure_seed = params.insecure ? values->insecure_seed : 0;
	params.prompt_chunk = (uint32_t)values->prompt_chunk;
	params.parallel = (uint32_t)values->parallel;
	params.no_sharing = values->no_sharing;
	params.any_memory = values->dry_run;
	return cuttle_plan_make(setup->model, &params, &setup->plan, error);
}

/* Sets the date to today in UTC, or to the day of SOURCE_DATE_EPOCH. With that variable a run can
 * be repeated byte for byte. */
static enum cuttle_status read_clock(char date[RECEIPT_DATE], struct cuttle_error *error) {
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds = (uint64_t)time(NULL);
	struct tm parts;
	if (text && !options_count(text, END_OF_9999, &seconds))
		return io_fail(error, CUTTLE_USAGE,
		               "SOURCE_DATE_EPOCH: must be seconds since 1970, a whole number");
	const time_t moment = (time_t)seconds;
	(void)strftime(date, RECEIPT_DATE, "%Y-%m-%d", gmtime_r(&moment, &parts));
	return CUTTLE_OK;
}

/* In the order of --input-format's and --output-format's choices. */
static const char *const FORMATS[] = {"auto", "jsonl", "csv"};

static enum cuttle_status set_receipt(const struct generate_values *values, struct setup *setup,
                                      struct cuttle_error *error) {
	const char *template;
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; (template = cuttle_plan_template(setup->plan, i)); i++)
		hash_add(&hash, template, strlen(template));
	hash_end(&hash, setup->receipt.template_sha256);
	cuttle_plan_describe(setup->plan, &setup->receipt.guarantee);
	setup->receipt.trace = values->trace != NULL;
	setup->receipt.signer = setup->signer;
	setup->receipt.isa = cuttle_isa();
	setup->format = values->output_format
	                    ? (enum output_format)(values->output_format - 1)
	                    : output_format_of(values->output ? values->output : "");
	// A delimiter belongs to the format, and so to the command: "csv ;".
	char input_format[64];
	(void)snprintf(input_format, sizeof input_format, "%s%s%.48s",
	               FORMATS[values->input_format], values->delimiter ? " " : "",
	               values->delimiter ? values->delimiter : "");
	struct receipt_command command = {.input = values->input ? values->input : "",
	                                  .text_field = values->text_field,
	                                  .input_format = input_format,
	                                  .output_format = FORMATS[1 + setup->format],
	                                  .insecure_seed = values->insecure_seed};
	setup->receipt.dataset = values->dataset;
	if (!receipt_fingerprint(&setup->receipt, &command, setup->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return read_clock(setup->receipt.date, error);
}

int setup_make(const struct verb *verb, const struct generate_values *values, struct setup *setup) {
	struct cuttle_error error;
	*setup = (struct setup){0};
	int code = open_hashed_model(verb, values, setup);
	if (code) return code;
	enum cuttle_status status = read_public(values, setup, &error);
	if (!status) status = set_parts(values, setup, &error);
	if (!status && values->sign) status = signature_open(values->sign, &setup->signer, &error);
	if (!status) status = make_setup_plan(values, setup, &error);
	if (!status) status = set_receipt(values, setup, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

void setup_free(struct setup *setup) {
	cuttle_plan_free(&setup->plan);
	cuttle_model_free(&setup->model);
	signature_close(&setup->signer);
	for (size_t i = 0; i < setup->example_count; i++) free(setup->examples[i]);
	free(setup->examples);
	categories_free(&setup->categories);
	free(setup->prompt_public);
	free(setup->prompt_private);
	*setup = (struct setup){0};
}

static void print_parts(const struct setup *setup) {
	const struct receipt_unit *unit = &setup->receipt.unit;
	for (size_t i = 0; i < setup->categories.count; i++) {
		const struct category *category = &setup->categories.all[i];
		printf("category      %zu texts, %" PRIu64 " references", category->texts,
		       (uint64_t)category->texts * setup->receipt.guarantee.batch);
		for (size_t j = 0; j < setup->categories.field_count; j++)
			printf(", %s: %s", setup->categories.fields[j], category->values[j]);
		printf("\n");
	}
	if (unit->limited)
		printf("unit          everybody with one value of %s: one record in each of at "
		       "most %" PRIu64 " texts\n",
		       unit->key, unit->weight);
	else if (unit->key)
		printf("unit          everybody with one value of %s: a run says what the most "
		       "frequent one costs; below it is one record\n",
		       unit->key);
}

static void print_savings(const struct cuttle_guarantee *guarantee) {
	const struct cuttle_savings *savings = &guarantee->savings;
	if (savings->center) printf("differences   clipped around their median\n");
	if (savings->token_bank) printf("token bank    what is left of n begins further texts\n");
	if (savings->public_when > 0)
		printf("public when   the top probability is %.6g or more\n", savings->public_when);
	if (savings->complete)
		printf("complete      after n tokens from the public prompt alone\n");
	if (savings->free_tokens)
		printf("free tokens   at most %" PRIu32 " %s\n", savings->free_tokens,
		       savings->token_bank ? "per batch" : "per text");
}

void setup_say_cap(const struct generate_values *values, const struct setup *setup, FILE *file) {
	if (setup->receipt.guarantee.clip_capped)
		fprintf(file,
		        "At this batch and temperature the weights hold no clip above %.6g. That "
		        "one is used, and epsilon is what it comes to, less than the %g asked "
		        "for.\n",
		        setup->receipt.guarantee.clip, values->epsilon);
}

void setup_print(const struct generate_values *values, const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const struct cuttle_model_info *model = &setup->receipt.model;
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       values->open.model, model->file_bytes, setup->receipt.model_sha256, cuttle_isa());
	printf("%s%zu, of at most n = %" PRIu32 " tokens\nbatch B       %" PRIu32
	       " references per text: %" PRIu64 " needed\n",
	       guarantee->savings.token_bank ? "batches N     " : "texts N       ",
	       setup->receipt.texts, guarantee->tokens, guarantee->batch,
	       (uint64_t)setup->receipt.texts * guarantee->batch);
	print_parts(setup);
	print_savings(guarantee);
	printf("temperature   %.10g\ntop-k         %" PRIu32 "\n", guarantee->temperature,
	       guarantee->top_k);
	printf("clip          %.10g (%" PRId32 " / 2^%" PRIu32 ")\n", guarantee->clip,
	       guarantee->clip_fixed, guarantee->fraction_bits);
	printf("epsilon       %.10g (%s)\n", receipt_epsilon(guarantee),
	       guarantee->accountant == CUTTLE_EXACT ? "exact composition" : "zCDP");
	if (guarantee->accountant == CUTTLE_EXACT)
		printf("epsilon       %.10g (zCDP)\n", guarantee->epsilon);
	else if (isfinite(guarantee->epsilon_exact))
		printf("epsilon       %.10g (exact composition)\n", guarantee->epsilon_exact);
	printf("delta         %g\nrho           %.10g\n", guarantee->delta, guarantee->rho);
	printf("context       %" PRIu32 " tokens: %" PRIu32 " shared by all prompts, %" PRIu32
	       " in the public prompt, at most %" PRIu32 " of a reference\n",
	       guarantee->context, guarantee->shared_prefix, guarantee->public_tokens,
	       guarantee->reference_tokens);
	printf("template      %s\ncommand       %s\n", setup->receipt.template_sha256,
	       setup->fingerprint);
	char sentence[RECEIPT_SENTENCE];
	const struct receipt_unit *unit = &setup->receipt.unit;
	receipt_sentence(guarantee, setup->receipt.texts, unit->limited ? unit->key : NULL,
	                 sentence);
	setup_say_cap(values, setup, stdout);
	printf("%s\n", sentence);
}

/* ---- time and memory ------------------------------------------------------------------------- */

static void print_time(double seconds) {
	if (seconds < 90) printf("%.0f seconds", fmax(1, seconds));
	else if (seconds < 2 * 3600) printf("%.0f minutes", seconds / 60);
	else printf("%.1f hours", seconds / 3600);
}

/* Prints the time for references of typical length, and for references that fill their room. Memory
 * is for full ones. It does not depend on how long the references are: that is private. */
static void print_cost(const struct setup *setup, const struct pace *pace) {
	const struct cuttle_guarantee *g = &setup->receipt.guarantee;
	const double texts = (double)setup->receipt.texts, batch = g->batch, tokens = g->tokens;
	// Tokens of a prompt around its reference, without the shared prefix, which is computed
	// once for all contexts. For example: a context of 1000, 200 tokens to draw, 600 of a
	// reference, 150 shared, none free: 50.
	const double room = g->reference_tokens, around = (double)g->context - tokens -
	                                                  g->savings.free_tokens - room -
	                                                  g->shared_prefix;
	const double typical = fmin(PACE_PROMPT, room);
	const double memory = pace_process_bytes(g->job_bytes) + texts * batch * g->reference_bytes;
	const double has = pace_machine_memory();
	printf("time          about ");
	print_time(pace_seconds(pace, texts, batch, around + typical, tokens));
	printf(" if references have %.0f tokens", typical);
	if (room > typical) {
		printf(", more than ");
		print_time(pace_seconds(pace, texts, batch, around + room, tokens));
		printf(" if each has %.0f", room);
	}
	printf("\nmemory        ");
	if (isnan(memory)) printf("unknown: the system does not say\n");
	else
		printf("at most %.2f GB of this machine's %.2f GB%s\n", memory / 1e9, has / 1e9,
		       memory > has ? ": TOO MUCH, lower -B, -c or --parallel" : "");
}

int setup_print_cost(const struct verb *verb, const struct generate_values *values,
                     const struct setup *setup) {
	const struct cuttle_guarantee *g = &setup->receipt.guarantee;
	struct cuttle_error error;
	struct paces paces = {0};
	struct pace measured;
	struct load load;
	enum cuttle_status status;
	if (values->bench) {
		status = paces_read(values->bench, &paces, &error);
		if (!status && paces.model_bytes != (double)setup->receipt.model.file_bytes &&
		    !isnan(paces.model_bytes))
			status = io_fail(
			    &error, CUTTLE_INPUT,
			    "%s: measured with another model; measure this one with cuttle bench",
			    file_shown(values->bench));
		if (!status) print_cost(setup, paces_nearest(&paces, g->batch));
		if (!status) printf("measured      by cuttle bench, in %s\n", values->bench);
	} else {
		load_begin(&load);
		status = pace_measure(setup->model, g->batch, (uint32_t)values->parallel, &measured,
		                      &error);
		if (!status) load_warn(verb->name, load_of_others(&load));
		if (!status) print_cost(setup, &measured);
		if (!status)
			printf("measured      now, on %.0f threads, with B = %.0f: %.0f prompt "
			       "tokens and %.0f rows of steps a second\n",
			       measured.threads, measured.batch, measured.prompt_tokens_per_s,
			       measured.rows_per_s);
	}
	paces_free(&paces);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}
