// SPDX-License-Identifier: Apache-2.0
// plain_answer.c: see plain_answer.h. The shapes are those of OpenAI's API and of llama.cpp's
// /completion.
#include "serve/plain_answer.h"

#include "io/disk/jsonout.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SENT_AT_ONCE = 16 << 10 /* bytes of events, at most but for one event */ };

struct plain_work *plain_work_new(struct plain_request *request) {
	unsigned char random[12];
	char hex[2 * sizeof random + 1];
	struct plain_work *work = calloc(1, sizeof *work);
	if (!work) {
		plain_request_free(request);
		return NULL;
	}
	work->request = *request;
	work->text.stops = work->request.stops;
	work->text.stop_count = work->request.stop_count;
	work->created = (json_int_t)time(NULL);
	randombytes_buf(random, sizeof random);
	(void)snprintf(work->id, sizeof work->id, "%s%s",
	               request->kind == PLAIN_CHAT ? "chatcmpl-" : "cmpl-",
	               sodium_bin2hex(hex, sizeof hex, random, sizeof random));
	return work;
}

void plain_work_free(struct plain_work *work) {
	if (work->stream) http_stream_end(work->stream);
	plain_follow_end(work->follow);
	plain_request_free(&work->request);
	plain_text_free(&work->text);
	free(work->pending);
	free(work);
}

static json_t *count_usage(const struct plain_work *work) {
	return json_pack("{s:I,s:I,s:I}", "prompt_tokens", (json_int_t)work->prompt_tokens,
	                 "completion_tokens", (json_int_t)work->tokens, "total_tokens",
	                 (json_int_t)work->prompt_tokens + (json_int_t)work->tokens);
}

json_t *plain_answer(const struct plain_work *work, const char *model) {
	const bool chat = work->request.kind == PLAIN_CHAT;
	json_t *text = jsonout_text(work->text.bytes ? work->text.bytes : "", work->text.size);
	if (!text) return NULL;
	if (work->request.kind == PLAIN_LLAMA)
		return json_pack("{s:o,s:b,s:s,s:s,s:I,s:I}", "content", text, "stop", 1, "model",
		                 model, "stop_type",
		                 !strcmp(work->finish, "length") ? "limit"
		                 : work->text.stopped            ? "word"
		                                                 : "eos",
		                 "tokens_predicted", (json_int_t)work->tokens, "tokens_evaluated",
		                 (json_int_t)work->prompt_tokens);
	json_t *choice = chat ? json_pack("{s:i,s:{s:s,s:o},s:n,s:s}", "index", 0, "message",
	                                  "role", "assistant", "content", text, "logprobs",
	                                  "finish_reason", work->finish)
	                      : json_pack("{s:i,s:o,s:n,s:s}", "index", 0, "text", text, "logprobs",
	                                  "finish_reason", work->finish);
	return choice ? json_pack("{s:s,s:s,s:I,s:s,s:[o],s:o}", "id", work->id, "object",
	                          chat ? "chat.completion" : "text_completion", "created",
	                          work->created, "model", model, "choices", choice, "usage",
	                          count_usage(work))
	              : NULL;
}

/* Appends bytes to what is pending. */
static void add_pending(struct plain_work *work, const char *bytes, size_t size) {
	if (work->pending_size + size > work->pending_capacity) {
		const size_t wanted = 2 * (work->pending_size + size);
		char *const grown = realloc(work->pending, wanted);
		if (!grown) {
			work->gone = true;
			return;
		}
		work->pending = grown;
		work->pending_capacity = wanted;
	}
	memcpy(work->pending + work->pending_size, bytes, size);
	work->pending_size += size;
}

/* Appends "data: JSON\n\n". Takes root. */
static void add_event(struct plain_work *work, json_t *root) {
	size_t size;
	char *text = jsonout_dump(root, JSON_COMPACT, &size);
	if (!text) {
		work->gone = true;
		return;
	}
	add_pending(work, "data: ", 6);
	add_pending(work, text, size);
	add_pending(work, "\n", 1);
	free(text);
}

