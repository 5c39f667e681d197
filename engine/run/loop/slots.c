// SPDX-License-Identifier: Apache-2.0
// slots.c: the slots of slots.h over a lockstep without places: each slot is one public context.
// A step computes the rows of all busy slots, draws their tokens, and appends these in one pass.
#include "engine/cuttle/slots.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "engine/forward/lockstep.h"
#include "engine/params.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/prompt.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/loop/guide.h"
#include "engine/run/loop/learn.h"
#include "engine/run/loop/slots_draw.h"
#include "engine/status.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_SLOTS = 64 };

struct slot {
	bool busy;
	struct slots_rule rule;
	struct seeded seeded;
	bool is_seeded;
	uint32_t left;       /* tokens that may still be drawn */
	bool opens_text;     /* no token of a text that begins for itself was drawn */
	struct guide *guide; /* of its grammar; NULL = any text */
};

struct cuttle_slots_grammar {
	struct guide *guide; /* its text i is that of slot i */
	const struct cuttle_grammar *grammar;
	const struct cuttle_slots *slots;
};

struct cuttle_slots {
	const struct model *model;
	struct lockstep *lockstep;
	struct logit_source source;
	struct slots_drawer drawer;
	size_t context;              /* tokens of prompt and text */
	size_t count;                /* slots */
	struct slot *all;            /* [count] */
	int32_t *next;               /* [count] the token just drawn there */
	char *bytes;                 /* [byte_count] of one token */
	size_t byte_count;           /* of the longest token */
	_Atomic(struct trie *) trie; /* NULL = no grammar came yet */
};

void cuttle_slot_params_default(struct cuttle_slot_params *params) {
	*params = (struct cuttle_slot_params){
	    .struct_size = sizeof *params, .tokens = 100, .temperature = 1, .top_p = 1};
}

static enum cuttle_status build_slots(struct cuttle_slots *slots, uint32_t context,
                                      struct cuttle_error *error) {
	enum cuttle_status status = model_needs_weights(slots->model, error);
	if (!status) status = capacity_context(slots->model, context, &slots->context, error);
	if (status) return status;
	const struct lockstep_params params = {
	    .slots = slots->count, .context = slots->context, .chunk = CAPACITY_CHUNK};
	for (size_t i = 0; i < slots->model->vocab_size; i++) {
		const size_t size = vocab_piece(slots->model->vocab, (int32_t)i).size;
		if (slots->byte_count < size + 1) slots->byte_count = size + 1;
	}
	slots->all = calloc(slots->count, sizeof *slots->all);
	slots->next = calloc(slots->count, sizeof *slots->next);
	slots->bytes = calloc(slots->byte_count, 1);
	if (!slots->all || !slots->next || !slots->bytes)
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	status = capacity_fits(capacity_bytes(slots->model, &params, 0), &params,
	                       "use fewer slots or a shorter context", error);
	if (!status) status = slots_drawer_make(slots->model, &slots->drawer, error);
	if (!status) status = lockstep_new(slots->model, &params, &slots->lockstep, error);
	if (!status) slots->source = lockstep_source(slots->lockstep);
	return status;
}

enum cuttle_status cuttle_slots_make(struct cuttle_model *model, uint32_t count, uint32_t context,
                                     struct cuttle_slots **out, struct cuttle_error *error) {
	REQUIRE(model && out);
	*out = NULL;
	if (count < 1 || count > MOST_SLOTS)
		return status_fail(error, CUTTLE_USAGE, "%u slots are outside 1..%d", count,
		                   MOST_SLOTS);
	struct cuttle_slots *slots = calloc(1, sizeof *slots);
	if (!slots) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	slots->model = &model->model;
	slots->count = count;
	const enum cuttle_status status = build_slots(slots, context, error);
	if (status) cuttle_slots_free(&slots);
	*out = slots;
	return status;
}

void cuttle_slots_free(struct cuttle_slots **handle) {
	if (!handle || !*handle) return;
	struct cuttle_slots *const slots = *handle;
	for (size_t i = 0; slots->all && i < slots->count; i++)
		if (slots->all[i].busy) cuttle_slots_drop(slots, i);
	lockstep_free(&slots->lockstep);
	slots_drawer_free(&slots->drawer);
	trie_free(slots->trie);
	free(slots->all);
	free(slots->next);
	free(slots->bytes);
	free(slots);
	*handle = NULL;
}

enum cuttle_status cuttle_slots_bias(struct cuttle_slots *slots, const double *bias,
                                     struct cuttle_error *error) {
	REQUIRE(slots);
	int32_t *shift;
	const enum cuttle_status status =
	    learner_shift_make(slots->model, bias, SLOTS_SHIFT_BITS, &shift, error);
	if (status) return status;
	free(slots->drawer.shift);
	slots->drawer.shift = shift;
	return CUTTLE_OK;
}

