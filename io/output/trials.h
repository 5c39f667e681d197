// SPDX-License-Identifier: Apache-2.0
// trials.h: the games of an audit that are played already, in a file that a later run continues.
//
// A trial is a few numbers: its world, its score. They may follow from private texts. So the file
// is its owner's alone, whatever the audit is told of them, and its first line says so. A trial is
// on the disk before the next one ends. Example of a line, for 2 values:
//   +1.00000000000000000e+00 -3.12500000000000000e-01
// All lines are equally long: what a killed run left of one is cut off.
#ifndef CUTTLE_IO_OUTPUT_TRIALS_H
#define CUTTLE_IO_OUTPUT_TRIALS_H

#include "engine/cuttle/status.h"
#include "io/disk/hash.h"
#include <stdbool.h>
#include <stddef.h>

#define TRIALS_FILE ".trials" /* behind the name of the output */
enum { TRIALS_VALUES = 8 };   /* of a trial, at most */

struct trials;

/* Opens the file, or makes it with mode 0600, and reads the trials of this very command; those of
 * another one are refused. path NULL: trials are kept in memory alone. `values` is of each trial,
 * 1 .. TRIALS_VALUES; all are finite.
 * USAGE: another audit's file, or anything else, stands there; another process has it. INTERNAL: it
 * cannot be read or written. NOMEM. */
enum cuttle_status trials_open(const char *path, const char command_sha256[HASH_TEXT],
                               size_t values, struct trials **trials, struct cuttle_error *error);
/* How many there are. */
size_t trials_count(const struct trials *trials);
/* The values of one, valid until the next trials_add. */
const double *trials_get(const struct trials *trials, size_t index);
/* Adds one, to the file too. INTERNAL: it cannot be written. NOMEM. */
enum cuttle_status trials_add(struct trials *trials, const double *values,
                              struct cuttle_error *error);
/* Wipes and frees what is in memory; the file stays, or is removed when `done`. Nulls the handle.
 * NULL handles are fine. */
void trials_close(struct trials **trials, bool done);

#endif
