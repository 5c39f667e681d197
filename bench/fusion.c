// SPDX-License-Identifier: Apache-2.0
// Measures how much of a document can be rebuilt under what DP-Fusion draws from. The measure is
// the perplexity of the original. Nothing is drawn, and no output is private: use documents that
// may be shown.
//
// usage: fusion MODEL DATA.jsonl DOCUMENTS CHARACTERS PLACEHOLDER [prefill]
//   DOCUMENTS    so many are measured, the first of the file
//   CHARACTERS   so many of each, from its beginning
//   PLACEHOLDER  what stands for a blank mark, as _ or [{type}]
//
// Each original goes token by token through the contexts of a rewriter: the public one, one with
// all marks, and one for each group. At each token the integers of dp/ give its probability. The
// first table is that of the whole vocabulary. The second one takes 200 candidates, and counts the
// tokens among them. The program fails when a perplexity is not between that of the public context
// and that of the original, or rises with the divergence, by more than half a percent.
// With `prefill` it counts the prompt tokens that are computed, instead, and times them.
#include "bench/marked.h"
#include "dp/fixed.h"
#include "dp/rowlaw.h"
#include "dp/share.h"
#include "dp/topk.h"
#include "engine/cuttle/text.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/rewrite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double DIVERGENCES[] = {.001, .01, .1, 1, 10}; /* c, nats per token */
enum {
	DIVERGENCE_COUNT = sizeof DIVERGENCES / sizeof *DIVERGENCES,
	ORDER = 2,                          /* alpha: the only one that all mixes have */
	MOST_SHARE = 1 << 15,               /* of the mix capped: one half */
	CANDIDATES = 200,                   /* k of the second table */
	CONTEXT = 2048,                     /* tokens of one context, at most */
	MOST_VOCAB = 1 << 17,               /* tokens of the model's vocabulary, at most */
	MOST_ROWS = CUTTLE_MOST_GROUPS + 1, /* private rows: of all marks, and of each group */
};
#define TOLERANCE 1.005

/* How private rows are joined, and how c is understood. */
enum fusion_mix { ALL, AVERAGE, AVERAGE_EQUAL, CAPPED, FUSION_MIXES };
static const char *const MIX_NAMES[] = {"all", "average, c of each row",
                                        "average, loss of one group", "capped, loss of one group"};

struct mean_log {
	double sum;   /* of ln P */
	size_t count; /* tokens */
};

struct fusion_bench {
	const struct model *model;
	struct cuttle_rewriter *rewriter;
	struct dp_rowlaw rowlaw;
	struct lockstep *lockstep;
	uint8_t *allowed; /* [vocabulary] */
	uint32_t *tokens; /* [count] all that may be drawn, ascending */
	size_t count;
	int32_t *fixed;       /* [count] the public row's, for the candidates */
	uint32_t *candidates; /* [count] positions in `tokens` */
	uint64_t
	    *law[MOST_ROWS + 1]; /* [count] each; the first is public, the second of all marks */
	uint64_t *few[2];        /* [count] the first two among the candidates */

	struct mean_log public_row, original, mixed[FUSION_MIXES][DIVERGENCE_COUNT];
	double share[DIVERGENCE_COUNT]; /* of the mix all, summed over tokens */

	/* Tokens among the candidates: with k = 200, and with the whole vocabulary. */
	struct mean_log few_public, few_mixed[DIVERGENCE_COUNT], same_mixed[DIVERGENCE_COUNT];
};

static void *allocate_array(size_t count, size_t size) {
	void *array = calloc(count, size);
	if (!array) marked_stop("out of memory");
	return array;
}

static void add_log(struct mean_log *mean, double probability) {
	mean->sum += log(probability);
	mean->count++;
}

static double compute_perplexity(const struct mean_log *mean) {
	return exp(-mean->sum / (double)mean->count);
}

/* The probability of candidate `at` when a share of `b` is mixed into `a`. */
static double mix_probability(const uint64_t *a, const uint64_t *b, size_t at, uint32_t share) {
	return ((double)(DP_SHARE_ONE - share) * (double)a[at] + (double)share * (double)b[at]) *
	       0x1p-62;
}

/* The mean over all rows of groups. `equal`: c is the loss of one group; a row then may have more,
 * since ln(1 + (e^c - 1) m) in one of m rows costs c. */
