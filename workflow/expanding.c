// SPDX-License-Identifier: Apache-2.0
// From a request to an expansion, see expanding.h. expanding_make goes through the steps below that
// begin with read_, make_, show_ or set_; while the engine draws it calls those that begin with
// tell_, keep_ or deliver_.
#include "workflow/expanding.h"

#include "engine/cuttle/text.h"
#include "io/binding.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/jsonout.h"
#include "io/paths.h"
#include "workflow/delivery.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SCORED_PARENTS = 32, /* parents that --drop unlikely scores, at most */
	MOST_TEXTS = 1 << 30 /* N */
};

void expanding_default(struct expanding_request *request) {
	*request = (struct expanding_request){
	    .texts = 1000, .examples = 4, .seed = EXPANDING_NO_SEED, .now = (uint64_t)time(NULL)};
	request->filters.trim = true;
	cuttle_plan_params_default(&request->plan);
	request->plan.tokens = 0;
}

enum cuttle_status expanding_check(const struct expanding_request *request,
                                   struct cuttle_error *error) {
	const char *problem = NULL;
	if (request->plan.chat_format && request->plan.form != CUTTLE_INSTRUCT)
		problem = "--chat-format needs --template instruct";
	else if (request->plan.system && request->plan.form != CUTTLE_INSTRUCT)
		problem = "--system needs --template instruct";
	else if (!strcmp(request->output, "-") && filters_drop_any(&request->filters))
		problem = "--drop needs -o FILE: what is dropped goes to FILE" OUTPUT_DROPPED;
	else if (request->texts > MOST_TEXTS) problem = "-N: too many texts";
	else problem = request_sign_fault(request->sign, request->own_receipt, request->output);
	return problem ? io_fail(error, CUTTLE_USAGE, "%s", problem) : CUTTLE_OK;
}

enum cuttle_status expanding_paths(const struct expanding_request *request,
                                   struct cuttle_error *error) {
	char *own, *parent = NULL;
	enum cuttle_status status =
	    request_receipt_beside(request->output, request->own_receipt, &own, error);
	if (!status)
		status = request_receipt_beside(request->input, request->receipt, &parent, error);
	const char *const dropped = filters_drop_any(&request->filters) ? OUTPUT_DROPPED : NULL;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->model, PATH_MODEL),
	    PATH_ALONE("-i", request->input, PATH_FILE),
	    PATH_ALONE("--receipt", request->receipt ? request->receipt : parent, PATH_FILE),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--sign", request->sign, PATH_FILE),
	    {"-o", request->output, PATH_OUTPUT, own, {".journal", ".journal.key", dropped}},
	    PATH_ALONE("--own-receipt", request->own_receipt, PATH_RECORD),
	};
	const struct records_request texts = {.path = request->input,
	                                      .format = request->input_format};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status) status = records_check_name(&texts, error);
	free(own);
	free(parent);
	return status;
}

/* ---- who is shown ---------------------------------------------------------------------------- */

/* A parent as prompts show it: its category's lines above it. NULL: out of memory. */
static char *show_parent(const struct kept *kept, size_t number) {
	const struct kept_text *text = &kept->texts[number];
	const char *heading = kept->groups[text->group].heading;
	const size_t above = heading ? strlen(heading) + 1 : 0;
	char *example = malloc(above + text->size + 1);
	if (!example) return NULL;
	if (heading) memcpy(example, heading, above - 1);
	if (heading) example[above - 1] = '\n';
	memcpy(example + above, text->text, text->size);
	example[above + text->size] = 0;
	return example;
}

/* Until the scale is made from the parents, no text has a mean: it drops none of them. */
static enum cuttle_status weigh_no_parent(void *user, const char *text, size_t size, double *mean,
                                          struct cuttle_error *error) {
	(void)user;
	(void)text;
	(void)size;
	(void)error;
	*mean = NAN;
	return CUTTLE_OK;
}

