// SPDX-License-Identifier: Apache-2.0
// Records become tokens one by one; pairs are compared by measure/ngrams.
#include "workflow/audit/recitation.h"

#include "engine/cuttle/embed.h"
#include "engine/cuttle/model.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "measure/attacks.h"
#include "measure/bounds.h"
#include "measure/ngrams.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PERMUTATIONS = 999, PERMUTATION_SEED = 1, TOGETHER = 16 };

/* Appends the tokens of one text. A text that has none is passed over. */
static bool append_recited(const struct cuttle_model *model, const char *text, size_t size,
                           struct recitation *made, size_t *used) {
	const size_t bound = cuttle_tokens_bound(size);
	int32_t *ids = calloc(bound, sizeof *ids);
	struct cuttle_error ignored;
	size_t count = 0;
	if (!ids) return false;
	if (cuttle_tokenize(model, text, size, false, ids, bound, &count, &ignored)) count = 0;
	for (size_t i = 0; i < count && i < RECITATION_MOST; i++)
		made->item[(*used)++] = (uint32_t)ids[i];
	secrecy_free(ids);
	return true;
}

static bool take_recited(const struct cuttle_model *model, const struct records *records, bool lock,
                         struct recitation *made) {
	const size_t count = records_count(records);
	made->count = count;
	made->item = calloc(count * RECITATION_MOST + 1, sizeof *made->item);
	made->first = calloc(count + 1, sizeof *made->first);
	made->readable = calloc(count + 1, sizeof *made->readable);
	if (!made->item || !made->first || !made->readable) return false;
	if (lock) (void)mlock(made->item, count * RECITATION_MOST * sizeof *made->item);
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		size_t size = 0;
		const char *text = records_text(records, i, &size);
		made->first[i] = used;
		made->readable[i] = records_state(records, i) == RECORD_READABLE;
		if (made->readable[i] && !append_recited(model, text, size, made, &used))
			return false;
	}
	made->first[count] = used;
	return true;
}

enum cuttle_status recitation_read(const struct cuttle_model *model, const char *path,
                                   const char *field, bool lock, struct recitation *made,
                                   struct cuttle_error *error) {
	struct records *records = NULL;
	*made = (struct recitation){0};
	const struct records_request wanted = {.path = path, .field = field, .limit = SIZE_MAX};
	enum cuttle_status status = records_read(&wanted, &records, error);
	if (!status)
		status =
		    records_need_field(&wanted, records, "--text-field or --output-field", error);
	if (!status && lock) records_lock(records);
	if (!status && !take_recited(model, records, lock, made))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && !made->count)
		status = io_fail(error, CUTTLE_INPUT, "%s has no record", file_shown(path));
	records_free(&records);
	return status;
}

void recitation_free(struct recitation *made) {
	secrecy_free(made->item);
	secrecy_free(made->first);
	secrecy_free(made->readable);
	secrecy_free(made->vectors);
	*made = (struct recitation){0};
}

enum cuttle_status recitation_embed(struct cuttle_model *model, struct recitation *of,
                                    bool (*stop)(void *user), void *user,
                                    struct cuttle_error *error) {
	struct cuttle_model_info info;
	struct cuttle_embed_text texts[TOGETHER];
	cuttle_model_describe(model, &info);
	of->width = info.width;
	of->vectors = calloc(of->count * of->width + 1, sizeof *of->vectors);
	if (!of->vectors) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < of->count; i += TOGETHER) {
		const size_t n = of->count - i < TOGETHER ? of->count - i : TOGETHER;
		for (size_t k = 0; k < n; k++) {
			if (stop(user)) return io_fail(error, CUTTLE_PARTIAL, "stopped");
			// Tokens are below 2^31, so they are the same in either type.
			texts[k].ids = (const int32_t *)(of->item + of->first[i + k]);
			texts[k].count = of->first[i + k + 1] - of->first[i + k];
		}
		const enum cuttle_status status =
		    cuttle_embed(model, texts, n, 0, of->vectors + i * of->width, error);
		if (status) return status;
	}
	return CUTTLE_OK;
}

enum cuttle_status recitation_compare(const struct recitation *texts,
                                      const struct recitation *references, double *run,
                                      double *share, bool (*stop)(void *user), void *user,
                                      struct cuttle_error *error) {
	for (size_t t = 0; t < texts->count; t++) {
		const uint32_t *one = texts->item + texts->first[t];
		const size_t m = texts->first[t + 1] - texts->first[t];
		if (stop(user)) return io_fail(error, CUTTLE_PARTIAL, "stopped");
		for (size_t r = 0; r < references->count; r++) {
			const size_t at = t * references->count + r,
			             n = references->first[r + 1] - references->first[r];
			const size_t first[] = {0, n};
			const struct ngrams_texts source = {references->item + references->first[r],
			                                    first, 1};
			size_t longest = 0;
			if (run && m && n && !ngrams_common_run(one, m, source.item, n, &longest))
				return io_fail(error, CUTTLE_NOMEM, "out of memory");
			if (run) run[at] = (double)longest;
			if (share && !ngrams_shared(one, m, &source, NGRAMS_OVERLAP, &share[at]))
				return io_fail(error, CUTTLE_NOMEM, "out of memory");
		}
	}
	return CUTTLE_OK;
}

static void add_overlap(struct audit_game *game, const char *const keys[4],
                        const char *const words[4], const struct attacks_overlap *found,
                        int digits) {
	finding_add(game, keys[0], words[0], found->used, digits);
	finding_add(game, keys[1], words[1], found->held_out, digits);
	finding_add(game, keys[2], words[2], found->difference, digits);
	finding_add(game, keys[3], words[3], found->p, 4);
}

