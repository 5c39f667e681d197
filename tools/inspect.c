// SPDX-License-Identifier: Apache-2.0
// cuttle inspect: shows the owner of the documents what generate would read. Everything it prints
// is PRIVATE.
//
// The records are read as generate reads them, but whole. io/records/survey.h counts them.
// workflow/setup.h says where generate would cut a text (with -m only). tools/common/suggestion.h
// makes the generate line. An inspect_report collects all that, and is printed as a table or as
// JSON.
#include "io/schema/record.h"
#include "tools/common/recipe.h"
#include "tools/common/values.h"

#include "base/utf8.h"
#include "io/disk/secrecy.h"
#include "tools/common/suggestion.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct inspect_values {
	/* First, as VALUE below takes offsets in a struct generate_values. Each option but --json
	 * has generate's name and meaning. */
	struct generate_values run;
	bool json;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the documents, JSONL, CSV or TSV; - is standard input"},
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	{.name = "unit-key", .first = true, VALUE(request.common.unit_key), .argument = "FIELD",
	 .help = "field or column that says whose a record is: counts the records of each owner"},
	{.name = "category-field", .first = true, VALUE(category_fields), .argument = "FIELD",
	 .help = "field or column with the records' category: counts the records of each; up to "
	         "four times"},
	{.name = "categories", .first = true, VALUE(request.categories), .argument = "LIST|FILE",
	 .help = "the categories to write, as in generate: their names are in the prompts, and "
	         "take room there"},
	{.name = "clusters", VALUE(request.clusters), .argument = "FILE",
	 .help = "a file of cuttle clusters, as in generate. It is for the generate line, "
	         "and for the room that a cluster's words take in the prompts"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "the JSON Schema of the records, as in generate: tells which of them fit, and "
	         "where the others do not"},
	FORMAT_OPTIONS(struct generate_values, request.input_format, request.delimiter),
	{.name = "batch-size", .first = true, .letter = 'B', VALUE(request.plan.batch),
	 .argument = "B",
	 .most = UINT32_MAX,
	 .help = "references per text, for the generate line (default 7)"},
	{.name = "shots", .first = true, VALUE(request.plan.shots), .argument = "R",
	 .least = 1, .most = CUTTLE_MOST_SHOTS,
	 .help = "references in each row, as generate has it, for the generate line (default 1)"},
	MODEL_OPTIONS(struct generate_values),
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context), .argument = "TOKENS",
	 .help = "longest prompt plus text, as in generate; with -m: how many documents it cuts"},
	{.name = "max-tokens", .first = true, .letter = 'n', VALUE(request.plan.tokens),
	 .argument = "T",
	 .most = UINT32_MAX,
	 .help = "tokens of a text to write, with the free ones: a document has what they leave "
	         "of -c (default 200)"},
	PROMPT_OPTIONS,
	{.name = "json", OPTION(struct inspect_values, json),
	 .help = "one JSON document instead of the table"},
};

static const char ABOUT[] =
	"generate never says what is wrong with a record, since a word about one record would "
	"tell about it. So a wrong --text-field makes every document null and spends the "
	"budget on nothing. This verb shows it before. It tells readable and null documents, "
	"lengths, records of each owner and category, and the generate line that fits.\n\n"

	"What it prints is PRIVATE, as its first line says. It goes to standard output and "
	"nowhere else, and costs no budget. Keep it where the documents are. Do not choose -e, "
	"-n or -c by it: a parameter chosen after looking at the documents tells about them. "
	"The generate line follows from the options and the number of records alone. Only "
	"where categories are declared public it follows from these, too. Where no record has "
	"the field it names the one with the most text.\n\n"

	"With --category-field the categories of the line stay private, and so do the clusters "
	"of --clusters. N then follows from the number of records alone, for lots that use "
	"half of them. Name the categories yourself, by what may be known without this report: "
	"the line takes no name from the records. With --unit-key, or with shares in "
	"--categories, it declares them public (--category-public), as generate then needs. "
	"Names, unless --categories gives them, and numbers of texts then come from the "
	"records.\n\n"

	"Lengths in tokens, and how many documents a context cuts, need -m MODEL.\n";
// clang-format on

static const char PRIVATE[] = "PRIVATE: these numbers come from the documents, and no guarantee "
                              "covers them. Keep them where the documents are.";

