// SPDX-License-Identifier: Apache-2.0
// Tests io/output/journal.c. The file is torn at every byte, damaged in the middle, of another
// command, or held by another process. It fails if a token that was written does not come back, or
// if one comes back that was not written. It fails if a journal that is damaged, foreign or busy is
// not refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/output/journal.h"
#include "tests/support/files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/cuttle-journal-XXXXXX";
static char path[128];
static char ours[HASH_TEXT], other[HASH_TEXT];
static const struct journal_owner we = {ours, other, NULL, 0, 0},
                                  others = {other, other, NULL, 0, 0},
                                  our_other_input = {ours, ours, NULL, 0, 0};

static int answer; /* errno of the next question for room; 0 = the file system answers */

int __real_fallocate(int file, int mode, off_t from, off_t size);
int __wrap_fallocate(int file, int mode, off_t from, off_t size);

int __wrap_fallocate(int file, int mode, off_t from, off_t size) {
	if (!answer) return __real_fallocate(file, mode, from, size);
	errno = answer;
	answer = 0;
	return -1;
}

static struct journal *open_it(enum journal_state *state) {
	struct journal *journal;
	struct cuttle_error error;
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &we, 3, state, &error), CUTTLE_OK);
	return journal;
}

/* The owner before ends, and removes its journal, after this process has opened it and before it
 * has the lock. */
static bool ends_before_lock;

int flock(int file, int operation) {
	if (ends_before_lock) (void)unlink(path);
	ends_before_lock = false;
	return (int)syscall(SYS_flock, file, operation);
}

/* Three texts of 2, 3 and 1 tokens. Returns the bytes. */
static size_t sample(char *bytes, size_t room) {
	static const int32_t tokens[3][3] = {{5, 49151}, {0, 7, 7}, {12}};
	static const uint32_t counts[] = {2, 3, 1};
	enum journal_state state;
	(void)unlink(path);
	struct journal *journal = open_it(&state);
	assert_int_equal(state, JOURNAL_NEW);
	assert_int_equal(journal_restart(journal, &we), 0);
	for (size_t text = 0; text < 3; text++)
		for (uint32_t step = 0; step < counts[text]; step++)
			assert_int_equal(journal_append(journal, text, step, tokens[text][step]),
			                 0);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(&journal);
	assert_null(journal);
	return files_get(path, bytes, room);
}

static size_t drawn(const struct journal *journal) {
	const int32_t *tokens;
	size_t count = 0;
	for (size_t text = 0; text < 4; text++) count += journal_drawn(journal, text, &tokens);
	return count;
}

static void tokens_come_back(void **state) {
	(void)state;
	char bytes[2048];
	enum journal_state found;
	const int32_t *tokens;
	(void)sample(bytes, sizeof bytes);
	struct journal *journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OURS);
	assert_int_equal(journal_drawn(journal, 0, &tokens), 2);
	assert_int_equal(tokens[1], 49151);
	assert_int_equal(journal_drawn(journal, 1, &tokens), 3);
	assert_int_equal(journal_drawn(journal, 2, &tokens), 1);
	assert_int_equal(tokens[0], 12);
	assert_int_equal(journal_drawn(journal, 3, &tokens), 0);
	assert_null(tokens);
	journal_close(&journal);
}

static void torn_at_every_byte(void **state) {
	(void)state;
	char bytes[2048];
	size_t size = sample(bytes, sizeof bytes),
	       header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	for (size_t cut = 0; cut <= size; cut++) {
		size_t lines = 0, good = header;
		for (size_t i = header; i < cut; i++) {
			if (bytes[i] != '\n') continue;
			lines++;
			good = i + 1;
		}
		enum journal_state found;
		files_put(path, bytes, cut);
		struct journal *journal = open_it(&found);
		assert_int_equal(found, lines           ? JOURNAL_OURS
		                        : cut >= header ? JOURNAL_BEGUN
		                                        : JOURNAL_NEW);
		assert_int_equal(drawn(journal), lines);
		if (lines) {
			// What follows the cut must be read again as if it had never been torn.
			struct stat now;
			assert_int_equal(stat(path, &now), 0);
			assert_int_equal(now.st_size, good);
			size_t text = lines < 2 ? 0 : lines < 5 ? 1 : 2;
			uint32_t step = (uint32_t)(lines < 2   ? lines
			                           : lines < 5 ? lines - 2
			                                       : lines - 5);
			assert_int_equal(journal_append(journal, text, step, 99), 0);
			journal_close(&journal);
			journal = open_it(&found);
			assert_int_equal(found, JOURNAL_OURS);
			assert_int_equal(drawn(journal), lines + 1);
		}
		journal_close(&journal);
	}
}