static double average_probability(const struct fusion_bench *b, size_t rows, size_t at, double c,
                                  bool equal) {
	const double own = equal ? log1p((double)rows * expm1(c)) : c;
	double sum = 0;
	for (size_t row = 2; row < rows + 2; row++)
		sum += mix_probability(b->law[0], b->law[row], at,
		                       dp_share_bounded(b->law[0], b->law[row], b->count, ORDER,
		                                        dp_share_cap(ORDER, own)));
	return sum / (double)rows;
}

static double cap_probability(const struct fusion_bench *b, size_t rows, size_t at, double c) {
	const double m = (double)rows,
	             cap = m * m * (1 - (double)MOST_SHARE / DP_SHARE_ONE) * expm1(c);
	double sum = 0;
	for (size_t row = 2; row < rows + 2; row++)
		sum += mix_probability(
		    b->law[0], b->law[row], at,
		    dp_share_capped(b->law[0], b->law[row], b->count, MOST_SHARE, cap));
	return sum / m;
}

/* Measures the same token among CANDIDATES; whole[] has its probabilities without that limit. */
static void measure_few(struct fusion_bench *b, const float *public_row, const float *all_row,
                        size_t at, const double *whole) {
	static float row[2][MOST_VOCAB];
	static int32_t heap[CANDIDATES];
	if (!dp_fix(public_row, b->count, DP_ROWLAW_FRACTION_BITS, b->fixed))
		marked_stop("public logits");
	const size_t count =
	    dp_topk(b->fixed, NULL, b->count, CANDIDATES, 1, 0, heap, b->candidates);
	size_t place = count;
	for (size_t i = 0; i < count; i++) {
		row[0][i] = public_row[b->candidates[i]];
		row[1][i] = all_row[b->candidates[i]];
		if (b->candidates[i] == at) place = i;
	}
	if (place == count) return;
	for (size_t i = 0; i < 2; i++)
		if (!dp_rowlaw_make(&b->rowlaw, row[i], count, b->few[i]))
			marked_stop("logits are not finite");
	add_log(&b->few_public, (double)b->few[0][place] * 0x1p-46);
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++) {
		const uint32_t share = dp_share_bounded(b->few[0], b->few[1], count, ORDER,
		                                        dp_share_cap(ORDER, DIVERGENCES[c]));
		add_log(&b->few_mixed[c], mix_probability(b->few[0], b->few[1], place, share));
		add_log(&b->same_mixed[c], whole[c]);
	}
}

/* Takes the logits of the tokens that may be drawn, and makes a law of them. */
static void make_row_law(const struct fusion_bench *b, const float *logits, uint64_t *law) {
	if (!dp_rowlaw_make(&b->rowlaw, logits, b->count, law))
		marked_stop("logits are not finite");
}

/* Measures the token at position `at` of b->tokens. The document has `rows` groups. */
static void measure_token(struct fusion_bench *b, const struct logit_source *source, size_t rows,
                          size_t at) {
	static float public_row[MOST_VOCAB];
	const float *logits = source->public_row(source->self, 0);
	double whole[DIVERGENCE_COUNT];
	for (size_t i = 0; i < b->count; i++) public_row[i] = logits[b->tokens[i]];
	make_row_law(b, public_row, b->law[0]);
	source->private_logits(source->self, 0, 0, rows + 1, b->tokens, b->count);
	for (size_t row = 0; row < rows + 1; row++)
		make_row_law(b, source->row(source->self, row), b->law[row + 1]);
	const uint64_t *a = b->law[0], *all = b->law[1];
	add_log(&b->public_row, (double)a[at] * 0x1p-46);
	add_log(&b->original, (double)all[at] * 0x1p-46);
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++) {
		const double loss = DIVERGENCES[c];
		const uint32_t share =
		    dp_share_bounded(a, all, b->count, ORDER, dp_share_cap(ORDER, loss));
		b->share[c] += share / (double)DP_SHARE_ONE;
		whole[c] = mix_probability(a, all, at, share);
		add_log(&b->mixed[ALL][c], whole[c]);
		add_log(&b->mixed[AVERAGE][c], average_probability(b, rows, at, loss, false));
		add_log(&b->mixed[AVERAGE_EQUAL][c], average_probability(b, rows, at, loss, true));
		add_log(&b->mixed[CAPPED][c], cap_probability(b, rows, at, loss));
	}
	measure_few(b, public_row, source->row(source->self, 0), at, whole);
}

