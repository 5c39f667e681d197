// SPDX-License-Identifier: Apache-2.0
// How tokenlines.h reads: lines through io/records/source.h, each parsed by jansson. One array,
// which grows, serves all lines.
#include "io/text/tokenlines.h"

#include "io/disk/fail.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum cuttle_status tokenlines_open(struct tokenlines *lines, const char *path,
                                   struct cuttle_error *error) {
	*lines = (struct tokenlines){0};
	return source_open(&lines->source, path, error);
}

/* Copies a list of JSON integers to lines->ids, which grows to twice the list. */
static enum cuttle_status copy_ids(struct tokenlines *lines, const json_t *list,
                                   struct cuttle_error *error) {
	size_t count = json_array_size(list);
	if (count >= lines->capacity) {
		int32_t *grown = reallocarray(lines->ids, 2 * (count + 1), sizeof *grown);
		if (!grown)
			return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s",
			               lines->source.path);
		lines->ids = grown;
		lines->capacity = 2 * (count + 1);
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *id = json_array_get(list, i);
		json_int_t number = json_integer_value(id);
		if (!json_is_integer(id) || number < INT32_MIN || number > INT32_MAX)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: line %zu: an id is not a 32-bit integer",
			               lines->source.path, lines->line);
		lines->ids[i] = (int32_t)number;
	}
	return CUTTLE_OK;
}

enum cuttle_status tokenlines_next(struct tokenlines *lines, const int32_t **ids, size_t *count,
                                   struct cuttle_error *error) {
	const char *line;
	size_t size;
	*ids = NULL;
	*count = 0;
	enum cuttle_status status = source_line(&lines->source, &line, &size, error);
	if (status || !line) return status;
	lines->line++;
	json_t *root = json_loadb(line, size, 0, NULL);
	const json_t *list = json_object_get(root, "ids");
	if (json_is_array(list) || json_is_null(list)) status = copy_ids(lines, list, error);
	else
		status = io_fail(error, CUTTLE_INPUT,
		                 "%s: line %zu is not an object with a list \"ids\"",
		                 lines->source.path, lines->line);
	if (!status) {
		*ids = lines->ids;
		*count = json_array_size(list);
	}
	json_decref(root);
	return status;
}

void tokenlines_close(struct tokenlines *lines) {
	source_close(&lines->source);
	free(lines->ids);
	lines->ids = NULL;
}
