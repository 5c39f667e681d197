// SPDX-License-Identifier: Apache-2.0
// cuttle tokenize: the token ids of each record.
#include "tools/verbs.h"

#include "io/fail.h"
#include <stdlib.h>

struct tokenize_values {
	struct text_values texts;
	bool bos;
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	TEXT_OPTIONS,
	{.name = "bos", OPTION(struct tokenize_values, bos),
	 .help = "begin with the beginning-of-text token where the model's file asks for it"},
};
// clang-format on

/* The list of ids, or null for a record without a text. */
static enum cuttle_status ids_of(const struct cuttle_model *model, const char *text, size_t size, bool bos, json_t **list,
                                 struct cuttle_error *error) {
	*list = json_null();
	if (!text) return CUTTLE_OK;
	size_t capacity = cuttle_tokens_bound(size), count;
	int32_t *ids = reallocarray(NULL, capacity + 1, sizeof *ids);
	if (!ids) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = cuttle_tokenize(model, text, size, bos, ids, capacity, &count, error);
	if (!status) *list = jsonout_integers(ids, count);
	free(ids);
	return status;
}

static enum cuttle_status lines(void *user, struct cuttle_model *model, const struct records *records, struct sink *sink,
                                struct cuttle_error *error) {
	const struct tokenize_values *values = user;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < records_count(records); i++) {
		size_t size;
		json_t *list;
		const char *text = records_text(records, i, &size);
		status = ids_of(model, text, size, values->bos, &list, error);
		if (!status) status = jsonout_write(sink, json_pack("{s:o}", "ids", list), JSON_COMPACT, error);
	}
	return status;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct tokenize_values values = {.texts = TEXT_DEFAULTS};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand != argc) return verb_refuse(verb, CUTTLE_USAGE, "give the input with -i");
	return verb_texts(verb, &values.texts, NULL, lines, &values);
}

const struct verb tokenize_verb = {
    .name = "tokenize",
    .usage = "-m MODEL [-i FILE] [-o FILE] [OPTION]...",
    .summary = "the token ids of each text",
    .about = "Prints {\"ids\":[..]} per record, or {\"ids\":null} for a record without a text. Text is never parsed for special tokens.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
