// SPDX-License-Identifier: Apache-2.0
// Fuzzes engine/text/chat.c: the input is a chat template. It fails on a crash, if a format lacks
// its name or its pieces, or if the system text is longer than the template.
#include "base/utf8.h"
#include "engine/text/chat.h"
#include "engine/text/chat_system.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const enum chat_format format = chat_recognise((const char *)bytes, size);
	const struct chat_pieces *pieces = chat_pieces(format);
	if (!*chat_name(format) || !pieces != (format == CHAT_NONE)) abort();
	if (pieces && !(pieces->before_user_alone && pieces->after_user)) abort();
	if (chat_writes_bos((const char *)bytes, size, (struct gguf_string){"<s>", 3}) && !size)
		abort();
	char system[CHAT_SYSTEM];
	chat_default_system((const char *)bytes, size, system);
	const size_t length = strnlen(system, sizeof system);
	if (length == sizeof system || !utf8_valid(system, length) || length > size) abort();
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + "
	                 "m['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"),
	    FUZZ_LITERAL(
	        "{{'<|user|>\\n' + message['content'] + eos_token}}{{'<|assistant|>\\n'}}"),
	    FUZZ_LITERAL("<|start_header_id|>user<|end_header_id|>\\n\\n<|eot_id|>"),
	    FUZZ_LITERAL("{{bos_token + '[INST] <<SYS>>\\n' + '<</SYS>>' + ' [/INST] '}}"),
	    FUZZ_LITERAL("[INST] [/INST]"),
	    FUZZ_LITERAL("nothing of the kind"),
	    FUZZ_LITERAL("{%}{% else %}"),
	    FUZZ_LITERAL("{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are "
	                 "it\\'s.<|im_end|>\n' }}{% endif %}"),
	    FUZZ_LITERAL("{%- if tools %}{%- elif x == \"system\" %}{%- else "
	                 "%}<|im_start|>system\nYou are.<|im_end|>{%- endif %}"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
