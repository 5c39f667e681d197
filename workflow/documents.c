// SPDX-License-Identifier: Apache-2.0
// io/records/source.h gives lines, io/documents/spans.h reads one, the tagger adds spans,
// io/documents/marks.h makes marks of them. All documents stand in a few arenas, since each arena
// has memory pages of its own.
#include "workflow/documents.h"

#include "base/misuse.h"
#include "engine/cuttle/rewrite.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include "io/records/units.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Bytes of an arena. */
struct piece {
	size_t start; /* the first one */
	size_t size;
};

struct document {
	struct piece text;  /* of texts */
	struct piece marks; /* of marks */
	struct piece blank; /* of blanks: the public context */
	struct piece id;    /* of blanks; size 0 = none */
	struct piece owner; /* of blanks; size 0 = none */
	uint32_t groups;    /* those that spans give a mark, as bits */
};

/* What reading needs, line after line. */
struct document_reader {
	const struct documents_request *request;
	struct documents *documents;
	struct source source;
	struct spans spans;
	struct marks marks;
};

static const struct document *document_at(const struct documents *documents, size_t index) {
	REQUIRE(index < documents_count(documents));
	return (const struct document *)(const void *)documents->list.bytes + index;
}

static const char *bytes_of(const struct arena *arena, struct piece piece) {
	return piece.size ? arena->bytes + piece.start : "";
}

/* Appends bytes and says where they stand. */
static bool append_piece(struct arena *arena, const void *bytes, size_t size, struct piece *piece) {
	*piece = (struct piece){arena->used, size};
	return !size || arena_append(arena, bytes, size);
}

/* Appends an id or an owner as JSON. An owner is a string: 7 and "7" are the same one. */
static bool append_word_json(struct arena *arena, const json_t *value, bool owner,
                             struct piece *piece) {
	char digits[32];
	if (!value) return append_piece(arena, NULL, 0, piece);
	if (owner && json_is_integer(value)) {
		const int size = snprintf(digits, sizeof digits, "\"%" JSON_INTEGER_FORMAT "\"",
		                          json_integer_value(value));
		return append_piece(arena, digits, (size_t)size, piece);
	}
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	const bool good = text && append_piece(arena, text, strlen(text), piece);
	if (text) secrecy_free(text);
	return good;
}

/* Puts the line's number before a message that lacks it; a failure of the input it is in any case.
 */
static enum cuttle_status place_failure(const struct document_reader *reader, size_t number,
                                        enum cuttle_status status, struct cuttle_error *error) {
	if (!status || status == CUTTLE_NOMEM || !error) return status;
	const struct cuttle_error rule = *error;
	return io_fail(error, CUTTLE_INPUT, "%s: line %zu: %s", reader->source.path, number,
	               rule.message);
}

/* Keeps the document that was read, and its public context, which must fit. */
static enum cuttle_status keep_document(struct document_reader *reader, size_t number,
                                        struct cuttle_error *error) {
	const struct documents_request *request = reader->request;
	struct documents *documents = reader->documents;
	struct document document = {.groups = marks_groups(&reader->marks),
	                            .blank.start = documents->blanks.used};
	enum cuttle_status status =
	    marks_write(&reader->marks, &reader->spans, &documents->types, MARKS_BLANK,
	                request->placeholder, &documents->blanks, error);
	if (status) return status;
	document.blank.size = documents->blanks.used - document.blank.start;
	status =
	    cuttle_rewriter_fits(request->rewriter, bytes_of(&documents->blanks, document.blank),
	                         document.blank.size, error);
	if (status) return place_failure(reader, number, status, error);
	const bool kept =
	    append_piece(&documents->texts, reader->spans.text.bytes, reader->spans.text.used,
	                 &document.text) &&
	    append_piece(&documents->marks, reader->marks.list.bytes, reader->marks.list.used,
	                 &document.marks) &&
	    append_word_json(&documents->blanks, reader->spans.id, false, &document.id) &&
	    append_word_json(&documents->blanks, reader->spans.owner, true, &document.owner) &&
	    arena_append(&documents->list, &document, sizeof document);
	return kept ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory for the documents");
}

static enum cuttle_status read_document(struct document_reader *reader, const char *line,
                                        size_t size, struct cuttle_error *error) {
	const struct documents_request *request = reader->request;
	struct documents *documents = reader->documents;
	const size_t number = documents_count(documents) + 1;
	struct spans_request spans = request->spans;
	spans.path = reader->source.path;
	enum cuttle_status status =
	    spans_read(&spans, line, size, number, &documents->types, &reader->spans, error);
	if (!status && request->tagger.tag)
		status = request->tagger.tag(request->tagger.user, &spans, number,
		                             &documents->types, &reader->spans, error);
	if (status) return status;
	status = marks_make(&reader->spans, &documents->types, request->groups, request->sweep,
	                    &reader->marks, error);
	return status ? place_failure(reader, number, status, error)
	              : keep_document(reader, number, error);
}

static enum cuttle_status read_documents(struct document_reader *reader,
                                         struct cuttle_error *error) {
	for (;;) {
		const char *line;
		size_t size;
		enum cuttle_status status = source_line(&reader->source, &line, &size, error);
		if (status) return status;
		if (!line) break;
		// A line that is too long is given as an empty one; its length makes it be refused.
		if (reader->source.cut) size = (size_t)SOURCE_LINE + 1;
		if ((status = read_document(reader, line, size, error))) return status;
	}
	return documents_count(reader->documents)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s: there is no document in it",
	                     reader->source.path);
}

