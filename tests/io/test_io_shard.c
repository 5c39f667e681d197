// SPDX-License-Identifier: Apache-2.0
// Tests io/output/shard.h and io/shards/shard_texts.h. It fails if --shard auto guesses: if it
// takes one of two launchers, a count of one, or an index of a part of an array. It fails if a
// shard is taken twice, if a file that is none is waited for, or if a file of references that was
// changed, is another shard's, or that others may read, is read. What a link leads to is never
// overwritten.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/shards/shard_texts.h"
#include "tests/support/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cuttle_error error;

static const char *const VARIABLES[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_STEP",
                                        "SLURM_ARRAY_TASK_COUNT",
                                        "JOB_COMPLETION_INDEX",
                                        "PMIX_RANK"};

/* What a launcher sets, "NAME=VALUE NAME=VALUE", and what follows: index and count, or neither. */
struct launched {
	const char *set;
	uint64_t shards;  /* CUTTLE_SHARDS; 0 = not set */
	int index, count; /* -1: refused */
};

static const struct launched LAUNCHED[] = {
    {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8", 0, 3, 8},
    {"PMI_RANK=0 PMI_SIZE=2", 0, 0, 2},
    {"SLURM_PROCID=5 SLURM_NTASKS=6", 0, 5, 6},
    {"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 "
     "SLURM_ARRAY_TASK_COUNT=8",
     0, 7, 8},
    {"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=4 "
     "SLURM_ARRAY_TASK_COUNT=3",
     0, 2, 3},
    {"JOB_COMPLETION_INDEX=4", 5, 4, 5},
    // The inner launcher wins: mpirun within a step, a step within an allocation.
    {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 SLURM_PROCID=0 SLURM_NTASKS=2", 0, 1, 4},
    {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMI_RANK=1 PMI_SIZE=2", 0, 1, 2},
    {"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 "
     "SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2",
     0, 1, 2},
    // An array of steps, or of pods with ranks: which of both is meant?
    {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 "
     "SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2",
     0, -1, -1},
    {"PMI_RANK=0 PMI_SIZE=2 JOB_COMPLETION_INDEX=1", 2, -1, -1},
    // Nobody says anything, or that there is one process.
    {"", 0, -1, -1},
    {"", 8, -1, -1},
    {"SLURM_PROCID=0 SLURM_NTASKS=1", 0, -1, -1},
    {"PMIX_RANK=1", 0, -1, -1},
    {"JOB_COMPLETION_INDEX=0", 1, -1, -1},
    // Kubernetes does not say how many there are.
    {"JOB_COMPLETION_INDEX=4", 0, -1, -1},
    // Another number than that of the run.
    {"PMI_RANK=0 PMI_SIZE=2", 3, -1, -1},
    // A part of an array, which was submitted again: 3 and 7 of eight.
    {"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=1 "
     "SLURM_ARRAY_TASK_COUNT=2",
     0, -1, -1},
    // What is no number, or not below the count.
    {"PMI_RANK=2 PMI_SIZE=2", 0, -1, -1},
    {"PMI_RANK=-1 PMI_SIZE=2", 0, -1, -1},
    {"PMI_RANK= PMI_SIZE=2", 0, -1, -1},
    {"PMI_RANK=1x PMI_SIZE=2", 0, -1, -1},
    {"PMI_RANK=1 PMI_SIZE=99999999999999999999", 0, -1, -1},
    {"PMI_RANK=1 PMI_SIZE=9000", 0, -1, -1},
    {"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=2 "
     "SLURM_ARRAY_TASK_COUNT=8",
     0, -1, -1},
    {"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=0 "
     "SLURM_ARRAY_TASK_COUNT=8",
     0, -1, -1},
};

static void set_environment(const char *set) {
	char copy[512], *rest = copy;
	for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) unsetenv(VARIABLES[i]);
	(void)snprintf(copy, sizeof copy, "%s", set);
	for (char *one; (one = strtok_r(rest, " ", &rest));) {
		char *value = strchr(one, '=');
		*value++ = 0;
		assert_int_equal(setenv(one, value, 1), 0);
	}
}

static void test_auto(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof LAUNCHED / sizeof *LAUNCHED; i++) {
		const struct launched *launched = &LAUNCHED[i];
		struct shard_number number;
		set_environment(launched->set);
		const enum cuttle_status status =
		    shard_read("auto", launched->shards, &number, &error);
		if (status != (launched->index < 0 ? CUTTLE_USAGE : CUTTLE_OK))
			fail_msg("%s: %d", launched->set, (int)status);
		if (status) continue;
		assert_int_equal(number.index, launched->index);
		assert_int_equal(number.count, launched->count);
	}
	set_environment("");
}

static void test_number(void **state) {
	(void)state;
	static const char *const wrong[] = {
	    "",     "3",    "3/",     "/3",    "3/3", "4/3",  "-1/3", "a/3",  "1/b",  "1/3x",
	    " 1/3", "1/ 3", "0/9000", "auto ", "0/0", "+0/2", "1/-2", "Auto", "1//3", "1/3/5"};
	struct shard_number number;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(shard_read(wrong[i], 0, &number, &error), CUTTLE_USAGE);
	assert_int_equal(shard_read("0/1", 0, &number, &error), CUTTLE_OK);
	assert_int_equal(shard_read("00002/00007", 7, &number, &error), CUTTLE_OK);
	assert_int_equal(number.index, 2);
	assert_int_equal(number.count, 7);
	assert_int_equal(shard_read("2/7", 8, &number, &error), CUTTLE_USAGE);
}

static void test_taken(void **state) {
	(void)state;
	char folder[] = "/tmp/cuttle-shard-XXXXXX", path[64];
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/a.taken", folder);
	assert_int_equal(shard_look(path, "we"), SHARD_NOBODY);
	assert_int_equal(shard_take(path, "we"), 0);
	assert_int_equal(shard_look(path, "we"), SHARD_BEGUN);
	assert_int_equal(shard_look(path, "they"), SHARD_ANOTHER);
	assert_int_equal(shard_begin(path, "we"), 0);
	assert_int_equal(shard_look(path, "we"), SHARD_OURS);
	assert_int_equal(shard_look(path, "we "), SHARD_ANOTHER);
	assert_int_equal(shard_look(path, "they"), SHARD_ANOTHER);
	assert_int_not_equal(shard_take(path, "they"), 0);
	assert_int_not_equal(shard_take(path, "we"), 0);
	assert_int_equal(shard_look(path, "we"), SHARD_OURS);
	files_put(path, "cuttle-taken 1 we", 17);
	assert_int_equal(shard_look(path, "we"), SHARD_ANOTHER);
	files_put(path, "", 0);
	assert_int_equal(shard_look(path, "we"), SHARD_ANOTHER);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(shard_look(path, "we"), SHARD_ANOTHER);
	assert_int_not_equal(shard_take(path, "we"), 0);
	assert_int_equal(rmdir(path), 0);
	// A pipe that nobody writes to is no reason to wait.
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)alarm(20);
	assert_int_equal(shard_look(path, "we"), SHARD_ANOTHER);
	(void)alarm(0);
	assert_int_not_equal(shard_take(path, "we"), 0);
	assert_int_equal(unlink(path), 0);
	// No scratch file is left, so the folder is empty.
	assert_int_equal(rmdir(folder), 0);
}

