// SPDX-License-Identifier: Apache-2.0
// plain.c: the engine thread, its queue, and the routes of the plain part: see plain.h.
//
// A work is a request under way. It is in one of three places: the queue, a slot, or the list of
// those that are drawn and still have events for a slow client. The engine thread owns it from the
// queue on. One that wants texts of a grammar is in another queue first, of the thread that
// compiles grammars, so that these hold up nobody else.
#include "serve/plain.h"

#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include "serve/plain_answer.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	WAITING_MOST = 64,     /* requests in the queue */
	BYTES_PER_TOKEN = 16,  /* a prompt with more bytes than this times the context is refused */
	DRAIN_PAUSE = 50000000 /* nanoseconds between two tries to send to a slow client */
};

/* Works in the order of their requests. */
struct queue {
	struct plain_work *first, *last;
	pthread_cond_t wake; /* something came, or the server stops */
};

struct plain {
	char *name;
	struct cuttle_model *model;
	struct cuttle_slots *slots;
	struct plain_shapes *shapes;
	uint32_t slot_count;
	pthread_t thread, compiler;
	atomic_bool paused, stopping;
	atomic_uint_fast64_t tokens; /* drawn so far */
	atomic_uint_fast64_t answered;
	json_t *bias; /* what /v1/models tells of it; NULL = none */

	pthread_mutex_t lock;           /* of the queues */
	struct queue queue, uncompiled; /* of the engine thread, and of the compiler */
	size_t waiting;                 /* in both */

	// The engine thread's alone.
	struct plain_work **in_slot; /* [slot_count] NULL = the slot is free */
	struct plain_work *draining; /* drawn, but not sent to the end */
};

/* ---- the engine thread ----------------------------------------------------------------------- */

/* Gives the reply that is owed. `fill` has filled it. */
static void send_later(struct plain_work *work) {
	http_later_send(work->later);
	work->later = NULL;
}

/* What a code is about: the request's member, or NULL. */
static const char *blame_member(const struct plain_work *work, const char *code) {
	if (!strcmp(code, "invalid_grammar")) return work->request.shape.param;
	if (strcmp(code, "invalid_value") != 0) return NULL;
	return work->request.kind == PLAIN_CHAT ? "messages" : "prompt";
}

/* Ends a work with a failure, and frees it. */
static void fail_work(struct plain_work *work, unsigned status, const char *code,
                      const char *message) {
	if (work->later) {
		struct http_reply *reply = http_later_reply(work->later);
		if (status == 503) http_add(reply, "Retry-After", "30");
		http_fail(reply, status, status < 500 ? "invalid_request_error" : "server_error",
		          code, blame_member(work, code), "%s", message);
		send_later(work);
	} else if (work->stream) {
		plain_tell_failure(work, code, message);
		(void)plain_flush(work);
	}
	plain_work_free(work);
}

/* Gives an answer that is complete. The work is freed, or waits until its client has taken all. */
static void finish_work(struct plain *plain, struct plain_work *work) {
	(void)atomic_fetch_add(&plain->answered, 1);
	// A client that takes its time holds no grammar.
	plain_follow_end(work->follow);
	work->follow = NULL;
	if (work->later) {
		http_json(http_later_reply(work->later), 200, plain_answer(work, plain->name));
		send_later(work);
	} else if (!plain_flush(work)) {
		work->next = plain->draining;
		plain->draining = work;
		return;
	}
	plain_work_free(work);
}

/* The prompt's tokens, which the caller frees. */
static enum cuttle_status write_prompt(const struct plain *plain, const struct plain_work *work,
                                       int32_t **ids, size_t *count, struct cuttle_error *error) {
	const struct plain_request *r = &work->request;
	if (r->kind == PLAIN_CHAT)
		return cuttle_chat_prompt(plain->model, r->messages, r->message_count, ids, count,
		                          error);
	const size_t capacity = cuttle_tokens_bound(r->prompt_size);
	*ids = calloc(capacity + 1, sizeof **ids);
	if (!*ids) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return cuttle_tokenize(plain->model, r->prompt, r->prompt_size, true, *ids, capacity, count,
	                       error);
}

/* Opens the stream of a work whose prompt is in a slot. False: it is not, and a reply was given. */
static bool open_stream(struct plain_work *work) {
	work->stream = http_events(http_later_reply(work->later));
	send_later(work);
	return work->stream != NULL;
}

