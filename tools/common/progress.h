// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a run on standard error, be it of generate, sanitize, perturb or extract.
// On a terminal that is one line, rewritten in place: the living line. Else it is JSON lines, or a
// plain line now and then, or nothing.
//
// tools/common/watch.c calls it. Only public numbers are shown: texts and tokens done. How long a
// run takes tells how long the references are. So no line that could end in a log holds a time. Nor
// does the number of such lines depend on it. The living line alone shows a rate, and for how
// many seconds references have been read: whoever watches the terminal sees that anyway. Rates
// count what this run drew, not what an earlier run did. Of private texts (extract) the number of
// tokens is private, too: there nothing is shown but the number of texts that are done.
#ifndef CUTTLE_TOOLS_COMMON_PROGRESS_H
#define CUTTLE_TOOLS_COMMON_PROGRESS_H

#include "engine/cuttle.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_JSON, PROGRESS_OFF };

struct progress {
	enum {
		PROGRESS_NONE,
		PROGRESS_LINE,  /* the living line */
		PROGRESS_LINES, /* a JSON line after each text */
		PROGRESS_SPARSE /* a plain line after each tenth of the texts */
	} style;
	const char *read;    /* what is read before a text's first token: "references"; NULL = the
	                        texts are private, and nothing is shown but how many are done */
	size_t texts;        /* of the run */
	size_t texts_done;   /* by this run or an earlier one */
	size_t texts_before; /* done by an earlier run */
	uint64_t tokens;     /* drawn by this run */
	double began;        /* clock in seconds: when the run began */
	double shown;        /* clock in seconds: when the living line was last printed */
	size_t texts_shown;  /* texts_done in the last plain line */
	size_t reading; /* number, from 1, of the text whose references are read now; 0 = none */
	double reading_since; /* clock in seconds: when that began */
	bool line_open;       /* the cursor stands in the living line */
};

/* `read` is what the user knows a text to be written from, such as "references"; NULL: the texts
 * are private. */
void progress_begin(struct progress *progress, enum progress_mode mode, size_t texts,
                    const char *read);
/* Says that the references of text number `text`, from 0, are being read. Call it now and then
 * until they are. */
void progress_reading(struct progress *progress, size_t text);
/* Counts one token that this run drew. */
void progress_token(struct progress *progress);
/* Counts one text that is done, by this run or an earlier one. */
void progress_text(struct progress *progress);
/* Ends a living line, so that something else can be printed. */
void progress_end(struct progress *progress);

#endif
