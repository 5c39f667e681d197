// SPDX-License-Identifier: Apache-2.0
// From a request to an expansion, see expand.h. expand_open goes through the steps below that begin
// with read_, make_, show_ or set_. While the engine draws it calls those that begin with tell_ or
// deliver_, and those of run.h.
#include "workflow/expand.h"

#include "engine/cuttle/learn.h"
#include "engine/cuttle/text.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include "io/disk/paths.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SCORED_PARENTS = 32, /* parents that --drop unlikely scores, at most */
	MOST_TEXTS = 1 << 30 /* N */
};

void expand_default(struct expand_request *request) {
	*request = (struct expand_request){.texts = 1000,
	                                   .examples = 4,
	                                   .seed = SYSTEM_NO_SEED,
	                                   .common.now = (uint64_t)time(NULL)};
	request->filters.trim = true;
	cuttle_plan_params_default(&request->plan);
	request->plan.tokens = 0;
	request->plan.temperature = (double)NAN;
}

enum cuttle_status expand_check(const struct expand_request *request, struct cuttle_error *error) {
	const struct cuttle_plan_params *plan = &request->plan;
	const char *problem = common_chat_fault(plan->chat_format, plan->system, plan->form);
	if (!problem && !strcmp(request->common.output, "-") && filters_drop_any(&request->filters))
		problem = "--drop needs -o FILE: what is dropped goes to FILE" OUTPUT_DROPPED;
	if (!problem && request->texts > MOST_TEXTS) problem = "-N: too many texts";
	if (!problem)
		problem = grammar_choice_fault(request->grammar, request->schema,
		                               request->common.stop_count);
	if (!problem && request->schema && request->output_format == OUTPUT_CSV)
		problem = "--schema writes objects: give -o FILE.jsonl";
	if (!problem) problem = common_sign_fault(&request->common);
	return problem ? io_fail(error, CUTTLE_USAGE, "%s", problem) : CUTTLE_OK;
}

enum cuttle_status expand_paths(const struct expand_request *request, struct cuttle_error *error) {
	char *own, *parent = NULL, *learnt = NULL;
	if (!strcmp(request->common.input, "-"))
		return io_fail(
		    error, CUTTLE_USAGE,
		    "-i -: name the file of the earlier output, which its receipt is of");
	enum cuttle_status status =
	    common_receipt_beside(request->common.output, request->common.receipt, &own, error);
	if (!status)
		status =
		    common_receipt_beside(request->common.input, request->parent, &parent, error);
	if (!status) status = common_receipt_beside(request->bias, NULL, &learnt, error);
	const char *const dropped = filters_drop_any(&request->filters) ? OUTPUT_DROPPED : NULL;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->common.model, PATH_MODEL),
	    PATH_ALONE("-i", request->common.input, PATH_FILE),
	    PATH_ALONE("--receipt", request->parent ? request->parent : parent, PATH_FILE),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--grammar", request->grammar, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    {"--bias", request->bias, PATH_FILE, learnt, {NULL}},
	    PATH_ALONE("--sign", request->common.sign, PATH_FILE),
	    {"-o", request->common.output, PATH_OUTPUT, own, {".journal", ".journal.key", dropped}},
	    PATH_ALONE("--own-receipt", request->common.receipt, PATH_RECORD),
	};
	const struct records_request texts = {.path = request->common.input,
	                                      .format = request->input_format};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status) status = records_check_name(&texts, error);
	free(own);
	free(parent);
	free(learnt);
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
static enum cuttle_status judge_parent(struct expand *expand, size_t number, size_t *longest,
                                       struct cuttle_error *error) {
	const struct kept_text *text = &expand->kept.texts[number];
	enum filter_rule rule;
	int32_t *ids = NULL;
	size_t count = 0;
	if (!text->text) return CUTTLE_OK;
	enum cuttle_status status =
	    list_tokens(expand->model, text->text, text->size, &ids, &count, error);
	if (!status)
		status =
		    filters_judge(expand->past, text->text, text->size, ids, count, &rule, error);
	free(ids);
	if (status || rule != FILTER_KEEP) return status;
	char *example = expand->examples[number] = show_parent(&expand->kept, number);
	if (!example) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = list_tokens(expand->model, example, strlen(example), NULL, &count, error);
	if (count > *longest) *longest = count;
	return status;
}

