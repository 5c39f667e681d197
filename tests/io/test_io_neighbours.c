// SPDX-License-Identifier: Apache-2.0
// Tests that no cell decides how another one is read. In each pair of files one cell of one record
// differs. It fails if another record's text, owner, category or place differs too, or the record's
// own owner, category or place, wherever the row can be parsed at all. It fails, too, if a long
// number loses digits as a label, or if a file of which nothing is read is taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/records/places.h"
#include "io/records/records.h"
#include "io/schema/schema.h"
#include "tests/support/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 12, CELLS = 5, TEXT = 0, MORE = 1, FLOOR = 2, KIND = 3, WHO = 4 };
enum { ROOM = 1 << 20, LONG = 3000 };
enum form { JSONL, CSV, TSV, FORMS };
#define CELL(literal)                                                                              \
	{ literal, sizeof(literal) - 1 }
struct cell {
	const char *bytes; /* NULL = a very long text */
	size_t size;
};

/* Lists in lists, more than jansson parses. */
static char deep[2 * 2100];
static const char *const NAMES[CELLS] = {"text", "more", "floor", "kind", "who"};
static const char *const ENDINGS[] = {"a.jsonl", "a.csv", "a.tsv"};
/* What stands beside: numbers in each spelling, and some beyond 64 bits. */
static const char *const FLOORS[] = {"1", "2.0", "1.0", "2", "1e0"};
static const char *const KINDS[FORMS][3] = {
    {"\"sea\"", "true", "18446744073709551615"},
    {"sea", "True", "18446744073709551615"},
    {"sea", "True", "18446744073709551615"},
};
static const char *const OWNERS[FORMS][7] = {
    {"7", "\"7\"", "7.0", "9223372036854775808", "\"Zo\\u00eb\"", "-9223372036854775809",
     "123456789012345678901234567890"},
    {"7", "07", "7.0", "9223372036854775808", "Zoë", "-9223372036854775809",
     "123456789012345678901234567890"},
    {"7", "07", "7.0", "9223372036854775808", "Zoë", "-9223372036854775809",
     "123456789012345678901234567890"},
};
/* A cell may be any of these: values of JSON, and cells of a table. */
static const struct cell OF_JSON[] = {
    CELL("\"n\xe9\""),
    CELL("\"\xc0\xaf\xff\""),
    CELL("\"\\ud83d\""),
    CELL("\"\\ude00 x\""),
    CELL("NaN"),
    CELL("-Infinity"),
    CELL("1e400"),
    CELL("-1e400"),
    CELL("18446744073709551615"),
    CELL("-99999999999999999999999999"),
    CELL("[1e400,{\"kind\":123456789012345678901234567890}]"),
    CELL("\"a\\u0000b\""),
    CELL("\"a\0b\""),
    CELL("\"tab\there\""),
    CELL("\"\\x41\\u12g4\""),
    CELL("\"a\\\\\\\"b\xff\\\\\""),
    CELL("null"),
    CELL("true"),
    CELL("7"),
    CELL("\"\""),
    CELL("\"  \""),
    CELL("\"\xEF\xBB\xBF mark\""),
    CELL("{\"who\":9,\"floor\":2,\"kind\":\"land\"}"),
    CELL("{\"\xff\":1,\"a\\u0000\":2}"),
    CELL("\"NaN, \\\"floor\\\": 2, 1e400\xff\""),
    CELL("01"),
    CELL("-.5e"),
    CELL("+5"),
    CELL("undefined"),
    CELL("caf\xe9"),
    CELL("[{\"kind\":\"]\\\"\xff\"},tru,{12:1}]"),
    CELL("[}"),
    {deep, sizeof deep},
    {NULL, 0},
};
static const struct cell OF_TABLE[] = {
    CELL("n\xe9"),  CELL("\xc0\xaf\xff"),         CELL("NaN"),  CELL("1e400"),
    CELL("True"),   CELL("18446744073709551615"), CELL("null"), CELL(""),
    CELL("  "),     CELL("\xEF\xBB\xBF mark"),    CELL("a\0b"), CELL("\\ud83d"),
    CELL("5\" by"), CELL("{\"floor\":2}"),        CELL("a\rb"), CELL("\r"),
    {NULL, 0},
};
static const struct cell OF_CSV[] = {CELL("\"q\xff\""), CELL("\"a \"\"b\"\"\""),
                                     CELL("\"two\nlines\""), CELL("\"\"")};