/* Counts the tokens of a string, and lists them if `ids` is not NULL; the caller frees *ids. */
static enum cuttle_status list_tokens(const struct cuttle_model *model, const char *text,
                                      size_t size, int32_t **ids, size_t *count,
                                      struct cuttle_error *error) {
	const size_t room = cuttle_tokens_bound(size);
	int32_t *list = calloc(room, sizeof *list);
	if (!list) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status =
	    cuttle_tokenize(model, text, size, false, list, room, count, error);
	if (ids && !status) *ids = list;
	else free(list);
	return status;
}

/* Asks the filters about one text of the parent, as if it had been drawn before all others. What
 * they drop is shown to nobody. *longest becomes at least its tokens. */
static enum cuttle_status judge_parent(struct expanding *expanding, size_t number, size_t *longest,
                                       struct cuttle_error *error) {
	const struct kept_text *text = &expanding->kept.texts[number];
	enum filter_rule rule;
	int32_t *ids = NULL;
	size_t count = 0;
	if (!text->text) return CUTTLE_OK;
	enum cuttle_status status =
	    list_tokens(expanding->model, text->text, text->size, &ids, &count, error);
	if (!status)
		status = filters_judge(expanding->past, text->text, text->size, ids, count, &rule,
		                       error);
	free(ids);
	if (status || rule != FILTER_KEEP) return status;
	char *example = expanding->examples[number] = show_parent(&expanding->kept, number);
	if (!example) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = list_tokens(expanding->model, example, strlen(example), NULL, &count, error);
	if (count > *longest) *longest = count;
	return status;
}

/* Lists the shown texts group by group. */
static void list_members(struct expanding *expanding) {
	const struct kept *kept = &expanding->kept;
	for (size_t group = 0; group < kept->group_count; group++) {
		expanding->firsts[group] = expanding->usable;
		for (size_t i = 0; i < kept->count; i++)
			if (expanding->examples[i] && kept->texts[i].group == group)
				expanding->members[expanding->usable++] = i;
		if (expanding->usable > expanding->firsts[group])
			expanding->weight += kept->groups[group].weight;
	}
	expanding->firsts[kept->group_count] = expanding->usable;
}

static enum cuttle_status read_parents(const struct expanding_request *request,
                                       struct expanding *expanding, size_t *longest,
                                       struct cuttle_error *error) {
	const struct kept *kept = &expanding->kept;
	expanding->examples = calloc(kept->count + 1, sizeof *expanding->examples);
	expanding->members = calloc(kept->count + 1, sizeof *expanding->members);
	expanding->firsts = calloc(kept->group_count + 1, sizeof *expanding->firsts);
	if (!expanding->examples || !expanding->members || !expanding->firsts)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// make_scale sets the scale later, for the texts that are drawn.
	enum cuttle_status status =
	    filters_open(&request->filters, &expanding->likelihood.scale, &expanding->past, error);
	for (size_t i = 0; i < kept->count && !status; i++)
		status = judge_parent(expanding, i, longest, error);
	if (status) return status;
	list_members(expanding);
	return expanding->weight
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s: no text of it can be shown as an example",
	                     request->input);
}

/* ---- which parents a text has ---------------------------------------------------------------- */

/* Random numbers of a text: [0] chooses its group, the others its parents. */
struct text_numbers {
	uint64_t all[1 + EXPANDING_MOST_EXAMPLES];
};

static struct text_numbers numbers_of_text(uint64_t seed, uint64_t text) {
	static const char words[] = "cuttle expand";
	unsigned char key[crypto_stream_chacha20_KEYBYTES],
	    nonce[crypto_stream_chacha20_NONCEBYTES], begin[sizeof words - 1 + sizeof seed];
	struct text_numbers numbers;
	memcpy(begin, words, sizeof words - 1);
	memcpy(begin + sizeof words - 1, &seed, sizeof seed);
	_Static_assert(sizeof nonce == sizeof text, "a text's number is a nonce");
	memcpy(nonce, &text, sizeof nonce);
	(void)crypto_generichash(key, sizeof key, begin, sizeof begin, NULL, 0);
	(void)crypto_stream_chacha20((unsigned char *)numbers.all, sizeof numbers.all, nonce, key);
	return numbers;
}