static const char *const TEXTS[] = {"one", NULL, "", "a NUL and more"};
enum { PLACES = sizeof TEXTS / sizeof *TEXTS };

static const char *give_text(void *user, size_t place, size_t *size) {
	assert_ptr_equal(user, TEXTS);
	*size = TEXTS[place] ? strlen(TEXTS[place]) : 0;
	return TEXTS[place];
}

static void test_texts(void **state) {
	(void)state;
	char folder[] = "/tmp/cuttle-shard-XXXXXX", path[64], digest[HASH_TEXT], again[HASH_TEXT];
	struct shard_texts texts;
	struct stat file;
	assert_true(sodium_init() >= 0);
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/a.texts", folder);
	struct shard_texts_request request = {.path = path,
	                                      .run = "0123456789abcdef0123456789abcdef",
	                                      .number = {1, 4},
	                                      .places = PLACES,
	                                      .text = give_text,
	                                      .user = (void *)(uintptr_t)TEXTS};
	assert_int_equal(shard_texts_write(&request, digest, &error), CUTTLE_OK);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_int_equal(shard_texts_read(&request, 14, digest, &texts, &error), CUTTLE_OK);
	for (size_t i = 0; i < PLACES; i++) {
		size_t size;
		const char *text = shard_texts_text(&texts, i, &size);
		assert_int_equal(text == NULL, TEXTS[i] == NULL);
		assert_int_equal(size, TEXTS[i] ? strlen(TEXTS[i]) : 0);
		if (text) assert_memory_equal(text, TEXTS[i], size);
	}
	shard_texts_free(&texts);
	// What others may read is not drawn from, whoever they are.
	for (mode_t others = 01; others <= 040; others *= 2) {
		assert_int_equal(chmod(path, 0600 | others), 0);
		assert_int_equal(shard_texts_read(&request, 14, digest, &texts, &error),
		                 CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "chmod 600"));
		assert_int_equal(texts.bytes.used, 0);
		shard_texts_free(&texts);
	}
	assert_int_equal(chmod(path, 0600), 0);
	// Each file has a key of its own, so equal texts have another digest.
	assert_int_equal(shard_texts_write(&request, again, &error), CUTTLE_OK);
	assert_string_not_equal(digest, again);
	assert_int_equal(shard_texts_read(&request, 14, digest, &texts, &error), CUTTLE_LEDGER);
	shard_texts_free(&texts);
	// Another shard's, another run's, of other places.
	struct shard_texts_request other = request;
	other.number.index = 2;
	assert_int_equal(shard_texts_read(&other, 14, again, &texts, &error), CUTTLE_LEDGER);
	shard_texts_free(&texts);
	other = request, other.run = "1123456789abcdef0123456789abcdef";
	assert_int_equal(shard_texts_read(&other, 14, again, &texts, &error), CUTTLE_LEDGER);
	shard_texts_free(&texts);
	other = request, other.places = PLACES - 1;
	assert_int_equal(shard_texts_read(&other, 14, again, &texts, &error), CUTTLE_LEDGER);
	shard_texts_free(&texts);
	// Any byte that is changed, and any that is missing or more.
	char bytes[1024];
	const size_t size = files_get(path, bytes, sizeof bytes);
	assert_in_range(size, 1, sizeof bytes - 1);
	for (size_t at = 0; at <= size + 1; at++) {
		if (at < size) bytes[at] ^= 1;
		files_put(path, bytes, at < size ? size : at == size ? size - 1 : size + 1);
		if (at < size) bytes[at] ^= 1;
		assert_int_equal(shard_texts_read(&request, 14, again, &texts, &error),
		                 CUTTLE_LEDGER);
		shard_texts_free(&texts);
	}
	assert_int_equal(shard_texts_remove(path), 0);
	assert_int_equal(shard_texts_remove(path), 0);
	assert_int_equal(shard_texts_read(&request, 14, again, &texts, &error), CUTTLE_LEDGER);
	shard_texts_free(&texts);
	assert_int_equal(rmdir(folder), 0);
}

