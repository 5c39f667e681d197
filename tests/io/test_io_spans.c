// SPDX-License-Identifier: Apache-2.0
// Tests io/documents/spans.c, io/documents/groups.c, io/documents/marks.c and the end of a tagger
// (io/documents/tagger.c). It fails if the exit code of a tagger counts as 0 where it is lost, if a
// span is read wrongly in any unit or form, if a bad span is accepted or its failure shows a word
// of the line, if overlap, adjacency or the sweep make other marks than io/documents/marks.h says,
// or if a context shows what it may not: the blank one must be the same whatever the contents are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/documents/marks.h"
#include "io/documents/tagger.h"
#include "io/records/source.h"
#include "tests/support/foldings.h"
#include "tests/support/statistics.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OCTOPUS "\xF0\x9F\x90\x99" /* one character, 4 bytes, 2 units of UTF-16 */

static struct spans_request request_of(enum spans_offsets offsets) {
	return (struct spans_request){.path = "docs.jsonl",
	                              .text_field = "text",
	                              .id_field = "id",
	                              .spans_field = "spans",
	                              .offsets = offsets};
}

static enum cuttle_status read_line(const struct spans_request *request, const char *line,
                                    struct span_types *types, struct spans *spans,
                                    struct cuttle_error *error) {
	return spans_read(request, line, strlen(line), 7, types, spans, error);
}

/* The spans as "TYPE(content)". */
static void expect_spans(const struct spans_request *request, const char *line,
                         const char *wanted) {
	static struct span_types types;
	struct spans spans = {0};
	struct cuttle_error error;
	char shown[512] = "";
	size_t used = 0;
	types.count = 0;
	if (read_line(request, line, &types, &spans, &error)) fail_msg("%s", error.message);
	for (size_t i = 0; i < spans_count(&spans); i++) {
		const struct text_span *span = &spans_all(&spans)[i];
		used +=
		    (size_t)snprintf(shown + used, sizeof shown - used, "%s%s(%.*s)", i ? " " : "",
		                     types.names[span->type], (int)(span->end - span->start),
		                     spans.text.bytes + span->start);
	}
	assert_string_equal(shown, wanted);
	spans_free(&spans);
}

static void units(void **state) {
	(void)state;
	static const struct {
		enum spans_offsets offsets;
		const char *bo, *end;
	} cases[] = {
	    {SPANS_CODEPOINTS, "4", "6"}, {SPANS_BYTES, "8", "10"}, {SPANS_UTF16, "5", "7"}};
	for (size_t i = 0; i < 3; i++) {
		const struct spans_request request = request_of(cases[i].offsets);
		char line[256];
		(void)snprintf(
		    line, sizeof line,
		    "{\"text\":\"\u00e9 " OCTOPUS " Bo\",\"spans\":[{\"start\":%s,\"end\":%s,"
		    "\"label\":\"P\",\"byte_start\":8,\"byte_end\":10,\"text\":\"Bo\"}]}",
		    cases[i].bo, cases[i].end);
		expect_spans(&request, line, "P(Bo)");
	}
	const struct spans_request points = request_of(SPANS_CODEPOINTS);
	expect_spans(&points,
	             "{\"text\":\"" OCTOPUS "\\u0000x\",\"id\":1,\"spans\":[{\"start\":0,"
	             "\"end\":1,\"type\":\"A\",\"score\":1},{\"start\":2,\"end\":3,"
	             "\"entity_type\":\"B\",\"label\":\"B\",\"score\":null}]}",
	             "A(" OCTOPUS ") B(x)");
	expect_spans(&points, "{\"text\":\"\",\"spans\":[]}", "");
	// Landmarks stand every 64 characters: offsets around many of them.
	static struct span_types types;
	char text[3000] = "", line[4000];
	for (size_t i = 0; i < 300; i++)
		strcat(text, i % 3 ? i % 3 == 1 ? "\u00e9" : OCTOPUS : "a");
	for (size_t unit = 0; unit < 300; unit++) {
		struct spans spans = {0};
		(void)snprintf(
		    line, sizeof line,
		    "{\"text\":\"%s\",\"spans\":[{\"start\":%zu,\"end\":%zu,\"type\":\"A\"}]}",
		    text, unit, unit + 1);
		assert_int_equal(read_line(&points, line, &types, &spans, NULL), CUTTLE_OK);
		const struct text_span *span = spans_all(&spans);
		const size_t start = unit / 3 * 7 + (unit % 3 == 1 ? 1 : unit % 3 == 2 ? 3 : 0);
		assert_int_equal(span->start, start);
		assert_int_equal(span->end - span->start, unit % 3 == 0 ? 1 : 2 * (unit % 3));
		spans_free(&spans);
	}
}

