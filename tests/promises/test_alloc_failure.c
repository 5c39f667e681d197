// SPDX-License-Identifier: Apache-2.0
// Tests the promise for when memory runs out. Each allocation fails in turn, from opening a model
// to the receipt of an output. It fails if the result is not NOMEM with one line, if memory leaks,
// or if a file is left half-written.
// The linker puts the functions below in the place of the real ones, for all code that is linked
// statically. jansson is not: it is given them by its own interface. The C library's own
// allocations do not fail. Live blocks and mappings are counted, so a leak shows without a
// sanitizer, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/cuttle.h"
#include "engine/grammar/automaton.h"
#include "io/output/output.h"
#include "io/disk/paths.h"
#include "io/receipts/receipt.h"
#include "io/records/records.h"
#include "io/schema/record.h"
#include "tests/support/files.h"
#include "tests/support/micro_model.h"
#include "tests/support/statistics.h"
#include "workflow/audit/audit.h"
#include "workflow/evaluate/evaluate.h"
#include "workflow/evolve.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int left = INT_MAX; /* allocations that still succeed */
static long live;          /* blocks and mappings held */

static bool fails(void) {
	return left < INT_MAX && left-- <= 0;
}

static void *held(void *block) {
	live += block != NULL;
	return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
FILE *__real_open_memstream(char **bytes, size_t *size);
void __real_free(void *block);
void *__real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void *__real_mremap(void *address, size_t old, size_t size, int flags);
int __real_munmap(void *address, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
FILE *__wrap_open_memstream(char **bytes, size_t *size);
void __wrap_free(void *block);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mremap(void *address, size_t old, size_t size, int flags);
int __wrap_munmap(void *address, size_t size);

void *__wrap_malloc(size_t size) {
	return fails() ? NULL : held(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size) {
	return fails() ? NULL : held(__real_calloc(count, size));
}
void *__wrap_realloc(void *block, size_t size) {
	if (fails()) return NULL;
	void *grown = __real_realloc(block, size);
	return block ? grown : held(grown);
}
void *__wrap_reallocarray(void *block, size_t count, size_t size) {
	if (fails()) return NULL;
	void *grown = __real_reallocarray(block, count, size);
	return block ? grown : held(grown);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
	return fails() ? NULL : held(__real_aligned_alloc(alignment, size));
}
char *__wrap_strdup(const char *text) {
	return fails() ? NULL : held(__real_strdup(text));
}
char *__wrap_strndup(const char *text, size_t size) {
	return fails() ? NULL : held(__real_strndup(text, size));
}
int __wrap_asprintf(char **text, const char *format, ...) {
	if (fails()) return -1;
	va_list arguments;
	va_start(arguments, format);
	const int size = vasprintf(text, format, arguments);
	va_end(arguments);
	if (size >= 0) live++;
	return size;
}
FILE *__wrap_open_memstream(char **bytes, size_t *size) {
	return fails() ? NULL
	               : held(__real_open_memstream(
	                     bytes, size)); // counts for the text, which the caller frees
}
void __wrap_free(void *block) {
	live -= block != NULL;
	__real_free(block);
}
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
	if (fails()) return MAP_FAILED;
	live++;
	return __real_mmap(address, size, protection, flags, file, offset);
}
void *__wrap_mremap(void *address, size_t old, size_t size, int flags) {
	return fails() ? MAP_FAILED : __real_mremap(address, old, size, flags);
}
int __wrap_munmap(void *address, size_t size) {
	live--;
	return __real_munmap(address, size);
}

/* ---- the work, as one call each -------------------------------------------------------------- */

enum { TEXTS = 2, BATCH = 2, TOKENS = 4 };
static char folder[] = "/tmp/cuttle-alloc-XXXXXX", model_path[64], records_path[64], csv_path[64],
            out_path[64], receipt_path[64];
static struct cuttle_model *model;
static struct cuttle_plan *plan;

/* Runs `work` with allocation 0, 1, 2, ... failing until none is left to fail, briefly with every
 * third of the later ones; it must free all it took. */
static void each_allocation(enum cuttle_status (*work)(struct cuttle_error *error), int at_least) {
	struct cuttle_error error;
	assert_int_equal(work(&error), CUTTLE_OK); // what is taken once and for all
	for (int nth = 0;; nth += briefly() && nth > 40 ? 3 : 1) {
		const long before = live;
		error = (struct cuttle_error){""};
		left = nth;
		const enum cuttle_status status = work(&error);
		const bool reached = left < 0;
		left = INT_MAX;
		if (live != before)
			fail_msg("allocation %d: %ld blocks are left", nth, live - before);
		if (!reached) {
			assert_int_equal(status, CUTTLE_OK);
			assert_true(nth >= at_least);
			return;
		}
		if (status != CUTTLE_NOMEM && status != CUTTLE_OK && status != CUTTLE_PARTIAL)
			fail_msg("allocation %d: status %d, %s", nth, (int)status, error.message);
		if (status) assert_true(error.message[0] && !strchr(error.message, '\n'));
	}
}

static enum cuttle_status open_model(struct cuttle_error *error) {
	struct cuttle_model_params params;
	struct cuttle_model *opened = (struct cuttle_model *)1;
	cuttle_model_params_default(&params);
	params.threads = 1;
	const enum cuttle_status status = cuttle_model_open(model_path, &params, &opened, error);
	assert_true((status == CUTTLE_OK) == (opened != NULL));
	assert_true(status == CUTTLE_OK ? left >= 0 : status == CUTTLE_NOMEM);
	cuttle_model_free(&opened);
	return status;
}

static enum cuttle_status plan_of(struct cuttle_plan **made, struct cuttle_error *error) {
	static const char *const examples[] = {"a", "b"}, *const headings[] = {"x: a", "x: b"};
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 1;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.kind = "ab";
	params.examples = examples;
	params.example_count = 2;
	params.headings = headings;
	params.heading_count = 2;
	params.insecure = true;
	return cuttle_plan_make(model, &params, made, error);
}

static enum cuttle_status make_plan(struct cuttle_error *error) {
	struct cuttle_plan *made = (struct cuttle_plan *)1;
	const enum cuttle_status status = plan_of(&made, error);
	assert_true((status == CUTTLE_OK) == (made != NULL));
	assert_true(status == CUTTLE_OK ? left >= 0 : status == CUTTLE_NOMEM);
	cuttle_plan_free(&made);
	return status;
}

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = index % 2 ? "a b" : "abab";
	*size = strlen(*text);
}

static int take_text(void *user, const struct cuttle_text *text) {
	assert_int_equal(text->index, (*(size_t *)user)++);
	return 0;
}

static enum cuttle_status run_job(struct cuttle_error *error) {
	struct cuttle_job job;
	size_t done = 0;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = &done;
	job.reference = give_reference;
	job.text = take_text;
	const enum cuttle_status status = cuttle_job_run(plan, &job, error);
	assert_true(status == CUTTLE_OK ? done == TEXTS : status == CUTTLE_NOMEM && done < TEXTS);
	return status;
}

/* A record for which there was no memory may be null, as one that is wrong; it keeps its place. */
static enum cuttle_status read_records(const char *path, struct cuttle_error *error) {
	static const char *const labels[] = {"kind"};
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .id_field = "id",
	                                        .limit = SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = 1,
	                                        .most = 64};
	struct records *records = (struct records *)1;
	const enum cuttle_status status = records_read(&request, &records, error);
	assert_true((status == CUTTLE_OK) == (records != NULL));
	if (!status) assert_int_equal(records_count(records), 3);
	records_free(&records);
	return status;
}

