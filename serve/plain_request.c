// SPDX-License-Identifier: Apache-2.0
// plain_request.c: see plain_request.h. One table says what is read, what is ignored, and which
// values of other parameters change nothing; all else is refused by name.
#include "serve/plain_request.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum use { USE_READ, USE_IGNORED, USE_NEUTRAL };

struct parameter {
	const char *name;
	unsigned kinds; /* bits 1 << enum plain_kind */
	enum use use;
	/* USE_NEUTRAL: the values that ask for nothing, as JSON with | between. A number also
	 * stands for its other spelling, and 0 and 1 for false and true. */
	const char *neutral;
};

enum { OPENAI = 1 << PLAIN_COMPLETION | 1 << PLAIN_CHAT, ALL = OPENAI | 1 << PLAIN_LLAMA };

static const struct parameter PARAMETERS[] = {
    {"model", ALL, USE_READ, NULL},
    {"prompt", 1 << PLAIN_COMPLETION | 1 << PLAIN_LLAMA, USE_READ, NULL},
    {"messages", 1 << PLAIN_CHAT, USE_READ, NULL},
    {"max_tokens", OPENAI, USE_READ, NULL},
    {"max_completion_tokens", 1 << PLAIN_CHAT, USE_READ, NULL},
    {"n_predict", 1 << PLAIN_LLAMA, USE_READ, NULL},
    {"temperature", ALL, USE_READ, NULL},
    {"top_p", ALL, USE_READ, NULL},
    {"top_k", ALL, USE_READ, NULL},
    {"stop", ALL, USE_READ, NULL},
    {"seed", ALL, USE_READ, NULL},
    {"stream", ALL, USE_READ, NULL},
    {"stream_options", OPENAI, USE_READ, NULL},
    {"response_format", OPENAI, USE_READ, NULL},
    {"json_schema", ALL, USE_READ, NULL},
    {"grammar", ALL, USE_READ, NULL},
    {"user", OPENAI, USE_IGNORED, NULL},
    {"metadata", OPENAI, USE_IGNORED, NULL},
    {"store", OPENAI, USE_IGNORED, NULL},
    {"cache_prompt", 1 << PLAIN_LLAMA, USE_IGNORED, NULL},
    {"n", OPENAI, USE_NEUTRAL, "1"},
    {"best_of", OPENAI, USE_NEUTRAL, "1"},
    {"echo", OPENAI, USE_NEUTRAL, "0"},
    {"suffix", 1 << PLAIN_COMPLETION, USE_NEUTRAL, "\"\""},
    {"logprobs", 1 << PLAIN_CHAT, USE_NEUTRAL, "0"},
    {"top_logprobs", 1 << PLAIN_CHAT, USE_NEUTRAL, "0"},
    {"presence_penalty", ALL, USE_NEUTRAL, "0"},
    {"frequency_penalty", ALL, USE_NEUTRAL, "0"},
    {"repeat_penalty", ALL, USE_NEUTRAL, "1"},
    {"repetition_penalty", ALL, USE_NEUTRAL, "1"},
    {"min_p", ALL, USE_NEUTRAL, "0"},
    {"typical_p", ALL, USE_NEUTRAL, "1"},
    {"mirostat", ALL, USE_NEUTRAL, "0"},
    {"logit_bias", ALL, USE_NEUTRAL, "{}|[]"},
    {"tools", 1 << PLAIN_CHAT, USE_NEUTRAL, "[]"},
    {"functions", 1 << PLAIN_CHAT, USE_NEUTRAL, "[]"},
    // Without tools all of these choose nothing.
    {"tool_choice", 1 << PLAIN_CHAT, USE_NEUTRAL, "\"none\"|\"auto\""},
    {"function_call", 1 << PLAIN_CHAT, USE_NEUTRAL, "\"none\"|\"auto\""},
    {"parallel_tool_calls", 1 << PLAIN_CHAT, USE_NEUTRAL, "0|1"},
    {"modalities", 1 << PLAIN_CHAT, USE_NEUTRAL, "[\"text\"]"},
    {"service_tier", OPENAI, USE_NEUTRAL, "\"auto\"|\"default\""},
};

