// SPDX-License-Identifier: Apache-2.0
// The members of the receipt of receipt.h, listed once: GENERATE_KIND at the end. An add_ function
// writes what its take_ function reads. A take_ function returns false where a member is missing or
// of the wrong type or range. What numbers must follow from is in io/receipts/receipt_check.c.
#include "io/receipts/receipt_check.h"

#include "io/receipts/method.h"
#include <math.h>
#include <string.h>

/* What a receipt is read into: its pointers point behind it. */
struct receipt_room {
	struct receipt receipt;
	struct cuttle_histogram histogram;
	struct cuttle_lots lots[MOST_CATEGORIES];
	struct cuttle_lots seats[MOST_CATEGORIES];
	int64_t counts[MOST_CATEGORIES];
};

static json_t *add_object(json_t *object, const char *name, const struct jsonout_member *members,
                          size_t count) {
	json_t *part = jsonout_extend(json_object(), members, count);
	return jsonout_extend(object, &(struct jsonout_member){name, part}, 1);
}

/* The categories that a receipt was read with, or NULL. */
static const json_t *read_categories(const struct attested *attested) {
	const json_t *categories = json_object_get(attested->root, "categories");
	return json_is_array(categories) ? categories : NULL;
}

/* ---- who is protected ------------------------------------------------------------------------ */

static json_t *make_adjacency(const void *at) {
	const struct receipt *receipt = at;
	/* By [0 = a unit is a record, 1 = it is a key's value][1 = with categories]. */
	static const char *const adjacency[2][2] = {
	    {"replace one reference by null", "replace one reference by null; its category stays"},
	    {"replace all references of one unit by null",
	     "replace all references of one unit by null; their categories stay"}};
	return json_string(receipt->histogram && !receipt->unit.key
	                       ? "replace one reference by null, its category with it"
	                       : adjacency[receipt->unit.key != NULL][receipt->categories != NULL]);
}

static json_t *make_protected_unit(const void *at) {
	const char *key = ((const struct receipt *)at)->unit.key;
	return key ? json_pack("s+", "everybody with one value of ", key)
	           : json_string("one record of the input");
}

/* Without a key a unit is one record. It costs what one text costs, and has no limit. */
static bool fit_unit(struct attested *attested, void *at) {
	const struct receipt_unit *unit = &((const struct receipt *)at)->unit;
	(void)attested;
	return unit->key || (unit->weight == 1 && !unit->limited);
}

static json_t *make_categories(const void *at) {
	const struct categories *categories = ((const struct receipt *)at)->categories;
	json_t *list = categories ? json_array() : json_null();
	for (size_t i = 0; categories && i < categories->count; i++) {
		const struct category *category = &categories->all[i];
		json_t *values = json_object(),
		       *entry = json_pack("{s:I, s:o}", "texts", (json_int_t)category->texts,
		                          "values", values);
		bool made = entry != NULL;
		for (size_t j = 0; made && j < categories->field_count; j++)
			made = json_object_set_new(values, categories->fields[j],
			                           json_string(category->values[j])) == 0;
		if (made && json_array_append_new(list, entry) == 0) continue;
		if (!made) json_decref(entry);
		json_decref(list);
		return NULL;
	}
	return list;
}

/* They are copied. Other members depend on whether there are any, so an empty list is enough. */
static bool take_categories(struct attested *attested, void *at) {
	static const struct categories some;
	struct receipt *receipt = at;
	if (read_categories(attested)) receipt->categories = &some;
	return receipt->categories || json_is_null(json_object_get(attested->root, "categories"));
}

static json_t *add_ledger(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	const bool order = receipt->guarantee.claim.kind == CUTTLE_CLAIM_ORDER;
	return receipt_add_charge(object, &receipt->ledger, order ? "loss" : "rho");
}

