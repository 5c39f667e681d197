// SPDX-License-Identifier: Apache-2.0
// io/records.h reads the texts and io/places.h places them. Here the options of generate become
// their requests, and a place becomes a text, an owner or a piece of the digest.
#include "tools/references.h"

#include "base/misuse.h"
#include "io/binding.h"
#include "io/secrecy.h"
#include <string.h>

const char *references_contradiction(const struct generate_values *values) {
	const bool limited = values->one_per_unit || values->records_per_unit != COUNT_NONE;
	if (limited && !values->unit_key)
		return "--one-per-unit and --records-per-unit need --unit-key FIELD";
	if (values->unit_key && (!*values->unit_key || strlen(values->unit_key) > 128))
		return "--unit-key: must be 1 to 128 bytes";
	if (!values->category_fields.count != !values->categories)
		return "--category-field and --categories go together";
	// With these the output has members of its own by that name.
	const bool batches = values->token_bank || values->complete || values->public_when > 0;
	for (size_t i = 0; batches && i < values->category_fields.count; i++)
		if (!strcmp(values->category_fields.texts[i], "batch") ||
		    !strcmp(values->category_fields.texts[i], "free"))
			return "--category-field: no field can be called batch or free with "
			       "--token-bank, --public-when or --complete";
	return values->texts_per_category == COUNT_NONE || values->categories
	           ? NULL
	           : "--num-per-category needs --category-field FIELD";
}

enum cuttle_status references_read(const struct generate_values *values, struct setup *setup,
                                   struct references *references, struct cuttle_error *error) {
	const struct receipt *receipt = &setup->receipt;
	struct places_request places = {.categories = receipt->categories,
	                                .path = values->input,
	                                .unit_key = values->unit_key,
	                                .texts = receipt->texts,
	                                .batch = receipt->guarantee.batch,
	                                .limit = setup_unit_limit(values)};
	struct records_request request = {.path = values->input,
	                                  .field = values->text_field,
	                                  .id_field = values->unit_key,
	                                  .id_is_owner = true,
	                                  .format = (enum records_format)values->input_format,
	                                  .delimiter = values->delimiter,
	                                  .limit = SIZE_MAX,
	                                  .labels = values->category_fields.texts,
	                                  .label_count = values->category_fields.count,
	                                  .most = receipt->guarantee.reference_bytes};
	*references = (struct references){.categories = values->category_fields.count};
	// Without categories no record after the last place is read. places_make refuses a product
	// that is too large.
	if (!receipt->categories &&
	    __builtin_mul_overflow(places.texts, (size_t)places.batch, &request.limit))
		request.limit = 0;
	enum cuttle_status status = secrecy_room(error);
	if (!status) status = records_read(&request, &references->records, error);
	if (!status && values->open.mlock) records_lock(references->records);
	places.records = references->records;
	if (!status) status = places_make(&places, &references->places, error);
	if (!status && !receipt->unit.limited)
		status = receipt_weigh(&setup->receipt, references->places.weight, error);
	return status;
}

enum cuttle_status references_suffice(const struct generate_values *values,
                                      const struct setup *setup, struct cuttle_error *error) {
	struct generate_values counted = *values;
	struct setup scratch = *setup;
	struct references references;
	counted.unit_key = NULL;
	const enum cuttle_status status = references_read(&counted, &scratch, &references, error);
	references_free(&references);
	return status;
}

void references_free(struct references *references) {
	records_free(&references->records);
	places_free(&references->places);
}

static const char *return_nothing(size_t *size) {
	*size = 0;
	return NULL;
}

const char *references_text(const struct references *references, size_t place, size_t *size) {
	REQUIRE(place < references->places.count);
	const size_t record = references->places.records[place];
	return record == PLACE_NULL ? return_nothing(size)
	                            : records_text(references->records, record, size);
}

const char *references_unit(const struct references *references, size_t place, size_t *size) {
	REQUIRE(place < references->places.count);
	const size_t record = references->places.records[place];
	return record == PLACE_NULL ? return_nothing(size)
	                            : records_id(references->records, record, size);
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
	for (size_t place = 0; place < places->count; place++) {
		const bool null = places->records[place] == PLACE_NULL;
		binding_digest_add(&state, null ? NULL : "", 0);
		if (!null) digest_record(&state, references, places->records[place]);
	}
	binding_digest_end(&state, digest);
}
