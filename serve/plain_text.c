// SPDX-License-Identifier: Apache-2.0
// plain_text.c: see plain_text.h.
#include "serve/plain_text.h"

#include <stdlib.h>
#include <string.h>

/* Cuts the text at the first stop string that begins at byte `from` or later. */
static void cut_at_stop(struct plain_text *text, size_t from) {
	size_t end = text->size;
	for (size_t i = 0; i < text->stop_count; i++) {
		const size_t stop = strlen(text->stops[i]),
		             begin = from >= stop ? from - stop + 1 : 0;
		const char *found =
		    memmem(text->bytes + begin, text->size - begin, text->stops[i], stop);
		if (found && (size_t)(found - text->bytes) < end) {
			end = (size_t)(found - text->bytes);
			text->stopped = true;
		}
	}
	text->size = end;
}

bool plain_text_add(struct plain_text *text, const char *bytes, size_t size) {
	const size_t before = text->size;
	if (text->stopped || !size) return true;
	if (text->size + size > text->capacity) {
		const size_t wanted = 2 * (text->size + size);
		char *const grown = realloc(text->bytes, wanted);
		if (!grown) return false;
		text->bytes = grown;
		text->capacity = wanted;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	cut_at_stop(text, before);
	return true;
}

/* Bytes at the end that may become a stop string. */
static size_t count_beginning(const struct plain_text *text) {
	size_t most = 0;
	for (size_t i = 0; i < text->stop_count; i++) {
		size_t size = strlen(text->stops[i]) - 1;
		if (size > text->size) size = text->size;
		while (size > most &&
		       memcmp(text->bytes + text->size - size, text->stops[i], size) != 0)
			size--;
		if (size > most) most = size;
	}
	return most;
}

/* Bytes at the end of bytes[size] that begin a character of UTF-8 and do not end it. */
static size_t count_unfinished(const char *bytes, size_t size) {
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		const unsigned char byte = (unsigned char)bytes[size - back];
		if ((byte & 0xc0) == 0x80) continue;
		const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return length > back ? back : 0;
	}
	return 0;
}

void plain_text_end(struct plain_text *text) {
	// In front of a stop string it is no cut character, but a broken one, which is told as
	// such.
	if (text->size && !text->stopped) text->size -= count_unfinished(text->bytes, text->size);
}

size_t plain_text_ready(const struct plain_text *text, bool last) {
	if (text->stopped) return text->size - text->told;
	size_t end = text->size - (last ? 0 : count_beginning(text));
	if (end > text->told) end -= count_unfinished(text->bytes + text->told, end - text->told);
	return end > text->told ? end - text->told : 0;
}

void plain_text_free(struct plain_text *text) {
	free(text->bytes);
	*text = (struct plain_text){0};
}
