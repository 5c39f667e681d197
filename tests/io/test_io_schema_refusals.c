// SPDX-License-Identifier: Apache-2.0
// Tests what io/schema refuses, and its bounds. It fails if a refusal does not name its place and
// reason; if a hostile schema takes a second or 100 MB.
#include "engine/cuttle/grammar.h"
#include "io/schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* An object that its member k tells from others, and two of them. */
#define TOLD(value, required)                                                                      \
	"{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"" value "\"},\"" value            \
	"\":{\"type\":\"null\"}},\"required\":" required "}"
#define TELLING(hint)                                                                              \
	"{\"oneOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/B\"}],\"discriminator\":" hint   \
	",\"$defs\":{\"A\":" TOLD("a", "[\"k\"]") ",\"B\":" TOLD("b", "[\"k\"]") "}}"
#define OBJECT "{\"type\":\"object\",\"properties\":"

/* ---- refusals -------------------------------------------------------------------------------- */

#define PATTERN(text) "{\"type\":\"string\",\"pattern\":\"" text "\"}"
#define IN_A(schema) OBJECT "{\"a/b~\":" schema "}}"

static const char *const refusals[][2] = {
    {"{\"type\":\"integer\",}", "\"\": it is no JSON, line 1"},
    {"{\"type\":\"null\",\"type\":\"null\"}", "\"\": it is no JSON"},
    {"[]", "\"\": it is no schema"},
    {"true", "\"\": anything would fit"},
    {"{}", "\"\": values of any type would fit"},
    {IN_A("false"), "\"/properties/a~1b~0\": nothing can be written here"},
    {IN_A("{\"if\":{}}"), "\"/properties/a~1b~0/if\": cuttle does not read \"if\""},
    {IN_A("{\"type\":\"null\",\"$id\":\"x\"}"),
     "\"/properties/a~1b~0/$id\": cuttle reads it at the root"},
    {IN_A("{\"$ref\":\"#\",\"type\":\"null\"}"),
     "\"/properties/a~1b~0/type\": two schemas that hold together differ in it"},
    {IN_A("{\"$ref\":\"#\",\"anyOf\":[{\"type\":\"null\"}]}"),
     "\"/properties/a~1b~0/type\": cuttle does not read it beside \"anyOf\""},
    {"{\"type\":\"null\",\"maxLength\":3}", "\"/maxLength\": it says nothing about the type"},
    {"{\"enum\":[1],\"minimum\":0}", "\"/minimum\": say the type, too"},
    {"{\"type\":\"text\"}", "\"/type\": it is no type"},
    {"{\"type\":[\"null\",\"null\"]}",
     "\"/type\": it is no type of JSON Schema, or one that stands twice"},
    {"{\"type\":[]}", "\"/type\": it is an empty list"},
    {"{\"type\":7}", "\"/type\": it is no type"},
    {"{\"enum\":[]}", "\"/enum\": it is no list"},
    {"{\"enum\":[1],\"const\":1}", "\"/const\": it stands beside enum"},
    {"{\"enum\":[1],\"type\":\"string\"}", "\"/enum\": no value fits the type"},
    {"{\"enum\":[[1]],\"type\":\"array\"}", "\"/type\": leave it out"},
    {"{\"enum\":[1e18]}", "\"/enum\": a number has more than 18 digits"},
    {"{\"const\":[1e-18]}", "\"/const\": a number has more than 18 digits"},
    {OBJECT "[]}", "\"/properties\": it is no object"},
    {OBJECT "{},\"required\":[\"a\"]}", "\"/required\": \"a\" is no name in properties"},
    {OBJECT "{},\"required\":7}", "\"/required\": it is no list of names"},
    {OBJECT "{},\"required\":[7]}", "\"/required\": it is no list of names"},
    {OBJECT "{},\"additionalProperties\":{}}",
     "\"/additionalProperties\": cuttle reads false and true"},
    {"{\"type\":\"string\",\"minLength\":-1}", "\"/minLength\": it is no whole number"},
    {"{\"type\":\"string\",\"minLength\":1.5}", "\"/minLength\": it is no whole number"},
    {"{\"type\":\"string\",\"minLength\":\"1\"}", "\"/minLength\": it is no number"},
    {"{\"type\":\"string\",\"minLength\":1000001}", "\"/minLength\": write at most 1,000,000"},
    {"{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}",
     "\"/minLength\": it is greater than maxLength"},
    {"{\"type\":\"string\",\"format\":\"regex\"}",
     "\"/format\": cuttle reads the formats date, date-time, time, uuid, email and ipv4"},
    {"{\"type\":\"string\",\"format\":7}", "\"/format\": cuttle reads the formats"},
    {"{\"type\":\"string\",\"format\":\"int32\"}", "\"/format\": it says nothing about the type"},
    {"{\"type\":\"number\",\"format\":\"uuid\"}", "\"/format\": it says nothing about the type"},
    {"{\"type\":\"null\",\"format\":\"uuid\"}", "\"/format\": it says nothing about the type"},
    {"{\"type\":\"integer\",\"format\":\"uint8\",\"minimum\":256}", "\"/minimum\": no number"},
    {"{\"type\":\"integer\",\"format\":\"uint8\",\"maximum\":-1}", "\"/format\": no number"},
    {"{\"enum\":[18446744073709551615]}", "\"/enum\": a number has more than 18 digits"},
    {"{\"nullable\":true}", "\"/nullable\": say the type, too"},
    {"{\"enum\":[1],\"nullable\":true}", "\"/nullable\": say the type, too"},
    {"{\"type\":\"null\",\"nullable\":1}", "\"/nullable\": it is neither true nor false"},
    {"{\"anyOf\":[{\"type\":\"null\"}],\"nullable\":true}",
     "\"/nullable\": cuttle does not read it beside \"anyOf\""},
    {"{\"allOf\":[{\"type\":\"boolean\"}],\"nullable\":true}",
     "\"/nullable\": cuttle reads it beside type alone"},
    // Schemas that hold together
    {"{\"allOf\":[]}", "\"/allOf\": it is no list of schemas"},
    {"{\"allOf\":{}}", "\"/allOf\": it is no list of schemas"},
    {"{\"allOf\":[{\"type\":\"null\"},false]}", "\"\": it is joined with what is no schema"},
    {"{\"allOf\":[{\"type\":\"null\"},{\"type\":\"boolean\"}]}",
     "\"/type\": two schemas that hold together differ"},
    {"{\"allOf\":[{\"pattern\":\"a\",\"type\":\"string\"},{\"pattern\":\"b\"}]}",
     "\"/pattern\": two schemas that hold together differ"},
    {"{\"allOf\":[{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}]},{\"items\":"
     "{\"type\":\"null\"}}]}",
     "\"\": two schemas that hold together say what items are"},
    {"{\"allOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}},\"additionalProperties\":false},{"
     "\"properties\":{\"b\":{\"type\":\"null\"}}}]}",
     "\"/additionalProperties\": it forbids the member \"b\""},
    {"{\"allOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}}},{"
     "\"properties\":{\"b\":{\"type\":\"null\"}},\"additionalProperties\":false}]}",
     "\"/additionalProperties\": it forbids the member \"a\""},
    {"{\"$ref\":\"#/$defs/a\",\"maxLength\":1,\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}",
     "\"\": it stands for itself"},
    {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/a\"}]}}}",
     "it stands for itself"},
    {IN_A("{\"$ref\":\"#/properties/a~1b~0\",\"maxLength\":1}"), "it stands for itself"},
    // Wrappers
    {"{\"name\":\"x\",\"strict\":true,\"schema\":{\"type\":\"null\"}}",
     "\"\": it is no schema, but has one in its member schema: give that alone (jq .schema FILE)"},
    {"{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":{}}}",
     "(jq .json_schema.schema FILE)"},
    {"{\"type\":\"function\",\"function\":{\"name\":\"x\",\"parameters\":{}}}",
     "(jq .function.parameters FILE)"},
    {"{\"name\":\"x\",\"input_schema\":{}}", "(jq .input_schema FILE)"},
    {"{\"type\":\"string\",\"format\":\"date\",\"pattern\":\"a\"}",
     "\"/pattern\": cuttle does not read it beside"},
    {"{\"type\":\"string\",\"pattern\":7}", "\"/pattern\": it is no string"},
    {"{\"type\":\"string\",\"format\":\"date\",\"maxLength\":9}",
     "\"/format\": no text of these lengths"},
    {PATTERN("(a"), "\"/pattern\": a ( has no )"},
    {PATTERN("a)"), "\"/pattern\": a ) has no ("},
    {PATTERN("[a"), "\"/pattern\": a [ has no ]"},
    {PATTERN("[b-a]"), "\"/pattern\": a range of [ ] ends before it begins"},
    {PATTERN("[\\\\d-z]"), "\"/pattern\": a range of [ ] has a class at an end"},
    {PATTERN("*"), "\"/pattern\": a *, + or ? has nothing before it"},
    {PATTERN("a{2,1}"), "\"/pattern\": the numbers in { } are the wrong way round"},
    {PATTERN("a{100001}"), "\"/pattern\": a number in { } is greater than 100,000"},
    {PATTERN("a{x}"), "\"/pattern\": a { is no {n}"},
    {PATTERN("}"), "\"/pattern\": a {, } or ] stands alone"},
    {PATTERN("\\\\1"), "\"/pattern\": cuttle does not read \\1"},
    {PATTERN("\\\\b"), "\"/pattern\": cuttle does not read \\b"},
    {PATTERN("\\\\p{L}"), "\"/pattern\": cuttle does not read \\p"},
    {PATTERN("\\\\k<a>"), "\"/pattern\": cuttle does not read \\k"},
    {PATTERN("\\\\y"), "\"/pattern\": a \\ stands before a character that needs none"},
    {PATTERN("\\\\"), "\"/pattern\": it ends with a \\"},
    {PATTERN("\\\\ud800"), "\"/pattern\": a \\u is half a character"},
    {PATTERN("\\\\u{110000}"), "\"/pattern\": a \\u{ } is no character"},
    {PATTERN("\\\\x4"), "\"/pattern\": a \\x or \\u lacks a hex digit"},
    {PATTERN("(?=a)"), "\"/pattern\": cuttle does not read (? but in (?:"},
    {PATTERN("(?<a>b)"), "\"/pattern\": cuttle does not read groups with names"},
    {PATTERN("a^b"), "\"/pattern\": no text fits it"},
    {"{\"type\":\"string\",\"pattern\":\"a^\",\"maxLength\":9}",
     "\"/pattern\": no text of these lengths"},
    {PATTERN("[]"), "\"/pattern\": no text fits it"},
    {"{\"type\":\"number\",\"minimum\":\"1\"}", "\"/minimum\": it is no number"},
    {"{\"type\":\"number\",\"exclusiveMaximum\":true}", "\"/exclusiveMaximum\": it is no number"},
    {"{\"type\":\"number\",\"minimum\":1,\"exclusiveMinimum\":true}",
     "beside minimum write exclusiveMinimum with that one's number alone"},
    {"{\"type\":\"integer\",\"multipleOf\":2}", "\"/multipleOf\": cuttle reads 1 alone"},
    {"{\"type\":\"number\",\"multipleOf\":1}", "\"/multipleOf\": cuttle reads 1 alone"},
    {"{\"type\":\"integer\",\"minimum\":1,\"maximum\":0}",
     "\"/minimum\": no number that cuttle writes fits"},
    {"{\"type\":\"integer\",\"exclusiveMinimum\":1,\"exclusiveMaximum\":2}",
     "\"/exclusiveMinimum\": no number"},
    {"{\"type\":\"number\",\"minimum\":1e18}", "\"/minimum\": no number"},
    {"{\"type\":\"number\",\"maximum\":-1e18}", "\"/maximum\": no number"},
    {"{\"type\":\"number\",\"minimum\":1.0000000000000002,\"maximum\":1.0000000000000004}",
     "\"/minimum\": no number"},
    {"{\"type\":\"array\"}", "\"\": any item would fit"},
    {"{\"type\":\"array\",\"items\":true}", "\"\": any item would fit"},
    {"{\"type\":\"array\",\"prefixItems\":[],\"items\":false}",
     "\"/prefixItems\": it is no list of schemas"},
    {"{\"type\":\"array\",\"items\":[{\"type\":\"null\"}]}", "\"\": any item would fit"},
    {"{\"type\":\"array\",\"items\":[]}", "\"/items\": it is no list of schemas"},
    {"{\"type\":\"array\",\"items\":[{\"x\":0}],\"additionalItems\":false}",
     "\"/items/0/x\": cuttle does not read \"x\""},
    {"{\"type\":\"array\",\"items\":[{\"type\":\"null\"}],\"prefixItems\":[{\"type\":\"null\"}]}",
     "\"/items\": beside prefixItems it is no list"},
    {"{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"additionalItems\":false}",
     "\"/additionalItems\": it says nothing where items is no list"},
    {"{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"uniqueItems\":true}",
     "\"/uniqueItems\": cuttle reads"},
    {"{\"type\":\"array\",\"items\":false,\"minItems\":1}",
     "\"/minItems\": it is greater than how many"},
    {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"},{\"x\":0}],\"items\":false}",
     "\"/prefixItems/1/x\": cuttle does not read \"x\""},
    {"{\"anyOf\":[]}", "\"/anyOf\": it is no list of schemas"},
    {"{\"anyOf\":[{\"type\":\"null\"},{}]}", "\"/anyOf/1\": values of any type"},
    {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}",
     "\"/oneOf\": a value may fit two"},
    {"{\"oneOf\":[{\"enum\":[1,2]},{\"enum\":[2.0]}]}", "\"/oneOf\": a value may fit two"},
    // A member that neither requires tells nothing apart, nor one that both have alike.
    {"{\"oneOf\":[" TOLD("a", "[]") "," TOLD("b", "[]") "]}", "\"/oneOf\": a value may fit two of "
                                                              "it, numbers 0 and 1; give each"},
    {"{\"oneOf\":[" TOLD("a", "[\"k\"]") "," TOLD("b", "[\"k\"]") "," TOLD("a", "[\"k\"]") "]}",
     "numbers 0 and 2"},
    {"{\"oneOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}},\"required\":[\"a\"]}," OBJECT
     "{\"b\":{\"type\":\"null\"}},\"required\":[\"b\"]}]}",
     "a value may fit two"},
    {"{\"oneOf\":[{\"const\":\"a1\"},{\"type\":\"string\",\"pattern\":\"[0-9]\"}]}",
     "a value may fit two"},
    {"{\"oneOf\":[{\"const\":1},{\"type\":\"number\"}]}", "a value may fit two"},
    {"{\"oneOf\":[" TOLD("a", "[]") "," TOLD("b",
                                             "[]") "],\"discriminator\":{\"propertyName\":\"k\"}}",
     "numbers 0 and 1; name \"k\" in required of each"},
    // Discriminators that say what is not so
    {TELLING("{\"mapping\":{\"a\":\"#/$defs/A\"}}"), "\"/discriminator\": it has no propertyName"},
    {TELLING("{\"propertyName\":\"k\",\"mapping\":[]}"), "or a mapping that is no object"},
    {TELLING("{\"propertyName\":\"k\",\"mapping\":{\"a\":\"#/$defs/A\",\"b\":\"#/$defs/A\"}}"),
     "\"/discriminator\": its mapping of \"b\" names no alternative whose member \"k\" may be "
     "that"},
    {TELLING("{\"propertyName\":\"k\",\"mapping\":{\"a\":\"#/$defs/C\"}}"), "its mapping of \"a\""},
    {TELLING("{\"propertyName\":\"n\",\"mapping\":{\"a\":\"A\"}}"), "its mapping of \"a\""},
    {"{\"$ref\":\"#/properties/a\"}", "\"/$ref\": cuttle reads #, #/$defs/NAME"},
    {"{\"$ref\":\"#/$defs/a\",\"$defs\":{}}", "\"/$ref\": cuttle reads #, #/$defs/NAME"},
    {"{\"$ref\":7}", "\"/$ref\": it is no string"},
    {"{\"$ref\":\"#\"}", "\"\": it stands for itself"},
    {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/$defs/"
     "a\"}]}}}",
     "it stands for itself"},
    {OBJECT "{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
     "it contains itself in all that fits"},
    {"{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"minItems\":1}",
     "it contains itself in all that fits"},
};

