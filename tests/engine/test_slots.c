// SPDX-License-Identifier: Apache-2.0
// Tests slots: plain completions that come and go.
// It fails if a text depends on what is in the other slots, on when it began, or on the slot's
// number; if a greedy token is not the likeliest by cuttle_score; if top_k, top_p or the seed do
// not do what they say; if a bad parameter or a prompt that does not fit is taken; if the prompt of
// a chat is anything but the pieces of its format with the messages between them. It fails if a
// text is not one of its grammar or, where it is cut, a beginning of one; if it depends on other
// texts of that grammar; or if a grammar that is ambiguous without end is followed without end.
#include "engine/cuttle.h"
#include "engine/model/model.h"
#include "kernels/pack.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 8, TOKENS = 12, MOST = 4096 };

static struct cuttle_error error;

/* What each slot has spelt so far. */
struct spelt {
	char text[SLOTS][MOST];
	size_t size[SLOTS];
	size_t tokens[SLOTS];
	bool last[SLOTS], lost[SLOTS];
	enum cuttle_finish finish[SLOTS];
	size_t stop_slot, stop_after; /* this slot is freed by the callback; 0 = none */
};

static int take_spelt(void *user, size_t slot, const struct cuttle_slot_token *token) {
	struct spelt *s = user;
	assert_false(s->last[slot]);
	assert_true(s->size[slot] + token->size < MOST);
	memcpy(s->text[slot] + s->size[slot], token->bytes, token->size);
	s->size[slot] += token->size;
	s->tokens[slot]++;
	s->last[slot] = token->last;
	s->finish[slot] = token->finish;
	s->lost[slot] = token->lost;
	return s->stop_after && slot == s->stop_slot && s->tokens[slot] == s->stop_after;
}

static struct cuttle_slots *make_slots(struct cuttle_model *model, uint32_t count) {
	struct cuttle_slots *slots;
	assert_int_equal(cuttle_slots_make(model, count, 0, &slots, &error), CUTTLE_OK);
	return slots;
}

static struct cuttle_slot_params params_of(uint64_t seed, double temperature) {
	struct cuttle_slot_params params;
	cuttle_slot_params_default(&params);
	params.tokens = TOKENS;
	params.temperature = temperature;
	params.seeded = true;
	params.seed = seed;
	return params;
}

static size_t add_prompt(struct cuttle_slots *slots, struct cuttle_model *model, const char *prompt,
                         const struct cuttle_slot_params *params) {
	int32_t ids[MOST];
	size_t count, slot;
	assert_int_equal(
	    cuttle_tokenize(model, prompt, strlen(prompt), true, ids, MOST, &count, &error),
	    CUTTLE_OK);
	assert_int_equal(cuttle_slots_add(slots, ids, count, params, &slot, &error), CUTTLE_OK);
	return slot;
}

static void run_out(struct cuttle_slots *slots, struct spelt *s) {
	while (cuttle_slots_busy(slots))
		assert_int_equal(cuttle_slots_step(slots, take_spelt, s, &error), CUTTLE_OK);
}

/* The text of this prompt alone in the only slot. */
static void complete_alone(struct cuttle_model *model, const char *prompt,
                           const struct cuttle_slot_params *params, char *text, size_t *size) {
	struct cuttle_slots *slots = make_slots(model, 1);
	struct spelt s = {0};
	const size_t slot = add_prompt(slots, model, prompt, params);
	run_out(slots, &s);
	memcpy(text, s.text[slot], s.size[slot]);
	*size = s.size[slot];
	cuttle_slots_free(&slots);
}

