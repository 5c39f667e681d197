// SPDX-License-Identifier: Apache-2.0
// documents.h: the documents of a rewriting: texts with marks, and the contexts that they make.
//
// All of them are read before anything is charged or drawn, and the engine gets their contexts.
// Texts are PRIVATE, but for the strings between marks. They are wiped by documents_free. A wrong
// line ends the run with its number and the rule that it breaks, never with a word of it. Which
// groups have a mark, and each public context, is public.
#ifndef CUTTLE_WORKFLOW_DOCUMENTS_H
#define CUTTLE_WORKFLOW_DOCUMENTS_H

#include "io/ledger/ledger.h"
#include "io/documents/marks.h"

/* Who finds spans beside those that documents have. */
struct documents_tagger {
	void *user; /* first argument of both; NULL functions: nobody */
	/* Puts spans behind those that *spans has, for document `number`, from 1. */
	enum cuttle_status (*tag)(void *user, const struct spans_request *request, size_t number,
	                          struct span_types *types, struct spans *spans,
	                          struct cuttle_error *error);
	/* Ends it, after the last document or a failure. Returns `status` or a failure of its own.
	 */
	enum cuttle_status (*end)(void *user, enum cuttle_status status,
	                          struct cuttle_error *error);
};

struct documents_request {
	struct spans_request spans; /* how a line is read; its path is that of the input */
	const struct groups *groups;
	const char *placeholder;
	struct documents_tagger tagger;
	const struct cuttle_rewriter *rewriter; /* its public contexts must fit */
	bool sweep;                             /* look for contents elsewhere, too */
	bool lock;                              /* keep the texts out of swap */
};

struct documents {
	const char *placeholder; /* the request's */
	struct span_types types; /* of all documents */
	struct arena list;       /* struct document, in the order of the lines; see documents.c */
	struct arena texts;      /* bytes of all texts */
	struct arena marks;      /* struct mark of all texts */
	struct arena blanks;     /* bytes of all public contexts; then ids and owners as JSON */
	struct arena shown;      /* the private context that was written last */
	bool owned;              /* documents have owners */
	bool swept;              /* contents were looked for elsewhere, too */
};

/* Reads the input. Call documents_free in any case. INPUT: it cannot be read, has no document, a
 * line or span is wrong, the tagger failed, or a public context does not fit. NOMEM. */
enum cuttle_status documents_read(const struct documents_request *request,
                                  struct documents *documents, struct cuttle_error *error);
void documents_free(struct documents *documents);

size_t documents_count(const struct documents *documents);
/* The groups that spans give a mark in the document, as bits. A sweep changes none. */
uint32_t documents_groups(const struct documents *documents, size_t index);
/* The id as JSON, or NULL. */
const char *documents_id(const struct documents *documents, size_t index, size_t *size);
/* The document with the contents of one group, as the context of struct cuttle_rewrite_job wants
 * it: CUTTLE_NO_GROUP shows none, CUTTLE_EVERY_GROUP all. Valid until the next call. */
void documents_context(struct documents *documents, size_t index, uint32_t group, const char **text,
                       size_t *size);

/* Digests all that was read under the key: of each document text, marks, id and owner. It is the
 * `digest` of struct output_request; user is the struct documents. */
void documents_digest(void *user, const unsigned char *key, char *digest);

/* The most that one owner is charged at `loss` for each document; without owners that is `loss`. It
 * is the sum that a ledger makes. NOMEM. */
enum cuttle_status documents_most(const struct documents *documents, double loss, double *most,
                                  struct cuttle_error *error);
/* What is charged for the documents: `loss` for each of them, at this order. */
struct ledger_request documents_charge(const struct documents *documents, const char *command,
                                       double loss, unsigned order);

#endif
