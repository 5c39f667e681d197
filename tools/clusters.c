// SPDX-License-Identifier: Apache-2.0
// cuttle clusters: sorts public texts into clusters by what they are about, and shows a file of
// such clusters. Records are later grouped by them. Nothing private is read.
//
// The way of a public text into a cluster:
//   tools/clusters.c                               options to a request; nothing private is read
//   topics/clusters.c                              all public texts; each must have a text
//     topics/tfidf.c                               by words: which ones, and how rare they are
//                                                  among the public texts
//     topics/hidden.c                              by model: cuttle_embed (engine/run/loop/embed.c)
//                                                  at a fifth of the depth, and principal
//                                                  components (engine/words/components.c)
//     topics/centres.c                             spherical k-means of these features, in integers
//     topics/topics.c                              five words for each cluster
//   topics/clusters_file.c                         the file, which generate --clusters reads
//                                                  (workflow/setup.c); clusters_find, in
//                              topics/clusters.c,  then finds a record's cluster by the same
//                                                  features, from that record and this file alone
//                                                  (workflow/seats.c)
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "topics/clusters_file.h"
#include "io/disk/fail.h"
#include <stdlib.h>
#include <string.h>

struct clusters_values {
	struct model_values open;
	const char *input;     /* public texts, "-" = standard input */
	const char *field;     /* field or column with the text */
	const char *delimiter; /* of CSV, NULL = as the ending says */
	const char *output;    /* the clusters file to make */
	uint64_t count;        /* k */
	int format;            /* enum records_format */
	int by;                /* enum clusters_by */
	bool overwrite;
	bool quiet;
};

#define VALUE(member) OPTION(struct clusters_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "input", .letter = 'i', VALUE(input), .argument = "FILE",
	 .help = "public texts, JSONL, CSV or TSV, a file or a pipe; at least 20 for each cluster"},
	{.name = "text-field", VALUE(field), .argument = "NAME",
	 .help = "field or column with the text (default text)"},
	FORMAT_OPTIONS(struct clusters_values, format, delimiter),
	{.name = "clusters", VALUE(count), .argument = "K", .least = 2, .most = CLUSTERS_MOST,
	 .help = "how many clusters (default 10)"},
	{.name = "by", VALUE(by), .argument = "words|model",
	 .help = "what texts are compared by. words (default): which ones they have and "
	         "how rare these are, without a model. model: its hidden state at a fifth "
	         "of the depth, with -m. This takes a model's pass over each record later "
	         "on"},
	MODEL_OPTIONS(struct clusters_values),
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "the clusters file, as topics.clusters"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	{.name = "quiet", .letter = 'q', VALUE(quiet), .help = "errors only"},
};

static const char ABOUT[] =
	"Prints each cluster's number, how many of the public texts are in it, and the five "
	"words that weigh most there. `cuttle clusters show FILE` prints the same of a file.\n"
	"The texts are public, and so is the file. Make it before any private text is read, "
	"and never from one. Its hash goes into receipts. Same texts, same file, on any "
	"machine. A record's cluster follows from its own text and this file alone; a blank "
	"one has none.\n";
// clang-format on

static void print_clusters(const char *path, const struct clusters *clusters, const char *sha256) {
	printf("%s: %zu clusters by %s, made of %zu public texts\nsha256 %s\n", file_shown(path),
	       clusters->count, clusters->by == CLUSTERS_BY_WORDS ? "words" : "model",
	       clusters->texts, sha256);
	if (clusters->by == CLUSTERS_BY_MODEL)
		printf("model %s, behind layer %u\n", clusters->model_sha256,
		       (unsigned)clusters->hidden.layer);
	printf("cluster  texts  words\n");
	for (size_t j = 0; j < clusters->count; j++)
		printf("%7zu %6u  %s\n", j, (unsigned)clusters->sizes[j], clusters->names[j]);
}

