// SPDX-License-Identifier: Apache-2.0
// How tokenizer.json becomes tokenizer.ggml.*: tokens, their types and the special ids are written
// the same way for both kinds of tokenizer. write_bpe writes the rest of byte-level BPE. write_spm
// writes the rest of SentencePiece's BPE, with the scores of spm_scores.c.
#include "convert/hf_vocab.h"

#include "convert/spm_scores.h"
#include "io/disk/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...) io_fail(error, CUTTLE_MODEL, "tokenizer.json: " __VA_ARGS__)

/* The values of tokenizer.ggml.token_type. */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

enum { PAD_NAME = 24 }; /* bytes of the name of an unused id, as "[PAD17]", with its NUL */

/* The patterns by which a pre-tokenizer that splits text by a pattern is recognised, with
 * tokenizer.ggml.pre for each. Sources: the tokenizer.json files of Llama 3, GPT-4, GPT-4o and Qwen
 * 2; the names are llama.cpp's. GPT-2 and SmolLM2 have no pattern: see name_pre_tokenizer. */
#define LETTERS_AND(numbers)                                                                       \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                      \
	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* GPT-4's pattern cuts as Llama 3's does: a class that is no letter need not be given back, and
 * \\s* reaches the last line break either way. tests/golden/dbrx_tokens.txt shows it. */
#define GPT4                                                                                       \
	"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}"                         \
	"| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define BEHIND "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define GPT4O                                                                                      \
	BEFORE UPPER "*" LOWER "+" BEHIND "|" BEFORE UPPER "+" LOWER "*" BEHIND "|\\p{N}{1,3}"     \
	             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
static const struct {
	const char *pattern, *pre;
	bool ignore_merges;
} PATTERNS[] = {{LETTERS_AND("\\p{N}{1,3}"), "llama-bpe", true},
                {LETTERS_AND("\\p{N}{1,3}"), "dbrx", false},
                {GPT4, "dbrx", false},
                {LETTERS_AND("\\p{N}"), "qwen2", false},
                {GPT4O, "gpt-4o", false}};

struct token_list {
	const json_t *vocab;       /* text -> id */
	const json_t *added;       /* array of objects with "content" and "id" */
	struct gguf_string *texts; /* [size] by id */
	int32_t *types;            /* [size] */
	char (*pad)[PAD_NAME];     /* [size] the names of unused ids */
	size_t size;
};

static const json_t *get_bpe_model(const struct hf_vocab *vocab) {
	return json_object_get(vocab->tokenizer, "model");
}

static bool has_type(const json_t *value, const char *type) {
	const char *found = json_string_value(json_object_get(value, "type"));
	return found && !strcmp(found, type);
}

static bool is_absent(const json_t *value) {
	return !value || json_is_null(value);
}

static enum cuttle_status set_token(struct token_list *tokens, const char *text, const json_t *id,
                                    int32_t type, struct cuttle_error *error) {
	if (!json_is_integer(id) || json_integer_value(id) < 0 ||
	    (uint64_t)json_integer_value(id) >= tokens->size)
		return FAIL("token %.60s has an id outside the vocabulary of %zu", text,
		            tokens->size);
	struct gguf_string *place = &tokens->texts[json_integer_value(id)];
	if (place->text &&
	    (strlen(text) != place->size || memcmp(place->text, text, place->size) != 0))
		return FAIL("tokens %.60s and %.60s have one id", text, place->text);
	*place = (struct gguf_string){text, strlen(text)};
	tokens->types[json_integer_value(id)] = type;
	return CUTTLE_OK;
}

static bool is_byte_name(const char *text) {
	return strlen(text) == 6 && !memcmp(text, "<0x", 3) &&
	       strspn(text + 3, "0123456789ABCDEF") == 2 && text[5] == '>';
}

static bool is_run_of_spaces(const char *text) {
	while (!strncmp(text, "\xe2\x96\x81", 3)) text += 3;
	return !*text;
}

