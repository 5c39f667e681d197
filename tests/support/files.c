// SPDX-License-Identifier: Apache-2.0
// Writes, reads and removes whole files for tests; files.h says how.
#include "tests/support/files.h"

#include "base/misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void files_put(const char *path, const void *bytes, size_t size) {
	FILE *file = fopen(path, "wb");
	REQUIRE(file && fwrite(bytes, 1, size, file) == size);
	REQUIRE(fclose(file) == 0);
}

void files_put_new(char *path, const void *bytes, size_t size) {
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	files_put(path, bytes, size);
}

const char *files_data(const char *name, char *room, size_t size) {
	const char *folder = getenv("CUTTLE_DATA");
	const int length =
	    snprintf(room, size, "%s/%s", folder && *folder ? folder : "../shared/data", name);
	REQUIRE(length > 0 && (size_t)length < size);
	return room;
}

size_t files_get(const char *path, void *bytes, size_t room) {
	FILE *file = fopen(path, "rb");
	const size_t size = file ? fread(bytes, 1, room, file) : 0;
	if (file) (void)fclose(file);
	return size;
}

int files_remove(const char *folder, const char *const *names, size_t count) {
	char path[256];
	for (size_t i = 0; i < count; i++) {
		REQUIRE((size_t)snprintf(path, sizeof path, "%s/%s", folder, names[i]) <
		        sizeof path);
		(void)unlink(path);
	}
	return rmdir(folder);
}

void files_digest(void *user, const unsigned char *key, char *digest) {
	(void)user;
	(void)key;
	memset(digest, '0', 64);
	digest[64] = 0;
}
