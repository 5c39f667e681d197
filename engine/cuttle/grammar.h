// SPDX-License-Identifier: Apache-2.0
// grammar.h: which texts exist: a public grammar in GBNF, the notation of llama.cpp.
// No private data: a grammar is public, and so is what follows from it.
// Example, an answer of one word and a number below 100:
//     root ::= ("yes" | "no") ", " [0-9]{1,2} "\n"
//
// A rule is NAME ::= what it stands for; `root` stands for a whole text. A name has letters,
// digits, - and _. What a rule may stand for:
//   "text"         these characters; \n \r \t \\ \" \[ \], \x41, \u00e9 and \U0001f600 are
//                  characters, too
//   [a-z0-9_]      one character of these; [^"\n] is any character but these
//   .              any character
//   name           what that rule stands for
//   a b            a, then b;  a | b  is one of them;  (a b)  is a group
//   a? a* a+       none or one, any number, one or more
//   a{3} a{3,} a{3,5} a{,5}   so many, at most 1,000,000; large numbers cost nothing
// # begins a comment. A line's end ends a rule, but for one in parentheses, behind ::= or behind |.
// Texts are UTF-8: no character is a surrogate. Tokens by name (<think>) are refused.
#ifndef CUTTLE_GRAMMAR_H
#define CUTTLE_GRAMMAR_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It never changes once it was read: any number of threads may use it at the same time. */
struct cuttle_grammar;

/* Reads gbnf[size], which may go away afterwards. The caller frees *out; it is NULL on failure.
 * INPUT: it is no grammar, or one that we refuse: more than 1 MiB, more than 256 groups or
 * repetitions in each other, a rule that is not there or is there twice, no root, a rule that
 * begins with itself (left recursion), a rule that never ends. The message has line and column.
 * NOMEM. Takes less than a second and 100 MB, whatever the text. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_grammar_read(const char *gbnf, size_t size,
                                                                 struct cuttle_grammar **out,
                                                                 struct cuttle_error *error);
/* Sets *grammar to NULL; NULL is fine. */
CUTTLE_API void cuttle_grammar_free(struct cuttle_grammar **grammar);

#ifdef __cplusplus
}
#endif

#endif
