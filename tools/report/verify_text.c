// SPDX-License-Identifier: Apache-2.0
// The text of verify_text.h.
#include "tools/report/verify_text.h"

static void print_promise(FILE *file, const struct promise *promise) {
	fprintf(file, "The receipt agrees with itself: %s\n", promise->opening);
	for (size_t i = 0; i < promise->about.count; i++)
		fprintf(file, "%-8s %s\n", promise->about.all[i].label, promise->about.all[i].text);
	fprintf(file, "not checked: %s\n\nPromised\n", promise->unchecked);
	for (size_t i = 0; i < promise->kept.count; i++)
		fprintf(file, "  %s\n", promise->kept.all[i].text);
	fputs("\nNot promised\n", file);
	for (size_t i = 0; i < promise->limits.count; i++)
		fprintf(file, "  - %s\n", promise->limits.all[i].text);
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
