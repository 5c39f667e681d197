// SPDX-License-Identifier: Apache-2.0
// One function for each event of a run; each prints what its style shows of the event.
// tools/common/progress.h says what may be shown.
#include "tools/common/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double read_progress_clock(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, enum progress_mode mode, size_t texts,
                    const char *read) {
	*progress = (struct progress){.read = read, .texts = texts, .began = read_progress_clock()};
	if (mode == PROGRESS_JSON) progress->style = PROGRESS_LINES;
	else if (mode == PROGRESS_AUTO)
		progress->style = isatty(STDERR_FILENO) ? PROGRESS_LINE : PROGRESS_SPARSE;
	if (progress->style == PROGRESS_SPARSE && !read)
		fprintf(stderr, "%zu texts to go\n", texts);
	else if (progress->style == PROGRESS_SPARSE)
		fprintf(stderr,
		        "%zu texts to write; the %s of each are read before its first token\n",
		        texts, read);
}

static void print_living_line(struct progress *progress, double now) {
	progress->line_open = true;
	if (!progress->read) {
		fprintf(stderr, "\r\033[Ktexts %zu/%zu", progress->texts_done, progress->texts);
		return;
	}
	const double elapsed = now - progress->began;
	fprintf(stderr, "\r\033[Ktexts %zu/%zu  tokens %" PRIu64 "  %.1f tokens/s",
	        progress->texts_done, progress->texts, progress->tokens,
	        elapsed > 0 ? (double)progress->tokens / elapsed : 0.0);
	if (progress->texts_before)
		fprintf(stderr, "  (%zu texts from before)", progress->texts_before);
	if (progress->texts_done > progress->texts_before) {
		size_t fresh = progress->texts_done - progress->texts_before;
		long left = (long)(elapsed / (double)fresh *
		                   (double)(progress->texts - progress->texts_done));
		fprintf(stderr, "  about %ld:%02ld left", left / 60, left % 60);
	}
	if (progress->reading)
		fprintf(stderr, "  reading the %s of text %zu (%.0f s)", progress->read,
		        progress->reading, now - progress->reading_since);
}

/* Prints the living line, at most ten times a second unless `now` is set. */
static void refresh_line(struct progress *progress, bool now) {
	const double clock = read_progress_clock();
	if (progress->style != PROGRESS_LINE || (!now && clock - progress->shown < 0.1)) return;
	print_living_line(progress, clock);
	progress->shown = clock;
}

void progress_reading(struct progress *progress, size_t text) {
	if (progress->reading != text + 1) progress->reading_since = read_progress_clock();
	progress->reading = text + 1;
	refresh_line(progress, false);
}

void progress_token(struct progress *progress) {
	if (!progress->tokens++ && progress->texts_done) {
		progress->texts_before = progress->texts_done;
		if (progress->style == PROGRESS_SPARSE)
			fprintf(stderr, "%zu of %zu texts were there already\n",
			        progress->texts_done, progress->texts);
		progress->texts_shown = progress->texts_done;
	}
	progress->reading = 0;
	refresh_line(progress, false);
}

void progress_text(struct progress *progress) {
	progress->texts_done++;
	const bool last = progress->texts_done == progress->texts;
	refresh_line(progress, true);
	if (progress->style == PROGRESS_LINES && !progress->read)
		fprintf(stderr, "{\"texts_done\":%zu,\"texts\":%zu}\n", progress->texts_done,
		        progress->texts);
	else if (progress->style == PROGRESS_LINES)
		fprintf(stderr, "{\"texts_done\":%zu,\"texts\":%zu,\"tokens\":%" PRIu64 "}\n",
		        progress->texts_done, progress->texts, progress->tokens);
	// Texts of an earlier run come before this run's first token. They get no line each:
	// progress_token counts them in one line.
	const bool fresh = last || progress->tokens || !progress->read;
	if (progress->style != PROGRESS_SPARSE || !fresh) return;
	if (!last && (progress->texts_done - progress->texts_shown) * 10 < progress->texts) return;
	if (!progress->read)
		fprintf(stderr, "%zu of %zu texts\n", progress->texts_done, progress->texts);
	else
		fprintf(stderr, "%zu of %zu texts, %" PRIu64 " tokens drawn\n",
		        progress->texts_done, progress->texts, progress->tokens);
	progress->texts_shown = progress->texts_done;
}

void progress_end(struct progress *progress) {
	if (progress->line_open) fputc('\n', stderr);
	progress->line_open = false;
}