/* A journal of counts, and of one token behind them. Returns the bytes. */
static size_t sample_counts(const int64_t *counts, size_t count, char *bytes, size_t room) {
	enum journal_state state;
	(void)unlink(path);
	struct journal *journal = open_it(&state);
	assert_int_equal(journal_restart(journal, &we), 0);
	assert_true(journal_worthless(journal));
	assert_int_equal(journal_keep_counts(journal, counts, count), 0);
	assert_false(journal_worthless(journal));
	assert_int_equal(journal_append(journal, 0, 0, 5), 0);
	journal_close(&journal);
	return files_get(path, bytes, room);
}

/* Counts come back to the digit, or the journal has none: torn at any byte, or another byte in
 * them. Where a token stands behind counts that are not right, the journal is damaged. */
static void counts_come_back(void **state) {
	(void)state;
	static const int64_t few[] = {11, -7, 0, INT64_MIN, INT64_MAX};
	enum { MANY = 5000 };
	static char bytes[1 << 17];
	static int64_t all[MANY];
	const int64_t *back;
	enum journal_state found;
	const size_t size = sample_counts(few, 5, bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1,
	             end = (size_t)(strchr(bytes + header, '\n') - bytes) + 1;
	assert_memory_equal(bytes + header, "counts 11 -7 0 -9223372036854775808 ", 36);
	for (size_t cut = header; cut <= size; cut++) {
		files_put(path, bytes, cut);
		struct journal *journal = open_it(&found);
		assert_int_equal(found, cut < end ? JOURNAL_BEGUN : JOURNAL_OURS);
		assert_int_equal(journal_counts(journal, &back), cut < end ? 0 : 5);
		if (cut >= end) assert_memory_equal(back, few, sizeof few);
		assert_int_equal(drawn(journal), cut == size);
		// Without a whole line of counts new ones may be kept: nobody has seen the others.
		if (cut > header && cut < end)
			assert_int_equal(journal_keep_counts(journal, few + 1, 2), 0);
		journal_close(&journal);
		if (cut == header || cut >= end) continue;
		journal = open_it(&found);
		assert_int_equal(found, JOURNAL_OURS);
		assert_int_equal(journal_counts(journal, &back), 2);
		assert_int_equal(back[0], -7);
		journal_close(&journal);
	}
	for (size_t at = header; at + 1 < end; at++) {
		char wrong[512];
		memcpy(wrong, bytes, size);
		wrong[at] ^= 1;
		files_put(path, wrong, size);
		struct journal *journal = open_it(&found);
		assert_int_equal(found, JOURNAL_DAMAGED);
		journal_close(&journal);
	}
	for (size_t i = 0; i < MANY; i++) all[i] = INT64_MIN + (int64_t)i;
	(void)sample_counts(all, MANY, bytes, sizeof bytes);
	struct journal *journal = open_it(&found);
	assert_int_equal(journal_counts(journal, &back), MANY);
	assert_memory_equal(back, all, sizeof all);
	assert_int_equal(journal_restart(journal, &we), 0);
	assert_int_equal(journal_counts(journal, &back), 0);
	journal_close(&journal);
	// Counts alone keep the journal: the next run has the same.
	journal = open_it(&found);
	assert_int_equal(journal_restart(journal, &we), 0);
	assert_int_equal(journal_keep_counts(journal, few, 1), 0);
	journal_close(&journal);
	journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OURS);
	assert_int_equal(journal_counts(journal, &back), 1);
	journal_close(&journal);
	(void)unlink(path);
}

/* Counts are kept where a file system cannot say whether there is room, and where a signal comes
 * first. Without room nothing of them is written, and none are there later. */
