// SPDX-License-Identifier: Apache-2.0
// The trace file: JSON lines about single steps, PRIVATE, as its first line says.
//
// Mode 0600, made here and nowhere else: a file that stands already, a symbolic link or a device is refused. All lines of steps are equally
// long, so that the file's size tells no more than the output does. The one exception is the command that is continued: it goes on behind
// the last whole line of its own trace. A step that was drawn at the moment of a kill may be missing.
#ifndef CUTTLE_IO_TRACE_H
#define CUTTLE_IO_TRACE_H

#include "engine/trace.h"
#include "io/hash.h"

struct trace;

/* `resumed`: tokens of an earlier run of this command stand in its journal. USAGE: something stands at path; cannot be created. PARTIAL:
 * cannot be written. NOMEM. */
enum cuttle_status trace_open(const char *path, const char fingerprint[HASH_TEXT], bool resumed, struct trace **trace,
                              struct cuttle_error *error);
/* For struct cuttle_trace. Nonzero: see trace_problem. */
int trace_step(void *trace, const struct cuttle_trace_step *step);
/* PARTIAL when a step could not be written, else OK. */
enum cuttle_status trace_problem(const struct trace *trace, struct cuttle_error *error);
/* A trace without steps is removed. Nulls the handle. NULL handles are fine. */
void trace_close(struct trace **trace);

#endif