/* A number below n from 64 random bits; the odds of two differ by less than n in 2^64. */
static uint64_t scale_number(uint64_t random, uint64_t n) {
	return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

static size_t choose_group(const struct expanding *expanding, uint64_t random) {
	uint64_t left = scale_number(random, expanding->weight);
	for (size_t group = 0; group < expanding->kept.group_count; group++) {
		if (expanding->firsts[group] == expanding->firsts[group + 1]) continue;
		const uint64_t weight = expanding->kept.groups[group].weight;
		if (left < weight) return group;
		left -= weight;
	}
	return expanding->kept.group_count - 1;
}

/* Chooses parents of a group, without one of its texts: `but` (SIZE_MAX = none). The r-th of those
 * that are left is taken. Example: of 5 texts 1 and 3 are taken; the third that is left is 4. */
static void choose_parents(const struct expanding *expanding, const struct text_numbers *numbers,
                           size_t group, size_t but, struct expanding_parents *parents) {
	const size_t first = expanding->firsts[group], end = expanding->firsts[group + 1];
	size_t taken[1 + EXPANDING_MOST_EXAMPLES], count = 0;
	*parents = (struct expanding_parents){.group = group};
	for (size_t i = first; i < end; i++)
		if (expanding->members[i] == but) taken[count++] = i;
	const size_t left = end - first - count;
	while (parents->count < expanding->receipt.examples && parents->count < left) {
		size_t place =
		    first + scale_number(numbers->all[1 + parents->count], left - parents->count);
		size_t at = 0;
		while (at < count && taken[at] <= place) {
			place++;
			at++;
		}
		memmove(taken + at + 1, taken + at, (count++ - at) * sizeof *taken);
		taken[at] = place;
		parents->count++;
	}
	for (size_t i = 0, to = 0; i < count; i++)
		if (expanding->members[taken[i]] != but)
			parents->texts[to++] = expanding->members[taken[i]];
}

void expanding_choose(const struct expanding *expanding, uint64_t text,
                      struct expanding_parents *parents) {
	const struct text_numbers numbers = numbers_of_text(expanding->receipt.seed, text);
	choose_parents(expanding, &numbers, choose_group(expanding, numbers.all[0]), SIZE_MAX,
	               parents);
}

/* The examples of parents, for the parameters of a prompt. */
static void list_examples(const struct expanding *expanding,
                          const struct expanding_parents *parents,
                          const char *examples[EXPANDING_MOST_EXAMPLES],
                          struct cuttle_plan_params *params) {
	for (size_t i = 0; i < parents->count; i++)
		examples[i] = expanding->examples[parents->texts[i]];
	*params = expanding->words;
	params->examples = examples;
	params->example_count = parents->count;
}

/* Scores parents behind others of their group, as a new text stands behind them. The first ones of
 * the file do for all. They have numbers of their own, beyond those of texts. */
static enum cuttle_status make_scale(struct expanding *expanding, struct cuttle_error *error) {
	struct likelihood *likelihood = &expanding->likelihood;
	const struct kept *kept = &expanding->kept;
	enum cuttle_status status =
	    likelihood_begin(likelihood, expanding->model, &expanding->words, error);
	size_t scored = 0;
	for (size_t i = 0; i < kept->count && scored < SCORED_PARENTS && !status; i++) {
		if (!expanding->examples[i]) continue;
		const char *examples[EXPANDING_MOST_EXAMPLES], *heading;
		struct cuttle_plan_params params;
		struct expanding_parents parents;
		// Not by the seed, which may be drawn later: the scale is of the parents alone.
		const struct text_numbers numbers = numbers_of_text(0, MOST_TEXTS + i);
		choose_parents(expanding, &numbers, kept->texts[i].group, i, &parents);
		list_examples(expanding, &parents, examples, &params);
		heading = kept->groups[kept->texts[i].group].heading;
		status = likelihood_lower(
		    likelihood, &params, heading,
		    expanding->examples[i] + (heading ? strlen(heading) + 1 : 0), error);
		scored++;
	}
	return status ? status : likelihood_enough(likelihood->examples, error);
}

/* ---- what is made before --------------------------------------------------------------------- */

/* Parents stand in for the public examples. */
static enum cuttle_status choose_expand_stops(const struct expanding_request *request,
                                              struct expanding *expanding,
                                              struct cuttle_error *error) {
	const struct kept *kept = &expanding->kept;
	const char **texts = calloc(expanding->usable + 1, sizeof *texts);
	if (!texts) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < expanding->usable; i++) {
		const size_t member = expanding->members[i];
		const char *heading = kept->groups[kept->texts[member].group].heading;
		texts[i] = expanding->examples[member] + (heading ? strlen(heading) + 1 : 0);
	}
	const enum cuttle_status status =
	    stop_choice_make(request->stops, request->stop_count, texts, expanding->usable,
	                     expanding->words.form == CUTTLE_CONTINUE, &expanding->stop, error);
	free(texts);
	return status;
}

