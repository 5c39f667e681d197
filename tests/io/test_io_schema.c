// SPDX-License-Identifier: Apache-2.0
// Tests io/schema: a JSON Schema to a grammar, records to its form. It fails if a schema's grammar
// takes what does not fit, or lacks what fits; if a record is written in another form; if a refusal
// does not name its place; if a hostile schema takes a second or 100 MB.
#include "engine/grammar/automaton.h"
#include "io/schema/canonical.h"
#include "io/schema/record.h"
#include "io/schema/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A schema, its grammar, and the automaton of that. */
struct followed {
	struct schema *schema;
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
};

static struct cuttle_grammar *read_gbnf(const char *gbnf, const char *of) {
	struct cuttle_grammar *grammar;
	struct cuttle_error error;
	assert_non_null(gbnf);
	if (cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error))
		fail_msg("%s: %s\n%s", of, error.message, gbnf);
	return grammar;
}

static struct followed follow_schema(const char *json) {
	struct followed to;
	struct cuttle_error error;
	if (schema_read(json, strlen(json), &to.schema, &error))
		fail_msg("%s: %s", json, error.message);
	char *gbnf = schema_grammar(to.schema);
	to.grammar = read_gbnf(gbnf, json);
	free(gbnf);
	assert_int_equal(automaton_new(to.grammar, 0, &to.automaton, NULL), CUTTLE_OK);
	return to;
}

static void leave_schema(struct followed *from) {
	automaton_free(&from->automaton);
	cuttle_grammar_free(&from->grammar);
	schema_free(from->schema);
}

static bool is_taken(struct automaton *automaton, const char *text, size_t size) {
	const uint32_t begin = automaton_begin(automaton);
	return automaton_accepts(automaton, automaton_walk(automaton, begin, text, size));
}

/* The record in the schema's form, or NULL. The caller frees it. */
static char *record_form(const struct schema *schema, const char *json, size_t *misfit) {
	struct arena out = {0};
	bool fits;
	json_t *value = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!value) fail_msg("no JSON: %s", json);
	assert_true(arena_append(&out, "before", 6));
	assert_int_equal(schema_record(schema, value, &out, &fits), CUTTLE_OK);
	*misfit = schema_misfit(schema, value);
	assert_int_equal(*misfit == SIZE_MAX, fits);
	assert_memory_equal(out.bytes, "before", 6);
	if (!fits) assert_int_equal(out.used, 6);
	char *text = fits ? strndup(out.bytes + 6, out.used - 6) : NULL;
	json_decref(value);
	arena_free(&out);
	return text;
}

/* ---- keywords -------------------------------------------------------------------------------- */

struct misfit {
	const char *json;
	const char *place; /* NULL = whichever */
};

struct keyword_case {
	const char *schema;
	const char *texts[12];    /* canonical; they fit and are of the grammar */
	struct misfit others[12]; /* neither */
};

/* A string of so many characters, each of several bytes. */
#define E5 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac"
/* An object that its member k tells from others, and two of them. */
#define TOLD(value, required)                                                                      \
	"{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"" value "\"},\"" value            \
	"\":{\"type\":\"null\"}},\"required\":" required "}"
#define TELLING(hint)                                                                              \
	"{\"oneOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/B\"}],\"discriminator\":" hint   \
	",\"$defs\":{\"A\":" TOLD("a", "[\"k\"]") ",\"B\":" TOLD("b", "[\"k\"]") "}}"
#define OBJECT "{\"type\":\"object\",\"properties\":"

