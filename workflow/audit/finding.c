// SPDX-License-Identifier: Apache-2.0
// A list, see finding.h.
#include "workflow/audit/finding.h"

#include "base/misuse.h"
#include <math.h>
#include <string.h>

void finding_add(struct audit_game *game, const char *key, const char *words, double value,
                 int digits) {
	REQUIRE(game->count < AUDIT_NUMBERS);
	game->numbers[game->count++] = (struct audit_number){key, words, value, digits};
}

void finding_bound(struct audit_game *game, double likely, double sure, double most,
                   double refutes) {
	game->bounded = true;
	game->likely = likely;
	game->sure = sure;
	game->most = most;
	game->refutes = refutes;
}

double finding_number(const struct audit_game *game, const char *key) {
	for (size_t i = 0; i < game->count; i++)
		if (!strcmp(game->numbers[i].key, key)) return game->numbers[i].value;
	return NAN;
}
