// SPDX-License-Identifier: Apache-2.0
// io/output: a run is stopped after every step and continued, and always ends in the same bytes; what is not ours is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output.h"
#include "tests/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXTS = 3, STEPS = 4 };
static char folder[] = "/tmp/cuttle-output-XXXXXX";
static char out[128], receipt_path[128], journal[128], part[128];
static char ours[HASH_TEXT], other[HASH_TEXT];

static void clean(void) {
	(void)unlink(out);
	(void)unlink(receipt_path);
	(void)unlink(journal);
	(void)unlink(part);
}

static bool exists(const char *path) {
	return access(path, F_OK) == 0;
}

static size_t read_file(const char *path, char *bytes, size_t room) {
	const size_t size = files_get(path, bytes, room - 1);
	bytes[size] = 0;
	return size;
}

static void write_file(const char *path, const char *text) {
	files_put(path, text, strlen(text));
}

static struct output_request request_of(const char *fingerprint) {
	return (struct output_request){
	    .path = out, .fingerprint = fingerprint, .format = OUTPUT_JSONL, .texts = TEXTS, .private_output = true};
}

enum outcome { STOPPED, DONE, COMPLETE };

/* One process's life: the tokens of text t are 100 t + step; draws at most `draws` tokens that the journal lacks, then drops everything. */
static enum outcome live(const struct output_request *request, size_t draws, bool publish) {
	struct output *output;
	struct cuttle_error error;
	bool complete;
	char sha256[HASH_TEXT], receipt[512], text[64];
	assert_int_equal(output_open(request, &output, &complete, &error), CUTTLE_OK);
	if (complete) {
		assert_null(output);
		return COMPLETE;
	}
	for (size_t t = 0; t < TEXTS; t++) {
		const int32_t *tokens;
		size_t had = output_drawn(output, t, &tokens);
		for (size_t step = 0; step < had; step++) assert_int_equal(tokens[step], 100 * t + step);
		for (uint32_t step = (uint32_t)had; step < STEPS; step++) {
			if (!draws--) {
				output_close(&output);
				return STOPPED;
			}
			assert_int_equal(output_token(output, t, step, (int32_t)(100 * t + step)), 0);
		}
		int size = snprintf(text, sizeof text, "text \"%zu\",\n", t);
		struct cuttle_text line = {.index = t, .batch = t, .text = text, .size = (size_t)size, .tokens = STEPS};
		line.finish = t ? CUTTLE_FINISH_EOS : CUTTLE_FINISH_LENGTH;
		assert_int_equal(output_text(output, &line), 0);
	}
	assert_int_equal(output_seal(output, sha256, &error), CUTTLE_OK);
	(void)snprintf(receipt, sizeof receipt, "{\"command_sha256\":\"%s\",\"output_sha256\":\"%s\"}\n", request->fingerprint, sha256);
	if (publish) assert_int_equal(output_publish(output, receipt, strlen(receipt), &error), CUTTLE_OK);
	output_close(&output);
	return DONE;
}

static const char WANTED[] = "{\"index\":0,\"text\":\"text \\\"0\\\",\\n\",\"tokens\":4,\"finish\":\"length\"}\n"
                             "{\"index\":1,\"text\":\"text \\\"1\\\",\\n\",\"tokens\":4,\"finish\":\"eos\"}\n"
                             "{\"index\":2,\"text\":\"text \\\"2\\\",\\n\",\"tokens\":4,\"finish\":\"eos\"}\n";

static void expect_done(void) {
	char bytes[1024];
	(void)read_file(out, bytes, sizeof bytes);
	assert_string_equal(bytes, WANTED);
	assert_true(exists(receipt_path) && !exists(journal) && !exists(part));
}

static void stopped_anywhere_and_continued(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	for (size_t first = 0; first <= TEXTS * STEPS; first++)
		for (size_t second = 0; first + second <= TEXTS * STEPS; second++) {
			clean();
			(void)live(&request, first, false);
			assert_false(exists(out) || exists(receipt_path));
			assert_true(exists(journal) == (first > 0));
			(void)live(&request, second, false);
			assert_int_equal(live(&request, TEXTS * STEPS - first - second, true), DONE);
			expect_done();
			assert_int_equal(live(&request, 0, true), COMPLETE);
			expect_done();
		}
}