static const struct keyword_case keywords[] = {
    {"{\"type\":\"null\"}", {"null"}, {{"0", "/type"}, {"false", "/type"}, {"\"null\"", "/type"}}},
    {"{\"type\":\"boolean\",\"title\":\"t\",\"description\":\"d\",\"default\":7,\"examples\":[7],"
     "\"$comment\":\"c\",\"deprecated\":true,\"readOnly\":true,\"writeOnly\":false}",
     {"true", "false"},
     {{"1", "/type"}, {"null", "/type"}, {"\"true\"", "/type"}}},
    // Integers
    {"{\"type\":\"integer\"}",
     {"0", "-1", "7", "999999999999999999", "-999999999999999999"},
     {{"1000000000000000000", "/type"},
      {"-1000000000000000000", "/type"},
      {"0.5", "/type"},
      {"1e-20", "/type"},
      {"\"1\"", "/type"},
      {"1e300", "/type"}}},
    {"{\"type\":\"integer\",\"minimum\":-12,\"maximum\":305,\"multipleOf\":1.0}",
     {"-12", "-11", "-9", "-1", "0", "9", "10", "99", "100", "299", "300", "305"},
     {{"-13", "/minimum"},
      {"-20", "/minimum"},
      {"306", "/maximum"},
      {"310", "/maximum"},
      {"1000", "/maximum"},
      {"1.5", "/type"}}},
    {"{\"type\":\"integer\",\"exclusiveMinimum\":-3,\"exclusiveMaximum\":1e1}",
     {"-2", "0", "9"},
     {{"-3", "/exclusiveMinimum"}, {"10", "/exclusiveMaximum"}}},
    {"{\"type\":\"integer\",\"minimum\":0.5,\"maximum\":7.9,\"exclusiveMaximum\":7.01}",
     {"1", "7"},
     {{"0", "/minimum"}, {"8", "/exclusiveMaximum"}}},
    {"{\"type\":\"integer\",\"minimum\":-7.9,\"maximum\":-0.5}",
     {"-7", "-1"},
     {{"-8", "/minimum"}, {"0", "/maximum"}}},
    {"{\"type\":\"integer\",\"minimum\":-7,\"exclusiveMaximum\":0}", {"-1"}, {{"0", NULL}}},
    {"{\"type\":\"integer\",\"minimum\":-5,\"maximum\":-5}", {"-5"}, {{"-4", NULL}, {"5", NULL}}},
    {"{\"type\":\"integer\",\"minimum\":-1e300,\"maximum\":1e300,\"exclusiveMaximum\":100}",
     {"-999999999999999999", "99"},
     {{"100", "/exclusiveMaximum"}}},
    // Numbers
    {"{\"type\":\"number\"}",
     {"0", "-0.5", "1.25", "999999999999999999", "-123456789.012345", "0.000000000000001",
      "99999999999999.9"},
     {{"1000000000000000000", "/type"}, {"true", "/type"}, {"-1e18", "/type"}}},
    {"{\"type\":\"number\",\"minimum\":-0.25,\"maximum\":12.5}",
     {"-0.25", "-0.2", "-0.000000000000001", "0", "0.7", "9.99999999999999", "12", "12.49", "12.5"},
     {{"-0.26", "/minimum"},
      {"-0.3", "/minimum"},
      {"-1", "/minimum"},
      {"12.51", "/maximum"},
      {"12.500000000000001", "/maximum"},
      {"13", "/maximum"}}},
    {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":1}",
     {"0.000000000000001", "0.5", "0.999999999999999"},
     {{"0", "/exclusiveMinimum"}, {"1", "/exclusiveMaximum"}, {"-0.0", "/exclusiveMinimum"}}},
    {"{\"type\":\"number\",\"minimum\":0.1,\"maximum\":0.3}",
     {"0.1", "0.3", "0.2999"},
     {{"0.30000000000000004", "/maximum"}, {"0.0999999", "/minimum"}, {"0", NULL}}},
    {"{\"type\":\"number\",\"minimum\":144115188075855872.0}",
     {"144115188075855872", "144115188075855873"},
     {{"144115188075855871", "/minimum"}}},
    {"{\"type\":[\"integer\",\"number\"],\"minimum\":99.5,\"maximum\":100.5}",
     {"99.5", "100", "100.5"},
     {{"99.4", NULL}, {"100.51", NULL}}},
    // Strings
    {"{\"type\":\"string\"}",
     {"\"\"", "\"a b\"", "\"" E5 "\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0000\\u001f\\u000b\"",
      "\"\x7f\xc2\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\""},
     {{"null", "/type"}}},
    {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":5}",
     {"\"ab\"", "\"" E5 "\"", "\"\\n\\u0001\\\"\\\\\\t\"", "\"\xf0\x9f\x98\x80\xc3\xa9\""},
     {{"\"\xf0\x9f\x98\x80\"", "/minLength"},
      {"\"\"", "/minLength"},
      {"\"" E5 "a\"", "/maxLength"},
      {"\"\\n\\n\\n\\n\\n\\n\"", "/maxLength"}}},
    {"{\"type\":\"string\",\"maxLength\":0}", {"\"\""}, {{"\"a\"", "/maxLength"}}},
    {"{\"type\":\"string\",\"maxLength\":2000000000,\"minLength\":1.0}",
     {"\"a\""},
     {{"\"\"", NULL}}},
    {"{\"type\":\"string\",\"maxLength\":2000000}", {"\"\"", "\"a\""}, {{"1", NULL}}},
    // Patterns
    {"{\"type\":\"string\",\"pattern\":\"^[A-Z][0-9]{2}(\\\\.[0-9])?$\"}",
     {"\"A01\"", "\"Z99.9\""},
     {{"\"A1\"", "/pattern"}, {"\"A01.\"", "/pattern"}, {"\"xA01\"", NULL}, {"\"A01\\n\"", NULL}}},
    {"{\"type\":\"string\",\"pattern\":\"b+$\",\"minLength\":2,\"maxLength\":3}",
     {"\"ab\"", "\"bb\"", "\"abb\"", "\"\xc3\xa9\\\"b\""},
     {{"\"b\"", "/minLength"}, {"\"ba\"", "/pattern"}, {"\"aaab\"", "/maxLength"}}},
    {"{\"type\":\"string\",\"pattern\":\"^(?:ab|a|[^\\\\s\\\"]\\\"){2}\",\"maxLength\":4}",
     {"\"aa\"", "\"aab\"", "\"abab\"", "\"x\\\"a\"", "\"aa\\n\\u0001\""},
     {{"\"a\"", NULL}, {"\"ba\"", NULL}, {"\" \\\"a\"", NULL}, {"\"aaaaa\"", "/maxLength"}}},
    {"{\"type\":\"string\",\"pattern\":\"^\\\\d{2,3}?[^]\\\\u00e9\\\\u{1F600}"
     "\\\\x41\\\\cA\\\\0\\\\-$\"}",
     {"\"12\\n\xc3\xa9\xf0\x9f\x98\x80"
      "A\\u0001\\u0000-\""},
     {{"\"1\"", NULL}}},
    {"{\"type\":\"string\",\"pattern\":\"^.$|^$|x{0}^\\\\W\\\\D\\\\S$\"}",
     {"\"\"", "\"a\"", "\"\xe2\x82\xac\"", "\"-b\xc3\xa9\""},
     {{"\"\\n\"", NULL}, {"\"\xe2\x80\xa8\"", NULL}, {"\"ab\"", NULL}, {"\"-1c\"", NULL}}},
    {"{\"type\":\"string\",\"pattern\":\"\"}", {"\"\"", "\"x\""}, {{"1", NULL}}},
    // Dates
    {"{\"type\":\"string\",\"format\":\"date\"}",
     {"\"2024-02-29\"", "\"2000-02-29\"", "\"0001-01-01\"", "\"9999-12-31\"", "\"1999-04-30\"",
      "\"1900-02-28\"", "\"0004-02-29\"", "\"0400-02-29\""},
     {{"\"2023-02-29\"", "/format"},
      {"\"1900-02-29\"", "/format"},
      {"\"2024-02-30\"", "/format"},
      {"\"1999-04-31\"", NULL},
      {"\"0000-01-01\"", NULL},
      {"\"2024-13-01\"", NULL},
      {"\"2024-00-10\"", NULL},
      {"\"2024-01-00\"", NULL},
      {"\"2024-1-01\"", NULL},
      {"\"12024-01-01\"", NULL},
      {"\"2024-01-01Z\"", NULL}}},
    // Values
    {"{\"enum\":[\"A\\\"\",\"\xc3\xa9\",\"\xc3\xa8\",\"a\\\\\\n\\u0000\",\"AB\",\"A\",1,1.5,null,"
     "true,[],{}]}",
     {"\"A\\\"\"", "\"\xc3\xa9\"", "\"\xc3\xa8\"", "\"a\\\\\\n\\u0000\"", "\"AB\"", "\"A\"", "1",
      "1.5", "null", "true", "[]", "{}"},
     {{"\"B\"", "/enum"},
      {"\"\"", "/enum"},
      {"2", NULL},
      {"false", NULL},
      {"[1]", NULL},
      {"1.51", NULL}}},
    {"{\"enum\":[\"a\",\"ab\",1,12,2.5],\"type\":[\"string\",\"integer\"],\"maxLength\":1,"
     "\"minimum\":2}",
     {"\"a\"", "12"},
     {{"\"ab\"", NULL}, {"1", NULL}, {"2.5", NULL}}},
    {"{\"const\":{\"b\":[1.0,{\"\\\"\":null}],\"a\":\"\xe2\x82\xac\"}}",
     {"{\"b\": [1, {\"\\\"\": null}], \"a\": \"\xe2\x82\xac\"}"},
     {{"{\"b\":[1,{\"\\\"\":0}],\"a\":\"\xe2\x82\xac\"}", "/const"}, {"{}", NULL}, {"[]", NULL}}},
    {"{\"const\":\"x\",\"type\":\"string\"}", {"\"x\""}, {{"\"y\"", "/const"}}},
    // Objects
    {OBJECT "{}}", {"{}"}, {{"[]", "/type"}}},
    {OBJECT
     "{\"a\":{\"type\":\"null\"},\"b~/\\\"\":{\"type\":\"null\"},\"\xc3\xa9\":{\"type\":\"null\"}},"
     "\"required\":[\"a\",\"b~/\\\"\"],\"additionalProperties\":false}",
     {"{\"a\": null, \"b~/\\\"\": null}", "{\"a\": null, \"b~/\\\"\": null, \"\xc3\xa9\": null}"},
     {{"{\"a\":null}", "/required"},
      {"{\"b~/\\\"\":null}", "/required"},
      {"{\"a\":null,\"b~/\\\"\":1}", "/properties/b~0~1\"/type"},
      {"{\"a\":1,\"b~/\\\"\":1}", "/properties/a/type"}}},
    {OBJECT "{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"},\"c\":{\"type\":\"null\"}}}",
     {"{}", "{\"a\": null}", "{\"b\": null}", "{\"c\": null}", "{\"a\": null, \"b\": null}",
      "{\"a\": null, \"c\": null}", "{\"b\": null, \"c\": null}",
      "{\"a\": null, \"b\": null, \"c\": null}"},
     {{"{\"a\":0}", "/properties/a/type"}, {"{\"c\":0}", "/properties/c/type"}}},
    {OBJECT "{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"},\"c\":{\"type\":\"null\"},\"d\":"
            "{\"type\":\"null\"}},\"required\":[\"c\"]}",
     {"{\"c\": null}", "{\"a\": null, \"c\": null}", "{\"b\": null, \"c\": null}",
      "{\"a\": null, \"b\": null, \"c\": null}", "{\"c\": null, \"d\": null}",
      "{\"a\": null, \"b\": null, \"c\": null, \"d\": null}"},
     {{"{}", "/required"}, {"{\"a\":null,\"d\":null}", "/required"}}},
    {OBJECT "{\"in\":" OBJECT
            "{\"x\":{\"type\":\"integer\",\"maximum\":3}},\"required\":[\"x\"]},\"out\":"
            "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/y\"}}},\"$defs\":{\"y\":{\"type\":"
            "\"boolean\"}},\"required\":[\"in\"]}",
     {"{\"in\": {\"x\": 3}}", "{\"in\": {\"x\": -3}, \"out\": [true, false]}"},
     {{"{\"in\":{\"x\":4}}", "/properties/in/properties/x/maximum"},
      {"{\"in\":{}}", "/properties/in/required"},
      {"{\"in\":{\"x\":1},\"out\":[true,1]}", "/$defs/y/type"}}},
    // Arrays
    {"{\"type\":\"array\",\"items\":{\"enum\":[1,2]},\"uniqueItems\":false}",
     {"[]", "[1]", "[2, 1, 1]"},
     {{"[3]", "/items/enum"}, {"{}", "/type"}, {"1", "/type"}}},
    {"{\"type\":\"array\",\"items\":{\"enum\":[1]},\"minItems\":2,\"maxItems\":3}",
     {"[1, 1]", "[1, 1, 1]"},
     {{"[1]", "/minItems"}, {"[1,1,1,1]", "/maxItems"}, {"[]", NULL}}},
    {"{\"type\":\"array\",\"items\":{\"enum\":[1]},\"minItems\":1,\"maxItems\":1}",
     {"[1]"},
     {{"[]", NULL}, {"[1,1]", NULL}}},
    {"{\"type\":\"array\",\"items\":{\"enum\":[1]},\"maxItems\":0}",
     {"[]"},
     {{"[1]", "/maxItems"}}},
    {"{\"type\":\"array\",\"items\":{\"enum\":[1]},\"minItems\":1}",
     {"[1]", "[1, 1, 1]"},
     {{"[]", NULL}}},
    {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2},{\"const\":3}],\"items\":"
     "false}",
     {"[]", "[1]", "[1, 2]", "[1, 2, 3]"},
     {{"[2]", "/prefixItems/0/const"},
      {"[1,1]", "/prefixItems/1/const"},
      {"[1,2,3,4]", "/maxItems"}}},
    {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3},"
     "\"minItems\":1,\"maxItems\":4}",
     {"[1]", "[1, 2]", "[1, 2, 3]", "[1, 2, 3, 3]"},
     {{"[]", NULL}, {"[1,3]", NULL}, {"[1,2,3,3,3]", NULL}, {"[1,2,2]", "/items/const"}}},
    {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3},"
     "\"minItems\":3}",
     {"[1, 2, 3]", "[1, 2, 3, 3, 3]"},
     {{"[1,2]", "/minItems"}}},
    {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"maxItems\":1}",
     {"[]", "[1]"},
     {{"[1,2]", "/maxItems"}}},
    // Alternatives
    {"{\"type\":[\"string\",\"null\",\"integer\",\"array\"],\"maxLength\":1,\"maximum\":9,"
     "\"minimum\":0,"
     "\"items\":{\"type\":\"null\"}}",
     {"\"a\"", "null", "7", "[]", "[null, null]"},
     {{"\"ab\"", "/maxLength"}, {"10", "/maximum"}, {"true", "/type"}, {"[1]", "/items/type"}}},
    {"{\"anyOf\":[{\"type\":\"integer\",\"minimum\":5},{\"type\":\"number\",\"maximum\":1},{"
     "\"const\":\"x\"}]}",
     {"5", "0.5", "\"x\"", "1", "-7"},
     {{"2", "/anyOf"}, {"5.5", "/anyOf"}, {"\"y\"", "/anyOf"}}},
    {"{\"anyOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}}}," OBJECT
     "{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"}}}]}",
     {"{}", "{\"a\": null}", "{\"a\": null, \"b\": null}", "{\"b\": null}"},
     {{"{\"a\":1}", "/anyOf"}}},
    {"{\"oneOf\":[{\"type\":\"string\"},{\"enum\":[1,2]},{\"enum\":[3,null]}]}",
     {"\"1\"", "1", "3", "null"},
     {{"4", "/oneOf"}}},
    // Alternatives that a member tells apart
    {"{\"oneOf\":[" TOLD("a", "[\"k\"]") "," TOLD("b", "[]") "]}",
     {"{\"k\": \"a\"}", "{\"k\": \"a\", \"a\": null}", "{\"k\": \"b\", \"b\": null}",
      "{\"b\": null}", "{}"},
     {{"{\"k\":\"c\"}", "/oneOf"}, {"{\"k\":\"a\",\"a\":1}", "/oneOf"}}},
    {TELLING("{\"propertyName\":\"k\",\"mapping\":{\"a\":\"#/$defs/A\",\"b\":\"B\"}}"),
     {"{\"k\": \"a\"}", "{\"k\": \"b\", \"b\": null}"},
     {{"{\"k\":\"c\"}", "/oneOf"}, {"{}", "/oneOf"}}},
    {"{\"oneOf\":[{\"oneOf\":[" TOLD("a", "[\"k\"]") "," TOLD("b", "[\"k\"]") "]}," TOLD(
         "c", "[\"k\"]") "],\"discriminator\":{\"propertyName\":\"k\",\"mapping\":{\"a\":{"
                         "\"oneOf\":[" TOLD("a", "[\"k\"]") "," TOLD("b", "[\"k\"]") "]}}}}",
     {"{\"k\": \"a\"}", "{\"k\": \"b\"}", "{\"k\": \"c\", \"c\": null}"},
     {{"{\"k\":\"d\"}", "/oneOf"}}},
    {"{\"oneOf\":[" OBJECT "{\"in\":" OBJECT "{\"k\":{\"enum\":[1,2]}},\"required\":[\"k\"]}},"
     "\"required\":[\"in\"]}," OBJECT "{\"in\":" OBJECT
     "{\"k\":{\"const\":3}},\"required\":[\"k\"]}},\"required\":[\"in\"]}]}",
     {"{\"in\": {\"k\": 2}}", "{\"in\": {\"k\": 3}}"},
     {{"{\"in\":{\"k\":4}}", "/oneOf"}, {"{\"in\":{}}", "/oneOf"}}},
    // What schemars writes of an enum of Rust
    {"{\"oneOf\":[" OBJECT
     "{\"A\":{\"type\":\"null\"}},\"required\":[\"A\"],\"additionalProperties\":"
     "false}," OBJECT
     "{\"B\":{\"type\":\"null\"}},\"required\":[\"B\"],\"additionalProperties\":false},{\"type\":"
     "\"string\",\"enum\":[\"C\"]}]}",
     {"{\"A\": null}", "{\"B\": null}", "\"C\""},
     {{"{}", "/oneOf"}, {"\"A\"", "/oneOf"}}},
    {"{\"oneOf\":[{\"const\":\"a\"},{\"type\":\"string\",\"pattern\":\"[0-9]\",\"maxLength\":2}]}",
     {"\"a\"", "\"a1\""},
     {{"\"b\"", "/oneOf"}}},
    // Schemas that hold together
    {OBJECT "{\"v\":{\"allOf\":[{\"$ref\":\"#/definitions/C\"}],\"default\":\"r\",\"x-order\":1}},"
            "\"definitions\":{\"C\":{\"enum\":[\"r\",\"g\"]}},\"required\":[\"v\"]}",
     {"{\"v\": \"r\"}", "{\"v\": \"g\"}"},
     {{"{\"v\":\"b\"}", "/definitions/C/enum"}, {"{}", "/required"}}},
    {"{\"$ref\":\"#/$defs/S\",\"maxLength\":3,\"$defs\":{\"S\":{\"$ref\":\"#/$defs/"
     "T\",\"minLength\":2},"
     "\"T\":{\"type\":\"string\",\"maxLength\":4,\"minLength\":1}}}",
     {"\"ab\"", "\"abc\""},
     {{"\"a\"", "/minLength"}, {"\"abcd\"", "/maxLength"}, {"7", "/type"}}},
    {"{\"allOf\":[{\"type\":\"integer\",\"minimum\":3,\"maximum\":9},{\"minimum\":2,\"maximum\":"
     "7.5}]}",
     {"3", "7"},
     {{"2", "/minimum"}, {"8", "/maximum"}}},
    {"{\"allOf\":[" OBJECT "{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"null\"}},\"required\":["
     "\"a\"]}," OBJECT
     "{\"a\":{\"maxLength\":1},\"c\":{\"type\":\"null\"}},\"required\":[\"a\",\"c\"]"
     "}],\"type\":\"object\"}",
     {"{\"a\": \"x\", \"c\": null}", "{\"a\": \"\", \"b\": null, \"c\": null}"},
     {{"{\"a\":\"xy\",\"c\":null}", "/properties/a/maxLength"}, {"{\"a\":\"x\"}", "/required"}}},
    {"{\"allOf\":[{\"type\":\"string\",\"nullable\":true},{\"maxLength\":1}]}",
     {"null", "\"a\""},
     {{"\"ab\"", "/maxLength"}}},
    {OBJECT "{\"a\":{\"enum\":[1,2]},\"b\":{\"$ref\":\"#/properties/a\"}},\"required\":[\"b\"]}",
     {"{\"a\": 1, \"b\": 2}", "{\"b\": 1}"},
     {{"{\"b\":3}", "/properties/a/enum"}}},
    // OpenAPI's null, formats, lists of draft 7, integers of 64 bits
    {"{\"type\":\"string\",\"nullable\":true,\"maxLength\":1}",
     {"null", "\"a\""},
     {{"\"ab\"", "/maxLength"}, {"1", "/type"}}},
    {"{\"type\":\"string\",\"enum\":[\"a\"],\"nullable\":true}", {"\"a\""}, {{"null", "/enum"}}},
    {"{\"type\":\"boolean\",\"nullable\":false}", {"true"}, {{"null", "/type"}}},
    {"{\"type\":\"string\",\"format\":\"date-time\"}",
     {"\"2024-02-29T10:00:00Z\"", "\"2024-01-01t23:59:59.123456z\"",
      "\"1999-12-31T00:00:00+23:59\"", "\"1999-12-31T00:00:00-00:00\""},
     {{"\"2023-02-29T10:00:00Z\"", "/format"},
      {"\"2024-02-29\"", "/format"},
      {"\"2024-02-29T10:00:00\"", NULL},
      {"\"2024-02-29T24:00:00Z\"", NULL},
      {"\"2024-02-29T10:60:00Z\"", NULL},
      {"\"2024-02-29T10:00:60Z\"", NULL},
      {"\"2024-02-29 10:00:00Z\"", NULL},
      {"\"2024-02-29T10:00:00.Z\"", NULL},
      {"\"2024-02-29T10:00:00+24:00\"", NULL},
      {"\"2024-02-29T10:00:00+0100\"", NULL}}},
    {"{\"type\":\"string\",\"format\":\"time\"}",
     {"\"10:00:00Z\"", "\"23:59:59.9+01:30\""},
     {{"\"10:00:00\"", "/format"}, {"\"25:00:00Z\"", NULL}, {"\"1:00:00Z\"", NULL}}},
    {"{\"type\":\"string\",\"format\":\"uuid\"}",
     {"\"01234567-89ab-CDEF-0123-456789abcdef\""},
     {{"\"0123456789abcdef0123456789abcdef\"", "/format"},
      {"\"01234567-89ab-cdef-0123-456789abcdeg\"", NULL},
      {"\"{01234567-89ab-cdef-0123-456789abcdef}\"", NULL}}},
    {"{\"type\":\"string\",\"format\":\"email\",\"maxLength\":13}",
     {"\"a@b\"", "\"a.b+c@x-1.org\"", "\"{'}@0.de\""},
     {{"\"a\"", "/format"},
      {"\"a@\"", NULL},
      {"\"@b\"", NULL},
      {"\"a.@b\"", NULL},
      {"\".a@b\"", NULL},
      {"\"a@-b\"", NULL},
      {"\"a@b-\"", NULL},
      {"\"a@b..c\"", NULL},
      {"\"a b@c\"", NULL},
      {"\"a@b@c\"", NULL},
      {"\"aaaaaaaaa@b.cc\"", "/maxLength"}}},
    {"{\"type\":\"string\",\"format\":\"ipv4\"}",
     {"\"0.0.0.0\"", "\"255.249.199.99\""},
     {{"\"256.0.0.0\"", "/format"},
      {"\"1.2.3\"", NULL},
      {"\"01.2.3.4\"", NULL},
      {"\"1.2.3.4.5\"", NULL}}},
    {"{\"type\":\"integer\",\"format\":\"int32\"}",
     {"2147483647", "-2147483648"},
     {{"2147483648", "/format"}, {"-2147483649", "/format"}, {"1.5", "/type"}}},
    {"{\"type\":\"integer\",\"format\":\"uint8\",\"maximum\":7,\"minimum\":0.0}",
     {"0", "7"},
     {{"8", "/maximum"}, {"-1", "/format"}}},
    {"{\"type\":\"integer\",\"format\":\"uint64\",\"minimum\":0.0,\"maximum\":"
     "18446744073709551615}",
     {"0", "999999999999999999"},
     {{"-1", "/format"}}},
    {"{\"type\":[\"string\",\"integer\"],\"format\":\"int8\",\"maxLength\":1,\"title\":"
     "\"12345678901234567890 \\\" 1234567890123456789\"}",
     {"\"a\"", "127"},
     {{"128", "/format"}}},
    {"{\"const\":\"\\\"12345678901234567890\"}", {"\"\\\"12345678901234567890\""}, {{"1", NULL}}},
    {"{\"type\":\"number\",\"format\":\"double\",\"minimum\":0}", {"0.5"}, {{"-1", "/minimum"}}},
    {"{\"type\":\"array\",\"items\":[{\"type\":\"boolean\"},{\"type\":\"null\"}],\"minItems\":1,"
     "\"maxItems\":2}",
     {"[true]", "[true, null]"},
     {{"[]", "/minItems"}, {"[null]", "/items/0/type"}, {"[true,null,1]", "/maxItems"}}},
    {"{\"type\":\"array\",\"items\":[{\"const\":1}],\"additionalItems\":{\"const\":2},\"maxItems\":"
     "3}",
     {"[]", "[1]", "[1, 2, 2]"},
     {{"[2]", NULL}, {"[1,1]", "/additionalItems/const"}}},
    {"{\"type\":\"array\",\"items\":[{\"const\":1}],\"additionalItems\":false}",
     {"[]", "[1]"},
     {{"[1,1]", "/maxItems"}}},
    // References
    {"{\"$ref\":\"#/definitions/a~1b\",\"definitions\":{\"a/b\":{\"type\":\"null\"}}}",
     {"null"},
     {{"1", "/definitions/a~1b/type"}}},
    {OBJECT "{\"next\":{\"$ref\":\"#\"},\"s\":{\"type\":\"boolean\"}},\"required\":[\"s\"]}",
     {"{\"s\": true}", "{\"next\": {\"next\": {\"s\": true}, \"s\": false}, \"s\": true}"},
     {{"{\"next\":{},\"s\":true}", "/required"},
      {"{\"next\":{\"s\":1},\"s\":true}", "/properties/s/type"}}},
    {"{\"$ref\":\"#/$defs/"
     "tree\",\"$defs\":{\"tree\":{\"anyOf\":[{\"type\":\"array\",\"items\":{\"$ref\":"
     "\"#/$defs/tree\"}},{\"type\":\"null\"}]}}}",
     {"null", "[]", "[null, [[], null]]"},
     {{"1", NULL}, {"[[1]]", NULL}}},
    // Names of members that rules might share
    {OBJECT
     "{\"p0\":{\"type\":\"string\",\"pattern\":\"^(a|bc)*d$\"},\"character\":{\"type\":\"string\"},"
     "\"\":{\"type\":\"null\"},\"-\":{\"type\":\"null\"},\"root\":{\"enum\":[\"a1\",\"a2\"]}}}",
     {"{\"p0\": \"abcd\", \"character\": \"\", \"\": null, \"-\": null, \"root\": \"a2\"}"},
     {{"{\"p0\":\"ab\"}", "/properties/p0/pattern"}}},
};

