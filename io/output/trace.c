// SPDX-License-Identifier: Apache-2.0
// The trace file of trace.h: a header line, then a line of LINE bytes for each step, filled up with
// spaces. So a continued run finds the last whole line by the file's size. With a header of 300
// bytes, a file of 1,117 has two steps and 17 bytes of a third. These 17 are cut off.
#include "io/output/trace.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEADER = 512, /* bytes of the header line at most */
	LINE = 400    /* bytes of the line of a step, with its newline */
};
static const char WARNING[] =
    "PRIVATE: computed from the private texts without protection. No guarantee covers this file. "
    "Do not publish it, nor anything you "
    "learn from it; choose no parameter by it that a private run will use.";

struct trace {
	char *path;
	int file;
	bool empty;  /* it has no step */
	int problem; /* errno of the last write; 0 = it worked */
};

/* Whether the file is a trace with this very header, or the beginning of it: a kill came before the
 * rest, or before any of it. It must also belong to this user, have no second name, and be closed
 * to all others. If so, *size is its size. */
static bool is_own_trace(int file, const char *header, size_t length, size_t *size) {
	struct stat state;
	char found[HEADER];
	if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode) || state.st_nlink != 1 ||
	    state.st_uid != geteuid())
		return false;
	if (state.st_mode & (S_IRWXG | S_IRWXO)) return false;
	*size = (size_t)state.st_size;
	if (length > *size) length = *size;
	return pread(file, found, length, 0) == (ssize_t)length && !memcmp(found, header, length);
}

/* Creates the file, or reopens that of a resumed run. Returns 0 or the errno. *taken: something
 * else stands at the path. */
static int begin_trace_file(struct trace *trace, const char *header, size_t length, bool resumed,
                            bool *taken) {
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	size_t size;
	trace->empty = true;
	trace->file = open(trace->path, flags | O_CREAT | O_EXCL, 0600);
	if (trace->file >= 0) return file_write(trace->file, header, length);
	if (errno != EEXIST) return errno;
	trace->file = open(trace->path, flags);
	*taken = trace->file < 0 || !is_own_trace(trace->file, header, length, &size) ||
	         (!resumed && size > length);
	if (*taken) return EEXIST;
	if (size < length)
		return ftruncate(trace->file, 0) ? errno : file_write(trace->file, header, length);
	trace->empty = size - length < LINE;
	return ftruncate(trace->file, (off_t)(size - (size - length) % LINE)) != 0 ? errno : 0;
}

enum cuttle_status trace_open(const char *path, const char fingerprint[HASH_TEXT], bool resumed,
                              struct trace **trace, struct cuttle_error *error) {
	char header[HEADER];
	bool taken = false;
	*trace = NULL;
	struct trace *made = calloc(1, sizeof *made);
	if (made) made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	const int length =
	    snprintf(header, sizeof header, "{\"trace\":\"%s\",\"command_sha256\":\"%s\"}\n",
	             WARNING, fingerprint);
	REQUIRE(length > 0 && length < HEADER);
	const int problem = begin_trace_file(made, header, (size_t)length, resumed, &taken);
	if (!problem) {
		*trace = made;
		return CUTTLE_OK;
	}
	const bool created = made->file >= 0 && !taken;
	if (taken) made->empty = false;
	trace_close(&made);
	if (taken)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "%s exists; a trace replaces nothing and follows no link: name a new file",
		    path);
	return io_fail(error, created ? CUTTLE_PARTIAL : CUTTLE_USAGE, "cannot %s %s: %s",
	               created ? "write" : "create", path, strerror(problem));
}

int trace_step(void *user, const struct cuttle_trace_step *step) {
	struct trace *trace = user;
	char line[LINE];
	const int length =
	    snprintf(line, sizeof line,
	             "{\"text\":%zu,\"step\":%" PRIu32 ",\"token\":%" PRId32
	             ",\"candidates\":%" PRIu32 ",\"private_rows\":%" PRIu32
	             ",\"effective_k\":%.6g,\"clipped\":%.6g,\"public_top\":%.6g,"
	             "\"public_probability\":%.6g,\"probability\":%.6g,\"public_rank\":%" PRIu32
	             ",\"rank\":%" PRIu32 "}",
	             step->text, step->step, step->token, step->candidates, step->private_rows,
	             step->effective_k, step->clipped, step->public_top, step->public_probability,
	             step->probability, step->public_rank, step->rank);
	REQUIRE(length > 0 && length < LINE);
	memset(line + length, ' ', (size_t)(LINE - 1 - length));
	line[LINE - 1] = '\n';
	trace->empty = false;
	trace->problem = file_write(trace->file, line, LINE);
	return trace->problem;
}

enum cuttle_status trace_problem(const struct trace *trace, struct cuttle_error *error) {
	if (!trace || !trace->problem) return CUTTLE_OK;
	return io_fail(error, CUTTLE_PARTIAL,
	               "cannot write %s: %s; the same command continues from here", trace->path,
	               strerror(trace->problem));
}

void trace_close(struct trace **trace) {
	struct trace *old = *trace;
	if (!old) return;
	if (old->file >= 0) {
		if (old->empty) (void)unlink(old->path);
		(void)close(old->file);
	}
	free(old->path);
	free(old);
	*trace = NULL;
}
