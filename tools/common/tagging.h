// SPDX-License-Identifier: Apache-2.0
// tagging.h: finds the spans of a text as --tagger and --names say.
//
// Spans are found by the rules of tag/, by the operator's list of names, or by another program.
// Private texts pass through. For example:
//   status = tagging_open(&values, &tagging, &error);
//   status = tagging_text(&tagging, &request, number, types, &spans, &error);   for each document
//   status = tagging_close(&tagging, status, &error);
#ifndef CUTTLE_TOOLS_COMMON_TAGGING_H
#define CUTTLE_TOOLS_COMMON_TAGGING_H

#include "io/documents/tagger.h"
#include "tag/names.h"
#include "tools/common/options.h"

/* The options' values. */
struct tagging_values {
	const char *tagger; /* "rules", "none", or a command */
	const char *names;  /* path of the list; NULL = none */
	uint64_t seconds;   /* that a command may take for one text */
};
#define TAGGING_DEFAULTS                                                                           \
	{ .tagger = "rules", .seconds = 60 }
// clang-format off
/* `usual` is the tagger of those who give none, as the help says it. */
#define TAGGING_OPTIONS(structure, member, usual) \
	{.name = "tagger", OPTION(structure, member.tagger), .argument = "rules|none|CMD", \
	 .help = "rules: those of cuttle. none: the spans that the documents have. Or a command, " \
	         "split at spaces. It gets a line {\"id\",\"text\"} for each document and " \
	         "answers with a line {\"id\",\"spans\"}, as examples/tag_presidio.py does " \
	         "(default " usual ")"}, \
	{.name = "tagger-seconds", OPTION(structure, member.seconds), .argument = "S", .least = 1, \
	 .most = 86400, .help = "how long a command may take for one document (default 60)"}, \
	{.name = "names", .first = true, OPTION(structure, member.names), .argument = "FILE", \
	 .help = "find these names too, in any case of letters, with other spaces, dashes or " \
	         "forms of accents: one a line, of type PERSON, or of the type behind a tab"}
// clang-format on

struct tagging {
	bool rules;
	struct names *names;   /* NULL = no list */
	struct tagger *tagger; /* NULL = no command */
	const struct tagging_values *values;
};

/* Whether the documents' own spans are what is wanted: with none, and without a list. */
bool tagging_takes_own(const struct tagging_values *values);
/* Reads the list and starts the command. INPUT: one of them cannot be used. USAGE: as
 * tagger_start. NOMEM. On failure there is nothing to close. */
enum cuttle_status tagging_open(const struct tagging_values *values, struct tagging *tagging,
                                struct cuttle_error *error);
/* Puts what is found behind the spans that *spans has. INPUT: the command fails. NOMEM. */
enum cuttle_status tagging_text(const struct tagging *tagging, const struct spans_request *request,
                                size_t number, struct span_types *types, struct spans *spans,
                                struct cuttle_error *error);
/* As tagger_stop. */
enum cuttle_status tagging_close(struct tagging *tagging, enum cuttle_status status,
                                 struct cuttle_error *error);
enum { TAGGING_WORDS = 96 };
/* Who tags, in words that name no path: "rules 1 and names", "whoever made the spans". */
void tagging_words(const struct tagging_values *values, char words[TAGGING_WORDS]);
/* Says on standard error what tagged, and that what it misses is not protected. */
void tagging_warn(const struct verb *verb, const struct tagging_values *values);

#endif
