// SPDX-License-Identifier: Apache-2.0
// All tokens of a test are rows of one pass. Each has a context of its own behind the sentence,
// which they share. A worker turns one row of logits at a time into an integer law, so the shares
// have the same bits everywhere.
#include "engine/words/fragments.h"

#include "base/misuse.h"
#include "dp/rowlaw.h"
#include "engine/forward/forward.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

/* It is cut to SENTENCE tokens, the least that contexts can share. A noun is a likely next word. */
static const char sentence_text[] =
    "She wrote down what she had seen, and the first thing that she mentioned was the";
enum { SENTENCE = 16 };

struct fragments {
	const struct model *model;
	struct forward *forward;
	struct dp_rowlaw rowlaw;
	struct region region;
	size_t shared;         /* tokens of the sentence: SENTENCE, or 0 where it has fewer */
	size_t padded;         /* vocabulary rounded up to 16 */
	bool *goes_on;         /* [vocab_size] the token begins with a letter, without a space */
	struct context prefix; /* the sentence */
	struct context contexts[FRAGMENTS_AT_ONCE];
	float *hidden;  /* [FRAGMENTS_AT_ONCE][width] */
	float *logits;  /* [FRAGMENTS_AT_ONCE][padded] */
	uint64_t *laws; /* [workers][vocab_size] */
	double *shares; /* of the test under way; below 0: a logit is not finite */
};

/* Called twice, as forward.c does: NULL adds to *total, then a region is carved. */
static bool lay_out_fragments(struct fragments *f, struct region *region, size_t *total) {
	const struct model *m = f->model;
	size_t kv;
	if (!kv_bytes(m, KV_PAGE, &kv)) return false;
	const size_t rows = FRAGMENTS_AT_ONCE;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {
	    {(void **)&f->prefix.own.data, 1, kv},
	    {(void **)&f->goes_on, m->vocab_size, sizeof *f->goes_on},
	    {(void **)&f->hidden, rows, m->width * sizeof *f->hidden},
	    {(void **)&f->logits, rows, f->padded * sizeof *f->logits},
	    {(void **)&f->laws, threads_count(m->threads), m->vocab_size * sizeof *f->laws}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	for (size_t i = 0; i < rows; i++) {
		if (region) f->contexts[i].own.data = region_carve(region, kv);
		else if (!region_add(total, 1, kv)) return false;
	}
	return true;
}

/* Puts the sentence's tokens into the prefix, with BOS first where the model wants it. */
static enum cuttle_status read_sentence(struct fragments *f, struct cuttle_error *error) {
	const struct model *m = f->model;
	int32_t ids[2 * sizeof sentence_text];
	size_t count = 0;
	if (vocab_add_bos(m->vocab)) ids[count++] = vocab_bos(m->vocab);
	const enum cuttle_status status =
	    vocab_tokenize(m->vocab, sentence_text, strlen(sentence_text), false, ids,
	                   sizeof ids / sizeof *ids, &count, error);
	// A vocabulary of long tokens, as tests have: the token then stands alone.
	if (status || count < SENTENCE) return status;
	struct row rows[SENTENCE];
	for (size_t i = 0; i < SENTENCE; i++) rows[i] = (struct row){&f->prefix, i, ids[i], NULL};
	forward_rows(f->forward, rows, SENTENCE, false);
	f->shared = SENTENCE;
	return CUTTLE_OK;
}

enum cuttle_status fragments_open(const struct model *model, struct fragments **fragments,
                                  struct cuttle_error *error) {
	*fragments = NULL;
	struct fragments *f = calloc(1, sizeof *f);
	if (!f) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	f->model = model;
	f->padded = (model->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP * GEMM_GROUP;
	size_t total = 0;
	enum cuttle_status status =
	    forward_new(model, FRAGMENTS_AT_ONCE, FRAGMENTS_AT_ONCE, KV_PAGE, &f->forward, error);
	if (!status &&
	    (dp_rowlaw_init(&f->rowlaw, 1, 1) != DP_OK || !lay_out_fragments(f, NULL, &total) ||
	     !region_map(&f->region, total, false)))
		status = status_fail(error, CUTTLE_NOMEM,
		                     "out of memory for telling words from fragments");
	if (!status) {
		lay_out_fragments(f, &f->region, NULL);
		for (size_t i = 0; i < model->vocab_size; i++) {
			const struct gguf_string piece = vocab_piece(model->vocab, (int32_t)i);
			f->goes_on[i] = piece.size && piece.text[0] >= 'a' && piece.text[0] <= 'z';
		}
		f->prefix.own.capacity = KV_PAGE;
		status = read_sentence(f, error);
	}
	for (size_t i = 0; i < FRAGMENTS_AT_ONCE; i++) {
		f->contexts[i].prefix = f->shared ? &f->prefix : NULL;
		f->contexts[i].shared_tokens = f->shared;
		f->contexts[i].own.capacity = KV_PAGE;
	}
	if (status) fragments_close(&f);
	*fragments = f;
	return status;
}

void fragments_close(struct fragments **fragments) {
	if (!*fragments) return;
	forward_free(&(*fragments)->forward);
	dp_rowlaw_release(&(*fragments)->rowlaw);
	region_unmap(&(*fragments)->region, false);
	free(*fragments);
	*fragments = NULL;
}

static void share_task(void *context, size_t index, unsigned worker) {
	struct fragments *f = context;
	const size_t vocab = f->model->vocab_size;
	uint64_t *law = f->laws + worker * vocab, sum = 0;
	f->shares[index] = -1.0;
	if (!dp_rowlaw_make(&f->rowlaw, f->logits + index * f->padded, vocab, law)) return;
	for (size_t i = 0; i < vocab; i++) sum += f->goes_on[i] ? law[i] : 0;
	f->shares[index] = (double)sum / (double)(UINT64_C(1) << DP_ROWLAW_SUM_BITS);
}

enum cuttle_status fragments_test(struct fragments *f, const int32_t *tokens, size_t count,
                                  double *shares, struct cuttle_error *error) {
	struct row rows[FRAGMENTS_AT_ONCE] = {0};
	const float *hidden[FRAGMENTS_AT_ONCE] = {NULL};
	REQUIRE(count >= 1 && count <= FRAGMENTS_AT_ONCE);
	for (size_t i = 0; i < count; i++) {
		float *out = f->hidden + i * f->model->width;
		rows[i] = (struct row){&f->contexts[i], f->shared, tokens[i], out};
		hidden[i] = out;
	}
	forward_rows(f->forward, rows, count, false);
	forward_head(f->forward, hidden, count, NULL, f->padded / GEMM_GROUP, f->logits, f->padded);
	f->shares = shares;
	threads_run(f->model->threads, count, share_task, f);
	for (size_t i = 0; i < count; i++)
		if (shares[i] < 0)
			return status_fail(error, CUTTLE_MODEL,
			                   "the model's logits are not finite");
	return CUTTLE_OK;
}