/* A plan with the parent's law, which is asked for tokens of the public row alone. */
static enum cuttle_status make_law(struct expanding *expanding, struct cuttle_error *error) {
	const struct kept *kept = &expanding->kept;
	const struct cuttle_guarantee *law =
	    &((const struct receipt *)kept->claim.receipt)->guarantee;
	struct cuttle_plan_params *words = &expanding->words;
	if (law->method != CUTTLE_INVISIBLEINK)
		return io_fail(error, CUTTLE_INPUT,
		               "only texts of method invisibleink can be expanded, not of %s",
		               cuttle_method_name(law->method));
	const char **headings = calloc(kept->group_count, sizeof *headings);
	if (!headings) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	words->clip = law->clip;
	words->batch = law->batch;
	words->gain = law->gain;
	words->temperature = law->temperature;
	words->top_k = law->top_k;
	if (!words->tokens) words->tokens = law->tokens;
	words->accountant = CUTTLE_ZCDP;
	words->insecure = words->any_memory = true;
	words->stops = expanding->stop.stops;
	struct cuttle_plan_params params = *words;
	for (size_t i = 0; i < kept->group_count; i++) headings[i] = kept->groups[i].heading;
	params.headings = headings;
	params.heading_count = kept->field_count ? kept->group_count : 0;
	const enum cuttle_status status =
	    cuttle_plan_make(expanding->model, &params, &expanding->plan, error);
	free(headings);
	return status;
}

/* Sets how many parents fit, of the longest: fewer than asked for where the context is short. What
 * stands between two examples has at most the tokens of a heading line for its kind. */
static enum cuttle_status set_examples(const struct expanding_request *request,
                                       struct expanding *expanding, size_t longest,
                                       struct cuttle_error *error) {
	struct cuttle_guarantee guarantee;
	size_t kind = 0;
	cuttle_plan_describe(expanding->plan, &guarantee);
	enum cuttle_status status = list_tokens(expanding->model, expanding->words.kind,
	                                        strlen(expanding->words.kind), NULL, &kind, error);
	if (status) return status;
	const size_t room = guarantee.context - guarantee.public_tokens - guarantee.tokens,
	             each = longest + kind + 16, fit = room / each;
	if (!fit)
		return io_fail(error, CUTTLE_USAGE,
		               "prompt (%u tokens), text (%u) and an example (%zu) exceed a "
		               "context of %u: lower -n, or raise --ctx-size",
		               guarantee.public_tokens, guarantee.tokens, each, guarantee.context);
	expanding->receipt.context = guarantee.context;
	expanding->receipt.examples = (uint32_t)(fit < request->examples ? fit : request->examples);
	return CUTTLE_OK;
}