static bool __attribute__((format(printf, 3, 4)))
refuse_plain_value(struct http_reply *reply, const char *name, const char *must, ...) {
	char text[160];
	va_list arguments;
	va_start(arguments, must);
	(void)vsnprintf(text, sizeof text, must, arguments);
	va_end(arguments);
	http_fail(reply, 400, "invalid_request_error", "invalid_value", name, "%s %s", name, text);
	return false;
}

static bool is_neutral(const json_t *value, const char *neutral) {
	for (const char *at = neutral;; at++) {
		const size_t size = strcspn(at, "|");
		json_t *one = json_loadb(at, size, JSON_DECODE_ANY, NULL);
		const double number =
		    json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
		const bool numbers = json_is_number(one) &&
		                     (json_is_number(value) || json_is_boolean(value)),
		           same =
		               numbers ? number == json_number_value(one) : json_equal(one, value);
		json_decref(one);
		if (same) return true;
		at += size;
		if (!*at) return false;
	}
}

/* Whether all members may be there. */
static bool check_names(struct plain_request *r, struct http_reply *reply) {
	const char *name;
	json_t *value;
	json_object_foreach(r->body, name, value) {
		const struct parameter *found = NULL;
		for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++)
			if (!strcmp(PARAMETERS[i].name, name) &&
			    PARAMETERS[i].kinds & 1U << r->kind)
				found = &PARAMETERS[i];
		if (!strcmp(name, "privacy")) {
			http_fail(reply, 400, "invalid_request_error", "unsupported_parameter",
			          "privacy",
			          "nothing is protected here: clients repeat requests by "
			          "themselves, and each repeat would draw again. Private work is "
			          "a job, POST /v1/jobs");
			return false;
		}
		if (json_is_null(value)) continue;
		if (found && (found->use != USE_NEUTRAL || is_neutral(value, found->neutral)))
			continue;
		const bool shown = strlen(name) <= 64;
		if (found)
			http_fail(reply, 400, "invalid_request_error", "unsupported_parameter",
			          name, "%s: only %s, which asks for nothing, is supported here",
			          name, found->neutral);
		else
			http_fail(reply, 400, "invalid_request_error", "unsupported_parameter",
			          shown ? name : NULL, "%s is not supported here",
			          shown ? name : "a parameter");
		return false;
	}
	return true;
}

/* NULL where it is absent or null. */
static const json_t *given(const struct plain_request *r, const char *name) {
	const json_t *value = json_object_get(r->body, name);
	return json_is_null(value) ? NULL : value;
}

static bool read_plain_number(const struct plain_request *r, const char *name, json_int_t least,
                              json_int_t most, json_int_t *count, struct http_reply *reply) {
	const json_t *value = given(r, name);
	if (!value) return true;
	if (!json_is_integer(value) || json_integer_value(value) < least ||
	    json_integer_value(value) > most)
		return refuse_plain_value(reply, name, "must be a whole number from %lld to %lld",
		                          (long long)least, (long long)most);
	*count = json_integer_value(value);
	return true;
}

static bool read_real(const struct plain_request *r, const char *name, double most, double *real,
                      struct http_reply *reply) {
	const json_t *value = given(r, name);
	if (!value) return true;
	const double number = json_number_value(value);
	if (!json_is_number(value) || !(number >= 0 && number <= most))
		return refuse_plain_value(reply, name, "must be a number from 0 to %g", most);
	*real = number;
	return true;
}

static bool read_flag(const json_t *value, const char *name, bool *flag, struct http_reply *reply) {
	if (!value || json_is_null(value)) return true;
	if (!json_is_boolean(value))
		return refuse_plain_value(reply, name, "must be true or false");
	*flag = json_is_true(value);
	return true;
}

