// SPDX-License-Identifier: Apache-2.0
// records_odd.h: records that would take more memory than others if reading let them: of JSONL, of
// CSV, and of both with a schema. Each is a beginning, a filling that stands so many times, an end.
#ifndef CUTTLE_TESTS_IO_RECORDS_ODD_H
#define CUTTLE_TESTS_IO_RECORDS_ODD_H

#include <stddef.h>

static const struct {
	const char *begin, *filling, *end;
	size_t fillings;
} ODD_RECORDS[4][7] = {{{"{\"text\":\"", "0123456789", "\"}", 1600000},
                        {"{\"text\":\"a\",\"other\":[", "[1,2],", "0]}", 1000000},
                        {"{\"id\":\"", "0123456789", "\",\"text\":\"a\"}", 1600000},
                        {"{\"", "0123456789", "\":1,\"text\":\"a\"}", 1600000},
                        {"{\"text\":\"", "0123456789", "\"}", 2000000},
                        {"{\"text\":\"a\",\"n\":1e400,\"other\":\"", "0123456789", "\"}", 1600000},
                        {"{\"text\":\"a\",\"other\":[", "NaN,", "0]}", 4000000}},
                       {{"2,a,", "0123456789", "", 1600000},
                        {"2,", "0123456789", ",text", 1600000},
                        {"", "0123456789", ",a,text", 1600000},
                        {"2,a,\"", "0\"\"123456789", "\"", 1600000},
                        {"2,a,", "0123456789", "", 2000000},
                        {"2,a,\"", "0123456789", "", 1600000}},
                       {{"{\"a\":[", "1e17,", "0]}", 1900000}, // longer in its form
                        {"{\"a\":[", "-1e17,", "0]}", 2090000},
                        {"{\"a\":[", "1e17,", "true]}", 1900000}, // no form
                        {"{\"text\":\"", "\\u0001", "\"}", 2700000},
                        {"{\"text\":\"", "0123456789", "\"}", 1600000},
                        {"{\"text\":\"", "0123456789", "\"}", 2000000}},
                       {{"2,a,", "0123456789", "", 1600000},
                        {"2,", "0123456789", ",text", 1600000},
                        {"", "0123456789", ",a,text", 1600000},
                        {"2,a,\"", "0\"\"123456789", "\"", 1600000},
                        {"2,a,", "0123456789", "", 2000000},
                        {"2,a", ",", "", 10000000},
                        {"2,a,", "\001", "", 16000000}}}; // longer in its form

#endif
