// SPDX-License-Identifier: Apache-2.0
// shard.h: one of the N parts of a run that several machines write: its number, its files, whose
// it is.
//
// No private data. Batch b of the run belongs to shard b mod N.
// In the run's folder, shard 3 of 100 has
//   shard-00003-of-00100.texts     its references, PRIVATE (io/shards/shard_texts.h), from the
//   opening on shard-00003-of-00100.taken     by which journal it was taken, from its first token
//   on shard-00003-of-00100.jsonl     its texts, with journal and receipt beside as of any output
#ifndef CUTTLE_IO_OUTPUT_SHARD_H
#define CUTTLE_IO_OUTPUT_SHARD_H

#include "engine/cuttle/status.h"

/* The most shards of a run: a receipt that names them all still has less than 1 MiB. */
enum { SHARDS_MOST = 8192 };
/* Endings of a shard's files. */
#define SHARD_TEXTS ".texts"
#define SHARD_TAKEN ".taken"
#define SHARD_LINES ".jsonl"
#define SHARD_RECEIPT ".receipt.json"
#define SHARD_JOURNAL ".jsonl.journal"
#define SHARD_KEY ".jsonl.journal.key"

struct shard_number {
	uint64_t index; /* 0 .. count - 1 */
	uint64_t count; /* N */
};

/* The path of a shard's file, to be freed. NULL: out of memory. */
char *shard_path(const char *folder, struct shard_number number, const char *ending);

/* Whether a path is in the run's folder, where cuttle alone writes. NULL is nowhere. */
bool shard_inside(const char *folder, const char *path);

/* Who has taken a shard. An owner is a line of text: which run, attempt and journal. */
enum shard_taker {
	SHARD_NOBODY, /* no token of it was kept */
	SHARD_BEGUN,  /* we have; no token of it may have been seen */
	SHARD_OURS,   /* we have; tokens of it may have been seen */
	SHARD_ANOTHER
};
/* Reads the file at path. What is no such file is another's. */
enum shard_taker shard_look(const char *path, const char *owner);
/* Takes the shard for the owner, before its first token is kept. The file appears whole and is
 * durable, or there is none. Returns 0 or the errno; EEXIST: something stands there. */
int shard_take(const char *path, const char *owner);
/* Says in the file of an owner that tokens may be seen from now on: the first one is durable in the
 * journal. Returns 0 or the errno. */
int shard_begin(const char *path, const char *owner);

/* Reads what --shard says: "3/100" is shard 3 of 100, and "auto" asks the launcher that started
 * this process. Its variables, the first whose count is above 1:
 *
 *     OpenMPI                 OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
 *     MPICH, srun --mpi=pmi2  PMI_RANK, PMI_SIZE
 *     Slurm step (srun)       SLURM_PROCID, SLURM_NTASKS
 *     Slurm array             SLURM_ARRAY_TASK_ID, of _MIN, _STEP and _COUNT
 *     Kubernetes              JOB_COMPLETION_INDEX, and `shards`, which is CUTTLE_SHARDS
 *
 * An inner launcher wins over an outer one, but an array or Kubernetes beside another with more
 * than one process says nothing clear. USAGE: that; no launcher; a variable that is no number of
 * its range; text that is neither. `shards` is 0 where it is not known. */
enum cuttle_status shard_read(const char *text, uint64_t shards, struct shard_number *number,
                              struct cuttle_error *error);

#endif