static void annotations_of_tab(void **state) {
	(void)state;
	struct spans_request request = request_of(SPANS_CODEPOINTS);
	static const char line[] =
	    "{\"text\":\"Ann of \u00c5s, 1990\",\"annotations\":{"
	    "\"annotator1\":{\"entity_mentions\":["
	    "{\"entity_type\":\"PERSON\",\"start_offset\":0,\"end_offset\":3,\"span_text\":\"Ann\","
	    "\"identifier_type\":\"DIRECT\"},"
	    "{\"entity_type\":\"LOC\",\"start_offset\":7,\"end_offset\":9,\"identifier_type\":\"NO_"
	    "MASK\"}]},"
	    "\"annotator2\":{\"entity_mentions\":["
	    "{\"entity_type\":\"DATETIME\",\"start_offset\":11,\"end_offset\":15,"
	    "\"identifier_type\":\"QUASI\"}]}}}";
	expect_spans(&request, line, "PERSON(Ann) LOC(\u00c5s) DATETIME(1990)");
	request.format = SPANS_TAB;
	request.leave_identifier = "NO_MASK";
	expect_spans(&request, line, "PERSON(Ann) DATETIME(1990)");
}

#define BEGIN "{\"text\":\"Sesame " OCTOPUS "\",\"spans\":[{"
#define SPAN(members) BEGIN members "}]}"
#define GOOD "\"start\":0,\"end\":3,\"entity_type\":\"SESAME\""

