// SPDX-License-Identifier: Apache-2.0
// The version of build/tests/cuttle_next, which is the command as a later version of the same
// formats would be. The linker takes this function instead of the library's.
#include "engine/cuttle/status.h"

const char *cuttle_version(void) {
	return "0.2.999";
}
