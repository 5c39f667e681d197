// SPDX-License-Identifier: Apache-2.0
// Prints what a schema becomes, for tests/oracle/schema.py. Each line of the standard input is a
// JSON list: a schema, and values. Each line of the output is a list, too: the refusal as a string,
// or the grammar and, for each value, its canonical form as a string, or null.
// usage: gen_schema
#include "io/schema/record.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *canonical(const struct schema *schema, const json_t *value) {
	struct arena out = {0};
	bool fits;
	if (schema_record(schema, value, &out, &fits)) exit(1);
	if (fits != (schema_misfit(schema, value) == SIZE_MAX)) exit(3);
	json_t *text = fits ? json_stringn(out.bytes, out.used) : json_null();
	arena_free(&out);
	return text;
}

int main(void) {
	char *line = NULL;
	size_t room = 0;
	for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
		json_t *list = json_loadb(line, (size_t)size, JSON_ALLOW_NUL, NULL);
		char *text = json_dumps(json_array_get(list, 0), JSON_ENCODE_ANY);
		struct schema *schema;
		struct cuttle_error error;
		json_t *answer;
		if (!list || !text) return 2;
		if (schema_read(text, strlen(text), &schema, &error)) {
			answer = json_string(error.message);
		} else {
			char *grammar = schema_grammar(schema);
			answer = json_array();
			json_array_append_new(answer, json_string(grammar));
			for (size_t i = 1; i < json_array_size(list); i++)
				json_array_append_new(answer,
				                      canonical(schema, json_array_get(list, i)));
			free(grammar);
		}
		json_dumpf(answer, stdout, JSON_ENCODE_ANY);
		putchar('\n');
		fflush(stdout);
		json_decref(answer);
		json_decref(list);
		schema_free(schema);
		free(text);
	}
	free(line);
	return 0;
}