/* Neither the text nor the same with the white space of the schema's form. */
static void check_lacks(struct automaton *automaton, const char *json, const char *of) {
	struct arena form = {0};
	json_t *value = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	bool taken = is_taken(automaton, json, strlen(json));
	// The form of a number is that of a decimal near it.
	if (!json_is_number(value)) {
		assert_true(canonical_value(&form, value));
		taken |= is_taken(automaton, form.bytes, form.used);
	}
	if (taken) fail_msg("%s: the grammar has %s", of, json);
	json_decref(value);
	arena_free(&form);
}

static void check_keyword(const struct keyword_case *given) {
	struct followed with = follow_schema(given->schema);
	size_t misfit;
	for (size_t i = 0; i < 12 && given->texts[i]; i++) {
		const char *text = given->texts[i];
		char *form = record_form(with.schema, text, &misfit);
		if (!form) fail_msg("%s: %s does not fit", given->schema, text);
		assert_string_equal(form, text);
		if (!is_taken(with.automaton, text, strlen(text)))
			fail_msg("%s: the grammar lacks %s", given->schema, text);
		// What lacks its end, or has a byte more, is no text of it.
		if (strchr("\"]}", text[strlen(text) - 1]))
			assert_false(is_taken(with.automaton, text, strlen(text) - 1));
		assert_false(is_taken(with.automaton, text, strlen(text) + 1));
		free(form);
	}
	for (size_t i = 0; i < 12 && given->others[i].json; i++) {
		const struct misfit *other = &given->others[i];
		char *form = record_form(with.schema, other->json, &misfit);
		if (form) fail_msg("%s: %s fits", given->schema, other->json);
		check_lacks(with.automaton, other->json, given->schema);
		char *place = schema_place(with.schema, misfit);
		assert_true(misfit < schema_places(with.schema));
		if (other->place && strcmp(place, other->place) != 0)
			fail_msg("%s: %s fails by %s", given->schema, other->json, place);
		free(place);
	}
	leave_schema(&with);
}

