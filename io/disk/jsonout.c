// SPDX-License-Identifier: Apache-2.0
// JSON documents by jansson: see jsonout.h.
#include "io/disk/jsonout.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include <math.h>
#include <stdlib.h>

json_t *jsonout_text(const char *text, size_t size) {
	if (utf8_valid(text, size)) return json_stringn(text, size);
	// A wrong byte becomes U+FFFD, three bytes. A right character keeps its length. So three
	// times the size is always enough.
	char *valid = reallocarray(NULL, size, 3);
	size_t used = 0;
	for (size_t at = 0; valid && at < size;) {
		uint32_t code_point;
		size_t length = utf8_decode(text + at, size - at, &code_point);
		used += utf8_write(code_point, valid + used);
		at += length ? length : 1;
	}
	json_t *string = valid ? json_stringn(valid, used) : NULL;
	free(valid);
	return string;
}

json_t *jsonout_real(double value) {
	return isfinite(value) ? json_real(value) : json_null();
}

double jsonout_round_up(double value, double parts) {
	double rounded = ceil(value * parts) / parts;
	return rounded < value ? value : rounded;
}

json_t *jsonout_integers(const int32_t *values, size_t count) {
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		if (json_array_append_new(list, json_integer(values[i])) == 0) continue;
		json_decref(list);
		return NULL;
	}
	return list;
}

json_t *jsonout_extend(json_t *object, const struct jsonout_member *members, size_t count) {
	bool failed = false;
	for (size_t i = 0; i < count; i++)
		failed |= json_object_set_new(object, members[i].key, members[i].value) != 0;
	if (!failed) return object;
	json_decref(object);
	return NULL;
}

char *jsonout_dump(json_t *root, size_t flags, size_t *size) {
	if (!(flags & JSON_REAL_PRECISION(31))) flags |= JSON_REAL_PRECISION(17);
	size_t length = root ? json_dumpb(root, NULL, 0, flags) : 0;
	char *text = length ? malloc(length + 1) : NULL;
	if (text && json_dumpb(root, text, length, flags) != length) {
		free(text);
		text = NULL;
	}
	json_decref(root);
	if (text) text[length] = '\n';
	*size = text ? length + 1 : 0;
	return text;
}

enum cuttle_status jsonout_write(struct sink *sink, json_t *root, size_t flags,
                                 struct cuttle_error *error) {
	size_t size;
	char *text = jsonout_dump(root, flags, &size);
	enum cuttle_status status = text ? sink_write(sink, text, size, error)
	                                 : io_fail(error, CUTTLE_NOMEM, "out of memory");
	free(text);
	return status;
}
