// SPDX-License-Identifier: Apache-2.0
// prompt.h: the public and the private prompt of a plan, and the one of a rewriter or a completer,
// as tokens.
// Private data: prompt_private takes the references of a row, prompt_reference one, prompt_document
// a document, prompt_completion a document with notes. All else is public.
// How: both prompts are written from the same public words. Only the private one has a place for
// the reference: its context is head + reference + tail. A row with several references has them one
// behind the other: head + reference + middle + reference + tail.
// Each piece is tokenised by itself, so a reference can never change the tokens around it.
// Whether the reference's first word gets a space follows from the end of head, which is public.
#ifndef CUTTLE_ENGINE_RUN_PLAN_PROMPT_H
#define CUTTLE_ENGINE_RUN_PLAN_PROMPT_H

#include "engine/cuttle/complete.h"
#include "engine/cuttle/plan.h"
#include "engine/cuttle/rewrite.h"
#include "engine/cuttle/slots.h"
#include "engine/model/model.h"
#include "engine/text/tokens.h"

/* A rewriter has one prompt for all contexts: head, document, tail. `whole` is then empty. So it is
 * for a completer: head, one text, middle, the other text, tail. */
struct prompt {
	struct tokens whole;  /* the public prompt */
	struct tokens head;   /* the private prompt, before the reference */
	struct tokens tail;   /* the private prompt, after the reference */
	enum vocab_lead lead; /* what stands before the reference */

	/* Between two references of a row, or the two texts of a completer. Empty where there is
	 * one. */
	struct tokens middle;
	enum vocab_lead middle_lead; /* what stands before the second text */

	// Of a completer alone.
	bool has_notes;   /* the prompt shows notes */
	bool notes_first; /* they stand before the document */

	/* Tokens that both prompts begin with, a multiple of 16. It leaves out the last token of
	 * `whole`, whose output gives the first logits. Example: 37 equal tokens give 32. */
	size_t shared;

	// Of a plan that keeps room for texts drawn before (cuttle/drawn.h); else `shared` and 0.
	size_t fixed; /* tokens that all prompts with such texts begin with, a multiple of 16 */
	size_t spare; /* tokens by which such a prompt may be longer than this one */

	char *canonical; /* both prompts in one public string, see prompt.c */
};

/* Writes the prompts, under a heading or none (NULL), with the texts drawn before of params->drawn,
 * if it has any. prompt_free frees them.
 * USAGE: the model cannot do this form, or a field is missing or contradicts another. NOMEM.
 * On failure *prompt is empty. */
enum cuttle_status prompt_write(const struct model *model, const struct cuttle_plan_params *params,
                                const char *heading, struct prompt *prompt,
                                struct cuttle_error *error);

/* Frees what prompt_write allocated, and empties *prompt. */
void prompt_free(struct prompt *prompt);

/* Turns the text of one reference into tokens, at most `limit`, and returns their number. White
 * space at both ends is trimmed. Then the text is cut by a rule that knows nothing but `limit`: to
 * 16 * limit bytes, at a character, then to `limit` tokens. Example: limit 100 keeps at most 1600
 * bytes. The array has prompt_reference_capacity(limit) places.
 * 0 is the null reference: the text is NULL, blank or not UTF-8. A failed allocation is null too,
 * since an error would tell something about the text. */
size_t prompt_reference(const struct model *model, const struct prompt *prompt, const char *text,
                        size_t size, size_t limit, int32_t *ids);

/* Places that prompt_reference needs in ids: the most tokens before the cut to `limit`. */
size_t prompt_reference_capacity(size_t limit);

/* One reference of a row. NULL is the null reference. */
struct prompt_shot {
	const char *text;
	size_t size; /* bytes */
};

/* Writes the private context of a row and returns its number of tokens. It is head, the row's
 * references with the middle between two of them, and tail. The references and all middles
 * together are cut to `limit` tokens; so the last ones may be cut or left out. Each is read as by
 * prompt_reference. The array has prompt_row_capacity places; its owner wipes it. 0 is the null
 * row, which has no context: one of its references is null, shown or not. Were a null one only left
 * out, a record would change its row from one context to another, which costs twice what taking the
 * row away does (dp/PRIVACY.md, step 54). */
size_t prompt_private(const struct model *model, const struct prompt *prompt,
                      const struct prompt_shot *shots, size_t count, size_t limit, int32_t *ids);

/* Places in ids that prompt_private needs for a row of one reference, and prompt_document, for this
 * prompt and those that may be longer. */
size_t prompt_private_capacity(const struct prompt *prompt, size_t limit);
/* Places in ids that prompt_private needs for a row of up to so many references. */
size_t prompt_row_capacity(const struct prompt *prompt, size_t places, size_t limit);

/* Bytes that a reference is cut to: 16 * limit. */
size_t prompt_reference_bytes(size_t limit);

/* Writes the prompt of a rewriter. Its `shared` tokens are of head: all contexts begin with them.
 * prompt_free frees it. USAGE: the model cannot do this form, or the instruction does not hold
 * "{document}" once. NOMEM. On failure *prompt is empty. */
enum cuttle_status prompt_write_document(const struct model *model,
                                         const struct cuttle_rewrite_params *params,
                                         struct prompt *prompt, struct cuttle_error *error);

/* Writes a context of a document, head + document + tail, and its number of tokens. The document is
 * tokenised whole, for itself, and as it is: nothing is trimmed or cut. So equal texts give equal
 * tokens, and no other text has a say. The array has prompt_private_capacity places; its owner
 * wipes it. USAGE: it is not UTF-8, or has more than `limit` tokens or 16 * limit bytes. NOMEM.
 * The message speaks of this text: give no error for a private one. On failure *count is 0. */
enum cuttle_status prompt_document(const struct model *model, const struct prompt *prompt,
                                   const char *text, size_t size, size_t limit, int32_t *ids,
                                   size_t *count, struct cuttle_error *error);

/* Writes the prompt of a completer, as prompt_write_document. USAGE: the model cannot do this form,
 * or the prompt lacks "{document}" or holds a placeholder twice. */
enum cuttle_status prompt_write_completion(const struct model *model,
                                           const struct cuttle_complete_params *params,
                                           struct prompt *prompt, struct cuttle_error *error);

/* Whether the shown document is null: NULL, blank or not UTF-8. */
bool prompt_null_document(const struct cuttle_shown *shown);

/* Writes the context of a completion and returns its number of tokens, at least 1. Each text is
 * cut as a reference is. Where both have more than `limit` tokens, the notes keep fewer. A null
 * text has no tokens; nor has one whose allocation failed. Example: limit 100, document 80, notes
 * 50: the first 20 tokens of the notes are kept. The array has prompt_completion_capacity places;
 * its owner wipes it. */
size_t prompt_completion(const struct model *model, const struct prompt *prompt,
                         const struct cuttle_shown *shown, size_t limit, int32_t *ids);

/* Writes the prompt of a chat (cuttle_chat_prompt). The caller frees prompt->ids; on failure it is
 * empty. USAGE, NOMEM. */
enum cuttle_status prompt_write_chat(const struct model *model,
                                     const struct cuttle_message *messages, size_t count,
                                     struct tokens *prompt, struct cuttle_error *error);

/* Places that prompt_completion needs in ids. */
size_t prompt_completion_capacity(const struct prompt *prompt, size_t limit);

#endif