/* Puts a work into a free slot. What does not go in is answered and freed. */
static void begin_plain_work(struct plain *plain, struct plain_work *work) {
	struct cuttle_error error;
	int32_t *ids = NULL;
	size_t slot, room = cuttle_slots_context(plain->slots);
	enum cuttle_status status = write_prompt(plain, work, &ids, &work->prompt_tokens, &error);
	if (!status && work->request.open_length && work->prompt_tokens < room)
		work->request.draw.tokens = (uint32_t)(room - work->prompt_tokens);
	const bool fits = work->prompt_tokens + work->request.draw.tokens <= room;
	if (!status && fits)
		status = cuttle_slots_add(plain->slots, ids, work->prompt_tokens,
		                          &work->request.draw, &slot, &error);
	free(ids);
	if (!status && !fits) {
		char message[128];
		(void)snprintf(message, sizeof message,
		               "the prompt's %zu tokens and %s %u do not fit the context of this "
		               "server, %zu tokens",
		               work->prompt_tokens,
		               work->request.kind == PLAIN_LLAMA ? "n_predict" : "max_tokens",
		               work->request.draw.tokens, room);
		fail_work(work, 400, "context_length_exceeded", message);
	} else if (status) {
		fail_work(work, status == CUTTLE_USAGE ? 400 : 500,
		          status == CUTTLE_USAGE ? "invalid_value" : "internal",
		          status == CUTTLE_USAGE ? error.message : "the engine failed");
	} else if (work->request.stream && !open_stream(work)) {
		cuttle_slots_drop(plain->slots, slot);
		plain_work_free(work);
	} else {
		plain->in_slot[slot] = work;
	}
}

static int take_token(void *user, size_t slot, const struct cuttle_slot_token *token) {
	struct plain *const plain = user;
	struct plain_work *const work = plain->in_slot[slot];
	work->lost = token->lost;
	if (work->lost) return 1;
	work->tokens += token->size > 0;
	(void)atomic_fetch_add(&plain->tokens, 1);
	if (!plain_text_add(&work->text, token->bytes, token->size)) work->gone = true;
	if (work->text.stopped) work->finish = "stop";
	else if (token->last)
		work->finish = token->finish == CUTTLE_FINISH_LENGTH ? "length" : "stop";
	if (work->finish) plain_text_end(&work->text);
	if (work->stream) {
		plain_tell(work, plain->name);
		(void)plain_flush(work);
	} else if (http_later_gone(work->later)) {
		work->gone = true;
	}
	return work->gone || work->finish;
}

/* One token for every slot; then those that have ended leave theirs. */
static void step_slots(struct plain *plain) {
	struct cuttle_error error;
	const enum cuttle_status status =
	    cuttle_slots_step(plain->slots, take_token, plain, &error);
	for (size_t slot = 0; slot < plain->slot_count; slot++) {
		struct plain_work *const work = plain->in_slot[slot];
		if (!work) continue;
		if (work->gone || work->finish || work->lost) plain->in_slot[slot] = NULL;
		if (work->lost) {
			plain_follow_lost(work->follow);
			fail_work(work, 400, "invalid_grammar", PLAIN_LOST);
		} else if (work->gone)
			fail_work(work, 503, "stopping", "nobody waits for this answer");
		else if (work->finish) finish_work(plain, work);
		else if (status) {
			cuttle_slots_drop(plain->slots, slot);
			plain->in_slot[slot] = NULL;
			fail_work(work, 500, "internal", "the engine failed");
		}
	}
}

/* ---- queues; with the lock ------------------------------------------------------------------- */

static void put_last(struct queue *queue, struct plain_work *work) {
	work->next = NULL;
	if (queue->last) queue->last->next = work;
	else queue->first = work;
	queue->last = work;
	(void)pthread_cond_signal(&queue->wake);
}

/* NULL: it is empty. */
static struct plain_work *take_first(struct queue *queue) {
	struct plain_work *const work = queue->first;
	if (!work) return NULL;
	queue->first = work->next;
	if (!queue->first) queue->last = NULL;
	return work;
}

/* Ends everything in a queue. Without the lock. */
static void refuse_queue(struct plain *plain, struct queue *queue, const char *code,
                         const char *message) {
	struct plain_work *work;
	do {
		(void)pthread_mutex_lock(&plain->lock);
		work = take_first(queue);
		plain->waiting -= work != NULL;
		(void)pthread_mutex_unlock(&plain->lock);
		if (work) fail_work(work, 503, code, message);
	} while (work);
}

/* Ends everything in slots and in the queues. */
static void refuse_all(struct plain *plain, const char *code, const char *message) {
	refuse_queue(plain, &plain->uncompiled, code, message);
	refuse_queue(plain, &plain->queue, code, message);
	for (size_t slot = 0; slot < plain->slot_count; slot++) {
		if (!plain->in_slot[slot]) continue;
		cuttle_slots_drop(plain->slots, slot);
		fail_work(plain->in_slot[slot], 503, code, message);
		plain->in_slot[slot] = NULL;
	}
}

