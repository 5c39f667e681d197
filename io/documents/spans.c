// SPDX-License-Identifier: Apache-2.0
// How spans.h reads: jansson parses the line, the text is copied, then each span is turned into
// bytes and checked. A rule that a span breaks is a fixed text: nothing of the line gets into it.
#include "io/documents/spans.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/jsonline.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include <string.h>

const char *const SPANS_FORMAT_NAMES[SPANS_FORMATS] = {"auto", "presidio", "tab"};
const char *const SPANS_OFFSETS_NAMES[SPANS_UNITS] = {"codepoints", "bytes", "utf16"};

enum { JSON = 1 << 30 }; /* bytes that jansson may take for one line, 1 GiB */

/* ---- offsets --------------------------------------------------------------------------------- */

enum { STRIDE = 64 }; /* characters between two landmarks */
/* Every STRIDE characters: which byte and which unit of the offsets begin there. */
struct landmark {
	size_t byte;
	size_t unit;
};

/* What turns offsets into bytes. */
struct ruler {
	const char *text;
	size_t size;         /* bytes */
	struct arena points; /* struct landmark, by byte and by unit */
	enum spans_offsets offsets;
};

/* How many units of the offsets the character has whose first byte this is: in UTF-16 those of four
 * bytes have two. */
static size_t units_of(enum spans_offsets offsets, unsigned char lead) {
	return offsets == SPANS_UTF16 && lead >= 0xf0 ? 2 : 1;
}

static size_t length_of(unsigned char lead) {
	return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* False: out of memory. */
static bool lay_ruler(struct ruler *ruler) {
	size_t unit = 0, characters = 0;
	if (ruler->offsets == SPANS_BYTES) return true;
	for (size_t at = 0; at < ruler->size; characters++) {
		const unsigned char lead = (unsigned char)ruler->text[at];
		const struct landmark point = {at, unit};
		if (characters % STRIDE == 0 && !arena_append(&ruler->points, &point, sizeof point))
			return false;
		at += length_of(lead);
		unit += units_of(ruler->offsets, lead);
	}
	return true;
}

/* Sets *byte to where the unit is in the text. Returns the rule that it breaks, or NULL. */
static const char *place_unit(const struct ruler *ruler, size_t unit, size_t *byte) {
	const char *inside = "an offset is inside a character: do --offsets say what it counts?";
	*byte = unit;
	if (ruler->offsets == SPANS_BYTES) {
		if (unit > ruler->size) return "it goes beyond the text";
		return unit < ruler->size && ((unsigned char)ruler->text[unit] & 0xc0) == 0x80
		           ? inside
		           : NULL;
	}
	const struct landmark *points = (const void *)ruler->points.bytes;
	size_t low = 0, high = ruler->points.used / sizeof *points, seen = 0;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (points[middle].unit <= unit) low = middle;
		else high = middle;
	}
	*byte = 0;
	if (high > 0) {
		*byte = points[low].byte;
		seen = points[low].unit;
	}
	while (seen < unit && *byte < ruler->size) {
		const unsigned char lead = (unsigned char)ruler->text[*byte];
		seen += units_of(ruler->offsets, lead);
		*byte += length_of(lead);
	}
	return seen < unit ? "it goes beyond the text" : seen > unit ? inside : NULL;
}

/* ---- one span -------------------------------------------------------------------------------- */

/* The names of a span's members in one form. */
static const struct span_form {
	const char *start, *end;
	const char *types[3];
	const char *text; /* the content once more; may be absent */
} OURS = {"start", "end", {"entity_type", "label", "type"}, "text"},
  OF_TAB = {"start_offset", "end_offset", {"entity_type"}, "span_text"};

/* Sets *value to a member that is an integer from 0 on. Returns the rule that it breaks. */
static const char *read_offset(const json_t *span, const char *key, size_t *value) {
	const json_t *member = json_object_get(span, key);
	if (!member) return "its start or end is missing";
	if (!json_is_integer(member)) return "its start or end is not an integer";
	if (json_integer_value(member) < 0) return "its start or end is below 0";
	*value = (size_t)json_integer_value(member);
	return NULL;
}

