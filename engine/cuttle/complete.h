// SPDX-License-Identifier: Apache-2.0
// complete.h: lets the model complete prompts that show private text. NO GUARANTEE of any kind.
// A completer fixes all that is public; a job then runs it over prompts.
// Private data: all of it. What a job writes is computed from the private text as it is, and must
// stay where that text may be. Only memory is kept as carefully as elsewhere: out of core dumps,
// and wiped.
// How: a prompt shows a document, and may show notes. The model goes on, greedily or at a
// temperature. Both are text from strangers: "</s>" in them becomes the tokens of four characters.
// Example: of the last step of InferDPT (Tong et al. 2023) the document is the raw prefix, and the
// notes are what a remote model wrote after the perturbed one.
#ifndef CUTTLE_COMPLETE_H
#define CUTTLE_COMPLETE_H

#include "job.h"
#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

/* All strings must be public. They are read and copied by cuttle_completer_make. */
struct cuttle_complete_params {
	size_t struct_size; /* set by the default function */
	uint32_t tokens;    /* T: of a text, at most; 1..4096, default 100 */
	double temperature; /* default 0: the likeliest token; else 1e-6..16, six decimals */
	uint32_t context;   /* prompt plus T, in tokens; 0 = the model's, at most 4096 */
	bool stop_at_blank; /* a text also ends before a blank line; default true */

	/* CUTTLE_CONTINUE (default): plain text, which suits small models. CUTTLE_INSTRUCT: in the
	 * model's chat format. */
	enum cuttle_form form;

	const char *system;      /* CUTTLE_INSTRUCT; NULL = the template's own, "" = none */
	const char *chat_format; /* CUTTLE_INSTRUCT; NULL = the model's own */

	/* Holds "{document}" once and "{notes}" at most once, in any order. NULL = cuttle's own:
	 * the notes, a blank line, the document; CUTTLE_INSTRUCT asks to extend the document with
	 * the notes as material. */
	const char *prompt;

	bool insecure;          /* draws from insecure_seed, for tests */
	uint64_t insecure_seed; /* any number */
	// Results do not depend on these.
	uint32_t parallel;     /* texts in flight; 0 = as suits */
	uint32_t prompt_chunk; /* rows per pass over the prompts; 0 = as suits */
	bool no_sharing;       /* each context has its own copy of what all prompts begin with */
	bool any_memory;       /* cuttle_completer_room is not asked */
};

CUTTLE_API void cuttle_complete_params_default(struct cuttle_complete_params *params);

/* What a completer does. All of it is public. */
struct cuttle_completion_limits {
	uint32_t tokens; /* T */
	double temperature;
	uint32_t context; /* longest prompt plus T, in tokens */

	/* Document and notes together have at most so many tokens. Both lose their ends beyond:
	 * first the notes, in favour of the document. Example: room for 100, a document of 80: the
	 * notes keep their first 20. Before that, each is cut to `room_bytes`, at a character. */
	uint32_t room;
	uint32_t room_bytes;

	uint32_t shared_prefix; /* tokens that every prompt begins with, computed once */
	uint64_t job_bytes;     /* as in struct cuttle_guarantee */
};

struct cuttle_completer;

/* Makes a completer. The model must outlive it. cuttle_completer_free frees it.
 * USAGE: a parameter is out of range, the prompt lacks "{document}" or holds a placeholder twice,
 * the model has no such chat format, or no weights. NOMEM: as cuttle_plan_make. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_completer_make(struct cuttle_model *model, const struct cuttle_complete_params *params,
                      struct cuttle_completer **completer, struct cuttle_error *error);
/* Frees it and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_completer_free(struct cuttle_completer **completer);
CUTTLE_API void cuttle_completer_describe(const struct cuttle_completer *completer,
                                          struct cuttle_completion_limits *limits);
/* As cuttle_plan_fits. NOMEM: a job may not fit the memory that is available now. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_completer_room(const struct cuttle_completer *completer, struct cuttle_error *error);

/* What one prompt shows. White space at both ends of a text is not read. */
struct cuttle_shown {
	const char *document; /* NULL, blank or not UTF-8: the text becomes empty */
	size_t document_size; /* bytes */
	const char *notes;    /* NULL, blank or not UTF-8: the prompt has none */
	size_t notes_size;    /* bytes */
};

struct cuttle_complete_job {
	size_t struct_size; /* set by the default function */
	size_t texts;       /* N: texts 0 .. N-1 are written */
	void *user;         /* first argument of the callbacks */

	/* Sets *shown for this text. It stays valid until the next call. It may not fail: what
	 * cannot be read is NULL. Not NULL. */
	void (*show)(void *user, size_t text, struct cuttle_shown *shown);

	/* PRIVATE: a text is complete. Called in the order of the index. Its batch is the index,
	 * and free_tokens is 0. Nonzero stops the job with PARTIAL. Not NULL. */
	int (*text)(void *user, const struct cuttle_text *text);

	/* PRIVATE: how far the job is depends on how long the texts become. Nonzero stops it with
	 * PARTIAL. NULL = none. */
	int (*progress)(void *user, const struct cuttle_progress *progress);
};
CUTTLE_API void cuttle_complete_job_default(struct cuttle_complete_job *job);

/* Writes all texts. No text shown can cause an error: what is not finite in the model counts as
 * least likely. A text without a document costs as much as another, and is empty.
 * USAGE: struct_size is wrong, or the system refuses to lock memory.
 * PARTIAL: a callback asked to stop. INTERNAL: no entropy. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_completer_run(struct cuttle_completer *completer, const struct cuttle_complete_job *job,
                     struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