static void refusals_name_place_and_reason(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct schema *schema;
		struct cuttle_error error = {""};
		const enum cuttle_status status =
		    schema_read(refusals[i][0], strlen(refusals[i][0]), &schema, &error);
		if (status != CUTTLE_INPUT) fail_msg("%s: %d", refusals[i][0], status);
		assert_null(schema);
		if (!strstr(error.message, refusals[i][1]))
			fail_msg("%s: %s", refusals[i][0], error.message);
	}
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* text[size] of one piece again and again, between two others. To be freed. */
static char *repeat_text(const char *before, const char *piece, const char *after, size_t times) {
	const size_t step = strlen(piece);
	char *text = malloc(strlen(before) + times * step + strlen(after) + 1), *at = text;
	assert_non_null(text);
	at = stpcpy(at, before);
	for (size_t i = 0; i < times; i++, at += step) memcpy(at, piece, step);
	strcpy(at, after);
	return text;
}

/* In a process of its own: less than a second and 100 MB. What it says is `wanted`, or the
 * grammar is read where that is NULL. */
static void check_bounds(const char *name, const char *json, const char *wanted) {
	struct rusage usage;
	int status;
	fflush(NULL);
	const pid_t child = fork();
	if (!child) {
		struct schema *schema;
		struct cuttle_error error = {""};
		int wrong = 0;
		if (schema_read(json, strlen(json), &schema, &error)) {
			wrong = !wanted || !strstr(error.message, wanted);
		} else {
			char *gbnf = schema_grammar(schema);
			struct cuttle_grammar *grammar = NULL;
			if (!gbnf || cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error))
				wrong = !wanted || !strstr(error.message, wanted);
			else wrong = wanted != NULL;
		}
		if (wrong) fprintf(stderr, "%s: '%s'\n", name, error.message);
		_exit(wrong);
	}
	assert_int_equal(wait4(child, &status, 0, &usage), child);
	if (status) fail_msg("%s: status %d", name, status);
