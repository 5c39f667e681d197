// SPDX-License-Identifier: Apache-2.0
// Sets up the whole process for private text, as secrecy.h says: limits of the system, malloc's
// settings and jansson's allocation functions.
#include "io/secrecy.h"

#include "io/fail.h"
#include <jansson.h>
#include <limits.h>
#include <malloc.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secrecy_free(void *block) {
	if (block) sodium_memzero(block, malloc_usable_size(block));
	free(block);
}

void *secrecy_realloc(void *block, size_t size) {
	size_t had = block ? malloc_usable_size(block) : 0;
	if (block && size <= had) return block;
	void *grown = size > SIZE_MAX / 2 ? NULL : malloc(2 * size);
	if (!grown) return NULL;
	if (had) memcpy(grown, block, had);
	secrecy_free(block);
	return grown;
}

/* Bytes that jansson may still allocate; SIZE_MAX = any number. It is static because jansson gives
 * its allocation functions no pointer of the caller. */
static size_t json_left = SIZE_MAX;

static void *allocate_json(size_t size) {
	if (size > json_left) return NULL;
	if (json_left != SIZE_MAX) json_left -= size;
	return malloc(size);
}

void secrecy_json(size_t most) {
	json_left = most;
}

void secrecy_begin(void) {
	struct rlimit none = {0, 0};
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	json_set_alloc_funcs(allocate_json, secrecy_free);
}

/* Grows the stack by 1 MiB, more than the deepest JSON needs. */
static __attribute__((noinline)) void grow_stack(void) {
	volatile char stack[1 << 20];
	stack[0] = 0;
	(void)stack[0];
}

enum cuttle_status secrecy_room(struct cuttle_error *error) {
	// Together 128 MiB less 256 KiB: more than jansson may take for a record (io/records.c).
	enum { BLOCKS = 4, BLOCK = (1 << 25) - (1 << 16) };
	void *blocks[BLOCKS];
	size_t count = 0;
	// malloc takes blocks of up to 32 MiB from the heap, and the heap keeps what it once had.
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 25);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	while (count < BLOCKS && (blocks[count] = malloc(BLOCK))) count++;
	const bool all = count == BLOCKS;
	while (count) free(blocks[--count]);
	if (!all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	grow_stack();
	return CUTTLE_OK;
}
