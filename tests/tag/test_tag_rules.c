// SPDX-License-Identifier: Apache-2.0
// Tests tag/rules.c and tag/names.c. It fails if a rule misses what it is for, or takes what only
// looks like it; if a checksum does not count; if a hostile text takes more than linear time; or if
// the recall on invented records (presidio_synth_pii.jsonl, not in the repository) is below .98.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/source.h"
#include "io/spans.h"
#include "io/fold.h"
#include "tag/names.h"
#include "tests/support/foldings.h"
#include "tag/rules.h"
#include "tests/support/files.h"
#include "tests/support/statistics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What was found, as "PERSON(Roe) URL(www.x.org)". */
struct shown {
	const char *text;
	char words[1024];
	size_t used, end, count;
};

static void show(struct shown *shown, size_t start, size_t end, const char *type) {
	shown->used += (size_t)snprintf(
	    shown->words + shown->used, sizeof shown->words - shown->used, "%s%s(%.*s)",
	    shown->used ? " " : "", type, (int)(end - start), shown->text + start);
	assert_true(shown->used < sizeof shown->words);
}

static void show_rule(void *user, size_t start, size_t end, enum tag_type type) {
	struct shown *shown = user;
	assert_true(start < end && start >= shown->end && end <= strlen(shown->text));
	shown->end = end;
	show(shown, start, end, tag_type_name(type));
}

static void show_name(void *user, size_t start, size_t end, const char *type) {
	show(user, start, end, type);
}

static void expect(const char *text, const char *wanted) {
	struct shown shown = {.text = text};
	tag_rules(text, strlen(text), show_rule, &shown);
	assert_string_equal(shown.words, wanted);
}

struct example {
	const char *text, *wanted;
};

static void expect_all(const struct example *examples, size_t count) {
	for (size_t i = 0; i < count; i++) expect(examples[i].text, examples[i].wanted);
}
#define EXPECT(examples) expect_all(examples, sizeof(examples) / sizeof *(examples))

static void addresses(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"to anna.may+work@mail.example.org.", "EMAIL_ADDRESS(anna.may+work@mail.example.org)"},
	    {"<j\u00f6rg@m\u00fcller.de>", "EMAIL_ADDRESS(j\u00f6rg@m\u00fcller.de)"},
	    {"\u201canna@x.de\u201d", "EMAIL_ADDRESS(anna@x.de)"},
	    {"user@localhost, a@b, @x.de, a@.de, a@x.d", ""},
	    {"see https://www.x.org/a_b?q=(1)#z.", "URL(https://www.x.org/a_b?q=(1)#z)"},
	    {"at www.x.org, x.y.com: mail.x.com/i and ftp://h",
	     "URL(www.x.org) URL(x.y.com) URL(mail.x.com/i) URL(ftp://h)"},
	    {"e.g. pain.He is://, www. .com x.comma", ""},
	    {"from 195.206.132.199: 10.0.0.1/8.",
	     "IP_ADDRESS(195.206.132.199) IP_ADDRESS(10.0.0.1)"},
	    {"|86.121.97.248|", "IP_ADDRESS(86.121.97.248)"},
	    {"256.1.1.1 1.2.3 1.2.3.4.5 1.2.3.4x", "CODE(256.1.1.1) CODE(1.2.3.4.5)"},
	    {"6e40:4041:c617:e898:c11:40d2:c669:2eb4",
	     "IP_ADDRESS(6e40:4041:c617:e898:c11:40d2:c669:2eb4)"},
	    {"fe80::1, ::1 and ::ffff:1.2.3.4.",
	     "IP_ADDRESS(fe80::1) IP_ADDRESS(::1) IP_ADDRESS(::ffff:1.2.3.4)"},
	    {"std::cat dead::beef a:b:c :: 1::x", ""},
	};
	EXPECT(examples);
}

