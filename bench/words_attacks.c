// SPDX-License-Identifier: Apache-2.0
// Measures the word mechanisms: how alike their outputs are to the words, how well attacks find the
// words again, and how fast they run. Nothing here is private: use texts that may be shown.
//
// usage: words_attacks attacks MODEL DATA.jsonl WORDS     the tables of laws and of texts
//        words_attacks channel MODEL DATA.jsonl WORDS     guesses with a language model
//        words_attacks design MODEL DATA.jsonl REVIEWS.jsonl WORDS
//                                                         the laws as the design's table has them
//        words_attacks speed WORDS [WIDTH]                words per second, with random vectors
//
// The words are the first WORDS of the model's own list. Every chance is taken from the
// law, not from draws: from the integers of dp/rank.h, and from baselines_law. The attacks:
//   unchanged   guesses that a word stayed as it is
//   inversion   guesses the ten words nearest to the output
//   Bayes       knows the law and how often words occur in DATA, and guesses the likeliest word
// The second table draws: it perturbs 50 words of each text by the call itself, and counts which
// runs of 1, 2 and 3 words of a text are still in it.
// The third verb draws, too. It reads each output with the model, and guesses the word that is the
// likeliest by the model, by the law (the channel), or by both.
// The design's table had other words, another prior, and five radii for the law of RANTEXT.
// `design` takes those, and then as many radii as the first verb, on the same words.
#include "bench/marked.h"
#include "dp/rank.h"
#include "engine/cuttle/text.h"
#include "engine/forward/lockstep.h"
#include "engine/run/perturb/perturb.h"
#include "engine/run/plan/seeded.h"
#include "engine/words/laws.h"
#include "io/records/records.h"
#include "kernels/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	NEAREST = 10,     /* of an inversion, and of "in 10 nearest" */
	BEST_NEAR = 0,    /* `near` of a mechanism: the best k by mean cosine */
	RADII = 64,       /* of RANTEXT, each for as many of its draws */
	TEXT_WORDS = 50,  /* words of a text that are perturbed */
	MOST_TEXTS = 200, /* texts that are perturbed */
	READ_TEXTS = 12,  /* texts that the model reads */
	READ_DRAWS = 4,   /* outputs of each of them */
	READ_WORDS = READ_TEXTS * TEXT_WORDS,
	READ_SLOTS = READ_TEXTS * READ_DRAWS,
	READ_PLACES = READ_SLOTS * TEXT_WORDS,
	READ_SEED = 1,        /* of the draws */
	LONGEST_RUN = 3,      /* words of a run that is looked for */
	DESIGN_LETTERS = 3,   /* a word of the design has at least so many */
	DESIGN_RADII = 5,     /* of its RANTEXT: quantiles of a sample */
	DESIGN_SAMPLE = 2000, /* radii of a sample; how many the design had is not known */
	DESIGN_BISECTIONS = 40,
	DESIGN_SEEDS = 8, /* samples, for the noise */
	SPEED_WORDS = 64, /* words perturbed for a timing: a block, as of the cosines */
	SPEED_RUNS = 30   /* of which the fastest counts */
};

#define DESIGN_PRIOR .1 /* added to the count of each word, so that none has a prior of 0 */

/* A line of the tables. */
struct mechanism {
	enum cuttle_word_method method;
	uint32_t millionths; /* epsilon */
	enum cuttle_rank_table table;
	uint32_t near; /* k, or BEST_NEAR */
	double share;  /* RANTEXT's list; 0 = radius of the paper */
};
static const struct mechanism MECHANISMS[] = {
    {CUTTLE_RANTEXT, 3000000, 0, 1, .1},
    {CUTTLE_RANTEXT, 3000000, 0, 1, .015},
    {CUTTLE_CUSTEXT, 3000000, 0, 1, 0},
    {CUTTLE_RANK, 3000000, CUTTLE_ENVELOPE, 1, 0},
    {CUTTLE_RANK, 3000000, CUTTLE_STEP, 20, 0},
    {CUTTLE_RANK, 3000000, CUTTLE_STEP, BEST_NEAR, 0},
    {CUTTLE_RANTEXT, 6000000, 0, 1, .1},
    {CUTTLE_RANTEXT, 6000000, 0, 1, .015},
    {CUTTLE_RANTEXT, 6000000, 0, 1, 0},
    {CUTTLE_SANTEXT, 6000000, 0, 1, 0},
    {CUTTLE_CUSTEXT, 6000000, 0, 1, 0},
    {CUTTLE_RANK, 6000000, CUTTLE_ENVELOPE, 1, 0},
    {CUTTLE_RANK, 6000000, CUTTLE_STEP, 20, 0},
    {CUTTLE_RANK, 6000000, CUTTLE_STEP, BEST_NEAR, 0},
    {CUTTLE_RANTEXT, 10000000, 0, 1, .1},
    {CUTTLE_RANTEXT, 10000000, 0, 1, .015},
    {CUTTLE_SANTEXT, 10000000, 0, 1, 0},
    {CUTTLE_CUSTEXT, 10000000, 0, 1, 0},
    {CUTTLE_RANK, 10000000, CUTTLE_STEP, 20, 0},
    {CUTTLE_RANK, 10000000, CUTTLE_STEP, BEST_NEAR, 0},
    /* As often unchanged as RANTEXT with 10 % at epsilon 3, and at 6. */
    {CUTTLE_RANK, 7140000, CUTTLE_STEP, 1, 0},
    {CUTTLE_RANK, 8980000, CUTTLE_STEP, 3, 0},
    {CUTTLE_RANK, 7880000, CUTTLE_STEP, 1, 0},
    {CUTTLE_RANK, 8270000, CUTTLE_STEP, 3, 0},
};
enum { MECHANISM_COUNT = sizeof MECHANISMS / sizeof *MECHANISMS };

