// SPDX-License-Identifier: Apache-2.0
// Sets up the whole process for private text, as secrecy.h says: limits of the system, malloc's
// settings and jansson's allocation functions.
#include "io/disk/secrecy.h"

#include "io/disk/fail.h"
#include <jansson.h>
#include <limits.h>
#include <malloc.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Where this thread's jansson lays its blocks; NULL = in the heap. A server parses requests in
 * other threads meanwhile. */
static _Thread_local struct arena *json_room;

static bool is_in_room(const void *block) {
	return json_room && (uintptr_t)block >= (uintptr_t)json_room->bytes &&
	       (uintptr_t)block < (uintptr_t)json_room->bytes + json_room->capacity;
}

void secrecy_free(void *block) {
	if (is_in_room(block)) return;
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

/* The next bytes of the room, a multiple of 16 of them. */
static void *allocate_in_room(size_t size) {
	const size_t left = json_room->capacity - json_room->used;
	if (size > left || (size + 15) / 16 * 16 > left) return NULL;
	void *block = json_room->bytes + json_room->used;
	arena_grew(json_room, (size + 15) / 16 * 16);
	return block;
}

static void *allocate_json(size_t size) {
	if (json_room) return allocate_in_room(size);
	if (size > json_left) return NULL;
	if (json_left != SIZE_MAX) json_left -= size;
	return malloc(size);
}

void secrecy_json(size_t most) {
	json_left = most;
}

void secrecy_json_in(struct arena *room) {
	json_room = room;
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

enum cuttle_status secrecy_room(size_t text, struct cuttle_error *error) {
	// A tokenizer takes 68 bytes for each byte of a word (merge_reserve), twice that when it
	// asks for more. What it had before stands beside it: below 256 in all. At most it is 128
	// MiB less 256 KiB.
	enum { BLOCKS = 4, BLOCK = (1 << 25) - (1 << 16), EACH = 256, SPARE = 1 << 20 };
	const size_t most = (size_t)BLOCKS * BLOCK,
	             bytes = text < (most - SPARE) / EACH ? text * EACH + SPARE : most;
	void *blocks[BLOCKS];
	size_t count = 0, held = 0;
	// malloc takes blocks of up to 32 MiB from the heap, and the heap keeps what it once had.
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 25);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	while (held < bytes) {
		const size_t size = bytes - held < BLOCK ? bytes - held : BLOCK;
		if (!(blocks[count] = malloc(size))) break;
		count++;
		held += size;
	}
	const bool all = held == bytes;
	while (count) free(blocks[--count]);
	if (!all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	grow_stack();
	return CUTTLE_OK;
}