static void room_for_counts(void **state) {
	(void)state;
	static const int64_t few[] = {11, -7};
	static const int answers[] = {EOPNOTSUPP, EINTR, ENOSPC};
	const int64_t *back;
	enum journal_state found;
	for (size_t i = 0; i < 3; i++) {
		const bool full = answers[i] == ENOSPC;
		struct journal *journal = open_it(&found);
		assert_int_equal(journal_restart(journal, &we), 0);
		answer = answers[i];
		assert_int_equal(journal_keep_counts(journal, few, 2), full ? ENOSPC : 0);
		assert_int_equal(journal_worthless(journal), full);
		journal_close(&journal);
		journal = open_it(&found);
		assert_int_equal(found, full ? JOURNAL_NEW : JOURNAL_OURS); // a worthless one goes
		assert_int_equal(journal_counts(journal, &back), full ? 0 : 2);
		journal_close(&journal);
		(void)unlink(path);
	}
}

/* A line of counts that has none, with its right check, is nobody's: its run would have no counts
 * and could keep none. */
static void counts_of_nothing(void **state) {
	(void)state;
	unsigned char key[crypto_shorthash_KEYBYTES], check[crypto_shorthash_BYTES];
	char bytes[2048], line[sizeof "counts " + 2 * sizeof check] = "counts ";
	enum journal_state found;
	const size_t size = sample(bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	(void)crypto_generichash(key, sizeof key, (const unsigned char *)bytes, header, NULL, 0);
	(void)crypto_shorthash(check, (const unsigned char *)line, strlen(line), key);
	(void)sodium_bin2hex(line + strlen(line), 2 * sizeof check + 1, check, sizeof check);
	line[sizeof line - 1] = '\n';
	memmove(bytes + header + sizeof line, bytes + header, size - header);
	memcpy(bytes + header, line, sizeof line);
	files_put(path, bytes, size + sizeof line);
	struct journal *journal = open_it(&found);
	assert_int_equal(found, JOURNAL_DAMAGED);
	journal_close(&journal);
	(void)unlink(path);
}

static void torn_end_of_zeros(void **state) {
	(void)state;
	char bytes[4096] = {0};
	size_t size = sample(bytes, 2048);
	enum journal_state found;
	memset(bytes + size, 0, 1000);
	files_put(path, bytes, size + 1000);
	struct journal *journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OURS);
	assert_int_equal(drawn(journal), 6);
	journal_close(&journal);
}

/* Lines longer than any that is written, and texts further ahead than any run has, are damage: no
 * room is there for them. */
static void lines_without_room(void **state) {
	(void)state;
	static char bytes[8192];
	struct cuttle_error error;
	enum journal_state found;
	size_t size = sample(bytes, 2048);
	memset(bytes + size, '0', 3000);
	bytes[size + 2999] = '\n';
	files_put(path, bytes, size + 3000);
	struct journal *journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OURS);
	assert_int_equal(drawn(journal), 6);
	journal_close(&journal);
	for (size_t text = 4097; text <= 4098; text++) {
		(void)unlink(path);
		journal = open_it(&found);
		assert_int_equal(journal_restart(journal, &we), 0);
		assert_int_equal(journal_append(journal, text, 0, 7), 0);
		journal_close(&journal);
		assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
		assert_int_equal(journal_load(journal, &we, 10000, &found, &error), CUTTLE_OK);
		assert_int_equal(found, text == 4097 ? JOURNAL_OURS : JOURNAL_DAMAGED);
		journal_close(&journal);
	}
}

/* What somebody wrote into a pipe is not taken out of it. */
static void a_pipe_is_not_read(void **state) {
	(void)state;
	char bytes[2048], now[2048];
	const size_t size = sample(bytes, sizeof bytes);
	assert_true(journal_stands(path, ours) && !journal_stands(path, other));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_int_equal(write(file, bytes, size), size);
	assert_false(journal_stands(path, ours));
	assert_int_equal(read(file, now, sizeof now), size);
	assert_memory_equal(now, bytes, size);
	assert_int_equal(close(file), 0);
	assert_int_equal(unlink(path), 0);
}

