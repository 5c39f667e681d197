// SPDX-License-Identifier: Apache-2.0
// How a receipt of cuttle sanitize is checked: its members are taken out, its costs are computed
// again from its caps and compared, and at last the whole receipt is written anew and compared.
#include "io/rewrite_claim.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/spans.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gets one of several names as its number, which it leaves alone when the name is none. */
static bool choose_name(const json_t *root, const char *key, const char *const names[],
                        size_t count, size_t *number) {
	const char *name;
	if (!attest_text(root, key, &name)) return false;
	size_t i = 0;
	while (i < count && strcmp(names[i], name) != 0) i++;
	if (i < count) *number = i;
	return i < count;
}

static bool take_types(struct groups *groups, const json_t *list, uint32_t group) {
	size_t i;
	json_t *type;
	if (!json_is_array(list)) return false;
	json_array_foreach(list, i, type) {
		const char *name = json_string_value(type);
		if (!name || !utf8_name(name, strlen(name)) || groups_named(groups, name) ||
		    groups->member_count == GROUPS_NAMED)
			return false;
		struct group_member *member = &groups->members[groups->member_count++];
		member->group = group;
		memcpy(member->type, name, strlen(name) + 1);
	}
	return true;
}

/* Gets the groups. One that is called "all" and has no types is that of a run without --group. */
static bool take_groups(struct groups *groups, const json_t *root) {
	size_t i;
	json_t *object;
	const json_t *list = json_object_get(root, "groups");
	const size_t count = json_array_size(list);
	if (count < 1 || count > GROUPS_MOST) return false;
	json_array_foreach(list, i, object) {
		const char *name;
		const json_t *types = json_object_get(object, "types");
		if (!attest_text(object, "name", &name) || !utf8_name(name, strlen(name)))
			return false;
		if (count == 1 && !json_array_size(types)) {
			if (strcmp(name, "all") != 0) return false;
			break;
		}
		for (size_t other = 0; other < i; other++)
			if (!strcmp(groups->all[other].name, name)) return false;
		memcpy(groups->all[groups->count++].name, name, strlen(name) + 1);
		if (!json_array_size(types)) return false;
		if (!take_types(groups, types, (uint32_t)i)) return false;
	}
	return take_types(groups, json_object_get(root, "types_left"), GROUP_LEFT);
}

/* Gets a number from 0 on, or null as NaN. */
static bool take_real(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_is_null(member) ? NAN : json_real_value(member);
	return json_is_null(member) || (json_is_real(member) && *value >= 0);
}

static bool take_cost(const json_t *object, struct cuttle_rewrite_cost *cost) {
	bool right = attest_real(object, "cap", &cost->divergence);
	right &= take_real(object, "loss_per_token", &cost->loss);
	right &= take_real(object, "epsilon", &cost->epsilon);
	right &= attest_real(object, "recovery_ceiling_5", &cost->ceiling);
	return take_real(object, "epsilon_exchange", &cost->epsilon_exchange) && right;
}

/* Gets what documents cost in which m groups have a mark. */
static bool take_costs(struct rewrite_receipt *receipt, const json_t *object) {
	uint64_t m, documents;
	size_t i;
	json_t *group;
	const json_t *groups = json_object_get(object, "groups");
	const size_t count = groups_count(receipt->groups);
	if (!attest_count(object, "m", count, &m) || !m || receipt->marked[m] ||
	    !attest_count(object, "documents", SIZE_MAX / 2, &documents) || !documents ||
	    json_array_size(groups) != count)
		return false;
	struct rewrite_costs *costs = &receipt->costs[m - 1];
	receipt->marked[m] = (size_t)documents;
	json_array_foreach(groups, i, group) {
		if (!take_cost(group, &costs->of[i])) return false;
	}
	bool right = attest_real(object, "loss_all", &costs->all.loss);
	right &= attest_real(object, "epsilon_all", &costs->all.epsilon);
	right &= attest_real(object, "epsilon_exchange_all", &costs->all.epsilon_exchange);
	return attest_real(object, "recovery_ceiling_5", &costs->all.ceiling) && right;
}