/* Where the member stands beside the span, it must be this byte. */
static const char *check_byte(const json_t *span, const char *key, size_t wanted) {
	const json_t *member = json_object_get(span, key);
	if (!member) return NULL;
	if (!json_is_integer(member)) return "byte_start or byte_end is not an integer";
	if (json_integer_value(member) < 0 || (size_t)json_integer_value(member) != wanted)
		return "byte_start or byte_end contradicts start or end";
	return NULL;
}

static const char *check_content(const json_t *span, const char *key, const char *content,
                                 size_t size) {
	const json_t *member = json_object_get(span, key);
	if (!member) return NULL;
	if (!json_is_string(member)) return "the text beside it is not a string";
	return json_string_length(member) == size &&
	               !memcmp(json_string_value(member), content, size)
	           ? NULL
	           : "the text beside it is not what stands there: do --offsets say what it "
	             "counts?";
}

/* Sets *type to the span's type. Several may stand beside each other, if they agree. */
static const char *read_span_type(const json_t *span, const struct span_form *form,
                                  const char **type) {
	*type = NULL;
	for (size_t i = 0; i < sizeof form->types / sizeof *form->types && form->types[i]; i++) {
		const json_t *member = json_object_get(span, form->types[i]);
		if (!member) continue;
		const char *name = json_string_value(member);
		if (!name || !utf8_name(name, json_string_length(member)))
			return "its type is not a string of 1 to 128 bytes in one line";
		if (*type && strcmp(*type, name) != 0) return "its types contradict each other";
		*type = name;
	}
	return *type ? NULL : "it has no type: entity_type, label or type";
}

/* Reads a span. Returns the rule that it breaks, or NULL. */
static const char *read_span(const struct ruler *ruler, const struct span_form *form,
                             const json_t *span, struct text_span *read, const char **type) {
	size_t start = 0, end = 0;
	if (!json_is_object(span)) return "it is not an object";
	const json_t *score = json_object_get(span, "score");
	const char *rule = read_offset(span, form->start, &start);
	if (!rule) rule = read_offset(span, form->end, &end);
	if (!rule && start >= end) rule = "its end is not behind its start";
	if (!rule) rule = place_unit(ruler, start, &read->start);
	if (!rule) rule = place_unit(ruler, end, &read->end);
	if (!rule) rule = check_byte(span, "byte_start", read->start);
	if (!rule) rule = check_byte(span, "byte_end", read->end);
	if (!rule)
		rule = check_content(span, form->text, ruler->text + read->start,
		                     read->end - read->start);
	if (!rule && score && !json_is_number(score) && !json_is_null(score))
		rule = "its score is not a number";
	return rule ? rule : read_span_type(span, form, type);
}

/* ---- the spans of a line --------------------------------------------------------------------- */

/* One line that is being read. */
struct span_line {
	const struct spans_request *request;
	const char *name; /* what the line is, for messages */
	size_t number;    /* of the line, from 1 */
	struct ruler ruler;
	struct span_types *types;
	struct spans *spans;
	size_t read; /* spans that were read so far */
	struct cuttle_error *error;
};

static enum cuttle_status fail_line(const struct span_line *line, const char *rule) {
	return io_fail(line->error, CUTTLE_INPUT, "%s: %s%zu: %s", line->request->path, line->name,
	               line->number, rule);
}

/* Sets *number to that of a type's name, which is new or not. False: there are too many. */
static bool number_type(struct span_types *types, const char *name, uint32_t *number) {
	for (size_t i = 0; i < types->count; i++)
		if (!strcmp(types->names[i], name)) {
			*number = (uint32_t)i;
			return true;
		}
	if (types->count == SPANS_TYPES) return false;
	*number = (uint32_t)types->count++;
	memcpy(types->names[*number], name, strlen(name) + 1);
	return true;
}

