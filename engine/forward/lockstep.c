// SPDX-License-Identifier: Apache-2.0
// lockstep.c: how the contexts of lockstep.h are laid out, filled and grown.
// Prefill: the rows of all contexts of a text stand one after the other. Passes of `chunk` rows are
// cut from them. A pass may end anywhere. Example: chunk 256 and three contexts of 200 tokens give
// passes of 256, 256 and 88 rows. By our own kernels the cuts change no bit.
// By OpenBLAS they would: there each context has passes of its own.
// A context that shares the beginning of its text's public context comes in a later pass than it.
// Decode: a step is one row per context of every busy slot, all in one pass.
// A row depends on the tokens of its own context alone (forward.h).
#include "engine/forward/lockstep.h"

#include "base/misuse.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

struct lockstep {
	const struct model *model;
	struct lockstep_params params;
	struct forward *forward;
	struct region region;  /* all arrays below, and the keys and values */
	struct context prefix; /* the run's prefix, read only once it is filled */
	bool prefix_filled;

	// One entry per context. Slot s owns B + 1 entries from s * (B + 1) on. It uses the first
	// active[s] of them. The public context is its first entry. Example: B = 7, so slot 2 owns
	// entries 16 to 23; with active[2] = 6 it uses 16 (public) and 17 to 21 (private).
	struct context *contexts;
	size_t *lengths;           /* tokens in each context */
	float *hidden;             /* [width] each: last layer's output for the last token */
	const float **hidden_rows; /* where each context's row of hidden begins */

	// One entry per slot: its contexts in use, public + places that are not null; 0 = idle.
	size_t *active;

	// [slots][B] which of the slot's contexts is a place's; 0 = the place is null. Example:
	// places 0 and 2 of three are not null, so the slot's numbers are 1, 0, 2.
	uint32_t *numbers;
	struct row *rows;  /* [max(chunk, slots * (B + 1))] rows of the next pass */
	int32_t *replayed; /* [slots] a token of an earlier run, while it is appended again */

	// Public rows. Two arrays hold the busy slots side by side, public_rows goes by slot
	// number. Example: slots 0 and 2 of three are busy, so public_hidden[1] belongs to slot 2.
	const float **public_hidden; /* [busy slots] hidden rows of their public contexts */
	const float **public_rows;   /* [slots] where each slot's row of public_logits begins */
	float *public_logits;        /* [busy slots][vocabulary rounded up to 16] */

	// What compute_private_logits works on: one slot at a time.
	uint32_t *groups; /* [groups] 16-token groups with a candidate; at most vocabulary/16 */
	float *private_groups; /* [B][groups * 16] logits of those groups */
	float *private_logits; /* [B][candidates] */
	size_t candidates;     /* candidates of the last call */
	size_t asked_slot;     /* slot of the last call */
	size_t asked_first;    /* its first context of that slot that was asked for ... */
	size_t asked_end;      /* ... and the one after the last */
};