/* Each is right; with one digit changed it is not what it was. */
static void checksums(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"GB29 NWBK 6016 1331 9268 19 is", "IBAN_CODE(GB29 NWBK 6016 1331 9268 19)"},
	    {"DE89370400440532013000", "IBAN_CODE(DE89370400440532013000)"},
	    {"gb42nawi04454264788619.", "IBAN_CODE(gb42nawi04454264788619)"},
	    {"NO9386011117947", "IBAN_CODE(NO9386011117947)"},
	    {"DE89370400440532013001", "CODE(DE89370400440532013001)"},
	    {"GB29 NWBK an ab12 and more words", ""},
	    {"4111 1111 1111 1111 and 4111-1111-1111-1111",
	     "CREDIT_CARD(4111 1111 1111 1111) CREDIT_CARD(4111-1111-1111-1111)"},
	    {"378282246310005", "CREDIT_CARD(378282246310005)"},
	    {"4111111111111112", "CODE(4111111111111112)"},
	    {"41111111111111111111 4111111111111111x",
	     "CODE(41111111111111111111) CODE(4111111111111111x)"},
	    {"078-05-1120, 219 09 9999.", "US_SSN(078-05-1120) US_SSN(219 09 9999)"},
	    {"no 000-12-3456", "PHONE_NUMBER(000-12-3456)"},
	    {"no 666-12-3456", "PHONE_NUMBER(666-12-3456)"},
	    {"078-05-11203", "PHONE_NUMBER(078-05-11203)"},
	};
	EXPECT(examples);
}

static void numbers(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"+41 (0)71 526 99 04-Fax", "PHONE_NUMBER(+41 (0)71 526 99 04)"},
	    {"(898)666-3621x0135 +1-604-696-5272 ext. 12",
	     "PHONE_NUMBER((898)666-3621x0135) PHONE_NUMBER(+1-604-696-5272 ext. 12)"},
	    {"call 555-1234, 780 6326, 01.84.17.61.18, 3660170548",
	     "PHONE_NUMBER(555-1234) PHONE_NUMBER(780 6326) PHONE_NUMBER(01.84.17.61.18) "
	     "PHONE_NUMBER(3660170548)"},
	    {"1-800-555-0100 930.167.3943 089/123456",
	     "PHONE_NUMBER(1-800-555-0100) PHONE_NUMBER(930.167.3943) PHONE_NUMBER(089/123456)"},
	    {"12 34 56, (12), 3.14159, 12.5 +- 3, 1-2-3-4-5-6-7", "CODE(1-2-3-4-5-6-7)"},
	    {"$5, US$ 1,000.50, EUR 5 million and 20 \u20ac; 7 dollars",
	     "MONEY($5) MONEY($ 1,000.50) MONEY(EUR 5 million) MONEY(20 \u20ac) MONEY(7 dollars)"},
	    {"\u00a31.5m", "MONEY(\u00a31.5m)"},
	    {"$x, 5 millimetres, euro 2 of 3", ""},
	    {"MRN-20394, no. 36244/06, A1B2C3D4E5; ABC-1234",
	     "CODE(MRN-20394) CODE(36244/06) CODE(A1B2C3D4E5)"},
	    {"BP 120/80, 1234.56 mg, 98.6 F, case 777/99", "CODE(777/99)"},
	};
	EXPECT(examples);
}

static void dates(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"9/15/1946, 28.8.03 and 2003-08-28 12:13:52.",
	     "DATE_TIME(9/15/1946) DATE_TIME(28.8.03) DATE_TIME(2003-08-28 12:13:52)"},
	    {"2003-08-28T12:13:52.125+02:00!", "DATE_TIME(2003-08-28T12:13:52.125+02:00)"},
	    {"12 March 2004, March 12th, 2004, 3rd of May, Mar 2004, 12-Mar-04",
	     "DATE_TIME(12 March 2004) DATE_TIME(March 12th, 2004) DATE_TIME(3rd of May) "
	     "DATE_TIME(Mar 2004) DATE_TIME(12-Mar-04)"},
	    {"on Tuesday at 5 pm, since 1977; the 1990s; 10:30",
	     "DATE_TIME(Tuesday at 5 pm) DATE_TIME(1977) DATE_TIME(1990s) DATE_TIME(10:30)"},
	    {"May I march in mar 3 or 13/13/2004, 2004.5, 1899, 25:10", "CODE(13/13/2004)"},
	};
	EXPECT(examples);
}

static void people(void **state) {
	(void)state;
	static const struct example examples[] = {
	    {"Dr. Anna van der Roe-May saw Mr O'Neil.",
	     "PERSON(Anna van der Roe-May) PERSON(O'Neil)"},
	    {"Ms. J. Roe's and PATIENT: Bo Li\n", "PERSON(J. Roe) PERSON(Bo Li)"},
	    {"Prof. \u00c5ngstr\u00f6m; mrs. Roe", "PERSON(\u00c5ngstr\u00f6m) PERSON(Roe)"},
	    {"the dr said; Mrs. the; patient: well; Drive On; M.D. Roe", ""},
	};
	EXPECT(examples);
}

