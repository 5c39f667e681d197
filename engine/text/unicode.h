// SPDX-License-Identifier: Apache-2.0
// unicode.h: the character classes that pre-tokenizers ask for. They cut a text into words by them.
// Private text passes through; nothing is kept.
// The classes are in a table in the program, so no library is needed at run time.
#ifndef CUTTLE_ENGINE_UNICODE_H
#define CUTTLE_ENGINE_UNICODE_H

#include "base/utf8.h"

enum unicode_class {
	UNICODE_OTHER,
	UNICODE_LETTER,     /* \p{L}: general categories Lu Ll Lt Lm Lo */
	UNICODE_NUMBER,     /* \p{N}: general categories Nd Nl No */
	UNICODE_SPACE,      /* \s: property White_Space, U+0085 included */
	UNICODE_PUNCTUATION /* \p{P}: general categories Pc Pd Ps Pe Pi Pf Po */
};

/* Returns the class of a code point. OTHER for unassigned ones and for numbers above U+10FFFF. */
enum unicode_class unicode_class(uint32_t code_point);

enum unicode_case {
	UNICODE_NO_CASE,
	UNICODE_UPPER, /* \p{Lu} \p{Lt} */
	UNICODE_LOWER, /* \p{Ll} */
	UNICODE_BOTH   /* \p{Lm} \p{Lo} \p{M}: they stand among capitals and among small letters */
};

/* NO_CASE for all other code points, and for numbers above U+10FFFF. */
enum unicode_case unicode_case(uint32_t code_point);

#endif
