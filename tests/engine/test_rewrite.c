// SPDX-License-Identifier: Apache-2.0
// Tests rewriters: what each context of a document is made of, and what may change with it.
// It fails if a context is anything but its own text, tokenised whole, within the prompt. It fails
// if replacing or blanking the contents of one group changes the public row, the candidates,
// another group's row or what the job answers. It fails if a blank row is not the public row bit
// for bit. It fails if texts depend on sharing, threads, tier or documents in flight, or on where a
// run was interrupted. It fails if more than T tokens of a document are private, or a cost is above
// the epsilon asked for, or a job that cannot be run is begun. With CUTTLE_TEST_SHORT=1 it tries
// fewer documents.
#include "engine/run/plan/rewrite.h"
#include "kernels/kernels.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	DOCUMENTS = 500,
	GROUPS = 3,
	MARKS = 4,            /* of a document, at most */
	MOST_CONTENT = 1601,  /* bytes of a content and its NUL: 400 characters of four */
	MOST_DOCUMENT = 8192, /* bytes */
	MOST_STEPS = 48       /* tokens of a document */
};

/* Public strings and marks in turn: strings[0] mark strings[1] mark .. strings[marks]. */
struct marked_document {
	size_t marks;
	const char *strings[MARKS + 1];
	uint32_t groups[MARKS];
	char contents[MARKS][MOST_CONTENT];
};

/* What a job was seen to do in one step of a document. */
struct seen_step {
	uint64_t public_row, candidates, rows[GROUPS];
	bool blank[GROUPS]; /* the row is the public one, bit for bit, or there is none */
	int32_t drawn;
};

struct seen_document {
	uint64_t public_context, private_contexts[GROUPS];
	size_t shared[GROUPS];
	uint32_t places, steps, now, spent, length, free_tokens;
	struct seen_step step[MOST_STEPS];
	char text[4 * MOST_STEPS];
	size_t text_size;
};

/* A job, and the source around its lockstep that looks at everything. */
struct watch {
	const struct marked_document *documents;
	size_t count;
	struct cuttle_rewriter *rewriter;
	const struct cuttle_model *model;
	struct logit_source inner;
	size_t vocab, begun, of_slot[8];
	size_t stop_after; /* tokens of this run; 0 = none */
	size_t drawn_now;
	const char *private_text; /* instead of every private version */
	size_t private_size;
	bool replaced, versions_differ;
	char version[MOST_DOCUMENT];
	struct seen_document *seen; /* [count] */
};

static uint64_t hash_bytes(const void *bytes, size_t size) {
	uint64_t hash = size;
	for (size_t i = 0; i < size; i++) {
		uint64_t state = hash ^ ((const uint8_t *)bytes)[i];
		hash = tiny_random(&state);
	}
	return hash;
}

/* ---- documents ------------------------------------------------------------------------------- */

static void make_content(uint64_t *seed, char content[MOST_CONTENT]) {
	static const char *const characters[] = {"a",        "z", " ", "\xf0\x9f\x98\x80", "\r\n",
	                                         "\xc3\xa9", "_", "9", "<|im_end|>"};
	const size_t lengths[] = {0, 1, 2, 5, 17, 40, 120, 400};
	const size_t length = lengths[tiny_random(seed) % 8], own = tiny_random(seed) % 9;
	content[0] = 0;
	for (size_t i = 0, used = 0; i < length; i++) {
		// Many contents are of one kind of character alone.
		const char *c = characters[length % 2 ? tiny_random(seed) % 9 : own];
		if (used + strlen(c) >= MOST_CONTENT) break;
		strcpy(content + used, c);
		used += strlen(c);
	}
}

/* Marks stand at the start and at the end, side by side and inside words. */
static void make_documents(struct marked_document *documents, size_t count, uint64_t seed) {
	static const char *const strings[] = {"",
	                                      "",
	                                      "un",
	                                      "ing to z",
	                                      " said that ",
	                                      "z",
	                                      "zz ",
	                                      "The patient came on a day when it rained. ",
	                                      "\r\n",
	                                      " \xf0\x9f\x90\x99 "};
	for (size_t d = 0; d < count; d++) {
		struct marked_document *document = &documents[d];
		document->marks = d % 10 ? 1 + tiny_random(&seed) % MARKS : 0;
		for (size_t i = 0; i <= document->marks; i++)
			document->strings[i] = strings[tiny_random(&seed) % 10];
		for (size_t i = 0; i < document->marks; i++) {
			document->groups[i] = tiny_random(&seed) % GROUPS;
			make_content(&seed, document->contents[i]);
		}
	}
}