/* The disk as a kill between the last steps leaves it. */
static void stopped_between_the_renames(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	char receipt[512], tokens[2048];
	clean();
	assert_int_equal(live(&request, TEXTS * STEPS, false), DONE);
	(void)read_file(journal, tokens, sizeof tokens);
	assert_int_equal(live(&request, 0, true), DONE);
	(void)read_file(receipt_path, receipt, sizeof receipt);
	// Receipt in place, output not yet.
	assert_int_equal(rename(out, part), 0);
	write_file(journal, tokens);
	assert_int_equal(live(&request, 0, true), DONE);
	expect_done();
	// Both in place, journal not yet removed.
	write_file(journal, tokens);
	assert_int_equal(live(&request, 0, true), COMPLETE);
	expect_done();
	// The same two with an old output under --overwrite.
	request.overwrite = true;
	write_file(out, "old\n");
	write_file(journal, tokens);
	assert_int_equal(live(&request, 0, true), DONE);
	expect_done();
}

static void expect_refused(const struct output_request *request, enum cuttle_status wanted) {
	struct output *output;
	struct cuttle_error error = {""};
	bool complete;
	assert_int_equal(output_open(request, &output, &complete, &error), wanted);
	assert_null(output);
	assert_non_null(strstr(error.message, "--overwrite"));
	assert_null(strchr(error.message, '\n'));
}

static void what_is_not_ours_is_refused(void **state) {
	(void)state;
	struct output_request mine = request_of(ours), theirs = request_of(other);
	char bytes[1024];
	clean();
	write_file(out, "a stranger's file\n");
	expect_refused(&mine, CUTTLE_USAGE);
	assert_false(exists(journal));
	clean();
	assert_int_equal(live(&mine, TEXTS * STEPS, true), DONE);
	expect_refused(&theirs, CUTTLE_USAGE);
	expect_done();
	// The output is gone, or was changed: drawing anew would spend again.
	assert_int_equal(unlink(out), 0);
	expect_refused(&mine, CUTTLE_USAGE);
	expect_refused(&theirs, CUTTLE_USAGE);
	write_file(out, "changed\n");
	expect_refused(&mine, CUTTLE_USAGE);
	clean();
	assert_int_equal(live(&mine, 5, true), STOPPED);
	expect_refused(&theirs, CUTTLE_USAGE);
	size_t size = read_file(journal, bytes, sizeof bytes);
	bytes[size - 40] ^= 1;
	write_file(journal, bytes);
	expect_refused(&mine, CUTTLE_INPUT);
}

static void overwrite_replaces(void **state) {
	(void)state;
	struct output_request mine = request_of(ours), theirs = request_of(other);
	clean();
	assert_int_equal(live(&theirs, 5, true), STOPPED);
	write_file(out, "old\n");
	write_file(receipt_path, "{}\n");
	mine.overwrite = true;
	assert_int_equal(live(&mine, 5, true), STOPPED);
	char bytes[64];
	(void)read_file(out, bytes, sizeof bytes);
	assert_string_equal(bytes, "old\n");
	// The same command continues; it does not begin anew.
	assert_int_equal(live(&mine, TEXTS * STEPS - 5, true), DONE);
	expect_done();
	assert_int_equal(live(&mine, 0, true), COMPLETE);
}

static void csv_and_stamp(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	char bytes[1024];
	clean();
	request.format = OUTPUT_CSV;
	request.private_output = false;
	assert_int_equal(live(&request, TEXTS * STEPS, true), DONE);
	(void)read_file(out, bytes, sizeof bytes);
	assert_string_equal(bytes, "index,text,tokens,finish,private,note\r\n"
	                           "0,\"text \"\"0\"\",\n\",4,length,false,NOT PRIVATE\r\n"
	                           "1,\"text \"\"1\"\",\n\",4,eos,false,NOT PRIVATE\r\n"
	                           "2,\"text \"\"2\"\",\n\",4,eos,false,NOT PRIVATE\r\n");
	clean();
	request.format = OUTPUT_JSONL;
	assert_int_equal(live(&request, TEXTS * STEPS, true), DONE);
	(void)read_file(out, bytes, sizeof bytes);
	assert_non_null(strstr(bytes, ",\"private\":false,\"note\":\"NOT PRIVATE\"}\n"));
}

