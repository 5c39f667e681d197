// SPDX-License-Identifier: Apache-2.0
// Twelve chat formats. Each is known by marks, such as "<|im_start|>", that its templates contain.
// Sources: the chat_template texts of SmolLM2, Qwen2, Qwen3, TinyLlama-Chat (Zephyr), Llama 3, 3.1
// and Llama 2, Granite 3, OLMo 2 (Tulu), Gemma 3 and Phi-4-mini; for Mistral, its cookbook's
// chat_templates.md. That one lists three versions, with U the user message: v1 "[INST] U [/INST]",
// v3 "[INST] U[/INST]", Tekken "[INST]U[/INST]". One format serves all three, since the spaces
// differ by the tokenizer alone.
#include "engine/text/chat.h"

#include "base/misuse.h"

#include <string.h>

static bool has_mark(const char *text, size_t size, const char *mark) {
	return memmem(text, size, mark, strlen(mark)) != NULL;
}

enum chat_format chat_recognise(const char *text, size_t size) {
	REQUIRE(text || !size);
	if (!size) return CHAT_NONE;
	if (has_mark(text, size, "<|im_start|>")) {
		// Phi-4 and SmolVLM use this mark in formats of their own. Qwen3 is ChatML with an
		// empty thought before the answer; without it the model writes its thoughts out.
		if (has_mark(text, size, "<|im_sep|>") ||
		    has_mark(text, size, "<end_of_utterance>"))
			return CHAT_NONE;
		// SmolLM3 is ChatML whose system message always begins with today's date.
		if (has_mark(text, size, "Reasoning Mode: ")) return CHAT_NONE;
		return has_mark(text, size, "enable_thinking") ? CHAT_QWEN3 : CHAT_CHATML;
	}
	if (has_mark(text, size, "<|start_of_role|>")) return CHAT_GRANITE;
	if (has_mark(text, size, "<start_of_turn>")) return CHAT_GEMMA;
	if (has_mark(text, size, "'<|' + message['role'] + '|>' + message['content'] + '<|end|>'"))
		return CHAT_PHI4_MINI;
	if (has_mark(text, size, "<|start_header_id|>"))
		return has_mark(text, size, "Cutting Knowledge Date") ? CHAT_LLAMA31 : CHAT_LLAMA3;
	// Tulu ends a user's message by a line break, Zephyr by EOS.
	if (has_mark(text, size, "'<|user|>\\n' + message['content'] + '\\n'") ||
	    has_mark(text, size, "'<|user|>\n' + message['content'] + '\n'"))
		return CHAT_TULU;
	if (has_mark(text, size, "<|user|>") && has_mark(text, size, "<|assistant|>"))
		return has_mark(text, size, "<|end|>") || has_mark(text, size, "<|endoftext|>")
		           ? CHAT_NONE
		           : CHAT_ZEPHYR;
	if (!has_mark(text, size, "[INST]")) return CHAT_NONE;
	if (has_mark(text, size, "[SYSTEM_PROMPT]")) return CHAT_MISTRAL_V7;
	return has_mark(text, size, "<<SYS>>") ? CHAT_LLAMA2 : CHAT_MISTRAL;
}

bool chat_writes_bos(const char *text, size_t size, struct gguf_string bos) {
	return size && (has_mark(text, size, "bos_token") ||
	                (bos.size && memmem(text, size, bos.text, bos.size)));
}

static const char *const names[] = {
    [CHAT_NONE] = "none",           [CHAT_CHATML] = "chatml",
    [CHAT_ZEPHYR] = "zephyr",       [CHAT_LLAMA3] = "llama-3",
    [CHAT_LLAMA31] = "llama-3.1",   [CHAT_LLAMA2] = "llama-2",
    [CHAT_MISTRAL] = "mistral",     [CHAT_MISTRAL_V7] = "mistral-v7",
    [CHAT_QWEN3] = "qwen3",         [CHAT_GRANITE] = "granite",
    [CHAT_TULU] = "tulu",           [CHAT_GEMMA] = "gemma",
    [CHAT_PHI4_MINI] = "phi-4-mini"};

const char *chat_name(enum chat_format format) {
	REQUIRE((size_t)format < sizeof names / sizeof *names);
	return names[format];
}

enum chat_format chat_named(const char *name) {
	for (size_t i = 1; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) return (enum chat_format)i;
	return CHAT_NONE;
}

#define GRANITE(role) "<|start_of_role|>" role "<|end_of_role|>"
#define LLAMA3(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"
/* The date is the one that the templates of Llama 3.1 to 3.3 have where nobody gives them one: a
 * prompt does not depend on the day. */
#define LLAMA31_SYSTEM                                                                             \
	LLAMA3("system")                                                                           \
	"Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"

