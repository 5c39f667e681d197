// SPDX-License-Identifier: Apache-2.0
// cuttle tokenize: prints the token ids of each record, one JSON line per record. verb_texts reads
// the records and opens the output. The texts given to this verb are not treated as private.
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include <stdlib.h>

struct tokenize_values {
	struct text_values texts;
	bool bos; /* begin with the beginning-of-text token when the model asks for it */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	TEXT_OPTIONS,
	{.name = "bos", OPTION(struct tokenize_values, bos),
	 .help = "begin with the beginning-of-text token where the model's file asks for it"},
};
// clang-format on

/* Sets *list to the ids of the text, or to JSON null when text is NULL. */
static enum cuttle_status make_ids(const struct cuttle_model *model, const char *text, size_t size,
                                   bool bos, json_t **list, struct cuttle_error *error) {
	*list = json_null();
	if (!text) return CUTTLE_OK;
	size_t capacity = cuttle_tokens_bound(size), count;
	int32_t *ids = reallocarray(NULL, capacity + 1, sizeof *ids);
	if (!ids) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status =
	    cuttle_tokenize(model, text, size, bos, ids, capacity, &count, error);
	if (!status) *list = jsonout_integers(ids, count);
	free(ids);
	return status;
}

static enum cuttle_status write_tokenized(void *user, const struct setup_model *opened,
                                          const struct records *records, struct sink *sink,
                                          struct cuttle_error *error) {
	const struct tokenize_values *values = user;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < records_count(records); i++) {
		size_t size;
		json_t *list;
		const char *text = records_text(records, i, &size);
		status = make_ids(opened->model, text, size, values->bos, &list, error);
		if (!status)
			status = jsonout_write(sink, json_pack("{s:o}", "ids", list), JSON_COMPACT,
			                       error);
	}
	return status;
}

static int run_tokenize_verb(const struct verb *verb, int argc, char **argv) {
	struct tokenize_values values = {.texts = TEXT_DEFAULTS};
	int code;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	values.texts.open.vocabulary_only = true;
	return verb_texts(verb, &values.texts, NULL, write_tokenized, &values);
}

const struct verb tokenize_verb = {
    .name = "tokenize",
    .usage = "-m MODEL [-i FILE] [-o FILE] [OPTION]...",
    .summary = "the token ids of each text",
    .example = "-m MODEL.gguf -i texts.jsonl -o tokens.jsonl",
    .about = "Prints {\"ids\":[..]} per record, or {\"ids\":null} for a record without a text. "
             "Text is never parsed for special tokens.\n"
             "Of the model the vocabulary alone is read: any architecture will do, and a file "
             "without weights.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_tokenize_verb,
};
