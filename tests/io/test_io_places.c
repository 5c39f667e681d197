// SPDX-License-Identifier: Apache-2.0
// Tests io/records/categories.c and io/records/places.c: what is declared and dealt out, and which
// record stands where. It fails if a record stands in a wrong place, or if setting one unit to null
// moves anything else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/records/places.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };
static const char *const KIND[] = {"kind"}, *const TWO[] = {"kind", "stars"};
static char folder[] = "/tmp/cuttle-places-XXXXXX";
static char path[128];

static void write_file(const char *name, const char *text) {
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	files_put(path, text, strlen(text));
}

/* ---- categories ------------------------------------------------------------------------------ */

static void lists(void **state) {
	(void)state;
	struct categories categories;
	assert_int_equal(categories_read(KIND, 1, "sea,land,air and space", &categories, NULL),
	                 CUTTLE_OK);
	assert_int_equal(categories.count, 3);
	assert_string_equal(categories.all[2].heading, "kind: air and space");
	// Each part is less than one text off, and they add up.
	categories_spread(&categories, 8);
	assert_int_equal(categories.all[0].texts, 3);
	assert_int_equal(categories.all[1].texts, 2);
	assert_int_equal(categories.all[2].texts, 3);
	assert_ptr_equal(categories_of(&categories, 2), &categories.all[0]);
	assert_ptr_equal(categories_of(&categories, 3), &categories.all[1]);
	assert_ptr_equal(categories_of(&categories, 7), &categories.all[2]);
	categories_spread(&categories, 1);
	assert_int_equal(categories.all[1].texts, 1);
	assert_ptr_equal(categories_of(&categories, 0), &categories.all[1]);
	categories_free(&categories);
	assert_null(categories.all);
}

static void files(void **state) {
	(void)state;
	static const char *const contents[] = {
	    "share,stars,kind\n3,5,sea\n,4,\"land, dry\"\n1,5,\"land, dry\"\n",
	    "{\"share\":3,\"stars\":5,\"kind\":\"sea\"}\n{\"stars\":\"4\",\"kind\":\"land, "
	    "dry\"}\n{\"kind\":\"land, dry\",\"stars\":5.0}\n"};
	for (int json = 0; json < 2; json++) {
		struct categories categories;
		const char *values[] = {"land, dry", "5"};
		const size_t sizes[] = {9, 1};
		write_file(json ? "c.jsonl" : "c.csv", contents[json]);
		assert_int_equal(categories_read(TWO, 2, path, &categories, NULL), CUTTLE_OK);
		assert_string_equal(categories.all[1].heading, "kind: land, dry\nstars: 4");
		assert_int_equal(categories_shares(&categories), 5);
		categories_spread(&categories, 10);
		assert_int_equal(categories.all[0].texts, 6);
		assert_int_equal(categories.all[1].texts, 2);
		assert_int_equal(categories.all[2].texts, 2);
		assert_int_equal(categories_find(&categories, values, sizes), 2);
		values[1] = NULL;
		assert_int_equal(categories_find(&categories, values, sizes), 3);
		categories_free(&categories);
	}
}

static void refused(const char *const *fields, size_t count, const char *declared,
                    enum cuttle_status wanted) {
	struct cuttle_error error = {""};
	struct categories categories;
	assert_int_equal(categories_read(fields, count, declared, &categories, &error), wanted);
	assert_true(error.message[0] && !strchr(error.message, '\n'));
	categories_free(&categories);
}

static void wrong_declarations(void **state) {
	(void)state;
	static const char *const taken[] = {"text"}, *const twice[] = {"kind", "kind"},
	                         *const lines[] = {"ki\nnd"};
	refused(taken, 1, "a", CUTTLE_USAGE);
	refused(twice, 2, "a", CUTTLE_USAGE);
	refused(lines, 1, "a", CUTTLE_USAGE);
	refused(TWO, 2, "a,b", CUTTLE_USAGE);
	refused(KIND, 1, "", CUTTLE_INPUT);
	refused(KIND, 1, "a,", CUTTLE_INPUT);
	refused(KIND, 1, "a,b,a", CUTTLE_INPUT);
	refused(KIND, 1, "a\tb", CUTTLE_INPUT);
	refused(KIND, 1, "a\xFF", CUTTLE_INPUT);
	refused(KIND, 1, "/nonexistent/file.csv", CUTTLE_INPUT);
	static const char *const contents[] = {"kind\n",
	                                       "stars\n5\n",
	                                       "kind,share\na,0\n",
	                                       "kind,share\na,x\n",
	                                       "kind,share\na,1000001\n",
	                                       "kind\na\nb\na\n",
	                                       "kind\na\n\nb\n",
	                                       "kind,share\na,-1\n"};
	for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
		write_file("c.csv", contents[i]);
		refused(KIND, 1, path, CUTTLE_INPUT);
	}
	static char many[6 * (MOST_CATEGORIES + 1) + 1];
	for (int i = 0, at = 0; i <= MOST_CATEGORIES; i++)
		at += sprintf(many + at, "%s%04x", i ? "," : "", i);
	refused(KIND, 1, many, CUTTLE_INPUT);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* One letter per record, '.' for none. */