uint32_t cuttle_slots_context(const struct cuttle_slots *slots) {
	return (uint32_t)slots->context;
}

/* The vocabulary by its bytes. Two threads may make it at once: the first one's is kept. NULL: out
 * of memory. */
static const struct trie *trie_of_slots(struct cuttle_slots *slots) {
	struct trie *there = atomic_load(&slots->trie);
	if (there) return there;
	struct trie *made = trie_new(slots->model->vocab);
	if (!made || atomic_compare_exchange_strong(&slots->trie, &there, made)) return made;
	trie_free(made);
	return there;
}

enum cuttle_status cuttle_slots_grammar_make(struct cuttle_slots *slots,
                                             const struct cuttle_grammar *grammar,
                                             struct cuttle_slots_grammar **out,
                                             struct cuttle_error *error) {
	REQUIRE(slots && grammar && out);
	const struct trie *trie = trie_of_slots(slots);
	struct cuttle_slots_grammar *made = *out = trie ? calloc(1, sizeof *made) : NULL;
	if (!made) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	made->slots = slots;
	made->grammar = grammar;
	const enum cuttle_status status = guide_new_bounded(grammar, slots->model->vocab, trie,
	                                                    slots->count, &made->guide, error);
	if (status) cuttle_slots_grammar_free(out);
	return status;
}

void cuttle_slots_grammar_free(struct cuttle_slots_grammar **grammar) {
	if (!grammar || !*grammar) return;
	guide_free(&(*grammar)->guide);
	free(*grammar);
	*grammar = NULL;
}

static enum cuttle_status check_prompt(const struct cuttle_slots *slots, const int32_t *ids,
                                       size_t count, const struct cuttle_slot_params *p,
                                       struct cuttle_error *error) {
	if (!count) return status_fail(error, CUTTLE_USAGE, "the prompt has no token");
	for (size_t i = 0; i < count; i++)
		if (ids[i] < 0 || (size_t)ids[i] >= slots->model->vocab_size)
			return status_fail(error, CUTTLE_USAGE,
			                   "a token is outside the vocabulary of %zu",
			                   slots->model->vocab_size);
	if (p->tokens < 1 || p->tokens > slots->context || count > slots->context - p->tokens)
		return status_fail(error, CUTTLE_USAGE,
		                   "prompt (%zu tokens) and text (%u) do not fit a context of %zu",
		                   count, p->tokens, slots->context);
	if (!(p->top_p > 0 && p->top_p <= 1))
		return status_fail(error, CUTTLE_USAGE, "top_p must be above 0 and at most 1");
	return CUTTLE_OK;
}

static enum cuttle_status make_rule(const struct cuttle_slot_params *p, struct slots_rule *rule,
                                    struct cuttle_error *error) {
	int64_t num, den;
	*rule =
	    (struct slots_rule){.drawn = p->temperature != 0, .top_k = p->top_k, .top_p = p->top_p};
	if (!rule->drawn) return CUTTLE_OK;
	if (!(p->temperature > 0 && p->temperature <= 2))
		return status_fail(error, CUTTLE_USAGE, "temperature must be 0, or in 0.000001..2");
	enum dp_status made = dp_temperature_ratio(p->temperature, &num, &den);
	if (!made) made = dp_rowlaw_init(&rule->rowlaw, num, den);
	if (made == DP_BAD_PARAMETER)
		return status_fail(error, CUTTLE_USAGE, "temperature must be 0, or in 0.000001..2");
	return plan_status(made, error);
}

enum cuttle_status cuttle_slots_add(struct cuttle_slots *slots, const int32_t *ids, size_t count,
                                    const struct cuttle_slot_params *given, size_t *out,
                                    struct cuttle_error *error) {
	REQUIRE(slots && given && out && (ids || !count));
	struct cuttle_slot_params params;
	struct slots_rule rule;
	cuttle_slot_params_default(&params);
	enum cuttle_status status =
	    params_take(&params, sizeof params, given, "struct cuttle_slot_params", error);
	if (!status) status = check_prompt(slots, ids, count, &params, error);
	if (status) return status;
	size_t slot = 0;
	while (slot < slots->count && slots->all[slot].busy) slot++;
	if (slot == slots->count)
		return status_fail(error, CUTTLE_PARTIAL, "all %zu slots are busy", slots->count);
	status = make_rule(&params, &rule, error);
	if (status) return status;
	const struct tokens prompt = {(int32_t *)(uintptr_t)ids, count}, none = {0};
	(void)slots->source.begin(slots->source.self, slot, &prompt, NULL, 0, &none, NULL);
	slots->all[slot] = (struct slot){.busy = true,
	                                 .rule = rule,
	                                 .seeded = {.seed = params.seed},
	                                 .is_seeded = params.seeded,
	                                 .left = params.tokens,
	                                 .opens_text = params.opens_text};
	if (params.grammar) {
		REQUIRE(params.grammar->slots == slots);
		slots->all[slot].guide = params.grammar->guide;
		// Masks are of the bytes that a token has inside a text.
		slots->all[slot].opens_text = false;
		// The grammar is ready, so that this cannot fail.
		const struct cuttle_slots_grammar *const of = params.grammar;
		const bool began = guide_begin(of->guide, slot, of->grammar);
		REQUIRE(began);
	}
	*out = slot;
	return CUTTLE_OK;
}

