// SPDX-License-Identifier: Apache-2.0
// model.h: opens a model file, and says what it is. It also chooses the kernels.
// A model is opened before all else: plans, jobs and benches run on it.
// No private data: a model is public. Threads may share one (cuttle.h).
// Example: cuttle_model_open("model.gguf", NULL, &model, &error);
#ifndef CUTTLE_MODEL_H
#define CUTTLE_MODEL_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forces the kernels, the code for one instruction set: "auto", "scalar", "neon", "dotprod",
 * "avx2", "avxvnni", "avx512", "amx" or "blas". "auto" takes the fastest of this CPU; "blas" is
 * auto with OpenBLAS for prompts. All but "blas" give the same bits.
 * Call it before the first model is opened, from one thread.
 * USAGE: the name is unknown, this CPU or build does not have it, or OpenBLAS, which is loaded
 * here and nowhere else, is not installed. NOMEM: "blas", and there is no room for OpenBLAS. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_isa_set(const char *name,
                                                            struct cuttle_error *error);

/* The name of the kernels in use. */
CUTTLE_API const char *cuttle_isa(void);

struct cuttle_model;

/* What the keys and values of a context are kept as. */
enum cuttle_kv_type {
	CUTTLE_KV_F16, /* 16 bits a number */
	CUTTLE_KV_Q8   /* 8 bits a number, and 32 for each head of a key or value: about half */
};

struct cuttle_model_params {
	size_t struct_size; /* set by the default function */

	/* Worker threads, the caller included. 0 = the cores that this process may use. Results do
	 * not depend on it. */
	unsigned threads;

	/* Keeps the weights, and the contexts of jobs, out of swap (mlock). USAGE, here or in the
	 * job, when the system refuses. */
	bool lock;

	/* Gets each byte that is read, once and in order, for instance to hash exactly the bytes
	 * that are loaded. They are the whole file, or its beginning with vocabulary_only; of a
	 * model in parts those of all, or of the first. NULL = none. */
	void (*on_bytes)(void *user, const void *bytes, size_t size);

	void *user; /* first argument of both callbacks */

	/* Called while the model loads. `done` of `total` bytes of work are done. Each byte of the
	 * file counts once when it is read, and once when it is packed. The last call has done ==
	 * total. Nonzero stops with PARTIAL. NULL = none. */
	int (*on_progress)(void *user, uint64_t done, uint64_t total);

	/* Reads the file's vocabulary and no weights. That is fast, and works for any architecture
	 * and for a file without tensors. Such a model can be described, and it turns text into
	 * tokens and back. score, plan and bench refuse it (USAGE). No worker is started. */
	bool vocabulary_only;

	/* How jobs keep the keys and values of their contexts. It changes logits, so it changes
	 * what is drawn. */
	enum cuttle_kv_type kv_type;
};

/* Sets all members to their defaults: 0, false and NULL, except struct_size. */
CUTTLE_API void cuttle_model_params_default(struct cuttle_model_params *params);

/* Opens a GGUF file. README lists the architectures and tensor types. params may be NULL: then the
 * defaults are used. cuttle_model_free frees the model.
 * A path that ends in -00001-of-0000N.gguf is the first part of a model in N parts, at most 256.
 * The others are beside it, and all are read in their order, as if they were one file.
 * MODEL: not a readable regular file, not GGUF, malformed, or not supported; a part that is
 * missing, is of another model, or is not the first.
 * NOMEM: also when the file needs more memory than the system says is available; nothing is read
 * then.
 * USAGE: bad params; the system refuses to lock the memory; "blas" and a model too wide for it.
 * PARTIAL: on_progress asked to stop. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open(const char *path, const struct cuttle_model_params *params,
                  struct cuttle_model **model, struct cuttle_error *error);

/* The same from an open descriptor of a regular file or a memfd. It is read from its beginning. The
 * caller keeps the descriptor, may close it after the call, and finds its position unchanged. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open_fd(int file, const struct cuttle_model_params *params,
                     struct cuttle_model **model, struct cuttle_error *error);

/* The same from the bytes of a file. They are copied: the caller may free them after the call. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_model_open_memory(const void *bytes, size_t size, const struct cuttle_model_params *params,
                         struct cuttle_model **model, struct cuttle_error *error);

/* Frees the model and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_model_free(struct cuttle_model **model);

/* What a model is. With vocabulary_only, what the file does not say is "" or 0. */
struct cuttle_model_info {
	char name[64];         /* general.name of the file, "" = none */
	char architecture[32]; /* general.architecture of the file: "llama", "qwen2", ... */

	/* "llama", "gpt2/qwen2", ...; "gpt2/default": the file does not say how it splits text. */
	char tokenizer[32];

	/* "chatml", "zephyr", "llama-3", "llama-3.1", "llama-2", "mistral", "mistral-v7", "qwen3",
	 * "granite", "tulu", "gemma", "phi-4-mini" or "none". */
	char chat[16];

	char types[64]; /* tensor types and how many of each: "Q4_1 x210, F32 x61" */

	/* Why cuttle cannot run the file, "" = it can. There can be a reason only with
	 * vocabulary_only, since else the model would not open. */
	char unsupported[160];

	uint64_t file_bytes;   /* size of the file, or of all parts, in bytes */
	uint64_t parameters;   /* numbers in all tensors */
	uint64_t packed_bytes; /* bytes of the weights in memory, once loaded */
	uint32_t tensors;      /* tensors in the file; 0 = a vocabulary alone */
	uint32_t layers;       /* transformer blocks */
	uint32_t convolving;   /* of these, with a short convolution in attention's place */
	uint32_t width;        /* floats of a token's hidden state */
	uint32_t heads;        /* query heads of a layer */
	uint32_t kv_heads;     /* key and value heads of a layer */
	uint32_t head_size;    /* floats of a head */
	uint32_t ffn;          /* width of the feed-forward part */
	uint32_t vocab;        /* tokens of the vocabulary */
	uint32_t context;      /* longest context, in tokens */
	int32_t bos;           /* beginning-of-text token, -1 = none */
	int32_t eos;           /* end-of-text token, -1 = none */
	bool add_bos;          /* texts begin with bos */
	bool tied_head;        /* the output head is the embedding */

	enum cuttle_kv_type kv_type; /* of the contexts of jobs, as in cuttle_model_params */
};

/* Fills *info. It stays valid without the model. */
CUTTLE_API void cuttle_model_describe(const struct cuttle_model *model,
                                      struct cuttle_model_info *info);

#ifdef __cplusplus
}
#endif

#endif