static enum cuttle_status set_expand_receipt(const struct expanding_request *request,
                                             struct expanding *expanding,
                                             struct cuttle_error *error) {
	static const char *const formats[] = {"jsonl", "csv"};
	const struct attested *parent = &expanding->kept.claim.attested;
	const struct cuttle_guarantee *law =
	    &((const struct receipt *)expanding->kept.claim.receipt)->guarantee;
	struct expand_receipt *receipt = &expanding->receipt;
	const char *template;
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; (template = cuttle_plan_template(expanding->plan, i)); i++)
		hash_add(&hash, template, strlen(template));
	hash_end(&hash, receipt->template_sha256);
	receipt->promised = parent->root;
	receipt->parent_sentence = parent->sentence;
	receipt->private_output = law->private_output;
	memcpy(receipt->parent_receipt, expanding->kept.receipt_sha256, HASH_TEXT);
	memcpy(receipt->parent_output, parent->output_sha256, HASH_TEXT);
	memcpy(receipt->parent_command, parent->command_sha256, HASH_TEXT);
	receipt->temperature = law->temperature;
	receipt->gain = law->gain;
	receipt->batch = law->batch;
	receipt->top_k = law->top_k;
	receipt->fraction_bits = law->fraction_bits;
	receipt->clip_fixed = (uint32_t)law->clip_fixed;
	receipt->tokens = expanding->words.tokens;
	receipt->texts = (size_t)request->texts;
	receipt->seed = request->seed;
	receipt->isa = cuttle_isa();
	receipt->filters = request->filters;
	receipt->stops = expanding->stop.stops;
	if (!expand_fingerprint(receipt, request->input, formats[request->output_format],
	                        expanding->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->now, receipt->date, error);
}

/* The words of an own prompt. Its private counterpart is never shown to anybody; a plan wants one.
 */
static enum cuttle_status read_own_prompt(const struct expanding_request *request,
                                          struct expanding *expanding, struct cuttle_error *error) {
	expanding->words = request->plan;
	if (!request->prompt_public) return CUTTLE_OK;
	expanding->words.form = CUTTLE_CUSTOM;
	expanding->words.prompt_private = "{category}{reference}";
	const enum cuttle_status status =
	    setup_prompt(request->prompt_public, &expanding->prompt_public, error);
	expanding->words.prompt_public = expanding->prompt_public;
	return status;
}

enum cuttle_status expanding_make(const struct expanding_request *request,
                                  const struct setup_model *opened, struct expanding *expanding,
                                  struct cuttle_error *error) {
	size_t longest = 0;
	*expanding = (struct expanding){.model = opened->model};
	memcpy(expanding->receipt.model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(opened->model, &expanding->receipt.model);
	expanding->likelihood.scale.mean = weigh_no_parent;
	enum cuttle_status status =
	    request_receipt_beside(request->input, request->receipt, &expanding->beside, error);
	if (!status)
		status = kept_open(&expanding->kept, request->input, request->input_format,
		                   request->receipt ? request->receipt : expanding->beside, error);
	if (!status && request->sign)
		status = signature_open(request->sign, &expanding->signer, error);
	if (!status) status = read_own_prompt(request, expanding, error);
	if (!status) status = read_parents(request, expanding, &longest, error);
	if (!status) status = choose_expand_stops(request, expanding, error);
	if (!status) status = make_law(expanding, error);
	if (!status) status = set_examples(request, expanding, longest, error);
	if (!status && request->filters.drop[FILTER_UNLIKELY])
		status = make_scale(expanding, error);
	if (!status) status = set_expand_receipt(request, expanding, error);
	return status;
}

void expanding_free(struct expanding *expanding) {
	cuttle_plan_free(&expanding->plan);
	filters_close(&expanding->past);
	likelihood_close(&expanding->likelihood);
	signature_close(&expanding->signer);
	for (size_t i = 0; expanding->examples && i < expanding->kept.count; i++)
		free(expanding->examples[i]);
	free(expanding->examples);
	free(expanding->members);
	free(expanding->firsts);
	free(expanding->prompt_public);
	stop_choice_free(&expanding->stop);
	free(expanding->beside);
	kept_close(&expanding->kept);
	*expanding = (struct expanding){0};
}

/* ---- the run --------------------------------------------------------------------------------- */

struct expanding_state {
	struct expanding *expanding;
	const struct run_events *events;
	struct delivery delivery;
	const char *names[1 + CATEGORY_FIELDS];        /* of the columns that CSV has besides */
	const char *examples[EXPANDING_MOST_EXAMPLES]; /* of the prompt that was asked for last */
	struct expanding_parents parents;              /* of the text that is delivered */
	char cell[OUTPUT_CELL];
};

static const char *heading_of(const struct expanding *expanding,
                              const struct expanding_parents *parents) {
	return expanding->kept.groups[parents->group].heading;
}

static void tell_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	struct expanding_state *state = user;
	struct expanding_parents parents;
	expanding_choose(state->expanding, text, &parents);
	list_examples(state->expanding, &parents, state->examples, params);
	*heading = heading_of(state->expanding, &parents);
}