static enum cuttle_status read_jsonl(struct cuttle_error *error) {
	return read_records(records_path, error);
}
static enum cuttle_status read_csv(struct cuttle_error *error) {
	return read_records(csv_path, error);
}

/* ---- an output, from its journal to its receipt ---------------------------------------------- */

static enum cuttle_status compare_paths(struct cuttle_error *error) {
	const struct path_use uses[] = {
	    {"-i", records_path, PATH_STREAM, NULL, {NULL}},
	    {"-o", out_path, PATH_OUTPUT, receipt_path, {".journal", ".run"}}};
	return paths_check(uses, 2, error);
}

static int32_t drawn[TEXTS][TOKENS]; /* what was drawn, -1 = not yet: two draws would spend twice */

static enum cuttle_status write_texts(struct output *output, struct cuttle_error *error) {
	for (size_t t = 0; t < TEXTS; t++) {
		const int32_t *tokens;
		const size_t had = output_drawn(output, t, &tokens);
		for (size_t step = 0; step < had; step++)
			assert_int_equal(tokens[step], drawn[t][step]);
		for (uint32_t step = (uint32_t)had; step < TOKENS; step++) {
			assert_int_equal(drawn[t][step], -1);
			if (output_token(output, t, step, (int32_t)(10 * t + step)))
				return output_problem(output, error);
			drawn[t][step] = (int32_t)(10 * t + step);
		}
		const struct cuttle_text text = {
		    .index = t, .batch = t, .text = "ab\"", .size = 3, .tokens = TOKENS};
		if (output_text(output, &text)) return output_problem(output, error);
	}
	return CUTTLE_OK;
}