static size_t count_vocab_groups(const struct model *m) {
	return (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP;
}

static size_t count_all_contexts(const struct lockstep *l) {
	return l->params.slots * (l->params.batch + 1);
}

/* Most rows of one pass: a chunk of prompts, or one step of all contexts. */
static size_t count_most_rows(const struct lockstep *l) {
	return l->params.chunk > count_all_contexts(l) ? l->params.chunk : count_all_contexts(l);
}

/* Most rows that need logits at once: the public ones of all slots, or one slot's private ones. */
static size_t count_most_head_rows(const struct lockstep *l) {
	return l->params.slots > l->params.batch ? l->params.slots : l->params.batch;
}

/* Called twice. With a NULL region it adds to *total what is needed; false on overflow. Then it
 * carves the same pieces from the region. */
static bool lay_out_lockstep(struct lockstep *l, struct region *region, size_t *total) {
	const struct model *m = l->model;
	const size_t batch = l->params.batch, slots = l->params.slots,
	             contexts = count_all_contexts(l), padded = count_vocab_groups(m) * GEMM_GROUP;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {
	    {(void **)&l->contexts, contexts, sizeof *l->contexts},
	    {(void **)&l->lengths, contexts, sizeof *l->lengths},
	    {(void **)&l->hidden, contexts, m->width * sizeof(float)},
	    {(void **)&l->hidden_rows, contexts, sizeof *l->hidden_rows},
	    {(void **)&l->active, slots, sizeof *l->active},
	    {(void **)&l->numbers, slots * batch, sizeof *l->numbers},
	    {(void **)&l->rows, count_most_rows(l), sizeof *l->rows},
	    {(void **)&l->replayed, slots, sizeof *l->replayed},
	    {(void **)&l->public_hidden, slots, sizeof *l->public_hidden},
	    {(void **)&l->public_rows, slots, sizeof *l->public_rows},
	    {(void **)&l->public_logits, slots, padded * sizeof(float)},
	    {(void **)&l->groups, count_vocab_groups(m), sizeof *l->groups},
	    {(void **)&l->private_groups, batch, padded * sizeof(float)},
	    {(void **)&l->private_logits, batch, m->vocab_size * sizeof(float)},
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	size_t prefix_bytes, own_bytes;
	l->prefix.own.capacity = kv_capacity(l->params.prefix.count);
	const size_t own = kv_capacity(l->params.context - l->params.prefix.count);
	if (!kv_bytes(m, l->prefix.own.capacity, &prefix_bytes) || !kv_bytes(m, own, &own_bytes))
		return false;
	if (!region)
		return region_add(total, 1, prefix_bytes) &&
		       region_add(total, contexts, (own_bytes + 63) / 64 * 64);
	l->prefix.own.data = region_carve(region, prefix_bytes);
	for (size_t i = 0; i < contexts; i++) {
		l->contexts[i] = (struct context){NULL, 0, {region_carve(region, own_bytes), own}};
		l->hidden_rows[i] = l->hidden + i * m->width;
	}
	return true;
}

/* The lockstep before anything is allocated: enough for lay_out_lockstep to count. */
static struct lockstep describe_lockstep(const struct model *model,
                                         const struct lockstep_params *params) {
	return (struct lockstep){.model = model, .params = *params};
}

bool lockstep_bytes(const struct model *model, const struct lockstep_params *params,
                    size_t *bytes) {
	struct lockstep l = describe_lockstep(model, params);
	return forward_bytes(model, count_most_rows(&l), count_most_head_rows(&l), params->context,
	                     bytes) &&
	       lay_out_lockstep(&l, NULL, bytes);
}

enum cuttle_status lockstep_new(const struct model *model, const struct lockstep_params *params,
                                struct lockstep **out, struct cuttle_error *error) {
	REQUIRE(params->slots && params->chunk && params->prefix.count % ATTENTION_TILE == 0 &&
	        params->prefix.count < params->context);
	*out = NULL;
	struct lockstep *l = malloc(sizeof *l);
	if (!l) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*l = describe_lockstep(model, params);
	size_t total = 0;
	enum cuttle_status status = forward_new(model, count_most_rows(l), count_most_head_rows(l),
	                                        params->context, &l->forward, error);
	if (!status && (!lay_out_lockstep(l, NULL, &total) || !region_map(&l->region, total, true)))
		status =
		    status_fail(error, CUTTLE_NOMEM,
		                "out of memory for the contexts of %zu references", params->batch);
	if (!status && model->lock) status = region_lock(&l->region, error);
	if (status) {
		lockstep_free(&l);
		return status;
	}
	if (params->resident) memset(l->region.base, 0, l->region.size);
	lay_out_lockstep(l, &l->region, NULL);
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

/* ---- prefill --------------------------------------------------------------------------------- */

/* The rows collected for the next call of forward_rows. */
struct pass {
	struct lockstep *lockstep;
	const struct interruption *interruption; /* NULL = never asked */
	size_t count;                            /* rows collected in lockstep->rows */
	bool stopped;                            /* the caller asked to stop: no more rows */
};

/* Computes the collected rows, then asks whether to stop. */
static void flush_pass(struct pass *pass) {
	if (!pass->count || pass->stopped) return;
	struct lockstep *l = pass->lockstep;
	forward_rows(l->forward, l->rows, pass->count, l->model->blas_prompts);
	pass->count = 0;
	pass->stopped = pass->interruption && pass->interruption->wanted(pass->interruption->user);
}

/* Collects ids[skip] .. ids[count - 1] as rows of a context. Nobody needs their output. */
static void queue_tokens(struct pass *pass, struct context *context, size_t *length,
                         const int32_t *ids, size_t count, size_t skip) {
	struct lockstep *l = pass->lockstep;
	for (size_t i = skip; i < count && !pass->stopped; i++) {
		l->rows[pass->count++] = (struct row){context, *length, ids[i], NULL};
		(*length)++;
		if (pass->count == l->params.chunk) flush_pass(pass);
	}
}

/* OpenBLAS may round a row differently when it gets another number of rows. Contexts that shared a
 * pass would then change each other's numbers, so with OpenBLAS a pass never mixes contexts. */
static void end_context(struct pass *pass) {
	if (pass->lockstep->model->blas_prompts) flush_pass(pass);
}

static void fill_run_prefix(struct lockstep *l, struct pass *pass) {
	size_t length = 0;
	queue_tokens(pass, &l->prefix, &length, l->params.prefix.ids, l->params.prefix.count, 0);
	// The contexts that come next read the prefix, so it must be complete.
	flush_pass(pass);
	l->prefix_filled = !pass->stopped;
}

/* Fills the slot's next context with the list, then with the tokens drawn `already`. What the
 * prefix holds is skipped: the first shared_tokens tokens of `prefix`, NULL = none. The last
 * token's output is kept, for the first draw. Example: a list of 50 tokens, 32 of them shared, and
 * 5 drawn ones: 18 + 5 rows; the output of the last drawn token is kept. */
static void fill_context(struct lockstep *l, struct pass *pass, size_t slot,
                         const struct context *prefix, size_t shared_tokens,
                         const struct tokens *list, const struct tokens *already) {
	REQUIRE(list->count + already->count <= l->params.context && shared_tokens < list->count);
	const size_t entry = slot * (l->params.batch + 1) + l->active[slot]++;
	struct context *context = &l->contexts[entry];
	size_t *length = &l->lengths[entry];
	context->prefix = prefix;
	context->shared_tokens = *length = shared_tokens;
	const struct tokens *last = already->count ? already : list;
	queue_tokens(pass, context, length, list->ids, list->count - (last == list), shared_tokens);
	queue_tokens(pass, context, length, already->ids, already->count - (last == already), 0);
	if (!pass->stopped) {
		l->rows[pass->count++] =
		    (struct row){context, (*length)++, last->ids[last->count - 1],
		                 l->hidden + entry * l->model->width};
		if (pass->count == l->params.chunk) flush_pass(pass);
	}
	end_context(pass);
}

/* Appends tokens[slot] to every context of slot `wanted`, or of every busy slot (SIZE_MAX). */
static void append_to_slots(struct lockstep *l, size_t wanted, const int32_t *tokens) {
	size_t count = 0;
	for (size_t slot = 0; slot < l->params.slots; slot++)
		for (size_t i = 0; i < l->active[slot] && (wanted == slot || wanted == SIZE_MAX);
		     i++) {
			const size_t entry = slot * (l->params.batch + 1) + i;
			l->rows[count++] =
			    (struct row){&l->contexts[entry], l->lengths[entry]++, tokens[slot],
			                 l->hidden + entry * l->model->width};
		}
	if (count) forward_rows(l->forward, l->rows, count, false);
}

/* Checks what a list shares with another one: what they share is equal. An empty list may have no
 * ids, and memcmp must not see NULL. */
static void check_shared_tokens(const struct tokens *list, const struct tokens *other,
                                size_t shared) {
	REQUIRE(shared % ATTENTION_TILE == 0 && shared <= other->count && shared < list->count &&
	        (!shared || !memcmp(list->ids, other->ids, shared * sizeof *list->ids)));
}

/* Fills the contexts of the places. One that shares more than the run's prefix reads the public
 * context, which must then be complete before. */
static void fill_places(struct lockstep *l, struct pass *pass, size_t slot,
                        const struct tokens *public_context, const struct place_context *places,
                        size_t count, const struct tokens *already) {
	const struct tokens *prefix = &l->params.prefix;
	const struct context *public = &l->contexts[slot * (l->params.batch + 1)];
	bool complete = false;
	for (size_t i = 0; i < count; i++) {
		const struct place_context *place = &places[i];
		if (!place->tokens.count) continue;
		l->numbers[slot * l->params.batch + i] = (uint32_t)l->active[slot];
		// OpenBLAS rounds a row by the rows beside it. A context whose passes begin
		// elsewhere would get other numbers, so there only the run's prefix is shared.
		if (place->shared <= prefix->count || l->model->blas_prompts) {
			check_shared_tokens(&place->tokens, prefix, prefix->count);
			fill_context(l, pass, slot, public->prefix, prefix->count, &place->tokens,
			             already);
			continue;
		}
		check_shared_tokens(&place->tokens, public_context, place->shared);
		if (!complete) flush_pass(pass);
		complete = true;
		fill_context(l, pass, slot, public, place->shared, &place->tokens, already);
	}
}

static enum cuttle_status begin_slot(void *self, size_t slot, const struct tokens *public_context,
                                     const struct place_context *places, size_t count,
                                     const struct tokens *already,
                                     const struct interruption *interruption) {
	struct lockstep *l = self;
	const struct tokens *prefix = &l->params.prefix;
	REQUIRE(count <= l->params.batch && slot < l->params.slots);
	struct pass pass = {l, interruption, 0, false};
	if (prefix->count && !l->prefix_filled) fill_run_prefix(l, &pass);
	// Our own kernels give a token the same numbers in a prompt and in a step. So tokens drawn
	// earlier join the prompt. OpenBLAS, used for prompts only, gives others: then each such
	// token takes a step again.
	const bool replay = l->model->blas_prompts;
	const struct tokens rest = replay ? (struct tokens){0} : *already;
	l->active[slot] = 0;
	memset(l->numbers + slot * l->params.batch, 0, l->params.batch * sizeof *l->numbers);
	check_shared_tokens(public_context, prefix, prefix->count);
	fill_context(l, &pass, slot, prefix->count ? &l->prefix : NULL, prefix->count,
	             public_context, &rest);
	fill_places(l, &pass, slot, public_context, places, count, &rest);
	flush_pass(&pass);
	for (size_t i = 0; replay && i < already->count && !pass.stopped; i++) {
		l->replayed[slot] = already->ids[i];
		append_to_slots(l, slot, l->replayed);
	}
	if (pass.stopped) l->active[slot] = 0;
	return pass.stopped ? CUTTLE_PARTIAL : CUTTLE_OK;
}

static void end_slot(void *self, size_t slot) {
	((struct lockstep *)self)->active[slot] = 0;
}

static void drop_private_contexts(void *self, size_t slot) {
	struct lockstep *l = self;
	REQUIRE(l->active[slot]);
	l->active[slot] = 1;
	memset(l->numbers + slot * l->params.batch, 0, l->params.batch * sizeof *l->numbers);
}

/* ---- decode ---------------------------------------------------------------------------------- */

static void compute_public_logits(void *self) {
	struct lockstep *l = self;
	const size_t stride = count_vocab_groups(l->model) * GEMM_GROUP;
	size_t count = 0;
	for (size_t slot = 0; slot < l->params.slots; slot++)
		if (l->active[slot]) {
			// Noted per slot: it stays valid when another slot ends.
			l->public_rows[slot] = l->public_logits + count * stride;
			l->public_hidden[count++] = l->hidden_rows[slot * (l->params.batch + 1)];
		}
	if (count)
		forward_head(l->forward, l->public_hidden, count, NULL,
		             count_vocab_groups(l->model), l->public_logits, stride);
}

static const float *public_row_of(void *self, size_t slot) {
	return ((struct lockstep *)self)->public_rows[slot];
}

/* Finds the contexts of places first to first + count - 1 that are not null. They stand side by
 * side, since contexts stand in the order of their places. */
static void find_asked_contexts(struct lockstep *l, size_t slot, size_t first, size_t count) {
	const uint32_t *numbers = l->numbers + slot * l->params.batch;
	l->asked_slot = slot;
	l->asked_first = l->asked_end = 0;
	for (size_t place = first; place < first + count; place++) {
		if (!numbers[place]) continue;
		if (!l->asked_first) l->asked_first = numbers[place];
		l->asked_end = numbers[place] + 1;
	}
}

static void compute_private_logits(void *self, size_t slot, size_t first_place, size_t places,
                                   const uint32_t *candidates, size_t count) {
	struct lockstep *l = self;
	REQUIRE(l->active[slot] && first_place + places <= l->params.batch);
	find_asked_contexts(l, slot, first_place, places);
	l->candidates = count;
	const size_t rows = l->asked_end - l->asked_first;
	if (!rows) return;
	// The head is computed in groups of 16 tokens. Example: candidates 3, 5 and 40 need groups
	// 0 and 2, so groups = 2; token 40 is then number 16 + 8 of a row of private_groups.
	size_t groups = 0;
	for (size_t i = 0; i < count; i++)
		if (!groups || l->groups[groups - 1] != candidates[i] / GEMM_GROUP)
			l->groups[groups++] = candidates[i] / GEMM_GROUP;
	const size_t stride = groups * GEMM_GROUP;
	forward_head(l->forward, l->hidden_rows + slot * (l->params.batch + 1) + l->asked_first,
	             rows, l->groups, groups, l->private_groups, stride);
	for (size_t row = 0; row < rows; row++)
		for (size_t i = 0, group = 0; i < count; i++) {
			while (l->groups[group] != candidates[i] / GEMM_GROUP) group++;
			l->private_logits[row * count + i] =
			    l->private_groups[row * stride + group * GEMM_GROUP +
			                      candidates[i] % GEMM_GROUP];
		}
}

static const float *private_row_of(void *self, size_t place) {
	const struct lockstep *l = self;
	REQUIRE(place < l->params.batch);
	const uint32_t number = l->numbers[l->asked_slot * l->params.batch + place];
	if (!number || number < l->asked_first || number >= l->asked_end) return NULL;
	return l->private_logits + (number - l->asked_first) * l->candidates;
}

static void append_tokens(void *self, const int32_t *tokens) {
	append_to_slots(self, SIZE_MAX, tokens);
}

struct logit_source lockstep_source(struct lockstep *lockstep) {
	return (struct logit_source){lockstep,
	                             lockstep->model->vocab_size,
	                             lockstep->params.slots,
	                             begin_slot,
	                             end_slot,
	                             drop_private_contexts,
	                             compute_public_logits,
	                             public_row_of,
	                             compute_private_logits,
	                             private_row_of,
	                             append_tokens};
}

struct forward_time lockstep_time(const struct lockstep *lockstep) {
	return forward_time(lockstep->forward);
}
