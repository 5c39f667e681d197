// SPDX-License-Identifier: Apache-2.0
// Tests engine/text/chat.c, the chat formats. It fails if a template is not recognised by its
// marks, if one turn of a format is not written out letter by letter as the model was trained, or
// if BOS stands twice.
#include "engine/text/chat_system.h"
#include "engine/run/plan/prompt.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum chat_format recognise(const char *text) {
	// An exact copy without a terminating NUL: a sanitizer sees any step beyond it.
	size_t size = strlen(text);
	char *copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	enum chat_format format = chat_recognise(copy, size);
	free(copy);
	return format;
}

static void test_recognises(void **state) {
	(void)state;
	assert_int_equal(
	    recognise("{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n'}}{% endfor %}"),
	    CHAT_CHATML);
	assert_int_equal(recognise("{{ '<|start_header_id|>' + role + '<|end_header_id|>\n\n' }}"),
	                 CHAT_LLAMA3);
	assert_int_equal(
	    recognise(
	        "{% if user %}{{ '<|user|>\n' }}{% else %}{{ '<|assistant|>\n' }}{% endif %}"),
	    CHAT_ZEPHYR);
	assert_int_equal(
	    recognise(
	        "{{ '[INST] <<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + content + ' [/INST]' }}"),
	    CHAT_LLAMA2);
	assert_int_equal(recognise("{{ bos_token + '[INST] ' + content + ' [/INST]' }}"),
	                 CHAT_MISTRAL);
	assert_int_equal(
	    recognise("{{ ' [INST] ' + system_message + '\\n\\n' + content + ' [/INST]' }}"),
	    CHAT_MISTRAL);
	assert_int_equal(
	    recognise("{{- \"[AVAILABLE_TOOLS] [\" }}{{- \"[INST] \" + content + \"[/INST]\" }}"),
	    CHAT_MISTRAL);
	assert_int_equal(recognise("{{- \"[INST]\" + content + \"[/INST]\" }}"), CHAT_MISTRAL);
	assert_int_equal(recognise("{{ '[SYSTEM_PROMPT] ' + system + '[/SYSTEM_PROMPT][INST] ' + "
	                           "content + '[/INST]' }}"),
	                 CHAT_MISTRAL_V7);
	assert_int_equal(recognise("{{ '<|im_start|>assistant\\n' }}{% if enable_thinking is false "
	                           "%}<think>{% endif %}"),
	                 CHAT_QWEN3);
	assert_int_equal(recognise("{{ '<|start_header_id|>' }}"), CHAT_LLAMA3);
	assert_int_equal(recognise("{{ '<|start_header_id|>' }}Cutting Knowledge Date: December"),
	                 CHAT_LLAMA31);
	assert_int_equal(recognise("<|im_start|>user<|im_sep|>"), CHAT_NONE);
	assert_int_equal(recognise("<|im_start|>User:<end_of_utterance>"), CHAT_NONE);
	assert_int_equal(recognise("<|user|>\n<|end|>\n<|assistant|>"), CHAT_NONE);
	assert_int_equal(recognise("<|header_start|>user<|header_end|>"), CHAT_NONE);
	assert_int_equal(recognise("{{ '<|user|>' }}"), CHAT_NONE);
	assert_int_equal(recognise("{{ '<|assistant|>' }}"), CHAT_NONE);
	assert_int_equal(recognise("<|im_start|"), CHAT_NONE);
	assert_int_equal(recognise("<start_of_turn>user"), CHAT_GEMMA);
	assert_int_equal(recognise("{{- '<|start_of_role|>system<|end_of_role|>' }}"),
	                 CHAT_GRANITE);
	assert_int_equal(
	    recognise("{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
	              "{{ '<|assistant|>' }}"),
	    CHAT_PHI4_MINI);
	assert_int_equal(recognise("{{ '<|user|>\\n' + message['content'] + '\\n' }}"
	                           "{{ '<|assistant|>\\n' }}"),
	                 CHAT_TULU);
	assert_int_equal(recognise("{{ '<|user|>\n' + message['content'] + '\n' }}"
	                           "{{ '<|assistant|>\n' }}"),
	                 CHAT_TULU);
	assert_int_equal(recognise("{{ '<|user|>\\n' + message['content'] + eos_token }}"
	                           "{{ '<|assistant|>\\n' }}"),
	                 CHAT_ZEPHYR);
	assert_int_equal(recognise("<|im_start|>system\nReasoning Mode: {{ enable_thinking }}"),
	                 CHAT_NONE);
	assert_int_equal(recognise(""), CHAT_NONE);
	assert_int_equal(chat_recognise(NULL, 0), CHAT_NONE);
	assert_int_equal(chat_recognise("\0<|im_start|>", 13), CHAT_CHATML);
}