static void damage_in_the_middle(void **state) {
	(void)state;
	char bytes[2048];
	size_t size = sample(bytes, sizeof bytes),
	       header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	size_t last = size - 1;
	while (bytes[last - 1] != '\n') last--;
	for (size_t i = header; i < last - 1; i++) {
		enum journal_state found;
		char kept = bytes[i];
		bytes[i] ^= 1;
		files_put(path, bytes, size);
		struct journal *journal = open_it(&found);
		assert_int_equal(found, JOURNAL_DAMAGED);
		journal_close(&journal);
		bytes[i] = kept;
	}
	// A line that is right but stands twice, or out of order.
	enum journal_state found;
	memcpy(bytes + size, bytes + header, size - header);
	files_put(path, bytes, 2 * size - header);
	struct journal *journal = open_it(&found);
	assert_int_equal(found, JOURNAL_DAMAGED);
	journal_close(&journal);
}

static void other_commands(void **state) {
	(void)state;
	char bytes[2048];
	size_t size = sample(bytes, sizeof bytes),
	       header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	enum journal_state found;
	struct journal *journal;
	struct cuttle_error error;
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &others, 3, &found, &error), CUTTLE_OK);
	assert_int_equal(found, JOURNAL_OTHER);
	journal_close(&journal);
	assert_int_equal(access(path, F_OK), 0);
	static const char *const files[] = {"some file of somebody\n", "x", "\n",
	                                    "cuttle-journey 2 "};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		files_put(path, files[i], strlen(files[i]));
		journal = open_it(&found);
		assert_int_equal(found, JOURNAL_FOREIGN);
		journal_close(&journal);
		assert_int_equal(access(path, F_OK), 0);
	}
	// A journal in the format of an earlier version.
	files_put(path, "cuttle-journal 1 0\n", 19);
	journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OTHER);
	journal_close(&journal);
	// Nothing was drawn yet: nothing is lost, and it is tidied away.
	files_put(path, bytes, header);
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &others, 3, &found, &error), CUTTLE_OK);
	assert_int_equal(found, JOURNAL_NEW);
	journal_close(&journal);
	assert_int_not_equal(access(path, F_OK), 0);
	// More texts than the command has.
	files_put(path, bytes, size);
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &we, 2, &found, &error), CUTTLE_OK);
	assert_int_equal(found, JOURNAL_DAMAGED);
	journal_close(&journal);
}

/* The same command on another input: known from the first line on, whether or not a token stands
 * behind it. */
static void another_input(void **state) {
	(void)state;
	char bytes[2048];
	const size_t size = sample(bytes, sizeof bytes),
	             header = (size_t)(strchr(bytes, '\n') - bytes) + 1;
	for (size_t cut = header; cut <= size; cut++) {
		enum journal_state found;
		struct journal *journal;
		struct cuttle_error error;
		files_put(path, bytes, cut);
		assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
		assert_int_equal(journal_load(journal, &our_other_input, 3, &found, &error),
		                 CUTTLE_OK);
		assert_int_equal(found, JOURNAL_CHANGED);
		assert_int_equal(drawn(journal), 0);
		journal_close(&journal);
		char after[2048];
		assert_int_equal(files_get(path, after, sizeof after), cut);
		assert_memory_equal(after, bytes, cut);
	}
	// The checks of the lines are the owner's too: another first line does not make them one's
	// own.
	enum journal_state found;
	struct journal *journal;
	struct cuttle_error error;
	memcpy(bytes + header - HASH_TEXT, ours, HASH_TEXT - 1);
	files_put(path, bytes, size);
	assert_int_equal(journal_open(path, &journal, &error), CUTTLE_OK);
	assert_int_equal(journal_load(journal, &our_other_input, 3, &found, &error), CUTTLE_OK);
	assert_int_equal(found, JOURNAL_BEGUN);
	assert_int_equal(drawn(journal), 0);
	journal_close(&journal);
}

