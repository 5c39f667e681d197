// SPDX-License-Identifier: Apache-2.0
// Plays the recovery game against what DP-Fusion writes: which of five values does a group have?
// No output is private: use documents that may be shown.
//
// usage: recovery MODEL DATA.jsonl DOCUMENTS CHARACTERS TOKENS
//   DOCUMENTS   so many, the first of the file; each is a game for PERSON, CODE and DATETIME
//   CHARACTERS  so many of each, from its beginning
//   TOKENS      of each text that is written, at most
//
// Each document is written anew once for each setting. The attacker sees the tokens drawn, and the
// document but for one group. Five documents are candidates: the true one, and four with the
// group's contents from other documents; a content that stands twice is replaced by one content
// twice. The model itself scores them: it tells the log-probability of each token drawn, had the
// candidate been shown. LOSS takes the largest sum; MIN-K the largest mean of the smallest K
// percent. Candidates are shuffled, and equals are chosen among at random. Chance is one in five.
// The texts and the game are seeded, so that a table can be made again. It ends with 1 when a rule
// won more often than a ceiling that is proven, by the whole of its interval.
#include "bench/marked.h"
#include "engine/cuttle/text.h"
#include "engine/forward/forward.h"
#include "engine/machine/region.h"
#include "engine/run/plan/rewrite.h"
#include "engine/run/plan/seeded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GUESSES = 5,               /* candidates of a game */
	CONTEXT = 1024,            /* tokens of one context, at most */
	CHUNK = 128,               /* rows of one pass over a prompt */
	HEAD_ROWS = 16,            /* rows of one product with the output head */
	MOST_TOKENS = CONTEXT / 4, /* tokens of a text, at most */
	MOST_CONTENTS = 32,        /* unlike contents of a group, those beyond are not replaced */
	SETTINGS = 7,
	RULES = 6, /* ways to guess */
};
/* What is drawn from. The first shows no mark, the last all of them; the others mix at c. */
static const struct setting {
	const char *name;
	double divergence; /* c; 0 = the public context alone */
	bool original;     /* the public context shows all marks */
} SETTING[SETTINGS] = {
    {"public", 0, false}, {"c .001", .001, false}, {"c .01", .01, false}, {"c .1", .1, false},
    {"c 1", 1, false},    {"c 10", 10, false},     {"original", 0, true},
};
/* Percent of the tokens whose log-probabilities are averaged; 100 is LOSS. */
static const unsigned RULE_PERCENT[RULES] = {100, 5, 10, 20, 30, 40};
static const char *const PLAYED[] = {"PERSON", "CODE", "DATETIME"};

struct drawn_text {
	int32_t ids[MOST_TOKENS];
	size_t count;
};

struct game_bench {
	struct cuttle_model *model;
	struct cuttle_rewriter *rewriter; /* whose prompt candidates are written in */
	struct marked marked;
	struct drawn_text *texts[SETTINGS]; /* [documents] */
	struct arena shown;                 /* the context that was asked for last */
	const struct setting *setting;      /* that texts are drawn for now */
	struct seeded seeded;               /* shuffles and ties */

	struct forward *forward;
	struct region region;
	struct context context;
	float *hidden; /* [CHUNK][width] */
	float *last;   /* [width] the output of the prompt's last token */
	float *logits; /* [HEAD_ROWS][padded] */
	size_t padded; /* vocabulary rounded up to 16 */

	size_t games;
	size_t won[SETTINGS][RULES];
	double tokens[SETTINGS]; /* drawn, over all documents */
};

static uint64_t draw_below(struct game_bench *b, uint64_t end) {
	const struct dp_random random = seeded_random(&b->seeded);
	uint64_t word;
	(void)random.fill(random.user, &word, sizeof word);
	return word % end;
}

/* ---- the texts ------------------------------------------------------------------------------- */

static uint32_t tell_game_groups(void *user, size_t document) {
	const struct game_bench *b = user;
	return b->setting->divergence > 0 ? b->marked.documents[document].groups != 0 : 0;
}

