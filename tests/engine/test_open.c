// SPDX-License-Identifier: Apache-2.0
// Tests cuttle_model_open and its relatives. A model is opened by name, by descriptor and from
// bytes, with and without weights, and with the structs of older and newer callers.
// It fails if the ways give different models. It fails if a file that is no model, or needs more
// memory than there is, is not refused.
#include "base/misuse.h"
#include "engine/cuttle.h"
#include "engine/machine/memory.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/cuttle-open-XXXXXX", path[64];
static uint8_t *bytes;
static size_t size;

static int make_files(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return 1;
	snprintf(path, sizeof path, "%s/model", folder);
	bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	files_put(path, bytes, size);
	return 0;
}

static int remove_files(void **state) {
	(void)state;
	free(bytes);
	unlink(path);
	return rmdir(folder);
}

static void score(struct cuttle_model *model, double logprobs[3]) {
	int32_t top1[3];
	assert_int_equal(
	    cuttle_score(model, (const int32_t[]){97, 98, 99, 100}, 4, logprobs, top1, NULL),
	    CUTTLE_OK);
}

static void test_three_ways_are_one(void **state) {
	(void)state;
	struct cuttle_model *model;
	double by_name[3], by_file[3], by_bytes[3];
	assert_int_equal(cuttle_model_open(path, NULL, &model, NULL), CUTTLE_OK);
	score(model, by_name);
	cuttle_model_free(&model);

	const int file = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(file, 7, SEEK_SET), 7);
	assert_int_equal(cuttle_model_open_fd(file, NULL, &model, NULL), CUTTLE_OK);
	assert_int_equal(lseek(file, 0, SEEK_CUR), 7);
	assert_int_equal(close(file), 0);
	score(model, by_file);
	cuttle_model_free(&model);

	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	assert_int_equal(cuttle_model_open_memory(copy, size, NULL, &model, NULL), CUTTLE_OK);
	assert_memory_equal(copy, bytes, size);
	memset(copy, 0xff, size);
	free(copy);
	score(model, by_bytes);
	cuttle_model_free(&model);
	assert_memory_equal(by_name, by_file, sizeof by_name);
	assert_memory_equal(by_name, by_bytes, sizeof by_name);
}

struct watch {
	uint64_t done, total, calls, stop_at, seen;
};

static int watch(void *user, uint64_t done, uint64_t total) {
	struct watch *watch = user;
	assert_true(done >= watch->done && done <= total);
	assert_true(!watch->calls || total == watch->total);
	watch->done = done;
	watch->total = total;
	return ++watch->calls == watch->stop_at;
}

static void count_bytes(void *user, const void *read, size_t count) {
	struct watch *watch = user;
	assert_memory_equal(read, bytes + watch->seen, count);
	watch->seen += count;
}

static void test_progress(void **state) {
	(void)state;
	struct cuttle_model_params params;
	struct cuttle_model *model;
	struct watch all = {0};
	cuttle_model_params_default(&params);
	params.on_progress = watch;
	params.on_bytes = count_bytes;
	params.user = &all;
	assert_int_equal(cuttle_model_open(path, &params, &model, NULL), CUTTLE_OK);
	assert_true(all.calls > 3 && all.done == all.total && all.total == 2 * size &&
	            all.seen == size);
	cuttle_model_free(&model);
	for (uint64_t stop_at = 1; stop_at <= all.calls; stop_at++) {
		struct cuttle_error error = {""};
		struct watch stopped = {.stop_at = stop_at};
		params.user = &stopped;
		assert_int_equal(cuttle_model_open(path, &params, &model, &error), CUTTLE_PARTIAL);
		assert_null(model);
		assert_non_null(strstr(error.message, "stopped"));
		assert_int_equal(stopped.calls, stop_at);
	}
}

