// SPDX-License-Identifier: Apache-2.0
#include "tools/plan.h"

#include "io/fail.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LIST = 32, MOST_ROWS = MOST_LIST * MOST_LIST, NUMBER = 48, MOST_BENCH = 1 << 24 };

/* How fast a machine is, where rows are contexts: one public, B private. */
struct pace {
	double rows_per_s, batch, prompt, prompt_tokens_per_s; /* the last three NaN where only the first is known */
};

/* What is NaN is unknown, or out of the accountant's range. */
struct row {
	double epsilon, delta, batch, tokens, temperature;
	double clip_zcdp, clip_exact, rho_zcdp, rho_exact;
	double texts, references, seconds;
	struct pace pace;
};

struct table {
	struct row rows[MOST_ROWS];
	size_t count;
};

enum rounding { NEAREST, DOWN, UP };
static const struct column {
	const char *key, *title;
	size_t offset;
	double unit; /* of the title */
	enum rounding rounding;
	bool whole;
} COLUMNS[] = {
#define AT(member) offsetof(struct row, member)
    {"epsilon", "epsilon", AT(epsilon), 1, NEAREST, false},
    {"delta", "delta", AT(delta), 1, NEAREST, false},
    {"batch", "B", AT(batch), 1, NEAREST, true},
    {"tokens", "T", AT(tokens), 1, NEAREST, true},
    {"temperature", "tau", AT(temperature), 1, NEAREST, false},
    {"clip_zcdp", "clip zcdp", AT(clip_zcdp), 1, DOWN, false},
    {"clip_exact", "clip exact", AT(clip_exact), 1, DOWN, false},
    {"rho_zcdp", "rho zcdp", AT(rho_zcdp), 1, UP, false},
    {"rho_exact", "rho exact", AT(rho_exact), 1, UP, false},
    {"texts", NULL, AT(texts), 1, NEAREST, true},
    {"references", "references", AT(references), 1, NEAREST, true},
    {"seconds", "hours", AT(seconds), 1.0 / 3600, NEAREST, false},
    {"rows_per_s", NULL, AT(pace.rows_per_s), 1, NEAREST, false},
    {"bench_batch", NULL, AT(pace.batch), 1, NEAREST, true},
    {"bench_prompt", NULL, AT(pace.prompt), 1, NEAREST, true},
    {"prompt_tokens_per_s", NULL, AT(pace.prompt_tokens_per_s), 1, NEAREST, false},
};
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

/* The members of a comma-separated list. Returns how many, 0 when one is no number. */
static size_t list(const char *text, double values[MOST_LIST]) {
	char item[NUMBER];
	for (size_t count = 0; count < MOST_LIST; text++) {
		size_t size = strcspn(text, ",");
		if (size >= sizeof item) return 0;
		memcpy(item, text, size);
		item[size] = 0;
		if (!options_real(item, &values[count++])) return 0;
		text += size;
		if (!*text) return count;
	}
	return 0;
}

/* ---- time ---------------------------------------------------------------------------------------------------------------------------- */

static bool member(const json_t *run, const char *key, double least, double *value) {
	*value = json_number_value(json_object_get(run, key));
	return json_is_number(json_object_get(run, key)) && *value >= least && *value <= 1e15;
}

/* The run of the bench with the batch nearest to each row's, and of those the fastest. */
static bool nearest(const json_t *runs, double batch, struct pace *nearest) {
	const double least = 1e-9;
	*nearest = (struct pace){.batch = INFINITY};
	for (size_t i = 0; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		struct pace pace;
		if (!member(run, "batch", 0, &pace.batch) || !member(run, "prompt", 0, &pace.prompt) ||
		    !member(run, "rows_per_s", least, &pace.rows_per_s) ||
		    !member(run, "prompt_tokens_per_s", least, &pace.prompt_tokens_per_s))
			return false;
		const double farther = fabs(pace.batch - batch) - fabs(nearest->batch - batch);
		if (farther < 0 || (farther == 0 && pace.rows_per_s > nearest->rows_per_s)) *nearest = pace;
	}
	return json_array_size(runs) > 0;
}

