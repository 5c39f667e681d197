// SPDX-License-Identifier: Apache-2.0
// Which schema a $ref names (io/schema/reading.h): a JSON pointer into the same file. No private
// data.
// Example: "#/$defs/a~1b" is the member "a/b" of the member "$defs".
#include "io/schema/reading.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LONGEST = 1000 };

/* Goes one step of a JSON pointer, /NAME or /NUMBER, from a value, and sets *key to the name. NULL:
 * there is nothing. */
static json_t *follow_step(json_t *from, const char **pointer, const char **key) {
	char plain[NAME_LONGEST + 1];
	size_t used = 0;
	const char *at = *pointer + 1;
	for (; *at && *at != '/' && used < NAME_LONGEST; at++) {
		char byte = *at;
		if (byte == '%') return NULL;
		if (byte == '~' && (at[1] == '0' || at[1] == '1')) byte = *++at == '0' ? '~' : '/';
		plain[used++] = byte;
	}
	plain[used] = 0;
	*pointer = at;
	*key = NULL;
	if (json_is_array(from)) {
		char *end;
		const unsigned long number = strtoul(plain, &end, 10);
		const bool is_number = *plain >= '0' && *plain <= '9' && !*end;
		return is_number ? json_array_get(from, number) : NULL;
	}
	for (void *i = json_object_iter(from); i; i = json_object_iter_next(from, i))
		if (!strcmp(json_object_iter_key(i), plain)) {
			*key = json_object_iter_key(i);
			return json_object_iter_value(i);
		}
	return NULL;
}

bool reading_target(struct reading_schema *in, uint32_t at, const json_t *reference,
                    const json_t **target, struct shape_place *place) {
	const char *const pointer = json_string_value(reference), *key = NULL, *rest;
	json_t *found = in->to->json;
	*place = (struct shape_place){NO_SHAPE, NULL, NULL, -1};
	if (!pointer) return reading_refuse(in, at, "$ref", "it is no string");
	rest = pointer + 1;
	if (*pointer != '#' || (*rest && *rest != '/')) found = NULL;
	while (found && *rest == '/') found = follow_step(found, &rest, &key);
	if (!found || *rest)
		return reading_refuse(in, at, "$ref",
		                      "cuttle reads #, #/$defs/NAME and the like alone, where the "
		                      "file has that place");
	if (rest > pointer + 1) place->step = pointer + 2;
	// The rule of a definition has its name.
	if (key && !strncmp(pointer, "#/$defs/", 8) && !strchr(pointer + 8, '/'))
		*place = (struct shape_place){NO_SHAPE, "$defs", key, -1};
	if (key && !strncmp(pointer, "#/definitions/", 14) && !strchr(pointer + 14, '/'))
		*place = (struct shape_place){NO_SHAPE, "definitions", key, -1};
	*target = found;
	return true;
}