static bool take_guarantee(const json_t *root, struct cuttle_rewrite_guarantee *g) {
	static const char *const mixes[] = {"all", "average", "capped"};
	size_t mix = 0;
	bool right = choose_name(root, "mix", mixes, 3, &mix) && attest_savings(root, &g->savings);
	g->mix = (enum cuttle_mix)mix;
	right &= !g->savings.center && !g->savings.token_bank;
	right &= attest_number(root, "alpha", &g->alpha) && g->alpha >= 2;
	right &= attest_number(root, "candidates", &g->top_k);
	right &= attest_number(root, "tokens", &g->tokens) && g->tokens;
	right &= attest_number(root, "max_length", &g->max_length) && g->max_length >= g->tokens;
	right &= attest_number(root, "context", &g->context);
	right &= attest_number(root, "document_tokens", &g->document_tokens);
	right &= attest_number(root, "document_bytes", &g->document_bytes);
	right &= attest_real(root, "delta", &g->delta) && g->delta < 1;
	right &= attest_real(root, "temperature", &g->temperature);
	return attest_flag(root, "private", &g->private_output) && right;
}

/* Gets who chose the marks. A receipt that does not say it has spans as given, or is of a cuttle
 * that did not know it. */
static bool take_chooser(struct rewrite_receipt *receipt, const json_t *root) {
	size_t chosen = 0;
	if (!json_object_get(root, "marks_chosen")) return true;
	if (!choose_name(root, "marks_chosen", REWRITE_CHOSEN, REWRITE_CHOICES, &chosen))
		return false;
	receipt->chosen = (unsigned)chosen;
	return chosen != 0;
}

static bool take_rewrite_members(struct rewrite_claim *claim) {
	const json_t *root = claim->attested.root, *list = json_object_get(root, "costs"),
	             *ledger = json_object_get(root, "ledger");
	struct rewrite_receipt *receipt = &claim->receipt;
	uint64_t documents = 0, unmarked = 0;
	size_t i, format = 0, unit = 0;
	json_t *object;
	receipt->groups = &claim->groups;
	bool right = take_guarantee(root, &receipt->guarantee) && take_groups(&claim->groups, root);
	receipt->guarantee.groups = (uint32_t)groups_count(&claim->groups);
	right &= json_is_array(list) && attest_count(root, "documents", SIZE_MAX / 2, &documents);
	right &= attest_count(root, "documents_without_marks", documents, &unmarked);
	receipt->documents = (size_t)documents;
	if (right) receipt->marked[0] = (size_t)unmarked;
	json_array_foreach(list, i, object) {
		right = right && take_costs(receipt, object);
	}
	right &= attest_count(root, "model_bytes", INT64_MAX, &receipt->model.file_bytes);
	right &= json_is_string(json_object_get(root, "model_name"));
	right &= attest_hash(root, "model_sha256", receipt->model_sha256);
	right &= attest_hash(root, "template_sha256", receipt->template_sha256);
	right &= attest_text(root, "isa", &receipt->isa);
	right &= attest_text(root, "placeholder", &receipt->placeholder);
	right &= attest_text(root, "tagger", &receipt->tagger);
	right &= choose_name(root, "spans_format", SPANS_FORMAT_NAMES, SPANS_FORMATS, &format);
	receipt->form = SPANS_FORMAT_NAMES[format];
	right &= choose_name(root, "spans_offsets", SPANS_OFFSETS_NAMES, SPANS_UNITS, &unit);
	receipt->offsets = SPANS_OFFSETS_NAMES[unit];
	right &= attest_flag(root, "sweep", &receipt->sweep) && take_chooser(receipt, root);
	right &= attest_stops(&claim->attested, &receipt->stops);
	right &=
	    attest_date(root, receipt->date) && attest_name(root, "dataset", &receipt->dataset);
	right &= !receipt->dataset || utf8_name(receipt->dataset, strlen(receipt->dataset));
	right &= attest_name(root, "unit_key", &receipt->unit_key);
	right &= json_is_null(ledger) || (attest_hash(ledger, "entry", receipt->ledger.entry) &&
	                                  attest_real(ledger, "loss", &receipt->ledger.rho));
	return attest_words(&claim->attested) && right;
}

/* ---- the numbers ----------------------------------------------------------------------------- */

/* As attest_confirm; where nothing is known nothing may be claimed. */
static bool confirm_cost(double claimed, double follows) {
	return isnan(claimed) || isnan(follows) ? isnan(claimed) && isnan(follows)
	                                        : attest_confirm(claimed, follows);
}

