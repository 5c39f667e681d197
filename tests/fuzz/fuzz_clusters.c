// SPDX-License-Identifier: Apache-2.0
// Fuzzes topics/clusters_file.c and what uses a file that it took: the input is a clusters file
// without the hash at its end, which is put there, so that changed content gets past it. Missing
// bytes count as zeros, since a file by words has 48 KB or more. It fails on a crash, if a failure
// is another one than INPUT with one line, or if a text gets a cluster that there is not.
#include "base/misuse.h"
#include "topics/clusters_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS_FILE = 112 + 2 * (CLUSTERS_NAME + 4 + 4 * TFIDF_WIDTH) + 2 * TFIDF_WIDTH };

static void use_clusters(const struct clusters *clusters) {
	static const struct hidden_text texts[] = {
	    {"it's a cough and fever", 22}, {NULL, 0}, {"zz", 2}};
	uint32_t found[3];
	struct cuttle_error error;
	if (clusters->by != CLUSTERS_BY_WORDS) return;
	REQUIRE(!clusters_find(clusters, NULL, texts, 3, found, &error));
	REQUIRE(found[1] == CLUSTERS_NONE);
	for (size_t i = 0; i < 3; i++)
		REQUIRE(found[i] < clusters->count || found[i] == CLUSTERS_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const int file = memfd_create("clusters", 0);
	char path[64], sha256[HASH_TEXT];
	static char content[WORDS_FILE];
	// An input with an odd number of bytes is taken as it is, any other as a file by words.
	const size_t wanted = size % 2 || size > WORDS_FILE ? size : WORDS_FILE;
	const void *from = bytes;
	if (wanted == WORDS_FILE && size <= WORDS_FILE) {
		memset(content, 0, sizeof content);
		if (size) memcpy(content, bytes, size);
		from = content;
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	hash_of(from, wanted, sha256);
	REQUIRE(file >= 0 && write(file, from, wanted) == (ssize_t)wanted);
	REQUIRE(write(file, sha256, HASH_TEXT - 1) == HASH_TEXT - 1);
	struct clusters clusters;
	struct cuttle_error error = {""};
	const enum cuttle_status status = clusters_file_read(path, &clusters, sha256, &error);
	if (!status) use_clusters(&clusters);
	REQUIRE(!status ||
	        (status == CUTTLE_INPUT && *error.message && !strchr(error.message, '\n')));
	clusters_free(&clusters);
	close(file);
	return 0;
}

#define ZEROS16 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ZEROS64 ZEROS16 ZEROS16 ZEROS16 ZEROS16
#define ZEROS120 ZEROS64 ZEROS16 ZEROS16 ZEROS16 "\0\0\0\0\0\0\0\0"
#define MAGIC "cuttle clusters 1\n\0\0\0\0\0\0"

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    // Two clusters by words, of 1 and 2 texts, with some numbers in the first centres.
	    FUZZ_LITERAL(MAGIC "\0\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" ZEROS64
	                       "sail\0\0\0\0" ZEROS120 "oven\0\0\0\0" ZEROS120
	                       "\1\0\0\0\2\0\0\0\0\1\0\0\xff\xff\xff\xff"),
	    // The beginning of one by a model, and an odd one that is cut short.
	    FUZZ_LITERAL(MAGIC "\1\0\0\0\2\0\0\0\3\0\0\0\1\0\0\0\x20\0\0\0\0\0\0\0"
	                       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
	    FUZZ_LITERAL(MAGIC "\0\0\0\0\2")};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