static enum cuttle_status add_time(const struct plan_request *request, struct table *table, struct cuttle_error *error) {
	json_t *root = NULL;
	if (request->bench) {
		char *bytes;
		size_t size;
		const enum cuttle_status status = file_read(request->bench, MOST_BENCH, &bytes, &size, error);
		if (status) return status;
		root = json_loadb(bytes, size, 0, NULL);
		free(bytes);
	}
	bool good = true;
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = &table->rows[i];
		row->pace = (struct pace){request->rows_per_s, NAN, NAN, NAN};
		if (request->bench) good = good && nearest(json_object_get(root, "runs"), row->batch, &row->pace);
		const double prompt = request->bench ? row->pace.prompt / row->pace.prompt_tokens_per_s : 0;
		row->seconds = row->texts * (row->batch + 1) * (row->tokens / row->pace.rows_per_s + prompt);
	}
	json_decref(root);
	return good ? CUTTLE_OK : io_fail(error, CUTTLE_INPUT, "%s: not what cuttle bench -o json prints", file_shown(request->bench));
}

/* ---- output -------------------------------------------------------------------------------------------------------------------------- */

static double value(const struct row *row, const struct column *column) {
	return *(const double *)(const void *)((const char *)row + column->offset);
}

/* Six digits, to the side that is safe to copy. */
static void print_cell(double number, enum rounding rounding) {
	char text[NUMBER];
	if (!isfinite(number)) {
		printf(" - |");
		return;
	}
	(void)snprintf(text, sizeof text, "%.6g", number);
	const double shown = strtod(text, NULL), half = pow(10, floor(log10(number)) - 5) / 2;
	if (rounding == DOWN && shown > number) (void)snprintf(text, sizeof text, "%.6g", number - half);
	if (rounding == UP && shown < number) (void)snprintf(text, sizeof text, "%.6g", number + half);
	printf(" %s |", text);
}

static void print_md(const struct plan_request *request, const struct table *table) {
	const struct cuttle_budget *known = &request->known;
	for (int rule = 0; rule < 2; rule++) {
		putchar('|');
		for (size_t c = 0; c < COLUMN_COUNT; c++)
			if (COLUMNS[c].title) printf(rule ? " --: |" : " %s |", COLUMNS[c].title);
		putchar('\n');
	}
	for (size_t i = 0; i < table->count; i++) {
		putchar('|');
		for (size_t c = 0; c < COLUMN_COUNT; c++) {
			const struct column *column = &COLUMNS[c];
			const double number = value(&table->rows[i], column) * column->unit;
			if (!column->title) continue;
			if (column->whole) printf(" %.0f |", number);
			else print_cell(number, column->rounding);
		}
		putchar('\n');
	}
	if (known->group > 1)
		printf("\nepsilon, delta and rho are those of a person with %u references, %s.\n", known->group,
		       known->spread ? "each in another text" : "all in one text");
	printf(
	    "\nclip is rounded down, rho up. exact allows more for one run alone; rho exact is what that clip costs where runs add up.\n");
	if (request->bench)
		printf("hours: %.0f texts, every one to its cap, one at a time as in the run of %s with the nearest B, whose prompt is "
		       "read in "
		       "every context.\n",
		       request->texts, request->bench);
	else if (!isnan(request->rows_per_s))
		printf("hours: %.0f texts, every one to its cap, B + 1 rows a token, %g rows a second; prompts are not counted.\n",
		       request->texts, request->rows_per_s);
	else printf("hours need --bench FILE, which cuttle bench -o json makes, or --rows-per-second R.\n");
}

static void print_csv(const struct table *table) {
	for (size_t c = 0; c < COLUMN_COUNT; c++) printf("%s%s", c ? "," : "", COLUMNS[c].key);
	putchar('\n');
	for (size_t i = 0; i < table->count; i++)
		for (size_t c = 0; c < COLUMN_COUNT; c++) {
			const double number = value(&table->rows[i], &COLUMNS[c]);
			if (c) putchar(',');
			if (isfinite(number)) printf("%.*g", 17, number);
			if (c + 1 == COLUMN_COUNT) putchar('\n');
		}
}

