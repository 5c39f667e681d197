// SPDX-License-Identifier: Apache-2.0
// From a request to texts, see evolve.h. evolve_texts goes through the generations. While the
// engine draws it calls the functions below that begin with name_ or keep_, and those of run.h.
#include "workflow/evolve.h"

#include "engine/cuttle/embed.h"
#include "engine/cuttle/public.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/disk/paths.h"
#include "measure/scratch.h"
#include "workflow/text_set.h"
#include "workflow/spending.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TEXTS_AT_ONCE = 16,          /* that become vectors in one call */
	RECORDS_MOST = (1 << 30) - 1 /* so that a noisy count fits a token */
};
static const char TEXT_PLACE[] = "{text}", HEADING_PLACE[] = "{category}";
/* What a variation is asked for, unless told otherwise, in plain text and in the chat format. */
static const char OWN_VARIATION[] = "### Text\n\n{text}\n\n### The same text in other words\n\n",
                  OWN_KIND[] = "text that says the same as the one below, in other words";

void evolve_default(struct evolve_request *request) {
	*request = (struct evolve_request){.text_field = "text",
	                                   .epsilon = NAN,
	                                   .delta = 1e-6,
	                                   .texts = 100,
	                                   .generations = 10,
	                                   .variations = 7,
	                                   .neighbours = 1,
	                                   .seed = SYSTEM_NO_SEED,
	                                   .common.now = (uint64_t)time(NULL)};
	cuttle_plan_params_default(&request->plan);
}

enum cuttle_status evolve_check(const struct evolve_request *request, struct cuttle_error *error) {
	const struct cuttle_plan_params *plan = &request->plan;
	const char *problem = common_fault(&request->common);
	if (problem) return io_fail(error, CUTTLE_USAGE, "%s", problem);
	if (isnan(request->epsilon))
		problem = "-e EPS is missing: the noise of the votes follows from it";
	else if (request->texts > CUTTLE_MOST_CANDIDATES / request->variations)
		problem = "-N times --variations: at most 2^20 candidates";
	else if (request->neighbours > request->texts * request->variations)
		problem = "--neighbours: there are fewer candidates";
	else problem = common_chat_fault(plan->chat_format, plan->system, plan->form);
	if (!problem && request->common.ledger && plan->insecure)
		problem = "--insecure-seed: such a run is not private, and no ledger counts it";
	if (!problem)
		problem = grammar_choice_fault(request->grammar, request->schema,
		                               request->common.stop_count);
	if (!problem && request->schema && strcmp(request->text_field, "text") != 0)
		problem = "--schema reads whole records: leave out --text-field";
	if (!problem) problem = common_sign_fault(&request->common);
	return problem ? io_fail(error, CUTTLE_USAGE, "%s", problem) : CUTTLE_OK;
}

enum cuttle_status evolve_paths(const struct evolve_request *request, struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status =
	    common_receipt_beside(request->common.output, request->common.receipt, &receipt, error);
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->common.model, PATH_MODEL),
	    PATH_ALONE("-i", request->common.input, PATH_STREAM),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--prompt-variation", request->prompt_variation, PATH_STREAM),
	    PATH_ALONE("--grammar", request->grammar, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    PATH_ALONE("--sign", request->common.sign, PATH_FILE),
	    {"--ledger", request->common.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->common.output,
	     PATH_OUTPUT,
	     receipt,
	     {".journal", ".journal.key", SPENDING_BESIDE}},
	    PATH_ALONE("--receipt", request->common.receipt, PATH_RECORD),
	};
	const struct records_request records = {.path = request->common.input};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status && request->common.output)
		status = formats_check_lines("-o", request->common.output, error);
	if (!status && request->common.input) status = records_check_name(&records, error);
	free(receipt);
	return status;
}

/* ---- what is made before --------------------------------------------------------------------- */

/* Makes the prompt of variations: the place of the text becomes that of a heading, which prompts
 * take as it is. USAGE: the prompt lacks its place, or has another. */