static size_t tell_drawn(void *user, size_t text, const int32_t **tokens) {
	const struct expanding_state *state = user;
	return output_drawn(state->delivery.output, text, tokens);
}

static int keep_expanded_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct expanding_state *state = user;
	if (delivery_token(&state->delivery, text, step, token) != 0) return 1;
	state->events->token(state->events->user);
	return 0;
}

/* A text is judged by the likelihood behind its own parents. */
static int deliver_expanded(void *user, const struct cuttle_text *text) {
	struct expanding_state *state = user;
	struct likelihood *likelihood = &state->expanding->likelihood;
	expanding_choose(state->expanding, text->index, &state->parents);
	list_examples(state->expanding, &state->parents, state->examples, &likelihood->params);
	likelihood->heading = heading_of(state->expanding, &state->parents);
	if (output_text(state->delivery.output, text) != 0) return 1;
	state->events->text(state->events->user);
	return 0;
}

static int tell_expanding(void *user, const struct cuttle_progress *progress) {
	const struct expanding_state *state = user;
	(void)progress;
	return state->events->stop(state->events->user);
}

/* The object of a text's line: generate's, without batch, and with its parents. */
static json_t *make_expanded_line(void *user, const struct cuttle_text *text) {
	const struct expanding_state *state = user;
	const struct kept *kept = &state->expanding->kept;
	const struct kept_group *group = &kept->groups[state->parents.group];
	json_t *parents = json_array();
	for (size_t i = 0; i < state->parents.count; i++) {
		const uint64_t index = kept->texts[state->parents.texts[i]].index;
		if (json_array_append_new(parents, json_integer((json_int_t)index)) == 0) continue;
		json_decref(parents);
		parents = NULL;
	}
	json_t *line = json_pack("{s:I, s:s%, s:I, s:s}", "index", (json_int_t)text->index, "text",
	                         text->text, text->size, "tokens", (json_int_t)text->tokens,
	                         "finish", output_finish(text->finish));
	line = jsonout_extend(line, &(struct jsonout_member){"parents", parents}, 1);
	for (size_t i = 0; i < kept->field_count; i++) {
		json_t *value = json_object_get(group->values, kept->fields[i]);
		const struct jsonout_member member = {kept->fields[i], json_incref(value)};
		line = jsonout_extend(line, &member, 1);
	}
	return line;
}

/* A cell of CSV: the parents, with spaces between, or a field of the category. */
static const char *make_expanded_cell(void *user, const struct cuttle_text *text, size_t column) {
	struct expanding_state *state = user;
	const struct kept *kept = &state->expanding->kept;
	const struct kept_group *group = &kept->groups[state->parents.group];
	size_t used = 0;
	(void)text;
	if (column)
		return json_string_value(json_object_get(group->values, kept->fields[column - 1]));
	state->cell[0] = 0;
	for (size_t i = 0; i < state->parents.count; i++)
		used += (size_t)snprintf(
		    state->cell + used, sizeof state->cell - used, "%s%llu", i ? " " : "",
		    (unsigned long long)kept->texts[state->parents.texts[i]].index);
	return state->cell;
}