/* Lists the shown texts group by group. */
static void list_members(struct expand *expand) {
	const struct kept *kept = &expand->kept;
	for (size_t group = 0; group < kept->group_count; group++) {
		expand->firsts[group] = expand->usable;
		for (size_t i = 0; i < kept->count; i++)
			if (expand->examples[i] && kept->texts[i].group == group)
				expand->members[expand->usable++] = i;
		if (expand->usable > expand->firsts[group])
			expand->weight += kept->groups[group].weight;
	}
	expand->firsts[kept->group_count] = expand->usable;
}

static enum cuttle_status read_parents(const struct expand_request *request, struct expand *expand,
                                       size_t *longest, struct cuttle_error *error) {
	const struct kept *kept = &expand->kept;
	expand->examples = calloc(kept->count + 1, sizeof *expand->examples);
	expand->members = calloc(kept->count + 1, sizeof *expand->members);
	expand->firsts = calloc(kept->group_count + 1, sizeof *expand->firsts);
	if (!expand->examples || !expand->members || !expand->firsts)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// make_scale sets the scale later, for the texts that are drawn.
	enum cuttle_status status =
	    filters_open(&request->filters, &expand->likelihood.scale, &expand->past, error);
	for (size_t i = 0; i < kept->count && !status; i++)
		status = judge_parent(expand, i, longest, error);
	if (status) return status;
	list_members(expand);
	return expand->weight
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s: no text of it can be shown as an example",
	                     request->common.input);
}

/* ---- which parents a text has ---------------------------------------------------------------- */

