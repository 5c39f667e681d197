// SPDX-License-Identifier: Apache-2.0
// Reads through one cursor, which never passes the end of the bytes. The file stores in this order:
// header (magic "GGUF", version, number of tensors, number of keys), keys, table of tensors,
// padding, the tensors' data. Names are sorted rather than hashed, so no choice of names makes the
// search quadratic.
#include "engine/gguf.h"

#include "base/misuse.h"
#include "base/parts.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "GGUF values are copied as they stand in the file: little-endian");

enum {
	/* Bytes of a key, and of a tensor's name: the specification's own bounds. */
	KEY_MAX = 65535,
	NAME_MAX_BYTES = 64,
	/* Bytes of a string value. The longest legitimate one is a chat template of a few KiB. */
	STRING_MAX = 1 << 20,
	/* Bytes of the smallest metadata entry: length of the key, one letter, type, one byte. */
	KEY_VALUE_MIN = 8 + 1 + 4 + 1,
	/* Bytes of the smallest entry of the table of tensors: length of the name, one letter,
	 * number of dimensions, one dimension, type, offset. */
	TENSOR_MIN = 8 + 1 + 4 + 8 + 4 + 8,
	/* Most keys, and most tensors. They take several times more bytes in memory than in the
	 * file. */
	COUNT_MAX = 1 << 17,
	/* Bytes: the tensors' data begin at multiples of this. */
	ALIGNMENT_DEFAULT = 32,
	ALIGNMENT_MAX = 64 << 10
};

struct metadata_entry {
	struct gguf_string key;
	enum gguf_type type; /* of the value, or of the elements when is_array */
	bool is_array;
	size_t count;        /* elements; 1 when not an array */
	const uint8_t *data; /* the elements side by side; strings with their length prefixes */
	struct gguf_string whole; /* all bytes of the entry */
};

struct gguf {
	struct metadata_entry *entries;               /* in file order */
	const struct metadata_entry **entries_by_key; /* sorted, distinct */
	size_t entry_count;
	struct gguf_tensor *tensors;                /* in file order */
	const struct gguf_tensor **tensors_by_name; /* sorted, distinct */
	size_t tensor_count;                        /* 0 when only the keys are read */
	size_t announced;                           /* tensors that the header says there are */
	uint64_t part, parts;                       /* split.no and split.count; 0 and 1 = whole */
	uint64_t tensors_of_all;                    /* tensors of all parts; of a whole file 0 */
};

struct cursor {
	const uint8_t *bytes;
	size_t size;     /* bytes that are there */
	size_t position; /* the next byte; position <= size, always */
	size_t whole;    /* bytes of the file, of which `size` are there */
};

/* A name in a message, at most 80 bytes of it: "%.*s" takes NAME(string). */
#define NAME(string) (int)((string).size < 80 ? (string).size : 80), (string).text

static bool take_bytes(struct cursor *cursor, void *value, size_t size) {
	if (size > cursor->size - cursor->position) return false;
	memcpy(value, cursor->bytes + cursor->position, size);
	cursor->position += size;
	return true;
}

static bool skip_bytes(struct cursor *cursor, size_t size) {
	if (size > cursor->size - cursor->position) return false;
	cursor->position += size;
	return true;
}

static bool take_gguf_string(struct cursor *cursor, size_t longest, struct gguf_string *string) {
	uint64_t size;
	if (!take_bytes(cursor, &size, sizeof size) || size > longest ||
	    size > cursor->size - cursor->position)
		return false;
	string->text = (const char *)cursor->bytes + cursor->position;
	string->size = (size_t)size;
	return skip_bytes(cursor, string->size);
}

static bool is_printable(struct gguf_string string) {
	for (size_t i = 0; i < string.size; i++)
		if (string.text[i] < 0x21 || string.text[i] > 0x7e) return false;
	return string.size > 0;
}

