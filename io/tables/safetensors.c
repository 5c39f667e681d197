// SPDX-License-Identifier: Apache-2.0
// How safetensors.h reads: jansson parses a header, then every number in it is checked. The files
// stay open, and safetensors_read reads a tensor's data straight from its file. A "shard" is one of
// the files.
#include "io/tables/safetensors.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEADER_MOST = 16 << 20, /* bytes; a real header has about a hundred for each tensor */
	INDEX_MOST = 16 << 20,  /* bytes */
	FILES_MOST = 1024
};

struct shard {
	char *name;    /* of the file in its folder */
	int file;      /* descriptor; -1 = not open */
	uint64_t data; /* offset of the data in the file: 8 + the header's bytes */
	struct safetensors_table table;
};

struct safetensors {
	struct shard *shards;
	size_t shard_count;
	struct safetensors_table table; /* of all shards; the strings belong to their tables */
};

#define FAIL(...) io_fail(error, CUTTLE_MODEL, "safetensors: " __VA_ARGS__)

static enum cuttle_status fail_no_memory(struct cuttle_error *error) {
	return io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Reads a number that is a size: an integer, not negative. */
static bool read_extent(const json_t *value, uint64_t *size) {
	if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
	*size = (uint64_t)json_integer_value(value);
	return true;
}

static enum cuttle_status read_type(const json_t *value, struct safetensors_tensor *tensor,
                                    uint64_t *bytes, struct cuttle_error *error) {
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {[SAFETENSORS_F32] = {"F32", 4},
	             [SAFETENSORS_F16] = {"F16", 2},
	             [SAFETENSORS_BF16] = {"BF16", 2}};
	const char *name = json_string_value(value);
	for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
		if (!strcmp(name, types[i].name)) {
			tensor->type = (enum safetensors_type)i;
			*bytes = types[i].bytes;
			return CUTTLE_OK;
		}
	return FAIL("tensor %.80s is of type %.20s; F32, F16 and BF16 are read", tensor->name,
	            name ? name : "unknown");
}

static enum cuttle_status read_tensor(const json_t *value, uint64_t data_size,
                                      struct safetensors_tensor *tensor,
                                      struct cuttle_error *error) {
	const json_t *shape = json_object_get(value, "shape"),
	             *offsets = json_object_get(value, "data_offsets");
	uint64_t bytes = 0;
	enum cuttle_status status =
	    read_type(json_object_get(value, "dtype"), tensor, &bytes, error);
	if (status) return status;
	if (!json_is_array(shape) || json_array_size(shape) > 4)
		return FAIL("tensor %.80s does not have 0 to 4 dimensions", tensor->name);
	tensor->dimensions = (uint32_t)json_array_size(shape);
	for (uint32_t i = 0; i < 4; i++) tensor->shape[i] = 1;
	for (uint32_t i = 0; i < tensor->dimensions; i++)
		if (!read_extent(json_array_get(shape, i), &tensor->shape[i]) ||
		    !tensor->shape[i] || __builtin_mul_overflow(bytes, tensor->shape[i], &bytes))
			return FAIL("tensor %.80s has an impossible shape", tensor->name);
	if (json_array_size(offsets) != 2 ||
	    !read_extent(json_array_get(offsets, 0), &tensor->begin) ||
	    !read_extent(json_array_get(offsets, 1), &tensor->end) || tensor->begin > tensor->end ||
	    tensor->end > data_size)
		return FAIL("tensor %.80s lies outside the file", tensor->name);
	if (tensor->end - tensor->begin != bytes)
		return FAIL("the size of tensor %.80s is not that of its shape", tensor->name);
	return CUTTLE_OK;
}

static int compare_names(const void *a, const void *b) {
	return strcmp(((const struct safetensors_tensor *)a)->name,
	              ((const struct safetensors_tensor *)b)->name);
}

static int compare_begins(const void *a, const void *b) {
	const struct safetensors_tensor *left = a, *right = b;
	return (left->begin > right->begin) - (left->begin < right->begin);
}

static enum cuttle_status read_header(json_t *root, uint64_t data_size,
                                      struct safetensors_table *table, struct cuttle_error *error) {
	const char *key;
	json_t *value;
	table->tensors = calloc(json_object_size(root) + 1, sizeof *table->tensors);
	if (!table->tensors) return fail_no_memory(error);
	json_object_foreach(root, key, value) {
		if (!strcmp(key, "__metadata__")) continue;
		struct safetensors_tensor *tensor = &table->tensors[table->count];
		tensor->name = strdup(key);
		if (!tensor->name) return fail_no_memory(error);
		table->count++;
		const enum cuttle_status status = read_tensor(value, data_size, tensor, error);
		if (status) return status;
	}
	// In the order of their data each tensor must begin where the one before it ends.
	qsort(table->tensors, table->count, sizeof *table->tensors, compare_begins);
	uint64_t end = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (table->tensors[i].begin != end)
			return FAIL("tensor %.80s overlaps another or leaves a gap",
			            table->tensors[i].name);
		end = table->tensors[i].end;
	}
	if (end != data_size)
		return FAIL("%" PRIu64 " bytes of the file belong to no tensor", data_size - end);
	qsort(table->tensors, table->count, sizeof *table->tensors, compare_names);
	return CUTTLE_OK;
}

