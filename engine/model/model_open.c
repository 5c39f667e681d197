// SPDX-License-Identifier: Apache-2.0
// model_open.c: the public functions of a model, as cuttle.h describes them: instruction sets,
// opening, describing, text <-> tokens.
// Opening reads the file's bytes into memory of our own, then model.c builds the model from them.
// With vocabulary_only it reads just the beginning of the file: the keys and the table of tensors.
#include "engine/cuttle/text.h"
#include "engine/machine/memory.h"
#include "engine/model/model.h"
#include "engine/params.h"
#include "engine/status.h"

#include "base/misuse.h"
#include "base/parts.h"

#if defined(CUTTLE_BLAS)
#include "kernels/gemm_blas.h"
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether --isa chose OpenBLAS for prompts. The kernel table (kernels.h) is its other choice. */
static bool prompts_by_blas;

const char *cuttle_version(void) {
	return CUTTLE_VERSION;
}

enum cuttle_status cuttle_isa_set(const char *name, struct cuttle_error *error) {
	REQUIRE(name);
	const bool blas = !strcmp(name, "blas");
#if defined(CUTTLE_BLAS)
	const enum gemm_blas_init begun = blas ? gemm_blas_init() : GEMM_BLAS_READY;
	if (begun == GEMM_BLAS_ABSENT)
		return status_fail(error, CUTTLE_USAGE,
		                   "--isa blas: libopenblas.so.0 cannot be loaded: install the "
		                   "Debian package libopenblas0, or leave --isa out");
	if (begun == GEMM_BLAS_NO_ROOM)
		return status_fail(error, CUTTLE_NOMEM,
		                   "--isa blas: no 256 MiB of address space are left for OpenBLAS");
#else
	if (blas)
		return status_fail(error, CUTTLE_USAGE,
		                   "--isa blas: this build has no OpenBLAS (install "
		                   "libopenblas-dev and build again)");
#endif
	if (!kernels_set(blas ? "auto" : name))
		return status_fail(error, CUTTLE_USAGE,
		                   "--isa %.20s: not a tier of this CPU (auto, scalar, neon, "
		                   "dotprod, avx2, avxvnni, avx512, amx, blas)",
		                   name);
	prompts_by_blas = blas;
	return CUTTLE_OK;
}

const char *cuttle_isa(void) {
	return prompts_by_blas ? "blas" : kernels_get()->name;
}

void cuttle_model_params_default(struct cuttle_model_params *params) {
	*params = (struct cuttle_model_params){.struct_size = sizeof *params};
}

/* Where a model's bytes come from. */
struct model_source {
	char name[176];       /* for messages */
	struct parts parts;   /* open files; none = the bytes below */
	const uint8_t *bytes; /* the caller's */
	size_t size;          /* bytes, of all parts */
};

enum {
	STEP = 1 << 22,       /* bytes of one read */
	HEAD_FIRST = 2 << 20, /* bytes read first: keys of 50,000 tokens end before that */
	HEAD_MOST =
	    256 << 20, /* bytes read for the keys at most: ten times the largest vocabulary */
	TABLE_MOST = 16 << 20, /* bytes of the largest table of tensors that gguf_parse accepts */
	PART_HEAD = 4 << 20    /* bytes read of a later part: a table of 30,000 tensors */
};

/* Reads `size` bytes of the source from byte `at`. */
static enum cuttle_status read_source_bytes(const struct model_source *source, size_t at, void *to,
                                            size_t size, struct cuttle_error *error) {
	if (!source->parts.count) {
		memcpy(to, source->bytes + at, size);
		return CUTTLE_OK;
	}
	const ssize_t result = parts_read(&source->parts, at, to, size);
	if (result < 0) return status_fail(error, CUTTLE_MODEL, "%s", strerror(errno));
	return (size_t)result == size
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_MODEL, "it shrank while being read");
}

static enum cuttle_status check_magic(const struct model_source *source,
                                      struct cuttle_error *error) {
	char magic[4] = "";
	enum cuttle_status status = CUTTLE_OK;
	if (source->size >= sizeof magic)
		status = read_source_bytes(source, 0, magic, sizeof magic, error);
	if (!status && !gguf_begins(magic))
		return status_fail(error, CUTTLE_MODEL, "this is not a GGUF file");
	return status;
}

struct loading {
	const struct model_source *source;
	const struct cuttle_model_params *params;

	/* Memory as large as the file. We do not map the file itself: when somebody truncates a
	 * mapped file, reading it ends the process with SIGBUS. */
	struct region region;
	size_t held;  /* bytes read so far, in one piece */
	size_t count; /* parts */
	struct gguf_part parts[PARTS_MOST];
	uint64_t work; /* bytes that on_progress counts to: read once, packed once */
	struct cuttle_error *error;
};

