// SPDX-License-Identifier: Apache-2.0
// See stop_choice.h.
#include "workflow/stop_choice.h"

#include "base/utf8.h"
#include "io/disk/fail.h"

#include <stdlib.h>
#include <string.h>

/* Reads a word with its backslashes into `string`, which has room for it. False: one stands before
 * another letter. */
static bool read_escapes(const char *word, char *string) {
	for (; *word; word++) {
		if (*word != '\\') {
			*string++ = *word;
			continue;
		}
		word++;
		if (*word != 'n' && *word != 't' && *word != '\\') return false;
		*string++ = (char)(*word == 'n' ? '\n' : *word == 't' ? '\t' : '\\');
	}
	*string = 0;
	return true;
}

static enum cuttle_status add_stop_string(const char *word, struct stop_choice *choice,
                                          struct cuttle_error *error) {
	const size_t size = strlen(word);
	if (!size || size > CUTTLE_STOP_BYTES || !utf8_valid(word, size))
		return io_fail(error, CUTTLE_USAGE,
		               "--stop: a string must be UTF-8 of 1 to %d bytes",
		               CUTTLE_STOP_BYTES);
	char *string = malloc(size + 1);
	if (!string) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	choice->owned[choice->owned_count++] = string;
	if (!read_escapes(word, string))
		return io_fail(error, CUTTLE_USAGE,
		               "--stop: behind a backslash only n, t or another one can stand");
	choice->all[choice->stops.count++] = string;
	return CUTTLE_OK;
}

enum cuttle_status stop_choice_make(const char *const *words, size_t word_count,
                                    const char *const *texts, size_t count, bool marked,
                                    struct stop_choice *choice, struct cuttle_error *error) {
	bool autos = !word_count;
	enum cuttle_status status = CUTTLE_OK;
	*choice = (struct stop_choice){.stops = {.strings = choice->all, .given = true}};
	for (size_t i = 0; i < word_count && !status; i++) {
		if (!strcmp(words[i], "auto")) autos = true;
		else if (strcmp(words[i], "none") != 0)
			status = add_stop_string(words[i], choice, error);
		else if (word_count > 1)
			status =
			    io_fail(error, CUTTLE_USAGE, "--stop none goes with no other --stop");
	}
	if (!status && autos)
		choice->stops.count +=
		    cuttle_stops_auto(texts, count, marked, choice->all + choice->stops.count);
	return status;
}

void stop_choice_forget(struct stop_choice *choice) {
	choice->stops.count = 0;
	choice->stops.given = false;
}

void stop_choice_free(struct stop_choice *choice) {
	for (size_t i = 0; i < choice->owned_count; i++) free(choice->owned[i]);
	*choice = (struct stop_choice){0};
}
