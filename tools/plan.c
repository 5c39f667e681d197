// SPDX-License-Identifier: Apache-2.0
// make_rows computes the clips of all rows. estimate_rows adds their time and memory
// (tools/common/pace.h). print_table prints them in one of three forms. All forms read COLUMNS, so
// a number that is added there appears in each form.
#include "tools/plan.h"

#include "io/disk/fail.h"
#include "tools/common/load.h"
#include "tools/common/pace.h"
#include "tools/common/recipe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_LIST = 32,                    /* numbers in a list of epsilons or batches */
	MOST_ROWS = MOST_LIST * MOST_LIST, /* one for each pair */
	NUMBER = 48                        /* bytes of a printed number, with its NUL */
};

/* NaN: unknown, or out of the accountant's range. */
struct plan_row {
	double epsilon;
	double delta;
	double batch;       /* B, references per text */
	double tokens;      /* T, at most so many per text */
	double temperature; /* tau */
	double clip_zcdp;   /* the largest clip by zCDP */
	double clip_exact;  /* the largest clip by exact composition */
	double rho_zcdp;    /* what clip_zcdp costs per text */
	double rho_exact;   /* what clip_exact costs per text */
	double texts;       /* to be written */
	double references;  /* that they need */
	double ratio;       /* with the records given: q of lots; NaN = too few records */
	double clip_lots;   /* the largest clip by exact composition with these lots */
	double seconds;     /* that they take */
	double memory;      /* bytes of the process */
	struct pace pace;   /* the measurement that seconds and memory come from */
};

struct plan_table {
	struct plan_row rows[MOST_ROWS];
	size_t count;
};

/* How Markdown rounds a number: to six digits, or ROUGH to three. */
enum rounding { NEAREST, DOWN, UP, ROUGH };

/* How one number of a row is shown. For example seconds has the unit 1 / 3600: 7200 is 7200 in
 * JSON, and 2 under "hours". */