/* Those whose outputs the model reads. */
static const struct mechanism READ_MECHANISMS[] = {
    {CUTTLE_RANK, 3000000, CUTTLE_STEP, 20, 0},  {CUTTLE_RANK, 6000000, CUTTLE_STEP, 20, 0},
    {CUTTLE_RANK, 10000000, CUTTLE_STEP, 20, 0}, {CUTTLE_RANK, 6000000, CUTTLE_STEP, 3, 0},
    {CUTTLE_RANTEXT, 6000000, 0, 1, .1},         {CUTTLE_RANTEXT, 6000000, 0, 1, .015},
};
enum { READ_MECHANISM_COUNT = sizeof READ_MECHANISMS / sizeof *READ_MECHANISMS };

/* What is summed over all words, for one mechanism. */
struct measured {
	const struct mechanism *mechanism;
	struct cuttle_perturber *perturber;
	uint32_t near; /* as used */
	size_t radius_count;
	double radii[RADII]; /* [radius_count] of RANTEXT, each as likely as any other */
	double cosine, unchanged, near_word, inverted;
	double *most, *least; /* [V] largest and smallest chance of each output */
	double *guess;        /* [V] largest chance times prior */
	uint32_t *likeliest;  /* [V] the first word with the largest chance of each output */
};

struct words_bench {
	struct cuttle_words *words;
	size_t count;            /* V */
	size_t width;            /* d */
	float *cosines;          /* [V][V] */
	uint32_t *order;         /* [V][V] by key falling, then id */
	double *prior;           /* [V] how often each word occurs in the texts, of 1 */
	double *distances, *law; /* [V] */
	struct measured measured[MECHANISM_COUNT];
};

static void *allocate_numbers(size_t count, size_t size) {
	void *numbers = calloc(count, size);
	if (!numbers) marked_stop("out of memory");
	return numbers;
}

/* ---- order of all words ---------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b, void *context) {
	const float *cosines = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int32_t kx = cosine_key(cosines[x]), ky = cosine_key(cosines[y]);
	return kx != ky ? (kx < ky) - (kx > ky) : (x > y) - (x < y);
}

static void order_words(struct words_bench *b) {
	float *rows = allocate_numbers(b->count * b->width, sizeof *rows);
	b->cosines = allocate_numbers(b->count * b->count, sizeof *b->cosines);
	b->order = allocate_numbers(b->count * b->count, sizeof *b->order);
	for (size_t x = 0; x < b->count; x++) cuttle_words_row(b->words, x, rows + x * b->width);
	cuttle_words_cosines(b->words, rows, b->count, b->cosines);
	free(rows);
	for (size_t x = 0; x < b->count; x++) {
		uint32_t *order = b->order + x * b->count;
		for (uint32_t y = 0; y < b->count; y++) order[y] = y;
		qsort_r(order, b->count, sizeof *order, compare_keys, b->cosines + x * b->count);
	}
}

/* Whether word y is one of the ten nearest of x, itself among them. */
static bool is_nearest(const struct words_bench *b, size_t x, uint32_t y) {
	for (size_t r = 0; r < NEAREST; r++)
		if (b->order[x * b->count + r] == y) return true;
	return false;
}

/* ---- words of texts -------------------------------------------------------------------------- */

/* Sets *word to the next run of letters and inner apostrophes, in lower case. */
static bool next_word(const char *text, size_t size, size_t *at, char word[64], size_t *length) {
	*length = 0;
	for (; *at < size; ++*at) {
		const char c = text[*at];
		const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && *length) return true;
		if (letter && *length < 63) word[(*length)++] = (char)(c | 0x20);
	}
	return *length > 0;
}

static struct records *read_texts(const char *path) {
	struct records *records;
	struct cuttle_error error;
	const struct records_request request = {.path = path, .field = "text", .limit = SIZE_MAX};
	if (records_read(&request, &records, &error)) marked_stop(error.message);
	return records;
}

/* extra: added to the count of each word. */
static void count_words(struct words_bench *b, const struct records *records, double extra) {
	b->prior = allocate_numbers(b->count, sizeof *b->prior);
	double all = extra * (double)b->count;
	for (size_t i = 0; i < records_count(records); i++) {
		size_t size, at = 0, length;
		char word[64];
		const char *text = records_text(records, i, &size);
		while (text && next_word(text, size, &at, word, &length)) {
			const int32_t id = cuttle_words_find(b->words, word, length);
			if (id >= 0) b->prior[id] += 1;
			all += id >= 0;
		}
	}
	for (size_t x = 0; x < b->count; x++) b->prior[x] = (b->prior[x] + extra) / all;
}

static double find_surest(const struct words_bench *b) {
	double surest = 0;
	for (size_t x = 0; x < b->count; x++) surest = fmax(surest, b->prior[x]);
	return surest;
}

/* ---- laws ------------------------------------------------------------------------------------ */

