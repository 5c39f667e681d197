// SPDX-License-Identifier: Apache-2.0
// How a journal is locked, written and read (journal.h shows the lines).
//
// Reading, step by step: read_first_line says whose journal it is. parse_lines checks every line;
// wrong lines may stand only at the end. sort_into_texts puts the tokens text after text. With 3
// tokens of text 0 and 2 of text 1:
//     tokens = {a0, a1, a2, b0, b1}      starts = {0, 3, 5}
// So text 1 has tokens[3] and tokens[4]: from starts[1] to before starts[2].
#include "io/output/journal.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LINE = 96,   /* bytes for the line of a token; the longest has 61 */
	AHEAD = 4096 /* texts: a journal of n tokens holds no text above number n + AHEAD */
};
static const char FORMAT[] = "cuttle-journal "; /* how a journal of any version begins */
/* How one of this version begins: without lots, and with them. */
static const char HEADER[] = "cuttle-journal 2 ", LOTS_HEADER[] = "cuttle-journal 3 ";
enum {
	COMMAND = sizeof HEADER - 1 + HASH_TEXT, /* bytes before the input's digest: 17 + 65 = 82 */
	FIRST_LINE = COMMAND + HASH_TEXT,        /* bytes of the first line: 82 + 65 = 147 */
	LOTS_LINE = FIRST_LINE + 33              /* the same with the check of lots: 180 */
};

static const char COUNTS[] = "counts"; /* how the line of noisy counts begins */
enum {
	COUNT_ROOM = 21, /* bytes of the longest number and its space */
	/* Bytes around the numbers: the word, a space, the check, a newline and the final NUL. */
	COUNTS_ROOM = (int)sizeof COUNTS + 2 * (int)crypto_shorthash_BYTES + 2
};

struct journal {
	char *path;                                   /* owned */
	int file;                                     /* descriptor; the lock is on it */
	bool appended;                                /* a token was appended since the last sync */
	uint64_t whole;                               /* bytes of the lines that are whole */
	bool worthless;                               /* it surely holds no token */
	bool of_other;                                /* it was another command's first line */
	size_t first_line;                            /* bytes of the first line */
	unsigned char key[crypto_shorthash_KEYBYTES]; /* of the checks */
	int32_t *tokens;                              /* loaded ones, text after text */
	size_t *starts;                               /* [texts_seen + 1] offsets into tokens */
	size_t texts_seen;                            /* highest number of a loaded text, plus 1 */
	size_t begin, stride; /* only texts begin, begin + stride, ... are its own */
	int64_t *counts;      /* [counted] noisy counts, as loaded */
	size_t counted;
};

enum cuttle_status journal_open(const char *path, struct journal **journal,
                                struct cuttle_error *error) {
	*journal = NULL;
	struct journal *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	struct stat state;
	int problem = file_lock(path, &made->file);
	if (!problem && fstat(made->file, &state) != 0) problem = errno;
	if (!problem) {
		made->worthless = state.st_size == 0;
		*journal = made;
		return CUTTLE_OK;
	}
	if (made->file >= 0) (void)close(made->file);
	free(made->path);
	free(made);
	if (problem == EWOULDBLOCK)
		return io_fail(error, CUTTLE_USAGE,
		               "another process is writing this output (it holds %s)", path);
	return io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", path, strerror(problem));
}

bool journal_stands(const char *path, const char *fingerprint) {
	char begin[COMMAND] = "";
	struct stat state;
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0) return false;
	const bool whole =
	    !fstat(file, &state) && S_ISREG(state.st_mode) && read(file, begin, COMMAND) == COMMAND;
	(void)close(file);
	// Journals of either kind have the fingerprint in one place.
	return whole && !strncmp(begin, FORMAT, sizeof FORMAT - 1) &&
	       !strncmp(begin + sizeof HEADER - 1, fingerprint, HASH_TEXT - 1);
}

