// SPDX-License-Identifier: Apache-2.0
// The costs of sanitize_receipt.h, and its sentence. All costs come from
// cuttle_rewrite_budget_cost, so a claim can compute them again.
#include "io/receipts/sanitize_receipt.h"

#include "io/records/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the oldest words called a larger epsilon. */
static const double WEAK = 12;
static const char FORMER_LITTLE[] = " An epsilon this large proves little.";

const char *const REWRITE_CHOSEN[REWRITE_CHOICES] = {"as given", "by a tagger", "by the sweep",
                                                     "by a tagger and the sweep"};

/* ---- costs ----------------------------------------------------------------------------------- */

static int compare_caps(const void *one, const void *other) {
	const double a = *(const double *)one, b = *(const double *)other;
	return a < b ? 1 : a > b ? -1 : 0;
}

/* The cost of one group, or of all: of the `m` largest caps. */
static enum cuttle_status cost_groups(const struct sanitize_receipt *receipt, uint32_t m,
                                      const double *caps, uint32_t group,
                                      struct cuttle_rewrite_cost *cost,
                                      struct cuttle_error *error) {
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	struct cuttle_rewrite_budget budget;
	double chosen[GROUPS_MOST];
	memcpy(chosen, caps, sizeof chosen);
	cuttle_rewrite_budget_none(&budget);
	budget.mix = guarantee->mix;
	budget.alpha = guarantee->alpha;
	budget.delta = guarantee->delta;
	budget.tokens = guarantee->tokens;
	budget.groups = m;
	if (group == CUTTLE_EVERY_GROUP)
		qsort(chosen, groups_count(receipt->groups), sizeof *chosen, compare_caps);
	else {
		// A group's cost follows from its own cap and m: let it be the first of them.
		chosen[0] = caps[group];
		for (uint32_t i = 1; i < m; i++) chosen[i] = caps[group];
		group = 0;
	}
	const enum cuttle_status status =
	    cuttle_rewrite_budget_cost(&budget, chosen, group, cost, error);
	if (receipt->chosen) cost->ceiling = 1;
	return status;
}

enum cuttle_status sanitize_receipt_cost(struct sanitize_receipt *receipt,
                                         const double caps[GROUPS_MOST][GROUPS_MOST],
                                         struct cuttle_error *error) {
	const uint32_t groups = (uint32_t)groups_count(receipt->groups);
	enum cuttle_status status = CUTTLE_OK;
	for (uint32_t m = 1; m <= groups && !status; m++) {
		struct sanitize_costs *costs = &receipt->costs[m - 1];
		for (uint32_t group = 0; group < groups && !status; group++)
			status =
			    cost_groups(receipt, m, caps[m - 1], group, &costs->of[group], error);
		if (!status)
			status = cost_groups(receipt, m, caps[m - 1], CUTTLE_EVERY_GROUP,
			                     &costs->all, error);
	}
	return status;
}

double sanitize_receipt_charge(const struct sanitize_receipt *receipt) {
	double most = 0;
	for (size_t m = 1; m <= GROUPS_MOST; m++)
		if (receipt->marked[m])
			most = fmax(most, units_multiply(receipt->guarantee.tokens,
			                                 receipt->costs[m - 1].all.loss));
	return most;
}

/* The greatest m that occurs; 0 = no document has a mark. */
static size_t find_most_marked(const struct sanitize_receipt *receipt) {
	size_t m = GROUPS_MOST;
	while (m && !receipt->marked[m]) m--;
	return m;
}

/* Raises each number of *worst to that of the other cost. A NaN is passed over. */
static void raise_cost(struct cuttle_rewrite_cost *worst, const struct cuttle_rewrite_cost *cost) {
	worst->divergence = fmax(worst->divergence, cost->divergence);
	worst->loss = fmax(worst->loss, cost->loss);
	worst->epsilon = fmax(worst->epsilon, cost->epsilon);
	worst->epsilon_exchange = fmax(worst->epsilon_exchange, cost->epsilon_exchange);
	worst->ceiling = fmax(worst->ceiling, cost->ceiling);
}

void sanitize_receipt_worst(const struct sanitize_receipt *receipt, struct cuttle_rewrite_cost *one,
                            struct cuttle_rewrite_cost *all) {
	const bool mixed = receipt->guarantee.mix == CUTTLE_MIX_ALL;
	*one = *all = (struct cuttle_rewrite_cost){.ceiling = receipt->chosen ? 1 : 0};
	for (size_t m = 1; m <= GROUPS_MOST; m++) {
		if (!receipt->marked[m]) continue;
		const struct sanitize_costs *costs = &receipt->costs[m - 1];
		raise_cost(all, &costs->all);
		if (mixed) raise_cost(one, &costs->all);
		for (size_t group = 0; !mixed && group < groups_count(receipt->groups); group++)
			raise_cost(one, &costs->of[group]);
	}
}

/* ---- the sentence ---------------------------------------------------------------------------- */

/* The names of the groups: "PERSON; LOCATION". */
static void list_groups(const struct groups *groups, char *text, size_t room) {
	size_t used = 0;
	(void)snprintf(text, room, "all");
	for (size_t i = 0; i < groups->count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "; " : "",
		                         groups->all[i].name);
}

/* The factor of an epsilon, which is rounded up first. */
static void print_factor(double epsilon, char text[RECEIPT_FACTOR]) {
	receipt_print_factor(jsonout_round_up(epsilon, 1e4), text);
}

