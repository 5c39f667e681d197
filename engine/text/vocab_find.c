// SPDX-License-Identifier: Apache-2.0
// Sorts a vocabulary's texts, and finds one by binary search. There is no hash table, so a hostile
// file cannot make texts collide. Most steps compare the first eight bytes as one number. Only
// texts that agree in those are compared to their ends.
#include "engine/text/vocab_internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* The first eight bytes as one number, the first byte highest, with zeros behind a shorter text:
 * "ab" gives 0x6162000000000000. Two different numbers are in the same order as their texts. */
static uint64_t head_of(struct gguf_string string) {
	uint64_t head = 0;
	if (string.size >= sizeof head) {
		memcpy(&head, string.text, sizeof head);
		return be64toh(head);
	}
	for (size_t i = 0; i < string.size; i++)
		head |= (uint64_t)(unsigned char)string.text[i] << (56 - 8 * i);
	return head;
}

static int compare_bytes(struct gguf_string a, struct gguf_string b) {
	const size_t shorter = a.size < b.size ? a.size : b.size;
	const int order = memcmp(a.text, b.text, shorter);
	return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Orders by text; of equal texts, the highest id comes first. */
static int compare_texts(const void *a, const void *b) {
	const struct vocab_text *left = a, *right = b;
	if (left->head != right->head) return left->head < right->head ? -1 : 1;
	const int order = compare_bytes(left->text, right->text);
	return order ? order : (left->id < right->id) - (left->id > right->id);
}

bool vocab_sort(struct vocab *vocab) {
	vocab->by_text = calloc(vocab->size, sizeof *vocab->by_text);
	if (!vocab->by_text) return false;
	size_t count = 0;
	for (size_t i = 0; i < vocab->size; i++) {
		const struct gguf_string text = vocab->tokens[i].text;
		if (text.size)
			vocab->by_text[count++] =
			    (struct vocab_text){head_of(text), text, (int32_t)i};
		if (text.size > vocab->longest) vocab->longest = text.size;
	}
	qsort(vocab->by_text, count, sizeof *vocab->by_text, compare_texts);
	// Of tokens with the same text, only the one with the highest id can be found, as in
	// llama.cpp.
	for (size_t i = 0; i < count; i++)
		if (!vocab->text_count || compare_bytes(vocab->by_text[vocab->text_count - 1].text,
		                                        vocab->by_text[i].text))
			vocab->by_text[vocab->text_count++] = vocab->by_text[i];
	return true;
}

int32_t vocab_find(const struct vocab *vocab, const char *text, size_t size) {
	if (!size || size > vocab->longest) return -1;
	const struct gguf_string wanted = {text, size};
	const uint64_t head = head_of(wanted);
	size_t low = 0, high = vocab->text_count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct vocab_text *there = &vocab->by_text[middle];
		if (there->head < head ||
		    (there->head == head && compare_bytes(there->text, wanted) < 0))
			low = middle + 1;
		else high = middle;
	}
	if (low == vocab->text_count || vocab->by_text[low].head != head ||
	    compare_bytes(vocab->by_text[low].text, wanted))
		return -1;
	return vocab->by_text[low].id;
}