/* Keys and values are of 16 bits unless the caller asks for 8. */
static void test_kv_type(void **state) {
	(void)state;
	const struct {
		enum cuttle_kv_type asked, got;
		enum cuttle_status status;
	} cases[] = {{CUTTLE_KV_F16, CUTTLE_KV_F16, CUTTLE_OK},
	             {CUTTLE_KV_Q8, CUTTLE_KV_Q8, CUTTLE_OK},
	             {(enum cuttle_kv_type)2, CUTTLE_KV_F16, CUTTLE_USAGE}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cuttle_model_params params;
		struct cuttle_model_info info;
		struct cuttle_model *model;
		cuttle_model_params_default(&params);
		assert_int_equal(params.kv_type, CUTTLE_KV_F16);
		params.kv_type = cases[i].asked;
		assert_int_equal(cuttle_model_open(path, &params, &model, NULL), cases[i].status);
		if (!model) continue;
		cuttle_model_describe(model, &info);
		assert_int_equal(info.kv_type, cases[i].got);
		cuttle_model_free(&model);
	}
	struct cuttle_model_info info;
	struct cuttle_model *model;
	assert_int_equal(cuttle_model_open(path, NULL, &model, NULL), CUTTLE_OK);
	cuttle_model_describe(model, &info);
	assert_int_equal(info.kv_type, CUTTLE_KV_F16);
	cuttle_model_free(&model);
}

static struct cuttle_model *open_vocabulary(const uint8_t *file, size_t file_size) {
	struct cuttle_model_params params;
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	cuttle_model_params_default(&params);
	params.vocabulary_only = true;
	if (cuttle_model_open_memory(file, file_size, &params, &model, &error))
		fail_msg("%s", error.message);
	return model;
}

/* Tokens there and back, what is known of the file, and nothing that needs weights. */
static void check_vocabulary(struct cuttle_model *model, const char *architecture,
                             const char *unsupported) {
	struct cuttle_model_info info;
	struct cuttle_error error = {""};
	int32_t ids[8];
	char text[8];
	size_t count, length;
	cuttle_model_describe(model, &info);
	assert_string_equal(info.architecture, architecture);
	if (!strstr(info.unsupported, unsupported) || (!*unsupported && *info.unsupported))
		fail_msg("'%s'", info.unsupported);
	assert_int_equal(info.vocab, TINY_VOCAB);
	assert_int_equal(cuttle_tokenize(model, "abzz", 4, true, ids, 8, &count, &error),
	                 CUTTLE_OK);
	assert_int_equal(count, 3);
	assert_int_equal(cuttle_detokenize(model, ids, count, text, sizeof text, &length, &error),
	                 CUTTLE_OK);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "abzz", 4);

	double logprobs[2], ceiling;
	int32_t top1[2];
	struct cuttle_plan *plan;
	struct cuttle_plan_params params;
	struct cuttle_bench_result result;
	const struct cuttle_bench_params bench = {sizeof bench, 1, 1, 8, 2, 0, 0};
	cuttle_plan_params_default(&params);
	params.clip = 1.0;
	assert_int_equal(cuttle_score(model, ids, 3, logprobs, top1, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "vocabulary alone"));
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "vocabulary alone"));
	assert_null(plan);
	assert_int_equal(cuttle_bench(model, &bench, &result, &error), CUTTLE_USAGE);
	assert_int_equal(cuttle_bench_ceilings(model, &ceiling, &ceiling, &error), CUTTLE_USAGE);
	cuttle_model_free(&model);
}

static void test_vocabulary_only(void **state) {
	(void)state;
	// Of a whole model it knows all that opening it would tell.
	struct cuttle_model_info whole, table;
	struct cuttle_model *model;
	assert_int_equal(cuttle_model_open(path, NULL, &model, NULL), CUTTLE_OK);
	cuttle_model_describe(model, &whole);
	cuttle_model_free(&model);
	model = open_vocabulary(bytes, size);
	cuttle_model_describe(model, &table);
	assert_memory_equal(&whole, &table, sizeof whole);
	assert_int_equal(table.tensors, 3 + 9 * TINY_LAYERS);
	check_vocabulary(model, "llama", "");

	// No tensors, and an architecture that cuttle does not compute.
	size_t short_size;
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "general.architecture", "mamba");
	tiny_vocab_write(writer);
	uint8_t *vocabulary = gguf_writer_finish(&writer, &short_size);
	assert_int_equal(cuttle_model_open_memory(vocabulary, short_size, NULL, &model, NULL),
	                 CUTTLE_MODEL);
	check_vocabulary(open_vocabulary(vocabulary, short_size), "mamba", "only a vocabulary");
	free(vocabulary);

	// Tensors of a type that does not exist.
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	uint8_t *name = memmem(copy, size, "output_norm.weight", 18);
	assert_non_null(name);
	name[18 + 4 + 8] = 77;
	assert_int_equal(cuttle_model_open_memory(copy, size, NULL, &model, NULL), CUTTLE_MODEL);
	check_vocabulary(open_vocabulary(copy, size), "llama", "unknown type 77");
	free(copy);
}

