// SPDX-License-Identifier: Apache-2.0
// How a GGUF file larger than memory is opened. The parser gets an address range as long as the
// file, and only the file's beginning is read into it. The parser computes addresses of tensor data
// but never looks there, so the system gives those pages no memory.
#include "convert/gguf_in.h"

#include "convert/weight_type.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { METADATA_MOST = 64 << 20 }; /* bytes read; the largest vocabularies take a fifth of them */

enum cuttle_status gguf_in_open(struct gguf_in *in, const char *path, struct cuttle_error *error) {
	*in = (struct gguf_in){.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	struct stat about;
	if (in->file < 0 || fstat(in->file, &about) != 0) {
		const int problem = errno;
		if (in->file >= 0) (void)close(in->file);
		return io_fail(error, CUTTLE_MODEL, "cannot read %s: %s", path, strerror(problem));
	}
	enum cuttle_status status = CUTTLE_OK;
	if (!S_ISREG(about.st_mode) || about.st_size < 1)
		status = io_fail(error, CUTTLE_MODEL, "%s is not a file with content", path);
	if (!status) {
		void *place = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (place == MAP_FAILED) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
		else {
			in->bytes = place;
			in->size = (size_t)about.st_size;
		}
	}
	const size_t held = in->size < METADATA_MOST ? in->size : METADATA_MOST;
	if (!status) status = file_read_at(in->file, path, 0, in->bytes, held, error);
	if (!status) status = gguf_parse_beginning(in->bytes, held, in->size, &in->gguf, error);
	if (status) gguf_in_close(in);
	return status;
}

void gguf_in_close(struct gguf_in *in) {
	gguf_free(&in->gguf);
	if (in->bytes) (void)munmap(in->bytes, in->size);
	(void)close(in->file);
	*in = (struct gguf_in){.file = -1};
}

enum cuttle_status gguf_in_read(const struct gguf_in *in, const struct gguf_tensor *tensor,
                                uint64_t first, void *bytes, size_t size,
                                struct cuttle_error *error) {
	return file_read_at(in->file, "the model", (uint64_t)(tensor->data - in->bytes) + first,
	                    bytes, size, error);
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