/* The document with the contents of one group, of none or of all. */
static size_t write_version(const struct marked_document *document, uint32_t group, char *out) {
	strcpy(out, document->strings[0]);
	for (size_t i = 0; i < document->marks; i++) {
		const bool shown = group == CUTTLE_EVERY_GROUP || group == document->groups[i];
		strcat(strcat(out, shown ? document->contents[i] : "_"), document->strings[i + 1]);
	}
	return strlen(out);
}

static uint32_t groups_of_document(void *user, size_t document) {
	const struct watch *w = user;
	uint32_t present = 0;
	for (size_t i = 0; i < w->documents[document].marks; i++)
		present |= UINT32_C(1) << w->documents[document].groups[i];
	return present;
}

static void give_version(void *user, size_t document, uint32_t group, const char **text,
                         size_t *size) {
	struct watch *w = user;
	*size = write_version(&w->documents[document], group, w->version);
	*text = w->version;
	if (!w->replaced || group == CUTTLE_NO_GROUP) return;
	*text = w->private_text;
	*size = w->private_size;
}

/* ---- the source that looks ------------------------------------------------------------------- */

/* Checks that a context is prompt and text, tokenised by themselves, and returns its hash. */
static uint64_t check_context(const struct watch *w, const struct tokens *list, const char *text,
                              size_t size) {
	static int32_t ids[MOST_DOCUMENT];
	const struct prompt *prompt = &w->rewriter->prompt;
	size_t count;
	assert_int_equal(
	    cuttle_tokenize(w->model, text, size, false, ids, MOST_DOCUMENT, &count, NULL),
	    CUTTLE_OK);
	assert_int_equal(list->count, prompt->head.count + count + prompt->tail.count);
	const int32_t *document = list->ids + prompt->head.count;
	assert_memory_equal(list->ids, prompt->head.ids, prompt->head.count * sizeof *ids);
	assert_memory_equal(document, ids, count * sizeof *ids);
	assert_memory_equal(document + count, prompt->tail.ids, prompt->tail.count * sizeof *ids);
	return hash_bytes(list->ids, list->count * sizeof *ids);
}

static enum cuttle_status begin_watched_slot(void *self, size_t slot,
                                             const struct tokens *public_context,
                                             const struct place_context *places, size_t count,
                                             const struct tokens *already,
                                             const struct interruption *interruption) {
	struct watch *w = self;
	// Documents begin in their order; a resumed run leaves out those that are complete.
	while (w->seen[w->begun].length) w->begun++;
	const size_t document = w->begun++;
	struct seen_document *seen = &w->seen[document];
	static char text[MOST_DOCUMENT];
	size_t size = write_version(&w->documents[document], CUTTLE_NO_GROUP, text);
	w->of_slot[slot] = document;
	seen->public_context = check_context(w, public_context, text, size);
	const uint32_t present = groups_of_document(w, document);
	seen->places = (uint32_t)count;
	const bool all = w->rewriter->terms.mix == CUTTLE_MIX_ALL;
	for (uint32_t group = 0, place = 0; group < GROUPS && place < count; group++) {
		if (!present || (!all && !(present >> group & 1))) continue;
		const struct place_context *context = &places[place];
		size =
		    write_version(&w->documents[document], all ? CUTTLE_EVERY_GROUP : group, text);
		assert_int_equal(context->shared % 16, 0);
		seen->shared[place] = context->shared;
		if (!w->replaced && context->tokens.count)
			seen->private_contexts[place] =
			    check_context(w, &context->tokens, text, size);
		place++;
	}
	return w->inner.begin(w->inner.self, slot, public_context, places, count, already,
	                      interruption);
}

static void end_watched_slot(void *self, size_t slot) {
	const struct watch *w = self;
	w->inner.end(w->inner.self, slot);
}

static void leave_watched_slot_alone(void *self, size_t slot) {
	const struct watch *w = self;
	w->inner.alone(w->inner.self, slot);
}

static void make_watched_public_rows(void *self) {
	const struct watch *w = self;
	w->inner.public_logits(w->inner.self);
}

static const float *watch_public_row(void *self, size_t slot) {
	struct watch *w = self;
	struct seen_document *seen = &w->seen[w->of_slot[slot]];
	const float *row = w->inner.public_row(w->inner.self, slot);
	seen->step[seen->now].public_row = hash_bytes(row, w->vocab * sizeof *row);
	return row;
}

