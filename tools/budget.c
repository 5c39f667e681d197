// SPDX-License-Identifier: Apache-2.0
// cuttle budget: computes one of clip, epsilon, rho, delta, tokens and batch from the others. It
// also prints a table of plans (tools/plan.h), or what sanitize costs
// (tools/common/fusion_budget.h).
//
// The library does the arithmetic, in cuttle_budget_solve. Here are the options, the check that
// enough of them are given, and the printing. No private data and, but for plan's measurement, no
// model is needed.
#include "io/disk/fail.h"
#include "tools/common/fusion_budget.h"
#include "tools/common/budget_split.h"
#include "tools/plan.h"

#include <math.h>
#include <string.h>

#define VALUE(member) OPTION(struct budget_values, member)

struct budget_values {
	struct model_values open; /* plan: the model that is measured */
	const char *epsilon;      /* a number; for plan a list, as in 1,3 */
	const char *batch;        /* a number; for plan a list, as in 7,15 */
	const char *bench;        /* plan: file from cuttle bench -o json */
	double delta;
	double rho;  /* zero-concentrated privacy loss of one text */
	double clip; /* bound of each logit difference */
	double temperature;
	double rows_per_s; /* plan: rows (one token of one context) per second */
	uint64_t tokens;   /* T, at most so many per text */
	uint64_t group;    /* references of one person */
	uint64_t grid;     /* points of the exact accountant, 0 = its default */
	uint64_t texts;    /* plan, split: texts to write */
	uint64_t records;  /* plan: of the input, for lots; COUNT_NONE = no lots. split: as well */
	uint64_t width;    /* split: numbers of the model's state */
	uint64_t shots;    /* plan: references of a row */
	const char *ratio; /* amplify: q, as in 0.1 or 100/1000 */
	double divergence; /* fusion: c, nats per token */
	uint64_t alpha;    /* fusion: the order, 0 = as suits */
	uint64_t groups;   /* fusion: groups with a mark in the document */
	int accountant;    /* enum cuttle_accountant */
	int mix;           /* fusion: enum cuttle_mix */
	int format;        /* plan: enum plan_format */
	bool json;
	bool inverse; /* amplify: from the run to a batch */
	bool spread;  /* the group's references stand in another text each */
};
enum {
	GROUP_FORMAT = 1, /* --format or --json */
	GROUP_TIME,       /* --model, --bench or --rows-per-second: where plan's speed is from */
	MOST_GRID = 1024  /* most points of the exact accountant */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "epsilon", .first = true, .letter = 'e', VALUE(epsilon), .argument = "EPS",
	 .help = "privacy loss; a list for plan (default 1,3,5,10)"},
	{.name = "delta", .first = true, VALUE(delta), .range = DELTA_RANGE, .argument = "D",
	 .help = "what is added to the probability of any event, beside its factor e^epsilon "
	         "(default 1e-6; fusion 1e-5)"},
	{.name = "rho", .first = true, VALUE(rho), .range = RHO_RANGE, .argument = "RHO",
	 .help = "zero-concentrated privacy loss"},
	{.name = "clip", .first = true, VALUE(clip), .range = CLIP_RANGE, .argument = "C",
	 .help = "bound of each logit difference"},
	{.name = "batch-size", .first = true, .letter = 'B', VALUE(batch), .argument = "B",
	 .help = "references per text; a list for plan (default 7,15,31,63)"},
	{.name = "max-tokens", .first = true, .letter = 'n', VALUE(tokens), .argument = "T",
	 .least = 1, .most = UINT32_MAX,
	 .help = "hard cap of tokens per text"},
	{.name = "temperature", .first = true, VALUE(temperature), .range = TEMPERATURE_RANGE,
	 .argument = "TAU",
	 .help = "sampling temperature"},
	{.name = "accountant", .first = true, VALUE(accountant), .argument = "zcdp|exact",
	 .help = "how epsilon follows: from rho (default), or by exact composition of the "
	         "tokens. At the same clip that is 6 to 7 % less, and more below 60 "
	         "tokens. plan shows both"},
	{.name = "grid", VALUE(grid), .argument = "POINTS", .least = 8, .most = MOST_GRID,
	 .help = "of the exact accountant, 8 to 1024. The answer is never wrong, and "
	         "nearer to the truth with more. Time grows as the square (default 128 up "
	         "to 512 tokens, where the answer is within 0.01 %, then fewer)"},
	{.name = "group", .first = true, .letter = 'g', VALUE(group), .argument = "G", .least = 1,
	 .most = UINT32_MAX,
	 .help = "epsilon, delta and rho are those of a person with G references, all in one "
	         "text: G^2 rho (default 1)"},
	{.name = "spread", VALUE(spread),
	 .help = "the references of --group stand in another text each: G rho"},
	{.name = "num", .first = true, .letter = 'N', VALUE(texts), .argument = "TEXTS", .least = 1,
	 .most = UINT32_MAX,
	 .help = "plan, split: texts to write (default 100)"},
	{.name = "records", .first = true, VALUE(records), .argument = "R", .least = 1,
	 .most = UINT32_MAX,
	 .help = "plan: also the clip where R records come to N texts by secret lots, by exact "
	         "composition (see generate --lots). split: records of the input"},
	{.name = "width", VALUE(width), .argument = "WIDTH", .least = 1, .most = 1 << 16,
	 .help = "split: numbers of the model's state, as cuttle learn --dry-run says (default "
	         "576)"},
	{.name = "shots", VALUE(shots), .argument = "R", .least = 1, .most = CUTTLE_MOST_SHOTS,
	 .help = "plan: references in each of the B rows of a text, as generate has it "
	         "(default 1)"},
	{.name = "q", VALUE(ratio), .argument = "Q",
	 .help = "amplify: the share of batches that is used, as in 0.1 or 100/1000"},
	{.name = "inverse", VALUE(inverse),
	 .help = "amplify: -e and --delta are the run's, and what a batch may cost is asked for"},
	{.name = "model", .first = true, .letter = 'm', .group = GROUP_TIME, VALUE(open.model),
	 .argument = "FILE",
	 .help = "plan: measure for some seconds how fast this machine is with this model"},
	{.name = "threads", .letter = 't', VALUE(open.threads), .argument = "COUNT", .most = 1024,
	 .help = "plan: worker threads of the measurement (default: the cores this process may "
	         "use)"},
	{.name = "kv-type", OPTION_ENUM(struct budget_values, open.kv_type), .argument = "f16|q8",
	 .help = "plan: what the measurement keeps the keys and values of contexts as (default "
	         "f16)"},
	{.name = "bench", .group = GROUP_TIME, VALUE(bench), .argument = "FILE",
	 .help = "plan: take speed and memory from what cuttle bench -o json printed, here or on "
	         "another machine"},
	{.name = "rows-per-second", .group = GROUP_TIME, VALUE(rows_per_s),
	 .range = "above 0, as in 900", .argument = "R",
	 .help = "plan: take this speed instead, of B + 1 rows per token"},
	{.name = "format", .first = true, .letter = 'o', .group = GROUP_FORMAT, VALUE(format),
	 .argument = "md|json|csv",
	 .help = "plan: of the table (default md)"},
	{.name = "divergence", VALUE(divergence), .range = "above 0, as in 0.01", .argument = "C",
	 .help = "fusion: bound of each private row's divergence from the public one, per token"},
	{.name = "alpha", VALUE(alpha), .argument = "A", .least = 2, .most = 16,
	 .help = "fusion: order of the divergence, 2 to 16 (default: what gives the largest C for "
	         "its order, or 2 where C is given)"},
	{.name = "groups", VALUE(groups), .argument = "M", .least = 1,
	 .most = CUTTLE_MOST_GROUPS,
	 .help = "fusion: groups that have a mark in the document (default 1)"},
	{.name = "mix", VALUE(mix), .argument = "all|average|capped",
	 .help = "fusion: one private row shows all marks (default), or one row each group"},
	{.name = "json", .first = true, .group = GROUP_FORMAT, VALUE(json),
	 .help = "print all fields as JSON"},
};

