// SPDX-License-Identifier: Apache-2.0
// Three pipes and a loop of poll: references in, output and lines out. serve/jobs/runner.h says why
// a job is a process.
#include "serve/jobs/runner.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN, OUT, ERR, PIPES, FILE_END = PIPES };
enum { TICK_MS = 200 };

struct runner_state {
	const struct runner_request *request;
	struct runner_result *result;
	int ends[PIPES];   /* the server's ends; -1 = closed */
	const char *piece; /* PRIVATE: bytes of the vault that are not written yet */
	size_t left;       /* how many */
	size_t answered;   /* bytes in result->answer */
	char line[RUNNER_LINE];
	size_t line_size; /* bytes in `line`; above RUNNER_LINE - 1 they are not kept */
};

extern char **environ;

/* The command's environment: the server's, without the variables that stand for options. A job has
 * the options of its request and no others. The caller frees the list, not the strings. */
static char **make_environment(void) {
	size_t count = 0, kept = 0;
	while (environ[count]) count++;
	char **list = calloc(count + 1, sizeof *list);
	for (size_t i = 0; list && i < count; i++)
		if (strncmp(environ[i], "CUTTLE_", 7) != 0) list[kept++] = environ[i];
	return list;
}

/* In the new process, between fork and exec: nothing here may allocate or lock, since other threads
 * of the server may have held any lock. */
static void become_command(const struct runner_request *request, char **environment,
                           int theirs[PIPES], int file, pid_t server) {
	// If the server is killed, so is this. It may have died before the line above it.
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != server) _exit(127);
	// Until these four lines a signal would run the server's handler here, and end the server.
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	// A Ctrl-C at the server's terminal is the server's: it stops its job in order.
	(void)setpgid(0, 0);
	for (int i = 0; i < PIPES; i++)
		if (dup2(theirs[i], i) < 0) _exit(127);
	// A descriptor that is its own copy would still close.
	if (file == FILE_END ? fcntl(file, F_SETFD, 0) < 0 : file >= 0 && dup2(file, FILE_END) < 0)
		_exit(127);
	// No socket, no key and no upload of the server reaches the command.
	(void)syscall(SYS_close_range, file < 0 ? 3U : 4U, ~0U, 0U);
	(void)execve(request->program, (char *const *)(uintptr_t)request->words, environment);
	_exit(127);
}

static void close_ends(int ends[PIPES]) {
	for (int i = 0; i < PIPES; i++)
		if (ends[i] >= 0) (void)close(ends[i]);
}

/* Makes the pipes. False: errno. */
static bool make_pipes(int ours[PIPES], int theirs[PIPES]) {
	for (int i = 0; i < PIPES; i++) ours[i] = theirs[i] = -1;
	for (int i = 0; i < PIPES; i++) {
		int both[2];
		if (pipe2(both, O_CLOEXEC) != 0) {
			close_ends(ours);
			close_ends(theirs);
			return false;
		}
		theirs[i] = both[i == IN ? 0 : 1];
		ours[i] = both[i == IN ? 1 : 0];
		(void)fcntl(ours[i], F_SETFL, O_NONBLOCK);
	}
	return true;
}

/* A file in memory that has the request's; *file is -1 where it has none. */
static enum cuttle_status make_file(const struct runner_request *request, int *file,
                                    struct cuttle_error *error) {
	*file = -1;
	if (!request->file) return CUTTLE_OK;
	*file = memfd_create("cuttle", MFD_CLOEXEC);
	const int problem =
	    *file < 0 ? errno : file_write(*file, request->file, request->file_size);
	if (!problem) return CUTTLE_OK;
	if (*file >= 0) (void)close(*file);
	return io_fail(error, CUTTLE_INTERNAL, "no file in memory: %s", strerror(problem));
}

static enum cuttle_status start_command(struct runner *runner, struct runner_state *state, int file,
                                        struct cuttle_error *error) {
	int theirs[PIPES];
	char **environment = make_environment();
	if (!environment) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!make_pipes(state->ends, theirs)) {
		free(environment);
		return io_fail(error, CUTTLE_INTERNAL, "no pipe: %s", strerror(errno));
	}
	const pid_t server = getpid();
	sigset_t all, before;
	(void)sigfillset(&all);
	(void)pthread_mutex_lock(&runner->lock);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	const pid_t process = fork();
	if (!process) become_command(state->request, environment, theirs, file, server);
	const int problem = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (process > 0) runner->process = process;
	(void)pthread_mutex_unlock(&runner->lock);
	free(environment);
	close_ends(theirs);
	if (process > 0) return CUTTLE_OK;
	close_ends(state->ends);
	return io_fail(error, CUTTLE_INTERNAL, "no process: %s", strerror(problem));
}

