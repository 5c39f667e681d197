// SPDX-License-Identifier: Apache-2.0
// cuttle model info: what a model file holds.
#include "tools/verbs.h"

#include <inttypes.h>
#include <string.h>

struct model_info_values {
	struct model_values open;
	bool json;
};

static const struct option_entry OPTIONS[] = {
    MODEL_OPTIONS(struct model_info_values),
    {.name = "json", OPTION(struct model_info_values, json), .help = "print as JSON"},
};

static json_t *json_of(const struct cuttle_model_info *info) {
	const struct jsonout_member members[] = {
	    {"name", json_string(info->name)},
	    {"architecture", json_string(info->architecture)},
	    {"tokenizer", json_string(info->tokenizer)},
	    {"chat", json_string(info->chat)},
	    {"types", json_string(info->types)},
	    {"file_bytes", json_integer((json_int_t)info->file_bytes)},
	    {"parameters", json_integer((json_int_t)info->parameters)},
	    {"packed_bytes", json_integer((json_int_t)info->packed_bytes)},
	    {"layers", json_integer(info->layers)},
	    {"width", json_integer(info->width)},
	    {"heads", json_integer(info->heads)},
	    {"kv_heads", json_integer(info->kv_heads)},
	    {"head_size", json_integer(info->head_size)},
	    {"ffn", json_integer(info->ffn)},
	    {"vocab", json_integer(info->vocab)},
	    {"context", json_integer(info->context)},
	    {"bos", json_integer(info->bos)},
	    {"eos", json_integer(info->eos)},
	    {"add_bos", json_boolean(info->add_bos)},
	    {"tied_head", json_boolean(info->tied_head)},
	    {"isa", json_string(cuttle_isa())},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static void print_plain(const struct cuttle_model_info *info) {
	printf("name          %s\narchitecture  %s\ntokenizer     %s, %" PRIu32 " tokens\nchat          %s\n", info->name,
	       info->architecture, info->tokenizer, info->vocab, info->chat);
	printf("tensors       %s\nparameters    %" PRIu64 "\nfile          %" PRIu64 " bytes\nin memory     %" PRIu64 " bytes\n",
	       info->types, info->parameters, info->file_bytes, info->packed_bytes);
	printf("layers        %" PRIu32 "\nwidth         %" PRIu32 ", feed-forward %" PRIu32 "\n", info->layers, info->width, info->ffn);
	printf("heads         %" PRIu32 " of %" PRIu32 ", %" PRIu32 " for keys and values\n", info->heads, info->head_size, info->kv_heads);
	printf("context       %" PRIu32 " tokens\nbos, eos      %" PRId32 ", %" PRId32 "%s\n", info->context, info->bos, info->eos,
	       info->add_bos ? "" : " (texts begin without bos)");
	printf("output head   %s\nkernels       %s\n", info->tied_head ? "the embedding" : "its own", cuttle_isa());
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct model_info_values values = {.json = false};
	struct cuttle_model *model;
	struct cuttle_model_info info;
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand + 1 != argc || strcmp(argv[operand], "info") != 0) return verb_refuse(verb, CUTTLE_USAGE, "say what is wanted: info");
	code = verb_open(verb, &values.open, NULL, &model);
	if (code) return code;
	cuttle_model_describe(model, &info);
	if (values.json) code = verb_print(verb, json_of(&info), JSON_INDENT(2));
	else print_plain(&info);
	cuttle_model_free(&model);
	return code;
}

const struct verb model_verb = {
    .name = "model",
    .usage = "info -m MODEL [--json]",
    .summary = "what a model file holds",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
