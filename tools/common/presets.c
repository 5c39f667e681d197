// SPDX-License-Identifier: Apache-2.0
// See presets.h. A name is a row of the table with a batch and an epsilon: table2-ink-7-10.
#include "tools/common/presets.h"

#include <stdio.h>
#include <string.h>

/* Settings of InvisibleInk's Table 2 (MIMIC, TinyLlama) and Tables 8 to 10. Where the paper tuned
 * the temperature and does not say which one a cell has, the one that its figure 8 finds best. */
static const struct {
	const char *name;
	unsigned batches[3];
	const char *options;
} ROWS[] = {
    {"table2-ink",
     {3, 7, 15},
     "-k 50 --temperature 1.2 -n 500 --delta 1e-6 --accountant zcdp --center none --gain 1 --lots "
     "off"},
    {"table2-ink-all",
     {3, 7, 15},
     "-k 0 --temperature 1.1 -n 500 --delta 1e-6 --accountant zcdp --center none --gain 1 --lots "
     "off"},
    {"table2-amin",
     {31, 63, 127},
     "--method amin -k 0 --temperature 1 --temperature-public 1 --units 100 --svt-noise 0.3 "
     "--svt-threshold 0.7 -n 500 --delta 1e-6 --accountant zcdp"},
};
static const unsigned EPSILONS[] = {1, 3, 5, 10};

static void split_words(struct preset *preset) {
	char *word = preset->text;
	preset->count = 0;
	while (word && preset->count < PRESET_WORDS - 1) {
		preset->words[preset->count++] = word;
		word = strchr(word, ' ');
		if (word) *word++ = 0;
	}
	preset->words[preset->count] = NULL;
}

bool preset_read(const char *name, struct preset *preset) {
	char made[64];
	for (size_t row = 0; row < sizeof ROWS / sizeof *ROWS; row++)
		for (size_t b = 0; b < sizeof ROWS->batches / sizeof *ROWS->batches; b++)
			for (size_t e = 0; e < sizeof EPSILONS / sizeof *EPSILONS; e++) {
				(void)snprintf(made, sizeof made, "%s-%u-%u", ROWS[row].name,
				               ROWS[row].batches[b], EPSILONS[e]);
				if (strcmp(name, made) != 0) continue;
				(void)snprintf(preset->text, sizeof preset->text,
				               "generate -B %u -e %u %s", ROWS[row].batches[b],
				               EPSILONS[e], ROWS[row].options);
				split_words(preset);
				return true;
			}
	return false;
}
