// SPDX-License-Identifier: Apache-2.0
// See status.h.
#include "engine/status.h"

#include <stdarg.h>
#include <stdio.h>

enum cuttle_status status_fail(struct cuttle_error *error, enum cuttle_status status,
                               const char *format, ...) {
	if (!error) return status;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof error->message, format, arguments);
	va_end(arguments);
	// A hostile model file may hold names with escape sequences, which a terminal would obey.
	for (char *c = error->message; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
	return status;
}