/* Looks at the rows of all places, then has those asked for computed again. */
static void make_watched_rows(void *self, size_t slot, size_t first_place, size_t places,
                              const uint32_t *candidates, size_t count) {
	struct watch *w = self;
	struct seen_document *seen = &w->seen[w->of_slot[slot]];
	struct seen_step *step = &seen->step[seen->now];
	const float *public_row = w->inner.public_row(w->inner.self, slot);
	step->candidates = hash_bytes(candidates, count * sizeof *candidates);
	assert_int_equal(places, 1);
	w->inner.private_logits(w->inner.self, slot, 0, seen->places, candidates, count);
	for (size_t place = 0; place < seen->places; place++) {
		const float *row = w->inner.row(w->inner.self, place);
		step->blank[place] = true;
		for (size_t i = 0; row && i < count; i++)
			if (memcmp(&row[i], &public_row[candidates[i]], sizeof *row))
				step->blank[place] = false;
		step->rows[place] = row ? hash_bytes(row, count * sizeof *row) : 0;
	}
	w->inner.private_logits(w->inner.self, slot, first_place, places, candidates, count);
}

static const float *watch_row(void *self, size_t place) {
	const struct watch *w = self;
	return w->inner.row(w->inner.self, place);
}

static void append_watched_tokens(void *self, const int32_t *tokens) {
	const struct watch *w = self;
	w->inner.append(w->inner.self, tokens);
}

/* ---- the job --------------------------------------------------------------------------------- */

static size_t give_drawn_tokens(void *user, size_t document, const int32_t **tokens) {
	static int32_t drawn[MOST_STEPS];
	const struct seen_document *seen = &((struct watch *)user)->seen[document];
	for (size_t i = 0; i < seen->now; i++) drawn[i] = seen->step[i].drawn;
	*tokens = drawn;
	return seen->now;
}

static int note_token(void *user, size_t document, uint32_t step, int32_t token) {
	struct watch *w = user;
	struct seen_document *seen = &w->seen[document];
	assert_int_equal(step, seen->now);
	assert_true(step < MOST_STEPS);
	seen->step[seen->now++].drawn = token;
	seen->spent += token >= 0;
	return ++w->drawn_now == w->stop_after;
}

static int note_text(void *user, const struct cuttle_text *text) {
	struct seen_document *seen = &((struct watch *)user)->seen[text->index];
	assert_true(text->size < sizeof seen->text);
	memcpy(seen->text, text->text, text->size);
	seen->text_size = text->size;
	seen->length = text->tokens;
	seen->free_tokens = text->free_tokens;
	assert_int_equal(text->tokens, seen->now);
	assert_int_equal(text->tokens - text->free_tokens, seen->spent);
	return 0;
}

/* The smallest prompt, so that there is room for documents. */
static void set_small_params(struct cuttle_rewrite_params *params) {
	cuttle_rewrite_params_default(params);
	params->divergence = 2.0;
	params->mix = CUTTLE_MIX_AVERAGE;
	params->groups = GROUPS;
	params->tokens = 3;
	params->top_k = 40;
	params->form = CUTTLE_CONTINUE;
	params->instruction = "Of the text that follows, write all again.\n{document}\n";
	params->prefill = "So: ";
	params->insecure = true;
	params->insecure_seed = 7;
	params->parallel = 4;
}

/* Runs the job and looks. *seen keeps what earlier runs of it did. */
static enum cuttle_status watch_job(struct cuttle_model *model,
                                    const struct cuttle_rewrite_params *params, struct watch *w) {
	struct cuttle_error error;
	struct lockstep *lockstep;
	struct cuttle_rewrite_job job;
	if (cuttle_rewriter_make(model, params, &w->rewriter, &error))
		fail_msg("%s", error.message);
	const struct lockstep_params shape =
	    rewrite_lockstep(w->rewriter, GROUPS, params->parallel);
	assert_int_equal(lockstep_new(w->rewriter->model, &shape, &lockstep, NULL), CUTTLE_OK);
	w->inner = lockstep_source(lockstep);
	w->model = model;
	w->vocab = w->inner.vocab;
	w->begun = w->drawn_now = 0;
	const struct logit_source source = {.self = w,
	                                    .vocab = w->inner.vocab,
	                                    .slots = w->inner.slots,
	                                    .begin = begin_watched_slot,
	                                    .end = end_watched_slot,
	                                    .alone = leave_watched_slot_alone,
	                                    .public_logits = make_watched_public_rows,
	                                    .public_row = watch_public_row,
	                                    .private_logits = make_watched_rows,
	                                    .row = watch_row,
	                                    .append = append_watched_tokens};
	cuttle_rewrite_job_default(&job);
	job.documents = w->count;
	job.user = w;
	job.groups = groups_of_document;
	job.context = give_version;
	job.drawn = give_drawn_tokens;
	job.token = note_token;
	job.text = note_text;
	const enum cuttle_status status = rewrite_generate(w->rewriter, &job, &source, &error);
	lockstep_free(&lockstep);
	cuttle_rewriter_free(&w->rewriter);
	return status;
}

