// SPDX-License-Identifier: Apache-2.0
// cuttle budget: one of clip, epsilon, rho, delta, tokens, batch from the others, or a table of plans. Needs no model.
#include "tools/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(member) OPTION(struct budget_values, member)

struct budget_values {
	const char *epsilon, *batch, *bench; /* the first two are lists for plan */
	double delta, rho, clip, temperature, rows_per_s;
	uint64_t tokens, group, grid, texts;
	int accountant, format;
	bool json, spread;
};
enum { GROUP_FORMAT = 1, GROUP_TIME, MOST_GRID = 1024 };

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
	 .help = "how epsilon follows: from rho (default), or by exact composition of the tokens, 5 to 7 % less; plan shows both"},
	{.name = "grid", VALUE(grid), .argument = "POINTS", .most = MOST_GRID,
	 .help = "of the exact accountant, 8 to 1024: the answer is never wrong, nearer to the truth with more, and time grows as the "
	         "square (default 128 up to 512 tokens, where the answer is within 0.01 %, then fewer)"},
	{.name = "group", .letter = 'g', VALUE(group), .argument = "G", .most = UINT32_MAX,
	 .help = "epsilon, delta and rho are those of a person with G references, all in one text: G^2 rho (default 1)"},
	{.name = "spread", VALUE(spread),
	 .help = "the references of --group stand in another text each: G rho"},
	{.name = "num", .letter = 'N', VALUE(texts), .argument = "TEXTS", .most = UINT32_MAX,
	 .help = "plan: texts to write (default 100)"},
	{.name = "bench", .group = GROUP_TIME, VALUE(bench), .argument = "FILE",
	 .help = "plan: take the speed from what cuttle bench -o json printed on the machine"},
	{.name = "rows-per-second", .group = GROUP_TIME, VALUE(rows_per_s), .argument = "R",
	 .help = "plan: take this speed instead, of B + 1 rows per token"},
	{.name = "format", .letter = 'o', .group = GROUP_FORMAT, VALUE(format), .argument = "md|json|csv",
	 .help = "plan: of the table (default md)"},
	{.name = "json", .group = GROUP_FORMAT, VALUE(json),
	 .help = "print all fields as JSON"},
};

static const char ABOUT[] =
	"The first line of the answer is the number alone. Clip and tokens are rounded down, epsilon, rho, delta and batch up. "
	"rho = T C^2 / (2 B^2 tau^2) per text (InvisibleInk, Theorem 2), and epsilon from rho and delta by Canonne, Kamath and Steinke "
	"(2020), or, with --accountant exact, from C / (B tau), T and delta by exact composition (Dong, Durfee and Rogers, 2020), which needs no "
	"rho, takes up to 32768 tokens, and holds for one run alone: it does not add up over runs, as rho does. References of different texts "
	"do not overlap, so the loss per record is that of one text. With --group it is that of a person: as one record at G times the clip, or, "
	"with --spread, as one record in a text of G times the tokens; clip, batch, tokens and temperature remain those of the run.\n"
	"plan is a table: clips by both accountants, the references that N texts need, and with --bench or --rows-per-second the hours.\n";
// clang-format on

/* In the order of enum cuttle_unknown. */
static const char *const UNKNOWNS[] = {"clip", "epsilon", "rho", "delta", "tokens", "batch"};
enum { UNKNOWN_COUNT = 6, NUMBER = 48 };

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
	    {"group", json_integer(budget->group)},
	    {"spread", json_boolean(budget->spread)},
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
	if (budget->group <= 1) printf("per text and per record, where one record is replaced by null.\n");
	else
		printf("per person with %u records, %s, where all of them are replaced by null.\n", budget->group,
		       budget->spread ? "each in another text" : "all in one text");
}

static int plan(const struct verb *verb, const struct budget_values *values, const struct cuttle_budget *known) {
	const struct plan_request request = {.epsilons = values->epsilon ? values->epsilon : "1,3,5,10",
	                                     .batches = values->batch ? values->batch : "7,15,31,63",
	                                     .known = *known,
	                                     .texts = (double)values->texts,
	                                     .rows_per_s = values->rows_per_s,
	                                     .bench = values->bench,
	                                     .format = values->json ? PLAN_JSON : (enum plan_format)values->format};
	if (values->texts < 1) return verb_refuse(verb, CUTTLE_USAGE, "--num: must be a whole number above 0");
	if (values->rows_per_s <= 0) return verb_refuse(verb, CUTTLE_USAGE, "--rows-per-second: must be above 0");
	return plan_print(verb, &request);
}

static int solve(const struct verb *verb, const struct budget_values *values, struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	struct cuttle_error error;
	uint64_t batch = 0;
	if (values->epsilon && !options_real(values->epsilon, &budget->epsilon))
		return verb_refuse(verb, CUTTLE_USAGE, "--epsilon: must be a number");
	if (values->batch && (!options_count(values->batch, UINT32_MAX, &batch) || !batch))
		return verb_refuse(verb, CUTTLE_USAGE, "--batch-size: must be a whole number above 0");
	budget->batch = (uint32_t)batch;
	if (isfinite(answer(budget, unknown)) && answer(budget, unknown) != 0)
		return verb_refuse(verb, CUTTLE_USAGE, "the unknown is also given; leave it out");
	enum cuttle_status status = cuttle_budget_solve(budget, unknown, &error);
	if (status) return verb_fail(verb, status, &error);
	if (values->json) return verb_print(verb, json_of(budget), JSON_COMPACT);
	print_answer(budget, unknown);
	return CUTTLE_OK;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct budget_values values = {
	    .delta = NAN, .rho = NAN, .clip = NAN, .temperature = NAN, .rows_per_s = NAN, .tokens = COUNT_NONE, .group = 1, .texts = 100};
	struct cuttle_budget budget;
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	int unknown = 0;
	bool is_plan = operand < argc && !strcmp(argv[operand], "plan");
	while (operand < argc && unknown < UNKNOWN_COUNT && strcmp(argv[operand], UNKNOWNS[unknown]) != 0) unknown++;
	if (operand + 1 != argc || (unknown == UNKNOWN_COUNT && !is_plan))
		return verb_refuse(verb, CUTTLE_USAGE, "say what is wanted: clip, epsilon, rho, delta, tokens, batch or plan");
	if (values.tokens == 0) return verb_refuse(verb, CUTTLE_USAGE, "--max-tokens: must be a whole number above 0");
	if (values.group == 0) return verb_refuse(verb, CUTTLE_USAGE, "--group: must be a whole number above 0");
	cuttle_budget_none(&budget);
	budget.delta = isnan(values.delta) && (is_plan || unknown != CUTTLE_DELTA) ? 1e-6 : values.delta;
	budget.accountant = (enum cuttle_accountant)values.accountant;
	budget.rho = values.rho;
	budget.clip = values.clip;
	budget.temperature = values.temperature;
	budget.tokens = values.tokens == COUNT_NONE ? 0 : (uint32_t)values.tokens;
	budget.grid = (unsigned)values.grid;
	budget.group = (uint32_t)values.group;
	budget.spread = values.spread;
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
