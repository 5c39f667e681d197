// SPDX-License-Identifier: Apache-2.0
// marked.c: see marked.h. Lines, spans and marks are read as cuttle sanitize reads them.
#include "bench/marked.h"

#include "io/records/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void marked_stop(const char *what) {
	(void)fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

void marked_skip_without(const char *path) {
	if (access(path, R_OK) == 0) return;
	printf("SKIPPED: %s is not there, so nothing was measured\n", path);
	exit(0);
}

/* Bytes of the first `characters` code points of text[size]. */
static size_t count_leading_bytes(const char *text, size_t size, size_t characters) {
	size_t end = 0;
	for (; end < size; end++) {
		const bool begins = ((unsigned char)text[end] & 0xC0) != 0x80;
		if (begins && characters-- == 0) break;
	}
	return end;
}

/* Keeps the first `characters` of a text, and the spans within them. */
static void cut_document(struct spans *spans, size_t characters) {
	struct text_span *list = (struct text_span *)(void *)spans->list.bytes;
	const size_t count = spans_count(spans);
	size_t end = count_leading_bytes(spans->text.bytes, spans->text.used, characters), kept = 0;
	for (bool moved = true; moved;) {
		moved = false;
		for (size_t i = 0; i < count; i++)
			if (list[i].start < end && list[i].end > end) {
				end = list[i].start;
				moved = true;
			}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].end <= end) list[kept++] = list[i];
	spans->text.used = end;
	spans->list.used = kept * sizeof *list;
}

void marked_read(const char *path, size_t count, size_t characters, struct marked *marked) {
	const struct spans_request request = {.path = path,
	                                      .text_field = "text",
	                                      .id_field = "id",
	                                      .spans_field = "spans",
	                                      .format = SPANS_AUTO,
	                                      .offsets = SPANS_CODEPOINTS};
	struct cuttle_error error;
	struct source source;
	*marked = (struct marked){.documents = calloc(count, sizeof *marked->documents)};
	if (!marked->documents) marked_stop("out of memory");
	if (source_open(&source, path, &error)) marked_stop(error.message);
	for (; marked->count < count; marked->count++) {
		struct spans *spans = &marked->documents[marked->count].spans;
		const char *line;
		size_t size;
		if (source_line(&source, &line, &size, &error)) marked_stop(error.message);
		if (!line) marked_stop("the file has too few documents");
		if (spans_read(&request, line, size, marked->count + 1, &marked->types, spans,
		               &error))
			marked_stop(error.message);
		cut_document(spans, characters);
	}
	source_close(&source);
	for (size_t type = 0; type < marked->types.count; type++)
		if (groups_add(&marked->groups, marked->types.names[type], &error))
			marked_stop(error.message);
	for (size_t i = 0; i < count; i++) {
		struct marked_document *d = &marked->documents[i];
		if (marks_make(&d->spans, &marked->types, &marked->groups, true, &d->marks, &error))
			marked_stop(error.message);
		d->groups = marks_groups(&d->marks);
	}
}

void marked_free(struct marked *marked) {
	for (size_t i = 0; i < marked->count; i++) {
		spans_free(&marked->documents[i].spans);
		marks_free(&marked->documents[i].marks);
	}
	free(marked->documents);
	*marked = (struct marked){0};
}

void marked_write(const struct marked *marked, size_t document, uint32_t shown,
                  const char *placeholder, struct arena *out) {
	const struct marked_document *d = &marked->documents[document];
	struct cuttle_error error;
	out->used = 0;
	if (marks_write(&d->marks, &d->spans, &marked->types, shown, placeholder, out, &error))
		marked_stop(error.message);
}
