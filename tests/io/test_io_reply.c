// SPDX-License-Identifier: Apache-2.0
// Tests io/remote/reply.c. It fails if a right answer is read wrongly, if a malformed one is
// accepted, if a message has a word of an answer, or if a failure leaves something behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "io/remote/reply.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cuttle_error error;

static enum cuttle_status parse(const char *bytes, bool chat, struct reply *reply) {
	error.message[0] = 0;
	return reply_parse(bytes, strlen(bytes), chat, reply, &error);
}

static void answers_are_read(void **state) {
	(void)state;
	static const struct {
		const char *bytes, *text, *finish;
		bool chat;
		uint64_t prompt, completion;
	} cases[] = {
	    {"{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\","
	     "\"choices\":"
	     "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Once\\n\\u00e9\"},"
	     "\"logprobs\":null,\"finish_reason\":\"stop\"},{\"message\":{\"content\":\"Two\"}}],"
	     "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21}}",
	     "Once\n\xC3\xA9", "stop", true, 9, 12},
	    {" {\"choices\":[{\"text\":\" upon\",\"finish_reason\":\"length\"}]} \n", " upon",
	     "length", false, 0, 0},
	    {"{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"No\"},\"finish_reason\":"
	     "\"content_filter\"}],\"usage\":null}",
	     "", "content_filter", true, 0, 0},
	    {"{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":null}],\"usage\":{"
	     "\"prompt_tokens\":null}}",
	     "", "", true, 0, 0},
	    {"{\"choices\":[{\"text\":\"[[{{\\\"\\\\\",\"finish_reason\":\"a b\\u001b[\\n!\"}]}",
	     "[[{{\"\\", "ab", false, 0, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct reply reply;
		assert_int_equal(parse(cases[i].bytes, cases[i].chat, &reply), CUTTLE_OK);
		assert_string_equal(reply.text, cases[i].text);
		assert_int_equal(reply.size, strlen(cases[i].text));
		assert_string_equal(reply.finish, cases[i].finish);
		assert_int_equal(reply.prompt_tokens, cases[i].prompt);
		assert_int_equal(reply.completion_tokens, cases[i].completion);
		reply_free(&reply);
		assert_null(reply.text);
	}
}

static void refused(const char *bytes, size_t size, bool chat) {
	struct reply reply = {.size = 7};
	error.message[0] = 0;
	assert_int_equal(reply_parse(bytes, size, chat, &reply, &error), CUTTLE_REMOTE);
	assert_null(reply.text);
	assert_true(!reply.size && !*reply.finish && !reply.prompt_tokens);
	assert_true(*error.message);
	assert_null(strstr(error.message, "SECRET"));
}

#define CHAT(rest) "{\"choices\":[{\"message\":{\"content\":\"SECRET\"}" rest