/* With these a row cannot be parsed. No other record is another one for that. */
static const struct cell NO_JSON[] = {CELL("\"open"), CELL("1 tru"),      CELL("]"),     CELL("["),
                                      CELL("{\"a\""), CELL("\"a\" \xff"), CELL("1,23:1")};
static const struct cell NO_ROW[] = {CELL("\"a\"b"), CELL("\"a\" \xff")};

static char folder[] = "/tmp/cuttle-neighbours-XXXXXX";
static char path[128], *bytes;
static size_t pairs;

/* How a file is written and read. */
struct world {
	enum form form;
	int turn;              /* the column that stands first */
	int labels;            /* 0 none, 1 floor, 2 kind, 3 both */
	bool by_owner;         /* who is an owner */
	struct schema *schema; /* NULL = none */
};

static const char *cell_of(const struct world *world, int row, int column, char shown[32]) {
	const bool json = world->form == JSONL;
	if (column == FLOOR) return FLOORS[row % 5];
	if (column == KIND) return KINDS[world->form][row % 3];
	if (column == WHO) return OWNERS[world->form][row % 7];
	(void)snprintf(shown, 32, column == MORE ? "4.5" : json ? "\"note %d\"" : "note %d", row);
	return shown;
}

/* Writes the file, with another cell in one row; NULL = it is as the others are. */
static void write_world(const struct world *world, int other_row, int other_column,
                        const struct cell *other) {
	const bool json = world->form == JSONL;
	const char mark = world->form == TSV ? '\t' : ',';
	size_t used = 0;
	for (int row = json ? 0 : -1; row < ROWS; row++) {
		if (json) bytes[used++] = '{';
		for (int i = 0; i < CELLS; i++) {
			const int column = (world->turn + i) % CELLS;
			char shown[32];
			if (i) bytes[used++] = mark;
			if (json) used += (size_t)sprintf(bytes + used, "\"%s\":", NAMES[column]);
			if (row < 0) {
				used += (size_t)sprintf(bytes + used, "%s", NAMES[column]);
			} else if (!other || row != other_row || column != other_column) {
				used += (size_t)sprintf(bytes + used, "%s",
				                        cell_of(world, row, column, shown));
			} else if (other->bytes) {
				memcpy(bytes + used, other->bytes, other->size);
				used += other->size;
			} else {
				if (json) bytes[used++] = '"';
				memset(bytes + used, 'x', LONG);
				used += LONG;
				if (json) bytes[used++] = '"';
			}
		}
		if (json) bytes[used++] = '}';
		bytes[used++] = '\n';
	}
	(void)snprintf(path, sizeof path, "%s/%s", folder, ENDINGS[world->form]);
	// Some file systems wait for the disk where a file is written over.
	(void)unlink(path);
	files_put(path, bytes, used);
}

static struct records *read_world(const struct world *world, size_t most) {
	const char *const labels[] = {NAMES[world->labels == 2 ? KIND : FLOOR], NAMES[KIND]};
	struct cuttle_error error;
	struct records *records;
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .schema = world->schema,
	                                        .id_field = world->by_owner ? "who" : NULL,
	                                        .id_is_owner = true,
	                                        .all_columns = true,
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = (size_t)(world->labels + 1) / 2,
	                                        .most = most};
	if (records_read(&request, &records, &error)) fail_msg("%s", error.message);
	assert_int_equal(records_count(records), ROWS);
	return records;
}

/* A record's text (0), owner (1) or label (2 and 3). */
static const char *part_of(const struct records *records, size_t record, size_t part,
                           size_t *size) {
	return part == 0   ? records_text(records, record, size)
	       : part == 1 ? records_id(records, record, size)
	                   : records_label(records, record, part - 2, size);
}

static void expect_same(const struct records *one, const struct records *other, size_t record,
                        size_t part) {
	size_t size, other_size;
	const char *bytes_of_one = part_of(one, record, part, &size),
	           *bytes_of_other = part_of(other, record, part, &other_size);
	assert_int_equal(bytes_of_one != NULL, bytes_of_other != NULL);
	assert_int_equal(size, other_size);
	if (bytes_of_one) assert_memory_equal(bytes_of_one, bytes_of_other, size);
	// The schema's numbers have 15 digits, so a longer one does not fit. It is a label all the
	// same.
	assert_true(bytes_of_one || (!part && record % 3 == 2));
}

