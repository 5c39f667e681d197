// SPDX-License-Identifier: Apache-2.0
// plain_shape.h: which texts a request wants: its grammar or schema, read and compiled.
//
// No protection: foreign grammars of plain requests. A refusal names a place in the grammar, and
// may quote a word of it, never a prompt. How: the HTTP thread takes the text out of the request
// (plain_shape_read). Another thread compiles it (plain_shapes_take), since that may take a second.
// The newest few are kept, by their hash: most clients send the same schema again and again. No
// more than PLAIN_SHAPES are compiled at a time, so that memory is bounded. Whoever needs one more
// waits.
#ifndef CUTTLE_SERVE_PLAIN_SHAPE_H
#define CUTTLE_SERVE_PLAIN_SHAPE_H

#include "engine/cuttle.h"
#include "serve/http/http.h"

enum {
	PLAIN_SHAPES = 8,           /* that are kept, or in use */
	PLAIN_SHAPE_BYTES = 1 << 20 /* of a grammar, at most; a schema has a bound of its own */
};

struct plain_shape {
	bool schema; /* it is a JSON Schema, else GBNF */
	char *text;  /* [size] owned; NULL = any text */
	size_t size;
	const char *param; /* the request's member */
	const char *where; /* the same, to the schema: "response_format.json_schema.schema" */
};

/* Reads response_format, grammar and json_schema of a request; `body` must have names that it may
 * have. False: the reply is filled. plain_shape_free is due in any case. */
bool plain_shape_read(const json_t *body, struct plain_shape *shape, struct http_reply *reply);
void plain_shape_free(struct plain_shape *shape);

struct plain_shapes;
struct plain_follow; /* a compiled one, in use */

/* The slots must outlive it. NULL: out of memory. */
struct plain_shapes *plain_shapes_new(struct cuttle_slots *slots);
/* None is in use any more. NULL is fine. */
void plain_shapes_free(struct plain_shapes *shapes);

/* One that is held, for one use: nothing is compiled, and nobody waits. Any thread. NULL: it is not
 * there, or was lost, or somebody waits for a place, who comes first: take it. */
struct plain_follow *plain_shapes_held(struct plain_shapes *shapes,
                                       const struct plain_shape *shape);
/* Compiles it, if it is not there yet, and waits where too many are in use. One thread. INPUT,
 * MODEL: it is refused, as cuttle_grammar_read, schema_read and cuttle_slots_grammar_make have it.
 * PARTIAL: plain_shapes_stop. NOMEM. */
enum cuttle_status plain_shapes_take(struct plain_shapes *shapes, const struct plain_shape *shape,
                                     struct plain_follow **follow, struct cuttle_error *error);
/* Nobody waits any more. Any thread. */
void plain_shapes_stop(struct plain_shapes *shapes);

struct cuttle_slots_grammar *plain_follow_grammar(const struct plain_follow *follow);
/* It is followed no more, and the next requests of it are refused with PLAIN_LOST. Any thread. */
void plain_follow_lost(struct plain_follow *follow);
/* Ends one use. Any thread; no slot may have it. NULL is fine. */
void plain_follow_end(struct plain_follow *follow);

/* Why a grammar is given up. */
extern const char PLAIN_LOST[];

#endif
