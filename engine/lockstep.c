// SPDX-License-Identifier: Apache-2.0
#include "engine/lockstep.h"

#include "base/misuse.h"
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
	// Slot s owns the entries s * (B + 1) .. s * (B + 1) + active[s] - 1 of the next four; the public context is the first of them.
	struct context *contexts;
	size_t *lengths;             /* tokens in each context */
	float *hidden;               /* [width]: of each context's last token */
	const float **hidden_rows;   /* where that is */
	size_t *active;              /* [slots] contexts in use: public + references that are not null; 0 = idle */
	struct row *rows;            /* [max(chunk, slots * (B + 1))] */
	int32_t *replayed;           /* [slots] */
	const float **public_hidden; /* [slots] of the slots that are not idle */
	const float **public_rows;   /* [slots] each one's logits */
	float *public_logits;        /* [slots][vocabulary rounded up to 16], those slots one after the other */
	uint32_t *groups;            /* [vocabulary / 16] holding candidates */
	float *private_groups;       /* [B][places * 16] */
	float *private_logits;       /* [B][candidates] */
	size_t candidates;
};

static size_t vocab_groups(const struct model *m) {
	return (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP;
}

static size_t all_contexts(const struct lockstep *l) {
	return l->params.slots * (l->params.batch + 1);
}

static size_t most_rows(const struct lockstep *l) {
	return l->params.chunk > all_contexts(l) ? l->params.chunk : all_contexts(l);
}

static bool lay_out(struct lockstep *l, struct region *region, size_t *total) {
	const struct model *m = l->model;
	const size_t batch = l->params.batch, slots = l->params.slots, contexts = all_contexts(l), padded = vocab_groups(m) * GEMM_GROUP;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {
	    {(void **)&l->contexts, contexts, sizeof *l->contexts},
	    {(void **)&l->lengths, contexts, sizeof *l->lengths},
	    {(void **)&l->hidden, contexts, m->width * sizeof(float)},
	    {(void **)&l->hidden_rows, contexts, sizeof *l->hidden_rows},
	    {(void **)&l->active, slots, sizeof *l->active},
	    {(void **)&l->rows, most_rows(l), sizeof *l->rows},
	    {(void **)&l->replayed, slots, sizeof *l->replayed},
	    {(void **)&l->public_hidden, slots, sizeof *l->public_hidden},
	    {(void **)&l->public_rows, slots, sizeof *l->public_rows},
	    {(void **)&l->public_logits, slots, padded * sizeof(float)},
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
	if (!region) return region_add(total, 1, shared_bytes) && region_add(total, contexts, (own_bytes + 63) / 64 * 64);
	l->shared.data = region_carve(region, shared_bytes);
	for (size_t i = 0; i < contexts; i++) {
		l->contexts[i] =
		    (struct context){l->shared_tokens ? &l->shared : NULL, l->shared_tokens, {region_carve(region, own_bytes), own}};
		l->hidden_rows[i] = l->hidden + i * m->width;
	}
	return true;
}

enum cuttle_status lockstep_new(const struct model *model, const struct lockstep_params *params, struct lockstep **out,
                                struct cuttle_error *error) {
	REQUIRE(params->batch && params->slots && params->chunk && params->context >= params->prompt->whole.count);
	*out = NULL;
	struct lockstep *l = malloc(sizeof *l);
	if (!l) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*l = (struct lockstep){.model = model, .params = *params, .shared_tokens = params->share ? params->prompt->shared : 0};
	size_t total = 0;
	const size_t heads = params->slots > params->batch ? params->slots : params->batch;
	enum cuttle_status status = forward_new(model, most_rows(l), heads, params->context, &l->forward, error);
	if (!status && (!lay_out(l, NULL, &total) || !region_map(&l->region, total, true)))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory for the contexts of %zu references", params->batch);
	if (!status && model->lock) status = region_lock(&l->region, error);
	if (status) {
		lockstep_free(&l);
		return status;
	}
	if (params->resident) memset(l->region.base, 0, l->region.size);
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

/* ---- prefill: rows of all contexts one after the other, cut into passes anywhere ----------------------------------------------------- */

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

/* The slot's next context: parts[count] one after the other, of which the first tokens may lie in the shared prefix; the last one's output
 * is kept. */
static void fill_context(struct lockstep *l, struct pass *pass, size_t slot, const struct tokens *parts, size_t count) {
	const size_t place = slot * (l->params.batch + 1) + l->active[slot]++;
	struct context *context = &l->contexts[place];
	size_t *length = &l->lengths[place], skip = l->shared_tokens, last = 0;
	*length = l->shared_tokens;
	for (size_t i = 0; i < count; i++)
		if (parts[i].count) last = i;
	for (size_t i = 0; i < count; i++) {
		const size_t skipped = skip < parts[i].count ? skip : parts[i].count;
		const bool ends = i == last;
		add_tokens(pass, context, length, parts[i].ids, parts[i].count - ends, skipped);
		skip -= skipped;
		if (ends && !pass->stopped) {
			const int32_t token = parts[i].ids[parts[i].count - 1];
			l->rows[pass->count++] = (struct row){context, (*length)++, token, l->hidden + place * l->model->width};
			if (pass->count == l->params.chunk) run_pass(pass);
		}
	}
	end_context(pass);
}

/* One token to every context of the slots begun that `wanted` names, or of all (SIZE_MAX). */
static void append_to(struct lockstep *l, size_t wanted, const int32_t *tokens) {
	size_t count = 0;
	for (size_t slot = 0; slot < l->params.slots; slot++)
		for (size_t i = 0; i < l->active[slot] && (wanted == slot || wanted == SIZE_MAX); i++) {
			const size_t place = slot * (l->params.batch + 1) + i;
			l->rows[count++] =
			    (struct row){&l->contexts[place], l->lengths[place]++, tokens[slot], l->hidden + place * l->model->width};
		}
	if (count) forward_rows(l->forward, l->rows, count, false);
}

static enum cuttle_status begin(void *self, size_t slot, const struct tokens *references, size_t batch, const struct tokens *already,
                                const struct interruption *interruption) {
	struct lockstep *l = self;
	const struct prompt *prompt = l->params.prompt;
	REQUIRE(batch == l->params.batch && slot < l->params.slots);
	struct pass pass = {l, interruption, 0, false};
	if (l->shared_tokens && !l->shared_filled) fill_shared(l, &pass);
	// By our own kernels a token's numbers are the same in a prompt and in a step; by OpenBLAS they are not, so there steps stay steps.
	const bool replay = l->model->blas_prompts;
	const struct tokens rest = replay ? (struct tokens){0} : *already;
	l->active[slot] = 0;
	fill_context(l, &pass, slot, (struct tokens[]){prompt->whole, rest}, 2);
	for (size_t i = 0; i < batch; i++)
		if (references[i].count)
			fill_context(l, &pass, slot, (struct tokens[]){prompt->head, references[i], prompt->tail, rest}, 4);
	run_pass(&pass);
	for (size_t i = 0; replay && i < already->count && !pass.stopped; i++) {
		l->replayed[slot] = already->ids[i];
		append_to(l, slot, l->replayed);
	}
	if (pass.stopped) l->active[slot] = 0;
	return pass.stopped ? CUTTLE_PARTIAL : CUTTLE_OK;
}

static void end(void *self, size_t slot) {
	((struct lockstep *)self)->active[slot] = 0;
}

static void alone(void *self, size_t slot) {
	struct lockstep *l = self;
	REQUIRE(l->active[slot]);
	l->active[slot] = 1;
}

/* ---- decode
 * ------------------------------------------------------------------------------------------------------------------------------ */

static void public_logits(void *self) {
	struct lockstep *l = self;
	const size_t stride = vocab_groups(l->model) * GEMM_GROUP;
	size_t count = 0;
	for (size_t slot = 0; slot < l->params.slots; slot++)
		if (l->active[slot]) {
			l->public_rows[slot] = l->public_logits + count * stride; // stays where it is when another slot ends
			l->public_hidden[count++] = l->hidden_rows[slot * (l->params.batch + 1)];
		}
	if (count) forward_head(l->forward, l->public_hidden, count, NULL, vocab_groups(l->model), l->public_logits, stride);
}

static const float *public_row(void *self, size_t slot) {
	return ((struct lockstep *)self)->public_rows[slot];
}

static void private_logits(void *self, size_t slot, const uint32_t *candidates, size_t count) {
	struct lockstep *l = self;
	l->candidates = count;
	if (l->active[slot] <= 1) return;
	size_t places = 0;
	for (size_t i = 0; i < count; i++)
		if (!places || l->groups[places - 1] != candidates[i] / GEMM_GROUP) l->groups[places++] = candidates[i] / GEMM_GROUP;
	const size_t stride = places * GEMM_GROUP, rows = l->active[slot] - 1;
	forward_head(l->forward, l->hidden_rows + slot * (l->params.batch + 1) + 1, rows, l->groups, places, l->private_groups, stride);
	for (size_t row = 0; row < rows; row++)
		for (size_t i = 0, place = 0; i < count; i++) {
			while (l->groups[place] != candidates[i] / GEMM_GROUP) place++;
			l->private_logits[row * count + i] =
			    l->private_groups[row * stride + place * GEMM_GROUP + candidates[i] % GEMM_GROUP];
		}
}

static size_t private_rows(void *self, size_t slot) {
	return ((struct lockstep *)self)->active[slot] - 1;
}

static const float *private_row(void *self, size_t index) {
	const struct lockstep *l = self;
	return l->private_logits + index * l->candidates;
}

static void append(void *self, const int32_t *tokens) {
	append_to(self, SIZE_MAX, tokens);
}

struct logit_source lockstep_source(struct lockstep *lockstep) {
	return (struct logit_source){lockstep,
	                             lockstep->model->vocab_size,
	                             lockstep->params.slots,
	                             begin,
	                             end,
	                             alone,
	                             public_logits,
	                             public_row,
	                             private_logits,
	                             private_rows,
	                             private_row,
	                             append};
}

struct forward_time lockstep_time(const struct lockstep *lockstep) {
	return forward_time(lockstep->forward);
}