static void keywords_mean_what_they_say(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) check_keyword(&keywords[i]);
}

/* What fits, but is not written so. */
static void records_take_the_canonical_form(void **state) {
	(void)state;
	static const char *const cases[][3] = {
	    {OBJECT "{\"ward\":{\"type\":\"string\"},\"age\":{\"type\":\"number\"}}}",
	     "{\"age\":7.0,\"x\":1,\"ward\":\"A\\/\\u00e9\"}",
	     "{\"ward\": \"A/\xc3\xa9\", \"age\": 7}"},
	    {OBJECT "{\"a\":{\"type\":\"null\"}},\"additionalProperties\":false}", "{\"b\":1}",
	     "{}"},
	    {"{\"type\":\"number\"}", "1.50e2", "150"},
	    {"{\"type\":\"number\"}", "-0.0", "0"},
	    {"{\"type\":\"number\"}", "0.30000000000000004", "0.3"},
	    {"{\"type\":\"number\"}", "36.599999999999994", "36.6"},
	    {"{\"type\":\"number\"}", "1e-18", "0"},
	    {"{\"type\":\"number\"}", "123456789012345.67", "123456789012346"},
	    {"{\"type\":\"number\",\"maximum\":0.999999999999999}", "0.9999999999999989",
	     "0.999999999999999"},
	    {"{\"enum\":[1.0,\"\\u00e9\"]}", "1", "1"},
	    {"{\"enum\":[0.30000000000000004]}", "0.30000000000000004", "0.30000000000000004"},
	    {"{\"enum\":[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]}", "{\"b\":2,\"a\":1.0}",
	     "{\"a\": 1, \"b\": 2}"},
	    {"{\"anyOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}}}," OBJECT
	     "{\"b\":{\"type\":\"null\"}}}]}",
	     "{\"b\":null}", "{\"b\": null}"},
	    {"{\"anyOf\":[" OBJECT "{\"a\":{\"type\":\"null\"}}}," OBJECT
	     "{\"b\":{\"type\":\"null\"}}}]}",
	     "{\"b\":null,\"a\":null}", "{\"a\": null}"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct followed with = follow_schema(cases[i][0]);
		size_t misfit;
		char *form = record_form(with.schema, cases[i][1], &misfit);
		if (!form) fail_msg("%s: %s does not fit", cases[i][0], cases[i][1]);
		assert_string_equal(form, cases[i][2]);
		assert_true(is_taken(with.automaton, form, strlen(form)));
		if (strcmp(cases[i][1], cases[i][2]) != 0)
			assert_false(is_taken(with.automaton, cases[i][1], strlen(cases[i][1])));
		free(form);
		leave_schema(&with);
	}
}

/* Texts that are near a canonical one. */
static void other_forms_are_not_written(void **state) {
	(void)state;
	static const char *const cases[][14] = {
	    {"{\"type\":\"number\"}", "1.0", "1.50", "01", "-0", "-0.0", "1e3", "+1", ".5", "1.",
	     "00", "0.0000000000000001", "1.000000000000001", "123456789012345.5"},
	    {"{\"type\":\"integer\",\"maximum\":70}", "1.0", "-0", "007", "1e1", " 1", "1 "},
	    {"{\"type\":\"string\",\"maxLength\":3}", "\"\\/\"", "\"\\u0041\"", "\"\\u00e9\"",
	     "\"\\u001F\"", "\"\\u0009\"", "\"\n\"", "\"\x01\"", "\"\\x\"", "\"\xc3\"",
	     "\"\xed\xa0\x80\"", "\"\xff\"", "'a'"},
	    {OBJECT "{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"}}}", "{\"a\":null}",
	     "{\"a\": null,\"b\": null}", "{\"b\": null, \"a\": null}", "{ \"a\": null}",
	     "{\"a\": null,}", "{, \"a\": null}", "{\"a\": null, \"a\": null}", "{\"c\": null}",
	     "{\"a\": null} "},
	    {"{\"type\":\"array\",\"items\":{\"type\":\"null\"}}", "[null,null]", "[ null]",
	     "[null, ]", "[, null]", "[null]\n", "[null null]"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct followed with = follow_schema(cases[i][0]);
		for (size_t j = 1; j < 14 && cases[i][j]; j++)
			if (is_taken(with.automaton, cases[i][j], strlen(cases[i][j])))
				fail_msg("%s: the grammar has %s", cases[i][0], cases[i][j]);
		leave_schema(&with);
	}
}

