// SPDX-License-Identifier: Apache-2.0
// perturb_values.h: the options that say how words are perturbed, for every verb that does it.
//
// No private data. A verb's own struct has a struct perturb_values and a struct perturb_request:
//
//     PERTURB_OPTIONS(struct some_values, method, request),
//     ... options_parse ... fault = perturb_values_settle(&values.method, &values.request);
#ifndef CUTTLE_TOOLS_COMMON_PERTURB_VALUES_H
#define CUTTLE_TOOLS_COMMON_PERTURB_VALUES_H

#include "tools/common/options.h"
#include "workflow/perturb.h"

struct perturb_values {
	struct option_list keep; /* punctuation, numbers */
	double epsilon;          /* of a word; NaN = not given */
	double list_share;       /* NaN = not given */
	double keep_share;       /* NaN = not given */
	uint64_t near;           /* k or K; COUNT_NONE = not given */
	int method;              /* enum cuttle_word_method */
	int table;               /* enum cuttle_rank_table; CHOICE_NONE = step */
	int radius;              /* 0 fitted, 1 paper; CHOICE_NONE = fitted */
};

#define PERTURB_DEFAULTS                                                                           \
	{                                                                                          \
		.epsilon = NAN, .list_share = NAN, .keep_share = NAN, .near = COUNT_NONE,          \
		.table = CHOICE_NONE, .radius = CHOICE_NONE                                        \
	}

// clang-format off
#define PERTURB_WORDS_OPTION(structure, request) \
	{.name = "words", .first = true, OPTION(structure, request.words), .argument = "FILE", \
	 .help = "the output words with their vectors, made by cuttle words; public"}
#define PERTURB_OPTIONS(structure, values, request) \
	{.name = "epsilon", .first = true, .letter = 'e', OPTION(structure, values.epsilon), \
	 .range = "above 0 and at most 64, as in 6", .argument = "EPS", \
	 .help = "privacy loss per word, up to six decimals (default 6)"}, \
	{.name = "method", OPTION(structure, values.method), \
	 .argument = "rank|rantext|santext|santext+|custext|custext+", \
	 .help = "rank (default) has the guarantee; the others are published baselines, without"}, \
	{.name = "table", OPTION(structure, values.table), .argument = "step|envelope", \
	 .help = "of rank: the k nearest words alike and all others alike (default), or less " \
	         "with every rank"}, \
	{.name = "near", .letter = 'k', OPTION(structure, values.near), .argument = "K", \
	 .least = 1, .most = UINT32_MAX, \
	 .help = "of rank with steps: how many words count as near; of custext: words of a set " \
	         "(default 20)"}, \
	{.name = "max-words", .first = true, .letter = 'N', \
	 OPTION(structure, request.record_words), \
	 .argument = "N", .least = 1, .most = CUTTLE_PERTURB_MOST_PLACES, \
	 .help = "read at most N words of a text, and of its first 64 N bytes, but at least " \
	         "16,384 (default: all)"}, \
	{.name = "pad", .first = true, OPTION(structure, request.pad), \
	 .help = "every text becomes exactly N words: a guarantee for the whole record, N EPS"}, \
	{.name = "keep", OPTION(structure, values.keep), .argument = "punctuation|numbers", \
	 .most = 2, \
	 .help = "leave punctuation and line breaks as they are, or let a number become a " \
	         "number, 1 to 1000: declares them public; may be given twice"}, \
	{.name = "list-share", OPTION(structure, values.list_share), \
	 .range = "above 0 and below 1, as in 0.1", .argument = "SHARE", \
	 .help = "of rantext: mean share of all words that a list has (default 0.1)"}, \
	{.name = "radius", OPTION(structure, values.radius), .argument = "fitted|paper", \
	 .help = "of rantext: fitted to the share (default), or the constants of the paper, for " \
	         "the vectors of the paper"}, \
	{.name = "keep-share", OPTION(structure, values.keep_share), \
	 .range = "from 0 to 1, as in 0.7", .argument = "SHARE", \
	 .help = "of santext+: how likely a word that is not sensitive goes out in clear " \
	         "(default 0.7)"}, \
	{.name = "sensitive", OPTION(structure, request.sensitive), .argument = "FILE", \
	 .help = "of santext+: public list of the words that are always replaced, one a line"}, \
	{.name = "stop-words", OPTION(structure, request.stop_words), .argument = "FILE", \
	 .help = "of custext+: public list of words that go out in clear, one a line"}, \
	{.name = "ledger", .first = true, OPTION(structure, request.common.ledger), \
	 .argument = "FILE", \
	 .help = "count this run in the ledger before it draws; rank with -N and --pad only"}, \
	{.name = "dataset", .first = true, OPTION(structure, request.common.dataset), \
	 .argument = "NAME", \
	 .help = "what the records are called, in the receipt and in the ledger"}
// clang-format on

/* Completes the request by these values. Returns what is wrong with them, or NULL. */
const char *perturb_values_settle(const struct perturb_values *values,
                                  struct perturb_request *request);

#endif