static void assert_turn(enum chat_format format, const char *with_system, const char *alone) {
	char text[256];
	const struct chat_pieces *pieces = chat_pieces(format);
	assert_non_null(pieces);
	stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(text, pieces->before_system), "S"), pieces->before_user),
	              "U"),
	       pieces->after_user);
	assert_string_equal(text, with_system);
	stpcpy(stpcpy(stpcpy(text, pieces->before_user_alone), "U"), pieces->after_user);
	assert_string_equal(text, alone);
}

static void test_turns(void **state) {
	(void)state;
	assert_turn(CHAT_CHATML,
	            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>"
	            "assistant\n",
	            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n");
	assert_turn(CHAT_ZEPHYR, "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\n",
	            "<|user|>\nU</s>\n<|assistant|>\n");
	assert_turn(CHAT_LLAMA3,
	            "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>"
	            "user<|end_header_id|>\n\nU<|eot_id|>"
	            "<|start_header_id|>assistant<|end_header_id|>\n\n",
	            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>"
	            "assistant<|end_header_id|>\n\n");
	assert_turn(CHAT_LLAMA31,
	            "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
	            "December 2023\nToday Date: 26 Jul 2024\n\nS<|eot_id|><|start_header_id|>"
	            "user<|end_header_id|>\n\nU<|eot_id|>"
	            "<|start_header_id|>assistant<|end_header_id|>\n\n",
	            "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
	            "December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>"
	            "user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>"
	            "assistant<|end_header_id|>\n\n");
	assert_turn(CHAT_LLAMA2, "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST]", "[INST] U [/INST]");
	assert_turn(CHAT_MISTRAL, "[INST] S\n\nU [/INST]", "[INST] U [/INST]");
	assert_turn(CHAT_MISTRAL_V7, "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]",
	            "[INST]U[/INST]");
	assert_turn(
	    CHAT_QWEN3,
	    "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>"
	    "assistant\n<think>\n\n</think>\n\n",
	    "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
	assert_turn(CHAT_GRANITE,
	            "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n"
	            "<|start_of_role|>user<|end_of_role|>U<|end_of_text|>\n"
	            "<|start_of_role|>assistant<|end_of_role|>",
	            "<|start_of_role|>user<|end_of_role|>U<|end_of_text|>\n"
	            "<|start_of_role|>assistant<|end_of_role|>");
	assert_turn(CHAT_TULU, "<|system|>\nS\n<|user|>\nU\n<|assistant|>\n",
	            "<|user|>\nU\n<|assistant|>\n");
	assert_turn(CHAT_GEMMA, "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n",
	            "<start_of_turn>user\nU<end_of_turn>\n<start_of_turn>model\n");
	assert_turn(CHAT_PHI4_MINI, "<|system|>S<|end|><|user|>U<|end|><|assistant|>",
	            "<|user|>U<|end|><|assistant|>");
	assert_null(chat_pieces(CHAT_NONE));
}

static void test_names(void **state) {
	(void)state;
	static const char *const names[] = {"chatml",  "zephyr",  "llama-3",    "llama-3.1",
	                                    "llama-2", "mistral", "mistral-v7", "qwen3",
	                                    "granite", "tulu",    "gemma",      "phi-4-mini"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const enum chat_format format = chat_named(names[i]);
		assert_int_not_equal(format, CHAT_NONE);
		assert_string_equal(chat_name(format), names[i]);
	}
	assert_string_equal(chat_name(CHAT_NONE), "none");
	assert_int_equal(chat_named("none"), CHAT_NONE);
	assert_int_equal(chat_named("qwen"), CHAT_NONE);
	assert_int_equal(chat_named(""), CHAT_NONE);
}

static void test_writes_bos(void **state) {
	(void)state;
	const struct gguf_string bos = {"<|begin_of_text|>", 17}, none = {NULL, 0};
	assert_true(chat_writes_bos("{{- bos_token }}", 16, bos));
	assert_true(chat_writes_bos("<|begin_of_text|><|start_header_id|>", 36, bos));
	assert_false(chat_writes_bos("<|start_header_id|>", 19, bos));
	assert_false(chat_writes_bos("<|start_header_id|>", 19, none));
	assert_false(chat_writes_bos(NULL, 0, bos));
}

/* The vocabulary that the writer holds; the caller frees it. */
static void read_vocab(struct model *model, struct gguf_writer *writer) {
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *file;
	assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
	assert_int_equal(vocab_read(file, &model->vocab, NULL), CUTTLE_OK);
	gguf_free(&file);
	free(bytes);
}

static void read_tiny_vocab(struct model *model) {
	struct gguf_writer *writer = gguf_writer_new();
	tiny_vocab_write(writer);
	read_vocab(model, writer);
}

#define SMOLLM "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
#define QWEN "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
#define WITHOUT "{% if messages[0]['role'] != 'system' %}"
#define START "<|im_start|>system\n"

/* What an exact copy of the template, without a terminating NUL, says where there is no system
 * message. */
static void assert_default(const char *text, const char *expected) {
	const size_t size = strlen(text);
	char message[CHAT_SYSTEM], *copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	memset(message, 'x', sizeof message);
	chat_default_system(copy, size, message);
	free(copy);
	assert_string_equal(message, expected);
}

static void test_default_system(void **state) {
	(void)state;
	/* SmolLM2, and with a line end that is escaped Qwen1.5 and Qwen2 */
	assert_default("{% for message in messages %}{% if loop.first and messages[0]['role'] != "
	               "'system' %}{{ '" START SMOLLM
	               "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
	               "message['content'] + '<|im_end|>' + '\n'}}"
	               "{% endfor %}",
	               SMOLLM);
	assert_default("{% for message in messages %}{% if loop.first and messages[0]['role'] != "
	               "'system' %}{{ "
	               "'<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% "
	               "endif %}{% endfor %}",
	               "You are a helpful assistant.");
	/* Qwen2.5: a turn for tools, then one with and one without */
	assert_default("{%- if tools %}\n    {{- '<|im_start|>system\\n' }}\n    {%- if "
	               "messages[0]['role'] == 'system' %}\n        {{- "
	               "messages[0]['content'] }}\n    {%- else %}\n        {{- '" QWEN
	               "' }}\n    {%- endif %}\n    {{- \"\\n\\n# "
	               "Tools<|im_end|>\\n\" }}\n{%- else %}\n    {%- if messages[0]['role'] == "
	               "'system' %}\n        {{- "
	               "'<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n    "
	               "{%- else %}\n        {{- "
	               "'<|im_start|>system\\n" QWEN
	               "<|im_end|>\\n' }}\n    {%- endif %}\n{%- endif %}\n",
	               QWEN);
	/* Other ways to write it, and what the escapes stand for. */
	assert_default("{% if messages[0].role == \"system\" %}x{% else %}" START
	               "Plain\n\ntext<|im_end|>\n{% endif %}",
	               "Plain\n\ntext");
	assert_default(WITHOUT "{{ \"" START "It's \\\"so\\\" \\\\ \\t{b}<|im_end|>\" }}",
	               "It's \"so\" \\ \t{b}");
	/* In no branch, in the wrong one, or in one that is not understood. */
	assert_default("{{ '" START "Always<|im_end|>' }}", "");
	assert_default("{% if messages[0]['role'] == 'system' %}{{ '" START
	               "There is one<|im_end|>' }}{% endif %}",
	               "");
	assert_default(WITHOUT "{% else %}{{ '" START "There is one<|im_end|>' }}{% endif %}", "");
	assert_default(WITHOUT "{% endif %}{{ '" START "Behind<|im_end|>' }}", "");
	assert_default("{% if not (role == 'system') %}x{% else %}{{ '" START
	               "Not<|im_end|>' }}{% endif %}",
	               "");
	assert_default("{% if a == 'system' or b != 'system' %}{{ '" START
	               "Which<|im_end|>' }}{% endif %}",
	               "");
	assert_default(WITHOUT "{% if date %}{{ '" START "Dated<|im_end|>' }}{% endif %}", "");
	assert_default(
	    "{% if tools %}" WITHOUT "{{ '" START "Tools<|im_end|>' }}{% endif %}{% endif %}", "");
	assert_default(
	    "{% if x == 'system' %}{% elif y %}{{ '" START "Else<|im_end|>' }}{% endif %}", "");
	/* Put together, empty, cut off, or no text. */
	assert_default(WITHOUT "{{ '" START "' + who + '<|im_end|>' }}", "");
	assert_default(WITHOUT START "{{ who }}<|im_end|>", "");
	assert_default(WITHOUT "{{ '" START "<|im_end|>' }}", "");
	assert_default(WITHOUT "{{ '<|im_start|>system You<|im_end|>' }}", "");
	assert_default(WITHOUT "{{ '" START "You\\x41<|im_end|>' }}", "");
	assert_default(WITHOUT "{{ '" START "You \xff<|im_end|>' }}", "");
	assert_default(WITHOUT "{{ '" START "You<|im_end|", "");
	assert_default(WITHOUT "{{ '" START "You\\", "");
	assert_default(WITHOUT "{{ '<|im_start|>system", "");
	assert_default("{% if messages[0]['role'] != 'system' ", "");
	assert_default("{% endif %}{% else %}{% elif %}" WITHOUT "{{ '" START
	               "Odd tags<|im_end|>' }}",
	               "Odd tags");
	assert_default("{%}{%%}{% {%", "");
	assert_default("", "");
	char message[CHAT_SYSTEM];
	chat_default_system(NULL, 0, message);
	assert_string_equal(message, "");
}

/* Messages and nesting of every size up to beyond what there is room for. */
static void test_default_system_sizes(void **state) {
	(void)state;
	static char template[8192], expected[CHAT_SYSTEM + 8];
	for (size_t length = CHAT_SYSTEM - 3; length < CHAT_SYSTEM + 3; length++) {
		memset(expected, 'm', length);
		expected[length] = 0;
		(void)stpcpy(stpcpy(stpcpy(template, WITHOUT "{{ '" START), expected),
		             "<|im_end|>' }}");
		assert_default(template, length < CHAT_SYSTEM ? expected : "");
	}
	for (size_t depth = 0; depth < 70; depth++) {
		char *end = template;
		for (size_t i = 0; i < depth; i++) end = stpcpy(end, "{% if x %}");
		end = stpcpy(end, WITHOUT);
		(void)stpcpy(end, "{{ '" START "Deep<|im_end|>' }}");
		assert_default(template, depth < 32 ? "Deep" : "");
	}
}

/* Given, it is what was given; not given, the template's; "" is none; and a format that was named
 * has none of its own. */
static void test_system_of_prompt(void **state) {
	(void)state;
	struct model model = {.chat = CHAT_CHATML, .chat_system = "Default."};
	read_tiny_vocab(&model);
	static const struct {
		enum cuttle_form form;
		const char *system, *format, *expected;
	} cases[] = {{CUTTLE_INSTRUCT, NULL, NULL,
	              "<|im_start|>system\nDefault.<|im_end|>\n<|im_start|>user\n"},
	             {CUTTLE_INSTRUCT, "Mine.", NULL,
	              "<|im_start|>system\nMine.<|im_end|>\n<|im_start|>user\n"},
	             {CUTTLE_INSTRUCT, "", NULL, "<|im_start|>user\n"},
	             {CUTTLE_INSTRUCT, NULL, "chatml", "<|im_start|>user\n"},
	             {CUTTLE_CONTINUE, NULL, NULL, "A collection of "}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cuttle_plan_params params;
		struct prompt prompt;
		cuttle_plan_params_default(&params);
		params.form = cases[i].form;
		params.system = cases[i].system;
		params.chat_format = cases[i].format;
		assert_int_equal(prompt_write(&model, &params, NULL, &prompt, NULL), CUTTLE_OK);
		for (const char *mark = "public:\n\0private:\n\0"; *mark;
		     mark += strlen(mark) + 1) {
			const char *words = strstr(prompt.canonical, mark);
			assert_non_null(words);
			assert_memory_equal(words + strlen(mark), cases[i].expected,
			                    strlen(cases[i].expected));
		}
		prompt_free(&prompt);
	}
	vocab_free(&model.vocab);
}

/* BOS stands once, whether the tokenizer adds it, the template writes it, the format begins with
 * it, or all of that. */
static void test_one_bos(void **state) {
	(void)state;
	static const char key[] = "tokenizer.ggml.add_bos_token";
	for (int way = 0; way < 4; way++) {
		const bool adds = way & 1, writes = way & 2;
		struct gguf_writer *writer = gguf_writer_new();
		tiny_vocab_write(writer);
		size_t size;
		uint8_t *bytes = gguf_writer_finish(&writer, &size),
		        *found = memmem(bytes, size, key, sizeof key - 1);
		assert_non_null(found);
		found[sizeof key - 1 + 4] = adds;
		struct gguf *file;
		struct model model = {.chat_bos = writes};
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		assert_int_equal(vocab_read(file, &model.vocab, NULL), CUTTLE_OK);
		gguf_free(&file);
		free(bytes);
		const struct {
			enum cuttle_form form;
			const char *format;
			bool bos;
		} cases[] = {{CUTTLE_CONTINUE, NULL, adds},
		             {CUTTLE_INSTRUCT, "chatml", true},
		             {CUTTLE_INSTRUCT, "llama-3", adds || writes}};
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			struct cuttle_plan_params params;
			struct prompt prompt;
			cuttle_plan_params_default(&params);
			params.form = cases[i].form;
			params.chat_format = cases[i].format;
			assert_int_equal(prompt_write(&model, &params, NULL, &prompt, NULL),
			                 CUTTLE_OK);
			const struct tokens *const starts[] = {&prompt.whole, &prompt.head};
			for (size_t p = 0; p < 2; p++) {
				assert_int_equal(starts[p]->ids[0] == TINY_START, cases[i].bos);
				assert_int_not_equal(starts[p]->ids[1], TINY_START);
			}
			prompt_free(&prompt);
		}
		vocab_free(&model.vocab);
	}
}

static void test_forced_format(void **state) {
	(void)state;
	struct model model = {.chat = CHAT_NONE};
	read_tiny_vocab(&model);
	struct cuttle_plan_params params;
	struct cuttle_error error;
	struct prompt prompt;
	cuttle_plan_params_default(&params);
	params.form = CUTTLE_INSTRUCT;
	assert_int_equal(prompt_write(&model, &params, NULL, &prompt, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "--template continue"));
	params.chat_format = "vicuna";
	assert_int_equal(prompt_write(&model, &params, NULL, &prompt, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "\"vicuna\""));
	params.chat_format = "mistral";
	assert_int_equal(prompt_write(&model, &params, NULL, &prompt, &error), CUTTLE_OK);
	assert_non_null(
	    strstr(prompt.canonical, "[INST] Write one new text. Write nothing else. [/INST]"));
	prompt_free(&prompt);
	vocab_free(&model.vocab);
}

/* ---- SentencePiece: pieces make the tokens that the whole text makes ------------------------- */

#define WORD "\xe2\x96\x81" /* U+2581 */
enum { SPM_BYTES = 3, SPM_MOST = 600 };

/* <unk>, <s>, </s>, the bytes, printable characters, each with a space before it, "[INST]" and
 * "[/INST]". These are marks of their own (v3) or text; a byte of `spaced` says whether texts begin
 * with a space. */
static void spm_vocab(struct model *model, bool marks, bool spaced) {
	static char texts[SPM_MOST][8];
	static struct gguf_string tokens[SPM_MOST];
	static int32_t types[SPM_MOST];
	static float scores[SPM_MOST];
	size_t count = 0;
#define ADD(type, ...)                                                                             \
	do {                                                                                       \
		snprintf(texts[count], sizeof texts[count], __VA_ARGS__);                          \
		types[count] = (type);                                                             \
		scores[count] = -(float)count;                                                     \
		tokens[count] = (struct gguf_string){texts[count], strlen(texts[count])};          \
		count++;                                                                           \
	} while (0)
	ADD(VOCAB_UNKNOWN, "<unk>");
	ADD(VOCAB_CONTROL, "<s>");
	ADD(VOCAB_CONTROL, "</s>");
	for (unsigned byte = 0; byte < 256; byte++) ADD(VOCAB_BYTE, "<0x%02X>", byte);
	for (char c = '!'; c <= '~'; c++) ADD(VOCAB_NORMAL, WORD "%c", c);
	ADD(VOCAB_NORMAL, WORD);
	for (char c = '!'; c <= '~'; c++) ADD(VOCAB_NORMAL, "%c", c);
	if (marks) ADD(VOCAB_CONTROL, "[INST]");
	if (marks) ADD(VOCAB_CONTROL, "[/INST]");
#undef ADD
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "llama");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, count);
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, types, count);
	gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, scores, count);
	gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", 1);
	gguf_write_u32(writer, "tokenizer.ggml.eos_token_id", 2);
	gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
	gguf_write_bool(writer, "tokenizer.ggml.add_space_prefix", spaced);
	read_vocab(model, writer);
}