/* The places by public categories, or by number. An owner has one record at most. */
static struct places place(const struct world *world, const struct records *records) {
	static const char *const declared[] = {NULL, "1,2", "sea,True,true,18446744073709551615"};
	const char *const fields[] = {NAMES[world->labels == 2 ? KIND : FLOOR]};
	const bool sorted = world->labels == 1 || world->labels == 2;
	struct categories categories;
	struct places places;
	struct cuttle_error error;
	if (sorted) {
		assert_int_equal(
		    categories_read(fields, 1, declared[world->labels], &categories, &error),
		    CUTTLE_OK);
		uint64_t counts[4] = {0};
		places_count(records, &categories, counts);
		for (size_t i = 0; i < categories.count; i++) categories.all[i].texts = counts[i];
	}
	const struct places_request request = {.records = records,
	                                       .categories = sorted ? &categories : NULL,
	                                       .path = path,
	                                       .unit_key = world->by_owner ? "who" : NULL,
	                                       .texts = ROWS,
	                                       .batch = 1,
	                                       .shots = 1,
	                                       .limit = world->by_owner,
	                                       .rho = 1};
	if (places_make(&request, &places, &error)) fail_msg("%s", error.message);
	if (sorted) categories_free(&categories);
	return places;
}

/* Compares the file that was written last with the good one. `lost`: the row cannot be parsed. */
static void compare(const struct world *world, const struct records *good, int row, bool lost) {
	for (size_t most = 1; most <= 64; most += 63) {
		struct records *records = read_world(world, most);
		for (int i = 0; i < ROWS; i++) {
			const size_t at = (size_t)i;
			if (i != row && most > 1) expect_same(good, records, at, 0);
			if (lost && i == row) continue;
			if (world->by_owner) expect_same(good, records, at, 1);
			for (size_t j = 0; j < (size_t)(world->labels + 1) / 2; j++)
				expect_same(good, records, at, 2 + j);
		}
		if (!lost) {
			struct places one = place(world, good), two = place(world, records);
			assert_int_equal(one.count, two.count);
			assert_memory_equal(one.records, two.records,
			                    one.count * sizeof *one.records);
			places_free(&one);
			places_free(&two);
		}
		records_free(&records);
	}
	pairs++;
}

static void compare_each(const struct world *world, const struct records *good,
                         const struct cell *cells, size_t count, bool lost) {
	for (size_t i = 0; i < count; i++)
		for (int column = TEXT; column <= MORE; column++) {
			const int row = (int)(i + (size_t)world->turn) % ROWS;
			write_world(world, row, column, &cells[i]);
			compare(world, good, row, lost);
		}
}

#define EACH(cells) cells, sizeof(cells) / sizeof *(cells)
static void compare_world(const struct world *world) {
	write_world(world, 0, 0, NULL);
	struct records *good = read_world(world, 64);
	if (world->form == JSONL) {
		compare_each(world, good, EACH(OF_JSON), false);
		compare_each(world, good, EACH(NO_JSON), true);
	} else {
		compare_each(world, good, EACH(OF_TABLE), false);
		if (world->form == CSV) {
			compare_each(world, good, EACH(OF_CSV), false);
			compare_each(world, good, EACH(NO_ROW), true);
		}
	}
	records_free(&good);
}

static void no_cell_moves_another(void **state) {
	(void)state;
	static const char shape[] =
	    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"maxLength\":40},"
	    "\"more\":{\"type\":\"number\"},\"floor\":{\"enum\":[1,2]},"
	    "\"kind\":{\"anyOf\":[{\"enum\":[\"sea\",\"18446744073709551615\"]},"
	    "{\"type\":\"boolean\"},{\"type\":\"number\"}]}},\"required\":[\"text\",\"more\"]}";
	struct schema *schema;
	assert_int_equal(schema_read(shape, sizeof shape - 1, &schema, NULL), CUTTLE_OK);
	bytes = malloc(ROOM);
	assert_non_null(bytes);
	memset(deep, '[', sizeof deep / 2);
	memset(deep + sizeof deep / 2, ']', sizeof deep / 2);
	// A label stands before, between and behind what is odd.
	const bool brief = getenv("CUTTLE_TEST_SHORT") != NULL;
	for (int i = 0; i < FORMS * CELLS * 4 * 4; i++) {
		if (brief && i / FORMS % CELLS % 3 != 1) continue;
		const struct world world = {.form = (enum form)(i % FORMS),
		                            .turn = i / FORMS % CELLS,
		                            .labels = i / FORMS / CELLS % 4,
		                            .by_owner = i / FORMS / CELLS / 4 % 2,
		                            .schema = i / FORMS / CELLS / 8 ? schema : NULL};
		compare_world(&world);
	}
	print_message("%zu pairs of neighbours\n", pairs);
	assert_true(pairs >= 1000);
	free(bytes);
	schema_free(schema);
}

