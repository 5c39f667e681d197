// SPDX-License-Identifier: Apache-2.0
// Four chat formats and the marks by which a template is known as one of them.
// Sources: the chat_template texts of SmolLM2, TinyLlama-Chat (Zephyr), Llama 3 and Llama 2.
#include "engine/chat.h"

#include "base/misuse.h"

#include <string.h>

static bool contains(const char *text, size_t size, const char *mark) {
	return memmem(text, size, mark, strlen(mark)) != NULL;
}

enum chat_format chat_recognise(const char *text, size_t size) {
	REQUIRE(text || !size);
	if (!size) return CHAT_NONE;
	if (contains(text, size, "<|im_start|>")) return CHAT_CHATML;
	if (contains(text, size, "<|start_header_id|>")) return CHAT_LLAMA3;
	if (contains(text, size, "<|user|>") && contains(text, size, "<|assistant|>")) return CHAT_ZEPHYR;
	if (contains(text, size, "[INST]")) return CHAT_LLAMA2;
	return CHAT_NONE;
}

const char *chat_name(enum chat_format format) {
	static const char *const names[] = {
	    [CHAT_NONE] = "none", [CHAT_CHATML] = "chatml", [CHAT_ZEPHYR] = "zephyr", [CHAT_LLAMA3] = "llama-3", [CHAT_LLAMA2] = "llama-2"};
	REQUIRE((size_t)format < sizeof names / sizeof *names);
	return names[format];
}

const struct chat_pieces *chat_pieces(enum chat_format format) {
	static const struct chat_pieces pieces[] = {
	    [CHAT_CHATML] = {.before_system = "<|im_start|>system\n",
	                     .before_user = "<|im_end|>\n<|im_start|>user\n",
	                     .before_user_alone = "<|im_start|>user\n",
	                     .after_user = "<|im_end|>\n<|im_start|>assistant\n"},
	    [CHAT_ZEPHYR] = {.before_system = "<|system|>\n",
	                     .before_user = "</s>\n<|user|>\n",
	                     .before_user_alone = "<|user|>\n",
	                     .after_user = "</s>\n<|assistant|>\n"},
	    [CHAT_LLAMA3] = {.before_system = "<|start_header_id|>system<|end_header_id|>\n\n",
	                     .before_user = "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
	                     .before_user_alone = "<|start_header_id|>user<|end_header_id|>\n\n",
	                     .after_user = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
	    [CHAT_LLAMA2] = {.before_system = "[INST] <<SYS>>\n",
	                     .before_user = "\n<</SYS>>\n\n",
	                     .before_user_alone = "[INST] ",
	                     .after_user = " [/INST]"},
	};
	REQUIRE((size_t)format < sizeof pieces / sizeof *pieces);
	return format == CHAT_NONE ? NULL : &pieces[format];
}