/* `parts` one after another must be BOS and the tokens of `text` as a whole. */
static void assert_whole(const struct model *model, const struct tokens *parts, size_t count,
                         const char *text, size_t size) {
	int32_t ids[4096];
	size_t found = 0, at = 1;
	assert_int_equal(vocab_tokenize(model->vocab, text, size, true, ids,
	                                sizeof ids / sizeof *ids, &found, NULL),
	                 CUTTLE_OK);
	assert_int_equal(parts->ids[0], vocab_bos(model->vocab));
	for (size_t i = 0; i < found; i++, at++) {
		while (count && at == parts->count) {
			parts++;
			count--;
			at = 0;
		}
		if (!count || parts->ids[at] != ids[i])
			fail_msg("token %zu of '%.*s' is not %d but %d", i, (int)size, text, ids[i],
			         count ? parts->ids[at] : -1);
	}
	while (count > 1 && at == parts->count && !parts[1].count) {
		parts++;
		count--;
		at = 0;
	}
	assert_true(count == 1 && at == parts->count);
}

static void assert_same_tokens(const struct tokens *one, const struct tokens *other) {
	assert_int_equal(one->count, other->count);
	assert_memory_equal(one->ids, other->ids, one->count * sizeof *one->ids);
}

enum { LONG_DRAWN = 300 };

