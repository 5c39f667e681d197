// SPDX-License-Identifier: Apache-2.0
// What the engine knows of Unicode: the character classes that pre-tokenizers ask for. No run-time dependency.
#ifndef CUTTLE_ENGINE_UNICODE_H
#define CUTTLE_ENGINE_UNICODE_H

#include "base/utf8.h"

enum unicode_class {
	UNICODE_OTHER,
	UNICODE_LETTER,     /* general categories Lu Ll Lt Lm Lo: \p{L} */
	UNICODE_NUMBER,     /* Nd Nl No: \p{N} */
	UNICODE_SPACE,      /* property White_Space, U+0085 included: \s */
	UNICODE_PUNCTUATION /* Pc Pd Ps Pe Pi Pf Po: \p{P} */
};

/* Class of a code point; OTHER for unassigned ones and for numbers above U+10FFFF. */
enum unicode_class unicode_class(uint32_t code_point);

#endif
