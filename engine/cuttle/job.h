// SPDX-License-Identifier: Apache-2.0
// job.h: a job runs a plan over references, the sensitive texts, and hands out private texts.
// Private data: references. What the callbacks are given may be published under the plan's
// guarantee, but for the trace.
// Example: with B = 7, text 2 is written from references 14 to 20.
#ifndef CUTTLE_JOB_H
#define CUTTLE_JOB_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_plan;        /* plan.h */
struct cuttle_plan_params; /* plan.h */
struct cuttle_trace;       /* trace.h */

/* Why a text ended. */
enum cuttle_finish {
	CUTTLE_FINISH_EOS,    /* the model ended the text */
	CUTTLE_FINISH_STOP,   /* the stop string was drawn */
	CUTTLE_FINISH_LENGTH, /* the tokens were used up */
	CUTTLE_FINISH_CLOSED  /* the tokens were used up, and the grammar's shortest way to an end
	                         was taken */
};

/* A complete text. */
struct cuttle_text {
	size_t index; /* number of the text, from 0; of a stride with a token bank, among its own */

	/* Number of the batch of references it was written from. It differs from the index only
	 * with a token bank. */
	size_t batch;

	const char *text;     /* valid UTF-8 without the stop string, during the callback only */
	size_t size;          /* bytes of text */
	const int32_t *ids;   /* [tokens] the tokens, during the callback only */
	uint32_t tokens;      /* tokens drawn, the end token included */
	uint32_t free_tokens; /* those of them drawn from the public prompt alone */
	enum cuttle_finish finish; /* why it ended */
};

/* How far one job is. What an earlier run of it did is included. */
struct cuttle_progress {
	size_t texts;       /* N of the job, or with a stride those of them that it writes */
	size_t texts_done;  /* those that are complete and handed out; with a token bank batches */
	size_t tokens_done; /* tokens drawn or replayed */
	const char *phase;  /* "prompt", "decode" or "done" */
};

struct cuttle_job {
	size_t struct_size; /* set by the default function */

	/* N: texts 0 .. N-1 are written; with a token bank, the texts of N batches. `text` in the
	 * callbacks `drawn` and `token` is a number 0 .. N-1. */
	size_t texts;

	size_t heading; /* number of the plan's heading for these texts; 0 when it has none */
	void *user;     /* first argument of the callbacks */

	/* Sets *text and *size to reference number `index`, 0 .. N*B*R-1, where R is the shots of
	 * the plan: row i of text t has the R from (t*B + i) * R on. With lots a text has
	 * guarantee.places rows instead of B; those it has not are null. A null reference makes
	 * its row null. The text must stay valid until this is called for another text's batch or
	 * the job ends. The null reference is a text that is NULL, empty, blank, not UTF-8, or not
	 * finite under the model. This callback may not fail: it gives NULL for what it cannot
	 * read. Not NULL. */
	void (*reference)(void *user, size_t index, const char **text, size_t *size);

	/* To resume: returns how many tokens an earlier run recorded for this text, and sets
	 * *tokens to them. They are written as `token` was given them. They stay valid until the
	 * next call. They are replayed, never drawn again: two draws would spend twice. NULL =
	 * nothing was drawn. */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);

	/* A token was drawn. It is given as t, or as ~t when it came from the public prompt alone:
	 * token 5 is 5 or -6. Where it began a threshold anew, t + 2^30 stands for t. Record it
	 * before anything else. Nonzero stops with PARTIAL. NULL =
	 * not recorded. */
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);

	/* A text is complete. Called in the order of the index. Nonzero stops the job with PARTIAL.
	 * Not NULL. */
	int (*text)(void *user, const struct cuttle_text *text);

	/* Called often, with public quantities only. Nonzero stops the job with PARTIAL. NULL =
	 * none. */
	int (*progress)(void *user, const struct cuttle_progress *progress);

	/* PRIVATE diagnostics of each step, see trace.h. NULL = none. */
	const struct cuttle_trace *trace;

	/* Sets what makes the prompts of this text, public and private, and *heading, NULL = none:
	 * that of the plan's prompts under the job's heading, and the texts drawn before that they
	 * show (drawn.h). The plan was made with `drawn`, and this callback may set no more. It is
	 * called again when the job is resumed, and must then answer the same. So it may follow
	 * from public things and from texts of complete jobs, nothing else. Of params no number is
	 * read. All of it stays valid until the next call. NULL = the plan's prompts. */
	void (*prompt)(void *user, size_t text, struct cuttle_plan_params *params,
	               const char **heading);

	/* Texts under this heading that earlier jobs of the plan wrote: insecure draws differ by
	 * it. Default 0. */
	size_t first;

	/* Only texts begin, begin + stride, begin + 2 stride ... below N are written, one of
	 * several machines' shares. Their numbers stay those of the whole job, in all callbacks:
	 * with N 7, begin 1 and stride 3 they are 1 and 4. With a token bank all this is about
	 * batches, and texts are counted from 0. stride 0 = all N. Default 0. */
	size_t begin;
	size_t stride;
};

/* Sets all members to 0 and NULL, except struct_size. */
CUTTLE_API void cuttle_job_default(struct cuttle_job *job);

/* Runs the plan: writes all texts of the job. Private texts cannot cause an error: each error
 * follows from public things.
 * USAGE: the plan has no such heading, struct_size is wrong, or the system refuses to lock memory.
 * PARTIAL: a callback asked to stop. Everything handed out stays valid.
 * INTERNAL: no entropy. Nothing is drawn after that.
 * MODEL: the public logits are not finite, or replayed tokens are outside the vocabulary or more
 * than the plan allows.
 * NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_job_run(struct cuttle_plan *plan, const struct cuttle_job *job, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
