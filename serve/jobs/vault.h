// SPDX-License-Identifier: Apache-2.0
// vault.h: the references of jobs, encrypted on the disk until their job has ended.
//
// PRIVATE texts pass through in pieces, and are wiped from its memory. Of a job ID two files stand
// in different places:
//
//     STATE/jobs/ID/refs     crypto_secretstream, encrypted as the upload arrives; mode 0600
//     RUNTIME/ID.key         its key; RUNTIME is memory (tmpfs), so a reboot loses it
//
// So a server that is killed goes on, and after a reboot what is on the disk is noise: the job asks
// for its references again. To wipe is to overwrite and remove the key first, then the file.
//
// Errors: PARTIAL: the disk is full. INTERNAL: the files cannot be used. NOMEM.
#ifndef CUTTLE_SERVE_JOBS_VAULT_H
#define CUTTLE_SERVE_JOBS_VAULT_H

#include "engine/cuttle/status.h"

enum { VAULT_PIECE = 64 << 10 }; /* bytes of plain text that are encrypted at once */

/* Where the files stand; both strings are the caller's. */
struct vault {
	const char *jobs;    /* "STATE/jobs": each job has a folder here */
	const char *runtime; /* folder in memory, for keys */
};

/* An upload that arrives. */
struct vault_writer;
/* Begins a file for a job whose folder is there. What an earlier upload left stays until
 * vault_keep. */
enum cuttle_status vault_begin(const struct vault *vault, const char *id,
                               struct vault_writer **writer, struct cuttle_error *error);
/* Adds bytes, of any number. After a failure only vault_drop may follow. */
enum cuttle_status vault_add(struct vault_writer *writer, const void *bytes, size_t size,
                             struct cuttle_error *error);
/* Puts the file in place, synced, with its key, and with a mark that nobody has looked at it yet.
 * Frees the writer in any case, and sets it to NULL; on failure nothing is kept. */
enum cuttle_status vault_keep(struct vault_writer **writer, struct cuttle_error *error);
/* Removes what was written. The writer may be NULL; it is set to NULL. */
void vault_drop(struct vault_writer **writer);

/* Takes the mark away: the references will do. */
void vault_trust(const struct vault *vault, const char *id);
/* After a kill: removes half an upload, and references that have the mark. */
void vault_sweep(const struct vault *vault, const char *id);

/* Whether file and key are there. */
bool vault_has(const struct vault *vault, const char *id);
/* Bytes that the file takes on the disk; 0 where there is none. */
uint64_t vault_size(const struct vault *vault, const char *id);
/* Seconds since the upload, by a clock that no setting of the time moves; 0 where there is none. */
double vault_age(const struct vault *vault, const char *id);
/* Overwrites and removes the key, then removes the file. Does nothing where there is none. */
void vault_wipe(const struct vault *vault, const char *id);

/* References that are read back. */
struct vault_reader;
/* INTERNAL: file or key is not there, or the file is not what the key has written. PARTIAL: they
 * cannot be opened now, but may be later. */
enum cuttle_status vault_read(const struct vault *vault, const char *id,
                              struct vault_reader **reader, struct cuttle_error *error);
/* The next piece, at most VAULT_PIECE bytes, or *size = 0 behind the last. It is valid until the
 * next call, which wipes it. INTERNAL: the file was changed or cut. */
enum cuttle_status vault_next(struct vault_reader *reader, const void **bytes, size_t *size,
                              struct cuttle_error *error);
/* Wipes piece and key. The reader may be NULL; it is set to NULL. */
void vault_close(struct vault_reader **reader);

#endif