static void close_pipe_end(struct runner_state *state, int which) {
	(void)close(state->ends[which]);
	state->ends[which] = -1;
}

/* Writes as much as the pipe takes. Closes it behind the last piece, and where nobody reads it. */
static void feed_command(struct runner_state *state) {
	const void *piece;
	if (!state->left) {
		state->result->input_lost =
		    vault_next(state->request->input, &piece, &state->left, NULL) != CUTTLE_OK;
		state->piece = piece;
	}
	// Not closed where the vault is lost: the command would take that for the end of its input.
	if (state->result->input_lost) return;
	if (!state->left) {
		close_pipe_end(state, IN);
		return;
	}
	const ssize_t written = write(state->ends[IN], state->piece, state->left);
	if (written > 0) {
		state->piece += written;
		state->left -= (size_t)written;
	} else if (written < 0 && errno != EAGAIN && errno != EINTR) close_pipe_end(state, IN);
}

/* A line of standard error is whole. */
static void end_line(struct runner_state *state) {
	const struct runner_request *request = state->request;
	state->line[state->line_size < RUNNER_LINE ? state->line_size : RUNNER_LINE - 1] = 0;
	state->line_size = 0;
	if (!strncmp(state->line, "cuttle ", 7))
		memcpy(state->result->said, state->line, RUNNER_LINE);
	if (request->line) request->line(request->user, state->line);
}

static void hear_bytes(struct runner_state *state, const char *bytes, size_t size) {
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n') end_line(state);
		else if (state->line_size++ < RUNNER_LINE - 1)
			state->line[state->line_size - 1] = bytes[i];
	}
}

/* Reads what is there of output or lines. Closes the end when the command has closed its own. */
static void take_output(struct runner_state *state, int which) {
	char bytes[4096];
	const ssize_t got = read(state->ends[which], bytes, sizeof bytes);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (got <= 0) {
		close_pipe_end(state, which);
		return;
	}
	if (which == ERR) {
		hear_bytes(state, bytes, (size_t)got);
		return;
	}
	const size_t room = RUNNER_ANSWER - state->answered,
	             taken = (size_t)got < room ? (size_t)got : room;
	memcpy(state->result->answer + state->answered, bytes, taken);
	state->answered += taken;
}

/* Until the command has closed its output and lines. */
static void serve_command(struct runner_state *state) {
	if (!state->request->input) close_pipe_end(state, IN);
	while (state->ends[OUT] >= 0 || state->ends[ERR] >= 0) {
		struct pollfd waits[PIPES];
		for (int i = 0; i < PIPES; i++)
			waits[i] = (struct pollfd){state->ends[i], i == IN ? POLLOUT : POLLIN, 0};
		if (poll(waits, PIPES, TICK_MS) < 0) {
			if (errno != EINTR) return;
			continue;
		}
		if (state->request->tick) state->request->tick(state->request->user);
		if (waits[IN].revents) feed_command(state);
		for (int i = OUT; i < PIPES; i++)
			if (waits[i].revents) take_output(state, i);
		// What it has read so far is not the job's input, so it may not go on.
		if (state->result->input_lost) return;
	}
}

/* Waits for the process's end. Its number is given back under the lock, so that runner_signal never
 * meets another process of that number. */
static int reap_command(struct runner *runner) {
	siginfo_t ended;
	int how = 0;
	while (waitid(P_PID, (id_t)runner->process, &ended, WEXITED | WNOWAIT) != 0 &&
	       errno == EINTR) {}
	(void)pthread_mutex_lock(&runner->lock);
	const bool known = waitpid(runner->process, &how, 0) == runner->process;
	runner->process = 0;
	(void)pthread_mutex_unlock(&runner->lock);
	// An end that is not known must not count as done.
	if (!known) return CUTTLE_INTERNAL;
	return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

enum cuttle_status runner_run(struct runner *runner, const struct runner_request *request,
                              struct runner_result *result, struct cuttle_error *error) {
	struct runner_state state = {.request = request, .result = result};
	*result = (struct runner_result){.answer = calloc(1, RUNNER_ANSWER + 1)};
	if (!result->answer) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	int file;
	enum cuttle_status status = make_file(request, &file, error);
	if (!status) {
		status = start_command(runner, &state, file, error);
		if (file >= 0) (void)close(file);
	}
	if (status) {
		free(result->answer);
		result->answer = NULL;
		return status;
	}
	serve_command(&state);
	if (result->input_lost) runner_signal(runner, SIGKILL);
	close_ends(state.ends);
	result->code = reap_command(runner);
	return CUTTLE_OK;
}

void runner_signal(struct runner *runner, int number) {
	(void)pthread_mutex_lock(&runner->lock);
	if (runner->process > 0) (void)kill(runner->process, number);
	(void)pthread_mutex_unlock(&runner->lock);
}
