// SPDX-License-Identifier: Apache-2.0
// spec.h: the request of a private job, as checked options of a command.
//
// No private data: a request has public parameters alone. A job is run by the command itself, as a
// process of its own. So a request becomes words of a command line:
//
//     {"type":"generate","dataset":"notes","plan":{"num":100,"epsilon":10,"kind":"discharge note"}}
//     --dataset notes --num 100 --epsilon 10 --kind "discharge note"
//
// Which words there may be is a list, in spec.c. A member of `plan` has the name of the option,
// with _ for -. On the list is no option that names a file, a command or the machine, so no request
// can read a file, or write one. No shell sees the words. A grammar or schema comes as its text.
// The command reads it as a file that is open when it begins (serve/jobs/runner.h), so the word is
// the same for all requests.
#ifndef CUTTLE_SERVE_JOBS_SPEC_H
#define CUTTLE_SERVE_JOBS_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	SPEC_WORDS = 128,    /* most words */
	SPEC_TEXT = 4096,    /* bytes of the longest text in a plan */
	SPEC_FILE = 1 << 20, /* bytes of the longest grammar or schema */
	SPEC_NAME = 128      /* bytes of the longest name: of a data set, a field or a group */
};

struct spec {
	const char *type;        /* "generate" or "sanitize" */
	const char *dataset;     /* the request's */
	const char *unit_key;    /* "" = units are lines */
	bool dry_run;            /* say what it would be, and keep nothing */
	char *words[SPEC_WORDS]; /* owned: "--num", "100" ... */
	size_t count;            /* of words */
	char *file; /* [file_size] owned: what RUNNER_FILE is to hold; NULL = nothing */
	size_t file_size;
};

/* What is wrong with a request. */
struct spec_fault {
	const char *code;  /* "invalid_value" or "unsupported_parameter" */
	char param[64];    /* the member: "plan.num" */
	char message[240]; /* one line */
};

/* Reads a request, which must outlive the spec. False: *fault says why, and there is nothing to
 * free. */
bool spec_read(const json_t *request, struct spec *spec, struct spec_fault *fault);
void spec_free(struct spec *spec);

#endif