static void list_of_names(void **state) {
	(void)state;
	static const char list[] =
	    "Anna Roe\r\n\n  J\u00d6RG \u0141uk\t\nRoe\tSURNAME\n4711-A\tCODE";
	static const char text[] = "anna\nroe, j\u00f6rg \u0142uk, Roe, Roebuck, Annaroe 4711-a.";
	struct shown shown = {.text = text};
	struct names *names;
	size_t wrong;
	// A tab with nothing behind it has no type.
	assert_false(names_make(list, sizeof list - 1, &names, &wrong));
	assert_int_equal(wrong, 3);
	names_free(names);
	static const char good[] = "Anna Roe\r\n\n  J\u00d6RG \u0141uk\nRoe\tSURNAME\n4711-A\tCODE";
	assert_true(names_make(good, sizeof good - 1, &names, &wrong));
	assert_int_equal(names_count(names), 4);
	assert_true(names_scan(names, text, sizeof text - 1, show_name, &shown));
	assert_string_equal(shown.words,
	                    "PERSON(anna\nroe) PERSON(j\u00f6rg \u0142uk) SURNAME(Roe) "
	                    "CODE(4711-a)");
	names_free(names);
	assert_false(names_make("a\n\xff", 3, &names, &wrong));
	assert_int_equal(wrong, 2);
	names_free(names);
	assert_true(names_make("", 0, &names, &wrong));
	assert_int_equal(names_count(names), 0);
	names_free(names);
}

/* A name is found however it is written (io/fold.h), and only with a boundary around it. */
static void names_are_folded(void **state) {
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)FOLDING_COUNT; i++) {
		char list[128], text[128], wanted[128];
		const char *listed = FOLDINGS[i / 2][i % 2], *written = FOLDINGS[i / 2][1 - i % 2];
		size_t size = strlen(written), wrong;
		struct names *names;
		fold_trim(&written, &size);
		// A line break ends a name of the list, and a tab begins its type.
		(void)snprintf(list, sizeof list, "%s\n", listed);
		for (char *c = list; c[1]; c++)
			if (*c == '\t' || *c == '\n') *c = ' ';
		(void)snprintf(text, sizeof text, "x %.*s.", (int)size, written);
		(void)snprintf(wanted, sizeof wanted, "PERSON(%.*s)", (int)size, written);
		struct shown shown = {.text = text};
		assert_true(names_make(list, strlen(list), &names, &wrong));
		assert_int_equal(names_count(names), 1);
		assert_true(names_scan(names, text, strlen(text), show_name, &shown));
		assert_string_equal(shown.words, wanted);
		names_free(names);
	}
	// A list with a byte order mark: the first name is as any other, and so is its type.
	static const char marked[] = "\uFEFFAnna Roe\tCODE\u00a0\r\nBo Li\r\n\uFEFF\r\n";
	static const char text[] = "Anna Roe, Bo Li";
	struct shown shown = {.text = text};
	struct names *names;
	size_t wrong;
	assert_true(names_make(marked, sizeof marked - 1, &names, &wrong));
	assert_int_equal(names_count(names), 2);
	assert_true(names_scan(names, text, sizeof text - 1, show_name, &shown));
	assert_string_equal(shown.words, "CODE(Anna Roe) PERSON(Bo Li)");
	names_free(names);
	assert_false(names_make("\uFEFF\tCODE", 8, &names, &wrong));
	assert_int_equal(wrong, 1);
	names_free(names);
}

static void count_mark(void *user, size_t start, size_t end, enum tag_type type) {
	struct shown *shown = user;
	(void)type;
	assert_true(start < end && start >= shown->end);
	shown->end = end;
	shown->count++;
}

/* One megabyte of a few repeated bytes takes no longer than ordinary text, and has not too many
 * marks. The slowest takes half a second. */