/* Random numbers of a text: [0] chooses its group, the others its parents. */
struct text_numbers {
	uint64_t all[1 + EXPAND_MOST_EXAMPLES];
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

static size_t choose_group(const struct expand *expand, uint64_t random) {
	uint64_t left = scale_number(random, expand->weight);
	for (size_t group = 0; group < expand->kept.group_count; group++) {
		if (expand->firsts[group] == expand->firsts[group + 1]) continue;
		const uint64_t weight = expand->kept.groups[group].weight;
		if (left < weight) return group;
		left -= weight;
	}
	return expand->kept.group_count - 1;
}

/* Chooses parents of a group, without one of its texts: `but` (SIZE_MAX = none). The r-th of those
 * that are left is taken. Example: of 5 texts 1 and 3 are taken; the third that is left is 4. */
static void choose_parents(const struct expand *expand, const struct text_numbers *numbers,
                           size_t group, size_t but, struct expand_parents *parents) {
	const size_t first = expand->firsts[group], end = expand->firsts[group + 1];
	size_t taken[1 + EXPAND_MOST_EXAMPLES], count = 0;
	*parents = (struct expand_parents){.group = group};
	for (size_t i = first; i < end; i++)
		if (expand->members[i] == but) taken[count++] = i;
	const size_t left = end - first - count;
	while (parents->count < expand->receipt.examples && parents->count < left) {
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
		if (expand->members[taken[i]] != but)
			parents->texts[to++] = expand->members[taken[i]];
}

void expand_choose(const struct expand *expand, uint64_t text, struct expand_parents *parents) {
	const struct text_numbers numbers = numbers_of_text(expand->receipt.seed, text);
	choose_parents(expand, &numbers, choose_group(expand, numbers.all[0]), SIZE_MAX, parents);
}

/* The examples of parents, for the parameters of a prompt. */
static void list_examples(const struct expand *expand, const struct expand_parents *parents,
                          const char *examples[EXPAND_MOST_EXAMPLES],
                          struct cuttle_plan_params *params) {
	for (size_t i = 0; i < parents->count; i++)
		examples[i] = expand->examples[parents->texts[i]];
	*params = expand->words;
	params->examples = examples;
	params->example_count = parents->count;
}

/* Scores parents behind others of their group, as a new text stands behind them. The first ones of
 * the file do for all. They have numbers of their own, beyond those of texts. */
static enum cuttle_status make_scale(struct expand *expand, struct cuttle_error *error) {
	struct likelihood *likelihood = &expand->likelihood;
	const struct kept *kept = &expand->kept;
	enum cuttle_status status =
	    likelihood_begin(likelihood, expand->model, &expand->words, expand->bias.vector, error);
	size_t scored = 0;
	for (size_t i = 0; i < kept->count && scored < SCORED_PARENTS && !status; i++) {
		if (!expand->examples[i]) continue;
		const char *examples[EXPAND_MOST_EXAMPLES], *heading;
		struct cuttle_plan_params params;
		struct expand_parents parents;
		// Not by the seed, which may be drawn later: the scale is of the parents alone.
		const struct text_numbers numbers = numbers_of_text(0, MOST_TEXTS + i);
		choose_parents(expand, &numbers, kept->texts[i].group, i, &parents);
		list_examples(expand, &parents, examples, &params);
		heading = kept->groups[kept->texts[i].group].heading;
		status = likelihood_lower(likelihood, &params, heading,
		                          expand->examples[i] + (heading ? strlen(heading) + 1 : 0),
		                          error);
		scored++;
	}
	return status ? status : likelihood_enough(likelihood->examples, error);
}

/* ---- what is made before --------------------------------------------------------------------- */

/* Parents stand in for the public examples. */
static enum cuttle_status choose_expand_stops(const struct expand_request *request,
                                              struct expand *expand, struct cuttle_error *error) {
	const struct kept *kept = &expand->kept;
	const char **texts = calloc(expand->usable + 1, sizeof *texts);
	if (!texts) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < expand->usable; i++) {
		const size_t member = expand->members[i];
		const char *heading = kept->groups[kept->texts[member].group].heading;
		texts[i] = expand->examples[member] + (heading ? strlen(heading) + 1 : 0);
	}
	const enum cuttle_status status = stop_choice_make(
	    request->common.stops, request->common.stop_count, texts, expand->usable,
	    expand->words.form == CUTTLE_CONTINUE, &expand->stop, error);
	free(texts);
	return status;
}

/* Why no plan could be made at this temperature: the parent's would do. Else `error` stays. A
 * colder law has larger weights, and these have a limit (dp/weights.h). Returns `status`. */
static enum cuttle_status explain_cold(struct expand *expand,
                                       const struct cuttle_plan_params *params, double warmer,
                                       enum cuttle_status status, struct cuttle_error *error) {
	struct cuttle_plan_params warm = *params;
	warm.temperature = warmer;
	if (cuttle_plan_make(expand->model, &warm, &expand->plan, NULL)) return status;
	return io_fail(error, status,
	               "--temperature %g is too far below the %g of the earlier run; its "
	               "candidates allow no law that is so cold",
	               params->temperature, warmer);
}

/* A plan with the parent's law, which is asked for tokens of the public row alone. */
static enum cuttle_status make_law(struct expand *expand, struct cuttle_error *error) {
	const struct kept *kept = &expand->kept;
	const struct cuttle_guarantee *law =
	    &((const struct receipt *)kept->evidence.receipt)->guarantee;
	struct cuttle_plan_params *words = &expand->words;
	if (law->method != CUTTLE_INVISIBLEINK)
		return io_fail(error, CUTTLE_INPUT,
		               "only texts of method invisibleink can be expanded, not of %s",
		               cuttle_method_name(law->method));
	const char **headings = calloc(kept->group_count, sizeof *headings);
	if (!headings) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	words->clip = law->clip;
	words->batch = law->batch;
	words->gain = law->gain;
	const bool own_temperature = !isnan(words->temperature);
	if (!own_temperature) words->temperature = law->temperature;
	words->top_k = law->top_k;
	if (!words->tokens) words->tokens = law->tokens;
	words->accountant = CUTTLE_ZCDP;
	words->insecure = words->any_memory = true;
	words->stops = expand->stop.stops;
	struct cuttle_plan_params params = *words;
	for (size_t i = 0; i < kept->group_count; i++) headings[i] = kept->groups[i].heading;
	params.headings = headings;
	params.heading_count = kept->field_count ? kept->group_count : 0;
	params.grammars = (const struct cuttle_grammar *const *)expand->grammar.grammars;
	params.grammar_count = expand->grammar.count;
	enum cuttle_status status = cuttle_plan_make(expand->model, &params, &expand->plan, error);
	if (status && own_temperature && words->temperature < law->temperature)
		status = explain_cold(expand, &params, law->temperature, status, error);
	free(headings);
	if (!status && expand->bias.vector)
		status = cuttle_bias_use(expand->plan, expand->bias.vector, error);
	return status;
}

/* Sets how many parents fit, of the longest: fewer than asked for where the context is short. What
 * stands between two examples has at most the tokens of a heading line for its kind. */
static enum cuttle_status set_examples(const struct expand_request *request, struct expand *expand,
                                       size_t longest, struct cuttle_error *error) {
	struct cuttle_guarantee guarantee;
	size_t kind = 0;
	cuttle_plan_describe(expand->plan, &guarantee);
	enum cuttle_status status = list_tokens(expand->model, expand->words.kind,
	                                        strlen(expand->words.kind), NULL, &kind, error);
	if (status) return status;
	// What a grammar leaves no choice about comes besides.
	const uint32_t text = guarantee.tokens + guarantee.savings.free_tokens;
	const size_t room = guarantee.context - guarantee.public_tokens - text,
	             each = longest + kind + 16, fit = room / each;
	if (!fit)
		return io_fail(error, CUTTLE_USAGE,
		               "prompt (%u tokens), text (%u) and an example (%zu) exceed a "
		               "context of %u: lower -n, or raise --ctx-size",
		               guarantee.public_tokens, text, each, guarantee.context);
	expand->receipt.context = guarantee.context;
	expand->receipt.examples = (uint32_t)(fit < request->examples ? fit : request->examples);
	return CUTTLE_OK;
}

static enum cuttle_status set_expand_receipt(const struct expand_request *request,
                                             struct expand *expand, struct cuttle_error *error) {
	static const char *const formats[] = {"jsonl", "csv"};
	const struct attested *parent = &expand->kept.evidence.attested;
	const struct cuttle_guarantee *law =
	    &((const struct receipt *)expand->kept.evidence.receipt)->guarantee;
	struct expand_receipt *receipt = &expand->receipt;
	struct cuttle_guarantee drawn;
	const char *template;
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; (template = cuttle_plan_template(expand->plan, i)); i++)
		hash_add(&hash, template, strlen(template));
	hash_end(&hash, receipt->template_sha256);
	receipt->promised = parent->root;
	receipt->parent_sentence = parent->sentence;
	receipt->private_output = law->private_output;
	memcpy(receipt->parent_receipt, expand->kept.receipt_sha256, HASH_TEXT);
	memcpy(receipt->parent_output, parent->output_sha256, HASH_TEXT);
	memcpy(receipt->parent_command, parent->command_sha256, HASH_TEXT);
	cuttle_plan_describe(expand->plan, &drawn);
	receipt->temperature = drawn.temperature;
	receipt->gain = law->gain;
	receipt->batch = law->batch;
	receipt->top_k = law->top_k;
	receipt->fraction_bits = law->fraction_bits;
	receipt->clip_fixed = (uint32_t)law->clip_fixed;
	receipt->tokens = expand->words.tokens;
	receipt->texts = (size_t)request->texts;
	receipt->seed = request->seed;
	receipt->isa = cuttle_isa();
	receipt->filters = request->filters;
	if (expand->grammar.count) receipt->filters.trim = false; // none is cut short
	grammar_choice_tell(&expand->grammar, receipt->grammar_sha256, receipt->schema_sha256);
	receipt->stops = expand->stop.stops;
	if (!expand_fingerprint(receipt, request->common.input, formats[request->output_format],
	                        expand->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->common.now, receipt->date, error);
}

/* The words of an own prompt. Its private counterpart is never shown to anybody; a plan wants one.
 */
static enum cuttle_status read_own_prompt(const struct expand_request *request,
                                          struct expand *expand, struct cuttle_error *error) {
	expand->words = request->plan;
	if (!request->prompt_public) return CUTTLE_OK;
	expand->words.form = CUTTLE_CUSTOM;
	expand->words.prompt_private = "{category}{reference}";
	const enum cuttle_status status =
	    setup_prompt(request->prompt_public, &expand->prompt_public, error);
	expand->words.prompt_public = expand->prompt_public;
	return status;
}

/* A bias is of the parent's units, or its guarantee would be another one's. */
static enum cuttle_status read_expand_bias(const struct expand_request *request,
                                           struct expand *expand, struct cuttle_error *error) {
	const struct receipt *parent = expand->kept.evidence.receipt;
	const bool told = parent->categories && !parent->histogram;
	const struct setup_promise promise = {.unit_key = parent->unit.key,
	                                      .fields = expand->kept.fields,
	                                      .field_count = told ? expand->kept.field_count : 0,
	                                      .insecure = !parent->guarantee.private_output};
	const enum cuttle_status status =
	    setup_bias(request->bias, expand->model, expand->receipt.model_sha256, &promise,
	               &expand->bias, error);
	if (!status) expand->receipt.bias = bias_told(&expand->bias);
	return status;
}

/* Opens the earlier output, which must be of the same form. A field of a category has its value in
 * each of its texts. */
static enum cuttle_status open_kept(const struct expand_request *request, struct expand *expand,
                                    struct cuttle_error *error) {
	struct grammar_choice *grammar = &expand->grammar;
	struct kept *kept = &expand->kept;
	enum cuttle_status status =
	    grammar_choice_read(request->grammar, request->schema, grammar, error);
	if (status) return status;
	struct kept_form form = {.schema = grammar->schema};
	grammar_choice_tell(grammar, form.grammar_sha256, form.schema_sha256);
	status = kept_open(kept, request->common.input, request->input_format,
	                   request->parent ? request->parent : expand->beside, &form, error);
	if (status || !grammar->schema || !kept->field_count) return status;
	struct categories categories = {.field_count = kept->field_count,
	                                .count = kept->group_count,
	                                .all = calloc(kept->group_count, sizeof *categories.all)};
	if (!categories.all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < kept->field_count; i++) categories.fields[i] = kept->fields[i];
	for (size_t i = 0; i < kept->group_count; i++)
		for (size_t j = 0; j < kept->field_count; j++) {
			json_t *value = json_object_get(kept->groups[i].values, kept->fields[j]);
			categories.all[i].values[j] = (char *)json_string_value(value);
		}
	status = grammar_choice_divide(grammar, &categories, error);
	free(categories.all);
	return status;
}

enum cuttle_status expand_open(const struct expand_request *request,
                               const struct setup_model *opened, struct expand *expand,
                               struct cuttle_error *error) {
	size_t longest = 0;
	*expand = (struct expand){.model = opened->model};
	memcpy(expand->receipt.model_sha256, opened->sha256, HASH_TEXT);
	cuttle_model_describe(opened->model, &expand->receipt.model);
	expand->likelihood.scale.mean = weigh_no_parent;
	enum cuttle_status status =
	    common_receipt_beside(request->common.input, request->parent, &expand->beside, error);
	if (!status) status = open_kept(request, expand, error);
	if (!status && request->bias) status = read_expand_bias(request, expand, error);
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &expand->signer, error);
	if (!status) status = read_own_prompt(request, expand, error);
	if (!status) status = read_parents(request, expand, &longest, error);
	if (!status && !expand->grammar.count) status = choose_expand_stops(request, expand, error);
	if (!status) status = make_law(expand, error);
	if (!status) status = set_examples(request, expand, longest, error);
	if (!status && request->filters.drop[FILTER_UNLIKELY]) status = make_scale(expand, error);
	if (!status) status = set_expand_receipt(request, expand, error);
	return status;
}