enum { CHANCE = 256 };
/* What is said of guessing a content, or why nothing is. */
static void print_chance(const struct sanitize_receipt *receipt, double ceiling,
                         char text[CHANCE]) {
	char number[UNITS_NUMBER];
	units_print(ceiling, true, number);
	if (receipt->chosen && receipt->wording != RECEIPT_NOW)
		(void)snprintf(text, CHANCE,
		               "Which words are marked was chosen by what they say, %s: this "
		               "choice is seen in the public part, it may tell contents, and it is "
		               "not covered, so no ceiling of guessing is stated.",
		               REWRITE_CHOSEN[receipt->chosen]);
	else if (receipt->chosen)
		(void)snprintf(text, CHANCE,
		               "Which words are marked was chosen by what they say, %s. This "
		               "choice is seen in the public part, and may tell contents. It is "
		               "not covered, so no ceiling of guessing is stated.",
		               REWRITE_CHOSEN[receipt->chosen]);
	else
		(void)snprintf(text, CHANCE,
		               "The chance to guess which of five equally likely contents is the "
		               "true one: %s%s.",
		               ceiling < 1 ? "at most " : "no ceiling is proven",
		               ceiling < 1 ? number : "");
}

/* A receipt's promise in words: what its sentences are put together from. */
struct told {
	struct cuttle_rewrite_cost one, all; /* the most that one group costs, and all together */
	char names[GROUPS_MOST * (UTF8_NAME + 2) + 8];
	char exchange[RECEIPT_FACTOR];  /* the factor for other contents of one group */
	char blank_all[RECEIPT_FACTOR]; /* for the marks of all groups; "" = not told */
	char exchange_all[RECEIPT_FACTOR];
	char chance[CHANCE];
};

static const char NOT_COVERED[] =
    "Not covered: text outside marks; that marks are there, where, and of what type; what "
    "the tagger missed; time; the operator.";

static void tell_fusion(const struct sanitize_receipt *receipt, const struct told *told,
                        char sentence[REWRITE_SENTENCE]) {
	const bool mixed = receipt->guarantee.mix == CUTTLE_MIX_ALL;
	char together[256] = "";
	if (*told->blank_all)
		(void)snprintf(together, sizeof together,
		               " With the marks of all groups blank it is at most %s, and with "
		               "other contents in all of them %s, plus delta.",
		               told->blank_all, told->exchange_all);
	receipt_promise(&(struct receipt_promise){.scope = "per document",
	                                          .otherwise = mixed ? "with all marks blank"
	                                                             : "with the marks of any one "
	                                                               "group blank",
	                                          .epsilon = told->one.epsilon,
	                                          .delta = receipt->guarantee.delta},
	                sentence, REWRITE_SENTENCE);
	const size_t used = strlen(sentence);
	(void)snprintf(sentence + used, REWRITE_SENTENCE - used,
	               " An event is anything that anyone concludes from the output. They may "
	               "know all of the document but the contents of these marks. With other "
	               "contents in these marks the factor is at most %s, plus delta.%s Groups "
	               "of marks: %s. %s %s%s",
	               told->exchange, together, told->names, told->chance, NOT_COVERED,
	               told->one.epsilon > RECEIPT_WEAK ? RECEIPT_LITTLE : "");
}

/* The same in earlier words. */
static void tell_former_fusion(const struct sanitize_receipt *receipt, const struct told *told,
                               char sentence[REWRITE_SENTENCE]) {
	const bool oldest = receipt->wording == RECEIPT_OLDEST;
	const char *const little = oldest ? FORMER_LITTLE : RECEIPT_LITTLE;
	char delta[UNITS_NUMBER], factor[RECEIPT_FACTOR], together[192] = "";
	units_print(receipt->guarantee.delta, true, delta);
	print_factor(told->one.epsilon, factor);
	if (*told->blank_all)
		(void)snprintf(together, sizeof together,
		               " All groups together: %s, exchanged %s, plus delta.",
		               told->blank_all, told->exchange_all);
	(void)snprintf(
	    sentence, REWRITE_SENTENCE,
	    "Guarantee, per document: whatever anyone concludes from the output who knows "
	    "everything "
	    "in the document but the contents of %s (%s), %sthe probability of any event is at "
	    "most %s times what it would be %s, plus delta = %s, and the other way round. With "
	    "other contents in place of these: %s times, plus delta.%s %s %s%s",
	    receipt->guarantee.mix == CUTTLE_MIX_ALL ? "all marks" : "the marks of one group",
	    told->names,
	    oldest ? "they would have concluded nearly as well with these marks blank: " : "",
	    factor, oldest ? "then" : "with these marks blank", delta, told->exchange, together,
	    told->chance, NOT_COVERED,
	    told->one.epsilon > (oldest ? WEAK : RECEIPT_WEAK) ? little : "");
}

void sanitize_receipt_sentence(const struct sanitize_receipt *receipt,
                               char sentence[REWRITE_SENTENCE]) {
	struct told told = {.blank_all = ""};
	sanitize_receipt_worst(receipt, &told.one, &told.all);
	print_chance(receipt, told.one.ceiling, told.chance);
	if (!receipt->guarantee.private_output) {
		(void)snprintf(sentence, REWRITE_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	if (!find_most_marked(receipt)) {
		(void)snprintf(sentence, REWRITE_SENTENCE,
		               "No document has a mark: nothing private was read, and nothing is "
		               "promised. %s%s%s",
		               receipt->chosen ? told.chance : "", receipt->chosen ? " " : "",
		               NOT_COVERED);
		return;
	}
	list_groups(receipt->groups, told.names, sizeof told.names);
	print_factor(told.one.epsilon_exchange, told.exchange);
	if (receipt->guarantee.mix != CUTTLE_MIX_ALL && find_most_marked(receipt) > 1) {
		print_factor(told.all.epsilon, told.blank_all);
		print_factor(told.all.epsilon_exchange, told.exchange_all);
	}
	if (receipt->wording == RECEIPT_NOW) tell_fusion(receipt, &told, sentence);
	else tell_former_fusion(receipt, &told, sentence);
}
