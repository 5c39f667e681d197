// SPDX-License-Identifier: Apache-2.0
// safetensors: a JSON header that names tensors, and their data; one file or several with an index. The files are hostile.
// Source: the safetensors format description (8 bytes of header length, little-endian; header; data without gaps).
#ifndef CUTTLE_IO_SAFETENSORS_H
#define CUTTLE_IO_SAFETENSORS_H

#include "engine/cuttle.h"

enum safetensors_type { SAFETENSORS_F32, SAFETENSORS_F16, SAFETENSORS_BF16 };

struct safetensors_tensor {
	char *name;
	enum safetensors_type type;
	uint32_t dimensions; /* 0..4 */
	uint64_t shape[4];   /* as in the file, the row length last; unused ones are 1 */
	uint64_t begin, end; /* bytes in the data */
	size_t file;         /* which of the files; 0 from safetensors_parse */
};

struct safetensors_table {
	struct safetensors_tensor *tensors; /* by name */
	size_t count;
};

/* Checks a header, which describes data_size bytes of data. MODEL: not JSON, a name twice, a type or shape that does not exist, offsets
 * that are not the shape's size, or leave gaps or overlap. NOMEM. Pure: no I/O. On failure the table is empty. */
enum cuttle_status safetensors_parse(const char *header, size_t size, uint64_t data_size, struct safetensors_table *table,
                                     struct cuttle_error *error);
void safetensors_table_free(struct safetensors_table *table);

struct safetensors;
/* Opens model.safetensors of a folder, or all files that model.safetensors.index.json names, which must hold exactly the tensors it says.
 * MODEL: unreadable or as above. NOMEM. */
enum cuttle_status safetensors_open(const char *folder, struct safetensors **files, struct cuttle_error *error);
void safetensors_close(struct safetensors **files);

size_t safetensors_count(const struct safetensors *files);
const struct safetensors_tensor *safetensors_at(const struct safetensors *files, size_t index);
const struct safetensors_tensor *safetensors_find(const struct safetensors *files, const char *name); /* NULL when absent */

/* Bytes first..first+size-1 of a tensor, which must lie within it. MODEL: unreadable, or the file shrank. */
enum cuttle_status safetensors_read(const struct safetensors *files, const struct safetensors_tensor *tensor, uint64_t first, void *bytes,
                                    size_t size, struct cuttle_error *error);

#endif