/* Writes the context of a document in which the groups in `shown` are shown. */
static struct tokens write_shown(const struct fusion_bench *b, const struct marked *marked,
                                 size_t document, uint32_t shown, const char *placeholder) {
	const size_t limit = b->rewriter->guarantee.document_tokens;
	struct arena text = {0};
	struct cuttle_error error;
	struct tokens tokens = {
	    .ids = allocate_array(prompt_private_capacity(&b->rewriter->prompt, limit),
	                          sizeof(int32_t))};
	marked_write(marked, document, shown, placeholder, &text);
	if (prompt_document(b->model, &b->rewriter->prompt, text.bytes, text.used, limit,
	                    tokens.ids, &tokens.count, &error))
		marked_stop(error.message);
	arena_free(&text);
	return tokens;
}

static void measure_document(struct fusion_bench *b, struct cuttle_model *model,
                             const struct marked *marked, size_t document,
                             const char *placeholder) {
	const struct logit_source source = lockstep_source(b->lockstep);
	const struct marked_document *d = &marked->documents[document];
	const size_t capacity = cuttle_tokens_bound(d->spans.text.used);
	int32_t *ids = allocate_array(capacity, sizeof *ids);
	struct place_context places[MOST_ROWS];
	struct cuttle_error error;
	size_t count, rows = 0;
	if (cuttle_tokenize(model, d->spans.text.bytes, d->spans.text.used, false, ids, capacity,
	                    &count, &error))
		marked_stop(error.message);
	struct tokens whole = write_shown(b, marked, document, MARKS_BLANK, placeholder);
	places[0] =
	    (struct place_context){write_shown(b, marked, document, d->groups, placeholder), 0};
	for (uint32_t group = 0; group < groups_count(&marked->groups); group++)
		if (d->groups >> group & 1)
			places[++rows] = (struct place_context){
			    write_shown(b, marked, document, 1u << group, placeholder), 0};
	if (!rows) marked_stop("a document has no mark");
	(void)source.begin(source.self, 0, &whole, places, rows + 1, &(struct tokens){0}, NULL);
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < b->count && b->tokens[at] != (uint32_t)ids[i]) at++;
		if (at == b->count) marked_stop("a token of the document may not be drawn");
		source.public_logits(source.self);
		measure_token(b, &source, rows, at);
		source.append(source.self, &ids[i]);
	}
	source.end(source.self, 0);
	free(whole.ids);
	for (size_t row = 0; row < rows + 1; row++) free(places[row].tokens.ids);
	free(ids);
}

/* Prints a line of a table, and returns whether its numbers are where they must be: between the
 * two ends, and never rising. */
static bool print_line(const char *name, const struct mean_log *means, double upper, double lower) {
	bool good = true;
	double before = upper;
	printf("| %s |", name);
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++) {
		const double value = compute_perplexity(&means[c]);
		printf(" %.4f |", value);
		good = good && value <= before * TOLERANCE && value * TOLERANCE >= lower;
		before = value;
	}
	printf("\n");
	return good;
}

static void print_divergences(const char *first) {
	printf("\n| %s |", first);
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++) printf(" %g |", DIVERGENCES[c]);
	printf("\n|---|");
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++) printf("---|");
	printf("\n");
}

static bool print_tables(const struct fusion_bench *b) {
	const double upper = compute_perplexity(&b->public_row),
	             lower = compute_perplexity(&b->original);
	bool good = true;
	printf("%zu tokens; public %.4f, original %.4f\n", b->original.count, upper, lower);
	print_divergences("perplexity at c");
	for (size_t mix = 0; mix < FUSION_MIXES; mix++)
		good &= print_line(MIX_NAMES[mix], b->mixed[mix], upper, lower);
	printf("| mean share of the private row, all |");
	for (size_t c = 0; c < DIVERGENCE_COUNT; c++)
		printf(" %.4f |", b->share[c] / (double)b->original.count);
	printf("\n\n%zu tokens among %d candidates; public %.4f\n", b->few_public.count, CANDIDATES,
	       compute_perplexity(&b->few_public));
	print_divergences("perplexity of these at c");
	good &=
	    print_line("all, 200 candidates", b->few_mixed, compute_perplexity(&b->few_public), 0);
	good &= print_line("all, whole vocabulary", b->same_mixed, INFINITY, 0);
	return good;
}