/* Only the beginning of a file is read, however long it is. */
static void test_vocabulary_of_a_long_file(void **state) {
	(void)state;
	enum { MIB = 1 << 20, LONG_MIB = 200 };
	char name[80];
	struct cuttle_model_params params;
	struct cuttle_model *model;
	struct watch read = {0};
	snprintf(name, sizeof name, "%s/long", folder);
	files_put(name, bytes, size);
	assert_int_equal(truncate(name, (off_t)LONG_MIB * MIB), 0);
	cuttle_model_params_default(&params);
	params.vocabulary_only = true;
	params.on_progress = watch;
	params.user = &read;
	assert_int_equal(cuttle_model_open(name, &params, &model, NULL), CUTTLE_OK);
	assert_int_equal(read.total, (uint64_t)LONG_MIB * MIB);
	assert_int_equal(read.done, read.total);
	assert_true(read.calls < 10);
	cuttle_model_free(&model);
	unlink(name);
}

static void refuse(const char *name, enum cuttle_status wanted, const char *part) {
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	const enum cuttle_status status = cuttle_model_open(name, NULL, &model, &error);
	if (status != wanted || !strstr(error.message, part) || strchr(error.message, '\n'))
		fail_msg("%s: status %d, '%s'", name, (int)status, error.message);
	assert_null(model);
}

static void test_no_model(void **state) {
	(void)state;
	char name[80];
	snprintf(name, sizeof name, "%s/other", folder);
	assert_int_equal(mkfifo(name, 0600), 0);
	refuse(name, CUTTLE_MODEL, "not a regular file");
	unlink(name);
	refuse("/dev/zero", CUTTLE_MODEL, "not a regular file");
	refuse(folder, CUTTLE_MODEL, "model convert");
	refuse("/nonexistent/model", CUTTLE_MODEL, "/nonexistent/model");
	// A file of 8 TiB that is none: told by its first bytes.
	files_put(name, "GGU", 3);
	refuse(name, CUTTLE_MODEL, "not a GGUF file");
	assert_int_equal(truncate(name, (off_t)1 << 43), 0);
	refuse(name, CUTTLE_MODEL, "not a GGUF file");
	// And one that says it is: told that it does not fit.
	files_put(name, "GGUF\3\0\0\0", 8);
	assert_int_equal(truncate(name, (off_t)1 << 43), 0);
	refuse(name, CUTTLE_NOMEM, "needs 8388609 MiB");
	unlink(name);
	int ends[2];
	struct cuttle_model *model;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(cuttle_model_open_fd(ends[0], NULL, &model, NULL), CUTTLE_MODEL);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(cuttle_model_open_memory(NULL, 0, NULL, &model, NULL), CUTTLE_MODEL);
	assert_int_equal(cuttle_model_open_memory("GG", 2, NULL, &model, NULL), CUTTLE_MODEL);
}

