// SPDX-License-Identifier: Apache-2.0
// cuttle model: shows what a model file holds (info), checks its SHA-256 (verify), and makes one
// from other files (convert, quantize). The folder convert/ does the last two; here are the options
// and the printing. Models are public: no private data passes through.
#include "tools/common/verbs.h"

#include "convert/convert.h"
#include "convert/gguf_in.h"
#include "convert/quantize.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/model_hash.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct model_verb_values {
	struct model_values open;
	const char *input;  /* convert: a folder; quantize: a GGUF file */
	const char *output; /* convert, quantize: the GGUF file to write */
	const char *sha256; /* verify: 64 hex digits, NULL = print the file's */
	int type;           /* enum weight_name of the matrices, or CHOICE_NONE */
	bool json;
	bool tensors;   /* info: list the tensors */
	bool overwrite; /* replace an output that is there */
};

static const struct option_entry OPTIONS[] = {
    MODEL_OPTIONS(struct model_verb_values),
    {.name = "json", OPTION(struct model_verb_values, json), .help = "info: print as JSON"},
    {.name = "tensors",
     OPTION(struct model_verb_values, tensors),
     .help = "info: list the tensors, also of a file cuttle cannot run"},
    {.name = "sha256",
     OPTION(struct model_verb_values, sha256),
     .argument = "HEX",
     .help = "verify: what the file's SHA-256 must be, else exit 5 (default: print it)"},
    {.name = "input",
     .letter = 'i',
     OPTION(struct model_verb_values, input),
     .argument = "PATH",
     .help = "convert: a Hugging Face folder; quantize: a GGUF file"},
    {.name = "output",
     .letter = 'o',
     OPTION(struct model_verb_values, output),
     .argument = "FILE",
     .help = "convert, quantize: the GGUF file to write"},
    {.name = "type",
     OPTION(struct model_verb_values, type),
     .argument = WEIGHT_TYPES,
     .help = "convert, quantize: of the matrices (convert: default f16)"},
    {.name = "overwrite",
     OPTION(struct model_verb_values, overwrite),
     .help = "convert, quantize: replace a file that is there, but never an input"},
};

static const char ABOUT[] =
    "info reads no weights, so it takes no time, and shows what a file without weights holds.\n"
    "convert reads config.json, tokenizer.json, tokenizer_config.json and safetensors (F32, F16, "
    "BF16, in one file or several) of a model of docs/MODELS.md. quantize reads F32, F16, BF16 and "
    "Q8_0. Vectors stay f32; the embedding and the head of q4_0 and q4_1 files are "
    "q8_0, of q4_k files q6_k. The output appears when it is whole.\n";