enum cuttle_status documents_read(const struct documents_request *request,
                                  struct documents *documents, struct cuttle_error *error) {
	struct document_reader reader = {.request = request, .documents = documents};
	memset(documents, 0, sizeof *documents);
	documents->placeholder = request->placeholder;
	documents->owned = request->spans.owner_field != NULL;
	documents->swept = request->sweep;
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	if (!status) status = source_open(&reader.source, request->spans.path, error);
	if (!status) {
		status = read_documents(&reader, error);
		source_close(&reader.source);
	}
	if (request->tagger.end) status = request->tagger.end(request->tagger.user, status, error);
	spans_free(&reader.spans);
	marks_free(&reader.marks);
	if (!status && request->lock && documents->texts.used)
		(void)mlock(documents->texts.bytes, documents->texts.used);
	return status;
}

void documents_free(struct documents *documents) {
	arena_free(&documents->list);
	arena_free(&documents->texts);
	arena_free(&documents->marks);
	arena_free(&documents->blanks);
	arena_free(&documents->shown);
}

size_t documents_count(const struct documents *documents) {
	return documents->list.used / sizeof(struct document);
}

uint32_t documents_groups(const struct documents *documents, size_t index) {
	return document_at(documents, index)->groups;
}

const char *documents_id(const struct documents *documents, size_t index, size_t *size) {
	const struct piece id = document_at(documents, index)->id;
	*size = id.size;
	return id.size ? bytes_of(&documents->blanks, id) : NULL;
}

void documents_context(struct documents *documents, size_t index, uint32_t group, const char **text,
                       size_t *size) {
	const struct document *document = document_at(documents, index);
	if (group == CUTTLE_NO_GROUP) {
		*text = bytes_of(&documents->blanks, document->blank);
		*size = document->blank.size;
		return;
	}
	// Views of one document in the arenas of all.
	const struct spans spans = {.text = {.bytes = documents->texts.bytes + document->text.start,
	                                     .used = document->text.size}};
	const struct marks marks = {
	    .list = {.bytes = documents->marks.bytes + document->marks.start,
	             .used = document->marks.size}};
	const uint32_t shown = group == CUTTLE_EVERY_GROUP ? UINT32_MAX : UINT32_C(1) << group;
	documents->shown.used = 0;
	*text = NULL;
	*size = 0;
	// Whatever is wrong with a private context makes it blank, without a word.
	if (marks_write(&marks, &spans, &documents->types, shown, documents->placeholder,
	                &documents->shown, NULL))
		return;
	*text = documents->shown.used ? documents->shown.bytes : "";
	*size = documents->shown.used;
}

void documents_digest(void *user, const unsigned char *key, char *digest) {
	const struct documents *documents = user;
	struct binding_digest state;
	binding_digest_begin(&state, key);
	for (size_t i = 0; i < documents->types.count; i++)
		binding_digest_add(&state, documents->types.names[i],
		                   strlen(documents->types.names[i]));
	binding_digest_add(&state, NULL, 0);
	for (size_t i = 0; i < documents_count(documents); i++) {
		const struct document *document = document_at(documents, i);
		const struct piece pieces[] = {document->id, document->owner};
		binding_digest_add(&state, bytes_of(&documents->texts, document->text),
		                   document->text.size);
		binding_digest_add(&state, bytes_of(&documents->marks, document->marks),
		                   document->marks.size);
		for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
			binding_digest_add(&state, bytes_of(&documents->blanks, pieces[j]),
			                   pieces[j].size);
		// Without a sweep they follow from the marks.
		if (documents->swept)
			binding_digest_add(&state, &document->groups, sizeof document->groups);
	}
	binding_digest_end(&state, digest);
}

/* The owner of a document. */
static bool give_document_owner(void *user, uint64_t index, const char **value, size_t *size) {
	const struct documents *documents = user;
	const struct piece owner = document_at(documents, (size_t)index)->owner;
	*value = bytes_of(&documents->blanks, owner);
	*size = owner.size;
	return owner.size > 0;
}

enum cuttle_status documents_most(const struct documents *documents, double loss, double *most,
                                  struct cuttle_error *error) {
	const size_t count = documents_count(documents);
	struct charges charges = {0};
	*most = loss;
	if (!documents->owned || !(loss > 0)) return CUTTLE_OK;
	struct unit_record *units = calloc(count + 1, sizeof *units);
	for (size_t i = 0; units && i < count; i++) {
		const char *owner;
		size_t size;
		(void)give_document_owner((void *)(uintptr_t)documents, i, &owner, &size);
		(void)crypto_generichash(units[i].unit, UNIT_NAME, (const unsigned char *)owner,
		                         size, NULL, 0);
		units[i].batch = i;
	}
	const bool made = units && charges_of_records(units, count, loss, false, &charges);
	if (made) *most = charges_most(&charges);
	charges_free(&charges);
	free(units);
	return made ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

struct ledger_request documents_charge(const struct documents *documents, const char *command,
                                       double loss, unsigned order) {
	return (struct ledger_request){.command = command,
	                               .rho = loss,
	                               .measure = LEDGER_RDP,
	                               .order = order,
	                               .count = documents_count(documents),
	                               .batch = 1,
	                               .user =
	                                   (void *)(uintptr_t)documents, // the callback only reads
	                               .unit = documents->owned ? give_document_owner : NULL};
}
