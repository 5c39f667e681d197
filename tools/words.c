// SPDX-License-Identifier: Apache-2.0
// cuttle words: makes the public list of words that texts are perturbed with, and shows which word
// is near which. Nothing private is read.
//
// The words come from a model's tokens (engine/words/of_model.c) or from vectors that others
// trained (io/tables/vectors.h). io/tables/words_file.h stores them with the sets of CUSTEXT.
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/tables/vectors.h"
#include "io/text/word_list.h"
#include "io/tables/words_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SET_SIZE = 20,       /* K of CUSTEXT */
	NEIGHBOURS = 10,     /* words that --near prints */
	PROGRESS_STEP = 500, /* words between two looks at the living line */
	KEEP_FRAGMENTS = 1   /* position in the names of --fragments */
};

struct words_values {
	struct model_values open;
	const char *vectors;     /* path, "-" = standard input */
	const char *word_list;   /* NULL = any word */
	const char *output;      /* the words file to make */
	uint64_t count;          /* V */
	int format;              /* enum vectors_format */
	int fragments;           /* 0 drop, 1 keep */
	struct option_list near; /* words to look at */
	bool overwrite;
	bool quiet;
};

#define VALUE(member) OPTION(struct words_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	{.name = "model", .letter = 'm', .group = 1, VALUE(open.model), .argument = "FILE",
	 .help = "take words and vectors from this model, a GGUF file"},
	{.name = "vectors", .group = 1, VALUE(vectors), .argument = "FILE",
	 .help = "take them from this file of public word vectors; - is standard input"},
	{.name = "format", VALUE(format), .argument = "glove|word2vec|word2vec-bin",
	 .help = "of --vectors. glove (default): a word and its numbers in a line. "
	         "word2vec: the same behind a line \"WORDS NUMBERS\". word2vec-bin: its "
	         "binary form"},
	{.name = "word-list", VALUE(word_list), .argument = "FILE",
	 .help = "keep only words of this public file, one in a line"},
	{.name = "count", .letter = 'V', VALUE(count), .argument = "V", .least = 2,
	 .most = CUTTLE_WORDS_MOST,
	 .help = "words of the list, the first ones that fit (default 11000)"},
	{.name = "fragments", VALUE(fragments), .argument = "drop|keep",
	 .help = "of a model's tokens without --word-list. drop (default) asks the model "
	         "which are beginnings of words, such as kidn. In a test it left out 95 "
	         "of 97 and 4 of 108 words. It takes seconds with a small model. keep "
	         "takes all"},
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "the words file, as words.cw"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	{.name = "near", VALUE(near), .argument = "WORD",
	 .help = "show the ten words nearest to WORD in a words file, with their cosines. "
	         "May be given several times. -m is for words that the file lacks"},
	MACHINE_OPTIONS(struct words_values),
	{.name = "quiet", .letter = 'q', VALUE(quiet), .help = "errors only"},
};

static const char ABOUT[] =
	"The list is public: make it before any private text is read, and never from one. Its "
	"hash goes into receipts. Words are small letters, ' between them.\n"
	"Vectors of either source are centred and half-whitened. The mean is taken off, each "
	"principal direction divided by the fourth root of its variance, the length made one. "
	"Nearness is then the cosine. It is one of use, not of meaning: six is near seven, and "
	"opposites are near each other.\n"
	"A file from a model also holds what gives other words a vector, from their tokens. "
	"With --vectors there is none: an unknown word is replaced by any word. Vectors are "
	"read until V words are found. A wrong line before ends the command with exit code "
	"4.\n"
	"Without --word-list some fragments remain in a model's list.\n";
// clang-format on

