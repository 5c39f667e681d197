// SPDX-License-Identifier: Apache-2.0
// Tests that completions pause while a private job runs: serve/plain.h. Replies are caught here. It
// fails if a request is answered during the pause, or none behind it. It fails if a request has no
// answer when the server stops, or if more wait or longer prompts are read than there is room for.
// It fails if a request's stop strings, numbers or names are beyond their bounds, or if events that
// wait for a slow client are sent in larger parts than its stream has room for. It fails if a
// grammar or schema that cannot be followed is not refused by its member, if one is compiled again
// while it is known, or if more of them are held than there may be.
#include "serve/plain.h"
#include "serve/plain_answer.h"
#include "serve/http/stream.h"
#include "tests/support/tiny_model.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* What became of the one request at a time. */
static struct {
	pthread_mutex_t lock;
	bool later, sent;
	bool held;      /* who sends a reply waits until it is false */
	unsigned count; /* replies sent */
	unsigned code;
	char error[64];
	bool named;         /* the last refusal has a parameter */
	char param[64];     /* it, or "" */
	size_t sent_events; /* bytes of events */
	size_t sends;
} caught = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct http_later *const LATER = (struct http_later *)&caught;
static struct http_reply *const REPLY = (struct http_reply *)&caught;

static void catch_reply(unsigned code, const char *error) {
	(void)pthread_mutex_lock(&caught.lock);
	caught.code = code;
	(void)snprintf(caught.error, sizeof caught.error, "%s", error);
	(void)pthread_mutex_unlock(&caught.lock);
}

struct http_later *__wrap_http_later(struct http_reply *reply);
struct http_later *__wrap_http_later(struct http_reply *reply) {
	(void)reply;
	caught.later = true;
	return LATER;
}

bool __wrap_http_later_gone(struct http_later *later);
bool __wrap_http_later_gone(struct http_later *later) {
	(void)later;
	return false;
}

struct http_reply *__wrap_http_later_reply(struct http_later *later);
struct http_reply *__wrap_http_later_reply(struct http_later *later) {
	(void)later;
	return REPLY;
}

void __wrap_http_later_send(struct http_later *later);
void __wrap_http_later_send(struct http_later *later) {
	(void)later;
	(void)pthread_mutex_lock(&caught.lock);
	caught.sent = true;
	caught.count++;
	while (caught.held) {
		(void)pthread_mutex_unlock(&caught.lock);
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		(void)pthread_mutex_lock(&caught.lock);
	}
	(void)pthread_mutex_unlock(&caught.lock);
}

void __wrap_http_add(struct http_reply *reply, const char *name, const char *value);
void __wrap_http_add(struct http_reply *reply, const char *name, const char *value) {
	(void)reply;
	(void)name;
	(void)value;
}

void __wrap_http_json(struct http_reply *reply, unsigned code, json_t *root);
void __wrap_http_json(struct http_reply *reply, unsigned code, json_t *root) {
	(void)reply;
	json_decref(root);
	catch_reply(code, "");
}

void __wrap_http_fail(struct http_reply *reply, unsigned status, const char *type, const char *code,
                      const char *param, const char *format, ...);
void __wrap_http_fail(struct http_reply *reply, unsigned status, const char *type, const char *code,
                      const char *param, const char *format, ...) {
	(void)reply;
	(void)type;
	(void)format;
	caught.named = param != NULL;
	(void)snprintf(caught.param, sizeof caught.param, "%s", param ? param : "");
	catch_reply(status, code);
}

/* A client that takes all there is room for, and looks at how it was cut. */
enum http_sent __wrap_http_stream_send(struct http_stream *stream, const void *bytes, size_t size);
enum http_sent __wrap_http_stream_send(struct http_stream *stream, const void *bytes, size_t size) {
	(void)stream;
	if (size > STREAM_BYTES) return HTTP_FULL;
	assert_true(size >= 2 && !memcmp((const char *)bytes + size - 2, "\n\n", 2));
	caught.sent_events += size;
	caught.sends++;
	return HTTP_SENT;
}

