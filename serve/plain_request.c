// SPDX-License-Identifier: Apache-2.0
// plain_request.c: see plain_request.h. One table says what is read, what is ignored, and which
// values of other parameters change nothing; all else is refused by name.
#include "serve/plain_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum use { USE_READ, USE_IGNORED, USE_NEUTRAL };

struct parameter {
	const char *name;
	unsigned kinds; /* bits 1 << enum plain_kind */
	enum use use;
	double neutral; /* USE_NEUTRAL: the number, or false, that asks for nothing */
};

enum { OPENAI = 1 << PLAIN_COMPLETION | 1 << PLAIN_CHAT, ALL = OPENAI | 1 << PLAIN_LLAMA };

static const struct parameter PARAMETERS[] = {
    {"model", ALL, USE_READ, 0},
    {"prompt", 1 << PLAIN_COMPLETION | 1 << PLAIN_LLAMA, USE_READ, 0},
    {"messages", 1 << PLAIN_CHAT, USE_READ, 0},
    {"max_tokens", OPENAI, USE_READ, 0},
    {"max_completion_tokens", 1 << PLAIN_CHAT, USE_READ, 0},
    {"n_predict", 1 << PLAIN_LLAMA, USE_READ, 0},
    {"temperature", ALL, USE_READ, 0},
    {"top_p", ALL, USE_READ, 0},
    {"top_k", ALL, USE_READ, 0},
    {"stop", ALL, USE_READ, 0},
    {"seed", ALL, USE_READ, 0},
    {"stream", ALL, USE_READ, 0},
    {"stream_options", OPENAI, USE_READ, 0},
    {"user", OPENAI, USE_IGNORED, 0},
    {"metadata", OPENAI, USE_IGNORED, 0},
    {"store", OPENAI, USE_IGNORED, 0},
    {"cache_prompt", 1 << PLAIN_LLAMA, USE_IGNORED, 0},
    {"n", OPENAI, USE_NEUTRAL, 1},
    {"best_of", OPENAI, USE_NEUTRAL, 1},
    {"echo", OPENAI, USE_NEUTRAL, 0},
    {"logprobs", 1 << PLAIN_CHAT, USE_NEUTRAL, 0},
    {"presence_penalty", ALL, USE_NEUTRAL, 0},
    {"frequency_penalty", ALL, USE_NEUTRAL, 0},
};

static bool refuse_plain_value(struct http_reply *reply, const char *name, const char *must) {
	http_fail(reply, 400, "invalid_request_error", "invalid_value", name, "%s %s", name, must);
	return false;
}

static bool is_neutral(const json_t *value, double neutral) {
	if (json_is_boolean(value)) return (json_is_true(value) ? 1 : 0) == neutral;
	return json_is_number(value) && json_number_value(value) == neutral;
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
			          "themselves, and each repeat would draw again; private work is a "
			          "job, POST /v1/jobs");
			return false;
		}
		if (json_is_null(value)) continue;
		if (found && (found->use != USE_NEUTRAL || is_neutral(value, found->neutral)))
			continue;
		// A name that is known here is ours; another one is the client's, and not repeated.
		http_fail(reply, 400, "invalid_request_error", "unsupported_parameter",
		          strlen(name) <= 64 ? name : NULL, "this parameter is not supported here");
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
		return refuse_plain_value(reply, name, "must be a whole number in its range");
	*count = json_integer_value(value);
	return true;
}

static bool read_real(const struct plain_request *r, const char *name, double most, double *real,
                      struct http_reply *reply) {
	const json_t *value = given(r, name);
	if (!value) return true;
	const double number = json_number_value(value);
	if (!json_is_number(value) || !(number >= 0 && number <= most))
		return refuse_plain_value(reply, name, "must be a number in its range");
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
	       refuse_plain_value(reply, "stop", "must be 1 to 4 strings of 1 to 256 bytes");
}

/* The text of a message: a string, or parts of type "text" whose one string is taken. */
static const json_t *find_message_text(const json_t *content) {
	if (!json_is_array(content) || json_array_size(content) != 1) return content;
	const json_t *part = json_array_get(content, 0), *type = json_object_get(part, "type");
	return json_is_string(type) && !strcmp(json_string_value(type), "text")
	           ? json_object_get(part, "text")
	           : NULL;
}

static bool read_chat_message(const json_t *value, struct cuttle_message *message) {
	static const struct {
		const char *name;
		enum cuttle_speaker speaker;
	} roles[] = {{"system", CUTTLE_SYSTEM},
	             {"developer", CUTTLE_SYSTEM},
	             {"user", CUTTLE_USER},
	             {"assistant", CUTTLE_ASSISTANT}};
	const char *role = json_string_value(json_object_get(value, "role"));
	const json_t *content = find_message_text(json_object_get(value, "content"));
	if (!role || !json_is_string(content)) return false;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (!strcmp(role, roles[i].name)) {
			*message =
			    (struct cuttle_message){roles[i].speaker, json_string_value(content),
			                            json_string_length(content)};
			return true;
		}
	return false;
}

static bool read_messages(struct plain_request *r, struct http_reply *reply) {
	const json_t *list = json_object_get(r->body, "messages");
	r->message_count = json_array_size(list);
	r->messages = r->message_count ? calloc(r->message_count, sizeof *r->messages) : NULL;
	bool right = r->messages != NULL;
	for (size_t i = 0; i < r->message_count && right; i++) {
		right = read_chat_message(json_array_get(list, i), &r->messages[i]);
		r->bytes += r->messages[i].size;
	}
	return right ||
	       refuse_plain_value(reply, "messages",
	                          "must be objects with a role (system, user, assistant) and "
	                          "a text as content");
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
	    !read_plain_number(r, "top_k", 0, INT32_MAX, &top_k, reply) ||
	    !read_plain_number(r, "seed", INT64_MIN, INT64_MAX, &seed, reply))
		return false;
	if (r->draw.top_p == 0) return refuse_plain_value(reply, "top_p", "must be above 0");
	if (r->draw.temperature > 0 && r->draw.temperature < 1e-6) r->draw.temperature = 0;
	r->draw.top_k = (uint32_t)top_k;
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
	    read_streaming(request, reply))
		return true;
	plain_request_free(request);
	return false;
}

void plain_request_free(struct plain_request *request) {
	json_decref(request->body);
	free(request->messages);
	*request = (struct plain_request){0};
}
