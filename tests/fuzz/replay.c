// SPDX-License-Identifier: Apache-2.0
// A main for a fuzz target where there is no libFuzzer.
// usage: TARGET [FILE]...
//   with files        replays these files
//   --write FOLDER    writes the seeds to that folder
//   nothing           replays every seed: whole, cut at every byte, and changed in 20,000 ways,
//                     which are the same every time
#include "tests/fuzz/fuzz.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGED = 20000 };

static int write_seeds(const char *folder) {
	size_t size;
	uint8_t *seed;
	for (size_t i = 0; (seed = fuzz_seed(i, &size)); i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/seed-%zu", folder, i);
		FILE *file = fopen(path, "wb");
		if (!file || fwrite(seed, 1, size, file) != size || fclose(file)) return 1;
		free(seed);
	}
	return 0;
}

static int replay_file(const char *path) {
	static uint8_t bytes[1 << 24];
	FILE *file = fopen(path, "rb");
	if (!file) return 1;
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	return LLVMFuzzerTestOneInput(bytes, size);
}

/* A copy of just the size, so that a sanitizer sees a step beyond it. */
static void give(const uint8_t *bytes, size_t size) {
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy) abort();
	memcpy(copy, bytes, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* Up to four changes, of a bit, a byte, or eight bytes that are one of the numbers that break
 * things. */
static void change(uint8_t *bytes, size_t size, uint64_t *random) {
	static const uint64_t numbers[] = {
	    0,         1, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_C(1) << 62, UINT64_C(1) << 63,
	    UINT64_MAX};
	for (uint64_t left = tiny_random(random) % 4 + 1; left; left--) {
		const uint64_t draw = tiny_random(random);
		const size_t at = (size_t)(tiny_random(random) % size);
		if (draw % 3 == 0) bytes[at] ^= (uint8_t)(1u << draw / 3 % 8);
		else if (draw % 3 == 1) bytes[at] = (uint8_t)(draw >> 32);
		else memcpy(bytes + at, &numbers[draw / 3 % 8], size - at < 8 ? size - at : 8);
	}
}

int main(int argc, char **argv) {
	if (argc == 3 && !strcmp(argv[1], "--write")) return write_seeds(argv[2]);
	for (int i = 1; i < argc; i++)
		if (replay_file(argv[i])) return 1;
	if (argc > 1) return 0;
	size_t seeds = 0, size, ways = briefly() ? CHANGED / 10 : CHANGED;
	while (free(fuzz_seed(seeds, &size)), size) seeds++;
	uint64_t random = 1;
	for (size_t i = 0; i < seeds; i++) {
		uint8_t *seed = fuzz_seed(i, &size), *changed = malloc(size);
		if (!seed || !changed) abort();
		for (size_t cut = 0; cut <= size; cut++) give(seed, cut);
		for (size_t way = 0; way < ways / seeds; way++) {
			memcpy(changed, seed, size);
			change(changed, size, &random);
			give(changed, size);
		}
		free(changed);
		free(seed);
	}
	printf("%zu seeds replayed\n", seeds);
	return seeds ? 0 : 1;
}