static enum cuttle_status take_variation(struct evolve *evolve, const char *words,
                                         struct cuttle_error *error) {
	const char *place = strstr(words, TEXT_PLACE);
	const size_t size = strlen(words) + sizeof HEADING_PLACE;
	if (!place || strstr(place + 1, TEXT_PLACE) || strstr(words, HEADING_PLACE))
		return io_fail(error, CUTTLE_USAGE,
		               "the prompt of --prompt-variation must hold %s exactly once, and no "
		               "%s",
		               TEXT_PLACE, HEADING_PLACE);
	char *prompt = malloc(size);
	if (!prompt) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)snprintf(prompt, size, "%.*s%s%s", (int)(place - words), words, HEADING_PLACE,
	               place + strlen(TEXT_PLACE));
	free(evolve->prompt_variation);
	evolve->prompt_variation = prompt;
	evolve->again.form = CUTTLE_CUSTOM;
	evolve->again.prompt_public = prompt;
	evolve->again.prompt_private = "{category}{reference}";
	return CUTTLE_OK;
}

static enum cuttle_status read_evolve_prompts(const struct evolve_request *request,
                                              struct evolve *evolve, struct cuttle_error *error) {
	struct cuttle_plan_params *words = &evolve->words;
	enum cuttle_status status = CUTTLE_OK;
	*words = request->plan;
	words->stops = evolve->stop.stops;
	if (request->prompt_public)
		status = setup_prompt(request->prompt_public, &evolve->prompt_public, error);
	if (!status && evolve->prompt_public) {
		words->form = CUTTLE_CUSTOM;
		words->prompt_public = evolve->prompt_public;
		// Nobody is ever shown a private prompt; a plan wants one.
		words->prompt_private = "{reference}";
	}
	setup_public_law(words);
	evolve->again = *words;
	if (!status && request->prompt_variation) {
		char *own;
		status = setup_prompt(request->prompt_variation, &own, error);
		if (!status) status = take_variation(evolve, own, error);
		free(own);
	} else if (!status && words->form != CUTTLE_INSTRUCT) {
		status = take_variation(evolve, OWN_VARIATION, error);
	} else {
		evolve->again.kind = OWN_KIND;
	}
	return status;
}

/* USAGE: a variation behind the longest text might not fit. A text has nearly as many tokens when
 * it is read again; a quarter more is room enough. */
static enum cuttle_status check_evolve_context(const struct evolve *evolve,
                                               const struct cuttle_guarantee *guarantee,
                                               struct cuttle_error *error) {
	const char *prompt = evolve->prompt_variation ? evolve->prompt_variation : "";
	const size_t room = cuttle_tokens_bound(strlen(prompt));
	size_t count = 0;
	int32_t *ids = calloc(room, sizeof *ids);
	enum cuttle_status status = ids ? cuttle_tokenize(evolve->model, prompt, strlen(prompt),
	                                                  true, ids, room, &count, error)
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	free(ids);
	if (count < guarantee->public_tokens) count = guarantee->public_tokens;
	// What a grammar leaves no choice about comes besides.
	const size_t text = (size_t)guarantee->tokens + guarantee->savings.free_tokens,
	             wanted = count + 64 + 2 * text + text / 4;
	if (status || wanted <= guarantee->context) return status;
	return io_fail(error, CUTTLE_USAGE,
	               "a prompt (%zu tokens), a text of %zu in it and its variation may exceed a "
	               "context of %u. Lower -n, or raise --ctx-size",
	               count, text, guarantee->context);
}