/* Writes the first line into `line`, and makes the key of the checks from it. */
static void render_first_line(struct journal *journal, const struct journal_owner *owner,
                              char line[LOTS_LINE + 1]) {
	const char *lots = owner->lots;
	const int size =
	    snprintf(line, LOTS_LINE + 1, "%s%s %s%s%s\n", lots ? LOTS_HEADER : HEADER,
	             owner->fingerprint, owner->input, lots ? " " : "", lots ? lots : "");
	REQUIRE(size == (lots ? LOTS_LINE : FIRST_LINE));
	journal->first_line = (size_t)size;
	(void)crypto_generichash(journal->key, sizeof journal->key, (const unsigned char *)line,
	                         journal->first_line, NULL, 0);
}

/* Writes the line of a token into `line`. Returns its bytes with the newline; there is no NUL. */
static size_t render_token_line(const struct journal *journal, char line[LINE], size_t text,
                                uint32_t step, int32_t token) {
	unsigned char check[crypto_shorthash_BYTES];
	int size = snprintf(line, LINE, "%zu %" PRIu32 " %" PRId32 " ", text, step, token);
	(void)crypto_shorthash(check, (const unsigned char *)line, (size_t)size, journal->key);
	(void)sodium_bin2hex(line + size, LINE - (size_t)size, check, sizeof check);
	size += 2 * (int)sizeof check;
	line[size++] = '\n';
	return (size_t)size;
}

/* Reads the three numbers of line[size], which has the newline, and renders them again. False: that
 * gives another line, so the check or something else is wrong. */
static bool parse_token_line(const struct journal *journal, const char *line, size_t size,
                             size_t *text, uint32_t *step, int32_t *token) {
	char copy[LINE], again[LINE];
	if (size >= LINE) return false;
	memcpy(copy, line, size);
	copy[size] = 0;
	if (sscanf(copy, "%zu %" SCNu32 " %" SCNd32, text, step, token) != 3) return false;
	return render_token_line(journal, again, *text, *step, *token) == size &&
	       !memcmp(again, line, size);
}

/* Renders the line of counts, to be freed; *size is its bytes with the newline. NULL: out of
 * memory. */
static char *render_counts_line(const struct journal *journal, const int64_t *counts, size_t count,
                                size_t *size) {
	unsigned char check[crypto_shorthash_BYTES];
	const size_t room = COUNTS_ROOM + count * COUNT_ROOM;
	char *line = malloc(room);
	if (!line) return NULL;
	size_t at = sizeof COUNTS - 1;
	memcpy(line, COUNTS, at);
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(line + at, room - at, " %" PRId64, counts[i]);
	line[at++] = ' ';
	(void)crypto_shorthash(check, (const unsigned char *)line, at, journal->key);
	(void)sodium_bin2hex(line + at, room - at, check, sizeof check);
	at += 2 * sizeof check;
	line[at++] = '\n';
	*size = at;
	return line;
}

/* Loads the line of counts that bytes[size] may begin with. Sets *line to its bytes with the
 * newline; 0: it is none, or torn. False: out of memory. */
static bool load_counts(struct journal *journal, const char *bytes, size_t size, size_t *line) {
	const char *newline = memchr(bytes, '\n', size);
	const size_t whole = newline ? (size_t)(newline - bytes) + 1 : 0;
	*line = 0;
	if (whole < sizeof COUNTS || memcmp(bytes, COUNTS, sizeof COUNTS - 1) != 0) return true;
	// A number and its space have two bytes or more.
	char *copy = strndup(bytes, whole), *again = NULL;
	int64_t *counts = calloc(whole / 2 + 1, sizeof *counts);
	size_t count = 0, rendered = 0;
	if (copy && counts) {
		// The check is in the way of the last number at the latest, as what is written
		// anew shows.
		char *end;
		for (char *at = copy + sizeof COUNTS - 1;; count++, at = end) {
			const int64_t number = strtoll(at, &end, 10);
			if (end == at || *end != ' ') break;
			counts[count] = number;
		}
		again = render_counts_line(journal, counts, count, &rendered);
	}
	const bool made = again != NULL;
	if (made && count && rendered == whole && !memcmp(again, bytes, whole)) {
		journal->counts = counts;
		journal->counted = count;
		counts = NULL;
		*line = whole;
	}
	free(counts);
	free(copy);
	free(again);
	return made;
}