static bool take_ledger(struct attested *attested, void *at) {
	struct receipt_ledger *ledger = &((struct receipt *)at)->ledger;
	const json_t *member = json_object_get(attested->root, "ledger");
	if (!json_object_get(member, "epsilon"))
		return attest_charge(attested->root,
		                     json_object_get(member, "loss") ? "loss" : "rho", ledger);
	return attest_charge(attested->root, "epsilon", ledger) &&
	       attest_real(member, "delta", &ledger->delta);
}

/* ---- what accountants say -------------------------------------------------------------------- */

/* Of numbers any is taken, 0 and null too: which a method may have, the check asks. */
static bool take_field(const json_t *parameters, const struct cuttle_method_field *field,
                       void *at) {
	const json_t *member = json_object_get(parameters, field->name);
	switch (field->kind) {
	case CUTTLE_FIELD_REAL:
		if (json_is_null(member)) return true;
		*(double *)at = json_real_value(member);
		return json_is_real(member) && isfinite(*(double *)at);
	case CUTTLE_FIELD_FLAG:
		return attest_flag(parameters, field->name, (bool *)at);
	default:
		if (json_is_string(member) && !strcmp(json_string_value(member), "infinity")) {
			*(uint32_t *)at = UINT32_MAX;
			return true;
		}
		return attest_number(parameters, field->name, (uint32_t *)at);
	}
}

static json_t *add_method(json_t *object, const void *at) {
	return method_add(object, &((const struct receipt *)at)->guarantee);
}

/* Method, parameters, vocabulary and what decides the claim's kind. Without "method" it is
 * InvisibleInk, and nothing else is read. The claim's numbers follow from the rest, so they are
 * made anew. */
static bool take_method(struct attested *attested, void *at) {
	struct cuttle_guarantee *guarantee = &((struct receipt *)at)->guarantee;
	const json_t *root = attested->root, *parameters = json_object_get(root, "parameters");
	const char *name;
	size_t count;
	unsigned method = 0;
	guarantee->method = CUTTLE_INVISIBLEINK;
	cuttle_method_params_none(&guarantee->method_params);
	if (!json_object_get(root, "method")) return true;
	if (!attest_text(root, "method", &name)) return false;
	while (method < CUTTLE_METHODS && strcmp(name, cuttle_method_name(method)) != 0) method++;
	if (method == CUTTLE_INVISIBLEINK || method == CUTTLE_METHODS) return false;
	guarantee->method = (enum cuttle_method)method;
	const struct cuttle_method_field *fields = cuttle_method_fields(&count);
	bool right =
	    attest_number(root, "vocabulary", &guarantee->vocabulary) && json_is_object(parameters);
	for (size_t i = 0; right && i < count; i++)
		if (fields[i].methods >> method & 1)
			right = take_field(parameters, &fields[i],
			                   (char *)&guarantee->method_params + fields[i].offset);
	return right;
}

/* Gets a number that may be null, as NaN. */
static bool take_real_or_null(const json_t *root, const char *key, double *value) {
	*value = NAN;
	return json_is_null(json_object_get(root, key)) || attest_real(root, key, value);
}

