// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/tables/words_file.c and what it hands to engine/words/words.c: the input is a words
// file. Its last 64 bytes are replaced by the right hash, so that changed content gets past it. It
// fails on a crash, if a list that is accepted has a vector not of length one, or if a failure is
// another one than INPUT with one line.
#include "base/misuse.h"
#include "io/tables/words_file.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_words(const struct cuttle_words *words) {
	static float row[CUTTLE_WORDS_WIDTH];
	const size_t count = cuttle_words_count(words), d = cuttle_words_width(words);
	for (size_t i = 0; i < count; i++) {
		const char *text = cuttle_words_text(words, i);
		REQUIRE(cuttle_words_find(words, text, strlen(text)) == (int32_t)i);
		cuttle_words_row(words, i, row);
		double square = 0;
		for (size_t j = 0; j < d; j++) square += (double)row[j] * (double)row[j];
		REQUIRE(fabs(square - 1) < 1e-3);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	enum { DIGEST = HASH_TEXT - 1 };
	const int file = memfd_create("words", 0);
	char path[64], sha256[HASH_TEXT];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	const size_t content = size > DIGEST ? size - DIGEST : 0;
	hash_of(bytes, content, sha256);
	REQUIRE(file >= 0 && write(file, bytes, content) == (ssize_t)content);
	REQUIRE(!content || write(file, sha256, DIGEST) == DIGEST);
	struct cuttle_words *words;
	struct cuttle_error error = {""};
	const enum cuttle_status status = words_file_read(path, 1, &words, sha256, &error);
	if (!status) check_words(words);
	REQUIRE(!status ||
	        (status == CUTTLE_INPUT && *error.message && !strchr(error.message, '\n')));
	cuttle_words_free(&words);
	close(file);
	return 0;
}

#define HEX16 "0123456789abcdef"
#define HEX64 HEX16 HEX16 HEX16 HEX16
#define ONE "\0\0\x80\x3f"
#define ZERO "\0\0\0\0"

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    // Three words, d 2, sets of 2, a transform.
	    FUZZ_LITERAL(
	        "cuttle words 1\n\0\3\0\0\0\2\0\0\0\2\0\0\0\1\0\0\0\x10\0\0\0\0\0\0\0" HEX64
	        "the\0cat\0don't\0\0\0" ZERO ZERO
	        "\1\0\0\0" ZERO ONE ONE ZERO ZERO ONE ONE ZERO ZERO ONE ZERO "\0\0\x80\xbf" HEX64),
	    // Two words, d 1, nothing else.
	    FUZZ_LITERAL(
	        "cuttle words 1\n\0\2\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0" ZERO ZERO
	            ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO
	        "the\0cat\0" ONE ONE HEX64)};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
