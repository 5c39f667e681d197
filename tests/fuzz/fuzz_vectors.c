// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/tables/vectors.c: the first byte chooses the format, the rest is the file. It fails on
// a crash, if what is read breaks the reader's promises, or if a failure's message has two lines.
#include "base/misuse.h"
#include "io/tables/vectors.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_vectors(const struct vectors *v) {
	REQUIRE(v->count >= 2 && v->count <= 100);
	REQUIRE(v->width >= 1 && v->width <= CUTTLE_WORDS_WIDTH);
	for (size_t i = 0; i < v->count * v->width; i++) REQUIRE(isfinite(v->rows[i]));
	for (size_t i = 0; i < v->count; i++) {
		REQUIRE(cuttle_words_is_word(v->words[i], strlen(v->words[i])));
		REQUIRE(!i || v->positions[i] > v->positions[i - 1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	if (!size) return 0;
	const int file = memfd_create("vectors", 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	REQUIRE(file >= 0 && write(file, bytes + 1, size - 1) == (ssize_t)(size - 1));
	const struct vectors_request request = {
	    .path = path, .format = (enum vectors_format)(bytes[0] % 3), .most = 100};
	struct vectors vectors;
	struct cuttle_error error = {""};
	const enum cuttle_status status = vectors_read(&request, &vectors, &error);
	if (!status) check_vectors(&vectors);
	REQUIRE(!status ||
	        (status == CUTTLE_INPUT && *error.message && !strchr(error.message, '\n')));
	vectors_free(&vectors);
	close(file);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("\0the 1 -0.5\ndon't 2e-3 4\n. . 5 6\nB 7 8\n"),
	    FUZZ_LITERAL("\0013 2\nthe 1 2\r\ncat 3 4 \ncaf\xc3\xa9 5 6\n"),
	    FUZZ_LITERAL("\0022 2\nthe \0\0\x80\x3f\0\0\0\x40\ncat \0\0\0\0\0\0\x80\xbf\n")};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