enum cuttle_status spans_add(struct spans *spans, struct span_types *types, size_t start,
                             size_t end, const char *type, struct cuttle_error *error) {
	REQUIRE(start < end && end <= spans->text.used && strlen(type) <= UTF8_NAME);
	struct text_span span = {.start = start, .end = end};
	if (!number_type(types, type, &span.type))
		return io_fail(error, CUTTLE_INPUT, "there are more than %d types of spans",
		               SPANS_TYPES);
	return arena_append(&spans->list, &span, sizeof span)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Reads the spans of a list in one form. */
static enum cuttle_status read_list(struct span_line *line, const json_t *list,
                                    const struct span_form *form) {
	size_t index;
	const json_t *item;
	json_array_foreach(list, index, item) {
		struct text_span span = {0};
		const char *type = NULL;
		const char *rule = read_span(&line->ruler, form, item, &span, &type);
		line->read++;
		if (rule)
			return io_fail(line->error, CUTTLE_INPUT, "%s: %s%zu: span %zu: %s",
			               line->request->path, line->name, line->number, line->read,
			               rule);
		const json_t *identifier = json_object_get(item, "identifier_type");
		if (form == &OF_TAB && identifier && !json_is_string(identifier))
			return fail_line(line, "an identifier_type is not a string");
		const char *leave = line->request->leave_identifier;
		if (form == &OF_TAB && leave && identifier &&
		    !strcmp(json_string_value(identifier), leave))
			continue;
		const enum cuttle_status status =
		    spans_add(line->spans, line->types, span.start, span.end, type, line->error);
		if (status) return status;
	}
	return CUTTLE_OK;
}

/* Reads the spans of all annotators. */
static enum cuttle_status read_annotations(struct span_line *line, json_t *annotations) {
	const char *annotator;
	json_t *one;
	enum cuttle_status status = CUTTLE_OK;
	json_object_foreach(annotations, annotator, one) {
		const json_t *mentions = json_object_get(one, "entity_mentions");
		if (!json_is_array(mentions))
			return fail_line(line, "an annotator has no list entity_mentions");
		if (!status) status = read_list(line, mentions, &OF_TAB);
	}
	return status;
}

/* Finds the spans of the line in the form that was asked for, or in the one that is there. */
static enum cuttle_status read_spans(struct span_line *line, const json_t *root) {
	const struct spans_request *request = line->request;
	const json_t *list = json_object_get(root, request->spans_field);
	json_t *annotations = json_object_get(root, "annotations");
	if (request->format == SPANS_AUTO && list && annotations)
		return fail_line(line, "it has spans in two forms: say which with --spans-format");
	const bool of_tab =
	    request->format == SPANS_TAB || (request->format == SPANS_AUTO && !list && annotations);
	if (of_tab)
		return json_is_object(annotations)
		           ? read_annotations(line, annotations)
		           : fail_line(line, "it has no object annotations, as TAB has it");
	if (!list && request->may_lack) return CUTTLE_OK;
	if (!list)
		return fail_line(line, "it has no spans: name their member with --spans-field, or "
		                       "let a --tagger find them");
	return json_is_array(list) ? read_list(line, list, &OURS)
	                           : fail_line(line, "its spans are not a list");
}

/* Reads the text and the id. */
static enum cuttle_status take_document(struct span_line *line, const json_t *root) {
	const struct spans_request *request = line->request;
	const json_t *text = json_object_get(root, request->text_field);
	json_t *id = request->id_field ? json_object_get(root, request->id_field) : NULL;
	if (!json_is_string(text))
		return io_fail(line->error, CUTTLE_INPUT,
		               "%s: %s%zu: it has no text in the member %s: name it with "
		               "--text-field",
		               request->path, line->name, line->number, request->text_field);
	if (id && !json_is_string(id) && !json_is_integer(id))
		return fail_line(line, "its id is neither a string nor an integer");
	line->spans->id = json_incref(id);
	json_t *owner = request->owner_field ? json_object_get(root, request->owner_field) : NULL;
	if (request->owner_field && !json_is_string(owner) && !json_is_integer(owner))
		return io_fail(
		    line->error, CUTTLE_INPUT,
		    "%s: %s%zu: it does not say whose it is, in a string or an integer %s",
		    request->path, line->name, line->number, request->owner_field);
	line->spans->owner = json_incref(owner);
	return arena_append(&line->spans->text, json_string_value(text), json_string_length(text))
	           ? CUTTLE_OK
	           : io_fail(line->error, CUTTLE_NOMEM, "out of memory");
}

enum { PARSE = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES };

/* Parses the line as jsonline_mend writes it. */
static json_t *parse_mended_line(const char *bytes, size_t size, bool words, json_error_t *wrong) {
	struct arena copy = {0};
	json_t *root = NULL;
	if (jsonline_mend(&copy, bytes, size, words))
		root = json_loadb(copy.bytes, copy.used, PARSE, wrong);
	arena_free(&copy);
	return root;
}

/* Parses a line with numbers that are too large for jansson. As an id or owner such a number is the
 * string of its digits. */
static json_t *parse_large(const struct span_line *line, const char *bytes, size_t size,
                           json_error_t *wrong) {
	const char *const names[] = {line->request->id_field, line->request->owner_field};
	json_t *root = parse_mended_line(bytes, size, false, wrong);
	json_t *words = root ? parse_mended_line(bytes, size, true, wrong) : NULL;
	for (size_t i = 0; i < 2; i++) {
		json_t *word = names[i] ? json_object_get(words, names[i]) : NULL;
		if (word) (void)json_object_set(root, names[i], word);
	}
	json_decref(words);
	return root;
}

/* Parses bytes[size]. *root is to be freed. */
static enum cuttle_status parse_line(struct span_line *line, const char *bytes, size_t size,
                                     json_t **root) {
	json_error_t wrong;
	secrecy_json(JSON);
	*root = json_loadb(bytes, size, PARSE, &wrong);
	if (!*root && json_error_code(&wrong) == json_error_numeric_overflow)
		*root = parse_large(line, bytes, size, &wrong);
	secrecy_json(SIZE_MAX);
	if (json_is_object(*root)) return CUTTLE_OK;
	if (!*root && json_error_code(&wrong) == json_error_out_of_memory)
		return fail_line(line, "it takes more than 1 GiB of memory: split the document");
	if (!*root && json_error_code(&wrong) == json_error_duplicate_key)
		return fail_line(line, "an object in it has two members of one name");
	if (!utf8_valid(bytes, size)) return fail_line(line, "it is not UTF-8");
	switch (*root ? JSONLINE_OTHER : jsonline_fault(bytes, size)) {
	case JSONLINE_EMPTY:
		return fail_line(line, "it is empty: leave the line out");
	case JSONLINE_NAN:
		return fail_line(line, "it has NaN or Infinity, which are not JSON: write null");
	case JSONLINE_HALF_PAIR:
		return fail_line(line, "it has half a surrogate pair, such as \\ud83d alone: a "
		                       "character was cut in two");
	case JSONLINE_OTHER:
		break;
	}
	while (size && (*bytes == ' ' || *bytes == '\t')) bytes++, size--;
	// The first line of a table is its header.
	if (line->number == 1 && line->request->id_field && (!size || !strchr("[{", *bytes)))
		return fail_line(line, "it is not a JSON object; cuttle tag reads CSV where "
		                       "the name ends in .csv");
	return fail_line(line, size && *bytes == '{'
	                           ? "it is not a JSON object (of one over several lines, "
	                             "jq -c . FILE makes one line)"
	                           : "it is not a JSON object (of a list, jq -c '.[]' FILE makes "
	                             "lines)");
}

/* Lays the ruler over the text and reads the spans with it. */
static enum cuttle_status measure_spans(struct span_line *line, const json_t *root,
                                        enum cuttle_status (*read)(struct span_line *line,
                                                                   const json_t *root)) {
	const struct arena *text = &line->spans->text;
	line->ruler.text = text->used ? text->bytes : "";
	line->ruler.size = text->used;
	const enum cuttle_status status = lay_ruler(&line->ruler)
	                                      ? read(line, root)
	                                      : io_fail(line->error, CUTTLE_NOMEM, "out of memory");
	arena_free(&line->ruler.points);
	return status;
}

/* Forgets the line that was read before; its memory stays, and is wiped in the end. */
static void empty_spans(struct spans *spans) {
	json_decref(spans->id);
	json_decref(spans->owner);
	spans->id = spans->owner = NULL;
	spans->text.used = spans->list.used = 0;
}

enum cuttle_status spans_read(const struct spans_request *request, const char *line, size_t size,
                              size_t number, struct span_types *types, struct spans *spans,
                              struct cuttle_error *error) {
	struct span_line reading = {.request = request,
	                            .name = "line ",
	                            .number = number,
	                            .ruler.offsets = request->offsets,
	                            .types = types,
	                            .spans = spans,
	                            .error = error};
	json_t *root = NULL;
	empty_spans(spans);
	if (size > SOURCE_LINE) return fail_line(&reading, "it has more than 16 MiB");
	enum cuttle_status status = parse_line(&reading, line, size, &root);
	if (!status) status = take_document(&reading, root);
	if (!status && request->spans_field) status = measure_spans(&reading, root, read_spans);
	json_decref(root);
	return status;
}

/* An answer's members but its spans, which read_spans takes. */
static enum cuttle_status read_answer(struct span_line *line, const json_t *root) {
	const json_t *id = json_object_get(root, "id"), *text = json_object_get(root, "text");
	if (!json_is_integer(id) || json_integer_value(id) != (json_int_t)line->number)
		return fail_line(line, "its id is not the one that was asked");
	if (text && check_content(root, "text", line->ruler.text, line->ruler.size))
		return fail_line(line, "its text is not the one that was asked");
	return read_spans(line, root);
}

enum cuttle_status spans_read_answer(const struct spans_request *request, const char *line,
                                     size_t size, size_t number, struct span_types *types,
                                     struct spans *spans, struct cuttle_error *error) {
	const struct spans_request form = {
	    .path = request->path, .spans_field = "spans", .format = SPANS_PRESIDIO};
	struct span_line reading = {.request = &form,
	                            .name = "the tagger's answer to line ",
	                            .number = number,
	                            .types = types,
	                            .spans = spans,
	                            .error = error};
	json_t *root = NULL;
	enum cuttle_status status = parse_line(&reading, line, size, &root);
	if (!status) status = measure_spans(&reading, root, read_answer);
	json_decref(root);
	return status;
}

void spans_free(struct spans *spans) {
	empty_spans(spans);
	arena_free(&spans->text);
	arena_free(&spans->list);
}

size_t spans_count(const struct spans *spans) {
	return spans->list.used / sizeof(struct text_span);
}

const struct text_span *spans_all(const struct spans *spans) {
	return (const struct text_span *)(const void *)spans->list.bytes;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The unit that begins at each byte of the text: units[byte]. NULL: out of memory. */
static size_t *count_units(const struct arena *text, enum spans_offsets offsets) {
	size_t *units = reallocarray(NULL, text->used + 1, sizeof *units), unit = 0;
	for (size_t at = 0; units && at < text->used;) {
		const unsigned char lead = (unsigned char)text->bytes[at];
		for (size_t end = at + length_of(lead); at < end; at++)
			units[at] = offsets == SPANS_BYTES ? at : unit;
		unit += units_of(offsets, lead);
	}
	if (units) units[text->used] = offsets == SPANS_BYTES ? text->used : unit;
	return units;
}

json_t *spans_encode(const struct spans_request *request, const struct spans *spans,
                     const struct span_types *types) {
	json_t *root = json_object(), *list = json_array();
	size_t *units = count_units(&spans->text, request->offsets);
	bool good = root && list && units;
	for (size_t i = 0; good && i < spans_count(spans); i++) {
		const struct text_span *span = &spans_all(spans)[i];
		good = !json_array_append_new(
		    list, json_pack("{s:I, s:I, s:s}", "start", (json_int_t)units[span->start],
		                    "end", (json_int_t)units[span->end], "entity_type",
		                    types->names[span->type]));
	}
	if (good && spans->id) good = !json_object_set(root, request->id_field, spans->id);
	if (good)
		good = !json_object_set_new(
		    root, request->text_field,
		    json_stringn(spans->text.used ? spans->text.bytes : "", spans->text.used));
	if (good) good = !json_object_set(root, "spans", list);
	json_decref(list);
	secrecy_free(units);
	if (good) return root;
	json_decref(root);
	return NULL;
}
