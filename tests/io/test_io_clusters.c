// SPDX-License-Identifier: Apache-2.0
// Tests the places of records whose categories are private: clusters that places_clusters gives
// them, and lots within these. It fails if a record that becomes null, or gets another category,
// moves another one, or if a record stands in a text of another category.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle/histogram.h"
#include "io/records/lots.h"
#include "io/records/places.h"
#include "tests/support/files.h"
#include "tests/support/statistics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 60, TEXTS = 7, ROWS = 30 };
static char folder[] = "/tmp/cuttle-clusters-XXXXXX";
static char path[128];
static const char *const field = "kind";
static const uint64_t batches[3] = {5, 4, 1}; /* the third category has none: one stands in */
static struct categories categories;

static unsigned next_random(uint64_t *state) {
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

/* Writes the records: kinds[i] is 0 to 2 of a category, 3 of none, 4 a null record. */
static void write_records(const unsigned *kinds) {
	static const char *const names[] = {"sea", "land", "sky", "fire"};
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < RECORDS; i++)
		if (kinds[i] == 4) fprintf(file, "{}\n");
		else fprintf(file, "{\"text\":\"n%zu\",\"kind\":\"%s\"}\n", i, names[kinds[i]]);
	assert_int_equal(fclose(file), 0);
}

static void place_records(const unsigned *kinds, const unsigned char *key, uint32_t *cluster,
                          struct places *places) {
	const struct records_request wanted = {.path = path,
	                                       .field = "text",
	                                       .limit = SIZE_MAX,
	                                       .labels = &field,
	                                       .label_count = 1,
	                                       .most = 100};
	struct records *records;
	write_records(kinds);
	assert_int_equal(records_read(&wanted, &records, NULL), CUTTLE_OK);
	assert_int_equal(records_count(records), RECORDS);
	places_clusters(records, &categories, cluster);
	const struct places_lots request = {.records = records,
	                                    .categories = &categories,
	                                    .cluster = cluster,
	                                    .batches = batches,
	                                    .texts = TEXTS,
	                                    .rows = ROWS,
	                                    .shots = 1,
	                                    .key = key};
	assert_int_equal(places_draw(&request, places, NULL), CUTTLE_OK);
	records_free(&records);
}

/* The records of a text but for one, in their order. Returns how many. */
static size_t others_of_text(const struct places *places, size_t text, size_t but,
                             size_t *records) {
	size_t count = 0;
	for (size_t row = 0; row < ROWS; row++) {
		const size_t record = places->records[text * ROWS + row];
		if (record != PLACE_NULL && record != but) records[count++] = record;
	}
	return count;
}

/* Random files, two worlds each: with equal lots and equal batches all texts have the same other
 * records, in the same order. */
static void no_other_record_moves(void **state) {
	(void)state;
	uint64_t seed = 3;
	size_t stood = 0;
	for (int file = 0; file < (briefly() ? 60 : 300); file++) {
		unsigned kinds[RECORDS];
		unsigned char key[LOTS_KEY];
		uint32_t cluster[2][RECORDS];
		struct places places[2];
		for (size_t i = 0; i < RECORDS; i++) kinds[i] = next_random(&seed) % 5;
		for (size_t i = 0; i < LOTS_KEY; i++) key[i] = (unsigned char)next_random(&seed);
		const size_t moved = next_random(&seed) % RECORDS;
		place_records(kinds, key, cluster[0], &places[0]);
		for (size_t i = 0; i < RECORDS; i++)
			assert_int_equal(cluster[0][i],
			                 kinds[i] < 3 ? kinds[i] : CUTTLE_NO_CLUSTER);
		kinds[moved] = file % 2 ? 4 : (kinds[moved] + 1 + next_random(&seed) % 4) % 5;
		place_records(kinds, key, cluster[1], &places[1]);
		for (size_t i = 0; i < RECORDS; i++)
			assert_true(i == moved || cluster[0][i] == cluster[1][i]);
		for (size_t text = 0; text < TEXTS; text++) {
			size_t records[2][ROWS];
			const size_t count = others_of_text(&places[0], text, moved, records[0]);
			assert_int_equal(others_of_text(&places[1], text, moved, records[1]),
			                 count);
			assert_memory_equal(records[0], records[1], count * sizeof *records[0]);
			// Texts 0 to 3 are of the first category, 4 to 6 of the second.
			for (size_t i = 0; i < count; i++)
				assert_int_equal(cluster[0][records[0][i]], text >= 4);
			stood += count;
		}
		places_free(&places[0]);
		places_free(&places[1]);
	}
	assert_true(stood > 1000);
}

static int begin_tests(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/records.jsonl", folder);
	if (categories_read(&field, 1, "sea,land,sky", &categories, NULL)) return -1;
	categories.all[0].texts = 4;
	categories.all[1].texts = 3;
	categories.all[2].texts = 0;
	return 0;
}

static int end_tests(void **state) {
	(void)state;
	categories_free(&categories);
	(void)unlink(path);
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_other_record_moves)};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