/* ---- names of fields ------------------------------------------------------------------------- */

enum {
	MOST_FIELDS = 64, /* names that are kept; later ones are left out */
	MISFITS = 10,     /* places of a schema that are shown */
	FIELD_NAME = 128  /* bytes of a name; longer ones are left out */
};
struct field {
	char name[FIELD_NAME + 1];
	size_t bytes; /* of text in this field, all records together */
};
struct fields {
	struct field all[MOST_FIELDS];
	size_t count;
	/* [schema_places] records that first do not fit there; NULL = there is no schema */
	const struct schema *schema;
	size_t *misfits;
};

/* Counts the text in a field. Leaves out names that are too long or not text, and any after the
 * first MOST_FIELDS. */
static void collect_field(void *user, const char *name, size_t name_size, size_t text_size) {
	struct fields *fields = user;
	if (!name_size || name_size > FIELD_NAME || memchr(name, 0, name_size) ||
	    !utf8_valid(name, name_size))
		return;
	size_t i = 0;
	while (i < fields->count && (strlen(fields->all[i].name) != name_size ||
	                             memcmp(fields->all[i].name, name, name_size) != 0))
		i++;
	if (i == MOST_FIELDS) return;
	if (i == fields->count) memcpy(fields->all[fields->count++].name, name, name_size);
	fields->all[i].bytes += text_size;
}

static void collect_misfit(void *user, size_t place) {
	((struct fields *)user)->misfits[place]++;
}

/* Goes through the places that records do not fit, those of most records first: from place *last
 * with its *count to the next. Begin with 0 and SIZE_MAX. False: there is none. */
static bool next_misfit(const struct fields *fields, size_t *last, size_t *count) {
	const size_t places = fields->misfits ? schema_places(fields->schema) : 0;
	size_t best = places;
	for (size_t i = 0; i < places; i++) {
		const size_t at = fields->misfits[i];
		const bool behind = at < *count || (at == *count && i > *last);
		if (at && behind && (best == places || at > fields->misfits[best])) best = i;
	}
	if (best == places) return false;
	*last = best;
	*count = fields->misfits[best];
	return true;
}

/* The field with the most text; NULL when no field has any. */
static const struct field *choose_field(const struct fields *fields) {
	const struct field *best = NULL;
	for (size_t i = 0; i < fields->count; i++)
		if (fields->all[i].bytes > (best ? best->bytes : 0)) best = &fields->all[i];
	return best;
}

/* ---- the report ------------------------------------------------------------------------------ */

static const char *const STATE_KEYS[RECORD_STATES] = {
    [RECORD_NO_FIELD] = "no_field",
    [RECORD_NOT_JSON] = "not_json",
    [RECORD_NAN] = "nan",
    [RECORD_HALF_PAIR] = "half_pair",
    [RECORD_NOT_TEXT] = "not_text",
    [RECORD_MISFIT] = "misfit",
    [RECORD_NOT_UTF8] = "not_utf8",
    [RECORD_TOO_LONG] = "too_long",
    [RECORD_OPEN_QUOTE] = "open_quote",
    [RECORD_AFTER_QUOTE] = "after_quote",
    [RECORD_BLANK] = "blank",
    [RECORD_READABLE] = "readable",
};

/* Everything that is reported, for both forms: the table and JSON. */
struct inspect_report {
	const struct generate_values *values;
	const struct records *records;
	const struct survey *survey;
	const struct fields *fields;
	const struct cuttle_guarantee *guarantee; /* where texts are cut; NULL = no model */
	const char *line;                         /* of generate; NULL = none fits */
	bool missing;                             /* no record has a text in the field */
	const struct categories *declared;        /* NULL = none were given */
};

static void print_numbers(const char *title, const struct survey_numbers *numbers) {
	printf("%-13s", title);
	for (size_t i = 0; i < SURVEY_QUANTILES && numbers->count; i++) {
		const unsigned percent = SURVEY_PERCENT[i];
		if (percent == 0) printf("least %zu", numbers->at[i]);
		else if (percent == 100) printf(", most %zu", numbers->at[i]);
		else printf(", %u %% %zu", percent, numbers->at[i]);
	}
	printf(numbers->count ? "\n" : "none\n");
}