static void drain_works(struct plain *plain, bool give_up) {
	struct plain_work **link = &plain->draining;
	while (*link) {
		struct plain_work *const work = *link;
		if (!plain_flush(work) && !give_up) {
			link = &work->next;
			continue;
		}
		*link = work->next;
		plain_work_free(work);
	}
}

/* The next request of the queue; waits for one when nothing else is to do. NULL: there is none. */
static struct plain_work *next_work(struct plain *plain) {
	const bool idle = !cuttle_slots_busy(plain->slots);
	(void)pthread_mutex_lock(&plain->lock);
	while (idle && !plain->queue.first && !plain->draining && !plain->stopping)
		(void)pthread_cond_wait(&plain->queue.wake, &plain->lock);
	struct plain_work *const work =
	    cuttle_slots_busy(plain->slots) < plain->slot_count ? take_first(&plain->queue) : NULL;
	plain->waiting -= work != NULL;
	(void)pthread_mutex_unlock(&plain->lock);
	return work;
}

static void *run_engine(void *user) {
	struct plain *const plain = user;
	while (!plain->stopping) {
		struct plain_work *work;
		while ((work = next_work(plain))) begin_plain_work(plain, work);
		if (plain->paused) refuse_all(plain, "paused", "a private job is running");
		if (cuttle_slots_busy(plain->slots)) {
			step_slots(plain);
		} else if (plain->draining) {
			const struct timespec pause = {.tv_nsec = DRAIN_PAUSE};
			(void)nanosleep(&pause, NULL);
		}
		drain_works(plain, false);
	}
	refuse_all(plain, "stopping", "the server is stopping");
	drain_works(plain, true);
	return NULL;
}

/* ---- the compiler's thread ------------------------------------------------------------------- */

/* Compiles what a work wants, and leaves the work to the engine thread. */
static void compile_work(struct plain *plain, struct plain_work *work) {
	const struct plain_shape *const shape = &work->request.shape;
	struct cuttle_error error;
	if (http_later_gone(work->later)) {
		fail_work(work, 503, "stopping", "nobody waits for this answer");
		return;
	}
	const enum cuttle_status status =
	    plain->paused || plain->stopping
	        ? CUTTLE_PARTIAL
	        : plain_shapes_take(plain->shapes, shape, &work->follow, &error);
	if (!status) {
		work->request.draw.grammar = plain_follow_grammar(work->follow);
		(void)pthread_mutex_lock(&plain->lock);
		const bool open = !plain->stopping;
		if (open) put_last(&plain->queue, work);
		plain->waiting += open;
		(void)pthread_mutex_unlock(&plain->lock);
		if (open) return;
	}
	if (status == CUTTLE_INPUT || status == CUTTLE_MODEL) {
		char message[sizeof error.message + 64];
		(void)snprintf(message, sizeof message, "%s%s%s", shape->schema ? shape->where : "",
		               shape->schema ? ": " : "", error.message);
		fail_work(work, 400, "invalid_grammar", message);
	} else if (status && status != CUTTLE_PARTIAL) {
		fail_work(work, 500, "internal", "the engine failed");
	} else {
		fail_work(work, 503, "paused", "a private job is running, or the server stops");
	}
}

