// SPDX-License-Identifier: Apache-2.0
// split_model.c: see split_model.h. Offsets of tensors are counted anew in each part.
#include "tests/support/split_model.h"

#include "base/misuse.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 32 };

struct split_bytes {
	uint8_t *bytes;
	size_t used;
};

static void put_split(struct split_bytes *to, const void *from, size_t size) {
	memcpy(to->bytes + to->used, from, size);
	to->used += size;
}

static void put_split_number(struct split_bytes *to, uint64_t number, size_t size) {
	put_split(to, &number, size);
}

static void put_split_text(struct split_bytes *to, const char *text, size_t size) {
	put_split_number(to, size, 8);
	put_split(to, text, size);
}

static void put_split_key(struct split_bytes *to, const char *key, uint64_t value) {
	put_split_text(to, key, strlen(key));
	put_split_number(to, GGUF_U64, 4);
	put_split_number(to, value, 8);
}

static void pad_split(struct split_bytes *to) {
	while (to->used % ALIGNED) put_split_number(to, 0, 1);
}

static void put_split_table(struct split_bytes *to, const struct gguf *file,
                            const struct split_part *part) {
	uint64_t offset = 0;
	for (size_t i = part->first; i < part->end; i++) {
		const struct gguf_tensor *tensor = gguf_tensor_at(file, i);
		put_split_text(to, tensor->name.text, tensor->name.size);
		put_split_number(to, tensor->dimensions, 4);
		put_split(to, tensor->shape, tensor->dimensions * sizeof *tensor->shape);
		put_split_number(to, tensor->type, 4);
		put_split_number(to, offset, 8);
		offset += (tensor->bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
	}
}

uint8_t *split_model_part(const uint8_t *bytes, size_t size, const struct split_part *part,
                          size_t *part_size) {
	struct cuttle_error error = {""};
	struct gguf *file;
	// Three keys, padding, and the rest as it is in the whole.
	struct split_bytes to = {malloc(size + (part->end - part->first + 1) * ALIGNED + 256), 0};
	REQUIRE(to.bytes && !gguf_parse(bytes, size, &file, &error));
	const size_t keys = part->keys ? gguf_entry_count(file) : 0;
	put_split(&to, "GGUF", 4);
	put_split_number(&to, 3, 4);
	put_split_number(&to, part->end - part->first, 8);
	put_split_number(&to, keys + (part->unsaid ? 0 : 3), 8);
	for (size_t i = 0; i < keys; i++) {
		struct gguf_string key;
		const struct gguf_string entry = gguf_entry_at(file, i, &key);
		put_split(&to, entry.text, entry.size);
	}
	if (!part->unsaid) {
		put_split_key(&to, "split.no", part->number);
		put_split_key(&to, "split.count", part->count);
		put_split_key(&to, "split.tensors.count", part->tensors);
	}
	put_split_table(&to, file, part);
	pad_split(&to);
	for (size_t i = part->first; i < part->end; i++) {
		put_split(&to, gguf_tensor_at(file, i)->data, gguf_tensor_at(file, i)->bytes);
		pad_split(&to);
	}
	gguf_free(&file);
	*part_size = to.used;
	return to.bytes;
}

struct split_part split_model_share(const uint8_t *bytes, size_t size, unsigned number,
                                    unsigned count) {
	struct cuttle_error error = {""};
	struct gguf *file;
	REQUIRE(!gguf_parse(bytes, size, &file, &error));
	const size_t tensors = gguf_tensor_count(file);
	gguf_free(&file);
	return (struct split_part){.number = number,
	                           .count = count,
	                           .tensors = tensors,
	                           .first = tensors * number / count,
	                           .end = tensors * (number + 1) / count,
	                           .keys = !number};
}
