// SPDX-License-Identifier: Apache-2.0
// tokens.h: a list of token numbers, as contexts and prompts are made of.
// Private data: a list may be that of a private context. Its owner keeps it in memory that is
// wiped.
#ifndef CUTTLE_ENGINE_TOKENS_H
#define CUTTLE_ENGINE_TOKENS_H

#include <stddef.h>
#include <stdint.h>

struct tokens {
	int32_t *ids; /* [count] */
	size_t count;
};

#endif
