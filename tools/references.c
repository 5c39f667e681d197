// SPDX-License-Identifier: Apache-2.0
// References in their places.
#include "tools/references.h"

#include "base/misuse.h"
#include "io/secrecy.h"
#include <string.h>

const char *references_contradiction(const struct generate_values *values) {
	const bool limited = values->one_per_unit || values->records_per_unit != COUNT_NONE;
	if (limited && !values->unit_key) return "--one-per-unit and --records-per-unit need --unit-key FIELD";
	if (limited && !setup_unit_limit(values)) return "--records-per-unit: must be a whole number above 0";
	if (values->unit_key && (!*values->unit_key || strlen(values->unit_key) > 128)) return "--unit-key: must be 1 to 128 bytes";
	if (!values->category_fields.count != !values->categories) return "--category-field and --categories go together";
	if (values->texts_per_category != COUNT_NONE && !values->categories) return "--num-per-category needs --category-field FIELD";
	return values->texts_per_category ? NULL : "--num-per-category: must be a whole number above 0";
}

enum cuttle_status references_read(const struct generate_values *values, struct setup *setup, struct references *references,
                                   struct cuttle_error *error) {
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
	                                  .format = (enum records_format)values->input_format,
	                                  .limit = SIZE_MAX,
	                                  .labels = values->category_fields.texts,
	                                  .label_count = values->category_fields.count,
	                                  .most = receipt->guarantee.reference_bytes};
	*references = (struct references){0};
	// Without categories what follows the last place is not read; too large a product is places_make's to refuse.
	if (!receipt->categories && __builtin_mul_overflow(places.texts, (size_t)places.batch, &request.limit)) request.limit = 0;
	enum cuttle_status status = secrecy_room(error);
	if (!status) status = records_read(&request, &references->records, error);
	if (!status && values->open.mlock) records_lock(references->records);
	places.records = references->records;
	if (!status) status = places_make(&places, &references->places, error);
	if (!status && !receipt->unit.limited) status = receipt_weigh(&setup->receipt, references->places.weight, error);
	return status;
}

void references_free(struct references *references) {
	records_free(&references->records);
	places_free(&references->places);
}

static const char *nothing(size_t *size) {
	*size = 0;
	return NULL;
}

const char *references_text(const struct references *references, size_t place, size_t *size) {
	REQUIRE(place < references->places.count);
	const size_t record = references->places.records[place];
	return record == PLACE_NULL ? nothing(size) : records_text(references->records, record, size);
}

const char *references_unit(const struct references *references, size_t place, size_t *size) {
	REQUIRE(place < references->places.count);
	const size_t record = references->places.records[place];
	return record == PLACE_NULL ? nothing(size) : records_id(references->records, record, size);
}