static void give_context(void *user, size_t document, uint32_t group, const char **text,
                         size_t *size) {
	struct game_bench *b = user;
	const bool all = b->setting->original || group == CUTTLE_EVERY_GROUP;
	marked_write(&b->marked, document, all ? b->marked.documents[document].groups : MARKS_BLANK,
	             "_", &b->shown);
	*text = b->shown.bytes;
	*size = b->shown.used;
}

static int keep_game_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct game_bench *b = user;
	struct drawn_text *drawn = &b->texts[b->setting - SETTING][text];
	drawn->ids[step] = token < 0 ? ~token : token;
	drawn->count = step + 1;
	return 0;
}

static int pass_text(void *user, const struct cuttle_text *text) {
	(void)user;
	(void)text;
	return 0;
}

static struct cuttle_rewriter *make_game_rewriter(struct cuttle_model *model, double divergence,
                                                  uint32_t tokens) {
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter;
	struct cuttle_error error;
	cuttle_rewrite_params_default(&params);
	params.divergence = divergence > 0 ? divergence : 1;
	params.alpha = 2;
	params.tokens = params.max_length = tokens;
	params.context = CONTEXT;
	params.insecure = true;
	params.insecure_seed = 1;
	if (cuttle_rewriter_make(model, &params, &rewriter, &error)) marked_stop(error.message);
	return rewriter;
}

static void write_game_texts(struct game_bench *b, size_t setting, uint32_t tokens) {
	struct cuttle_rewriter *rewriter =
	    make_game_rewriter(b->model, SETTING[setting].divergence, tokens);
	struct cuttle_rewrite_job job;
	struct cuttle_error error;
	cuttle_rewrite_job_default(&job);
	job.documents = b->marked.count;
	job.user = b;
	job.groups = tell_game_groups;
	job.context = give_context;
	job.token = keep_game_token;
	job.text = pass_text;
	b->setting = &SETTING[setting];
	b->texts[setting] = calloc(b->marked.count, sizeof *b->texts[setting]);
	if (!b->texts[setting]) marked_stop("out of memory");
	if (cuttle_rewriter_run(rewriter, &job, &error)) marked_stop(error.message);
	cuttle_rewriter_free(&rewriter);
	for (size_t i = 0; i < b->marked.count; i++)
		b->tokens[setting] += (double)b->texts[setting][i].count;
}

/* ---- the candidates -------------------------------------------------------------------------- */

struct contents {
	const char *text[MOST_CONTENTS];
	size_t size[MOST_CONTENTS];
	size_t count;
};

/* Number of a content in the list; its count when it is not there. */
static size_t find_content(const struct contents *list, const char *text, size_t size) {
	size_t i = 0;
	while (i < list->count && (list->size[i] != size || memcmp(list->text[i], text, size) != 0))
		i++;
	return i;
}

/* The unlike contents of a group, from left to right. */
static struct contents list_contents(const struct marked_document *d, uint32_t group) {
	const struct mark *marks = marks_all(&d->marks);
	struct contents list = {.count = 0};
	for (size_t i = 0; i < marks_count(&d->marks) && list.count < MOST_CONTENTS; i++) {
		const char *text = d->spans.text.bytes + marks[i].start;
		const size_t size = marks[i].end - marks[i].start;
		if (marks[i].group != group || find_content(&list, text, size) < list.count)
			continue;
		list.text[list.count] = text;
		list.size[list.count++] = size;
	}
	return list;
}

/* Writes the whole document, with the donor's contents in the group: first for first. Marks in no
 * group are left blank, as the rewriter's contexts have them. */
