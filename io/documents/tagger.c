// SPDX-License-Identifier: Apache-2.0
// How tagger.h asks: two pipes that never block, and poll with what is left of the time. Writing
// and reading take turns, so neither side waits for the other when pipes are full.
//
// The program gets a process group of its own. So a script that starts another program is killed
// with it.
#include "io/documents/tagger.h"

#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 64, CHUNK = 1 << 16 }; /* words of a command; bytes of one read */

struct tagger {
	pid_t process;
	int to, from;        /* our ends of its standard input and output; -1 = closed */
	unsigned seconds;    /* that it may take for a text */
	struct arena answer; /* what was read and not used yet */
};

static int64_t read_milliseconds(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Splits the command at spaces, in place. Returns the number of words, at most WORDS. */
static size_t split_command(char *command, char *words[WORDS + 1]) {
	size_t count = 0;
	char *rest = command;
	for (char *word; count < WORDS && (word = strsep(&rest, " "));)
		if (*word) words[count++] = word;
	words[count] = NULL;
	return rest ? WORDS + 1 : count;
}

/* Starts the program with the far ends of the pipes as standard input and output. Returns 0 or the
 * errno. */
static int spawn_program(struct tagger *tagger, char *words[], const int input[2],
                         const int output[2]) {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	(void)sigemptyset(&defaults);
	// main ignores these two; a program expects that they end it.
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGXFSZ);
	int problem = posix_spawn_file_actions_init(&actions);
	if (problem) return problem;
	problem = posix_spawnattr_init(&attributes);
	if (!problem) {
		problem = posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
		if (!problem)
			problem =
			    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
		if (!problem)
			problem = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
			                                           "/dev/null", O_WRONLY, 0);
		if (!problem) problem = posix_spawnattr_setsigdefault(&attributes, &defaults);
		if (!problem) problem = posix_spawnattr_setpgroup(&attributes, 0);
		if (!problem)
			problem = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
			                                                    POSIX_SPAWN_SETPGROUP);
		if (!problem)
			problem = posix_spawnp(&tagger->process, words[0], &actions, &attributes,
			                       words, environ);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return problem;
}

