// SPDX-License-Identifier: Apache-2.0
// How kept.h reads an output back. Groups come from the receipt where it has categories. Where it
// has a histogram and no categories they are clusters, by the number that each line carries.
#include "io/receipts/kept.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_GROUP SIZE_MAX

static enum cuttle_status open_parent(struct kept *kept, const char *receipt,
                                      struct cuttle_error *error) {
	struct attested attested;
	const char *mechanism;
	enum cuttle_status status = attest_open(receipt, &attested, error);
	if (!status && attest_text(attested.root, "mechanism", &mechanism))
		status = io_fail(error, CUTTLE_INPUT,
		                 "%s: it is not a receipt of cuttle generate, whose texts alone "
		                 "can be expanded",
		                 file_shown(receipt));
	if (!status) hash_of(attested.bytes, attested.size, kept->receipt_sha256);
	if (!status) status = evidence_read(&GENERATE_KIND, &attested, &kept->evidence, error);
	attest_close(&attested);
	if (!status) status = evidence_check(&kept->evidence, NULL, error);
	return status;
}

/* An output of one form with examples of another one would be of neither. */
static enum cuttle_status check_kept_form(const struct kept *kept, const struct kept_form *form,
                                          const char *receipt, struct cuttle_error *error) {
	const struct receipt *parent = kept->evidence.receipt;
	const bool grammar = *parent->grammar_sha256, schema = *parent->schema_sha256;
	if (schema && strcmp(parent->schema_sha256, form->schema_sha256) != 0)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: it is of texts of a schema: give the same file with --schema",
		               file_shown(receipt));
	if (grammar && strcmp(parent->grammar_sha256, form->grammar_sha256) != 0)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: it is of texts of a grammar: give the same file with --grammar",
		               file_shown(receipt));
	if (!schema && *form->schema_sha256)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: it is of texts that are no objects of a schema: leave out "
		               "--schema",
		               file_shown(receipt));
	if (schema && !parent->guarantee.private_output)
		return io_fail(
		    error, CUTTLE_INPUT,
		    "%s: objects of a run that is NOT PRIVATE are stamped, and cannot be "
		    "expanded",
		    file_shown(receipt));
	return CUTTLE_OK;
}

static enum cuttle_status check_parent_output(const struct kept *kept, const char *path,
                                              struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	const enum cuttle_status status = hash_file(path, sha256, error);
	if (status) return status;
	return !strcmp(sha256, kept->evidence.attested.output_sha256)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_LEDGER,
	                     "%s is not the output that %s is the receipt of, or was changed", path,
	                     kept->evidence.attested.path);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The lines of a category, as prompts show them. NULL: out of memory. */
static char *write_group_heading(const struct kept *kept, const json_t *values) {
	char *heading = NULL;
	size_t size;
	FILE *out = open_memstream(&heading, &size);
	if (!out) return NULL;
	for (size_t i = 0; i < kept->field_count; i++) {
		const char *value = json_string_value(json_object_get(values, kept->fields[i]));
		(void)fprintf(out, "%s%s: %s", i ? "\n" : "", kept->fields[i], value ? value : "");
	}
	if (!fclose(out)) return heading;
	free(heading);
	return NULL;
}

static const json_t *find_noisy_counts(const struct kept *kept) {
	return json_object_get(json_object_get(kept->evidence.attested.root, "histogram"),
	                       "counts");
}

/* Makes a group for each category, else for each count of the histogram, else one. */
static enum cuttle_status list_kept_groups(struct kept *kept, struct cuttle_error *error) {
	const json_t *categories = json_object_get(kept->evidence.attested.root, "categories"),
	             *counts = find_noisy_counts(kept);
	const char *field;
	json_t *value;
	const size_t named = json_array_size(categories), counted = json_array_size(counts);
	kept->group_count = named ? named : counted ? counted : 1;
	kept->groups = calloc(kept->group_count, sizeof *kept->groups);
	if (!kept->groups) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	json_object_foreach(json_object_get(json_array_get(categories, 0), "values"), field,
	                    value) if (kept->field_count < CATEGORY_FIELDS)
	    kept->fields[kept->field_count++] = field;
	for (size_t i = 0; i < kept->group_count; i++) {
		struct kept_group *group = &kept->groups[i];
		const json_int_t count = json_integer_value(json_array_get(counts, i));
		if (count > 0) group->weight = (uint64_t)count;
		if (!named) continue;
		group->values = json_object_get(json_array_get(categories, i), "values");
		group->heading = write_group_heading(kept, group->values);
		if (!group->heading) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	return CUTTLE_OK;
}

static bool same_label(const char *label, size_t size, const json_t *value) {
	return label && json_string_length(value) == size &&
	       !memcmp(label, json_string_value(value), size);
}

/* The number that a label spells in digits; SIZE_MAX = none. */
static size_t read_label_number(const char *label, size_t size) {
	size_t number = 0;
	for (size_t i = 0; i < size; i++)
		if (label[i] < '0' || label[i] > '9' ||
		    __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (size_t)(label[i] - '0'), &number))
			return SIZE_MAX;
	return label && size ? number : SIZE_MAX;
}