static enum cuttle_status set_evolve_receipt(const struct evolve_request *request,
                                             const struct cuttle_guarantee *law,
                                             struct evolve *evolve, struct cuttle_error *error) {
	struct evolve_receipt *receipt = &evolve->receipt;
	const struct cuttle_plan_params *again = &evolve->again;
	const char *const words[] = {cuttle_plan_template(evolve->plan, 0),
	                             again->form == CUTTLE_CUSTOM ? again->prompt_public
	                                                          : again->kind};
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; i < 2; i++) hash_add(&hash, words[i], strlen(words[i]) + 1);
	hash_end(&hash, receipt->template_sha256);
	receipt->variations = (uint32_t)request->variations;
	receipt->threshold = (uint32_t)request->threshold;
	receipt->texts = (size_t)request->texts;
	receipt->private_output = !request->plan.insecure;
	receipt->temperature = law->temperature;
	receipt->top_k = law->top_k;
	receipt->tokens = law->tokens;
	receipt->context = law->context;
	receipt->seed = request->seed;
	receipt->isa = cuttle_isa();
	receipt->unit_key = request->common.unit_key;
	receipt->stops = evolve->stop.stops;
	grammar_choice_tell(&evolve->grammar, receipt->grammar_sha256, receipt->schema_sha256);
	receipt->dataset = request->common.dataset;
	const uint64_t seed = request->plan.insecure ? request->plan.insecure_seed : UINT64_MAX;
	if (!evolve_fingerprint(receipt, request->common.input ? request->common.input : "",
	                        request->text_field, seed, evolve->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->common.now, receipt->date, error);
}

static enum cuttle_status make_evolve_plan(struct evolve *evolve, struct cuttle_error *error) {
	struct cuttle_plan_params params = evolve->words;
	params.grammars = (const struct cuttle_grammar *const *)evolve->grammar.grammars;
	params.grammar_count = evolve->grammar.count;
	return cuttle_plan_make(evolve->model, &params, &evolve->plan, error);
}

enum cuttle_status evolve_open(const struct evolve_request *request,
                               const struct setup_model *opened, struct evolve *evolve,
                               struct cuttle_error *error) {
	struct cuttle_guarantee law;
	struct evolve_receipt *receipt = &evolve->receipt;
	*evolve = (struct evolve){.model = opened->model};
	memcpy(receipt->model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(opened->model, &receipt->model);
	receipt->delta = request->delta;
	receipt->votes = (struct cuttle_query){
	    .square = request->neighbours, .times = (uint32_t)request->generations, .parts = 1};
	enum cuttle_status status =
	    cuttle_queries_solve(&receipt->votes, 1, request->epsilon, request->delta, error);
	if (!status) status = evolve_settle(receipt, error);
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &evolve->signer, error);
	if (!status && request->common.stop_count)
		status = stop_choice_make(
		    request->common.stops, request->common.stop_count, NULL, 0,
		    request->plan.form == CUTTLE_CONTINUE && !request->prompt_public, &evolve->stop,
		    error);
	if (!status)
		status =
		    grammar_choice_read(request->grammar, request->schema, &evolve->grammar, error);
	if (!status) status = read_evolve_prompts(request, evolve, error);
	if (!status) status = make_evolve_plan(evolve, error);
	if (status) return status;
	cuttle_plan_describe(evolve->plan, &law);
	status = check_evolve_context(evolve, &law, error);
	return status ? status : set_evolve_receipt(request, &law, evolve, error);
}

void evolve_free(struct evolve *evolve) {
	cuttle_plan_free(&evolve->plan);
	signature_close(&evolve->signer);
	stop_choice_free(&evolve->stop);
	grammar_choice_free(&evolve->grammar);
	free(evolve->prompt_public);
	free(evolve->prompt_variation);
	*evolve = (struct evolve){0};
}

size_t evolve_drawn(const struct evolve_receipt *receipt) {
	return receipt->texts * (receipt->variations +
	                         (size_t)(receipt->votes.times - 1) * (receipt->variations - 1));
}

/* ---- the run --------------------------------------------------------------------------------- */

/* A text that may be voted for. */
struct candidate {
	char *text; /* owned; NUL behind it */
	size_t size;
	uint32_t tokens;
	enum cuttle_finish finish;
	int64_t votes; /* noisy, above the threshold */
};