static enum cuttle_status write_output(struct cuttle_error *error) {
	char fingerprint[HASH_TEXT] = "", sha256[HASH_TEXT];
	struct receipt receipt = {
	    .texts = TEXTS, .isa = "scalar", .unit.weight = 1, .guarantee.private_output = true};
	const struct receipt_command command = {
	    .input = "i", .text_field = "text", .input_format = "auto", .output_format = "jsonl"};
	if (!receipt_fingerprint(&receipt, &command, fingerprint)) {
		(void)snprintf(error->message, sizeof error->message, "out of memory");
		return CUTTLE_NOMEM;
	}
	const struct output_request request = {.path = out_path,
	                                       .fingerprint = fingerprint,
	                                       .texts = TEXTS,
	                                       .format = OUTPUT_JSONL,
	                                       .private_output = true,
	                                       .digest = files_digest};
	struct output *output;
	bool complete;
	enum cuttle_status status = output_open(&request, &output, &complete, error);
	assert_true(!(status && output));
	if (status || complete) return status;
	status = write_texts(output, error);
	if (!status) status = output_seal(output, sha256, error);
	size_t size;
	char *text = status ? NULL
	                    : receipt_seal(receipt_json(&receipt, fingerprint, sha256),
	                                   receipt.signer, &size);
	if (!status && !text) {
		status = CUTTLE_NOMEM;
		(void)snprintf(error->message, sizeof error->message, "out of memory");
	}
	if (!status) status = output_publish(output, text, size, error);
	free(text);
	output_close(&output);
	return status;
}

static void forget_output(void) {
	static const char *const endings[] = {"", ".journal", ".journal.key", ".tmp"};
	char path[80];
	for (size_t i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof path, "%s%s", out_path, endings[i]);
		(void)unlink(path);
	}
	(void)unlink(receipt_path);
	(void)snprintf(path, sizeof path, "%s.tmp", receipt_path);
	(void)unlink(path);
	memset(drawn, 0xff, sizeof drawn);
}

/* Fails, and is continued: the same bytes as of an undisturbed run, and no token drawn twice
 * (write_texts sees to that). */
static enum cuttle_status write_and_continue(struct cuttle_error *error) {
	static char whole[4096];
	static size_t whole_size;
	char bytes[4096];
	forget_output();
	const enum cuttle_status status = write_output(error);
	const bool failed_now = left < 0;
	left = failed_now ? INT_MAX : left;
	size_t size = files_get(out_path, bytes, sizeof bytes);
	assert_true(!size || (!whole_size && !status) ||
	            size == whole_size); // nothing under the output's own name but all of it
	struct cuttle_error again = {""};
	if (status) assert_int_equal(write_output(&again), CUTTLE_OK);
	size = files_get(out_path, bytes, sizeof bytes);
	if (!whole_size) memcpy(whole, bytes, whole_size = size);
	assert_true(size > 0 && size == whole_size && !memcmp(bytes, whole, size));
	assert_true(files_get(receipt_path, bytes, sizeof bytes) > 100);
	if (failed_now) left = -1;
	return status;
}

/* ---- an evaluation --------------------------------------------------------------------------- */

static void ignore_count(void *user, size_t texts) {
	(void)user;
	(void)texts;
}
static void ignore_text(void *user) {
	(void)user;
}
static bool never(void *user) {
	(void)user;
	return false;
}

/* Four texts against four others, which all files of this evaluation are; its file of features too
 * is there, or not, or in part. epsilon NAN: they are read, else they answer through noise. */