/* Of one token at least: --reference-tokens takes no 0. */
static size_t find_median(const struct survey_numbers *numbers) {
	size_t i = 0;
	while (SURVEY_PERCENT[i] != 50) i++;
	return numbers->at[i] ? numbers->at[i] : 1;
}

static void print_fields(const struct fields *fields) {
	printf("%-13s", "fields");
	for (size_t i = 0; i < fields->count; i++) {
		fputs(i ? ", " : "", stdout);
		suggestion_clean(stdout, fields->all[i].name, strlen(fields->all[i].name));
	}
	printf(fields->count ? "\n" : "none\n");
}

/* The places of the schema that most records do not fit. */
static void print_misfits(const struct fields *fields) {
	size_t last = 0, count = SIZE_MAX;
	for (int shown = 0; shown < MISFITS && next_misfit(fields, &last, &count); shown++) {
		char *place = schema_place(fields->schema, last);
		printf("%-13s%8zu  ", shown ? "" : "misfits", count);
		if (place) suggestion_clean(stdout, place, strlen(place));
		putchar('\n');
		free(place);
	}
}

/* The declared category of a surveyed one, or their number. */
static size_t find_declared(const struct inspect_report *report, size_t surveyed) {
	const char *values[CATEGORY_FIELDS];
	size_t sizes[CATEGORY_FIELDS];
	for (size_t j = 0; j < report->declared->field_count; j++)
		values[j] = records_label(
		    report->records, report->survey->categories[surveyed].record, j, &sizes[j]);
	return categories_find(report->declared, values, sizes);
}

/* Counts the records of each declared category, counts[declared->count], and returns how many
 * records are in none. */
static size_t count_declared(const struct inspect_report *report, size_t counts[MOST_CATEGORIES]) {
	size_t none = report->survey->uncategorised;
	for (size_t i = 0; i < report->declared->count; i++) counts[i] = 0;
	for (size_t i = 0; i < report->survey->category_count; i++) {
		const size_t records = report->survey->categories[i].count,
		             found = find_declared(report, i);
		if (found < report->declared->count) counts[found] += records;
		else none += records;
	}
	return none;
}

/* Which declared categories no record has: generate may not tell. */
static void print_declared(const struct inspect_report *report) {
	size_t counts[MOST_CATEGORIES];
	if (!report->declared) return;
	const size_t none = count_declared(report, counts);
	printf("%-13s%zu, %zu of %zu records are in none of them%s\n", "declared",
	       report->declared->count, none, records_count(report->records),
	       none ? ": capitals count" : "");
	for (size_t i = 0; i < report->declared->count; i++) {
		if (counts[i]) continue;
		printf("%-13s%8d  ", "", 0);
		for (const char *c = report->declared->all[i].heading; *c; c++)
			suggestion_clean(stdout, *c == '\n' ? "," : c, 1);
		putchar('\n');
	}
	if (categories_like_file(report->values->request.categories))
		printf("%-13s--categories is read as the name of a category here: a file ends in "
		       ".csv or .jsonl\n",
		       "");
}

static void print_groups(const struct inspect_report *report) {
	const struct survey *survey = report->survey;
	const struct option_list *category_fields = &report->values->category_fields;
	if (report->values->request.common.unit_key) {
		printf("%-13s%zu values of %s, %zu records without one\n", "owners",
		       survey->owners.count, report->values->request.common.unit_key,
		       survey->unowned);
		print_numbers("records each", &survey->owners);
	}
	if (!category_fields->count) return;
	printf("%-13s%zu, %zu records without one\n", "categories", survey->category_count,
	       survey->uncategorised);
	for (size_t i = 0; i < survey->category_count; i++) {
		printf("%-13s%8zu  ", "", survey->categories[i].count);
		for (size_t j = 0; j < category_fields->count; j++) {
			size_t size;
			const char *label =
			    records_label(report->records, survey->categories[i].record, j, &size);
			printf("%s%s: ", j ? ", " : "", category_fields->texts[j]);
			suggestion_clean(stdout, label, size);
		}
		putchar('\n');
	}
	print_declared(report);
}

/* Where the first few records in that state are, if that is known. */
static void print_lines(const struct records *records, enum record_state state) {
	enum { SHOWN = 10 };
	size_t shown = 0;
	for (size_t i = 0; i < records_count(records) && shown <= SHOWN; i++) {
		const size_t line = records_fault_line(records, i);
		if (!line || records_state(records, i) != state) continue;
		if (shown < SHOWN) printf("%s%zu", shown ? ", " : ": line ", line);
		else printf(", ...");
		shown++;
	}
}

