// SPDX-License-Identifier: Apache-2.0
// verify_text.h: what cuttle receipt verify prints: a receipt that is compared, and its promise.
//
// A receipt is public: no private data is here. The command and the transcript in a folder of
// evidence are written by this one function, so neither can say more than the other.
#ifndef CUTTLE_TOOLS_REPORT_VERIFY_TEXT_H
#define CUTTLE_TOOLS_REPORT_VERIFY_TEXT_H

#include "workflow/report/promise.h"
#include <stdio.h>

/* Checks the receipt at path and compares it with `files`, whose `key` and `hints` are set here. It
 * prints nothing unless all of it agrees. `key`: the public key that must have signed it, 64 hex
 * digits; NULL = any. Errors: those of verification_open and verification_compare. */
enum cuttle_status verify_write(FILE *file, const char *path,
                                const struct verification_files *files, const char *key,
                                struct cuttle_error *error);

#endif
