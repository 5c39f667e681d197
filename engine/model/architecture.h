// SPDX-License-Identifier: Apache-2.0
// architecture.h: which models this engine computes, and the sizes of one of them.
// Private data: none.
// How: architecture_read finds the architecture by name (a table), reads the model's hyper-
// parameters from the file's keys, and checks each.
// Rule: a key of the architecture that this engine does not know is refused, since it may change
// the maths.
// Sources: the GGUF specification (ggml docs/gguf.md); the model definitions of Llama, Qwen2,
// Qwen3, Granite, SmolLM3, OLMo 2, Gemma 3, Phi-3 and LFM2.
#ifndef CUTTLE_ENGINE_ARCHITECTURE_H
#define CUTTLE_ENGINE_ARCHITECTURE_H

#include "engine/gguf.h"

struct model;

/* What an architecture has beyond Llama. */
struct architecture {
	const char *name;    /* general.architecture, and the prefix of its keys: "qwen2" */
	bool rotates_halves; /* pair i of a head is (i, i + rotated/2), not (2i, 2i + 1) */
	bool biases;         /* query, key and value have biases */
	bool head_norms;     /* RMS norms of each query and key head, before the rotation */
	bool multipliers;    /* keys for the four scales of struct model */
	bool width_norms;    /* RMS norms of all queries and of all keys, before the rotation */
	bool fused;          /* query, key and value are one tensor, gate and up another */
	bool first_norms;    /* RMS norms before attention and feed-forward, as in Llama */
	bool after_norms;    /* RMS norms of what both add to x */
	bool gelu;   /* the gate is GELU with tanh, not SiLU; embeddings times sqrt(width) */
	bool slides; /* layers see the last tokens alone, as many as the window has */
	size_t global_every; /* of so many layers the last sees everything and has the base of the
	                        file; the others slide, with one of their own; 0 = all alike */
	size_t still_every;  /* of so many layers the last does not rotate; 0 = all rotate */
	bool convolves;      /* layers without KV heads are short convolutions */
};

/* Fills the hyper-parameters of *model, all sizes but vocab_size. *rope_base and *rope_scale give
 * the rotation's angles (rope.h). Where the architecture does not slide, a window bounds the
 * context: up to the window's length it changes nothing.
 * MODEL: a key is missing or out of range; the architecture is another one; this engine does not
 * know a key of the architecture. NOMEM. */
enum cuttle_status architecture_read(const struct gguf *file, struct model *model,
                                     double *rope_base, double *rope_scale,
                                     struct cuttle_error *error);

#endif
