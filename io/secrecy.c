// SPDX-License-Identifier: Apache-2.0
// Process-wide care for private text.
#include "io/secrecy.h"

#include <jansson.h>
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

void secrecy_begin(void) {
	struct rlimit none = {0, 0};
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	json_set_alloc_funcs(malloc, secrecy_free);
}
