// SPDX-License-Identifier: Apache-2.0
// The file is the header of the stream, then pieces of VAULT_PIECE bytes, each 17 bytes longer than
// its plain text; the last has the final tag, so that a cut file does not pass for a whole one.
#include "serve/jobs/vault.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
	SEALED = VAULT_PIECE + crypto_secretstream_xchacha20poly1305_ABYTES
};
enum { TAG_FINAL = 3 }; /* crypto_secretstream_xchacha20poly1305_TAG_FINAL */

/* What the file of a key holds. */
struct vault_key {
	unsigned char bytes[crypto_secretstream_xchacha20poly1305_KEYBYTES];
	int64_t since; /* seconds of CLOCK_BOOTTIME when the upload was whole */
};

/* The names of a job's files. */
struct vault_paths {
	char *refs;   /* STATE/jobs/ID/refs */
	char *part;   /* the same while it arrives */
	char *key;    /* RUNTIME/ID.key */
	char *unseen; /* STATE/jobs/ID/refs.unseen: nobody has looked at refs yet */
};

struct vault_writer {
	struct vault_paths paths;
	int file;
	crypto_secretstream_xchacha20poly1305_state stream;
	struct vault_key key;
	size_t held;                      /* bytes in `plain` that are not sealed yet */
	unsigned char plain[VAULT_PIECE]; /* PRIVATE */
	unsigned char sealed[SEALED];
};

struct vault_reader {
	int file;
	bool ended; /* the piece with the final tag was read */
	crypto_secretstream_xchacha20poly1305_state stream;
	unsigned char sealed[SEALED];
	unsigned char plain[VAULT_PIECE]; /* PRIVATE */
};

static void free_paths(struct vault_paths *paths) {
	free(paths->refs);
	free(paths->part);
	free(paths->key);
	free(paths->unseen);
	*paths = (struct vault_paths){0};
}

static bool make_paths(const struct vault *vault, const char *id, struct vault_paths *paths) {
	*paths = (struct vault_paths){0};
	if (asprintf(&paths->refs, "%s/%s/refs", vault->jobs, id) < 0) paths->refs = NULL;
	if (asprintf(&paths->part, "%s/%s/refs.part", vault->jobs, id) < 0) paths->part = NULL;
	if (asprintf(&paths->key, "%s/%s.key", vault->runtime, id) < 0) paths->key = NULL;
	if (asprintf(&paths->unseen, "%s/%s/refs.unseen", vault->jobs, id) < 0)
		paths->unseen = NULL;
	const bool made = paths->refs && paths->part && paths->key && paths->unseen;
	if (!made) free_paths(paths);
	return made;
}

/* A failure of a file. No name is told: messages go to whoever uploads. */
static enum cuttle_status report_vault_error(int problem, struct cuttle_error *error) {
	const bool full = problem == ENOSPC || problem == EDQUOT;
	return io_fail(error, full ? CUTTLE_PARTIAL : CUTTLE_INTERNAL,
	               "cannot keep the references: %s", strerror(problem));
}

static int64_t read_boot_clock(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec;
}

/* Overwrites and removes the file of a key. */
static void wipe_key(const char *path) {
	static const struct vault_key zeros;
	const int file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file >= 0) {
		(void)file_write(file, &zeros, sizeof zeros);
		(void)fsync(file);
		(void)close(file);
	}
	(void)unlink(path);
}

/* Puts a key in the place of the one that is there. Between the two there is none, and then the job
 * asks for its references again. Returns 0 or the errno. */
