// SPDX-License-Identifier: Apache-2.0
#include "engine/transcript.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

enum cuttle_status transcript_new(const struct vocab *vocab, const char *stop, size_t limit, struct transcript *transcript,
                                  struct cuttle_error *error) {
	*transcript = (struct transcript){.vocab = vocab, .stop = stop, .limit = limit};
	size_t longest = 1;
	for (size_t i = 0; i < vocab_size(vocab); i++) {
		const size_t size = vocab_piece(vocab, (int32_t)i).size;
		longest = size > longest ? size : longest;
	}
	if (__builtin_mul_overflow(limit, longest, &transcript->raw_capacity) || transcript->raw_capacity > SIZE_MAX / 4)
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	transcript->ids = malloc(limit * sizeof *transcript->ids);
	transcript->raw = malloc(transcript->raw_capacity);
	transcript->text = malloc(3 * transcript->raw_capacity);
	if (transcript->ids && transcript->raw && transcript->text) return CUTTLE_OK;
	transcript_free(transcript);
	return status_fail(error, CUTTLE_NOMEM, "out of memory");
}

void transcript_free(struct transcript *transcript) {
	free(transcript->ids);
	free(transcript->raw);
	free(transcript->text);
	*transcript = (struct transcript){0};
}

void transcript_begin(struct transcript *transcript) {
	transcript->count = transcript->raw_size = 0;
	transcript->complete = false;
}

void transcript_add(struct transcript *t, int32_t token) {
	REQUIRE(!t->complete && t->count < t->limit);
	t->ids[t->count++] = token;
	const size_t before = t->raw_size;
	if (vocab_ends_text(t->vocab, token)) {
		t->complete = true;
		t->finish = CUTTLE_FINISH_EOS;
		return;
	}
	vocab_detokenize(t->vocab, &token, 1, t->count == 1, t->raw, t->raw_capacity, &t->raw_size);
	REQUIRE(t->raw_size <= t->raw_capacity);
	const size_t stop = t->stop ? strlen(t->stop) : 0;
	// Only a match that ends in the new bytes can be new.
	const size_t from = before >= stop ? before - stop : 0;
	const char *found = stop ? memmem(t->raw + from, t->raw_size - from, t->stop, stop) : NULL;
	if (found) {
		t->raw_size = (size_t)(found - t->raw);
		t->complete = true;
		t->finish = CUTTLE_FINISH_STOP;
	} else if (t->count == t->limit) {
		t->complete = true;
		t->finish = CUTTLE_FINISH_LENGTH;
	}
}

const char *transcript_text(struct transcript *t, size_t *size) {
	const char *raw = t->raw;
	size_t left = t->raw_size, written = 0;
	utf8_trim(&raw, &left);
	while (left) {
		uint32_t code_point;
		const size_t length = utf8_decode(raw, left, &code_point), step = length ? length : 1;
		written += utf8_encode(code_point, t->text + written);
		raw += step;
		left -= step;
	}
	*size = written;
	return t->text;
}
