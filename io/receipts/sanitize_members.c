// SPDX-License-Identifier: Apache-2.0
// The members of the receipt of sanitize_receipt.h, listed once: SANITIZE_KIND at the end. To check
// one its costs are computed again from its caps.
#include "io/receipts/evidence.h"
#include "io/receipts/sanitize_receipt.h"

#include "base/utf8.h"
#include "io/documents/spans.h"
#include <math.h>
#include <string.h>

/* What a receipt is read into. */
struct rewrite_room {
	struct sanitize_receipt receipt;
	struct groups groups;
};

/* ---- groups ---------------------------------------------------------------------------------- */

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
static json_t *make_group_list(const void *at) {
	const struct groups *groups = ((const struct sanitize_receipt *)at)->groups;
	json_t *list = json_array();
	for (size_t i = 0; i < groups_count(groups); i++)
		list = append_part(list, json_pack("{s:s, s:o}", "name", name_of_group(groups, i),
		                                   "types", list_types(groups, (uint32_t)i)));
	return list;
}

static json_t *make_types_left(const void *at) {
	return list_types(((const struct sanitize_receipt *)at)->groups, GROUP_LEFT);
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
static bool take_groups(struct attested *attested, void *at) {
	struct rewrite_room *room = at;
	struct groups *groups = &room->groups;
	const json_t *root = attested->root;
	size_t i;
	json_t *object;
	const json_t *list = json_object_get(root, "groups");
	const size_t count = json_array_size(list);
	room->receipt.groups = groups;
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
	room->receipt.guarantee.groups = (uint32_t)groups_count(groups);
	return take_types(groups, json_object_get(root, "types_left"), GROUP_LEFT);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* The numbers of a cost. NaN is null. */
static const struct cost_member {
	const char *name; /* of one group; NULL = not told */
	const char *all;  /* of all groups */
	size_t offset;    /* in struct cuttle_rewrite_cost */
	bool known;       /* above 0, never null */
} COSTS[] = {
    {"cap", NULL, offsetof(struct cuttle_rewrite_cost, divergence), true},
    {"loss_per_token", "loss_all", offsetof(struct cuttle_rewrite_cost, loss), false},
    {"epsilon", "epsilon_all", offsetof(struct cuttle_rewrite_cost, epsilon), false},
    {"epsilon_exchange", "epsilon_exchange_all",
     offsetof(struct cuttle_rewrite_cost, epsilon_exchange), false},
    {"recovery_ceiling_5", "recovery_ceiling_5", offsetof(struct cuttle_rewrite_cost, ceiling),
     true},
};

static json_t *add_cost(json_t *object, const struct cuttle_rewrite_cost *cost, bool all) {
	for (size_t i = 0; i < MEMBERS_IN(COSTS); i++) {
		const char *name = all ? COSTS[i].all : COSTS[i].name;
		const double *value = (const void *)((const char *)cost + COSTS[i].offset);
		if (name)
			object = jsonout_extend(
			    object, &(struct jsonout_member){name, jsonout_real(*value)}, 1);
	}
	return object;
}

/* Gets a number from 0 on, or null as NaN. */
static bool take_real(const json_t *root, const char *key, double *value) {
	const json_t *member = json_object_get(root, key);
	*value = json_is_null(member) ? NAN : json_real_value(member);
	return json_is_null(member) || (json_is_real(member) && *value >= 0);
}

static bool take_cost(const json_t *object, bool all, struct cuttle_rewrite_cost *cost) {
	bool right = true;
	for (size_t i = 0; right && i < MEMBERS_IN(COSTS); i++) {
		const char *name = all ? COSTS[i].all : COSTS[i].name;
		double *value = (void *)((char *)cost + COSTS[i].offset);
		if (!name) continue;
		// All groups together have numbers for whatever m.
		right = COSTS[i].known || all ? attest_real(object, name, value)
		                              : take_real(object, name, value);
	}
	return right;
}

/* What documents cost in which m groups have a mark. */
static json_t *list_cost(const struct sanitize_receipt *receipt, size_t m) {
	const struct sanitize_costs *costs = &receipt->costs[m - 1];
	json_t *list = json_array();
	for (size_t i = 0; i < groups_count(receipt->groups); i++) {
		json_t *one = json_pack("{s:s}", "name", name_of_group(receipt->groups, i));
		list = append_part(list, add_cost(one, &costs->of[i], false));
	}
	return add_cost(json_pack("{s:I, s:I, s:o}", "m", (json_int_t)m, "documents",
	                          (json_int_t)receipt->marked[m], "groups", list),
	                &costs->all, true);
}

static json_t *make_costs(const void *at) {
	const struct sanitize_receipt *receipt = at;
	json_t *list = json_array();
	for (size_t m = 1; m <= GROUPS_MOST; m++)
		if (receipt->marked[m]) list = append_part(list, list_cost(receipt, m));
	return list;
}

static bool take_costs_of(struct sanitize_receipt *receipt, const json_t *object) {
	uint64_t m, documents;
	size_t i;
	json_t *group;
	const json_t *groups = json_object_get(object, "groups");
	const size_t count = groups_count(receipt->groups);
	if (!attest_count(object, "m", count, &m) || !m || receipt->marked[m] ||
	    !attest_count(object, "documents", SIZE_MAX / 2, &documents) || !documents ||
	    json_array_size(groups) != count)
		return false;
	struct sanitize_costs *costs = &receipt->costs[m - 1];
	receipt->marked[m] = (size_t)documents;
	json_array_foreach(groups, i, group) {
		if (!take_cost(group, false, &costs->of[i])) return false;
	}
	return take_cost(object, true, &costs->all);
}

static bool take_costs(struct attested *attested, void *at) {
	const json_t *list = json_object_get(attested->root, "costs");
	size_t i;
	json_t *object;
	json_array_foreach(list, i, object) {
		if (!take_costs_of(at, object)) return false;
	}
	return json_is_array(list);
}

/* What one group costs at most, and all together. */
static json_t *add_worst(json_t *object, const void *at) {
	struct cuttle_rewrite_cost one, all;
	sanitize_receipt_worst(at, &one, &all);
	const struct jsonout_member members[] = {{"epsilon", json_real(one.epsilon)},
	                                         {"epsilon_all", json_real(all.epsilon)},
	                                         {"recovery_ceiling_5", json_real(one.ceiling)}};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

/* ---- the rest -------------------------------------------------------------------------------- */

static json_t *make_neighbours(const void *at) {
	const bool all = ((const struct sanitize_receipt *)at)->guarantee.mix == CUTTLE_MIX_ALL;
	return json_string(
	    all ? "the contents of all marks of one document, against blank ones"
	        : "the contents of the marks of one group in one document, against blank ones");
}

/* Receipts of spans as given are as they were before there was this member. */
static json_t *add_chooser(json_t *object, const void *at) {
	const unsigned chosen = ((const struct sanitize_receipt *)at)->chosen;
	const struct jsonout_member member = {"marks_chosen",
	                                      chosen ? json_string(REWRITE_CHOSEN[chosen]) : NULL};
	return chosen ? jsonout_extend(object, &member, 1) : object;
}

/* A receipt that does not say who chose the marks has spans as given, or is of a cuttle that did
 * not know it. */
static bool take_chooser(struct attested *attested, void *at) {
	unsigned *chosen = &((struct sanitize_receipt *)at)->chosen;
	const char *word;
	if (!json_object_get(attested->root, "marks_chosen")) return true;
	if (!attest_text(attested->root, "marks_chosen", &word)) return false;
	for (*chosen = 1; *chosen < REWRITE_CHOICES; ++*chosen)
		if (!strcmp(word, REWRITE_CHOSEN[*chosen])) return true;
	return false;
}

static bool fit_guarantee(struct attested *attested, void *at) {
	const struct sanitize_receipt *receipt = at;
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	(void)attested;
	return !guarantee->savings.center && !guarantee->savings.token_bank &&
	       guarantee->max_length >= guarantee->tokens && guarantee->delta < 1 &&
	       receipt->marked[0] <= receipt->documents;
}

static const char *const MIXES[] = {"all", "average", "capped"};
#define FIELD(field) MEMBER_AT(struct sanitize_receipt, field)

/* In the order in which they are read: costs need the groups. */
static const struct member MEMBERS[] = {
    {"mix", MEMBER_CHOICE, FIELD(guarantee.mix), .names = MIXES, .most = MEMBERS_IN(MIXES)},
    {"savings", MEMBER_SAVINGS, FIELD(guarantee.savings)},
    {"alpha", MEMBER_NUMBER, FIELD(guarantee.alpha), .least = 2},
    {"candidates", MEMBER_NUMBER, FIELD(guarantee.top_k)},
    {"tokens", MEMBER_NUMBER, FIELD(guarantee.tokens), .least = 1},
    {"max_length", MEMBER_NUMBER, FIELD(guarantee.max_length)},
    {"context", MEMBER_NUMBER, FIELD(guarantee.context)},
    {"document_tokens", MEMBER_NUMBER, FIELD(guarantee.document_tokens)},
    {"document_bytes", MEMBER_NUMBER, FIELD(guarantee.document_bytes)},
    {"delta", MEMBER_REAL, FIELD(guarantee.delta)},
    {"temperature", MEMBER_REAL, FIELD(guarantee.temperature)},
    {"private", MEMBER_FLAG, FIELD(guarantee.private_output)},
    {"groups", MEMBER_MADE, .make = make_group_list, .take = take_groups},
    {"types_left", MEMBER_MADE, .make = make_types_left},
    {"documents", MEMBER_COUNT, FIELD(documents)},
    {"documents_without_marks", MEMBER_COUNT, FIELD(marked[0])},
    {"costs", MEMBER_MADE, .follows = " costs ", .make = make_costs, .take = take_costs},
    {.kind = MEMBER_PART,
     .follows = " epsilon epsilon_all recovery_ceiling_5 ",
     .add = add_worst,
     .take = fit_guarantee},
    {"adjacency", MEMBER_MADE, .follows = " adjacency ", .make = make_neighbours},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"template_sha256", MEMBER_HASH, FIELD(template_sha256)},
    {"grammar_sha256", MEMBER_SOME, FIELD(grammar_sha256)},
    {"schema_sha256", MEMBER_SOME, FIELD(schema_sha256)},
    {.kind = MEMBER_PART, .take = attest_form},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"placeholder", MEMBER_TEXT, FIELD(placeholder)},
    {"tagger", MEMBER_TEXT, FIELD(tagger)},
    {"spans_format", MEMBER_WORD, FIELD(form), .names = SPANS_FORMAT_NAMES, .most = SPANS_FORMATS},
    {"spans_offsets", MEMBER_WORD, FIELD(offsets), .names = SPANS_OFFSETS_NAMES,
     .most = SPANS_UNITS},
    {"sweep", MEMBER_FLAG, FIELD(sweep)},
    {"marks_chosen", MEMBER_PART, .add = add_chooser, .take = take_chooser},
    {"stop", MEMBER_STOPS, FIELD(stops)},
    {"unit", MEMBER_FIXED, .text = "one document of the input", .follows = " unit "},
    {"unit_key", MEMBER_NAME, FIELD(unit_key)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"dataset", MEMBER_LABEL, FIELD(dataset), .late = true},
    {"ledger", MEMBER_CHARGE, FIELD(ledger), .text = "loss", .late = true},
};

/* ---- the numbers ----------------------------------------------------------------------------- */

static bool confirm_costs(const struct cuttle_rewrite_cost *claimed,
                          const struct cuttle_rewrite_cost *follows) {
	return evidence_confirm(claimed->loss, follows->loss) &&
	       evidence_confirm(claimed->epsilon, follows->epsilon) &&
	       evidence_confirm(claimed->epsilon_exchange, follows->epsilon_exchange) &&
	       attest_confirm(claimed->ceiling, follows->ceiling);
}

/* Computes all costs again from the caps that are claimed. A cap of an m that does not occur is not
 * in the receipt; any number does for it. Returns what is wrong, or NULL. */
static const char *check_costs(const struct sanitize_receipt *receipt) {
	static const char wrong_sum[] = "its numbers of documents do not add up";
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	const size_t groups = groups_count(receipt->groups);
	struct sanitize_receipt again = *receipt;
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
	// Only the oldest words did not say so where a sweep chose. Without marks nothing is
	// stated.
	if (receipt->sweep && !receipt->chosen && receipt->wording != RECEIPT_OLDEST &&
	    guarantee->private_output && receipt->documents > receipt->marked[0])
		return "it has a sweep, and does not say that the sweep chose marks";
	if (!guarantee->document_tokens ||
	    (uint64_t)guarantee->document_tokens + guarantee->max_length >= guarantee->context)
		return "its context has no room for its document_tokens and max_length";
	// With a form nobody may give a max_length.
	if ((*receipt->grammar_sha256 || *receipt->schema_sha256) &&
	    guarantee->max_length != (uint64_t)guarantee->tokens + guarantee->savings.free_tokens)
		return "its max_length is not that of its tokens and free_tokens";
	if (sanitize_receipt_cost(&again, caps, NULL)) return "its parameters are out of range";
	for (size_t m = 1; m <= groups; m++) {
		const struct sanitize_costs *claimed = &receipt->costs[m - 1],
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

static const char *check_rewrite_charge(const struct sanitize_receipt *receipt) {
	if (!*receipt->ledger.entry) return NULL;
	if (!receipt->dataset) return "it has an entry in a ledger and no data set";
	return receipt->ledger.rho >= sanitize_receipt_charge(receipt)
	           ? NULL
	           : "the ledger charged less than a document costs";
}

static const char *check_rewrite(const struct attested *attested, void *at) {
	struct sanitize_receipt *receipt = at;
	evidence_find_wording(&SANITIZE_KIND, attested, receipt);
	const char *problem = check_costs(receipt);
	return problem ? problem : check_rewrite_charge(receipt);
}

/* ---- the receipt ----------------------------------------------------------------------------- */

static void tell_rewrite(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	sanitize_receipt_sentence(at, sentence);
}

static const char *note_rewrite(const void *at) {
	return ((const struct sanitize_receipt *)at)->guarantee.private_output ? NULL
	                                                                       : "NOT PRIVATE";
}

/* So that the caps of every m are in it, whatever documents there are. */
static void blank_documents(void *at) {
	struct sanitize_receipt *receipt = at;
	receipt->documents = 0;
	for (size_t m = 0; m <= GROUPS_MOST; m++)
		receipt->marked[m] = m <= groups_count(receipt->groups);
}

const struct receipt_kind SANITIZE_KIND = {.system = "cuttle sanitize",
                                           .mechanism = "dp-fusion",
                                           .members = MEMBERS,
                                           .count = MEMBERS_IN(MEMBERS),
                                           .size = sizeof(struct sanitize_receipt),
                                           .room = sizeof(struct rewrite_room),
                                           .wording = offsetof(struct sanitize_receipt, wording),
                                           .sentence = tell_rewrite,
                                           .note = note_rewrite,
                                           .blank = blank_documents,
                                           .check = check_rewrite};

json_t *sanitize_receipt_json(const struct sanitize_receipt *receipt, const char *fingerprint,
                              const char *output_sha256) {
	return evidence_json(&SANITIZE_KIND, receipt, fingerprint, output_sha256);
}

static json_t *name_or_null(const char *name) {
	return name ? json_string(name) : json_null();
}

bool sanitize_receipt_fingerprint(const struct sanitize_receipt *receipt,
                                  const struct sanitize_command *command,
                                  char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"id_field", jsonout_text(command->id_field, strlen(command->id_field))},
	    {"spans_field", name_or_null(command->spans_field)},
	    {"leave_identifier", name_or_null(command->leave_identifier)},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return evidence_fingerprint(&SANITIZE_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}
