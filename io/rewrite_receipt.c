// SPDX-License-Identifier: Apache-2.0
// Builds the receipt of rewrite_receipt.h with jansson, and its sentence. All costs come from
// cuttle_rewrite_budget_cost, so a claim can compute them again.
#include "io/rewrite_receipt.h"

#include "io/jsonout.h"
#include "io/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A larger epsilon proves little. */
static const double WEAK = 12;
static const char FORMER_LITTLE[] = " An epsilon this large proves little.";

static const char *const MIXES[] = {"all", "average", "capped"};
static const char *const ADJACENCY[] = {
    "the contents of all marks of one document, against blank ones",
    "the contents of the marks of one group in one document, against blank ones",
    "the contents of the marks of one group in one document, against blank ones"};
const char *const REWRITE_CHOSEN[REWRITE_CHOICES] = {"as given", "by a tagger", "by the sweep",
                                                     "by a tagger and the sweep"};
static const char UNIT[] = "one document of the input";

/* ---- costs ----------------------------------------------------------------------------------- */

static int compare_caps(const void *one, const void *other) {
	const double a = *(const double *)one, b = *(const double *)other;
	return a < b ? 1 : a > b ? -1 : 0;
}

/* The cost of one group, or of all: of the `m` largest caps. */
static enum cuttle_status cost_groups(const struct rewrite_receipt *receipt, uint32_t m,
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

enum cuttle_status rewrite_receipt_cost(struct rewrite_receipt *receipt,
                                        const double caps[GROUPS_MOST][GROUPS_MOST],
                                        struct cuttle_error *error) {
	const uint32_t groups = (uint32_t)groups_count(receipt->groups);
	enum cuttle_status status = CUTTLE_OK;
	for (uint32_t m = 1; m <= groups && !status; m++) {
		struct rewrite_costs *costs = &receipt->costs[m - 1];
		for (uint32_t group = 0; group < groups && !status; group++)
			status =
			    cost_groups(receipt, m, caps[m - 1], group, &costs->of[group], error);
		if (!status)
			status = cost_groups(receipt, m, caps[m - 1], CUTTLE_EVERY_GROUP,
			                     &costs->all, error);
	}
	return status;
}

double rewrite_receipt_charge(const struct rewrite_receipt *receipt) {
	double most = 0;
	for (size_t m = 1; m <= GROUPS_MOST; m++)
		if (receipt->marked[m])
			most = fmax(most, units_multiply(receipt->guarantee.tokens,
			                                 receipt->costs[m - 1].all.loss));
	return most;
}

/* The greatest m that occurs; 0 = no document has a mark. */
static size_t find_most_marked(const struct rewrite_receipt *receipt) {
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

void rewrite_receipt_worst(const struct rewrite_receipt *receipt, struct cuttle_rewrite_cost *one,
                           struct cuttle_rewrite_cost *all) {
	const bool mixed = receipt->guarantee.mix == CUTTLE_MIX_ALL;
	*one = *all = (struct cuttle_rewrite_cost){.ceiling = receipt->chosen ? 1 : 0};
	for (size_t m = 1; m <= GROUPS_MOST; m++) {
		if (!receipt->marked[m]) continue;
		const struct rewrite_costs *costs = &receipt->costs[m - 1];
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

/* e^epsilon in words, rounded up: "e^1.5 = 4.49"; without the number where it is beyond use. */
static void print_factor(double epsilon, char text[64]) {
	const double rounded = jsonout_round_up(epsilon, 1e4);
	if (rounded < WEAK)
		(void)snprintf(text, 64, "e^%.10g = %.6g", rounded,
		               jsonout_round_up(exp(rounded), rounded < 4 ? 1e2 : 1));
	else (void)snprintf(text, 64, "e^%.10g", rounded);
}

enum { CHANCE = 256 };
/* What is said of guessing a content, or why nothing is. */
static void print_chance(const struct rewrite_receipt *receipt, double ceiling, char text[CHANCE]) {
	char number[UNITS_NUMBER];
	units_print(ceiling, true, number);
	if (receipt->chosen)
		(void)snprintf(text, CHANCE,
		               "Which words are marked was chosen by what they say, %s: this "
		               "choice is seen in the public part, it may tell contents, and it is "
		               "not covered, so no ceiling of guessing is stated.",
		               REWRITE_CHOSEN[receipt->chosen]);
	else
		(void)snprintf(text, CHANCE,
		               "The chance to guess which of five equally likely contents is the "
		               "true one: %s%s.",
		               ceiling < 1 ? "at most " : "no ceiling is proven",
		               ceiling < 1 ? number : "");
}

void rewrite_receipt_sentence(const struct rewrite_receipt *receipt,
                              char sentence[REWRITE_SENTENCE]) {
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	static const char not_covered[] =
	    "Not covered: text outside marks; that marks are there, where, and of what type; what "
	    "the tagger missed; time; the operator.";
	char chance[CHANCE];
	struct cuttle_rewrite_cost one, all;
	rewrite_receipt_worst(receipt, &one, &all);
	print_chance(receipt, one.ceiling, chance);
	if (!guarantee->private_output) {
		(void)snprintf(sentence, REWRITE_SENTENCE, "%s.", RECEIPT_NOT_PRIVATE);
		return;
	}
	if (!find_most_marked(receipt)) {
		(void)snprintf(sentence, REWRITE_SENTENCE,
		               "No document has a mark: nothing private was read, and nothing is "
		               "promised. %s%s%s",
		               receipt->chosen ? chance : "", receipt->chosen ? " " : "",
		               not_covered);
		return;
	}
	char names[GROUPS_MOST * (UTF8_NAME + 2) + 8], delta[UNITS_NUMBER];
	char factor[64], exchange[64], together[192] = "";
	const bool mixed = guarantee->mix == CUTTLE_MIX_ALL;
	list_groups(receipt->groups, names, sizeof names);
	units_print(guarantee->delta, true, delta);
	print_factor(one.epsilon, factor);
	print_factor(one.epsilon_exchange, exchange);
	if (!mixed && find_most_marked(receipt) > 1) {
		char blank[64], other[64];
		print_factor(all.epsilon, blank);
		print_factor(all.epsilon_exchange, other);
		(void)snprintf(together, sizeof together,
		               " All groups together: %s, exchanged %s, plus delta.", blank, other);
	}
	(void)snprintf(
	    sentence, REWRITE_SENTENCE,
	    "Guarantee, per document: whatever anyone concludes from the output who knows "
	    "everything "
	    "in the document but the contents of %s (%s), %sthe probability of any event is at "
	    "most %s times what it would be %s, plus delta = %s, and the other way round. With "
	    "other contents in place of these: %s times, plus delta.%s %s %s%s",
	    mixed ? "all marks" : "the marks of one group", names,
	    receipt->former_words
	        ? "they would have concluded nearly as well with these marks blank: "
	        : "",
	    factor, receipt->former_words ? "then" : "with these marks blank", delta, exchange,
	    together, chance, not_covered,
	    receipt->former_words        ? one.epsilon > WEAK ? FORMER_LITTLE : ""
	    : one.epsilon > RECEIPT_WEAK ? RECEIPT_LITTLE
	                                 : "");
}

/* ---- the document ---------------------------------------------------------------------------- */

static json_t *list_types(const struct groups *groups, uint32_t group) {
	json_t *list = json_array();
	for (size_t i = 0; i < groups->member_count; i++)
		if (groups->members[i].group == group &&
		    json_array_append_new(list, json_string(groups->members[i].type)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* Appends a value to the list, and takes both. NULL: one of them was, or out of memory. */
static json_t *append_part(json_t *list, json_t *value) {
	if (list && value && json_array_append_new(list, value) == 0) return list;
	if (!list) json_decref(value);
	json_decref(list);
	return NULL;
}

/* The name of a group: without any there is one, "all". */
static const char *name_of_group(const struct groups *groups, size_t group) {
	return groups->count ? groups->all[group].name : "all";
}

/* Name and types of each group. No types: every type that is not left. */
static json_t *json_of_groups(const struct groups *groups) {
	json_t *list = json_array();
	for (size_t i = 0; i < groups_count(groups); i++)
		list = append_part(list, json_pack("{s:s, s:o}", "name", name_of_group(groups, i),
		                                   "types", list_types(groups, (uint32_t)i)));
	return list;
}

static json_t *json_of_cost(const char *name, const struct cuttle_rewrite_cost *cost) {
	const struct jsonout_member members[] = {
	    {"name", json_string(name)},
	    {"cap", json_real(cost->divergence)},
	    {"loss_per_token", jsonout_real(cost->loss)},
	    {"epsilon", jsonout_real(cost->epsilon)},
	    {"epsilon_exchange", jsonout_real(cost->epsilon_exchange)},
	    {"recovery_ceiling_5", json_real(cost->ceiling)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* What documents cost in which m groups have a mark. */
static json_t *json_of_costs(const struct rewrite_receipt *receipt, size_t m) {
	const struct rewrite_costs *costs = &receipt->costs[m - 1];
	json_t *list = json_array();
	for (size_t i = 0; i < groups_count(receipt->groups); i++)
		list = append_part(list,
		                   json_of_cost(name_of_group(receipt->groups, i), &costs->of[i]));
	const struct jsonout_member members[] = {
	    {"m", json_integer((json_int_t)m)},
	    {"documents", json_integer((json_int_t)receipt->marked[m])},
	    {"groups", list},
	    {"loss_all", json_real(costs->all.loss)},
	    {"epsilon_all", jsonout_real(costs->all.epsilon)},
	    {"epsilon_exchange_all", jsonout_real(costs->all.epsilon_exchange)},
	    {"recovery_ceiling_5", json_real(costs->all.ceiling)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static json_t *list_costs(const struct rewrite_receipt *receipt) {
	json_t *list = json_array();
	for (size_t m = 1; m <= GROUPS_MOST; m++)
		if (receipt->marked[m]) list = append_part(list, json_of_costs(receipt, m));
	return list;
}

static json_t *name_or_null(const char *name) {
	return name ? json_string(name) : json_null();
}

json_t *rewrite_receipt_json(const struct rewrite_receipt *receipt, const char *fingerprint,
                             const char *output_sha256) {
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	char sentence[REWRITE_SENTENCE];
	struct cuttle_rewrite_cost one, all;
	rewrite_receipt_sentence(receipt, sentence);
	rewrite_receipt_worst(receipt, &one, &all);
	const struct jsonout_member members[] = {
	    {"adjacency", json_string(ADJACENCY[guarantee->mix])},
	    {"alpha", json_integer(guarantee->alpha)},
	    {"candidates", json_integer(guarantee->top_k)},
	    {"command_sha256", json_string(fingerprint)},
	    {"context", json_integer(guarantee->context)},
	    {"costs", list_costs(receipt)},
	    {"dataset", name_or_null(receipt->dataset)},
	    {"date", json_string(receipt->date)},
	    {"delta", json_real(guarantee->delta)},
	    {"document_bytes", json_integer(guarantee->document_bytes)},
	    {"document_tokens", json_integer(guarantee->document_tokens)},
	    {"documents", json_integer((json_int_t)receipt->documents)},
	    {"documents_without_marks", json_integer((json_int_t)receipt->marked[0])},
	    {"epsilon", json_real(one.epsilon)},
	    {"epsilon_all", json_real(all.epsilon)},
	    {"groups", json_of_groups(receipt->groups)},
	    {"guarantee", json_string(sentence)},
	    {"isa", json_string(receipt->isa)},
	    {"ledger", *receipt->ledger.entry
	                   ? json_pack("{s:s, s:f}", "entry", receipt->ledger.entry, "loss",
	                               receipt->ledger.rho)
	                   : json_null()},
	    {"max_length", json_integer(guarantee->max_length)},
	    {"mechanism", json_string(REWRITE_MECHANISM)},
	    {"mix", json_string(MIXES[guarantee->mix])},
	    {"model_bytes", json_integer((json_int_t)receipt->model.file_bytes)},
	    {"model_name", jsonout_text(receipt->model.name, strlen(receipt->model.name))},
	    {"model_sha256", json_string(receipt->model_sha256)},
	    {"output_sha256", json_string(output_sha256)},
	    {"placeholder", json_string(receipt->placeholder)},
	    {"private", json_boolean(guarantee->private_output)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"recovery_ceiling_5", json_real(one.ceiling)},
	    {"spans_format", json_string(receipt->form)},
	    {"spans_offsets", json_string(receipt->offsets)},
	    {"sweep", json_boolean(receipt->sweep)},
	    {"tagger", json_string(receipt->tagger)},
	    {"temperature", json_real(guarantee->temperature)},
	    {"template_sha256", json_string(receipt->template_sha256)},
	    {"tokens", json_integer(guarantee->tokens)},
	    {"types_left", list_types(receipt->groups, GROUP_LEFT)},
	    {"unit", json_string(UNIT)},
	    {"unit_key", name_or_null(receipt->unit_key)},
	    {"version", json_string(cuttle_version())},
	};
	json_t *stamp =
	    json_pack(guarantee->private_output ? "{}" : "{s:s}", "note", "NOT PRIVATE");
	// Receipts of spans as given are as they were before there was this member.
	if (receipt->chosen) {
		const struct jsonout_member chosen = {"marks_chosen",
		                                      json_string(REWRITE_CHOSEN[receipt->chosen])};
		stamp = jsonout_extend(stamp, &chosen, 1);
	}
	json_t *root = jsonout_extend(stamp, members, sizeof members / sizeof *members);
	return receipt_add_stops(receipt_add_savings(root, &guarantee->savings), &receipt->stops);
}

bool rewrite_receipt_fingerprint(const struct rewrite_receipt *receipt,
                                 const struct rewrite_command *command,
                                 char fingerprint[HASH_TEXT]) {
	struct rewrite_receipt same = *receipt;
	same.isa = receipt_command_isa(receipt->isa);
	same.date[0] = 0;
	same.dataset = NULL;
	same.ledger = (struct receipt_ledger){.entry = ""};
	// So that the caps of every m are in it, whatever documents there are.
	same.documents = 0;
	same.former_words = true;
	for (size_t m = 0; m <= GROUPS_MOST; m++)
		same.marked[m] = m <= groups_count(receipt->groups);
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"id_field", jsonout_text(command->id_field, strlen(command->id_field))},
	    {"spans_field", name_or_null(command->spans_field)},
	    {"leave_identifier", name_or_null(command->leave_identifier)},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return receipt_hash_command(rewrite_receipt_json(&same, "", ""), members,
	                            sizeof members / sizeof *members, fingerprint);
}