static void test_alone_and_beside(void **state) {
	struct cuttle_model *model = *state;
	const char *const prompts[SLOTS] = {"a", "bb", "a longer one of these", "d", "x y", "eee",
	                                    "0", "h"};
	char alone[SLOTS][MOST];
	size_t sizes[SLOTS];
	struct spelt s = {0};
	struct cuttle_slots *slots = make_slots(model, SLOTS);
	for (size_t i = 0; i < SLOTS; i++) {
		const struct cuttle_slot_params params = params_of(i, i % 3 * 0.5);
		complete_alone(model, prompts[i], &params, alone[i], &sizes[i]);
	}
	// They begin one step after the other, so each is at another place of its text.
	for (size_t i = 0; i < SLOTS; i++) {
		const struct cuttle_slot_params params = params_of(i, i % 3 * 0.5);
		assert_int_equal(add_prompt(slots, model, prompts[i], &params), i);
		assert_int_equal(cuttle_slots_step(slots, take_spelt, &s, &error), CUTTLE_OK);
	}
	run_out(slots, &s);
	for (size_t i = 0; i < SLOTS; i++) {
		assert_int_equal(s.size[i], sizes[i]);
		assert_memory_equal(s.text[i], alone[i], sizes[i]);
	}
	// In another slot, after a text that was dropped half-way, it is the same again.
	struct spelt again = {.stop_slot = 0, .stop_after = 3};
	struct cuttle_slot_params params = params_of(7, 0.5);
	(void)add_prompt(slots, model, "dropped by its callback", &params);
	const size_t dropped = add_prompt(slots, model, "dropped from outside", &params);
	assert_int_equal(cuttle_slots_step(slots, take_spelt, &again, &error), CUTTLE_OK);
	cuttle_slots_drop(slots, dropped);
	params = params_of(2, 1);
	const size_t slot = add_prompt(slots, model, prompts[2], &params);
	assert_int_equal(slot, 1);
	again.size[slot] = 0;
	run_out(slots, &again);
	assert_int_equal(again.tokens[0], 3);
	assert_memory_equal(again.text[slot], alone[2], sizes[2]);
	cuttle_slots_free(&slots);
}

static int take_id_bytes(void *user, size_t slot, const struct cuttle_slot_token *token) {
	char *text = user;
	(void)slot;
	memcpy(text, token->bytes, token->size);
	text[token->size] = 0;
	return 1;
}

static void test_greedy_is_likeliest(void **state) {
	struct cuttle_model *model = *state;
	int32_t ids[64], top[64];
	double logprobs[64];
	size_t count, slot, size;
	char text[MOST], wanted[MOST];
	assert_int_equal(cuttle_tokenize(model, "some words", 10, true, ids, 63, &count, &error),
	                 CUTTLE_OK);
	// One token more, whichever, so that the score of the last one is asked for.
	ids[count] = ids[0];
	assert_int_equal(cuttle_score(model, ids, count + 1, logprobs, top, &error), CUTTLE_OK);
	assert_true(vocab_drawable(model->model.vocab, top[count - 1]));
	assert_int_equal(cuttle_detokenize(model, &top[count - 1], 1, wanted, MOST, &size, &error),
	                 CUTTLE_OK);
	for (int way = 0; way < 3; way++) {
		struct cuttle_slot_params params = params_of(3, way == 0 ? 0 : 1.5);
		if (way == 1) params.top_k = 1;
		if (way == 2) params.top_p = 1e-12;
		struct cuttle_slots *slots = make_slots(model, 2);
		assert_int_equal(cuttle_slots_add(slots, ids, count, &params, &slot, &error),
		                 CUTTLE_OK);
		assert_int_equal(cuttle_slots_step(slots, take_id_bytes, text, &error), CUTTLE_OK);
		assert_int_equal(cuttle_slots_busy(slots), 0);
		assert_int_equal(strlen(text), size);
		assert_memory_equal(text, wanted, size);
		cuttle_slots_free(&slots);
	}
}

/* A bias along one token's vector, so strong that it decides: the text repeats the token whose
 * vector is nearest to it. Without it again the text is as before. */
