// SPDX-License-Identifier: Apache-2.0
// cuttle budget: one of clip, epsilon, rho, delta, tokens, batch from the others, or a table of plans. Needs no model.
#include "tools/verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(member) OPTION(struct budget_values, member)

struct budget_values {
	const char *epsilon, *batch; /* lists for plan */
	double delta, rho, clip, temperature;
	uint64_t tokens;
	int accountant;
	bool json;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "epsilon", .letter = 'e', VALUE(epsilon), .argument = "EPS",
	 .help = "privacy loss; a list for plan (default 1,3,5,10)"},
	{.name = "delta", VALUE(delta), .argument = "D",
	 .help = "probability that epsilon does not hold (default 1e-6)"},
	{.name = "rho", VALUE(rho), .argument = "RHO",
	 .help = "zero-concentrated privacy loss"},
	{.name = "clip", VALUE(clip), .argument = "C",
	 .help = "bound of each logit difference"},
	{.name = "batch-size", .letter = 'B', VALUE(batch), .argument = "B",
	 .help = "references per text; a list for plan (default 7,15,31,63)"},
	{.name = "max-tokens", .letter = 'n', VALUE(tokens), .argument = "T", .most = UINT32_MAX,
	 .help = "hard cap of tokens per text"},
	{.name = "temperature", VALUE(temperature), .argument = "TAU",
	 .help = "sampling temperature"},
	{.name = "accountant", VALUE(accountant), .argument = "zcdp|exact",
	 .help = "how epsilon follows: from rho (default), or by exact composition of the tokens, 5 to 7 % less"},
	{.name = "json", VALUE(json),
	 .help = "print all fields as JSON"},
};

static const char ABOUT[] =
	"The first line of the answer is the number alone. Clip and tokens are rounded down, epsilon, rho, delta and batch up. "
	"rho = T C^2 / (2 B^2 tau^2) per text (InvisibleInk, Theorem 2), and epsilon from rho and delta by Canonne, Kamath and Steinke "
	"(2020), or, with --accountant exact, from C / (B tau), T and delta by exact composition (Dong, Durfee and Rogers, 2020), which needs no "
	"rho, takes up to 32768 tokens, and holds for one run alone: it does not add up over runs, as rho does. References of different texts "
	"do not overlap, so the loss per record is that of one text.\n";
// clang-format on

/* In the order of enum cuttle_unknown. */
static const char *const UNKNOWNS[] = {"clip", "epsilon", "rho", "delta", "tokens", "batch"};
enum { UNKNOWN_COUNT = 6, MOST_LIST = 32, NUMBER = 48 };

/* The members of a comma-separated list, each parsed as a number. Returns how many, 0 when one is wrong. */
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

static bool count_of(double value, uint32_t *count) {
	if (!(value >= 1 && value <= UINT32_MAX) || value != floor(value)) return false;
	*count = (uint32_t)value;
	return true;
}