/* Texts in flight side by side: their lines interleave, each text's own steps stay in order. */
static void interleaved_texts(void **state) {
	(void)state;
	static const struct {
		size_t text;
		uint32_t step;
	} lines[] = {{0, 0}, {2, 0}, {1, 0}, {2, 1}, {0, 1}, {2, 2}, {1, 1}, {0, 2}};
	enum journal_state found;
	(void)unlink(path);
	struct journal *journal = open_it(&found);
	assert_int_equal(journal_restart(journal, &we), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(journal_append(journal, lines[i].text, lines[i].step,
		                                (int32_t)(10 * lines[i].text + lines[i].step)),
		                 0);
	journal_close(&journal);
	journal = open_it(&found);
	assert_int_equal(found, JOURNAL_OURS);
	for (size_t text = 0; text < 3; text++) {
		const int32_t *tokens;
		const size_t count = text == 1 ? 2 : 3;
		assert_int_equal(journal_drawn(journal, text, &tokens), count);
		for (size_t step = 0; step < count; step++)
			assert_int_equal(tokens[step], 10 * text + step);
	}
	// A step that is there twice is damage: which of the two was published?
	assert_int_equal(journal_append(journal, 1, 1, 99), 0);
	journal_close(&journal);
	journal = open_it(&found);
	assert_int_equal(found, JOURNAL_DAMAGED);
	journal_close(&journal);
}

static void one_process_alone(void **state) {
	(void)state;
	enum journal_state found;
	char bytes[2048];
	(void)sample(bytes, sizeof bytes);
	struct journal *journal = open_it(&found), *second;
	pid_t child = fork();
	if (child == 0) {
		struct cuttle_error error;
		_exit(journal_open(path, &second, &error) == CUTTLE_USAGE &&
		              strstr(error.message, "another process")
		          ? 0
		          : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	// After the owner removed it, the name is free at once, although the owner still holds its
	// file.
	assert_int_equal(journal_remove(journal), 0);
	struct cuttle_error error;
	assert_int_equal(journal_open(path, &second, &error), CUTTLE_OK);
	journal_close(&journal);
	assert_int_equal(access(path, F_OK), 0);
	journal_close(&second);
}

/* Else tokens would be written where nobody finds them, and a third process could have the name. */
static void the_lock_is_on_the_file_that_has_the_name(void **state) {
	(void)state;
	char bytes[2048];
	enum journal_state found;
	(void)sample(bytes, sizeof bytes);
	ends_before_lock = true;
	struct journal *journal = open_it(&found);
	assert_false(ends_before_lock);
	assert_int_equal(found, JOURNAL_NEW);
	assert_int_equal(journal_restart(journal, &we), 0);
	assert_int_equal(journal_append(journal, 0, 0, 5), 0);
	assert_true(files_get(path, bytes, sizeof bytes) > 0);
	journal_close(&journal);
}

static int make_folder(void **state) {
	(void)state;
	hash_of("ours", 4, ours);
	hash_of("other", 5, other);
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/out.journal", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

/* What stands under the name of a journal that was removed is another process's. */
static void a_removed_journal_is_removed_once(void **state) {
	(void)state;
	enum journal_state is;
	(void)unlink(path);
	struct journal *journal = open_it(&is);
	assert_int_equal(journal_restart(journal, &we), 0);
	assert_int_equal(journal_remove(journal), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	files_put(path, "another's", 9);
	journal_close(&journal);
	assert_int_equal(access(path, F_OK), 0);
	(void)unlink(path);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tokens_come_back),
	    cmocka_unit_test(torn_at_every_byte),
	    cmocka_unit_test(counts_come_back),
	    cmocka_unit_test(room_for_counts),
	    cmocka_unit_test(counts_of_nothing),
	    cmocka_unit_test(torn_end_of_zeros),
	    cmocka_unit_test(lines_without_room),
	    cmocka_unit_test(a_pipe_is_not_read),
	    cmocka_unit_test(damage_in_the_middle),
	    cmocka_unit_test(other_commands),
	    cmocka_unit_test(one_process_alone),
	    cmocka_unit_test(interleaved_texts),
	    cmocka_unit_test(the_lock_is_on_the_file_that_has_the_name),
	    cmocka_unit_test(another_input),
	    cmocka_unit_test(a_removed_journal_is_removed_once),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