struct evolve_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct evolve_request *request;
	struct evolve *evolve;
	struct text_set records;
	float *record_vectors; /* [records][width]; NULL: not needed so far */
	struct candidate
	    *candidates; /* [count] N L of them; the first N are those that were kept */
	float *vectors;  /* [count][width] of the candidates */
	size_t count;
	size_t width;
	size_t kept;                   /* candidates that the job that is drawn does not draw */
	const struct candidate *shown; /* the text whose line is written */
	struct cuttle_error *error;
};

static enum cuttle_status fail_evolve(const struct evolve_state *s) {
	return io_fail(s->error, CUTTLE_NOMEM, "out of memory for texts and their vectors");
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The prompt of text i of a job. Variations of the first text that was kept come first. */
static void name_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	const struct evolve_state *s = user;
	const size_t each = s->evolve->receipt.variations - 1;
	*params = s->kept ? s->evolve->again : s->evolve->words;
	*heading = s->kept ? s->candidates[text / each].text : NULL;
}

static int keep_candidate(void *user, const struct cuttle_text *text) {
	struct evolve_state *s = user;
	struct candidate *candidate = &s->candidates[s->kept + text->index];
	candidate->size = text->finish == CUTTLE_FINISH_LENGTH
	                      ? filters_trim(text->text, text->size)
	                      : text->size;
	candidate->tokens = text->tokens;
	candidate->finish = text->finish;
	candidate->text = malloc(candidate->size + 1);
	if (!candidate->text) return 1;
	memcpy(candidate->text, text->text, candidate->size);
	candidate->text[candidate->size] = 0;
	s->run.events->text(s->run.events->user);
	return 0;
}

/* Draws the candidates behind those that were kept. */
static enum cuttle_status draw_candidates(struct evolve_state *s, size_t generation) {
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = s->count - s->kept;
	job.parallel = s->request->plan.parallel;
	job.seed = s->evolve->receipt.seed + generation;
	job.user = s;
	job.prompt = name_prompt;
	job.drawn = run_drawn;
	job.token = run_token;
	job.text = keep_candidate;
	job.progress = run_progress;
	return job.texts ? cuttle_public_run(s->evolve->plan, &job, s->error) : CUTTLE_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static const char *text_of_record(const struct evolve_state *s, size_t i, size_t *size) {
	return text_set_text(&s->records, i, size);
}

static const char *text_of_candidate(const struct evolve_state *s, size_t i, size_t *size) {
	*size = s->candidates[i].size;
	return s->candidates[i].text;
}

/* Texts on their way to vectors. */
struct embedding {
	struct cuttle_embed_text texts[TEXTS_AT_ONCE];
	int32_t *ids[TEXTS_AT_ONCE];
	double *out; /* [TEXTS_AT_ONCE][width] */
};

static enum cuttle_status
embed_part(struct evolve_state *s, struct embedding *e, size_t first, size_t some,
           const char *text_of(const struct evolve_state *, size_t, size_t *), float *vectors) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < some && !status; i++) {
		size_t size;
		const char *text = text_of(s, first + i, &size);
		// Of a record neither the room nor a failure depends on what it says.
		const bool cut = text_of == text_of_record;
		const size_t room = cuttle_tokens_bound(cut ? TEXT_SET_MOST : size);
		e->ids[i] = scratch_make(room, sizeof *e->ids[i]);
		e->texts[i] = (struct cuttle_embed_text){.ids = e->ids[i]};
		if (!e->ids[i]) {
			status = fail_evolve(s);
			break;
		}
		status = cuttle_tokenize(s->evolve->model, text, size, true, e->ids[i], room,
		                         &e->texts[i].count, cut ? NULL : s->error);
		if (status) e->texts[i].count = 0;
		if (cut) status = CUTTLE_OK;
	}
	if (!status) status = cuttle_embed(s->evolve->model, e->texts, some, 0, e->out, s->error);
	for (size_t i = 0; i < some * s->width && !status; i++) vectors[i] = (float)e->out[i];
	for (size_t i = 0; i < some; i++) {
		scratch_free(e->ids[i]);
		e->ids[i] = NULL;
	}
	return status;
}

