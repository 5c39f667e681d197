// SPDX-License-Identifier: Apache-2.0
// grammar_choice.c: see grammar_choice.h.
#include "workflow/grammar_choice.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <stdlib.h>

enum { MOST_GRAMMAR = 1 << 20 }; /* bytes, as cuttle_grammar_read takes */

enum cuttle_status grammar_choice_read(const char *path, struct grammar_choice *choice,
                                       struct cuttle_error *error) {
	*choice = (struct grammar_choice){0};
	if (!path) return CUTTLE_OK;
	struct cuttle_error reason;
	struct hash hash;
	char *text;
	size_t size;
	enum cuttle_status status = file_read(path, MOST_GRAMMAR, &text, &size, error);
	if (status) return status;
	hash_begin(&hash);
	hash_add(&hash, text, size);
	hash_end(&hash, choice->sha256);
	status = cuttle_grammar_read(text, size, &choice->grammar, &reason);
	free(text);
	return status ? io_fail(error, status, "%s: %s", file_shown(path), reason.message)
	              : CUTTLE_OK;
}

void grammar_choice_free(struct grammar_choice *choice) {
	cuttle_grammar_free(&choice->grammar);
	*choice = (struct grammar_choice){0};
}
