// SPDX-License-Identifier: Apache-2.0
// of_model.c: a list of words from a model's own token vectors, see cuttle/words.h. No private
// data. The steps of cuttle_words_of_model:
//   collect_tokens   the tokens that are words, in the order of their ids
//   read_rows        their rows of the token matrix, in float
//   whiten_measure   mean and transform, from all of them
//   mark_beginnings  which of them are the beginning of another
//   choose_words     the first `count` of them that are allowed, or that are no fragments
//   whiten_apply     their vectors
#include "base/misuse.h"
#include "engine/model/model.h"
#include "engine/params.h"
#include "engine/status.h"
#include "engine/words/fragments.h"
#include "engine/words/whiten.h"
#include "engine/words/words.h"
#include "kernels/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A token that is a word. */
struct word_token {
	int32_t token;
	const char *text; /* its letters, in `texts` */
	/* Another token goes on with more letters. BPE makes fragments on the way to longer words,
	 * so others are not worth a question to the model. */
	bool begins_another;
};

struct model_words {
	const struct model *model;
	struct threads *threads;
	struct word_token *tokens; /* [found] */
	size_t found;              /* tokens that are words */
	char *texts;               /* their letters, each with a NUL */
	size_t chosen;             /* the first so many are in the list, after choose_words */
	float *raw;                /* [found][width] */
	float *vectors;            /* [chosen][width] */
	float *mean;               /* [width] */
	float *transform;          /* [width][width] */
};

void cuttle_words_of_model_params_default(struct cuttle_words_of_model_params *params) {
	*params =
	    (struct cuttle_words_of_model_params){.struct_size = sizeof *params, .count = 11000};
}

/* The letters of a token that begins with a space and is a word of two letters or more; size 0 for
 * others. BPE writes a space as U+0120, SentencePiece as U+2581. */
static struct gguf_string letters_of_token(const struct vocab *vocab, int32_t token) {
	const struct gguf_string none = {NULL, 0}, piece = vocab_piece(vocab, token);
	const char *space = vocab_is_spm(vocab) ? "\xe2\x96\x81" : "\xc4\xa0";
	const size_t lead = strlen(space);
	if (vocab_type(vocab, token) != VOCAB_NORMAL || piece.size < lead + 2 ||
	    piece.size > lead + CUTTLE_WORDS_BYTES || memcmp(piece.text, space, lead) != 0)
		return none;
	for (size_t i = lead; i < piece.size; i++)
		if (piece.text[i] < 'a' || piece.text[i] > 'z') return none;
	return (struct gguf_string){piece.text + lead, piece.size - lead};
}

static enum cuttle_status fail_list_memory(struct cuttle_error *error) {
	return status_fail(error, CUTTLE_NOMEM, "out of memory for the words of the model");
}

static enum cuttle_status collect_tokens(struct model_words *w, struct cuttle_error *error) {
	const struct vocab *vocab = w->model->vocab;
	size_t bytes = 0;
	for (size_t i = 0; i < vocab_size(vocab); i++) {
		const size_t size = letters_of_token(vocab, (int32_t)i).size;
		w->found += size > 0;
		bytes += size ? size + 1 : 0;
	}
	if (w->found < 2)
		return status_fail(error, CUTTLE_USAGE,
		                   "the model's vocabulary has fewer than two words");
	w->tokens = malloc(w->found * sizeof *w->tokens);
	w->texts = calloc(bytes, 1);
	if (!w->tokens || !w->texts) return fail_list_memory(error);
	char *to = w->texts;
	w->found = 0;
	for (size_t i = 0; i < vocab_size(vocab); i++) {
		const struct gguf_string letters = letters_of_token(vocab, (int32_t)i);
		if (!letters.size) continue;
		// Of tokens with one text, the tokenizer writes the one that vocab_find gives.
		const struct gguf_string piece = vocab_piece(vocab, (int32_t)i);
		if (vocab_find(vocab, piece.text, piece.size) != (int32_t)i) continue;
		memcpy(to, letters.text, letters.size);
		w->tokens[w->found++] = (struct word_token){(int32_t)i, to, false};
		to += letters.size + 1;
	}
	return CUTTLE_OK;
}