static json_t *json_of(const struct cuttle_budget *budget) {
	const struct jsonout_member members[] = {
	    {"epsilon", jsonout_real(budget->epsilon)},
	    {"delta", jsonout_real(budget->delta)},
	    {"rho", jsonout_real(budget->rho)},
	    {"clip", jsonout_real(budget->clip)},
	    {"batch", budget->batch ? json_integer(budget->batch) : json_null()},
	    {"tokens", budget->tokens ? json_integer(budget->tokens) : json_null()},
	    {"temperature", jsonout_real(budget->temperature)},
	    {"accountant", json_string(budget->accountant == CUTTLE_EXACT ? "exact" : "zcdp")},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static double answer(const struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	switch (unknown) {
	case CUTTLE_CLIP:
		return budget->clip;
	case CUTTLE_EPSILON:
		return budget->epsilon;
	case CUTTLE_RHO:
		return budget->rho;
	case CUTTLE_DELTA:
		return budget->delta;
	case CUTTLE_TOKENS:
		return budget->tokens;
	case CUTTLE_BATCH:
		return budget->batch;
	}
	return NAN;
}

static void part(const char *name, double value, const char *separator) {
	if (isfinite(value) && value != 0) printf("%s %.6g%s", name, value, separator);
}

/* The number in the fewest digits that read back exactly, alone on the first line, for scripts; what it belongs to on the second. */
static void print_answer(const struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	double value = answer(budget, unknown);
	char number[NUMBER];
	int digits = 14;
	do (void)snprintf(number, sizeof number, "%.*g", ++digits, value);
	while (digits < 17 && strtod(number, NULL) != value);
	printf("%s\nThe %s with ", number, UNKNOWNS[unknown]);
	if (unknown != CUTTLE_EPSILON) part("epsilon", budget->epsilon, ", ");
	if (unknown != CUTTLE_DELTA) part("delta", budget->delta, ", ");
	if (unknown != CUTTLE_CLIP) part("clip", budget->clip, ", ");
	if (unknown != CUTTLE_BATCH) part("batch", budget->batch, ", ");
	if (unknown != CUTTLE_TOKENS) part("tokens", budget->tokens, ", ");
	part("temperature", budget->temperature, ", ");
	if (unknown != CUTTLE_RHO) printf("rho %.6g, ", budget->rho);
	if (budget->accountant == CUTTLE_EXACT) printf("by exact composition, ");
	printf("per text and per record, where one record is replaced by null.\n");
}

/* epsilon of the row's clip by the other accountant; NaN where that has none. */
static double other_epsilon(const struct cuttle_budget *row) {
	struct cuttle_budget other = *row;
	other.accountant = row->accountant == CUTTLE_EXACT ? CUTTLE_ZCDP : CUTTLE_EXACT;
	other.epsilon = other.rho = NAN;
	return cuttle_budget_solve(&other, CUTTLE_EPSILON, NULL) ? NAN : other.epsilon;
}

/* Rows of one epsilon follow each other; the other accountant's epsilon is then the same, as clip / batch is. */
static void print_rows(const struct cuttle_budget *rows, size_t count, size_t batch_count) {
	const bool exact = rows->accountant == CUTTLE_EXACT;
	double other = NAN;
	printf("delta %g, at most %u tokens per text, temperature %g\n\n", rows->delta, rows->tokens, rows->temperature);
	printf("%10s %8s %12s %14s %12s %12s\n", exact ? "exact eps" : "epsilon", "batch", "clip", "shift/token", "rho",
	       exact ? "zcdp eps" : "exact eps");
	for (size_t i = 0; i < count; i++) {
		const struct cuttle_budget *row = rows + i;
		// Down, like every clip: what is copied from the table must not spend more.
		double clip = floor(row->clip * 1e6) / 1e6;
		if (i % batch_count == 0) other = ceil(other_epsilon(row) * 1e5) / 1e5;
		printf("%10g %8u %12.6f %14.6f %12.6g ", row->epsilon, row->batch, clip, clip / (row->batch * row->temperature), row->rho);
		if (isfinite(other)) printf("%12.5f\n", other);
		else printf("%12s\n", "-");
	}
	printf("\nshift/token = clip / (batch * temperature): the most one record can move the log-weight of a token.\n");
}

static int plan(const struct verb *verb, const struct budget_values *values, struct cuttle_budget *known) {
	double epsilons[MOST_LIST], batches[MOST_LIST];
	uint32_t count;
	size_t epsilon_count = list(values->epsilon ? values->epsilon : "1,3,5,10", epsilons);
	size_t batch_count = list(values->batch ? values->batch : "7,15,31,63", batches);
	bool right = batch_count > 0;
	for (size_t i = 0; i < batch_count; i++) right &= count_of(batches[i], &count);
	if (!right)
		return verb_refuse(verb, CUTTLE_USAGE, "--batch-size: must be a whole number above 0, or a list of up to 32 with commas");
	if (!epsilon_count) return verb_refuse(verb, CUTTLE_USAGE, "--epsilon: must be a number, or a list of up to 32 with commas");
	if (isfinite(known->clip) || isfinite(known->rho))
		return verb_refuse(verb, CUTTLE_USAGE, "plan finds clip and rho; do not give them");
	struct cuttle_budget rows[MOST_LIST * MOST_LIST];
	size_t row_count = epsilon_count * batch_count;
	for (size_t row = 0; row < row_count; row++) {
		struct cuttle_error error;
		rows[row] = *known;
		rows[row].epsilon = epsilons[row / batch_count];
		(void)count_of(batches[row % batch_count], &rows[row].batch);
		const struct cuttle_budget *first = &rows[row - row % batch_count];
		if (known->accountant == CUTTLE_EXACT && first < &rows[row]) {
			// The exact accountant takes a second or so, and only clip / batch matters to it. Down by a few units of the last
			// place.
			rows[row].clip = first->clip / first->batch * rows[row].batch * (1 - 1e-15);
			rows[row].rho = first->rho;
			continue;
		}
		enum cuttle_status status = cuttle_budget_solve(&rows[row], CUTTLE_CLIP, &error);
		if (status) return verb_fail(verb, status, &error);
	}
	if (!values->json) {
		print_rows(rows, row_count, batch_count);
		return CUTTLE_OK;
	}
	json_t *list = json_array();
	for (size_t row = 0; row < row_count; row++)
		if (json_array_append_new(list, json_of(&rows[row])) != 0) return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	return verb_print(verb, list, JSON_COMPACT);
}

static int solve(const struct verb *verb, const struct budget_values *values, struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	struct cuttle_error error;
	double batch = NAN;
	if (values->epsilon && !options_real(values->epsilon, &budget->epsilon))
		return verb_refuse(verb, CUTTLE_USAGE, "--epsilon: must be a number");
	if (values->batch && (!options_real(values->batch, &batch) || !count_of(batch, &budget->batch)))
		return verb_refuse(verb, CUTTLE_USAGE, "--batch-size: must be a whole number above 0");
	if (isfinite(answer(budget, unknown)) && answer(budget, unknown) != 0)
		return verb_refuse(verb, CUTTLE_USAGE, "the unknown is also given; leave it out");
	enum cuttle_status status = cuttle_budget_solve(budget, unknown, &error);
	if (status) return verb_fail(verb, status, &error);
	if (values->json) return verb_print(verb, json_of(budget), JSON_COMPACT);
	print_answer(budget, unknown);
	return CUTTLE_OK;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct budget_values values = {.delta = NAN, .rho = NAN, .clip = NAN, .temperature = NAN, .tokens = COUNT_NONE};
	struct cuttle_budget budget;
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	int unknown = 0;
	bool is_plan = operand < argc && !strcmp(argv[operand], "plan");
	while (operand < argc && unknown < UNKNOWN_COUNT && strcmp(argv[operand], UNKNOWNS[unknown]) != 0) unknown++;
	if (operand + 1 != argc || (unknown == UNKNOWN_COUNT && !is_plan))
		return verb_refuse(verb, CUTTLE_USAGE, "say what is wanted: clip, epsilon, rho, delta, tokens, batch or plan");
	if (values.tokens == 0) return verb_refuse(verb, CUTTLE_USAGE, "--max-tokens: must be a whole number above 0");
	cuttle_budget_none(&budget);
	budget.delta = isnan(values.delta) && (is_plan || unknown != CUTTLE_DELTA) ? 1e-6 : values.delta;
	budget.accountant = (enum cuttle_accountant)values.accountant;
	budget.rho = values.rho;
	budget.clip = values.clip;
	budget.temperature = values.temperature;
	budget.tokens = values.tokens == COUNT_NONE ? 0 : (uint32_t)values.tokens;
	return is_plan ? plan(verb, &values, &budget) : solve(verb, &values, &budget, (enum cuttle_unknown)unknown);
}

const struct verb budget_verb = {
    .name = "budget",
    .usage = "clip|epsilon|rho|delta|tokens|batch|plan [OPTION]...",
    .summary = "any one of clip, epsilon, rho, delta, tokens, batch from the others",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