/* Takes the body. */
static void ask_body(const struct http_table *table, json_t *body) {
	const struct http_call call = {.method = "POST", .body = body};
	caught.later = caught.sent = false;
	caught.code = 0;
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->routes[i].pattern, "/v1/completions"))
			table->routes[i].answer(table->user, &call, REPLY);
	json_decref(body);
}

/* Asks for so many tokens. */
static void ask_prompt(const struct http_table *table, const char *prompt, int tokens) {
	ask_body(table, json_pack("{s:s,s:i}", "prompt", prompt, "max_tokens", tokens));
}

static void ask(const struct http_table *table, int tokens) {
	ask_prompt(table, "a", tokens);
}

/* Waits until the reply was sent, at most 20 seconds. */
static bool was_sent(void) {
	bool sent = false;
	for (int i = 0; i < 2000 && !sent; i++) {
		const struct timespec pause = {.tv_nsec = 10000000};
		(void)nanosleep(&pause, NULL);
		(void)pthread_mutex_lock(&caught.lock);
		sent = caught.sent;
		(void)pthread_mutex_unlock(&caught.lock);
	}
	return sent;
}

static void test_pause(void **state) {
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct plain_params params = {.model = model, .name = "tiny", .slots = 2};
	struct plain *plain;
	(void)state;
	assert_int_equal(plain_open(&params, &plain, &error), CUTTLE_OK);
	const struct http_table table = plain_table(plain);
	ask(&table, 2);
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	plain_pause(plain, true);
	ask(&table, 2);
	assert_false(caught.later);
	assert_int_equal(caught.code, 503);
	assert_string_equal(caught.error, "paused");
	plain_pause(plain, false);
	ask(&table, 2);
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	// One under way ends when a private job begins.
	ask(&table, 500);
	plain_pause(plain, true);
	assert_true(was_sent());
	assert_int_equal(caught.code, 503);
	assert_string_equal(caught.error, "paused");
	plain_pause(plain, false);
	ask(&table, 500);
	plain_stop(plain);
	assert_true(was_sent());
	assert_int_equal(caught.code, 503);
	assert_string_equal(caught.error, "stopping");
	ask(&table, 2);
	assert_int_equal(caught.code, 503);
	plain_close(&plain);
	cuttle_model_free(&model);
}

static void hold_replies(bool held) {
	(void)pthread_mutex_lock(&caught.lock);
	caught.held = held;
	caught.count = 0;
	(void)pthread_mutex_unlock(&caught.lock);
}

/* So many requests wait, and no more; each of them has its answer in the end. */
static void test_queue(void **state) {
	enum { MOST = 64 };
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct plain_params params = {.model = model, .name = "tiny", .slots = 1};
	struct plain *plain;
	(void)state;
	assert_int_equal(plain_open(&params, &plain, &error), CUTTLE_OK);
	const struct http_table table = plain_table(plain);
	// The engine's thread waits while it sends the first reply, so the others stay in the
	// queue.
	hold_replies(true);
	ask(&table, 2);
	assert_true(caught.later && was_sent());
	unsigned queued = 0;
	for (int i = 0; i < MOST; i++) {
		ask(&table, 2);
		queued += caught.later;
	}
	ask(&table, 2);
	const bool more = caught.later;
	const unsigned code = caught.code;
	const bool full = !strcmp(caught.error, "queue_full");
	// Before anything fails, as the thread would wait for ever.
	hold_replies(false);
	assert_int_equal(queued, MOST);
	assert_false(more);
	assert_int_equal(code, 429);
	assert_true(full);
	bool all = false;
	for (int i = 0; i < 2000 && !all; i++) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		(void)pthread_mutex_lock(&caught.lock);
		all = caught.count >= MOST;
		(void)pthread_mutex_unlock(&caught.lock);
	}
	assert_int_equal(caught.count, MOST);
	// There is room again.
	ask(&table, 2);
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	plain_stop(plain);
	plain_close(&plain);
	cuttle_model_free(&model);
}

