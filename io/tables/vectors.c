// SPDX-License-Identifier: Apache-2.0
// The text formats are read by lines, the binary one by bytes. Both give their words to
// keep_vector. Twins are looked for at the end, when all words can be sorted.
#include "io/tables/vectors.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/records/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD_MOST = 4096, /* bytes of a word in a file, before it is judged */
	NUMBER_MOST = 64, /* bytes of a number */
	HEADER_MOST = 64  /* bytes of the line with V and d */
};

struct vectors_run {
	const struct vectors_request *request;
	struct vectors *vectors;
	struct source source;
	const char *path;   /* for messages */
	size_t capacity;    /* words there is room for */
	float *row;         /* [width] the word under way */
	uint64_t position;  /* of the line or the word under way, from 1 */
	uint64_t announced; /* V of the first line; 0 = GloVe */
	const char *chunk;  /* binary: bytes of the source not taken yet */
	size_t left;        /* of the chunk */
	struct cuttle_error *error;
};

static enum cuttle_status fail_vectors_memory(const struct vectors_run *r) {
	return io_fail(r->error, CUTTLE_NOMEM, "out of memory reading %s", r->path);
}

/* A message about the line or word under way. */
static enum cuttle_status fail_vector(const struct vectors_run *r, const char *what) {
	return io_fail(r->error, CUTTLE_INPUT, "%s, %s %llu: %s", r->path,
	               r->request->format == VECTORS_WORD2VEC_BIN ? "word" : "line",
	               (unsigned long long)r->position, what);
}

static enum cuttle_status set_width(struct vectors_run *r, size_t width) {
	if (width < 1 || width > CUTTLE_WORDS_WIDTH)
		return io_fail(r->error, CUTTLE_INPUT,
		               "%s: vectors of %zu numbers are outside 1..%d", r->path, width,
		               CUTTLE_WORDS_WIDTH);
	r->vectors->width = width;
	r->row = malloc(width * sizeof *r->row);
	return r->row ? CUTTLE_OK : fail_vectors_memory(r);
}

/* Makes room for one more word. */
static bool grow_vectors(struct vectors_run *r) {
	struct vectors *v = r->vectors;
	if (v->count < r->capacity) return true;
	const size_t more = r->capacity ? 2 * r->capacity : 1024;
	char **words = reallocarray(v->words, more, sizeof *words);
	if (words) v->words = words;
	float *rows = reallocarray(v->rows, more, v->width * sizeof *rows);
	if (rows) v->rows = rows;
	uint64_t *positions = reallocarray(v->positions, more, sizeof *positions);
	if (positions) v->positions = positions;
	if (!words || !rows || !positions) return false;
	r->capacity = more;
	return true;
}

/* Keeps the word with the numbers of r->row, or counts why not. */
static enum cuttle_status keep_vector(struct vectors_run *r, const char *text, size_t size) {
	struct vectors *v = r->vectors;
	for (size_t j = 0; j < v->width; j++)
		if (!isfinite(r->row[j])) return fail_vector(r, "a number is not finite");
	if (!cuttle_words_is_word(text, size)) {
		v->not_words++;
		return CUTTLE_OK;
	}
	char *word = strndup(text, size);
	if (!word || !grow_vectors(r)) {
		free(word);
		return fail_vectors_memory(r);
	}
	if (r->request->wanted && !r->request->wanted(r->request->user, word)) {
		v->not_wanted++;
		free(word);
		return CUTTLE_OK;
	}
	memcpy(v->rows + v->count * v->width, r->row, v->width * sizeof *r->row);
	v->positions[v->count] = r->position;
	v->words[v->count++] = word;
	return CUTTLE_OK;
}

static bool is_field_blank(char c) {
	return c == ' ' || c == '\t';
}

/* Cuts the last field off text[*size], with the blanks before it. Sets *field and *length; length 0
 * when nothing is left. */
static void take_last_field(const char *text, size_t *size, const char **field, size_t *length) {
	size_t end = *size;
	while (end && is_field_blank(text[end - 1])) end--;
	size_t start = end;
	while (start && !is_field_blank(text[start - 1])) start--;
	*field = text + start;
	*length = end - start;
	while (start && is_field_blank(text[start - 1])) start--;
	*size = start;
}

