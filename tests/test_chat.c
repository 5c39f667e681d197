// SPDX-License-Identifier: Apache-2.0
// Chat formats: recognised by their marks alone, and a whole turn of each written out.
#include "engine/chat.h"

#include <setjmp.h>
#include <stdarg.h>
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
	assert_int_equal(recognise("{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n'}}{% endfor %}"), CHAT_CHATML);
	assert_int_equal(recognise("{{ '<|start_header_id|>' + role + '<|end_header_id|>\n\n' }}"), CHAT_LLAMA3);
	assert_int_equal(recognise("{% if user %}{{ '<|user|>\n' }}{% else %}{{ '<|assistant|>\n' }}{% endif %}"), CHAT_ZEPHYR);
	assert_int_equal(recognise("{{ bos_token + '[INST] ' + content + ' [/INST]' }}"), CHAT_LLAMA2);
	assert_int_equal(recognise("{{ '<|user|>' }}"), CHAT_NONE);
	assert_int_equal(recognise("{{ '<|assistant|>' }}"), CHAT_NONE);
	assert_int_equal(recognise("<|im_start|"), CHAT_NONE);
	assert_int_equal(recognise("<start_of_turn>user"), CHAT_NONE);
	assert_int_equal(recognise(""), CHAT_NONE);
	assert_int_equal(chat_recognise(NULL, 0), CHAT_NONE);
	assert_int_equal(chat_recognise("\0<|im_start|>", 13), CHAT_CHATML);
}

static void assert_turn(enum chat_format format, const char *with_system, const char *alone) {
	char text[256];
	const struct chat_pieces *pieces = chat_pieces(format);
	assert_non_null(pieces);
	stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(text, pieces->before_system), "S"), pieces->before_user), "U"), pieces->after_user);
	assert_string_equal(text, with_system);
	stpcpy(stpcpy(stpcpy(text, pieces->before_user_alone), "U"), pieces->after_user);
	assert_string_equal(text, alone);
}

static void test_turns(void **state) {
	(void)state;
	assert_turn(CHAT_CHATML, "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n",
	            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n");
	assert_turn(CHAT_ZEPHYR, "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\n", "<|user|>\nU</s>\n<|assistant|>\n");
	assert_turn(CHAT_LLAMA3,
	            "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
	            "<|start_header_id|>assistant<|end_header_id|>\n\n",
	            "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
	assert_turn(CHAT_LLAMA2, "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST]", "[INST] U [/INST]");
	assert_null(chat_pieces(CHAT_NONE));
}

static void test_names(void **state) {
	(void)state;
	assert_string_equal(chat_name(CHAT_NONE), "none");
	assert_string_equal(chat_name(CHAT_CHATML), "chatml");
	assert_string_equal(chat_name(CHAT_ZEPHYR), "zephyr");
	assert_string_equal(chat_name(CHAT_LLAMA3), "llama-3");
	assert_string_equal(chat_name(CHAT_LLAMA2), "llama-2");
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recognises), cmocka_unit_test(test_turns), cmocka_unit_test(test_names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
