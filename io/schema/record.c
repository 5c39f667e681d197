// SPDX-License-Identifier: Apache-2.0
// How record.h reads: along the schema, not the record, so that members come in its order. What was
// written of a value that then does not fit is given up.
#include "io/schema/record.h"

#include "base/utf8.h"
#include "io/schema/canonical.h"
#include "io/schema/shape.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10000000, DEEPEST = 1000 };

/* A value on its way into canonical form. */
struct fitting {
	const struct schema *schema;
	struct arena *out; /* NULL = nothing is written */
	size_t steps;      /* that may still be taken */
	unsigned depth;
	uint32_t shape; /* where it failed, and by what */
	enum aspect by;
	bool whole; /* a value with other members than the schema's does not fit */
	bool nomem;
};

static bool fit_shape(struct fitting *in, uint32_t number, const json_t *value);

static bool misfit_by(struct fitting *in, const struct shape *shape, enum aspect by) {
	in->shape = (uint32_t)(shape - in->schema->shapes);
	in->by = by;
	return false;
}

static bool write_fitting_word(struct fitting *in, const char *word) {
	if (in->out && !arena_append(in->out, word, strlen(word))) in->nomem = true;
	return !in->nomem;
}

static bool write_string(struct fitting *in, const char *text, size_t size) {
	if (in->out && !canonical_string(in->out, text, size)) in->nomem = true;
	return !in->nomem;
}

static bool write_value(struct fitting *in, const json_t *value) {
	if (in->out && !canonical_value(in->out, value)) in->nomem = true;
	return !in->nomem;
}

static bool write_number(struct fitting *in, decimal number) {
	char text[DECIMAL_ROOM];
	const size_t size = decimal_write(number, text);
	if (in->out && !arena_append(in->out, text, size)) in->nomem = true;
	explicit_bzero(text, sizeof text);
	return !in->nomem;
}

