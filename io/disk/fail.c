// SPDX-License-Identifier: Apache-2.0
// How a message is made safe to show: see fail.h.
#include "io/disk/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum cuttle_status io_fail(struct cuttle_error *error, enum cuttle_status status,
                           const char *format, ...) {
	if (!error) return status;
	va_list arguments;
	va_start(arguments, format);
	int wanted = vsnprintf(error->message, sizeof error->message, format, arguments);
	va_end(arguments);
	size_t size = strlen(error->message);
	// vsnprintf may have cut inside a UTF-8 character of a path. Drop the last character: its
	// continuation bytes (10xxxxxx), then its first byte (11xxxxxx).
	if (wanted >= (int)sizeof error->message) {
		while (size && ((unsigned char)error->message[size - 1] & 0xC0) == 0x80) size--;
		if (size && (unsigned char)error->message[size - 1] >= 0xC0) size--;
		error->message[size] = 0;
	}
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)error->message[i] < 0x20 || error->message[i] == 0x7F)
			error->message[i] = '?';
	return status;
}