static bool read_stop(struct plain_request *r, const json_t *value) {
	const size_t size = json_string_length(value);
	if (!json_is_string(value) || size < 1 || size > PLAIN_STOP_BYTES ||
	    r->stop_count == PLAIN_STOPS)
		return false;
	r->stops[r->stop_count++] = json_string_value(value);
	return true;
}

static bool read_stops(struct plain_request *r, struct http_reply *reply) {
	const json_t *value = given(r, "stop");
	bool right = true;
	if (json_is_array(value))
		for (size_t i = 0; i < json_array_size(value); i++)
			right = right && read_stop(r, json_array_get(value, i));
	else right = !value || read_stop(r, value);
	return right ||
	       refuse_plain_value(reply, "stop", "must be up to 4 strings of 1 to 256 bytes");
}

/* Puts one string in place of parts of type "text": the parts, one behind the other. False: there
 * is a part of another type, or no memory. */
static bool join_parts(json_t *message, const json_t *parts) {
	char *text = NULL;
	size_t size = 0, index;
	const json_t *part;
	FILE *out = open_memstream(&text, &size);
	bool right = out && json_array_size(parts) > 0;
	json_array_foreach((json_t *)(uintptr_t)parts, index, part) {
		const char *type = json_string_value(json_object_get(part, "type"));
		const json_t *piece = json_object_get(part, "text");
		right = right && type && !strcmp(type, "text") && json_is_string(piece);
		if (right)
			(void)fwrite(json_string_value(piece), 1, json_string_length(piece), out);
	}
	right = out && !fclose(out) && right;
	right = right && !json_object_set_new(message, "content", json_stringn(text, size));
	free(text);
	return right;
}

static bool read_chat_message(json_t *value, size_t index, struct cuttle_message *message,
                              struct http_reply *reply) {
	static const struct {
		const char *name;
		enum cuttle_speaker speaker;
	} roles[] = {{"system", CUTTLE_SYSTEM},
	             {"developer", CUTTLE_SYSTEM},
	             {"user", CUTTLE_USER},
	             {"assistant", CUTTLE_ASSISTANT}};
	const char *role = json_string_value(json_object_get(value, "role"));
	const json_t *content = json_object_get(value, "content");
	size_t i = 0;
	while (i < 4 && !(role && !strcmp(role, roles[i].name))) i++;
	if (i == 4)
		return refuse_plain_value(reply, "messages",
		                          "[%zu].role must be system, developer, user or assistant",
		                          index);
	if (json_is_array(content) && !join_parts(value, content)) content = NULL;
	else content = json_object_get(value, "content");
	if (!json_is_string(content))
		return refuse_plain_value(
		    reply, "messages",
		    "[%zu].content must be a text, or parts of type text with a text each", index);
	*message = (struct cuttle_message){roles[i].speaker, json_string_value(content),
	                                   json_string_length(content)};
	return true;
}

static bool read_messages(struct plain_request *r, struct http_reply *reply) {
	json_t *list = json_object_get(r->body, "messages");
	r->message_count = json_array_size(list);
	r->messages = r->message_count ? calloc(r->message_count, sizeof *r->messages) : NULL;
	if (!r->messages)
		return refuse_plain_value(reply, "messages", "must be a list of messages");
	for (size_t i = 0; i < r->message_count; i++) {
		if (!read_chat_message(json_array_get(list, i), i, &r->messages[i], reply))
			return false;
		r->bytes += r->messages[i].size;
	}
	return true;
}