/* Texts drawn before stand in a prompt as examples do, cut; and no prompt with up to `most` of them
 * is longer than the plan's room for it, nor begins otherwise than the others. Lengths are exact
 * where an example stands in any case. */
static void check_drawn_of(const struct model *model, const struct cuttle_plan_params *params,
                           const char *heading, size_t most, size_t places) {
	char long_text[LONG_DRAWN + 1], cut_text[CUTTLE_DRAWN_TOKENS + 1];
	const struct cuttle_drawn room = {.count = most, .places = places};
	struct cuttle_plan_params with = *params, without = *params;
	struct prompt planned, own, same;
	size_t longest = 0;
	memset(long_text, 'a', LONG_DRAWN);
	memset(cut_text, 'a', CUTTLE_DRAWN_TOKENS);
	long_text[LONG_DRAWN] = cut_text[CUTTLE_DRAWN_TOKENS] = 0;
	const char *const short_texts[] = {"Third  one.", "x"},
	                  *const long_texts[] = {long_text, long_text},
	                  *const cut_texts[] = {cut_text, cut_text};
	with.drawn = &room;
	assert_int_equal(prompt_write(model, &with, heading, &planned, NULL), CUTTLE_OK);
	assert_int_equal(planned.fixed % 16, 0);
	for (size_t drawn = 0; drawn <= most; drawn++)
		for (int is_long = 0; is_long < 2; is_long++) {
			const char *examples[4];
			const struct cuttle_drawn shown = {is_long ? long_texts : short_texts,
			                                   drawn, places};
			with.drawn = drawn ? &shown : NULL;
			without.examples = examples;
			without.example_count = params->example_count < places - drawn
			                            ? params->example_count
			                            : places - drawn;
			for (size_t i = 0; i < without.example_count; i++)
				examples[i] = params->examples[i];
			for (size_t i = 0; i < drawn; i++)
				examples[without.example_count++] =
				    is_long ? cut_texts[i] : short_texts[i];
			assert_int_equal(prompt_write(model, &with, heading, &own, NULL),
			                 CUTTLE_OK);
			assert_int_equal(prompt_write(model, &without, heading, &same, NULL),
			                 CUTTLE_OK);
			assert_same_tokens(&own.whole, &same.whole);
			assert_same_tokens(&own.head, &same.head);
			assert_same_tokens(&own.tail, &same.tail);
			assert_true(own.whole.count <= planned.whole.count + planned.spare);
			assert_true(own.head.count + own.tail.count <=
			            planned.head.count + planned.spare + planned.tail.count);
			assert_true(own.shared >= planned.fixed);
			assert_memory_equal(own.whole.ids, planned.whole.ids,
			                    planned.fixed * sizeof *own.whole.ids);
			if (own.whole.count > longest) longest = own.whole.count;
			prompt_free(&own);
			prompt_free(&same);
		}
	if (params->example_count) assert_int_equal(longest, planned.whole.count + planned.spare);
	prompt_free(&planned);
}

