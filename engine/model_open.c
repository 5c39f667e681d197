// SPDX-License-Identifier: Apache-2.0
// The public face of a model: reading the file, opening, describing, text <-> tokens, instruction sets.
#include "engine/model.h"
#include "engine/status.h"

#include "base/misuse.h"

#if defined(CUTTLE_BLAS)
#include "kernels/gemm_blas.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool prompts_by_blas; // beside the kernel table: the other half of what --isa chooses

const char *cuttle_version(void) {
	return CUTTLE_VERSION;
}

enum cuttle_status cuttle_isa_set(const char *name, struct cuttle_error *error) {
	REQUIRE(name);
	const bool blas = !strcmp(name, "blas");
#if !defined(CUTTLE_BLAS)
	if (blas)
		return status_fail(error, CUTTLE_USAGE, "--isa blas: this build has no OpenBLAS (install libopenblas-dev and build again)");
#endif
	if (!kernels_set(blas ? "auto" : name))
		return status_fail(error, CUTTLE_USAGE,
		                   "--isa %.20s: not a tier of this CPU (auto, scalar, neon, dotprod, avx2, avxvnni, avx512, amx, blas)",
		                   name);
#if defined(CUTTLE_BLAS)
	if (blas) gemm_blas_init();
#endif
	prompts_by_blas = blas;
	return CUTTLE_OK;
}

const char *cuttle_isa(void) {
	return prompts_by_blas ? "blas" : kernels_get()->name;
}

void cuttle_model_params_default(struct cuttle_model_params *params) {
	*params = (struct cuttle_model_params){.struct_size = sizeof *params};
}

/* The whole file in private memory: a mapping of the file itself would die of SIGBUS when somebody truncates it under us. */
static enum cuttle_status read_file(const char *path, const struct cuttle_model_params *params, struct region *bytes,
                                    struct cuttle_error *error) {
	*bytes = (struct region){0};
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	if (file < 0 || fstat(file, &about)) {
		const int reason = errno;
		if (file >= 0) close(file);
		return status_fail(error, CUTTLE_MODEL, "model %.160s: %s", path, strerror(reason));
	}
	enum cuttle_status status = CUTTLE_OK;
	if (!S_ISREG(about.st_mode) || about.st_size < 1)
		status = status_fail(error, CUTTLE_MODEL, "model %.160s: not a file with content", path);
	else if (!region_map(bytes, (size_t)about.st_size, false))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory reading the model");
	for (size_t at = 0; !status && at < bytes->size;) {
		const size_t step = bytes->size - at < 1 << 22 ? bytes->size - at : 1 << 22;
		const ssize_t got = read(file, bytes->base + at, step);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0)
			status = status_fail(error, CUTTLE_MODEL, "model %.160s: %s", path,
			                     got ? strerror(errno) : "it shrank while being read");
		else {
			if (params->on_bytes) params->on_bytes(params->user, bytes->base + at, (size_t)got);
			at += (size_t)got;
		}
	}
	close(file);
	return status;
}

enum cuttle_status cuttle_model_open(const char *path, const struct cuttle_model_params *given, struct cuttle_model **out,
                                     struct cuttle_error *error) {
	REQUIRE(path && out);
	*out = NULL;
	struct cuttle_model_params params;
	cuttle_model_params_default(&params);
	if (given) {
		if (given->struct_size != sizeof params) return status_fail(error, CUTTLE_USAGE, "model params of another library version");
		params = *given;
	}
	struct region bytes = {0};
	struct cuttle_model *handle = calloc(1, sizeof *handle);
	if (!handle) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	handle->model.blas_prompts = prompts_by_blas;
	enum cuttle_status status = threads_new(params.threads, &handle->model.threads, error);
	if (!status) status = read_file(path, &params, &bytes, error);
	if (!status) status = model_build(&handle->model, bytes.base, bytes.size, error);
	region_unmap(&bytes, false);
	handle->model.lock = params.lock;
	if (!status && params.lock) status = region_lock(&handle->model.weights, error);
#if defined(CUTTLE_BLAS)
	const struct model *m = &handle->model;
	if (!status && m->blas_prompts &&
	    (m->ffn > GEMM_BLAS_K_MOST || m->width > GEMM_BLAS_K_MOST || m->heads * m->head_size > GEMM_BLAS_K_MOST))
		status = status_fail(error, CUTTLE_USAGE, "--isa blas: the model is wider than %d", GEMM_BLAS_K_MOST);
#endif
	if (status) cuttle_model_free(&handle);
	*out = handle;
	return status;
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

enum cuttle_status cuttle_tokenize(const struct cuttle_model *handle, const char *text, size_t size, bool with_bos, int32_t *ids,
                                   size_t capacity, size_t *count, struct cuttle_error *error) {
	REQUIRE(handle && (text || !size) && count && (ids || !capacity));
	const struct vocab *vocab = handle->model.vocab;
	*count = 0;
	if (with_bos && vocab_add_bos(vocab) && vocab_bos(vocab) >= 0) {
		if (!capacity) return status_fail(error, CUTTLE_USAGE, "token buffer too small");
		ids[(*count)++] = vocab_bos(vocab);
	}
	return vocab_tokenize(vocab, text, size, false, ids, capacity, count, error);
}

enum cuttle_status cuttle_detokenize(const struct cuttle_model *handle, const int32_t *ids, size_t count, char *text, size_t capacity,
                                     size_t *size, struct cuttle_error *error) {
	REQUIRE(handle && (ids || !count) && size && (text || !capacity));
	for (size_t i = 0; i < count; i++)
		if (ids[i] < 0 || (size_t)ids[i] >= handle->model.vocab_size)
			return status_fail(error, CUTTLE_USAGE, "token %d is outside the vocabulary of %zu", ids[i],
			                   handle->model.vocab_size);
	*size = 0;
	vocab_detokenize(handle->model.vocab, ids, count, true, text, capacity, size);
	return CUTTLE_OK;
}
