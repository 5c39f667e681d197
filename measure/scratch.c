// SPDX-License-Identifier: Apache-2.0
// scratch.c: in front of each block stands its size, so that who frees it need not know it.
#include "measure/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As long as the strictest alignment, so that the block behind it is aligned, too. */
union head {
	size_t size;
	max_align_t alignment;
};

void *scratch_make(size_t count, size_t size) {
	if (size && count > (SIZE_MAX - sizeof(union head)) / size) return NULL;
	union head *head = calloc(1, sizeof *head + count * size);
	if (!head) return NULL;
	head->size = count * size;
	return head + 1;
}

void scratch_free(void *block) {
	if (!block) return;
	union head *head = (union head *)block - 1;
	explicit_bzero(head, sizeof *head + head->size);
	free(head);
}