static void check_drawn(const struct model *model, const struct cuttle_plan_params *params,
                        const char *heading) {
	for (size_t most = 1; most <= 2; most++)
		for (size_t places = most + 1; places <= 4; places++)
			if (places >= params->example_count)
				check_drawn_of(model, params, heading, most, places);
}

static void check_pieces(const struct model *model, const struct cuttle_plan_params *params,
                         const char *heading) {
	static const char words[] = "Kept  short. ", place[] = "{reference}";
	struct prompt prompt;
	assert_int_equal(prompt_write(model, params, heading, &prompt, NULL), CUTTLE_OK);
	const char *public = strchr(prompt.canonical, '\n') + 1,
	           *public_end = strstr(public, "\nprivate:\n");
	const char *private = public_end + strlen("\nprivate:\n"),
	           *reference = strstr(private, place);
	const char *stop = strstr(reference, "\nstop:\n");
	assert_whole(model, &prompt.whole, 1, public, (size_t)(public_end - public));
	int32_t ids[1 << 13];
	assert_true(prompt_reference_capacity(64) <= sizeof ids / sizeof *ids);
	const struct tokens parts[] = {
	    prompt.head,
	    {ids, prompt_reference(model, &prompt, words, strlen(words), 64, ids)},
	    prompt.tail};
	char text[4096];
	const int size =
	    snprintf(text, sizeof text, "%.*sKept  short.%.*s", (int)(reference - private), private,
	             (int)(stop - reference - (ptrdiff_t)strlen(place)), reference + strlen(place));
	assert_whole(model, parts, 3, text, (size_t)size);
	prompt_free(&prompt);
	check_drawn(model, params, heading);
}