void expand_free(struct expand *expand) {
	cuttle_plan_free(&expand->plan);
	filters_close(&expand->past);
	likelihood_close(&expand->likelihood);
	signature_close(&expand->signer);
	for (size_t i = 0; expand->examples && i < expand->kept.count; i++)
		free(expand->examples[i]);
	free(expand->examples);
	free(expand->members);
	free(expand->firsts);
	free(expand->prompt_public);
	stop_choice_free(&expand->stop);
	grammar_choice_free(&expand->grammar);
	free(expand->beside);
	kept_close(&expand->kept);
	bias_close(&expand->bias);
	*expand = (struct expand){0};
}

/* ---- the run --------------------------------------------------------------------------------- */

struct expand_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct expand_request *request;
	struct expand *expand;
	const char *names[1 + CATEGORY_FIELDS];     /* of the columns that CSV has besides */
	const char *examples[EXPAND_MOST_EXAMPLES]; /* of the prompt that was asked for last */
	struct expand_parents parents;              /* of the text that is delivered */
	char cell[OUTPUT_CELL];
};

static const char *heading_of(const struct expand *expand, const struct expand_parents *parents) {
	return expand->kept.groups[parents->group].heading;
}

static void tell_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	struct expand_state *state = user;
	struct expand_parents parents;
	expand_choose(state->expand, text, &parents);
	list_examples(state->expand, &parents, state->examples, params);
	*heading = heading_of(state->expand, &parents);
}

