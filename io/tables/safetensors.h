// SPDX-License-Identifier: Apache-2.0
// safetensors.h: reads model weights from safetensors files, which cuttle convert turns into GGUF.
//
// No private data. The files are untrusted: every number in them is checked before use. A file is
//   8 bytes   N, the length of the header, little-endian
//   N bytes   the header: JSON that gives each tensor's type, shape and place
//   the rest  the tensors' data, without gaps
// A model is one such file, or several with an index that says which tensor is in which file.
// Source: the safetensors format description.
#ifndef CUTTLE_IO_TABLES_SAFETENSORS_H
#define CUTTLE_IO_TABLES_SAFETENSORS_H

#include "engine/cuttle/status.h"

enum safetensors_type { SAFETENSORS_F32, SAFETENSORS_F16, SAFETENSORS_BF16 };

struct safetensors_tensor {
	char *name;
	enum safetensors_type type;
	uint32_t dimensions; /* 0..4 */
	uint64_t shape[4];   /* as in the file, the row length last; unused ones are 1 */
	uint64_t begin, end; /* its bytes are begin .. end-1 of the file's data */
	size_t file;         /* number of the file; 0 from safetensors_parse */
};

struct safetensors_table {
	struct safetensors_tensor *tensors; /* sorted by name */
	size_t count;
};

/* Checks a header, which describes data_size bytes of data, and makes its table. Does no I/O. On
 * failure the table is empty. MODEL: the header is not JSON or has a name twice; a tensor has a
 * type or a shape that does not exist; its offsets do not fit its shape; tensors overlap or leave a
 * gap. NOMEM. */
enum cuttle_status safetensors_parse(const char *header, size_t size, uint64_t data_size,
                                     struct safetensors_table *table, struct cuttle_error *error);
void safetensors_table_free(struct safetensors_table *table);

struct safetensors;
/* Opens model.safetensors of a folder. If the folder has model.safetensors.index.json, opens the
 * files that it names instead; they must hold exactly the tensors it says. MODEL: unreadable or as
 * above. NOMEM. */
enum cuttle_status safetensors_open(const char *folder, struct safetensors **files,
                                    struct cuttle_error *error);
/* Nulls the handle. NULL handles are fine. */
void safetensors_close(struct safetensors **files);

/* Tensors of all files, sorted by name. */
size_t safetensors_count(const struct safetensors *files);
const struct safetensors_tensor *safetensors_at(const struct safetensors *files, size_t index);
const struct safetensors_tensor *safetensors_find(const struct safetensors *files,
                                                  const char *name); /* NULL when absent */

/* Reads bytes first .. first+size-1 of a tensor; they must lie within it. MODEL: unreadable, or the
 * file shrank. */
enum cuttle_status safetensors_read(const struct safetensors *files,
                                    const struct safetensors_tensor *tensor, uint64_t first,
                                    void *bytes, size_t size, struct cuttle_error *error);

#endif
