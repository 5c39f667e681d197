// SPDX-License-Identifier: Apache-2.0
// A header line, then a line for each trial: NUMBER bytes for each value, the last of which is a
// space or the newline. Example: 2 values are a line of 50 bytes.
#include "io/output/trials.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER = 26, HEADER = 320 };
static const char BEGINNING[] = "{\"trials\":\"PRIVATE: of an audit; nothing protects these "
                                "numbers. Keep this file where the references are.\",";

struct trials {
	const char *path; /* for messages */
	int file;         /* descriptor; -1 = memory alone */
	size_t values;    /* of a trial */
	size_t count;     /* trials */
	double *all;      /* [count][values] */
};

static enum cuttle_status fail_trials(const struct trials *t, int number,
                                      struct cuttle_error *error) {
	return io_fail(error, number == ENOMEM ? CUTTLE_NOMEM : CUTTLE_INTERNAL, "%s: %s", t->path,
	               strerror(number));
}

static bool keep_trial(struct trials *t, const double *values) {
	const size_t size = t->values * sizeof *values;
	// Grown by doubling: at 1, 2, 4, 8 trials.
	if (!(t->count & (t->count - 1))) {
		const size_t room = t->count ? 2 * t->count : 1;
		double *grown = calloc(room, size);
		if (!grown) return false;
		if (t->count) memcpy(grown, t->all, t->count * size);
		secrecy_free(t->all);
		t->all = grown;
	}
	memcpy(t->all + t->count * t->values, values, size);
	t->count++;
	return true;
}

/* Takes the whole lines of text[size]. Sets *used to the bytes of those that could be read. */
static bool take_trials(struct trials *t, const char *text, size_t size, size_t *used) {
	const size_t line = t->values * NUMBER;
	double values[TRIALS_VALUES];
	for (*used = 0; size - *used >= line; *used += line) {
		for (size_t i = 0; i < t->values; i++) {
			const char *at = text + *used + i * NUMBER;
			char *end;
			values[i] = strtod(at, &end);
			const char last = i + 1 < t->values ? ' ' : '\n';
			if (end != at + NUMBER - 1 || *end != last || !isfinite(values[i]))
				return true;
		}
		if (!keep_trial(t, values)) return false;
	}
	return true;
}

/* Reads what an earlier run left, and cuts the file behind the last good line. */
static enum cuttle_status resume_trials(struct trials *t, const char command_sha256[HASH_TEXT],
                                        struct cuttle_error *error) {
	char header[HEADER], *text = NULL;
	size_t size = 0, used = 0;
	const int length = snprintf(header, sizeof header, "%s\"values\":%zu,\"command\":\"%s\"}\n",
	                            BEGINNING, t->values, command_sha256);
	REQUIRE(length > 0 && length < HEADER);
	const size_t begins = (size_t)length;
	int problem = file_read_open(t->file, &text, &size);
	if (problem) return fail_trials(t, problem, error);
	const bool ours =
	    size < begins
	        ? !memcmp(text, header, size < sizeof BEGINNING - 1 ? size : sizeof BEGINNING - 1)
	        : !memcmp(text, header, begins);
	bool room = true;
	if (ours && size >= begins) room = take_trials(t, text + begins, size - begins, &used);
	const bool fresh = size < begins;
	secrecy_free(text);
	if (!ours)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is in the way: it is not what this audit left; move it, or "
		               "choose another output name",
		               t->path);
	if (!room) return io_fail(error, CUTTLE_NOMEM, "out of memory reading %s", t->path);
	if (fchmod(t->file, 0600) != 0 || ftruncate(t->file, fresh ? 0 : (off_t)(begins + used)) ||
	    lseek(t->file, 0, SEEK_END) < 0)
		problem = errno;
	if (!problem && fresh) problem = file_write(t->file, header, begins);
	return problem ? fail_trials(t, problem, error) : CUTTLE_OK;
}

enum cuttle_status trials_open(const char *path, const char command_sha256[HASH_TEXT],
                               size_t values, struct trials **trials, struct cuttle_error *error) {
	REQUIRE(values >= 1 && values <= TRIALS_VALUES);
	struct trials *t = *trials = calloc(1, sizeof *t);
	if (!t) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	t->path = path;
	t->file = -1;
	t->values = values;
	enum cuttle_status status = CUTTLE_OK;
	const int problem = path ? file_lock(path, &t->file) : 0;
	if (problem)
		status = io_fail(error, CUTTLE_USAGE, "%s: %s", path,
		                 problem == EWOULDBLOCK ? "another audit writes this file"
		                                        : strerror(problem));
	if (!status && path) status = resume_trials(t, command_sha256, error);
	if (status) trials_close(trials, false);
	return status;
}

size_t trials_count(const struct trials *trials) {
	return trials->count;
}

const double *trials_get(const struct trials *trials, size_t index) {
	REQUIRE(index < trials->count);
	return trials->all + index * trials->values;
}

enum cuttle_status trials_add(struct trials *t, const double *values, struct cuttle_error *error) {
	char line[TRIALS_VALUES * NUMBER + 1];
	if (!keep_trial(t, values)) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < t->values; i++) {
		REQUIRE(isfinite(values[i]));
		// 17 digits behind the point, and three of an exponent where it needs them.
		(void)snprintf(line + i * NUMBER, NUMBER + 1, "%*s%c", NUMBER - 1, "",
		               i + 1 < t->values ? ' ' : '\n');
		char number[NUMBER];
		const int length = snprintf(number, sizeof number, "%+.17e", values[i]);
		REQUIRE(length > 0 && length < NUMBER);
		memcpy(line + i * NUMBER + NUMBER - 1 - length, number, (size_t)length);
	}
	const int problem = t->file < 0 ? 0 : file_write(t->file, line, t->values * NUMBER);
	return problem ? fail_trials(t, problem, error) : CUTTLE_OK;
}

void trials_close(struct trials **trials, bool done) {
	struct trials *t = *trials;
	*trials = NULL;
	if (!t) return;
	if (done && t->path) (void)unlink(t->path);
	if (t->file >= 0) (void)close(t->file);
	secrecy_free(t->all);
	free(t);
}
