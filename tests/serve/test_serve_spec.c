// SPDX-License-Identifier: Apache-2.0
// Tests serve/spec.c. It fails if a request becomes other words than it says. It fails if one gives
// the command a path, an option of the machine or a seed. It fails if a value hides an option.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a request, and joins its words with | between. NULL: refused, fault says why. */
static const char *words_of(const char *text, struct spec_fault *fault) {
	static char joined[8192];
	json_error_t wrong;
	json_t *request = json_loads(text, 0, &wrong);
	struct spec spec;
	size_t used = 0;
	if (!request) fail_msg("%s: %s", text, wrong.text);
	const bool good = spec_read(request, &spec, fault);
	joined[0] = 0;
	for (size_t i = 0; good && i < spec.count; i++)
		used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", i ? "|" : "",
		                         spec.words[i]);
	if (good) spec_free(&spec);
	json_decref(request);
	return good ? joined : NULL;
}

static void accepts(const char *text, const char *words) {
	struct spec_fault fault;
	const char *got = words_of(text, &fault);
	if (!got) fail_msg("%s: %s", text, fault.message);
	assert_string_equal(got, words);
}

static void refuses(const char *text, const char *code, const char *param) {
	struct spec_fault fault;
	const char *got = words_of(text, &fault);
	if (got) fail_msg("%s: %s", text, got);
	assert_string_equal(fault.code, code);
	assert_string_equal(fault.param, param);
	assert_true(*fault.message && !strchr(fault.message, '\n'));
}

static void requests_become_words(void **state) {
	(void)state;
	accepts("{\"type\":\"generate\",\"dataset\":\"notes\",\"plan\":{\"num\":100,\"epsilon\":10,"
	        "\"delta\":1e-6,\"batch_size\":31,\"max_tokens\":200,\"temperature\":0.5,\"kind\":"
	        "\"discharge note\",\"complete\":true,\"token_bank\":false},\"references\":{"
	        "\"format\":\"jsonl\",\"text_field\":\"text\"},\"dry_run\":false}",
	        "--dataset|notes|--num|100|--epsilon|10|--delta|9.9999999999999995e-07|"
	        "--batch-size|31|--max-tokens|200|--temperature|0.5|--kind|discharge note|"
	        "--complete|--input-format|jsonl|--text-field|text");
	accepts("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"epsilon\":8,\"mix\":"
	        "\"average\",\"group\":[\"PERSON:2\",\"DATE_TIME,LOCATION:6\"]},\"references\":"
	        "{\"format\":\"jsonl\"}}",
	        "--dataset|d|--epsilon|8|--mix|average|--group|PERSON:2|--group|"
	        "DATE_TIME,LOCATION:6");
	accepts(
	    "{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"drop\":\"loops,duplicates\"}}",
	    "--dataset|d|--drop|loops,duplicates");
	accepts("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"stop\":\"auto\"}}",
	        "--dataset|d|--stop|auto");
	accepts(
	    "{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"stop\":[\"\\n\",\"--trace\"]}}",
	    "--dataset|d|--stop|\n|--stop|--trace");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"stop\":[]}}", "invalid_value",
	        "plan.stop");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"stop\":[\"a\",\"\"]}}",
	        "invalid_value", "plan.stop");
}

/* A value that looks like an option stays one word behind its own. */
static void values_stay_values(void **state) {
	(void)state;
	accepts(
	    "{\"type\":\"generate\",\"dataset\":\"--output\",\"plan\":{\"kind\":\"--trace=/tmp/x\","
	    "\"system\":\"$(rm -rf /); `id`\\n--ledger /tmp/y\"}}",
	    "--dataset|--output|--kind|--trace=/tmp/x|--system|$(rm -rf /); `id`\n--ledger "
	    "/tmp/y");
}

