// SPDX-License-Identifier: Apache-2.0
// gpt2_bytes.h: GPT-2's byte alphabet: a printable character for each byte, so that a vocabulary's
// texts can be written in a file. Source: openai/gpt-2, encoder.py, bytes_to_unicode.
// Bytes of private texts pass through.
// Example: a space is U+0120 "Ġ", so " the" is stored as "Ġthe".
#ifndef CUTTLE_ENGINE_GPT2_BYTES_H
#define CUTTLE_ENGINE_GPT2_BYTES_H

#include <stdint.h>

/* The character that stands for this byte: U+0021 to U+0143. */
uint32_t gpt2_letter(unsigned char byte);

/* The byte that this character stands for, 0 .. 255; -1 = it is not in the alphabet. */
int gpt2_byte(uint32_t letter);

#endif
