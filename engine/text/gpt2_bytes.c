// SPDX-License-Identifier: Apache-2.0
// gpt2_bytes.c: the alphabet of gpt2_bytes.h. Bytes that print stand for themselves. The others
// take the characters from U+0100 on in their order: 0x00-0x20, then 0x7f-0xa0, then 0xad.
#include "engine/text/gpt2_bytes.h"

uint32_t gpt2_letter(unsigned char byte) {
	if ((byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad)) return byte;
	if (byte <= 0x20) return 0x100u + byte;
	return byte == 0xad ? 0x143 : 0x121u + (byte - 0x7fu);
}

int gpt2_byte(uint32_t letter) {
	if (letter >= 0x100 && letter <= 0x120) return (int)(letter - 0x100);
	if (letter >= 0x121 && letter <= 0x142) return (int)(letter - 0x121 + 0x7f);
	if (letter == 0x143) return 0xad;
	return letter < 0x100 && gpt2_letter((unsigned char)letter) == letter ? (int)letter : -1;
}