static int compare_strings(struct gguf_string a, struct gguf_string b) {
	size_t shorter = a.size < b.size ? a.size : b.size;
	int order = shorter ? memcmp(a.text, b.text, shorter) : 0;
	return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_entries(const void *a, const void *b) {
	return compare_strings((*(const struct metadata_entry *const *)a)->key,
	                       (*(const struct metadata_entry *const *)b)->key);
}

static int compare_tensors(const void *a, const void *b) {
	return compare_strings((*(const struct gguf_tensor *const *)a)->name,
	                       (*(const struct gguf_tensor *const *)b)->name);
}

static int compare_tensor_places(const void *a, const void *b) {
	const uint8_t *left = (*(const struct gguf_tensor *const *)a)->data,
	              *right = (*(const struct gguf_tensor *const *)b)->data;
	return (left > right) - (left < right);
}

/* Bytes of one value in the file. 0 for strings and arrays, whose size varies, and for types that
 * do not exist. */
static size_t value_size(enum gguf_type type) {
	switch (type) {
	case GGUF_U8:
	case GGUF_I8:
	case GGUF_BOOL:
		return 1;
	case GGUF_U16:
	case GGUF_I16:
		return 2;
	case GGUF_U32:
	case GGUF_I32:
	case GGUF_F32:
		return 4;
	case GGUF_U64:
	case GGUF_I64:
	case GGUF_F64:
		return 8;
	case GGUF_STRING:
	case GGUF_ARRAY:
		break;
	}
	return 0;
}

static const char *value_type_name(enum gguf_type type) {
	static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
	                                    "bool", "string", "array", "u64", "i64", "f64"};
	return names[type];
}

static enum cuttle_status parse_entry(struct cursor *cursor, struct metadata_entry *entry,
                                      struct cuttle_error *error) {
	uint32_t type;
	if (!take_gguf_string(cursor, KEY_MAX, &entry->key) || !is_printable(entry->key) ||
	    !take_bytes(cursor, &type, sizeof type))
		return status_fail(
		    error, CUTTLE_MODEL,
		    "GGUF: a metadata key is cut off, too long, empty or not printable");
	entry->is_array = type == GGUF_ARRAY;
	uint64_t count = 1;
	if (entry->is_array &&
	    (!take_bytes(cursor, &type, sizeof type) || !take_bytes(cursor, &count, sizeof count)))
		return status_fail(error, CUTTLE_MODEL, "GGUF: key %.*s is cut off",
		                   NAME(entry->key));
	if (type > GGUF_F64 || type == GGUF_ARRAY)
		return status_fail(
		    error, CUTTLE_MODEL,
		    "GGUF: key %.*s has a type that does not exist or is an array of arrays",
		    NAME(entry->key));
	entry->type = (enum gguf_type)type;
	size_t smallest = type == GGUF_STRING ? sizeof(uint64_t) : value_size(entry->type);
	if (count > (cursor->size - cursor->position) / smallest)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: the value of %.*s is longer than the file",
		                   NAME(entry->key));
	entry->count = (size_t)count;
	entry->data = cursor->bytes + cursor->position;
	if (type == GGUF_STRING) {
		struct gguf_string ignored;
		for (size_t i = 0; i < entry->count; i++)
			if (!take_gguf_string(cursor, STRING_MAX, &ignored))
				return status_fail(
				    error, CUTTLE_MODEL,
				    "GGUF: a string of %.*s is cut off or longer than 1 MiB",
				    NAME(entry->key));
		return CUTTLE_OK;
	}
	skip_bytes(cursor, entry->count * smallest);
	if (type == GGUF_BOOL)
		for (size_t i = 0; i < entry->count; i++)
			if (entry->data[i] > 1)
				return status_fail(error, CUTTLE_MODEL,
				                   "GGUF: a truth value of %.*s is neither 0 nor 1",
				                   NAME(entry->key));
	return CUTTLE_OK;
}

static enum cuttle_status parse_entries(struct cursor *cursor, struct gguf *file,
                                        struct cuttle_error *error) {
	for (size_t i = 0; i < file->entry_count; i++) {
		const size_t start = cursor->position;
		enum cuttle_status status = parse_entry(cursor, &file->entries[i], error);
		if (status) return status;
		file->entries[i].whole = (struct gguf_string){(const char *)cursor->bytes + start,
		                                              cursor->position - start};
		file->entries_by_key[i] = &file->entries[i];
	}
	qsort(file->entries_by_key, file->entry_count, sizeof *file->entries_by_key,
	      compare_entries);
	for (size_t i = 1; i < file->entry_count; i++)
		if (!compare_entries(&file->entries_by_key[i - 1], &file->entries_by_key[i]))
			return status_fail(error, CUTTLE_MODEL, "GGUF: key %.*s stands twice",
			                   NAME(file->entries_by_key[i]->key));
	return CUTTLE_OK;
}