static const char ABOUT[] =
	"The first line of the answer is the number alone. Clip and tokens are rounded down, "
	"epsilon, rho, delta and batch up. rho = T C^2 / (2 B^2 tau^2) per text (InvisibleInk, "
	"Theorem 2). epsilon follows from rho and delta by Canonne, Kamath and Steinke (2020). "
	"With --accountant exact it follows from C / (B tau), T and delta by exact composition "
	"(Dong, Durfee and Rogers, 2020). That needs no rho, takes up to 32768 tokens, and holds "
	"for one run alone. It does not add up over runs, as rho does. A ledger that is charged "
	"epsilon (lots) adds epsilons as they are. References of different texts do not overlap, "
	"so the loss per record is that of one text. With --group it is that of a person: as one "
	"record at G times the clip. With --spread it is as one record in a text of G times the "
	"tokens. Clip, batch, tokens and temperature remain those of the run.\n"
	"clip is the formula's. generate's weights hold a clip of about 30 times the "
	"temperature. With -e it takes at most that, and tells the smaller epsilon. It is that "
	"of --gain 1: with a gain of G generate's clip is a G-th of it, at the same epsilon.\n"
	"amplify is about secret lots. Of a run that uses a part q of its batches epsilon is "
	"ln(1 + q (e^epsilon - 1)) and delta q delta, rounded up. --inverse goes from the run "
	"to a batch, rounded down. As in generate q counts for 2^-40 of it more.\n"
	"plan is a table: clips by both accountants, and the references that N texts need. "
	"With --records it has q and the clip with lots (empty where the records are too few). "
	"With -m or --bench it has the hours and the memory. For example: cuttle budget plan "
	"-e 1,3 -n 200 --temperature 0.8 -N 100 --records 5000.\n"
	"split shares epsilon out: to cuttle learn, which asks all records once, and to "
	"references. It prints the best share of rho for the first, and both commands. It "
	"follows from a formula that was fitted to measurements of one small model, and promises "
	"nothing about texts. The epsilon of both commands together is exact. For example: "
	"cuttle budget split -e 3 -N 50 -B 15 -n 100 --records 5000.\n"
	"fusion is about cuttle sanitize: of -e, --divergence and -n give two. The third comes "
	"first. Then come three numbers, for one group of marks and for all. They are epsilon of "
	"blanking them and epsilon of exchanging their contents for others. The last is the "
	"ceiling of guessing which of five values they have. The epsilon given is that of one "
	"group, with the mix all that of all marks.\n";
