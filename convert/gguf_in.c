// SPDX-License-Identifier: Apache-2.0
// How a GGUF file larger than memory is opened. The parser gets an address range as long as the
// file, and only the file's beginning is read into it. The parser computes addresses of tensor data
// but never looks there, so the system gives those pages no memory.
#include "convert/gguf_in.h"

#include "convert/weight_type.h"
#include "io/disk/fail.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	METADATA_MOST = 64 << 20, /* bytes read; the largest vocabularies take a fifth of them */
	LATER_MOST = 4 << 20      /* bytes read of a later part: a table of 30,000 tensors */
};

/* Reads bytes of all parts, as if they were one file. */
static enum cuttle_status read_from_parts(const struct gguf_in *in, const char *path, uint64_t at,
                                          void *bytes, size_t size, struct cuttle_error *error) {
	const ssize_t got = parts_read(&in->parts, at, bytes, size);
	if (got < 0)
		return io_fail(error, CUTTLE_MODEL, "cannot read %s: %s", path, strerror(errno));
	return (size_t)got == size
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_MODEL, "%s shrank while being read", path);
}

/* Reads the beginning of each part and parses them. */
static enum cuttle_status parse_beginnings(struct gguf_in *in, const char *path,
                                           struct cuttle_error *error) {
	struct gguf_part parts[PARTS_MOST];
	size_t begin = 0;
	enum cuttle_status status = CUTTLE_OK;
	for (unsigned i = 0; i < in->parts.count && !status; begin += parts[i++].size) {
		const size_t most = i ? LATER_MOST : METADATA_MOST,
		             size = (size_t)parts_size_of(&in->parts, i);
		parts[i] = (struct gguf_part){size, size < most ? size : most};
		status = read_from_parts(in, path, begin, in->bytes + begin, parts[i].held, error);
	}
	if (status) return status;
	return gguf_parse_parts(in->bytes, parts, in->parts.count, &in->gguf, error);
}

enum cuttle_status gguf_in_open(struct gguf_in *in, const char *path, struct cuttle_error *error) {
	char reason[PARTS_REASON];
	*in = (struct gguf_in){0};
	if (!parts_open(&in->parts, path, reason))
		return io_fail(error, CUTTLE_MODEL, "cannot read %s: %s", path, reason);
	const size_t size = (size_t)parts_size(&in->parts);
	enum cuttle_status status =
	    size ? CUTTLE_OK : io_fail(error, CUTTLE_MODEL, "%s is not a file with content", path);
	void *const place = size ? mmap(NULL, size, PROT_READ | PROT_WRITE,
	                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
	                         : MAP_FAILED;
	if (!status && place == MAP_FAILED) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		in->bytes = place;
		in->size = size;
		status = parse_beginnings(in, path, error);
	}
	if (status) gguf_in_close(in);
	return status;
}

void gguf_in_close(struct gguf_in *in) {
	gguf_free(&in->gguf);
	if (in->bytes) (void)munmap(in->bytes, in->size);
	parts_close(&in->parts);
	*in = (struct gguf_in){0};
}

enum cuttle_status gguf_in_read(const struct gguf_in *in, const struct gguf_tensor *tensor,
                                uint64_t first, void *bytes, size_t size,
                                struct cuttle_error *error) {
	return read_from_parts(in, "the model", (uint64_t)(tensor->data - in->bytes) + first, bytes,
	                       size, error);
}

enum cuttle_status gguf_in_list(const char *path,
                                void (*line)(void *user, const struct gguf_tensor *tensor,
                                             const char *type),
                                void *user, struct cuttle_error *error) {
	struct gguf_in in;
	enum cuttle_status status = gguf_in_open(&in, path, error);
	if (status) return status;
	for (size_t i = 0; i < gguf_tensor_count(in.gguf); i++) {
		const struct gguf_tensor *tensor = gguf_tensor_at(in.gguf, i);
		line(user, tensor, gguf_type_name(tensor->type));
	}
	gguf_in_close(&in);
	return CUTTLE_OK;
}
