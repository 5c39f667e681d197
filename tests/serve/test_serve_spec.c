// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/spec.c. It fails if a request becomes other words than it says. It fails if one
// gives the command a path, an option of the machine or a seed. It fails if a value hides an
// option, or if a limit of its bytes or items is passed. It fails if the text of a grammar or
// schema is among the words, or is changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/jobs/spec.h"

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

/* Asserts the words and the file of a plan with this one member, which is taken. */
static void accepts_file(const char *name, json_t *value, const char *words, const char *file) {
	json_t *request =
	    json_pack("{s:s,s:s,s:{s:o}}", "type", "generate", "dataset", "d", "plan", name, value);
	struct spec spec;
	struct spec_fault fault;
	char joined[256] = "";
	assert_true(spec_read(request, &spec, &fault));
	json_decref(request);
	for (size_t i = 0; i < spec.count; i++) {
		(void)strncat(joined, i ? "|" : "", sizeof joined - strlen(joined) - 1);
		(void)strncat(joined, spec.words[i], sizeof joined - strlen(joined) - 1);
	}
	assert_string_equal(joined, words);
	assert_int_equal(spec.file_size, strlen(file));
	assert_memory_equal(spec.file, file, spec.file_size);
	spec_free(&spec);
	assert_null(spec.file);
}

static json_t *text_of_size(size_t size) {
	char *text = malloc(size + 1);
	assert_non_null(text);
	memset(text, '#', size);
	text[size] = 0;
	json_t *value = json_string(text);
	free(text);
	return value;
}

/* A grammar is a file to the command, of one name for all; so no text of it is a path or a word. */
static void texts_become_a_file(void **state) {
	static const char grammar[] = "--dataset|d|--grammar|/proc/self/fd/3",
	                  schema[] = "--dataset|d|--schema|/proc/self/fd/3";
	struct spec_fault fault;
	struct spec spec;
	(void)state;
	accepts_file("grammar", json_string("root ::= \"a\"\n"), grammar, "root ::= \"a\"\n");
	accepts_file("grammar", json_string("/etc/passwd"), grammar, "/etc/passwd");
	accepts_file("schema", json_string(" {\"b\": 1.50, \"a\": 2}\n"), schema,
	             " {\"b\": 1.50, \"a\": 2}\n");
	accepts_file("schema", json_pack("{s:i,s:[i,i]}", "b", 1, "a", 2, 3), schema,
	             "{\"b\":1,\"a\":[2,3]}");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"grammar\":{}}}",
	        "invalid_value", "plan.grammar");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"grammar\":\"\"}}",
	        "invalid_value", "plan.grammar");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"schema\":[1]}}",
	        "invalid_value", "plan.schema");
	refuses(
	    "{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"schema\":{},\"grammar\":\"a\"}"
	    "}",
	    "invalid_value", "plan.grammar");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"grammar\":\"a\"}}",
	        "unsupported_parameter", "plan.grammar");
	for (size_t more = 0; more <= 1; more++) {
		json_t *request = json_pack("{s:s,s:s,s:{s:o}}", "type", "generate", "dataset", "d",
		                            "plan", "grammar", text_of_size(SPEC_FILE + more));
		const bool good = spec_read(request, &spec, &fault);
		assert_int_equal(good, !more);
		if (good) spec_free(&spec);
		json_decref(request);
	}
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

/* Refuses a request whose member is a text of one byte more than the most, and takes the most. */
static void has_most_bytes(const char *before, const char *after, size_t most, const char *param) {
	for (size_t size = most; size <= most + 1; size++) {
		char text[1024], filler[512];
		assert_true(size < sizeof filler);
		memset(filler, 'x', size);
		filler[size] = 0;
		(void)snprintf(text, sizeof text, "%s\"%s\"%s", before, filler, after);
		if (size > most) refuses(text, "invalid_value", param);
		else {
			struct spec_fault fault;
			assert_non_null(words_of(text, &fault));
		}
	}
}

/* A list of so many texts, as a member of the plan. */
static void has_sixteen_items(const char *type, const char *member, const char *item) {
	for (int count = 16; count <= 17; count++) {
		char text[1024], param[64];
		size_t used = (size_t)snprintf(
		    text, sizeof text, "{\"type\":\"%s\",\"dataset\":\"d\",\"plan\":{\"%s\":[",
		    type, member);
		for (int i = 0; i < count; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\"",
			                         i ? "," : "", item);
		(void)snprintf(text + used, sizeof text - used, "]}}");
		(void)snprintf(param, sizeof param, "plan.%s", member);
		struct spec_fault fault;
		if (count > 16) refuses(text, "invalid_value", param);
		else assert_non_null(words_of(text, &fault));
	}
}

