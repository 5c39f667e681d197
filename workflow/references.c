// SPDX-License-Identifier: Apache-2.0
// io/records/records.h reads the texts and io/records/places.h places them. Here a run's request
// becomes theirs, and a place becomes a text, an owner to charge or a piece of the digest.
#include "workflow/references.h"

#include "base/misuse.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include <math.h>
#include <stdlib.h>

/* The file was counted before it was read. Both counts are public. */
static enum cuttle_status check_lot_counts(const struct generate_request *request,
                                           const struct setup *setup, const struct records *records,
                                           struct cuttle_error *error) {
	uint64_t counts[MOST_CATEGORIES] = {records_count(records)};
	if (setup->categories.count && !setup->histogram.clusters)
		places_count(records, &setup->categories, counts);
	bool same = records_count(records) == setup->lots.records;
	const uint64_t shots = setup->receipt.guarantee.shots;
	for (size_t i = 0; i < setup->lots.count; i++)
		same = same && (counts[i] + shots - 1) / shots == setup->lots.all[i].records;
	return same ? CUTTLE_OK
	            : io_fail(error, CUTTLE_INPUT,
	                      "%.200s has other records than when they were counted: run the "
	                      "command again, while nobody writes to it",
	                      file_shown(request->common.input));
}

enum cuttle_status references_draw(const struct setup *setup, const struct lots *lots,
                                   struct references *references, struct cuttle_error *error) {
	const struct receipt *receipt = &setup->receipt;
	uint64_t batches[MOST_CATEGORIES];
	for (size_t i = 0; i < setup->lots.count; i++) batches[i] = setup->lots.all[i].batches;
	// A cluster without batches has no text, so where its records would be is all the same.
	for (size_t i = 0; references->cluster && i < setup->histogram.clusters; i++)
		batches[i] = setup->seats[i].batches ? setup->seats[i].batches : 1;
	const struct places_lots request = {.records = references->records,
	                                    .categories = receipt->categories,
	                                    .cluster = references->cluster,
	                                    .batches = batches,
	                                    .texts = receipt->texts,
	                                    .rows = receipt->guarantee.places,
	                                    .shots = receipt->guarantee.shots,
	                                    .key = lots->key,
	                                    .by_owner = references->counted != NULL};
	return places_draw(&request, &references->places, error);
}

