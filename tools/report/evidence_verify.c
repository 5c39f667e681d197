// SPDX-License-Identifier: Apache-2.0
// verify.txt: what cuttle receipt verify says of each receipt, word by word.
//
// It is said by the command's own function, of the files that were given. Commands name the copies
// in the folder, and other files without the folders that they are in.
#include "tools/report/evidence_pages.h"

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

/* The name of a file that the reader has: without its folders. Python hands over files by number,
 * which names nothing. */
static const char *name_own_file(const char *path) {
	if (!path) return NULL;
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8)
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

/* Writes a message, in which the path stands as `shown`. */
static void put_message(FILE *file, const char *message, const char *path, const char *shown) {
	for (const char *at; path && *path && (at = strstr(message, path));
	     message = at + strlen(path))
		fprintf(file, "%.*s%s", (int)(at - message), message, shown);
	fprintf(file, "%s\n", message);
}

/* A failure names one file, which is one of these. */
static void put_failure(FILE *file, const struct dossier *dossier,
                        const struct dossier_receipt *receipt, const char *message) {
	const struct verification_files *files = &receipt->files;
	const struct {
		const char *path, *shown;
	} names[] = {
	    {receipt->path, receipt->name},
	    {files->output, name_own_file(files->output)},
	    {files->ledger, name_own_file(files->ledger)},
	    {files->parent, name_in_folder(dossier, files->parent)},
	};
	size_t longest = 0;
	for (size_t i = 1; i < sizeof names / sizeof *names; i++)
		if (names[i].path && strstr(message, names[i].path) &&
		    (!strstr(message, names[longest].path) ||
		     strlen(names[i].path) > strlen(names[longest].path)))
			longest = i;
	fputs("cuttle receipt: ", file);
	put_message(file, message, names[longest].path, names[longest].shown);
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
	if (status) put_failure(file, dossier, receipt, why.message);
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