static void test_bias(void **state) {
	struct cuttle_model *model = *state;
	const struct model *m = &model->model;
	const struct cuttle_slot_params params = params_of(3, 0);
	static float e[TINY_WIDTH], other[TINY_WIDTH];
	double bias[TINY_WIDTH], best = -1;
	char before[MOST], wanted[MOST];
	size_t before_size, size;
	int32_t likeliest = -1;
	complete_alone(model, "some words", &params, before, &before_size);
	pack_row(&m->head, 'q', e);
	for (size_t i = 0; i < TINY_WIDTH; i++) bias[i] = 1000 * (double)e[i];
	for (size_t y = 0; y < m->vocab_size; y++) {
		double sum = 0;
		pack_row(&m->head, y, other);
		for (size_t i = 0; i < TINY_WIDTH; i++) sum += bias[i] * (double)other[i];
		if (!vocab_drawable(m->vocab, (int32_t)y) || sum <= best) continue;
		best = sum;
		likeliest = (int32_t)y;
	}
	assert_int_equal(cuttle_detokenize(model, &likeliest, 1, wanted, MOST, &size, &error),
	                 CUTTLE_OK);
	struct cuttle_slots *slots = make_slots(model, 1);
	struct spelt s = {0}, again = {0};
	assert_int_equal(cuttle_slots_bias(slots, bias, &error), CUTTLE_OK);
	bias[1] = NAN;
	assert_int_equal(cuttle_slots_bias(slots, bias, &error), CUTTLE_USAGE);
	(void)add_prompt(slots, model, "some words", &params);
	run_out(slots, &s);
	assert_int_equal(s.size[0], TOKENS * size);
	for (size_t i = 0; i < TOKENS; i++) assert_memory_equal(s.text[0] + i * size, wanted, size);
	assert_int_equal(cuttle_slots_bias(slots, NULL, &error), CUTTLE_OK);
	(void)add_prompt(slots, model, "some words", &params);
	run_out(slots, &again);
	assert_int_equal(again.size[0], before_size);
	assert_memory_equal(again.text[0], before, before_size);
	cuttle_slots_free(&slots);
}

static void test_seeds_and_lengths(void **state) {
	struct cuttle_model *model = *state;
	char one[MOST], other[MOST];
	size_t one_size, other_size;
	struct cuttle_slot_params params = params_of(1, 2);
	complete_alone(model, "seed", &params, one, &one_size);
	complete_alone(model, "seed", &params, other, &other_size);
	assert_int_equal(one_size, other_size);
	assert_memory_equal(one, other, one_size);
	params.seed = 2;
	complete_alone(model, "seed", &params, other, &other_size);
	assert_true(one_size != other_size || memcmp(one, other, one_size) != 0);
	params.seeded = false;
	size_t changed = 0;
	for (int i = 0; i < 3; i++) {
		complete_alone(model, "seed", &params, one, &one_size);
		complete_alone(model, "seed", &params, other, &other_size);
		changed += one_size != other_size || memcmp(one, other, one_size) != 0;
	}
	assert_true(changed > 0);
	struct cuttle_slots *slots = make_slots(model, 1);
	struct spelt s = {0};
	params.tokens = 1;
	(void)add_prompt(slots, model, "one token", &params);
	run_out(slots, &s);
	assert_int_equal(s.tokens[0], 1);
	assert_true(s.last[0]);
	cuttle_slots_free(&slots);
}

static void test_refusals(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_slots *slots;
	size_t slot;
	const int32_t ids[] = {1, 2, 3};
	assert_int_equal(cuttle_slots_make(model, 0, 0, &slots, &error), CUTTLE_USAGE);
	assert_int_equal(cuttle_slots_make(model, 65, 0, &slots, &error), CUTTLE_USAGE);
	assert_int_equal(cuttle_slots_make(model, 1, 1 << 30, &slots, &error), CUTTLE_USAGE);
	assert_null(slots);
	slots = make_slots(model, 1);
	const uint32_t context = cuttle_slots_context(slots);
	struct cuttle_slot_params good = params_of(1, 1), bad;
	const int32_t wrong[][1] = {{-1}, {1 << 30}};
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(cuttle_slots_add(slots, wrong[i], 1, &good, &slot, &error),
		                 CUTTLE_USAGE);
	assert_int_equal(cuttle_slots_add(slots, ids, 0, &good, &slot, &error), CUTTLE_USAGE);
	for (int i = 0; i < 8; i++) {
		bad = good;
		if (i == 0) bad.tokens = 0;
		if (i == 1) bad.tokens = context - 2;
		if (i == 2) bad.temperature = -1;
		if (i == 3) bad.temperature = 2.5;
		if (i == 4) bad.temperature = 1e-9;
		if (i == 5) bad.top_p = 0;
		if (i == 6) bad.top_p = 1.5;
		if (i == 7) bad.struct_size = 0;
		assert_int_equal(cuttle_slots_add(slots, ids, 3, &bad, &slot, &error),
		                 CUTTLE_USAGE);
	}
	assert_int_equal(cuttle_slots_busy(slots), 0);
	bad = good;
	bad.tokens = context - 3;
	assert_int_equal(cuttle_slots_add(slots, ids, 3, &bad, &slot, &error), CUTTLE_OK);
	assert_int_equal(cuttle_slots_add(slots, ids, 3, &good, &slot, &error), CUTTLE_PARTIAL);
	cuttle_slots_free(&slots);
}

