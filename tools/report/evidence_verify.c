// SPDX-License-Identifier: Apache-2.0
// verify.txt: what cuttle receipt verify says of each receipt, word by word.
//
// It is said by the command's own function, of the files that were given. Commands name the copies
// in the folder, and other files without the folders that they are in.
#include "tools/report/evidence_pages.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "tools/report/verify_text.h"
#include <stdlib.h>
#include <string.h>

/* A word of a command line, with a space before it. */
static void put_word(FILE *file, const char *text) {
	char *word = report_shell_word(text);
	fprintf(file, " %s", word ? word : "?");
	free(word);
}

/* Whether all of a name can be seen, and stands in one line. */
static bool is_seen_name(const char *name) {
	for (size_t left = strlen(name), size; left; name += size, left -= size) {
		uint32_t c;
		size = utf8_decode(name, left, &c);
		if (!size || report_invisible(c)) return false;
	}
	return true;
}

/* The name of a file that the reader has: without its folders. Python hands over files by number,
 * which names nothing. */
static const char *name_own_file(const char *path) {
	if (!path) return NULL;
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8) ||
	               !is_seen_name(report_base_name(path))
	           ? "FILE"
	           : report_base_name(path);
}

/* An option with a word, if there is one. */
static void put_option(FILE *file, const char *option, const char *word) {
	if (!word) return;
	fprintf(file, " %s", option);
	put_word(file, word);
}

/* The name in the folder of the receipt at path; NULL stays NULL. */
static const char *name_in_folder(const struct dossier *dossier, const char *path) {
	for (size_t i = 0; path && i < dossier->receipt_count; i++)
		if (!strcmp(dossier->receipts[i].path, path)) return dossier->receipts[i].name;
	return NULL;
}

static void put_verify_command(FILE *file, const struct dossier *dossier,
                               const struct dossier_receipt *receipt) {
	fputs("$ cuttle receipt verify", file);
	put_word(file, receipt->name);
	put_option(file, "--output", name_own_file(receipt->files.output));
	put_option(file, "--parent", name_in_folder(dossier, receipt->files.parent));
	put_option(file, "--ledger", name_own_file(receipt->files.ledger));
	put_option(file, "--key", dossier->key);
	fputc('\n', file);
}

/* A file that a message may name. */
struct told_file {
	const char *path;  /* NULL = there is none */
	const char *shown; /* instead of it */
};

static bool is_control(char byte) {
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

/* Where a message names the path first; NULL = nowhere. io_fail shows a control character as '?'.
 * The name of a file without a folder may be part of any word, so it must stand alone. */
static const char *find_told_path(const char *message, const char *path) {
	const size_t size = path ? strlen(path) : 0;
	const bool is_word = path && !strchr(path, '/');
	for (const char *at = message; size && strlen(at) >= size; at++) {
		size_t same = 0;
		while (same < size &&
		       (at[same] == path[same] || (at[same] == '?' && is_control(path[same]))))
			same++;
		if (same == size && (!is_word || ((at == message || at[-1] == ' ') &&
		                                  (!at[size] || strchr(": ,", at[size])))))
			return at;
	}
	return NULL;
}

/* Writes a message, in which files stand as they are shown. */
static void put_message(FILE *file, const char *message, const struct told_file *files,
                        size_t count) {
	for (;;) {
		const struct told_file *found = NULL;
		const char *first = NULL;
		for (size_t i = 0; i < count; i++) {
			const char *at = find_told_path(message, files[i].path);
			// Of two that begin there, the longer one is meant.
			if (at && (!first || at < first ||
			           (at == first && strlen(files[i].path) > strlen(found->path)))) {
				first = at;
				found = &files[i];
			}
		}
		if (!found) break;
		fprintf(file, "%.*s%s", (int)(first - message), message, found->shown);
		message = first + strlen(found->path);
	}
	fprintf(file, "%s\n", message);
}

static void put_failure(FILE *file, const struct dossier *dossier,
                        const struct dossier_receipt *receipt, const struct cuttle_error *why) {
	const struct verification_files *files = &receipt->files;
	const struct told_file told[] = {
	    {receipt->path, receipt->name},
	    {files->output, name_own_file(files->output)},
	    {files->ledger, name_own_file(files->ledger)},
	    {files->parent, name_in_folder(dossier, files->parent)},
	};
	fputs("cuttle receipt: ", file);
	// A message that was cut, perhaps a character earlier, may end within a path, of which a
	// part would be shown.
	if (strlen(why->message) + 4 >= sizeof why->message)
		fprintf(file, "%s: the reason has no room beside a path that long\n",
		        receipt->name);
	else put_message(file, why->message, told, sizeof told / sizeof *told);
}

static enum cuttle_status put_transcript(FILE *file, const struct dossier *dossier,
                                         const struct dossier_receipt *receipt,
                                         struct cuttle_error *error) {
	struct cuttle_error why = {""};
	put_verify_command(file, dossier, receipt);
	const enum cuttle_status status =
	    verify_write(file, receipt->path, &receipt->files, dossier->key, &why);
	if (status != receipt->verdict)
		return io_fail(error, CUTTLE_LEDGER, "%s was changed meanwhile", receipt->path);
	if (status) put_failure(file, dossier, receipt, &why);
	fprintf(file, "exit code %d: %s\n\n", (int)status,
	        status == CUTTLE_LEDGER  ? "IT DOES NOT HOLD"
	        : status == CUTTLE_INPUT ? "NOT PRIVATE"
	                                 : "it holds");
	return CUTTLE_OK;
}

enum cuttle_status evidence_write_verify(FILE *file, const struct dossier *dossier,
                                         struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < dossier->stamps.count; i++)
		fprintf(file, "%s\n", dossier->stamps.all[i].text);
	fprintf(file,
	        "What cuttle %s says of each receipt. To do it again, put your own files\n"
	        "beside this one: outputs and the ledger are not in the folder.\n\n",
	        cuttle_version());
	for (size_t i = 0; i < dossier->receipt_count && !status; i++)
		status = put_transcript(file, dossier, &dossier->receipts[i], error);
	return status;
}