void cuttle_slots_drop(struct cuttle_slots *slots, size_t slot) {
	REQUIRE(slot < slots->count && slots->all[slot].busy);
	slots->source.end(slots->source.self, slot);
	dp_rowlaw_release(&slots->all[slot].rule.rowlaw);
	slots->all[slot].busy = false;
}

size_t cuttle_slots_busy(const struct cuttle_slots *slots) {
	size_t busy = 0;
	for (size_t i = 0; i < slots->count; i++) busy += slots->all[i].busy;
	return busy;
}

static enum dp_status draw_in_slot(struct cuttle_slots *slots, size_t number,
                                   const uint8_t *allowed) {
	struct slot *const slot = &slots->all[number];
	const struct dp_random random =
	    slot->is_seeded ? seeded_random(&slot->seeded) : dp_random_system();
	const enum dp_status status = slots_draw(
	    &slots->drawer, &slot->rule, slots->source.public_row(slots->source.self, number),
	    allowed, &random, &slots->next[number]);
	slot->seeded.step++;
	slot->seeded.counter = 0;
	return status;
}

/* Sets the slot's next token, drawn or forced. *lost: the grammar cannot be followed. */
static enum dp_status choose_in_slot(struct cuttle_slots *slots, size_t number, bool *lost) {
	struct guide *const guide = slots->all[number].guide;
	struct guide_step step = {.forced = -1};
	enum dp_status status = DP_OK;
	*lost = guide && !guide_any(guide, number, &step);
	if (*lost) return DP_OK;
	if (step.forced >= 0) slots->next[number] = step.forced;
	else status = draw_in_slot(slots, number, step.allowed);
	if (guide && !status) guide_took(guide, number, slots->next[number]);
	return status;
}

static struct cuttle_slot_token spell_token(struct cuttle_slots *slots, size_t number) {
	struct slot *const slot = &slots->all[number];
	struct cuttle_slot_token token = {.bytes = slots->bytes};
	const int32_t id = slots->next[number];
	if (vocab_ends_text(slots->model->vocab, id)) {
		token.last = true;
		token.finish = CUTTLE_FINISH_EOS;
		return token;
	}
	vocab_detokenize(slots->model->vocab, &id, 1, slot->opens_text, slots->bytes,
	                 slots->byte_count, &token.size);
	REQUIRE(token.size <= slots->byte_count);
	slot->opens_text = false;
	token.last = --slot->left == 0;
	token.finish = CUTTLE_FINISH_LENGTH;
	return token;
}

enum cuttle_status cuttle_slots_step(struct cuttle_slots *slots,
                                     int (*token)(void *user, size_t slot,
                                                  const struct cuttle_slot_token *token),
                                     void *user, struct cuttle_error *error) {
	REQUIRE(slots && token);
	slots->source.public_logits(slots->source.self);
	for (size_t i = 0; i < slots->count; i++) {
		if (!slots->all[i].busy) continue;
		bool lost;
		const enum dp_status drawn = choose_in_slot(slots, i, &lost);
		if (drawn) return plan_status(drawn, error);
		const struct cuttle_slot_token spelt =
		    lost ? (struct cuttle_slot_token){.bytes = "", .last = true, .lost = true}
		         : spell_token(slots, i);
		if (token(user, i, &spelt) || spelt.last) cuttle_slots_drop(slots, i);
	}
	slots->source.append(slots->source.self, slots->next);
	return CUTTLE_OK;
}

enum cuttle_status cuttle_chat_prompt(const struct cuttle_model *model,
                                      const struct cuttle_message *messages, size_t message_count,
                                      int32_t **ids, size_t *count, struct cuttle_error *error) {
	REQUIRE(model && ids && count && (messages || !message_count));
	struct tokens prompt;
	const enum cuttle_status status =
	    prompt_write_chat(&model->model, messages, message_count, &prompt, error);
	*ids = prompt.ids;
	*count = prompt.count;
	return status;
}
