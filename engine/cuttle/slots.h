// SPDX-License-Identifier: Apache-2.0
// slots.h: completes prompts as they come, several at a time, one token each a step. NOT PRIVATE.
// It is for plain completions and chats.
// Private data: none is protected here. Prompts are not references, and no mechanism draws.
// How: cuttle_slots_add puts a prompt into a free slot, at any time between two steps. Each
// cuttle_slots_step draws one token in every busy slot: all their rows go through the weights in
// one pass. Rule: what a slot draws depends on its own prompt, parameters and random bits alone,
// bit for bit, whatever is in the others.
#ifndef CUTTLE_SLOTS_H
#define CUTTLE_SLOTS_H

#include "grammar.h"
#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */
struct cuttle_slots;

/* Makes `count` slots (1..64) for contexts of at most `context` tokens, prompt and text together; 0
 * = the model's, at most 4096. The model must outlive them. One thread at a time may use them.
 * USAGE: a number is out of range, the model has no weights, or the system refuses to lock memory.
 * NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_slots_make(struct cuttle_model *model,
                                                               uint32_t count, uint32_t context,
                                                               struct cuttle_slots **slots,
                                                               struct cuttle_error *error);
/* Frees them and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_slots_free(struct cuttle_slots **slots);
/* From now on e_y . bias is added to the logit of each token y (learn.h). bias[width of the model];
 * NULL = nothing is added. USAGE: a number is not finite. NOMEM. On failure all is as before. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_slots_bias(struct cuttle_slots *slots, const double *bias, struct cuttle_error *error);
/* Tokens of a prompt and its text together, at most. */
CUTTLE_API uint32_t cuttle_slots_context(const struct cuttle_slots *slots);

/* A grammar that texts in slots may have. */
struct cuttle_slots_grammar;

/* Makes it of a public grammar, which must outlive it. It serves all slots of these, one after the
 * other or at once, and what it learns of the grammar for one text it knows for the next. Its
 * memory is bounded: 32 MiB, and a few bits for each token. The first one also makes what all of
 * these slots share, some 10 bytes for each byte of the vocabulary. It may be called while another
 * thread steps. MODEL: the grammar wants a byte that the vocabulary lacks. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_slots_grammar_make(struct cuttle_slots *slots, const struct cuttle_grammar *grammar,
                          struct cuttle_slots_grammar **out, struct cuttle_error *error);
/* No slot has it any more. Sets the handle to NULL; NULL is fine. */
CUTTLE_API void cuttle_slots_grammar_free(struct cuttle_slots_grammar **grammar);

/* How the tokens of one slot are drawn. */
struct cuttle_slot_params {
	size_t struct_size; /* set by the default function */
	uint32_t tokens;    /* of the text, at most; at least 1, default 100 */
	double temperature; /* default 1; 0 = the likeliest token; else 0.000001..2 */
	uint32_t top_k;     /* only the k likeliest tokens, and ties; default 0 = all */
	double top_p;    /* of the likeliest tokens so many that they have this share; default 1 */
	bool seeded;     /* the bits follow from `seed`; default: from the operating system */
	uint64_t seed;   /* any number */
	bool opens_text; /* the text begins for itself, as in a chat: without the space that
	                  * SentencePiece sets before it */
	/* The text is one of this grammar, or what comes before it is cut: a beginning of one. Each
	 * token is drawn among those that may come; bytes that must follow are written. It outlives
	 * the slot's text. NULL = any text */
	struct cuttle_slots_grammar *grammar;
};
CUTTLE_API void cuttle_slot_params_default(struct cuttle_slot_params *params);

/* Puts the prompt ids[count] into a free slot, and computes it; *slot is its number.
 * USAGE: a parameter is out of range, the prompt is empty or has a token outside the vocabulary, or
 * prompt and text do not fit the context. PARTIAL: no slot is free. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_slots_add(struct cuttle_slots *slots, const int32_t *ids, size_t count,
                 const struct cuttle_slot_params *params, size_t *slot, struct cuttle_error *error);
/* Frees a slot before its end. */
CUTTLE_API void cuttle_slots_drop(struct cuttle_slots *slots, size_t slot);
CUTTLE_API size_t cuttle_slots_busy(const struct cuttle_slots *slots);

/* A token that was drawn. */
struct cuttle_slot_token {
	const char *bytes;         /* what it spells; may end inside a UTF-8 character */
	size_t size;               /* bytes; 0 for the token that ends a text */
	bool last;                 /* the slot is free from here on */
	enum cuttle_finish finish; /* of the last token: CUTTLE_FINISH_EOS or _LENGTH */
	/* No token: the last one, too, and the text is none. The grammar is so ambiguous that no
	 * bounded work follows it, or there is no memory. So it is for all texts of this
	 * cuttle_slots_grammar from here on. */
	bool lost;
};

/* Draws one token in every busy slot, and tells each. `token` may not call slots; nonzero frees the
 * slot. INTERNAL: no entropy. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_slots_step(struct cuttle_slots *slots,
                  int (*token)(void *user, size_t slot, const struct cuttle_slot_token *token),
                  void *user, struct cuttle_error *error);

enum cuttle_speaker { CUTTLE_SYSTEM, CUTTLE_USER, CUTTLE_ASSISTANT };

struct cuttle_message {
	enum cuttle_speaker speaker;
	const char *text; /* UTF-8; never parsed for special tokens */
	size_t size;      /* bytes */
};

/* Writes the prompt of a chat, in the model's chat format: the messages in any order, where its
 * template has no rule about turns; else (Mistral, Llama 2) a system message first or none, then
 * user and assistant in turns, a user's last. The caller frees *ids.
 * USAGE: no message, another order, a message that is not UTF-8, or a model without a known format.
 * NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_chat_prompt(const struct cuttle_model *model, const struct cuttle_message *messages,
                   size_t message_count, int32_t **ids, size_t *count, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
