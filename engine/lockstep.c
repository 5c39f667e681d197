// SPDX-License-Identifier: Apache-2.0
#include "engine/lockstep.h"

#include "base/misuse.h"
#include "engine/forward.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

struct lockstep {
	const struct model *model;
	struct lockstep_params params;
	struct forward *forward;
	struct region region;
	struct kv_block shared; /* the prefix, read only once filled */
	bool shared_filled;
	size_t shared_tokens;
	struct context *contexts;  /* [B+1], public first */
	size_t *lengths;           /* [B+1] tokens in each context */
	size_t active;             /* contexts in use: public + references that are not null */
	float *hidden;             /* [B+1][width]: of each context's last token */
	const float **hidden_rows; /* [B+1] */
	struct row *rows;          /* [max(chunk, B+1)] */
	float *public_logits;      /* [vocabulary rounded up to 16] */
	uint32_t *groups;          /* [vocabulary / 16] holding candidates */
	float *private_groups;     /* [B][places * 16] */
	float *private_logits;     /* [B][candidates] */
	size_t candidates;
};

static size_t vocab_groups(const struct model *m) {
	return (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP;
}

static bool lay_out(struct lockstep *l, struct region *region, size_t *total) {
	const struct model *m = l->model;
	const size_t batch = l->params.batch, rows = l->params.chunk > batch + 1 ? l->params.chunk : batch + 1;
	const size_t padded = vocab_groups(m) * GEMM_GROUP;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {
	    {(void **)&l->contexts, batch + 1, sizeof *l->contexts},
	    {(void **)&l->lengths, batch + 1, sizeof *l->lengths},
	    {(void **)&l->hidden, batch + 1, m->width * sizeof(float)},
	    {(void **)&l->hidden_rows, batch + 1, sizeof *l->hidden_rows},
	    {(void **)&l->rows, rows, sizeof *l->rows},
	    {(void **)&l->public_logits, padded, sizeof(float)},
	    {(void **)&l->groups, vocab_groups(m), sizeof *l->groups},
	    {(void **)&l->private_groups, batch, padded * sizeof(float)},
	    {(void **)&l->private_logits, batch, m->vocab_size * sizeof(float)},
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	size_t shared_bytes, own_bytes;
	l->shared.capacity = kv_capacity(l->shared_tokens);
	const size_t own = kv_capacity(l->params.context - l->shared_tokens);
	if (!kv_bytes(m, l->shared.capacity, &shared_bytes) || !kv_bytes(m, own, &own_bytes)) return false;
	if (!region) return region_add(total, 1, shared_bytes) && region_add(total, batch + 1, (own_bytes + 63) / 64 * 64);
	l->shared.data = region_carve(region, shared_bytes);
	for (size_t i = 0; i <= batch; i++)
		l->contexts[i] =
		    (struct context){l->shared_tokens ? &l->shared : NULL, l->shared_tokens, {region_carve(region, own_bytes), own}};
	return true;
}

enum cuttle_status lockstep_new(const struct model *model, const struct lockstep_params *params, struct lockstep **out,
                                struct cuttle_error *error) {
	REQUIRE(params->batch && params->chunk && params->context >= params->prompt->whole.count);
	*out = NULL;
	struct lockstep *l = malloc(sizeof *l);
	if (!l) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*l = (struct lockstep){.model = model, .params = *params, .shared_tokens = params->share ? params->prompt->shared : 0};
	size_t total = 0;
	const size_t rows = params->chunk > params->batch + 1 ? params->chunk : params->batch + 1;
	enum cuttle_status status = forward_new(model, rows, params->batch + 1, params->context, &l->forward, error);
	if (!status && (!lay_out(l, NULL, &total) || !region_map(&l->region, total, true)))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory for the contexts of %zu references", params->batch);
	if (status) {
		lockstep_free(&l);
		return status;
	}
	lay_out(l, &l->region, NULL);
	*out = l;
	return CUTTLE_OK;
}

void lockstep_free(struct lockstep **lockstep) {
	if (!*lockstep) return;
	forward_free(&(*lockstep)->forward);
	region_unmap(&(*lockstep)->region, true);
	free(*lockstep);
	*lockstep = NULL;
}

/* ---- prefill: rows of all contexts one after the other, cut into passes anywhere --------------------------------------------------------
 */

struct pass {
	struct lockstep *lockstep;
	const struct interruption *interruption;
	size_t count;
	bool stopped;
};

static void run_pass(struct pass *pass) {
	if (!pass->count || pass->stopped) return;
	struct lockstep *l = pass->lockstep;
	forward_rows(l->forward, l->rows, pass->count, l->model->blas_prompts);
	pass->count = 0;
	pass->stopped = pass->interruption && pass->interruption->wanted(pass->interruption->user);
}

static void add_tokens(struct pass *pass, struct context *context, size_t *length, const int32_t *ids, size_t count, size_t skip) {
	struct lockstep *l = pass->lockstep;
	for (size_t i = skip; i < count && !pass->stopped; i++) {
		l->rows[pass->count++] = (struct row){context, *length, ids[i], NULL};
		(*length)++;
		if (pass->count == l->params.chunk) run_pass(pass);
	}
}

/* OpenBLAS may round a row by the number of rows it is given: there a pass never mixes contexts. */
static void end_context(struct pass *pass) {
	if (pass->lockstep->model->blas_prompts) run_pass(pass);
}

static void fill_shared(struct lockstep *l, struct pass *pass) {
	struct context prefix = {NULL, 0, l->shared};
	size_t length = 0;
	add_tokens(pass, &prefix, &length, l->params.prompt->whole.ids, l->shared_tokens, 0);
	run_pass(pass); // whoever reads a prefix must find it complete
	l->shared_filled = !pass->stopped;
}

/* One context: parts[count] one after the other, of which the first tokens may lie in the shared prefix; the last one's output is kept. */
static void fill_context(struct lockstep *l, struct pass *pass, const struct tokens *parts, size_t count) {
	struct context *context = &l->contexts[l->active];
	size_t *length = &l->lengths[l->active], skip = l->shared_tokens, last = 0;
	*length = l->shared_tokens;
	for (size_t i = 0; i < count; i++)
		if (parts[i].count) last = i;
	for (size_t i = 0; i < count; i++) {
		const size_t skipped = skip < parts[i].count ? skip : parts[i].count;
		const bool ends = i == last;
		add_tokens(pass, context, length, parts[i].ids, parts[i].count - ends, skipped);
		skip -= skipped;
		if (ends && !pass->stopped) {
			l->rows[pass->count++] =
			    (struct row){context, (*length)++, parts[i].ids[parts[i].count - 1], l->hidden + l->active * l->model->width};
			if (pass->count == l->params.chunk) run_pass(pass);
		}
	}
	end_context(pass);
	l->active++;
}

static void append(void *self, int32_t token) {
	struct lockstep *l = self;
	for (size_t i = 0; i < l->active; i++)
		l->rows[i] = (struct row){&l->contexts[i], l->lengths[i]++, token, l->hidden + i * l->model->width};
	forward_rows(l->forward, l->rows, l->active, false);
}

static enum cuttle_status begin(void *self, const struct tokens *references, size_t batch, const struct tokens *already,
                                const struct interruption *interruption) {
	struct lockstep *l = self;
	const struct prompt *prompt = l->params.prompt;
	REQUIRE(batch == l->params.batch);
	struct pass pass = {l, interruption, 0, false};
	if (l->shared_tokens && !l->shared_filled) fill_shared(l, &pass);
	// By our own kernels a token's numbers are the same in a prompt and in a step; by OpenBLAS they are not, so there steps stay steps.
	const bool replay = l->model->blas_prompts;
	const struct tokens rest = replay ? (struct tokens){0} : *already;
	l->active = 0;
	fill_context(l, &pass, (struct tokens[]){prompt->whole, rest}, 2);
	for (size_t i = 0; i < batch; i++)
		if (references[i].count) fill_context(l, &pass, (struct tokens[]){prompt->head, references[i], prompt->tail, rest}, 4);
	run_pass(&pass);
	for (size_t i = 0; i < l->active; i++) l->hidden_rows[i] = l->hidden + i * l->model->width;
	for (size_t i = 0; replay && i < already->count && !pass.stopped; i++) append(l, already->ids[i]);
	return pass.stopped ? CUTTLE_PARTIAL : CUTTLE_OK;
}

/* ---- decode
 * ------------------------------------------------------------------------------------------------------------------------------ */

static const float *public_logits(void *self) {
	struct lockstep *l = self;
	forward_head(l->forward, l->hidden_rows, 1, NULL, vocab_groups(l->model), l->public_logits, vocab_groups(l->model) * GEMM_GROUP);
	return l->public_logits;
}

static void private_logits(void *self, const uint32_t *candidates, size_t count) {
	struct lockstep *l = self;
	l->candidates = count;
	if (l->active == 1) return;
	size_t places = 0;
	for (size_t i = 0; i < count; i++)
		if (!places || l->groups[places - 1] != candidates[i] / GEMM_GROUP) l->groups[places++] = candidates[i] / GEMM_GROUP;
	const size_t stride = places * GEMM_GROUP;
	forward_head(l->forward, l->hidden_rows + 1, l->active - 1, l->groups, places, l->private_groups, stride);
	for (size_t row = 0; row < l->active - 1; row++)
		for (size_t i = 0, place = 0; i < count; i++) {
			while (l->groups[place] != candidates[i] / GEMM_GROUP) place++;
			l->private_logits[row * count + i] =
			    l->private_groups[row * stride + place * GEMM_GROUP + candidates[i] % GEMM_GROUP];
		}
}

static size_t private_rows(void *self) {
	return ((struct lockstep *)self)->active - 1;
}

static const float *private_row(void *self, size_t index) {
	const struct lockstep *l = self;
	return l->private_logits + index * l->candidates;
}

struct logit_source lockstep_source(struct lockstep *lockstep) {
	return (struct logit_source){lockstep, lockstep->model->vocab_size, begin, public_logits, private_logits, private_rows, private_row,
	                             append};
}