static bool confirm_costs(const struct cuttle_rewrite_cost *claimed,
                          const struct cuttle_rewrite_cost *follows) {
	return confirm_cost(claimed->loss, follows->loss) &&
	       confirm_cost(claimed->epsilon, follows->epsilon) &&
	       confirm_cost(claimed->epsilon_exchange, follows->epsilon_exchange) &&
	       attest_confirm(claimed->ceiling, follows->ceiling);
}

/* Computes all costs again from the caps that are claimed. A cap of an m that does not occur is not
 * in the receipt; any number does for it. Returns what is wrong, or NULL. */
static const char *check_costs(const struct rewrite_claim *claim) {
	static const char wrong_sum[] = "its numbers of documents do not add up";
	const struct rewrite_receipt *receipt = &claim->receipt;
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	const size_t groups = groups_count(receipt->groups);
	struct rewrite_receipt again = *receipt;
	double caps[GROUPS_MOST][GROUPS_MOST];
	size_t documents = receipt->documents - receipt->marked[0];
	for (size_t m = 1; m <= groups; m++) {
		for (size_t group = 0; group < groups; group++)
			caps[m - 1][group] =
			    receipt->marked[m] ? receipt->costs[m - 1].of[group].divergence : 0.01;
		// Never below 0: the sum of many large numbers might come out as the right one.
		if (receipt->marked[m] > documents) return wrong_sum;
		documents -= receipt->marked[m];
	}
	if (documents || !receipt->documents) return wrong_sum;
	if (receipt->chosen && receipt->sweep != ((receipt->chosen & REWRITE_BY_SWEEP) != 0))
		return "its sweep contradicts its marks_chosen";
	// Whoever wrote today's words said so where a sweep chose. Without marks nothing is stated.
	if (receipt->sweep && !receipt->chosen && !receipt->former_words &&
	    guarantee->private_output && receipt->documents > receipt->marked[0])
		return "it has a sweep, and does not say that the sweep chose marks";
	if (!guarantee->document_tokens ||
	    (uint64_t)guarantee->document_tokens + guarantee->max_length >= guarantee->context)
		return "its context has no room for its document_tokens and max_length";
	if (rewrite_receipt_cost(&again, caps, NULL)) return "its parameters are out of range";
	for (size_t m = 1; m <= groups; m++) {
		const struct rewrite_costs *claimed = &receipt->costs[m - 1],
		                           *follows = &again.costs[m - 1];
		bool right = true;
		if (!receipt->marked[m]) continue;
		for (size_t group = 0; group < groups; group++)
			right &= confirm_costs(&claimed->of[group], &follows->of[group]);
		if (!right || !confirm_costs(&claimed->all, &follows->all))
			return "a cost of it does not follow from its caps, alpha, tokens and "
			       "delta";
	}
	return NULL;
}

static const char *check_rewrite_charge(const struct rewrite_claim *claim) {
	const struct rewrite_receipt *receipt = &claim->receipt;
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	return receipt->ledger.rho >= rewrite_receipt_charge(receipt)
	           ? NULL
	           : "the ledger charged less than a document costs";
}

enum cuttle_status rewrite_claim_read(struct attested *attested, struct rewrite_claim **claim,
                                      struct cuttle_error *error) {
	*claim = calloc(1, sizeof **claim);
	if (!*claim) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(*claim)->attested = *attested;
	*attested = (struct attested){0};
	const bool right = take_rewrite_members(*claim);
	return attest_refuse(&(*claim)->attested, right, error);
}

enum cuttle_status rewrite_claim_check(struct rewrite_claim *claim, const char *key,
                                       struct cuttle_error *error) {
	const struct attested *attested = &claim->attested;
	claim->receipt.former_words = strstr(attested->sentence, RECEIPT_FORMER_WORDS) != NULL;
	const char *problem = attest_signature(attested, key);
	if (!problem) problem = check_costs(claim);
	if (!problem) problem = check_rewrite_charge(claim);
	// These members follow from no others, so they are copied.
	static const char *const given[] = {"model_name", "public_key"};
	json_t *again = problem ? NULL
	                        : rewrite_receipt_json(&claim->receipt, attested->command_sha256,
	                                               attested->output_sha256);
	return attest_conclude(attested, problem, again, given, sizeof given / sizeof *given,
	                       error);
}

void rewrite_claim_free(struct rewrite_claim **claim) {
	if (*claim) attest_close(&(*claim)->attested);
	free(*claim);
	*claim = NULL;
}