/* A prompt that cannot fit is refused before it is queued and read. */
static void test_long_prompt(void **state) {
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct plain_params params = {
	    .model = model, .name = "tiny", .slots = 1, .context = 64};
	struct plain *plain;
	(void)state;
	assert_int_equal(plain_open(&params, &plain, &error), CUTTLE_OK);
	const struct http_table table = plain_table(plain);
	char prompt[16 * 65 + 1];
	memset(prompt, ' ', sizeof prompt - 1);
	prompt[sizeof prompt - 1] = 0;
	ask_prompt(&table, prompt, 2);
	assert_false(caught.later);
	assert_int_equal(caught.code, 400);
	assert_string_equal(caught.error, "context_length_exceeded");
	// One that might, is queued; the engine sees whether it does, with the text behind it.
	ask(&table, 1000);
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 400);
	assert_string_equal(caught.error, "context_length_exceeded");
	plain_stop(plain);
	plain_close(&plain);
	cuttle_model_free(&model);
}

/* What one token is asked for with: a member of the body, which is taken. */
static void ask_with(const struct http_table *table, const char *name, json_t *value) {
	json_t *body = json_pack("{s:s,s:i}", "prompt", "a", "max_tokens", 1);
	assert_int_equal(json_object_set_new(body, name, value), 0);
	ask_body(table, body);
}

static json_t *make_stops(size_t count, size_t size) {
	char stop[PLAIN_STOP_BYTES + 2];
	json_t *stops = json_array();
	memset(stop, '#', sizeof stop);
	stop[size] = 0;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(json_array_append_new(stops, json_string(stop)), 0);
	return stops;
}

/* Each bound of a request: the most is answered, and one more is refused before it is queued. */
static void test_bounds(void **state) {
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct plain_params params = {.model = model, .name = "tiny", .slots = 1};
	struct plain *plain;
	char name[66];
	(void)state;
	assert_int_equal(plain_open(&params, &plain, &error), CUTTLE_OK);
	const struct http_table table = plain_table(plain);
	ask_with(&table, "stop", make_stops(PLAIN_STOPS, PLAIN_STOP_BYTES));
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	const struct {
		const char *name;
		json_t *value;
	} wrong[] = {{"stop", make_stops(PLAIN_STOPS + 1, 1)},
	             {"stop", make_stops(1, PLAIN_STOP_BYTES + 1)},
	             {"max_tokens", json_integer(((json_int_t)1 << 32) + 1)},
	             {"top_k", json_integer(((json_int_t)1 << 32) + 1)}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ask_with(&table, wrong[i].name, wrong[i].value);
		assert_false(caught.later);
		assert_int_equal(caught.code, 400);
		assert_string_equal(caught.error, "invalid_value");
	}
	// A name that nobody has may be as long as a body: a longer one is not told again.
	memset(name, 'n', sizeof name);
	for (size_t size = 64; size <= 65; size++) {
		name[size] = 0;
		ask_with(&table, name, json_true());
		name[size] = 'n';
		assert_string_equal(caught.error, "unsupported_parameter");
		assert_int_equal(caught.named, size == 64);
	}
	plain_stop(plain);
	plain_close(&plain);
	cuttle_model_free(&model);
}

/* Events that waited for a slow client are more than a stream holds: they go in parts that fit. */
static void test_events_in_parts(void **state) {
	enum { EVENTS = 5000, EVENT = 20 };
	static char events[EVENTS * EVENT + 1];
	struct plain_work work = {.pending = events, .pending_size = sizeof events - 1};
	(void)state;
	assert_true(sizeof events > STREAM_BYTES);
	for (size_t i = 0; i < EVENTS; i++)
		(void)snprintf(events + i * EVENT, EVENT + 1, "data: %012zu\n\n", i);
	caught.sent_events = caught.sends = 0;
	assert_true(plain_flush(&work));
	assert_int_equal(work.pending_size, 0);
	assert_int_equal(caught.sent_events, sizeof events - 1);
	assert_true(caught.sends > 1);
}

