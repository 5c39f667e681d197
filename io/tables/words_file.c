// SPDX-License-Identifier: Apache-2.0
// The reader looks at sizes first, then at the hash, then at the content. What the content must be
// is for cuttle_words_make to say.
#include "io/tables/words_file.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char magic[16] = "cuttle words 1\n";
enum {
	DIGEST = HASH_TEXT - 1, /* bytes of a hash in the file */
	PIPE_MB = 256           /* the largest list that is read from a pipe */
};

/* The file's beginning, as it lies in the file. */
struct words_header {
	char magic[sizeof magic];
	uint32_t count;         /* V */
	uint32_t width;         /* d */
	uint32_t set_size;      /* K, 0 = none */
	uint32_t has_transform; /* 0 or 1 */
	uint64_t text_bytes;
	char model_sha256[DIGEST];
};
_Static_assert(sizeof(struct words_header) == 104, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is read as it lies");

/* Bytes of all but header, texts and hash. The bounds of the header keep it from overflowing. */
static uint64_t bytes_of_numbers(const struct words_header *h) {
	const uint64_t count = h->count, width = h->width;
	return 4 * ((h->set_size ? count : 0) + (h->has_transform ? width + width * width : 0) +
	            count * width);
}

static enum cuttle_status fail_file_memory(struct cuttle_error *error) {
	return io_fail(error, CUTTLE_NOMEM, "out of memory for a words file");
}

/* A file being written: every byte goes into the hash. */
struct words_writer {
	struct sink sink;
	struct hash hash;
	struct cuttle_error *error;
	enum cuttle_status status; /* of all that was written */
};

static void write_hashed(struct words_writer *w, const void *bytes, size_t size) {
	if (w->status) return;
	hash_add(&w->hash, bytes, size);
	w->status = sink_write(&w->sink, bytes, size, w->error);
}

static void write_word_texts(struct words_writer *w, const struct cuttle_words *words,
                             uint64_t text_bytes) {
	char *texts = calloc(text_bytes, 1), *to = texts;
	if (!texts) {
		w->status = fail_file_memory(w->error);
		return;
	}
	for (size_t i = 0; i < cuttle_words_count(words); i++)
		to = stpcpy(to, cuttle_words_text(words, i)) + 1;
	write_hashed(w, texts, text_bytes);
	free(texts);
}

static void write_rows(struct words_writer *w, const struct cuttle_words *words) {
	enum { ROWS = 64 }; // written at once
	const size_t count = cuttle_words_count(words), d = cuttle_words_width(words);
	float *rows = malloc(ROWS * d * sizeof *rows);
	if (!rows) w->status = fail_file_memory(w->error);
	for (size_t first = 0; first < count && !w->status; first += ROWS) {
		const size_t some = count - first < ROWS ? count - first : ROWS;
		for (size_t i = 0; i < some; i++) cuttle_words_row(words, first + i, rows + i * d);
		write_hashed(w, rows, some * d * sizeof *rows);
	}
	free(rows);
}

enum cuttle_status words_file_write(const char *path, const struct cuttle_words *words,
                                    const uint32_t *sets, size_t set_size, char sha256[HASH_TEXT],
                                    struct cuttle_error *error) {
	const size_t count = cuttle_words_count(words), d = cuttle_words_width(words);
	if (!sets) sets = cuttle_words_sets(words, &set_size);
	float *mean = malloc((d + d * d) * sizeof *mean);
	if (!mean) return fail_file_memory(error);
	struct words_header header = {.count = (uint32_t)count,
	                              .width = (uint32_t)d,
	                              .set_size = (uint32_t)set_size,
	                              .has_transform = cuttle_words_pieces(words, mean, mean + d)};
	memcpy(header.magic, magic, sizeof magic);
	memcpy(header.model_sha256, cuttle_words_model_sha256(words),
	       strlen(cuttle_words_model_sha256(words)));
	for (size_t i = 0; i < count; i++)
		header.text_bytes += strlen(cuttle_words_text(words, i)) + 1;
	header.text_bytes = (header.text_bytes + 7) / 8 * 8;
	struct words_writer w = {.error = error};
	w.status = sink_open(&w.sink, path, error);
	if (!w.status) {
		hash_begin(&w.hash);
		write_hashed(&w, &header, sizeof header);
		write_word_texts(&w, words, header.text_bytes);
		if (sets) write_hashed(&w, sets, count * sizeof *sets);
		if (header.has_transform) write_hashed(&w, mean, (d + d * d) * sizeof *mean);
		write_rows(&w, words);
		struct hash so_far = w.hash;
		hash_end(&so_far, sha256);
		write_hashed(&w, sha256, DIGEST);
		hash_end(&w.hash, sha256);
		w.status = sink_close(&w.sink, w.status, error);
	}
	free(mean);
	return w.status;
}

/* Whether the header is one of ours, and the file as long as it says. */
static enum cuttle_status check_header(const char *path, const struct words_header *h, size_t size,
                                       struct cuttle_error *error) {
	if (size < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
		return io_fail(error, CUTTLE_INPUT,
		               "%s is no words file; cuttle words makes one from a model", path);
	if (h->count < 2 || h->count > CUTTLE_WORDS_MOST || h->width < 1 ||
	    h->width > CUTTLE_WORDS_WIDTH || h->has_transform > 1 || h->text_bytes % 8 != 0 ||
	    h->text_bytes > (uint64_t)CUTTLE_WORDS_MOST * (CUTTLE_WORDS_BYTES + 1))
		return io_fail(error, CUTTLE_INPUT, "%s: its first bytes are damaged", path);
	const uint64_t wanted = sizeof *h + h->text_bytes + bytes_of_numbers(h) + DIGEST;
	if (size == wanted) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT, "%s has %zu bytes instead of %llu: it is %s", path,
	               size, (unsigned long long)wanted, size < wanted ? "cut short" : "too long");
}

/* Points words[count] into the texts. False: there are not exactly so many. */
static bool split_texts(const char *texts, size_t size, const char **words, size_t count) {
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		const char *end = memchr(texts + at, 0, size - at);
		if (!end) return false;
		words[i] = texts + at;
		at = (size_t)(end - texts) + 1;
	}
	if (size - at >= 8) return false;
	for (; at < size; at++)
		if (texts[at]) return false;
	return true;
}

