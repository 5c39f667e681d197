// SPDX-License-Identifier: Apache-2.0
// The settings of published tables, as options of cuttle generate: --preset table2-amin-127-10.
// tools/generate.c calls it before it reads the options, which come on top. No private data.
#ifndef CUTTLE_TOOLS_COMMON_PRESETS_H
#define CUTTLE_TOOLS_COMMON_PRESETS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PRESET_WORDS = 32, /* options of a preset with their values, at most */
	PRESET_TEXT = 320  /* bytes of all of them */
};

/* A preset's options: words[0] is the verb, words[count] NULL. They point into text. */
struct preset {
	char *words[PRESET_WORDS];
	int count;
	char text[PRESET_TEXT];
};

/* Reads a name such as table2-ink-7-10. False: there is no such preset. */
bool preset_read(const char *name, struct preset *preset);

#endif