const char *gguf_type_name(uint32_t type) {
	static const char *const names[] = {
	    [0] = "F32",     [1] = "F16",      [2] = "Q4_0",   [3] = "Q4_1",    [6] = "Q5_0",
	    [7] = "Q5_1",    [8] = "Q8_0",     [9] = "Q8_1",   [10] = "Q2_K",   [11] = "Q3_K",
	    [12] = "Q4_K",   [13] = "Q5_K",    [14] = "Q6_K",  [15] = "Q8_K",   [16] = "IQ2_XXS",
	    [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S", [20] = "IQ4_NL", [21] = "IQ3_S",
	    [22] = "IQ2_S",  [23] = "IQ4_XS",  [24] = "I8",    [25] = "I16",    [26] = "I32",
	    [27] = "I64",    [28] = "F64",     [29] = "IQ1_M", [30] = "BF16",   [34] = "TQ1_0",
	    [35] = "TQ2_0",  [39] = "MXFP4",
	};
	return type < sizeof names / sizeof *names ? names[type] : NULL;
}

// Block layouts: ggml-common.h.
bool gguf_tensor_block(uint32_t type, uint64_t *elements, uint64_t *bytes) {
	static const uint16_t blocks[GGUF_TENSOR_TYPES][2] = {
	    [GGUF_TENSOR_F32] = {1, 4},        [GGUF_TENSOR_F16] = {1, 2},
	    [GGUF_TENSOR_BF16] = {1, 2},       [GGUF_TENSOR_Q4_0] = {32, 18},
	    [GGUF_TENSOR_Q4_1] = {32, 20},     [GGUF_TENSOR_Q5_0] = {32, 22},
	    [GGUF_TENSOR_Q5_1] = {32, 24},     [GGUF_TENSOR_Q8_0] = {32, 34},
	    [GGUF_TENSOR_IQ4_NL] = {32, 18},   [GGUF_TENSOR_Q2_K] = {256, 84},
	    [GGUF_TENSOR_Q3_K] = {256, 110},   [GGUF_TENSOR_Q4_K] = {256, 144},
	    [GGUF_TENSOR_Q5_K] = {256, 176},   [GGUF_TENSOR_Q6_K] = {256, 210},
	    [GGUF_TENSOR_IQ4_XS] = {256, 136},
	};
	if (type >= GGUF_TENSOR_TYPES || !blocks[type][0]) return false;
	*elements = blocks[type][0];
	*bytes = blocks[type][1];
	return true;
}

/* Reads one tensor's description. *offset is where its data begin, counted from the first tensor's
 * data; where those begin is not known yet. */
static enum cuttle_status parse_tensor(struct cursor *cursor, struct gguf_tensor *tensor,
                                       uint64_t *offset, struct cuttle_error *error) {
	if (!take_gguf_string(cursor, NAME_MAX_BYTES, &tensor->name) || !is_printable(tensor->name))
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: a tensor's name is cut off, longer than 64 bytes, empty "
		                   "or not printable");
	if (!take_bytes(cursor, &tensor->dimensions, sizeof tensor->dimensions))
		return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s is cut off",
		                   NAME(tensor->name));
	if (tensor->dimensions < 1 || tensor->dimensions > 4)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: tensor %.*s does not have 1 to 4 dimensions",
		                   NAME(tensor->name));
	for (uint32_t i = 0; i < 4; i++) tensor->shape[i] = 1;
	if (!take_bytes(cursor, tensor->shape, tensor->dimensions * sizeof *tensor->shape) ||
	    !take_bytes(cursor, &tensor->type, sizeof tensor->type) ||
	    !take_bytes(cursor, offset, sizeof *offset))
		return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s is cut off",
		                   NAME(tensor->name));

	uint64_t block_elements, block_bytes, elements = 1, bytes;
	if (!gguf_tensor_block(tensor->type, &block_elements, &block_bytes)) {
		const char *type = gguf_type_name(tensor->type);
		if (type)
			return status_fail(
			    error, CUTTLE_MODEL,
			    "tensor %.*s has type %s, which cuttle does not read yet",
			    NAME(tensor->name), type);
		return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s has unknown type %u",
		                   NAME(tensor->name), (unsigned)tensor->type);
	}
	for (uint32_t i = 0; i < tensor->dimensions; i++)
		if (!tensor->shape[i] ||
		    __builtin_mul_overflow(elements, tensor->shape[i], &elements))
			return status_fail(error, CUTTLE_MODEL,
			                   "GGUF: tensor %.*s has an impossible shape",
			                   NAME(tensor->name));
	if (tensor->shape[0] % block_elements)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: the rows of tensor %.*s are not whole blocks",
		                   NAME(tensor->name));
	if (__builtin_mul_overflow(elements / block_elements, block_bytes, &bytes) ||
	    bytes > SIZE_MAX)
		return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s has an impossible shape",
		                   NAME(tensor->name));
	tensor->bytes = (size_t)bytes;
	return CUTTLE_OK;
}