/* The blocks that a removed file leaves hold none of its texts. */
static void test_overwritten(void **state) {
	(void)state;
	char folder[] = "/tmp/cuttle-shard-XXXXXX", path[64], kept[64];
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/a.texts", folder);
	(void)snprintf(kept, sizeof kept, "%s/kept", folder);
	files_put(path, "a secret", 8);
	assert_int_equal(link(path, kept), 0);
	assert_int_equal(shard_texts_remove(path), 0);
	char bytes[16];
	const size_t size = files_get(kept, bytes, sizeof bytes);
	assert_int_equal(size, 8);
	for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], 0);
	// A link to a file of somebody's is not followed, nor by the sweep of a folder.
	char link_path[64];
	(void)snprintf(link_path, sizeof link_path, "%s/shard-00000-of-00002.texts", folder);
	files_put(kept, "somebody's", 10);
	assert_int_equal(symlink(kept, link_path), 0);
	assert_int_not_equal(shard_texts_remove(link_path), 0);
	assert_int_not_equal(shard_texts_sweep(folder), 0);
	assert_int_equal(files_get(kept, bytes, sizeof bytes), 10);
	assert_memory_equal(bytes, "somebody's", 10);
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_auto),        cmocka_unit_test(test_number),
	    cmocka_unit_test(test_taken),       cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_overwritten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
