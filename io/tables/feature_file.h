// SPDX-License-Identifier: Apache-2.0
// feature_file.h: what a model made of texts, kept while an evaluation runs, so that it can resume.
//
// Its content is PRIVATE where the texts are: vectors tell much of a text. So only the owner may
// read or write the file, always, and memory is wiped.
// A text is found by the hash of its bytes. So the order of the inputs does not matter, and a text
// that changed is computed again. The file, all numbers little-endian:
//   16 bytes  "cuttle feature1\n"
//   64 bytes  the model's SHA-256 in hex digits
//   8 bytes   width, the numbers of a vector
//   then for each text: 32 bytes SHA-256 of its bytes, 8 bytes tokens, 8 bytes the perplexity,
//   width floats, 8 bytes of the SHA-256 of all of these
// A file of another model or width is begun anew. A record that is cut or damaged ends what is
// read, and is overwritten. For example:
//     feature_file_open("out.json.features", sha256, 576, &file, &error);
//     if (!feature_file_find(file, text, size, &feature)) ... feature_file_add(...)
//     feature_file_close(&file);
#ifndef CUTTLE_IO_TABLES_FEATURE_FILE_H
#define CUTTLE_IO_TABLES_FEATURE_FILE_H

#include "io/disk/hash.h"

#define FEATURE_FILE ".features" /* behind the name of the output */

struct feature {
	uint64_t tokens;     /* of the text, without BOS */
	double perplexity;   /* NaN: it has none */
	const float *vector; /* [width] */
};

struct feature_file;

/* Opens the file, or makes it with mode 0600; a file that is there gets this mode. path NULL: what
 * is added is kept in memory alone.
 * USAGE: the file cannot be opened, another process has it, or it is somebody's own: it stays as it
 * is. INTERNAL: it cannot be read or
 * written. NOMEM. */
enum cuttle_status feature_file_open(const char *path, const char model_sha256[HASH_TEXT],
                                     size_t width, struct feature_file **file,
                                     struct cuttle_error *error);
/* Wipes and frees what is in memory; the file stays. NULL handles are fine. */
void feature_file_close(struct feature_file **file);

/* Finds what was made of a text[size]. feature->vector is valid until the next call of
 * feature_file_add. False: nothing yet. */
bool feature_file_find(const struct feature_file *file, const char *text, size_t size,
                       struct feature *feature);

/* Adds it, to the file too. A text that is there already must not be added. INTERNAL: the file
 * cannot be written. NOMEM. */
enum cuttle_status feature_file_add(struct feature_file *file, const char *text, size_t size,
                                    const struct feature *feature, struct cuttle_error *error);

#endif