/* vectors[count][width]: each a function of its own text. PARTIAL: told to stop. */
static enum cuttle_status
embed_set(struct evolve_state *s, size_t count,
          const char *text_of(const struct evolve_state *, size_t, size_t *), float *vectors) {
	struct embedding e = {.out = scratch_make(TEXTS_AT_ONCE * s->width, sizeof *e.out)};
	enum cuttle_status status = e.out ? CUTTLE_OK : fail_evolve(s);
	for (size_t first = 0, some; first < count && !status; first += some) {
		some = count - first < TEXTS_AT_ONCE ? count - first : TEXTS_AT_ONCE;
		status = embed_part(s, &e, first, some, text_of, vectors + first * s->width);
		if (!status && run_stop(s)) status = CUTTLE_PARTIAL;
	}
	scratch_free(e.out);
	return status;
}

/* ---- votes ----------------------------------------------------------------------------------- */

static bool is_zero_vector(const float *vector, size_t width) {
	bool zero = true;
	for (size_t i = 0; i < width; i++) zero &= vector[i] == 0;
	return zero;
}

static double measure_distance(const float *one, const float *other, size_t width) {
	double sum = 0;
	for (size_t i = 0; i < width; i++) {
		const double off = (double)one[i] - (double)other[i];
		sum += off * off;
	}
	return sum;
}

/* votes[K]: the nearest candidates of one record, a tie to the lower number. They depend on this
 * record and on the candidates alone. A record without a vector votes for none; a candidate without
 * one gets no vote. */
static void find_votes(const struct evolve_state *s, const float *record, const bool *blank,
                       uint32_t *votes) {
	const size_t each = (size_t)s->evolve->receipt.votes.square;
	double best[CUTTLE_MOST_VOTES];
	size_t found = 0;
	for (size_t k = 0; k < each; k++) votes[k] = CUTTLE_NO_VOTE;
	if (is_zero_vector(record, s->width)) return;
	for (size_t c = 0; c < s->count; c++) {
		if (blank[c]) continue;
		const double distance =
		    measure_distance(record, s->vectors + c * s->width, s->width);
		size_t at = found;
		while (at > 0 && distance < best[at - 1]) at--;
		if (at == each) continue;
		if (found < each) found++;
		for (size_t k = found - 1; k > at; k--) {
			best[k] = best[k - 1];
			votes[k] = votes[k - 1];
		}
		best[at] = distance;
		votes[at] = (uint32_t)c;
	}
}

/* noisy[count], from all records. */
static enum cuttle_status ask_records(struct evolve_state *s, size_t generation, int64_t *noisy) {
	const struct cuttle_query *query = &s->evolve->receipt.votes;
	const size_t records = s->records.count, each = (size_t)query->square;
	const struct cuttle_plan_params *plan = &s->request->plan;
	enum cuttle_status status = CUTTLE_OK;
	uint32_t *votes = scratch_make(records * each, sizeof *votes);
	bool *blank = calloc(s->count, sizeof *blank);
	if (!votes || !blank) status = fail_evolve(s);
	if (!status && !s->record_vectors) {
		s->record_vectors = scratch_make(records * s->width, sizeof *s->record_vectors);
		status = s->record_vectors
		             ? embed_set(s, records, text_of_record, s->record_vectors)
		             : fail_evolve(s);
		if (status) {
			scratch_free(s->record_vectors);
			s->record_vectors = NULL;
		}
	}
	if (!status) status = embed_set(s, s->count, text_of_candidate, s->vectors);
	for (size_t c = 0; c < s->count && !status; c++)
		blank[c] = is_zero_vector(s->vectors + c * s->width, s->width);
	for (size_t i = 0; i < records && !status; i++)
		find_votes(s, s->record_vectors + i * s->width, blank, votes + i * each);
	if (!status)
		status = cuttle_votes_count(
		    query, votes, records, (uint32_t)each, (uint32_t)s->count,
		    plan->insecure ? &plan->insecure_seed : NULL, generation, noisy, s->error);
	scratch_free(votes);
	free(blank);
	return status;
}