static enum cuttle_status evaluate_at(double epsilon, struct cuttle_error *error) {
	static const uint64_t seed = 3;
	const char *const runs[] = {records_path};
	struct setup_model opened = {.model = model};
	struct evaluate_request request;
	struct evaluation table;
	struct evaluate_asked asked = {0};
	evaluate_default(&request);
	request.runs = runs;
	request.run_count = 1;
	request.against = csv_path;
	request.lexicon = csv_path;
	request.output = out_path;
	request.privacy = isnan(epsilon) ? EVALUATE_PUBLIC : EVALUATE_PRIVATE;
	request.epsilon = epsilon;
	if (!isnan(epsilon)) request.seed = &seed;
	memset(opened.sha256, '0', HASH_TEXT - 1);
	const struct evaluate_events events = {NULL, ignore_count, ignore_text, never};
	enum cuttle_status status = evaluate_check(&request, error);
	if (!status) status = evaluate_run(&request, &opened, &events, &asked, &table, error);
	if (!status) status = evaluate_seal(&asked, opened.sha256, error);
	if (!status) evaluation_free(&table);
	const bool failed_now = left < 0;
	left = failed_now ? INT_MAX : left;
	evaluate_done(&request, &asked);
	evaluate_close(&asked);
	if (failed_now) left = -1;
	return status;
}

static enum cuttle_status evaluate(struct cuttle_error *error) {
	return evaluate_at((double)NAN, error);
}

/* What failed goes on with the answers that it has, or none was drawn. */
static enum cuttle_status evaluate_asking(struct cuttle_error *error) {
	const enum cuttle_status status = evaluate_at(2, error);
	const bool failed_now = left < 0;
	struct cuttle_error again = {""};
	left = failed_now ? INT_MAX : left;
	if (status) assert_int_equal(evaluate_at(2, &again), CUTTLE_OK);
	if (failed_now) left = -1;
	return status;
}

static void evaluate_texts(void **state) {
	(void)state;
	static const char run[] = "{\"text\":\"a b\"}\n{\"text\":\"b\"}\n{\"text\":\"a\"}\n"
	                          "{\"text\":\"b b\"}\n",
	                  real[] = "text\na a\na b a\nb a\nb b b\n";
	static char jsonl[256], csv[256];
	const size_t jsonl_size = files_get(records_path, jsonl, sizeof jsonl),
	             csv_size = files_get(csv_path, csv, sizeof csv);
	files_put(records_path, run, sizeof run - 1);
	files_put(csv_path, real, sizeof real - 1);
	each_allocation(evaluate, 30);
	each_allocation(evaluate_asking, 40);
	files_put(records_path, jsonl, jsonl_size);
	files_put(csv_path, csv, csv_size);
}

/* ---- texts that records choose --------------------------------------------------------------- */

static void begin_nothing(void *user, bool complete) {
	(void)user;
	(void)complete;
}
static void publish_nothing(void *user, const char *path) {
	(void)user;
	(void)path;
}

static enum cuttle_status evolve(struct cuttle_error *error) {
	static const struct run_events events = {.begin = begin_nothing,
	                                         .reading = ignore_count,
	                                         .token = ignore_text,
	                                         .text = ignore_text,
	                                         .stop = never,
	                                         .end = ignore_text,
	                                         .publish = publish_nothing};
	struct setup_model opened = {.model = model};
	struct evolve_request request;
	struct evolve evolve;
	evolve_default(&request);
	request.common.input = records_path;
	request.common.output = out_path;
	request.epsilon = 2;
	request.texts = 2;
	request.variations = 2;
	request.generations = 2;
	request.plan.tokens = 3;
	request.plan.context = 400;
	request.plan.insecure = true;
	request.plan.insecure_seed = request.seed = 5;
	request.common.now = 1;
	memset(opened.sha256, '0', HASH_TEXT - 1);
	enum cuttle_status status = evolve_check(&request, error);
	if (!status) status = evolve_open(&request, &opened, &evolve, error);
	else return status;
	if (!status) status = evolve_run(&request, &evolve, &events, error);
	evolve_free(&evolve);
	return status;
}