// clang-format on

/* In the order of enum cuttle_unknown; then what is none of them. */
static const char *const UNKNOWNS[] = {"clip",  "epsilon", "rho",    "delta",   "tokens",
                                       "batch", "plan",    "fusion", "amplify", "split"};
enum {
	PLAN = 6,     /* position of "plan" in UNKNOWNS */
	FUSION,       /* position of "fusion" */
	AMPLIFY,      /* position of "amplify" */
	SPLIT,        /* position of "split" */
	UNKNOWN_COUNT /* names in UNKNOWNS */
};

enum {
	PLAN_ALONE = 1 << PLAN,
	SPLIT_ALONE = 1 << SPLIT,
	NO_PLAN = ~PLAN_ALONE,
	NO_AMPLIFY = ~(1 << AMPLIFY), /* amplify takes e, delta and q alone */
	NEITHER = NO_AMPLIFY & ~SPLIT_ALONE
};
/* Which questions an option is for, a bit each. In others it would do nothing. Those of fusion and
 * amplify alone are told together, below. */
static const struct {
	const char *option;
	int questions;
} PLACES[] = {{"num", PLAN_ALONE | SPLIT_ALONE},
              {"width", SPLIT_ALONE},
              {"shots", PLAN_ALONE},
              {"records", PLAN_ALONE | SPLIT_ALONE},
              {"model", PLAN_ALONE},
              {"threads", PLAN_ALONE},
              {"bench", PLAN_ALONE},
              {"rows-per-second", PLAN_ALONE},
              {"accountant", NO_PLAN &NEITHER},
              {"grid", NEITHER},
              {"rho", NEITHER},
              {"clip", NEITHER},
              {"batch-size", NO_AMPLIFY},
              {"max-tokens", NO_AMPLIFY},
              {"temperature", NEITHER},
              {"group", NEITHER},
              {"spread", NEITHER}};