/* Each is INPUT, with the line and what is wrong, and without a word of the line. */
static void bad_spans(void **state) {
	(void)state;
	static const struct {
		const char *line, *rule;
		enum spans_offsets offsets;
		enum spans_format format;
	} cases[] = {
	    {SPAN("\"start\":3,\"end\":3,\"type\":\"SESAME\""), "end is not behind", 0, 0},
	    {SPAN("\"start\":3,\"end\":2,\"type\":\"SESAME\""), "end is not behind", 0, 0},
	    {SPAN("\"start\":-1,\"end\":2,\"type\":\"SESAME\""), "below 0", 0, 0},
	    {SPAN("\"start\":0,\"end\":9,\"type\":\"SESAME\""), "beyond the text", 0, 0},
	    {SPAN("\"start\":9,\"end\":12,\"type\":\"SESAME\""), "beyond the text", 0, 0},
	    {SPAN("\"start\":0,\"end\":12,\"type\":\"SESAME\""), "beyond the text", SPANS_BYTES, 0},
	    {SPAN("\"start\":0,\"end\":10,\"type\":\"SESAME\""), "beyond the text", SPANS_UTF16, 0},
	    {SPAN("\"start\":0,\"end\":8,\"type\":\"SESAME\""), "inside a character", SPANS_BYTES,
	     0},
	    {SPAN("\"start\":8,\"end\":11,\"type\":\"SESAME\""), "inside a character", SPANS_BYTES,
	     0},
	    {SPAN("\"start\":0,\"end\":8,\"type\":\"SESAME\""), "inside a character", SPANS_UTF16,
	     0},
	    {SPAN("\"start\":0,\"end\":9223372036854775807,\"type\":\"SESAME\""), "beyond", 0, 0},
	    {SPAN("\"start\":0,\"end\":99999999999999999999,\"type\":\"SESAME\""),
	     "is not an integer", 0, 0},
	    {SPAN("\"start\":0.0,\"end\":2,\"type\":\"SESAME\""), "not an integer", 0, 0},
	    {SPAN("\"start\":0,\"end\":2.5,\"type\":\"SESAME\""), "not an integer", 0, 0},
	    {SPAN("\"start\":\"0\",\"end\":2,\"type\":\"SESAME\""), "not an integer", 0, 0},
	    {SPAN("\"start\":null,\"end\":2,\"type\":\"SESAME\""), "not an integer", 0, 0},
	    {SPAN("\"end\":2,\"type\":\"SESAME\""), "missing", 0, 0},
	    {SPAN("\"start\":0,\"type\":\"SESAME\""), "missing", 0, 0},
	    {SPAN("\"start\":0,\"end\":2"), "no type", 0, 0},
	    {SPAN("\"start\":0,\"end\":2,\"type\":\"\""), "type is not a string", 0, 0},
	    {SPAN("\"start\":0,\"end\":2,\"type\":7"), "type is not a string", 0, 0},
	    {SPAN("\"start\":0,\"end\":2,\"type\":\"SESAME\\n\""), "type is not a string", 0, 0},
	    {SPAN("\"start\":0,\"end\":2,\"type\":\"SES\",\"label\":\"AME\""), "types contradict",
	     0, 0},
	    {SPAN(GOOD ",\"byte_start\":1"), "contradicts", 0, 0},
	    {SPAN(GOOD ",\"byte_end\":4"), "contradicts", 0, 0},
	    {SPAN(GOOD ",\"byte_start\":\"0\""), "byte_end is not an integer", 0, 0},
	    {SPAN(GOOD ",\"text\":\"Sesa\""), "not what stands there", 0, 0},
	    {SPAN(GOOD ",\"text\":null"), "not a string", 0, 0},
	    {SPAN(GOOD ",\"score\":\"Sesame\""), "score", 0, 0},
	    {SPAN(GOOD ",\"start\":0"), "two members of one name", 0, 0},
	    {SPAN(GOOD "},[\"Sesame\"],{" GOOD), "span 2: it is not an object", 0, 0},
	    {"{\"text\":\"Sesame\"}", "no spans", 0, 0},
	    {"{\"text\":\"Sesame\",\"spans\":{}}", "not a list", 0, 0},
	    {"{\"text\":\"Sesame\",\"spans\":[],\"annotations\":{}}", "two forms", 0, 0},
	    {"{\"text\":[\"Sesame\"],\"spans\":[]}", "no text", 0, 0},
	    {"{\"Sesame\":\"text\",\"spans\":[]}", "no text", 0, 0},
	    {"{\"text\":\"Sesame\",\"id\":[1],\"spans\":[]}", "id is neither", 0, 0},
	    {"{\"text\":\"Sesame\xFF\",\"spans\":[]}", "not UTF-8", 0, 0},
	    {"{\"text\":\"Sesame\\ud800\",\"spans\":[]}", "half a surrogate pair", 0, 0},
	    {"{\"text\":\"Sesame\",\"spans\":[],\"n\":NaN}", "it has NaN or Infinity", 0, 0},
	    {"{\"text\":\"Sesame\",\"spans\":[],\"n\":-Infinity}", "it has NaN or Infinity", 0, 0},
	    {"  ", "it is empty", 0, 0},
	    {"[{\"text\":\"Sesame\",\"spans\":[]}]", "not a JSON object", 0, 0},
	    {"Sesame", "not a JSON object", 0, 0},
	    {" {", "not a JSON object (of one over several lines, jq -c . FILE", 0, 0},
	    {"", "it is empty", 0, 0},
	    {"{\"text\":\"Sesame\",\"spans\":[]}", "no object annotations", 0, SPANS_TAB},
	    {"{\"text\":\"Sesame\",\"annotations\":{\"a\":{}}}", "no list entity_mentions", 0, 0},
	    {"{\"text\":\"Sesame\",\"annotations\":{\"a\":{\"entity_mentions\":[{\"entity_type\":"
	     "\"P\","
	     "\"start\":0,\"end\":3}]}}}",
	     "missing", 0, 0},
	    {"{\"text\":\"Sesame\",\"annotations\":{\"a\":{\"entity_mentions\":[{\"entity_type\":"
	     "\"P\","
	     "\"start_offset\":0,\"end_offset\":3,\"span_text\":\"Sus\"}]}}}",
	     "not what stands there", 0, 0},
	};
	static struct span_types types;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct spans_request request = request_of(cases[i].offsets);
		struct spans spans = {0};
		struct cuttle_error error = {""};
		request.format = cases[i].format;
		if (read_line(&request, cases[i].line, &types, &spans, &error) != CUTTLE_INPUT)
			fail_msg("accepted: %s", cases[i].line);
		if (!strstr(error.message, cases[i].rule) ||
		    !strstr(error.message, "docs.jsonl: line 7: "))
			fail_msg("%s says %s", cases[i].line, error.message);
		assert_null(strcasestr(error.message, "ses"));
		assert_null(strcasestr(error.message, "same"));
		spans_free(&spans);
	}
	assert_true(sizeof cases / sizeof *cases >= 30);
}