#if !defined(__SANITIZE_ADDRESS__)
	const double took = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	if (took > 1 || usage.ru_maxrss > 97656)
		fail_msg("%s took %.2f s and %ld KiB", name, took, usage.ru_maxrss);
#endif
}

static void hostile_schemas_take_no_time(void **state) {
	(void)state;
	static const struct {
		const char *name, *before, *piece, *after;
		size_t times;
		const char *wanted;
	} cases[] = {
	    {"512 KiB and a byte", "{\"type\":\"null\"}", " ", "", (1 << 19) - 14,
	     "more than 512 KiB"},
	    {"512 KiB", "{\"type\":\"null\"}", " ", "", (1 << 19) - 15, NULL},
	    {"nesting 101", "", "{\"type\":\"array\",\"items\":", "{\"type\":\"null\"", 100,
	     "it is no JSON"},
	    {"brackets", "", "[", "", 1 << 19, "it is no JSON"},
	    {"explodes", "", "", PATTERN("(?:(a|aa)*){1000}"), 0, NULL},
	    {"explodes to 10^6", "", "", PATTERN("(?:[^x]{1000}){1000}"), 0, "too many states"},
	    {"twice braces", "", "", PATTERN("[^x]{1000}{1000}"), 0, "stands alone"},
	    {"star in braces", "", "", PATTERN("(a|aa)*{1000}"), 0, "stands alone"},
	    {"2^n", "", "", PATTERN("^[ab]*a[ab]{40}$"), 0, "too many states"},
	    {"2^n with lengths", "", "",
	     "{\"type\":\"string\",\"pattern\":\"^[ab]*a[ab]{9}$\",\"maxLength\":100000}", 0,
	     "too many states"},
	    {"nothing often", "", "", PATTERN("((){100000}){100000}"), 0, "too many states"},
	    {"nested stars", "{\"type\":\"string\",\"pattern\":\"", "(", "a\"}", 99, "has no )"},
	    {"alternatives", "{\"type\":\"string\",\"pattern\":\"", "a|", "\"}", 2000, NULL},
	    {"many stars", "{\"type\":\"string\",\"pattern\":\"", "a*b?", "c\"}", 1000, NULL},
	    {"many classes", "{\"type\":\"string\",\"pattern\":\"^",
	     "[\\\\w\\u00e9\\u4e00-\\u9fff]*", "$\"}", 120, NULL},
	    {"many patterns", "{\"type\":\"array\",\"items\":false,\"prefixItems\":[",
	     PATTERN("^[ab]*a[ab]{9}$") ",", PATTERN("a") "]}", 9000, NULL},
	    {"many items", "{\"type\":\"array\",\"items\":false,\"prefixItems\":[",
	     "{\"type\":\"number\"},", "{\"type\":\"null\"}]}", 9000, NULL},
	    {"too many items", "{\"type\":\"array\",\"items\":false,\"prefixItems\":[",
	     "{\"type\":\"null\"},", "{\"type\":\"null\"}]}", 10000, "more than 10,000 schemas"},
	    {"many null items", "{\"type\":\"array\",\"items\":false,\"prefixItems\":[",
	     "{\"type\":\"null\"},", "{\"type\":\"null\"}]}", 9000, NULL},
	    {"many alternatives", "{\"anyOf\":[", "{\"type\":\"null\"},", "{\"type\":\"null\"}]}",
	     300, "more than 256 alternatives"},
	    {"an enum of one value", "{\"enum\":[", "[{\"a\":[]}],", "0]}", 4000, NULL},
	    {"many names", "{\"type\":\"object\",\"properties\":{},\"required\":[", "\"a\",",
	     "\"a\"]}", 100000, "is no name in properties"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *json =
		    repeat_text(cases[i].before, cases[i].piece, cases[i].after, cases[i].times);
		check_bounds(cases[i].name, json, cases[i].wanted);
		free(json);
	}
}

/* Arrays in arrays, so many deep. */
static void nesting_has_a_bound(void **state) {
	(void)state;
	for (size_t depth = 99; depth <= 100; depth++) {
		char *before = repeat_text(
		         "", "{\"type\":\"array\",\"items\":", "{\"type\":\"null\"}", depth),
		     *after = repeat_text(before, "}", "", depth);
		check_bounds("nesting", after,
		             depth == 99 ? NULL : "it is nested more than 100 deep");
		free(before);
		free(after);
	}
}

#define ZEROS_16 "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
#define ZEROS ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16
static void large_schemas_take_no_time(void **state) {
	(void)state;
	static const struct {
		const char *name, *before, *piece, *after;
		unsigned count;
		const char *wanted;
	} cases[] = {
	    {"members", "{\"type\":\"object\",\"properties\":{\"z\":{\"type\":\"null\"}",
	     ",\"%u\":{\"type\":\"null\"}", "}}", 900, NULL},
	    {"members in a row", "{\"type\":\"object\",\"properties\":{\"z\":{\"type\":\"null\"}",
	     ",\"%u\":{\"type\":\"null\"}", "}}", 9000,
	     "more than 1,000 members in a row may lack"},
	    {"a circle of references",
	     "{\"$ref\":\"#/$defs/1\",\"$defs\":{\"z\":{\"type\":\"null\"}",
	     ",\"%u\":{\"$ref\":\"#/$defs/%u\"}", "}}", 98, "stands for itself"},
	    {"reference chain", "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"9999\":{\"type\":\"null\"}",
	     ",\"%u\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/%u\"}}", "}}", 200,
	     "nested more than 100 deep"},
	    {"ranges", "{\"type\":\"array\",\"items\":false,\"prefixItems\":[{\"type\":\"null\"}",
	     ",{\"type\":\"number\",\"minimum\":%u.5}", "]}", 5000, "at most 1048576 are read"},
	    {"values in values", "{\"enum\":[[]", ",{\"%u\":[1,{\"a\":%u}]}", "]}", 4000, NULL},
	    {"too many values", "{\"enum\":[0", ",%u.5", "]}", 4100, "more than 4,096 values"},
	    {"oneOf", "{\"oneOf\":[{\"type\":\"null\"}", ",{\"const\":\"%u\"}", "]}", 255, NULL},
	    {"objects told apart", "{\"oneOf\":[{\"type\":\"null\"}",
	     ",{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},\"k\":{\"const\":\"%"
	     "u\"}},"
	     "\"required\":[\"a\",\"k\"]}",
	     "]}", 255, NULL},
	    {"objects that nothing tells apart", "{\"oneOf\":[{\"type\":\"null\"}",
	     ",{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a%u\":{\"type\":\"null\"}}}]}",
	     "]}", 255, "a value may fit two"},
	    {"joins of joins", "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"60\":{\"type\":\"null\"}",
	     ",\"%u\":{\"allOf\":[{\"$ref\":\"#/$defs/%u\"},{\"$ref\":\"#/$defs/60\"},true]}", "}}",
	     60, "it stands for itself"},
	    {"joins of a large one",
	     "{\"type\":\"array\",\"items\":false,\"$defs\":{\"a\":{\"enum\":[" ZEROS ZEROS ZEROS
	         ZEROS "1]}},\"prefixItems\":[{\"type\":\"null\"}",
	     ",{\"$ref\":\"#/$defs/a\",\"type\":\"integer\",\"maximum\":%u}", "]}", 4000,
	     "it joins too many schemas"},
	    {"a mapping of many",
	     "{\"oneOf\":[{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{\"k\":{"
	     "\"type\":"
	     "\"string\",\"pattern\":\"^[0-9z]*$\"}}}],\"discriminator\":{\"propertyName\":\"k\","
	     "\"mapping\":{\"z\":{}",
	     ",\"%u\":\"A\"", "}}}", 20000, "its mapping of "},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *json;
		size_t size;
		FILE *out = open_memstream(&json, &size);
		assert_non_null(out);
		fputs(cases[i].before, out);
		for (unsigned j = 0; j < cases[i].count; j++)
			fprintf(out, cases[i].piece, j, (j + 1) % cases[i].count);
		fputs(cases[i].after, out);
		assert_int_equal(fclose(out), 0);
		check_bounds(cases[i].name, json, cases[i].wanted);
		free(json);
	}
}

/* Each of 40 schemas joins the next one twice. */
static void joins_have_a_price(void **state) {
	(void)state;
	char *json;
	size_t size;
	FILE *out = open_memstream(&json, &size);
	assert_non_null(out);
	fputs("{\"$ref\":\"#/$defs/0\",\"$defs\":{\"40\":{\"type\":\"null\"}", out);
	for (unsigned i = 0; i < 40; i++)
		fprintf(out,
		        ",\"%u\":{\"allOf\":[{\"$ref\":\"#/$defs/%u\"},{\"$ref\":\"#/$defs/%u\"}]}",
		        i, i + 1, i + 1);
	fputs("}}", out);
	assert_int_equal(fclose(out), 0);
	check_bounds("2^40 joins", json, "it joins too many schemas");
	free(json);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refusals_name_place_and_reason),
	    cmocka_unit_test(hostile_schemas_take_no_time),
	    cmocka_unit_test(nesting_has_a_bound),
	    cmocka_unit_test(large_schemas_take_no_time),
	    cmocka_unit_test(joins_have_a_price),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