static void test_pieces(void **state) {
	(void)state;
	static const char *const formats[] = {"llama-2", "zephyr", "mistral", "chatml"},
	                         *const examples[] = {"One of them.", "Another "};
	static const char *const custom[][2] = {
	    {"Write a {category} note: ", "Like {reference} this {category}:\n"},
	    {"{category} notes", "{reference}, {category} "},
	    {"On {category} \n", "A {category} {reference}"}};
	for (int spaced = 0; spaced < 2; spaced++) {
		struct model model = {0};
		struct cuttle_plan_params params;
		spm_vocab(&model, false, spaced);
		cuttle_plan_params_default(&params);
		params.kind = "ward note";
		params.examples = examples;
		for (params.example_count = 0; params.example_count < 3;
		     params.example_count += 2) {
			params.form = CUTTLE_CONTINUE;
			check_pieces(&model, &params, NULL);
			check_pieces(&model, &params, "Surgery");
			params.form = CUTTLE_INSTRUCT;
			for (size_t i = 0; i < 2 * sizeof formats / sizeof *formats; i++) {
				params.chat_format = formats[i / 2];
				params.system = i % 2 ? "Be brief." : NULL;
				check_pieces(&model, &params, i % 2 ? "Surgery" : NULL);
			}
			params.form = CUTTLE_CUSTOM;
			for (size_t i = 0; i < sizeof custom / sizeof *custom; i++) {
				params.prompt_public = custom[i][0];
				params.prompt_private = custom[i][1];
				check_pieces(&model, &params, "Surgery");
			}
		}
		vocab_free(&model.vocab);
	}
}