enum cuttle_status safetensors_parse(const char *header, size_t size, uint64_t data_size,
                                     struct safetensors_table *table, struct cuttle_error *error) {
	json_error_t problem;
	*table = (struct safetensors_table){0};
	json_t *root = json_loadb(header, size, JSON_REJECT_DUPLICATES, &problem);
	if (!root && json_error_code(&problem) == json_error_out_of_memory)
		return fail_no_memory(error);
	enum cuttle_status status =
	    json_is_object(root)
	        ? read_header(root, data_size, table, error)
	        : FAIL("the header is not a JSON object: %.120s", root ? "an array" : problem.text);
	json_decref(root);
	if (status) safetensors_table_free(table);
	return status;
}

void safetensors_table_free(struct safetensors_table *table) {
	for (size_t i = 0; i < table->count; i++) free(table->tensors[i].name);
	free(table->tensors);
	*table = (struct safetensors_table){0};
}

static enum cuttle_status open_shard(const char *folder, struct shard *shard,
                                     struct cuttle_error *error) {
	char *path, *header = NULL;
	if (asprintf(&path, "%s/%s", folder, shard->name) < 0) return fail_no_memory(error);
	enum cuttle_status status = CUTTLE_OK;
	struct stat about = {0};
	uint64_t size = 0;
	shard->file = open(path, O_RDONLY | O_CLOEXEC);
	if (shard->file < 0 || fstat(shard->file, &about) != 0)
		status = io_fail(error, CUTTLE_MODEL, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(about.st_mode) || about.st_size < 8)
		status = io_fail(error, CUTTLE_MODEL, "%s is not a safetensors file", path);
	else status = file_read_at(shard->file, path, 0, &size, sizeof size, error);
	if (!status && (size > HEADER_MOST || size > (uint64_t)about.st_size - 8))
		status = io_fail(error, CUTTLE_MODEL,
		                 "%s: the header is longer than the file or 16 MiB", path);
	if (!status && !(header = malloc((size_t)size + 1))) status = fail_no_memory(error);
	if (!status) status = file_read_at(shard->file, path, 8, header, (size_t)size, error);
	shard->data = 8 + size;
	if (!status)
		status =
		    safetensors_parse(header, (size_t)size, (uint64_t)about.st_size - shard->data,
		                      &shard->table, error);
	free(header);
	free(path);
	return status;
}

/* Whether the name is that of a file in the same folder: "../x.safetensors" is not. */
static bool is_plain_name(const char *name) {
	return name && *name != '.' && !strchr(name, '/') && strlen(name) < 256 &&
	       file_ends_in(name, ".safetensors");
}

/* Adds the shard of this name, unless it is there already. *index is its number. */
static enum cuttle_status add_shard(struct safetensors *files, const char *name, size_t *index,
                                    struct cuttle_error *error) {
	for (*index = 0; *index < files->shard_count; ++*index)
		if (!strcmp(files->shards[*index].name, name)) return CUTTLE_OK;
	if (files->shard_count == FILES_MOST)
		return FAIL("the index names more than %d files", FILES_MOST);
	struct shard *grown = realloc(files->shards, (files->shard_count + 1) * sizeof *grown);
	if (!grown) return fail_no_memory(error);
	files->shards = grown;
	grown[*index] = (struct shard){.name = strdup(name), .file = -1};
	if (!grown[*index].name) return fail_no_memory(error);
	files->shard_count++;
	return CUTTLE_OK;
}

/* Gathers the tensors of all shards in one table. `map` is that of the index, NULL = there is none:
 * it names each tensor's file, and the tensor must be there. */
