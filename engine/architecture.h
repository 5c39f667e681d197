// SPDX-License-Identifier: Apache-2.0
// Which models this engine computes: the architectures by name, what each has beyond Llama, and their hyper-parameters, read and checked.
// Sources: the GGUF specification (ggml docs/gguf.md); the model definitions of Llama, Qwen2 and Qwen3.
#ifndef CUTTLE_ENGINE_ARCHITECTURE_H
#define CUTTLE_ENGINE_ARCHITECTURE_H

#include "engine/gguf.h"

struct model;

struct architecture {
	const char *name;    /* general.architecture, and the prefix of its keys */
	bool rotates_halves; /* pair i of a head is (i, i + rotated/2), not (2i, 2i + 1) */
	bool biases;         /* of query, key and value */
	bool head_norms;     /* RMS norms of each query and key head, before the rotation */
};

/* Fills the hyper-parameters of *model (all sizes but vocab_size) and what the rotation's angles follow from. A sliding window bounds the
 * context: within the window it changes nothing. MODEL: missing, out of range, another architecture, or any key of the architecture's
 * that this engine does not know: such a key may change the maths. */
enum cuttle_status architecture_read(const struct gguf *file, struct model *model, double *rope_base, double *rope_scale,
                                     struct cuttle_error *error);

#endif