struct world {
	char kinds[MOST], owners[MOST];
	size_t count;
};

static struct records *records_of(const struct world *world) {
	char text[MOST * 64], *at = text;
	struct records *records;
	*at = 0;
	for (size_t i = 0; i < world->count; i++) {
		at += sprintf(at, "{\"text\":\"t\"");
		if (world->kinds[i] != '.') at += sprintf(at, ",\"kind\":\"%c\"", world->kinds[i]);
		if (world->owners[i] != '.') at += sprintf(at, ",\"who\":\"%c\"", world->owners[i]);
		at += sprintf(at, "}\n");
	}
	write_file("r.jsonl", text);
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .id_field = "who",
	                                        .limit = SIZE_MAX,
	                                        .labels = KIND,
	                                        .label_count = 1};
	assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
	return records;
}

static enum cuttle_status place(const struct world *world, struct places_request request,
                                struct places *places, struct cuttle_error *error) {
	struct records *records = records_of(world);
	request.records = records;
	request.path = "in.jsonl";
	if (!request.shots) request.shots = 1;
	enum cuttle_status status = places_make(&request, places, error);
	records_free(&records);
	return status;
}

/* The records in their places as letters a, b, c..., '-' for null, texts parted by '|' and, with
 * shots, rows by ' '. */
static void expect(const char *kinds, const char *owners, struct places_request request,
                   const char *wanted, uint64_t weight, size_t lines) {
	struct world world = {.count = strlen(kinds)};
	struct places places;
	char shown[2 * MOST] = "", *at = shown;
	memcpy(world.kinds, kinds, world.count);
	memcpy(world.owners, owners, world.count);
	assert_int_equal(place(&world, request, &places, NULL), CUTTLE_OK);
	for (size_t i = 0; i < places.count; i++) {
		const size_t shots = request.shots ? request.shots : 1;
		if (i && i % (request.batch * shots) == 0) *at++ = '|';
		else if (shots > 1 && i && i % shots == 0) *at++ = ' ';
		*at++ =
		    (char)(places.records[i] == PLACE_NULL ? '-' : 'a' + (int)places.records[i]);
	}
	*at = 0;
	assert_string_equal(shown, wanted);
	assert_int_equal(places.weight, weight);
	assert_int_equal(places.lines, lines);
	places_free(&places);
}

static void units(void **state) {
	(void)state;
	struct places_request request = {.texts = 2, .batch = 3};
	expect("......", "AABABB", request, "abc|def", 1, 6);
	request.unit_key = "who";
	expect("......", "AABABB", request, "abc|def", 5, 6);
	expect("......", "AAABBC", request, "abc|def", 9, 6);
	expect("......", "A..BCD", request, "a--|def", 1, 6);
	request.limit = 1;
	expect("......", "AABABB", request, "a-c|---", 1, 6);
	request.limit = 2;
	expect("......", "AABABB", request, "a-c|de-", 2, 6);
	request.limit = 5;
	expect("......", "AABABB", request, "a-c|de-", 5, 6);
	// What is not read costs nobody.
	request.limit = 0;
	expect(".......", "AABCDEA", request, "abc|def", 4, 6);
}

/* With shots a row is R records that follow each other, of one category, and an owner pays for
 * rows. */