static int write_key(const char *path, const struct vault_key *key) {
	wipe_key(path);
	const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int problem = file < 0 ? errno : file_write(file, key, sizeof *key);
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	return problem;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum cuttle_status vault_begin(const struct vault *vault, const char *id,
                               struct vault_writer **writer, struct cuttle_error *error) {
	struct vault_writer *made = calloc(1, sizeof *made);
	*writer = NULL;
	if (!made || !make_paths(vault, id, &made->paths)) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	(void)sodium_mlock(made, sizeof *made); // best effort: a limit may forbid it
	crypto_secretstream_xchacha20poly1305_keygen(made->key.bytes);
	unsigned char header[HEADER];
	(void)crypto_secretstream_xchacha20poly1305_init_push(&made->stream, header,
	                                                      made->key.bytes);
	made->file =
	    open(made->paths.part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int problem = made->file < 0 ? errno : file_write(made->file, header, HEADER);
	*writer = made;
	if (!problem) return CUTTLE_OK;
	vault_drop(writer);
	return report_vault_error(problem, error);
}

static int seal_piece(struct vault_writer *writer, unsigned char tag) {
	unsigned long long size;
	(void)crypto_secretstream_xchacha20poly1305_push(&writer->stream, writer->sealed, &size,
	                                                 writer->plain, writer->held, NULL, 0, tag);
	sodium_memzero(writer->plain, writer->held);
	writer->held = 0;
	return file_write(writer->file, writer->sealed, size);
}

enum cuttle_status vault_add(struct vault_writer *writer, const void *bytes, size_t size,
                             struct cuttle_error *error) {
	const unsigned char *from = bytes;
	int problem = 0;
	while (size && !problem) {
		// A full piece waits until more comes: the last one needs another tag.
		if (writer->held == VAULT_PIECE) problem = seal_piece(writer, 0);
		const size_t room = VAULT_PIECE - writer->held, taken = size < room ? size : room;
		memcpy(writer->plain + writer->held, from, taken);
		writer->held += taken;
		from += taken;
		size -= taken;
	}
	return problem ? report_vault_error(problem, error) : CUTTLE_OK;
}

/* Frees the writer, and wipes what it holds. The file's name stays. */
static void free_writer(struct vault_writer **writer) {
	struct vault_writer *old = *writer;
	if (old->file >= 0) (void)close(old->file);
	free_paths(&old->paths);
	(void)sodium_munlock(old, sizeof *old); // wipes it, too
	free(old);
	*writer = NULL;
}

void vault_drop(struct vault_writer **writer) {
	if (!*writer) return;
	(void)unlink((*writer)->paths.part);
	free_writer(writer);
}

/* Makes an empty file, which stands before what it marks does. Returns 0 or the errno. */
static int make_mark(const char *path) {
	const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0) return errno;
	(void)close(file);
	return file_sync_folder(path);
}

enum cuttle_status vault_keep(struct vault_writer **writer, struct cuttle_error *error) {
	struct vault_writer *old = *writer;
	int problem = seal_piece(old, TAG_FINAL);
	if (!problem && fsync(old->file) != 0) problem = errno;
	if (!problem) problem = make_mark(old->paths.unseen);
	old->key.since = read_boot_clock();
	const bool keyed = !problem;
	if (!problem) problem = write_key(old->paths.key, &old->key);
	if (!problem && rename(old->paths.part, old->paths.refs) != 0) problem = errno;
	if (!problem) problem = file_sync_folder(old->paths.refs);
	if (problem) {
		// A job that was cancelled meanwhile is not wiped again, so no key may stay.
		if (keyed) wipe_key(old->paths.key);
		(void)unlink(old->paths.unseen);
		vault_drop(writer);
		return report_vault_error(problem, error);
	}
	free_writer(writer);
	return CUTTLE_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Reads the key of a job. False: there is none, and errno is ENOENT, or it cannot be read now. */
static bool read_vault_key(const char *path, struct vault_key *key) {
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0) return false;
	errno = ENOENT; // half a key is none
	const bool whole = read(file, key, sizeof *key) == (ssize_t)sizeof *key;
	(void)close(file);
	return whole;
}

bool vault_has(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	struct vault_key key;
	if (!make_paths(vault, id, &paths)) return false;
	const bool has = access(paths.refs, F_OK) == 0 && read_vault_key(paths.key, &key);
	free_paths(&paths);
	sodium_memzero(&key, sizeof key);
	return has;
}

uint64_t vault_size(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	struct stat state;
	if (!make_paths(vault, id, &paths)) return 0;
	const bool is = stat(paths.refs, &state) == 0;
	free_paths(&paths);
	return is ? (uint64_t)state.st_size : 0;
}

double vault_age(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	struct vault_key key;
	if (!make_paths(vault, id, &paths)) return 0;
	const bool known = read_vault_key(paths.key, &key);
	free_paths(&paths);
	const double age = known ? (double)(read_boot_clock() - key.since) : 0;
	sodium_memzero(&key, sizeof key);
	return age;
}

void vault_wipe(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	if (!make_paths(vault, id, &paths)) return;
	wipe_key(paths.key);
	(void)unlink(paths.refs);
	(void)unlink(paths.part);
	(void)unlink(paths.unseen);
	(void)file_sync_folder(paths.refs);
	free_paths(&paths);
}

void vault_trust(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	if (!make_paths(vault, id, &paths)) return;
	(void)unlink(paths.unseen);
	(void)file_sync_folder(paths.unseen);
	free_paths(&paths);
}

void vault_sweep(const struct vault *vault, const char *id) {
	struct vault_paths paths;
	if (!make_paths(vault, id, &paths)) return;
	if (access(paths.unseen, F_OK) == 0) vault_wipe(vault, id);
	(void)unlink(paths.part);
	free_paths(&paths);
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum cuttle_status refuse_vault(struct cuttle_error *error) {
	return io_fail(error, CUTTLE_INTERNAL, "the references cannot be read; upload them again");
}

/* Reads `size` bytes, or as many as there are. */
static size_t read_sealed(struct vault_reader *reader, size_t size) {
	size_t got = 0;
	while (got < size) {
		const ssize_t more = read(reader->file, reader->sealed + got, size - got);
		if (more < 0 && errno == EINTR) continue;
		if (more <= 0) break;
		got += (size_t)more;
	}
	return got;
}

enum cuttle_status vault_read(const struct vault *vault, const char *id,
                              struct vault_reader **reader, struct cuttle_error *error) {
	struct vault_paths paths;
	struct vault_key key;
	struct vault_reader *made = calloc(1, sizeof *made);
	*reader = NULL;
	if (!made || !make_paths(vault, id, &paths)) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	(void)sodium_mlock(made, sizeof *made);
	made->file = open(paths.refs, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool good = made->file >= 0 && read_vault_key(paths.key, &key);
	// What is there, but cannot be opened now, may not be taken for lost: it would be wiped.
	const bool later = !good && errno != ENOENT && errno != ELOOP;
	free_paths(&paths);
	good = good && read_sealed(made, HEADER) == HEADER;
	good = good && crypto_secretstream_xchacha20poly1305_init_pull(&made->stream, made->sealed,
	                                                               key.bytes) == 0;
	sodium_memzero(&key, sizeof key);
	*reader = made;
	if (good) return CUTTLE_OK;
	vault_close(reader);
	return later ? io_fail(error, CUTTLE_PARTIAL, "the references cannot be opened now")
	             : refuse_vault(error);
}

enum cuttle_status vault_next(struct vault_reader *reader, const void **bytes, size_t *size,
                              struct cuttle_error *error) {
	unsigned long long plain = 0;
	unsigned char tag;
	*bytes = reader->plain;
	*size = 0;
	sodium_memzero(reader->plain, sizeof reader->plain);
	if (reader->ended) return CUTTLE_OK;
	const size_t got = read_sealed(reader, SEALED);
	if (crypto_secretstream_xchacha20poly1305_pull(&reader->stream, reader->plain, &plain, &tag,
	                                               reader->sealed, got, NULL, 0) != 0)
		return refuse_vault(error);
	reader->ended = tag == TAG_FINAL;
	*size = (size_t)plain;
	return CUTTLE_OK;
}

void vault_close(struct vault_reader **reader) {
	struct vault_reader *old = *reader;
	if (!old) return;
	if (old->file >= 0) (void)close(old->file);
	(void)sodium_munlock(old, sizeof *old);
	free(old);
	*reader = NULL;
}