static bool read_prompt(struct plain_request *r, struct http_reply *reply) {
	const json_t *prompt = json_object_get(r->body, "prompt");
	if (r->kind == PLAIN_CHAT) return read_messages(r, reply);
	if (json_is_array(prompt) && json_array_size(prompt) == 1)
		prompt = json_array_get(prompt, 0);
	if (!json_is_string(prompt))
		return refuse_plain_value(reply, "prompt", "must be one string");
	r->prompt = json_string_value(prompt);
	r->bytes = r->prompt_size = json_string_length(prompt);
	return true;
}

static bool read_length(struct plain_request *r, struct http_reply *reply) {
	json_int_t tokens = 0;
	if (!read_plain_number(r, "max_tokens", 1, 1 << 20, &tokens, reply) ||
	    !read_plain_number(r, "max_completion_tokens", 1, 1 << 20, &tokens, reply) ||
	    !read_plain_number(r, "n_predict", -1, 1 << 20, &tokens, reply))
		return false;
	// OpenAI's own default for completions is 16 tokens; a chat and llama.cpp have none.
	if (tokens < 1 && r->kind == PLAIN_COMPLETION) tokens = 16;
	r->open_length = tokens < 1;
	if (tokens > 0) r->draw.tokens = (uint32_t)tokens;
	return true;
}

static bool read_drawing(struct plain_request *r, struct http_reply *reply) {
	json_int_t top_k = 0, seed = -1;
	if (!read_real(r, "temperature", 2, &r->draw.temperature, reply) ||
	    !read_real(r, "top_p", 1, &r->draw.top_p, reply) ||
	    !read_plain_number(r, "top_k", -1, INT32_MAX, &top_k, reply) ||
	    !read_plain_number(r, "seed", INT64_MIN, INT64_MAX, &seed, reply))
		return false;
	if (r->draw.top_p == 0)
		return refuse_plain_value(reply, "top_p", "must be above 0, and at most 1");
	if (r->draw.temperature > 0 && r->draw.temperature < 1e-6) r->draw.temperature = 0;
	r->draw.top_k = top_k > 0 ? (uint32_t)top_k : 0; // -1, as vLLM has it, is all
	r->draw.seed = (uint64_t)seed;
	r->draw.seeded = given(r, "seed") && !(r->kind == PLAIN_LLAMA && seed == -1);
	return true;
}

static bool read_streaming(struct plain_request *r, struct http_reply *reply) {
	const json_t *options = given(r, "stream_options");
	if (options && !json_is_object(options))
		return refuse_plain_value(reply, "stream_options", "must be an object");
	return read_flag(given(r, "stream"), "stream", &r->stream, reply) &&
	       read_flag(json_object_get(options, "include_usage"), "stream_options",
	                 &r->include_usage, reply);
}

static bool check_served_model(const struct plain_request *r, const char *model,
                               struct http_reply *reply) {
	const json_t *name = given(r, "model");
	if (!name || (json_is_string(name) && !strcmp(json_string_value(name), model))) return true;
	http_fail(reply, 404, "invalid_request_error", "model_not_found", "model",
	          "this server has another model: GET /v1/models tells its name");
	return false;
}

bool plain_request_read(enum plain_kind kind, const json_t *body, const char *model,
                        struct plain_request *request, struct http_reply *reply) {
	*request = (struct plain_request){.kind = kind, .body = json_deep_copy(body)};
	cuttle_slot_params_default(&request->draw);
	if (!request->body) {
		http_json(reply, 500, NULL);
		return false;
	}
	request->draw.opens_text = kind == PLAIN_CHAT;
	if (check_names(request, reply) && check_served_model(request, model, reply) &&
	    read_prompt(request, reply) && read_length(request, reply) &&
	    read_drawing(request, reply) && read_stops(request, reply) &&
	    read_streaming(request, reply) &&
	    plain_shape_read(request->body, &request->shape, reply))
		return true;
	plain_request_free(request);
	return false;
}

void plain_request_free(struct plain_request *request) {
	json_decref(request->body);
	plain_shape_free(&request->shape);
	free(request->messages);
	*request = (struct plain_request){0};
}