static void malformed_answers(void **state) {
	(void)state;
	static const char *const chats[] = {
	    "",
	    "SECRET",
	    "null",
	    "[]",
	    "\"SECRET\"",
	    "{}",
	    "{\"choices\":null}",
	    "{\"choices\":{}}",
	    "{\"choices\":[]}",
	    "{\"choices\":[null]}",
	    "{\"choices\":[[]]}",
	    "{\"choices\":[{}]}",
	    "{\"choices\":[{\"message\":null}]}",
	    "{\"choices\":[{\"message\":\"SECRET\"}]}",
	    "{\"choices\":[{\"message\":{}}]}",
	    "{\"choices\":[{\"message\":{\"content\":5}}]}",
	    "{\"choices\":[{\"message\":{\"content\":[\"SECRET\"]}}]}",
	    "{\"choices\":[{\"message\":{\"content\":{\"text\":\"SECRET\"}}}]}",
	    "{\"choices\":[{\"text\":\"SECRET\"}]}",
	    CHAT(",\"finish_reason\":5}]}"),
	    CHAT(",\"finish_reason\":[]}]}"),
	    CHAT("}],\"usage\":5}"),
	    CHAT("}],\"usage\":[]}"),
	    CHAT("}],\"usage\":{\"prompt_tokens\":-1}}"),
	    CHAT("}],\"usage\":{\"prompt_tokens\":1.5}}"),
	    CHAT("}],\"usage\":{\"prompt_tokens\":\"1\"}}"),
	    CHAT("}],\"usage\":{\"completion_tokens\":true}}"),
	    CHAT("}],\"usage\":{\"completion_tokens\":9223372036854775808}}"),
	    CHAT("}],\"usage\":{\"completion_tokens\":1e999}}"),
	    CHAT("}]"),
	    CHAT("}]}}"),
	    CHAT("}]} SECRET"),
	    CHAT("}]}") CHAT("}]}"),
	    CHAT(",}]}"),
	    CHAT("}],\"choices\":[]}"),
	    CHAT(",\"message\":{\"content\":\"b\"}}]}"),
	    "{\"choices\":[{\"message\":{\"content\":\"a\",\"content\":\"SECRET\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\\u0000\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\\ud800\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\\udc00\\ud800\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\xFF\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\xC0\x80\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\xED\xA0\x80\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\xF4\x90\x80\x80\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\n\"}}]}",
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\\x\"}}]}",
	    "{'choices':[{'message':{'content':'SECRET'}}]}",
	    "\xEF\xBB\xBF" CHAT("}]}"),
	    "data: " CHAT("}]}"),
	    "{\"choices\":[{\"message\":{\"content\":\"SECRET\xC3\"}}]}"};
	static const char *const texts[] = {"{\"choices\":[{\"text\":null}]}", CHAT("}]}"),
	                                    "{\"choices\":[{\"text\":[]}]}"};
	for (size_t i = 0; i < sizeof chats / sizeof *chats; i++)
		refused(chats[i], strlen(chats[i]), true);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		refused(texts[i], strlen(texts[i]), false);
	static const char nul[] = "{\"choices\":[{\"message\":{\"content\":\"SECRET\0\"}}]}";
	refused(nul, sizeof nul - 1, true);
	refused(nul, 0, true);
}

/* An answer with `depth` arrays in each other and `values` empty texts, beside the right text. */
static size_t crowded(char *bytes, size_t depth, size_t values) {
	size_t size = (size_t)sprintf(bytes, "{\"choices\":[{\"text\":\"a\"}],\"b\":");
	memset(bytes + size, '[', depth);
	size += depth;
	for (size_t i = 0; i < values; i++) {
		memcpy(bytes + size, "\"\",", 3);
		size += 3;
	}
	memcpy(bytes + size, "\"\"", 2);
	size += 2;
	memset(bytes + size, ']', depth);
	size += depth;
	bytes[size++] = '}';
	return size;
}

static void depth_and_number_are_bounded(void **state) {
	(void)state;
	char *bytes = malloc(1 << 20);
	struct reply reply;
	// One level is the object's. Four of the values are brackets and commas around the text.
	for (size_t depth = 1; depth < 40; depth++) {
		const size_t size = crowded(bytes, depth, 0);
		assert_int_equal(reply_parse(bytes, size, false, &reply, &error),
		                 depth < REPLY_DEPTH ? CUTTLE_OK : CUTTLE_REMOTE);
		reply_free(&reply);
	}
	for (size_t values = REPLY_VALUES - 10; values < REPLY_VALUES + 3; values++) {
		const size_t size = crowded(bytes, 1, values);
		assert_int_equal(reply_parse(bytes, size, false, &reply, &error),
		                 values + 5 <= REPLY_VALUES ? CUTTLE_OK : CUTTLE_REMOTE);
		reply_free(&reply);
	}
	// Deep enough to end the stack of a parser that calls itself.
	memset(bytes, '[', 1 << 20);
	refused(bytes, 1 << 20, true);
	struct reply_problem problem;
	reply_explain(bytes, 1 << 20, &problem);
	assert_string_equal(problem.code, "");
	// Brackets within a text are no brackets, behind an escaped quotation mark neither.
	size_t size = (size_t)sprintf(bytes, "{\"choices\":[{\"text\":\"\\\"\\\\");
	memset(bytes + size, '[', 70000);
	size += 70000;
	size += (size_t)sprintf(bytes + size, "\"}]}");
	assert_int_equal(reply_parse(bytes, size, false, &reply, &error), CUTTLE_OK);
	assert_int_equal(reply.size, 70002);
	reply_free(&reply);
	free(bytes);
}

