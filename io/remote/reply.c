// SPDX-License-Identifier: Apache-2.0
// How an answer is read: see reply.h. Before jansson sees the bytes, check_shape counts brackets
// and commas. So neither the stack nor the memory of the parser is the other side's to choose.
#include "io/remote/reply.h"

#include "io/disk/fail.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How a message about an answer begins. */
static const char MALFORMED[] = "the remote model's reply is malformed: ";

/* Whether bytes[size] is no deeper than REPLY_DEPTH and has no more than REPLY_VALUES values. Other
 * faults are left to the parser. */
static bool check_shape(const char *bytes, size_t size) {
	size_t depth = 0, values = 0;
	bool in_string = false;
	for (size_t i = 0; i < size; i++) {
		const char c = bytes[i];
		if (in_string) {
			if (c == '\\') i++;
			else if (c == '"') in_string = false;
			continue;
		}
		if (c == '"') in_string = true;
		if (c == '{' || c == '[' || c == ',') values++;
		if (c == '{' || c == '[') depth++;
		if ((c == '}' || c == ']') && depth) depth--;
		if (depth > REPLY_DEPTH || values > REPLY_VALUES) return false;
	}
	return true;
}

void reply_clean(const char *text, char code[REPLY_CODE]) {
	static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                           "0123456789_.-";
	size_t size = 0;
	for (; *text && size < REPLY_CODE - 1; text++)
		if (strchr(kept, *text)) code[size++] = *text;
	code[size] = 0;
}

/* A count that may be missing. False: it is there and is none. */
static bool read_count(const json_t *usage, const char *name, uint64_t *count) {
	const json_t *value = json_object_get(usage, name);
	if (!value || json_is_null(value)) return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
	*count = (uint64_t)json_integer_value(value);
	return true;
}

static bool is_unsaid(const json_t *value) {
	return !value || json_is_null(value);
}

/* Fills everything but the text, and points *text at that: "" for a null content. Returns the rule
 * that the answer breaks, or NULL. */
static const char *find_text(const json_t *root, bool chat, struct reply *reply,
                             const char **text) {
	const json_t *usage = json_object_get(root, "usage"),
	             *choice = json_array_get(json_object_get(root, "choices"), 0);
	if (!json_is_object(choice)) return "there is no choices[0]";
	const json_t *said = json_object_get(choice, chat ? "message" : "text");
	if (chat && !json_is_object(said)) return "choices[0] has no message";
	if (chat) said = json_object_get(said, "content");
	if (!json_is_string(said) && !(chat && json_is_null(said)))
		return chat ? "choices[0].message.content is no string"
		            : "choices[0].text is no string";
	*text = json_is_string(said) ? json_string_value(said) : "";
	const json_t *finish = json_object_get(choice, "finish_reason");
	if (!is_unsaid(finish) && !json_is_string(finish)) return "finish_reason is no string";
	if (json_is_string(finish)) reply_clean(json_string_value(finish), reply->finish);
	if (is_unsaid(usage)) return NULL;
	return json_is_object(usage) && read_count(usage, "prompt_tokens", &reply->prompt_tokens) &&
	               read_count(usage, "completion_tokens", &reply->completion_tokens)
	           ? NULL
	           : "usage has no counts";
}

enum cuttle_status reply_parse(const char *bytes, size_t size, bool chat, struct reply *reply,
                               struct cuttle_error *error) {
	json_error_t problem;
	const char *text = NULL;
	*reply = (struct reply){0};
	if (!check_shape(bytes, size))
		return io_fail(error, CUTTLE_REMOTE, "%sit is too deep, or has too many values",
		               MALFORMED);
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
	if (!root && json_error_code(&problem) == json_error_out_of_memory)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!root) return io_fail(error, CUTTLE_REMOTE, "%sit is no JSON in UTF-8", MALFORMED);
	const char *rule = find_text(root, chat, reply, &text);
	if (!rule) {
		reply->size = strlen(text);
		reply->text = strdup(text);
	}
	json_decref(root);
	if (!rule && reply->text) return CUTTLE_OK;
	*reply = (struct reply){0};
	if (!rule) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return io_fail(error, CUTTLE_REMOTE, "%s%s", MALFORMED, rule);
}

void reply_explain(const char *bytes, size_t size, struct reply_problem *problem) {
	static const char *const names[] = {"type", "code"};
	*problem = (struct reply_problem){.quota = false};
	if (!check_shape(bytes, size)) return;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	const json_t *told = json_object_get(root, "error");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *word = json_string_value(json_object_get(told, names[i]));
		if (!word) continue;
		problem->quota |= !strcmp(word, "insufficient_quota");
		if (*word) reply_clean(word, problem->code);
	}
	json_decref(root);
}

void reply_free(struct reply *reply) {
	free(reply->text);
	*reply = (struct reply){0};
}