static struct seen_document *new_seen(size_t count) {
	struct seen_document *seen = calloc(count, sizeof *seen);
	assert_non_null(seen);
	return seen;
}

/* Runs a job once. The caller frees what it returns. */
static struct seen_document *see_job(struct cuttle_model *model,
                                     const struct cuttle_rewrite_params *params,
                                     const struct marked_document *documents, size_t count) {
	struct watch w = {.documents = documents, .count = count, .seen = new_seen(count)};
	assert_int_equal(watch_job(model, params, &w), CUTTLE_OK);
	return w.seen;
}

static void check_same_texts(const struct seen_document *a, const struct seen_document *b,
                             size_t count) {
	for (size_t d = 0; d < count; d++) {
		assert_int_equal(a[d].now, b[d].now);
		for (uint32_t i = 0; i < a[d].now; i++)
			assert_int_equal(a[d].step[i].drawn, b[d].step[i].drawn);
		assert_int_equal(a[d].text_size, b[d].text_size);
		assert_memory_equal(a[d].text, b[d].text, a[d].text_size);
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct marked_document documents[DOCUMENTS], others[DOCUMENTS];

static size_t count_of_test(size_t all) {
	return getenv("CUTTLE_TEST_SHORT") ? all / 8 : all;
}

/* The row of a group: groups stand in their order. */
static uint32_t row_of_group(const struct marked_document *document, uint32_t group) {
	uint32_t present = 0;
	for (size_t i = 0; i < document->marks; i++) present |= UINT32_C(1) << document->groups[i];
	return (uint32_t)__builtin_popcount(present & ((UINT32_C(1) << group) - 1));
}

/* Two worlds that differ in the contents of one group, as long as they have drawn the same. */
static size_t compare_worlds(const struct seen_document *a, const struct seen_document *b,
                             uint32_t changed) {
	size_t steps = 0;
	assert_int_equal(a->public_context, b->public_context);
	assert_int_equal(a->places, b->places);
	for (uint32_t place = 0; place < a->places; place++)
		if (place != changed) {
			assert_int_equal(a->private_contexts[place], b->private_contexts[place]);
			assert_int_equal(a->shared[place], b->shared[place]);
		}
	for (uint32_t i = 0; i < a->now && i < b->now; i++) {
		steps++;
		assert_int_equal(a->step[i].public_row, b->step[i].public_row);
		assert_int_equal(a->step[i].candidates, b->step[i].candidates);
		for (uint32_t place = 0; place < a->places; place++)
			if (place != changed)
				assert_int_equal(a->step[i].rows[place], b->step[i].rows[place]);
		if (a->step[i].drawn != b->step[i].drawn) break;
	}
	return steps;
}

/* Each text is one of the grammar, at most T tokens of it are private, and in worlds that differ in
 * one group's contents nothing else is another one. */
static void texts_are_of_a_grammar(void **state) {
	static const char form[] = "root ::= \"<\" [a-z]{2,9} \">\" [0-9]";
	const size_t count = 60;
	struct cuttle_rewrite_params params;
	struct cuttle_grammar *grammar;
	size_t steps = 0, longest = 0;
	assert_int_equal(cuttle_grammar_read(form, strlen(form), &grammar, NULL), CUTTLE_OK);
	set_small_params(&params);
	params.grammar = grammar;
	make_documents(documents, count, 5);
	memcpy(others, documents, sizeof others);
	for (size_t d = 0; d < count; d++)
		for (size_t i = 0; i < others[d].marks; i++)
			if (others[d].groups[i] == 1)
				strcpy(others[d].contents[i], "somebody else");
	struct seen_document *base = see_job(*state, &params, documents, count),
	                     *changed = see_job(*state, &params, others, count);
	for (size_t d = 0; d < count; d++) {
		const char *text = base[d].text;
		const size_t size = base[d].text_size;
		size_t letters = 1;
		while (letters < size && text[letters] >= 'a' && text[letters] <= 'z') letters++;
		assert_true(size >= 5 && text[0] == '<' && letters >= 3 && letters <= 10);
		assert_true(size == letters + 2 && text[letters] == '>');
		assert_true(text[size - 1] >= '0' && text[size - 1] <= '9');
		assert_true(base[d].spent <= params.tokens);
		// The form's first byte is nobody's choice.
		assert_true(base[d].step[0].drawn < 0);
		longest = letters > longest ? letters : longest;
		steps += compare_worlds(&base[d], &changed[d], row_of_group(&documents[d], 1));
	}
	// T is 3, and some tokens are two letters.
	assert_true(longest >= 4 && longest <= 7 && steps > 3 * count);
	free(base);
	free(changed);
	cuttle_grammar_free(&grammar);
	params.grammar = NULL;
}

/* One group's contents are replaced by others, or blanked. Everything but its own row stays. */
static void contents_stay_in_their_row(void **state) {
	const size_t count = count_of_test(DOCUMENTS);
	struct cuttle_rewrite_params params;
	size_t blank_rows = 0, other_rows = 0;
	set_small_params(&params);
	make_documents(documents, count, 1);
	struct seen_document *base = see_job(*state, &params, documents, count);
	for (int blanked = 0; blanked < 2; blanked++) {
		uint64_t seed = 2;
		memcpy(others, documents, sizeof others);
		for (size_t d = 0; d < count; d++) {
			struct marked_document *other = &others[d];
			for (size_t i = 0; i < other->marks; i++)
				if (other->groups[i] == other->groups[d % other->marks]) {
					if (blanked) strcpy(other->contents[i], "_");
					else make_content(&seed, other->contents[i]);
				}
		}
		struct seen_document *seen = see_job(*state, &params, others, count);
		for (size_t d = 0; d < count; d++) {
			const struct marked_document *document = &documents[d];
			if (!document->marks) {
				check_same_texts(&base[d], &seen[d], 1);
				assert_int_equal(seen[d].spent, 0);
				assert_int_equal(seen[d].length, seen[d].free_tokens);
				continue;
			}
			const uint32_t changed =
			    row_of_group(document, document->groups[d % document->marks]);
			assert_true(compare_worlds(&base[d], &seen[d], changed) > 0);
			for (uint32_t i = 0; i < seen[d].now && blanked; i++) {
				assert_true(seen[d].step[i].blank[changed]);
				blank_rows += seen[d].step[i].rows[changed] != 0;
			}
			other_rows += !base[d].step[0].blank[changed];
		}
		free(seen);
	}
	// Neither all rows were blank, nor was each blank one a row that never came.
	assert_true(blank_rows > count / 2 && other_rows > count / 2);
	free(base);
}

/* Of the mix *all* there is one row, with every content. */
static void one_row_shows_all(void **state) {
	const size_t count = count_of_test(DOCUMENTS);
	struct cuttle_rewrite_params params;
	set_small_params(&params);
	params.mix = CUTTLE_MIX_ALL;
	make_documents(documents, count, 4);
	struct seen_document *seen = see_job(*state, &params, documents, count);
	for (size_t d = 0; d < count; d++) assert_int_equal(seen[d].places, 1);
	free(seen);
}

/* What is no context is blank: the texts are those of a content that is blank. */
static void unfit_contexts_are_blank(void **state) {
	static char long_text[MOST_DOCUMENT];
	static const char not_utf8[] = "abc\xff", not_finite[] = "a zz b";
	enum { COUNT = 20 };
	const struct {
		const char *text;
		size_t size;
	} unfit[] = {{NULL, 0},
	             {long_text, 600},              /* too many tokens */
	             {long_text, sizeof long_text}, /* too many bytes */
	             {not_utf8, sizeof not_utf8 - 1},
	             {not_finite, sizeof not_finite - 1}};
	struct cuttle_rewrite_params params;
	struct cuttle_model *broken = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	(void)state;
	memset(long_text, 'a', sizeof long_text);
	set_small_params(&params);
	params.tokens = 12;
	for (size_t d = 0; d < COUNT; d++) {
		documents[d] =
		    (struct marked_document){.marks = 2, .strings = {"He is ", ", ", "."}};
		documents[d].groups[1] = 1 + (uint32_t)d % 2;
		strcpy(documents[d].contents[0], "_");
		strcpy(documents[d].contents[1], "_");
	}
	struct seen_document *blank = see_job(broken, &params, documents, COUNT);
	for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
		struct watch w = {.documents = documents,
		                  .count = COUNT,
		                  .seen = new_seen(COUNT),
		                  .replaced = true,
		                  .private_text = unfit[i].text,
		                  .private_size = unfit[i].size};
		assert_int_equal(watch_job(broken, &params, &w), CUTTLE_OK);
		check_same_texts(blank, w.seen, COUNT);
		free(w.seen);
	}
	free(blank);
	cuttle_model_free(&broken);
}

/* Sharing, threads, tiers and documents in flight change no token. */
static void texts_depend_on_nothing_else(void **state) {
	enum { COUNT = 24 };
	struct cuttle_rewrite_params params;
	const struct kernels *tiers[8];
	const size_t tier_count = kernels_available(tiers);
	set_small_params(&params);
	params.tokens = 12;
	make_documents(documents, COUNT, 3);
	struct seen_document *base = see_job(*state, &params, documents, COUNT);
	for (unsigned way = 0; way < 3 + tier_count; way++) {
		assert_true(kernels_set(way < 3 ? "auto" : tiers[way - 3]->name));
		struct cuttle_model *model = tiny_model_open_healthy(way == 2 ? 3 : 1);
		params.no_sharing = way == 0;
		params.parallel = way == 1 ? 1 : 4;
		params.prompt_chunk = way == 2 ? 5 : 0;
		struct seen_document *seen = see_job(model, &params, documents, COUNT);
		check_same_texts(base, seen, COUNT);
		for (size_t d = 0; d < COUNT; d++)
			for (uint32_t place = 0; place < seen[d].places; place++)
				assert_int_equal(seen[d].shared[place],
				                 way ? base[d].shared[place] : 0);
		free(seen);
		cuttle_model_free(&model);
	}
	assert_true(kernels_set("auto"));
	free(base);
}

/* At most T tokens are private, and U in all; free ones are drawn where they may be. A run that is
 * stopped after every tenth token writes the same texts. */
static void savings_and_resumed_runs(void **state) {
	enum { COUNT = 12 };
	static const struct {
		uint32_t tokens, max_length, ends;
		struct cuttle_savings savings;
	} ways[] = {{12, 0, 12, {0}},
	            {12, 0, 24, {.complete = true}},
	            {12, 30, 30, {.public_when = 0.3, .complete = true}},
	            {12, 0, 20, {.public_when = 0.3, .complete = true, .free_tokens = 8}},
	            {12, 14, 14, {.public_when = 0.3}}};
	struct cuttle_rewrite_params params;
	set_small_params(&params);
	make_documents(documents, COUNT, 5);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i += briefly() ? 3 : 1) {
		params.tokens = ways[i].tokens;
		params.max_length = ways[i].max_length;
		params.savings = ways[i].savings;
		params.parallel = 4;
		struct seen_document *whole = see_job(*state, &params, documents, COUNT);
		size_t early = 0; // free tokens before the last private one
		for (size_t d = 0; d < COUNT; d++) {
			const bool marked = documents[d].marks;
			uint32_t left = whole[d].spent;
			assert_true(whole[d].spent <= (marked ? ways[i].tokens : 0));
			assert_true(whole[d].length <= ways[i].ends);
			for (uint32_t s = 0; s < whole[d].now; s++) {
				left -= whole[d].step[s].drawn >= 0;
				early += left && whole[d].step[s].drawn < 0;
			}
		}
		assert_int_equal(early > 0, ways[i].savings.public_when > 0);
		for (params.parallel = briefly() ? 4 : 1; params.parallel <= 4;
		     params.parallel += 3) {
			struct watch w = {.documents = documents,
			                  .count = COUNT,
			                  .seen = new_seen(COUNT),
			                  .stop_after = 10};
			enum cuttle_status status = CUTTLE_PARTIAL;
			for (int tries = 0; status == CUTTLE_PARTIAL && tries < 100; tries++)
				status = watch_job(*state, &params, &w);
			assert_int_equal(status, CUTTLE_OK);
			check_same_texts(whole, w.seen, COUNT);
			free(w.seen);
		}
		free(whole);
	}
}