/* Reads the file up to byte `end`, and gives the caller its bytes and its progress. */
static enum cuttle_status read_model_up_to(struct loading *l, size_t end) {
	const struct cuttle_model_params *params = l->params;
	while (l->held < end) {
		const size_t some = end - l->held < STEP ? end - l->held : STEP;
		uint8_t *to = l->region.base + l->held;
		const enum cuttle_status status =
		    read_source_bytes(l->source, l->held, to, some, l->error);
		if (status) return status;
		if (params->on_bytes) params->on_bytes(params->user, to, some);
		l->held += some;
		if (params->on_progress && params->on_progress(params->user, l->held, l->work))
			return status_fail(l->error, CUTTLE_PARTIAL,
			                   "stopped while the model was being read");
	}
	return CUTTLE_OK;
}

static size_t lesser_of(size_t a, size_t b) {
	return a < b ? a : b;
}

/* Reads the tables of tensors of the parts behind the first. They are not given to on_bytes. */
static enum cuttle_status read_later_heads(struct loading *l) {
	size_t begin = l->parts->size;
	for (size_t i = 1; i < l->count; begin += l->parts[i++].size) {
		const size_t wanted = lesser_of(l->parts[i].size, PART_HEAD);
		const enum cuttle_status status =
		    read_source_bytes(l->source, begin, l->region.base + begin, wanted, l->error);
		if (status) return status;
		l->parts[i].held = wanted;
	}
	return CUTTLE_OK;
}

/* Reads the keys and the table of tensors behind them. Nobody knows where the keys end, so twice as
 * much is read until they can be parsed: 2 MiB, 4 MiB, ... The table is often there by then. */
static enum cuttle_status read_model_head(struct loading *l) {
	const size_t size = l->parts->size;
	struct gguf *keys = NULL;
	enum cuttle_status status = CUTTLE_MODEL;
	for (size_t end = HEAD_FIRST;
	     status == CUTTLE_MODEL && l->held < lesser_of(size, HEAD_MOST); end *= 2) {
		const enum cuttle_status read = read_model_up_to(l, lesser_of(size, end));
		if (read) return read;
		status = gguf_parse_keys(l->region.base, l->held, size, &keys, l->error);
	}
	gguf_free(&keys);
	const bool table =
	    !status && !gguf_parse_beginning(l->region.base, l->held, size, &keys, NULL);
	gguf_free(&keys);
	if (!status && !table) status = read_model_up_to(l, lesser_of(size, l->held + TABLE_MOST));
	l->parts->held = l->held;
	return status ? status : read_later_heads(l);
}

/* Fills the list of parts, with all of each held or nothing. */
static void list_parts(struct loading *l, bool held) {
	const struct parts *const parts = &l->source->parts;
	l->count = parts->count ? parts->count : 1;
	for (unsigned i = 0; i < l->count; i++) {
		const size_t size =
		    parts->count ? (size_t)parts_size_of(parts, i) : l->source->size;
		l->parts[i] = (struct gguf_part){size, held ? size : 0};
	}
}

/* Reads the source and builds the model. */
static enum cuttle_status load_model(struct loading *l, struct model *model) {
	const struct model_source *source = l->source;
	const bool head_only = l->params->vocabulary_only;
	l->work = head_only ? source->size : 2 * (uint64_t)source->size;
	list_parts(l, !head_only);
	enum cuttle_status status = check_magic(source, l->error);
	if (!status && !head_only)
		status = memory_check(source->size, "reading the model", "", l->error);
	if (!status && !region_map(&l->region, source->size, false))
		status = status_fail(l->error, CUTTLE_NOMEM, "out of memory reading the model");
	if (!status) status = head_only ? read_model_head(l) : read_model_up_to(l, source->size);
	if (!status && head_only)
		status =
		    model_build_vocabulary(model, l->region.base, l->parts, l->count, l->error);
	if (!status && !head_only)
		status =
		    model_build(model, l->region.base, l->parts, l->count, l->params, l->error);
	if (!status && head_only && l->held < source->size && l->params->on_progress)
		(void)l->params->on_progress(l->params->user, l->work, l->work);
	region_unmap(&l->region, false);
	return status;
}