/* Sets the candidates' votes: from the journal, or anew where it lacks them, and then it is there
 * first. Each noisy count has noise of its own, so those of a torn journal stay as they are. */
static enum cuttle_status take_generation(struct evolve_state *s, size_t generation,
                                          size_t number) {
	const int32_t *tokens;
	const size_t drawn = output_drawn(s->run.delivery.output, number, &tokens);
	const uint32_t threshold = s->evolve->receipt.threshold;
	int64_t *noisy = calloc(s->count + 1, sizeof *noisy);
	enum cuttle_status status = noisy ? CUTTLE_OK : fail_evolve(s);
	if (!status && drawn > s->count)
		status = io_fail(s->error, CUTTLE_INPUT,
		                 "%s.journal is damaged; --overwrite draws all texts anew and "
		                 "spends again",
		                 s->request->common.output);
	if (!status && drawn < s->count) status = ask_records(s, generation, noisy);
	for (size_t c = 0; c < drawn && !status; c++) noisy[c] = tokens[c];
	for (size_t c = drawn; c < s->count && !status; c++)
		if (delivery_token(&s->run.delivery, number, (uint32_t)c, (int32_t)noisy[c]) != 0)
			status = CUTTLE_PARTIAL;
	for (size_t c = 0; c < s->count && !status; c++)
		s->candidates[c].votes = noisy[c] > threshold ? noisy[c] - threshold : 0;
	free(noisy);
	return status;
}

static int compare_candidates(const void *one, const void *other) {
	const struct candidate *a = *(const struct candidate *const *)one,
	                       *b = *(const struct candidate *const *)other;
	if (a->votes != b->votes) return a->votes > b->votes ? -1 : 1;
	return a < b ? -1 : 1;
}

/* The N candidates with most votes come first, a tie to the lower number; the others are freed. */
static enum cuttle_status select_candidates(struct evolve_state *s) {
	const size_t texts = s->evolve->receipt.texts;
	struct candidate **order = calloc(s->count, sizeof *order),
	                 *sorted = calloc(s->count, sizeof *sorted);
	const bool room = order && sorted;
	for (size_t c = 0; c < s->count && room; c++) order[c] = &s->candidates[c];
	if (room) qsort(order, s->count, sizeof *order, compare_candidates);
	for (size_t c = 0; c < s->count && room; c++) {
		if (c < texts) sorted[c] = *order[c];
		else free(order[c]->text);
	}
	if (room) memcpy(s->candidates, sorted, s->count * sizeof *sorted);
	free(order);
	free(sorted);
	s->kept = texts;
	return room ? CUTTLE_OK : fail_evolve(s);
}

static enum cuttle_status evolve_generations(struct evolve_state *s) {
	const size_t generations = s->evolve->receipt.votes.times;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t g = 0; g < generations && !status; g++) {
		status = draw_candidates(s, g);
		const size_t number = s->run.first + s->count - s->kept;
		if (!status) status = take_generation(s, g, number);
		if (!status) status = select_candidates(s);
		s->run.first = number + 1;
	}
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *make_evolved_line(void *user, const struct cuttle_text *text) {
	const struct evolve_state *s = user;
	return json_pack("{s:I, s:s%, s:I, s:s, s:I}", "index", (json_int_t)text->index, "text",
	                 text->text, text->size, "tokens", (json_int_t)text->tokens, "finish",
	                 output_finish(text->finish), "votes", (json_int_t)s->shown->votes);
}