static json_t *encode_model(const struct cuttle_model_info *info) {
	const struct jsonout_member members[] = {
	    {"name", json_string(info->name)},
	    {"architecture", json_string(info->architecture)},
	    {"tokenizer", json_string(info->tokenizer)},
	    {"chat", json_string(info->chat)},
	    {"types", json_string(info->types)},
	    {"tensors", json_integer(info->tensors)},
	    {"file_bytes", json_integer((json_int_t)info->file_bytes)},
	    {"parameters", json_integer((json_int_t)info->parameters)},
	    {"packed_bytes", json_integer((json_int_t)info->packed_bytes)},
	    {"layers", json_integer(info->layers)},
	    {"convolving", json_integer(info->convolving)},
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

static void print_weight_facts(const struct cuttle_model_info *info) {
	printf("tensors       %s\nparameters    %" PRIu64 "\nfile          %" PRIu64
	       " bytes\nin memory     %" PRIu64 " bytes\n",
	       info->types, info->parameters, info->file_bytes, info->packed_bytes);
	printf("layers        %" PRIu32, info->layers);
	if (info->convolving) printf(", %" PRIu32 " of them short convolutions", info->convolving);
	printf("\nwidth         %" PRIu32 ", feed-forward %" PRIu32 "\n", info->width, info->ffn);
	printf("heads         %" PRIu32 " of %" PRIu32 ", %" PRIu32 " for keys and values\n",
	       info->heads, info->head_size, info->kv_heads);
	printf("context       %" PRIu32 " tokens\n", info->context);
}

static void print_model(const struct cuttle_model_info *info) {
	printf("name          %s\narchitecture  %s\ntokenizer     %s, %" PRIu32
	       " tokens\nchat          %s\n",
	       info->name, info->architecture, info->tokenizer, info->vocab, info->chat);
	if (info->tensors) print_weight_facts(info);
	else
		printf("tensors       none: a vocabulary alone, for tokenize and detokenize\nfile  "
		       "        %" PRIu64 " bytes\n",
		       info->file_bytes);
	printf("bos, eos      %" PRId32 ", %" PRId32 "%s\n", info->bos, info->eos,
	       info->add_bos ? "" : " (texts begin without bos)");
	if (info->tensors)
		printf("output head   %s\nkernels       %s\n",
		       info->tied_head ? "the embedding" : "its own", cuttle_isa());
}

static void print_tensor(void *user, const struct gguf_tensor *tensor, const char *type) {
	(void)user;
	printf("%.*s\t%s\t", (int)tensor->name.size, tensor->name.text, type);
	for (uint32_t i = 0; i < tensor->dimensions; i++)
		printf("%s%" PRIu64, i ? "x" : "", tensor->shape[i]);
	printf("\t%zu\n", tensor->bytes);
}

static int show_model(const struct verb *verb, const struct model_verb_values *values) {
	struct cuttle_model *model;
	struct cuttle_model_info described;
	struct cuttle_error error;
	if (values->tensors) {
		if (!values->open.model || values->json)
			return verb_refuse(verb, CUTTLE_USAGE,
			                   "--tensors wants a FILE and no --json");
		const enum cuttle_status status =
		    gguf_in_list(values->open.model, print_tensor, NULL, &error);
		return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
	}
	int code = verb_open(verb, &values->open, &model);
	if (code) return code;
	cuttle_model_describe(model, &described);
	if (described.tensors && *described.unsupported) {
		(void)io_fail(&error, CUTTLE_MODEL, "model %s: %s", values->open.model,
		              described.unsupported);
		code = verb_fail(verb, CUTTLE_MODEL, &error);
	} else if (values->json) code = verb_print(verb, encode_model(&described), JSON_INDENT(2));
	else print_model(&described);
	cuttle_model_free(&model);
	return code;
}

static int verify_model(const struct verb *verb, const struct model_verb_values *values) {
	const char *wanted = values->sha256;
	char sum[HASH_TEXT];
	uint64_t size;
	struct cuttle_error error;
	if (!values->open.model)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "no model: give -m FILE or set CUTTLE_MODEL");
	if (wanted && (strlen(wanted) != HASH_TEXT - 1 ||
	               strspn(wanted, "0123456789abcdefABCDEF") != HASH_TEXT - 1))
		return verb_refuse(verb, CUTTLE_USAGE, "--sha256: must be 64 hex digits");
	const enum cuttle_status status = model_hash_file(values->open.model, sum, &size, &error);
	if (status) return verb_fail(verb, status, &error);
	if (wanted && strcasecmp(wanted, sum) != 0) {
		(void)io_fail(&error, CUTTLE_MODEL, "%s has SHA-256 %s: it is another file",
		              values->open.model, sum);
		return verb_fail(verb, CUTTLE_MODEL, &error);
	}
	printf("%s  %s\n", sum, values->open.model);
	return CUTTLE_OK;
}

static void print_note(void *user, const char *line) {
	fprintf(stderr, "cuttle %s: %s\n", ((const struct verb *)user)->name, line);
}

/* Rewrites one line on a terminal. Prints nothing into a file or a pipe. */
static void show_tensor_progress(void *user, size_t done, size_t count) {
	(void)user;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu of %zu tensors%s", done, count, done == count ? "\n" : "");
}

/* The output may be no file that the folder's conversion reads, nor one that a link there leads to.
 */
static int check_model_folder(const struct verb *verb, const struct model_verb_values *values) {
	static const char *const endings[] = {".json", ".jinja", ".safetensors"};
	DIR *folder = opendir(values->input);
	if (!folder) return CUTTLE_OK; // convert will report it
	int code = CUTTLE_OK;
	for (const struct dirent *entry; !code && (entry = readdir(folder));) {
		bool read = false;
		for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
			read = read || file_ends_in(entry->d_name, endings[i]);
		if (!read) continue;
		char *path;
		if (asprintf(&path, "%s/%s", values->input, entry->d_name) < 0) {
			code = verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
			break;
		}
		const struct path_use uses[] = {PATH_ALONE("-i", path, PATH_MODEL),
		                                PATH_ALONE("-o", values->output, PATH_OUTPUT)};
		code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
		free(path);
	}
	(void)closedir(folder);
	return code;
}

static int check_model_files(const struct verb *verb, const struct model_verb_values *values,
                             const char *action) {
	const bool converts = !strcmp(action, "convert");
	const struct path_use model = PATH_ALONE("-m", values->open.model, PATH_MODEL);
	const struct path_use uses[] = {
	    PATH_ALONE("-i", values->input, converts ? PATH_FOLDER : PATH_MODEL),
	    PATH_ALONE("-o", values->output, PATH_OUTPUT)};
	if (!converts && strcmp(action, "quantize") != 0) return verb_paths(verb, &model, 1);
	const int code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	return !code && converts && values->input ? check_model_folder(verb, values) : code;
}

static int make_model(const struct verb *verb, const struct model_verb_values *values,
                      bool converts) {
	struct cuttle_error error;
	const struct rewrite_report report = {(void *)verb, print_note, show_tensor_progress};
	if (!values->input || !values->output)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "give the input with -i and the output with -o");
	if (!converts && values->type == CHOICE_NONE)
		return verb_refuse(verb, CUTTLE_USAGE, "quantize to what? Give --type");
	const struct weight_type *type =
	    weight_type(values->type == CHOICE_NONE ? WEIGHT_F16 : (enum weight_name)values->type);
	enum cuttle_status status = rewrite_allowed(values->output, values->overwrite, &error);
	if (!status)
		status = (converts ? convert : quantize)(values->input, values->output, type,
		                                         &report, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static const char *const ACTIONS[] = {"info", "verify", "convert", "quantize"};

static int run_model_verb(const struct verb *verb, int argc, char **argv) {
	struct model_verb_values values = {.open.vocabulary_only = true, .type = CHOICE_NONE};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	const char *action = operand < argc ? argv[operand] : "";
	const bool checks = !strcmp(action, "verify"), informs = !strcmp(action, "info");
	if ((checks || informs) && operand + 2 == argc) values.open.model = argv[++operand];
	if (operand + 1 == argc) {
		code = check_model_files(verb, &values, action);
		if (code) return code;
		if (checks) return verify_model(verb, &values);
		if (informs) return show_model(verb, &values);
		if (!strcmp(action, "convert")) return make_model(verb, &values, true);
		if (!strcmp(action, "quantize")) return make_model(verb, &values, false);
	}
	size_t known;
	if (verb_action(verb, *action ? action : NULL, ACTIONS, sizeof ACTIONS / sizeof *ACTIONS,
	                &known))
		return verb_refuse(verb, CUTTLE_USAGE, "name one file behind info or verify");
	return CUTTLE_USAGE;
}

const struct verb model_verb = {
    .name = "model",
    .usage = "info|verify FILE [OPTION]... or convert|quantize -i PATH -o FILE [OPTION]...",
    .summary = "what a model file holds; making one from a Hugging Face folder or in fewer bits",
    .example = "info -m MODEL.gguf",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = ACTIONS,
    .action_count = sizeof ACTIONS / sizeof *ACTIONS,
    .run = run_model_verb,
};
