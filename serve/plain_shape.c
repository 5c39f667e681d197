// SPDX-License-Identifier: Apache-2.0
// plain_shape.c: see plain_shape.h.
#include "serve/plain_shape.h"

#include "io/disk/fail.h"
#include "io/disk/hash.h"
#include "io/schema/schema.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char PLAIN_LOST[] = "the grammar can be understood in so many ways that this server does not "
                          "follow it: write it with fewer";

/* What OpenAI's json_object asks for: any object. White space is as our schemas have it. */
static const char ANY_OBJECT[] =
    "root ::= object\n"
    "object ::= \"{\" (member (\", \" member)*)? \"}\"\n"
    "member ::= string \": \" value\n"
    "value ::= string | number | object | array | \"true\" | \"false\" | \"null\"\n"
    "array ::= \"[\" (value (\", \" value)*)? \"]\"\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" "
    "[0-9a-f]{4}))* \"\\\"\"\n"
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,14}) (\".\" [0-9]{1,15})?\n";

/* ---- from the request ------------------------------------------------------------------------ */

static bool refuse_shape(struct http_reply *reply, const char *param, const char *must) {
	http_fail(reply, 400, "invalid_request_error", "invalid_value", param, "%s %s", param,
	          must);
	return false;
}

static bool keep_shape_text(struct plain_shape *shape, char *text, size_t size, bool schema,
                            const char *where, struct http_reply *reply) {
	shape->text = text;
	shape->size = size;
	shape->schema = schema;
	shape->where = where;
	if (!text) {
		http_json(reply, 500, NULL);
		return false;
	}
	return size <= PLAIN_SHAPE_BYTES ||
	       refuse_shape(reply, shape->param, "may have a grammar or schema of 1 MiB at most");
}

static bool keep_schema(struct plain_shape *shape, const json_t *schema, const char *where,
                        struct http_reply *reply) {
	if (!json_is_object(schema) && !json_is_boolean(schema))
		return refuse_shape(reply, shape->param, "must have a schema, which is an object");
	char *text = json_dumps(schema, JSON_COMPACT | JSON_ENCODE_ANY);
	return keep_shape_text(shape, text, text ? strlen(text) : 0, true, where, reply);
}

static bool keep_grammar(struct plain_shape *shape, const char *gbnf, size_t size,
                         struct http_reply *reply) {
	char *text = malloc(size + 1);
	if (text) memcpy(text, gbnf, size);
	return keep_shape_text(shape, text, size, false, shape->param, reply);
}

/* OpenAI's {"type":"json_schema","json_schema":{"schema":{...}}}, and llama.cpp's
 * {"type":"json_object","schema":{...}}. */
static bool read_format(struct plain_shape *shape, const json_t *format, struct http_reply *reply) {
	static const char *const names[] = {"name", "description", "strict", "schema"};
	const char *type = json_string_value(json_object_get(format, "type")), *name;
	const json_t *given = json_object_get(format, "json_schema"),
	             *own = json_object_get(format, "schema");
	json_t *value;
	if (type && !strcmp(type, "text") && json_object_size(format) == 1) return true;
	if (type && !strcmp(type, "json_object") && json_object_size(format) == 1)
		return keep_grammar(shape, ANY_OBJECT, strlen(ANY_OBJECT), reply);
	if (type && !strcmp(type, "json_object") && own && json_object_size(format) == 2)
		return keep_schema(shape, own, "response_format.schema", reply);
	if (!type || strcmp(type, "json_schema") != 0 || !json_is_object(given) ||
	    json_object_size(format) != 2)
		return refuse_shape(reply, shape->param,
		                    "must be of type text, json_object, or json_schema with a "
		                    "json_schema and nothing else");
	json_object_foreach((json_t *)(uintptr_t)given, name, value) {
		size_t i = 0;
		while (i < 4 && strcmp(names[i], name) != 0) i++;
		if (i == 4)
			return refuse_shape(reply, shape->param,
			                    "may have name, description, strict and schema in its "
			                    "json_schema, and nothing else");
	}
	return keep_schema(shape, json_object_get(given, "schema"),
	                   "response_format.json_schema.schema", reply);
}

static bool read_shape_member(struct plain_shape *shape, const char *name, const json_t *value,
                              struct http_reply *reply) {
	shape->param = name;
	if (!strcmp(name, "response_format")) return read_format(shape, value, reply);
	if (!strcmp(name, "json_schema")) return keep_schema(shape, value, name, reply);
	if (!json_is_string(value)) return refuse_shape(reply, name, "must be a text in GBNF");
	// An empty one is none, as llama.cpp's clients send it.
	return !json_string_length(value) ||
	       keep_grammar(shape, json_string_value(value), json_string_length(value), reply);
}

bool plain_shape_read(const json_t *body, struct plain_shape *shape, struct http_reply *reply) {
	static const char *const names[] = {"response_format", "json_schema", "grammar"};
	*shape = (struct plain_shape){0};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct plain_shape one = {0};
		const json_t *value = json_object_get(body, names[i]);
		if (!value || json_is_null(value)) continue;
		if (!read_shape_member(&one, names[i], value, reply)) {
			plain_shape_free(&one);
			return false;
		}
		if (!one.text) continue;
		if (shape->text) {
			plain_shape_free(&one);
			return refuse_shape(reply, names[i],
			                    "and another grammar or schema are given; take one");
		}
		*shape = one;
	}
	return true;
}

