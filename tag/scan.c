// SPDX-License-Identifier: Apache-2.0
// Words as scan.h compares them, for the scanners of all types. They stand apart from tag/rules.c,
// which calls the scanners: no two files call each other.
#include "tag/scan.h"

size_t match_word(const struct tag_text *text, size_t at, const char *word) {
	size_t length = 0;
	for (; word[length]; length++) {
		const unsigned char byte = byte_at(text, at + length);
		if ((is_ascii_letter(byte) ? byte | 0x20 : byte) != (unsigned char)word[length])
			return 0;
	}
	return letter_at(text, at + length) ? 0 : length;
}

size_t match_words(const struct tag_text *text, size_t at, const char *const words[]) {
	size_t length = 0;
	for (size_t i = 0; !length && words[i]; i++) length = match_word(text, at, words[i]);
	return length;
}