/* Sorts the tensors by name. */
static enum cuttle_status sort_tensors(struct gguf *file, struct cuttle_error *error) {
	for (size_t i = 0; i < file->tensor_count; i++)
		file->tensors_by_name[i] = &file->tensors[i];
	qsort(file->tensors_by_name, file->tensor_count, sizeof *file->tensors_by_name,
	      compare_tensors);
	for (size_t i = 1; i < file->tensor_count; i++)
		if (!compare_tensors(&file->tensors_by_name[i - 1], &file->tensors_by_name[i]))
			return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s stands twice",
			                   NAME(file->tensors_by_name[i]->name));
	return CUTTLE_OK;
}

static enum cuttle_status place_tensors(const struct cursor *cursor, struct gguf *file,
                                        const uint64_t *offsets, uint64_t alignment,
                                        struct cuttle_error *error) {
	size_t start = cursor->position,
	       padding = (size_t)((alignment - start % alignment) % alignment);
	if (padding > cursor->whole - start)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: the file ends before the tensors' data");
	start += padding;
	size_t available = cursor->whole - start;
	for (size_t i = 0; i < file->tensor_count; i++) {
		struct gguf_tensor *tensor = &file->tensors[i];
		if (offsets[i] % alignment)
			return status_fail(error, CUTTLE_MODEL, "GGUF: tensor %.*s is not aligned",
			                   NAME(tensor->name));
		if (offsets[i] > available || tensor->bytes > available - offsets[i])
			return status_fail(error, CUTTLE_MODEL,
			                   "GGUF: tensor %.*s lies outside the file",
			                   NAME(tensor->name));
		tensor->data = cursor->bytes + start + offsets[i];
		file->tensors_by_name[i] = tensor;
	}
	// Sorted by place at first, so that each tensor is next to the one that it might overlap.
	qsort(file->tensors_by_name, file->tensor_count, sizeof *file->tensors_by_name,
	      compare_tensor_places);
	for (size_t i = 1; i < file->tensor_count; i++) {
		const struct gguf_tensor *previous = file->tensors_by_name[i - 1],
		                         *next = file->tensors_by_name[i];
		if (previous->bytes > (size_t)(next->data - previous->data))
			return status_fail(error, CUTTLE_MODEL,
			                   "GGUF: tensors %.*s and %.*s overlap",
			                   NAME(previous->name), NAME(next->name));
	}
	return sort_tensors(file, error);
}

/* Reads which part of a model the file is. */
static enum cuttle_status read_split(struct gguf *file, struct cuttle_error *error) {
	file->parts = 1;
	enum cuttle_status status = gguf_unsigned(file, "split.no", false, &file->part, error);
	if (!status) status = gguf_unsigned(file, "split.count", false, &file->parts, error);
	if (status) return status;
	if (!file->parts || file->parts > PARTS_MOST || file->part >= file->parts)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: split.count must be 1 to %d, and split.no below it",
		                   PARTS_MOST);
	if (file->parts == 1) return CUTTLE_OK;
	status = gguf_unsigned(file, "split.tensors.count", true, &file->tensors_of_all, error);
	if (!status && (!file->tensors_of_all || file->tensors_of_all > COUNT_MAX))
		return status_fail(error, CUTTLE_MODEL, "GGUF: split.tensors.count is not 1 to %d",
		                   COUNT_MAX);
	return status;
}