static void open_bench(struct fusion_bench *b, struct cuttle_model *model) {
	struct cuttle_rewrite_params params;
	struct cuttle_error error;
	cuttle_rewrite_params_default(&params);
	params.divergence = 1;
	params.tokens = CONTEXT / 2;
	params.context = CONTEXT;
	params.any_memory = true;
	b->model = &model->model;
	const size_t vocab = b->model->vocab_size;
	if (vocab > MOST_VOCAB) marked_stop("a vocabulary this large does not fit");
	if (cuttle_rewriter_make(model, &params, &b->rewriter, &error)) marked_stop(error.message);
	if (dp_rowlaw_init(&b->rowlaw, 1, 1)) marked_stop("out of memory");
	struct lockstep_params lockstep = rewrite_lockstep(b->rewriter, MOST_ROWS, 1);
	lockstep.prefix.count = 0;
	if (lockstep_new(b->model, &lockstep, &b->lockstep, &error)) marked_stop(error.message);
	if (!(b->allowed = plan_allowed_tokens(b->model))) marked_stop("out of memory");
	b->tokens = allocate_array(vocab, sizeof *b->tokens);
	for (size_t token = 0; token < vocab; token++)
		if (b->allowed[token]) b->tokens[b->count++] = (uint32_t)token;
	b->fixed = allocate_array(b->count, sizeof *b->fixed);
	b->candidates = allocate_array(b->count, sizeof *b->candidates);
	for (size_t i = 0; i < MOST_ROWS + 1; i++)
		b->law[i] = allocate_array(b->count, sizeof *b->law[i]);
	for (size_t i = 0; i < 2; i++) b->few[i] = allocate_array(b->count, sizeof *b->few[i]);
}

static void close_bench(struct fusion_bench *b) {
	lockstep_free(&b->lockstep);
	cuttle_rewriter_free(&b->rewriter);
	dp_rowlaw_release(&b->rowlaw);
	free(b->allowed);
	free(b->tokens);
	free(b->fixed);
	free(b->candidates);
	for (size_t i = 0; i < MOST_ROWS + 1; i++) free(b->law[i]);
	for (size_t i = 0; i < 2; i++) free(b->few[i]);
}

/* ---- prefill --------------------------------------------------------------------------------- */

/* The prompts of a job: its source, which counts and times them, and the job's documents. */
struct prefill_bench {
	const struct marked *marked;
	const char *placeholder;
	const struct cuttle_rewriter *rewriter;
	struct logit_source inner;
	struct arena text;
	size_t public_tokens;    /* of all public contexts, behind the prefix of the run */
	size_t computed;         /* tokens of all contexts that are computed */
	size_t ideal;            /* of a private row all from its first difference on */
	size_t unshared;         /* were every context computed from the prefix on */
	double all_ns, alone_ns; /* of all contexts, and of the public ones alone */
};
static struct prefill_bench prompts; /* the functions of a source get that of the lockstep */