/* 2,000 answers, each cut, changed in some bytes, or with a piece of it twice. Most are malformed.
 * One that is not must give a text that is whole. */
static void changed_answers(void **state) {
	(void)state;
	static const char right[] =
	    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
	    "\"content\":\"SECRET \\u00e9\\ud83d\\udc19 \xC3\xA9\"},\"finish_reason\":\"stop\"}],"
	    "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12}}";
	uint64_t random = nightly_seed(20);
	size_t malformed = 0;
	for (size_t i = 0; i < 2000; i++) {
		size_t size = sizeof right - 1;
		char *bytes = malloc(2 * size);
		memcpy(bytes, right, size);
		const size_t at = (size_t)(tiny_random(&random) % size),
		             part = (size_t)(tiny_random(&random) % (size - at)) + 1;
		if (i % 4 == 0) size = at;
		if (i % 4 == 1) bytes[at] = (char)tiny_random(&random);
		if (i % 4 == 2) bytes[at] ^= (char)(1 << tiny_random(&random) % 8);
		if (i % 4 == 3) {
			memmove(bytes + at + part, bytes + at, size - at);
			size += part;
		}
		// Of just the size, so that a sanitizer sees a step beyond it.
		char *exact = malloc(size ? size : 1);
		memcpy(exact, bytes, size);
		struct reply reply;
		struct reply_problem problem;
		const enum cuttle_status status = reply_parse(exact, size, true, &reply, &error);
		reply_explain(exact, size, &problem);
		assert_true(status == CUTTLE_OK || status == CUTTLE_REMOTE);
		if (status) assert_null(strstr(error.message, "SECRET"));
		else assert_true(utf8_valid(reply.text, reply.size));
		assert_true(status || strlen(reply.text) == reply.size);
		malformed += status != CUTTLE_OK;
		reply_free(&reply);
		free(exact);
		free(bytes);
	}
	assert_true(malformed > 1000);
}

static void what_a_refusal_says(void **state) {
	(void)state;
	static const struct {
		const char *bytes, *code;
		bool quota;
	} cases[] = {
	    {"{\"error\":{\"type\":\"a\",\"code\":\"b\"}}", "b", false},
	    {"{\"error\":{\"code\":\"b\",\"type\":\"a\"}}", "b", false},
	    {"{\"error\":{\"type\":\"a\",\"code\":null}}", "a", false},
	    {"{\"error\":{\"type\":\"a\",\"code\":\"\"}}", "a", false},
	    {"{\"error\":{\"type\":\"a\",\"code\":7}}", "a", false},
	    {"{\"error\":{\"type\":\"insufficient_quota\",\"code\":\"b\"}}", "b", true},
	    {"{\"error\":{\"code\":\"insufficient_quota\"}}", "insufficient_quota", true},
	    {"{\"error\":{\"code\":\"insufficient_quota!\"}}", "insufficient_quota", false},
	    {"{\"error\":{\"message\":\"insufficient_quota\"}}", "", false},
	    {"{\"error\":{\"code\":\"a b\\u001b[2J<c>-._9\\u00e9\"}}", "ab2Jc-._9", false},
	    {"{\"code\":\"b\"}", "", false},
	    {"{\"error\":[]}", "", false},
	    {"[]", "", false},
	    {"<html>", "", false},
	    {"", "", false}};
	struct reply_problem problem;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		reply_explain(cases[i].bytes, strlen(cases[i].bytes), &problem);
		assert_string_equal(problem.code, cases[i].code);
		assert_int_equal(problem.quota, cases[i].quota);
	}
	char bytes[256];
	memset(bytes, 'x', sizeof bytes);
	memcpy(bytes, "{\"error\":{\"code\":\"", 18);
	(void)snprintf(bytes + 100, 8, "\"}}");
	reply_explain(bytes, strlen(bytes), &problem);
	assert_int_equal(strlen(problem.code), REPLY_CODE - 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_are_read),
	    cmocka_unit_test(malformed_answers),
	    cmocka_unit_test(depth_and_number_are_bounded),
	    cmocka_unit_test(changed_answers),
	    cmocka_unit_test(what_a_refusal_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