/* A stopped run goes on with the same parent: its hashes are all that was read. */
static void digest_parent(void *user, const unsigned char *key, char *digest) {
	const struct expanding_state *state = user;
	const struct expand_receipt *receipt = &state->expanding->receipt;
	struct binding_digest made;
	binding_digest_begin(&made, key);
	binding_digest_add(&made, receipt->parent_receipt, HASH_TEXT - 1);
	binding_digest_add(&made, receipt->parent_output, HASH_TEXT - 1);
	binding_digest_end(&made, digest);
}

static enum cuttle_status open_expanded(const struct expanding_request *request,
                                        struct expanding_state *state, struct spending *spending,
                                        bool *complete, struct cuttle_error *error) {
	const struct expanding *expanding = state->expanding;
	const struct kept *kept = &expanding->kept;
	state->names[0] = "parents";
	for (size_t i = 0; i < kept->field_count; i++) state->names[1 + i] = kept->fields[i];
	const struct output_request output = {.path = request->output,
	                                      .receipt_path = request->own_receipt,
	                                      .fingerprint = expanding->fingerprint,
	                                      .format = request->output_format,
	                                      .texts = expanding->receipt.texts,
	                                      .private_output = expanding->receipt.private_output,
	                                      .line = make_expanded_line,
	                                      .cell_names = state->names,
	                                      .cell_count = 1 + kept->field_count,
	                                      .cell = make_expanded_cell,
	                                      .filters = request->filters,
	                                      .past = expanding->past,
	                                      .overwrite = request->overwrite,
	                                      .digest = digest_parent,
	                                      .user = state};
	struct receipt_ledger none;
	const struct ledger_request charge = {.command = expanding->fingerprint};
	return delivery_open(&output, NULL, spending, &charge, &state->delivery, complete, &none,
	                     error);
}

static enum cuttle_status draw_expanded(const struct expanding_request *request,
                                        struct expanding_state *state, struct cuttle_error *error) {
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = state->expanding->receipt.texts;
	job.parallel = request->plan.parallel;
	job.seed = state->expanding->receipt.seed;
	job.user = state;
	job.prompt = tell_prompt;
	job.drawn = tell_drawn;
	job.token = keep_expanded_token;
	job.text = deliver_expanded;
	job.progress = tell_expanding;
	const enum cuttle_status status = cuttle_public_run(state->expanding->plan, &job, error);
	state->events->end(state->events->user);
	return status == CUTTLE_PARTIAL ? delivery_explain(&state->delivery, error) : status;
}

static enum cuttle_status publish_expanded(struct expanding_state *state,
                                           struct cuttle_error *error) {
	struct expanding *expanding = state->expanding;
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = delivery_seal(&state->delivery, sha256, error);
	if (status) return status;
	expanding->receipt.counts = *output_counts(state->delivery.output);
	char *receipt = receipt_seal(
	    claim_json(&EXPAND_KIND, &expanding->receipt, expanding->fingerprint, sha256),
	    expanding->signer, &size);
	status = delivery_publish(&state->delivery, receipt, size, error);
	if (!status)
		state->events->publish(state->events->user,
		                       output_receipt_path(state->delivery.output));
	return status;
}

enum cuttle_status expanding_run(const struct expanding_request *request,
                                 struct expanding *expanding, const struct run_events *events,
                                 struct cuttle_error *error) {
	struct expanding_state state = {.expanding = expanding, .events = events};
	struct spending nothing;
	bool complete = false;
	const struct spending_request free = {.output = request->output};
	enum cuttle_status status = spending_open(&free, &nothing, error);
	if (!status) status = open_expanded(request, &state, &nothing, &complete, error);
	if (!status && !complete && request->seed == EXPANDING_NO_SEED)
		expanding->receipt.seed = output_seed(state.delivery.output);
	if (!status) events->begin(events->user, complete);
	if (!status && !complete) {
		status = draw_expanded(request, &state, error);
		if (!status) status = publish_expanded(&state, error);
	}
	delivery_close(&state.delivery);
	spending_close(&nothing);
	return status;
}
