// SPDX-License-Identifier: Apache-2.0
// Tests io/records/lots.c, and places that are filled by lots. It fails if lots are not those of
// the key, or not even. It fails if two runs have one key, if the key stays on the disk, or if a
// record that becomes null moves another one or more than one count.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle/histogram.h"
#include "io/disk/file.h"
#include "io/records/places.h"
#include "tests/support/files.h"
#include "tests/support/statistics.h"
#include "io/records/lots.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-lots-XXXXXX";
static char path[128], input[128];
static unsigned char counting[LOTS_KEY]; /* 00 01 .. 1f */

static void vectors(void **state) {
	(void)state;
	static const uint64_t hundred[] = {6,  2,  89, 35, 75, 84, 93, 6,  69, 99,
	                                   86, 62, 81, 65, 13, 6,  33, 45, 56, 6},
	                      seven[] = {0, 4, 0, 5, 4, 0, 6, 3, 3, 5};
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(lots_batch(counting, 0, i, 100), hundred[i]);
	for (size_t i = 0; i < 10; i++) assert_int_equal(lots_batch(counting, 3, i, 7), seven[i]);
	assert_int_equal(lots_batch(counting, 9, 9, 1), 0);
}

/* 10^6 lots of 100 batches: chi-square with 99 degrees of freedom is below 180.8 but for 1e-6. */
static void even(void **state) {
	(void)state;
	enum { BATCHES = 100 };
	const size_t total = briefly() ? 100000 : 1000000;
	size_t counts[BATCHES] = {0};
	double square = 0;
	struct lots lots;
	assert_int_equal(lots_begin(&lots, NULL, NULL), CUTTLE_OK);
	for (size_t i = 0; i < total; i++) counts[lots_batch(lots.key, 0, i, BATCHES)]++;
	for (size_t b = 0; b < BATCHES; b++) {
		const double expected = (double)total / BATCHES, off = (double)counts[b] - expected;
		square += off * off / expected;
	}
	assert_true(square < 180.8);
	lots_close(&lots);
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char OURS[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                  OTHERS[] = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void keys_are_new(void **state) {
	(void)state;
	struct lots one, two;
	const uint64_t seed = 5;
	assert_int_equal(lots_begin(&one, NULL, NULL), CUTTLE_OK);
	assert_int_equal(lots_begin(&two, NULL, NULL), CUTTLE_OK);
	assert_memory_not_equal(one.key, two.key, LOTS_KEY);
	assert_int_equal(lots_begin(&one, &seed, NULL), CUTTLE_OK);
	assert_int_equal(lots_begin(&two, &seed, NULL), CUTTLE_OK);
	assert_memory_equal(one.key, two.key, LOTS_KEY);
	lots_close(&one);
	lots_close(&two);
	assert_true(sodium_is_zero((const unsigned char *)&one, sizeof one));
}

static void kept_and_removed(void **state) {
	(void)state;
	struct lots lots, again = {.standing = LOTS_FOREIGN};
	struct stat file;
	char check[LOTS_CHECK], kept[LOTS_CHECK], other[128], bytes[256];
	(void)snprintf(other, sizeof other, "%s/link", folder);
	assert_int_equal(lots_begin(&lots, NULL, NULL), CUTTLE_OK);
	lots.records = 1500;
	lots_look(&again, path);
	assert_int_equal(again.standing, LOTS_NONE);
	lots_check_kept(&again, OURS, kept);
	assert_string_equal(kept, "00000000000000000000000000000000");
	const mode_t before = umask(0);
	assert_int_equal(lots_keep(&lots, path, OURS), 0);
	(void)umask(before);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0600);

	lots_look(&again, path);
	again.records = 1500;
	assert_int_equal(again.standing, LOTS_STAND);
	assert_int_equal(again.had, 1500);
	assert_string_equal(again.fingerprint, OURS);
	lots_check(&lots, check);
	lots_check_kept(&again, OURS, kept);
	assert_string_equal(check, kept);
	lots_continue(&again);
	assert_memory_equal(again.key, lots.key, LOTS_KEY);
	// Those of another command, or of another number of records, are not this run's.
	lots_check_kept(&again, OTHERS, kept);
	assert_string_not_equal(check, kept);
	again.records = 1501;
	lots_check_kept(&again, OURS, kept);
	assert_string_not_equal(check, kept);

	// The key is gone from the blocks that the file had, too.
	assert_int_equal(link(path, other), 0);
	assert_int_equal(lots_remove(&again, path), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(files_get(other, bytes, sizeof bytes), 165);
	assert_true(sodium_is_zero((const unsigned char *)bytes, 165));
	assert_int_equal(unlink(other), 0);

	// A new run's lots take the place of those that stand, never their key.
	assert_int_equal(lots_keep(&lots, path, OURS), 0);
	struct lots next;
	assert_int_equal(lots_begin(&next, NULL, NULL), CUTTLE_OK);
	assert_int_equal(lots_keep(&next, path, OURS), 0);
	lots_look(&again, path);
	assert_memory_equal(again.kept, next.key, LOTS_KEY);
	assert_int_equal(lots_remove(&again, path), 0);
}

/* What a kill leaves is removed or replaced; what somebody else put there is left alone. */
static void torn_and_foreign(void **state) {
	(void)state;
	struct lots lots, look;
	char whole[256], line[256];
	assert_int_equal(lots_begin(&lots, NULL, NULL), CUTTLE_OK);
	assert_int_equal(lots_keep(&lots, path, OURS), 0);
	const size_t size = files_get(path, whole, sizeof whole);
	assert_int_equal(size, 165);
	for (size_t cut = 0; cut < size; cut++) {
		files_put(path, whole, cut);
		lots_look(&look, path);
		assert_int_equal(look.standing, LOTS_NONE);
		assert_true(look.torn);
		assert_int_equal(lots_keep(&lots, path, OURS), 0);
	}
	memset(line, 0, sizeof line);
	files_put(path, line, size);
	lots_look(&look, path);
	assert_int_equal(look.standing, LOTS_NONE);
	assert_int_equal(lots_remove(&look, path), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	static const size_t changed[] = {0, 13, 20, 78, 80, 99, 120, 164};
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
		memcpy(line, whole, size);
		line[changed[i]] = '!';
		files_put(path, line, size);
		lots_look(&look, path);
		assert_int_equal(look.standing, LOTS_FOREIGN);
		assert_int_equal(lots_remove(&look, path), 0);
		assert_int_equal(files_get(path, line, sizeof line), size);
		assert_int_not_equal(lots_keep(&lots, path, OURS), 0);
		assert_int_equal(unlink(path), 0);
	}
	files_put(path, whole, size);
	FILE *longer = fopen(path, "a");
	assert_non_null(longer);
	assert_true(fputc('\n', longer) == '\n' && !fclose(longer));
	lots_look(&look, path);
	assert_int_equal(look.standing, LOTS_FOREIGN);
	assert_int_equal(unlink(path), 0);
	// A pipe that nobody writes to is somebody's, and no reason to wait.
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)alarm(20);
	assert_int_equal(lots_remove(&look, path), 0);
	assert_int_equal(look.standing, LOTS_FOREIGN);
	(void)alarm(0);
	assert_int_equal(unlink(path), 0);
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { MOST = 40, ROWS = 4, TEXTS = 3 };

static struct records *read_records(const char *text, const char *const *labels) {
	struct records *records = NULL;
	const struct records_request request = {.path = input,
	                                        .field = "text",
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = labels ? 1 : 0,
	                                        .most = 64};
	files_put(input, text, strlen(text));
	assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
	return records;
}

/* Line i of a file; with null it is one of the ways to be a null record. */
static size_t write_line(char *line, size_t room, size_t i, uint64_t how, bool null) {
	static const char *const nulls[] = {"\n", "{\n", "{\"text\":7}\n", "{\"text\":\"\"}\n"};
	return (size_t)(null ? snprintf(line, room, "%s", nulls[how % 4])
	                     : snprintf(line, room, "{\"text\":\"record %zu\"}\n", i));
}

static struct places draw_places(const struct records *records, const unsigned char *key,
                                 uint64_t batches, uint32_t rows) {
	struct places places;
	const struct places_lots request = {.records = records,
	                                    .batches = &batches,
	                                    .texts = TEXTS,
	                                    .rows = rows,
	                                    .shots = 1,
	                                    .key = key};
	assert_int_equal(places_draw(&request, &places, NULL), CUTTLE_OK);
	assert_int_equal(places.count, (size_t)TEXTS * rows);
	assert_int_equal(places.lines, records_count(records));
	assert_int_equal(places.weight, 1);
	return places;
}

/* Each record of a random file made null in turn, the key fixed: the row of this record is gone,
 * and every other stands where it stood. */
static void null_moves_nothing(void **state) {
	(void)state;
	const int files = briefly() ? 60 : 300;
	uint64_t seed = 77;
	for (int n = 0; n < files; n++) {
		struct lots lots;
		char text[MOST * 64];
		uint64_t number = seed++;
		assert_int_equal(lots_begin(&lots, &number, NULL), CUTTLE_OK);
		const size_t count = 1 + (size_t)n % MOST, victim = (size_t)n * 7 % count;
		const uint64_t batches = TEXTS + (uint64_t)n % 5;
		struct places places[2];
		struct records *records[2];
		for (int null = 0; null < 2; null++) {
			size_t used = 0;
			for (size_t i = 0; i < count; i++)
				used += write_line(text + used, sizeof text - used, i, (uint64_t)n,
				                   null && i == victim);
			records[null] = read_records(text, NULL);
			assert_int_equal(records_count(records[null]), count);
			places[null] = draw_places(records[null], lots.key, batches, ROWS);
		}
		size_t changed = 0;
		for (size_t place = 0; place < places[0].count; place++) {
			const size_t record = places[0].records[place];
			size_t size;
			assert_int_equal(record, places[1].records[place]);
			if (record == PLACE_NULL) continue;
			assert_int_equal(place / ROWS, lots_batch(lots.key, 0, record, batches));
			const char *now = records_text(records[1], record, &size);
			changed += !now || !size;
		}
		assert_true(changed <= 1);
		for (int null = 0; null < 2; null++) {
			places_free(&places[null]);
			records_free(&records[null]);
		}
	}
}

/* A file of `count` records, in one of the categories or in none; the victim's line is null, and
 * its category with it. The counts that a run draws are of this file, with noise of one seed. */
static struct records *read_categories(size_t count, size_t victim, uint64_t how,
                                       const struct categories *categories, int64_t *noisy) {
	static const char *const kind[] = {"kind"};
	static const char *const kinds[] = {"land", "sea", "air", "fog"};
	const struct cuttle_histogram histogram = {.scale = 9, .clusters = 3, .texts = TEXTS};
	char text[MOST * 64];
	uint32_t cluster[MOST];
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		used += i == victim
		            ? write_line(text + used, sizeof text - used, i, how, true)
		            : (size_t)snprintf(text + used, sizeof text - used,
		                               "{\"text\":\"record %zu\",\"kind\":\"%s\"}\n", i,
		                               kinds[(i * 7 + how) % 4]);
	struct records *records = read_records(text, kind);
	assert_int_equal(records_count(records), count);
	places_clusters(records, categories, cluster);
	assert_int_equal(cuttle_histogram_count(&histogram, cluster, count, &how, noisy, NULL),
	                 CUTTLE_OK);
	return records;
}

/* Each record of a random file made null in turn, key and noise fixed: the row of this record is
 * gone, the count of its category is one less, and everything else stands where it stood. */
static void nulling_a_record(void **state) {
	(void)state;
	static const char *const kind[] = {"kind"};
	const int files = briefly() ? 30 : 300;
	struct categories categories;
	size_t rows = 0, counts = 0, worlds = 0;
	assert_int_equal(categories_read(kind, 1, "sea,land,air", &categories, NULL), CUTTLE_OK);
	categories_spread(&categories, TEXTS);
	for (int n = 0; n < files; n++) {
		struct lots lots;
		int64_t noisy[2][3];
		struct places places[2];
		struct records *records[2];
		const uint64_t number = 77 + (uint64_t)n, m = TEXTS + (uint64_t)n % 5,
		               batches[] = {m, m + 1, m + 2};
		const size_t count = 1 + (size_t)n % MOST;
		assert_int_equal(lots_begin(&lots, &number, NULL), CUTTLE_OK);
		struct places_lots request = {.categories = &categories,
		                              .batches = batches,
		                              .texts = TEXTS,
		                              .rows = ROWS,
		                              .shots = 1,
		                              .key = lots.key};
		request.records = records[0] =
		    read_categories(count, count, number, &categories, noisy[0]);
		assert_int_equal(places_draw(&request, &places[0], NULL), CUTTLE_OK);
		for (size_t victim = 0; victim < count; victim++, worlds++) {
			size_t moved = 0, less = 0;
			request.records = records[1] =
			    read_categories(count, victim, number, &categories, noisy[1]);
			assert_int_equal(places_draw(&request, &places[1], NULL), CUTTLE_OK);
			assert_int_equal(places[0].count, places[1].count);
			/* Rows of one text close up where one is gone, and one more may come in. */
			for (size_t text = 0; text < TEXTS; text++) {
				const size_t *was = &places[0].records[text * ROWS],
				             *is = &places[1].records[text * ROWS];
				if (memcmp(was, is, ROWS * sizeof *was) == 0) continue;
				size_t at = 0;
				for (size_t row = 0; row < ROWS; row++) {
					if (was[row] == victim) continue;
					assert_int_equal(was[row], is[at]);
					at++;
				}
				assert_int_equal(at, ROWS - 1);
				moved++;
			}
			for (int c = 0; c < 3; c++) {
				const int64_t lost = noisy[0][c] - noisy[1][c];
				assert_true(lost == 0 || lost == 1);
				less += (size_t)lost;
			}
			assert_true(moved <= 1 && less <= 1 && moved <= less);
			rows += moved;
			counts += less;
			places_free(&places[1]);
			records_free(&records[1]);
		}
		places_free(&places[0]);
		records_free(&records[0]);
	}
	/* A quarter of the records are in no category. */
	assert_true(counts > worlds / 2 && counts < worlds && rows > worlds / 8);
	categories_free(&categories);
}

/* A text's records stand in the order of the file, and those beyond the cap nowhere. */
static void surplus_is_dropped(void **state) {
	(void)state;
	char text[MOST * 64];
	size_t used = 0, kept = 0;
	for (size_t i = 0; i < MOST; i++)
		used += write_line(text + used, sizeof text - used, i, 0, false);
	struct records *records = read_records(text, NULL);
	struct places all = draw_places(records, counting, TEXTS + 1, MOST),
	              few = draw_places(records, counting, TEXTS + 1, ROWS);
	for (size_t t = 0; t < TEXTS; t++)
		for (size_t row = 0; row < MOST; row++) {
			const size_t record = all.records[t * MOST + row];
			if (row && record != PLACE_NULL)
				assert_true(record > all.records[t * MOST + row - 1]);
			if (row < ROWS) assert_int_equal(few.records[t * ROWS + row], record);
			kept += record != PLACE_NULL;
		}
	assert_true(kept > ROWS * TEXTS && kept < MOST);
	places_free(&all);
	places_free(&few);
	records_free(&records);
}

/* Each category has lots of its own, among its own batches. */
static void categories_have_their_own(void **state) {
	(void)state;
	static const char *const kind[] = {"kind"};
	static const char *const kinds[] = {"land", "sea", "air"};
	char text[MOST * 64];
	size_t used = 0;
	uint64_t counts[2];
	struct categories categories;
	struct places places;
	assert_int_equal(categories_read(kind, 1, "sea,land", &categories, NULL), CUTTLE_OK);
	categories_spread(&categories, 5);
	assert_int_equal(categories.all[0].texts, 3);
	for (size_t i = 0; i < MOST; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
		                         "{\"text\":\"record %zu\",\"kind\":\"%s\"}\n", i,
		                         kinds[i % 3]);
	struct records *records = read_records(text, kind);
	places_count(records, &categories, counts);
	assert_int_equal(counts[0], 13);
	assert_int_equal(counts[1], 14);
	const uint64_t batches[] = {7, 5};
	const struct places_lots request = {.records = records,
	                                    .categories = &categories,
	                                    .batches = batches,
	                                    .texts = 5,
	                                    .rows = MOST,
	                                    .shots = 1,
	                                    .key = counting};
	assert_int_equal(places_draw(&request, &places, NULL), CUTTLE_OK);
	for (size_t i = 0; i < MOST; i++) {
		const uint32_t cluster = i % 3 == 1 ? 0 : 1;
		const uint64_t lot = lots_batch(counting, cluster, i, batches[cluster]);
		const size_t of = cluster ? 3 + (size_t)lot : (size_t)lot;
		const bool read = i % 3 != 2 && lot < (cluster ? 2 : 3);
		size_t found = 0;
		for (size_t place = 0; place < places.count; place++) {
			if (places.records[place] != i) continue;
			assert_int_equal(place / MOST, of);
			found++;
		}
		assert_int_equal(found, read);
	}
	places_free(&places);
	records_free(&records);
	categories_free(&categories);
}

/* With shots records of a category that follow each other are groups, which have the lot of their
 * first record. So each record stands in its group's row, once or nowhere, and what is over at the
 * end of a category makes a row that is null. */
static void groups_have_one_lot(void **state) {
	(void)state;
	static const char *const kind[] = {"kind"};
	enum { SHOTS = 3 };
	struct categories categories;
	size_t whole = 0, over = 0;
	assert_int_equal(categories_read(kind, 1, "sea,land,air", &categories, NULL), CUTTLE_OK);
	categories_spread(&categories, TEXTS);
	for (uint64_t n = 0; n < 60; n++) {
		struct lots lots;
		int64_t noisy[3];
		struct places places;
		const uint64_t batches[] = {TEXTS, TEXTS + 1, TEXTS + 2};
		const size_t count = 1 + (size_t)n % MOST;
		uint32_t cluster[MOST];
		assert_int_equal(lots_begin(&lots, &n, NULL), CUTTLE_OK);
		struct records *records = read_categories(count, count, n, &categories, noisy);
		places_clusters(records, &categories, cluster);
		const struct places_lots request = {.records = records,
		                                    .categories = &categories,
		                                    .batches = batches,
		                                    .texts = TEXTS,
		                                    .rows = MOST,
		                                    .shots = SHOTS,
		                                    .key = lots.key};
		assert_int_equal(places_draw(&request, &places, NULL), CUTTLE_OK);
		assert_int_equal(places.count, TEXTS * MOST * SHOTS);
		size_t group[3][SHOTS], grouped[3] = {0}, begin = 0, read = 0;
		for (size_t i = 0; i < places.count; i++) read += places.records[i] != PLACE_NULL;
		for (size_t i = 0; i < count; i++) {
			const uint32_t c = cluster[i];
			if (c >= 3) continue;
			group[c][grouped[c]++] = i;
			bool last = true;
			for (size_t j = i + 1; j < count; j++) last = last && cluster[j] != c;
			if (grouped[c] < SHOTS && !last) continue;
			begin = 0;
			for (uint32_t b = 0; b < c; b++) begin += categories.all[b].texts;
			const uint64_t lot = lots_batch(lots.key, c, group[c][0], batches[c]);
			size_t rows = 0;
			for (size_t row = 0; row < TEXTS * MOST; row++) {
				const size_t *at = &places.records[row * SHOTS];
				if (memcmp(at, group[c], grouped[c] * sizeof *at) != 0) continue;
				assert_int_equal(row / MOST, begin + lot);
				for (size_t j = grouped[c]; j < SHOTS; j++)
					assert_int_equal(at[j], PLACE_NULL);
				rows++;
			}
			assert_int_equal(rows, lot < categories.all[c].texts);
			whole += rows && grouped[c] == SHOTS;
			over += rows && grouped[c] < SHOTS;
			read -= rows ? grouped[c] : 0;
			grouped[c] = 0;
		}
		assert_int_equal(read, 0);
		places_free(&places);
		records_free(&records);
	}
	assert_true(whole > 20 && over > 5);
	categories_free(&categories);
}

/* ---- two worlds ------------------------------------------------------------------------------ */

/* One record, which makes the first text say 1 with odds 3:1 instead of 1:3 when it is read. One
 * batch of four is used. So it says 1 with chance 3/8 and not 1/4: ratio 3/2, as 1 + (3 - 1) / 4.
 * Lots that are known, or half of the batches, would give 3/4 or 1/2. */
static void two_worlds(void **state) {
	(void)state;
	const size_t trials = briefly() ? 20000 : 100000;
	size_t ones[2] = {0};
	for (int world = 0; world < 2; world++) {
		struct records *records =
		    read_records(world ? "{\"text\":\"a secret\"}\n" : "{}\n", NULL);
		for (size_t n = 0; n < trials; n++) {
			struct lots lots;
			assert_int_equal(lots_begin(&lots, NULL, NULL), CUTTLE_OK);
			const uint64_t batches = 4;
			struct places places;
			const struct places_lots request = {.records = records,
			                                    .batches = &batches,
			                                    .texts = 1,
			                                    .rows = 1,
			                                    .shots = 1,
			                                    .key = lots.key};
			assert_int_equal(places_draw(&request, &places, NULL), CUTTLE_OK);
			size_t size = 0;
			const char *text = places.records[0] == PLACE_NULL
			                       ? NULL
			                       : records_text(records, places.records[0], &size);
			ones[world] += randombytes_uniform(4) < (text ? 3 : 1);
			places_free(&places);
			lots_close(&lots);
		}
		records_free(&records);
	}
	// Five standard deviations of a count are below 2.5 sqrt(trials).
	const double room = briefly() ? 354 : 791;
	const double one = (double)ones[1] - 0.375 * (double)trials,
	             none = (double)ones[0] - 0.25 * (double)trials;
	assert_true(one < room && one > -room && none < room && none > -room);
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder) || sodium_init() < 0) return -1;
	(void)snprintf(path, sizeof path, "%s/out.jsonl.lots", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	for (size_t i = 0; i < LOTS_KEY; i++) counting[i] = (unsigned char)i;
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	static const char *const names[] = {"out.jsonl.lots", "in.jsonl"};
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vectors),
	    cmocka_unit_test(even),
	    cmocka_unit_test(keys_are_new),
	    cmocka_unit_test(kept_and_removed),
	    cmocka_unit_test(torn_and_foreign),
	    cmocka_unit_test(null_moves_nothing),
	    cmocka_unit_test(nulling_a_record),
	    cmocka_unit_test(groups_have_one_lot),
	    cmocka_unit_test(surplus_is_dropped),
	    cmocka_unit_test(categories_have_their_own),
	    cmocka_unit_test(two_worlds),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
