// SPDX-License-Identifier: Apache-2.0
// Tests lots of owners: which record of each is read (places_first), and where it stands
// (places_draw, lots_of_owner). It fails if an owner that becomes nobody moves another one, if an
// owner has two places, if the place of a record in the file decides its lot, or if lots are not
// uniform.
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

enum { RECORDS = 60, OWNERS = 25, TEXTS = 5, ROWS = 30 };
static char folder[] = "/tmp/cuttle-owners-XXXXXX";
static char path[128];
static const uint64_t batches = 8;

static unsigned next_random(uint64_t *state) {
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

/* What stands in the texts: the owner of each place, or -1. */
struct placed {
	int owners[TEXTS * ROWS];
	size_t firsts; /* owners that have a record */
};

/* owner[i] is whose a record is, 0 = nobody's; a record without a text has a negative owner. */
static void place_owners_of(const int *owner, const unsigned char *key, struct placed *placed) {
	const struct records_request wanted = {.path = path,
	                                       .field = "text",
	                                       .id_field = "who",
	                                       .id_is_owner = true,
	                                       .limit = SIZE_MAX,
	                                       .most = 100};
	struct records *records;
	struct places places;
	uint32_t cluster[RECORDS];
	size_t first[RECORDS], seen[OWNERS + 1] = {0};
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < RECORDS; i++)
		if (!owner[i]) fprintf(file, "{\"text\":\"n%d\"}\n", i);
		else if (owner[i] < 0) fprintf(file, "{\"who\":%d}\n", -owner[i]);
		else fprintf(file, "{\"text\":\"n%d\",\"who\":%d}\n", i, owner[i]);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(records_read(&wanted, &records, NULL), CUTTLE_OK);
	assert_int_equal(records_count(records), RECORDS);
	assert_true(places_first(records, first, &placed->firsts));
	for (size_t i = 0; i < RECORDS; i++) cluster[i] = CUTTLE_NO_CLUSTER;
	for (size_t i = 0; i < placed->firsts; i++) {
		assert_true(!i || first[i] > first[i - 1]);
		cluster[first[i]] = 0;
	}
	// Each owner's first record, found in another way.
	for (size_t i = 0; i < RECORDS; i++) {
		const int who = abs(owner[i]);
		assert_int_equal(cluster[i] == 0, who && !seen[who]);
		seen[who] = 1;
	}
	const struct places_lots request = {.records = records,
	                                    .cluster = cluster,
	                                    .batches = &batches,
	                                    .texts = TEXTS,
	                                    .rows = ROWS,
	                                    .shots = 1,
	                                    .key = key,
	                                    .by_owner = true};
	assert_int_equal(places_draw(&request, &places, NULL), CUTTLE_OK);
	assert_int_equal(places.lines, RECORDS);
	for (size_t i = 0; i < TEXTS * ROWS; i++)
		placed->owners[i] =
		    places.records[i] == PLACE_NULL ? -1 : abs(owner[places.records[i]]);
	places_free(&places);
	records_free(&records);
}

/* The owners of a text but for one, in their order. */
static size_t others_in(const struct placed *placed, size_t text, int but, int *owners) {
	size_t count = 0;
	for (size_t row = 0; row < ROWS; row++) {
		const int owner = placed->owners[text * ROWS + row];
		if (owner >= 0 && owner != but) owners[count++] = owner;
	}
	return count;
}

static int compare_ints(const void *a, const void *b) {
	return *(const int *)a - *(const int *)b;
}

/* Random files. Owner u becomes nobody: u is gone from one text at most, and all else stays, in its
 * order. Texts of u become null: nothing moves. The lines are turned round: the same owners. */
static void no_other_owner_moves(void **state) {
	(void)state;
	uint64_t seed = 5;
	size_t stood = 0;
	for (int n = 0; n < (briefly() ? 60 : 300); n++) {
		int owner[RECORDS], nobody[RECORDS], silent[RECORDS], turned[RECORDS];
		unsigned char key[LOTS_KEY];
		struct placed before, gone, quiet, other;
		const int u = 1 + (int)(next_random(&seed) % OWNERS);
		for (size_t i = 0; i < LOTS_KEY; i++) key[i] = (unsigned char)next_random(&seed);
		for (size_t i = 0; i < RECORDS; i++) {
			owner[i] = (int)(next_random(&seed) % (OWNERS + 1));
			nobody[i] = owner[i] == u ? 0 : owner[i];
			silent[i] = owner[i] == u && next_random(&seed) % 2 ? -u : owner[i];
			turned[RECORDS - 1 - i] = owner[i];
		}
		place_owners_of(owner, key, &before);
		place_owners_of(nobody, key, &gone);
		place_owners_of(silent, key, &quiet);
		place_owners_of(turned, key, &other);
		size_t places_of_u = 0, has = 0;
		for (size_t i = 0; i < RECORDS; i++) has |= owner[i] == u;
		assert_int_equal(before.firsts, gone.firsts + has);
		assert_int_equal(before.firsts, quiet.firsts);
		assert_memory_equal(before.owners, quiet.owners, sizeof before.owners);
		for (size_t text = 0; text < TEXTS; text++) {
			int one[ROWS], two[ROWS], all[2][ROWS];
			const size_t count = others_in(&before, text, u, one),
			             whole = others_in(&before, text, 0, all[0]);
			places_of_u += whole - count;
			assert_int_equal(others_in(&gone, text, -2, two), count);
			assert_memory_equal(one, two, count * sizeof *one);
			assert_int_equal(others_in(&other, text, 0, all[1]), whole);
			for (int i = 0; i < 2; i++)
				qsort(all[i], whole, sizeof *all[i], compare_ints);
			assert_memory_equal(all[0], all[1], whole * sizeof *all[0]);
			for (size_t i = 1; i < whole; i++) assert_true(all[0][i] != all[0][i - 1]);
			stood += count;
		}
		assert_true(places_of_u <= has);
	}
	assert_true(stood > 500);
}

/* The lots of 20,000 owners in 100 batches: chi-square with 99 degrees of freedom is below 180.8
 * but for a chance of 1e-6. Another key gives others. */
static void lots_are_uniform(void **state) {
	(void)state;
	const unsigned char key[LOTS_KEY] = {1}, second[LOTS_KEY] = {2};
	size_t counts[100] = {0}, same = 0;
	for (int i = 0; i < 20000; i++) {
		char value[16];
		const size_t size = (size_t)snprintf(value, sizeof value, "patient %d", i);
		const uint64_t lot = lots_of_owner(key, value, size, 100);
		assert_true(lot < 100);
		counts[lot]++;
		same += lot == lots_of_owner(second, value, size, 100);
	}
	double chi = 0;
	for (int b = 0; b < 100; b++)
		chi += ((double)counts[b] - 200) * ((double)counts[b] - 200) / 200;
	assert_true(chi < 180.8);
	assert_true(same > 100 && same < 320);
}

static int begin_tests(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/records.jsonl", folder);
	return 0;
}

static int end_tests(void **state) {
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_other_owner_moves),
	                                   cmocka_unit_test(lots_are_uniform)};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
