// SPDX-License-Identifier: Apache-2.0
// cuttle detokenize: prints the text of each list of token ids. io/text/tokenlines.h reads the
// lists, one per line. The library turns each into bytes, and a sink writes them. What it is given
// is not treated as private.
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include "io/text/tokenlines.h"
#include <stdlib.h>

struct detokenize_values {
	struct model_values open;
	const char *input;  /* path, "-" = standard input */
	const char *output; /* path, "-" = standard output */
	bool raw;           /* print the bytes alone, without JSON */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTIONS(struct detokenize_values),
	{.name = "input", .letter = 'i', OPTION(struct detokenize_values, input),
	 .argument = "FILE",
	 .help = "lines {\"ids\":[..]}, a file or a pipe (default -, standard input)"},
	OUTPUT_OPTION(struct detokenize_values, output),
	{.name = "raw", OPTION(struct detokenize_values, raw),
	 .help = "the bytes alone, one list after the other with nothing between: the way to get "
	         "back bytes that are not UTF-8"},
};
// clang-format on

/* Sets *text to the *size bytes of ids[count]. The caller frees it, after a failure too. */
static enum cuttle_status make_text(const struct cuttle_model *model, const int32_t *ids,
                                    size_t count, char **text, size_t *size,
                                    struct cuttle_error *error) {
	*text = NULL;
	enum cuttle_status status = cuttle_detokenize(model, ids, count, NULL, 0, size, error);
	if (status) return status;
	*text = malloc(*size + 1);
	if (!*text) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return cuttle_detokenize(model, ids, count, *text, *size, size, error);
}

static enum cuttle_status write_detokenized(const struct cuttle_model *model,
                                            struct tokenlines *input, struct sink *sink, bool raw,
                                            struct cuttle_error *error) {
	enum cuttle_status status;
	for (;;) {
		const int32_t *ids;
		size_t count, size;
		char *text = NULL;
		status = tokenlines_next(input, &ids, &count, error);
		if (status || !ids) break;
		status = make_text(model, ids, count, &text, &size, error);
		if (!status && raw) status = sink_write(sink, text, size, error);
		else if (!status)
			status = jsonout_write(sink,
			                       json_pack("{s:o}", "text", jsonout_text(text, size)),
			                       JSON_COMPACT, error);
		free(text);
		if (status) break;
	}
	// The library says USAGE for an id outside the vocabulary. Here that id came from the
	// input.
	return status == CUTTLE_USAGE ? CUTTLE_INPUT : status;
}

static int run_detokenize_verb(const struct verb *verb, int argc, char **argv) {
	struct detokenize_values values = {
	    .open.vocabulary_only = true, .input = "-", .output = "-"};
	struct cuttle_error error;
	struct cuttle_model *model;
	struct tokenlines input;
	struct sink sink;
	int code;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	code = verb_text_paths(verb, &values.open, values.input, values.output);
	if (!code) code = verb_open(verb, &values.open, &model);
	if (code) return code;
	enum cuttle_status status = tokenlines_open(&input, values.input, &error);
	if (!status) {
		status = sink_open(&sink, values.output, &error);
		if (!status) {
			status = write_detokenized(model, &input, &sink, values.raw, &error);
			status = sink_close(&sink, status, &error);
		}
		tokenlines_close(&input);
	}
	cuttle_model_free(&model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb detokenize_verb = {
    .name = "detokenize",
    .usage = "-m MODEL [-i FILE] [-o FILE] [--raw]",
    .summary = "the text of each list of token ids",
    .example = "-m MODEL.gguf -i tokens.jsonl -o texts.jsonl",
    .about = "Prints {\"text\":\"..\"} per line; bytes that are not UTF-8 show as U+FFFD there, "
             "and as they are with --raw.\n"
             "Of the model the vocabulary alone is read: any architecture will do, and a file "
             "without weights.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_detokenize_verb,
};
