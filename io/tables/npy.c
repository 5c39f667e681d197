// SPDX-License-Identifier: Apache-2.0
// How npy.h reads: the file whole, then its header, which must describe exactly the bytes behind
// it. The header is a Python dictionary of three members in any order. Example:
//   \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n
#include "io/tables/npy.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[6] = "\x93NUMPY";
static const off_t MOST = (off_t)4 << 30; /* bytes of a file */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read as they lie");

/* What is left of a header. */
struct npy_header {
	const char *at;
	const char *end;
	size_t number_size; /* 4 or 8; 0 = not read yet */
	size_t shape[2];
	bool in_c_order;
	bool has_shape;
};

static void skip_blanks(struct npy_header *h) {
	while (h->at < h->end && (*h->at == ' ' || *h->at == '\n')) h->at++;
}

/* Whether `text` comes next, with blanks before it. Then it is behind us. */
static bool take_npy_text(struct npy_header *h, const char *text) {
	const size_t size = strlen(text);
	skip_blanks(h);
	if ((size_t)(h->end - h->at) < size || memcmp(h->at, text, size) != 0) return false;
	h->at += size;
	return true;
}

static bool take_npy_number(struct npy_header *h, size_t *value) {
	skip_blanks(h);
	const char *const begin = h->at;
	*value = 0;
	for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (size_t)(*h->at - '0'), value))
			return false;
	return h->at > begin;
}

/* Reads one member of the dictionary. False: it is none of the three, stands there twice, or has a
 * value that is not supported. */
static bool take_npy_member(struct npy_header *h) {
	if (take_npy_text(h, "'descr':")) {
		if (h->number_size) return false;
		if (take_npy_text(h, "'<f4'")) h->number_size = 4;
		else if (take_npy_text(h, "'<f8'")) h->number_size = 8;
		return h->number_size != 0;
	}
	if (take_npy_text(h, "'fortran_order':")) {
		if (h->in_c_order) return false;
		return h->in_c_order = take_npy_text(h, "False");
	}
	if (!take_npy_text(h, "'shape':") || h->has_shape) return false;
	h->has_shape = take_npy_text(h, "(") && take_npy_number(h, &h->shape[0]) &&
	               take_npy_text(h, ",") && take_npy_number(h, &h->shape[1]);
	if (h->has_shape) (void)take_npy_text(h, ",");
	return h->has_shape && take_npy_text(h, ")");
}

static bool parse_npy_header(struct npy_header *h) {
	if (!take_npy_text(h, "{")) return false;
	while (!take_npy_text(h, "}")) {
		if (!take_npy_member(h)) return false;
		if (take_npy_text(h, ",")) continue;
		if (!take_npy_text(h, "}")) return false;
		break;
	}
	skip_blanks(h);
	return h->at == h->end && h->number_size && h->in_c_order && h->has_shape;
}

/* Sets *header to the header of a file's bytes, and *data to where its numbers begin. */
static bool find_npy_header(const char *bytes, size_t size, struct npy_header *header,
                            size_t *data) {
	const unsigned char *const from = (const unsigned char *)bytes;
	if (size < 12 || memcmp(bytes, magic, sizeof magic) != 0 || from[6] < 1 || from[6] > 3 ||
	    from[7] != 0)
		return false;
	const size_t begin = from[6] == 1 ? 10 : 12;
	size_t length = from[8] | (size_t)from[9] << 8;
	if (begin == 12) length |= (size_t)from[10] << 16 | (size_t)from[11] << 24;
	if (length > size - begin) return false;
	*header = (struct npy_header){.at = bytes + begin, .end = bytes + begin + length};
	*data = begin + length;
	return parse_npy_header(header);
}

/* Copies the numbers. False: one is not finite, or too large for a float. */
static bool copy_npy_rows(const char *from, size_t number_size, const struct npy *npy) {
	bool finite = true;
	for (size_t i = 0; i < npy->count * npy->width; i++) {
		double value;
		if (number_size == 8) memcpy(&value, from + 8 * i, sizeof value);
		else {
			float single;
			memcpy(&single, from + 4 * i, sizeof single);
			value = (double)single;
		}
		npy->rows[i] = (float)value;
		finite &= isfinite(npy->rows[i]) != 0;
	}
	return finite;
}

static enum cuttle_status parse_npy(const char *path, const char *bytes, size_t size,
                                    struct npy *npy, struct cuttle_error *error) {
	struct npy_header header;
	size_t data, numbers, wanted;
	if (!find_npy_header(bytes, size, &header, &data))
		return io_fail(error, CUTTLE_INPUT,
		               "%s is no table in NumPy's format, of type <f4 or <f8 in C order",
		               path);
	if (!header.shape[0] || !header.shape[1] || header.shape[1] > NPY_WIDTH)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: %zu rows of %zu numbers; there must be a row, and 1 to %d "
		               "numbers in it",
		               path, header.shape[0], header.shape[1], NPY_WIDTH);
	if (__builtin_mul_overflow(header.shape[0], header.shape[1], &numbers) ||
	    __builtin_mul_overflow(numbers, header.number_size, &wanted) || wanted != size - data)
		return io_fail(error, CUTTLE_INPUT,
		               "%s has another size than %zu rows of %zu numbers have", path,
		               header.shape[0], header.shape[1]);
	npy->count = header.shape[0];
	npy->width = header.shape[1];
	npy->rows = malloc(numbers * sizeof *npy->rows);
	if (!npy->rows) return io_fail(error, CUTTLE_NOMEM, "out of memory reading %s", path);
	if (!copy_npy_rows(bytes + data, header.number_size, npy))
		return io_fail(error, CUTTLE_INPUT, "%s has a number that is not finite", path);
	return CUTTLE_OK;
}

void npy_free(struct npy *npy) {
	secrecy_free(npy->rows);
	*npy = (struct npy){0};
}

enum cuttle_status npy_read(const char *path, struct npy *npy, struct cuttle_error *error) {
	char *bytes = NULL;
	size_t size;
	struct stat entry;
	*npy = (struct npy){0};
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	int problem = file < 0 || fstat(file, &entry) ? errno : 0;
	if (!problem && (!S_ISREG(entry.st_mode) || entry.st_size > MOST)) problem = EFBIG;
	if (!problem) problem = file_read_open(file, &bytes, &size);
	if (file >= 0) (void)close(file);
	if (problem)
		return io_fail(error, problem == ENOMEM ? CUTTLE_NOMEM : CUTTLE_INPUT, "%s: %s",
		               path, strerror(problem));
	const enum cuttle_status status = parse_npy(path, bytes, size, npy, error);
	secrecy_free(bytes);
	if (status) npy_free(npy);
	return status;
}