/* What a job would map is compared with what there is before it is mapped. */
static void test_memory(void **state) {
	(void)state;
	const size_t available = memory_available();
	printf("%zu MiB are available\n", available >> 20);
	assert_true(available > 1 << 20);
	assert_int_equal(memory_check(available / 2, "half", "", NULL), CUTTLE_OK);
	assert_int_equal(memory_check(SIZE_MAX - 1, "all", "", NULL),
	                 available == SIZE_MAX ? CUTTLE_OK : CUTTLE_NOMEM);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	const pid_t child = fork();
	if (!child) {
		const struct rlimit limit = {400 << 20, 400 << 20};
		struct cuttle_model *model;
		struct cuttle_plan_params params;
		struct cuttle_plan *plan;
		struct cuttle_error error = {""};
		if (cuttle_model_open(path, NULL, &model, NULL) || setrlimit(RLIMIT_AS, &limit))
			_exit(1);
		if (memory_available() >= 400 << 20) _exit(2);
		cuttle_plan_params_default(&params);
		params.clip = 1.0;
		params.accountant = CUTTLE_ZCDP;
		params.tokens = 8;
		params.batch = 4096;
		if (cuttle_plan_make(model, &params, &plan, &error) != CUTTLE_NOMEM || plan)
			_exit(3);
		if (!strstr(error.message, "4097 contexts of up to 512 tokens needs") ||
		    !strstr(error.message, "--ctx-size"))
			_exit(4);
		params.batch = 7;
		_exit(cuttle_plan_make(model, &params, &plan, &error) ? 5 : 0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
#endif
}

static void no_reference(void *user, size_t index, const char **text, size_t *text_size) {
	(void)user;
	(void)index;
	*text = NULL;
	*text_size = 0;
}

static int no_text(void *user, const struct cuttle_text *text) {
	(void)user;
	(void)text;
	return 1;
}

static void test_sizes_of_structs(void **state) {
	(void)state;
	struct {
		struct cuttle_model_params params;
		char newer[8];
	} open;
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	cuttle_model_params_default(&open.params);
	// An older caller's struct ends before on_progress: what stands behind it is not read.
	open.params.struct_size = offsetof(struct cuttle_model_params, on_progress);
	memset((char *)&open.params + open.params.struct_size, 0xff,
	       sizeof open - open.params.struct_size);
	open.params.threads = 1;
	assert_int_equal(cuttle_model_open(path, &open.params, &model, &error), CUTTLE_OK);
	cuttle_model_free(&model);
	open.params.struct_size = sizeof open.params + 8;
	assert_int_equal(cuttle_model_open(path, &open.params, &model, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "older than the header"));
	open.params.struct_size = 0;
	assert_int_equal(cuttle_model_open(path, &open.params, &model, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "struct_size is not set"));

	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	cuttle_plan_params_default(&params);
	params.clip = 1.0;
	params.tokens = 4;
	params.accountant = CUTTLE_ZCDP;
	params.struct_size = offsetof(struct cuttle_plan_params, parallel);
	params.parallel = 1000; // refused, if it were read
	assert_int_equal(cuttle_model_open(path, NULL, &model, &error), CUTTLE_OK);
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_OK);

	struct cuttle_job job;
	cuttle_job_default(&job);
	job.reference = no_reference;
	job.text = no_text;
	job.struct_size = offsetof(struct cuttle_job, trace);
	assert_int_equal(cuttle_job_run(plan, &job, &error), CUTTLE_OK);
	job.struct_size = sizeof job + 1;
	assert_int_equal(cuttle_job_run(plan, &job, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "struct cuttle_job"));
	cuttle_plan_free(&plan);

	struct cuttle_bench_result result;
	const struct cuttle_bench_params bench = {sizeof bench + 1, 1, 1, 8, 2, 0, 0};
	assert_int_equal(cuttle_bench(model, &bench, &result, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "struct cuttle_bench_params"));
	params.struct_size = sizeof params + 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, &error), CUTTLE_USAGE);
	assert_null(plan);
	cuttle_model_free(&model);
}

static jmp_buf misused;
static char misuse[128];
static void leave(const char *what) {
	snprintf(misuse, sizeof misuse, "%s", what);
	longjmp(misused, 1);
}

static void test_missing_strings_abort(void **state) {
	(void)state;
	static struct cuttle_model *model;
	static const char *const none[] = {"a", NULL};
	assert_int_equal(cuttle_model_open(path, NULL, &model, NULL), CUTTLE_OK);
	for (volatile int way = 0; way < 4; way++) {
		struct cuttle_plan_params params;
		struct cuttle_plan *plan;
		cuttle_plan_params_default(&params);
		params.clip = 1.0;
		if (way < 2) params.example_count = way + 1, params.examples = way ? none : NULL;
		else
			params.heading_count = (size_t)way - 1,
			params.headings = way > 2 ? none : NULL;
		cuttle_misuse_hook(leave);
		if (!setjmp(misused)) {
			const enum cuttle_status status =
			    cuttle_plan_make(model, &params, &plan, NULL);
			cuttle_misuse_hook(NULL);
			fail_msg("way %d: status %d", way, (int)status);
		}
		cuttle_misuse_hook(NULL);
		assert_non_null(strstr(misuse, "strings"));
	}
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_three_ways_are_one),
	    cmocka_unit_test(test_progress),
	    cmocka_unit_test(test_kv_type),
	    cmocka_unit_test(test_vocabulary_only),
	    cmocka_unit_test(test_vocabulary_of_a_long_file),
	    cmocka_unit_test(test_no_model),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_sizes_of_structs),
	    cmocka_unit_test(test_missing_strings_abort),
	};
	(void)alarm(120); // what waits for ever ends here
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
