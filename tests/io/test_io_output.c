// SPDX-License-Identifier: Apache-2.0
// Tests io/output/output.c. A run is stopped after every step and continued. It fails if the output
// does not end in the same bytes each time, or if a file of someone else is written over.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output/binding.h"
#include "io/records/lots.h"
#include "io/output/output.h"
#include "io/output/shard.h"
#include "tests/support/files.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 3, STEPS = 4 };
static char folder[] = "/tmp/cuttle-output-XXXXXX";
static char out[128], dropped_path[160], receipt_path[128], journal[128], key_path[128];
static char ours[HASH_TEXT], other[HASH_TEXT];
static char words[] = "what is read"; /* the input */

/* Empties the folder and returns how many files were there. */
static size_t clean(void) {
	size_t files = 0;
	char path[512];
	DIR *all = opendir(folder);
	assert_non_null(all);
	for (const struct dirent *file; (file = readdir(all));) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
		files += unlink(path) == 0;
	}
	(void)closedir(all);
	return files;
}

/* The name of the scratch file of the texts, or "". */
static const char *find_part(void) {
	static char path[512];
	DIR *all = opendir(folder);
	assert_non_null(all);
	path[0] = 0;
	for (const struct dirent *file; (file = readdir(all));)
		if (strstr(file->d_name, ".part"))
			(void)snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
	(void)closedir(all);
	return path;
}

static void digest_words(void *user, const unsigned char *key, char *digest) {
	struct binding_digest state;
	binding_digest_begin(&state, key);
	binding_digest_add(&state, user, strlen(user));
	binding_digest_end(&state, digest);
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
	return (struct output_request){.path = out,
	                               .fingerprint = fingerprint,
	                               .format = OUTPUT_JSONL,
	                               .texts = TEXTS,
	                               .private_output = true,
	                               .digest = digest_words,
	                               .user = words};
}

static bool equal_texts; /* all texts are that of number 0 */

/* Where `dies` is set, the process is killed right after it has emptied a file. */
static bool dies;
enum { KILLED = 77 };

int ftruncate(int file, off_t size) {
	const int code = (int)syscall(SYS_ftruncate, file, size);
	if (dies && !size) _exit(KILLED);
	return code;
}

enum outcome { STOPPED, DONE, COMPLETE };

/* One process's life: the tokens of text t are 100 t + step; draws at most `draws` tokens that the
 * journal lacks, then drops everything. */
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
		for (size_t step = 0; step < had; step++)
			assert_int_equal(tokens[step], 100 * t + step);
		for (uint32_t step = (uint32_t)had; step < STEPS; step++) {
			if (!draws--) {
				output_close(&output);
				return STOPPED;
			}
			assert_int_equal(output_token(output, t, step, (int32_t)(100 * t + step)),
			                 0);
		}
		int size = snprintf(text, sizeof text, "text \"%zu\",\n", equal_texts ? 0 : t);
		const int32_t first = (int32_t)(100 * t),
		              ids[STEPS] = {first, first + 1, first + 2, first + 3};
		struct cuttle_text line = {.index = t,
		                           .batch = t,
		                           .text = text,
		                           .size = (size_t)size,
		                           .ids = ids,
		                           .tokens = STEPS};
		line.finish = t ? CUTTLE_FINISH_EOS : CUTTLE_FINISH_LENGTH;
		assert_int_equal(output_text(output, &line), 0);
	}
	assert_int_equal(output_seal(output, sha256, &error), CUTTLE_OK);
	(void)snprintf(receipt, sizeof receipt,
	               "{\"command_sha256\":\"%s\",\"output_sha256\":\"%s\"}\n",
	               request->fingerprint, sha256);
	if (publish)
		assert_int_equal(output_publish(output, receipt, strlen(receipt), &error),
		                 CUTTLE_OK);
	output_close(&output);
	return DONE;
}

