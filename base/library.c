// SPDX-License-Identifier: Apache-2.0
// library.c: see library.h.
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *library, const struct library_function *functions, size_t count) {
	void *const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	bool found = loaded != NULL;
	for (size_t i = 0; i < count && found; i++) {
		void *const function = dlsym(loaded, functions[i].name);
		found = function != NULL;
		memcpy(functions[i].place, &function, sizeof function);
	}
	return found;
}