static enum cuttle_status parse_tensors(struct cursor *cursor, struct gguf *file,
                                        struct cuttle_error *error) {
	uint64_t alignment = ALIGNMENT_DEFAULT;
	enum cuttle_status status =
	    gguf_unsigned(file, "general.alignment", false, &alignment, error);
	if (status) return status;
	if (alignment < 8 || alignment > ALIGNMENT_MAX || (alignment & (alignment - 1)))
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: general.alignment is not a power of two from 8 to 65536");
	if (!file->tensor_count) return CUTTLE_OK;

	uint64_t *offsets = calloc(file->tensor_count, sizeof *offsets);
	if (!offsets) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < file->tensor_count && !status; i++)
		status = parse_tensor(cursor, &file->tensors[i], &offsets[i], error);
	if (!status) status = place_tensors(cursor, file, offsets, alignment, error);
	free(offsets);
	return status;
}

bool gguf_begins(const char magic[4]) {
	return !memcmp(magic, "GGUF", 4);
}

static enum cuttle_status parse_header(struct cursor *cursor, struct gguf *file,
                                       struct cuttle_error *error) {
	char magic[4] = {0};
	uint32_t version;
	uint64_t tensors, entries;
	if (!take_bytes(cursor, magic, sizeof magic) || !gguf_begins(magic))
		return status_fail(error, CUTTLE_MODEL, "this is not a GGUF file");
	if (!take_bytes(cursor, &version, sizeof version))
		return status_fail(error, CUTTLE_MODEL, "GGUF: the header is cut off");
	if (version == 0x02000000 || version == 0x03000000)
		return status_fail(error, CUTTLE_MODEL, "GGUF: the file is big-endian");
	if (version != 2 && version != 3)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: version %u is not supported, only 2 and 3",
		                   (unsigned)version);
	if (!take_bytes(cursor, &tensors, sizeof tensors) ||
	    !take_bytes(cursor, &entries, sizeof entries))
		return status_fail(error, CUTTLE_MODEL, "GGUF: the header is cut off");
	size_t left = cursor->whole - cursor->position;
	if (entries > left / KEY_VALUE_MIN ||
	    tensors > (left - (size_t)entries * KEY_VALUE_MIN) / TENSOR_MIN)
		return status_fail(
		    error, CUTTLE_MODEL,
		    "GGUF: the header announces more keys or tensors than the file can hold");
	if (entries > COUNT_MAX || tensors > COUNT_MAX)
		return status_fail(error, CUTTLE_MODEL,
		                   "GGUF: the file has more than %d keys or tensors", COUNT_MAX);
	file->entry_count = (size_t)entries;
	file->announced = (size_t)tensors;
	return CUTTLE_OK;
}

static enum cuttle_status parse_file(struct cursor cursor, bool tensors, struct gguf **file,
                                     struct cuttle_error *error) {
	REQUIRE(file);
	REQUIRE(cursor.bytes || !cursor.size);
	*file = NULL;
	struct gguf *parsed = calloc(1, sizeof *parsed);
	if (!parsed) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = parse_header(&cursor, parsed, error);
	if (!status) {
		if (tensors) parsed->tensor_count = parsed->announced;
		// One more than needed: calloc(0) may return NULL, and qsort must not see NULL.
		parsed->entries = calloc(parsed->entry_count + 1, sizeof *parsed->entries);
		parsed->entries_by_key =
		    calloc(parsed->entry_count + 1, sizeof *parsed->entries_by_key);
		parsed->tensors = calloc(parsed->tensor_count + 1, sizeof *parsed->tensors);
		parsed->tensors_by_name =
		    calloc(parsed->tensor_count + 1, sizeof *parsed->tensors_by_name);
		if (!parsed->entries || !parsed->entries_by_key || !parsed->tensors ||
		    !parsed->tensors_by_name)
			status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!status) status = parse_entries(&cursor, parsed, error);
	if (!status) status = read_split(parsed, error);
	if (!status && tensors) status = parse_tensors(&cursor, parsed, error);
	if (status) gguf_free(&parsed);
	*file = parsed;
	return status;
}

