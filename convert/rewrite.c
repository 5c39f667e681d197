// SPDX-License-Identifier: Apache-2.0
// How tensors are poured into a file: a few megabytes at a time, in whole rows. The memory needed
// does not depend on the size of the model.
#include "convert/rewrite.h"

#include "io/disk/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 20 }; /* values at a time, unless one row has more */

#define NAME(string) (int)((string).size < 64 ? (string).size : 64), (string).text

static bool has_name(const struct rewrite_tensor *tensor, const char *name) {
	return tensor->name.size == strlen(name) &&
	       !memcmp(tensor->name.text, name, tensor->name.size);
}

static const struct weight_type *pick_smaller_blocks(const struct weight_type *type) {
	if (type == weight_type(WEIGHT_Q4_K)) return weight_type(WEIGHT_Q4_1);
	return weight_type(type == weight_type(WEIGHT_Q6_K) ? WEIGHT_Q8_0 : WEIGHT_F16);
}

const struct weight_type *rewrite_type(const struct weight_type *wanted,
                                       const struct rewrite_tensor *tensor,
                                       const struct rewrite_report *report) {
	static const char taps[] = ".shortconv.conv.weight"; // few, and no product's matrix
	const size_t end_size = strlen(taps);
	if (tensor->dimensions == 1 ||
	    (tensor->name.size > end_size &&
	     !memcmp(tensor->name.text + tensor->name.size - end_size, taps, end_size)))
		return weight_type(WEIGHT_F32);
	const bool end = has_name(tensor, "output.weight") || has_name(tensor, "token_embd.weight");
	if (end && (wanted == weight_type(WEIGHT_Q4_0) || wanted == weight_type(WEIGHT_Q4_1)))
		wanted = weight_type(WEIGHT_Q8_0);
	if (end && wanted == weight_type(WEIGHT_Q4_K)) wanted = weight_type(WEIGHT_Q6_K);
	const struct weight_type *type = wanted;
	while (tensor->shape[0] % type->block) type = pick_smaller_blocks(type);
	char line[160];
	(void)snprintf(
	    line, sizeof line, "%.*s: rows of %llu are not whole blocks of %s, kept as %s",
	    NAME(tensor->name), (unsigned long long)tensor->shape[0], wanted->name, type->name);
	if (type != wanted && report->note) report->note(report->user, line);
	return type;
}

enum cuttle_status rewrite_allowed(const char *path, bool overwrite, struct cuttle_error *error) {
	struct stat about;
	if (overwrite || lstat(path, &about) != 0) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE, "%s is there already; --overwrite replaces it", path);
}

struct space {
	float *values;   /* read */
	uint8_t *blocks; /* the same values, to be written */
};

static enum cuttle_status pour_tensor(struct gguf_out *out, const struct rewrite_tensor *tensor,
                                      size_t index, rewrite_reader reader, void *user,
                                      struct cuttle_error *error) {
	const uint64_t row = tensor->shape[0],
	               total = row * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
	const size_t most = row < CHUNK ? CHUNK / row * row : row;
	struct space space = {calloc(most, sizeof *space.values),
	                      calloc(most / tensor->type->block, tensor->type->block_bytes)};
	enum cuttle_status status = space.values && space.blocks
	                                ? CUTTLE_OK
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (uint64_t first = 0; !status && first < total;) {
		const size_t count = total - first < most ? (size_t)(total - first) : most;
		status = reader(user, index, first, count, space.values, error);
		if (!status && !weight_write(tensor->type, space.values, count, space.blocks))
			status = io_fail(
			    error, CUTTLE_MODEL,
			    "tensor %.*s holds a value that is not finite or too large for %s",
			    NAME(tensor->name), tensor->type->name);
		if (!status)
			status = gguf_out_data(
			    out, space.blocks,
			    count / tensor->type->block * tensor->type->block_bytes, error);
		first += count;
	}
	free(space.values);
	free(space.blocks);
	return status ? status : gguf_out_pad(out, error);
}

enum cuttle_status rewrite_pour(struct gguf_out *out, const char *path,
                                const struct rewrite_tensor *tensors, size_t count,
                                rewrite_reader reader, void *user,
                                const struct rewrite_report *report, struct cuttle_error *error) {
	struct sink sink;
	for (size_t i = 0; i < count; i++)
		gguf_out_tensor(out, tensors[i].name, tensors[i].type, tensors[i].dimensions,
		                tensors[i].shape);
	enum cuttle_status status = sink_open(&sink, path, error);
	if (status) return status;
	status = gguf_out_begin(out, &sink, error);
	for (size_t i = 0; !status && i < count; i++) {
		status = pour_tensor(out, &tensors[i], i, reader, user, error);
		if (!status && report->progress) report->progress(report->user, i + 1, count);
	}
	return sink_close(&sink, status, error);
}