/* Refuses an option that was typed and does nothing; returns the exit code. A variable of the
 * environment may be for other verbs. */
static int refuse_idle_options(const struct verb *verb, const struct budget_values *values,
                               size_t unknown) {
	struct cuttle_error error;
	if (unknown != AMPLIFY && (values->ratio || values->inverse))
		return verb_refuse(verb, CUTTLE_USAGE, "--q and --inverse belong to amplify");
	if (unknown != FUSION &&
	    (!isnan(values->divergence) || values->alpha || values->groups != 1 || values->mix))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--divergence, --alpha, --groups and --mix belong to fusion");
	for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
		if (PLACES[i].questions >> unknown & 1 || !options_typed(verb, PLACES[i].option))
			continue;
		(void)io_fail(&error, CUTTLE_USAGE, "%s takes no --%s", UNKNOWNS[unknown],
		              PLACES[i].option);
		return verb_fail(verb, CUTTLE_USAGE, &error);
	}
	if (options_typed(verb, "grid") &&
	    (unknown == FUSION || (unknown != PLAN && values->accountant != CUTTLE_EXACT)))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--grid is of --accountant exact, and of plan");
	if (options_typed(verb, "threads") && !values->open.model)
		return verb_refuse(verb, CUTTLE_USAGE, "--threads is of a measurement, with -m");
	if (options_typed(verb, "kv-type") && !values->open.model)
		return verb_refuse(verb, CUTTLE_USAGE, "--kv-type is of a measurement, with -m");
	if (options_typed(verb, "format") && unknown != PLAN &&
	    (unknown != FUSION || values->format != PLAN_JSON))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--format is of plan's table; --json is for all questions");
	if (options_typed(verb, "spread") && values->group == 1)
		return verb_refuse(verb, CUTTLE_USAGE, "--spread needs --group G");
	return CUTTLE_OK;
}

