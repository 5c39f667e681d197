// SPDX-License-Identifier: Apache-2.0
// split_model.h: writes a GGUF file as parts, for tests: NAME-00001-of-00003.gguf and so on. As
// llama-gguf-split does, all keys are in the first, and each says its number, counted from 0.
#ifndef CUTTLE_TESTS_SPLIT_MODEL_H
#define CUTTLE_TESTS_SPLIT_MODEL_H

#include "engine/gguf.h"

struct split_part {
	uint64_t number, count; /* split.no and split.count */
	uint64_t tensors;       /* split.tensors.count */
	size_t first, end;      /* tensors first .. end - 1 of the file */
	bool keys;              /* the file's keys, too */
	bool unsaid;            /* without the three keys of a part */
};

/* Makes one part of a right file, in *part_size bytes that the caller frees. */
uint8_t *split_model_part(const uint8_t *bytes, size_t size, const struct split_part *part,
                          size_t *part_size);

/* Part `number` of `count`, from 0, with its share of the tensors. Of three parts of 10 tensors the
 * second has tensors 3 to 5. */
struct split_part split_model_share(const uint8_t *bytes, size_t size, unsigned number,
                                    unsigned count);

#endif
