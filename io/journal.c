// SPDX-License-Identifier: Apache-2.0
// The journal of drawn tokens.
#include "io/journal.h"

#include "io/fail.h"
#include "io/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* AHEAD: texts are in flight side by side, so lines of several interleave, but no text is begun this far before all others were. */
enum { LINE = 96, AHEAD = 4096 };
static const char HEADER[] = "cuttle-journal 1 ";

struct journal {
	char *path;
	int file;
	bool appended;  /* since the last sync */
	bool worthless; /* known to hold no token: removed when closed */
	unsigned char key[crypto_shorthash_KEYBYTES];
	int32_t *tokens; /* of all texts, text after text */
	size_t *starts;  /* texts_seen + 1 offsets into tokens */
	size_t texts_seen;
};

/* Takes the lock on the file that has the name now: the one opened may have been unlinked by its finished owner meanwhile. */
static int lock(struct journal *journal, bool *busy) {
	for (;;) {
		struct stat held, named;
		journal->file = open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (journal->file < 0) return errno;
		if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) {
			*busy = errno == EWOULDBLOCK;
			return errno;
		}
		if (fstat(journal->file, &held) != 0) return errno;
		if (!S_ISREG(held.st_mode)) return EINVAL;
		if (!stat(journal->path, &named) && held.st_ino == named.st_ino && held.st_dev == named.st_dev) return 0;
		(void)close(journal->file);
	}
}

enum cuttle_status journal_open(const char *path, struct journal **journal, struct cuttle_error *error) {
	*journal = NULL;
	struct journal *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	bool busy = false;
	int problem = lock(made, &busy);
	if (!problem) {
		*journal = made;
		return CUTTLE_OK;
	}
	if (made->file >= 0) (void)close(made->file);
	free(made->path);
	free(made);
	if (busy) return io_fail(error, CUTTLE_USAGE, "another process is writing this output (it holds %s)", path);
	return io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", path, strerror(problem));
}

static void set_key(struct journal *journal, const char fingerprint[HASH_TEXT]) {
	(void)crypto_generichash(journal->key, sizeof journal->key, (const unsigned char *)fingerprint, HASH_TEXT - 1, NULL, 0);
}

static size_t render(const struct journal *journal, char line[LINE], size_t text, uint32_t step, int32_t token) {
	unsigned char check[crypto_shorthash_BYTES];
	int size = snprintf(line, LINE, "%zu %" PRIu32 " %" PRId32 " ", text, step, token);
	(void)crypto_shorthash(check, (const unsigned char *)line, (size_t)size, journal->key);
	(void)sodium_bin2hex(line + size, LINE - (size_t)size, check, sizeof check);
	size += 2 * (int)sizeof check;
	line[size++] = '\n';
	return (size_t)size;
}

/* Whether line[size], newline included, is exactly what render makes of its own numbers. */
static bool parse(const struct journal *journal, const char *line, size_t size, size_t *text, uint32_t *step, int32_t *token) {
	char copy[LINE], again[LINE];
	if (size >= LINE) return false;
	memcpy(copy, line, size);
	copy[size] = 0;
	if (sscanf(copy, "%zu %" SCNu32 " %" SCNd32, text, step, token) != 3) return false;
	return render(journal, again, *text, *step, *token) == size && !memcmp(again, line, size);
}

struct drawn {
	size_t text;
	uint32_t step;
	int32_t token;
};

/* Parses the token lines into drawn[*count]. *good = bytes up to the first wrong line. False: a right line stands behind a wrong one. */
static bool parse_lines(const struct journal *journal, const char *bytes, size_t size, size_t begin, struct drawn *drawn, size_t *count,
                        size_t *good) {
	bool torn = false;
	*count = 0;
	*good = begin;
	for (size_t at = begin; at < size;) {
		const char *newline = memchr(bytes + at, '\n', size - at);
		size_t end = newline ? (size_t)(newline - bytes) + 1 : size;
		struct drawn *line = &drawn[*count];
		bool right = newline && parse(journal, bytes + at, end - at, &line->text, &line->step, &line->token);
		at = end;
		torn |= !right;
		if (!right) continue;
		if (torn) return false;
		*good = at;
		++*count;
	}
	return true;
}

/* Sorts the lines into texts. False: damaged (a step is missing or twice there, or a text is none of the command's). */
static bool sort_into_texts(struct journal *journal, const struct drawn *drawn, size_t count, size_t texts) {
	for (size_t i = 0; i < count; i++) {
		if (drawn[i].text >= texts || drawn[i].text > count + AHEAD) return false;
		if (drawn[i].text >= journal->texts_seen) journal->texts_seen = drawn[i].text + 1;
		// For now the number of the text's tokens, one place up.
		if (drawn[i].step != journal->starts[drawn[i].text + 1]++) return false;
	}
	for (size_t text = 0; text < journal->texts_seen; text++) journal->starts[text + 1] += journal->starts[text];
	for (size_t i = 0; i < count; i++) journal->tokens[journal->starts[drawn[i].text] + drawn[i].step] = drawn[i].token;
	return true;
}