static void all_values_of_a_long_enum_are_reached(void **state) {
	(void)state;
	enum { COUNT = 4096 };
	char *json = malloc(20 * COUNT), text[32];
	assert_non_null(json);
	size_t used = (size_t)sprintf(json, "{\"enum\":[");
	for (unsigned i = 0; i < COUNT; i++)
		used += (size_t)sprintf(json + used, "%s\"%x%.*s\"", i ? "," : "", i * 2654435761u,
		                        (int)(i % 7), "aaaaaa");
	strcpy(json + used, "]}");
	struct followed with = follow_schema(json);
	for (unsigned i = 0; i < COUNT; i++) {
		const int size =
		    sprintf(text, "\"%x%.*s\"", i * 2654435761u, (int)(i % 7), "aaaaaa");
		assert_true(is_taken(with.automaton, text, (size_t)size));
		assert_false(is_taken(with.automaton, text, (size_t)size - 1));
	}
	assert_false(automaton_crowded(with.automaton));
	leave_schema(&with);
	free(json);
}

/* Each day of 800 years, and days that are none. */
static void dates_are_those_of_the_calendar(void **state) {
	(void)state;
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct followed with = follow_schema("{\"type\":\"string\",\"format\":\"date\"}");
	char text[64];
	for (int year = 0; year < 10000; year += year < 2800 && year >= 1600 ? 1 : 50)
		for (int month = 0; month <= 13; month++)
			for (int day = 0; day <= 32; day++) {
				const bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
				bool exists = year > 0 && month > 0 && month < 13 && day > 0;
				if (exists) exists = day <= days[month - 1] + (leap && month == 2);
				const int size =
				    sprintf(text, "\"%04d-%02d-%02d\"", year, month, day);
				if (is_taken(with.automaton, text, (size_t)size) != exists)
					fail_msg("%s", text);
			}
	leave_schema(&with);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void fields_are_listed(void **state) {
	(void)state;
	const char *json =
	    OBJECT "{\"date\":{\"type\":\"string\",\"format\":\"date\"},\"ward\":{\"enum\":[\"B\","
	           "\"A\",2]},"
	           "\"patient\":" OBJECT "{\"a/e\":{\"type\":[\"integer\",\"null\"]},\"in\":" OBJECT
	           "{\"deep\":{\"type\":\"boolean\"}}}},\"required\":[\"a/e\"]},"
	           "\"note\":{\"type\":\"string\"},\"list\":{\"type\":\"array\",\"items\":false},"
	           "\"kind\":{\"anyOf\":[{\"type\":\"null\"},{\"const\":\"x\\\"\"}]},"
	           "\"self\":{\"$ref\":\"#\"}},\"required\":[\"date\",\"ward\"]}";
	static const struct {
		const char *name;
		enum field_kind kind;
		bool may_lack, may_null;
		size_t count;
		const char *value, *label;
	} wanted[] = {
	    {"date", FIELD_DATE, false, false, 0, NULL, NULL},
	    {"ward", FIELD_CATEGORY, false, false, 3, "\"B\"", "B"},
	    {"/patient/a~1e", FIELD_NUMBER, true, true, 0, NULL, NULL},
	    {"/patient/in/deep", FIELD_CATEGORY, true, false, 2, "true", "true"},
	    {"note", FIELD_TEXT, true, false, 0, NULL, NULL},
	    {"list", FIELD_OTHER, true, false, 0, NULL, NULL},
	    {"kind", FIELD_CATEGORY, true, true, 2, "\"x\\\"\"", "x\""},
	    {"self", FIELD_OTHER, true, false, 0, NULL, NULL},
	};
	struct followed with = follow_schema(json);
	struct schema_fields *fields = schema_fields(with.schema);
	assert_non_null(fields);
	assert_true(schema_is_object(with.schema));
	assert_int_equal(fields->count, sizeof wanted / sizeof *wanted);
	for (size_t i = 0; i < fields->count; i++) {
		const struct schema_field *field = &fields->list[i];
		assert_string_equal(field->name, wanted[i].name);
		assert_int_equal(field->kind, wanted[i].kind);
		assert_int_equal(field->may_lack, wanted[i].may_lack);
		assert_int_equal(field->may_null, wanted[i].may_null);
		assert_int_equal(field->count, wanted[i].count);
		if (!field->count) continue;
		assert_string_equal(field->values[0], wanted[i].value);
		assert_string_equal(field->labels[0], wanted[i].label);
	}
	schema_fields_free(fields);
	leave_schema(&with);
	with = follow_schema("{\"type\":\"null\"}");
	assert_false(schema_is_object(with.schema));
	fields = schema_fields(with.schema);
	assert_int_equal(fields->count, 0);
	schema_fields_free(fields);
	leave_schema(&with);
}

/* Each row of cells as an object, or what a table refuses. */
static void cells_are_members(void **state) {
	(void)state;
	static const char json[] =
	    "{\"type\":\"object\",\"properties\":{\"ward\":{\"enum\":[\"A\",\"7\",7,null]},"
	    "\"age\":{\"type\":[\"integer\",\"null\"]},\"well\":{\"type\":\"boolean\"},"
	    "\"note\":{\"type\":\"string\"},\"mark\":{\"anyOf\":[{\"type\":\"number\"},"
	    "{\"const\":\"none\"}]}},\"required\":[\"ward\",\"age\",\"note\"]}";
	static const struct {
		const char *cells[5], *object;
	} rows[] = {
	    {{"A", "7", "true", "text", "1.50"},
	     "{\"ward\": \"A\", \"age\": 7, \"well\": true, \"note\": \"text\", \"mark\": 1.5}"},
	    {{"7", "7.0", "False", "7", "none"},
	     "{\"ward\": \"7\", \"age\": 7, \"well\": false, \"note\": \"7\", \"mark\": "
	     "\"none\"}"},
	    {{"", "", "", "", ""}, "{\"ward\": null, \"age\": null, \"note\": \"\"}"},
	    {{"null", "null", "TRUE", "null", "-3"},
	     "{\"ward\": null, \"age\": null, \"well\": true, \"note\": \"null\", \"mark\": -3}"},
	    {{"A", "7.5", "", "", ""}, NULL},
	    {{"A", "seven", "", "", ""}, NULL},
	    {{"A", "7", "yes", "", ""}, NULL},
	    {{"A", "7", "", "", "some"}, NULL},
	    {{"B", "7", "", "", ""}, NULL},
	    {{"A", "[7]", "", "", ""}, NULL},
	};
	struct followed with = follow_schema(json);
	struct schema_table *table;
	assert_int_equal(schema_table_make(with.schema, &table, NULL), CUTTLE_OK);
	assert_int_equal(schema_table_columns(table), 5);
	assert_string_equal(schema_table_names(table)[4], "mark");
	assert_true(schema_table_required(table, 3));
	assert_false(schema_table_required(table, 4));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena out = {0};
		json_t *object = json_object();
		bool fits;
		for (size_t j = 0; j < 5; j++)
			assert_true(schema_table_read(table, j, rows[i].cells[j],
			                              strlen(rows[i].cells[j]), object));
		assert_int_equal(schema_record(with.schema, object, &out, &fits), CUTTLE_OK);
		assert_int_equal(fits, rows[i].object != NULL);
		if (fits) assert_int_equal(out.used, strlen(rows[i].object));
		if (fits) assert_memory_equal(out.bytes, rows[i].object, out.used);
		arena_free(&out);
		json_decref(object);
	}
	// A zero byte ends no number.
	json_t *object = json_object();
	assert_true(schema_table_read(table, 1, "7\0", 2, object));
	assert_true(json_is_string(json_object_get(object, "age")));
	json_decref(object);
	schema_table_free(&table);
	leave_schema(&with);
}