/* For each set of groups present, no cost is above what was asked for, and not far below. */
static void costs_of_every_set(void **state) {
	const double own[GROUPS] = {3.0, NAN, 9.0};
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter;
	struct cuttle_rewrite_cost one, all;
	set_small_params(&params);
	params.divergence = NAN;
	params.epsilon = 6.0;
	for (int mix = CUTTLE_MIX_ALL; mix <= CUTTLE_MIX_CAPPED; mix++) {
		params.mix = (enum cuttle_mix)mix;
		params.delta = mix == CUTTLE_MIX_CAPPED ? 1e-2 : 1e-5;
		params.group_epsilons = mix == CUTTLE_MIX_AVERAGE ? own : NULL;
		assert_int_equal(cuttle_rewriter_make(*state, &params, &rewriter, NULL), CUTTLE_OK);
		assert_true(cuttle_rewriter_loss(rewriter, 0) <= 0.0);
		for (uint32_t present = 1; present < 1 << GROUPS; present++) {
			const uint32_t groups = (uint32_t)__builtin_popcount(present);
			cuttle_rewriter_cost(rewriter, present, CUTTLE_EVERY_GROUP, &all);
			assert_int_equal(all.rows, mix == CUTTLE_MIX_ALL ? 1 : groups);
			const double loss = cuttle_rewriter_loss(rewriter, present);
			assert_true(loss >= all.loss * params.tokens &&
			            loss <= all.loss * params.tokens * (1 + 1e-15));
			double most = 0.0;
			for (uint32_t group = 0; group < GROUPS; group++) {
				if (!(present >> group & 1)) continue;
				cuttle_rewriter_cost(rewriter, present, group, &one);
				assert_true(one.epsilon_exchange <= all.epsilon_exchange);
				assert_true(one.ceiling <= all.ceiling);
				if (one.divergence > most) most = one.divergence;
				if (mix == CUTTLE_MIX_ALL && groups > 1) {
					assert_true(isnan(one.epsilon) && isnan(one.loss));
					continue;
				}
				const double asked = mix == CUTTLE_MIX_AVERAGE && !isnan(own[group])
				                         ? own[group]
				                         : params.epsilon;
				assert_true(one.epsilon <= asked && one.epsilon > asked * 0.999999);
				assert_true(one.epsilon <= all.epsilon);
			}
			assert_true(all.divergence >= most && all.divergence <= most);
			if (mix == CUTTLE_MIX_ALL) assert_true(all.epsilon <= params.epsilon);
		}
		cuttle_rewriter_free(&rewriter);
	}
}

