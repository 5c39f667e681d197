// SPDX-License-Identifier: Apache-2.0
// The file as it lies is held in one arena; a table of open addressing leads from a text's hash to
// its record. Example: 3 records and a table of 8 places. A record whose hash begins with 13 stands
// at place 5, or at the next free one.
#include "io/tables/feature_file.h"

#include "base/misuse.h"
#include "io/disk/arena.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[16] = "cuttle feature1\n";
enum {
	KEY = 32,         /* bytes of a text's hash */
	CHECK = 8,        /* bytes of a record's hash */
	FIXED = KEY + 16, /* bytes before the vector */
	HEADER = sizeof magic + HASH_TEXT - 1 + 8
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie");

struct feature_file {
	const char *path;     /* for messages */
	int file;             /* descriptor; -1 = memory alone */
	size_t width;         /* numbers of a vector */
	size_t size;          /* bytes of a record */
	size_t count;         /* records */
	struct arena records; /* [count][size], as in the file */
	size_t *table;        /* [places] number of a record + 1; 0 = free */
	size_t places;        /* a power of two, at least twice count */
};

static enum cuttle_status fail_feature(const struct feature_file *f, int number,
                                       struct cuttle_error *error) {
	return io_fail(error, number == ENOMEM ? CUTTLE_NOMEM : CUTTLE_INTERNAL, "%s: %s", f->path,
	               strerror(number));
}

static const unsigned char *feature_record(const struct feature_file *f, size_t index) {
	return (const unsigned char *)f->records.bytes + index * f->size;
}

/* The place of the record with this key, or the free one where it would stand. */
static size_t find_feature_place(const struct feature_file *f, const unsigned char *key) {
	size_t place;
	memcpy(&place, key, sizeof place);
	for (place &= f->places - 1; f->table[place]; place = (place + 1) & (f->places - 1))
		if (!memcmp(feature_record(f, f->table[place] - 1), key, KEY)) break;
	return place;
}

/* Makes a table with room for one record more, and enters all records there are. */
static bool grow_feature_table(struct feature_file *f) {
	if (f->places >= 2 * (f->count + 1)) return true;
	size_t places = f->places ? f->places : 1024;
	while (places < 2 * (f->count + 1)) places *= 2;
	free(f->table);
	f->places = places;
	f->table = calloc(places, sizeof *f->table);
	if (!f->table) return false;
	for (size_t i = 0; i < f->count; i++)
		f->table[find_feature_place(f, feature_record(f, i))] = i + 1;
	return true;
}

static void check_feature(const struct feature_file *f, const unsigned char *record,
                          unsigned char check[CHECK]) {
	unsigned char hash[crypto_hash_sha256_BYTES];
	(void)crypto_hash_sha256(hash, record, f->size - CHECK);
	memcpy(check, hash, CHECK);
}

/* Takes over the records of a file's bytes, up to the first that is not whole. */
static bool take_features(struct feature_file *f, const char *bytes, size_t size) {
	unsigned char check[CHECK];
	for (size_t at = 0; size - at >= f->size; at += f->size) {
		const unsigned char *record = (const unsigned char *)bytes + at;
		check_feature(f, record, check);
		if (memcmp(check, record + f->size - CHECK, CHECK) != 0) break;
		if (!arena_reserve(&f->records, f->size)) return false;
		memcpy(f->records.bytes + f->records.used, record, f->size);
		arena_grew(&f->records, f->size);
		f->count++;
	}
	return true;
}

/* Whether a file of somebody's own stands there. A kill may have left half a header of ours. */
static bool is_foreign_feature(const char *bytes, size_t size) {
	return memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0;
}

/* Reads what an earlier run left, if it is of the same model and width. Then cuts the file behind
 * the last good record, or writes a new header. */
static enum cuttle_status resume_features(struct feature_file *f,
                                          const char model_sha256[HASH_TEXT],
                                          struct cuttle_error *error) {
	char header[HEADER], *bytes = NULL;
	const uint64_t width = f->width;
	size_t size = 0;
	memcpy(header, magic, sizeof magic);
	memcpy(header + sizeof magic, model_sha256, HASH_TEXT - 1);
	memcpy(header + HEADER - 8, &width, 8);
	int problem = file_read_open(f->file, &bytes, &size);
	if (problem) return fail_feature(f, problem, error);
	if (is_foreign_feature(bytes, size)) {
		secrecy_free(bytes);
		return io_fail(error, CUTTLE_USAGE,
		               "%s is in the way: it is not what an evaluation left; move it, or "
		               "choose another output name",
		               f->path);
	}
	const bool same = size >= HEADER && !memcmp(bytes, header, HEADER);
	const bool room = !same || take_features(f, bytes + HEADER, size - HEADER);
	secrecy_free(bytes);
	if (!room) return io_fail(error, CUTTLE_NOMEM, "out of memory reading %s", f->path);
	const off_t end = same ? (off_t)(HEADER + f->count * f->size) : 0;
	if (fchmod(f->file, 0600) != 0 || ftruncate(f->file, end) != 0 ||
	    lseek(f->file, end, SEEK_SET) < 0)
		problem = errno;
	if (!problem && !same) problem = file_write(f->file, header, sizeof header);
	return problem ? fail_feature(f, problem, error) : CUTTLE_OK;
}

enum cuttle_status feature_file_open(const char *path, const char model_sha256[HASH_TEXT],
                                     size_t width, struct feature_file **file,
                                     struct cuttle_error *error) {
	struct feature_file *f = *file = calloc(1, sizeof *f);
	if (!f) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	f->path = path;
	f->file = -1;
	f->width = width;
	f->size = FIXED + width * sizeof(float) + CHECK;
	enum cuttle_status status = CUTTLE_OK;
	const int problem = path ? file_lock(path, &f->file) : 0;
	if (problem)
		status = io_fail(error, CUTTLE_USAGE, "%s: %s", path,
		                 problem == EWOULDBLOCK ? "another evaluation writes this file"
		                                        : strerror(problem));
	if (!status && path) status = resume_features(f, model_sha256, error);
	if (!status && !grow_feature_table(f))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (status) feature_file_close(file);
	return status;
}

void feature_file_close(struct feature_file **file) {
	struct feature_file *f = *file;
	if (!f) return;
	if (f->file >= 0) (void)close(f->file);
	arena_free(&f->records);
	free(f->table);
	free(f);
	*file = NULL;
}

static void hash_feature_text(const char *text, size_t size, unsigned char key[KEY]) {
	(void)crypto_hash_sha256(key, (const unsigned char *)text, size);
}

bool feature_file_find(const struct feature_file *f, const char *text, size_t size,
                       struct feature *feature) {
	unsigned char key[KEY];
	hash_feature_text(text, size, key);
	const size_t place = find_feature_place(f, key);
	if (!f->table[place]) return false;
	const unsigned char *record = feature_record(f, f->table[place] - 1);
	memcpy(&feature->tokens, record + KEY, 8);
	memcpy(&feature->perplexity, record + KEY + 8, 8);
	feature->vector = (const float *)(const void *)(record + FIXED);
	return true;
}

enum cuttle_status feature_file_add(struct feature_file *f, const char *text, size_t size,
                                    const struct feature *feature, struct cuttle_error *error) {
	if (!grow_feature_table(f) || !arena_reserve(&f->records, f->size))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	unsigned char *record = (unsigned char *)f->records.bytes + f->records.used;
	hash_feature_text(text, size, record);
	memcpy(record + KEY, &feature->tokens, 8);
	memcpy(record + KEY + 8, &feature->perplexity, 8);
	memcpy(record + FIXED, feature->vector, f->width * sizeof(float));
	check_feature(f, record, record + f->size - CHECK);
	const size_t place = find_feature_place(f, record);
	REQUIRE(!f->table[place]);
	const int problem = f->file < 0 ? 0 : file_write(f->file, record, f->size);
	if (problem) return fail_feature(f, problem, error);
	arena_grew(&f->records, f->size);
	f->table[place] = ++f->count;
	return CUTTLE_OK;
}
