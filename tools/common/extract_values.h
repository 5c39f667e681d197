// SPDX-License-Identifier: Apache-2.0
// extract_values.h: the options that say how texts are written from documents and notes, for every
// verb that does it.
//
// No private data. A verb's own struct has a struct extract_values and a struct extract_request:
//
//     EXTRACT_OPTIONS(struct some_values, text, request),
//     ... options_parse ... extract_values_settle(&values.text, &values.request);
#ifndef CUTTLE_TOOLS_COMMON_EXTRACT_VALUES_H
#define CUTTLE_TOOLS_COMMON_EXTRACT_VALUES_H

#include "tools/common/options.h"
#include "workflow/extract.h"

struct extract_values {
	uint64_t insecure_seed; /* COUNT_NONE = the system's random bits */
	int form;               /* 0 continue, 1 instruct */
	bool whole;             /* a blank line ends no text */
};

/* What is told of every text that is computed from a raw document. */
#define EXTRACT_STAMP                                                                              \
	"PRIVATE: computed from the raw document. It has no guarantee and must stay where the "    \
	"document is."

// clang-format off
#define EXTRACT_OPTIONS(structure, values, request) \
	{.name = "max-tokens", .letter = 'n', OPTION(structure, request.params.tokens), \
	 .argument = "T", \
	 .least = 1, .most = 4096, \
	 .help = "most tokens of a text (default 100)"}, \
	{.name = "temperature", OPTION(structure, request.params.temperature), \
	 .range = "0, or from 0.000001 to 16, as in 0.5", .argument = "TAU", \
	 .help = "sampling temperature (default 0.5); 0: always the likeliest token, with which " \
	         "the same command writes the same texts"}, \
	{.name = "whole", OPTION(structure, values.whole), \
	 .help = "write on behind a blank line, which otherwise ends a text"}, \
	{.name = "template", OPTION(structure, values.form), .argument = "continue|instruct", \
	 .help = "continue (default): plain text, the notes, a blank line and the document; " \
	         "instruct: a request in the model's chat format, for models that follow one"}, \
	{.name = "prompt", OPTION(structure, request.prompt), .argument = "FILE", \
	 .help = "own words, with {document} in them once and {notes} at most once"}, \
	{.name = "chat-format", OPTION(structure, request.params.chat_format), .argument = "NAME", \
	 .help = "that format, instead of the one the model's template is known as: chatml, " \
	         OTHER_CHAT_FORMATS}, \
	{.name = "system", OPTION(structure, request.params.system), .argument = "TEXT", \
	 .help = "system message; without it that of the model's own template, if any; '' is " \
	         "none"}, \
	{.name = "ctx-size", .letter = 'c', OPTION(structure, request.params.context), \
	 .argument = "TOKENS", .most = UINT32_MAX, \
	 .help = "longest prompt plus text; what does not fit is cut (default: the model's " \
	         "context, at most 4096)"}
#define EXTRACT_PARALLEL_OPTION(structure, request) \
	{.name = "parallel", OPTION(structure, request.params.parallel), .argument = "TEXTS", \
	 .most = 256, \
	 .help = "texts in flight at once (default: as suits the memory); results do not depend " \
	         "on it"}
// clang-format on

/* Completes the request by these values. */
void extract_values_settle(const struct extract_values *values, struct extract_request *request);

#endif