/* What failed goes on, and ends in the same bytes: so no vote is drawn again. */
static enum cuttle_status evolve_and_continue(struct cuttle_error *error) {
	static char whole[4096];
	static size_t whole_size;
	char bytes[4096];
	struct cuttle_error again = {""};
	forget_output();
	const enum cuttle_status status = evolve(error);
	const bool failed_now = left < 0;
	left = failed_now ? INT_MAX : left;
	if (status && evolve(&again)) fail_msg("it does not go on: %s", again.message);
	const size_t size = files_get(out_path, bytes, sizeof bytes);
	if (!whole_size) memcpy(whole, bytes, whole_size = size);
	assert_true(size > 0 && size == whole_size && !memcmp(bytes, whole, size));
	assert_true(files_get(receipt_path, bytes, sizeof bytes) > 100);
	if (failed_now) left = -1;
	return status;
}

static void evolve_texts(void **state) {
	(void)state;
	each_allocation(evolve_and_continue, 40);
	forget_output();
}

/* ---- audits ---------------------------------------------------------------------------------- */

static enum cuttle_status audit_by(enum audit_action action, struct cuttle_error *error) {
	struct setup_model opened = {.model = model};
	struct audit_request request;
	struct audit audit;
	audit_default(&request, action);
	request.run.plan.clip = 1;
	request.run.plan.batch = BATCH;
	request.run.plan.tokens = 3;
	request.run.plan.insecure = true;
	request.run.common.input = request.held_out = request.texts = records_path;
	request.privacy = AUDIT_PRIVATE;
	request.canary = "ab";
	request.games = 4;
	request.secrets = 2;
	memset(opened.sha256, '0', HASH_TEXT - 1);
	const struct audit_events events = {NULL, ignore_count, ignore_text, never, NULL};
	enum cuttle_status status = audit_check(&request, error);
	if (!status) status = audit_run(&request, &opened, &events, &audit, error);
	if (!status) audit_free(&audit);
	return status;
}
static enum cuttle_status audit_canary(struct cuttle_error *error) {
	return audit_by(AUDIT_CANARY, error);
}
static enum cuttle_status audit_secrets(struct cuttle_error *error) {
	return audit_by(AUDIT_RECOVER, error);
}
static enum cuttle_status audit_ranges(struct cuttle_error *error) {
	return audit_by(AUDIT_INVARIANT, error);
}
static enum cuttle_status audit_overlap(struct cuttle_error *error) {
	return audit_by(AUDIT_OVERLAP, error);
}

static enum cuttle_status no_memory_for(struct cuttle_error *error, const char *what) {
	(void)snprintf(error->message, sizeof error->message, "no memory for %s", what);
	return CUTTLE_NOMEM;
}

/* A record's form is of the schema's grammar. */
static enum cuttle_status follow_record(const struct schema *schema, struct automaton *automaton,
                                        struct cuttle_error *error) {
	struct arena out = {0};
	bool fits = false;
	json_t *record =
	    json_pack("{s[i]ss}", "a", 7, "b", "x\"y"); // a list that may lack, and a pattern
	enum cuttle_status status =
	    record ? schema_record(schema, record, &out, &fits) : no_memory_for(error, "a record");
	if (status) (void)no_memory_for(error, "its form");
	const uint32_t end =
	    status ? AUTOMATON_DEAD
	           : automaton_walk(automaton, automaton_begin(automaton), out.bytes, out.used);
	if (!status && automaton_failed(automaton)) status = no_memory_for(error, "states");
	if (!status) assert_true(fits && automaton_accepts(automaton, end));
	json_decref(record);
	arena_free(&out);
	return status;
}

static enum cuttle_status follow_fields(const struct schema *schema, struct cuttle_error *error) {
	struct schema_fields *fields = schema_fields(schema);
	char *place = schema_place(schema, 0);
	const enum cuttle_status status =
	    fields && place ? CUTTLE_OK : no_memory_for(error, "fields");
	if (!status) assert_int_equal(fields->count, 4);
	schema_fields_free(fields);
	free(place);
	return status;
}

