// SPDX-License-Identifier: Apache-2.0
// Tests io/disk/formats: what files of other programs are refused by, and with which command. It
// fails if an ending or a mark is not known, or if a mark is one that a table or JSON may begin
// with.
#include "io/disk/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(literal) (literal), sizeof(literal) - 1

/* Endings of other formats, and what the advice has. */
static const char *const named[][2] = {
    {"a.pq", ".read_parquet("},    {"a.arrow", ".read_feather("},
    {"a.ipc", ".read_feather("},   {"a.Feather", ".read_feather("},
    {"a.orc", ".read_orc("},       {"a.avro", "fastavro.reader("},
    {"a.dta", ".read_stata("},     {"a.sas7bdat", ".read_sas("},
    {"a.xpt", "format='xport'"},   {"a.sav", ".read_spss("},
    {"a.zsav", ".read_spss("},     {"a.pkl", ".read_pickle("},
    {"a.pickle", ".read_pickle("}, {"a.h5", ".read_hdf("},
    {"a.npy", "numpy.load("},      {"a.arrows", "open_stream('"},
    {"a.npz", "['NAME']"},         {"a.rds", "readRDS("},
    {"a.RData", "load("}};

static const struct {
	const char *bytes;
	size_t size;
	const char *says;
} marks[] = {{BYTES("ARROW1\0\0 secret"), ".read_feather("},
             {BYTES("FEA1\0\0\0\0 secret"), ".read_feather("},
             {BYTES("Obj\x01 secret"), "fastavro.reader("},
             {BYTES("<stata_dta><header>secret"), ".read_stata("},
             {BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60 secret"), "'infer'"},
             {BYTES("HEADER RECORD*******LIBRARY secret"), "format='xport'"},
             {BYTES("$FL2@(#) secret"), ".read_spss("},
             {BYTES("\x80\x04\x95 secret"), ".read_pickle("},
             {BYTES("\x80\x05\x95 secret"), "you do not trust)"},
             {BYTES("\x80\x02"
                    "cpandas secret"),
              ".read_pickle("},
             {BYTES("\x80\x03] secret"), "DataFrame(pandas.read_pickle('a.jsonl'))"},
             {BYTES("\xff\xff\xff\xff\x10 secret"), "open_stream('a.jsonl')"},
             {BYTES("q\x02\x01\0 secret"), ".read_stata("},
             {BYTES("r\x02\x01\0 secret"), ".read_stata("},
             {BYTES("s\x02\x01\0 secret"), ".read_stata("},
             {BYTES("\x89HDF\r\n\x1a\n secret"), ".read_hdf("},
             {BYTES("\x93NUMPY secret"), "numpy.load("}};

static void endings_are_known(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		struct cuttle_error error = {""};
		assert_int_equal(formats_check_name(named[i][0], &error), CUTTLE_INPUT);
		assert_non_null(strstr(error.message, named[i][1]));
		assert_non_null(strstr(error.message, named[i][0]));
		assert_int_equal(formats_check_output("-o", named[i][0], &error), CUTTLE_USAGE);
	}
}

static void marks_are_known(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		struct cuttle_error error = {""};
		assert_int_equal(
		    formats_check_start("a.jsonl", marks[i].bytes, marks[i].size, &error),
		    CUTTLE_INPUT);
		assert_non_null(strstr(error.message, marks[i].says));
		assert_null(strstr(error.message, "secret"));
	}
}

/* Standard input has no name that a command could take. */
static void standard_input_is_a_file(void **state) {
	(void)state;
	struct cuttle_error error = {""};
	assert_int_equal(formats_check_start("-", BYTES("ARROW1\0\0"), &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "standard input is Arrow"));
	assert_non_null(strstr(error.message, ".read_feather('FILE')"));
}

/* Columns may have these names, and a line of JSON may be any text without a mark. */
static void other_starts_are_inputs(void **state) {
	(void)state;
	static const char *const starts[] = {"ORC,text", "FEA1,text", "ARROW1,text", "Obj,text",
	                                     "RDX3\n",   "HDF,text",  "NUMPY,text",  "\x80\x04",
	                                     "q,r,s\n",  "r\t\x01"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		assert_int_equal(formats_check_start("a.csv", starts[i], strlen(starts[i]), NULL),
		                 CUTTLE_OK);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(endings_are_known),
	    cmocka_unit_test(marks_are_known),
	    cmocka_unit_test(standard_input_is_a_file),
	    cmocka_unit_test(other_starts_are_inputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