enum cuttle_status gguf_parse(const uint8_t *bytes, size_t size, struct gguf **file,
                              struct cuttle_error *error) {
	return gguf_parse_beginning(bytes, size, size, file, error);
}

enum cuttle_status gguf_parse_beginning(const uint8_t *bytes, size_t held, size_t size,
                                        struct gguf **file, struct cuttle_error *error) {
	return gguf_parse_parts(bytes, &(struct gguf_part){size, held}, 1, file, error);
}

/* Compares what a part says of itself with its place: part `index` of `count`. */
static enum cuttle_status check_part(const struct gguf *first, const struct gguf *part,
                                     size_t index, size_t count, struct cuttle_error *error) {
	if (count == 1 && part->parts > 1)
		return status_fail(error, CUTTLE_MODEL,
		                   "this is part %u of %u of a model: name the first "
		                   "NAME-00001-of-%05u.gguf, with the others beside it",
		                   (unsigned)part->part + 1, (unsigned)part->parts,
		                   (unsigned)part->parts);
	if (part->parts != count || part->part != index)
		return status_fail(error, CUTTLE_MODEL,
		                   "by its name part %zu of %zu, but by split.no and split.count "
		                   "part %u of %u",
		                   index + 1, count, (unsigned)part->part + 1,
		                   (unsigned)part->parts);
	if (part->tensors_of_all != first->tensors_of_all)
		return status_fail(error, CUTTLE_MODEL,
		                   "this is of another model: split.tensors.count is %u, not %u",
		                   (unsigned)part->tensors_of_all, (unsigned)first->tensors_of_all);
	return CUTTLE_OK;
}

/* Puts the tensors of a part behind those of the first. */
static enum cuttle_status join_part(struct gguf *first, const struct gguf *part,
                                    struct cuttle_error *error) {
	const size_t held = first->tensor_count, count = held + part->tensor_count;
	if (count > first->tensors_of_all)
		return status_fail(error, CUTTLE_MODEL,
		                   "there are more tensors than the split.tensors.count of %u",
		                   (unsigned)first->tensors_of_all);
	struct gguf_tensor *tensors = realloc(first->tensors, (count + 1) * sizeof *tensors);
	if (!tensors) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	first->tensors = tensors;
	const struct gguf_tensor **sorted =
	    realloc(first->tensors_by_name, (count + 1) * sizeof *sorted);
	if (!sorted) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	first->tensors_by_name = sorted;
	memcpy(tensors + held, part->tensors, part->tensor_count * sizeof *tensors);
	first->tensor_count = count;
	return sort_tensors(first, error);
}

/* Parses a part, compares and joins it. The first becomes *file. */
static enum cuttle_status add_parsed_part(struct cursor cursor, size_t index, size_t count,
                                          struct gguf **file, struct cuttle_error *error) {
	struct gguf *part;
	enum cuttle_status status = parse_file(cursor, true, &part, error);
	if (status) return status;
	if (!index) *file = part;
	status = check_part(*file, part, index, count, error);
	if (!index) return status;
	if (!status) status = join_part(*file, part, error);
	gguf_free(&part);
	return status;
}

enum cuttle_status gguf_parse_parts(const uint8_t *bytes, const struct gguf_part *parts,
                                    size_t count, struct gguf **file, struct cuttle_error *error) {
	struct cuttle_error reason = {""};
	enum cuttle_status status = CUTTLE_OK;
	REQUIRE(file && count);
	*file = NULL;
	for (size_t i = 0; i < count && !status; i++) {
		const struct cursor cursor = {
		    .bytes = bytes, .size = parts[i].held, .whole = parts[i].size};
		status = add_parsed_part(cursor, i, count, file, &reason);
		if (status)
			(void)(count > 1 ? status_fail(error, status, "part %zu of %zu: %s", i + 1,
			                               count, reason.message)
			                 : status_fail(error, status, "%s", reason.message));
		if (bytes) bytes += parts[i].size;
	}
	if (!status && count > 1 && (*file)->tensor_count != (*file)->tensors_of_all)
		status = status_fail(error, CUTTLE_MODEL,
		                     "the parts have %zu tensors, and split.tensors.count is %u",
		                     (*file)->tensor_count, (unsigned)(*file)->tensors_of_all);
	if (status) gguf_free(file);
	return status;
}