static size_t count_characters(const char *text, size_t size) {
	size_t count = 0;
	for (size_t i = 0; i < size; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static bool fit_string(struct fitting *in, const struct shape *shape, const json_t *value) {
	if (!json_is_string(value)) return misfit_by(in, shape, ASPECT_TYPE);
	const char *text = json_string_value(value);
	const size_t size = json_string_length(value), length = count_characters(text, size);
	if (length < shape->least) return misfit_by(in, shape, ASPECT_MIN_LENGTH);
	if (length > shape->most) return misfit_by(in, shape, ASPECT_MAX_LENGTH);
	if (shape->pattern != SIZE_MAX &&
	    !pattern_fits(&in->schema->patterns[shape->pattern].any, text, size))
		return misfit_by(in, shape, shape->format ? ASPECT_FORMAT : ASPECT_PATTERN);
	return write_string(in, text, size);
}

static bool fit_number(struct fitting *in, const struct shape *shape, const json_t *value) {
	decimal number;
	bool exact;
	if (!json_is_number(value)) return misfit_by(in, shape, ASPECT_TYPE);
	decimal_of(value, &number, &exact);
	if (shape->whole && (!exact || number % decimal_one() != 0))
		return misfit_by(in, shape, ASPECT_TYPE);
	if (number < shape->low) return misfit_by(in, shape, shape->low_by);
	// What is not exact lies above the decimal.
	if (number > shape->high || (number == shape->high && !exact))
		return misfit_by(in, shape, shape->high_by);
	// The range begins and ends with numbers that are near themselves, so what is near is in
	// it.
	return write_number(in, shape->whole ? number : decimal_near(number));
}

static bool fit_choice(struct fitting *in, const struct shape *shape, const json_t *value) {
	for (size_t i = 0; i < json_array_size(shape->values) && in->steps; i++, in->steps--) {
		const json_t *choice = json_array_get(shape->values, i);
		if (canonical_same(choice, value)) return write_value(in, choice);
	}
	return misfit_by(in, shape, shape->high_by);
}

static bool fit_object(struct fitting *in, const struct shape *shape, const json_t *value) {
	size_t found = 0;
	if (!json_is_object(value)) return misfit_by(in, shape, ASPECT_TYPE);
	if (!write_fitting_word(in, "{")) return false;
	for (size_t i = 0; i < shape->count; i++) {
		const struct shape_member *member = &in->schema->members[shape->first + i];
		const json_t *item = json_object_get(value, member->key);
		if (!item && member->required) return misfit_by(in, shape, ASPECT_REQUIRED);
		if (!item) continue;
		if ((found && !write_fitting_word(in, ", ")) ||
		    !write_string(in, member->key, strlen(member->key)) ||
		    !write_fitting_word(in, ": ") || !fit_shape(in, member->shape, item))
			return false;
		found++;
	}
	if (in->whole && found < json_object_size(value)) return misfit_by(in, shape, ASPECT_TYPE);
	return write_fitting_word(in, "}");
}

static bool fit_array(struct fitting *in, const struct shape *shape, const json_t *value) {
	if (!json_is_array(value)) return misfit_by(in, shape, ASPECT_TYPE);
	const size_t count = json_array_size(value);
	if (count < shape->least) return misfit_by(in, shape, ASPECT_MIN_ITEMS);
	if (count > shape->most) return misfit_by(in, shape, ASPECT_MAX_ITEMS);
	if (!write_fitting_word(in, "[")) return false;
	for (size_t i = 0; i < count; i++) {
		const uint32_t item =
		    i < shape->count ? in->schema->members[shape->first + i].shape : shape->rest;
		if ((i && !write_fitting_word(in, ", ")) ||
		    !fit_shape(in, item, json_array_get(value, i)))
			return false;
	}
	return write_fitting_word(in, "]");
}

/* Whether a value has the type of a shape that SHAPE_TYPED has as a member. */
static bool is_typed_as(const struct shape *shape, const json_t *value) {
	switch (shape->kind) {
	case SHAPE_NULL:
		return json_is_null(value);
	case SHAPE_BOOLEAN:
		return json_is_boolean(value);
	case SHAPE_NUMBER:
		return json_is_number(value);
	case SHAPE_STRING:
		return json_is_string(value);
	case SHAPE_OBJECT:
		return json_is_object(value);
	default:
		return json_is_array(value);
	}
}

static bool fit_typed(struct fitting *in, const struct shape *shape, const json_t *value) {
	for (size_t i = 0; i < shape->count; i++) {
		const uint32_t member = in->schema->members[shape->first + i].shape;
		if (is_typed_as(shape_of(in->schema, member), value))
			return fit_shape(in, member, value);
	}
	return misfit_by(in, shape, ASPECT_TYPE);
}

static bool fit_first(struct fitting *in, const struct shape *shape, const json_t *value) {
	const size_t used = in->out ? in->out->used : 0;
	for (size_t i = 0; i < shape->count && !in->nomem; i++) {
		if (fit_shape(in, in->schema->members[shape->first + i].shape, value)) return true;
		if (in->out) in->out->used = used;
	}
	return false;
}

/* An alternative that no member is left out for goes before others. */
static bool fit_either(struct fitting *in, const struct shape *shape, const json_t *value) {
	const bool whole = in->whole;
	in->whole = true;
	bool fits = fit_first(in, shape, value);
	in->whole = whole;
	if (!fits && !whole) fits = fit_first(in, shape, value);
	return fits || misfit_by(in, shape, shape->high_by);
}

static bool fit_kind(struct fitting *in, const struct shape *shape, const json_t *value) {
	switch (shape->kind) {
	case SHAPE_NULL:
		return json_is_null(value) ? write_fitting_word(in, "null")
		                           : misfit_by(in, shape, ASPECT_TYPE);
	case SHAPE_BOOLEAN:
		return json_is_boolean(value) ? write_value(in, value)
		                              : misfit_by(in, shape, ASPECT_TYPE);
	case SHAPE_NUMBER:
		return fit_number(in, shape, value);
	case SHAPE_STRING:
		return fit_string(in, shape, value);
	case SHAPE_CHOICE:
		return fit_choice(in, shape, value);
	case SHAPE_OBJECT:
		return fit_object(in, shape, value);
	case SHAPE_ARRAY:
		return fit_array(in, shape, value);
	case SHAPE_TYPED:
		return fit_typed(in, shape, value);
	default:
		return fit_either(in, shape, value);
	}
}

static bool fit_shape(struct fitting *in, uint32_t number, const json_t *value) {
	const struct shape *shape = shape_of(in->schema, number);
	if (!in->steps || in->depth == DEEPEST) return misfit_by(in, shape, ASPECT_TYPE);
	in->steps--;
	in->depth++;
	const bool fits = fit_kind(in, shape, value);
	in->depth--;
	return fits;
}

bool shape_fits(const struct schema *schema, uint32_t shape, const json_t *value) {
	struct fitting in = {.schema = schema, .steps = STEPS};
	return fit_shape(&in, shape, value);
}

bool shape_fits_paid(const struct schema *schema, uint32_t shape, const json_t *value,
                     struct pattern_budget *budget) {
	const size_t most = budget->steps / 10 < STEPS ? budget->steps / 10 : STEPS;
	struct fitting in = {.schema = schema, .steps = most};
	const bool fits = fit_shape(&in, shape, value);
	budget->steps -= 10 * (most - in.steps);
	return fits;
}

enum cuttle_status schema_record(const struct schema *schema, const json_t *object,
                                 struct arena *out, bool *fits) {
	struct fitting in = {.schema = schema, .out = out, .steps = STEPS};
	const size_t used = out->used;
	*fits = fit_shape(&in, 0, object);
	if (!*fits) out->used = used;
	return in.nomem ? CUTTLE_NOMEM : CUTTLE_OK;
}

/* ---- diagnosis ------------------------------------------------------------------------------- */

size_t schema_misfit(const struct schema *schema, const json_t *object) {
	struct fitting in = {.schema = schema, .steps = STEPS};
	return fit_shape(&in, 0, object) ? SIZE_MAX : (size_t)in.shape * ASPECTS + in.by;
}

size_t schema_places(const struct schema *schema) {
	return schema->count * ASPECTS;
}

char *schema_place(const struct schema *schema, size_t place) {
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out) return NULL;
	bool done = shape_write_place(schema, (uint32_t)(place / ASPECTS), out);
	done &= fprintf(out, "/%s", ASPECT_NAMES[place % ASPECTS]) > 0;
	if (fclose(out) == 0 && done) return text;
	free(text);
	return NULL;
}
