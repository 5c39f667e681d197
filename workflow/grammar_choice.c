// SPDX-License-Identifier: Apache-2.0
// grammar_choice.c: see grammar_choice.h.
#include "workflow/grammar_choice.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_GRAMMAR = 1 << 20 }; /* bytes of a file, at most */

/* Makes the grammar of the choice's schema. */
static enum cuttle_status compile_schema(struct grammar_choice *choice,
                                         struct cuttle_error *error) {
	char *text = schema_grammar(choice->schema);
	if (!text) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status =
	    cuttle_grammar_read(text, strlen(text), &choice->grammar, error);
	free(text);
	return status;
}

enum cuttle_status grammar_choice_read(const char *grammar, const char *schema,
                                       struct grammar_choice *choice, struct cuttle_error *error) {
	const char *path = schema ? schema : grammar;
	struct cuttle_error reason;
	struct hash hash;
	char *text;
	size_t size;
	*choice = (struct grammar_choice){0};
	if (!path) return CUTTLE_OK;
	enum cuttle_status status = file_read(path, MOST_GRAMMAR, &text, &size, error);
	if (status) return status;
	hash_begin(&hash);
	hash_add(&hash, text, size);
	hash_end(&hash, choice->sha256);
	status = schema ? schema_read(text, size, &choice->schema, &reason)
	                : cuttle_grammar_read(text, size, &choice->grammar, &reason);
	if (!status && schema && !schema_is_object(choice->schema))
		status = io_fail(&reason, CUTTLE_INPUT,
		                 "a record must be an object: the schema "
		                 "needs \"type\": \"object\"");
	if (!status && schema) status = compile_schema(choice, &reason);
	free(text);
	return status ? io_fail(error, status, "%s: %s", file_shown(path), reason.message)
	              : CUTTLE_OK;
}

void grammar_choice_free(struct grammar_choice *choice) {
	cuttle_grammar_free(&choice->grammar);
	schema_free(choice->schema);
	*choice = (struct grammar_choice){0};
}