/* ---- grammars -------------------------------------------------------------------------------- */

static json_t *parse(const char *text) {
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_non_null(value);
	return value;
}

static json_t *long_grammar(size_t size) {
	char *text = malloc(size + 1);
	assert_non_null(text);
	(void)snprintf(text, size + 1, "root ::= \"a\" #%*s", (int)(size - 14), "");
	memset(text + 14, '#', size - 14);
	text[size] = 0;
	json_t *value = json_string(text);
	free(text);
	return value;
}

/* What of formats, schemas and grammars is answered, and what is refused, when, and by which name.
 */
static void test_shapes_asked(void **state) {
	static const struct {
		const char *name, *value;
		unsigned code;
		bool later; /* it is not refused before it is compiled */
	} asked[] = {
	    {"grammar", "\"root ::= \\\"a\\\"\"", 200, true},
	    {"grammar", "\"\"", 200, true},
	    {"grammar", "null", 200, true},
	    {"grammar", "\"root ::= b\"", 400, true},
	    {"grammar", "1", 400, false},
	    {"json_schema", "{\"type\":\"object\"}", 200, true},
	    {"json_schema", "{\"if\":{}}", 400, true},
	    {"json_schema", "\"{}\"", 400, false},
	    {"response_format", "{\"type\":\"text\"}", 200, true},
	    {"response_format", "{\"type\":\"json_object\"}", 200, true},
	    {"response_format", "{\"type\":\"json_object\",\"schema\":{\"enum\":[1]}}", 200, true},
	    {"response_format",
	     "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\",\"strict\":true,"
	     "\"description\":\"d\",\"schema\":{\"enum\":[1]}}}",
	     200, true},
	    {"response_format", "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\"}}", 400,
	     false},
	    {"response_format",
	     "{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{},\"magic\":1}}", 400, false},
	    {"response_format", "{\"type\":\"json_schema\",\"schema\":{}}", 400, false},
	    {"response_format", "{\"type\":\"text\",\"schema\":{}}", 400, false},
	    {"response_format", "{\"type\":\"xml\"}", 400, false},
	    {"response_format", "\"json_object\"", 400, false}};
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct plain_params params = {.model = model, .name = "tiny", .slots = 2};
	struct plain *plain;
	(void)state;
	assert_int_equal(plain_open(&params, &plain, &error), CUTTLE_OK);
	const struct http_table table = plain_table(plain);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		ask_with(&table, asked[i].name, parse(asked[i].value));
		assert_int_equal(caught.later, asked[i].later);
		if (caught.later) assert_true(was_sent());
		assert_int_equal(caught.code, asked[i].code);
		if (asked[i].code == 200) continue;
		assert_string_equal(caught.param, asked[i].name);
		assert_string_equal(caught.error,
		                    asked[i].later ? "invalid_grammar" : "invalid_value");
	}
	ask_with(&table, "grammar", long_grammar(PLAIN_SHAPE_BYTES));
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	ask_with(&table, "grammar", long_grammar(PLAIN_SHAPE_BYTES + 1));
	assert_false(caught.later);
	assert_string_equal(caught.param, "grammar");
	// One of them, not two.
	ask_body(&table,
	         parse("{\"prompt\":\"a\",\"grammar\":\"root ::= \\\"a\\\"\",\"json_schema\":{}}"));
	assert_false(caught.later);
	assert_int_equal(caught.code, 400);
	ask_body(&table, parse("{\"prompt\":\"a\",\"grammar\":\"\",\"response_format\":{\"type\":"
	                       "\"text\"},\"json_schema\":{\"enum\":[1]}}"));
	assert_true(caught.later && was_sent());
	assert_int_equal(caught.code, 200);
	// None is compiled for a request of a pause, or of the end.
	plain_pause(plain, true);
	ask_with(&table, "grammar", parse("\"root ::= \\\"a\\\"\""));
	assert_false(caught.later);
	assert_int_equal(caught.code, 503);
	plain_pause(plain, false);
	plain_stop(plain);
	plain_close(&plain);
	cuttle_model_free(&model);
}