/* The prompt of a chat, spelt as text: special tokens by their names. */
static void spell_prompt(struct cuttle_model *model, const int32_t *ids, size_t count,
                         char text[MOST]) {
	size_t size = 0;
	for (size_t i = 0; i < count; i++) {
		const enum vocab_token_type type = vocab_type(model->model.vocab, ids[i]);
		if (type == VOCAB_CONTROL) {
			const struct gguf_string piece = vocab_piece(model->model.vocab, ids[i]);
			memcpy(text + size, piece.text, piece.size);
			size += piece.size;
		} else {
			vocab_detokenize(model->model.vocab, &ids[i], 1, false, text, MOST, &size);
		}
	}
	text[size] = 0;
}

/* The prompt of these messages must end so; the file may have it begin with BOS. */
static void assert_chat(struct cuttle_model *model, enum chat_format format,
                        const struct cuttle_message *messages, size_t messages_count,
                        const char *wanted) {
	int32_t *ids;
	size_t count;
	char text[MOST];
	const enum chat_format own = model->model.chat;
	model->model.chat = format;
	const enum cuttle_status status =
	    cuttle_chat_prompt(model, messages, messages_count, &ids, &count, &error);
	model->model.chat = own;
	assert_int_equal(status, wanted ? CUTTLE_OK : CUTTLE_USAGE);
	if (!wanted) {
		assert_null(ids);
		return;
	}
	spell_prompt(model, ids, count, text);
	free(ids);
	// A space where pieces meet is the tokenizer's (chat.h).
	char *kept = text;
	for (const char *at = text; format >= CHAT_LLAMA2 && format != CHAT_QWEN3 && *at; at++)
		if (*at != ' ') *kept++ = *at;
	if (kept != text) *kept = 0;
	const char *found = strstr(text, wanted);
	assert_non_null(found);
	assert_string_equal(found, wanted);
	assert_null(memmem(text, (size_t)(found - text), "\n", 1));
}