static enum cuttle_status write_evolved(struct evolve_state *s) {
	const size_t texts = s->evolve->receipt.texts;
	output_shorten(s->run.delivery.output, texts);
	for (size_t i = 0; i < texts; i++) {
		s->shown = &s->candidates[i];
		const struct cuttle_text text = {.index = i,
		                                 .batch = i,
		                                 .text = s->shown->text,
		                                 .size = s->shown->size,
		                                 .tokens = s->shown->tokens,
		                                 .finish = s->shown->finish};
		if (output_text(s->run.delivery.output, &text) != 0) return CUTTLE_PARTIAL;
	}
	return CUTTLE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum cuttle_status read_evolve(void *user, struct cuttle_error *error) {
	struct evolve_state *s = user;
	const struct common_request *common = &s->request->common;
	const struct schema *schema = s->evolve->grammar.schema;
	const enum cuttle_status status =
	    schema
	        ? text_set_read_objects(common, schema, NULL, 0, RECORDS_MOST, &s->records, error)
	        : text_set_read_input(common, s->request->text_field, NULL, 0, RECORDS_MOST,
	                              &s->records, error);
	s->evolve->receipt.records = s->records.count;
	return status;
}

enum cuttle_status evolve_count(const struct evolve_request *request, struct evolve *evolve,
                                struct cuttle_error *error) {
	struct evolve_state s = {.request = request, .evolve = evolve};
	const enum cuttle_status status = read_evolve(&s, error);
	text_set_free(&s.records);
	return status;
}

static void digest_evolve(void *user, const unsigned char *key, char *digest) {
	const struct evolve_state *s = user;
	text_set_digest(&s->records, key, digest);
}

static void set_evolve_terms(void *user, struct system_terms *terms) {
	struct evolve_state *s = user;
	struct evolve_receipt *receipt = &s->evolve->receipt;
	const char *command = s->evolve->fingerprint;
	terms->output =
	    (struct output_request){.fingerprint = command,
	                            .format = OUTPUT_JSONL,
	                            .texts = evolve_drawn(receipt) + receipt->votes.times,
	                            .private_output = receipt->private_output,
	                            .line = make_evolved_line,
	                            .objects = s->evolve->grammar.schema != NULL,
	                            .digest = digest_evolve};
	// All records are asked together, so g of one owner move votes g times as far.
	terms->charge = (struct ledger_request){.command = command,
	                                        .rho = receipt->rho,
	                                        .count = s->records.count,
	                                        .batch = s->records.count,
	                                        .user = &s->records,
	                                        .unit = text_set_owner};
	terms->charged = &receipt->ledger;
	terms->seed = &receipt->seed;
}

/* Makes room for candidates and draws, asks and writes. */
static enum cuttle_status evolve_texts(void *user, struct cuttle_error *error) {
	struct evolve_state *s = user;
	const struct evolve_receipt *receipt = &s->evolve->receipt;
	s->error = error;
	s->count = receipt->texts * receipt->variations;
	s->width = receipt->model.width;
	s->candidates = calloc(s->count, sizeof *s->candidates);
	s->vectors = calloc(s->count * s->width, sizeof *s->vectors);
	const enum cuttle_status status =
	    s->candidates && s->vectors ? evolve_generations(s) : fail_evolve(s);
	return status ? status : write_evolved(s);
}

static json_t *describe_evolved(void *user, const struct filter_counts *counts,
                                const char *sha256) {
	const struct evolve *evolve = ((const struct evolve_state *)user)->evolve;
	(void)counts;
	return evidence_json(&EVOLVE_KIND, &evolve->receipt, evolve->fingerprint, sha256);
}

static void free_evolved(void *user) {
	struct evolve_state *s = user;
	for (size_t c = 0; c < s->count && s->candidates; c++) free(s->candidates[c].text);
	free(s->candidates);
	free(s->vectors);
	scratch_free(s->record_vectors);
	text_set_free(&s->records);
}

static const struct system EVOLVE = {.read = read_evolve,
                                     .terms = set_evolve_terms,
                                     .draw = evolve_texts,
                                     .receipt = describe_evolved,
                                     .free = free_evolved};

enum cuttle_status evolve_run(const struct evolve_request *request, struct evolve *evolve,
                              const struct run_events *events, struct cuttle_error *error) {
	struct evolve_state s = {.run = {.request = &request->common,
	                                 .events = events,
	                                 .signer = evolve->signer,
	                                 .counted = evolve->receipt.private_output},
	                         .request = request,
	                         .evolve = evolve};
	return run_system(&EVOLVE, &s, error);
}