static void *run_compiler(void *user) {
	struct plain *const plain = user;
	for (;;) {
		(void)pthread_mutex_lock(&plain->lock);
		while (!plain->uncompiled.first && !plain->stopping)
			(void)pthread_cond_wait(&plain->uncompiled.wake, &plain->lock);
		struct plain_work *const work = take_first(&plain->uncompiled);
		plain->waiting -= work != NULL;
		(void)pthread_mutex_unlock(&plain->lock);
		if (!work) return NULL;
		compile_work(plain, work);
	}
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Leaves the request to the engine thread. */
static void queue_request(struct plain *plain, struct plain_request *request,
                          struct http_reply *reply) {
	struct plain_work *const work = plain_work_new(request);
	if (!work) {
		http_json(reply, 500, NULL);
		return;
	}
	// A grammar that is held waits for none that is compiled.
	if (work->request.shape.text)
		work->follow = plain_shapes_held(plain->shapes, &work->request.shape);
	if (work->follow) work->request.draw.grammar = plain_follow_grammar(work->follow);
	(void)pthread_mutex_lock(&plain->lock);
	const bool open = !plain->paused && !plain->stopping, room = plain->waiting < WAITING_MOST;
	if (open && room) {
		work->later = http_later(reply);
		put_last(work->request.shape.text && !work->follow ? &plain->uncompiled
		                                                   : &plain->queue,
		         work);
		plain->waiting++;
	}
	(void)pthread_mutex_unlock(&plain->lock);
	if (open && room) return;
	plain_work_free(work);
	http_add(reply, "Retry-After", open ? "5" : "30");
	if (open)
		http_fail(reply, 429, "rate_limit_error", "queue_full", NULL,
		          "%d requests are waiting, which is the most", WAITING_MOST);
	else
		http_fail(reply, 503, "server_error", "paused", NULL,
		          "a private job is running, or the server is stopping");
}

static void take_plain(struct plain *plain, enum plain_kind kind, const struct http_call *call,
                       struct http_reply *reply) {
	struct plain_request request;
	if (!plain_request_read(kind, call->body, plain->name, &request, reply)) return;
	if (request.bytes / BYTES_PER_TOKEN <= cuttle_slots_context(plain->slots)) {
		queue_request(plain, &request, reply);
		return;
	}
	plain_request_free(&request);
	http_fail(reply, 400, "invalid_request_error", "context_length_exceeded",
	          kind == PLAIN_CHAT ? "messages" : "prompt",
	          "the prompt does not fit the context of %u tokens",
	          cuttle_slots_context(plain->slots));
}

static void answer_completion(void *user, const struct http_call *call, struct http_reply *reply) {
	take_plain(user, PLAIN_COMPLETION, call, reply);
}

static void answer_chat(void *user, const struct http_call *call, struct http_reply *reply) {
	take_plain(user, PLAIN_CHAT, call, reply);
}

static void answer_llama(void *user, const struct http_call *call, struct http_reply *reply) {
	take_plain(user, PLAIN_LLAMA, call, reply);
}

static json_t *describe_served(const struct plain *plain) {
	json_t *model = json_pack("{s:s,s:s,s:i,s:s}", "id", plain->name, "object", "model",
	                          "created", 0, "owned_by", "cuttle");
	if (!plain->bias) return model;
	return jsonout_extend(model, &(struct jsonout_member){"bias", json_incref(plain->bias)}, 1);
}

static void answer_models(void *user, const struct http_call *call, struct http_reply *reply) {
	json_t *model = describe_served(user);
	(void)call;
	http_json(reply, 200,
	          model ? json_pack("{s:s,s:[o]}", "object", "list", "data", model) : NULL);
}

static void answer_model(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct plain *plain = user;
	if (!strcmp(call->id, plain->name)) http_json(reply, 200, describe_served(plain));
	else
		http_fail(reply, 404, "invalid_request_error", "model_not_found", "model",
		          "this server has another model");
}

/* On the disk thread: a long text takes its time. */
static void answer_tokenize(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct plain *plain = user;
	const json_t *content = json_object_get(call->body, "content");
	const size_t size = json_string_length(content), capacity = cuttle_tokens_bound(size);
	size_t count;
	if (!json_is_string(content)) {
		http_fail(reply, 400, "invalid_request_error", "invalid_value", "content",
		          "content must be a string");
		return;
	}
	int32_t *ids = calloc(capacity + 1, sizeof *ids);
	const bool special = json_is_true(json_object_get(call->body, "add_special"));
	json_t *list = NULL;
	if (ids && !cuttle_tokenize(plain->model, json_string_value(content), size, special, ids,
	                            capacity, &count, NULL))
		list = jsonout_integers(ids, count);
	free(ids);
	http_json(reply, 200, list ? json_pack("{s:o}", "tokens", list) : NULL);
}

static void answer_props(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct plain *plain = user;
	(void)call;
	http_json(reply, 200,
	          json_pack("{s:s,s:I,s:{s:I}}", "model_path", plain->name, "total_slots",
	                    (json_int_t)plain->slot_count, "default_generation_settings", "n_ctx",
	                    (json_int_t)cuttle_slots_context(plain->slots)));
}

static void count_plain(void *user, struct http_metrics *metrics) {
	struct plain *const plain = user;
	(void)pthread_mutex_lock(&plain->lock);
	const size_t waiting = plain->waiting;
	(void)pthread_mutex_unlock(&plain->lock);
	http_metric(metrics, "plain_waiting", NULL, (double)waiting);
	http_metric(metrics, "plain_tokens_total", NULL, (double)plain->tokens);
	http_metric(metrics, "plain_answers_total", NULL, (double)plain->answered);
}

static const struct http_route ROUTES[] = {
    {.method = "GET", .pattern = "/v1/models", .role = HTTP_USE, .answer = answer_models},
    {.method = "GET", .pattern = "/v1/models/{id}", .role = HTTP_USE, .answer = answer_model},
    {.method = "POST",
     .pattern = "/v1/completions",
     .role = HTTP_USE,
     .body = HTTP_BODY_JSON,
     .answer = answer_completion},
    {.method = "POST",
     .pattern = "/v1/chat/completions",
     .role = HTTP_USE,
     .body = HTTP_BODY_JSON,
     .answer = answer_chat},
    {.method = "POST",
     .pattern = "/completion",
     .role = HTTP_USE,
     .body = HTTP_BODY_JSON,
     .answer = answer_llama},
    {.method = "POST",
     .pattern = "/tokenize",
     .role = HTTP_USE,
     .body = HTTP_BODY_JSON,
     .pace = HTTP_SLOW,
     .answer = answer_tokenize},
    {.method = "GET", .pattern = "/props", .role = HTTP_USE, .answer = answer_props},
};

struct http_table plain_table(struct plain *plain) {
	return (struct http_table){.routes = ROUTES,
	                           .count = sizeof ROUTES / sizeof *ROUTES,
	                           .user = plain,
	                           .metrics = count_plain};
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Ends the thread of a queue. */
static void stop_thread(struct plain *plain, struct queue *queue, pthread_t thread) {
	(void)pthread_mutex_lock(&plain->lock);
	plain->stopping = true;
	(void)pthread_cond_signal(&queue->wake);
	(void)pthread_mutex_unlock(&plain->lock);
	(void)pthread_join(thread, NULL);
}

static enum cuttle_status take_plain_bias(struct plain *plain, const struct serve_bias *bias,
                                          struct cuttle_error *error) {
	plain->bias = json_pack("{s:s,s:s,s:s}", "guarantee", bias->guarantee, "receipt_sha256",
	                        bias->receipt_sha256, "sha256", bias->sha256);
	if (!plain->bias) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return cuttle_slots_bias(plain->slots, bias->vector, error);
}

static enum cuttle_status start_threads(struct plain *plain, struct cuttle_error *error) {
	plain->stopping = false;
	if (!pthread_create(&plain->thread, NULL, run_engine, plain)) {
		if (!pthread_create(&plain->compiler, NULL, run_compiler, plain)) return CUTTLE_OK;
		stop_thread(plain, &plain->queue, plain->thread);
	}
	return io_fail(error, CUTTLE_INTERNAL, "no thread can be started");
}

enum cuttle_status plain_open(const struct plain_params *params, struct plain **out,
                              struct cuttle_error *error) {
	*out = NULL;
	struct plain *plain = calloc(1, sizeof *plain);
	if (!plain) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)pthread_mutex_init(&plain->lock, NULL);
	(void)pthread_cond_init(&plain->queue.wake, NULL);
	(void)pthread_cond_init(&plain->uncompiled.wake, NULL);
	plain->model = params->model;
	plain->slot_count = params->slots;
	plain->stopping = true;
	plain->name = strdup(params->name);
	plain->in_slot = calloc(params->slots ? params->slots : 1, sizeof(struct plain_work *));
	enum cuttle_status status = CUTTLE_OK;
	if (!plain->name || !plain->in_slot) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status)
		status = cuttle_slots_make(params->model, params->slots, params->context,
		                           &plain->slots, error);
	if (!status && params->bias) status = take_plain_bias(plain, params->bias, error);
	if (!status && !(plain->shapes = plain_shapes_new(plain->slots)))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = start_threads(plain, error);
	if (status) plain_close(&plain);
	*out = plain;
	return status;
}

void plain_pause(struct plain *plain, bool paused) {
	plain->paused = paused;
}

void plain_stop(struct plain *plain) {
	// From here on the compiler leaves nothing to the engine thread.
	plain_shapes_stop(plain->shapes);
	stop_thread(plain, &plain->uncompiled, plain->compiler);
	stop_thread(plain, &plain->queue, plain->thread);
}

void plain_close(struct plain **plain) {
	if (!*plain) return;
	plain_shapes_free((*plain)->shapes);
	cuttle_slots_free(&(*plain)->slots);
	(void)pthread_mutex_destroy(&(*plain)->lock);
	(void)pthread_cond_destroy(&(*plain)->queue.wake);
	(void)pthread_cond_destroy(&(*plain)->uncompiled.wake);
	free((*plain)->in_slot);
	free((*plain)->name);
	json_decref((*plain)->bias);
	free(*plain);
	*plain = NULL;
}