bool recitation_join(const struct recitation *one, const struct recitation *other,
                     struct recitation *both) {
	const size_t count = one->count + other->count, begins = one->first[one->count];
	*both = (struct recitation){.count = count};
	both->first = calloc(count + 1, sizeof *both->first);
	both->item = calloc(begins + other->first[other->count] + 1, sizeof *both->item);
	if (!both->first || !both->item) return false;
	memcpy(both->item, one->item, begins * sizeof *both->item);
	memcpy(both->item + begins, other->item, other->first[other->count] * sizeof *both->item);
	for (size_t i = 0; i <= one->count; i++) both->first[i] = one->first[i];
	for (size_t i = 0; i <= other->count; i++)
		both->first[one->count + i] = begins + other->first[i];
	return true;
}

enum cuttle_status recitation_overlap(const struct recitation *texts, const struct recitation *both,
                                      size_t used, bool (*stop)(void *user), void *user,
                                      struct audit_game *game, struct cuttle_error *error) {
	static const char *const run_keys[] = {"run_used", "run_held_out", "run_difference",
	                                       "run_p"};
	static const char *const run_words[] = {
	    "longest run of tokens in common with used references, mean of texts",
	    "the same with held-out references", "difference", "p of no difference"};
	static const char *const share_keys[] = {"share_used", "share_held_out", "share_difference",
	                                         "share_p"};
	static const char *const share_words[] = {
	    "largest share of 8-grams in a used reference, mean of texts",
	    "the same with held-out references", "difference", "p of no difference"};
	const size_t pairs = texts->count * both->count;
	double *run = calloc(pairs, sizeof *run), *share = calloc(pairs, sizeof *share);
	struct attacks_overlap runs, shares;
	enum cuttle_status status =
	    run && share ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = recitation_compare(texts, both, run, share, stop, user, error);
	if (!status && (!attacks_permute(run, texts->count, both->count, used, PERMUTATIONS,
	                                 PERMUTATION_SEED, &runs) ||
	                !attacks_permute(share, texts->count, both->count, used, PERMUTATIONS,
	                                 PERMUTATION_SEED, &shares)))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		finding_add(game, "texts", "texts", (double)texts->count, 0);
		finding_add(game, "used", "used references", (double)used, 0);
		finding_add(game, "held_out", "held-out references", (double)(both->count - used),
		            0);
		add_overlap(game, run_keys, run_words, &runs, 3);
		add_overlap(game, share_keys, share_words, &shares, 4);
	}
	secrecy_free(run);
	secrecy_free(share);
	return status;
}

size_t recitation_readable(const struct recitation *of) {
	size_t count = 0;
	for (size_t i = 0; i < of->count; i++) count += of->readable[i];
	return count;
}

/* near[of][texts]: cosines. */
static void compare_vectors(const struct recitation *of, const struct recitation *texts,
                            double *near) {
	for (size_t i = 0; i < of->count; i++)
		for (size_t t = 0; t < texts->count; t++) {
			double sum = 0;
			for (size_t k = 0; k < of->width; k++)
				sum += of->vectors[i * of->width + k] *
				       texts->vectors[t * of->width + k];
			near[i * texts->count + t] = sum;
		}
}

// A record that cannot be read is never in, so whoever guessed "out" of it would always be right.
enum cuttle_status recitation_guess(const struct recitation *texts, const struct recitation *all,
                                    const struct recitation *members, uint64_t guesses,
                                    double delta, bool (*stop)(void *user), void *user,
                                    struct audit_game *game, struct cuttle_error *error) {
	const size_t n = recitation_readable(all), pairs = all->count * texts->count;
	const size_t r = guesses ? (size_t)guesses : n < 5 ? 1 : n / 5;
	if (!n) return io_fail(error, CUTTLE_INPUT, "no record can be read");
	if (r > n) return io_fail(error, CUTTLE_USAGE, "--guesses: there are not so many records");
	double *run = calloc(pairs, sizeof *run), *scores = calloc(n, sizeof *scores);
	bool *in = calloc(n, sizeof *in);
	enum cuttle_status status =
	    run && scores && in ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && all->vectors) compare_vectors(all, texts, run);
	else if (!status) status = recitation_compare(all, texts, run, NULL, stop, user, error);
	size_t right = 0;
	if (!status) {
		size_t used = 0;
		for (size_t i = 0; i < all->count; i++) {
			if (!all->readable[i]) continue;
			for (size_t t = 0; t < texts->count; t++)
				scores[used] = fmax(scores[used], run[i * texts->count + t]);
			in[used++] = members->readable[i];
		}
		const double center = attacks_median(scores, n);
		right = isnan(center) ? SIZE_MAX : attacks_guess(scores, in, n, center, r);
		if (right == SIZE_MAX) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!status) {
		finding_add(game, "records", "records, each in or out by lot", (double)n, 0);
		finding_add(game, "texts", "texts", (double)texts->count, 0);
		finding_add(game, "guesses", "guesses", (double)r, 0);
		finding_add(game, "right", "right guesses", (double)right, 0);
		finding_bound(game, bounds_one_run(n, r, right, delta, FINDING_LIKELY),
		              bounds_one_run(n, r, right, delta, FINDING_SURE),
		              bounds_one_run(n, r, r, delta, FINDING_LIKELY),
		              bounds_one_run(n, r, r, delta, FINDING_SURE));
	}
	secrecy_free(run);
	secrecy_free(scores);
	secrecy_free(in);
	return status;
}
