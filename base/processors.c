// SPDX-License-Identifier: Apache-2.0
// processors.h says what each function promises. The bits are those of the system's own macros.
#include "base/processors.h"

#include "base/misuse.h"

bool processors_allowed(struct processors *set) {
	const bool known = !sched_getaffinity(0, sizeof *set, set->sets);
	if (!known) *set = (struct processors){0};
	return known;
}

bool processors_have(const struct processors *set, int processor) {
	return processor >= 0 && processor < PROCESSORS_MOST &&
	       CPU_ISSET_S((size_t)processor, sizeof *set, set->sets);
}

void processors_add(struct processors *set, int processor) {
	REQUIRE(processor >= 0 && processor < PROCESSORS_MOST);
	CPU_SET_S((size_t)processor, sizeof *set, set->sets);
}

void processors_remove(struct processors *set, int processor) {
	if (processors_have(set, processor)) CPU_CLR_S((size_t)processor, sizeof *set, set->sets);
}

unsigned processors_count(const struct processors *set) {
	return (unsigned)CPU_COUNT_S(sizeof *set, set->sets);
}