static enum cuttle_status gather_tokens(struct token_list *tokens, const char *unknown, bool bytes,
                                        struct cuttle_error *error) {
	const char *text;
	json_t *value;
	size_t i;
	enum cuttle_status status = CUTTLE_OK;
	json_object_foreach((json_t *)tokens->vocab, text, value) {
		const int32_t type = bytes && is_byte_name(text) ? BYTE : NORMAL;
		status = set_token(tokens, text, value, type, error);
		if (status) return status;
	}
	json_array_foreach(tokens->added, i, value) {
		text = json_string_value(json_object_get(value, "content"));
		if (!text || !*text) return FAIL("an added token has no text");
		const bool special = json_is_true(json_object_get(value, "special"));
		// Gemma adds runs of spaces, which are ordinary: text has spaces where they have
		// U+2581.
		const bool spaces = bytes && !special && is_run_of_spaces(text);
		status = set_token(tokens, text, json_object_get(value, "id"),
		                   special  ? CONTROL
		                   : spaces ? NORMAL
		                            : USER_DEFINED,
		                   error);
		if (status) return status;
	}
	for (i = 0; i < tokens->size; i++) {
		if (tokens->texts[i].text && bytes && unknown &&
		    !strcmp(tokens->texts[i].text, unknown))
			tokens->types[i] = UNKNOWN;
		if (tokens->texts[i].text) continue;
		const int length = snprintf(tokens->pad[i], PAD_NAME, "[PAD%zu]", i);
		tokens->texts[i] = (struct gguf_string){tokens->pad[i], (size_t)length};
		tokens->types[i] = UNUSED;
	}
	return CUTTLE_OK;
}

static json_int_t find_token_id(const struct token_list *tokens, const char *text) {
	size_t i;
	const json_t *value, *found = text ? json_object_get(tokens->vocab, text) : NULL;
	if (json_is_integer(found)) return json_integer_value(found);
	json_array_foreach(tokens->added, i, value) {
		const char *content = json_string_value(json_object_get(value, "content"));
		if (text && content && !strcmp(content, text))
			return json_integer_value(json_object_get(value, "id"));
	}
	return -1;
}

/* The text of a special token. tokenizer_config.json has it as a string or in an object. */
static const char *get_special_text(const struct hf_vocab *vocab, const char *key) {
	const json_t *value = json_object_get(vocab->tokenizer_config, key);
	return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

/* The id of a special token: of the token with that text, otherwise the id in config.json. Where
 * config.json has a list of ids, the first counts. -1: neither file has it. */
static json_int_t find_special_id(const struct hf_vocab *vocab, const struct token_list *tokens,
                                  const char *name) {
	char key[32];
	(void)snprintf(key, sizeof key, "%s_token", name);
	const json_int_t id = find_token_id(tokens, get_special_text(vocab, key));
	if (id >= 0) return id;
	(void)snprintf(key, sizeof key, "%s_token_id", name);
	const json_t *value = json_object_get(vocab->config, key);
	if (json_is_array(value)) value = json_array_get(value, 0);
	return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* Whether the tokenizer begins each text with the token `bos`: 1 or 0, or -1 when the file does not
 * say. */
static int check_bos_added(const json_t *processor, const char *bos) {
	const json_t *part;
	size_t i;
	if (has_type(processor, "TemplateProcessing")) {
		part = json_object_get(json_array_get(json_object_get(processor, "single"), 0),
		                       "SpecialToken");
		const char *id = json_string_value(json_object_get(part, "id"));
		return id && bos && !strcmp(id, bos);
	}
	json_array_foreach(json_object_get(processor, "processors"), i, part) {
		const int answer = check_bos_added(part, bos);
		if (answer >= 0) return answer;
	}
	return -1;
}

static enum cuttle_status write_specials(const struct hf_vocab *vocab,
                                         const struct token_list *tokens, struct gguf_out *out,
                                         struct cuttle_error *error) {
	static const char *const names[][2] = {{"bos", "tokenizer.ggml.bos_token_id"},
	                                       {"eos", "tokenizer.ggml.eos_token_id"}};
	const char *bos = NULL;
	for (size_t i = 0; i < 2; i++) {
		const json_int_t id = find_special_id(vocab, tokens, names[i][0]);
		if (id >= (json_int_t)tokens->size)
			return FAIL("%s is outside the vocabulary", names[i][0]);
		if (id >= 0) gguf_out_u32(out, names[i][1], (uint32_t)id);
		if (id >= 0 && !i) bos = tokens->texts[id].text;
	}
	const int begins =
	    check_bos_added(json_object_get(vocab->tokenizer, "post_processor"), bos);
	gguf_out_bool(out, "tokenizer.ggml.add_bos_token",
	              begins < 0
	                  ? json_is_true(json_object_get(vocab->tokenizer_config, "add_bos_token"))
	                  : begins == 1);
	return CUTTLE_OK;
}

static enum cuttle_status write_merges(const json_t *merges, struct gguf_out *out,
                                       struct cuttle_error *error) {
	const size_t count = json_array_size(merges);
	struct gguf_string *texts = calloc(count + 1, sizeof *texts);
	char **made = calloc(count + 1, sizeof *made);
	enum cuttle_status status =
	    texts && made ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; !status && i < count; i++) {
		const json_t *merge = json_array_get(merges, i);
		const char *left = json_string_value(json_array_get(merge, 0)),
		           *right = json_string_value(json_array_get(merge, 1));
		const char *text = json_string_value(merge);
		if (!text && left && right && json_array_size(merge) == 2) {
			if (asprintf(&made[i], "%s %s", left, right) < 0) made[i] = NULL;
			if (!made[i]) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
			text = made[i];
		}
		if (!status && !text) status = FAIL("merge %zu is not a pair", i);
		if (!status) texts[i] = (struct gguf_string){text, strlen(text)};
	}
	if (!status) gguf_out_strings(out, "tokenizer.ggml.merges", texts, count);
	for (size_t i = 0; made && i < count; i++) free(made[i]);
	free(made);
	free(texts);
	return status;
}

static bool is_byte_level(const json_t *part, bool splits) {
	const json_t *regex = json_object_get(part, "use_regex");
	return has_type(part, "ByteLevel") &&
	       !json_is_true(json_object_get(part, "add_prefix_space")) &&
	       (!regex || json_is_true(regex)) == splits;
}

static const char *name_pre_tokenizer(const struct hf_vocab *vocab) {
	const json_t *how = json_object_get(vocab->tokenizer, "pre_tokenizer"),
	             *parts = json_object_get(how, "pretokenizers");
	const json_t *first = json_array_get(parts, 0), *last = json_array_get(parts, 1);
	const bool ignore_merges =
	    json_is_true(json_object_get(get_bpe_model(vocab), "ignore_merges"));
	if (is_byte_level(how, true) && !ignore_merges) return "gpt-2";
	if (!has_type(how, "Sequence") || json_array_size(parts) != 2) return NULL;
	if (has_type(first, "Digits") &&
	    json_is_true(json_object_get(first, "individual_digits")) &&
	    is_byte_level(last, true) && !ignore_merges)
		return "smollm";
	const char *behavior = json_string_value(json_object_get(first, "behavior"));
	const char *pattern =
	    json_string_value(json_object_get(json_object_get(first, "pattern"), "Regex"));
	// What matches is a word of its own. To remove what does not match says the same, since
	// every character is in some match.
	const bool inverted = json_is_true(json_object_get(first, "invert"));
	if (!has_type(first, "Split") || !pattern || !behavior ||
	    strcmp(behavior, inverted ? "Removed" : "Isolated") != 0 || !is_byte_level(last, false))
		return NULL;
	for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++)
		if (!strcmp(pattern, PATTERNS[i].pattern) &&
		    ignore_merges == PATTERNS[i].ignore_merges)
			return PATTERNS[i].pre;
	return NULL;
}

