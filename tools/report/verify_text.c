// SPDX-License-Identifier: Apache-2.0
// The text of verify_text.h.
#include "tools/report/verify_text.h"

#include "base/utf8.h"
#include "tools/report/report_text.h"
#include <string.h>

/* Writes a line, in which a character of a foreign word that is not seen is '?': it neither ends
 * the line, nor turns it around, nor commands a terminal. */
static void put_promise_line(FILE *file, const char *before, const char *text) {
	fputs(before, file);
	for (size_t left = strlen(text), size; left; text += size, left -= size) {
		uint32_t c;
		size = utf8_decode(text, left, &c);
		if (!size || report_invisible(c)) fputc('?', file);
		else (void)fwrite(text, 1, size, file);
		size += !size;
	}
	fputc('\n', file);
}

static void print_promise(FILE *file, const struct promise *promise) {
	put_promise_line(file, "The receipt agrees with itself: ", promise->opening);
	for (size_t i = 0; i < promise->about.count; i++) {
		fprintf(file, "%-8s", promise->about.all[i].label);
		put_promise_line(file, " ", promise->about.all[i].text);
	}
	put_promise_line(file, "not checked: ", promise->unchecked);
	fputs("\nPromised\n", file);
	for (size_t i = 0; i < promise->kept.count; i++)
		put_promise_line(file, "  ", promise->kept.all[i].text);
	fputs("\nNot promised\n", file);
	for (size_t i = 0; i < promise->limits.count; i++)
		put_promise_line(file, "  - ", promise->limits.all[i].text);
}

enum cuttle_status verify_write(FILE *file, const char *path,
                                const struct verification_files *files, const char *key,
                                struct cuttle_error *error) {
	struct verification v;
	struct promise promise = {0};
	struct verification_files compared = *files;
	compared.key = key != NULL;
	compared.hints = true;
	enum cuttle_status status = verification_open(&v, path, key, error);
	if (!status) status = verification_compare(&v, &compared, error);
	if (!status) status = promise_make(&v, &compared, &promise, error);
	if (!status) print_promise(file, &promise);
	promise_free(&promise);
	verification_close(&v);
	return status;
}