/* The group of a line by its labels: its category's fields, or its cluster's number. */
static size_t find_group(const struct kept *kept, size_t line) {
	size_t size;
	if (!kept->field_count && kept->group_count == 1) return 0;
	if (!kept->field_count) {
		const char *label = records_label(kept->records, line, 1, &size);
		const size_t cluster = read_label_number(label, size);
		return cluster < kept->group_count ? cluster : NO_GROUP;
	}
	for (size_t group = 0; group < kept->group_count; group++) {
		bool same = true;
		for (size_t i = 0; same && i < kept->field_count; i++) {
			const char *label = records_label(kept->records, line, 1 + i, &size);
			same = same_label(
			    label, size,
			    json_object_get(kept->groups[group].values, kept->fields[i]));
		}
		if (same) return group;
	}
	return NO_GROUP;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static enum cuttle_status read_kept_texts(struct kept *kept, const char *path,
                                          enum records_format format, struct cuttle_error *error) {
	const char *labels[1 + CATEGORY_FIELDS] = {"index"};
	const bool clustered = !kept->field_count && kept->group_count > 1;
	size_t label_count = 1;
	for (size_t i = 0; i < kept->field_count; i++) labels[label_count++] = kept->fields[i];
	if (clustered) labels[label_count++] = "cluster";
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .schema = kept->schema,
	                                        .format = format,
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = label_count};
	enum cuttle_status status = records_read(&request, &kept->records, error);
	if (status) return status;
	kept->count = records_count(kept->records);
	kept->texts = calloc(kept->count + 1, sizeof *kept->texts);
	if (!kept->texts) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool counted = json_is_array(find_noisy_counts(kept));
	for (size_t i = 0; i < kept->count; i++) {
		struct kept_text *text = &kept->texts[i];
		size_t size;
		const char *index = records_label(kept->records, i, 0, &size);
		const size_t number = kept->schema ? i : read_label_number(index, size);
		if (number == SIZE_MAX)
			return io_fail(error, CUTTLE_INPUT, "%s: line %zu has no index", path,
			               i + 1);
		text->index = number;
		text->group = find_group(kept, i);
		if (text->group == NO_GROUP) continue;
		text->text = records_text(kept->records, i, &text->size);
		// A prompt is a string: a text that holds a NUL cannot be an example.
		if (text->text && (!text->size || memchr(text->text, 0, text->size)))
			text->text = NULL;
		if (!counted) kept->groups[text->group].weight++;
	}
	return CUTTLE_OK;
}

enum cuttle_status kept_read(struct kept *kept, const char *path, enum records_format format,
                             struct cuttle_error *error) {
	const enum cuttle_status status = list_kept_groups(kept, error);
	return status ? status : read_kept_texts(kept, path, format, error);
}

enum cuttle_status kept_open(struct kept *kept, const char *path, enum records_format format,
                             const char *receipt, const struct kept_form *form,
                             struct cuttle_error *error) {
	*kept = (struct kept){.schema = form->schema};
	enum cuttle_status status = open_parent(kept, receipt, error);
	if (!status) status = check_kept_form(kept, form, receipt, error);
	if (!status) status = check_parent_output(kept, path, error);
	return status ? status : kept_read(kept, path, format, error);
}

void kept_close(struct kept *kept) {
	for (size_t i = 0; i < kept->group_count; i++) free(kept->groups[i].heading);
	free(kept->groups);
	free(kept->texts);
	records_free(&kept->records);
	evidence_free(&kept->evidence);
	*kept = (struct kept){0};
}