static enum cuttle_status read_clustered(const struct clusters_values *values,
                                         struct records **records, struct cuttle_error *error) {
	const struct records_request request = {.path = values->input,
	                                        .field = values->field,
	                                        .format = (enum records_format)values->format,
	                                        .delimiter = values->delimiter,
	                                        .limit = CENTRES_POINTS + 1};
	const enum cuttle_status status = records_read(&request, records, error);
	return status ? status : records_need_field(&request, *records, "--text-field", error);
}

static enum cuttle_status store_clusters(const struct clusters_values *values,
                                         const struct setup_model *opened,
                                         const struct records *records,
                                         struct cuttle_error *error) {
	const struct clusters_request request = {.records = records,
	                                         .path = file_shown(values->input),
	                                         .field = values->field,
	                                         .count = (size_t)values->count,
	                                         .by = (enum clusters_by)values->by,
	                                         .model = opened->model,
	                                         .model_sha256 = opened->sha256,
	                                         .threads = (unsigned)values->open.threads};
	struct clusters clusters;
	char sha256[HASH_TEXT];
	enum cuttle_status status = clusters_make(&request, &clusters, error);
	if (!status) status = clusters_file_write(values->output, &clusters, sha256, error);
	if (!status && !values->quiet) print_clusters(values->output, &clusters, sha256);
	clusters_free(&clusters);
	return status;
}

static int make_clusters(const struct verb *verb, const struct clusters_values *values) {
	const bool by_model = values->by == CLUSTERS_BY_MODEL;
	const struct verb_need needs[] = {
	    {!values->input, "-i FILE", "-i public.jsonl"},
	    {by_model && (!values->open.model || !*values->open.model), VERB_MODEL,
	     VERB_MODEL_SAMPLE},
	    {!values->output, "-o FILE", "-o topics.clusters"}};
	const struct path_use uses[] = {
	    PATH_ALONE("-i", values->input, PATH_STREAM),
	    PATH_ALONE("-m", by_model ? values->open.model : NULL, PATH_MODEL),
	    PATH_ALONE("-o", values->output, PATH_RECORD)};
	int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (!code) code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	if (code) return code;
	struct cuttle_error error = {""};
	struct setup_model opened = {0};
	struct records *records = NULL;
	enum cuttle_status status = rewrite_allowed(values->output, values->overwrite, &error);
	if (!status) status = read_clustered(values, &records, &error);
	if (!status && by_model) code = verb_open_hashed(verb, &values->open, &opened);
	if (!status && !code) status = store_clusters(values, &opened, records, &error);
	records_free(&records);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : code;
}

static int show_clusters(const struct verb *verb, const char *path) {
	const struct path_use use = PATH_ALONE("FILE", path, PATH_STREAM);
	struct cuttle_error error = {""};
	struct clusters clusters;
	char sha256[HASH_TEXT];
	const int code = verb_paths(verb, &use, 1);
	if (code) return code;
	const enum cuttle_status status = clusters_file_read(path, &clusters, sha256, &error);
	if (status) return verb_fail(verb, status, &error);
	print_clusters(path, &clusters, sha256);
	clusters_free(&clusters);
	return CUTTLE_OK;
}

static const char *const ACTIONS[] = {"show"};

static int run_clusters_verb(const struct verb *verb, int argc, char **argv) {
	struct clusters_values values = {.field = "text", .count = 10};
	size_t action;
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand == argc) return make_clusters(verb, &values);
	if (!verb_action(verb, argv[operand], ACTIONS, 1, &action)) return CUTTLE_USAGE;
	if (operand + 2 != argc || values.input || values.output)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "show takes one clusters file: cuttle clusters show "
		                   "topics.clusters");
	return show_clusters(verb, argv[operand + 1]);
}

const struct verb clusters_verb = {
    .name = "clusters",
    .usage = "-i PUBLIC.jsonl -o FILE [OPTION]... | show FILE",
    .summary = "clusters of public texts, for grouping records by what they are about",
    .example = "-i public.jsonl --clusters 10 -o topics.clusters",
    .another = "show topics.clusters",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .actions = ACTIONS,
    .action_count = sizeof ACTIONS / sizeof *ACTIONS,
    .run = run_clusters_verb,
};