static int compare_listed(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_listed(void *user, const char *word) {
	const struct word_list *list = user;
	return bsearch(&word, list->words, list->count, sizeof *list->words, compare_listed);
}

/* user: the number of words at the last look. */
static int show_words(void *user, uint64_t done, uint64_t total) {
	uint64_t *shown = user;
	if (done < *shown + PROGRESS_STEP) return 0;
	*shown = done;
	fprintf(stderr, "\rcuttle words: %llu of %llu words", (unsigned long long)done,
	        (unsigned long long)total);
	return 0;
}

static enum cuttle_status words_of_model(const struct verb *verb, const struct words_values *values,
                                         const struct word_list *list, struct cuttle_words **words,
                                         int *code, struct cuttle_error *error) {
	struct setup_model opened;
	*code = verb_open_hashed(verb, &values->open, &opened);
	if (*code) return CUTTLE_OK;
	uint64_t shown = 0;
	struct cuttle_words_of_model_params params;
	cuttle_words_of_model_params_default(&params);
	params.count = values->count;
	params.allowed = values->word_list ? list->words : NULL;
	params.allowed_count = list->count;
	params.keep_fragments = values->fragments == KEEP_FRAGMENTS;
	params.model_sha256 = opened.sha256;
	params.threads = (unsigned)values->open.threads;
	if (!values->quiet && isatty(STDERR_FILENO)) params.on_progress = show_words;
	params.user = &shown;
	const enum cuttle_status status =
	    cuttle_words_of_model(opened.model, &params, words, error);
	if (shown) fprintf(stderr, "\r\033[K");
	cuttle_model_free(&opened.model);
	return status;
}

static enum cuttle_status words_of_vectors(const struct verb *verb,
                                           const struct words_values *values,
                                           struct word_list *list, struct cuttle_words **words,
                                           struct cuttle_error *error) {
	const struct vectors_request request = {.path = values->vectors,
	                                        .format = (enum vectors_format)values->format,
	                                        .most = values->count,
	                                        .wanted = values->word_list ? is_listed : NULL,
	                                        .user = list};
	struct vectors vectors;
	struct cuttle_error why = {""};
	enum cuttle_status status = vectors_read(&request, &vectors, error);
	if (!status) {
		struct cuttle_words_params params;
		cuttle_words_params_default(&params);
		params.count = vectors.count;
		params.width = vectors.width;
		params.words = (const char *const *)vectors.words;
		params.vectors = vectors.rows;
		params.raw = true;
		params.threads = (unsigned)values->open.threads;
		status = cuttle_words_make(&params, words, &why);
		if (status)
			status = io_fail(error, status == CUTTLE_USAGE ? CUTTLE_INPUT : status,
			                 "%s: %s", file_shown(values->vectors), why.message);
		if (!status && !values->quiet && vectors.not_words)
			fprintf(stderr,
			        "cuttle %s: %zu entries were passed over: capitals, digits or "
			        "signs\n",
			        verb->name, vectors.not_words);
	}
	vectors_free(&vectors);
	return status;
}

/* Cuts the words into sets, writes the file, and says what is in it. */
static enum cuttle_status store_words(const struct words_values *values,
                                      const struct cuttle_words *words,
                                      struct cuttle_error *error) {
	const size_t count = cuttle_words_count(words),
	             set_size = count < SET_SIZE ? count : SET_SIZE;
	char sha256[HASH_TEXT];
	uint32_t *sets = malloc(count * sizeof *sets);
	if (!sets) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = cuttle_words_partition(words, set_size, sets, error);
	if (!status)
		status = words_file_write(values->output, words, sets, set_size, sha256, error);
	free(sets);
	if (!status && !values->quiet)
		printf("%s: %zu words, vectors of %zu numbers, sets of %zu words\nsha256 %s\n",
		       values->output, count, cuttle_words_width(words), set_size, sha256);
	return status;
}

static int make_words(const struct verb *verb, const struct words_values *values) {
	const struct verb_need needs[] = {
	    {!values->vectors && (!values->open.model || !*values->open.model),
	     VERB_MODEL ", or --vectors FILE", VERB_MODEL_SAMPLE},
	    {!values->output, "-o FILE", "-o words.cw"}};
	int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	const struct path_use uses[] = {PATH_ALONE("-m", values->open.model, PATH_MODEL),
	                                PATH_ALONE("--vectors", values->vectors, PATH_STREAM),
	                                PATH_ALONE("--word-list", values->word_list, PATH_FILE),
	                                PATH_ALONE("-o", values->output, PATH_RECORD)};
	code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	if (code) return code;
	struct cuttle_error error = {""};
	struct word_list list = {0};
	struct cuttle_words *words = NULL;
	enum cuttle_status status = rewrite_allowed(values->output, values->overwrite, &error);
	char listed[HASH_TEXT];
	if (!status && values->word_list)
		status = word_list_read(values->word_list, &list, listed, &error);
	if (!status)
		status = values->vectors
		             ? words_of_vectors(verb, values, &list, &words, &error)
		             : words_of_model(verb, values, &list, &words, &code, &error);
	if (!status && !code) status = store_words(values, words, &error);
	cuttle_words_free(&words);
	word_list_free(&list);
	return status ? verb_fail(verb, status, &error) : code;
}

static void print_neighbours(const struct cuttle_words *words, const char *word, float *cosines) {
	const int32_t self = cuttle_words_find(words, word, strlen(word));
	printf("%s%s:", word, self < 0 ? " (from its tokens)" : "");
	if (self >= 0) cosines[self] = -2.0f;
	for (size_t n = 0; n < NEIGHBOURS && n + (self >= 0) < cuttle_words_count(words); n++) {
		size_t best = 0;
		for (size_t i = 1; i < cuttle_words_count(words); i++)
			if (cosines[i] > cosines[best]) best = i;
		printf(" %s %.3f", cuttle_words_text(words, best), (double)cosines[best]);
		cosines[best] = -2.0f;
	}
	printf("\n");
}

/* Opens the model only if a word needs it, and only the one that the file is from. */
static int open_for_pieces(const struct verb *verb, const struct words_values *values,
                           const struct cuttle_words *words, struct setup_model *opened) {
	bool known = true;
	for (size_t i = 0; i < values->near.count; i++)
		known &= cuttle_words_find(words, values->near.texts[i],
		                           strlen(values->near.texts[i])) >= 0;
	const char *wanted = cuttle_words_model_sha256(words);
	if (known || !values->open.model || !*wanted) return CUTTLE_OK;
	const int code = verb_open_hashed(verb, &values->open, opened);
	if (code || !strcmp(opened->sha256, wanted)) return code;
	return verb_refuse(verb, CUTTLE_INPUT, "the words file was made from another model");
}

static int show_near(const struct verb *verb, const struct words_values *values, const char *path) {
	struct cuttle_error error = {""};
	struct cuttle_words *words = NULL;
	struct setup_model opened = {0};
	char sha256[HASH_TEXT];
	const struct path_use use = PATH_ALONE("FILE", path, PATH_STREAM);
	int code = verb_paths(verb, &use, 1);
	if (code) return code;
	const enum cuttle_status status =
	    words_file_read(path, (unsigned)values->open.threads, &words, sha256, &error);
	if (status) return verb_fail(verb, status, &error);
	code = open_for_pieces(verb, values, words, &opened);
	float *vector = malloc(cuttle_words_width(words) * sizeof *vector);
	float *cosines = malloc(cuttle_words_count(words) * sizeof *cosines);
	if (!code && (!vector || !cosines)) code = verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; !code && i < values->near.count; i++) {
		const char *word = values->near.texts[i];
		if (!cuttle_words_vector(words, opened.model, word, strlen(word), vector)) {
			printf("%s: not in the list, and no vector\n", word);
			continue;
		}
		cuttle_words_cosines(words, vector, 1, cosines);
		print_neighbours(words, word, cosines);
	}
	free(vector);
	free(cosines);
	cuttle_model_free(&opened.model);
	cuttle_words_free(&words);
	return code;
}

static int run_words_verb(const struct verb *verb, int argc, char **argv) {
	struct words_values values = {.count = 11000};
	int operand, code;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (!values.near.count) {
		if (operand == argc) return make_words(verb, &values);
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "a words file behind the options goes with --near WORD");
	}
	if (values.output || values.vectors || values.word_list || operand + 1 != argc)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--near WORD looks into one words file: cuttle words --near "
		                   "doctor words.cw");
	return show_near(verb, &values, argv[operand]);
}

const struct verb words_verb = {
    .name = "words",
    .usage = "(-m MODEL | --vectors FILE) -o FILE [OPTION]... | --near WORD FILE",
    .summary = "a public list of words with vectors, from a model or a file, for perturbing texts",
    .example = "-m MODEL.gguf -o words.cw",
    .another = "--near doctor --near pain words.cw",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_words_verb,
};