static void rows_of_several(void **state) {
	(void)state;
	struct categories declared;
	struct places_request request = {.texts = 2, .batch = 2, .shots = 2};
	expect("........", "AABABBCC", request, "ab cd|ef gh", 1, 8);
	request.unit_key = "who";
	// A has both rows of the first text, which makes 4; B a row there and one of the second.
	expect("........", "AABABBCC", request, "ab cd|ef gh", 4, 8);
	expect("........", "AAABBCC.", request, "ab cd|ef g-", 4, 8);
	// A keeps its first row, all of it; of B the first row is kept, too.
	request.limit = 1;
	expect("........", "AABABBCC", request, "ab c-|-- gh", 1, 8);
	expect("........", "ABABABAB", request, "ab --|-- --", 1, 8);
	request.limit = 2;
	expect("........", "ABABABAB", request, "ab --|ef --", 2, 8);
	request = (struct places_request){.texts = 2, .batch = 1, .shots = 3};
	write_file("c.csv", "kind\ns\nl\n");
	assert_int_equal(categories_read(KIND, 1, path, &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, 2);
	request.categories = &declared;
	expect("slxslslsl", ".........", request, "adf|beg", 1, 7);
	categories_free(&declared);
	struct places places;
	struct cuttle_error error;
	struct world world = {.kinds = ".....", .owners = ".....", .count = 5};
	request = (struct places_request){.texts = 1, .batch = 2, .shots = 3};
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(error.message,
	                    "in.jsonl has 5 records, but N x B x R = 1 x 2 x 3 = 6 are needed; "
	                    "lower -N, --shots or -B");
	places_free(&places);
}

static void categories(void **state) {
	(void)state;
	struct categories declared;
	write_file("c.csv", "kind,share\ns,1\nl,2\n");
	assert_int_equal(categories_read(KIND, 1, path, &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, 3);
	struct places_request request = {.texts = 3, .batch = 2, .categories = &declared};
	expect("xlsl.slsll", "..........", request, "cf|bd|gi", 1, 9);
	request.unit_key = "who";
	expect("xlsl.slsll", ".AABBAACBB", request, "cf|bd|gi", 4 + 1 + 1, 9);
	// First by text, not by line: text 0 is s, whose line comes after the first l.
	request.limit = 1;
	expect("xlsl.slsll", ".AABBAACBB", request, "c-|-d|--", 1, 9);
	categories_free(&declared);
}

/* Each that is short is named while there is room: without counts where these have none. Of very
 * many the number of the others is told. */
static void many_are_named(const struct world *world) {
	static const struct {
		size_t count, named;
		const char *first;
	} tries[] = {{9, 9, "kind (ward-10: 0 of 2; ward-11: 0 of 2; "},
	             {14, 14, "kind (ward-10; ward-11; ward-12; "},
	             {90, 0, "kind (ward-10; ward-11; ward-12; "}};
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		char list[1024] = "s", name[32], left[64];
		struct categories declared;
		struct cuttle_error error;
		struct places places;
		size_t named = 0;
		for (size_t j = 0; j < tries[i].count; j++)
			(void)sprintf(list + strlen(list), ",ward-%zu", 10 + j);
		assert_int_equal(categories_read(KIND, 1, list, &declared, NULL), CUTTLE_OK);
		categories_spread(&declared, declared.count);
		const struct places_request request = {
		    .texts = declared.count, .batch = 2, .categories = &declared};
		assert_int_equal(place(world, request, &places, &error), CUTTLE_INPUT);
		for (size_t j = 0; j < tries[i].count; j++) {
			(void)sprintf(name, "ward-%zu", 10 + j);
			named += strstr(error.message, name) != NULL;
		}
		(void)sprintf(left, "; %zu more: cuttle inspect); ", tries[i].count - named);
		assert_non_null(strstr(error.message, tries[i].first));
		assert_non_null(strstr(error.message, "cuttle learn reads any number"));
		if (tries[i].named) assert_int_equal(named, tries[i].named);
		else assert_true(named > 10 && strstr(error.message, left));
		assert_true(strlen(error.message) < sizeof error.message - 1);
		places_free(&places);
		categories_free(&declared);
	}
}

static void wrong_inputs(void **state) {
	(void)state;
	struct categories declared;
	struct places places;
	struct cuttle_error error;
	struct world world = {.kinds = "ssl", .owners = "...", .count = 3};
	struct places_request request = {.texts = 2, .batch = 2};
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(
	    error.message,
	    "in.jsonl has 3 records, but N x B = 2 x 2 = 4 are needed; lower -N or -B");
	places_free(&places);
	assert_int_equal(categories_read(KIND, 1, "s,l", &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, 2);
	request.categories = &declared;
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(
	    error.message,
	    "in.jsonl: too few records in 1 of 2 categories of kind (l: 1 of 2); lower -N or -B. "
	    "cuttle expand makes more of few texts, and cuttle learn reads any number");
	places_free(&places);
	categories_free(&declared);
	// All that are short are named at once; and where none has a record, that.
	assert_int_equal(categories_read(KIND, 1, "x,s,l", &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, 6);
	request.texts = 6;
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(
	    error.message,
	    "in.jsonl: too few records in 3 of 3 categories of kind (x: 0 of 4; s: 2 of 4; l: 1 of "
	    "4); lower -N or -B. cuttle expand makes more of few texts, and cuttle learn reads "
	    "any number");
	places_free(&places);
	request.shots = 2;
	request.per_share = true;
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(
	    error.message,
	    "in.jsonl: too few records in 3 of 3 categories of kind (x: 0 of 8; s: 2 of 8; l: 1 of "
	    "8); lower --num-per-category, --shots or -B. cuttle expand makes more of few texts, "
	    "and cuttle learn reads any number");
	request.shots = 1;
	request.per_share = false;
	places_free(&places);
	categories_free(&declared);
	many_are_named(&world);
	assert_int_equal(categories_read(KIND, 1, "S,L", &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, 6);
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(error.message,
	                    "in.jsonl: no record is in a declared category; cuttle "
	                    "inspect shows which there are in --category-field kind");
	places_free(&places);
	categories_free(&declared);
	request = (struct places_request){.texts = 1, .batch = 2, .unit_key = "who"};
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_INPUT);
	assert_string_equal(error.message, "in.jsonl: no record has a who");
	places_free(&places);
	request = (struct places_request){.texts = SIZE_MAX / 2, .batch = 3};
	assert_int_equal(place(&world, request, &places, &error), CUTTLE_USAGE);
	places_free(&places);
}

/* The claim of dp/PRIVACY.md: all records of one unit become null (but for their categories, which
 * are public), and at most one row of at most G texts changes; nothing moves. Without a limit the
 * weight is the sum of g^2 of the most frequent unit. A row that is changed becomes null, as one of
 * its places does. */
static bool row_vanishes(const struct places *places, const struct places *without, size_t row,
                         const char *owners, char gone) {
	bool changed = false;
	for (size_t i = row * places->row; i < (row + 1) * places->row; i++) {
		if (places->records[i] == without->records[i]) continue;
		assert_int_equal(without->records[i], PLACE_NULL);
		assert_int_equal(owners[places->records[i]], gone);
		changed = true;
	}
	return changed;
}

static void nulling_a_unit(void **state) {
	(void)state;
	enum { TEXTS = 6, BATCH = 3, WORLDS = 240 };
	uint64_t random = 1;
	size_t most_changed = 0;
	struct categories declared;
	assert_int_equal(categories_read(KIND, 1, "s,l", &declared, NULL), CUTTLE_OK);
	categories_spread(&declared, TEXTS);
	for (int w = 0; w < WORLDS; w++) {
		struct world world = {.count = 50};
		for (size_t i = 0; i < world.count; i++) {
			world.kinds[i] = "slslx"[tiny_random(&random) % 5];
			world.owners[i] = "ABCDE."[tiny_random(&random) % 6];
		}
		struct places_request request = {.texts = TEXTS,
		                                 .batch = BATCH,
		                                 .shots = 1 + (uint32_t)w % 2,
		                                 .unit_key = "who",
		                                 .limit = (uint64_t)w / 2 % 4};
		if (w % 3) request.categories = &declared;
		struct places places, without;
		struct cuttle_error error;
		if (place(&world, request, &places, &error)) { // too few of a kind
			places_free(&places);
			continue;
		}
		uint64_t weight = 0;
		for (char gone = 'A'; gone <= 'E'; gone++) {
			struct world neighbour = world;
			for (size_t i = 0; i < world.count; i++)
				if (world.owners[i] == gone) neighbour.owners[i] = '.';
			assert_int_equal(place(&neighbour, request, &without, NULL), CUTTLE_OK);
			assert_int_equal(places.lines, without.lines);
			uint64_t cost = 0, texts = 0;
			for (size_t text = 0; text < TEXTS; text++) {
				uint64_t changed = 0;
				for (size_t row = text * BATCH; row < (text + 1) * BATCH; row++)
					changed += row_vanishes(&places, &without, row,
					                        world.owners, gone);
				cost += changed * changed;
				texts += changed > 0;
				if (request.limit) assert_true(changed <= 1);
			}
			if (request.limit)
				assert_true(texts <= request.limit && cost <= places.weight);
			if (texts > most_changed) most_changed = texts;
			if (cost > weight) weight = cost;
			places_free(&without);
		}
		if (!request.limit) assert_int_equal(weight, places.weight);
		places_free(&places);
	}
	assert_int_equal(most_changed, TEXTS);
	categories_free(&declared);
}

static int make_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
	(void)state;
	static const char *const names[] = {"c.csv", "c.jsonl", "r.jsonl"};
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lists),
	    cmocka_unit_test(files),
	    cmocka_unit_test(wrong_declarations),
	    cmocka_unit_test(units),
	    cmocka_unit_test(rows_of_several),
	    cmocka_unit_test(categories),
	    cmocka_unit_test(wrong_inputs),
	    cmocka_unit_test(nulling_a_unit),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