/* With a token bank a batch may have several texts; the end is where the batches are. */
static void batches_and_free_tokens(void **state) {
	(void)state;
	static const char *const wanted[2] = {
	    "{\"index\":0,\"text\":\"a\",\"tokens\":4,\"finish\":\"eos\",\"batch\":0,\"free\":1}\n"
	    "{\"index\":1,\"text\":\"a\",\"tokens\":4,\"finish\":\"eos\",\"batch\":0,\"free\":1}\n"
	    "{\"index\":2,\"text\":\"a\",\"tokens\":4,\"finish\":\"eos\",\"batch\":1,\"free\":1}\n"
	    "{\"index\":3,\"text\":\"a\",\"tokens\":4,\"finish\":\"eos\",\"batch\":2,\"free\":1}\n",
	    "index,text,tokens,finish,batch,free,private,note\r\n0,\"a\",4,eos,0,1,false,NOT PRIVATE\r\n"
	    "1,\"a\",4,eos,0,1,false,NOT PRIVATE\r\n2,\"a\",4,eos,1,1,false,NOT PRIVATE\r\n3,\"a\",4,eos,2,1,false,NOT PRIVATE\r\n"};
	static const size_t batches[] = {0, 0, 1, 2};
	for (int csv = 0; csv < 2; csv++) {
		struct output_request request = request_of(ours);
		struct output *output;
		struct cuttle_error error;
		bool complete;
		char sha256[HASH_TEXT], bytes[1024];
		clean();
		request.batches = true;
		request.format = csv ? OUTPUT_CSV : OUTPUT_JSONL;
		request.private_output = !csv;
		assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
		for (size_t i = 0; i < 4; i++) {
			const struct cuttle_text line = {i, batches[i], "a", 1, 4, 1, CUTTLE_FINISH_EOS};
			assert_int_equal(output_text(output, &line), 0);
		}
		assert_int_equal(output_seal(output, sha256, &error), CUTTLE_OK);
		assert_int_equal(output_publish(output, "{}\n", 3, &error), CUTTLE_OK);
		output_close(&output);
		(void)read_file(out, bytes, sizeof bytes);
		assert_string_equal(bytes, wanted[csv]);
	}
}

static void places_that_cannot_be_written(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	struct output *output;
	struct cuttle_error error;
	bool complete;
	request.path = "/nonexistent/out.jsonl";
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	request.path = "/dev/null";
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	request.path = folder;
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	assert_null(output);
	// A receipt that cannot be put in place is known before anything is drawn.
	clean();
	request.path = out;
	request.receipt_path = folder;
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	request.receipt_path = "/nonexistent/receipt.json";
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	assert_null(output);
	assert_false(exists(out) || exists(journal) || exists(part));
}

static int make_folder(void **state) {
	(void)state;
	hash_of("ours", 4, ours);
	hash_of("other", 5, other);
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(receipt_path, sizeof receipt_path, "%s/out.receipt.json", folder);
	(void)snprintf(journal, sizeof journal, "%s/out.jsonl.journal", folder);
	(void)snprintf(part, sizeof part, "%s/out.jsonl.part", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	clean();
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stopped_anywhere_and_continued),
	    cmocka_unit_test(stopped_between_the_renames),
	    cmocka_unit_test(what_is_not_ours_is_refused),
	    cmocka_unit_test(overwrite_replaces),
	    cmocka_unit_test(csv_and_stamp),
	    cmocka_unit_test(batches_and_free_tokens),
	    cmocka_unit_test(places_that_cannot_be_written),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