static void write_candidate(const struct marked_document *d, uint32_t group,
                            const struct contents *own, const struct contents *donor,
                            struct arena *out) {
	const struct mark *marks = marks_all(&d->marks);
	const char *text = d->spans.text.bytes;
	size_t at = 0;
	bool good = true;
	out->used = 0;
	for (size_t i = 0; i < marks_count(&d->marks); i++) {
		const char *content = text + marks[i].start;
		size_t size = marks[i].end - marks[i].start;
		const size_t number =
		    marks[i].group == group ? find_content(own, content, size) : own->count;
		if (marks[i].group == GROUP_BLANK) {
			content = "_";
			size = 1;
		} else if (number < own->count) {
			content = donor->text[number];
			size = donor->size[number];
		}
		good = good && arena_append(out, text + at, marks[i].start - at) &&
		       arena_append(out, content, size);
		at = marks[i].end;
	}
	if (!good || !arena_append(out, text + at, d->spans.text.used - at))
		marked_stop("out of memory");
}

/* Chooses the four other documents whose contents are candidates: each has as many contents, and
 * its first is unlike all others'. False: there are too few. */
static bool choose_donors(struct game_bench *b, size_t document, uint32_t group,
                          struct contents lists[GUESSES]) {
	size_t count = 1;
	lists[0] = list_contents(&b->marked.documents[document], group);
	if (!lists[0].count) return false;
	for (size_t tries = 0; tries < 50 * b->marked.count && count < GUESSES; tries++) {
		const size_t other = draw_below(b, b->marked.count);
		const struct contents list = list_contents(&b->marked.documents[other], group);
		bool fresh = list.count >= lists[0].count;
		for (size_t i = 0; i < count && fresh; i++)
			fresh = list.size[0] != lists[i].size[0] ||
			        memcmp(list.text[0], lists[i].text[0], list.size[0]) != 0;
		if (fresh) lists[count++] = list;
	}
	return count == GUESSES;
}

/* ---- the scores ------------------------------------------------------------------------------ */

static double compute_token_log(const float *logits, size_t vocab, int32_t token) {
	float most = logits[0];
	double sum = 0;
	for (size_t i = 1; i < vocab; i++) most = fmaxf(most, logits[i]);
	for (size_t i = 0; i < vocab; i++) sum += (double)expf(logits[i] - most);
	return (double)(logits[token] - most) - log(sum);
}

/* Runs tokens at `position` and the following ones; hidden[] gets their outputs. */
static void run_rows(struct game_bench *b, const int32_t *ids, size_t count, size_t position) {
	struct row rows[CHUNK];
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){&b->context, position + i, ids[i],
		                       b->hidden + i * b->model->model.width};
	forward_rows(b->forward, rows, count, false);
}

/* Reads a candidate's prompt and returns its number of tokens. */
static size_t read_candidate(struct game_bench *b, const struct arena *text) {
	const size_t width = b->model->model.width, limit = b->rewriter->guarantee.document_tokens;
	struct cuttle_error error;
	size_t count, some;
	int32_t *ids = malloc(prompt_private_capacity(&b->rewriter->prompt, limit) * sizeof *ids);
	if (!ids) marked_stop("out of memory");
	if (prompt_document(&b->model->model, &b->rewriter->prompt, text->bytes, text->used, limit,
	                    ids, &count, &error))
		marked_stop(error.message);
	for (size_t done = 0; done < count; done += some) {
		some = count - done < CHUNK ? count - done : CHUNK;
		run_rows(b, ids + done, some, done);
		memcpy(b->last, b->hidden + (some - 1) * width, width * sizeof *b->last);
	}
	free(ids);
	return count;
}

/* Writes the log-probabilities of a text's tokens behind a prompt that was read. */
static void score_drawn_text(struct game_bench *b, size_t prompt, const struct drawn_text *text,
                             double *logs) {
	const size_t width = b->model->model.width, vocab = b->model->model.vocab_size;
	for (size_t done = 0; done < text->count; done += HEAD_ROWS) {
		const float *hidden[HEAD_ROWS] = {b->last};
		const size_t some = text->count - done < HEAD_ROWS ? text->count - done : HEAD_ROWS;
		float *carried = b->hidden + (CHUNK - 1) * width;
		if (done) hidden[0] = carried;
		run_rows(b, text->ids + done, some, prompt + done);
		for (size_t i = 1; i < some; i++) hidden[i] = b->hidden + (i - 1) * width;
		forward_head(b->forward, hidden, some, NULL, b->padded / GEMM_GROUP, b->logits,
		             b->padded);
		for (size_t i = 0; i < some; i++)
			logs[done + i] = compute_token_log(b->logits + i * b->padded, vocab,
			                                   text->ids[done + i]);
		memcpy(carried, b->hidden + (some - 1) * width, width * sizeof *carried);
	}
}

