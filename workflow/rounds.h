// SPDX-License-Identifier: Apache-2.0
// rounds.h: a run in two rounds: which texts of the first the prompts of the second show.
//
// No private data: it is given texts that were drawn, numbers of texts
// and clusters, and public data. A cluster here is a category or a cluster of the run; a run
// without them is one cluster, number 0. Of each the first tenth of its batches is the first round,
// if there are enough. When all of these are written, the prompts of its others show, beside public
// examples, some of their texts. Which ones follows from texts that are journalled, so a run that
// was stopped shows the same ones again (dp/PRIVACY.md, step 42). Example: of 25 batches the first
// 3 are the first round; each of the other 22 shows 2 of their texts behind 2 public examples.
//
//     rounds_open(&rounds, &setup->drawn, setup->model, setup->fingerprint, &error);
//     rounds_begin(&rounds, cluster, heading, &error);       then the first round is drawn:
//     rounds_keep(&rounds, &text, &error);                   each text of it that the run keeps
//     params.drawn = rounds_show(&rounds, batch);            for each batch of the second
//     rounds_close(&rounds);
#ifndef CUTTLE_WORKFLOW_ROUNDS_H
#define CUTTLE_WORKFLOW_ROUNDS_H

#include "engine/cuttle/drawn.h"
#include "engine/cuttle/job.h"
#include "engine/cuttle/model.h"
#include "io/text/filters.h"

struct rounds {
	struct cuttle_drawn shown; /* what rounds_show answered last; its texts are NULL: none */
	const struct cuttle_model *model; /* the caller's */
	const char *fingerprint;          /* the caller's */
	size_t most;                      /* texts that a prompt shows */
	size_t cluster;
	const char *heading;      /* of the cluster; the caller's, NULL = none */
	size_t heading_tokens;    /* of the line above a text that it takes */
	struct filter_past *past; /* of the cluster's first round; NULL = no cluster has begun */
	char **texts;             /* [count] as a prompt shows them */
	uint64_t *indices;        /* [count] their numbers in the run, ascending */
	uint64_t *hashes;         /* [count] for the batch of rounds_show */
	size_t count;
	size_t room;         /* of these three */
	const char **chosen; /* [most] */
};

/* How many of a cluster's batches are its first round: a tenth, rounded up; 0 for fewer than 8. */
size_t rounds_first(size_t batches);

/* `room` is what the plan was made with; model and fingerprint must outlive *rounds. Call
 * rounds_close in any case. NOMEM. */
enum cuttle_status rounds_open(struct rounds *rounds, const struct cuttle_drawn *room,
                               const struct cuttle_model *model, const char *fingerprint,
                               struct cuttle_error *error);
/* Forgets the texts of the cluster before. NOMEM. */
enum cuttle_status rounds_begin(struct rounds *rounds, size_t cluster, const char *heading,
                                struct cuttle_error *error);
/* Takes a text of the first round, whose index is that in the run. A blank one, one that goes in
 * circles, nearly repeats an earlier one, or holds a NUL is left out. One that was cut short ends
 * with its last sentence; so does one that is cut here, to CUTTLE_DRAWN_TOKENS with its heading.
 * NOMEM. */
enum cuttle_status rounds_keep(struct rounds *rounds, const struct cuttle_text *text,
                               struct cuttle_error *error);
/* The texts that the prompts of this batch show; the batch's number is that in the run. They are
 * those with the smallest hashes, as 64-bit numbers, in the order of their indices:
 *     BLAKE2b-64("cuttle round", fingerprint, le32 cluster, le64 batch, le64 index)
 * There are fewer where the first round gave fewer. Valid until the next call. */
const struct cuttle_drawn *rounds_show(struct rounds *rounds, uint64_t batch);
void rounds_close(struct rounds *rounds);

#endif
