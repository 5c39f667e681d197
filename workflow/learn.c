// SPDX-License-Identifier: Apache-2.0
// From a request to a bias, see learn.h. What workflow/run.c calls is in the table at the end.
#include "workflow/learn.h"

#include "base/misuse.h"
#include "engine/cuttle/learn.h"
#include "io/disk/fail.h"
#include "io/disk/paths.h"
#include "io/receipts/bias.h"
#include "io/records/places.h"
#include "io/records/units.h"
#include "measure/scratch.h"
#include "workflow/text_set.h"
#include "workflow/spending.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	OTHER_RECORDS = 300 /* of all, that a category's own ones are weighed against */
};

void learn_default(struct learn_request *request) {
	struct cuttle_learn_params params;
	cuttle_learn_params_default(&params);
	*request = (struct learn_request){.text_field = "text",
	                                  .epsilon = NAN,
	                                  .delta = 1e-6,
	                                  .texts = params.texts,
	                                  .tokens = params.tokens,
	                                  .common.now = (uint64_t)time(NULL)};
	cuttle_plan_params_default(&request->plan);
}

static const char *name_learn_fault(const struct learn_request *request) {
	const struct common_request *common = &request->common;
	const struct cuttle_plan_params *plan = &request->plan;
	const char *fault = common_fault(common);
	if (fault) return fault;
	if (!request->from_public && isnan(request->epsilon))
		return "-e EPS is missing: the noise of the bias follows from it";
	if (request->from_public && !isnan(request->epsilon))
		return "--public says that the records are public, and -e is a promise to private "
		       "ones: give one of them";
	if (!request->category_field_count != !request->categories)
		return "--category-field and --categories go together: --category-field FIELD "
		       "--categories A,B,C, or a file .csv or .jsonl with a column FIELD";
	if (request->categories && !request->category_public)
		return "--categories needs --category-public: how many records a category has is "
		       "not hidden";
	if (request->category_public && !request->categories)
		return "--category-public needs --category-field FIELD";
	if (request->categories && common->unit_key)
		return "--categories: each record must be a unit, or one owner would be in "
		       "several sums; leave out --unit-key";
	if (request->from_public && (common->ledger || common->unit_key))
		return "--public: nothing is charged for public records, so --ledger and "
		       "--unit-key have no use";
	if (!request->prompt_public != !request->prompt_private)
		return "--prompt-public and --prompt-private go together, as in cuttle generate";
	if (common->ledger && plan->insecure)
		return "--insecure-seed: such a run is not private, and no ledger counts it";
	if (request->schema &&
	    (strcmp(request->text_field, "text") != 0 || request->examples_field))
		return "--schema reads whole records: leave out --text-field and --examples-field";
	fault = common_chat_fault(plan->chat_format, plan->system, plan->form);
	return fault ? fault : common_sign_fault(common);
}

