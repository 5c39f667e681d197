// SPDX-License-Identifier: Apache-2.0
// shards.h: opens a run that several machines write, and joins one of them to it.
//
// The PRIVATE references pass through shards_open, from the input into a file for each shard. With
// lots their key passes through, too, and stays nowhere. The order is the promise:
//
//     the whole run is charged, once               before a shard's file is written
//     run.json is durable under another name       before the ledger knows that the run draws
//     the ledger knows that, and run.json's hash   before run.json is there
//     run.json is there                            before a shard draws
//     a shard is taken by one journal (io/output/shard.h) before its first token is kept
//     that journal's first token is durable, and the taker says so before anybody sees it
//     what was taken and is lost is paid again     before another journal may take it
//
// So no shard needs the ledger. A run's charge is that of the same run on one machine: its batches
// are the same, each in one shard.
#ifndef CUTTLE_WORKFLOW_SHARDS_H
#define CUTTLE_WORKFLOW_SHARDS_H

#include "workflow/setup.h"

/* What is wrong with a request for shards, in words. Wrong is what depends on texts of other
 * shards, or on counts that only one process may draw. NULL = nothing. */
const char *shards_fault(const struct generate_request *request);

struct shards_request {
	const struct generate_request *run; /* its output is the run.json in the folder, as
	                                  shards_file names it */
	const char *folder;                 /* of the run */
	uint64_t shards;                    /* N */
};

/* The path of run.json in a folder, to be freed. NULL: out of memory. */
char *shards_file(const char *folder);
/* Makes the folder, with mode 0700. USAGE: it cannot be made, or others may look into it; a file of
 * the request is in it, where only files of shards may be. */
enum cuttle_status shards_folder(const struct generate_request *request, const char *folder,
                                 struct cuttle_error *error);

/* Opens the run of a setup. *already: it was open, by the same command; nothing is charged. Changes
 * the receipt in setup as generate_texts does. Killed before run.json is there, it is opened anew
 * or goes on, for the same charge. USAGE: another run is open in the folder; another process opens
 * one there; there are more shards than batches. Else as spending_open, references_read,
 * spending_reserve and shard_texts_write. PARTIAL: run.json cannot be written, or what a killed
 * opening left not be removed. LEDGER: what it left is not what the ledger knows. */
enum cuttle_status shards_open(const struct shards_request *request, struct setup *setup,
                               bool *already, struct cuttle_error *error);

/* Lets a shard that was taken be drawn anew, its journal being lost. Without a `word` (NULL) the
 * whole run is charged again, where it was charged. Else it is recorded on whose word nobody has
 * seen what was drawn. Called twice it charges once. USAGE: the shard is complete, was never taken,
 * or is being drawn; the request is not what the run was opened with. Else as shards_open. */
enum cuttle_status shards_redraw(const struct shards_request *request, struct setup *setup,
                                 uint64_t shard, const char *word, struct cuttle_error *error);

/* Fills *shard for a process that writes `number`, or as `text` says (shard_read). Waits at most
 * `wait` seconds for run.json. Call shards_leave in any case. LEDGER: it is not there, or damaged.
 * USAGE: as shard_read and file_own_folder; the run has another number of shards.
 * NOMEM. */
enum cuttle_status shards_join(const char *folder, const char *text, uint64_t shards, uint64_t wait,
                               struct run_shard *shard, struct cuttle_error *error);
void shards_leave(struct run_shard *shard);

#endif
