// SPDX-License-Identifier: Apache-2.0
// Progress of a generate run on standard error: one living line on a terminal, JSON lines, a sparse line now and then, or nothing.
//
// Public quantities only: texts and tokens done. Time tells how long the references are, so no line that could end in a log holds any, nor
// does the number of lines depend on it; only the living line, which whoever watches the terminal sees pass anyway, shows a rate.
#ifndef CUTTLE_TOOLS_PROGRESS_H
#define CUTTLE_TOOLS_PROGRESS_H

#include "engine/cuttle.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_JSON, PROGRESS_OFF };

struct progress {
	enum { PROGRESS_NONE, PROGRESS_LINE, PROGRESS_LINES, PROGRESS_SPARSE } style;
	size_t texts, texts_done, texts_before; /* before: finished by an earlier run */
	uint64_t tokens;                        /* drawn by this run */
	double began, shown;                    /* seconds */
	size_t texts_shown;
	bool line_open;
};

void progress_begin(struct progress *progress, enum progress_mode mode, size_t texts, size_t texts_before);
void progress_token(struct progress *progress);
void progress_text(struct progress *progress);
/* Ends a living line, so that something else can be printed. */
void progress_end(struct progress *progress);

#endif