static void write_bytes(const char *name, const char *content) {
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	(void)unlink(path);
	files_put(path, content, strlen(content));
}

/* A whole number that is a label is its digits, however many. */
static void large_labels(void **state) {
	(void)state;
	static const char *const fields[] = {"id"};
	static const char *const files[] = {
	    "{\"id\":1234567890123456789}\n{\"id\":18446744073709551615,\"n\":NaN}\n"
	    "{\"id\":-123456789012345678901234567890}\n{\"id\":1e15}\n{\"id\":\"n\xff\"}\n",
	    "text,id\na,1234567890123456789\n\xff,18446744073709551615\n"
	    "a,-123456789012345678901234567890\na,1e+15\na,n\xff\n"};
	static const char *const wanted[] = {"1234567890123456789", "18446744073709551615",
	                                     "-123456789012345678901234567890", "1e+15", NULL};
	for (int csv = 0; csv < 2; csv++) {
		struct records *records;
		write_bytes(csv ? "a.csv" : "a.jsonl", files[csv]);
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .limit = SIZE_MAX,
		                                        .labels = fields,
		                                        .label_count = 1};
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		for (size_t i = 0; i < 5; i++) {
			size_t size;
			const char *label = records_label(records, i, 0, &size);
			assert_int_equal(label != NULL, wanted[i] != NULL);
			if (!label) continue;
			assert_int_equal(size, strlen(wanted[i]));
			assert_memory_equal(label, wanted[i], size);
		}
		records_free(&records);
	}
}

/* A run that would read nothing is refused: one bit is told, whether some record has the field, or,
 * with a schema, is an object. */
static void files_without_records(void **state) {
	(void)state;
	static const char shape[] = "{\"type\":\"object\",\"properties\":{\"text\":"
	                            "{\"type\":\"string\"}},\"required\":[\"text\"]}";
	static const struct {
		const char *name, *content;
		bool plain, schema; /* whether it is refused without a schema, and with one */
	} tries[] = {
	    {"a.jsonl", "text,kind\na,b\nc,d\n", true, true},
	    {"a.jsonl", "text,kind\ncaf\xe9,b\nc,d\n", true, true},
	    {"a.jsonl", "\n\n", true, true},
	    {"a.jsonl", "[{\"text\":\"a\"}]\n\"text\"\n7\n", true, true},
	    {"a.jsonl", "{\"text\":NaN}\n{\"text\":\"\\ud800\"}\n{\"text\":\"\xff\"}\n", true,
	     true},
	    {"a.jsonl", "{}\n{\"note\":\"a\"}\n\xff\n", true, false},
	    {"a.jsonl", "text,kind\n{\"text\":7}\n", false, false},
	    {"a.jsonl", "a\n\n{\"text\":\"\"}\n", false, false},
	    {"a.jsonl", "{\"text\":null,\"n\":1e400}\n", false, false},
	    {"a.jsonl", "", false, false},
	    {"a.csv", "text,kind\n\xff,a\n\n", false, false},
	};
	struct schema *schema;
	struct cuttle_error error;
	assert_int_equal(schema_read(shape, sizeof shape - 1, &schema, NULL), CUTTLE_OK);
	for (size_t i = 0; i < 2 * sizeof tries / sizeof *tries; i++) {
		const bool with = i % 2;
		struct records *records;
		write_bytes(tries[i / 2].name, tries[i / 2].content);
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .schema = with ? schema : NULL,
		                                        .limit = SIZE_MAX};
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		const bool refused = with ? tries[i / 2].schema : tries[i / 2].plain;
		assert_int_equal(records_need_field(&request, records, "--x", &error),
		                 refused ? CUTTLE_INPUT : CUTTLE_OK);
		if (refused)
			assert_non_null(strstr(error.message, ". Is it CSV? Then name it .csv"));
		records_free(&records);
	}
	schema_free(schema);
}

static int make_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
	(void)state;
	return files_remove(folder, ENDINGS, sizeof ENDINGS / sizeof *ENDINGS);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_cell_moves_another),
	                                   cmocka_unit_test(large_labels),
	                                   cmocka_unit_test(files_without_records)};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