/* Makes the list from the bytes of a whole file, whose header and hash are right. */
static enum cuttle_status make_from_bytes(const char *path, const char *bytes, unsigned threads,
                                          struct cuttle_words **words, struct cuttle_error *error) {
	struct words_header h;
	memcpy(&h, bytes, sizeof h);
	const char *texts = bytes + sizeof h, *numbers = texts + h.text_bytes;
	char model[HASH_TEXT] = "";
	memcpy(model, h.model_sha256, DIGEST);
	const char **list = malloc(h.count * sizeof *list);
	if (!list) return fail_file_memory(error);
	enum cuttle_status status = CUTTLE_OK;
	if (!split_texts(texts, h.text_bytes, list, h.count))
		status = io_fail(error, CUTTLE_INPUT, "%s does not hold %u words", path,
		                 (unsigned)h.count);
	struct cuttle_words_params p;
	cuttle_words_params_default(&p);
	p.count = h.count;
	p.width = h.width;
	p.words = list;
	p.threads = threads;
	p.model_sha256 = *model ? model : NULL;
	// Header and texts are a multiple of 8 bytes, so all numbers are aligned.
	if (h.set_size) {
		p.sets = (const uint32_t *)(const void *)numbers;
		p.set_size = h.set_size;
		numbers += h.count * sizeof *p.sets;
	}
	const float *floats = (const float *)(const void *)numbers;
	if (h.has_transform) {
		p.mean = floats;
		p.transform = floats + h.width;
		floats += h.width + (size_t)h.width * h.width;
	}
	p.vectors = floats;
	struct cuttle_error why = {""};
	if (!status) {
		status = cuttle_words_make(&p, words, &why);
		if (status == CUTTLE_USAGE)
			status = io_fail(error, CUTTLE_INPUT, "%s: %s", path, why.message);
		else if (status) status = io_fail(error, status, "%s", why.message);
	}
	free(list);
	return status;
}

enum cuttle_status words_file_read(const char *path, unsigned threads, struct cuttle_words **words,
                                   char sha256[HASH_TEXT], struct cuttle_error *error) {
	char *bytes;
	size_t size;
	*words = NULL;
	// file_read asks for as much memory as a file may have. A pipe, whose size is not known,
	// may have little: a list is a file.
	struct stat about;
	const bool sized = !stat(path, &about) && S_ISREG(about.st_mode);
	const size_t most = sized ? (size_t)about.st_size : (size_t)PIPE_MB << 20;
	enum cuttle_status status = file_read(path, most, &bytes, &size, error);
	if (status) return status;
	struct words_header header = {.count = 0};
	memcpy(&header, bytes, size < sizeof header ? size : sizeof header);
	status = check_header(path, &header, size, error);
	if (!status && !hash_sealed(bytes, size, sha256))
		status =
		    io_fail(error, CUTTLE_INPUT,
		            "%s is damaged: its content does not have the hash at its end", path);
	if (!status) status = make_from_bytes(path, bytes, threads, words, error);
	free(bytes);
	return status;
}
