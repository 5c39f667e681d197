// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/remote/reply.c: the first byte chooses the api, the rest is an answer, and a refusal,
// too. It fails on a crash, if a text is no UTF-8 or holds a NUL, if a code has other characters
// than a code may have, if a failure leaves a text, or if its message has more than one line.
#include "base/misuse.h"
#include "base/utf8.h"
#include "io/remote/reply.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

static void check_code(const char *code) {
	REQUIRE(strlen(code) < REPLY_CODE);
	for (; *code; code++) REQUIRE(isalnum((unsigned char)*code) || strchr("_.-", *code));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct cuttle_error error = {""};
	struct reply_problem problem;
	struct reply reply;
	if (!size) return 0;
	const char *answer = (const char *)bytes + 1;
	const enum cuttle_status status = reply_parse(answer, size - 1, *bytes & 1, &reply, &error);
	check_code(reply.finish);
	if (status)
		REQUIRE(status == CUTTLE_REMOTE && !reply.text && *error.message &&
		        !strchr(error.message, '\n'));
	else REQUIRE(utf8_valid(reply.text, reply.size) && strlen(reply.text) == reply.size);
	reply_free(&reply);
	reply_explain(answer, size - 1, &problem);
	check_code(problem.code);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL(
	        "1{\"id\":\"x\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
	        "\"content\":\"Once \\u00e9\\ud83d\\udc19 \xC3\xA9\"},\"logprobs\":null,"
	        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,"
	        "\"completion_tokens\":12,\"details\":{\"a\":[1,2.5,-3e4]}}}"),
	    FUZZ_LITERAL(
	        "0{\"choices\":[{\"text\":\" [{\\\"\\\\\",\"finish_reason\":\"length\"}]}"),
	    FUZZ_LITERAL("1{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":null}],"
	                 "\"usage\":null}"),
	    FUZZ_LITERAL("0{\"error\":{\"message\":\"No\",\"type\":\"insufficient_quota\",\"code\":"
	                 "\"a b\\u001b[\"}}"),
	    FUZZ_LITERAL(
	        "1[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{\"a\":{}}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