static int compare_logs(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The score by a rule: the mean of the smallest K percent, at least one. The logs are sorted. */
static double score_by_rule(const double *logs, size_t count, unsigned percent) {
	const size_t some = (count * percent + 99) / 100;
	double sum = 0;
	for (size_t i = 0; i < some; i++) sum += logs[i];
	return sum / (double)some;
}

/* Plays one game in all settings. */
static void play_game(struct game_bench *b, size_t document, uint32_t group) {
	static double scores[GUESSES][SETTINGS][RULES];
	struct contents lists[GUESSES];
	struct arena text = {0};
	size_t order[GUESSES] = {0, 1, 2, 3, 4};
	if (!choose_donors(b, document, group, lists)) return;
	for (size_t i = GUESSES - 1; i > 0; i--) {
		const size_t j = draw_below(b, i + 1), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < GUESSES; i++) {
		write_candidate(&b->marked.documents[document], group, &lists[0], &lists[order[i]],
		                &text);
		const size_t prompt = read_candidate(b, &text);
		for (size_t s = 0; s < SETTINGS; s++) {
			double logs[MOST_TOKENS];
			const struct drawn_text *drawn = &b->texts[s][document];
			score_drawn_text(b, prompt, drawn, logs);
			qsort(logs, drawn->count, sizeof *logs, compare_logs);
			for (size_t r = 0; r < RULES; r++)
				scores[i][s][r] =
				    score_by_rule(logs, drawn->count, RULE_PERCENT[r]);
		}
	}
	for (size_t s = 0; s < SETTINGS; s++)
		for (size_t r = 0; r < RULES; r++) {
			size_t best = 0, equals = 1;
			for (size_t i = 1; i < GUESSES; i++) {
				if (scores[i][s][r] < scores[best][s][r]) continue;
				equals = scores[i][s][r] > scores[best][s][r] ? 1 : equals + 1;
				if (draw_below(b, equals) == 0) best = i;
			}
			b->won[s][r] += order[best] == 0;
		}
	b->games++;
	arena_free(&text);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Prints a share of successes with its Wilson interval of 95 %, in percent. Returns the lower end,
 * as a share. */
static double print_interval(size_t won, size_t games) {
	const double n = (double)games, z = 1.959964, share = (double)won / n,
	             middle = (share + z * z / (2 * n)) / (1 + z * z / n),
	             half =
	                 z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
	printf(" %.1f [%.1f, %.1f] |", 100 * share, 100 * (middle - half), 100 * (middle + half));
	return middle - half;
}

/* Prints and returns what is proven of a game at this c, for T tokens at alpha 2 and delta 1e-3. */
static double print_ceiling(double divergence, uint32_t tokens) {
	struct cuttle_rewrite_budget budget;
	struct cuttle_error error;
	cuttle_rewrite_budget_none(&budget);
	budget.divergence = divergence;
	budget.tokens = tokens;
	budget.delta = 1e-3;
	budget.alpha = 2;
	if (cuttle_rewrite_budget_solve(&budget, &error)) marked_stop(error.message);
	if (budget.all.ceiling < 1) printf(" %.1f |", 100 * budget.all.ceiling);
	else printf(" none |");
	return budget.all.ceiling;
}

/* False: some rule won more often than is proven possible, by its whole interval. */
static bool print_games(const struct game_bench *b, uint32_t tokens) {
	printf("%zu games\n\n| drawn from | tokens | LOSS |", b->games);
	for (size_t r = 1; r < RULES; r++) printf(" MIN-%u |", RULE_PERCENT[r]);
	printf(" ceiling |\n|---|---|---|---|---|---|---|---|---|\n");
	bool held = true;
	for (size_t s = 0; s < SETTINGS; s++) {
		double most = 0, ceiling = SETTING[s].original ? 1 : 1.0 / GUESSES;
		printf("| %s | %.1f |", SETTING[s].name, b->tokens[s] / (double)b->marked.count);
		for (size_t r = 0; r < RULES; r++)
			most = fmax(most, print_interval(b->won[s][r], b->games));
		if (SETTING[s].divergence > 0)
			ceiling = print_ceiling(SETTING[s].divergence, tokens);
		else printf(" %s |", SETTING[s].original ? "none" : "20.0");
		printf("\n");
		held = held && most <= ceiling;
	}
	if (!held) printf("\na ceiling does not hold\n");
	return held;
}

static void open_scorer(struct game_bench *b) {
	const struct model *m = &b->model->model;
	struct cuttle_error error;
	size_t total = 0, kv = 0;
	const size_t capacity = kv_capacity(CONTEXT);
	b->padded = (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP * GEMM_GROUP;
	if (forward_new(m, CHUNK, HEAD_ROWS, CONTEXT, &b->forward, &error))
		marked_stop(error.message);
	if (!kv_bytes(m, capacity, &kv) || !region_add(&total, 1, kv) ||
	    !region_add(&total, CHUNK + 1, m->width * sizeof(float)) ||
	    !region_add(&total, 1, 64) ||
	    !region_add(&total, HEAD_ROWS, b->padded * sizeof(float)) ||
	    !region_map(&b->region, total, false))
		marked_stop("out of memory");
	b->context.own = (struct kv_block){region_carve(&b->region, kv), capacity};
	b->hidden = region_carve(&b->region, CHUNK * m->width * sizeof(float));
	b->last = region_carve(&b->region, m->width * sizeof(float));
	b->logits = region_carve(&b->region, HEAD_ROWS * b->padded * sizeof(float));
}

int main(int argc, char **argv) {
	static struct game_bench b;
	struct cuttle_error error;
	if (argc != 6) marked_stop("usage: recovery MODEL DATA.jsonl DOCUMENTS CHARACTERS TOKENS");
	const uint32_t tokens = (uint32_t)atoi(argv[5]);
	if (tokens < 1 || tokens > MOST_TOKENS) marked_stop("TOKENS is out of range");
	marked_skip_without(argv[2]);
	marked_read(argv[2], (size_t)atoi(argv[3]), (size_t)atoi(argv[4]), &b.marked);
	if (cuttle_model_open(argv[1], NULL, &b.model, &error)) marked_stop(error.message);
	b.seeded = (struct seeded){.seed = 2};
	for (size_t s = 0; s < SETTINGS; s++) write_game_texts(&b, s, tokens);
	(void)fprintf(stderr, "all texts are written\n");
	b.rewriter = make_game_rewriter(b.model, 1, tokens);
	open_scorer(&b);
	for (size_t i = 0; i < b.marked.count; i++) {
		for (size_t p = 0; p < sizeof PLAYED / sizeof *PLAYED; p++)
			for (uint32_t group = 0; group < groups_count(&b.marked.groups); group++)
				if (!strcmp(b.marked.groups.all[group].name, PLAYED[p]))
					play_game(&b, i, group);
		if (i % 10 == 9) (void)fprintf(stderr, "%zu games\n", b.games);
	}
	const bool held = print_games(&b, tokens);
	forward_free(&b.forward);
	region_unmap(&b.region, false);
	arena_free(&b.shown);
	for (size_t s = 0; s < SETTINGS; s++) free(b.texts[s]);
	cuttle_rewriter_free(&b.rewriter);
	marked_free(&b.marked);
	cuttle_model_free(&b.model);
	return held ? 0 : 1;
}
