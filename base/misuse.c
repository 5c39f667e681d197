// SPDX-License-Identifier: Apache-2.0
// misuse.c: see misuse.h.
#include "base/misuse.h"

#include <stdio.h>
#include <stdlib.h>

static void (*misuse_hook)(const char *what);

void cuttle_misuse_hook(void (*hook)(const char *what)) {
	misuse_hook = hook;
}

_Noreturn void cuttle_misuse(const char *what) {
	if (misuse_hook) misuse_hook(what);
	fprintf(stderr, "cuttle: caller bug: %s\n", what);
	abort();
}