static void repeated_bytes(void **state) {
	(void)state;
	static const char *const patterns[] = {
	    "a",        "1",         "1 ",    "1-",        "a.",     "a@",     "a-",    "@",
	    "(1",       "+",         ":",     "1:",        "a:",     "::",     "$",     "\u20ac",
	    "\u00e9",   "www.",      "a://",  "Mr ",       "Dr.",    "A ",     "Mr A",  "Patient:",
	    "1/",       "12:30 ",    "1,",    "GB29",      "GB29 N", "0 0-",   "A'",    "com.",
	    "a.com.x-", "March ",    "19",    "\xff",      "$1",     "1.1.1.", "1a:2b", "A\u2019",
	    "x1",       "http://a ", "a@b.c", "11/11/11-",
	};
	const size_t size = briefly() ? 1 << 16 : 1 << 20;
	char *text = malloc(size);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		const size_t length = strlen(patterns[i]);
		for (size_t at = 0; at < size; at++) text[at] = patterns[i][at % length];
		struct shown shown = {.text = text};
		const clock_t began = clock();
		tag_rules(text, size, count_mark, &shown);
		assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 10);
		assert_true(shown.count <= size / 2);
	}
	free(text);
}

/* ---- invented records with known spans ------------------------------------------------------- */

struct measured {
	const char *path; /* of the records */
	struct span_types types;
	size_t tagged[SPANS_TYPES], hit[SPANS_TYPES], found[TAG_TYPES], right[TAG_TYPES];
	const struct spans *spans;
	bool seen[1 << 12]; /* of this line: the span was found */
};

/* Counts a mark. A host counts as a URL. */
static void measure_mark(void *user, size_t start, size_t end, enum tag_type type) {
	struct measured *measured = user;
	bool right = false;
	for (size_t i = 0; i < spans_count(measured->spans); i++) {
		const struct text_span *span = &spans_all(measured->spans)[i];
		const char *name = measured->types.names[span->type];
		if (!strcmp(name, "DOMAIN_NAME")) name = "URL";
		if (strcmp(name, tag_type_name(type)) != 0) continue;
		right |= span->start < end && span->end > start;
		if (start <= span->start && end >= span->end) measured->seen[i] = true;
	}
	measured->found[type]++;
	measured->right[type] += right;
}

static void measure_line(struct measured *measured, const char *line, size_t size, size_t number) {
	const struct spans_request request = {
	    .path = measured->path, .text_field = "text", .spans_field = "spans"};
	struct spans spans = {0};
	struct cuttle_error error;
	assert_int_equal(spans_read(&request, line, size, number, &measured->types, &spans, &error),
	                 CUTTLE_OK);
	assert_true(spans_count(&spans) <= sizeof measured->seen);
	memset(measured->seen, 0, sizeof measured->seen);
	measured->spans = &spans;
	tag_rules(spans.text.used ? spans.text.bytes : "", spans.text.used, measure_mark, measured);
	for (size_t i = 0; i < spans_count(&spans); i++) {
		measured->tagged[spans_all(&spans)[i].type]++;
		measured->hit[spans_all(&spans)[i].type] += measured->seen[i];
	}
	spans_free(&spans);
}

static void recall_of_invented_records(void **state) {
	(void)state;
	static const char *const wanted[] = {"EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS",
	                                     "CREDIT_CARD"};
	static struct measured measured;
	char path[4096];
	measured.path = files_data("presidio_synth_pii.jsonl", path, sizeof path);
	struct source source;
	struct cuttle_error error;
	const char *line;
	size_t size, number = 0, reached = 0;
	if (access(path, R_OK) != 0) {
		printf("skipped: recall on invented records: there is no %s\n", path);
		skip();
	}
	assert_int_equal(source_open(&source, path, &error), CUTTLE_OK);
	while (assert_int_equal(source_line(&source, &line, &size, &error), CUTTLE_OK), line)
		measure_line(&measured, line, size, ++number);
	source_close(&source);
	for (size_t i = 0; i < measured.types.count; i++) {
		const double recall = (double)measured.hit[i] / (double)measured.tagged[i];
		printf("recall of %-18s %.3f of %zu\n", measured.types.names[i], recall,
		       measured.tagged[i]);
		for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++)
			if (!strcmp(wanted[j], measured.types.names[i]) && recall >= .98) reached++;
	}
	for (size_t i = 0; i < TAG_TYPES; i++)
		if (measured.found[i])
			printf("precision of %-15s %.3f of %zu\n", tag_type_name((enum tag_type)i),
			       (double)measured.right[i] / (double)measured.found[i],
			       measured.found[i]);
	assert_int_equal(reached, sizeof wanted / sizeof *wanted);
	assert_true(number >= 1000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses),
	    cmocka_unit_test(checksums),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(dates),
	    cmocka_unit_test(people),
	    cmocka_unit_test(list_of_names),
	    cmocka_unit_test(names_are_folded),
	    cmocka_unit_test(repeated_bytes),
	    cmocka_unit_test(recall_of_invented_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