void plain_shape_free(struct plain_shape *shape) {
	free(shape->text);
	*shape = (struct plain_shape){0};
}

/* ---- compiled -------------------------------------------------------------------------------- */

struct plain_follow {
	struct plain_shapes *shapes;
	char sha256[HASH_TEXT]; /* "" = there is none here */
	struct cuttle_grammar *grammar;
	struct cuttle_slots_grammar *follows;
	size_t users;
	uint64_t used; /* when it was taken last */
	bool lost;
};

struct plain_shapes {
	struct cuttle_slots *slots;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;  /* a use has ended, or nobody is to wait */
	struct plain_follow all[PLAIN_SHAPES];
	uint64_t clock;
	bool crowded; /* somebody waits for a place */
	bool stopping;
};

struct plain_shapes *plain_shapes_new(struct cuttle_slots *slots) {
	struct plain_shapes *shapes = calloc(1, sizeof *shapes);
	if (!shapes) return NULL;
	shapes->slots = slots;
	(void)pthread_mutex_init(&shapes->lock, NULL);
	(void)pthread_cond_init(&shapes->wake, NULL);
	for (size_t i = 0; i < PLAIN_SHAPES; i++) shapes->all[i].shapes = shapes;
	return shapes;
}

static void empty_follow(struct plain_follow *follow) {
	cuttle_slots_grammar_free(&follow->follows);
	cuttle_grammar_free(&follow->grammar);
}

void plain_shapes_free(struct plain_shapes *shapes) {
	if (!shapes) return;
	for (size_t i = 0; i < PLAIN_SHAPES; i++) empty_follow(&shapes->all[i]);
	(void)pthread_mutex_destroy(&shapes->lock);
	(void)pthread_cond_destroy(&shapes->wake);
	free(shapes);
}

void plain_shapes_stop(struct plain_shapes *shapes) {
	(void)pthread_mutex_lock(&shapes->lock);
	shapes->stopping = true;
	(void)pthread_cond_broadcast(&shapes->wake);
	(void)pthread_mutex_unlock(&shapes->lock);
}

/* The one with this hash; else the one that was taken longest ago of those that nobody uses. NULL:
 * all are in use. */
static struct plain_follow *find_follow(struct plain_shapes *shapes, const char *sha256) {
	struct plain_follow *oldest = NULL;
	for (size_t i = 0; i < PLAIN_SHAPES; i++) {
		struct plain_follow *const one = &shapes->all[i];
		if (!strcmp(one->sha256, sha256)) return one;
		if (!one->users && (!oldest || one->used < oldest->used)) oldest = one;
	}
	return oldest;
}

