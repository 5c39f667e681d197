// SPDX-License-Identifier: Apache-2.0
// How a GGUF file is written again with other types: plan_types names the type of each tensor, the
// metadata is copied but for stale entries, and rewrite.h pours the values.
#include "convert/quantize.h"

#include "convert/gguf_in.h"
#include "io/disk/fail.h"

#include <stdlib.h>
#include <string.h>

struct quantisation {
	struct gguf_in in;
	struct rewrite_tensor *tensors;
	uint8_t *blocks; /* the source's blocks for one call of read_gguf_values */
	size_t capacity; /* of `blocks`, in bytes */
};

/* Whether the entry with this key would be wrong in the output. */
static bool is_stale_key(struct gguf_string key) {
	static const char *const keys[] = {"general.file_type", "general.quantization_version",
	                                   "general.alignment", "split.no",
	                                   "split.count",       "split.tensors.count"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (key.size == strlen(keys[i]) && !memcmp(key.text, keys[i], key.size))
			return true;
	return false;
}

static enum cuttle_status read_gguf_values(void *user, size_t index, uint64_t first, size_t count,
                                           float *values, struct cuttle_error *error) {
	struct quantisation *job = user;
	const struct gguf_tensor *tensor = gguf_tensor_at(job->in.gguf, index);
	const struct weight_type *type = weight_type_of(tensor->type);
	const size_t size = count / type->block * type->block_bytes;
	if (size > job->capacity) {
		uint8_t *grown = realloc(job->blocks, size);
		if (!grown) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		job->blocks = grown;
		job->capacity = size;
	}
	enum cuttle_status status = gguf_in_read(
	    &job->in, tensor, first / type->block * type->block_bytes, job->blocks, size, error);
	if (!status) (void)weight_read(type, job->blocks, count, values);
	return status;
}

static enum cuttle_status plan_types(struct quantisation *job, const struct weight_type *type,
                                     const struct rewrite_report *report,
                                     struct cuttle_error *error) {
	const size_t count = gguf_tensor_count(job->in.gguf);
	job->tensors = calloc(count + 1, sizeof *job->tensors);
	if (!job->tensors) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		const struct gguf_tensor *from = gguf_tensor_at(job->in.gguf, i);
		const struct weight_type *source = weight_type_of(from->type);
		if (!source || !weight_read(source, NULL, 0, NULL))
			return io_fail(error, CUTTLE_MODEL,
			               "tensor %.*s is %s; give a file in F32, F16, BF16 or Q8_0",
			               (int)from->name.size, from->name.text,
			               gguf_type_name(from->type));
		struct rewrite_tensor *to = &job->tensors[i];
		*to = (struct rewrite_tensor){.name = from->name, .dimensions = from->dimensions};
		memcpy(to->shape, from->shape, sizeof to->shape);
		to->type = rewrite_type(type, to, report);
	}
	return CUTTLE_OK;
}

enum cuttle_status quantize(const char *input, const char *output, const struct weight_type *type,
                            const struct rewrite_report *report, struct cuttle_error *error) {
	struct quantisation job = {0};
	enum cuttle_status status = gguf_in_open(&job.in, input, error);
	if (status) return status;
	struct gguf_out *out = gguf_out_new();
	status = out ? plan_types(&job, type, report, error)
	             : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		for (size_t i = 0; i < gguf_entry_count(job.in.gguf); i++) {
			struct gguf_string key, whole = gguf_entry_at(job.in.gguf, i, &key);
			if (!is_stale_key(key)) gguf_out_entry(out, whole.text, whole.size);
		}
		gguf_out_u32(out, "general.file_type", type->file_type);
		gguf_out_u32(out, "general.quantization_version", 2);
		status = rewrite_pour(out, output, job.tensors, gguf_tensor_count(job.in.gguf),
		                      read_gguf_values, &job, report, error);
	}
	gguf_out_free(&out);
	free(job.tensors);
	free(job.blocks);
	gguf_in_close(&job.in);
	return status;
}