static enum cuttle_status write_bpe(const struct hf_vocab *vocab, struct gguf_out *out,
                                    struct cuttle_error *error) {
	const char *pre = name_pre_tokenizer(vocab);
	if (!pre)
		return FAIL("the pre_tokenizer is none of those known: gpt-2, smollm, llama-bpe, "
		            "dbrx, qwen2, gpt-4o");
	// Qwen 2 normalises text to NFC first. GGUF has no key for that: no GGUF file of Qwen 2
	// says so either.
	const json_t *normalizer = json_object_get(vocab->tokenizer, "normalizer");
	if (!is_absent(normalizer) && !(has_type(normalizer, "NFC") && !strcmp(pre, "qwen2")))
		return FAIL("a normalizer with byte-level BPE is not supported");
	gguf_out_text(out, "tokenizer.ggml.model", "gpt2", 4);
	gguf_out_text(out, "tokenizer.ggml.pre", pre, strlen(pre));
	return write_merges(json_object_get(get_bpe_model(vocab), "merges"), out, error);
}

/* Whether the tokenizer writes a space before a text: 1 or 0, or -1 when its normalizer is not
 * SentencePiece's. */
static int read_space_prefix(const json_t *tokenizer) {
	const json_t *normalizer = json_object_get(tokenizer, "normalizer"),
	             *pre = json_object_get(tokenizer, "pre_tokenizer");
	const char *scheme = json_string_value(json_object_get(pre, "prepend_scheme"));
	if (is_absent(normalizer) && has_type(pre, "Metaspace") &&
	    json_is_false(json_object_get(pre, "split")) && scheme)
		return strcmp(scheme, "never") != 0;
	// Gemma's would split at spaces, but its normalizer leaves none.
	const char *at =
	    json_string_value(json_object_get(json_object_get(pre, "pattern"), "String"));
	const char *behavior = json_string_value(json_object_get(pre, "behavior"));
	const bool idle = has_type(pre, "Split") && at && !strcmp(at, " ") && behavior &&
	                  !strcmp(behavior, "MergedWithPrevious");
	if (!is_absent(pre) && !idle) return -1;
	int prefix = 0, spaces = 0;
	const json_t *parts = json_object_get(normalizer, "normalizers"), *part;
	const size_t count = has_type(normalizer, "Sequence") ? json_array_size(parts) : 1;
	for (size_t i = 0; i < count; i++) {
		part = has_type(normalizer, "Sequence") ? json_array_get(parts, i) : normalizer;
		const char *text = json_string_value(
		    json_object_get(part, has_type(part, "Prepend") ? "prepend" : "content"));
		const char *from =
		    json_string_value(json_object_get(json_object_get(part, "pattern"), "String"));
		if (!text || strcmp(text, "\xe2\x96\x81") != 0) return -1;
		if (has_type(part, "Prepend")) prefix = 1;
		else if (has_type(part, "Replace") && from && !strcmp(from, " ")) spaces = 1;
		else return -1;
	}
	return spaces ? prefix : -1;
}