static const struct plan_column {
	const char *key;        /* name in JSON and CSV */
	const char *title;      /* heading in Markdown; NULL = not shown there */
	size_t offset;          /* bytes from the start of the row to the number, a double */
	double unit;            /* Markdown shows the number times this */
	enum rounding rounding; /* in Markdown */
	bool whole;             /* printed without a point */
} COLUMNS[] = {
#define AT(member) offsetof(struct plan_row, member)
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
    {"q", "q", AT(ratio), 1, UP, false},
    {"clip_lots", "clip lots", AT(clip_lots), 1, DOWN, false},
    {"seconds", "hours", AT(seconds), 1.0 / 3600, ROUGH, false},
    {"rows_per_s", NULL, AT(pace.rows_per_s), 1, NEAREST, false},
    {"bench_batch", NULL, AT(pace.batch), 1, NEAREST, true},
    {"bench_prompt", NULL, AT(pace.prompt), 1, NEAREST, true},
    {"prompt_tokens_per_s", NULL, AT(pace.prompt_tokens_per_s), 1, NEAREST, false},
    {"memory_bytes", "GB", AT(memory), 1e-9, ROUGH, false},
};
enum { COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

/* Reads a list such as "1,3,5". Returns how many numbers it has; 0: one is no number, or there are
 * too many. */
static size_t parse_numbers(const char *text, double values[MOST_LIST]) {
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

/* ---- time and memory ------------------------------------------------------------------------- */

/* Measures each B of the table once. Every B above PACE_MOST_BATCH shares the measurement of that
 * one. */
static enum cuttle_status measure_batches(struct cuttle_model *model,
                                          const struct plan_table *table, struct paces *paces,
                                          struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	paces->all = calloc(table->count, sizeof *paces->all);
	if (!paces->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < table->count && !status; i++) {
		struct pace *pace = &paces->all[paces->count];
		bool known = false;
		for (size_t j = 0; j < paces->count; j++)
			known = known ||
			        paces->all[j].batch == fmin(table->rows[i].batch, PACE_MOST_BATCH);
		if (known) continue;
		status = pace_measure(model, (uint32_t)table->rows[i].batch, 0, pace, error);
		paces->count += !status;
	}
	return status;
}

/* Sets pace, seconds and memory of each row. They come from the bench's file, else from a
 * measurement of the model, else from the rows per second that were given. */
static enum cuttle_status estimate_rows(const struct plan_request *request,
                                        struct cuttle_model *model, struct plan_table *table,
                                        struct cuttle_error *error) {
	struct paces paces = {0};
	enum cuttle_status status = CUTTLE_OK;
	if (request->bench) status = paces_read(request->bench, &paces, error);
	else if (model) status = measure_batches(model, table, &paces, error);
	for (size_t i = 0; i < table->count && !status; i++) {
		struct plan_row *row = &table->rows[i];
		row->memory = NAN;
		row->pace = (struct pace){.batch = NAN,
		                          .prompt = NAN,
		                          .prompt_tokens_per_s = NAN,
		                          .rows_per_s = request->rows_per_s};
		if (paces.count) row->pace = *paces_nearest(&paces, row->batch);
		const double prompt =
		    (model ? PACE_PROMPT : row->pace.prompt) * (double)request->shots;
		row->seconds =
		    pace_seconds(&row->pace, row->texts, row->batch, prompt, row->tokens);
		const double context = prompt + row->tokens;
		if (model) status = pace_memory(model, row->batch, context, &row->memory, error);
		else if (paces.count)
			row->memory = pace_memory_there(&row->pace, row->batch, context);
	}
	paces_free(&paces);
	return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

static double read_plan_cell(const struct plan_row *row, const struct plan_column *column) {
	return *(const double *)(const void *)((const char *)row + column->offset);
}

/* Prints a clip rounded down and a rho rounded up, so that a number copied from the table promises
 * no less privacy: six digits. A measured number has three digits. For example 0.12345678, DOWN:
 * printf gives 0.123457, which is more. So half a unit of the sixth digit is taken off first:
 * 0.123456. */
static void print_plan_cell(double number, enum rounding rounding) {
	char text[NUMBER];
	if (!isfinite(number)) {
		printf(" - |");
		return;
	}
	(void)snprintf(text, sizeof text, "%.*g", rounding == ROUGH ? 3 : 6, number);
	const double shown = strtod(text, NULL), half = pow(10, floor(log10(number)) - 5) / 2;
	if (rounding == DOWN && shown > number)
		(void)snprintf(text, sizeof text, "%.6g", number - half);
	if (rounding == UP && shown < number)
		(void)snprintf(text, sizeof text, "%.6g", number + half);
	printf(" %s |", text);
}

/* Those of lots are there only where the records are given. */
static bool is_column_shown(const struct plan_request *request, size_t column) {
	const size_t offset = COLUMNS[column].offset;
	return request->records != COUNT_NONE || (offset != offsetof(struct plan_row, ratio) &&
	                                          offset != offsetof(struct plan_row, clip_lots));
}

static const char MEMORY[] = "GB: the process when such contexts have grown to their end.";

static void print_plan_md(const struct plan_request *request, const struct plan_table *table) {
	const struct cuttle_budget *known = &request->known;
	for (int rule = 0; rule < 2; rule++) {
		putchar('|');
		for (size_t c = 0; c < COLUMN_COUNT; c++)
			if (COLUMNS[c].title && is_column_shown(request, c))
				printf(rule ? " --: |" : " %s |", COLUMNS[c].title);
		putchar('\n');
	}
	for (size_t i = 0; i < table->count; i++) {
		putchar('|');
		for (size_t c = 0; c < COLUMN_COUNT; c++) {
			const struct plan_column *column = &COLUMNS[c];
			const double number =
			    read_plan_cell(&table->rows[i], column) * column->unit;
			if (!column->title || !is_column_shown(request, c)) continue;
			if (column->whole) printf(" %.0f |", number);
			else print_plan_cell(number, column->rounding);
		}
		putchar('\n');
	}
	if (known->group > 1)
		printf("\nepsilon, delta and rho are those of a person with %u references, %s.\n",
		       known->group, known->spread ? "each in another text" : "all in one text");
	printf("\nclip is rounded down, rho up. exact allows more for one run alone; rho exact is "
	       "what that clip costs where runs add up.\n");
	if (request->records != COUNT_NONE)
		printf("clip lots: what exact allows where %llu records are put into batches by "
		       "secret lots and a part q of these is used. - is too few records.\n",
		       (unsigned long long)request->records);
	if (request->bench)
		printf("hours: %.0f texts, every one to its cap, as in the run of %s with the "
		       "nearest B. Its prompt is read in every context%s. %s\n",
		       request->texts, request->bench,
		       request->shots > 1 ? ", once for each shot" : "", MEMORY);
	else if (request->open.model)
		printf("hours: %.0f texts, every one to its cap, prompts of %d tokens, as measured "
		       "now on %.0f threads. %s\n",
		       request->texts, PACE_PROMPT * (int)request->shots, table->rows->pace.threads,
		       MEMORY);
	else if (!isnan(request->rows_per_s))
		printf("hours: %.0f texts, every one to its cap, B + 1 rows a token, %g rows a "
		       "second. Prompts are not counted.\n",
		       request->texts, request->rows_per_s);
	else
		printf("hours and memory need -m MODEL, which measures for some seconds, or "
		       "--bench FILE, which cuttle bench -o json makes.\n");
}

/* For each epsilon the arrangement of these records that says most. */
static void print_recipes(const struct plan_request *request, const double *epsilons,
                          size_t count) {
	const struct cuttle_budget *known = &request->known;
	if (request->format != PLAN_MD || request->records == COUNT_NONE || known->group > 1)
		return;
	bool headed = false;
	for (size_t i = 0; i < count; i++) {
		struct recipe recipe;
		if (!recipe_find(request->records, epsilons[i], known->delta, known->tokens,
		                 known->temperature, &recipe))
			continue;
		if (!headed)
			printf("\nFew texts with many of the %llu records each say what all of "
			       "them say, and cuttle expand writes more behind them. What the "
			       "records can do to a token is x = gain x clip / temperature. From "
			       "%g on texts took up the style of all. Many rows want a small -c, "
			       "for each keeps so many tokens in memory. As options of "
			       "generate:\n",
			       (unsigned long long)request->records, RECIPE_STRONG);
		headed = true;
		printf("    -e %g ", epsilons[i]);
		recipe_print(stdout, &recipe);
		printf("    x = %.3g\n", recipe.reach);
	}
}

static void print_plan_csv(const struct plan_request *request, const struct plan_table *table) {
	for (size_t c = 0; c < COLUMN_COUNT; c++)
		if (is_column_shown(request, c)) printf("%s%s", c ? "," : "", COLUMNS[c].key);
	putchar('\n');
	for (size_t i = 0; i < table->count; i++)
		for (size_t c = 0; c < COLUMN_COUNT; c++) {
			const double number = read_plan_cell(&table->rows[i], &COLUMNS[c]);
			if (!is_column_shown(request, c)) continue;
			if (c) putchar(',');
			if (isfinite(number)) printf("%.*g", 17, number);
			if (c + 1 == COLUMN_COUNT) putchar('\n');
		}
}

static json_t *encode_plan_row(const struct plan_request *request, const struct plan_row *row) {
	json_t *object = json_object();
	for (size_t c = 0; c < COLUMN_COUNT && object; c++) {
		if (!is_column_shown(request, c)) continue;
		const double number = read_plan_cell(row, &COLUMNS[c]);
		const bool whole = COLUMNS[c].whole && isfinite(number);
		const struct jsonout_member member = {COLUMNS[c].key,
		                                      whole ? json_integer((json_int_t)number)
		                                            : jsonout_real(number)};
		object = jsonout_extend(object, &member, 1);
	}
	return object;
}

static int print_table(const struct verb *verb, const struct plan_request *request,
                       const struct plan_table *table) {
	if (request->format == PLAN_MD) print_plan_md(request, table);
	if (request->format == PLAN_CSV) print_plan_csv(request, table);
	if (request->format != PLAN_JSON) return CUTTLE_OK;
	json_t *rows = json_array();
	for (size_t i = 0; i < table->count; i++)
		if (json_array_append_new(rows, encode_plan_row(request, &table->rows[i])) != 0)
			return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	return verb_print(verb, rows, JSON_COMPACT);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Computes clip and rho of the row by one accountant. Both are NaN when the exact one cannot say.
 */
static enum cuttle_status solve_row(const struct plan_request *request, const struct plan_row *row,
                                    enum cuttle_accountant accountant, double *clip, double *rho,
                                    struct cuttle_error *error) {
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

/* Computes q and the clip with lots. Both are NaN without records, where there are too few, and
 * where several records are of one person. */
static void solve_lots(const struct plan_request *request, struct plan_row *row) {
	struct cuttle_budget budget = request->known;
	// What has a lot is a row: R records.
	const uint64_t batch = (uint64_t)row->batch, rows = request->records / request->shots,
	               all = rows + (request->records % request->shots != 0), whole = rows / batch;
	const struct cuttle_lots lots = {.records = all,
	                                 .batches = all / batch + (all % batch != 0),
	                                 .used = (uint64_t)row->texts};
	budget.epsilon = row->epsilon;
	row->ratio = row->clip_lots = NAN;
	if (request->records == COUNT_NONE || whole < lots.used || budget.group > 1 ||
	    !recipe_of_batch(&lots, &budget))
		return;
	row->ratio = (double)lots.used / (double)lots.batches;
	budget.batch = (uint32_t)batch;
	budget.accountant = CUTTLE_EXACT;
	// Each row has a q of its own, and the default grid would take a second for each.
	if (!budget.grid) budget.grid = RECIPE_GRID;
	if (!cuttle_budget_solve(&budget, CUTTLE_CLIP, NULL)) row->clip_lots = budget.clip;
}

static enum cuttle_status make_rows(const struct plan_request *request, const double *epsilons,
                                    const double *batches, size_t batch_count,
                                    struct plan_table *table, struct cuttle_error *error) {
	const struct cuttle_budget *known = &request->known;
	for (size_t i = 0; i < table->count; i++) {
		struct plan_row *row = &table->rows[i];
		// The first row with the same epsilon.
		const struct plan_row *first = row - i % batch_count;
		*row = (struct plan_row){.epsilon = epsilons[i / batch_count],
		                         .delta = known->delta,
		                         .batch = batches[i % batch_count],
		                         .tokens = known->tokens,
		                         .temperature = known->temperature,
		                         .texts = request->texts};
		row->references = row->texts * row->batch * (double)request->shots;
		solve_lots(request, row);
		enum cuttle_status status =
		    solve_row(request, row, CUTTLE_ZCDP, &row->clip_zcdp, &row->rho_zcdp, error);
		if (status) return status;
		if (first == row)
			status = solve_row(request, row, CUTTLE_EXACT, &row->clip_exact,
			                   &row->rho_exact, error);
		if (status) return status;
		if (first == row) continue;
		// The exact accountant takes a second or so. To it only clip / batch matters, so
		// the clip of the first row is scaled. 0.5 at B = 7 is 1.07 at B = 15. The last
		// factor rounds it down by a few units of the last place.
		row->clip_exact = first->clip_exact / first->batch * row->batch * (1 - 1e-15);
		row->rho_exact = first->rho_exact;
	}
	return CUTTLE_OK;
}

int plan_print(const struct verb *verb, const struct plan_request *request) {
	double epsilons[MOST_LIST], batches[MOST_LIST];
	struct cuttle_error error;
	const size_t epsilon_count = parse_numbers(request->epsilons, epsilons),
	             batch_count = parse_numbers(request->batches, batches);
	bool right = batch_count > 0;
	for (size_t i = 0; i < batch_count; i++)
		right = right && batches[i] >= 1 && batches[i] <= UINT32_MAX &&
		        batches[i] == floor(batches[i]);
	if (!right)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--batch-size: must be a whole number above 0, or a list of up "
		                   "to 32 with commas");
	if (!epsilon_count)
		return verb_refuse(
		    verb, CUTTLE_USAGE,
		    "--epsilon: must be a number, or a list of up to 32 with commas");
	if (isfinite(request->known.clip) || isfinite(request->known.rho))
		return verb_refuse(verb, CUTTLE_USAGE, "plan finds clip and rho; do not give them");
	const struct path_use bench = PATH_ALONE("--bench", request->bench, PATH_STREAM);
	const int refused = verb_paths(verb, &bench, 1);
	if (refused) return refused;
	struct plan_table *table = calloc(1, sizeof *table);
	if (!table) return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	table->count = epsilon_count * batch_count;
	struct cuttle_model *model = NULL;
	struct load load;
	enum cuttle_status status =
	    make_rows(request, epsilons, batches, batch_count, table, &error);
	int code = CUTTLE_OK;
	if (!status && request->open.model) code = verb_open(verb, &request->open, &model);
	load_begin(&load);
	if (!status && !code) status = estimate_rows(request, model, table, &error);
	if (status) code = verb_fail(verb, status, &error);
	if (!code && model) load_warn(verb->name, load_of_others(&load));
	if (!code) code = print_table(verb, request, table);
	if (!code) print_recipes(request, epsilons, epsilon_count);
	cuttle_model_free(&model);
	free(table);
	return code;
}