struct drawn_token {
	size_t text;   /* number of the text */
	uint32_t step; /* its place in the text: 0, 1, 2 ... */
	int32_t token;
};

/* Parses the lines of bytes[size] from byte `begin` on into drawn[*count]. *good is the number of
 * bytes before the first wrong line. False: a right line stands behind a wrong one. */
static bool parse_lines(const struct journal *journal, const char *bytes, size_t size, size_t begin,
                        struct drawn_token *drawn, size_t *count, size_t *good) {
	bool torn = false;
	*count = 0;
	*good = begin;
	for (size_t at = begin; at < size;) {
		const char *newline = memchr(bytes + at, '\n', size - at);
		size_t end = newline ? (size_t)(newline - bytes) + 1 : size;
		struct drawn_token *line = &drawn[*count];
		bool right = newline && parse_token_line(journal, bytes + at, end - at, &line->text,
		                                         &line->step, &line->token);
		at = end;
		torn |= !right;
		if (!right) continue;
		if (torn) return false;
		*good = at;
		++*count;
	}
	return true;
}

/* Sets *own to where a text stands among those of the journal's stride. With begin 1 and stride 3,
 * text 7 is its third one, 2. False: it is none of them. */
static bool find_own_text(const struct journal *journal, size_t text, size_t *own) {
	if (text < journal->begin || (text - journal->begin) % journal->stride) return false;
	*own = (text - journal->begin) / journal->stride;
	return true;
}

/* Puts the drawn tokens into tokens and starts. What tells their texts then counts its own ones.
 * False: the journal is damaged. A step is missing or there twice, or the command has no such text.
 */
static bool sort_into_texts(struct journal *journal, struct drawn_token *drawn, size_t count,
                            size_t texts) {
	for (size_t i = 0; i < count; i++) {
		size_t text;
		if (drawn[i].text >= texts || !find_own_text(journal, drawn[i].text, &text))
			return false;
		// At most 256 texts are in flight (engine/run/plan/plan.c). Every text before those
		// has a token here.
		if (text > count + AHEAD) return false;
		if (text >= journal->texts_seen) journal->texts_seen = text + 1;
		// Until the sum below, starts[text + 1] counts the text's tokens: {0, 3, 2} for 3
		// and 2 tokens. The sum makes {0, 3, 5} of it.
		if (drawn[i].step != journal->starts[text + 1]++) return false;
		drawn[i].text = text;
	}
	for (size_t text = 0; text < journal->texts_seen; text++)
		journal->starts[text + 1] += journal->starts[text];
	for (size_t i = 0; i < count; i++)
		journal->tokens[journal->starts[drawn[i].text] + drawn[i].step] = drawn[i].token;
	return true;
}

/* Whether these bytes are the first line of any command, which drew nothing. */
static bool is_first_line(const char *bytes, size_t size) {
	const bool lots = size == LOTS_LINE;
	return (lots || size == FIRST_LINE) && memchr(bytes, '\n', size) == bytes + size - 1 &&
	       !memcmp(bytes, lots ? LOTS_HEADER : HEADER, sizeof HEADER - 1);
}