static enum cuttle_status write_spm(const struct hf_vocab *vocab, const struct token_list *tokens,
                                    struct gguf_out *out, struct cuttle_error *error) {
	const int prefix = read_space_prefix(vocab->tokenizer);
	if (prefix < 0)
		return FAIL("byte fallback with another normalizer or pre_tokenizer than "
		            "SentencePiece's is not supported");
	float *scores;
	enum cuttle_status status = spm_scores(
	    &(struct spm_tokens){tokens->vocab, json_object_get(get_bpe_model(vocab), "merges"),
	                         tokens->texts, tokens->types, tokens->size},
	    &scores, error);
	if (status) return status;
	gguf_out_text(out, "tokenizer.ggml.model", "llama", 5);
	gguf_out_text(out, "tokenizer.ggml.pre", "default", 7);
	gguf_out_array(out, "tokenizer.ggml.scores", GGUF_F32, scores, tokens->size);
	gguf_out_bool(out, "tokenizer.ggml.add_space_prefix", prefix == 1);
	const json_int_t unknown = find_token_id(
	    tokens, json_string_value(json_object_get(get_bpe_model(vocab), "unk_token")));
	if (unknown >= 0) gguf_out_u32(out, "tokenizer.ggml.unknown_token_id", (uint32_t)unknown);
	free(scores);
	return CUTTLE_OK;
}

static enum cuttle_status write_vocab_keys(const struct hf_vocab *vocab, struct token_list *tokens,
                                           struct gguf_out *out, struct cuttle_error *error) {
	static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
	const json_t *model = get_bpe_model(vocab);
	const bool bytes = json_is_true(json_object_get(model, "byte_fallback"));
	if (!has_type(model, "BPE") || !json_is_object(tokens->vocab) ||
	    !json_is_array(json_object_get(model, "merges")))
		return FAIL("the model is not BPE with a vocab and merges");
	for (size_t i = 0; i < 2; i++) {
		const char *affix = json_string_value(json_object_get(model, affixes[i]));
		if (affix && *affix) return FAIL("%s is not supported", affixes[i]);
	}
	if (!tokens->texts || !tokens->types || !tokens->pad)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = gather_tokens(
	    tokens, json_string_value(json_object_get(model, "unk_token")), bytes, error);
	if (!status)
		status =
		    bytes ? write_spm(vocab, tokens, out, error) : write_bpe(vocab, out, error);
	if (status) return status;
	gguf_out_strings(out, "tokenizer.ggml.tokens", tokens->texts, tokens->size);
	gguf_out_array(out, "tokenizer.ggml.token_type", GGUF_I32, tokens->types, tokens->size);
	return write_specials(vocab, tokens, out, error);
}

enum cuttle_status hf_vocab_write(const struct hf_vocab *vocab, struct gguf_out *out,
                                  struct cuttle_error *error) {
	struct token_list tokens = {.vocab = json_object_get(get_bpe_model(vocab), "vocab"),
	                            .added = json_object_get(vocab->tokenizer, "added_tokens"),
	                            .texts = calloc(vocab->size, sizeof *tokens.texts),
	                            .types = calloc(vocab->size, sizeof *tokens.types),
	                            .pad = calloc(vocab->size, sizeof *tokens.pad),
	                            .size = vocab->size};
	const enum cuttle_status status = write_vocab_keys(vocab, &tokens, out, error);
	free(tokens.texts);
	free(tokens.types);
	free(tokens.pad);
	return status;
}
