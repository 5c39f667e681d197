// SPDX-License-Identifier: Apache-2.0
// The file of lots is one line of fixed length. A run writes it before anything is drawn. So where
// half a line stands, nothing has been drawn with it, and it may be replaced.
#include "io/records/lots.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "cuttle-lots 1 ";
enum {
	NUMBER = 20,           /* digits of the number of records */
	DIGITS = 2 * LOTS_KEY, /* hex digits of the key */
	/* Bytes of the whole line: 14 + 65 + 21 + 65 = 165. */
	LINE = sizeof PREFIX - 1 + HASH_TEXT + NUMBER + 1 + DIGITS + 1
};

/* Writes the little-endian bytes of the digest under the key. */
static void digest_under_key(const unsigned char key[LOTS_KEY], const void *bytes, size_t size,
                             unsigned char digest[16]) {
	(void)crypto_generichash(digest, 16, bytes, size, key, LOTS_KEY);
}

/* The digest as a number, modulo `batches`. */
static uint64_t draw_lot(const unsigned char digest[16], uint64_t batches) {
	uint64_t halves[2];
	memcpy(halves, digest, sizeof halves);
	const unsigned __int128 number =
	    (unsigned __int128)le64toh(halves[1]) << 64 | le64toh(halves[0]);
	return (uint64_t)(number % batches);
}

uint64_t lots_batch(const unsigned char key[LOTS_KEY], uint32_t cluster, uint64_t record,
                    uint64_t batches) {
	static const char word[] = {'c', 'u', 't', 't', 'l', 'e', ' ', 'l', 'o', 't'};
	unsigned char bytes[sizeof word + 4 + 8], digest[16];
	cluster = htole32(cluster);
	record = htole64(record);
	memcpy(bytes, word, sizeof word);
	memcpy(bytes + sizeof word, &cluster, 4);
	memcpy(bytes + sizeof word + 4, &record, 8);
	digest_under_key(key, bytes, sizeof bytes, digest);
	return draw_lot(digest, batches);
}

/* No value gives what a record's number gives: the words before both differ. */
uint64_t lots_of_owner(const unsigned char key[LOTS_KEY], const char *value, size_t size,
                       uint64_t batches) {
	static const unsigned char word[] = {'c', 'u', 't', 't', 'l', 'e', ' ',
	                                     'o', 'w', 'n', 'e', 'r', ' '};
	crypto_generichash_state state;
	unsigned char digest[16];
	(void)crypto_generichash_init(&state, key, LOTS_KEY, sizeof digest);
	(void)crypto_generichash_update(&state, word, sizeof word);
	(void)crypto_generichash_update(&state, (const unsigned char *)value, size);
	(void)crypto_generichash_final(&state, digest, sizeof digest);
	sodium_memzero(&state, sizeof state);
	return draw_lot(digest, batches);
}

enum cuttle_status lots_begin(struct lots *lots, const uint64_t *seed, struct cuttle_error *error) {
	*lots = (struct lots){0};
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "libsodium cannot begin");
	if (!seed) {
		randombytes_buf(lots->key, LOTS_KEY);
		return CUTTLE_OK;
	}
	const uint64_t number = htole64(*seed);
	(void)crypto_generichash(lots->key, LOTS_KEY, (const unsigned char *)&number, sizeof number,
	                         (const unsigned char *)"lots of a seed", 14);
	return CUTTLE_OK;
}

/* Reads line[size] into what lots_look found. False: it is no line of lots. */
static bool parse_lots_line(const char *line, size_t size, struct lots *lots) {
	const char *at = line + sizeof PREFIX - 1;
	const size_t digits = HASH_TEXT - 1;
	size_t bytes;
	if (size != LINE || memcmp(line, PREFIX, sizeof PREFIX - 1) != 0 || line[LINE - 1] != '\n')
		return false;
	if (strspn(at, "0123456789abcdef") != digits || at[digits] != ' ') return false;
	memcpy(lots->fingerprint, at, digits);
	at += HASH_TEXT;
	if (strspn(at, "0123456789") != NUMBER || at[NUMBER] != ' ') return false;
	lots->had = strtoull(at, NULL, 10);
	return sodium_hex2bin(lots->kept, LOTS_KEY, at + NUMBER + 1, DIGITS, NULL, &bytes, NULL) ==
	           0 &&
	       bytes == LOTS_KEY;
}

void lots_look(struct lots *lots, const char *path) {
	char *line;
	size_t size;
	const size_t prefix = sizeof PREFIX - 1;
	lots->standing = LOTS_NONE;
	lots->torn = false;
	if (access(path, F_OK) != 0 && errno == ENOENT) return;
	lots->standing = LOTS_FOREIGN;
	if (file_regular(path, NULL) || file_read(path, LINE, &line, &size, NULL)) return;
	// A kill may also have come between overwriting a file and removing it.
	lots->torn = (size == LINE && sodium_is_zero((const unsigned char *)line, size)) ||
	             (size < LINE && !memcmp(line, PREFIX, size < prefix ? size : prefix));
	if (lots->torn) lots->standing = LOTS_NONE;
	if (parse_lots_line(line, size, lots)) lots->standing = LOTS_STAND;
	sodium_memzero(line, size);
	free(line);
}

static void render_lots_check(const unsigned char key[LOTS_KEY], char check[LOTS_CHECK]) {
	unsigned char digest[16];
	digest_under_key(key, "check", 5, digest);
	(void)sodium_bin2hex(check, LOTS_CHECK, digest, sizeof digest);
}

void lots_check_kept(const struct lots *lots, const char *fingerprint, char check[LOTS_CHECK]) {
	memset(check, '0', LOTS_CHECK - 1);
	check[LOTS_CHECK - 1] = 0;
	if (lots->standing == LOTS_STAND && !strcmp(lots->fingerprint, fingerprint) &&
	    lots->had == lots->records)
		render_lots_check(lots->kept, check);
}

void lots_check(const struct lots *lots, char check[LOTS_CHECK]) {
	render_lots_check(lots->key, check);
}

void lots_continue(struct lots *lots) {
	memcpy(lots->key, lots->kept, LOTS_KEY);
}

int lots_keep(struct lots *lots, const char *path, const char *fingerprint) {
	char line[LINE + 1];
	int problem = lots_remove(lots, path);
	if (problem) return problem;
	const int used = snprintf(line, sizeof line, "%s%s %0*" PRIu64 " ", PREFIX, fingerprint,
	                          NUMBER, lots->records);
	(void)sodium_bin2hex(line + used, DIGITS + 1, lots->key, LOTS_KEY);
	line[LINE - 1] = '\n';
	const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	problem = file < 0 ? errno : file_write(file, line, LINE);
	sodium_memzero(line, sizeof line);
	if (!problem && fsync(file) != 0) problem = errno;
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	if (problem && file >= 0) (void)unlink(path);
	return problem ? problem : file_sync_folder(path);
}

int lots_remove(struct lots *lots, const char *path) {
	static const char nothing[LINE];
	lots_look(lots, path);
	if (lots->standing != LOTS_STAND && !lots->torn) return 0;
	// The key must not be found in the blocks that the file leaves behind.
	const int file = open(path, O_WRONLY | O_CLOEXEC);
	int problem = file < 0 ? errno : file_write(file, nothing, LINE);
	if (!problem && fsync(file) != 0) problem = errno;
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	if (!problem && unlink(path) != 0 && errno != ENOENT) problem = errno;
	return problem ? problem : file_sync_folder(path);
}

void lots_close(struct lots *lots) {
	sodium_memzero(lots, sizeof *lots);
}