static void limits_are_kept(void **state) {
	(void)state;
	static const char generate[] = "{\"type\":\"generate\",\"dataset\":";
	char plan[128];
	has_most_bytes(generate, "}", SPEC_NAME, "dataset");
	(void)snprintf(plan, sizeof plan, "%s\"d\",\"plan\":{\"unit_key\":", generate);
	has_most_bytes(plan, "}}", SPEC_NAME, "plan.unit_key");
	(void)snprintf(plan, sizeof plan, "%s\"d\",\"plan\":{\"stop\":", generate);
	has_most_bytes(plan, "}}", 256, "plan.stop");
	(void)snprintf(plan, sizeof plan, "%s\"d\",\"plan\":{\"stop\":[", generate);
	has_most_bytes(plan, "]}}", 256, "plan.stop");
	has_most_bytes("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"group\":[", "]}}",
	               SPEC_NAME, "plan.group");
	has_sixteen_items("generate", "stop", "a");
	has_sixteen_items("sanitize", "group", "PERSON:2");
	has_sixteen_items("sanitize", "leave", "PERSON:2");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"group\":[]}}",
	        "invalid_value", "plan.group");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"group\":\"PERSON:2\"}}",
	        "invalid_value", "plan.group");
	refuses("{\"type\":\"generate\",\"dataset\":\"a\\nb\"}", "invalid_value", "dataset");
}

/* All lists full, and all other members: more words than a command gets. */
static void words_have_an_end(void **state) {
	(void)state;
	char text[4096];
	struct spec_fault fault;
	size_t used = (size_t)snprintf(
	    text, sizeof text,
	    "{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"epsilon\":8,\"delta\":1e-6,"
	    "\"alpha\":4,\"divergence\":1,\"mix\":\"all\",\"max_tokens\":9,\"max_length\":9,"
	    "\"temperature\":1,\"top_k\":9,\"public_when\":0.9,\"free_tokens\":9,\"template\":"
	    "\"instruct\",\"chat_format\":\"a\",\"system\":\"a\",\"placeholder\":\"a\",\"prefill\":"
	    "\"a\",\"tagger\":\"none\",\"unit_key\":\"a\",\"ctx_size\":9");
	static const char *const lists[] = {"group", "leave", "stop"};
	for (size_t list = 0; list < 3; list++) {
		used += (size_t)snprintf(text + used, sizeof text - used, ",\"%s\":[", lists[list]);
		for (int i = 0; i < 16; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, "\"A%d\"%c", i,
			                         i < 15 ? ',' : ']');
	}
	assert_true(used + 3 < sizeof text);
	memcpy(text + used, "}}", 3);
	assert_null(words_of(text, &fault));
	assert_string_equal(fault.code, "invalid_value");
}

/* What the command reads is what was announced, in the form that the type takes. */
static void members_belong_to_their_type(void **state) {
	(void)state;
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"references\":{\"format\":\"csv\"}}",
	        "invalid_value", "references.format");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"references\":{\"format\":\"tsv\"}}",
	        "invalid_value", "references.format");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"references\":{\"spans_field\":\"s\"}}",
	        "unsupported_parameter", "references.spans_field");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"references\":[]}", "invalid_value",
	        "references");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"batch_size\":3}}",
	        "unsupported_parameter", "plan.batch_size");
	refuses("{\"type\":\"generate\",\"dataset\":\"d\",\"plan\":{\"group\":[\"PERSON:2\"]}}",
	        "unsupported_parameter", "plan.group");
	refuses("{\"type\":\"sanitize\",\"dataset\":\"d\",\"plan\":{\"group\":[\"-e\"]}}",
	        "invalid_value", "plan.group");
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_become_words),
	    cmocka_unit_test(texts_become_a_file),
	    cmocka_unit_test(values_stay_values),
	    cmocka_unit_test(no_member_names_a_path),
	    cmocka_unit_test(wrong_values_are_refused),
	    cmocka_unit_test(limits_are_kept),
	    cmocka_unit_test(members_belong_to_their_type),
	    cmocka_unit_test(words_have_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