/* A chunk with one choice, or with none (NULL). Takes choice and usage. */
static json_t *make_chunk(const struct plain_work *work, const char *model, json_t *choice,
                          json_t *usage) {
	json_t *choices = json_array();
	if (choice && json_array_append_new(choices, choice) != 0) {
		json_decref(choices);
		choices = NULL;
	}
	json_t *chunk = json_pack("{s:s,s:s,s:I,s:s,s:o}", "id", work->id, "object",
	                          work->request.kind == PLAIN_CHAT ? "chat.completion.chunk"
	                                                           : "text_completion",
	                          "created", work->created, "model", model, "choices", choices);
	return usage ? jsonout_extend(chunk, &(struct jsonout_member){"usage", usage}, 1) : chunk;
}

/* Tells some text. Takes text. */
static void tell_text(struct plain_work *work, const char *model, json_t *text) {
	if (work->request.kind == PLAIN_LLAMA) {
		add_event(work, json_pack("{s:o,s:b}", "content", text, "stop", 0));
		return;
	}
	json_t *choice;
	if (work->request.kind == PLAIN_COMPLETION)
		choice = json_pack("{s:i,s:o,s:n,s:n}", "index", 0, "text", text, "logprobs",
		                   "finish_reason");
	else if (work->opened)
		choice = json_pack("{s:i,s:{s:o},s:n}", "index", 0, "delta", "content", text,
		                   "finish_reason");
	else
		choice = json_pack("{s:i,s:{s:s,s:o},s:n}", "index", 0, "delta", "role",
		                   "assistant", "content", text, "finish_reason");
	add_event(work, choice ? make_chunk(work, model, choice, NULL) : NULL);
}

static void tell_end(struct plain_work *work, const char *model) {
	if (work->request.kind == PLAIN_LLAMA) {
		// The text was told; of the whole answer the rest is wanted.
		json_t *answer = plain_answer(work, model);
		if (answer) (void)json_object_set_new(answer, "content", json_string(""));
		add_event(work, answer);
		return;
	}
	json_t *choice =
	    work->request.kind == PLAIN_CHAT
	        ? json_pack("{s:i,s:{},s:s}", "index", 0, "delta", "finish_reason", work->finish)
	        : json_pack("{s:i,s:s,s:n,s:s}", "index", 0, "text", "", "logprobs",
	                    "finish_reason", work->finish);
	add_event(work, choice ? make_chunk(work, model, choice, NULL) : NULL);
	if (work->request.include_usage)
		add_event(work, make_chunk(work, model, NULL, count_usage(work)));
	static const char done[] = "data: [DONE]\n\n";
	add_pending(work, done, sizeof done - 1);
}

void plain_tell(struct plain_work *work, const char *model) {
	const size_t size = plain_text_ready(&work->text, work->finish != NULL);
	if (size || (!work->opened && work->request.kind == PLAIN_CHAT)) {
		json_t *text =
		    jsonout_text(work->text.bytes ? work->text.bytes + work->text.told : "", size);
		if (text) tell_text(work, model, text);
		else work->gone = true;
		work->text.told += size;
		work->opened = true;
	}
	if (work->finish) tell_end(work, model);
}

void plain_tell_failure(struct plain_work *work, const char *code, const char *message) {
	add_event(work, json_pack("{s:{s:s,s:s,s:n,s:s}}", "error", "message", message, "type",
	                          "server_error", "param", "code", code));
	work->finish = "stop";
}

/* The longest beginning of bytes[size] that is whole events and not above SENT_AT_ONCE; at least
 * one event. */
static size_t measure_events(const char *bytes, size_t size) {
	size_t taken = 0;
	while (taken < size) {
		const char *const end = memmem(bytes + taken, size - taken, "\n\n", 2);
		const size_t next = end ? (size_t)(end - bytes) + 2 : size;
		if (taken && next > SENT_AT_ONCE) break;
		taken = next;
	}
	return taken;
}

bool plain_flush(struct plain_work *work) {
	while (work->pending_size && !work->gone) {
		// Whole events only, since the server may put a keep-alive between two sends.
		const size_t size = measure_events(work->pending, work->pending_size);
		switch (http_stream_send(work->stream, work->pending, size)) {
		case HTTP_GONE:
			work->gone = true;
			break;
		case HTTP_FULL:
			return false;
		case HTTP_SENT:
			work->pending_size -= size;
			memmove(work->pending, work->pending + size, work->pending_size);
			break;
		}
	}
	return true;
}