/* The numbers of dp/fusion_account.h's example and of design vectors. */
static void budgets(void **state) {
	static const struct {
		double epsilon, delta;
		uint32_t tokens, alpha;
		double divergence;
	} planned[] = {{1, 1e-3, 900, 10, 0.0006596388}, {4, 1e-3, 900, 4, 0.002719106},
	               {8, 1e-3, 900, 3, 0.006112104},   {16, 1e-3, 900, 2, 0.01164282},
	               {4, 1e-6, 256, 7, 0.008499547},   {8, 1e-6, 256, 4, 0.01618988},
	               {16, 1e-6, 256, 3, 0.03924616}};
	struct cuttle_rewrite_budget b;
	(void)state;
	for (size_t i = 0; i < sizeof planned / sizeof *planned; i++) {
		cuttle_rewrite_budget_none(&b);
		b.epsilon = planned[i].epsilon;
		b.delta = planned[i].delta;
		b.tokens = planned[i].tokens;
		assert_int_equal(cuttle_rewrite_budget_solve(&b, NULL), CUTTLE_OK);
		assert_int_equal(b.alpha, planned[i].alpha);
		assert_true(fabs(b.divergence / planned[i].divergence - 1) < 1e-6);
		assert_true(b.epsilon <= planned[i].epsilon);
		// The divergence found allows these tokens and not one more.
		b.epsilon = planned[i].epsilon;
		b.tokens = 0;
		assert_int_equal(cuttle_rewrite_budget_solve(&b, NULL), CUTTLE_OK);
		assert_int_equal(b.tokens, planned[i].tokens);
	}
	cuttle_rewrite_budget_none(&b);
	b.divergence = 0.01;
	b.delta = 1e-3;
	b.tokens = 900;
	b.groups = 8;
	b.mix = CUTTLE_MIX_AVERAGE;
	assert_int_equal(cuttle_rewrite_budget_solve(&b, NULL), CUTTLE_OK);
	assert_true(fabs(b.one.epsilon - 6.65139511163) < 1e-9);
	assert_true(fabs(b.all.epsilon - 14.5214609179) < 1e-9);
	assert_true(fabs(b.all.epsilon_exchange - 45.473925) < 1e-5);
	assert_true(b.one.ceiling < 1.0 && b.all.ceiling >= 1.0);
}