static double now_ns(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Prompts of one slot in nanoseconds. */
static double time_prompts(void *lockstep, const struct tokens *public_context,
                           const struct place_context *places, size_t count) {
	const struct logit_source *inner = &prompts.inner;
	const double begin = now_ns();
	if (inner->begin(lockstep, 0, public_context, places, count, &(struct tokens){0}, NULL))
		marked_stop("interrupted");
	const double taken = now_ns() - begin;
	inner->end(lockstep, 0);
	return taken;
}

/* Counts as the lockstep does; times all contexts and the public one in turn, the best of three. */
static enum cuttle_status begin_counted(void *self, size_t slot,
                                        const struct tokens *public_context,
                                        const struct place_context *places, size_t count,
                                        const struct tokens *already,
                                        const struct interruption *interruption) {
	enum { REPETITIONS = 3 };
	struct prefill_bench *b = &prompts;
	const size_t prefix = b->rewriter->prompt.shared, own = public_context->count - prefix;
	double all = INFINITY, alone = INFINITY;
	b->public_tokens += own;
	b->computed += own;
	b->ideal += own;
	b->unshared += own;
	for (size_t i = 0; i < count; i++) {
		const struct tokens *list = &places[i].tokens;
		size_t common = 0;
		while (common + 1 < list->count && common < public_context->count &&
		       list->ids[common] == public_context->ids[common])
			common++;
		b->computed +=
		    list->count - (places[i].shared > prefix ? places[i].shared : prefix);
		b->ideal += list->count - common;
		b->unshared += list->count - prefix;
	}
	// The first one computes the prefix of the run, too.
	(void)time_prompts(self, public_context, places, count);
	for (int i = 0; i < REPETITIONS; i++) {
		all = fmin(all, time_prompts(self, public_context, places, count));
		alone = fmin(alone, time_prompts(self, public_context, NULL, 0));
	}
	b->all_ns += all;
	b->alone_ns += alone;
	return b->inner.begin(self, slot, public_context, places, count, already, interruption);
}

static uint32_t give_groups(void *user, size_t document) {
	(void)user;
	return prompts.marked->documents[document].groups;
}

static void give_fusion_context(void *user, size_t document, uint32_t group, const char **text,
                                size_t *size) {
	struct prefill_bench *b = &prompts;
	const uint32_t shown = group == CUTTLE_NO_GROUP      ? MARKS_BLANK
	                       : group == CUTTLE_EVERY_GROUP ? give_groups(user, document)
	                                                     : 1u << group;
	marked_write(b->marked, document, shown, b->placeholder, &b->text);
	*text = b->text.bytes;
	*size = b->text.used;
}

static int ignore_text(void *user, const struct cuttle_text *text) {
	(void)user, (void)text;
	return 0;
}

/* Runs a job of one token a document, whose prompts are those of any job. */
static void measure_prefill(struct cuttle_model *model, const struct marked *marked,
                            const char *placeholder, enum cuttle_mix mix) {
	static const char *const names[] = {"all", "average"};
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter;
	struct cuttle_rewrite_job job;
	struct cuttle_error error;
	struct lockstep *lockstep;
	cuttle_rewrite_params_default(&params);
	params.divergence = 1;
	params.mix = mix;
	params.groups = (uint32_t)groups_count(&marked->groups);
	params.tokens = 1;
	params.context = CONTEXT;
	if (cuttle_rewriter_make(model, &params, &rewriter, &error)) marked_stop(error.message);
	const struct lockstep_params shape = rewrite_lockstep(rewriter, params.groups, 1);
	if (lockstep_new(&model->model, &shape, &lockstep, &error)) marked_stop(error.message);
	prompts = (struct prefill_bench){.marked = marked,
	                                 .placeholder = placeholder,
	                                 .rewriter = rewriter,
	                                 .inner = lockstep_source(lockstep)};
	struct logit_source source = prompts.inner;
	source.begin = begin_counted;
	cuttle_rewrite_job_default(&job);
	job.documents = marked->count;
	job.groups = give_groups;
	job.context = give_fusion_context;
	job.text = ignore_text;

	if (rewrite_generate(rewriter, &job, &source, &error)) marked_stop(error.message);
	const struct prefill_bench *b = &prompts;
	printf("| %s | %zu | %zu | %zu | %zu | %.4f | %.3f |\n", names[mix], b->public_tokens,
	       b->unshared, b->ideal, b->computed, (double)b->computed / (double)b->ideal,
	       b->all_ns / (double)b->computed / (b->alone_ns / (double)b->public_tokens));
	arena_free(&prompts.text);
	lockstep_free(&lockstep);
	cuttle_rewriter_free(&rewriter);
}

static void print_prefill(struct cuttle_model *model, const struct marked *marked,
                          const char *placeholder) {
	printf(
	    "| mix | public | nothing shared | wanted | computed | of wanted | time a token, of a "
	    "public one |\n|---|---|---|---|---|---|---|\n");
	measure_prefill(model, marked, placeholder, CUTTLE_MIX_ALL);
	measure_prefill(model, marked, placeholder, CUTTLE_MIX_AVERAGE);
}

int main(int argc, char **argv) {
	static struct fusion_bench b;
	static struct marked marked;
	struct cuttle_model *model;
	struct cuttle_error error;
	const bool prefill = argc == 7 && !strcmp(argv[6], "prefill");
	if (argc != 6 && !prefill)
		marked_stop(
		    "usage: fusion MODEL DATA.jsonl DOCUMENTS CHARACTERS PLACEHOLDER [prefill]");
	marked_skip_without(argv[2]);
	marked_read(argv[2], (size_t)atoi(argv[3]), (size_t)atoi(argv[4]), &marked);
	if (cuttle_model_open(argv[1], NULL, &model, &error)) marked_stop(error.message);
	if (prefill) {
		print_prefill(model, &marked, argv[5]);
		marked_free(&marked);
		cuttle_model_free(&model);
		return 0;
	}
	open_bench(&b, model);
	for (size_t i = 0; i < marked.count; i++) {
		measure_document(&b, model, &marked, i, argv[5]);
		(void)fprintf(stderr, "%zu of %zu documents\n", i + 1, marked.count);
	}
	const bool good = print_tables(&b);
	if (!good) printf("\nFAILED: a perplexity is outside its bounds, or rises with c\n");
	close_bench(&b);
	marked_free(&marked);
	cuttle_model_free(&model);
	return !good;
}
