// SPDX-License-Identifier: Apache-2.0
// tagger.h: asks another program for the spans of a text: --tagger CMD.
//
// Private texts go to that program, over a pipe. No shell is used: the command is split at spaces,
// so neither the program's path nor an argument can have one; a script can. The program is looked
// for in PATH and gets our environment. For each text it reads a line and writes a line, at once:
//   {"id":1,"text":"Dr. Roe"}
//   {"id":1,"spans":[{"start":0,"end":7,"entity_type":"PERSON"}]}        by code points
// The id is the number of the document. At the end of its standard input it ends, with exit code 0.
// Its standard error goes to /dev/null: it could hold words of a text.
// Whatever differs from that is INPUT: a text without its spans would stand there unprotected.
#ifndef CUTTLE_IO_DOCUMENTS_TAGGER_H
#define CUTTLE_IO_DOCUMENTS_TAGGER_H

#include "io/documents/spans.h"

struct tagger;

/* Starts the program. `seconds` is how long it may take for one text. USAGE: the command is empty,
 * or has more than 64 words. INPUT: it cannot be started. NOMEM. On failure *tagger is NULL. */
enum cuttle_status tagger_start(const char *command, unsigned seconds, struct tagger **tagger,
                                struct cuttle_error *error);
/* Asks for the spans of the text in *spans, document `number`, and puts them behind those that
 * *spans has. INPUT: the program ended, is late, or answers wrongly. NOMEM. */
enum cuttle_status tagger_ask(struct tagger *tagger, const struct spans_request *request,
                              size_t number, struct span_types *types, struct spans *spans,
                              struct cuttle_error *error);
/* Closes the program's standard input and waits until it ends; kills it when it is late. Wipes and
 * frees. With status OK: INPUT when it wrote more than was asked or ended with another exit code
 * than 0. With another status it is killed at once, that status is returned, and *error stays. */
enum cuttle_status tagger_stop(struct tagger **tagger, enum cuttle_status status,
                               struct cuttle_error *error);

#endif