static void texts_are_rows(void **state) {
	(void)state;
	static const char text[] =
	    "{\"a, \\\"b\": \"x, \\\"y\\\": }\\u0001\", \"n\": -12, \"r\": 0.10, "
	    "\"long\": 0.000000000000001, \"t\": true, \"z\": null, \"e\": \"\"}";
	json_t *row = schema_table_row(text, sizeof text - 1);
	assert_int_equal(json_object_size(row), 6);
	assert_string_equal(json_string_value(json_object_get(row, "a, \"b")), "x, \"y\": }\1");
	assert_int_equal(json_integer_value(json_object_get(row, "n")), -12);
	assert_string_equal(json_string_value(json_object_get(row, "r")), "0.10");
	assert_string_equal(json_string_value(json_object_get(row, "long")), "0.000000000000001");
	assert_string_equal(json_string_value(json_object_get(row, "t")), "true");
	assert_string_equal(json_string_value(json_object_get(row, "e")), "");
	json_decref(row);
	row = schema_table_row("{}", 2);
	assert_int_equal(json_object_size(row), 0);
	json_decref(row);
}

static void tables_hold_no_lists(void **state) {
	(void)state;
	static const char *const members[] = {
	    "{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"maxItems\":3}",
	    "{\"type\":\"object\",\"properties\":{}}", "{\"enum\":[1,[2]]}",
	    "{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]}"};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		char json[256];
		struct schema *schema;
		struct schema_table *table;
		struct cuttle_error error;
		(void)snprintf(json, sizeof json,
		               "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},"
		               "\"b/\":%s}}",
		               members[i]);
		assert_int_equal(schema_read(json, strlen(json), &schema, NULL), CUTTLE_OK);
		assert_int_equal(schema_table_make(schema, &table, &error), CUTTLE_INPUT);
		assert_null(table);
		assert_string_equal(
		    error.message,
		    "\"/properties/b~1\": a cell of a table holds no object or list: "
		    "give JSONL, which does");
		schema_free(schema);
	}
}