static enum cuttle_status open_model_source(const struct model_source *source,
                                            const struct cuttle_model_params *given,
                                            struct cuttle_model **out, struct cuttle_error *error) {
	struct cuttle_model_params params;
	struct cuttle_error reason = {""};
	cuttle_model_params_default(&params);
	if (given) {
		const enum cuttle_status status =
		    params_take(&params, sizeof params, given, "struct cuttle_model_params", error);
		if (status) return status;
		if (params.kv_type != CUTTLE_KV_F16 && params.kv_type != CUTTLE_KV_Q8)
			return status_fail(error, CUTTLE_USAGE,
			                   "struct cuttle_model_params: unknown kv_type %d",
			                   (int)params.kv_type);
	}
	struct cuttle_model *handle = calloc(1, sizeof *handle);
	if (!handle) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	struct model *m = &handle->model;
	struct loading loading = {.source = source, .params = &params, .error = &reason};
	m->blas_prompts = prompts_by_blas;
	enum cuttle_status status =
	    threads_new(params.vocabulary_only ? 1 : params.threads, &m->threads, &reason);
	if (!status) status = load_model(&loading, m);
	m->lock = params.lock;
	m->info.kv_type = params.kv_type;
	if (!status && params.lock && m->weights.base) status = region_lock(&m->weights, &reason);
#if defined(CUTTLE_BLAS)
	if (!status && m->blas_prompts && !m->vocabulary_only &&
	    (m->ffn > GEMM_BLAS_K_MOST || m->width > GEMM_BLAS_K_MOST ||
	     m->heads * m->head_size > GEMM_BLAS_K_MOST))
		status = status_fail(&reason, CUTTLE_USAGE,
		                     "--isa blas: the model is wider than %d", GEMM_BLAS_K_MOST);
#endif
	if (status) {
		cuttle_model_free(&handle);
		return status_fail(error, status, "%s: %s", source->name, reason.message);
	}
	*out = handle;
	return CUTTLE_OK;
}

/* Opens what the source's parts are, when they could be opened: else there is a reason. */
static enum cuttle_status open_model_parts(struct model_source *source, bool opened,
                                           const char *reason,
                                           const struct cuttle_model_params *params,
                                           struct cuttle_model **model,
                                           struct cuttle_error *error) {
	if (!opened) return status_fail(error, CUTTLE_MODEL, "%s: %s", source->name, reason);
	source->size = (size_t)parts_size(&source->parts);
	return open_model_source(source, params, model, error);
}

enum cuttle_status cuttle_model_open(const char *path, const struct cuttle_model_params *params,
                                     struct cuttle_model **model, struct cuttle_error *error) {
	REQUIRE(path && model);
	*model = NULL;
	struct model_source source = {0};
	char reason[PARTS_REASON];
	(void)snprintf(source.name, sizeof source.name, "model %.160s", path);
	const bool opened = parts_open(&source.parts, path, reason);
	const enum cuttle_status status =
	    open_model_parts(&source, opened, reason, params, model, error);
	if (opened) parts_close(&source.parts);
	return status;
}

enum cuttle_status cuttle_model_open_fd(int file, const struct cuttle_model_params *params,
                                        struct cuttle_model **model, struct cuttle_error *error) {
	REQUIRE(file >= 0 && model);
	*model = NULL;
	struct model_source source = {.name = "the model's descriptor"};
	char reason[PARTS_REASON];
	const bool opened = parts_of_file(&source.parts, file, reason);
	return open_model_parts(&source, opened, reason, params, model, error);
}

enum cuttle_status cuttle_model_open_memory(const void *bytes, size_t size,
                                            const struct cuttle_model_params *params,
                                            struct cuttle_model **model,
                                            struct cuttle_error *error) {
	REQUIRE((bytes || !size) && model);
	*model = NULL;
	const struct model_source source = {
	    .name = "the model in memory", .bytes = bytes, .size = size};
	return open_model_source(&source, params, model, error);
}

void cuttle_model_free(struct cuttle_model **model) {
	if (!model || !*model) return;
	model_release(&(*model)->model);
	free(*model);
	*model = NULL;
}

void cuttle_model_describe(const struct cuttle_model *model, struct cuttle_model_info *info) {
	REQUIRE(model && info);
	*info = model->model.info;
}

size_t cuttle_tokens_bound(size_t bytes) {
	return vocab_tokens_bound(bytes);
}

enum cuttle_status cuttle_tokenize(const struct cuttle_model *handle, const char *text, size_t size,
                                   bool with_bos, int32_t *ids, size_t capacity, size_t *count,
                                   struct cuttle_error *error) {
	REQUIRE(handle && (text || !size) && count && (ids || !capacity));
	const struct vocab *vocab = handle->model.vocab;
	*count = 0;
	if (with_bos && vocab_add_bos(vocab) && vocab_bos(vocab) >= 0) {
		if (!capacity) return status_fail(error, CUTTLE_USAGE, "token buffer too small");
		ids[(*count)++] = vocab_bos(vocab);
	}
	return vocab_tokenize(vocab, text, size, false, ids, capacity, count, error);
}

enum cuttle_status cuttle_detokenize(const struct cuttle_model *handle, const int32_t *ids,
                                     size_t count, char *text, size_t capacity, size_t *size,
                                     struct cuttle_error *error) {
	REQUIRE(handle && (ids || !count) && size && (text || !capacity));
	for (size_t i = 0; i < count; i++)
		if (ids[i] < 0 || (size_t)ids[i] >= handle->model.vocab_size)
			return status_fail(error, CUTTLE_USAGE,
			                   "token %d is outside the vocabulary of %zu", ids[i],
			                   handle->model.vocab_size);
	*size = 0;
	vocab_detokenize(handle->model.vocab, ids, count, true, text, capacity, size);
	return CUTTLE_OK;
}