enum cuttle_status learn_check(const struct learn_request *request, struct cuttle_error *error) {
	const char *fault = name_learn_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

enum cuttle_status learn_paths(const struct learn_request *request, struct cuttle_error *error) {
	const struct common_request *common = &request->common;
	char *receipt;
	enum cuttle_status status =
	    common_receipt_beside(common->output, common->receipt, &receipt, error);
	const char *categories = request->categories && categories_in_file(request->categories)
	                             ? request->categories
	                             : NULL;
	const struct path_use uses[] = {
	    PATH_ALONE("-m", common->model, PATH_MODEL),
	    PATH_ALONE("-i", common->input, PATH_STREAM),
	    PATH_ALONE("--categories", categories, PATH_STREAM),
	    PATH_ALONE("--public-examples", request->public_examples, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--prompt-private", request->prompt_private, PATH_STREAM),
	    PATH_ALONE("--sign", common->sign, PATH_FILE),
	    {"--ledger", common->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     common->output,
	     PATH_OUTPUT,
	     receipt,
	     {".journal", ".journal.key", SPENDING_BESIDE}},
	    PATH_ALONE("--receipt", common->receipt, PATH_RECORD),
	};
	const struct records_request records = {.path = common->input};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status && common->input) status = records_check_name(&records, error);
	free(receipt);
	return status;
}

/* The noise of a sum; of public records so little that none of it is ever seen. */
static struct cuttle_query noise_of(const struct learn_receipt *receipt) {
	struct cuttle_query query = receipt->asked;
	if (receipt->from_public) query.num = 1, query.den = 4096;
	return query;
}

enum { MOST_PARTS = 1 << 16 /* of 1 that the variance of several sums is told in */ };

/* Sets the noise to that of `sums` such answers together, rounded up. False: no query has so much,
 * and a smaller one would call noise what records say. */
static bool add_noises(struct cuttle_query *query, size_t sums) {
	const uint64_t num = (uint64_t)query->num * sums, most = UINT32_MAX;
	if (num <= most) {
		query->num = (uint32_t)num;
		return true;
	}
	if (num / query->den >= most) return false;
	const uint64_t room = most / (num / query->den + 1),
	               den = room < MOST_PARTS ? room : MOST_PARTS;
	query->num = (uint32_t)((num * den + query->den - 1) / query->den);
	query->den = (uint32_t)den;
	return true;
}

/* ---- what is made before --------------------------------------------------------------------- */

/* The request by which generate_open makes the public prompt. The law of the plan's texts has no
 * say in a bias. */
static struct generate_request ask_for_prompt(const struct learn_request *request) {
	struct generate_request asked;
	generate_default(&asked);
	asked.common.now = request->common.now;
	asked.text_field = request->text_field;
	asked.schema = request->schema;
	asked.public_examples = request->public_examples;
	asked.examples_field = request->examples_field;
	asked.prompt_public = request->prompt_public;
	asked.prompt_private = request->prompt_private;
	asked.texts = 1;
	asked.lots = RUN_LOTS_OFF;
	asked.plan = request->plan;
	setup_public_law(&asked.plan);
	asked.plan.tokens = (uint32_t)request->tokens;
	return asked;
}

/* How the data set is charged. What is wrong with the ledger is said when it is charged. */
static void choose_learn_charge(const struct common_request *common, struct learn *learn) {
	struct ledger *ledger;
	struct ledger_standing standing = {.in_epsilon = false};
	if (!common->ledger || ledger_open(common->ledger, &ledger, NULL)) return;
	if (!ledger_look(ledger, common->dataset, &standing, NULL)) {
		learn->in_epsilon = standing.in_epsilon;
		learn->receipt.order = standing.dataset.order;
	}
	ledger_close(&ledger);
}

static enum cuttle_status set_learn_receipt(const struct learn_request *request,
                                            struct learn *learn, struct cuttle_error *error) {
	const struct common_request *common = &request->common;
	const struct cuttle_plan_params *plan = &request->plan;
	struct learn_receipt *receipt = &learn->receipt;
	receipt->texts = (uint32_t)request->texts;
	receipt->tokens = (uint32_t)request->tokens;
	receipt->context = learn->setup.receipt.guarantee.context;
	receipt->model = learn->setup.receipt.model;
	receipt->width = receipt->model.width;
	receipt->private_output = !plan->insecure;
	receipt->isa = cuttle_isa();
	receipt->unit_key = common->unit_key;
	receipt->categories = (uint32_t)learn->categories.count;
	receipt->dataset = common->dataset;
	memcpy(receipt->model_sha256, learn->setup.receipt.model_sha256, HASH_TEXT);
	memcpy(receipt->schema_sha256, learn->setup.receipt.schema_sha256, HASH_TEXT);
	bias_prompt(cuttle_plan_template(learn->setup.plan, 0), receipt->template_sha256);
	if (!learn_fingerprint(receipt, common->input ? common->input : "", request->text_field,
	                       request->categories ? &learn->categories : NULL,
	                       plan->insecure ? plan->insecure_seed : UINT64_MAX,
	                       learn->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	choose_learn_charge(common, learn);
	return setup_date(common->now, receipt->date, error);
}

static enum cuttle_status check_whole_noise(const struct learn *learn, struct cuttle_error *error) {
	struct cuttle_query query = noise_of(&learn->receipt);
	const size_t categories = learn->categories.count;
	return add_noises(&query, categories ? categories : 1)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_USAGE,
	                     "-e is too small for %zu categories: the bias of all records would be "
	                     "noise alone. Give a larger -e or fewer categories",
	                     categories);
}

enum cuttle_status learn_open(const struct learn_request *request, const struct setup_model *opened,
                              struct learn *learn, struct cuttle_error *error) {
	*learn = (struct learn){.asked = ask_for_prompt(request)};
	struct learn_receipt *receipt = &learn->receipt;
	enum cuttle_status status = CUTTLE_OK;
	receipt->from_public = request->from_public;
	receipt->asked =
	    (struct cuttle_query){.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
	if (!request->from_public) {
		receipt->delta = request->delta;
		status = cuttle_queries_solve(&receipt->asked, 1, request->epsilon, request->delta,
		                              error);
		if (!status) status = learn_settle(receipt, error);
	}
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &learn->signer, error);
	if (!status && request->categories)
		status = categories_read(request->category_fields, request->category_field_count,
		                         request->categories, &learn->categories, error);
	if (!status) status = check_whole_noise(learn, error);
	if (!status) status = generate_open(&learn->asked, opened, &learn->setup, error);
	if (!status && learn->setup.grammar.schema)
		status = grammar_choice_check(&learn->setup.grammar, &learn->categories, error);
	return status ? status : set_learn_receipt(request, learn, error);
}

void learn_free(struct learn *learn) {
	generate_free(&learn->setup);
	categories_free(&learn->categories);
	signature_close(&learn->signer);
	*learn = (struct learn){0};
}

/* ---- the run --------------------------------------------------------------------------------- */

struct learn_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct learn_request *request;
	struct learn *learn;
	struct text_set records;
	/* [records.count] in which records are read: those of an owner, or of a category, together
	 */
	size_t *order;
	bool *ends; /* [records.count] whether the record read then is its owner's last */
	/* [sums + 1] where in `order` the records of a sum begin. One sum, or one a category. */
	size_t *firsts;
	size_t sums;
	size_t first;                /* that of the sum that is made */
	struct bias_numbers numbers; /* of the line that is written */
};

/* Orders records by owner. A record of nobody is null, and an owner of its own. */
static enum cuttle_status order_by_owner(struct learn_state *s, struct cuttle_error *error) {
	const size_t count = s->records.count;
	struct unit_record *units = scratch_make(count + 1, sizeof *units);
	s->order = scratch_make(count + 1, sizeof *s->order);
	s->ends = scratch_make(count + 1, sizeof *s->ends);
	if (!units || !s->order || !s->ends) {
		scratch_free(units);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		const char *owner;
		size_t size;
		units[i].batch = i;
		if (text_set_owner(&s->records, i, &owner, &size))
			(void)crypto_generichash(units[i].unit, UNIT_NAME,
			                         (const unsigned char *)owner, size, NULL, 0);
	}
	units_sort(units, count);
	for (size_t i = 0; i < count; i++) {
		s->order[i] = (size_t)units[i].batch;
		s->ends[i] = i + 1 == count || !units_same(&units[i], &units[i + 1]);
	}
	scratch_free(units);
	return CUTTLE_OK;
}

/* Orders records by their declared category; those of none stand in no sum. */
static enum cuttle_status order_by_category(struct learn_state *s, struct cuttle_error *error) {
	const size_t count = s->records.count;
	size_t placed = 0;
	uint32_t *category = scratch_make(count + 1, sizeof *category);
	s->order = scratch_make(count + 1, sizeof *s->order);
	if (category && s->order)
		places_clusters(s->records.records, &s->learn->categories, category);
	for (size_t sum = 0; category && s->order && sum < s->sums; sum++) {
		s->firsts[sum] = placed;
		for (size_t i = 0; i < count; i++)
			if (category[i] == sum) s->order[placed++] = i;
	}
	s->firsts[s->sums] = placed;
	const bool made = category && s->order;
	scratch_free(category);
	return made ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* One sum of all records, or room for one a category. */
static enum cuttle_status set_sums(struct learn_state *s, struct cuttle_error *error) {
	const size_t categories = s->learn->categories.count;
	s->sums = categories ? categories : 1;
	s->firsts = scratch_make(s->sums + 1, sizeof *s->firsts);
	if (!s->firsts) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	s->firsts[s->sums] = s->records.count;
	return CUTTLE_OK;
}

static enum cuttle_status read_learn(void *user, struct cuttle_error *error) {
	struct learn_state *s = user;
	const struct learn_request *request = s->request;
	struct text_set *records = &s->records;
	const struct schema *schema = s->learn->setup.grammar.schema;
	const char *const *fields = request->category_fields;
	const size_t field_count = request->category_field_count;
	enum cuttle_status status =
	    schema ? text_set_read_objects(&request->common, schema, fields, field_count,
	                                   CUTTLE_LEARN_RECORDS, records, error)
	           : text_set_read_input(&request->common, request->text_field, fields, field_count,
	                                 CUTTLE_LEARN_RECORDS, records, error);
	s->learn->receipt.records = records->count;
	if (!status) status = set_sums(s, error);
	if (!status && s->learn->categories.count) status = order_by_category(s, error);
	if (!status && request->common.unit_key) status = order_by_owner(s, error);
	s->learn->reading = s->firsts ? s->firsts[s->sums] : 0;
	return status;
}

static void free_learnt(void *user) {
	struct learn_state *s = user;
	text_set_free(&s->records);
	scratch_free(s->order);
	scratch_free(s->ends);
	scratch_free(s->firsts);
}

enum cuttle_status learn_count(const struct learn_request *request, struct learn *learn,
                               struct cuttle_error *error) {
	struct learn_state s = {.request = request, .learn = learn};
	const enum cuttle_status status = read_learn(&s, error);
	free_learnt(&s);
	return status;
}

/* |x|^2 is d sigma^2, about N S^2, and what records have in common: N^2 S^2 / 55 of reviews and of
 * notes alike (bench/SPENDING.md). */
double learn_expected_share(uint64_t width, uint64_t records, double variance) {
	const double count = (double)records, square = CUTTLE_LEARN_SQUARE,
	             signal = count * count * square / 55;
	const double share = signal / (signal + (double)width * variance + count * square);
	return share < cuttle_learn_least_share((size_t)width) ? 0 : share;
}

static void give_record(void *user, size_t index, const char **text, size_t *size) {
	const struct learn_state *s = user;
	index += s->first;
	*text = text_set_text(&s->records, s->order ? s->order[index] : index, size);
}

static bool end_of_owner(void *user, size_t index) {
	return ((const struct learn_state *)user)->ends[index];
}

static int tell_read(void *user, size_t texts) {
	struct learn_state *s = user;
	for (size_t i = 0; i < texts; i++) s->run.events->text(s->run.events->user);
	return run_stop(s);
}

/* Sets answers[sums][width]: from the journal, or of all records, and then they are there first. */
static enum cuttle_status take_answers(struct learn_state *s, struct cuttle_learner *learner,
                                       int64_t *answers, struct cuttle_error *error) {
	const struct learn_receipt *receipt = &s->learn->receipt;
	const struct cuttle_plan_params *plan = &s->request->plan;
	const size_t width = (size_t)receipt->width, count = s->sums * width;
	const struct cuttle_query query = noise_of(receipt);
	struct delivery *delivery = &s->run.delivery;
	const int64_t *kept;
	if (output_clusters(delivery->output, &kept) == count) {
		memcpy(answers, kept, count * sizeof *answers);
		return CUTTLE_OK;
	}
	enum cuttle_status status = delivery_draw(delivery, error);
	for (size_t sum = 0; sum < s->sums && !status; sum++) {
		const uint64_t seed = plan->insecure_seed + sum;
		s->first = s->firsts[sum];
		status = cuttle_learner_read(learner, s->firsts[sum + 1] - s->first, give_record,
		                             s->ends ? end_of_owner : NULL, s, &query,
		                             plan->insecure ? &seed : NULL, answers + sum * width,
		                             error);
	}
	return status ? status : delivery_keep_counts(delivery, answers, count, error);
}

/* What a bias is made of, and where it goes. */
struct making {
	struct cuttle_learner *learner;
	int64_t *answers; /* [sums][width] */
	int64_t *whole;   /* [width] their sum */
	double *vector;   /* [width] of all records */
	double *own;      /* [width] of a category */
};

static enum cuttle_status write_bias(struct learn_state *s, const struct making *m, size_t part,
                                     const struct bias_numbers *numbers) {
	const struct cuttle_learner_info info = cuttle_learner_describe(m->learner);
	const struct cuttle_text text = {.index = part, .batch = part, .text = ""};
	s->numbers = *numbers;
	s->numbers.tokens = info.mean_tokens;
	s->numbers.clip = info.clip;
	return output_text(s->run.delivery.output, &text) ? CUTTLE_PARTIAL : CUTTLE_OK;
}

/* The bias of all records. The noise of its answer is that of all sums together. */
static enum cuttle_status write_whole(struct learn_state *s, const struct making *m) {
	const size_t width = (size_t)s->learn->receipt.width, records = s->firsts[s->sums];
	struct cuttle_query query = noise_of(&s->learn->receipt);
	REQUIRE(add_noises(&query, s->sums));
	for (size_t sum = 0; sum < s->sums; sum++)
		for (size_t i = 0; i < width; i++) m->whole[i] += m->answers[sum * width + i];
	s->learn->share = cuttle_learner_bias(m->learner, m->whole, records, &query, m->vector);
	return write_bias(s, m, 0,
	                  &(struct bias_numbers){.records = records,
	                                         .share = s->learn->share,
	                                         .answer = m->whole,
	                                         .vector = m->vector});
}

/* The bias of a category: v + n / (n + 300) (o - share v), with v that of all records, o that of
 * its own n. So few records, or an answer of noise, leave it what all say. */
static enum cuttle_status write_category(struct learn_state *s, const struct making *m,
                                         size_t sum) {
	const size_t width = (size_t)s->learn->receipt.width,
	             records = s->firsts[sum + 1] - s->firsts[sum];
	const struct cuttle_query query = noise_of(&s->learn->receipt);
	const int64_t *answer = m->answers + sum * width;
	const double share = cuttle_learner_bias(m->learner, answer, records, &query, m->own),
	             weight = (double)records / ((double)records + OTHER_RECORDS);
	for (size_t i = 0; i < width; i++)
		m->own[i] = m->vector[i] + weight * (m->own[i] - share * m->vector[i]);
	return write_bias(s, m, 1 + sum,
	                  &(struct bias_numbers){.heading = s->learn->categories.all[sum].heading,
	                                         .records = records,
	                                         .share = share,
	                                         .answer = answer,
	                                         .vector = m->own});
}

static enum cuttle_status learn_bias(void *user, struct cuttle_error *error) {
	struct learn_state *s = user;
	const struct learn_receipt *receipt = &s->learn->receipt;
	const struct cuttle_learn_params params = {
	    .texts = receipt->texts, .tokens = receipt->tokens, .progress = tell_read, .user = s};
	const size_t width = (size_t)receipt->width;
	struct making m = {.answers = calloc(s->sums * width, sizeof *m.answers),
	                   .whole = calloc(width, sizeof *m.whole),
	                   .vector = calloc(width, sizeof *m.vector),
	                   .own = calloc(width, sizeof *m.own)};
	enum cuttle_status status = m.answers && m.whole && m.vector && m.own
	                                ? CUTTLE_OK
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = cuttle_learner_make(s->learn->setup.plan, &params, &m.learner, error);
	if (!status) status = take_answers(s, m.learner, m.answers, error);
	if (!status) status = write_whole(s, &m);
	for (size_t sum = 0; sum < receipt->categories && !status; sum++)
		status = write_category(s, &m, sum);
	cuttle_learner_free(&m.learner);
	free(m.answers);
	free(m.whole);
	free(m.vector);
	free(m.own);
	return status;
}

static json_t *make_bias_line(void *user, const struct cuttle_text *text) {
	const struct learn_state *s = user;
	(void)text;
	return bias_line(&s->numbers, (size_t)s->learn->receipt.width);
}

static void digest_learn(void *user, const unsigned char *key, char *digest) {
	const struct learn_state *s = user;
	text_set_digest(&s->records, key, digest);
}

struct ledger_request learn_price(const struct learn *learn) {
	const struct learn_receipt *receipt = &learn->receipt;
	struct ledger_request price = {.command = learn->fingerprint, .rho = receipt->rho};
	if (learn->in_epsilon) {
		price.measure = LEDGER_EPSILON;
		price.rho = receipt->epsilon;
		price.delta = receipt->delta;
	} else if (receipt->order) {
		price.measure = LEDGER_RDP;
		price.order = receipt->order;
		price.rho = units_multiply(receipt->order, receipt->rho);
	}
	return price;
}

static void set_learn_terms(void *user, struct system_terms *terms) {
	struct learn_state *s = user;
	struct learn_receipt *receipt = &s->learn->receipt;
	const char *command = s->learn->fingerprint;
	terms->output = (struct output_request){.fingerprint = command,
	                                        .format = OUTPUT_JSONL,
	                                        .texts = 1 + (size_t)receipt->categories,
	                                        .private_output = receipt->private_output,
	                                        .line = make_bias_line,
	                                        .digest = digest_learn};
	terms->charge = learn_price(s->learn);
	terms->charge.count = s->records.count;
	if (!s->learn->in_epsilon && s->request->common.unit_key) {
		// An owner's records are one vector: rho is for all of them.
		terms->charge.once = true;
		terms->charge.batch = 1;
		terms->charge.user = &s->records;
		terms->charge.unit = text_set_owner;
	}
	terms->free = receipt->from_public;
	terms->charged = &receipt->ledger;
}

static json_t *describe_learnt(void *user, const struct filter_counts *counts, const char *sha256) {
	const struct learn *learn = ((const struct learn_state *)user)->learn;
	(void)counts;
	return evidence_json(&LEARN_KIND, &learn->receipt, learn->fingerprint, sha256);
}

static const struct system LEARN = {.read = read_learn,
                                    .terms = set_learn_terms,
                                    .draw = learn_bias,
                                    .receipt = describe_learnt,
                                    .free = free_learnt};

enum cuttle_status learn_run(const struct learn_request *request, struct learn *learn,
                             const struct run_events *events, struct cuttle_error *error) {
	struct learn_state s = {
	    .run = {.request = &request->common,
	            .events = events,
	            .signer = learn->signer,
	            .counted = learn->receipt.private_output && !learn->receipt.from_public},
	    .request = request,
	    .learn = learn};
	return run_system(&LEARN, &s, error);
}