static int read_all(const struct journal *journal, char **bytes, size_t *size) {
	struct stat state;
	if (fstat(journal->file, &state) != 0) return errno;
	*size = (size_t)state.st_size;
	*bytes = malloc(*size + 1);
	if (!*bytes) return ENOMEM;
	for (size_t at = 0; at < *size;) {
		ssize_t got = pread(journal->file, *bytes + at, *size - at, (off_t)at);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return got ? errno : EIO;
		at += (size_t)got;
	}
	return 0;
}

static enum journal_state interpret(struct journal *journal, const char *bytes, size_t size, const char *fingerprint, size_t texts,
                                    struct drawn *drawn, size_t *good) {
	char header[sizeof HEADER + HASH_TEXT];
	size_t length = (size_t)snprintf(header, sizeof header, "%s%s\n", HEADER, fingerprint);
	*good = 0;
	// A torn first line of this command, or a whole one of any: nothing was drawn yet.
	if (size < length) return memcmp(bytes, header, size) ? JOURNAL_OTHER : JOURNAL_NEW;
	if (size == length && !memcmp(bytes + length - 1, "\n", 1) && !memcmp(bytes, HEADER, sizeof HEADER - 1)) return JOURNAL_NEW;
	if (memcmp(bytes, header, length) != 0) return JOURNAL_OTHER;
	size_t count;
	bool whole = parse_lines(journal, bytes, size, length, drawn, &count, good) && sort_into_texts(journal, drawn, count, texts);
	return whole ? JOURNAL_OURS : JOURNAL_DAMAGED;
}

enum cuttle_status journal_load(struct journal *journal, const char fingerprint[HASH_TEXT], size_t texts, enum journal_state *state,
                                struct cuttle_error *error) {
	char *bytes = NULL;
	struct drawn *drawn = NULL;
	size_t size = 0, good;
	*state = JOURNAL_DAMAGED;
	set_key(journal, fingerprint);
	int problem = read_all(journal, &bytes, &size);
	if (!problem) {
		// The shortest token line is longer than 16 bytes, so this is more than enough.
		const size_t lines = size / 16 + 1;
		drawn = calloc(lines, sizeof *drawn);
		journal->tokens = calloc(lines, sizeof *journal->tokens);
		journal->starts = calloc(lines + AHEAD + 2, sizeof *journal->starts);
		if (!drawn || !journal->tokens || !journal->starts) problem = ENOMEM;
	}
	if (!problem && bytes) {
		*state = interpret(journal, bytes, size, fingerprint, texts, drawn, &good);
		journal->worthless = *state == JOURNAL_NEW;
		if (*state == JOURNAL_OURS && good < size && ftruncate(journal->file, (off_t)good) != 0) problem = errno;
	}
	free(drawn);
	free(bytes);
	if (problem == ENOMEM) return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", journal->path);
	if (problem) return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", journal->path, strerror(problem));
	return CUTTLE_OK;
}

int journal_restart(struct journal *journal, const char fingerprint[HASH_TEXT]) {
	char header[sizeof HEADER + HASH_TEXT];
	int length = snprintf(header, sizeof header, "%s%s\n", HEADER, fingerprint);
	set_key(journal, fingerprint);
	journal->texts_seen = 0;
	journal->worthless = true;
	if (ftruncate(journal->file, 0) != 0) return errno;
	int problem = file_write(journal->file, header, (size_t)length);
	if (!problem && fsync(journal->file) != 0) problem = errno;
	return problem ? problem : file_sync_folder(journal->path);
}

size_t journal_drawn(const struct journal *journal, size_t text, const int32_t **tokens) {
	if (text >= journal->texts_seen) {
		*tokens = NULL;
		return 0;
	}
	*tokens = journal->tokens + journal->starts[text];
	return journal->starts[text + 1] - journal->starts[text];
}

int journal_append(struct journal *journal, size_t text, uint32_t step, int32_t token) {
	char line[LINE];
	journal->appended = true;
	journal->worthless = false;
	return file_write(journal->file, line, render(journal, line, text, step, token));
}

int journal_sync(struct journal *journal) {
	if (journal->appended && fdatasync(journal->file) != 0) return errno;
	journal->appended = false;
	return 0;
}

bool journal_worthless(const struct journal *journal) {
	return journal->worthless;
}

int journal_remove(struct journal *journal) {
	journal->worthless = false; // from here on the name may be another process's journal
	return unlink(journal->path) != 0 && errno != ENOENT ? errno : 0;
}

void journal_close(struct journal **journal) {
	struct journal *old = *journal;
	if (!old) return;
	if (old->worthless) (void)unlink(old->path);
	(void)close(old->file);
	free(old->tokens);
	free(old->starts);
	free(old->path);
	free(old);
	*journal = NULL;
}