/* Each category has a grammar of its own. */
static size_t tell_heading(void *user, size_t text) {
	const struct expand *expand = ((const struct expand_state *)user)->expand;
	struct expand_parents parents;
	expand_choose(expand, text, &parents);
	return expand->kept.field_count ? parents.group : 0;
}

/* A text is judged by the likelihood behind its own parents. */
static int deliver_expanded(void *user, const struct cuttle_text *text) {
	struct expand_state *state = user;
	struct likelihood *likelihood = &state->expand->likelihood;
	expand_choose(state->expand, text->index, &state->parents);
	list_examples(state->expand, &state->parents, state->examples, &likelihood->params);
	likelihood->heading = heading_of(state->expand, &state->parents);
	return run_text(state, text);
}

/* The object of a text's line: generate's, without batch, and with its parents. */
static json_t *make_expanded_line(void *user, const struct cuttle_text *text) {
	const struct expand_state *state = user;
	const struct kept *kept = &state->expand->kept;
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
	struct expand_state *state = user;
	const struct kept *kept = &state->expand->kept;
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
	const struct expand_state *state = user;
	const struct expand_receipt *receipt = &state->expand->receipt;
	struct binding_digest made;
	binding_digest_begin(&made, key);
	binding_digest_add(&made, receipt->parent_receipt, HASH_TEXT - 1);
	binding_digest_add(&made, receipt->parent_output, HASH_TEXT - 1);
	if (*receipt->bias.sha256)
		binding_digest_add(&made, receipt->bias.receipt_sha256, HASH_TEXT - 1);
	binding_digest_end(&made, digest);
}