const struct chat_pieces *chat_pieces(enum chat_format format) {
	static const struct chat_pieces pieces[] = {
	    [CHAT_CHATML] = {.before_system = "<|im_start|>system\n",
	                     .before_user = "<|im_end|>\n<|im_start|>user\n",
	                     .before_user_alone = "<|im_start|>user\n",
	                     .after_user = "<|im_end|>\n<|im_start|>assistant\n",
	                     .before = {"<|im_start|>system\n", "<|im_start|>user\n",
	                                "<|im_start|>assistant\n"},
	                     .after = "<|im_end|>\n",
	                     .answer = "<|im_start|>assistant\n"},
	    [CHAT_ZEPHYR] = {.before_system = "<|system|>\n",
	                     .before_user = "</s>\n<|user|>\n",
	                     .before_user_alone = "<|user|>\n",
	                     .after_user = "</s>\n<|assistant|>\n",
	                     .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
	                     .after = "</s>\n",
	                     .answer = "<|assistant|>\n"},
	    [CHAT_LLAMA3] = {.before_system = LLAMA3("system"),
	                     .before_user = "<|eot_id|>" LLAMA3("user"),
	                     .before_user_alone = LLAMA3("user"),
	                     .after_user = "<|eot_id|>" LLAMA3("assistant"),
	                     .before = {LLAMA3("system"), LLAMA3("user"), LLAMA3("assistant")},
	                     .after = "<|eot_id|>",
	                     .answer = LLAMA3("assistant"),
	                     .trims = true},
	    [CHAT_LLAMA31] = {.before_system = LLAMA31_SYSTEM,
	                      .before_user = "<|eot_id|>" LLAMA3("user"),
	                      .before_user_alone = LLAMA31_SYSTEM "<|eot_id|>" LLAMA3("user"),
	                      .after_user = "<|eot_id|>" LLAMA3("assistant"),
	                      .before = {LLAMA3("system"), LLAMA3("user"), LLAMA3("assistant")},
	                      .after = "<|eot_id|>",
	                      .answer = LLAMA3("assistant"),
	                      .trims = true,
	                      .always_system = true},
	    [CHAT_LLAMA2] = {.before_system = "[INST] <<SYS>>\n",
	                     .before_user = "\n<</SYS>>\n\n",
	                     .before_user_alone = "[INST] ",
	                     .after_user = " [/INST]",
	                     .before_next_user = " </s><s>[INST] "},
	    [CHAT_MISTRAL] = {.before_system = "[INST] ",
	                      .before_user = "\n\n",
	                      .before_user_alone = "[INST] ",
	                      .after_user = " [/INST]",
	                      .before_next_user = "</s>[INST] "},
	    [CHAT_MISTRAL_V7] = {.before_system = "[SYSTEM_PROMPT]",
	                         .before_user = "[/SYSTEM_PROMPT][INST]",
	                         .before_user_alone = "[INST]",
	                         .after_user = "[/INST]",
	                         .before_next_user = "</s>[INST]"},
	    [CHAT_QWEN3] = {.before_system = "<|im_start|>system\n",
	                    .before_user = "<|im_end|>\n<|im_start|>user\n",
	                    .before_user_alone = "<|im_start|>user\n",
	                    .after_user =
	                        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
	                    .before = {"<|im_start|>system\n", "<|im_start|>user\n",
	                               "<|im_start|>assistant\n"},
	                    .after = "<|im_end|>\n",
	                    .answer = "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
	    [CHAT_GRANITE] = {.before_system = GRANITE("system"),
	                      .before_user = "<|end_of_text|>\n" GRANITE("user"),
	                      .before_user_alone = GRANITE("user"),
	                      .after_user = "<|end_of_text|>\n" GRANITE("assistant"),
	                      .before = {GRANITE("system"), GRANITE("user"), GRANITE("assistant")},
	                      .after = "<|end_of_text|>\n",
	                      .answer = GRANITE("assistant")},
	    [CHAT_TULU] = {.before_system = "<|system|>\n",
	                   .before_user = "\n<|user|>\n",
	                   .before_user_alone = "<|user|>\n",
	                   .after_user = "\n<|assistant|>\n",
	                   .before_next_user = "<|endoftext|>\n<|user|>\n"},
	    [CHAT_GEMMA] = {.before_system = "<start_of_turn>user\n",
	                    .before_user = "\n\n",
	                    .before_user_alone = "<start_of_turn>user\n",
	                    .after_user = "<end_of_turn>\n<start_of_turn>model\n",
	                    .before_next_user = "<end_of_turn>\n<start_of_turn>user\n",
	                    .trims = true},
	    [CHAT_PHI4_MINI] = {.before_system = "<|system|>",
	                        .before_user = "<|end|><|user|>",
	                        .before_user_alone = "<|user|>",
	                        .after_user = "<|end|><|assistant|>",
	                        .before = {"<|system|>", "<|user|>", "<|assistant|>"},
	                        .after = "<|end|>",
	                        .answer = "<|assistant|>"},
	};
	REQUIRE((size_t)format < sizeof pieces / sizeof *pieces);
	return format == CHAT_NONE ? NULL : &pieces[format];
}