/* The best k of a step: by the mean cosine at each rank. */
static uint32_t choose_near(const struct words_bench *b, uint32_t millionths) {
	double *mean = b->law;
	memset(mean, 0, b->count * sizeof *mean);
	for (size_t x = 0; x < b->count; x++)
		for (size_t r = 0; r < b->count; r++)
			mean[r] += (double)b->cosines[x * b->count + b->order[x * b->count + r]] /
			           (double)b->count;
	return dp_rank_best_near(mean, (uint32_t)b->count, millionths);
}

/* Sets measured->perturber. It draws from a fixed seed if `seeded`. */
static void open_mechanism(struct words_bench *b, const struct mechanism *m, bool seeded,
                           struct measured *measured) {
	struct cuttle_perturb_params params;
	struct cuttle_error error;
	cuttle_perturb_params_default(&params);
	params.insecure = seeded;
	params.insecure_seed = READ_SEED;
	params.method = m->method;
	params.epsilon_millionths = m->millionths;
	params.table = m->table;
	params.near = m->near == BEST_NEAR ? choose_near(b, m->millionths) : m->near;
	params.paper_radius = m->share == 0;
	if (m->share > 0) params.list_share = m->share;
	measured->mechanism = m;
	measured->near = params.near;
	if (cuttle_perturber_make(b->words, NULL, &params, &measured->perturber, &error))
		marked_stop(error.message);
	if (m->method != CUTTLE_RANTEXT) return;
	const struct baselines *rantext = measured->perturber->baselines;
	for (size_t i = 0; i < RADII; i++)
		measured->radii[i] =
		    rantext->radii[(2 * i + 1) * BASELINES_RADII / RADII / 2] / rantext->scale;
	measured->radius_count = RADII;
}

static void open_measured(struct words_bench *b, size_t which) {
	struct measured *measured = &b->measured[which];
	open_mechanism(b, &MECHANISMS[which], false, measured);
	measured->most = allocate_numbers(b->count, sizeof *measured->most);
	measured->least = allocate_numbers(b->count, sizeof *measured->least);
	measured->guess = allocate_numbers(b->count, sizeof *measured->guess);
	measured->likeliest = allocate_numbers(b->count, sizeof *measured->likeliest);
	for (size_t y = 0; y < b->count; y++) measured->least[y] = INFINITY;
}

static void close_measured(struct measured *measured) {
	cuttle_perturber_free(&measured->perturber);
	free(measured->most);
	free(measured->least);
	free(measured->guess);
	free(measured->likeliest);
}

static void set_distances(struct words_bench *b, uint32_t x) {
	baselines_distances(b->cosines + x * b->count, b->count, x, b->distances);
}

/* Sets b->law to the chances of all outputs where word x stands. */
static void find_law(struct words_bench *b, const struct measured *m, uint32_t x) {
	const struct cuttle_perturber *p = m->perturber;
	if (p->rank) {
		const struct dp_wide *table = dp_rank_table(p->rank);
		long double total = 0;
		for (size_t r = 0; r < b->count; r++) total += (long double)table[r].low;
		for (size_t r = 0; r < b->count; r++)
			b->law[b->order[x * b->count + r]] =
			    (double)((long double)table[r].low / total);
	} else if (p->params.method != CUTTLE_RANTEXT) {
		set_distances(b, x);
		baselines_law(p->baselines, x, 0, b->distances, b->law);
	} else {
		double *mean = allocate_numbers(b->count, sizeof *mean);
		for (size_t i = 0; i < m->radius_count; i++) {
			set_distances(b, x);
			baselines_law(p->baselines, x, m->radii[i], b->distances, b->law);
			for (size_t y = 0; y < b->count; y++)
				mean[y] += b->law[y] / (double)m->radius_count;
		}
		memcpy(b->law, mean, b->count * sizeof *mean);
		free(mean);
	}
}

static void measure_word(struct words_bench *b, struct measured *m, uint32_t x) {
	find_law(b, m, x);
	const double each = 1 / (double)b->count;
	for (uint32_t y = 0; y < b->count; y++) {
		const double p = b->law[y];
		m->cosine += each * p * (double)b->cosines[x * b->count + y];
		if (p > m->most[y]) m->likeliest[y] = x;
		m->most[y] = fmax(m->most[y], p);
		m->least[y] = fmin(m->least[y], p);
		m->guess[y] = fmax(m->guess[y], p * b->prior[x]);
		if (p > 0 && is_nearest(b, y, x)) m->inverted += each * p;
	}
	for (size_t r = 0; r < NEAREST; r++)
		m->near_word += each * b->law[b->order[x * b->count + r]];
	m->unchanged += each * b->law[x];
}

static void print_name(const struct measured *measured) {
	const struct mechanism *m = measured->mechanism;
	printf("| %.4g | ", (double)m->millionths / 1e6);
	if (m->method == CUTTLE_RANTEXT && m->share == 0) printf("RANTEXT, radius of the paper");
	else if (m->method == CUTTLE_RANTEXT) printf("RANTEXT %g %%", 100 * m->share);
	else if (m->method == CUTTLE_SANTEXT) printf("SANTEXT");
	else if (m->method == CUTTLE_CUSTEXT) printf("CUSTEXT, K 20");
	else if (m->table == CUTTLE_ENVELOPE) printf("rank, envelope");
	else printf("rank, step %u%s", measured->near, m->near == BEST_NEAR ? " = k*" : "");
	printf(" |");
}

