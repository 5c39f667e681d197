// SPDX-License-Identifier: Apache-2.0
// See shard_texts.h. What is wrong with a file is told in one sentence, whatever it is: it could
// only be told apart by what the file holds.
#include "io/shards/shard_texts.h"

#include "base/misuse.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NUMBER = sizeof(uint64_t),         /* bytes of a place's size */
	MOST_LINE = 256,                   /* bytes of the first line, at most */
	KEY_DIGITS = 2 * (int)BINDING_KEY, /* hex digits of the key */
	WIPE = 1 << 16                     /* bytes that are overwritten at once */
};

/* Writes the first line as far as the key. Returns its bytes. */
static size_t render_texts_line(const struct shard_texts_request *request, char line[MOST_LINE]) {
	const int size =
	    snprintf(line, MOST_LINE, "cuttle-texts 1 %.32s %" PRIu64 " %" PRIu64 " %zu ",
	             request->run, request->number.index, request->number.count, request->places);
	REQUIRE(size > 0 && size + KEY_DIGITS + 1 < MOST_LINE);
	return (size_t)size;
}

/* The digest is of the first line without the key, too. */
static void begin_texts_digest(struct binding_digest *digest, const unsigned char *key,
                               const char *line, size_t size) {
	binding_digest_begin(digest, key);
	binding_digest_add(digest, line, size);
}

enum cuttle_status shard_texts_write(const struct shard_texts_request *request,
                                     char digest[HASH_TEXT], struct cuttle_error *error) {
	unsigned char key[BINDING_KEY];
	char line[MOST_LINE];
	struct binding_digest state;
	struct sink sink;
	enum cuttle_status status = sink_open_private(&sink, request->path, error);
	if (status) return status;
	size_t size = render_texts_line(request, line);
	randombytes_buf(key, sizeof key);
	begin_texts_digest(&state, key, line, size);
	(void)sodium_bin2hex(line + size, MOST_LINE - size, key, sizeof key);
	size += KEY_DIGITS;
	line[size++] = '\n';
	status = sink_write(&sink, line, size, error);
	for (size_t place = 0; !status && place < request->places; place++) {
		const char *text = request->text(request->user, place, &size);
		const uint64_t told = htole64(text ? (uint64_t)size + 1 : 0);
		binding_digest_add(&state, text, size);
		status = sink_write(&sink, &told, NUMBER, error);
		if (!status && text) status = sink_write(&sink, text, size, error);
	}
	binding_digest_end(&state, digest);
	sodium_memzero(key, sizeof key);
	sodium_memzero(line, sizeof line);
	return sink_close(&sink, status, error);
}

/* The size of the text in a place, which begins at bytes[at]. False: the file ends before. */
static bool measure_place(const struct arena *bytes, size_t at, const char **text, size_t *size) {
	uint64_t told;
	if (bytes->used - at < NUMBER) return false;
	memcpy(&told, bytes->bytes + at, NUMBER);
	told = le64toh(told);
	*text = told ? bytes->bytes + at + NUMBER : NULL;
	*size = told ? (size_t)(told - 1) : 0;
	return *size <= bytes->used - at - NUMBER;
}

/* Finds all places in the bytes, and compares their digest. */
static bool index_texts(const struct shard_texts_request *request, const char *digest,
                        struct shard_texts *texts) {
	unsigned char key[BINDING_KEY];
	char line[MOST_LINE], is[HASH_TEXT];
	struct binding_digest state;
	const struct arena *bytes = &texts->bytes;
	size_t *starts = (size_t *)(void *)texts->starts.bytes, found;
	const size_t size = render_texts_line(request, line);
	size_t at = size + KEY_DIGITS + 1;
	bool right =
	    bytes->used >= at && !memcmp(bytes->bytes, line, size) &&
	    bytes->bytes[at - 1] == '\n' &&
	    !sodium_hex2bin(key, sizeof key, bytes->bytes + size, KEY_DIGITS, NULL, &found, NULL) &&
	    found == sizeof key;
	if (!right) return false;
	begin_texts_digest(&state, key, line, size);
	for (size_t place = 0; right && place < request->places; place++) {
		const char *text = NULL;
		size_t length = 0;
		starts[place] = at;
		right = measure_place(bytes, at, &text, &length);
		if (right) binding_digest_add(&state, text, length);
		at += NUMBER + length;
	}
	binding_digest_end(&state, is);
	sodium_memzero(key, sizeof key);
	return right && at == bytes->used && !strcmp(is, digest);
}