static json_t *json_of(const struct row *row) {
	json_t *object = json_object();
	for (size_t c = 0; c < COLUMN_COUNT && object; c++) {
		const double number = value(row, &COLUMNS[c]);
		const bool whole = COLUMNS[c].whole && isfinite(number);
		const struct jsonout_member member = {COLUMNS[c].key, whole ? json_integer((json_int_t)number) : jsonout_real(number)};
		object = jsonout_extend(object, &member, 1);
	}
	return object;
}

static int print(const struct verb *verb, const struct plan_request *request, const struct table *table) {
	if (request->format == PLAN_MD) print_md(request, table);
	if (request->format == PLAN_CSV) print_csv(table);
	if (request->format != PLAN_JSON) return CUTTLE_OK;
	json_t *rows = json_array();
	for (size_t i = 0; i < table->count; i++)
		if (json_array_append_new(rows, json_of(&table->rows[i])) != 0) return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	return verb_print(verb, rows, JSON_COMPACT);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------------------- */

/* clip and rho of the row by one accountant. NaN where it is beyond the exact one. */
static enum cuttle_status solve(const struct plan_request *request, const struct row *row, enum cuttle_accountant accountant, double *clip,
                                double *rho, struct cuttle_error *error) {
	struct cuttle_budget budget = request->known;
	budget.epsilon = row->epsilon;
	budget.batch = (uint32_t)row->batch;
	budget.accountant = accountant;
	enum cuttle_status status = cuttle_budget_solve(&budget, CUTTLE_CLIP, error);
	if (accountant == CUTTLE_EXACT && status == CUTTLE_USAGE) {
		budget.clip = budget.rho = NAN;
		status = CUTTLE_OK;
	}
	*clip = budget.clip;
	*rho = budget.rho;
	return status;
}

static enum cuttle_status fill(const struct plan_request *request, const double *epsilons, const double *batches, size_t batch_count,
                               struct table *table, struct cuttle_error *error) {
	const struct cuttle_budget *known = &request->known;
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = &table->rows[i];
		const struct row *first = row - i % batch_count;
		*row = (struct row){.epsilon = epsilons[i / batch_count],
		                    .delta = known->delta,
		                    .batch = batches[i % batch_count],
		                    .tokens = known->tokens,
		                    .temperature = known->temperature,
		                    .texts = request->texts};
		row->references = row->texts * row->batch;
		enum cuttle_status status = solve(request, row, CUTTLE_ZCDP, &row->clip_zcdp, &row->rho_zcdp, error);
		if (status) return status;
		if (first == row) status = solve(request, row, CUTTLE_EXACT, &row->clip_exact, &row->rho_exact, error);
		if (status) return status;
		if (first == row) continue;
		// The exact accountant takes a second or so, and only clip / batch matters to it. Down by a few units of the last place.
		row->clip_exact = first->clip_exact / first->batch * row->batch * (1 - 1e-15);
		row->rho_exact = first->rho_exact;
	}
	return CUTTLE_OK;
}

int plan_print(const struct verb *verb, const struct plan_request *request) {
	double epsilons[MOST_LIST], batches[MOST_LIST];
	struct cuttle_error error;
	const size_t epsilon_count = list(request->epsilons, epsilons), batch_count = list(request->batches, batches);
	bool right = batch_count > 0;
	for (size_t i = 0; i < batch_count; i++)
		right = right && batches[i] >= 1 && batches[i] <= UINT32_MAX && batches[i] == floor(batches[i]);
	if (!right)
		return verb_refuse(verb, CUTTLE_USAGE, "--batch-size: must be a whole number above 0, or a list of up to 32 with commas");
	if (!epsilon_count) return verb_refuse(verb, CUTTLE_USAGE, "--epsilon: must be a number, or a list of up to 32 with commas");
	if (isfinite(request->known.clip) || isfinite(request->known.rho))
		return verb_refuse(verb, CUTTLE_USAGE, "plan finds clip and rho; do not give them");
	struct table *table = calloc(1, sizeof *table);
	if (!table) return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	table->count = epsilon_count * batch_count;
	enum cuttle_status status = fill(request, epsilons, batches, batch_count, table, &error);
	if (!status) status = add_time(request, table, &error);
	const int code = status ? verb_fail(verb, status, &error) : print(verb, request, table);
	free(table);
	return code;
}