static json_t *encode_budget(const struct cuttle_budget *budget) {
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

static double select_answer(const struct cuttle_budget *budget, enum cuttle_unknown unknown) {
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

static void print_part(const char *name, double value, const char *separator) {
	if (isfinite(value) && value != 0) printf("%s %.6g%s", name, value, separator);
}

/* The first line is the number alone, for scripts. The second line says what it belongs to. */
static void print_answer(const struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	verb_print_number(select_answer(budget, unknown));
	printf("The %s with ", UNKNOWNS[unknown]);
	if (unknown != CUTTLE_EPSILON) print_part("epsilon", budget->epsilon, ", ");
	if (unknown != CUTTLE_DELTA) print_part("delta", budget->delta, ", ");
	if (unknown != CUTTLE_CLIP) print_part("clip", budget->clip, ", ");
	if (unknown != CUTTLE_BATCH) print_part("batch", budget->batch, ", ");
	if (unknown != CUTTLE_TOKENS) print_part("tokens", budget->tokens, ", ");
	print_part("temperature", budget->temperature, ", ");
	if (unknown != CUTTLE_RHO) printf("rho %.6g, ", budget->rho);
	if (budget->accountant == CUTTLE_EXACT) printf("by exact composition, ");
	if (budget->group <= 1)
		printf("per text and per record, where one record is replaced by null.\n");
	else
		printf("per person with %u records, %s, where all of them are replaced by null.\n",
		       budget->group, budget->spread ? "each in another text" : "all in one text");
}

/* Refuses a request that lacks a number the unknown is computed from; returns the exit code. */
static int refuse_incomplete_budget(const struct verb *verb, const struct budget_values *values,
                                    size_t unknown) {
	const bool epsilon = values->epsilon != NULL, rho = !isnan(values->rho),
	           clip = !isnan(values->clip);
	const bool allowance =
	    unknown == CUTTLE_CLIP || unknown == CUTTLE_TOKENS || unknown == CUTTLE_BATCH;
	// sampling: temperature, batch and tokens are needed. rho can replace them, since it is
	// computed from clip and these three. rho also follows from epsilon and delta, without
	// them.
	const bool sampling =
	    unknown == CUTTLE_RHO ? clip || !epsilon : allowance || unknown == PLAN || !rho;
	const struct verb_need needs[] = {
	    {allowance && !epsilon && !rho, "-e EPS or --rho RHO", "-e 3"},
	    {unknown == CUTTLE_DELTA && !epsilon, "-e EPS", "-e 3"},
	    {unknown == CUTTLE_RHO && !clip && !epsilon, "--clip C or -e EPS", "--clip 0.5"},
	    {(unknown == CUTTLE_EPSILON || unknown == CUTTLE_DELTA) && !clip && !rho,
	     "--clip C or --rho RHO", "--clip 0.5"},
	    {(unknown == CUTTLE_TOKENS || unknown == CUTTLE_BATCH) && !clip, "--clip C",
	     "--clip 0.5"},
	    {sampling && isnan(values->temperature), "--temperature TAU", "--temperature 1"},
	    {sampling && unknown != CUTTLE_BATCH && unknown != PLAN && !values->batch, "-B B",
	     "-B 7"},
	    {sampling && unknown != CUTTLE_TOKENS && values->tokens == COUNT_NONE, "-n T",
	     "-n 200"},
	};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

static int print_plan(const struct verb *verb, const struct budget_values *values,
                      const struct cuttle_budget *known) {
	const struct plan_request request = {
	    .epsilons = values->epsilon ? values->epsilon : "1,3,5,10",
	    .batches = values->batch ? values->batch : "7,15,31,63",
	    .known = *known,
	    .texts = (double)values->texts,
	    .records = values->records,
	    .shots = values->shots,
	    .rows_per_s = values->rows_per_s,
	    .bench = values->bench,
	    .open = values->open,
	    .format = values->json ? PLAN_JSON : (enum plan_format)values->format};
	if (values->rows_per_s <= 0)
		return verb_refuse(verb, CUTTLE_USAGE, "--rows-per-second: must be above 0");
	return plan_print(verb, &request);
}

/* Reads -e of an action that takes one number, not a list. */
static int read_budget_epsilon(const struct verb *verb, const struct budget_values *values,
                               double *epsilon) {
	if (!values->epsilon || options_real(values->epsilon, epsilon)) return CUTTLE_OK;
	return verb_refuse(verb, CUTTLE_USAGE, "--epsilon: must be a number " EPSILON_RANGE);
}

/* Likewise -B; 0 = not given. */
static int read_budget_batch(const struct verb *verb, const struct budget_values *values,
                             uint64_t *batch) {
	*batch = 0;
	if (!values->batch || (options_count(values->batch, UINT32_MAX, batch) && *batch))
		return CUTTLE_OK;
	return verb_refuse(verb, CUTTLE_USAGE,
	                   "--batch-size: must be a whole number, 1 or more, as in 7");
}

static int print_fusion(const struct verb *verb, const struct budget_values *values) {
	struct cuttle_rewrite_budget budget;
	cuttle_rewrite_budget_none(&budget);
	if (!isnan(values->rho) || !isnan(values->clip) || !isnan(values->temperature) ||
	    values->batch || values->group != 1 || values->spread || values->accountant)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "fusion takes --epsilon, --divergence, --max-tokens, --delta, "
		                   "--alpha, --groups, --mix and --json");
	const int code = read_budget_epsilon(verb, values, &budget.epsilon);
	if (code) return code;
	budget.divergence = values->divergence;
	budget.delta = isnan(values->delta) ? 1e-5 : values->delta;
	budget.tokens = values->tokens == COUNT_NONE ? 0 : (uint32_t)values->tokens;
	budget.alpha = (uint32_t)values->alpha;
	budget.groups = (uint32_t)values->groups;
	budget.mix = (enum cuttle_mix)values->mix;
	return fusion_budget_print(verb, &budget, values->json || values->format == PLAN_JSON);
}

/* Reads q: digits with a point and an exponent maybe, which is at most 18 places, or a fraction.
 * 0.25 is 25 of 100, and so is 25e-2. False: it is neither, or not in 0..1. */
static bool read_ratio(const char *text, uint64_t *used, uint64_t *batches) {
	const char *slash = strchr(text, '/'), *point = strchr(text, '.'),
	           *power = strpbrk(text, "eE");
	char digits[48];
	const size_t size = power && !slash ? (size_t)(power - text) : strlen(text);
	long places = 0;
	if (size >= sizeof digits) return false;
	memcpy(digits, text, size);
	digits[size] = 0;
	*batches = 1;
	if (slash) {
		digits[slash - text] = 0;
		if (!options_count(slash + 1, UINT64_MAX, batches)) return false;
	} else {
		char *end = NULL;
		if (power) places = -strtol(power + 1, &end, 10);
		if (power && (end == power + 1 || *end)) return false;
		if (point && (!power || point < power)) {
			const size_t behind = size - (size_t)(point + 1 - text);
			memmove(digits + (point - text), point + 1, behind);
			digits[size - 1] = 0;
			places += (long)behind;
		}
	}
	if (places > 18 || places < -18 || !options_count(digits, UINT64_MAX, used)) return false;
	for (; places > 0; places--) *batches *= 10;
	for (; places < 0; places++)
		if (__builtin_mul_overflow(*used, 10, used)) return false;
	return *used >= 1 && *used <= *batches;
}

static int print_amplified(const struct verb *verb, const struct budget_values *values) {
	struct cuttle_error error;
	uint64_t used, batches;
	double epsilon = NAN, delta = isnan(values->delta) ? 1e-6 : values->delta;
	const struct verb_need needs[] = {{!values->epsilon, "-e EPS", "-e 3"},
	                                  {!values->ratio, "--q Q", "--q 0.1"}};
	// The verb's own example is about another question.
	struct verb amplify = *verb;
	amplify.example = "amplify -e 1 --delta 1e-6 --q 0.1 --inverse";
	int code = verb_lacks(&amplify, needs, sizeof needs / sizeof *needs);
	if (!code) code = read_budget_epsilon(verb, values, &epsilon);
	if (code) return code;
	if (!read_ratio(values->ratio, &used, &batches))
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--q: must be a number above 0 and at most 1, as in 0.1 or "
		                   "100/1000");
	const double given = epsilon, given_delta = delta;
	const enum cuttle_status status =
	    cuttle_amplify(used, batches, values->inverse, &epsilon, &delta, &error);
	if (status) return verb_fail(verb, status, &error);
	if (values->json) {
		const struct jsonout_member members[] = {{"epsilon", jsonout_real(epsilon)},
		                                         {"delta", jsonout_real(delta)}};
		return verb_print(verb, jsonout_extend(json_object(), members, 2), JSON_COMPACT);
	}
	verb_print_number(epsilon);
	printf("The epsilon of %s, at delta %.6g, where %s has epsilon %.6g at delta %.6g. The "
	       "run uses %s of its batches, by secret lots.\n",
	       values->inverse ? "a batch" : "the run", delta,
	       values->inverse ? "the run" : "a batch", given, given_delta, values->ratio);
	return CUTTLE_OK;
}

static int print_split(const struct verb *verb, const struct budget_values *values) {
	struct budget_split_request request = {.delta = isnan(values->delta) ? 1e-6 : values->delta,
	                                       .texts = values->texts,
	                                       .records = values->records,
	                                       .width = values->width,
	                                       .json = values->json};
	uint64_t batch;
	const struct verb_need needs[] = {
	    {!values->epsilon, "-e EPS", "-e 3"},
	    {!values->batch, "-B B", "-B 15"},
	    {values->tokens == COUNT_NONE, "-n T", "-n 100"},
	    {values->records == COUNT_NONE, "--records R", "--records 5000"}};
	// The verb's own example is about another question.
	struct verb split = *verb;
	split.example = "split -e 3 --delta 1e-6 -N 50 -B 15 -n 100 --records 5000";
	int code = verb_lacks(&split, needs, sizeof needs / sizeof *needs);
	if (!code) code = read_budget_epsilon(verb, values, &request.epsilon);
	if (!code) code = read_budget_batch(verb, values, &batch);
	if (code) return code;
	request.batch = (uint32_t)batch;
	request.tokens = (uint32_t)values->tokens;
	return budget_split_print(verb, &request);
}

static int solve_budget(const struct verb *verb, const struct budget_values *values,
                        struct cuttle_budget *budget, enum cuttle_unknown unknown) {
	struct cuttle_error error;
	uint64_t batch;
	int code = read_budget_epsilon(verb, values, &budget->epsilon);
	if (!code) code = read_budget_batch(verb, values, &batch);
	if (code) return code;
	budget->batch = (uint32_t)batch;
	if (isfinite(select_answer(budget, unknown)) && select_answer(budget, unknown) != 0)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "what is asked for is also given; leave its option out");
	enum cuttle_status status = cuttle_budget_solve(budget, unknown, &error);
	if (status) return verb_fail(verb, status, &error);
	if (values->json) return verb_print(verb, encode_budget(budget), JSON_COMPACT);
	print_answer(budget, unknown);
	return CUTTLE_OK;
}