static void no_member_names_a_path(void **state) {
	(void)state;
	static const char *const names[] = {"model",
	                                    "input",
	                                    "output",
	                                    "receipt",
	                                    "sign",
	                                    "ledger",
	                                    "overwrite",
	                                    "trace",
	                                    "bench",
	                                    "public_examples",
	                                    "prompt_public",
	                                    "prompt_private",
	                                    "categories",
	                                    "clusters",
	                                    "names",
	                                    "instruction",
	                                    "threads",
	                                    "isa",
	                                    "cpu_mask",
	                                    "mlock",
	                                    "parallel",
	                                    "prompt_chunk",
	                                    "insecure_seed",
	                                    "method",
	                                    "preset",
	                                    "not_private",
	                                    "lots",
	                                    "dry_run",
	                                    "json",
	                                    "quiet",
	                                    "progress",
	                                    "category_field",
	                                    "tagger_seconds",
	                                    "output_format",
	                                    "no_sharing",
	                                    "help",
	                                    "delimiter",
	                                    "dataset",
	                                    "text_field",
	                                    "-i",
	                                    "o",
	                                    "",
	                                    "num=1 --trace"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int sanitize = 0; sanitize < 2; sanitize++) {
			char text[256], param[64];
			(void)snprintf(text, sizeof text,
			               "{\"type\":\"%s\",\"dataset\":\"d\",\"plan\":{\"%s\":\"/etc/"
			               "passwd\"}}",
			               sanitize ? "sanitize" : "generate", names[i]);
			(void)snprintf(param, sizeof param, "plan.%s", names[i]);
			refuses(text, "unsupported_parameter", param);
		}
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"output\":\"/tmp/x\"}",
	        "unsupported_parameter", "output");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"references\":{\"input\":\"/tmp/x\"}}",
	        "unsupported_parameter", "references.input");
	// A tagger may be a command, for the command; not for a request.
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"tagger\":\"/bin/sh\"}}",
	        "invalid_value", "plan.tagger");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"group\":[\"--names=/x\"]}}",
	        "invalid_value", "plan.group");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"leave\":[\"A/B\"]}}",
	        "invalid_value", "plan.leave");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"drop\":\"loops,unlikely\"}}",
	        "invalid_value", "plan.drop");
}

static void wrong_values_are_refused(void **state) {
	(void)state;
	static const char *const pairs[][2] = {{"\"num\":1.5", "plan.num"},
	                                       {"\"num\":-1", "plan.num"},
	                                       {"\"num\":\"1\"", "plan.num"},
	                                       {"\"epsilon\":\"1\"", "plan.epsilon"},
	                                       {"\"epsilon\":null", "plan.epsilon"},
	                                       {"\"complete\":1", "plan.complete"},
	                                       {"\"kind\":5", "plan.kind"},
	                                       {"\"kind\":\"a\\u0001\"", "plan.kind"},
	                                       {"\"unit_key\":\"\"", "plan.unit_key"},
	                                       {"\"unit_key\":\"a\\nb\"", "plan.unit_key"},
	                                       {"\"center\":\"mean\"", "plan.center"},
	                                       {"\"center\":\"\"", "plan.center"},
	                                       {"\"trim\":\"sentence|none\"", "plan.trim"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char text[256];
		(void)snprintf(text, sizeof text,
		               "{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{%s}}",
		               pairs[i][0]);
		refuses(text, "invalid_value", pairs[i][1]);
	}
	refuses("{\"dataset\":\"d\"}", "invalid_value", "type");
	refuses("{\"type\":\"extract\",\"dataset\":\"d\"}", "invalid_value", "type");
	refuses("{\"type\":\"generate\"}", "invalid_value", "dataset");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"dry_run\":1}", "invalid_value",
	        "dry_run");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":[]}", "invalid_value", "plan");
	char *text = malloc(SPEC_TEXT + 200), *filler = malloc(SPEC_TEXT + 2);
	assert_non_null(text);
	assert_non_null(filler);
	memset(filler, 'x', SPEC_TEXT + 1);
	filler[SPEC_TEXT + 1] = 0;
	(void)snprintf(text, SPEC_TEXT + 200,
	               "{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"kind\":\"%s\"}}",
	               filler);
	refuses(text, "invalid_value", "plan.kind");
	free(text);
	free(filler);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_become_words),
	    cmocka_unit_test(values_stay_values),
	    cmocka_unit_test(no_member_names_a_path),
	    cmocka_unit_test(wrong_values_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