/* Where [INST] is a token, the space before the user's text is the only one. */
static void test_mistral_marks(void **state) {
	(void)state;
	struct model model = {0};
	struct cuttle_plan_params params;
	struct prompt prompt;
	spm_vocab(&model, true, true);
	cuttle_plan_params_default(&params);
	params.form = CUTTLE_INSTRUCT;
	params.chat_format = "mistral";
	assert_int_equal(prompt_write(&model, &params, NULL, &prompt, NULL), CUTTLE_OK);
	const int32_t start = vocab_find(model.vocab, "[INST]", 6),
	              end = vocab_find(model.vocab, "[/INST]", 7);
	const struct tokens *whole = &prompt.whole;
	assert_int_equal(whole->ids[1], start);
	assert_int_equal(whole->ids[2], vocab_find(model.vocab, WORD "W", 4));
	assert_int_equal(whole->ids[whole->count - 2], vocab_find(model.vocab, ".", 1));
	assert_int_equal(whole->ids[whole->count - 1], end);
	prompt_free(&prompt);
	vocab_free(&model.vocab);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_recognises),      cmocka_unit_test(test_turns),
	    cmocka_unit_test(test_names),           cmocka_unit_test(test_writes_bos),
	    cmocka_unit_test(test_one_bos),         cmocka_unit_test(test_forced_format),
	    cmocka_unit_test(test_pieces),          cmocka_unit_test(test_mistral_marks),
	    cmocka_unit_test(test_default_system),  cmocka_unit_test(test_default_system_sizes),
	    cmocka_unit_test(test_system_of_prompt)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