/* What is refused: before anything is drawn. */
static void refusals(void **state) {
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter = NULL;
	static char text[MOST_DOCUMENT];
	static const double own[GROUPS] = {1, 2, 3};
	memset(text, 'a', sizeof text);
	for (int i = 0; i < 14; i++) {
		set_small_params(&params);
		if (i == 0) params.epsilon = 3;
		if (i == 1) params.divergence = NAN;
		if (i == 2) params.groups = 17;
		if (i == 3) params.group_epsilons = own;
		if (i == 4) params.savings.token_bank = true;
		if (i == 5) params.max_length = params.tokens - 1;
		if (i == 6) params.alpha = 17;
		if (i == 7) params.temperature = 17;
		if (i == 8) params.instruction = "no place";
		if (i == 9) params.instruction = "{document} {document}";
		if (i == 10) params.context = TINY_CONTEXT + 1;
		if (i == 11) params.form = CUTTLE_CUSTOM;
		if (i == 12) params.divergence = 701;
		if (i == 13) params.tokens = 490;
		assert_int_equal(cuttle_rewriter_make(*state, &params, &rewriter, NULL),
		                 CUTTLE_USAGE);
		assert_null(rewriter);
	}
	set_small_params(&params);
	assert_int_equal(cuttle_rewriter_make(*state, &params, &rewriter, NULL), CUTTLE_OK);
	struct cuttle_rewrite_guarantee g;
	cuttle_rewriter_describe(rewriter, &g);
	assert_int_equal(g.max_length, params.tokens);
	assert_int_equal(cuttle_rewriter_fits(rewriter, text, g.document_tokens, NULL), CUTTLE_OK);
	assert_int_equal(cuttle_rewriter_fits(rewriter, text, g.document_tokens + 1, NULL),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_rewriter_fits(rewriter, text, g.document_bytes + 1, NULL),
	                 CUTTLE_USAGE);
	assert_int_equal(cuttle_rewriter_fits(rewriter, "\xff", 1, NULL), CUTTLE_USAGE);
	assert_int_equal(cuttle_rewriter_fits(rewriter, NULL, 0, NULL), CUTTLE_OK);
	assert_non_null(strstr(cuttle_rewriter_template(rewriter), "{document}"));
	cuttle_rewriter_free(&rewriter);
}