static void answers(void **state) {
	(void)state;
	static struct span_types types;
	static const struct {
		const char *line;
		enum cuttle_status status;
	} cases[] = {
	    {"{\"id\":7,\"spans\":[{\"start\":1,\"end\":2,\"type\":\"P\"}]}", CUTTLE_OK},
	    {"{\"id\":7,\"text\":\"\u00e9x\",\"spans\":[]}", CUTTLE_OK},
	    {"{\"id\":8,\"spans\":[]}", CUTTLE_INPUT},
	    {"{\"id\":\"7\",\"spans\":[]}", CUTTLE_INPUT},
	    {"{\"spans\":[]}", CUTTLE_INPUT},
	    {"{\"id\":7}", CUTTLE_INPUT},
	    {"{\"id\":7,\"text\":\"x\",\"spans\":[]}", CUTTLE_INPUT},
	    {"{\"id\":7,\"spans\":[{\"start\":1,\"end\":3,\"type\":\"P\"}]}", CUTTLE_INPUT},
	    {"Traceback: \u00e9x", CUTTLE_INPUT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		// The file counts in bytes; a tagger counts in code points all the same.
		const struct spans_request request = request_of(SPANS_BYTES);
		struct spans spans = {0};
		struct cuttle_error error = {""};
		assert_int_equal(
		    read_line(&request,
		              "{\"text\":\"\u00e9x\",\"spans\":[{\"start\":0,\"end\":2,"
		              "\"type\":\"Q\"}]}",
		              &types, &spans, &error),
		    CUTTLE_OK);
		assert_int_equal(spans_read_answer(&request, cases[i].line, strlen(cases[i].line),
		                                   7, &types, &spans, &error),
		                 cases[i].status);
		assert_true(!cases[i].status || strstr(error.message, "answer to line 7: "));
		if (!i) {
			assert_int_equal(spans_count(&spans), 2);
			assert_int_equal(spans_all(&spans)[1].start, 2);
		}
		spans_free(&spans);
	}
}

static void written_again(void **state) {
	(void)state;
	static struct span_types types;
	static const char *const wanted[] = {[SPANS_CODEPOINTS] = "\"start\":2,\"end\":3",
	                                     [SPANS_BYTES] = "\"start\":6,\"end\":7",
	                                     [SPANS_UTF16] = "\"start\":3,\"end\":4"};
	for (int offsets = SPANS_CODEPOINTS; offsets <= SPANS_UTF16; offsets++) {
		struct spans_request request = request_of((enum spans_offsets)offsets);
		struct spans spans = {0};
		char line[256];
		(void)snprintf(line, sizeof line,
		               "{\"id\":\"a\",\"text\":\"\u00e9" OCTOPUS "x\",\"spans\":[{%s,"
		               "\"entity_type\":\"P\"}]}",
		               wanted[offsets]);
		assert_int_equal(read_line(&request, line, &types, &spans, NULL), CUTTLE_OK);
		json_t *root = spans_encode(&request, &spans, &types);
		char *again = json_dumps(root, JSON_COMPACT);
		assert_string_equal(again, line);
		free(again);
		json_decref(root);
		spans_free(&spans);
	}
}

static void options_of_groups(void **state) {
	(void)state;
	static struct groups groups, many;
	struct cuttle_error error;
	assert_int_equal(groups_of(&groups, "X"), 0);
	assert_int_equal(groups_leave(&groups, "GPE,NRP", &error), CUTTLE_OK);
	assert_int_equal(groups_of(&groups, "X"), 0);
	assert_int_equal(groups_of(&groups, "NRP"), GROUP_LEFT);
	assert_int_equal(groups_count(&groups), 1);
	assert_int_equal(groups_add(&groups, "names=PERSON,CODE:2.5", &error), CUTTLE_OK);
	assert_int_equal(groups_add(&groups, "URL", &error), CUTTLE_OK);
	assert_int_equal(groups_count(&groups), 2);
	assert_int_equal(groups_of(&groups, "CODE"), 0);
	assert_int_equal(groups_of(&groups, "URL"), 1);
	assert_int_equal(groups_of(&groups, "X"), GROUP_BLANK);
	assert_string_equal(groups.all[0].name, "names");
	assert_string_equal(groups.all[1].name, "URL");
	assert_true(groups.all[0].epsilon == 2.5 && groups.all[1].epsilon == 0);
	static const char *const wrong[] = {
	    "",      "=A",   "A,", ",A",     "a=",    "A:",      "A:x", "A:0", "A:-1",
	    "A:inf", "A:1x", ":1", "PERSON", "x=URL", "names=Z", "A,A", "A\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		static struct groups copy;
		copy = groups;
		if (groups_add(&copy, wrong[i], &error) != CUTTLE_USAGE)
			fail_msg("accepted: %s", wrong[i]);
	}
	assert_int_equal(groups_leave(&groups, "PERSON", &error), CUTTLE_USAGE);
	for (int i = 0; i < 20; i++) {
		char option[16];
		(void)snprintf(option, sizeof option, "T%d", i);
		assert_int_equal(groups_add(&many, option, &error),
		                 i < GROUPS_MOST ? CUTTLE_OK : CUTTLE_USAGE);
	}
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A text with its spans, groups, marks and the contexts of them. */
struct made {
	struct span_types types;
	struct spans spans;
	struct groups groups;
	struct marks marks;
	struct arena out;
};

/* Types A and B have a group each, as had with --group A --group B; L is left; others are blank.
 * Spans are words of four: start, end, type, in bytes, ended by a NULL type. */
static struct made *make_marks(const char *text, const struct text_span *spans, size_t count,
                               const char *const types[], bool sweep) {
	struct made *made = calloc(1, sizeof *made);
	struct cuttle_error error;
	assert_non_null(made);
	assert_true(arena_append(&made->spans.text, text, strlen(text)));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(spans_add(&made->spans, &made->types, spans[i].start, spans[i].end,
		                           types[spans[i].type], &error),
		                 CUTTLE_OK);
	assert_int_equal(groups_add(&made->groups, "A", &error), CUTTLE_OK);
	assert_int_equal(groups_add(&made->groups, "B,BB", &error), CUTTLE_OK);
	assert_int_equal(groups_leave(&made->groups, "L", &error), CUTTLE_OK);
	if (marks_make(&made->spans, &made->types, &made->groups, sweep, &made->marks, &error))
		fail_msg("%s", error.message);
	return made;
}

static void free_made(struct made *made) {
	spans_free(&made->spans);
	marks_free(&made->marks);
	arena_free(&made->out);
	free(made);
}

enum { A, B, BB, C, L };
static const char *const NAMES[] = {"A", "B", "BB", "C", "L"};

static const char *context_of(struct made *made, uint32_t shown, const char *placeholder) {
	made->out.used = 0;
	assert_int_equal(marks_write(&made->marks, &made->spans, &made->types, shown, placeholder,
	                             &made->out, NULL),
	                 CUTTLE_OK);
	assert_true(arena_append(&made->out, "", 1));
	return made->out.bytes;
}

/* The blank text with types, then with group 0, group 1, and both shown. */
static void expect_contexts(const char *text, const struct text_span *spans, size_t count,
                            bool sweep, const char *blank, const char *zero, const char *one,
                            const char *both) {
	struct made *made = make_marks(text, spans, count, NAMES, sweep);
	assert_string_equal(context_of(made, MARKS_BLANK, "[{type}]"), blank);
	assert_string_equal(context_of(made, 1, "_"), zero);
	assert_string_equal(context_of(made, 2, "_"), one);
	assert_string_equal(context_of(made, 3, "_"), both);
	free_made(made);
}
#define SPANS(...)                                                                                 \
	(const struct text_span[]){__VA_ARGS__},                                                   \
	    sizeof((const struct text_span[]){__VA_ARGS__}) / sizeof(struct text_span)

static void contexts(void **state) {
	(void)state;
	expect_contexts("Ann met Bo in Rome.", SPANS({0, 3, A}, {8, 10, B}, {14, 18, C}), false,
	                "[A] met [B] in [C].", "Ann met _ in _.", "_ met Bo in _.",
	                "Ann met Bo in _.");
	// Left public; at both ends; all of the text.
	expect_contexts("Ann met Bo", SPANS({0, 3, A}, {4, 7, L}, {8, 10, A}), false, "[A] met [A]",
	                "Ann met Bo", "_ met _", "Ann met Bo");
	expect_contexts("Ann", SPANS({0, 3, B}), false, "[B]", "_", "Ann", "Ann");
	// Overlap in one group is one mark; touching marks of one group are one, of two are two.
	expect_contexts("abcdefgh", SPANS({2, 5, B}, {0, 3, BB}, {4, 4 + 1, B}), false, "[BB]fgh",
	                "_fgh", "abcdefgh", "abcdefgh");
	expect_contexts("abcdefgh", SPANS({0, 2, A}, {2, 4, A}, {4, 6, B}), false, "[A][B]gh",
	                "abcd_gh", "_efgh", "abcdefgh");
	// Overlap of two groups is blank in every row, with all that it touches by overlap.
	expect_contexts("abcdefgh", SPANS({0, 3, A}, {2, 5, B}, {4, 7, A}), false, "[A]h", "_h",
	                "_h", "_h");
	expect_contexts("abcdefgh", SPANS({0, 8, B}, {2, 3, A}), false, "[B]", "_", "_", "_");
	expect_contexts("abcdefgh", SPANS({0, 3, A}, {3, 5, B}, {4, 6, C}), false, "[A][B]gh",
	                "abc_gh", "__gh", "abc_gh");
	// A span that is left takes no mark away.
	expect_contexts("abcdefgh", SPANS({0, 8, L}, {2, 3, A}), false, "ab[A]defgh", "abcdefgh",
	                "ab_defgh", "abcdefgh");
	struct made *made = make_marks("Ann", SPANS({0, 3, A}), NAMES, false);
	assert_string_equal(context_of(made, 0, "<{type}|{type}>"), "<A|A>");
	assert_int_equal(marks_groups(&made->marks), 1);
	free_made(made);
	assert_int_equal(marks_placeholder("_", NULL), CUTTLE_OK);
	assert_int_equal(marks_placeholder("", NULL), CUTTLE_USAGE);
	assert_int_equal(marks_placeholder("a\nb", NULL), CUTTLE_USAGE);
}

static void sweeps(void **state) {
	(void)state;
	// Between the boundaries of words, in the group of the content, in any case of letters.
	expect_contexts(
	    "Ann saw Ann, Anna, ANN, (Ann) and Ann's.", SPANS({0, 3, A}), true,
	    "[A] saw [A], Anna, [A], ([A]) and [A]'s.", "Ann saw Ann, Anna, ANN, (Ann) and Ann's.",
	    "_ saw _, Anna, _, (_) and _'s.", "Ann saw Ann, Anna, ANN, (Ann) and Ann's.");
	// Two characters are too few, three are enough; they may have more bytes.
	expect_contexts("Bo Bo \u00c9va \u00c9va", SPANS({0, 2, A}, {6, 10, A}), true,
	                "[A] Bo [A] [A]", "Bo Bo \u00c9va \u00c9va", "_ Bo _ _",
	                "Bo Bo \u00c9va \u00c9va");
	// White space around a content counts for nothing. Where it stands in a mark of another
	// group, that mark is blank in every row.
	expect_contexts("Ann Roe, Ann , Ann Roe, Ann", SPANS({0, 7, A}, {9, 13, B}), true,
	                "[A], [B], [A], [B]", "_, _, _, _", "_, Ann , _, Ann", "_, Ann , _, Ann");
	// In one group the longer one is the mark.
	expect_contexts("Ann Roe, Ann, Ann Roe Ann", SPANS({0, 7, B}, {9, 12, BB}), true,
	                "[B], [BB], [B] [BB]", "_, _, _ _", "Ann Roe, Ann, Ann Roe Ann",
	                "Ann Roe, Ann, Ann Roe Ann");
	// A content of no group is swept as well, and one that is left is not.
	expect_contexts("Rome, Rome, Bern, Bern", SPANS({0, 4, C}, {12, 16, L}), true,
	                "[C], [C], Bern, Bern", "_, _, Bern, Bern", "_, _, Bern, Bern",
	                "_, _, Bern, Bern");
	// Scripts without spaces have boundaries everywhere.
	expect_contexts("\u738b\u5c0f\u660e\u548c\u738b\u5c0f\u660e", SPANS({0, 9, A}), true,
	                "[A]\u548c[A]", "\u738b\u5c0f\u660e\u548c\u738b\u5c0f\u660e", "_\u548c_",
	                "\u738b\u5c0f\u660e\u548c\u738b\u5c0f\u660e");
	// Occurrences that overlap are one mark, but for what a span marks.
	expect_contexts("x a-a-a-a", SPANS({2, 5, A}), true, "x [A][A]", "x a-a-a-a", "x __",
	                "x a-a-a-a");
	expect_contexts("x.y x a-a. a-a-a-a", SPANS({6, 9, A}), true, "x.y x [A]. [A]",
	                "x.y x a-a. a-a-a-a", "x.y x _. _", "x.y x a-a. a-a-a-a");
	// However it is written.
	for (size_t i = 0; i < 2 * (size_t)FOLDING_COUNT; i++) {
		char text[128];
		const char *tagged = FOLDINGS[i / 2][i % 2], *written = FOLDINGS[i / 2][1 - i % 2];
		const size_t size = strlen(tagged);
		(void)snprintf(text, sizeof text, "%s. With %s, to.", tagged, written);
		struct made *made = make_marks(text, SPANS({0, size, A}), NAMES, true);
		const char *blank = context_of(made, MARKS_BLANK, "_");
		if (strcmp(blank, strchr(written, '\r') && !strchr(written, '\n')
		                      ? "_. With _\r, to."
		                  : strstr(written, "\uFEFF") ? "_. With \uFEFF_, to."
		                                              : "_. With _, to.") != 0)
			fail_msg("%s: %s", text, blank);
		free_made(made);
	}
}

/* A sweep leaves what spans mark as it is, whatever they say: it is joined with nothing, and its
 * group stays one of the document's. */
static void sweeps_leave_spans(void **state) {
	(void)state;
	// One content in two groups: each place has two groups, and is blank in every row.
	static const struct text_span spans[] = {{0, 8, A}, {24, 32, B}};
	static const char *const texts[] = {"Victoria was treated in Victoria last week.",
	                                    "Veronica was treated in Victoria last week.",
	                                    "Victoria was treated in VICTORIA last week."};
	for (size_t i = 0; i < 3; i++) {
		struct made *made = make_marks(texts[i], spans, 2, NAMES, true);
		assert_int_equal(marks_groups(&made->marks), 3);
		assert_int_equal(marks_count(&made->marks), 2);
		assert_string_equal(context_of(made, MARKS_BLANK, "[{type}]"),
		                    "[A] was treated in [B] last week.");
		assert_string_equal(context_of(made, 1, "_"),
		                    i == 1 ? "Veronica was treated in _ last week."
		                           : "_ was treated in _ last week.");
		free_made(made);
	}
	// A place that covers two spans of one group, and what stands between them, joins nothing.
	expect_contexts("Ann May, Ann, May: Ann.May. Ann May",
	                SPANS({0, 7, A}, {19, 22, A}, {23, 26, A}), true,
	                "[A], [A], [A]: [A].[A]. [A]", "Ann May, Ann, May: Ann.May. Ann May",
	                "_, _, _: _._. _", "Ann May, Ann, May: Ann.May. Ann May");
	expect_contexts("a.b.c, a.b.c", SPANS({0, 5, A}, {7, 8, A}, {11, 12, A}), true,
	                "[A], [A][A][A]", "a.b.c, a.b.c", "_, ___", "a.b.c, a.b.c");
	// One that begins or ends within a span takes the rest alone.
	expect_contexts("Ann May Roe, Ann May", SPANS({0, 7, A}, {4, 11, A}, {13, 16, B}), true,
	                "[A], [B] [A]", "_, _ May", "_, _ _", "_, _ May");
	expect_contexts("Ann May, Ann May, Ann May", SPANS({0, 7, A}, {9, 12, B}), true,
	                "[A], [B] [A], [A]", "_, _ May, _", "_, _ _, _", "_, _ May, _");
	// A place that two groups claim, and no span marks.
	expect_contexts("Ann, Ann; Ann", SPANS({0, 3, A}, {5, 8, BB}), true, "[A], [BB]; [A]",
	                "_, _; _", "_, _; _", "_, _; _");
	// What two groups mark is blank where it stands again.
	expect_contexts("Ann Roe Road, Ann Roe; Ann Roe", SPANS({0, 7, A}, {4, 12, B}, {14, 21, A}),
	                true, "[A], [A]; [A]", "_, _; _", "_, _; _", "_, _; _");
	// A content of no group is claimed, too.
	expect_contexts("Rome, Rome", SPANS({0, 4, A}, {6, 10, C}), true, "[A], [C]", "_, _",
	                "_, _", "_, _");
}

/* Whatever A's content is, and however long, what does not show A is the same. */
static void contents_do_not_show(void **state) {
	(void)state;
	static const char *const contents[] = {"Q",  "Qqq Qqq", OCTOPUS, "\r\n\t",
	                                       "Bo", "_",       "[A]",   "\\"};
	char expected_blank[64] = "", expected_one[64] = "";
	for (size_t i = 0; i < 408; i++) {
		char content[512] = "", text[2048];
		if (i < 8) strcpy(content, contents[i]);
		else memset(content, 'q', i - 7);
		const size_t size = strlen(content);
		(void)snprintf(text, sizeof text, "%s, %sx Bo %s", content, content, content);
		struct made *made = make_marks(text,
		                               SPANS({0, size, A}, {size + 2, 2 * size + 2, A},
		                                     {2 * size + 4, 2 * size + 6, B},
		                                     {2 * size + 7, 3 * size + 7, A}),
		                               NAMES, false);
		const char *blank = context_of(made, MARKS_BLANK, "[{type}]");
		if (!i) strcpy(expected_blank, blank);
		assert_string_equal(blank, expected_blank);
		const char *one = context_of(made, 2, "_");
		if (!i) strcpy(expected_one, one);
		assert_string_equal(one, expected_one);
		(void)snprintf(text, sizeof text, "%s, %sx _ %s", content, content, content);
		assert_string_equal(context_of(made, 1, "_"), text);
		assert_int_equal(marks_groups(&made->marks), 3);
		free_made(made);
	}
	assert_string_equal(expected_blank, "[A], [A]x [B] [A]");
	assert_string_equal(expected_one, "_, _x Bo _");
}

/* ---- how long it takes ----------------------------------------------------------------------- */

static double seconds(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A text of n words with a span on each, read, swept and written. */
static void many_spans(void **state) {
	(void)state;
	const size_t count = briefly() ? 2000 : 100000;
	char *line = malloc(count * 80);
	size_t used = (size_t)sprintf(line, "{\"text\":\"");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(line + used, "w%06zu ", i % 5000);
	used += (size_t)sprintf(line + used, "\",\"spans\":[");
	for (size_t i = 0; i < count; i++)
		used +=
		    (size_t)sprintf(line + used, "%s{\"start\":%zu,\"end\":%zu,\"type\":\"%c\"}",
		                    i ? "," : "", 8 * i, 8 * i + 7, i % 2 ? 'A' : 'B');
	used += (size_t)sprintf(line + used, "]}");
	const struct spans_request request = request_of(SPANS_CODEPOINTS);
	struct made *made = calloc(1, sizeof *made);
	struct cuttle_error error;
	assert_non_null(made);
	const double began = seconds();
	assert_int_equal(groups_add(&made->groups, "A", &error), CUTTLE_OK);
	assert_int_equal(spans_read(&request, line, used, 1, &made->types, &made->spans, &error),
	                 CUTTLE_OK);
	assert_int_equal(spans_count(&made->spans), count);
	assert_int_equal(
	    marks_make(&made->spans, &made->types, &made->groups, true, &made->marks, &error),
	    CUTTLE_OK);
	assert_int_equal(marks_count(&made->marks), count);
	(void)context_of(made, 1, "_");
	assert_true(seconds() - began < 60);
	free_made(made);
	free(line);
}

/* Spans that lie in each other: the sweep of what is too much is refused, and quickly. */
static void nested_spans(void **state) {
	(void)state;
	const size_t size = 1 << 16;
	struct made *made = calloc(1, sizeof *made);
	struct cuttle_error error = {""};
	char *text = malloc(size);
	assert_true(made && text);
	memset(text, '.', size);
	assert_true(arena_append(&made->spans.text, text, size));
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(spans_add(&made->spans, &made->types, i, size - i, "A", &error),
		                 CUTTLE_OK);
	assert_int_equal(
	    marks_make(&made->spans, &made->types, &made->groups, true, &made->marks, &error),
	    CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "--no-sweep"));
	assert_int_equal(
	    marks_make(&made->spans, &made->types, &made->groups, false, &made->marks, &error),
	    CUTTLE_OK);
	assert_int_equal(marks_count(&made->marks), 1);
	free(text);
	free_made(made);
}

static void bounds(void **state) {
	(void)state;
	static struct span_types types;
	const struct spans_request request = request_of(SPANS_CODEPOINTS);
	struct spans spans = {0};
	struct cuttle_error error = {""};
	// A line that is too long is refused by its length; its bytes are not looked at.
	assert_int_equal(spans_read(&request, "{}", SOURCE_LINE + 1, 7, &types, &spans, &error),
	                 CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "line 7: it has more than 16 MiB"));
	assert_true(arena_append(&spans.text, "abc", 3));
	for (size_t i = 0; i < SPANS_TYPES + 1; i++) {
		char type[16];
		(void)snprintf(type, sizeof type, "T%zu", i);
		assert_int_equal(spans_add(&spans, &types, 0, 1, type, &error),
		                 i < SPANS_TYPES ? CUTTLE_OK : CUTTLE_INPUT);
	}
	spans_free(&spans);
}

static void lost_ends(void **state) {
	(void)state;
	struct tagger *tagger;
	struct cuttle_error error = {""};
	// The kernel keeps no exit codes then.
	(void)signal(SIGCHLD, SIG_IGN);
	assert_int_equal(tagger_start("false", 60, &tagger, &error), CUTTLE_OK);
	assert_int_equal(tagger_stop(&tagger, CUTTLE_OK, &error), CUTTLE_INPUT);
	(void)signal(SIGCHLD, SIG_DFL);
	assert_non_null(strstr(error.message, "did not end with exit code 0"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(units),
	    cmocka_unit_test(annotations_of_tab),
	    cmocka_unit_test(bad_spans),
	    cmocka_unit_test(answers),
	    cmocka_unit_test(written_again),
	    cmocka_unit_test(options_of_groups),
	    cmocka_unit_test(contexts),
	    cmocka_unit_test(sweeps),
	    cmocka_unit_test(sweeps_leave_spans),
	    cmocka_unit_test(contents_do_not_show),
	    cmocka_unit_test(many_spans),
	    cmocka_unit_test(nested_spans),
	    cmocka_unit_test(bounds),
	    cmocka_unit_test(lost_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