/* The other way to use the records: few texts with many of them each. */
static void print_recipe(const struct inspect_report *report) {
	const struct generate_values *values = report->values;
	const struct cuttle_plan_params *plan = &values->request.plan;
	struct recipe recipe;
	if (values->category_fields.count || values->request.clusters ||
	    values->request.common.unit_key || values->request.schema ||
	    !recipe_find(records_count(report->records), 10, plan->delta, plan->tokens,
	                 plan->temperature, &recipe))
		return;
	printf("Few texts with many records each say what all records say, and cuttle expand "
	       "writes more behind them. In place of -B and -N: ");
	recipe_print(stdout, &recipe);
	printf(". What the records can do to a token, gain x clip / temperature, is then %.3g. "
	       "From %g on texts took up the style of all. Many rows want a small -c, for each "
	       "keeps so many tokens in memory.\n",
	       recipe.reach, RECIPE_STRONG);
}

static void print_report(const struct inspect_report *report) {
	const struct survey *survey = report->survey;
	const struct cuttle_plan_params *plan = &report->values->request.plan;
	const size_t count = records_count(report->records);
	const uint32_t shots = suggestion_shots(report->values);
	printf("%s\n%-13s%zu\n%-13s%zu, %zu of them the same as an earlier one\n%-13s%zu\n",
	       PRIVATE, "records", count, "readable", survey->states[RECORD_READABLE],
	       survey->repeated, "null", count - survey->states[RECORD_READABLE]);
	for (size_t i = 0; i < RECORD_READABLE; i++)
		if (survey->states[i]) {
			printf("%-13s%8zu  %s", "", survey->states[i],
			       records_state_words((enum record_state)i));
			print_lines(report->records, (enum record_state)i);
			printf("\n");
		}
	if (count && !report->fields->count)
		printf("%-13sno line is a JSON object. Is it CSV? Then name it .csv\n", "");
	if (report->missing)
		printf("%-13sno record has a text in the field %s\n", "",
		       report->values->request.text_field);
	print_fields(report->fields);
	print_misfits(report->fields);
	print_numbers("bytes", &survey->bytes);
	if (report->guarantee) {
		print_numbers("tokens", &survey->tokens);
		printf("%-13s%zu: a context of %" PRIu32 " tokens has room for %" PRIu32
		       " of a document\n",
		       "cut", survey->cut, report->guarantee->context,
		       report->guarantee->reference_tokens);
	}
	print_groups(report);
	if (report->line)
		printf("\nThe generate line that fits; choose -e, -n and --kind yourself:\n\n%s\n",
		       report->line);
	else if (!count) printf("\nThere is no record to write from.\n");
	else if (!report->values->category_fields.count)
		printf("\nThere are fewer than R = %" PRIu32
		       " records, which make no row: give a smaller --shots.\n",
		       shots);
	else if (shots > 1)
		printf("\nThere are fewer than B x R = %" PRIu32 " x %" PRIu32
		       " records of a category: give a smaller -B or --shots, or other "
		       "categories.\n",
		       plan->batch, shots);
	else
		printf("\nThere are fewer than B = %" PRIu32
		       " records of a category: give a smaller -B, or other categories.\n",
		       plan->batch);
	if (report->line && shots < plan->shots)
		printf("--shots is left out: %s.\n",
		       report->values->request.common.unit_key
		           ? "an owner has only so many rows, and a record over that takes its "
		             "whole row away"
		           : "its rows are of one category, and these stay private");
	if (report->line && strstr(report->line, " --category-public ") &&
	    report->values->request.common.unit_key)
		printf("Choose: protect each %s as a whole, or keep the category of each record "
		       "secret. This line does the first; for the second leave out --unit-key.\n",
		       report->values->request.common.unit_key);
	else if (report->line && strstr(report->line, " --category-public "))
		printf("Choose: shares, or secret categories. This line does the first; for the "
		       "second leave out the shares.\n");
	else if (report->line && report->values->category_fields.count)
		printf("The categories stay private: lots use half of the records. How many "
		       "texts each category gets follows from noisy counts. None of fewer than B "
		       "records gets any. Name them in --categories by what may be known without "
		       "this report.\n");
	else if (report->line && report->values->request.clusters)
		printf("The clusters stay private: lots use half of the records. How many texts "
		       "each cluster gets follows from noisy counts. None of fewer than B "
		       "records gets any.\n");
	else if (report->line && !report->values->request.common.unit_key &&
	         records_count(report->records) / 2 >= report->values->request.plan.batch)
		printf(
		    "With half as many texts or fewer, generate draws lots (--lots), which buys a "
		    "larger clip at the same -e. cuttle budget plan --records %zu shows how "
		    "much.\n",
		    records_count(report->records));
	if (report->line) print_recipe(report);
	if (report->line && report->guarantee && survey->tokens.count)
		printf(
		    "How long it takes here: the same line with --dry-run --reference-tokens %zu, "
		    "the median.\n",
		    find_median(&survey->tokens));
	if (report->line && strstr(report->line, " categories.csv "))
		printf("\ncategories.csv is yours to write: a column for each category field, and "
		       "a line for each category.\n");
}

