// SPDX-License-Identifier: Apache-2.0
// The word that is guessed first is the output itself, since nothing is nearer to it. A word is
// found in ten when fewer than ten words are nearer to the output than it is.
#include "workflow/audit/inversion.h"

#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "io/text/split.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct inversion {
	const struct cuttle_words *words;
	float *vector;  /* [width] of the output */
	float *cosines; /* [count] with all words */
	size_t places;  /* compared */
	size_t listed;  /* of them, those whose original is in the list */
	size_t first;   /* unchanged */
	size_t nearest; /* in the ten nearest */
};

static void compare_inverted(struct inversion *v, const char *original, size_t size,
                             const char *output, size_t output_size) {
	const int32_t wanted = cuttle_words_find(v->words, original, size),
	              drawn = cuttle_words_find(v->words, output, output_size);
	const bool same = size == output_size && !memcmp(original, output, size);
	v->places++;
	v->listed += wanted >= 0;
	v->first += same;
	if (wanted < 0 || drawn < 0 || same) {
		v->nearest += same;
		return;
	}
	size_t nearer = 0;
	cuttle_words_row(v->words, (size_t)drawn, v->vector);
	cuttle_words_cosines(v->words, v->vector, 1, v->cosines);
	for (size_t i = 0; i < cuttle_words_count(v->words); i++)
		nearer += v->cosines[i] > v->cosines[wanted];
	v->nearest += nearer < INVERSION_NEAREST;
}

static void invert_record(struct inversion *v, const char *original, size_t size,
                          const char *output, size_t output_size) {
	struct split from, to;
	const char *one, *other;
	size_t m, n;
	split_begin(&from, original, size, false);
	split_begin(&to, output, output_size, false);
	while (split_next(&from, &one, &m) != SPLIT_END && split_next(&to, &other, &n) != SPLIT_END)
		compare_inverted(v, one, m, other, n);
	split_end(&from);
	split_end(&to);
}

enum cuttle_status inversion_compare(const struct cuttle_words *words,
                                     const struct records *originals, const struct records *outputs,
                                     bool (*stop)(void *user), void *user, struct audit_game *game,
                                     struct cuttle_error *error) {
	struct inversion v = {.words = words,
	                      .vector = calloc(cuttle_words_width(words), sizeof *v.vector),
	                      .cosines = calloc(cuttle_words_count(words), sizeof *v.cosines)};
	enum cuttle_status status =
	    v.vector && v.cosines ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < records_count(originals) && !status; i++) {
		size_t size, output_size;
		const char *original = records_text(originals, i, &size),
		           *output = records_text(outputs, i, &output_size);
		if (stop(user)) status = io_fail(error, CUTTLE_PARTIAL, "stopped");
		else if (original && output) invert_record(&v, original, size, output, output_size);
	}
	secrecy_free(v.vector);
	secrecy_free(v.cosines);
	if (!status && !v.places)
		status = io_fail(error, CUTTLE_INPUT, "no record and its output have a word each");
	if (status) return status;
	const double places = (double)v.places;
	finding_add(game, "places", "places with a word in both texts", places, 0);
	finding_add(game, "listed", "share whose word is in the list", (double)v.listed / places,
	            4);
	finding_add(game, "first", "share that is unchanged: found at once",
	            (double)v.first / places, 4);
	finding_add(game, "nearest", "share in the ten nearest words", (double)v.nearest / places,
	            4);
	finding_add(game, "chance", "share of ten words at random",
	            fmin(1, INVERSION_NEAREST / (double)cuttle_words_count(words)), 6);
	return CUTTLE_OK;
}
