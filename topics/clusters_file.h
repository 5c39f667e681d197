// SPDX-License-Identifier: Apache-2.0
// clusters_file.h: stores clusters of public texts in a file, and reads it.
//
// No private data: the file is made before any private text is read, and its hash stands in the
// receipt.
//
// The file, all numbers little-endian:
//   "cuttle clusters 1\n" and 6 NULs        24 bytes
//   0 by words, 1 by model; k; texts        3 uint32
//   layer, width of the model; 0            3 uint32, all 0 by words
//   SHA-256 of the model                    64 hex digits, or 64 NULs by words
//   the names                               k * 128 bytes, NULs behind each
//   public texts of each cluster            k uint32
//   the centres                             D * k int32, D 4096 by words, 32 by model
//   first, mean, axes                       34 * width float32, by model alone
//   weights of the dimensions               4096 uint16, by words alone
//   SHA-256 of all bytes before             64 hex digits
#ifndef CUTTLE_TOPICS_CLUSTERS_FILE_H
#define CUTTLE_TOPICS_CLUSTERS_FILE_H

#include "topics/clusters.h"

/* Writes the clusters under a scratch name and renames it. sha256 gets the hash of the whole file.
 * USAGE: a file cannot be created there. INTERNAL: it cannot be written. NOMEM. */
enum cuttle_status clusters_file_write(const char *path, const struct clusters *clusters,
                                       char sha256[HASH_TEXT], struct cuttle_error *error);

/* Reads such a file. clusters_free frees *clusters. sha256 gets the hash of the whole file.
 * INPUT: it cannot be read, is no such file, is cut short or longer than it says, has another hash
 * than it says, or holds what clusters_make never makes: a number out of range or not finite, an
 * empty cluster, a name of more than a line. NOMEM. */
enum cuttle_status clusters_file_read(const char *path, struct clusters *clusters,
                                      char sha256[HASH_TEXT], struct cuttle_error *error);

#endif
