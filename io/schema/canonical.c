// SPDX-License-Identifier: Apache-2.0
// How canonical.h writes: what needs no escape is copied in one piece.
#include "io/schema/canonical.h"

#include "base/utf8.h"
#include "io/schema/decimal.h"
#include <string.h>

size_t canonical_character(uint32_t code_point, char text[8]) {
	static const char meant[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = code_point && code_point < 0x7f ? strchr(meant, (int)code_point) : NULL;
	if (found) {
		text[0] = '\\';
		text[1] = letters[found - meant];
		return 2;
	}
	if (code_point >= 0x20) return utf8_write(code_point, text);
	memcpy(text, "\\u00", 4);
	text[4] = (char)('0' + (code_point >> 4));
	text[5] = "0123456789abcdef"[code_point & 15];
	return 6;
}

bool canonical_string(struct arena *out, const char *text, size_t size) {
	size_t copied = 0;
	bool done = arena_append(out, "\"", 1);
	for (size_t at = 0; at < size && done; at++) {
		const unsigned char byte = (unsigned char)text[at];
		if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
		char escape[8];
		const size_t length = canonical_character(byte, escape);
		done = arena_append(out, text + copied, at - copied) &&
		       arena_append(out, escape, length);
		copied = at + 1;
	}
	return done && arena_append(out, text + copied, size - copied) &&
	       arena_append(out, "\"", 1);
}

bool canonical_number(struct arena *out, const json_t *number) {
	decimal value;
	bool exact;
	if (!arena_reserve(out, DECIMAL_ROOM)) return false;
	decimal_of(number, &value, &exact);
	arena_grew(out, decimal_write(value, out->bytes + out->used));
	return true;
}

static bool append_word(struct arena *out, const char *word) {
	return arena_append(out, word, strlen(word));
}

static bool write_object(struct arena *out, const json_t *value) {
	bool done = append_word(out, "{"), first = true;
	for (void *at = json_object_iter((json_t *)value); at && done;
	     at = json_object_iter_next((json_t *)value, at)) {
		const char *key = json_object_iter_key(at);
		done = (first || append_word(out, ", ")) &&
		       canonical_string(out, key, strlen(key)) && append_word(out, ": ") &&
		       canonical_value(out, json_object_iter_value(at));
		first = false;
	}
	return done && append_word(out, "}");
}

static bool write_array(struct arena *out, const json_t *value) {
	bool done = append_word(out, "[");
	for (size_t i = 0; i < json_array_size(value) && done; i++)
		done = (!i || append_word(out, ", ")) &&
		       canonical_value(out, json_array_get(value, i));
	return done && append_word(out, "]");
}

bool canonical_value(struct arena *out, const json_t *value) {
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return write_object(out, value);
	case JSON_ARRAY:
		return write_array(out, value);
	case JSON_STRING:
		return canonical_string(out, json_string_value(value), json_string_length(value));
	case JSON_INTEGER:
	case JSON_REAL:
		return canonical_number(out, value);
	case JSON_TRUE:
		return append_word(out, "true");
	case JSON_FALSE:
		return append_word(out, "false");
	case JSON_NULL:
		break;
	}
	return append_word(out, "null");
}

static bool same_objects(const json_t *a, const json_t *b) {
	if (json_object_size(a) != json_object_size(b)) return false;
	for (void *at = json_object_iter((json_t *)a); at;
	     at = json_object_iter_next((json_t *)a, at)) {
		const json_t *other = json_object_get(b, json_object_iter_key(at));
		if (!other || !canonical_same(json_object_iter_value(at), other)) return false;
	}
	return true;
}

static bool same_arrays(const json_t *a, const json_t *b) {
	if (json_array_size(a) != json_array_size(b)) return false;
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!canonical_same(json_array_get(a, i), json_array_get(b, i))) return false;
	return true;
}

bool canonical_same(const json_t *a, const json_t *b) {
	if (json_is_number(a) && json_is_number(b)) {
		decimal left, right;
		bool left_exact, right_exact;
		decimal_of(a, &left, &left_exact);
		decimal_of(b, &right, &right_exact);
		return left_exact && right_exact && left == right;
	}
	if (json_typeof(a) != json_typeof(b)) return false;
	if (json_is_object(a)) return same_objects(a, b);
	if (json_is_array(a)) return same_arrays(a, b);
	return !json_is_string(a) ||
	       (json_string_length(a) == json_string_length(b) &&
	        !memcmp(json_string_value(a), json_string_value(b), json_string_length(a)));
}