static enum journal_state read_first_line(const struct journal *journal,
                                          const char line[LOTS_LINE + 1], const char *bytes,
                                          size_t size) {
	const size_t format = sizeof FORMAT - 1;
	if (size == journal->first_line && !memcmp(bytes, line, size)) return JOURNAL_OURS;
	if (memcmp(bytes, FORMAT, size < format ? size : format) != 0) return JOURNAL_FOREIGN;
	if (is_first_line(bytes, size))
		return size == journal->first_line && !memcmp(bytes, line, COMMAND) &&
		               memcmp(bytes, line, FIRST_LINE - 1) != 0
		           ? JOURNAL_CHANGED
		           : JOURNAL_NEW;
	// The first line is torn, so nothing was drawn yet.
	if (size < journal->first_line)
		return memcmp(bytes, line, size < COMMAND ? size : COMMAND) ? JOURNAL_OTHER
		                                                            : JOURNAL_NEW;
	if (!memcmp(bytes, line, journal->first_line)) return JOURNAL_OURS;
	if (journal->first_line == LOTS_LINE && !memcmp(bytes, line, FIRST_LINE))
		return JOURNAL_LOST;
	return memcmp(bytes, line, COMMAND) ? JOURNAL_OTHER : JOURNAL_CHANGED;
}

/* Sets *state. False: out of memory. */
static bool interpret_journal(struct journal *journal, const char line[LOTS_LINE + 1],
                              const char *bytes, size_t size, size_t texts,
                              struct drawn_token *drawn, size_t *good, enum journal_state *state) {
	*good = 0;
	*state = read_first_line(journal, line, bytes, size);
	if (*state != JOURNAL_OURS) return true;
	size_t count, counts;
	if (!load_counts(journal, bytes + journal->first_line, size - journal->first_line, &counts))
		return false;
	bool whole =
	    parse_lines(journal, bytes, size, journal->first_line + counts, drawn, &count, good) &&
	    sort_into_texts(journal, drawn, count, texts);
	if (!whole) *state = JOURNAL_DAMAGED;
	else if (!count && !counts) *state = JOURNAL_BEGUN;
	return true;
}

enum cuttle_status journal_load(struct journal *journal, const struct journal_owner *owner,
                                size_t texts, enum journal_state *state,
                                struct cuttle_error *error) {
	char line[LOTS_LINE + 1], *bytes = NULL;
	struct drawn_token *drawn = NULL;
	size_t size = 0, good;
	*state = JOURNAL_DAMAGED;
	journal->begin = owner->begin;
	journal->stride = owner->stride ? owner->stride : 1;
	render_first_line(journal, owner, line);
	int problem = file_read_open(journal->file, &bytes, &size);
	if (!problem) {
		// The shortest line of a token has 23 bytes, so this is more than enough.
		const size_t lines = size / 16 + 1;
		drawn = calloc(lines, sizeof *drawn);
		journal->tokens = calloc(lines, sizeof *journal->tokens);
		journal->starts = calloc(lines + AHEAD + 2, sizeof *journal->starts);
		if (!drawn || !journal->tokens || !journal->starts) problem = ENOMEM;
	}
	if (!problem && bytes) {
		if (!interpret_journal(journal, line, bytes, size, texts, drawn, &good, state))
			problem = ENOMEM;
		else journal->worthless = *state == JOURNAL_NEW;
		journal->of_other = *state == JOURNAL_NEW && is_first_line(bytes, size);
		journal->whole = good;
		const bool own = *state == JOURNAL_OURS || *state == JOURNAL_BEGUN;
		if (!problem && own && good < size && ftruncate(journal->file, (off_t)good) != 0)
			problem = errno;
		// Who wrote this, or put the output in place, may have been killed before that was
		// synced. Now a text of these tokens may be written at once, or the journal go.
		if (!problem && own && fsync(journal->file) != 0) problem = errno;
		if (!problem && own) problem = file_sync_folder(journal->path);
	}
	free(drawn);
	free(bytes);
	if (problem == ENOMEM)
		return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s",
		               journal->path);
	if (problem)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", journal->path,
		               strerror(problem));
	return CUTTLE_OK;
}

int journal_restart(struct journal *journal, const struct journal_owner *owner) {
	char line[LOTS_LINE + 1];
	render_first_line(journal, owner, line);
	journal->texts_seen = journal->counted = 0;
	journal->worthless = true;
	if (ftruncate(journal->file, 0) != 0) return errno;
	journal->whole = journal->first_line;
	int problem = file_write(journal->file, line, journal->first_line);
	if (!problem && fsync(journal->file) != 0) problem = errno;
	return problem ? problem : file_sync_folder(journal->path);
}

