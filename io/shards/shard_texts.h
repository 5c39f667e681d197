// SPDX-License-Identifier: Apache-2.0
// shard_texts.h: the references of one shard, in a file of its own: what its places hold and
// nothing else.
//
// PRIVATE: the file is as secret as the records, mode 0600 in a folder of mode 0700, and is
// overwritten and removed by cuttle merge. With lots it also tells which batch they are in. So it
// is as secret as lots are (io/records/lots.h); the lots' key is in no file. It is one line,
//
//     cuttle-texts 1 RUN 3 100 PLACES KEY        32 hex digits, shard, N, places, 64 hex digits
//
// then each place in the order of its number: 8 bytes, little-endian, of its size plus one, then
// its text. These bytes are 0 where no record stands, or a null one. KEY is a fresh one of each
// file. run.json has the digest of all texts under it, so who has run.json alone can test no guess
// of a text.
#ifndef CUTTLE_IO_SHARDS_SHARD_TEXTS_H
#define CUTTLE_IO_SHARDS_SHARD_TEXTS_H

#include "io/disk/arena.h"
#include "io/disk/hash.h"
#include "io/output/shard.h"

/* Whose file it is. */
struct shard_texts_request {
	const char *path;
	const char *run; /* 32 hex digits */
	struct shard_number number;
	size_t places; /* all places of the shard's batches */
	/* The text in one of these places, counted from 0; NULL = none. */
	const char *(*text)(void *user, size_t place, size_t *size);
	void *user;
};

/* Writes the file, whole and durable, and its digest. INTERNAL: it cannot be written. USAGE, NOMEM:
 * as sink_open_private. */
enum cuttle_status shard_texts_write(const struct shard_texts_request *request,
                                     char digest[HASH_TEXT], struct cuttle_error *error);

struct shard_texts {
	struct arena bytes;  /* of the whole file */
	struct arena starts; /* [places + 1] offsets, as size_t, of each place's size */
	size_t places;
};

/* Reads the file; of the request `text` is not used. `most` is the most bytes of a text. The memory
 * follows from it and the number of places. LEDGER: there is no such file, it is another's, or has
 * not this digest. USAGE: others may read it. NOMEM. Call shard_texts_free in any case. */
enum cuttle_status shard_texts_read(const struct shard_texts_request *request, size_t most,
                                    const char digest[HASH_TEXT], struct shard_texts *texts,
                                    struct cuttle_error *error);
/* Keeps the texts out of the swap where the system allows it. */
void shard_texts_lock(const struct shard_texts *texts);
const char *shard_texts_text(const struct shard_texts *texts, size_t place, size_t *size);
/* Wipes the texts. */
void shard_texts_free(struct shard_texts *texts);

/* Overwrites the file and removes it. Returns 0 or the errno; 0 where there is none. */
int shard_texts_remove(const char *path);
/* Does so with all such files of a folder, of any shard of any N. It also does so with the scratch
 * files that killed openings left. Others stay. Returns 0 or the errno of the first problem. */
int shard_texts_sweep(const char *folder);

#endif