static void test_chat_prompt(void **state) {
	struct cuttle_model *model = *state;
	const struct cuttle_message system = {CUTTLE_SYSTEM, "be kind", 7},
	                            one = {CUTTLE_USER, "one", 3},
	                            two = {CUTTLE_ASSISTANT, "two", 3},
	                            empty = {CUTTLE_SYSTEM, "", 0},
	                            broken = {CUTTLE_USER, "\xff", 1},
	                            spaced = {CUTTLE_USER, " \n one ", 7};
#define CHAT(...)                                                                                  \
	(const struct cuttle_message[]){__VA_ARGS__},                                              \
	    sizeof((const struct cuttle_message[]){__VA_ARGS__}) / sizeof(struct cuttle_message)
#define SYSTEM(text) "<|im_start|>system\n" text "<|im_end|>\n"
#define USER(text) "<|im_start|>user\n" text "<|im_end|>\n"
#define ASSISTANT(text) "<|im_start|>assistant\n" text "<|im_end|>\n"
#define ANSWER "<|im_start|>assistant\n"
#define THOUGHT "<think>\n\n</think>\n\n"
	// In turns, and in no turns at all: each message stands alone.
	assert_chat(model, CHAT_CHATML, CHAT(system, one, two, one),
	            SYSTEM("be kind") USER("one") ASSISTANT("two") USER("one") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(one), USER("one") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(one, one), USER("one") USER("one") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(system, system, one, system),
	            SYSTEM("be kind") SYSTEM("be kind") USER("one") SYSTEM("be kind") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(one, two), USER("one") ASSISTANT("two") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(empty, spaced), SYSTEM("") USER(" \n one ") ANSWER);
	assert_chat(model, CHAT_QWEN3, CHAT(one, two, one),
	            USER("one") ASSISTANT("two") USER("one") ANSWER THOUGHT);
	assert_chat(model, CHAT_QWEN3, CHAT(one, two),
	            USER("one") ASSISTANT(THOUGHT "two") ANSWER THOUGHT);
	assert_chat(model, CHAT_ZEPHYR, CHAT(two, one),
	            "<|assistant|>\ntwo</s>\n<|user|>\none</s>\n<|assistant|>\n");
	// A template's own system message comes first, but for an own one, even an empty one.
	(void)strcpy(model->model.chat_system, "You are.");
	assert_chat(model, CHAT_CHATML, CHAT(one, system),
	            SYSTEM("You are.") USER("one") SYSTEM("be kind") ANSWER);
	assert_chat(model, CHAT_CHATML, CHAT(empty, one), SYSTEM("") USER("one") ANSWER);
	model->model.chat_system[0] = 0;
#define HEADER(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
#define DATES "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
	assert_chat(
	    model, CHAT_LLAMA3, CHAT(spaced, two),
	    HEADER("user") "one<|eot_id|>" HEADER("assistant") "two<|eot_id|>" HEADER("assistant"));
	assert_chat(model, CHAT_LLAMA31, CHAT(spaced),
	            HEADER("system") DATES
	            "<|eot_id|>" HEADER("user") "one<|eot_id|>" HEADER("assistant"));
	assert_chat(model, CHAT_LLAMA31, CHAT(system, one, system),
	            HEADER("system") DATES
	            "be kind<|eot_id|>" HEADER("user") "one<|eot_id|>" HEADER(
	                "system") "be kind<|eot_id|>" HEADER("assistant"));
	// These templates raise an exception at another order.
	const enum chat_format ruled[] = {CHAT_MISTRAL, CHAT_MISTRAL_V7, CHAT_LLAMA2};
	for (size_t i = 0; i < sizeof ruled / sizeof *ruled; i++) {
		const struct chat_pieces *pieces = chat_pieces(ruled[i]);
		char wanted[MOST];
		(void)snprintf(wanted, MOST, "%sbekind%sone%stwo%sone%s", pieces->before_system,
		               pieces->before_user, pieces->after_user, pieces->before_next_user,
		               pieces->after_user);
		char *kept = wanted;
		for (const char *at = wanted; *at; at++)
			if (*at != ' ') *kept++ = *at;
		*kept = 0;
		assert_chat(model, ruled[i], CHAT(system, one, two, one), wanted);
		assert_chat(model, ruled[i], CHAT(one, one), NULL);
		assert_chat(model, ruled[i], CHAT(one, two), NULL);
		assert_chat(model, ruled[i], CHAT(one, system), NULL);
		assert_chat(model, ruled[i], CHAT(system), NULL);
		assert_chat(model, ruled[i], CHAT(system, system, one), NULL);
	}
	assert_chat(model, CHAT_CHATML, CHAT(broken), NULL);
	assert_chat(model, CHAT_CHATML, NULL, 0, NULL);
	assert_chat(model, CHAT_NONE, CHAT(one), NULL);
}

/* ---- grammars -------------------------------------------------------------------------------- */

static struct cuttle_slots_grammar *make_slots_grammar(struct cuttle_slots *slots, const char *gbnf,
                                                       struct cuttle_grammar **grammar) {
	struct cuttle_slots_grammar *made;
	assert_int_equal(cuttle_grammar_read(gbnf, strlen(gbnf), grammar, &error), CUTTLE_OK);
	assert_int_equal(cuttle_slots_grammar_make(slots, *grammar, &made, &error), CUTTLE_OK);
	return made;
}

static const char ANSWERS[] = "root ::= (\"yes\" | \"no\") \", \" [0-9]{1,2} \"\\n\"";

/* Whether text[size] is one of ANSWERS, or `cut` a beginning of one. */
static bool is_answer(const char *text, size_t size, bool cut) {
	for (int word = 0; word < 2; word++)
		for (int number = 0; number < 110; number++) {
			char one[16];
			const int length =
			    number < 100
			        ? snprintf(one, sizeof one, "%s, %d\n", word ? "yes" : "no", number)
			        : snprintf(one, sizeof one, "%s, 0%d\n", word ? "yes" : "no",
			                   number - 100);
			if ((cut ? size < (size_t)length : size == (size_t)length) &&
			    !memcmp(text, one, size))
				return true;
		}
	return false;
}