size_t journal_counts(const struct journal *journal, const int64_t **counts) {
	*counts = journal->counts;
	return journal->counted;
}

/* Whether the disk has room for any line of so many counts. How long a line is depends on what it
 * counts; whether there is room must not, for without the line others are drawn. */
static int find_room(const struct journal *journal, size_t count) {
	const off_t room = (off_t)(COUNTS_ROOM + count * COUNT_ROOM);
	int problem;
	do problem = fallocate(journal->file, 0, (off_t)journal->whole, room) ? errno : 0;
	while (problem == EINTR);
	if (ftruncate(journal->file, (off_t)journal->whole) != 0) return errno;
	return problem == EOPNOTSUPP ? 0 : problem; // some file systems cannot say
}

int journal_keep_counts(struct journal *journal, const int64_t *counts, size_t count) {
	size_t size;
	REQUIRE(count && !journal->counted && !journal->texts_seen);
	int problem = find_room(journal, count);
	if (problem) return problem;
	char *line = render_counts_line(journal, counts, count, &size);
	if (!line) return ENOMEM;
	journal->worthless = false;
	problem = file_write(journal->file, line, size);
	free(line);
	if (!problem) journal->whole += size;
	return problem ? problem : fdatasync(journal->file) ? errno : 0;
}

size_t journal_drawn(const struct journal *journal, size_t text, const int32_t **tokens) {
	size_t own;
	*tokens = NULL;
	if (!journal->texts_seen || !find_own_text(journal, text, &own) ||
	    own >= journal->texts_seen)
		return 0;
	*tokens = journal->tokens + journal->starts[own];
	return journal->starts[own + 1] - journal->starts[own];
}

int journal_append(struct journal *journal, size_t text, uint32_t step, int32_t token) {
	char line[LINE];
	journal->appended = true;
	journal->worthless = false;
	const size_t size = render_token_line(journal, line, text, step, token);
	const int problem = file_write(journal->file, line, size);
	if (!problem) journal->whole += size;
	return problem;
}

int journal_sync(struct journal *journal) {
	if (journal->appended && fdatasync(journal->file) != 0) return errno;
	journal->appended = false;
	return 0;
}

int journal_mark(const struct journal *journal, uint64_t most, struct journal_mark *mark) {
	struct hash hash;
	char bytes[8192];
	// A line that was cut off by a full disk is not drawn: who goes on cuts it off.
	if (most > journal->whole) most = journal->whole;
	if (fdatasync(journal->file) != 0) return errno;
	hash_begin(&hash);
	mark->bytes = 0;
	while (mark->bytes < most) {
		const uint64_t left = most - mark->bytes;
		const ssize_t got =
		    pread(journal->file, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes,
		          (off_t)mark->bytes);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) return errno;
		if (!got) break;
		hash_add(&hash, bytes, (size_t)got);
		mark->bytes += (uint64_t)got;
	}
	hash_end(&hash, mark->sha256);
	return 0;
}

bool journal_of_other(const struct journal *journal) {
	return journal->of_other;
}

bool journal_worthless(const struct journal *journal) {
	return journal->worthless;
}

void journal_hold(struct journal *journal) {
	journal->worthless = false;
}

int journal_remove(struct journal *journal) {
	// journal_close must not unlink now: the name may already be another process's journal.
	journal->worthless = false;
	return unlink(journal->path) != 0 && errno != ENOENT ? errno : 0;
}

void journal_close(struct journal **journal) {
	struct journal *old = *journal;
	if (!old) return;
	if (old->worthless) (void)unlink(old->path);
	(void)close(old->file);
	free(old->counts);
	free(old->tokens);
	free(old->starts);
	free(old->path);
	free(old);
	*journal = NULL;
}
