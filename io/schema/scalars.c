// SPDX-License-Identifier: Apache-2.0
// How the keywords of strings and numbers are read (io/schema/reading.h), and refusals.
#include "io/schema/reading.h"

#include "io/disk/fail.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Dates of the calendar from year 1 on: months of 31, 30 and 28 days, and 29 February of leap
 * years: a multiple of 4, and not of 100 unless of 400. */
#define DATE                                                                                       \
	"(?:(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-(?:"                            \
	"(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"     \
	"02-(?:0[1-9]|1[0-9]|2[0-8]))|"                                                            \
	"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"                                            \
	"(?:0[48]|[2468][048]|[13579][26])00)-02-29)"

/* RFC 3339's times: no leap seconds, which few programs read. Letters may be small. */
#define TIME                                                                                       \
	"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?"                                 \
	"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
/* RFC 5321's mailboxes whose local part has no quotes, and whose host is a name. */
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
#define OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"

static const struct string_format {
	const char *name;
	const char *pattern;
} STRING_FORMATS[] = {{"date", "^" DATE "$"},
                      {"date-time", "^" DATE "[Tt]" TIME "$"},
                      {"time", "^" TIME "$"},
                      {"uuid", "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"},
                      {"email", "^" ATOM "(?:\\." ATOM ")*@" LABEL "(?:\\." LABEL ")*$"},
                      {"ipv4", "^" OCTET "(?:\\." OCTET "){3}$"}};

/* Of OpenAPI and schemars. Those of 64 bits have more numbers than cuttle writes. */
static const struct number_format {
	const char *name;
	bool whole;
	int64_t low; /* INT64_MIN and INT64_MAX: no bound */
	int64_t high;
} NUMBER_FORMATS[] = {
    {"int8", true, INT8_MIN, INT8_MAX},     {"int16", true, INT16_MIN, INT16_MAX},
    {"int32", true, INT32_MIN, INT32_MAX},  {"int64", true, INT64_MIN, INT64_MAX},
    {"int", true, INT64_MIN, INT64_MAX},    {"uint8", true, 0, UINT8_MAX},
    {"uint16", true, 0, UINT16_MAX},        {"uint32", true, 0, UINT32_MAX},
    {"uint64", true, 0, INT64_MAX},         {"uint", true, 0, INT64_MAX},
    {"float", false, INT64_MIN, INT64_MAX}, {"double", false, INT64_MIN, INT64_MAX}};

enum {
	PLACE_SHOWN = 120,        /* bytes of a place in a message */
	LENGTH_MOST = 1000000,    /* characters or items that a grammar counts */
	LENGTH_NEVER = 1000000000 /* no text is so long */
};

/* ---- refusals -------------------------------------------------------------------------------- */

bool reading_nomem(struct reading_schema *in) {
	if (!in->status) in->status = io_fail(in->error, CUTTLE_NOMEM, "out of memory");
	return false;
}

