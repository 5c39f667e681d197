// SPDX-License-Identifier: Apache-2.0
// stops.c: compares backwards from each new byte, for a stop that is new ends in one of them. So
// the white space that may stand within it needs no bound. See cuttle/stop.h for the rules.
#include "engine/run/plan/stops.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

/* How the plain form begins its next text (prompt.c). */
#define MARK "\n###"

enum cuttle_status stops_copy(const struct cuttle_stops *given, bool marked, struct stops *stops,
                              struct cuttle_error *error) {
	static const char *const mark[] = {MARK};
	const struct cuttle_stops own = {.strings = mark, .count = marked},
	                          *from = given->given ? given : &own;
	*stops = (struct stops){.loose = given->given};
	REQUIRE(from->strings || !from->count);
	if (from->count > CUTTLE_STOPS)
		return status_fail(error, CUTTLE_USAGE, "there are more than %d stops",
		                   CUTTLE_STOPS);
	for (size_t i = 0; i < from->count; i++) {
		const size_t size = strlen(from->strings[i]);
		if (!size || size > CUTTLE_STOP_BYTES || !utf8_valid(from->strings[i], size))
			return status_fail(error, CUTTLE_USAGE,
			                   "a stop must be UTF-8 of 1 to %d bytes",
			                   CUTTLE_STOP_BYTES);
	}
	stops->all = calloc(from->count + 1, sizeof *stops->all);
	for (size_t i = 0; stops->all && i < from->count; i++)
		if ((stops->all[i] = strdup(from->strings[i]))) stops->count++;
	if (stops->all && stops->count == from->count) return CUTTLE_OK;
	stops_free(stops);
	return status_fail(error, CUTTLE_NOMEM, "out of memory");
}

void stops_free(struct stops *stops) {
	for (size_t i = 0; stops->all && stops->all[i]; i++) free(stops->all[i]);
	free(stops->all);
	*stops = (struct stops){0};
}

static bool is_inner_space(char byte) {
	return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool is_blank_text(const char *text, size_t size) {
	utf8_trim(&text, &size);
	return !size;
}

/* Where the stop begins that ends at text[end]; STOPS_NONE = it does not stand there. */
static size_t find_begin(const char *text, size_t end, const char *stop, bool loose) {
	const size_t size = strlen(stop);
	for (size_t left = size; left; left--) {
		if (loose && left < size && stop[left - 1] == '\n')
			while (end && is_inner_space(text[end - 1])) end--;
		if (!end || text[end - 1] != stop[left - 1]) return STOPS_NONE;
		end--;
	}
	return end;
}

size_t stops_find(const struct stops *stops, const char *text, size_t size, size_t before) {
	size_t first = STOPS_NONE;
	for (size_t i = 0; i < stops->count; i++) {
		const char *stop = stops->all[i];
		const bool blank = is_blank_text(stop, strlen(stop));
		for (size_t end = before + 1; end <= size; end++) {
			const size_t begin = find_begin(text, end, stop, stops->loose);
			if (begin < first && !(blank && is_blank_text(text, begin))) first = begin;
		}
	}
	return first;
}

/* Whether a text has the string, once its ends are trimmed. */
static bool has_stop(const char *text, char *stop) {
	const struct stops one = {.all = &stop, .count = 1, .loose = true};
	size_t size = strlen(text);
	utf8_trim(&text, &size);
	return stops_find(&one, text, size, 0) != STOPS_NONE;
}

size_t cuttle_stops_auto(const char *const *texts, size_t count, bool marked,
                         const char *stops[CUTTLE_STOPS_AUTO]) {
	static char line[] = "\n", blank_line[] = "\n\n";
	REQUIRE(stops && (texts || !count));
	bool lines = !count, blank_lines = !count;
	for (size_t i = 0; i < count; i++) {
		lines |= has_stop(texts[i], line);
		blank_lines |= has_stop(texts[i], blank_line);
	}
	size_t found = 0;
	if (!lines) stops[found++] = line;
	else if (!blank_lines) stops[found++] = blank_line;
	if (marked) stops[found++] = MARK;
	return found;
}
