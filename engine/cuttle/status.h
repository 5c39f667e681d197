// SPDX-License-Identifier: Apache-2.0
// status.h: what a call answers: a status, and a message of one line.
// The other headers here include it.
// No private data: a message never holds a word of a private text.
// Example: if (cuttle_model_open(path, NULL, &model, &error)) puts(error.message);
//
// A function that can fail returns a status, and writes its message to *error. error may be NULL.
// After a failure its output handles are NULL and the caller owns nothing.
// A broken precondition aborts: for example a NULL where none is allowed. The abort writes one line
// to stderr. The library never calls exit() and never writes to stdout.
#ifndef CUTTLE_STATUS_H
#define CUTTLE_STATUS_H

// All headers here speak in these types.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_VERSION "0.2.0"
#define CUTTLE_API __attribute__((visibility("default")))
#define CUTTLE_CHECKED __attribute__((warn_unused_result))

/* Outcome of a call. The numbers are also the exit codes of the command. */
enum cuttle_status {
	CUTTLE_OK = 0,
	CUTTLE_INTERNAL = 1, /* the machine failed: no entropy, or a self check failed */
	CUTTLE_USAGE = 2,    /* a parameter is out of range or contradicts another */
	CUTTLE_BUDGET = 3,   /* the request would spend more privacy than allowed */
	CUTTLE_INPUT = 4,    /* an input file's structure is wrong, or it holds too few records */
	CUTTLE_MODEL = 5,    /* the model file is malformed, or of a kind cuttle does not support */

	/* A callback asked to stop. A job run again with what was drawn completes the work. */
	CUTTLE_PARTIAL = 6,

	/* Only the command returns this: the budget ledger is missing, busy, damaged or edited, or
	 * a receipt does not hold. */
	CUTTLE_LEDGER = 7,

	CUTTLE_NOMEM = 8, /* out of memory, or more is needed than the system says is available */

	/* Only the command returns this: a remote model will not answer, however often it is asked
	 * (TLS, a redirect, a refusal, a quota that is used up, a malformed reply). */
	CUTTLE_REMOTE = 9
};

struct cuttle_error {
	char message[320]; /* one line without a newline; never a word of a private text */
};

/* The version of the library. CUTTLE_VERSION is the version of the header. */
CUTTLE_API const char *cuttle_version(void);

#ifdef __cplusplus
}
#endif

#endif
