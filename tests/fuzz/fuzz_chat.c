// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template: a name, and never more than reading them.
#include "engine/chat.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const enum chat_format format = chat_recognise((const char *)bytes, size);
	const struct chat_pieces *pieces = chat_pieces(format);
	if (!*chat_name(format) || !pieces != (format == CHAT_NONE)) abort();
	if (pieces && !(pieces->before_user_alone && pieces->after_user)) abort();
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const char *const seeds[] = {
	    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n'}}{% endfor %}",
	    "{{'<|user|>\\n' + message['content'] + eos_token}}{{'<|assistant|>\\n'}}",
	    "<|start_header_id|>user<|end_header_id|>\\n\\n<|eot_id|>",
	    "{{bos_token + '[INST] <<SYS>>\\n' + '<</SYS>>' + ' [/INST] '}}",
	    "[INST] [/INST]",
	    "nothing of the kind",
	};
	const bool there = index < sizeof seeds / sizeof *seeds;
	*size = there ? strlen(seeds[index]) : 0;
	return there ? (uint8_t *)strdup(seeds[index]) : NULL;
}