/* Nothing is paid for what follows from texts that have a guarantee. */
static void set_expand_terms(void *user, struct system_terms *terms) {
	struct expand_state *state = user;
	const struct expand_request *request = state->request;
	const struct expand *expand = state->expand;
	const struct kept *kept = &expand->kept;
	state->names[0] = "parents";
	for (size_t i = 0; i < kept->field_count; i++) state->names[1 + i] = kept->fields[i];
	terms->output = (struct output_request){.fingerprint = expand->fingerprint,
	                                        .format = request->output_format,
	                                        .texts = expand->receipt.texts,
	                                        .private_output = expand->receipt.private_output,
	                                        .line = make_expanded_line,
	                                        .cell_names = state->names,
	                                        .cell_count = 1 + kept->field_count,
	                                        .cell = make_expanded_cell,
	                                        .objects = expand->grammar.schema != NULL,
	                                        .filters = expand->receipt.filters,
	                                        .past = expand->past,
	                                        .digest = digest_parent};
	terms->free = true;
	terms->seed = &state->expand->receipt.seed;
}

static enum cuttle_status draw_expanded(void *user, struct cuttle_error *error) {
	struct expand_state *state = user;
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = state->expand->receipt.texts;
	job.parallel = state->request->plan.parallel;
	job.seed = state->expand->receipt.seed;
	job.user = state;
	job.prompt = tell_prompt;
	job.heading = tell_heading;
	job.drawn = run_drawn;
	job.token = run_token;
	job.text = deliver_expanded;
	job.progress = run_progress;
	return cuttle_public_run(state->expand->plan, &job, error);
}

static json_t *describe_expanded(void *user, const struct filter_counts *counts,
                                 const char *sha256) {
	struct expand *expand = ((struct expand_state *)user)->expand;
	expand->receipt.counts = *counts;
	return evidence_json(&EXPAND_KIND, &expand->receipt, expand->fingerprint, sha256);
}

static const struct system EXPAND = {
    .terms = set_expand_terms, .draw = draw_expanded, .receipt = describe_expanded};

enum cuttle_status expand_run(const struct expand_request *request, struct expand *expand,
                              const struct run_events *events, struct cuttle_error *error) {
	struct expand_state state = {
	    .run = {.request = &request->common, .events = events, .signer = expand->signer},
	    .request = request,
	    .expand = expand};
	return run_system(&EXPAND, &state, error);
}