static void test_texts_of_a_grammar(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_slots *slots = make_slots(model, SLOTS);
	struct cuttle_grammar *grammar;
	struct cuttle_slots_grammar *made = make_slots_grammar(slots, ANSWERS, &grammar);
	struct spelt first = {0};
	for (uint64_t seed = 0; seed < 40; seed += SLOTS) {
		struct spelt s = {0}, cut = {0};
		for (size_t i = 0; i < SLOTS; i++) {
			// Every fourth text is of no grammar.
			struct cuttle_slot_params params = params_of(seed + i, i % 3 ? 2 : 0);
			params.grammar = i % 4 == 3 ? NULL : made;
			params.top_k = i % 2;
			assert_int_equal(add_prompt(slots, model, "ask", &params), i);
		}
		run_out(slots, &s);
		for (size_t i = 0; i < SLOTS; i++) {
			if (i % 4 == 3) continue;
			assert_true(is_answer(s.text[i], s.size[i], false));
			assert_int_equal(s.finish[i], CUTTLE_FINISH_EOS);
			// Tokens are bytes here, and one ends the text.
			assert_int_equal(s.tokens[i], s.size[i] + 1);
		}
		if (!seed) first = s;
		// The same one after the other, and cut after three bytes.
		for (size_t i = 0; i < SLOTS; i++) {
			struct cuttle_slot_params params = params_of(seed + i, i % 3 ? 2 : 0);
			if (i % 4 == 3) continue;
			params.grammar = made;
			params.top_k = i % 2;
			params.tokens = 3;
			cut = (struct spelt){0};
			assert_int_equal(add_prompt(slots, model, "ask", &params), 0);
			run_out(slots, &cut);
			assert_int_equal(cut.finish[0], CUTTLE_FINISH_LENGTH);
			assert_int_equal(cut.size[0], 3);
			assert_memory_equal(cut.text[0], s.text[i], 3);
			assert_true(is_answer(cut.text[0], 3, true));
		}
	}
	cuttle_slots_grammar_free(&made);
	assert_null(made);
	// What one that knows nothing yet allows is the same.
	assert_int_equal(cuttle_slots_grammar_make(slots, grammar, &made, &error), CUTTLE_OK);
	struct spelt s = {0};
	struct cuttle_slot_params params = params_of(1, 2);
	params.grammar = made;
	params.top_k = 1;
	(void)add_prompt(slots, model, "ask", &params);
	run_out(slots, &s);
	assert_int_equal(s.size[0], first.size[1]);
	assert_memory_equal(s.text[0], first.text[1], s.size[0]);
	cuttle_slots_grammar_free(&made);
	cuttle_slots_free(&slots);
	cuttle_grammar_free(&grammar);
}

static void test_ambiguous_without_end(void **state) {
	struct cuttle_model *model = *state;
	struct cuttle_slots *slots = make_slots(model, 2);
	struct cuttle_grammar *grammar;
	struct cuttle_slots_grammar *made = make_slots_grammar(
	    slots,
	    "root ::= x\nx ::= [a-z] x? y | [a-m] y x | [n-z] y y x | [aeiou] x x | [ ] x\n"
	    "y ::= [a-z] | [a-f] x y | [g-z ] y x?  | [b-y] z\nz ::= [a-z ] x | [aeiou] z z? | "
	    "\"q\"",
	    &grammar);
	struct spelt s = {0};
	struct cuttle_slot_params params = params_of(3, 2);
	params.tokens = 200;
	(void)add_prompt(slots, model, "free", &params);
	params.grammar = made;
	(void)add_prompt(slots, model, "ask", &params);
	run_out(slots, &s);
	assert_true(s.lost[1]);
	assert_false(s.lost[0]);
	assert_true(s.tokens[0] > 1);
	// So it is from here on.
	struct spelt again = {0};
	(void)add_prompt(slots, model, "ask", &params);
	run_out(slots, &again);
	assert_true(again.lost[0]);
	assert_int_equal(again.tokens[0], 1);
	cuttle_slots_grammar_free(&made);
	cuttle_slots_free(&slots);
	cuttle_grammar_free(&grammar);
}

static int open_tiny(void **state) {
	struct cuttle_model *model = tiny_model_open_healthy(2);
	*state = model;
	return 0;
}

static int close_tiny(void **state) {
	struct cuttle_model *model = *state;
	cuttle_model_free(&model);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_alone_and_beside),   cmocka_unit_test(test_greedy_is_likeliest),
	    cmocka_unit_test(test_seeds_and_lengths),  cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_chat_prompt),        cmocka_unit_test(test_bias),
	    cmocka_unit_test(test_texts_of_a_grammar), cmocka_unit_test(test_ambiguous_without_end),
	};
	return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