enum cuttle_status gguf_parse_keys(const uint8_t *bytes, size_t held, size_t size,
                                   struct gguf **file, struct cuttle_error *error) {
	return parse_file((struct cursor){.bytes = bytes, .size = held, .whole = size}, false, file,
	                  error);
}

size_t gguf_tensors_announced(const struct gguf *file) {
	return file->parts > 1 ? (size_t)file->tensors_of_all : file->announced;
}

void gguf_free(struct gguf **file) {
	REQUIRE(file);
	if (!*file) return;
	free((*file)->entries);
	free((*file)->entries_by_key);
	free((*file)->tensors);
	free((*file)->tensors_by_name);
	free(*file);
	*file = NULL;
}

size_t gguf_tensor_count(const struct gguf *file) {
	return file->tensor_count;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *file, size_t index) {
	REQUIRE(index < file->tensor_count);
	return &file->tensors[index];
}

const struct gguf_tensor *gguf_tensor_find(const struct gguf *file, const char *name) {
	const struct gguf_tensor wanted = {.name = {name, strlen(name)}}, *key = &wanted;
	const struct gguf_tensor *const *found =
	    bsearch(&key, file->tensors_by_name, file->tensor_count, sizeof *file->tensors_by_name,
	            compare_tensors);
	return found ? *found : NULL;
}

static const struct metadata_entry *find_metadata_entry(const struct gguf *file, const char *name) {
	const struct metadata_entry wanted = {.key = {name, strlen(name)}}, *key = &wanted;
	const struct metadata_entry *const *found =
	    bsearch(&key, file->entries_by_key, file->entry_count, sizeof *file->entries_by_key,
	            compare_entries);
	return found ? *found : NULL;
}

bool gguf_has(const struct gguf *file, const char *key) {
	return find_metadata_entry(file, key) != NULL;
}

size_t gguf_entry_count(const struct gguf *file) {
	return file->entry_count;
}

struct gguf_string gguf_entry_at(const struct gguf *file, size_t index, struct gguf_string *key) {
	REQUIRE(index < file->entry_count);
	*key = file->entries[index].key;
	return file->entries[index].whole;
}

static enum cuttle_status report_absent(const char *key, bool required,
                                        struct cuttle_error *error) {
	return required ? status_fail(error, CUTTLE_MODEL, "the model file lacks %s", key)
	                : CUTTLE_OK;
}

static enum cuttle_status report_wrong_type(const struct metadata_entry *entry, const char *wanted,
                                            struct cuttle_error *error) {
	return status_fail(error, CUTTLE_MODEL, "%.*s is %s %s, not %s", NAME(entry->key),
	                   entry->is_array ? "an array of" : "of type",
	                   value_type_name(entry->type), wanted);
}

/* Reads element number `index` as an unsigned number. False for negative numbers and for types that
 * are not integers. */
static bool read_unsigned(const struct metadata_entry *entry, size_t index, uint64_t *value) {
	const uint8_t *place = entry->data + index * value_size(entry->type);
	int64_t number = 0;
	switch (entry->type) {
	case GGUF_U8:
		number = *place;
		break;
	case GGUF_I8:
		number = (int8_t)*place;
		break;
	case GGUF_U16:
		number = (uint16_t)(place[0] | place[1] << 8);
		break;
	case GGUF_I16:
		number = (int16_t)(place[0] | place[1] << 8);
		break;
	case GGUF_U32:
		memcpy(&number, place, 4);
		break;
	case GGUF_I32: {
		int32_t narrow;
		memcpy(&narrow, place, 4);
		number = narrow;
		break;
	}
	case GGUF_U64:
		memcpy(value, place, 8);
		return true;
	case GGUF_I64:
		memcpy(&number, place, 8);
		break;
	default:
		return false;
	}
	*value = (uint64_t)number;
	return number >= 0;
}