/* Reads the whole file into the room that is reserved. False: it has more, or cannot be read. What
 * others may read, too, is *shared, and not read. */
static bool load_texts(const char *path, size_t room, struct arena *bytes, bool *shared) {
	struct stat state;
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 || fstat(file, &state) ? -1 : 1;
	*shared = got > 0 && state.st_mode & 077;
	while (!*shared && got > 0 && bytes->used < room) {
		got = read(file, bytes->bytes + bytes->used, room - bytes->used);
		if (got > 0) arena_grew(bytes, (size_t)got);
	}
	if (file >= 0) (void)close(file);
	return got == 0;
}

enum cuttle_status shard_texts_read(const struct shard_texts_request *request, size_t most,
                                    const char digest[HASH_TEXT], struct shard_texts *texts,
                                    struct cuttle_error *error) {
	size_t room, spans;
	bool shared;
	*texts = (struct shard_texts){.places = request->places};
	if (__builtin_mul_overflow(request->places, most + NUMBER, &room) ||
	    __builtin_add_overflow(room, (size_t)MOST_LINE, &room) ||
	    __builtin_mul_overflow(request->places + 1, sizeof(size_t), &spans) ||
	    !arena_reserve(&texts->bytes, room) || !arena_reserve(&texts->starts, spans))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	arena_grew(&texts->starts, spans);
	if (load_texts(request->path, room, &texts->bytes, &shared) &&
	    index_texts(request, digest, texts))
		return CUTTLE_OK;
	if (shared)
		return io_fail(error, CUTTLE_USAGE,
		               "%s: others may read it, and it holds references: chmod 600 it",
		               request->path);
	return io_fail(error, CUTTLE_LEDGER,
	               "%s is not there, or is not the file that cuttle shard open wrote for this "
	               "shard: bring it back",
	               request->path);
}

void shard_texts_lock(const struct shard_texts *texts) {
	(void)mlock(texts->bytes.bytes, texts->bytes.capacity);
}

const char *shard_texts_text(const struct shard_texts *texts, size_t place, size_t *size) {
	const size_t *starts = (const size_t *)(const void *)texts->starts.bytes;
	const char *text = NULL;
	REQUIRE(place < texts->places);
	(void)measure_place(&texts->bytes, starts[place], &text, size);
	return text;
}

void shard_texts_free(struct shard_texts *texts) {
	arena_free(&texts->bytes);
	arena_free(&texts->starts);
	texts->places = 0;
}

int shard_texts_remove(const char *path) {
	static const char nothing[WIPE];
	struct stat state;
	const int file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0) return errno == ENOENT ? 0 : errno;
	int problem = fstat(file, &state) ? errno : 0;
	for (off_t left = problem ? 0 : state.st_size; !problem && left > 0; left -= WIPE)
		problem = file_write(file, nothing, left < WIPE ? (size_t)left : (size_t)WIPE);
	if (!problem && fsync(file) != 0) problem = errno;
	if (close(file) != 0 && !problem) problem = errno;
	if (!problem && unlink(path) != 0 && errno != ENOENT) problem = errno;
	return problem ? problem : file_sync_folder(path);
}

/* Whether shard_texts_write gives a file this name, or its scratch file. */
static bool match_texts_name(const char *name) {
	int end = 0;
	(void)sscanf(name, "shard-%*5[0-9]-of-%*5[0-9]" SHARD_TEXTS "%n", &end);
	const char *rest = name + end;
	return end && (!*rest || !strncmp(rest, FILE_PART "-", strlen(FILE_PART "-")));
}

int shard_texts_sweep(const char *folder) {
	DIR *names = opendir(folder);
	int problem = names ? 0 : errno;
	for (struct dirent *entry; names && (entry = readdir(names));) {
		char *path;
		if (!match_texts_name(entry->d_name)) continue;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) path = NULL;
		const int left = path ? shard_texts_remove(path) : ENOMEM;
		free(path);
		if (!problem) problem = left;
	}
	if (names) (void)closedir(names);
	return problem;
}
