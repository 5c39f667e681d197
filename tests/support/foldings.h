// SPDX-License-Identifier: Apache-2.0
// foldings.h: pairs that io/text/fold.h takes for the same words: one of each rule. Whoever looks
// for words must find each in place of the other.
#ifndef CUTTLE_TESTS_SUPPORT_FOLDINGS_H
#define CUTTLE_TESTS_SUPPORT_FOLDINGS_H

static const char *const FOLDINGS[][2] = {
    {"\uFEFFAnna Roe", "Anna Roe"},                           // a byte order mark
    {"Anna Roe\r", "Anna\r\nRoe"},                            // line ends of Windows
    {"Anna Roe", "Anna \t\n   Roe"},                          // a run of white space
    {"Anna Roe", "Anna\u00a0Roe"},                            // spaces that do not break
    {"Anna Roe", "Anna\u202f Roe"},                           //
    {"Anna Roe", "ANNA ROE"},                                 // case
    {"\u00c9va \u017b\u00f3raw", "\u00e9VA \u017c\u00d3RAW"}, // of letters with accents
    {"\u0398\u0395\u039f\u03a3", "\u03b8\u03b5\u03bf\u03c2"}, // two small letters of one capital
    {"\u10e1\u10d0\u10da\u10dd", "\u1ca1\u1c90\u1c9a\u1c9d"}, // of Georgian
    {"STRASSE", "Stra\u00dfe"},                               // one letter for two
    {"Jos\u00e9", "Jose\u0301"},                              // forms C and D
    {"\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"},
    {"O'Brien", "O\u2019Brien"}, // signs
    {"Anna-Lena", "Anna\u2010Lena"},
    {"Anna-Lena", "Anna\u2011Lena"},
    {"Anna-Lena", "Anna\u2012Lena"},
    {"Anna-Lena", "Anna\u2013Lena"},
    {"Anna-Lena", "Anna\u2212Lena"},
    {"Hoffmann", "Hoff\u00admann"}, // a soft hyphen
};
enum { FOLDING_COUNT = sizeof FOLDINGS / sizeof *FOLDINGS };

#endif