bool reading_refuse(struct reading_schema *in, uint32_t at, const char *keyword, const char *format,
                    ...) {
	char reason[256], *place = NULL;
	size_t size;
	va_list arguments;
	if (in->status) return false;
	va_start(arguments, format);
	(void)vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	FILE *out = open_memstream(&place, &size);
	if (!out) return reading_nomem(in);
	bool done = shape_write_place(in->to, at, out);
	if (keyword) fprintf(out, "/%s", keyword);
	if (fclose(out) || !done) {
		free(place);
		return reading_nomem(in);
	}
	// Of a long place the end says more than the beginning.
	const size_t skipped = size > PLACE_SHOWN ? size - PLACE_SHOWN : 0;
	in->status = io_fail(in->error, CUTTLE_INPUT, "\"%s%s\": %s", skipped ? "..." : "",
	                     place + skipped, reason);
	free(place);
	return false;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* Sets *text and *number to what "format" names, or NULL. False: cuttle does not read it. */
static bool find_format(struct reading_schema *in, uint32_t at, const json_t *json,
                        const struct string_format **text, const struct number_format **number) {
	const json_t *format = json_object_get(json, "format");
	const char *name = json_string_value(format);
	*text = NULL;
	*number = NULL;
	if (!format) return true;
	for (size_t i = 0; name && i < sizeof STRING_FORMATS / sizeof *STRING_FORMATS; i++)
		if (!strcmp(name, STRING_FORMATS[i].name)) *text = &STRING_FORMATS[i];
	for (size_t i = 0; name && i < sizeof NUMBER_FORMATS / sizeof *NUMBER_FORMATS; i++)
		if (!strcmp(name, NUMBER_FORMATS[i].name)) *number = &NUMBER_FORMATS[i];
	return *text || *number ||
	       reading_refuse(in, at, "format",
	                      "cuttle reads the formats date, date-time, time, uuid, email and "
	                      "ipv4 of strings, int32 and the like of numbers; write a pattern");
}

/* A format says nothing about values of another type, which must be one that may stand here. */
static bool is_idle_format(struct reading_schema *in, uint32_t at, const json_t *json,
                           bool of_other) {
	return !of_other || json_is_array(json_object_get(json, "type")) ||
	       json_object_get(json, "nullable") ||
	       reading_refuse(in, at, "format", "it says nothing about the type here");
}

/* ---- strings --------------------------------------------------------------------------------- */

bool reading_count(struct reading_schema *in, uint32_t at, const json_t *json, const char *keyword,
                   size_t otherwise, size_t *value) {
	const json_t *member = json_object_get(json, keyword);
	decimal number;
	bool exact;
	*value = otherwise;
	if (!member) return true;
	if (!json_is_number(member))
		return reading_refuse(in, at, keyword, "it is no number; write one from 0 on");
	decimal_of(member, &number, &exact);
	if (number < 0 || (number <= decimal_most() && (!exact || number % decimal_one() != 0)))
		return reading_refuse(in, at, keyword, "it is no whole number from 0 on");
	number /= decimal_one();
	// So great a maximum is none.
	if (number >= LENGTH_NEVER && otherwise == SIZE_MAX) return true;
	if (number > LENGTH_MOST && otherwise != SIZE_MAX)
		return reading_refuse(in, at, keyword, "write at most 1,000,000");
	*value = number > LENGTH_MOST ? LENGTH_MOST : (size_t)number;
	return true;
}

/* The number of a pattern with these lengths, which is new if there was none. */
static bool find_shape_pattern(struct reading_schema *in, uint32_t at, const char *keyword,
                               const struct shape_pattern *wanted, size_t *found) {
	struct schema *to = in->to;
	for (*found = 0; *found < to->pattern_count; ++*found) {
		const struct shape_pattern *other = &to->patterns[*found];
		if (other->size == wanted->size && other->least == wanted->least &&
		    other->most == wanted->most && !memcmp(other->text, wanted->text, wanted->size))
			return true;
	}
	struct shape_pattern *patterns =
	    reallocarray(to->patterns, to->pattern_count + 1, sizeof *patterns);
	if (!patterns) return reading_nomem(in);
	to->patterns = patterns;
	struct shape_pattern *new = &patterns[to->pattern_count++];
	*new = *wanted;
	const char *fault = pattern_make(new->text, new->size, &in->budget, &new->any);
	if (!fault && (new->least > 0 || new->most < SIZE_MAX))
		fault = pattern_bound(&new->any, new->least, new->most, &in->budget, &new->bound);
	else if (!fault && !new->any.states) fault = "no text fits it";
	if (!fault && (new->least > 0 || new->most < SIZE_MAX) && !new->bound.states)
		fault = "no text of these lengths fits it";
	if (fault == PATTERN_MEMORY) return reading_nomem(in);
	return !fault || reading_refuse(in, at, keyword, "%s", fault);
}

bool reading_string(struct reading_schema *in, uint32_t at, const json_t *json) {
	const json_t *pattern = json_object_get(json, "pattern");
	const struct string_format *format;
	const struct number_format *other;
	struct shape new = in->to->shapes[at];
	new.kind = SHAPE_STRING;
	if (!reading_count(in, at, json, "minLength", 0, &new.least) ||
	    !reading_count(in, at, json, "maxLength", SIZE_MAX, &new.most))
		return false;
	if (new.least > new.most)
		return reading_refuse(in, at, "minLength", "it is greater than maxLength");
	if (!find_format(in, at, json, &format, &other) ||
	    !is_idle_format(in, at, json, other != NULL))
		return false;
	if (pattern && !json_is_string(pattern))
		return reading_refuse(in, at, "pattern", "it is no string");
	if (pattern && format)
		return reading_refuse(in, at, "pattern",
		                      "cuttle does not read it beside format; leave one out");
	new.format = format != NULL;
	new.date = format == STRING_FORMATS;
	if (pattern || format) {
		const struct shape_pattern wanted = {
		    .text = format ? format->pattern : json_string_value(pattern),
		    .size = format ? strlen(format->pattern) : json_string_length(pattern),
		    .least = new.least,
		    .most = new.most};
		if (!find_shape_pattern(in, at, format ? "format" : "pattern", &wanted,
		                        &new.pattern))
			return false;
	}
	in->to->shapes[at] = new;
	return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The least decimal that the keyword allows, or the greatest. */
static bool read_number_bound(struct reading_schema *in, uint32_t at, const json_t *json,
                              enum aspect aspect, bool exclusive, bool upper, struct shape *shape) {
	const json_t *member = json_object_get(json, ASPECT_NAMES[aspect]);
	decimal value;
	bool exact;
	if (!member) return true;
	if (json_is_boolean(member) && exclusive)
		return reading_refuse(in, at, ASPECT_NAMES[aspect],
		                      "it is no number; of OpenAPI 3.0's true beside %s write "
		                      "%s with that one's number alone, and leave false out",
		                      upper ? "maximum" : "minimum", ASPECT_NAMES[aspect]);
	if (!json_is_number(member))
		return reading_refuse(in, at, ASPECT_NAMES[aspect], "it is no number");
	decimal_of(member, &value, &exact);
	// What is not exact lies above the value.
	if (upper) value -= exact && exclusive;
	else value += !exact || exclusive;
	if (upper && value < shape->high) {
		shape->high = value;
		shape->high_by = aspect;
	}
	if (!upper && value > shape->low) {
		shape->low = value;
		shape->low_by = aspect;
	}
	return true;
}

/* The greatest multiple of `one` that is not above the value. */
static decimal round_to_whole(decimal value, decimal one) {
	decimal rest = value % one;
	if (rest < 0) rest += one;
	return value - rest;
}

static void bound_by_format(struct shape *shape, const struct number_format *format) {
	if (format->low > INT64_MIN) {
		shape->low = format->low * decimal_one();
		shape->low_by = ASPECT_FORMAT;
	}
	if (format->high < INT64_MAX) {
		shape->high = format->high * decimal_one();
		shape->high_by = ASPECT_FORMAT;
	}
}

bool reading_number(struct reading_schema *in, uint32_t at, const json_t *json, bool whole) {
	const json_t *multiple = json_object_get(json, "multipleOf");
	struct shape new = in->to->shapes[at];
	const struct number_format *format;
	const struct string_format *other;
	const decimal one = decimal_one();
	new.kind = SHAPE_NUMBER;
	new.low_by = new.high_by = ASPECT_TYPE;
	new.high = decimal_most();
	new.low = -new.high;
	if (!find_format(in, at, json, &other, &format) ||
	    !is_idle_format(in, at, json, other != NULL))
		return false;
	if (format) {
		whole |= format->whole;
		bound_by_format(&new, format);
	}
	new.whole = whole;
	if (!read_number_bound(in, at, json, ASPECT_MINIMUM, false, false, &new) ||
	    !read_number_bound(in, at, json, ASPECT_EXCLUSIVE_MINIMUM, true, false, &new) ||
	    !read_number_bound(in, at, json, ASPECT_MAXIMUM, false, true, &new) ||
	    !read_number_bound(in, at, json, ASPECT_EXCLUSIVE_MAXIMUM, true, true, &new))
		return false;
	if (multiple && (!whole || !json_is_number(multiple) || json_number_value(multiple) != 1))
		return reading_refuse(in, at, "multipleOf",
		                      "cuttle reads 1 alone, beside the type integer");
	if (whole) {
		new.low = -round_to_whole(-new.low, one);
		new.high = round_to_whole(new.high, one);
	} else {
		new.low = decimal_up(new.low);
		new.high = decimal_down(new.high);
	}
	if (new.low > new.high)
		return reading_refuse(
		    in, at, ASPECT_NAMES[new.low_by == ASPECT_TYPE ? new.high_by : new.low_by],
		    "no number that cuttle writes fits: of at most 15 digits, or 18 without a "
		    "point");
	in->to->shapes[at] = new;
	return true;
}