enum cuttle_status gguf_unsigned(const struct gguf *file, const char *key, bool required,
                                 uint64_t *value, struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	uint64_t first = 0, other;
	if (!entry->count || !read_unsigned(entry, 0, &first))
		return report_wrong_type(entry, "a non-negative integer", error);
	for (size_t i = 1; i < entry->count; i++)
		if (!read_unsigned(entry, i, &other) || other != first)
			return status_fail(
			    error, CUTTLE_MODEL,
			    "%s differs between layers, which cuttle does not support", key);
	*value = first;
	return CUTTLE_OK;
}

enum cuttle_status gguf_float(const struct gguf *file, const char *key, bool required,
                              double *value, struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (entry->is_array || (entry->type != GGUF_F32 && entry->type != GGUF_F64))
		return report_wrong_type(entry, "f32", error);
	float narrow;
	if (entry->type == GGUF_F64) {
		memcpy(value, entry->data, sizeof *value);
	} else {
		memcpy(&narrow, entry->data, sizeof narrow);
		*value = (double)narrow;
	}
	return CUTTLE_OK;
}

enum cuttle_status gguf_bool(const struct gguf *file, const char *key, bool required, bool *value,
                             struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (entry->is_array || entry->type != GGUF_BOOL)
		return report_wrong_type(entry, "bool", error);
	*value = *entry->data == 1;
	return CUTTLE_OK;
}

/* Returns the string whose length prefix is at *place, and moves *place to its end. Lengths were
 * checked when the file was parsed. */
static struct gguf_string read_stored_string(const uint8_t **place) {
	uint64_t size;
	memcpy(&size, *place, sizeof size);
	struct gguf_string string = {(const char *)*place + sizeof size, (size_t)size};
	*place += sizeof size + string.size;
	return string;
}

enum cuttle_status gguf_text(const struct gguf *file, const char *key, bool required,
                             struct gguf_string *value, struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (entry->is_array || entry->type != GGUF_STRING)
		return report_wrong_type(entry, "string", error);
	const uint8_t *place = entry->data;
	*value = read_stored_string(&place);
	return CUTTLE_OK;
}

enum cuttle_status gguf_strings(const struct gguf *file, const char *key, bool required,
                                struct gguf_string **values, size_t *count,
                                struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (!entry->is_array || entry->type != GGUF_STRING)
		return report_wrong_type(entry, "an array of strings", error);
	struct gguf_string *strings = calloc(entry->count + 1, sizeof *strings);
	if (!strings) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const uint8_t *place = entry->data;
	for (size_t i = 0; i < entry->count; i++) strings[i] = read_stored_string(&place);
	*values = strings;
	*count = entry->count;
	return CUTTLE_OK;
}

enum cuttle_status gguf_floats(const struct gguf *file, const char *key, bool required,
                               float **values, size_t *count, struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (!entry->is_array || entry->type != GGUF_F32)
		return report_wrong_type(entry, "an array of f32", error);
	float *floats = calloc(entry->count + 1, sizeof *floats);
	if (!floats) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	memcpy(floats, entry->data, entry->count * sizeof *floats);
	*values = floats;
	*count = entry->count;
	return CUTTLE_OK;
}

enum cuttle_status gguf_ints(const struct gguf *file, const char *key, bool required,
                             int32_t **values, size_t *count, struct cuttle_error *error) {
	const struct metadata_entry *entry = find_metadata_entry(file, key);
	if (!entry) return report_absent(key, required, error);
	if (!entry->is_array || (entry->type != GGUF_I32 && entry->type != GGUF_U32))
		return report_wrong_type(entry, "an array of 32-bit integers", error);
	int32_t *ints = calloc(entry->count + 1, sizeof *ints);
	if (!ints) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	memcpy(ints, entry->data, entry->count * sizeof *ints);
	if (entry->type == GGUF_U32)
		for (size_t i = 0; i < entry->count; i++)
			if (ints[i] < 0) {
				free(ints);
				return status_fail(error, CUTTLE_MODEL,
				                   "%s holds a number above 2^31-1", key);
			}
	*values = ints;
	*count = entry->count;
	return CUTTLE_OK;
}
