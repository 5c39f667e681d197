// SPDX-License-Identifier: Apache-2.0
// trace.h: writes the trace file: a JSON line about each step of a run, for researchers.
//
// It serves generate --trace. The file is PRIVATE, and its first line says so. It has mode 0600 and
// is made here: a file that stands already, a symbolic link or a device is refused. Only the same
// command, continued, may reopen its own trace. It goes on behind the last whole line. A file
// without a byte is nobody's: a command that was killed may have left it.
//
// All lines of steps are equally long, so the file's size tells no more than the output does. When
// a run is killed, the step drawn at that moment may be missing.
#ifndef CUTTLE_IO_OUTPUT_TRACE_H
#define CUTTLE_IO_OUTPUT_TRACE_H

#include "engine/cuttle/trace.h"
#include "io/disk/hash.h"

struct trace;

/* `resumed`: the command's journal holds tokens of an earlier run. USAGE: something else stands at
 * path, or the file cannot be created. PARTIAL: it cannot be written. NOMEM. */
enum cuttle_status trace_open(const char *path, const char fingerprint[HASH_TEXT], bool resumed,
                              struct trace **trace, struct cuttle_error *error);
/* For struct cuttle_trace. Nonzero: see trace_problem. */
int trace_step(void *trace, const struct cuttle_trace_step *step);
/* PARTIAL when a step could not be written, else OK. */
enum cuttle_status trace_problem(const struct trace *trace, struct cuttle_error *error);
/* Removes a trace without steps. Nulls the handle. NULL handles are fine. */
void trace_close(struct trace **trace);

#endif