static void columns_have_names_of_a_line(void **state) {
	(void)state;
	static const char *const names[] = {"a\\nb", "a\\r", "\xEF\xBB\xBFx", " a, \\\"b\\\""};
	for (size_t i = 0; i < 4; i++) {
		char json[256];
		struct schema *schema;
		struct schema_table *table;
		(void)snprintf(json, sizeof json,
		               "{\"type\":\"object\",\"properties\":{\"%s\":{\"type\":\"null\"}}}",
		               names[i]);
		assert_int_equal(schema_read(json, strlen(json), &schema, NULL), CUTTLE_OK);
		assert_int_equal(schema_table_make(schema, &table, NULL),
		                 i < 3 ? CUTTLE_INPUT : CUTTLE_OK);
		schema_table_free(&table);
		schema_free(schema);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keywords_mean_what_they_say),
	    cmocka_unit_test(records_take_the_canonical_form),
	    cmocka_unit_test(other_forms_are_not_written),
	    cmocka_unit_test(all_values_of_a_long_enum_are_reached),
	    cmocka_unit_test(dates_are_those_of_the_calendar),
	    cmocka_unit_test(fields_are_listed),
	    cmocka_unit_test(cells_are_members),
	    cmocka_unit_test(texts_are_rows),
	    cmocka_unit_test(tables_hold_no_lists),
	    cmocka_unit_test(columns_have_names_of_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