static json_t *add_accounts(json_t *object, const void *at) {
	const struct cuttle_guarantee *guarantee = &((const struct receipt *)at)->guarantee;
	static const char *const accountants[] = {"zcdp", "exact", "renyi"};
	const bool exact = guarantee->accountant == CUTTLE_EXACT,
	           promises = cuttle_method_promises(guarantee->method);
	const struct jsonout_member members[] = {
	    {"accountant",
	     promises ? json_string(accountants[guarantee->accountant]) : json_null()},
	    {"epsilon", jsonout_real(receipt_epsilon(guarantee))},
	    {exact ? "epsilon_zcdp" : "epsilon_exact",
	     jsonout_real(exact ? guarantee->epsilon : guarantee->epsilon_exact)},
	    {"rho", jsonout_real(guarantee->rho)},
	};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

/* Of a method that promises nothing all of it is null; of one that holds at one order rho is.
 * Another receipt with a null is not the one made anew. */
static bool take_accounts(struct attested *attested, void *at) {
	struct cuttle_guarantee *guarantee = &((struct receipt *)at)->guarantee;
	const json_t *root = attested->root;
	const char *accountant = "zcdp";
	bool right = !cuttle_method_promises(guarantee->method) ||
	             attest_text(root, "accountant", &accountant);
	const bool exact = right && !strcmp(accountant, "exact"),
	           renyi = right && !strcmp(accountant, "renyi");
	guarantee->accountant = exact ? CUTTLE_EXACT : renyi ? CUTTLE_RENYI : CUTTLE_ZCDP;
	guarantee->epsilon_exact = NAN;
	right &= exact || renyi || (right && !strcmp(accountant, "zcdp"));
	if (guarantee->method == CUTTLE_INVISIBLEINK)
		right &= !renyi && attest_real(root, "rho", &guarantee->rho);
	else right &= take_real_or_null(root, "rho", &guarantee->rho);
	double *epsilon = exact ? &guarantee->epsilon_exact : &guarantee->epsilon;
	right &= cuttle_method_promises(guarantee->method)
	             ? attest_real(root, "epsilon", epsilon)
	             : take_real_or_null(root, "epsilon", epsilon);
	return right &&
	       (exact ? attest_real(root, "epsilon_zcdp", &guarantee->epsilon)
	              : take_real_or_null(root, "epsilon_exact", &guarantee->epsilon_exact));
}

static json_t *add_clip(json_t *object, const void *at) {
	const struct cuttle_guarantee *guarantee = &((const struct receipt *)at)->guarantee;
	const bool clipped = guarantee->clip_fixed != 0;
	const struct jsonout_member members[] = {
	    {"clip", clipped ? json_real(guarantee->clip) : json_null()},
	    {"clip_fixed", clipped ? json_integer(guarantee->clip_fixed) : json_null()},
	    {"fraction_bits", clipped ? json_integer(guarantee->fraction_bits) : json_null()},
	};
	return jsonout_extend(object, members, MEMBERS_IN(members));
}

/* A method without a clip has null in its place. */
static bool take_clip(struct attested *attested, void *at) {
	struct cuttle_guarantee *guarantee = &((struct receipt *)at)->guarantee;
	const json_t *root = attested->root;
	uint64_t clip_fixed;
	if (guarantee->method != CUTTLE_INVISIBLEINK &&
	    json_is_null(json_object_get(root, "clip_fixed")))
		return true;
	if (!attest_number(root, "fraction_bits", &guarantee->fraction_bits) ||
	    guarantee->fraction_bits > 30 ||
	    !attest_count(root, "clip_fixed", INT32_MAX, &clip_fixed) || !clip_fixed)
		return false;
	guarantee->clip_fixed = (int32_t)clip_fixed;
	guarantee->clip = ldexp(guarantee->clip_fixed, -(int)guarantee->fraction_bits);
	return true;
}

/* A run without a gain has no such member, as in the receipts before there was one. */
static json_t *add_gain(json_t *object, const void *at) {
	const double gain = ((const struct receipt *)at)->guarantee.gain;
	if (gain == 1.0) return object;
	return jsonout_extend(object, &(struct jsonout_member){"gain", json_real(gain)}, 1);
}

static bool take_gain(struct attested *attested, void *at) {
	double *gain = &((struct receipt *)at)->guarantee.gain;
	*gain = 1.0;
	return !json_object_get(attested->root, "gain") ||
	       attest_real(attested->root, "gain", gain);
}

/* ---- texts, lots and counts ------------------------------------------------------------------ */

static const char *name_texts(const struct receipt *receipt) {
	return receipt->guarantee.savings.token_bank ? "batches" : "texts";
}

static json_t *add_texts(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	const struct jsonout_member texts = {name_texts(receipt),
	                                     json_integer((json_int_t)receipt->texts)};
	return jsonout_extend(object, &texts, 1);
}

/* Private categories may turn out to be none. */
static bool take_texts(struct attested *attested, void *at) {
	struct receipt *receipt = at;
	uint64_t texts;
	const bool right = attest_count(attested->root, name_texts(receipt), SIZE_MAX / 2, &texts);
	receipt->texts = (size_t)texts;
	return right && (texts || json_object_get(attested->root, "histogram"));
}

/* [clusters] one of the numbers of each seat. */
static json_t *list_seats(const struct receipt *receipt, size_t offset) {
	json_t *list = json_array();
	for (size_t i = 0; receipt->seats && i < receipt->histogram->clusters; i++) {
		const char *seat = (const char *)&receipt->seats[i];
		(void)json_array_append_new(
		    list,
		    json_integer((json_int_t) * (const uint64_t *)(const void *)(seat + offset)));
	}
	return list;
}

/* How private categories were counted, and what followed. Other runs have no such member. */
static json_t *add_histogram(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	if (!receipt->histogram) return object;
	json_t *counts = json_array();
	for (size_t i = 0; receipt->counts_of_clusters && i < receipt->histogram->clusters; i++)
		(void)json_array_append_new(
		    counts, json_integer((json_int_t)receipt->counts_of_clusters[i]));
	const struct jsonout_member members[] = {
	    {"rule", json_integer(RECEIPT_SEATS)},
	    {"t", json_integer(receipt->histogram->scale)},
	    {"wanted", json_integer(receipt->histogram->texts)},
	    {"counts", counts},
	    {"batches", list_seats(receipt, offsetof(struct cuttle_lots, batches))},
	    {"used", list_seats(receipt, offsetof(struct cuttle_lots, used))}};
	return add_object(object, "histogram", members, MEMBERS_IN(members));
}

/* One number for each category, none below `least`. */
static bool take_list(const json_t *object, const char *key, size_t count, int64_t least,
                      int64_t *values, size_t stride) {
	const json_t *list = json_object_get(object, key);
	bool right = json_is_array(list) && json_array_size(list) == count;
	for (size_t i = 0; right && i < count; i++) {
		const json_t *number = json_array_get(list, i);
		values[i * stride] = json_integer_value(number);
		right = json_is_integer(number) && values[i * stride] >= least;
	}
	return right;
}

static bool take_histogram(struct attested *attested, void *at) {
	struct receipt_room *room = at;
	struct receipt *receipt = &room->receipt;
	const json_t *member = json_object_get(attested->root, "histogram"),
	             *categories = read_categories(attested);
	// Owners are one cluster.
	const size_t count = receipt->unit.key ? 1 : json_array_size(categories);
	enum { STRIDE = sizeof(struct cuttle_lots) / sizeof(int64_t) };
	if (!member) return true;
	if (!count || count > MOST_CATEGORIES || (receipt->unit.key && categories)) return false;
	room->histogram.clusters = (uint32_t)count;
	receipt->histogram = &room->histogram;
	receipt->counts_of_clusters = room->counts;
	receipt->seats = room->seats;
	return attest_number(member, "t", &room->histogram.scale) &&
	       attest_number(member, "wanted", &room->histogram.texts) &&
	       take_list(member, "counts", count, INT64_MIN, room->counts, 1) &&
	       take_list(member, "batches", count, 0, (int64_t *)&room->seats->batches, STRIDE) &&
	       take_list(member, "used", count, 0, (int64_t *)&room->seats->used, STRIDE);
}

/* One number where there is one cluster, else the list of them. */
static json_t *list_clusters(const struct receipt *receipt, size_t offset) {
	json_t *list = json_array();
	for (size_t i = 0; i < receipt->lot_count; i++) {
		const char *lots = (const char *)&receipt->lots[i];
		json_t *number =
		    json_integer((json_int_t) * (const uint64_t *)(const void *)(lots + offset));
		if (!receipt->categories || receipt->histogram) {
			json_decref(list);
			return number;
		}
		(void)json_array_append_new(list, number);
	}
	return list;
}

/* A run without lots has no such member, as in the receipts before there were any. */
static json_t *add_lots_told(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	const struct cuttle_guarantee *guarantee = &receipt->guarantee;
	if (!receipt->lot_count) return object;
	const struct jsonout_member members[] = {
	    {receipt->guarantee.shots > 1 ? "groups" : "records",
	     list_clusters(receipt, offsetof(struct cuttle_lots, records))},
	    {"batches", list_clusters(receipt, offsetof(struct cuttle_lots, batches))},
	    {"used", list_clusters(receipt, offsetof(struct cuttle_lots, used))},
	    {"rows_cap", json_integer(guarantee->places)},
	    {"epsilon_if_known", json_real(guarantee->epsilon_if_known)},
	    {"delta_if_known", json_real(guarantee->delta_if_known)},
	};
	return add_object(object, "lots", members, MEMBERS_IN(members));
}

/* One number, or element `index` of a list of `count`. */
static bool take_cluster(const json_t *lots, const char *key, size_t index, size_t count,
                         uint64_t *value) {
	const json_t *member = json_object_get(lots, key);
	if (json_is_array(member) && json_array_size(member) == count)
		member = json_array_get(member, index);
	const json_int_t number = json_integer_value(member);
	*value = (uint64_t)number;
	return json_is_integer(member) && number >= 0;
}

/* Without lots a text has B places, and nothing depends on what is known of them. */
static bool take_lots_told(struct attested *attested, void *at) {
	struct receipt_room *room = at;
	struct receipt *receipt = &room->receipt;
	const json_t *member = json_object_get(attested->root, "lots"),
	             *categories = read_categories(attested);
	struct cuttle_guarantee *guarantee = &receipt->guarantee;
	const size_t count = categories && !receipt->histogram ? json_array_size(categories) : 1;
	guarantee->places = guarantee->batch;
	guarantee->epsilon_if_known = receipt_epsilon(guarantee);
	guarantee->delta_if_known = guarantee->delta;
	if (!member) return true;
	if (!count || count > MOST_CATEGORIES) return false;
	receipt->lots = room->lots;
	receipt->lot_count = count;
	bool right = true;
	for (size_t i = 0; right && i < count; i++)
		right = take_cluster(member, guarantee->shots > 1 ? "groups" : "records", i, count,
		                     &room->lots[i].records) &&
		        take_cluster(member, "batches", i, count, &room->lots[i].batches) &&
		        take_cluster(member, "used", i, count, &room->lots[i].used);
	return right && attest_number(member, "rows_cap", &guarantee->places) &&
	       attest_real(member, "epsilon_if_known", &guarantee->epsilon_if_known) &&
	       attest_real(member, "delta_if_known", &guarantee->delta_if_known);
}

/* A run of one reference a row has no such member, as in the receipts before there were shots. */
static json_t *add_shots(json_t *object, const void *at) {
	const uint32_t shots = ((const struct receipt *)at)->guarantee.shots;
	if (shots == 1) return object;
	return jsonout_extend(object, &(struct jsonout_member){"shots", json_integer(shots)}, 1);
}

static bool take_shots(struct attested *attested, void *at) {
	uint32_t *shots = &((struct receipt *)at)->guarantee.shots;
	*shots = 1;
	return !json_object_get(attested->root, "shots") ||
	       (attest_number(attested->root, "shots", shots) && *shots >= 2 &&
	        *shots <= CUTTLE_MOST_SHOTS);
}

static json_t *add_run_bias(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	const struct receipt_joint joint = bias_joint_promise(receipt);
	return receipt_add_bias(object, &receipt->bias, &joint);
}

static bool take_run_bias(struct attested *attested, void *at) {
	return attest_bias(attested->root, &((struct receipt *)at)->bias);
}

/* A run in one round has no such member, as in the receipts before there were two. */
static json_t *add_rounds(json_t *object, const void *at) {
	const uint32_t places = ((const struct receipt *)at)->places_of_rounds;
	if (!places) return object;
	const struct jsonout_member members[] = {{"count", json_integer(2)},
	                                         {"drawn", json_integer(places / 2)},
	                                         {"examples", json_integer(places)}};
	return add_object(object, "rounds", members, MEMBERS_IN(members));
}

/* The receipt that is made anew says how many of the examples were drawn. */
static bool take_rounds(struct attested *attested, void *at) {
	uint32_t *places = &((struct receipt *)at)->places_of_rounds;
	const json_t *member = json_object_get(attested->root, "rounds");
	return !member || (attest_number(member, "examples", places) && *places >= 2);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static json_t *add_clusters(json_t *object, const void *at) {
	const char *sha256 = ((const struct receipt *)at)->clusters_sha256;
	if (!sha256) return object;
	return jsonout_extend(object,
	                      &(struct jsonout_member){"clusters_sha256", json_string(sha256)}, 1);
}

static json_t *add_filters(json_t *object, const void *at) {
	const struct receipt *receipt = at;
	return receipt_add_filters(object, &receipt->filters, &receipt->counts);
}

static bool take_filters(struct attested *attested, void *at) {
	struct receipt *receipt = at;
	return attest_filters(attested->root, &receipt->filters, &receipt->counts);
}

/* A row of a member that is a field of the receipt. */
#define FIELD(field) MEMBER_AT(struct receipt, field)

/* In the order in which they are read: a part may need what stands above it. */
static const struct member MEMBERS[] = {
    {.kind = MEMBER_PART, .follows = " claim ", .add = add_method, .take = take_method},
    {.kind = MEMBER_PART,
     .follows = " epsilon epsilon_exact epsilon_zcdp rho ",
     .add = add_accounts,
     .take = take_accounts},
    {"private", MEMBER_FLAG, FIELD(guarantee.private_output)},
    {"delta", MEMBER_REAL, FIELD(guarantee.delta)},
    {.kind = MEMBER_PART, .add = add_gain, .take = take_gain},
    {"temperature", MEMBER_REAL, FIELD(guarantee.temperature)},
    {"savings", MEMBER_SAVINGS, FIELD(guarantee.savings)},
    {"batch", MEMBER_NUMBER, FIELD(guarantee.batch), .least = 1},
    {.kind = MEMBER_PART, .add = add_shots, .take = take_shots},
    {.kind = MEMBER_PART, .add = add_run_bias, .take = take_run_bias},
    {"tokens", MEMBER_NUMBER, FIELD(guarantee.tokens), .least = 1},
    {"top_k", MEMBER_NUMBER, FIELD(guarantee.top_k)},
    {"context", MEMBER_NUMBER, FIELD(guarantee.context)},
    {"reference_tokens", MEMBER_NUMBER, FIELD(guarantee.reference_tokens)},
    {.kind = MEMBER_PART, .follows = " clip ", .add = add_clip, .take = take_clip},
    {"adjacency", MEMBER_MADE, .follows = " adjacency ", .make = make_adjacency},
    {"unit", MEMBER_MADE, .follows = " unit ", .make = make_protected_unit},
    {"unit_key", MEMBER_NAME, FIELD(unit.key)},
    {"unit_limited", MEMBER_FLAG, FIELD(unit.limited)},
    {"unit_weight", MEMBER_COUNT, FIELD(unit.weight), .least = 1},
    {.kind = MEMBER_PART, .take = fit_unit},
    {"categories", MEMBER_MADE, .given = true, .make = make_categories, .take = take_categories},
    {.kind = MEMBER_PART, .add = add_texts, .take = take_texts},
    {"model_bytes", MEMBER_COUNT, FIELD(model.file_bytes)},
    {"model_name", MEMBER_GIVEN, FIELD(model.name), .given = true},
    {"model_sha256", MEMBER_HASH, FIELD(model_sha256)},
    {"template_sha256", MEMBER_HASH, FIELD(template_sha256)},
    {"grammar_sha256", MEMBER_SOME, FIELD(grammar_sha256)},
    {"schema_sha256", MEMBER_SOME, FIELD(schema_sha256)},
    {.kind = MEMBER_PART, .take = attest_form},
    {"isa", MEMBER_ISA, FIELD(isa)},
    {"kv_type", MEMBER_VARIANT, FIELD(model.kv_type), .names = RECEIPT_KV_TYPES, .most = 2},
    {"filters", MEMBER_PART, FIELD(counts), .late = true, .add = add_filters, .take = take_filters},
    {"stop", MEMBER_STOPS, FIELD(stops)},
    {.kind = MEMBER_PART, .add = add_rounds, .take = take_rounds},
    {.kind = MEMBER_PART, .add = add_histogram, .take = take_histogram},
    {.kind = MEMBER_PART, .add = add_lots_told, .take = take_lots_told},
    {"trace", MEMBER_FLAG, FIELD(trace)},
    {"date", MEMBER_DATE, FIELD(date), .late = true},
    {"dataset", MEMBER_LABEL, FIELD(dataset), .late = true},
    {"ledger", MEMBER_PART, FIELD(ledger), .late = true, .add = add_ledger, .take = take_ledger},
    {"clusters_sha256", MEMBER_PART, .given = true, .add = add_clusters},
    // What cuttle merge adds.
    {"shard_isa", MEMBER_FOREIGN, .given = true},
    {"shard_redraws", MEMBER_FOREIGN, .given = true},
    {"shard_sha256", MEMBER_FOREIGN, .given = true},
    {"shards", MEMBER_FOREIGN, .given = true},
};

/* ---- the receipt ----------------------------------------------------------------------------- */

static void tell_sentence(const void *at, char sentence[EVIDENCE_SENTENCE]) {
	const struct receipt *receipt = at;
	receipt_sentence(receipt, receipt->unit.key, sentence);
}

static const char *tell_note(const void *at) {
	return ((const struct receipt *)at)->guarantee.private_output ? NULL : "NOT PRIVATE";
}

static const char *check_generated(const struct attested *attested, void *at) {
	const char *problem = receipt_check(attested, at);
	if (!problem) evidence_find_wording(&GENERATE_KIND, attested, at);
	return problem;
}

const struct receipt_kind GENERATE_KIND = {.system = "cuttle generate",
                                           .members = MEMBERS,
                                           .count = MEMBERS_IN(MEMBERS),
                                           .size = sizeof(struct receipt),
                                           .room = sizeof(struct receipt_room),
                                           .sentence = tell_sentence,
                                           .note = tell_note,
                                           .wording = offsetof(struct receipt, wording),
                                           .check = check_generated};

json_t *receipt_json(const struct receipt *receipt, const char *fingerprint,
                     const char *output_sha256) {
	return evidence_json(&GENERATE_KIND, receipt, fingerprint, output_sha256);
}

bool receipt_fingerprint(const struct receipt *receipt, const struct receipt_command *command,
                         char fingerprint[HASH_TEXT]) {
	const struct jsonout_member members[] = {
	    {"input", jsonout_text(command->input, strlen(command->input))},
	    {"text_field", jsonout_text(command->text_field, strlen(command->text_field))},
	    {"input_format", json_string(command->input_format)},
	    {"output_format", json_string(command->output_format)},
	    {"insecure_seed", json_integer((json_int_t)command->insecure_seed)},
	};
	return evidence_fingerprint(&GENERATE_KIND, receipt, members, MEMBERS_IN(members),
	                            fingerprint);
}