static int run_budget_verb(const struct verb *verb, int argc, char **argv) {
	struct budget_values values = {.delta = NAN,
	                               .rho = NAN,
	                               .clip = NAN,
	                               .temperature = NAN,
	                               .rows_per_s = NAN,
	                               .divergence = NAN,
	                               .groups = 1,
	                               .tokens = COUNT_NONE,
	                               .group = 1,
	                               .texts = 100,
	                               .width = 576,
	                               .records = COUNT_NONE,
	                               .shots = 1};
	struct cuttle_budget budget;
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	size_t unknown;
	if (!verb_action(verb, operand + 1 == argc ? argv[operand] : NULL, UNKNOWNS, UNKNOWN_COUNT,
	                 &unknown))
		return CUTTLE_USAGE;
	if ((code = refuse_idle_options(verb, &values, unknown))) return code;
	if (unknown == AMPLIFY) return print_amplified(verb, &values);
	if (unknown == FUSION) return print_fusion(verb, &values);
	if (unknown == SPLIT) return print_split(verb, &values);
	const bool is_plan = unknown == PLAN;
	code = refuse_incomplete_budget(verb, &values, unknown);
	if (code) return code;
	cuttle_budget_none(&budget);
	budget.delta =
	    isnan(values.delta) && (is_plan || unknown != CUTTLE_DELTA) ? 1e-6 : values.delta;
	budget.accountant = (enum cuttle_accountant)values.accountant;
	budget.rho = values.rho;
	budget.clip = values.clip;
	budget.temperature = values.temperature;
	budget.tokens = values.tokens == COUNT_NONE ? 0 : (uint32_t)values.tokens;
	budget.grid = (unsigned)values.grid;
	budget.group = (uint32_t)values.group;
	budget.spread = values.spread;
	return is_plan ? print_plan(verb, &values, &budget)
	               : solve_budget(verb, &values, &budget, (enum cuttle_unknown)unknown);
}

const struct verb budget_verb = {
    .name = "budget",
    .usage = "clip|epsilon|rho|delta|tokens|batch|plan|fusion|amplify|split [OPTION]...",
    .summary = "any one of clip, epsilon, rho, delta, tokens, batch from the others",
    .example = "clip -e 3 --delta 1e-6 -B 7 -n 500 --temperature 1.2",
    .another = "fusion -e 8 -n 200 --delta 1e-5 --mix average --groups 3",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = UNKNOWNS,
    .action_count = UNKNOWN_COUNT,
    .run = run_budget_verb,
};
