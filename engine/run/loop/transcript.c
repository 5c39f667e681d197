// SPDX-License-Identifier: Apache-2.0
// transcript.c: counts private and free tokens, and finds the end of each text; see transcript.h.
// Example: T = 4, bank, tokens a b EOS c: the first text is "ab" and spends 3; the second one is
// "c" and ends by length, since all 4 private tokens are spent.
#include "engine/run/loop/transcript.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/status.h"

#include <string.h>

enum cuttle_status transcript_new(const struct transcript_rules *rules,
                                  struct transcript *transcript, struct cuttle_error *error) {
	const size_t limit = rules->length;
	*transcript = (struct transcript){.rules = *rules};
	size_t longest = 1;
	for (size_t i = 0; i < vocab_size(rules->vocab); i++) {
		const size_t size = vocab_piece(rules->vocab, (int32_t)i).size;
		longest = size > longest ? size : longest;
	}
	// One bad byte becomes U+FFFD, which has three bytes.
	const size_t drawn = limit * sizeof *transcript->drawn;
	size_t total = 0;
	if (__builtin_mul_overflow(limit, longest, &transcript->raw_capacity) ||
	    !region_add(&total, 1, drawn) || !region_add(&total, 1, drawn) ||
	    !region_add(&total, 1, transcript->raw_capacity) ||
	    !region_add(&total, 3, transcript->raw_capacity) ||
	    !region_map(&transcript->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	transcript->drawn = region_carve(&transcript->region, drawn);
	transcript->ids = region_carve(&transcript->region, drawn);
	transcript->raw = region_carve(&transcript->region, transcript->raw_capacity);
	transcript->text = region_carve(&transcript->region, 3 * transcript->raw_capacity);
	return CUTTLE_OK;
}

void transcript_free(struct transcript *transcript) {
	region_unmap(&transcript->region, true);
	*transcript = (struct transcript){0};
}

/* Begins an empty text in the same batch. */
static void reset_text(struct transcript *transcript) {
	transcript->length = transcript->raw_size = 0;
	transcript->free_tokens = 0;
	transcript->ended = false;
}

void transcript_begin(struct transcript *transcript, bool unpaid) {
	reset_text(transcript);
	transcript->unpaid = unpaid;
	transcript->count = transcript->replayed = 0;
	transcript->spent = 0;
	transcript->standing = transcript->resumed = false;
	transcript->complete = transcript->cut = false;
}

/* What is written for a token, without ~. */
static int32_t written_number(int32_t drawn) {
	return drawn < 0 ? ~drawn : drawn;
}

static bool is_marked(int32_t drawn) {
	return written_number(drawn) >= TRANSCRIPT_MARK;
}

int32_t transcript_token(int32_t drawn) {
	return written_number(drawn) & (TRANSCRIPT_MARK - 1);
}

int32_t transcript_marked(const struct transcript *transcript, int32_t drawn) {
	if (!transcript->resumed) return drawn;
	return drawn < 0 ? ~(written_number(drawn) | TRANSCRIPT_MARK) : drawn | TRANSCRIPT_MARK;
}

bool transcript_is_spent(const struct transcript *transcript) {
	return transcript->unpaid ||
	       (!transcript->standing && transcript->spent >= transcript->rules.tokens);
}

uint32_t transcript_free_left(const struct transcript *transcript) {
	const size_t drawn = transcript->count - (transcript->unpaid ? 0 : transcript->spent);
	return (transcript->unpaid ? transcript->rules.length : transcript->rules.free_tokens) -
	       (uint32_t)drawn;
}

/* Of units that are thresholds any token may become a free one. */
static bool has_free_left(const struct transcript *transcript) {
	if (transcript->rules.thresholds) return true;
	return transcript->unpaid ||
	       transcript->count - transcript->spent < transcript->rules.free_tokens;
}

/* Whether a free token may come: beside units that are left, or after them. */
static bool text_goes_on(const struct transcript *t) {
	return !transcript_is_spent(t) || ((t->unpaid || t->rules.completes) && has_free_left(t));
}

/* A mark is right where a unit stood whose threshold was lost, and another one is left. */
static bool may_be_marked(const struct transcript *t) {
	return (t->standing || t->resumed) && t->spent < t->rules.tokens;
}

bool transcript_may_add(const struct transcript *transcript, int32_t drawn) {
	if (transcript->complete || transcript->count >= transcript->rules.length) return false;
	if (is_marked(drawn) && !may_be_marked(transcript)) return false;
	return drawn < 0 ? has_free_left(transcript) : !transcript_is_spent(transcript);
}

/* Appends the bytes of the token to the text, and says whether the text is at its end. `before` is
 * the number of bytes before this token. */
static bool ends_text(struct transcript *t, int32_t token, size_t before) {
	if (vocab_ends_text(t->rules.vocab, token)) {
		t->finish = CUTTLE_FINISH_EOS;
		return true;
	}
	vocab_detokenize(t->rules.vocab, &token, 1, t->length == 1 && !t->rules.exact, t->raw,
	                 t->raw_capacity, &t->raw_size);
	REQUIRE(t->raw_size <= t->raw_capacity);
	if (!t->rules.stops) return false;
	const size_t found = stops_find(t->rules.stops, t->raw, t->raw_size, before);
	if (found == STOPS_NONE) return false;
	t->raw_size = found;
	t->finish = CUTTLE_FINISH_STOP;
	return true;
}

/* Counts what a token pays: itself, or the threshold that was drawn for it. */
static void count_unit(struct transcript *t, int32_t drawn) {
	if (!t->rules.thresholds) {
		t->spent += drawn >= 0;
		return;
	}
	const bool begins =
	    !t->unpaid && t->spent < t->rules.tokens && (!t->standing || is_marked(drawn));
	t->spent += begins;
	t->standing = (begins || t->standing) && drawn < 0;
	t->resumed = false;
}

void transcript_resume(struct transcript *t) {
	t->replayed = t->count;
	if (!t->standing || t->complete) return;
	t->standing = false;
	t->resumed = !transcript_is_spent(t);
	if (text_goes_on(t)) return;
	t->complete = t->ended = true;
	t->finish = CUTTLE_FINISH_LENGTH;
}

void transcript_add(struct transcript *t, int32_t drawn) {
	REQUIRE(transcript_may_add(t, drawn) && (!t->resumed || is_marked(drawn)));
	if (t->ended) reset_text(t);
	t->drawn[t->count++] = drawn;
	t->ids[t->length++] = transcript_token(drawn);
	count_unit(t, drawn);
	t->free_tokens += drawn < 0;
	const bool exhausted = t->count == t->rules.length || !text_goes_on(t);
	t->ended = ends_text(t, transcript_token(drawn), t->raw_size);
	t->complete = exhausted || (t->ended && (!t->rules.bank || transcript_is_spent(t)));
	if (t->ended || !exhausted) return;
	t->ended = true;
	t->finish = CUTTLE_FINISH_LENGTH;
}

const char *transcript_text(struct transcript *t, size_t *size) {
	const char *raw = t->raw;
	size_t left = t->raw_size, written = 0;
	if (!t->rules.exact) utf8_trim(&raw, &left);
	while (left) {
		uint32_t code_point;
		const size_t length = utf8_decode(raw, left, &code_point),
		             step = length ? length : 1;
		written += utf8_write(code_point, t->text + written);
		raw += step;
		left -= step;
	}
	*size = written;
	return t->text;
}