static bool read_decimal(const char *field, size_t length, float *number) {
	char copy[NUMBER_MOST];
	if (!length || length >= sizeof copy) return false;
	memcpy(copy, field, length);
	copy[length] = 0;
	char *end;
	*number = strtof(copy, &end);
	return end == copy + length && strspn(copy, "0123456789+-.eE") == length;
}

static size_t count_fields(const char *text, size_t size) {
	size_t fields = 0;
	for (size_t i = 0; i < size; i++)
		fields += !is_field_blank(text[i]) && (!i || is_field_blank(text[i - 1]));
	return fields;
}

static enum cuttle_status read_text_line(struct vectors_run *r, const char *line, size_t size) {
	if (size && line[size - 1] == '\r') size--;
	if (r->source.cut || memchr(line, 0, size))
		return fail_vector(r, "it is too long, or holds a zero byte");
	for (size_t j = r->vectors->width; j-- > 0;) {
		const char *field;
		size_t length;
		take_last_field(line, &size, &field, &length);
		if (!size) return fail_vector(r, "it has fewer numbers than the vectors are long");
		if (!read_decimal(field, length, &r->row[j]))
			return fail_vector(r, "a field that should be a number is none");
	}
	return keep_vector(r, line, size);
}

/* Reads "V d". */
static enum cuttle_status read_announcement(struct vectors_run *r, const char *line, size_t size) {
	char copy[HEADER_MOST];
	unsigned long long count, width;
	int end = 0;
	if (size && line[size - 1] == '\r') size--;
	if (size >= sizeof copy) size = 0;
	memcpy(copy, line, size);
	copy[size] = 0;
	if (strspn(copy, "0123456789 \t") != size ||
	    sscanf(copy, "%19llu %19llu %n", &count, &width, &end) != 2 || (size_t)end != size ||
	    !count)
		return fail_vector(r, "it should say how many words and numbers follow, as in "
		                      "\"400000 300\"; perhaps the file is --format glove");
	r->announced = count;
	return set_width(r, width > CUTTLE_WORDS_WIDTH ? CUTTLE_WORDS_WIDTH + 1 : (size_t)width);
}

static enum cuttle_status fail_short(const struct vectors_run *r, uint64_t found) {
	return io_fail(r->error, CUTTLE_INPUT, "%s ends after %llu of %llu words: it is cut short",
	               r->path, (unsigned long long)found, (unsigned long long)r->announced);
}

/* Whether no further word is read. */
static bool has_enough(const struct vectors_run *r) {
	return r->vectors->count == r->request->most;
}

static enum cuttle_status read_text_vectors(struct vectors_run *r) {
	const bool glove = r->request->format == VECTORS_GLOVE;
	const char *line;
	size_t size;
	uint64_t words = 0;
	enum cuttle_status status = CUTTLE_OK;
	while (!status && !has_enough(r)) {
		status = source_line(&r->source, &line, &size, r->error);
		if (status || !line) break;
		r->position++;
		if (r->position == 1 && !glove) {
			status = read_announcement(r, line, size);
			continue;
		}
		if (r->position == 1 && count_fields(line, size) == 2)
			return fail_vector(r, "a word and one number; perhaps the file is --format "
			                      "word2vec");
		if (r->position == 1) {
			const size_t fields = count_fields(line, size);
			status = set_width(r, fields ? fields - 1 : 0);
		}
		if (!status && !glove && words++ == r->announced)
			return fail_vector(r, "there are more words than the first line says");
		if (!status) status = read_text_line(r, line, size);
	}
	if (!status && !glove && !has_enough(r) && words < r->announced)
		return fail_short(r, words);
	return status;
}

/* The next byte, or -1 at the end. */
static enum cuttle_status take_byte(struct vectors_run *r, int *byte) {
	*byte = -1;
	if (!r->left) {
		const enum cuttle_status status =
		    source_chunk(&r->source, &r->chunk, &r->left, r->error);
		if (status || !r->left) return status;
	}
	r->left--;
	*byte = (unsigned char)*r->chunk++;
	return CUTTLE_OK;
}

/* Fills bytes[size]. *taken is less only at the end of the file. */
static enum cuttle_status take_chunk_bytes(struct vectors_run *r, void *bytes, size_t size,
                                           size_t *taken) {
	for (*taken = 0; *taken < size;) {
		if (!r->left) {
			const enum cuttle_status status =
			    source_chunk(&r->source, &r->chunk, &r->left, r->error);
			if (status || !r->left) return status;
		}
		const size_t some = r->left < size - *taken ? r->left : size - *taken;
		memcpy((char *)bytes + *taken, r->chunk, some);
		r->chunk += some;
		r->left -= some;
		*taken += some;
	}
	return CUTTLE_OK;
}