static enum cuttle_status read_a_schema(struct cuttle_error *error) {
	static const char json[] =
	    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":"
	    "[\"number\",\"null\"],\"minimum\":-2.5}},\"b\":{\"allOf\":[{\"type\":\"string\","
	    "\"pattern\":\"^(x|[^a]{2})+y$\",\"nullable\":true}],\"maxLength\":5},\"c\":{\"enum\":["
	    "\"ab\",\"ac\",[1]]},\"d\":"
	    "{\"$ref\":\"#/$defs/d\"}},\"$defs\":{\"d\":{\"oneOf\":[{\"type\":\"null\"},"
	    "{\"const\":1},{\"$ref\":\"#/$defs/e\"}],\"discriminator\":{\"propertyName\":\"k\","
	    "\"mapping\":{\"x\":\"e\"}}},\"e\":{\"allOf\":[{\"type\":\"object\",\"properties\":{"
	    "\"k\":"
	    "{\"enum\":[\"x\"]}},\"required\":[\"k\"]},{\"properties\":{\"k\":{\"type\":\"string\"}"
	    "},"
	    "\"required\":[\"k\"]}]}}}";
	struct schema *schema;
	struct cuttle_grammar *grammar = NULL;
	struct automaton *automaton = NULL;
	enum cuttle_status status = schema_read(json, sizeof json - 1, &schema, error);
	assert_true((status == CUTTLE_OK) == (schema != NULL));
	// Without memory for a word, jansson says that another was expected.
	if (status && strstr(error->message, "it is no JSON")) status = CUTTLE_NOMEM;
	char *gbnf = status ? NULL : schema_grammar(schema);
	if (!status && !gbnf) status = no_memory_for(error, "its grammar");
	if (!status) status = cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, error);
	if (!status) status = automaton_new(grammar, 0, &automaton, error);
	if (!status) status = follow_record(schema, automaton, error);
	if (!status) status = follow_fields(schema, error);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	schema_free(schema);
	free(gbnf);
	return status;
}

static void reading_a_schema(void **state) {
	(void)state;
	each_allocation(read_a_schema, 200);
}
static void auditing(void **state) {
	(void)state;
	each_allocation(audit_canary, 30);
	each_allocation(audit_secrets, 30);
	each_allocation(audit_ranges, 30);
	each_allocation(audit_overlap, 10);
}

static void opening_a_model(void **state) {
	(void)state;
	each_allocation(open_model, 20);
}
static void making_a_plan(void **state) {
	(void)state;
	each_allocation(make_plan, 20);
}
static void running_a_job(void **state) {
	(void)state;
	each_allocation(run_job, 8);
}
static void reading_records(void **state) {
	(void)state;
	each_allocation(read_jsonl, 10);
	each_allocation(read_csv, 5);
}
static void comparing_paths(void **state) {
	(void)state;
	each_allocation(compare_paths, 10);
}
static void writing_an_output(void **state) {
	(void)state;
	each_allocation(write_and_continue, 20);
}

static int begin(void **state) {
	(void)state;
	static const char jsonl[] =
	    "{\"text\":\"a\",\"id\":1,\"kind\":\"x\"}\n{\"text\":\"b\",\"id\":\"two\"}\nnot JSON\n";
	static const char csv[] = "id,text,kind\n1,\"a\nb\",x\n2,b,y\n3\n";
	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/model.gguf", folder);
	(void)snprintf(records_path, sizeof records_path, "%s/in.jsonl", folder);
	(void)snprintf(csv_path, sizeof csv_path, "%s/in.csv", folder);
	(void)snprintf(out_path, sizeof out_path, "%s/out.jsonl", folder);
	(void)snprintf(receipt_path, sizeof receipt_path, "%s/out.receipt.json", folder);
	size_t size;
	struct gguf_writer *writer = micro_model_begin(MICRO_SPM, "llama.context_length");
	gguf_write_u32(writer, "llama.context_length", 1024);
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	files_put(model_path, bytes, size);
	free(bytes);
	files_put(records_path, jsonl, sizeof jsonl - 1);
	files_put(csv_path, csv, sizeof csv - 1);
	struct cuttle_error error = {""};
	if (cuttle_model_open(model_path, NULL, &model, &error) || plan_of(&plan, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	return 0;
}

static int end(void **state) {
	(void)state;
	cuttle_plan_free(&plan);
	cuttle_model_free(&model);
	forget_output();
	(void)unlink(model_path);
	(void)unlink(records_path);
	(void)unlink(csv_path);
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(opening_a_model),   cmocka_unit_test(making_a_plan),
	    cmocka_unit_test(running_a_job),     cmocka_unit_test(reading_records),
	    cmocka_unit_test(writing_an_output), cmocka_unit_test(comparing_paths),
	    cmocka_unit_test(evaluate_texts),    cmocka_unit_test(auditing),
	    cmocka_unit_test(evolve_texts),      cmocka_unit_test(reading_a_schema),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