/* Document 0 has a mark of group 0, 1 of group 1, 2 of both: a set of its own for each. */
static uint32_t another_set(void *user, size_t document) {
	(void)user;
	return (uint32_t)document + 1;
}

static void no_context(void *user, size_t document, uint32_t group, const char **text,
                       size_t *size) {
	(void)user, (void)document, (void)group, (void)text, (void)size;
	fail_msg("a refused job is not begun");
}

/* The library keeps a mechanism for each set of unlike epsilons. Too many sets are refused when the
 * caller asks, and again before anything is read. */
static void too_many_sets_of_groups(void **state) {
	static const double own[7] = {10, 11, 12, 13, 14, 15, 16};
	struct cuttle_rewrite_params params;
	struct cuttle_rewriter *rewriter;
	struct cuttle_rewrite_job job;
	cuttle_rewrite_job_default(&job);
	job.groups = another_set;
	job.context = no_context;
	job.text = note_text;
	for (int unlike = 0; unlike < 2; unlike++) {
		set_small_params(&params);
		params.divergence = NAN;
		params.epsilon = 20;
		params.groups = 7;
		if (unlike) params.group_epsilons = own;
		assert_int_equal(cuttle_rewriter_make(*state, &params, &rewriter, NULL), CUTTLE_OK);
		for (job.documents = 0; job.documents < 128; job.documents++)
			assert_int_equal(cuttle_rewriter_takes(rewriter, &job, NULL),
			                 unlike && job.documents > 64 ? CUTTLE_USAGE : CUTTLE_OK);
		job.documents = 65;
		if (unlike)
			assert_int_equal(cuttle_rewriter_run(rewriter, &job, NULL), CUTTLE_USAGE);
		cuttle_rewriter_free(&rewriter);
	}
}

static int open_healthy_model(void **state) {
	*state = tiny_model_open_healthy(1);
	return 0;
}

static int close_healthy_model(void **state) {
	cuttle_model_free((struct cuttle_model **)state);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contents_stay_in_their_row),
	    cmocka_unit_test(texts_are_of_a_grammar),
	    cmocka_unit_test(one_row_shows_all),
	    cmocka_unit_test(unfit_contexts_are_blank),
	    cmocka_unit_test(texts_depend_on_nothing_else),
	    cmocka_unit_test(savings_and_resumed_runs),
	    cmocka_unit_test(costs_of_every_set),
	    cmocka_unit_test(budgets),
	    cmocka_unit_test(refusals),
	    cmocka_unit_test(too_many_sets_of_groups),
	};
	return cmocka_run_group_tests(tests, open_healthy_model, close_healthy_model);
}