static json_t *encode_survey_numbers(const struct survey_numbers *numbers) {
	json_t *object = json_object();
	for (size_t i = 0; i < SURVEY_QUANTILES && object && numbers->count; i++) {
		char key[8];
		(void)snprintf(key, sizeof key, "%u", SURVEY_PERCENT[i]);
		const struct jsonout_member member = {key,
		                                      json_integer((json_int_t)numbers->at[i])};
		object = jsonout_extend(object, &member, 1);
	}
	return object;
}

static json_t *encode_category_counts(const struct inspect_report *report) {
	const struct option_list *fields = &report->values->category_fields;
	json_t *list = json_array();
	for (size_t i = 0; list && i < report->survey->category_count; i++) {
		const struct survey_category *category = &report->survey->categories[i];
		json_t *object = json_pack("{s:I}", "records", (json_int_t)category->count);
		for (size_t j = 0; j < fields->count && object; j++) {
			size_t size;
			const char *label =
			    records_label(report->records, category->record, j, &size);
			const struct jsonout_member member = {fields->texts[j],
			                                      jsonout_text(label, size)};
			object = jsonout_extend(object, &member, 1);
		}
		if (json_array_append_new(list, object) == 0) continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

/* The lines on which broken quotes open. */
static json_t *encode_fault_lines(const struct records *records) {
	json_t *list = json_array();
	for (size_t i = 0; i < records_count(records) && list; i++) {
		const size_t line = records_fault_line(records, i);
		if (!line || json_array_append_new(list, json_integer((json_int_t)line)) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

static json_t *encode_declared(const struct inspect_report *report) {
	size_t counts[MOST_CATEGORIES];
	const size_t none = count_declared(report, counts);
	json_t *list = json_array();
	for (size_t i = 0; i < report->declared->count && list; i++) {
		const char *heading = report->declared->all[i].heading;
		if (counts[i] ||
		    json_array_append_new(list, jsonout_text(heading, strlen(heading))) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	return json_pack("{s:I, s:o}", "records_in_none", (json_int_t)none, "without_records",
	                 list);
}

static json_t *encode_fields(const struct fields *fields) {
	json_t *list = json_array();
	for (size_t i = 0; i < fields->count && list; i++) {
		if (json_array_append_new(list, json_string(fields->all[i].name)) == 0) continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

static json_t *encode_misfits(const struct fields *fields) {
	json_t *object = json_object();
	size_t last = 0, count = SIZE_MAX;
	while (object && next_misfit(fields, &last, &count)) {
		char *place = schema_place(fields->schema, last);
		const struct jsonout_member member = {place ? place : "",
		                                      json_integer((json_int_t)count)};
		object = jsonout_extend(object, &member, 1);
		free(place);
	}
	return object;
}

static json_t *encode_report(const struct inspect_report *report) {
	const struct survey *survey = report->survey;
	json_t *states = json_object();
	for (size_t i = 0; i < RECORD_STATES && states; i++) {
		if (i == RECORD_MISFIT && !report->fields->misfits) continue;
		const struct jsonout_member member = {STATE_KEYS[i],
		                                      json_integer((json_int_t)survey->states[i])};
		states = jsonout_extend(states, &member, 1);
	}
	const struct jsonout_member members[] = {
	    {"states", states},
	    {"broken_quote_lines", encode_fault_lines(report->records)},
	    {"repeated", json_integer((json_int_t)survey->repeated)},
	    {"fields", encode_fields(report->fields)},
	    {"bytes", encode_survey_numbers(&survey->bytes)},
	    {"generate", report->line ? json_string(report->line) : json_null()}};
	json_t *root = json_pack("{s:s, s:I}", "PRIVATE", PRIVATE, "records",
	                         (json_int_t)records_count(report->records));
	root = jsonout_extend(root, members, sizeof members / sizeof *members);
	if (report->guarantee) {
		const struct jsonout_member more[] = {
		    {"tokens", encode_survey_numbers(&survey->tokens)},
		    {"cut", json_integer((json_int_t)survey->cut)},
		    {"context", json_integer(report->guarantee->context)},
		    {"reference_tokens", json_integer(report->guarantee->reference_tokens)}};
		root = jsonout_extend(root, more, sizeof more / sizeof *more);
	}
	if (report->values->request.common.unit_key) {
		const struct jsonout_member more[] = {
		    {"owners", json_integer((json_int_t)survey->owners.count)},
		    {"records_per_owner", encode_survey_numbers(&survey->owners)},
		    {"without_owner", json_integer((json_int_t)survey->unowned)}};
		root = jsonout_extend(root, more, sizeof more / sizeof *more);
	}
	if (report->values->category_fields.count) {
		const struct jsonout_member more[] = {
		    {"categories", encode_category_counts(report)},
		    {"without_category", json_integer((json_int_t)survey->uncategorised)}};
		root = jsonout_extend(root, more, sizeof more / sizeof *more);
	}
	if (report->fields->misfits)
		root = jsonout_extend(
		    root, &(struct jsonout_member){"misfits", encode_misfits(report->fields)}, 1);
	if (report->declared)
		root = jsonout_extend(
		    root, &(struct jsonout_member){"declared", encode_declared(report)}, 1);
	return root;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Makes a plan, since the plan says where a document is cut. The clip does not change that, so this
 * uses a clip of 1, which works for every batch size; clusters need an epsilon. */
static int prepare_cut(const struct verb *verb, struct generate_values *values,
                       struct setup_model *opened, struct setup *setup) {
	struct cuttle_error error;
	if (values->request.clusters) values->request.plan.epsilon = 10;
	else values->request.plan.clip = 1;
	values->accountant = CUTTLE_ZCDP;
	values->dry_run = true; // nothing is drawn, so memory for it is no matter
	values_settle(values);
	// Its plan is for lengths alone: no record is counted for lots.
	values->request.common.input = NULL;
	if (!values->request.clusters) values->request.lots = RUN_LOTS_OFF;
	values->request.category_public = values->request.categories != NULL;
	const int code = verb_open_hashed(verb, &values->open, opened);
	if (code) return code;
	const enum cuttle_status status = generate_open(&values->request, opened, setup, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int tell_owner(const struct verb *verb, const struct inspect_values *values,
                      const struct records *records, const struct fields *fields,
                      const struct setup *setup) {
	const struct generate_values *run = &values->run;
	const struct cuttle_guarantee *guarantee = setup->plan ? &setup->receipt.guarantee : NULL;
	struct categories declared = {0};
	const struct survey_request request = {
	    .records = records,
	    .model = setup->model,
	    .reference_tokens = guarantee ? guarantee->reference_tokens : 0,
	    .reference_bytes = guarantee ? guarantee->reference_bytes : 0,
	    .owners = run->request.common.unit_key != NULL,
	    .label_count = run->category_fields.count};
	struct survey survey;
	struct cuttle_error error;
	int code = CUTTLE_OK;
	enum cuttle_status status = survey_make(&request, &survey, &error);
	if (!status && run->request.categories)
		status = categories_read(run->category_fields.texts, run->category_fields.count,
		                         run->request.categories, &declared, &error);
	if (status) {
		code = verb_fail(verb, status, &error);
	} else {
		const bool missing =
		    !survey.states[RECORD_READABLE] && fields->count && !fields->schema;
		const struct field *found = missing ? choose_field(fields) : NULL;
		char *line =
		    suggestion_line(verb, run, records, &survey, found ? found->name : NULL);
		const struct inspect_report report = {
		    run,       records, &survey, fields,
		    guarantee, line,    missing, declared.count ? &declared : NULL};
		if (values->json) code = verb_print(verb, encode_report(&report), JSON_INDENT(2));
		else print_report(&report);
		secrecy_free(line);
	}
	categories_free(&declared);
	survey_free(&survey);
	return code;
}

static int inspect_file(const struct verb *verb, const struct inspect_values *values,
                        const struct schema *schema, const struct setup *setup) {
	const struct generate_values *run = &values->run;
	struct records *records;
	struct cuttle_error error;
	struct fields *fields = calloc(1, sizeof *fields);
	if (fields) fields->schema = schema;
	if (fields && schema)
		fields->misfits = calloc(schema_places(schema) + 1, sizeof *fields->misfits);
	if (!fields || (schema && !fields->misfits)) {
		free(fields);
		return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	}
	const struct records_request request = {.path = run->request.common.input,
	                                        .field = run->request.text_field,
	                                        .schema = schema,
	                                        .id_field = run->request.common.unit_key,
	                                        .id_is_owner = true,
	                                        .all_columns = true,
	                                        .format = run->request.input_format,
	                                        .delimiter = run->request.delimiter,
	                                        .limit = SIZE_MAX,
	                                        .labels = run->category_fields.texts,
	                                        .label_count = run->category_fields.count,
	                                        .on_field = collect_field,
	                                        .on_misfit = collect_misfit,
	                                        .user = fields};
	const enum cuttle_status status = records_read(&request, &records, &error);
	if (!status && run->open.mlock) records_lock(records);
	int code = status ? verb_fail(verb, status, &error)
	                  : tell_owner(verb, values, records, fields, setup);
	// records_read fails when a CSV header lacks the column. The names of its columns help
	// then.
	if (status && fields->count && !values->json) {
		printf("%s\n", PRIVATE);
		print_fields(fields);
	}
	records_free(&records);
	secrecy_free(fields->misfits);
	secrecy_free(fields);
	return code;
}

static int run_inspect_verb(const struct verb *verb, int argc, char **argv) {
	struct inspect_values values = {.run = values_defaults()};
	struct setup_model opened = {0};
	struct setup setup = {0};
	int operand, code;
	secrecy_begin();
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand != argc)
		return verb_refuse(verb, CUTTLE_USAGE, "give the documents with -i FILE");
	const struct verb_need need = {!values.run.request.common.input, "-i FILE",
	                               "-i notes.jsonl"};
	if ((code = verb_lacks(verb, &need, 1))) return code;
	if (values.run.request.categories && !values.run.category_fields.count)
		return verb_refuse(verb, CUTTLE_USAGE, "--categories needs --category-field FIELD");
	if (values.run.request.clusters &&
	    (values.run.category_fields.count || values.run.request.common.unit_key))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--clusters: leave out --category-field and --unit-key, as in "
		                   "generate");
	if (!values.run.request.plan.batch)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--batch-size: must be a whole number above 0");
	if (values.run.request.schema && values.run.request.clusters)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--schema: leave out --clusters, as in generate");
	struct generate_values cut = values.run;
	struct grammar_choice grammar = {0};
	struct cuttle_error error;
	// With a model the setup reads the schema; it may be a pipe.
	if (cut.open.model) code = prepare_cut(verb, &cut, &opened, &setup);
	const enum cuttle_status status =
	    cut.open.model ? CUTTLE_OK
	                   : grammar_choice_read(NULL, cut.request.schema, &grammar, &error);
	if (status) code = verb_fail(verb, status, &error);
	const struct schema *schema = cut.open.model ? setup.grammar.schema : grammar.schema;
	if (!code) code = inspect_file(verb, &values, schema, &setup);
	grammar_choice_free(&grammar);
	generate_free(&setup);
	cuttle_model_free(&opened.model);
	return code;
}

const struct verb inspect_verb = {
    .name = "inspect",
    .usage = "-i FILE [-m MODEL] [OPTION]...",
    .summary = "what generate would read: PRIVATE, for the owner of the documents alone",
    .example = "-i notes.jsonl -m MODEL.gguf --unit-key patient",
    .another = "-i notes.csv --text-field note --category-field ward -m MODEL.gguf -c 2048",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_inspect_verb,
};
