// SPDX-License-Identifier: Apache-2.0
// Fuzzes convert/: the input is what stands beside the weights of a Hugging Face folder. It is one
// JSON object, whose members "config", "tokenizer" and "tokenizer_config" are the files of these
// names. It fails on a crash, or if what converts is not a GGUF file whose every key can be read.
#include "base/misuse.h"
#include "convert/hf_config.h"
#include "convert/hf_vocab.h"
#include "engine/text/vocab.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOKENS = 64, FILE_MOST = 1 << 16 };

static void must_explain(enum cuttle_status status, const struct cuttle_error *error) {
	REQUIRE(status == CUTTLE_MODEL && error->message[0] && !strchr(error->message, '\n'));
}

static void check_config(const struct hf_config *config) {
	REQUIRE(config->layers && config->layers <= 512 && config->width && config->ffn &&
	        config->heads && config->context);
	REQUIRE(config->kv_heads && config->kv_heads <= config->heads && config->head_size &&
	        config->head_size <= HF_HEAD_MOST);
	REQUIRE(config->head_size % 2 == 0 && config->vocab && config->vocab <= GGUF_TOKENS_MOST &&
	        config->norm_epsilon > 0.0 && config->rope_base >= 1.0 && config->linear >= 1.0);
	for (size_t i = 0; config->has_rope_factors && i < config->head_size / 2; i++)
		REQUIRE(config->rope_factors[i] >= 1.0f && config->rope_factors[i] <= 1e4f);
}

/* Writes the file, reads it again, and its vocabulary: read, or refused with a line. */
static void check_file(struct gguf_out *out) {
	static struct sink sink = {.file = -1};
	static uint8_t bytes[FILE_MOST];
	struct cuttle_error error = {""};
	struct gguf *file;
	struct vocab *vocab;
	if (sink.file < 0) sink.file = memfd_create("gguf", 0);
	REQUIRE(sink.file >= 0 && !lseek(sink.file, 0, SEEK_SET) &&
	        !gguf_out_begin(out, &sink, &error));
	const off_t size = lseek(sink.file, 0, SEEK_CUR);
	if (size > FILE_MOST) return;
	REQUIRE(pread(sink.file, bytes, (size_t)size, 0) == size);
	REQUIRE(gguf_parse(bytes, (size_t)size, &file, &error) == CUTTLE_OK);
	const enum cuttle_status status = vocab_read(file, &vocab, &error);
	if (status) must_explain(status, &error);
	vocab_free(&vocab);
	gguf_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	json_t *root = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
	if (!root) return 0;
	struct cuttle_error error = {""};
	struct hf_config config;
	struct gguf_out *out = gguf_out_new();
	REQUIRE(out != NULL);
	const json_t *numbers = json_object_get(root, "config");
	enum cuttle_status status = hf_config_read(numbers, &config, &error);
	if (status) {
		must_explain(status, &error);
	} else {
		check_config(&config);
		hf_config_write(&config, out);
	}
	const struct hf_vocab vocab = {json_object_get(root, "tokenizer"),
	                               json_object_get(root, "tokenizer_config"), numbers, TOKENS};
	error.message[0] = 0;
	status = hf_vocab_write(&vocab, out, &error);
	if (status) must_explain(status, &error);
	else check_file(out);
	gguf_out_free(&out);
	json_decref(root);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
#define NUMBERS                                                                                    \
	"\"hidden_size\":8,\"intermediate_size\":8,\"num_hidden_layers\":1,\"num_attention_"       \
	"heads\":2,"                                                                               \
	"\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,\"vocab_size\":9"
#define LEVEL "{\"type\":\"ByteLevel\",\"use_regex\":true}"
#define VOCAB "\"vocab\":{\"a\":1,\"b\":2,\"ab\":3},\"merges\""
#define META "\"\xe2\x96\x81\""
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("{\"config\":{\"architectures\":[\"LlamaForCausalLM\"]," NUMBERS
	                 ",\"rope_parameters\":{\"rope_type\":\"llama3\",\"factor\":8,"
	                 "\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_"
	                 "embeddings\":32,\"rope_theta\":1e4}}}"),
	    FUZZ_LITERAL("{\"config\":{\"architectures\":[\"MistralForCausalLM\"]," NUMBERS
	                 ",\"hidden_act\":\"silu\",\"mlp_bias\":false,"
	                 "\"num_key_value_heads\":1,\"head_dim\":4,\"sliding_window\":32,\"tie_"
	                 "word_embeddings\":true,"
	                 "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.0}}}"),
	    FUZZ_LITERAL("{\"tokenizer\":{\"pre_tokenizer\":" LEVEL
	                 ",\"model\":{\"type\":\"BPE\"," VOCAB ":[\"a b\"]}}}"),
	    FUZZ_LITERAL("{\"tokenizer\":{\"pre_tokenizer\":{\"type\":\"Sequence\","
	                 "\"pretokenizers\":[{\"type\":\"Digits\",\"individual_"
	                 "digits\":true}," LEVEL
	                 "]},\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"special\":true},{"
	                 "\"id\":5,\"content\":\"x\"}],"
	                 "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":"
	                 "\"TemplateProcessing\","
	                 "\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}]}]},\"model\":{\"type\":"
	                 "\"BPE\"," VOCAB ":[[\"a\",\"b\"]]}},"
	                 "\"tokenizer_config\":{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":"
	                 "\"x\",\"add_bos_token\":true}}"),
	    FUZZ_LITERAL("{\"tokenizer\":{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{"
	                 "\"type\":\"Prepend\",\"prepend\":" META "},"
	                 "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":" META
	                 "}]},"
	                 "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"<unk>"
	                 "\",\"merges\":[[\"a\",\"b\"]],"
	                 "\"vocab\":{\"<unk>\":0,\"<0x61>\":1,\"ab\":2,\"a\":3,\"b\":4}}},"
	                 "\"config\":{\"eos_token_id\":[2],\"bos_token_id\":1}}"),
	    FUZZ_LITERAL(
	        "{\"tokenizer\":{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"split\":false,"
	        "\"prepend_scheme\":\"first\"},"
	        "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"b\"," VOCAB
	        ":[\"a b\"]}}}"),
	};
#undef NUMBERS
#undef LEVEL
#undef VOCAB
#undef META
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
