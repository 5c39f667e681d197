// SPDX-License-Identifier: Apache-2.0
// How literal.h chooses: sorted, texts with the same beginning stand together. Each beginning that
// several of them go on from is a rule.
#include "io/schema/literal.h"

#include <stdlib.h>
#include <string.h>

void literal_write(FILE *out, const char *text, size_t size) {
	fputc('"', out);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"' || text[i] == '\\') fputc('\\', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}

static int by_text(const void *a, const void *b) {
	const struct literal *left = a, *right = b;
	const size_t size = left->size < right->size ? left->size : right->size;
	const int order = memcmp(left->text, right->text, size);
	return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* How many bytes both begin with, as they do with `from`; no character is cut. */
static size_t same_bytes(const struct literal *a, const struct literal *b, size_t from) {
	size_t same = from;
	while (same < a->size && same < b->size && a->text[same] == b->text[same]) same++;
	while (same < a->size && same > from && ((unsigned char)a->text[same] & 0xc0) == 0x80)
		same--;
	return same;
}

/* Texts that begin with the same bytes. */
struct beginning {
	size_t first; /* of the list */
	size_t last;  /* behind it */
	size_t size;  /* bytes */
};

/* The alternatives of a beginning. A new one for each with several texts. */
static size_t write_beginning(FILE *out, const char *name, const struct literal *list,
                              struct beginning *waiting, size_t at, size_t count) {
	const struct beginning here = waiting[at];
	for (size_t i = here.first, next; i < here.last; i = next) {
		const size_t left = list[i].size - here.size;
		size_t same = left;
		for (next = i + 1; next < here.last; next++) {
			const size_t both = same_bytes(&list[i], &list[next], here.size);
			if (both <= here.size) break;
			same = both - here.size;
		}
		if (i > here.first) fputs(" | ", out);
		// One that is a whole beginning of others comes first, and shares nothing more.
		literal_write(out, list[i].text + here.size, same);
		if (next == i + 1) continue;
		waiting[count] = (struct beginning){i, next, here.size + same};
		fprintf(out, " %s-c%zu", name, count++);
	}
	fputc('\n', out);
	return count;
}

bool literal_choose(FILE *out, const char *name, struct literal *list, size_t count) {
	struct beginning *waiting = calloc(count + 1, sizeof *waiting);
	size_t kept = 0, all = 1;
	if (!waiting) return false;
	qsort(list, count, sizeof *list, by_text);
	for (size_t i = 0; i < count; i++)
		if (!kept || by_text(&list[kept - 1], &list[i]) != 0) list[kept++] = list[i];
	waiting[0] = (struct beginning){0, kept, 0};
	for (size_t i = 0; i < all; i++) {
		if (i) fprintf(out, "%s-c%zu ::= ", name, i);
		all = write_beginning(out, name, list, waiting, i, all);
	}
	free(waiting);
	return true;
}
