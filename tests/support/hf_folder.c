// SPDX-License-Identifier: Apache-2.0
// Writes Hugging Face folders, for tests of conversion; hf_folder.h says how.
#include "tests/support/hf_folder.h"

#include "tests/support/tiny_model.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 512 };

static void require_true(bool condition) {
	if (!condition) abort();
}

void hf_folder_make(char path[64]) {
	strcpy(path, "/tmp/cuttle-convert-XXXXXX");
	require_true(mkdtemp(path));
}

void hf_folder_remove(const char *path) {
	char file[PATH];
	DIR *folder = opendir(path);
	require_true(folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
		if (*entry->d_name != '.') require_true(!unlink(file));
	}
	closedir(folder);
	require_true(!rmdir(path));
}

FILE *hf_folder_file(const char *path, const char *name) {
	char file[PATH];
	snprintf(file, sizeof file, "%s/%s", path, name);
	FILE *opened = fopen(file, "wb");
	require_true(opened);
	return opened;
}

void hf_folder_tokenizer(const char *path) {
	struct gguf_writer *writer = gguf_writer_new();
	struct gguf *gguf;
	struct gguf_string *tokens;
	size_t size, count;
	tiny_vocab_write(writer);
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	require_true(!gguf_parse(bytes, size, &gguf, NULL) &&
	             !gguf_strings(gguf, "tokenizer.ggml.tokens", true, &tokens, &count, NULL));
	FILE *file = hf_folder_file(path, "tokenizer.json");
	fprintf(file, "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
	              "\"Digits\",\"individual_digits\":true},"
	              "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}]},"
	              "\"added_tokens\":[");
	for (int id = TINY_EOS; id <= TINY_START; id++)
		fprintf(file, "%s{\"id\":%d,\"special\":true,\"content\":\"%.*s\"}",
		        id == TINY_EOS ? "" : ",", id, (int)tokens[id].size, tokens[id].text);
	fprintf(file, "],\"model\":{\"type\":\"BPE\",\"merges\":[[\"z\",\"z\"]],\"vocab\":{");
	for (size_t id = 0; id < count; id++) {
		const bool quoted = tokens[id].size == 1 && strchr("\"\\", *tokens[id].text);
		fprintf(file, "%s\"%s%.*s\":%zu", id ? "," : "", quoted ? "\\" : "",
		        (int)tokens[id].size, tokens[id].text, id);
	}
	fprintf(file, "}}}");
	require_true(!fclose(file));
	file = hf_folder_file(path, "tokenizer_config.json");
	fprintf(file,
	        "{\"chat_template\":\"<|im_start|>\",\"eos_token\":{\"content\":\"<|im_end|>\"},"
	        "\"model_max_length\":%s}",
	        "1000000000000000019884624838656");
	require_true(!fclose(file));
	free(tokens);
	gguf_free(&gguf);
	free(bytes);
}

static size_t count_values(const struct hf_tensor *tensor) {
	return (tensor->rows ? tensor->rows : 1) * tensor->row;
}

void hf_folder_weights(const char *path, enum weight_name type, const struct hf_tensor *tensors,
                       size_t count) {
	static const char *const names[] = {
	    [WEIGHT_F32] = "F32", [WEIGHT_F16] = "F16", [WEIGHT_BF16] = "BF16"};
	const size_t each = weight_type(type)->block_bytes;
	char *header;
	size_t used, offset = 0;
	FILE *text = open_memstream(&header, &used),
	     *file = hf_folder_file(path, "model.safetensors");
	require_true(text);
	for (size_t i = 0; i < count; i++) {
		const struct hf_tensor *tensor = &tensors[i];
		fprintf(text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "{", tensor->name,
		        names[type]);
		if (tensor->rows) fprintf(text, "%zu,", tensor->rows);
		if (strstr(tensor->name, "conv.conv")) fprintf(text, "1,"); // as PyTorch has it
		fprintf(text, "%zu],\"data_offsets\":[%zu,%zu]}", tensor->row, offset,
		        offset + count_values(tensor) * each);
		offset += count_values(tensor) * each;
	}
	fprintf(text, "}");
	require_true(!fclose(text));
	require_true(fwrite(&(uint64_t){used}, 8, 1, file) == 1 &&
	             fwrite(header, 1, used, file) == used);
	for (size_t i = 0; i < count; i++) {
		const size_t values = count_values(&tensors[i]);
		uint8_t *bytes = malloc(values * each);
		// weight_write would refuse NaN and infinity. Some tests want them in a file of
		// F32.
		if (type == WEIGHT_F32) memcpy(bytes, tensors[i].values, values * each);
		else
			require_true(
			    weight_write(weight_type(type), tensors[i].values, values, bytes));
		require_true(fwrite(bytes, each, values, file) == values);
		free(bytes);
	}
	free(header);
	require_true(!fclose(file));
}