static enum cuttle_status gather_tensors(struct safetensors *files, const json_t *map,
                                         struct cuttle_error *error) {
	size_t count = 0;
	for (size_t i = 0; i < files->shard_count; i++) count += files->shards[i].table.count;
	if (map && count != json_object_size(map))
		return FAIL("the index names %zu tensors, its files hold %zu",
		            json_object_size(map), count);
	struct safetensors_table *all = &files->table;
	all->tensors = calloc(count + 1, sizeof *all->tensors);
	if (!all->tensors) return fail_no_memory(error);
	for (size_t i = 0; i < files->shard_count; i++)
		for (size_t t = 0; t < files->shards[i].table.count; t++) {
			struct safetensors_tensor *tensor = &all->tensors[all->count++];
			*tensor = files->shards[i].table.tensors[t];
			tensor->file = i;
			const char *place =
			    map ? json_string_value(json_object_get(map, tensor->name))
			        : files->shards[i].name;
			if (!place || strcmp(place, files->shards[i].name) != 0)
				return FAIL(
				    "tensor %.80s is not in the file where the index has it",
				    tensor->name);
		}
	qsort(all->tensors, all->count, sizeof *all->tensors, compare_names);
	return CUTTLE_OK;
}

static enum cuttle_status open_shards(struct safetensors *files, const char *folder,
                                      const json_t *map, struct cuttle_error *error) {
	const char *key;
	json_t *value;
	size_t index;
	enum cuttle_status status = CUTTLE_OK;
	if (!map) status = add_shard(files, "model.safetensors", &index, error);
	json_object_foreach((json_t *)map, key, value) {
		if (!is_plain_name(json_string_value(value)))
			return FAIL(
			    "the index has tensor %.80s in something that is not a file beside it",
			    key);
		if ((status = add_shard(files, json_string_value(value), &index, error)))
			return status;
	}
	for (size_t i = 0; !status && i < files->shard_count; i++)
		status = open_shard(folder, &files->shards[i], error);
	return status ? status : gather_tensors(files, map, error);
}

enum cuttle_status safetensors_open(const char *folder, struct safetensors **files,
                                    struct cuttle_error *error) {
	char *path, *text = NULL;
	json_t *index = NULL;
	json_error_t problem;
	size_t size;
	struct safetensors *opened = calloc(1, sizeof *opened);
	*files = NULL;
	if (!opened || asprintf(&path, "%s/model.safetensors.index.json", folder) < 0) {
		free(opened);
		return fail_no_memory(error);
	}
	const bool split = access(path, F_OK) == 0;
	enum cuttle_status status =
	    split ? file_read(path, INDEX_MOST, &text, &size, error) : CUTTLE_OK;
	if (split && !status) {
		index = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
		if (!json_is_object(json_object_get(index, "weight_map")))
			status = FAIL("%s has no weight_map", path);
	}
	if (status == CUTTLE_INPUT) status = CUTTLE_MODEL;
	if (!status)
		status = open_shards(opened, folder, json_object_get(index, "weight_map"), error);
	free(text);
	free(path);
	json_decref(index);
	if (status) safetensors_close(&opened);
	*files = opened;
	return status;
}

void safetensors_close(struct safetensors **files) {
	if (!*files) return;
	for (size_t i = 0; i < (*files)->shard_count; i++) {
		struct shard *shard = &(*files)->shards[i];
		if (shard->file >= 0) (void)close(shard->file);
		safetensors_table_free(&shard->table);
		free(shard->name);
	}
	free((*files)->shards);
	free((*files)->table.tensors);
	free(*files);
	*files = NULL;
}

size_t safetensors_count(const struct safetensors *files) {
	return files->table.count;
}

const struct safetensors_tensor *safetensors_at(const struct safetensors *files, size_t index) {
	REQUIRE(index < files->table.count);
	return &files->table.tensors[index];
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *files,
                                                  const char *name) {
	const struct safetensors_tensor wanted = {.name = (char *)name};
	return bsearch(&wanted, files->table.tensors, files->table.count, sizeof wanted,
	               compare_names);
}

enum cuttle_status safetensors_read(const struct safetensors *files,
                                    const struct safetensors_tensor *tensor, uint64_t first,
                                    void *bytes, size_t size, struct cuttle_error *error) {
	REQUIRE(size <= tensor->end - tensor->begin && first <= tensor->end - tensor->begin - size);
	const struct shard *shard = &files->shards[tensor->file];
	return file_read_at(shard->file, shard->name, shard->data + tensor->begin + first, bytes,
	                    size, error);
}