/* Of each owner the first record, which no other record decides. */
static enum cuttle_status list_counted(struct references *references, struct cuttle_error *error) {
	const size_t records = records_count(references->records);
	references->counted = calloc(records + 1, sizeof *references->counted);
	return references->counted && places_first(references->records, references->counted,
	                                           &references->counted_count)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

size_t references_places(const struct shard_terms *terms, struct shard_number number) {
	const uint64_t batches = (terms->batches - number.index - 1) / number.count + 1;
	return (size_t)(batches * terms->places);
}

/* Reads what the places of a shard hold. The run was charged when it was opened. */
static enum cuttle_status read_shard(const struct generate_request *request,
                                     const struct setup *setup, struct references *references,
                                     struct cuttle_error *error) {
	const struct run_shard *shard = request->shard;
	const struct shard_terms *terms = &shard->run.terms;
	const struct shard_texts_request wanted = {.path = shard->texts,
	                                           .run = terms->run,
	                                           .number = shard->number,
	                                           .places =
	                                               references_places(terms, shard->number)};
	*references = (struct references){
	    .shard = shard, .places = {.weight = 1, .row = setup->receipt.guarantee.shots}};
	references->places.count = (size_t)(terms->batches * terms->places);
	enum cuttle_status status = secrecy_room(setup->receipt.guarantee.reference_bytes, error);
	if (!status)
		status = shard_texts_read(&wanted, setup->receipt.guarantee.reference_bytes,
		                          terms->digests[shard->number.index], &references->texts,
		                          error);
	if (!status && request->common.lock) shard_texts_lock(&references->texts);
	return status;
}

enum cuttle_status references_read(const struct generate_request *request, struct setup *setup,
                                   struct references *references, struct cuttle_error *error) {
	if (request->shard) return read_shard(request, setup, references, error);
	const struct receipt *receipt = &setup->receipt;
	struct places_request places = {.categories = receipt->categories,
	                                .path = request->common.input,
	                                .unit_key = request->common.unit_key,
	                                .texts = receipt->texts,
	                                .per_share = request->texts_per_share > 0,
	                                .batch = receipt->guarantee.batch,
	                                .shots = receipt->guarantee.shots,
	                                .rho = setup->rho,
	                                .limit = receipt->unit.limited ? receipt->unit.weight : 0};
	struct records_request wanted = {.path = request->common.input,
	                                 .field = request->text_field,
	                                 .schema = setup->grammar.schema,
	                                 .id_field = request->common.unit_key,
	                                 .id_is_owner = true,
	                                 .all_columns = true,
	                                 .format = request->input_format,
	                                 .delimiter = request->delimiter,
	                                 .limit = SIZE_MAX,
	                                 .labels = request->category_fields,
	                                 .label_count = request->category_field_count,
	                                 .most = receipt->guarantee.reference_bytes};
	*references = (struct references){.categories = request->category_field_count,
	                                  .lots = setup->lots.count > 0};
	// Without categories no record after the last place is read. places_make refuses a product
	// that is too large.
	if (!receipt->categories && !references->lots &&
	    __builtin_mul_overflow(places.texts,
	                           (size_t)cuttle_guarantee_references(&receipt->guarantee),
	                           &wanted.limit))
		wanted.limit = 0;
	enum cuttle_status status = secrecy_room(wanted.most, error);
	if (!status) status = records_read(&wanted, &references->records, error);
	if (!status)
		status = records_need_field(&wanted, references->records, "--text-field", error);
	if (!status && request->common.lock) records_lock(references->records);
	places.records = references->records;
	if (!status && references->lots) {
		references->places =
		    (struct places){.weight = 1, .lines = records_count(references->records)};
		status = check_lot_counts(request, setup, references->records, error);
		if (!status && request->common.unit_key) status = list_counted(references, error);
		return status;
	}
	if (!status) status = places_make(&places, &references->places, error);
	if (!status && !receipt->unit.limited && request->common.unit_key)
		status = receipt_weigh(&setup->receipt, references->places.weight,
		                       references->places.rho, error);
	return status;
}

enum cuttle_status references_suffice(const struct generate_request *request, struct setup *setup,
                                      struct cuttle_error *error) {
	struct generate_request counted = *request;
	struct setup scratch = *setup;
	struct references references;
	// Who has how many records is looked at where that was declared public, and not else.
	const bool weighs = request->records_per_unit == RUN_RECORDS_ALL;
	if (!weighs) counted.common.unit_key = NULL;
	const enum cuttle_status status =
	    references_read(&counted, weighs ? setup : &scratch, &references, error);
	references_free(&references);
	return status;
}

void references_free(struct references *references) {
	if (references->cluster)
		sodium_memzero(references->cluster,
		               records_count(references->records) * sizeof *references->cluster);
	free(references->cluster);
	if (references->counted)
		sodium_memzero(references->counted,
		               references->counted_count * sizeof *references->counted);
	free(references->counted);
	shard_texts_free(&references->texts);
	records_free(&references->records);
	places_free(&references->places);
}

static const char *return_nothing(size_t *size) {
	*size = 0;
	return NULL;
}

/* With 3 places and shard 1 of 4, place 16 of the run, in batch 5, is place 4 of the shard. */
static const char *find_shard_text(const struct references *references, size_t place,
                                   size_t *size) {
	const struct run_shard *shard = references->shard;
	const size_t places = (size_t)shard->run.terms.places, batch = place / places,
	             count = (size_t)shard->number.count;
	REQUIRE(batch % count == shard->number.index);
	return shard_texts_text(&references->texts, batch / count * places + place % places, size);
}

const char *references_text(const struct references *references, size_t place, size_t *size) {
	REQUIRE(place < references->places.count);
	if (references->shard) return find_shard_text(references, place, size);
	const size_t record = references->places.records[place];
	return record == PLACE_NULL ? return_nothing(size)
	                            : records_text(references->records, record, size);
}

static void digest_record(struct binding_digest *digest, const struct references *references,
                          size_t record) {
	size_t size;
	const char *bytes = records_text(references->records, record, &size);
	binding_digest_add(digest, bytes, size);
	bytes = records_id(references->records, record, &size);
	binding_digest_add(digest, bytes, size);
	for (size_t i = 0; i < references->categories; i++) {
		bytes = records_label(references->records, record, i, &size);
		binding_digest_add(digest, bytes, size);
	}
}

void references_digest(void *user, const unsigned char *key, char *digest) {
	const struct references *references = user;
	const struct places *places = &references->places;
	struct binding_digest state;
	binding_digest_begin(&state, key);
	for (size_t place = 0; place < references->texts.places; place++) {
		size_t size;
		const char *text = shard_texts_text(&references->texts, place, &size);
		binding_digest_add(&state, text, size);
	}
	if (references->shard) {
		binding_digest_end(&state, digest);
		return;
	}
	for (size_t i = 0; references->lots && i < records_count(references->records); i++)
		digest_record(&state, references, i);
	for (size_t place = 0; place < places->count; place++) {
		const bool null = places->records[place] == PLACE_NULL;
		binding_digest_add(&state, null ? NULL : "", 0);
		if (!null) digest_record(&state, references, places->records[place]);
	}
	binding_digest_end(&state, digest);
}

/* The owner of the record in a place. False: no record stands there, it has no owner, or the owner
 * pays for this row already. */
static bool give_owner(void *user, uint64_t index, const char **value, size_t *size) {
	const struct references *references = user;
	REQUIRE(index < references->places.count);
	const size_t record = references->places.records[index];
	*value = record == PLACE_NULL ||
	                 places_repeats(&references->places, references->records, (size_t)index)
	             ? NULL
	             : records_id(references->records, record, size);
	return *value != NULL;
}

/* The owner of a record that is counted: everybody who is charged, each once. */
static bool give_counted_owner(void *user, uint64_t index, const char **value, size_t *size) {
	const struct references *references = user;
	REQUIRE(index < references->counted_count);
	*value = records_id(references->records, references->counted[index], size);
	return *value != NULL;
}

struct ledger_request references_price(const struct setup *setup) {
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	if (setup->charges_epsilon)
		return (struct ledger_request){.command = setup->fingerprint,
		                               .measure = LEDGER_EPSILON,
		                               .rho = receipt_epsilon(guarantee),
		                               .delta = guarantee->delta};
	if (guarantee->claim.kind == CUTTLE_CLAIM_ORDER)
		return (struct ledger_request){.command = setup->fingerprint,
		                               .measure = LEDGER_RDP,
		                               .order = guarantee->claim.order,
		                               .rho = guarantee->claim.loss};
	return (struct ledger_request){.command = setup->fingerprint, .rho = guarantee->rho};
}

/* What older versions charged each record that was read: the unit's part, or the next number above,
 * as a quotient may be rounded down. With rho 0.3 and weight 3 this is the next number above 0.1.
 * What they began goes on for that. */
static double compute_older_rho(const struct setup *setup) {
	const struct receipt_unit *unit = &setup->receipt.unit;
	const double weight = (double)unit->weight,
	             rho = unit->limited ? setup->rho : units_multiply(unit->weight, setup->rho);
	return weight > 1 ? nextafter(rho / weight, INFINITY) : 0;
}

struct ledger_request references_charge(const struct references *references,
                                        const struct setup *setup, bool lines) {
	const struct places *places = &references->places;
	struct ledger_request charge = references_price(setup);
	// In a data set of lines every line up to the last one read is charged. The ledger does not
	// learn which of them were read.
	charge.count = places->lines;
	if (charge.measure != LEDGER_RHO) return charge;
	charge.user = (void *)(uintptr_t)references; // the callbacks only read
	// Lots cost also whoever stands in no text: whoever might.
	if (references->counted && !lines) {
		charge.count = references->counted_count;
		charge.batch = 1;
		charge.unit = give_counted_owner;
		return charge;
	}
	// Whoever has a limit pays what the receipt promises, however few records are read. Else
	// the sum over the owner's records is the receipt's number (io/records/places.c).
	charge.once = !setup->receipt.unit.key || setup->receipt.unit.limited;
	if (!charge.once) charge.rho = setup->rho;
	charge.older = compute_older_rho(setup);
	if (!lines) charge.count = places->count;
	charge.batch = cuttle_guarantee_references(&setup->receipt.guarantee);
	charge.unit = give_owner;
	return charge;
}