static struct plain_shape shape_of(char *text) {
	return (struct plain_shape){.text = text, .size = strlen(text), .param = "grammar"};
}

struct taking {
	struct plain_shapes *shapes;
	struct plain_shape shape;
	struct plain_follow *follow;
	enum cuttle_status status;
	atomic_bool taken;
};

static void *take_shape(void *user) {
	struct taking *taking = user;
	struct cuttle_error error;
	taking->status = plain_shapes_take(taking->shapes, &taking->shape, &taking->follow, &error);
	taking->taken = true;
	return NULL;
}

/* The same one is the same; one more than there may be waits for another's end, or for the stop. */
static void test_shapes_kept(void **state) {
	char texts[PLAIN_SHAPES + 2][32];
	struct plain_follow *follows[PLAIN_SHAPES], *again;
	struct cuttle_error error;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_slots *slots;
	pthread_t thread;
	(void)state;
	assert_int_equal(cuttle_slots_make(model, 1, 0, &slots, &error), CUTTLE_OK);
	struct plain_shapes *shapes = plain_shapes_new(slots);
	assert_non_null(shapes);
	for (size_t i = 0; i < PLAIN_SHAPES + 2; i++)
		(void)snprintf(texts[i], sizeof texts[i], "root ::= \"%zu\"", i);
	for (size_t i = 0; i < PLAIN_SHAPES; i++) {
		const struct plain_shape shape = shape_of(texts[i]);
		assert_int_equal(plain_shapes_take(shapes, &shape, &follows[i], &error), CUTTLE_OK);
		assert_int_equal(plain_shapes_take(shapes, &shape, &again, &error), CUTTLE_OK);
		assert_ptr_equal(again, follows[i]);
		assert_non_null(plain_follow_grammar(again));
		plain_follow_end(again);
		for (size_t j = 0; j < i; j++) assert_ptr_not_equal(follows[i], follows[j]);
	}
	struct taking taking = {.shapes = shapes, .shape = shape_of(texts[PLAIN_SHAPES])};
	assert_int_equal(pthread_create(&thread, NULL, take_shape, &taking), 0);
	(void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	assert_false(taking.taken);
	plain_follow_end(follows[3]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(taking.status, CUTTLE_OK);
	assert_ptr_equal(taking.follow, follows[3]);
	// A schema of the same bytes is another one; and nobody waits when the server stops.
	taking = (struct taking){.shapes = shapes, .shape = shape_of(texts[0])};
	taking.shape.schema = true;
	assert_int_equal(pthread_create(&thread, NULL, take_shape, &taking), 0);
	(void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	assert_false(taking.taken);
	plain_shapes_stop(shapes);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(taking.status, CUTTLE_PARTIAL);
	for (size_t i = 0; i < PLAIN_SHAPES; i++) plain_follow_end(follows[i]);
	// What nobody uses is still there; what was given up is refused.
	struct plain_shape shape = shape_of(texts[1]);
	assert_int_equal(plain_shapes_take(shapes, &shape, &again, &error), CUTTLE_OK);
	assert_ptr_equal(again, follows[1]);
	plain_follow_lost(again);
	plain_follow_end(again);
	assert_int_equal(plain_shapes_take(shapes, &shape, &again, &error), CUTTLE_INPUT);
	assert_string_equal(error.message, PLAIN_LOST);
	// And its place serves another.
	for (size_t i = 0; i < PLAIN_SHAPES + 2; i++) {
		shape = shape_of(texts[i]);
		if (i == 1) continue;
		assert_int_equal(plain_shapes_take(shapes, &shape, &again, &error), CUTTLE_OK);
		plain_follow_end(again);
	}
	plain_shapes_free(shapes);
	cuttle_slots_free(&slots);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pause),           cmocka_unit_test(test_queue),
	    cmocka_unit_test(test_long_prompt),     cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_events_in_parts), cmocka_unit_test(test_shapes_asked),
	    cmocka_unit_test(test_shapes_kept)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
