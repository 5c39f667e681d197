// SPDX-License-Identifier: Apache-2.0
// Progress on standard error.
#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, enum progress_mode mode, size_t texts, size_t texts_before) {
	*progress = (struct progress){.texts = texts, .texts_before = texts_before, .began = seconds()};
	if (mode == PROGRESS_JSON) progress->style = PROGRESS_LINES;
	else if (mode == PROGRESS_AUTO) progress->style = isatty(STDERR_FILENO) ? PROGRESS_LINE : PROGRESS_SPARSE;
}

static void living_line(struct progress *progress, double elapsed) {
	fprintf(stderr, "\r\033[Ktexts %zu/%zu  tokens %" PRIu64 "  %.1f tokens/s", progress->texts_done, progress->texts, progress->tokens,
	        elapsed > 0 ? (double)progress->tokens / elapsed : 0.0);
	if (progress->texts_done > progress->texts_before) {
		size_t fresh = progress->texts_done - progress->texts_before;
		long left = (long)(elapsed / (double)fresh * (double)(progress->texts - progress->texts_done));
		fprintf(stderr, "  about %ld:%02ld left", left / 60, left % 60);
	}
	progress->line_open = true;
}

static void show(struct progress *progress, bool text_done) {
	double now = seconds(), elapsed = now - progress->began;
	bool last = progress->texts_done == progress->texts;
	switch (progress->style) {
	case PROGRESS_NONE:
		return;
	case PROGRESS_LINE:
		if (!text_done && now - progress->shown < 0.1) return;
		living_line(progress, elapsed);
		break;
	case PROGRESS_LINES:
		if (!text_done) return;
		fprintf(stderr, "{\"texts_done\":%zu,\"texts\":%zu,\"tokens\":%" PRIu64 "}\n", progress->texts_done, progress->texts,
		        progress->tokens);
		break;
	case PROGRESS_SPARSE:
		if (!text_done || (!last && (progress->texts_done - progress->texts_shown) * 10 < progress->texts)) return;
		fprintf(stderr, "%zu of %zu texts, %" PRIu64 " tokens drawn\n", progress->texts_done, progress->texts, progress->tokens);
		progress->texts_shown = progress->texts_done;
		break;
	}
	progress->shown = now;
}

void progress_token(struct progress *progress) {
	progress->tokens++;
	show(progress, false);
}

void progress_text(struct progress *progress) {
	progress->texts_done++;
	show(progress, true);
}

void progress_end(struct progress *progress) {
	if (progress->line_open) fputc('\n', stderr);
	progress->line_open = false;
}