/* A life in a process of its own, which drops everything after so many tokens. */
static int live_and_die(const struct output_request *request, size_t draws, bool at_truncation) {
	int status;
	const pid_t child = fork();
	if (child == 0) {
		struct output *output;
		struct cuttle_error error;
		bool complete;
		dies = at_truncation;
		if (output_open(request, &output, &complete, &error)) _exit(1);
		for (uint32_t step = 0; step < draws; step++)
			if (output_token(output, 0, step, (int32_t)step)) _exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char WANTED[] =
    "{\"index\":0,\"text\":\"text \\\"0\\\",\\n\",\"tokens\":4,\"finish\":\"length\"}\n"
    "{\"index\":1,\"text\":\"text \\\"1\\\",\\n\",\"tokens\":4,\"finish\":\"eos\"}\n"
    "{\"index\":2,\"text\":\"text \\\"2\\\",\\n\",\"tokens\":4,\"finish\":\"eos\"}\n";

static void expect_done(void) {
	char bytes[1024];
	(void)read_file(out, bytes, sizeof bytes);
	assert_string_equal(bytes, WANTED);
	assert_true(exists(receipt_path) && !exists(journal) && !exists(key_path) && !*find_part());
}

static void stopped_anywhere_and_continued(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	for (size_t first = 0; first <= TEXTS * STEPS; first++)
		for (size_t second = 0; first + second <= TEXTS * STEPS; second++) {
			clean();
			(void)live(&request, first, false);
			assert_false(exists(out) || exists(receipt_path));
			assert_true(exists(journal) == (first > 0) &&
			            exists(key_path) == (first > 0));
			(void)live(&request, second, false);
			assert_int_equal(live(&request, TEXTS * STEPS - first - second, true),
			                 DONE);
			expect_done();
			assert_int_equal(live(&request, 0, true), COMPLETE);
			expect_done();
		}
}

/* The disk as a kill between the last steps leaves it. */
static void stopped_between_the_renames(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	char receipt[512], tokens[2048], key[128], part[512], receipt_part[1024];
	clean();
	assert_int_equal(live(&request, TEXTS * STEPS, false), DONE);
	(void)read_file(journal, tokens, sizeof tokens);
	(void)read_file(key_path, key, sizeof key);
	(void)snprintf(part, sizeof part, "%s", find_part());
	assert_true(strlen(part) > 16);
	// What a kill left of the receipt, when it was tried and when it was written.
	(void)snprintf(receipt_part, sizeof receipt_part, "%s%s", receipt_path,
	               strstr(part, ".part-"));
	write_file(receipt_part, "{");
	assert_int_equal(live(&request, 0, true), DONE);
	expect_done();
	(void)read_file(receipt_path, receipt, sizeof receipt);
	// Receipt in place, output not yet.
	assert_int_equal(rename(out, part), 0);
	write_file(journal, tokens);
	write_file(key_path, key);
	assert_int_equal(live(&request, 0, true), DONE);
	expect_done();
	// Both in place, journal not yet removed.
	write_file(receipt_part, "{");
	write_file(journal, tokens);
	write_file(key_path, key);
	assert_int_equal(live(&request, 0, true), COMPLETE);
	expect_done();
	// The same two with an old output under --overwrite.
	request.overwrite = true;
	write_file(out, "old\n");
	write_file(journal, tokens);
	write_file(key_path, key);
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

static const char
    KEPT[] = "{\"index\":0,\"text\":\"text \\\"0\\\",\\n\",\"tokens\":4,\"finish\":\"length\"}\n",
    DROPPED[] = "{\"index\":1,\"text\":\"text \\\"0\\\",\\n\",\"tokens\":4,\"finish\":\"eos\","
                "\"dropped\":\"duplicates\"}\n"
                "{\"index\":2,\"text\":\"text \\\"0\\\",\\n\",\"tokens\":4,\"finish\":\"eos\","
                "\"dropped\":\"duplicates\"}\n";

static void expect_dropped(void) {
	char bytes[1024];
	(void)read_file(out, bytes, sizeof bytes);
	assert_string_equal(bytes, KEPT);
	(void)read_file(dropped_path, bytes, sizeof bytes);
	assert_string_equal(bytes, DROPPED);
	assert_true(exists(receipt_path) && !exists(journal) && !exists(key_path) && !*find_part());
}

/* Equal texts: the first is kept, the others stand in a file of their own, whenever the run is
 * stopped, and nobody else's file is replaced by it. */
static void dropped_texts_have_their_file(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	char tokens[2048], key[128];
	request.filters.drop[FILTER_DUPLICATES] = true;
	equal_texts = true;
	for (size_t first = 0; first <= TEXTS * STEPS; first++) {
		clean();
		(void)live(&request, first, false);
		assert_false(exists(out) || exists(dropped_path));
		assert_int_equal(live(&request, TEXTS * STEPS - first, true), DONE);
		expect_dropped();
		assert_int_equal(live(&request, 0, true), COMPLETE);
		expect_dropped();
	}
	// Killed when receipt and dropped texts were in place, and the output was not.
	clean();
	assert_int_equal(live(&request, TEXTS * STEPS, false), DONE);
	(void)read_file(journal, tokens, sizeof tokens);
	(void)read_file(key_path, key, sizeof key);
	assert_int_equal(live(&request, 0, true), DONE);
	assert_int_equal(unlink(out), 0);
	write_file(journal, tokens);
	write_file(key_path, key);
	assert_int_equal(live(&request, 0, true), DONE);
	expect_dropped();
	// A stranger's file in its place: before the first token, and when a run is continued.
	for (size_t drawn = 0; drawn <= 5; drawn += 5) {
		clean();
		request.overwrite = false;
		if (drawn) assert_int_equal(live(&request, drawn, true), STOPPED);
		write_file(dropped_path, "a stranger's file\n");
		expect_refused(&request, CUTTLE_USAGE);
		request.overwrite = true;
		assert_int_equal(live(&request, TEXTS * STEPS - drawn, true), DONE);
		expect_dropped();
	}
	equal_texts = false;
}

/* Only a text that was cut short is trimmed, and its tokens stay in the journal. */
static void cut_texts_end_with_a_sentence(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	struct output *output;
	bool complete;
	char bytes[1024];
	static const int32_t ids[2] = {1, 2};
	clean();
	request.filters.trim = true;
	assert_int_equal(output_open(&request, &output, &complete, NULL), CUTTLE_OK);
	for (size_t t = 0; t < TEXTS; t++) {
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(output_token(output, t, i, ids[i]), 0);
		const struct cuttle_text text = {.index = t,
		                                 .batch = t,
		                                 .text = "One. Two. Thr",
		                                 .size = 13,
		                                 .ids = ids,
		                                 .tokens = 2,
		                                 .finish = (enum cuttle_finish)t};
		assert_int_equal(output_text(output, &text), 0);
	}
	assert_int_equal(output_counts(output)->drawn, TEXTS);
	output_close(&output);
	(void)read_file(find_part(), bytes, sizeof bytes);
	assert_string_equal(
	    bytes, "{\"index\":0,\"text\":\"One. Two. Thr\",\"tokens\":2,\"finish\":\"eos\"}\n"
	           "{\"index\":1,\"text\":\"One. Two. Thr\",\"tokens\":2,\"finish\":\"stop\"}\n"
	           "{\"index\":2,\"text\":\"One. Two.\",\"tokens\":2,\"finish\":\"length\"}\n");
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
	    "index,text,tokens,finish,batch,free,private,note\r\n0,\"a\",4,eos,0,1,false,NOT "
	    "PRIVATE\r\n"
	    "1,\"a\",4,eos,0,1,false,NOT PRIVATE\r\n2,\"a\",4,eos,1,1,false,NOT "
	    "PRIVATE\r\n3,\"a\",4,eos,2,1,false,NOT PRIVATE\r\n"};
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
			const struct cuttle_text line = {i,    batches[i], "a", 1,
			                                 NULL, 4,          1,   CUTTLE_FINISH_EOS};
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
	assert_false(exists(out) || exists(journal) || exists(key_path) || *find_part());
}

/* What was begun on one input goes on with it, and with no other one, before and after the first
 * token. */
static void another_input_is_refused(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	struct cuttle_error error = {""};
	struct output *output;
	struct stat about;
	bool complete;
	char first[2048], second[2048];
	for (size_t drawn = 0; drawn <= TEXTS * STEPS; drawn++) {
		clean();
		(void)live(&request, drawn, false);
		const size_t size = read_file(journal, first, sizeof first);
		assert_true(drawn ? !stat(key_path, &about) && (about.st_mode & 0777) == 0600
		                  : !exists(key_path));
		words[0] = 'W';
		if (drawn) {
			expect_refused(&request, CUTTLE_USAGE);
			assert_int_equal(output_open(&request, &output, &complete, &error),
			                 CUTTLE_USAGE);
			assert_non_null(strstr(
			    error.message, "the input is not the one this output was begun with"));
			assert_true(size == read_file(journal, second, sizeof second) &&
			            !memcmp(first, second, size));
		}
		words[0] = 'w';
		assert_int_equal(live(&request, TEXTS * STEPS, true), DONE);
		expect_done();
		// What is complete is complete, whatever became of the input.
		words[0] = 'W';
		assert_int_equal(live(&request, 0, true), COMPLETE);
		words[0] = 'w';
	}
	// --overwrite begins anew on the new input.
	clean();
	(void)live(&request, 5, false);
	words[0] = 'W';
	request.overwrite = true;
	assert_int_equal(live(&request, 3, false), STOPPED);
	request.overwrite = false;
	assert_int_equal(live(&request, TEXTS * STEPS - 3, true), DONE);
	expect_done();
	words[0] = 'w';
}

/* Without its key a journal cannot be told to be of this input; and the digest means nothing
 * without the key. */
static void the_key(void **state) {
	(void)state;
	const struct output_request request = request_of(ours);
	struct cuttle_error error = {""};
	struct output *output;
	bool complete;
	char first[2048], second[2048], key[128];
	clean();
	assert_int_equal(live(&request, 5, false), STOPPED);
	(void)read_file(journal, first, sizeof first);
	(void)read_file(key_path, key, sizeof key);
	assert_int_equal(unlink(key_path), 0);
	expect_refused(&request, CUTTLE_USAGE);
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
	assert_non_null(strstr(error.message, "is gone"));
	write_file(key_path, key);
	assert_int_equal(live(&request, TEXTS * STEPS - 5, true), DONE);
	// The same command and input once more: another key, another digest, other checks.
	clean();
	assert_int_equal(live(&request, 5, false), STOPPED);
	(void)read_file(journal, second, sizeof second);
	assert_memory_equal(first, second, strlen("cuttle-journal 2 ") + HASH_TEXT);
	assert_string_not_equal(first, second);
	assert_memory_not_equal(strchr(first, '\n') - 64, strchr(second, '\n') - 64, 64);
	// Half a key is what a kill leaves before anything was drawn.
	clean();
	for (size_t cut = 0; cut < strlen(key); cut++) {
		files_put(key_path, key, cut);
		assert_int_equal(live(&request, 1, false), STOPPED);
		assert_int_equal(read_file(key_path, second, sizeof second), strlen(key));
		(void)unlink(journal);
	}
}

/* Files of somebody else's that have a name we would write are left alone, also with --overwrite.
 */
static void strangers_in_the_way(void **state) {
	(void)state;
	struct output_request request = request_of(ours);
	static const char private_key[] =
	    "PRIVATE KEY, or whatever it is, but a long one, longer than "
	    "any of ours: ......................\n";
	const char *const names[] = {journal, key_path}, *const contents[] = {
	                                                     private_key,
	                                                     "cuttle-keys of the house\n",
	                                                     "cuttle-key in the drawer\n"};
	struct cuttle_error error;
	struct output *output;
	bool complete;
	char bytes[128];
	request.overwrite = true;
	for (size_t i = 0; i < 6; i++) {
		clean();
		write_file(names[i % 2], contents[i / 2]);
		assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_USAGE);
		assert_non_null(strstr(error.message, "in the way"));
		(void)read_file(names[i % 2], bytes, sizeof bytes);
		assert_string_equal(bytes, contents[i / 2]);
		assert_int_equal(clean(), 1);
	}
}

/* Pieces are kept apart, and so are keys. */
static void digests(void **state) {
	(void)state;
	static const struct {
		const char *pieces[3];
		size_t count;
	} lists[] = {{{"ab", "c"}, 2},   {{"a", "bc"}, 2}, {{"abc"}, 1},    {{"abc", ""}, 2},
	             {{"abc", NULL}, 2}, {{"", "abc"}, 2}, {{"c", "ab"}, 2}};
	enum { LISTS = sizeof lists / sizeof *lists };
	char seen[2 * LISTS][HASH_TEXT];
	unsigned char key[BINDING_KEY] = {0};
	for (size_t i = 0; i < 2 * LISTS; i++) {
		struct binding_digest digest;
		key[BINDING_KEY - 1] = i < LISTS ? 0 : 1;
		binding_digest_begin(&digest, key);
		for (size_t j = 0; j < lists[i % LISTS].count; j++) {
			const char *piece = lists[i % LISTS].pieces[j];
			binding_digest_add(&digest, piece, piece ? strlen(piece) : 0);
		}
		binding_digest_end(&digest, seen[i]);
		for (size_t j = 0; j < i; j++) assert_string_not_equal(seen[i], seen[j]);
	}
}

/* One life of a run with lots, which are new unless the run goes on. */
static enum outcome live_by_lots(size_t draws) {
	struct output_request request = request_of(ours);
	struct lots lots;
	assert_int_equal(lots_begin(&lots, NULL, NULL), CUTTLE_OK);
	lots.records = TEXTS;
	request.lots = &lots;
	const enum outcome outcome = live(&request, draws, draws > TEXTS * STEPS);
	lots_close(&lots);
	return outcome;
}

/* The key of lots stays no longer than tokens or texts need it. */
static void lots_that_nobody_needs_are_gone(void **state) {
	(void)state;
	char lots_path[160], kept_lots[256], kept_key[256];
	static char kept[4096];
	(void)snprintf(lots_path, sizeof lots_path, "%s.lots", out);
	clean();
	// Nothing was drawn with them.
	assert_int_equal(live_by_lots(0), STOPPED);
	assert_false(exists(lots_path));
	// A kill came after the output was in place, and before the lots were removed.
	assert_int_equal(live_by_lots(5), STOPPED);
	assert_true(exists(lots_path));
	const size_t size = files_get(journal, kept, sizeof kept),
	             key = files_get(key_path, kept_key, sizeof kept_key),
	             all = files_get(lots_path, kept_lots, sizeof kept_lots);
	assert_int_equal(live_by_lots(SIZE_MAX), DONE);
	assert_false(exists(lots_path));
	files_put(journal, kept, size);
	files_put(key_path, kept_key, key);
	files_put(lots_path, kept_lots, all);
	assert_int_equal(live_by_lots(SIZE_MAX), COMPLETE);
	assert_false(exists(lots_path) || exists(journal) || exists(key_path));
	expect_done();
}

static int make_folder(void **state) {
	(void)state;
	hash_of("ours", 4, ours);
	hash_of("other", 5, other);
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(dropped_path, sizeof dropped_path, "%s" OUTPUT_DROPPED, out);
	(void)snprintf(receipt_path, sizeof receipt_path, "%s/out.receipt.json", folder);
	(void)snprintf(journal, sizeof journal, "%s/out.jsonl.journal", folder);
	(void)snprintf(key_path, sizeof key_path, "%s/out.jsonl.journal.key", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	clean();
	return rmdir(folder);
}

/* A journal is begun by emptying it and writing its first line. That is done once: one that has its
 * first line is not begun anew, as a ledger may name it. */
static void a_kill_while_a_journal_is_begun(void **state) {
	(void)state;
	const struct output_request request = request_of(ours);
	char bytes[4096], before[4096];
	for (size_t had = 0; had <= STEPS; had++) {
		(void)clean();
		assert_int_equal(live_and_die(&request, 0, true), KILLED);
		assert_int_equal(live_and_die(&request, had, false), 0);
		const size_t size = read_file(journal, before, sizeof before);
		// It has its first line, and a line for each token.
		assert_int_equal(live_and_die(&request, 0, true), 0);
		assert_int_equal(read_file(journal, bytes, sizeof bytes), size);
		assert_memory_equal(bytes, before, size);
		assert_int_equal(live_and_die(&request, had, true), 0);
		assert_int_equal(live(&request, SIZE_MAX, true), DONE);
		assert_int_equal(read_file(out, bytes, sizeof bytes), sizeof WANTED - 1);
		assert_string_equal(bytes, WANTED);
	}
	(void)clean();
}

/* A process that was killed between the name of a shard's taker and its first token has shown
 * nothing: it goes on. Once a token may have been seen, a journal without one draws nothing. */
static void a_shard_that_was_taken_goes_on(void **state) {
	(void)state;
	char taken[160], owner[256], bytes[4096];
	struct output *output;
	struct cuttle_error error;
	bool complete;
	(void)clean();
	(void)snprintf(taken, sizeof taken, "%s.taken", out);
	struct output_request request = request_of(ours);
	request.taken = taken;
	request.stride = 1;
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
	(void)snprintf(owner, sizeof owner, "%s %s", ours, output_scratch(output));
	output_hold(output);
	assert_int_equal(shard_take(taken, owner), 0);
	output_close(&output);
	const size_t size = read_file(journal, bytes, sizeof bytes);
	for (uint32_t step = 0; step < 2; step++) {
		// Stopped without a token it still can.
		for (int again = 0; again < 2; again++) {
			assert_int_equal(output_open(&request, &output, &complete, &error),
			                 CUTTLE_OK);
			output_close(&output);
			assert_int_equal(shard_look(taken, owner), step ? SHARD_OURS : SHARD_BEGUN);
		}
		assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_OK);
		assert_int_equal(output_token(output, 0, step, 7), 0);
		assert_int_equal(shard_look(taken, owner), SHARD_OURS);
		output_close(&output);
	}
	files_put(journal, bytes, size);
	assert_int_equal(output_open(&request, &output, &complete, &error), CUTTLE_LEDGER);
	assert_non_null(strstr(error.message, "says that this shard was begun"));
	assert_true(exists(journal));
	(void)clean();
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_shard_that_was_taken_goes_on),
	    cmocka_unit_test(lots_that_nobody_needs_are_gone),
	    cmocka_unit_test(a_kill_while_a_journal_is_begun),
	    cmocka_unit_test(stopped_anywhere_and_continued),
	    cmocka_unit_test(stopped_between_the_renames),
	    cmocka_unit_test(dropped_texts_have_their_file),
	    cmocka_unit_test(cut_texts_end_with_a_sentence),
	    cmocka_unit_test(what_is_not_ours_is_refused),
	    cmocka_unit_test(overwrite_replaces),
	    cmocka_unit_test(csv_and_stamp),
	    cmocka_unit_test(batches_and_free_tokens),
	    cmocka_unit_test(places_that_cannot_be_written),
	    cmocka_unit_test(another_input_is_refused),
	    cmocka_unit_test(the_key),
	    cmocka_unit_test(strangers_in_the_way),
	    cmocka_unit_test(digests),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