static double sum_bayes(const struct words_bench *b, const struct measured *m) {
	double bayes = 0;
	for (size_t y = 0; y < b->count; y++) bayes += m->guess[y];
	return bayes;
}

static void print_measured(const struct words_bench *b, const struct measured *m) {
	double epsilon = 0;
	for (size_t y = 0; y < b->count; y++)
		if (m->most[y] > 0) epsilon = fmax(epsilon, log(m->most[y] / m->least[y]));
	print_name(m);
	if (isinf(epsilon)) printf(" none |");
	else printf(" %.2f |", epsilon);
	printf(" %.3f | %.3f | %.3f | %.3f | %.3f |", m->cosine, m->unchanged, m->near_word,
	       m->inverted, sum_bayes(b, m));
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* How many runs of `length` words of `text` are among those of `other`. Returns the share. */
static double share_of_runs(const int32_t *text, const int32_t *other, size_t count,
                            size_t length) {
	size_t found = 0, all = 0;
	for (size_t i = 0; i + length <= count; i++, all++)
		for (size_t j = 0; j + length <= count; j++)
			if (!memcmp(text + i, other + j, length * sizeof *text)) {
				found++;
				break;
			}
	return (double)found / (double)all;
}

/* Draws, and prints how much of the texts is left. Words outside the list count as words that are
 * in no output. */
static void draw_attacked_texts(struct words_bench *b, const struct records *records,
                                size_t which) {
	double shares[LONGEST_RUN] = {0}, stayed = 0;
	size_t texts = 0;
	for (size_t i = 0; i < records_count(records) && texts < MOST_TEXTS; i++) {
		char words[TEXT_WORDS][64];
		struct cuttle_place places[TEXT_WORDS];
		int32_t ids[TEXT_WORDS], outputs[TEXT_WORDS];
		size_t size, at = 0, length, count = 0;
		const char *text = records_text(records, i, &size);
		while (text && count < TEXT_WORDS &&
		       next_word(text, size, &at, words[count], &length)) {
			places[count] =
			    (struct cuttle_place){CUTTLE_PLACE_WORD, words[count], length};
			ids[count] = cuttle_words_find(b->words, words[count], length);
			if (ids[count] < 0) ids[count] = -1 - (int32_t)count;
			count++;
		}
		if (count < TEXT_WORDS) continue;
		if (cuttle_perturb(b->measured[which].perturber, i, 0, places, count, outputs,
		                   NULL))
			marked_stop("no entropy");
		for (size_t n = 1; n <= LONGEST_RUN; n++)
			shares[n - 1] += share_of_runs(ids, outputs, count, n);
		for (size_t w = 0; w < count; w++) stayed += ids[w] == outputs[w];
		texts++;
	}
	print_name(&b->measured[which]);
	printf(" %.3f |", stayed / (double)(texts * TEXT_WORDS));
	for (size_t n = 0; n < LONGEST_RUN; n++) printf(" %.3f |", shares[n] / (double)texts);
	printf(" %zu |\n", texts);
}

/* Makes the list of the first words of DESIGN_LETTERS letters or more, fragments too. */
static void list_long_words(struct cuttle_model *model, size_t count, struct cuttle_words **words) {
	struct cuttle_words *all;
	struct cuttle_error error;
	struct cuttle_words_of_model_params params;
	cuttle_words_of_model_params_default(&params);
	params.count = CUTTLE_WORDS_MOST;
	params.keep_fragments = true;
	if (cuttle_words_of_model(model, &params, &all, &error)) marked_stop(error.message);
	const char **allowed = allocate_numbers(cuttle_words_count(all), sizeof *allowed);
	for (size_t i = 0; i < cuttle_words_count(all); i++) {
		const char *text = cuttle_words_text(all, i);
		if (strlen(text) >= DESIGN_LETTERS) allowed[params.allowed_count++] = text;
	}
	params.count = count;
	params.allowed = allowed;
	if (cuttle_words_of_model(model, &params, words, &error)) marked_stop(error.message);
	free(allowed);
	cuttle_words_free(&all);
}

/* Makes the list of words and their orders. Returns the model. */
static struct cuttle_model *open_words_bench(struct words_bench *b, const char *model_path,
                                             size_t count, bool designed) {
	struct cuttle_model *model;
	struct cuttle_error error;
	struct cuttle_words_of_model_params params;
	if (cuttle_model_open(model_path, NULL, &model, &error)) marked_stop(error.message);
	cuttle_words_of_model_params_default(&params);
	params.count = count;
	if (designed) list_long_words(model, count, &b->words);
	else if (cuttle_words_of_model(model, &params, &b->words, &error))
		marked_stop(error.message);
	b->count = cuttle_words_count(b->words);
	b->width = cuttle_words_width(b->words);
	b->distances = allocate_numbers(b->count, sizeof *b->distances);
	b->law = allocate_numbers(b->count, sizeof *b->law);
	order_words(b);
	return model;
}

static void close_words_bench(struct words_bench *b) {
	cuttle_words_free(&b->words);
	free(b->cosines);
	free(b->order);
	free(b->prior);
	free(b->distances);
	free(b->law);
}

static int run_attacks(const char *model_path, const char *data, size_t count) {
	static struct words_bench b;
	marked_skip_without(data);
	struct cuttle_model *model = open_words_bench(&b, model_path, count, false);
	cuttle_model_free(&model);
	struct records *records = read_texts(data);
	count_words(&b, records, 0);
	printf("%zu words of %zu coordinates; the likeliest word alone: %.3f\n\n", b.count, b.width,
	       find_surest(&b));
	for (size_t i = 0; i < MECHANISM_COUNT; i++) open_measured(&b, i);
	printf("| eps | mechanism | true eps | mean cosine | unchanged | in 10 nearest | top-10 "
	       "inversion | Bayes |\n|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < MECHANISM_COUNT; i++) {
		for (uint32_t x = 0; x < b.count; x++) measure_word(&b, &b.measured[i], x);
		print_measured(&b, &b.measured[i]);
		printf("\n");
		(void)fflush(stdout);
	}
	printf("\n| eps | mechanism | words unchanged | runs of 1 | of 2 | of 3 | texts |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < MECHANISM_COUNT; i++) draw_attacked_texts(&b, records, i);
	for (size_t i = 0; i < MECHANISM_COUNT; i++) close_measured(&b.measured[i]);
	records_free(&records);
	close_words_bench(&b);
	return 0;
}

/* ---- a language model and the channel -------------------------------------------------------- */

enum read_guess { BY_MODEL, BY_CHANNEL, BY_BOTH, READ_GUESSES };

/* Guesses at one place. Of equal scores the first word's counts. */
struct read_place {
	int32_t word;                 /* that stood there */
	int32_t output;               /* that was drawn for it */
	double most[READ_GUESSES];    /* ln, and for BY_MODEL and BY_BOTH a constant beside it */
	uint32_t guess[READ_GUESSES]; /* a word with that score */
	size_t ties;                  /* words with the largest score BY_CHANNEL */
	double own;                   /* score BY_CHANNEL of the word that stood there */
};

struct read_bench {
	struct words_bench words;
	int32_t *tokens; /* [V] of each word behind a space */
	float *logits;   /* [READ_PLACES][V] of each word, behind the outputs before */
	struct read_place places[READ_PLACES];
	struct lockstep *lockstep;
};

/* Takes the first known words of the first READ_TEXTS texts that have TEXT_WORDS of them. */
static void take_known_words(const struct cuttle_words *words, const struct records *records,
                             int32_t known[READ_WORDS]) {
	size_t texts = 0;
	for (size_t i = 0; i < records_count(records) && texts < READ_TEXTS; i++) {
		size_t size, at = 0, length, found = 0;
		char word[64];
		const char *text = records_text(records, i, &size);
		while (text && found < TEXT_WORDS && next_word(text, size, &at, word, &length)) {
			const int32_t id = cuttle_words_find(words, word, length);
			if (id >= 0) known[texts * TEXT_WORDS + found++] = id;
		}
		texts += found == TEXT_WORDS;
	}
	if (texts < READ_TEXTS) marked_stop("too few texts have enough known words");
}

static void find_word_tokens(struct read_bench *r, const struct cuttle_model *model) {
	r->tokens = allocate_numbers(r->words.count, sizeof *r->tokens);
	for (size_t x = 0; x < r->words.count; x++) {
		char text[CUTTLE_WORDS_BYTES + 2];
		int32_t ids[2 * sizeof text];
		size_t count;
		const int size =
		    snprintf(text, sizeof text, " %s", cuttle_words_text(r->words.words, x));
		if (cuttle_tokenize(model, text, (size_t)size, false, ids, sizeof ids / sizeof *ids,
		                    &count, NULL) ||
		    count != 1)
			marked_stop("a word is not one token");
		r->tokens[x] = ids[0];
	}
}

static void draw_read_texts(struct read_bench *r, struct cuttle_perturber *perturber) {
	for (size_t slot = 0; slot < READ_SLOTS; slot++) {
		struct read_place *read = r->places + slot * TEXT_WORDS;
		struct cuttle_place places[TEXT_WORDS];
		int32_t outputs[TEXT_WORDS];
		for (size_t w = 0; w < TEXT_WORDS; w++) {
			const char *word = cuttle_words_text(r->words.words, (size_t)read[w].word);
			places[w] = (struct cuttle_place){CUTTLE_PLACE_WORD, word, strlen(word)};
		}
		if (cuttle_perturb(perturber, slot, 0, places, TEXT_WORDS, outputs, NULL))
			marked_stop("cannot perturb");
		for (size_t w = 0; w < TEXT_WORDS; w++) read[w].output = outputs[w];
	}
}

/* Sets r->logits. All draws grow together, by one output at a time. */
static void read_outputs(struct read_bench *r, const struct tokens *start) {
	const struct logit_source source = lockstep_source(r->lockstep);
	for (size_t slot = 0; slot < READ_SLOTS; slot++)
		(void)source.begin(source.self, slot, start, NULL, 0, &(struct tokens){0}, NULL);
	for (size_t w = 0; w < TEXT_WORDS; w++) {
		int32_t next[READ_SLOTS];
		source.public_logits(source.self);
		for (size_t slot = 0; slot < READ_SLOTS; slot++) {
			const size_t place = slot * TEXT_WORDS + w;
			const float *row = source.public_row(source.self, slot);
			float *logits = r->logits + place * r->words.count;
			for (size_t x = 0; x < r->words.count; x++) logits[x] = row[r->tokens[x]];
			next[slot] = r->tokens[r->places[place].output];
		}
		source.append(source.self, next);
	}
	for (size_t slot = 0; slot < READ_SLOTS; slot++) source.end(source.self, slot);
}

/* Weighs word x at a place. channel: the chance of the place's output where x stands. */
static void weigh_word(struct read_place *place, uint32_t x, float logit, double channel) {
	const double scores[READ_GUESSES] = {(double)logit, log(channel),
	                                     (double)logit + log(channel)};
	place->ties = scores[BY_CHANNEL] > place->most[BY_CHANNEL]
	                  ? 1
	                  : place->ties + (scores[BY_CHANNEL] == place->most[BY_CHANNEL]);
	if ((int32_t)x == place->word) place->own = scores[BY_CHANNEL];
	for (int g = 0; g < READ_GUESSES; g++) {
		if (scores[g] <= place->most[g]) continue;
		place->most[g] = scores[g];
		place->guess[g] = x;
	}
}

static void attack_read_texts(struct read_bench *r, const struct measured *m) {
	double right[READ_GUESSES] = {0}, by_lot = 0, unchanged = 0;
	for (size_t i = 0; i < READ_PLACES; i++)
		for (int g = 0; g < READ_GUESSES; g++) r->places[i].most[g] = -INFINITY;
	for (uint32_t x = 0; x < r->words.count; x++) {
		find_law(&r->words, m, x);
		for (size_t i = 0; i < READ_PLACES; i++)
			weigh_word(&r->places[i], x, r->logits[i * r->words.count + x],
			           r->words.law[r->places[i].output]);
	}
	for (size_t i = 0; i < READ_PLACES; i++) {
		const struct read_place *place = &r->places[i];
		for (int g = 0; g < READ_GUESSES; g++)
			right[g] += (int32_t)place->guess[g] == place->word;
		if (place->own == place->most[BY_CHANNEL]) by_lot += 1 / (double)place->ties;
		unchanged += place->output == place->word;
	}
	print_name(m);
	printf(" %.3f | %.3f | %.3f | %.3f | %.3f |\n", unchanged / READ_PLACES,
	       right[BY_MODEL] / READ_PLACES, right[BY_CHANNEL] / READ_PLACES, by_lot / READ_PLACES,
	       right[BY_BOTH] / READ_PLACES);
	(void)fflush(stdout);
}

static int run_channel(const char *model_path, const char *data, size_t count) {
	static struct read_bench r;
	int32_t ids[8], known[READ_WORDS];
	struct tokens start = {.ids = ids};
	struct cuttle_error error;
	const struct lockstep_params params = {
	    .slots = READ_SLOTS, .context = TEXT_WORDS + sizeof ids / sizeof *ids, .chunk = 64};
	marked_skip_without(data);
	struct cuttle_model *model = open_words_bench(&r.words, model_path, count, false);
	struct records *records = read_texts(data);
	take_known_words(r.words.words, records, known);
	for (size_t i = 0; i < READ_PLACES; i++) r.places[i].word = known[i % READ_WORDS];
	records_free(&records);
	find_word_tokens(&r, model);
	r.logits = allocate_numbers(READ_PLACES * r.words.count, sizeof *r.logits);
	// A text has a beginning, before which nothing stands: a new line.
	if (cuttle_tokenize(model, "\n", 1, true, ids, sizeof ids / sizeof *ids, &start.count,
	                    &error) ||
	    lockstep_new(&model->model, &params, &r.lockstep, &error))
		marked_stop(error.message);
	printf("| eps | mechanism | unchanged | model alone | channel alone | channel, ties by lot "
	       "| both |\n|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < READ_MECHANISM_COUNT; i++) {
		struct measured m = {0};
		open_mechanism(&r.words, &READ_MECHANISMS[i], true, &m);
		draw_read_texts(&r, m.perturber);
		read_outputs(&r, &start);
		attack_read_texts(&r, &m);
		cuttle_perturber_free(&m.perturber);
	}
	lockstep_free(&r.lockstep);
	cuttle_model_free(&model);
	close_words_bench(&r.words);
	free(r.tokens);
	free(r.logits);
	return 0;
}

/* ---- the design's table ---------------------------------------------------------------------- */

enum design_figure { COSINE, UNCHANGED, NEAR_WORD, INVERTED, BAYES, CHANNEL, DESIGN_FIGURES };

struct design_bench {
	struct words_bench words;
	int32_t known[READ_WORDS]; /* words of the texts whose channel is attacked */
	double samples[DESIGN_SEEDS][DESIGN_RADII]; /* quantiles of radii, for Z = 1 */
};

static int compare_radii(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sets d->samples to the quantiles .05, .25, .5, .75 and .95 of DESIGN_SAMPLE radii each. */
static void sample_design_radii(struct design_bench *d, const double *spreads) {
	static const double QUANTILES[DESIGN_RADII] = {.05, .25, .5, .75, .95};
	static double radii[DESIGN_SAMPLE];
	const size_t width = d->words.width;
	uint64_t *bits = allocate_numbers(width, sizeof *bits);
	for (uint64_t seed = 0; seed < DESIGN_SEEDS; seed++) {
		struct seeded seeded = {.seed = seed + READ_SEED};
		const struct dp_random random = seeded_random(&seeded);
		for (size_t i = 0; i < DESIGN_SAMPLE; i++) {
			(void)random.fill(random.user, bits, width * sizeof *bits);
			radii[i] = laws_rantext_radius(spreads, 1, bits, width);
		}
		qsort(radii, DESIGN_SAMPLE, sizeof *radii, compare_radii);
		for (size_t q = 0; q < DESIGN_RADII; q++)
			d->samples[seed][q] = radii[(size_t)(QUANTILES[q] * DESIGN_SAMPLE)];
	}
	free(bits);
}

/* Sets radii to those of a sample, scaled so that lists have `share` of the words in the mean. */
static void fit_design_radii(const struct words_bench *b, const double sample[DESIGN_RADII],
                             double share, double radii[DESIGN_RADII]) {
	const size_t pairs = b->count * b->count;
	double low = -14, high = 14; /* ln Z */
	for (int i = 0; i < DESIGN_BISECTIONS; i++) {
		const double middle = (low + high) / 2;
		size_t inside = 0;
		for (size_t q = 0; q < DESIGN_RADII; q++) {
			radii[q] = sample[q] / exp(middle);
			const float least = (float)(1 - radii[q] * radii[q] / 2);
			for (size_t pair = 0; pair < pairs; pair++)
				inside += b->cosines[pair] > least;
		}
		if ((double)inside > share * (double)(pairs * DESIGN_RADII)) low = middle;
		else high = middle;
	}
}

/* The share of the known words that the channel names: of equal chances the first word's counts. */
static double find_channel(struct design_bench *d, const struct measured *m) {
	double *right = allocate_numbers(d->words.count, sizeof *right), sum = 0;
	for (size_t x = 0; x < d->words.count; x++) right[x] = -1;
	for (size_t i = 0; i < READ_WORDS; i++) {
		const uint32_t x = (uint32_t)d->known[i];
		if (right[x] < 0) {
			right[x] = 0;
			find_law(&d->words, m, x);
			for (size_t y = 0; y < d->words.count; y++)
				if (m->likeliest[y] == x) right[x] += d->words.law[y];
		}
		sum += right[x];
	}
	free(right);
	return sum / READ_WORDS;
}

/* Measures the law, which `m` must not have been measured with before. */
static void measure_design(struct design_bench *d, struct measured *m,
                           double figures[DESIGN_FIGURES]) {
	struct words_bench *b = &d->words;
	m->cosine = m->unchanged = m->near_word = m->inverted = 0;
	for (size_t y = 0; y < b->count; y++) {
		m->most[y] = m->guess[y] = 0;
		m->least[y] = INFINITY;
	}
	for (uint32_t x = 0; x < b->count; x++) measure_word(b, m, x);
	figures[COSINE] = m->cosine;
	figures[UNCHANGED] = m->unchanged;
	figures[NEAR_WORD] = m->near_word;
	figures[INVERTED] = m->inverted;
	figures[BAYES] = sum_bayes(b, m);
	figures[CHANNEL] = find_channel(d, m);
}

/* Prints the mean of each figure, and its standard deviation over the samples. */
static void print_designed(const struct measured *m, double figures[][DESIGN_FIGURES]) {
	print_name(m);
	printf(" %d radii |", DESIGN_RADII);
	for (size_t f = 0; f < DESIGN_FIGURES; f++) {
		double sum = 0, square = 0;
		for (size_t s = 0; s < DESIGN_SEEDS; s++) sum += figures[s][f] / DESIGN_SEEDS;
		for (size_t s = 0; s < DESIGN_SEEDS; s++)
			square += (figures[s][f] - sum) * (figures[s][f] - sum);
		printf(" %.3f (%.3f) |", sum, sqrt(square / (DESIGN_SEEDS - 1)));
	}
	printf("\n");
}

static void print_design(struct design_bench *d, size_t which) {
	struct measured *m = &d->words.measured[which];
	double figures[DESIGN_SEEDS][DESIGN_FIGURES];
	open_measured(&d->words, which);
	measure_design(d, m, figures[0]);
	print_measured(&d->words, m);
	printf(" %.3f |\n", figures[0][CHANNEL]);
	(void)fflush(stdout);
	if (m->mechanism->method == CUTTLE_RANTEXT && m->mechanism->share > 0) {
		if (d->samples[0][0] == 0) sample_design_radii(d, m->perturber->baselines->spreads);
		m->radius_count = DESIGN_RADII;
		for (size_t s = 0; s < DESIGN_SEEDS; s++) {
			fit_design_radii(&d->words, d->samples[s], m->mechanism->share, m->radii);
			measure_design(d, m, figures[s]);
		}
		print_designed(m, figures);
	}
	close_measured(m);
}

static int run_design(const char *model_path, const char *data, const char *reviews, size_t count) {
	static struct design_bench d;
	marked_skip_without(data);
	marked_skip_without(reviews);
	struct cuttle_model *model = open_words_bench(&d.words, model_path, count, true);
	cuttle_model_free(&model);
	struct records *records = read_texts(data);
	count_words(&d.words, records, DESIGN_PRIOR);
	records_free(&records);
	records = read_texts(reviews);
	take_known_words(d.words.words, records, d.known);
	records_free(&records);
	printf("%zu words of %d letters or more; the likeliest word alone: %.3f\n\n", d.words.count,
	       DESIGN_LETTERS, find_surest(&d.words));
	printf("| eps | mechanism | true eps | mean cosine | unchanged | in 10 nearest | top-10 "
	       "inversion | Bayes | channel |\n|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < MECHANISM_COUNT; i++) print_design(&d, i);
	close_words_bench(&d.words);
	return 0;
}

/* ---- speed ----------------------------------------------------------------------------------- */

static double read_attacks_clock(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The next of a stream of random numbers in -1 .. 1 (xorshift of Marsaglia 2003). */
static float next_coordinate(uint64_t *state) {
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (float)((double)(*state >> 11) * 0x1p-52 - 1);
}

static struct cuttle_words *make_random_words(size_t count, size_t width, float *vectors) {
	char(*texts)[8] = allocate_numbers(count, sizeof *texts);
	const char **words = allocate_numbers(count, sizeof *words);
	uint64_t state = 88172645463325252u;
	for (size_t i = 0; i < count; i++) {
		for (size_t letter = 0, rest = i; letter < 4; letter++, rest /= 26)
			texts[i][letter] = (char)('a' + rest % 26);
		words[i] = texts[i];
		double square = 0;
		for (size_t j = 0; j < width; j++) {
			vectors[i * width + j] = next_coordinate(&state);
			square += (double)vectors[i * width + j] * (double)vectors[i * width + j];
		}
		for (size_t j = 0; j < width; j++) vectors[i * width + j] /= (float)sqrt(square);
	}
	struct cuttle_words *made;
	struct cuttle_error error;
	struct cuttle_words_params params;
	cuttle_words_params_default(&params);
	params.count = count;
	params.width = width;
	params.words = words;
	params.vectors = vectors;
	if (cuttle_words_make(&params, &made, &error)) marked_stop(error.message);
	free(texts);
	free(words);
	return made;
}

/* The least time of several runs, in seconds. */
static double time_method(const struct cuttle_words *words,
                          const struct cuttle_perturb_params *params, double *make_seconds) {
	static struct cuttle_place places[SPEED_WORDS];
	static int32_t ids[SPEED_WORDS];
	struct cuttle_perturber *p;
	struct cuttle_error error;
	double start = read_attacks_clock(), least = INFINITY;
	if (cuttle_perturber_make(words, NULL, params, &p, &error)) marked_stop(error.message);
	*make_seconds = read_attacks_clock() - start;
	for (size_t i = 0; i < SPEED_WORDS; i++) {
		const char *text = cuttle_words_text(words, i * 7 % cuttle_words_count(words));
		places[i] = (struct cuttle_place){CUTTLE_PLACE_WORD, text, strlen(text)};
	}
	for (int i = 0; i < SPEED_RUNS; i++) {
		start = read_attacks_clock();
		if (cuttle_perturb(p, 0, 0, places, SPEED_WORDS, ids, &error))
			marked_stop(error.message);
		least = fmin(least, read_attacks_clock() - start);
	}
	cuttle_perturber_free(&p);
	return least;
}

static int run_speed(size_t count, size_t width) {
	static const char *const names[] = {"rank",     "RANTEXT", "SANTEXT",
	                                    "SANTEXT+", "CUSTEXT", "CUSTEXT+"};
	float *vectors = allocate_numbers(count * width, sizeof *vectors),
	      *cosines = allocate_numbers(PERTURB_BLOCK * count, sizeof *cosines);
	struct cuttle_words *words = make_random_words(count, width, vectors);
	double bound = INFINITY;
	for (int i = 0; i < SPEED_RUNS; i++) {
		const double start = read_attacks_clock();
		cuttle_words_cosines(words, vectors, PERTURB_BLOCK, cosines);
		bound = fmin(bound, read_attacks_clock() - start);
	}
	const double flops = 2 * (double)count * (double)width, block = PERTURB_BLOCK;
	printf("%zu words of %zu coordinates: %.1f Mflop a word, %.1f MB a block of %d\n", count,
	       width, flops / 1e6, (double)(count * width) * 4 / 1e6, PERTURB_BLOCK);
	printf("cosines alone: %.0f words/s, %.1f Gflop/s, %.2f GB/s\n", block / bound,
	       flops * block / bound / 1e9, (double)(count * width) * 4 / bound / 1e9);
	for (int m = CUTTLE_RANK; m <= CUTTLE_CUSTEXT_PLUS; m++) {
		struct cuttle_perturb_params params;
		cuttle_perturb_params_default(&params);
		params.method = (enum cuttle_word_method)m;
		const char *sensitive[] = {cuttle_words_text(words, 0),
		                           cuttle_words_text(words, 1)};
		params.sensitive = sensitive;
		params.sensitive_count = 2;
		double make_seconds;
		const double seconds = time_method(words, &params, &make_seconds);
		printf("%-8s %6.0f words/s, %6.2f ms for 100, %.2f s to make\n", names[m],
		       SPEED_WORDS / seconds, seconds * 1e5 / SPEED_WORDS, make_seconds);
	}
	cuttle_words_free(&words);
	free(vectors);
	free(cosines);
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 5 && !strcmp(argv[1], "attacks"))
		return run_attacks(argv[2], argv[3], (size_t)atoi(argv[4]));
	if (argc == 5 && !strcmp(argv[1], "channel"))
		return run_channel(argv[2], argv[3], (size_t)atoi(argv[4]));
	if (argc == 6 && !strcmp(argv[1], "design"))
		return run_design(argv[2], argv[3], argv[4], (size_t)atoi(argv[5]));
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "speed"))
		return run_speed((size_t)atoi(argv[2]), argc == 4 ? (size_t)atoi(argv[3]) : 576);
	marked_stop("usage: words_attacks attacks|channel MODEL DATA.jsonl WORDS, words_attacks "
	            "design MODEL DATA.jsonl REVIEWS.jsonl WORDS, or words_attacks speed WORDS "
	            "[WIDTH]");
}