/* Opens the pipes and starts the program. Returns 0 or the errno. */
static int open_pipes(struct tagger *tagger, char *words[]) {
	int input[2], output[2];
	if (pipe2(input, O_CLOEXEC) != 0) return errno;
	if (pipe2(output, O_CLOEXEC) != 0) {
		const int problem = errno;
		(void)close(input[0]);
		(void)close(input[1]);
		return problem;
	}
	tagger->to = input[1];
	tagger->from = output[0];
	const int problem = spawn_program(tagger, words, input, output);
	(void)close(input[0]);
	(void)close(output[1]);
	if (problem) return problem;
	if (fcntl(tagger->to, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(tagger->from, F_SETFL, O_NONBLOCK) != 0)
		return errno;
	return 0;
}

/* Closes one end of a pipe, once. */
static void close_end(int *end) {
	if (*end >= 0) (void)close(*end);
	*end = -1;
}

/* Waits until the program ends, at most so long; then kills it with all that it started. Returns
 * its exit code, or -1 when it was killed, ended by a signal, or its end is not known. */
static int reap_program(struct tagger *tagger, int64_t milliseconds) {
	const int64_t until = read_milliseconds() + milliseconds;
	int state = 0;
	pid_t ended = 0;
	if (tagger->process <= 0) return -1;
	while ((ended = waitpid(tagger->process, &state, WNOHANG)) == 0 &&
	       read_milliseconds() < until)
		(void)poll(NULL, 0, 5);
	// Whatever it started itself is ended too.
	(void)kill(-tagger->process, SIGKILL);
	const bool late = ended == 0;
	while (late && waitpid(tagger->process, &state, 0) < 0 && errno == EINTR) {}
	tagger->process = 0;
	return ended <= 0 || !WIFEXITED(state) ? -1 : WEXITSTATUS(state);
}

static void free_tagger(struct tagger **tagger) {
	close_end(&(*tagger)->to);
	close_end(&(*tagger)->from);
	arena_free(&(*tagger)->answer);
	free(*tagger);
	*tagger = NULL;
}

enum cuttle_status tagger_start(const char *command, unsigned seconds, struct tagger **tagger,
                                struct cuttle_error *error) {
	char *words[WORDS + 1], *copy = strdup(command);
	struct tagger *made = calloc(1, sizeof *made);
	enum cuttle_status status = CUTTLE_OK;
	*tagger = NULL;
	if (!copy || !made) {
		free(copy);
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	*made = (struct tagger){.to = -1, .from = -1, .seconds = seconds};
	const size_t count = split_command(copy, words);
	if (!count || count > WORDS)
		status =
		    io_fail(error, CUTTLE_USAGE,
		            "--tagger: must be rules, none, or a command of 1 to %d words", WORDS);
	const int problem = status ? 0 : open_pipes(made, words);
	if (problem)
		status = io_fail(error, CUTTLE_INPUT, "cannot start the tagger %s: %s", words[0],
		                 strerror(problem));
	free(copy);
	*tagger = made;
	if (status) {
		(void)reap_program(made, 0);
		free_tagger(tagger);
	}
	return status;
}

/* Writes what the pipe takes. False: the program reads no more. */
static bool write_some(struct tagger *tagger, const char *text, size_t size, size_t *written) {
	const ssize_t done = write(tagger->to, text + *written, size - *written);
	if (done < 0) return errno == EAGAIN || errno == EINTR;
	*written += (size_t)done;
	return true;
}

/* Reads what there is. Returns the rule that it breaks, or NULL. */
static const char *read_answer_part(struct tagger *tagger) {
	struct arena *answer = &tagger->answer;
	if (answer->used > SOURCE_LINE) return "its line has more than 16 MiB";
	if (!arena_reserve(answer, CHUNK)) return "there is no memory for its line";
	const ssize_t got = read(tagger->from, answer->bytes + answer->used, CHUNK);
	if (got == 0) return "it ended";
	if (got < 0) return errno == EAGAIN || errno == EINTR ? NULL : "it cannot be read";
	arena_grew(answer, (size_t)got);
	return NULL;
}

/* Sends the question and reads up to the newline of the answer, whose length, with it, is *size.
 * Returns the rule that the program breaks, or NULL. */
static const char *exchange_lines(struct tagger *tagger, const char *question, size_t question_size,
                                  size_t *size) {
	const int64_t until = read_milliseconds() + (int64_t)tagger->seconds * 1000;
	size_t written = 0, searched = 0;
	tagger->answer.used = 0;
	for (;;) {
		struct pollfd ends[] = {{tagger->from, POLLIN, 0}, {tagger->to, POLLOUT, 0}};
		const int64_t left = until - read_milliseconds();
		if (left <= 0) return "it took too long";
		const int ready = poll(ends, written < question_size ? 2 : 1, (int)left);
		if (ready < 0 && errno != EINTR) return "it cannot be read";
		if (ready <= 0) continue;
		if (ends[1].revents && written < question_size &&
		    !write_some(tagger, question, question_size, &written))
			return "it ended, or reads no more";
		if (!ends[0].revents) continue;
		const char *rule = read_answer_part(tagger);
		if (rule) return rule;
		const struct arena *answer = &tagger->answer;
		const char *newline =
		    answer->used > searched
		        ? memchr(answer->bytes + searched, '\n', answer->used - searched)
		        : NULL;
		searched = answer->used;
		if (!newline) continue;
		*size = (size_t)(newline - answer->bytes) + 1;
		if (written < question_size) return "it answered before it had the question";
		return *size < answer->used ? "it wrote more than one line" : NULL;
	}
}

enum cuttle_status tagger_ask(struct tagger *tagger, const struct spans_request *request,
                              size_t number, struct span_types *types, struct spans *spans,
                              struct cuttle_error *error) {
	size_t size = 0, answer_size = 0;
	const struct jsonout_member members[] = {
	    {"id", json_integer((json_int_t)number)},
	    {"text", json_stringn(spans->text.used ? spans->text.bytes : "", spans->text.used)}};
	char *question = jsonout_dump(jsonout_extend(json_object(), members, 2),
	                              JSON_COMPACT | JSON_ENSURE_ASCII, &size);
	if (!question) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const char *rule = exchange_lines(tagger, question, size, &answer_size);
	secrecy_free(question);
	if (rule)
		return io_fail(error, CUTTLE_INPUT, "%s: the tagger at line %zu: %s", request->path,
		               number, rule);
	return spans_read_answer(request, tagger->answer.bytes, answer_size - 1, number, types,
	                         spans, error);
}

enum cuttle_status tagger_stop(struct tagger **tagger, enum cuttle_status status,
                               struct cuttle_error *error) {
	if (!*tagger) return status;
	struct tagger *stopped = *tagger;
	char more;
	close_end(&stopped->to);
	const int code = reap_program(stopped, status ? 0 : (int64_t)stopped->seconds * 1000);
	if (!status && code != 0)
		status = io_fail(error, CUTTLE_INPUT,
		                 "the tagger did not end with exit code 0 when its input ended");
	// It has ended, so all that it wrote is in the pipe.
	if (!status && read(stopped->from, &more, 1) == 1)
		status =
		    io_fail(error, CUTTLE_INPUT, "the tagger wrote more lines than it was asked");
	free_tagger(tagger);
	return status;
}