/* Reads up to the byte `stop`, into text[*size]; newlines before the first byte are passed over. At
 * the end of the file *size is SIZE_MAX. */
static enum cuttle_status take_until(struct vectors_run *r, char stop, char *text, size_t most,
                                     size_t *size) {
	*size = 0;
	for (int byte;;) {
		const enum cuttle_status status = take_byte(r, &byte);
		if (status) return status;
		if (byte < 0) {
			*size = SIZE_MAX;
			return CUTTLE_OK;
		}
		if (byte == (unsigned char)stop) return CUTTLE_OK;
		if (byte == '\n' && !*size) continue;
		if (*size == most) return fail_vector(r, "its text does not end");
		text[(*size)++] = (char)byte;
	}
}

static enum cuttle_status read_binary_vectors(struct vectors_run *r) {
	char text[WORD_MOST];
	size_t size;
	r->position = 1;
	enum cuttle_status status = take_until(r, '\n', text, HEADER_MOST, &size);
	if (!status) status = read_announcement(r, text, size == SIZE_MAX ? 0 : size);
	for (; !status && !has_enough(r) && r->position <= r->announced; r->position++) {
		status = take_until(r, ' ', text, sizeof text, &size);
		if (status) return status;
		size_t taken = 0;
		const size_t wanted = r->vectors->width * sizeof *r->row;
		if (size != SIZE_MAX) status = take_chunk_bytes(r, r->row, wanted, &taken);
		if (status) return status;
		if (taken < wanted) return fail_short(r, r->position - 1);
		status = keep_vector(r, text, size);
	}
	for (int byte; !status && !has_enough(r);) {
		status = take_byte(r, &byte);
		if (byte < 0) break;
		if (!status && byte != '\n')
			return io_fail(r->error, CUTTLE_INPUT, "%s goes on after its %llu words",
			               r->path, (unsigned long long)r->announced);
	}
	return status;
}

struct twin {
	const char *word;
	uint64_t position;
};

static int compare_twins(const void *a, const void *b) {
	const struct twin *left = a, *right = b;
	const int order = strcmp(left->word, right->word);
	return order ? order
	             : (left->position > right->position) - (left->position < right->position);
}

static enum cuttle_status refuse_twins(struct vectors_run *r) {
	const struct vectors *v = r->vectors;
	struct twin *twins = malloc((v->count + 1) * sizeof *twins);
	if (!twins) return fail_vectors_memory(r);
	for (size_t i = 0; i < v->count; i++)
		twins[i] = (struct twin){v->words[i], v->positions[i]};
	qsort(twins, v->count, sizeof *twins, compare_twins);
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 1; i < v->count && !status; i++)
		if (!strcmp(twins[i - 1].word, twins[i].word)) {
			r->position = twins[i].position;
			status = fail_vector(r, "its word stood there before");
		}
	free(twins);
	return status;
}

enum cuttle_status vectors_read(const struct vectors_request *request, struct vectors *vectors,
                                struct cuttle_error *error) {
	*vectors = (struct vectors){0};
	struct vectors_run r = {.request = request,
	                        .vectors = vectors,
	                        .path = file_shown(request->path),
	                        .error = error};
	enum cuttle_status status = source_open(&r.source, request->path, error);
	if (status) return status;
	status = request->format == VECTORS_WORD2VEC_BIN ? read_binary_vectors(&r)
	                                                 : read_text_vectors(&r);
	source_close(&r.source);
	free(r.row);
	if (!status) status = refuse_twins(&r);
	if (!status && vectors->count < 2)
		status = io_fail(error, CUTTLE_INPUT,
		                 "%s: %zu words are left, and a list needs two. %zu were no "
		                 "words of small letters, and %zu not in the word list",
		                 r.path, vectors->count, vectors->not_words, vectors->not_wanted);
	return status;
}

void vectors_free(struct vectors *vectors) {
	for (size_t i = 0; i < vectors->count; i++) free(vectors->words[i]);
	free(vectors->words);
	free(vectors->rows);
	free(vectors->positions);
	*vectors = (struct vectors){0};
}
