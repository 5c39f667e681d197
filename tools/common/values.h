// SPDX-License-Identifier: Apache-2.0
// The options of generate as values, for the verbs that have them: generate, shard and inspect. An
// option that a run takes as it stands goes into the request at once, as -i into request.input. The
// others wait beside it until values_settle turns them into members of the request. For example:
//   struct generate_values values = values_defaults();
//   ... options_parse ... values_settle(&values); generate_open(&values.request, ...);
// No private data passes through.
#ifndef CUTTLE_TOOLS_COMMON_VALUES_H
#define CUTTLE_TOOLS_COMMON_VALUES_H

#include "io/records/categories.h"
#include "tools/common/verbs.h"
#include "workflow/request.h"

struct generate_values {
	struct model_values open;
	struct generate_request request; /* complete after values_settle */
	const char *bench;               /* --dry-run: path of a file from cuttle bench -o json */
	uint64_t reference_tokens;       /* --dry-run: tokens of a usual reference; 0 = not given */
	struct option_list category_fields; /* fields of the category */
	struct option_list stops;           /* words of --stop */
	uint64_t insecure_seed;             /* COUNT_NONE = the output is private */
	int form;                           /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	int progress;                       /* enum progress_mode */
	int output_format;                  /* 0 auto, else 1 + enum output_format */
	int accountant;   /* enum cuttle_accountant; CHOICE_NONE = zcdp with a ledger, else exact */
	int trim;         /* 0 sentence, 1 none, CHOICE_NONE = sentence */
	const char *drop; /* list for --drop; NULL = nothing is dropped */
	int center;       /* 0 median, 1 none, CHOICE_NONE = median */
	int lots;         /* enum run_lots; CHOICE_NONE = auto */
	int charge;       /* 0 epsilon, 1 rho, CHOICE_NONE = as suits */
	int method;       /* enum cuttle_method; CHOICE_NONE = invisibleink */
	const char *preset;           /* --preset; NULL = none */
	const char *order;            /* --order: a number, or "inf"; NULL = not given */
	const char *records_per_unit; /* --records-per-unit: a number, or "all"; NULL = not given */
	const char *shard;            /* --shard: "I/N" or "auto"; NULL = the whole run */
	uint64_t shards;              /* --shards; 0 = not given */
	uint64_t wait;                /* seconds for run.json */
	uint64_t redraw;              /* a shard that is drawn again; COUNT_NONE = none is */
	const char *nobody_saw;       /* --nobody-saw; NULL = not given */
	bool dry_run;                 /* print what the run would be, and draw nothing */
	bool json;                    /* dry_run: one JSON object, for programs */
	bool quiet;                   /* errors only */
	bool one_per_unit;            /* read one record of each unit */
};

// clang-format off
#define VALUE(member) OPTION(struct generate_values, member)
/* Options of the prompts, for every verb that makes a run's plan. */
#define PROMPT_OPTIONS \
	{.name = "kind", .first = true, VALUE(request.plan.kind), .argument = "NOUN", \
	 .help = "what a document is, e.g. \"clinical note\" (default text)"}, \
	{.name = "public-examples", .first = true, VALUE(request.public_examples), \
	 .argument = "FILE", \
	 .help = "texts that are public, put before everything in every prompt. With " \
	         "small models they matter most"}, \
	{.name = "examples-per-text", VALUE(request.examples_per_text), .argument = "E", \
	 .least = 1, .most = 1024, \
	 .help = "show so many of them (default: all; 4 with --clusters or --rounds 2). " \
	         "With categories these are the first of a text's own, in the order of " \
	         "the file, then the first of the others"}, \
	{.name = "stop", VALUE(stops), .argument = "auto|none|STRING", \
	 .help = "where a text ends, up to 16 times: auto (default), none, or before a " \
	         "string, with \\n and \\t in it. auto: before a blank line where no " \
	         "public example has one, before a line break where none has that. In the " \
	         "form continue also before a line that begins with ###. It is free, as " \
	         "it looks at drawn tokens and public examples alone"}, \
	{.name = "examples-field", VALUE(request.examples_field), .argument = "NAME", \
	 .help = "field of the public examples (default: that of the references)"}, \
	{.name = "template", VALUE(form), .argument = "continue|instruct", \
	 .help = "continue (default): plain text, the reference as one more example of " \
	         "its kind. instruct: a request in the model's chat format"}, \
	{.name = "chat-format", VALUE(request.plan.chat_format), .argument = "NAME", \
	 .help = "that format, instead of the one the model's template is known as: chatml " \
	         "(Qwen2 too), " OTHER_CHAT_FORMATS}, \
	{.name = "system", VALUE(request.plan.system), .argument = "TEXT", \
	 .help = "system message of --template instruct. Without it that of the model's " \
	         "own template, if any; '' is none"}, \
	{.name = "prompt-public", VALUE(request.prompt_public), .argument = "FILE", \
	 .help = "own public prompt, used byte for byte; with --prompt-private"}, \
	{.name = "prompt-private", VALUE(request.prompt_private), .argument = "FILE", \
	 .help = "own private prompt, with {reference} in it once"}
// clang-format on

/* The table of generate's options, which cuttle shard open has, too. A number too small does not
 * compile; one too large leaves an option without a name, and no help. */
enum { GENERATE_OPTIONS = 89 };
extern const struct option_entry generate_options[GENERATE_OPTIONS];

/* The beginning of both verbs, in this order. generate_read reads options and preset, and refuses a
 * command that lacks one. False: the verb ends with *code. values_check checks the options against
 * each other and all paths. It returns the exit code. generate_say prints the guarantee, with
 * --quiet only where it stands nowhere else. */
bool generate_read(const struct verb *verb, int argc, char **argv, struct generate_values *values,
                   int *code);
int values_check(const struct verb *verb, struct generate_values *values);
void generate_say(const struct generate_values *values, const struct setup *setup);

/* The values when no option is given. */
struct generate_values values_defaults(void);

/* Completes the request from the values beside it. It points into *values, which must stay where
 * it is. */
void values_settle(struct generate_values *values);

#endif