static enum cuttle_status read_rows(struct model_words *w, struct cuttle_error *error) {
	const size_t d = w->model->width;
	w->raw = reallocarray(NULL, w->found, d * sizeof *w->raw);
	w->mean = malloc(d * sizeof *w->mean);
	w->transform = reallocarray(NULL, d, d * sizeof *w->transform);
	if (!w->raw || !w->mean || !w->transform) return fail_list_memory(error);
	for (size_t i = 0; i < w->found; i++) {
		float *row = w->raw + i * d;
		pack_row(&w->model->embedding, (size_t)w->tokens[i].token, row);
		for (size_t j = 0; j < d; j++)
			if (!isfinite(row[j]))
				return status_fail(error, CUTTLE_MODEL,
				                   "the vector of token %d is not finite",
				                   w->tokens[i].token);
	}
	return CUTTLE_OK;
}

static int compare_texts_of(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_tokens_by_text(const void *a, const void *b) {
	return strcmp((*(struct word_token *const *)a)->text,
	              (*(struct word_token *const *)b)->text);
}

/* Sorted, a word stands right before the words that it begins. */
static enum cuttle_status mark_beginnings(struct model_words *w, struct cuttle_error *error) {
	struct word_token **sorted = malloc(w->found * sizeof(struct word_token *));
	if (!sorted) return fail_list_memory(error);
	for (size_t i = 0; i < w->found; i++) sorted[i] = &w->tokens[i];
	qsort(sorted, w->found, sizeof *sorted, compare_tokens_by_text);
	for (size_t i = 0; i + 1 < w->found; i++)
		sorted[i]->begins_another =
		    !strncmp(sorted[i]->text, sorted[i + 1]->text, strlen(sorted[i]->text));
	free(sorted);
	return CUTTLE_OK;
}

/* Moves token i and its row to the end of the chosen ones. */
static void choose_token(struct model_words *w, size_t i) {
	const size_t d = w->model->width;
	w->tokens[w->chosen] = w->tokens[i];
	memmove(w->raw + w->chosen * d, w->raw + i * d, d * sizeof *w->raw);
	w->chosen++;
}

static enum cuttle_status tell_words_found(const struct model_words *w,
                                           const struct cuttle_words_of_model_params *p,
                                           struct cuttle_error *error) {
	if (!p->on_progress || !p->on_progress(p->user, w->chosen, p->count)) return CUTTLE_OK;
	return status_fail(error, CUTTLE_PARTIAL, "stopped");
}

static enum cuttle_status choose_allowed(struct model_words *w,
                                         const struct cuttle_words_of_model_params *p,
                                         struct cuttle_error *error) {
	const char **allowed = malloc((p->allowed_count + 1) * sizeof *allowed);
	if (!allowed) return fail_list_memory(error);
	if (p->allowed_count) memcpy(allowed, p->allowed, p->allowed_count * sizeof *allowed);
	qsort(allowed, p->allowed_count, sizeof *allowed, compare_texts_of);
	for (size_t i = 0; i < w->found && w->chosen < p->count; i++)
		if (bsearch(&w->tokens[i].text, allowed, p->allowed_count, sizeof *allowed,
		            compare_texts_of))
			choose_token(w, i);
	free(allowed);
	return CUTTLE_OK;
}

/* Chooses words among the tokens from *next on, until FRAGMENTS_AT_ONCE of them were questions to
 * the model. */
static enum cuttle_status choose_some_whole(struct model_words *w, size_t most, size_t *next,
                                            struct fragments *fragments,
                                            struct cuttle_error *error) {
	int32_t asked[FRAGMENTS_AT_ONCE];
	double shares[FRAGMENTS_AT_ONCE];
	size_t count = 0, end = *next;
	for (; end < w->found && count < FRAGMENTS_AT_ONCE; end++)
		if (w->tokens[end].begins_another) asked[count++] = w->tokens[end].token;
	if (count) {
		const enum cuttle_status status =
		    fragments_test(fragments, asked, count, shares, error);
		if (status) return status;
	}
	count = 0;
	for (; *next < end && w->chosen < most; ++*next)
		if (!w->tokens[*next].begins_another || shares[count++] <= FRAGMENT_SHARE)
			choose_token(w, *next);
	return CUTTLE_OK;
}

static enum cuttle_status choose_whole(struct model_words *w,
                                       const struct cuttle_words_of_model_params *p,
                                       struct cuttle_error *error) {
	struct fragments *fragments = NULL;
	enum cuttle_status status = mark_beginnings(w, error);
	if (!status) status = fragments_open(w->model, &fragments, error);
	for (size_t next = 0; !status && next < w->found && w->chosen < p->count;) {
		status = choose_some_whole(w, p->count, &next, fragments, error);
		if (!status) status = tell_words_found(w, p, error);
	}
	fragments_close(&fragments);
	return status;
}

/* Moves the tokens of the list, and their rows, to the front. */
static enum cuttle_status choose_words(struct model_words *w,
                                       const struct cuttle_words_of_model_params *p,
                                       struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (p->allowed) status = choose_allowed(w, p, error);
	else if (!p->keep_fragments) status = choose_whole(w, p, error);
	else w->chosen = w->found < p->count ? w->found : p->count;
	if (status) return status;
	if (w->chosen < 2)
		return status_fail(error, CUTTLE_USAGE,
		                   "fewer than two of the model's words are left");
	w->vectors = reallocarray(NULL, w->chosen, w->model->width * sizeof *w->vectors);
	return w->vectors ? CUTTLE_OK : fail_list_memory(error);
}

/* Turns the chosen rows into vectors. */
static enum cuttle_status whiten_words(struct model_words *w, struct cuttle_error *error) {
	const size_t d = w->model->width;
	size_t bytes, none, bad = w->chosen;
	struct region region = {0};
	if (!pack_sizes(PACKED_F32, d, d, &bytes, &none, &none) ||
	    !region_map(&region, bytes, false))
		return fail_list_memory(error);
	const struct packed_matrix turn = {
	    .type = PACKED_F32, .channels = d, .k = d, .weights = region_carve(&region, bytes)};
	pack_groups(&turn, (const uint8_t *)w->transform, 0, (d + GEMM_GROUP - 1) / GEMM_GROUP);
	enum cuttle_status status =
	    whiten_apply(w->threads, w->mean, &turn, w->raw, w->chosen, w->vectors, &bad, error);
	region_unmap(&region, false);
	if (!status && bad < w->chosen)
		status =
		    status_fail(error, CUTTLE_MODEL, "the vector of \"%.60s\" has no direction",
		                w->tokens[bad].text);
	return status;
}

static enum cuttle_status make_list(const struct model_words *w,
                                    const struct cuttle_words_of_model_params *p,
                                    struct cuttle_words **words, struct cuttle_error *error) {
	const char **texts = malloc(w->chosen * sizeof *texts);
	if (!texts) return fail_list_memory(error);
	for (size_t i = 0; i < w->chosen; i++) texts[i] = w->tokens[i].text;
	struct cuttle_words_params params;
	cuttle_words_params_default(&params);
	params.count = w->chosen;
	params.width = w->model->width;
	params.words = texts;
	params.vectors = w->vectors;
	params.mean = w->mean;
	params.transform = w->transform;
	params.model_sha256 = p->model_sha256;
	params.threads = p->threads;
	const enum cuttle_status status = cuttle_words_make(&params, words, error);
	free(texts);
	return status;
}

enum cuttle_status cuttle_words_of_model(struct cuttle_model *handle,
                                         const struct cuttle_words_of_model_params *params,
                                         struct cuttle_words **words, struct cuttle_error *error) {
	REQUIRE(handle && params && words);
	*words = NULL;
	struct cuttle_words_of_model_params p;
	cuttle_words_of_model_params_default(&p);
	struct model_words w = {.model = &handle->model, .threads = handle->model.threads};
	enum cuttle_status status =
	    params_take(&p, sizeof p, params, "struct cuttle_words_of_model_params", error);
	if (!status) status = model_needs_weights(w.model, error);
	if (!status && (p.count < 2 || p.count > CUTTLE_WORDS_MOST))
		status = status_fail(error, CUTTLE_USAGE, "%zu words are outside 2..%d", p.count,
		                     CUTTLE_WORDS_MOST);
	if (!status) status = collect_tokens(&w, error);
	if (!status) status = read_rows(&w, error);
	if (!status)
		status = whiten_measure(w.threads, w.raw, w.found, w.model->width, w.mean,
		                        w.transform, error);
	if (!status) status = choose_words(&w, &p, error);
	if (!status) status = whiten_words(&w, error);
	if (!status) status = make_list(&w, &p, words, error);
	free(w.tokens);
	free(w.texts);
	free(w.raw);
	free(w.vectors);
	free(w.mean);
	free(w.transform);
	return status;
}