static enum cuttle_status read_schema_grammar(const struct plain_shape *shape,
                                              struct cuttle_grammar **grammar,
                                              struct cuttle_error *error) {
	struct schema *schema;
	enum cuttle_status status = schema_read(shape->text, shape->size, &schema, error);
	if (status) return status;
	status = schema_compile(schema, grammar, error);
	schema_free(schema);
	return status;
}

/* Makes it for one use. Nobody else looks at it: it has a use, and no hash. */
static enum cuttle_status compile_shape(const struct plain_shape *shape,
                                        struct plain_follow *follow, struct cuttle_error *error) {
	empty_follow(follow);
	enum cuttle_status status =
	    shape->schema ? read_schema_grammar(shape, &follow->grammar, error)
	                  : cuttle_grammar_read(shape->text, shape->size, &follow->grammar, error);
	if (!status)
		status = cuttle_slots_grammar_make(follow->shapes->slots, follow->grammar,
		                                   &follow->follows, error);
	if (status) empty_follow(follow);
	return status;
}

static void hash_shape(const struct plain_shape *shape, char sha256[HASH_TEXT]) {
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, shape->schema ? "s" : "g", 1);
	hash_add(&hash, shape->text, shape->size);
	hash_end(&hash, sha256);
}

struct plain_follow *plain_shapes_held(struct plain_shapes *shapes,
                                       const struct plain_shape *shape) {
	char sha256[HASH_TEXT];
	hash_shape(shape, sha256);
	(void)pthread_mutex_lock(&shapes->lock);
	struct plain_follow *follow = shapes->crowded ? NULL : find_follow(shapes, sha256);
	if (follow && (strcmp(follow->sha256, sha256) != 0 || follow->lost)) follow = NULL;
	if (follow) {
		follow->used = ++shapes->clock;
		follow->users++;
	}
	(void)pthread_mutex_unlock(&shapes->lock);
	return follow;
}

enum cuttle_status plain_shapes_take(struct plain_shapes *shapes, const struct plain_shape *shape,
                                     struct plain_follow **out, struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	hash_shape(shape, sha256);
	*out = NULL;
	(void)pthread_mutex_lock(&shapes->lock);
	struct plain_follow *follow;
	while (!(follow = find_follow(shapes, sha256)) && !shapes->stopping) {
		shapes->crowded = true;
		(void)pthread_cond_wait(&shapes->wake, &shapes->lock);
	}
	shapes->crowded = false;
	const bool known = follow && !strcmp(follow->sha256, sha256), lost = known && follow->lost;
	if (follow) follow->used = ++shapes->clock;
	if (follow && !lost) follow->users++;
	if (follow && !known) {
		follow->sha256[0] = 0;
		follow->lost = false;
	}
	(void)pthread_mutex_unlock(&shapes->lock);
	if (!follow) return io_fail(error, CUTTLE_PARTIAL, "the server is stopping");
	if (lost) return io_fail(error, CUTTLE_INPUT, "%s", PLAIN_LOST);
	const enum cuttle_status status = known ? CUTTLE_OK : compile_shape(shape, follow, error);
	if (status) {
		plain_follow_end(follow);
		return status;
	}
	if (!known) {
		(void)pthread_mutex_lock(&shapes->lock);
		memcpy(follow->sha256, sha256, sizeof sha256);
		(void)pthread_mutex_unlock(&shapes->lock);
	}
	*out = follow;
	return CUTTLE_OK;
}

struct cuttle_slots_grammar *plain_follow_grammar(const struct plain_follow *follow) {
	return follow->follows;
}

void plain_follow_lost(struct plain_follow *follow) {
	(void)pthread_mutex_lock(&follow->shapes->lock);
	follow->lost = true;
	(void)pthread_mutex_unlock(&follow->shapes->lock);
}

void plain_follow_end(struct plain_follow *follow) {
	if (!follow) return;
	struct plain_shapes *const shapes = follow->shapes;
	(void)pthread_mutex_lock(&shapes->lock);
	if (!--follow->users) {
		if (follow->lost) empty_follow(follow);
		(void)pthread_cond_signal(&shapes->wake);
	}
	(void)pthread_mutex_unlock(&shapes->lock);
}
