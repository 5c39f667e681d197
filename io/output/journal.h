// SPDX-License-Identifier: Apache-2.0
// journal.h: the journal of drawn tokens. With it a killed run goes on and draws nothing twice.
//
// A drawn token is private output that has been paid for. It is written here by write(2) before
// anything else may see it. An example, of 3 tokens in 2 texts:
//
//     cuttle-journal 2 FINGERPRINT INPUT     64 hex digits each (struct journal_owner)
//     0 0 4711 4f5d0c2ab19e7386              text 0, step 0: token 4711, and its check
//     1 0 12 90ab31c4d5e6f708                texts are drawn side by side: lines interleave
//     0 1 9 0b1c2d3e4f506172                 text 0, step 1: token 9
//
// With lots the first line is "cuttle-journal 3 FINGERPRINT INPUT LOTS".
// A run with private clusters has their noisy counts behind the first line, before any token:
//     counts 11 -7 3 5d0c2ab19e73864f
// The check is SipHash-2-4 of the line before it. Its key is a hash of the first line. A torn end
// (no newline, or a wrong check) was never acted upon, so journal_load cuts it off.
// The journal of a shard (io/output/shard.h) holds texts of its stride alone, by their numbers in
// the run. A run with a token bank draws batches: there "text" means the number of a batch.
#ifndef CUTTLE_IO_OUTPUT_JOURNAL_H
#define CUTTLE_IO_OUTPUT_JOURNAL_H

#include "io/disk/hash.h"

enum journal_state {
	JOURNAL_NEW,     /* it never held a token */
	JOURNAL_BEGUN,   /* of this command and this input: its first line, and nothing else */
	JOURNAL_OURS,    /* of this command and this input; its tokens are loaded */
	JOURNAL_LOST,    /* of both, but its tokens were drawn with other lots than these */
	JOURNAL_CHANGED, /* of this command, but begun with another input */
	JOURNAL_OTHER,   /* of another command */
	JOURNAL_DAMAGED, /* of this command and input, but damaged: a wrong line before a right
	                  * one, a step missing or there twice, a text that the command has not */
	JOURNAL_FOREIGN  /* somebody's file, not a journal */
};

/* Whose journal it is. The first two strings have 64 hex digits. */
struct journal_owner {
	const char *fingerprint; /* of the command (io/receipts/receipt.h) */
	const char *input;       /* digest of what was read, under the key (io/output/binding.h) */
	const char *lots; /* check of the lots, 32 hex digits (io/records/lots.h); NULL = no lots */
	size_t begin;     /* of a shard the first text it may hold */
	size_t stride;    /* and from each text to the next; 0 = it may hold all */
};

/* How far a journal had come. It only grows, so each later one begins with these bytes. */
struct journal_mark {
	uint64_t bytes;         /* of the file; 0 = nobody said */
	char sha256[HASH_TEXT]; /* of them */
};

struct journal;

/* Opens or creates the file and locks it for this process. USAGE: it cannot be created, or another
 * process holds the lock. NOMEM. */
enum cuttle_status journal_open(const char *path, struct journal **journal,
                                struct cuttle_error *error);
/* Whether the file at path is a journal of this fingerprint, by how it begins. Takes no lock. */
bool journal_stands(const char *path, const char *fingerprint);
/* Reads the journal of a command that writes `texts` texts, and sets *state. If it is OURS, its
 * tokens are loaded; a torn end is cut off, of one that is BEGUN, too, and what is left is synced.
 * Else the file stays as it is. INPUT: it cannot be read. NOMEM. */
enum cuttle_status journal_load(struct journal *journal, const struct journal_owner *owner,
                                size_t texts, enum journal_state *state,
                                struct cuttle_error *error);
/* Empties the file, writes the first line and syncs. Returns 0 or the errno. */
int journal_restart(struct journal *journal, const struct journal_owner *owner);
/* Returns how many noisy counts were loaded; 0: there are none. *counts points at them until
 * journal_close or journal_keep_counts. */
size_t journal_counts(const struct journal *journal, const int64_t **counts);
/* Writes the line of counts[count], at least 1, and syncs it. First it finds out whether the disk
 * has room for the longest such line; without it nothing of the counts is written. The journal
 * holds its first line and nothing else. From then on it is not removed without being finished: who
 * has seen the counts must not see others of the same records. Returns 0 or the errno. */
int journal_keep_counts(struct journal *journal, const int64_t *counts, size_t count);
/* Returns how many tokens of a text were loaded. *tokens points at them, in the order of their
 * steps, until journal_close; it is NULL where the journal has no such text. */
size_t journal_drawn(const struct journal *journal, size_t text, const int32_t **tokens);
/* Writes the line of one token, without a sync. Returns 0 or the errno. */
int journal_append(struct journal *journal, size_t text, uint32_t step, int32_t token);
/* Syncs what was appended: it then survives a power cut. Returns 0 or the errno. */
int journal_sync(struct journal *journal);
/* Syncs the file, and gives the SHA-256 of its first bytes: of `most`, or of its whole lines where
 * these are fewer. So what a mark says is durable, and who goes on finds it. Returns 0 or the
 * errno. */
int journal_mark(const struct journal *journal, uint64_t most, struct journal_mark *mark);
/* Whether a journal that is new was begun by another command, which drew nothing yet. */
bool journal_of_other(const struct journal *journal);
/* Whether the journal surely holds no token and no counts, nor stood before as BEGUN, nor is held.
 * Then nothing is lost if it is removed. */
bool journal_worthless(const struct journal *journal);
/* From now on the journal is not removed without being finished, even if nothing gets into it:
 * somebody else names it, such as a ledger. */
void journal_hold(struct journal *journal);
/* Unlinks the file; the lock is held until journal_close. Returns 0 or the errno. */
int journal_remove(struct journal *journal);
/* Removes the file if it is worthless. Closes it, which gives up the lock,
 * and sets the handle to NULL. The handle may be NULL already. */
void journal_close(struct journal **journal);

#endif
