// SPDX-License-Identifier: Apache-2.0
// Tests io/records/records.c. It fails if an odd record does not keep its place as null, if it
// stops the run, or if anything but the file as a whole is reported as wrong. It fails if a message
// has a word of the content, or if what a record says shows in how much memory reading maps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/records/records.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include "io/schema/schema.h"
#include "tests/io/records_odd.h"
#include "tests/support/files.h"
#include "tests/support/statistics.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES(literal) literal, sizeof(literal) - 1
static char folder[] = "/tmp/cuttle-records-XXXXXX";
static char path[128];

static void write_bytes(const char *name, const char *bytes, size_t size) {
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	files_put(path, bytes, size);
}

static struct records *read_limited(const char *name, const char *bytes, size_t size,
                                    size_t limit) {
	struct cuttle_error error;
	struct records *records;
	struct records_request request = {
	    .path = path, .field = "text", .id_field = "id", .limit = limit};
	write_bytes(name, bytes, size);
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_OK);
	return records;
}

/* Texts joined by '|', "~" for null, ids behind '#'. */
static void expect(const char *name, const char *bytes, size_t size, const char *wanted) {
	struct records *records = read_limited(name, bytes, size, SIZE_MAX);
	char shown[1024] = "";
	size_t used = 0;
	for (size_t i = 0; i < records_count(records); i++) {
		size_t text_size, id_size;
		const char *text = records_text(records, i, &text_size),
		           *id = records_id(records, i, &id_size);
		used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s", i ? "|" : "",
		                         text ? (int)text_size : 1, text ? text : "~");
		if (id)
			used += (size_t)snprintf(shown + used, sizeof shown - used, "#%.*s",
			                         (int)id_size, id);
	}
	assert_string_equal(shown, wanted);
	records_free(&records);
	assert_null(records);
}

static void jsonl_oddities(void **state) {
	(void)state;
	expect("a.jsonl", BYTES(""), "");
	expect("a.jsonl", BYTES("\n"), "~");
	expect("a.jsonl", BYTES("{\"text\":\"a\"}\n{\"text\":\"b\"}"), "a|b");
	expect("a.jsonl", BYTES("\xEF\xBB\xBF{\"text\":\"a\"}\r\n\r\n{\"text\":\"b\"}\r\n"),
	       "a|~|b");
	expect("a.jsonl",
	       BYTES("{\"text\":null}\n{\"text\":7}\n{\"other\":\"x\"}\n[\"text\"]\n\"text\"\nnot "
	             "json\n{\"text\":\"z\"}x\n{\"text\":\"ok\"}\n"),
	       "~|~|~|~|~|~|~|ok");
	expect("a.jsonl",
	       BYTES("{\"text\":\"\xFF\"}\n{\"text\":\"\\ud800\"}\n{\"text\":\"\xC3\xA9\"}\n{"
	             "\"text\":\"\"}\n"),
	       "~|~|\xC3\xA9|");
	expect("a.jsonl",
	       BYTES("{\"text\":\"a\",\"id\":7}\n{\"id\":\"x\\\"y\",\"text\":\"b\"}\n{\"id\":[1],"
	             "\"text\":\"c\"}\n"),
	       "a#7|b#\"x\\\"y\"|c");
	expect("a.jsonl", BYTES("{\"text\":\"a\",\"n\":99999999999999999999999}\n"), "a");
	// Numbers have no limit in JSON; one that nothing can hold is none.
	expect("a.jsonl",
	       BYTES("{\"text\":\"a "
	             "1e400\",\"n\":1e400,\"id\":7}\n{\"text\":1e400}\n{\"text\":\"b\",\"id\":"
	             "-1.5E+999}\n{\"text\":\"c\",\"n\":[1e400,99999999999999999999999]}\n"),
	       "a 1e400#7|~|b|c");
	expect("a.data", BYTES("{\"text\":\"by default JSONL\"}\n"), "by default JSONL");
	expect("a.jsonl", BYTES("a\0b\n{\"text\":\"c\"}\n"), "~|c");
	expect(
	    "a.jsonl",
	    BYTES(
	        "{\"text\":\"a\",\"id\":1,\"text\":\"b\",\"id\":2}\n{\"text\":\"a\",\"text\":7}\n"),
	    "b#2|~");
	expect("a.jsonl", BYTES("\n\xFF\xFE{\0\"\0\n\0{\"text\":\"c\"}\n"), "~|~|~");
	expect("a.jsonl", BYTES("[{\"text\":\"a\"},\n{\"text\":\"b\"}]\n{\"text\":\n\"c\"}\n"),
	       "~|~|~|~");
	expect("a.jsonl",
	       BYTES(" {\"text\":\"a\"}\t\r\n{\"text\":\"b\"}\r\r\n{\"text\":\"c\"}\0\n"), "a|b|~");
}

static void csv_oddities(void **state) {
	(void)state;
	expect("a.csv", BYTES("text\na\nb"), "a|b");
	expect("a.CSV", BYTES("\xEF\xBB\xBFid,text\r\n1,a\r\n2,b\r\n"), "a#\"1\"|b#\"2\"");
	expect("a.csv", BYTES("x,text\n1,\"two\nlines, and \"\"quotes\"\"\"\n2,b\n"),
	       "two\nlines, and \"quotes\"|b");
	expect("a.csv", BYTES("x,text\nshort\n1,\n1,\"\"\n1,\xFF\n1,ok,more\n"), "~|||~|ok");
	expect("a.csv", BYTES("text\na\n\nb\n\n"), "a|~|b|~");
	expect("a.csv", BYTES("text\r\na\r\n\r\n  \r\nb\r\n"), "a|~|~|b");
	expect("a.csv", BYTES("text\ra\rb\r"), "a|b");
	// The first line says what ends a line.
	expect("a.csv", BYTES("text,n\na\rb,1\nc\r,2\r\n\r,3\nd\r\r\ne"), "a\rb|c\r|\r|d|e");
	expect("a.csv", BYTES("text,n\r\na\rb,1\r\n\"c\"\rd,2\ne\r"), "a\rb|~|e");
	expect("a.csv", BYTES("text\ra\nb\r\nc"), "a|b|c");
	expect("a.csv", BYTES("\n\r\ntext\na\n"), "a");
	expect("a.csv", BYTES("text\n\"open to the end\nof the file"), "~|of the file");
	expect("a.csv", BYTES("text\n"), "");
	// Columns that are not used may have one name.
	expect("a.csv", BYTES("x,text,id,x,,\n1,a,1,2\n"), "a#\"1\"");
	expect("a.csv", BYTES("\xEF\xBB\xBF\"text\",\"x\"\r\n\"a\",1\r\n"), "a");
	expect("a.csv", BYTES("x,text\n1,a\"b\"\"c\n3,\"\"\"f\"\"\"\n"), "a\"b\"\"c|\"f\"");
}

/* A broken quote makes its own record null, and no other. */
static void broken_quotes(void **state) {
	(void)state;
	expect("a.csv", BYTES("id,text\n1,\"a\n2,b\n3,c\n"), "~|b#\"2\"|c#\"3\"");
	expect("a.csv", BYTES("id,text\n1,a\n2,\"b\" c\n3,d\n"), "a#\"1\"|~|d#\"3\"");
	// The next quote shows that the first one is open.
	expect("a.csv", BYTES("id,text\r\n1,\"a\r\n2,\"b\"\r\n3,\"c\nd\"\r\n"),
	       "~|b#\"2\"|c\nd#\"3\"");
	expect("a.csv", BYTES("text,id\n\"a\"x,1\n\"b\" ,2\n \"c\",3\n"), "~|b#\"2\"|c#\"3\"");
	// What closes over lines is a cell; the row ends where the bad quote opens.
	expect("a.csv", BYTES("id,text\n\"1\n\",\"a\n2,b"), "~|b#\"2\"");
	expect("a.csv", BYTES("id,text\n1,\"\n2,b\n3,\"\"\"\n"), "\n2,b\n3,\"#\"1\"");
	expect("a.csv", BYTES("text\na\n\""), "a|~");
	// A cell without quotes may have some.
	expect("a.csv", BYTES("id,text\n1,5\" pipe\n2,b\n"), "5\" pipe#\"1\"|b#\"2\"");
}

/* TSV has no quotes: a line is a record, whatever it begins with. */
static void tsv_has_no_quotes(void **state) {
	(void)state;
	expect("a.tsv", BYTES("id\ttext\n1\t\"a\n2\tb\n3\t\"c\"\n4\t\"d\"\"\" e\n"),
	       "\"a#\"1\"|b#\"2\"|\"c\"#\"3\"|\"d\"\"\" e#\"4\"");
}

/* The lines of broken quotes are told to the owner. */
static void lines_of_broken_quotes(void **state) {
	(void)state;
	static const size_t lines[] = {0, 4, 0, 6, 0, 8};
	static const enum record_state states[] = {RECORD_READABLE, RECORD_OPEN_QUOTE,
	                                           RECORD_READABLE, RECORD_AFTER_QUOTE,
	                                           RECORD_BLANK,    RECORD_OPEN_QUOTE};
	struct records *records =
	    read_limited("a.csv", BYTES("text\n\"a\nb\"\n\"c\nd\n\"e\"f\n\n\"g"), SIZE_MAX);
	assert_int_equal(records_count(records), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(records_fault_line(records, i), lines[i]);
		assert_int_equal(records_state(records, i), states[i]);
	}
	records_free(&records);
}

/* Broken quotes in long files, of which each is looked for through what follows. */
static void many_broken_quotes(void **state) {
	(void)state;
	enum { LINES = 1 << 19 };
	char *bytes = malloc(16 * LINES + 64);
	assert_non_null(bytes);
	static const char *const rows[] = {"1,\"a\n", "1,\"a\",\"b\n", "1,\"\"\"a\n", "1,a\n"};
	for (size_t i = 0; i < 4; i++) {
		size_t used = (size_t)sprintf(bytes, "id,text\n0,\"open\n");
		for (size_t j = 0; j < LINES; j++)
			used += (size_t)sprintf(bytes + used, "%s", rows[i]);
		used += (size_t)sprintf(bytes + used, "2,last\n");
		struct records *records = read_limited("a.csv", bytes, used, SIZE_MAX);
		size_t size;
		assert_int_equal(records_count(records), LINES + 2);
		assert_memory_equal(records_text(records, LINES + 1, &size), "last", 4);
		records_free(&records);
	}
	free(bytes);
}

/* 7 and "7" are one owner, however a system writes it; as a mere id each is what it was. A whole
 * number has as many digits as it likes. */
static void owners(void **state) {
	(void)state;
	static const char text[] = "{\"id\":7}\n{\"id\":7.0}\n{\"id\":\"7\"}\n{\"id\":-0.0}\n{"
	                           "\"id\":9223372036854775807}\n"
	                           "{\"id\":7,\"n\":99999999999999999999999}\n{\"id\":\"07\"}\n{"
	                           "\"id\":1.5}\n{\"id\":1e15}\n{\"id\":true}\n";
	static const char large[] =
	    "{\"id\":9223372036854775808}\n{\"n\":NaN,\"id\":-9223372036854775808}\n"
	    "{\"id\":-9223372036854775809,\"n\":\"\xff\"}\n{\"id\":18446744073709551615}\n"
	    "{\"id\":\"18446744073709551615\"}\n{\"id\":123456789012345678901234567890}\n"
	    "{\"id\":9007199254740993,\"n\":1e400}\n{\"id\":1e400}\n"
	    "{\"id\":18446744073709551615.0}\n{\"id\":\"n\xff\"}\n"
	    "{\"id\":018446744073709551615}\n{18446744073709551615:1,\"id\":1}\n";
	static const char *const wanted[2][2] = {
	    {"#7#7#\"7\"#0#9223372036854775807#7#\"07\"#~#~#~",
	     "#\"7\"#\"7\"#\"7\"#\"0\"#\"9223372036854775807\"#\"7\"#\"07\"#~#~#~"},
	    {"#\"9223372036854775808\"#-9223372036854775808#\"-9223372036854775809\"#"
	     "\"18446744073709551615\"#\"18446744073709551615\"#"
	     "\"123456789012345678901234567890\"#9007199254740993#~#~#~#~#~",
	     "#\"9223372036854775808\"#\"-9223372036854775808\"#\"-9223372036854775809\"#"
	     "\"18446744073709551615\"#\"18446744073709551615\"#"
	     "\"123456789012345678901234567890\"#\"9007199254740993\"#~#~#~#~#~"},
	};
	for (int owner = 0; owner < 4; owner++) {
		char shown[512] = "";
		const char *const bytes = owner < 2 ? text : large;
		struct records *records;
		write_bytes("a.jsonl", bytes, strlen(bytes));
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .id_field = "id",
		                                        .id_is_owner = owner % 2,
		                                        .limit = SIZE_MAX,
		                                        .most = 64};
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		for (size_t i = 0, used = 0; i < records_count(records); i++) {
			size_t size;
			const char *id = records_id(records, i, &size);
			used += (size_t)snprintf(shown + used, sizeof shown - used, "#%.*s",
			                         id ? (int)size : 1, id ? id : "~");
		}
		assert_string_equal(shown, wanted[owner / 2][owner % 2]);
		records_free(&records);
	}
}

/* Labels in plain words, and ids, are what they are whatever else the record holds. */
static void labels(void **state) {
	(void)state;
	static const char *const fields[] = {"kind", "stars"};
	static const char *const files[] = {
	    "{\"text\":\"a\",\"id\":7,\"kind\":\"x "
	    "y\",\"stars\":5}\n{\"stars\":5.0,\"id\":7,\"n\":99999999999999999999999}\n"
	    "{\"text\":7,\"kind\":[1],\"stars\":4.5}\nnot json\n",
	    "stars,kind,text\n5,x y,a\n5\n4.5\n\xFF\n",
	};
	for (int csv = 0; csv < 2; csv++) {
		size_t size;
		struct records *records;
		write_bytes(csv ? "a.csv" : "a.jsonl", files[csv], strlen(files[csv]));
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .id_field = csv ? NULL : "id",
		                                        .limit = SIZE_MAX,
		                                        .labels = fields,
		                                        .label_count = 2};
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		assert_int_equal(records_count(records), 4);
		assert_memory_equal(records_label(records, 0, 0, &size), "x y", 3);
		assert_int_equal(size, 3);
		for (size_t i = 0; i < 2; i++) {
			assert_memory_equal(records_label(records, i, 1, &size), "5", 1);
			assert_int_equal(size, 1);
			if (!csv) assert_memory_equal(records_id(records, i, &size), "7", 1);
		}
		assert_null(records_label(records, 1, 0, &size));
		assert_memory_equal(records_label(records, 2, 1, &size), "4.5", 3);
		assert_null(records_label(records, 2, 0, &size));
		assert_null(records_label(records, 3, 0, &size));
		assert_null(records_label(records, 3, 1, &size));
		records_free(&records);
	}
}

/* What is wrong with a record is nobody's business: not a byte of it on standard output or standard
 * error. */
static void nothing_is_said(void **state) {
	(void)state;
	char said[128];
	(void)snprintf(said, sizeof said, "%s/said", folder);
	FILE *file = fopen(said, "w+b");
	const int streams[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
	assert_non_null(file);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0 &&
	            dup2(fileno(file), STDERR_FILENO) >= 0);
	struct records *json = read_limited(
	    "a.jsonl",
	    BYTES("not json\n{\"text\":7}\n\n{\"text\":\"\xFF\"}\n{}\n{\"text\":\"\"}\n"),
	    SIZE_MAX);
	struct records *csv = read_limited("a.csv", BYTES("text\n\xFF\n\n\"\"\n\"open"), SIZE_MAX);
	assert_int_equal(fflush(NULL), 0);
	assert_true(dup2(streams[0], STDOUT_FILENO) >= 0 && dup2(streams[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < 2; i++) (void)close(streams[i]);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	assert_int_equal(ftell(file), 0);
	assert_int_equal(records_count(json), 6);
	assert_int_equal(records_count(csv), 4);
	records_free(&json);
	records_free(&csv);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(unlink(said), 0);
}

static void nul_bytes_are_kept(void **state) {
	(void)state;
	size_t size;
	struct records *records =
	    read_limited("a.jsonl", BYTES("{\"text\":\"a\\u0000b\"}\n"), SIZE_MAX);
	assert_memory_equal(records_text(records, 0, &size), "a\0b", 3);
	assert_int_equal(size, 3);
	records_free(&records);
	records = read_limited("a.csv", BYTES("text\n\"a\0b\"\n"), SIZE_MAX);
	assert_memory_equal(records_text(records, 0, &size), "a\0b", 3);
	assert_int_equal(size, 3);
	records_free(&records);
}

/* Above SOURCE_LINE a record is null, wherever the reads happen to end, and those beside it are
 * what they were. */
static void enormous_lines(void **state) {
	(void)state;
	enum { MOST = SOURCE_LINE };
	char *bytes = malloc(MOST + 256);
	assert_non_null(bytes);
	for (size_t shift = 0; shift < 3; shift++)
		for (size_t over = 0; over < 2; over++) {
			size_t used =
			    (size_t)sprintf(bytes, "{\"text\":\"%.*s\"}\n", (int)(shift * 40),
			                    "1234567890123456789012345678901234567890"
			                    "1234567890123456789012345678901234567890");
			const size_t begin = used;
			used += (size_t)sprintf(bytes + used, "{\"text\":\"");
			while (used < begin + MOST + over - 2) bytes[used++] = 'x';
			used += (size_t)sprintf(bytes + used, "\"}\n{\"text\":\"last\"}\n");
			struct records *records = read_limited("a.jsonl", bytes, used, SIZE_MAX);
			assert_int_equal(records_count(records), 3);
			size_t size;
			assert_true((records_text(records, 1, &size) != NULL) == !over);
			assert_memory_equal(records_text(records, 2, &size), "last", 4);
			records_free(&records);
		}
	memcpy(bytes, "text\nfirst\n", 11);
	memset(bytes + 11, 'x', MOST + 1);
	memcpy(bytes + 11 + MOST + 1, "\nlast\n", 6);
	struct records *records = read_limited("a.csv", bytes, 11 + MOST + 7, SIZE_MAX);
	size_t size;
	assert_int_equal(records_count(records), 3);
	assert_null(records_text(records, 1, &size));
	assert_memory_equal(records_text(records, 2, &size), "last", 4);
	records_free(&records);
	free(bytes);
}

static void cut_texts(void **state) {
	(void)state;
	struct records *records;
	size_t size;
	const struct records_request request = {
	    .path = path, .field = "text", .limit = 3, .most = 5};
	write_bytes(
	    "a.jsonl",
	    BYTES("{\"text\":\"  abcdefg\"}\n{\"text\":\"abcd\xC3\xA9\"}\n{\"text\":\" ab \"}\n"));
	assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
	const char *const wanted[] = {"abcde", "abcd", "ab"};
	for (size_t i = 0; i < 3; i++) {
		const char *text = records_text(records, i, &size);
		assert_int_equal(size, strlen(wanted[i]));
		assert_memory_equal(text, wanted[i], size);
	}
	records_free(&records);
}

/* Beside a text that may be cut a word of more than 1,024 bytes is none; one of as many as that is
 * kept, though six times as long in JSON.
 */
static void long_words(void **state) {
	(void)state;
	enum { MOST = 1024 };
	static const char *const fields[] = {"kind"};
	for (size_t over = 0; over < 2; over++)
		for (int csv = 0; csv < 2; csv++) {
			char bytes[16 * MOST], word[6 * MOST + 8] = "";
			for (size_t i = 0; i < MOST + over; i++)
				strcat(word, csv ? "\001" : "\\u0001");
			const int used = snprintf(bytes, sizeof bytes,
			                          csv ? "id,kind,text\n%s,%s,a\n"
			                              : "{\"id\":\"%s\",\"kind\":\"%s\"}\n",
			                          word, word);
			const struct records_request request = {.path = path,
			                                        .field = csv ? "text" : "kind",
			                                        .id_field = "id",
			                                        .limit = SIZE_MAX,
			                                        .labels = fields,
			                                        .label_count = 1,
			                                        .most = 5};
			struct records *records;
			size_t size;
			write_bytes(csv ? "a.csv" : "a.jsonl", bytes, (size_t)used);
			assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
			assert_int_equal(records_count(records), 1);
			assert_true((records_label(records, 0, 0, &size) != NULL) == !over);
			assert_int_equal(size, over ? 0 : MOST);
			assert_true((records_id(records, 0, &size) != NULL) == !over);
			assert_int_equal(size, over ? 0 : 6 * MOST + 2);
			records_free(&records);
		}
}

static void very_long_lines(void **state) {
	(void)state;
	enum { LONG = 8 << 20 };
	char *bytes = malloc(LONG + 64);
	assert_non_null(bytes);
	for (int csv = 0; csv < 2; csv++) {
		size_t used = (size_t)sprintf(bytes, csv ? "text\nfirst\n\""
		                                         : "{\"text\":\"first\"}\n{\"text\":\""),
		       size;
		memset(bytes + used, 'x', LONG);
		used += LONG;
		used += (size_t)sprintf(bytes + used,
		                        csv ? "\"\nlast\n" : "\"}\n{\"text\":\"last\"}\n");
		struct records *records =
		    read_limited(csv ? "a.csv" : "a.jsonl", bytes, used, SIZE_MAX);
		assert_int_equal(records_count(records), 3);
		const char *text = records_text(records, 1, &size);
		assert_int_equal(size, LONG);
		assert_true(text[0] == 'x' && text[LONG - 1] == 'x');
		assert_memory_equal(records_text(records, 2, &size), "last", 4);
		records_free(&records);
	}
	free(bytes);
}

/* Starts the process's peak of memory anew: what earlier tests took would hide what the next call
 * takes. */
static struct rusage usage_from_here(void) {
	struct rusage usage;
	const int file = open("/proc/self/clear_refs", O_WRONLY);
	if (file >= 0) assert_true(write(file, "5", 1) == 1 && !close(file));
	getrusage(RUSAGE_SELF, &usage);
	return usage;
}

/* A line of 100 MB, NULs but for its ends, is one null record; the memory of the reader is what it
 * was. */
static void a_line_of_100_megabytes(void **state) {
	(void)state;
	for (int csv = 0; csv < 2; csv++) {
		const char *const begin = csv ? "text\n\"" : "{\"text\":\"",
		                  *const end = csv ? "\"\nlast\n" : "\"}\n{\"text\":\"last\"}\n";
		struct rusage after;
		struct records *records;
		size_t size;
		write_bytes(csv ? "a.csv" : "a.jsonl", begin, strlen(begin));
		FILE *file = fopen(path, "ab");
		assert_non_null(file);
		assert_int_equal(ftruncate(fileno(file), 100000000), 0);
		assert_true(fputs(end, file) >= 0);
		assert_int_equal(fclose(file), 0);
		const struct records_request request = {
		    .path = path, .field = "text", .limit = SIZE_MAX, .most = 1000};
		const struct rusage before = usage_from_here();
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		getrusage(RUSAGE_SELF, &after);
		assert_int_equal(records_count(records), 2);
		assert_null(records_text(records, 0, &size));
		assert_memory_equal(records_text(records, 1, &size), "last", 4);
		print_message("100 MB in a line: %ld KiB more\n",
		              after.ru_maxrss - before.ru_maxrss);
#if !defined(__SANITIZE_ADDRESS__)
		assert_true(after.ru_maxrss - before.ru_maxrss <
		            48 << 10); // KiB: 16 MiB of the line, and jansson's blocks
#endif
		records_free(&records);
		assert_int_equal(truncate(path, 0), 0);
	}
}

/* The most bytes that this process ever had mapped, in KiB; 0 = the system does not say. */
static long most_mapped(void) {
	char line[128];
	long kib = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "VmPeak: %ld", &kib) == 1) break;
	if (file) (void)fclose(file);
	return kib;
}

/* Three records, in the midst one of a begin, many fillings and an end. Each reading maps as much.
 */
static void read_three(bool csv, const struct schema *schema, const char *begin,
                       const char *filling, size_t fillings, const char *end) {
	static const char *const labels[] = {"ward"};
	struct records *records;
	FILE *file = fopen(path, "wb");
	if (!file) _exit(2);
	(void)fputs(csv ? "id,ward,text\n1,a,first\n" : "{\"text\":\"first\"}\n", file);
	(void)fputs(begin, file);
	for (size_t i = 0; i < fillings; i++) (void)fputs(filling, file);
	(void)fprintf(file, "%s\n%s\n", end, csv ? "3,a,last" : "{\"text\":\"last\"}");
	if (fclose(file)) _exit(2);
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .schema = schema,
	                                        .id_field = "id",
	                                        .labels = labels,
	                                        .label_count = 1,
	                                        .limit = SIZE_MAX,
	                                        .most = 100};
	if (records_read(&request, &records, NULL) || records_count(records) != 3) _exit(2);
	records_free(&records);
}

/* A cell with quotes is rewritten as it is read. What stands behind it, of the schema or not, is
 * what it was; so no text decides whose it is. */
static void quotes_move_no_cell(void **state) {
	(void)state;
	static const char shape[] =
	    "{\"type\":\"object\",\"properties\":{\"the \\\"text\\\"\":{\"type\":\"string\"},"
	    "\"n\":{\"type\":\"number\"}},\"required\":[\"n\"]}";
	struct schema *schema;
	struct records *records;
	size_t size;
	assert_int_equal(schema_read(shape, sizeof shape - 1, &schema, NULL), CUTTLE_OK);
	write_bytes("a.csv",
	            BYTES("\"the \"\"text\"\"\",who,n,kind\n"
	                  "\"a\"\",\"\"p9\",p0,1,k\n\"\"\"b\"\"\",p1,2,\"an \"\"l\"\"\"\n"));
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .schema = schema,
	                                        .id_field = "who",
	                                        .labels = (const char *const[]){"kind"},
	                                        .label_count = 1,
	                                        .all_columns = true,
	                                        .limit = SIZE_MAX};
	assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
	assert_int_equal(records_count(records), 2);
	static const char *const wanted[2][3] = {
	    {"{\"the \\\"text\\\"\": \"a\\\",\\\"p9\", \"n\": 1}", "\"p0\"", "k"},
	    {"{\"the \\\"text\\\"\": \"\\\"b\\\"\", \"n\": 2}", "\"p1\"", "an \"l\""}};
	for (size_t i = 0; i < 2; i++) {
		const char *const text = records_text(records, i, &size);
		assert_non_null(text);
		assert_int_equal(size, strlen(wanted[i][0]));
		assert_memory_equal(text, wanted[i][0], size);
		assert_memory_equal(records_id(records, i, &size), wanted[i][1], 4);
		const char *const label = records_label(records, i, 0, &size);
		assert_int_equal(size, strlen(wanted[i][2]));
		assert_memory_equal(label, wanted[i][2], size);
	}
	records_free(&records);
	schema_free(schema);
}

/* As generate reads: what a tokenizer needs is nothing here. */
static void read_as_generate(int kind) {
	static const char shape[] =
	    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
	    "\"a\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}}}";
	static const char columns[] =
	    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
	    "\"id\":{\"type\":\"number\"},\"ward\":{\"anyOf\":[{\"const\":\"a\"},"
	    "{\"type\":\"boolean\"}]}}}";
	const bool csv = kind == 1 || kind == 3;
	struct schema *schema = NULL;
	(void)snprintf(path, sizeof path, "%s/%s", folder, csv ? "a.csv" : "a.jsonl");
	if (kind == 2 && schema_read(shape, sizeof shape - 1, &schema, NULL)) _exit(3);
	if (kind == 3 && schema_read(columns, sizeof columns - 1, &schema, NULL)) _exit(3);
	secrecy_begin();
	if (secrecy_room(0, NULL)) _exit(2);
	read_three(csv, schema, csv ? "2,a,text" : "{\"text\":\"text\"}", "", 0, "");
	(void)most_mapped();
	const long first = most_mapped();
	for (size_t i = 0; i < 7 && ODD_RECORDS[kind][i].begin; i += briefly() ? 3 : 1) {
		read_three(csv, schema, ODD_RECORDS[kind][i].begin, ODD_RECORDS[kind][i].filling,
		           ODD_RECORDS[kind][i].fillings, ODD_RECORDS[kind][i].end);
		if (most_mapped() != first) _exit(10 + (int)i);
	}
	schema_free(schema);
	_exit(0);
}

static void no_record_shows_in_the_memory(void **state) {
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("skipped with sanitizers: they map memory of their own\n");
	return;
#endif
	if (getenv("CUTTLE_TEST_RUNNER")) {
		print_message("skipped in an emulator: what is mapped is its own\n");
		return;
	}
	for (int kind = 0; kind < 4; kind++) {
		int status = 0;
		const pid_t child = fork();
		if (!child) read_as_generate(kind);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* A million records: what is held is the places and the texts as cut, and no more than the first
 * `limit` of them. */
static void a_million_records(void **state) {
	(void)state;
	enum { MILLION = 1000000, CUT = 20 };
	struct rusage after;
	struct records *records;
	size_t size;
	write_bytes("a.jsonl", "", 0);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	for (int i = 0; i < MILLION; i++)
		fprintf(file, "{\"text\":\"%07d and what is cut of each of these records\"}\n", i);
	assert_int_equal(fclose(file), 0);
	struct records_request request = {
	    .path = path, .field = "text", .limit = 3100, .most = CUT};
	for (int all = 0; all < 2; all++) {
		if (all) request.limit = SIZE_MAX;
		const struct rusage before = usage_from_here();
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		getrusage(RUSAGE_SELF, &after);
		const size_t count = all ? MILLION : 3100;
		assert_int_equal(records_count(records), count);
		assert_memory_equal(records_text(records, count - 1, &size),
		                    all ? "0999999 and what is " : "0003099 and what is ", CUT);
		assert_int_equal(size, CUT);
		print_message("%zu of a million records: %ld KiB more\n", count,
		              after.ru_maxrss - before.ru_maxrss);
#if !defined(__SANITIZE_ADDRESS__)
		assert_true((after.ru_maxrss - before.ru_maxrss) * 1024 <
		            (long)(count * (CUT + 2 * 24 + 8)) + (4 << 20));
#endif
		records_free(&records);
	}
	assert_int_equal(truncate(path, 0), 0);
}

/* Records that cross every boundary of the reader's chunks. */
static void many_records(void **state) {
	(void)state;
	enum { MANY = 30000 };
	char *bytes = malloc((size_t)MANY * 48), wanted[32];
	assert_non_null(bytes);
	for (int csv = 0; csv < 2; csv++) {
		size_t used = csv ? (size_t)sprintf(bytes, "text\r\n") : 0, size;
		for (int i = 0; i < MANY; i++)
			used += (size_t)sprintf(bytes + used,
			                        csv ? "\"n\n%d\"\r\n" : "{\"text\":\"n\\n%d\"}\n",
			                        i * 37);
		struct records *records =
		    read_limited(csv ? "a.csv" : "a.jsonl", bytes, used, SIZE_MAX);
		assert_int_equal(records_count(records), MANY);
		for (size_t i = 0; i < MANY; i++) {
			int length = sprintf(wanted, "n\n%d", (int)i * 37);
			const char *text = records_text(records, i, &size);
			assert_int_equal(size, length);
			assert_memory_equal(text, wanted, size);
		}
		records_free(&records);
		records = read_limited(csv ? "a.csv" : "a.jsonl", bytes, used, 123);
		assert_int_equal(records_count(records), 123);
		records_free(&records);
	}
	free(bytes);
}

static void limits(void **state) {
	(void)state;
	struct records *records =
	    read_limited("a.jsonl", BYTES("{\"text\":\"a\"}\n{\"text\":\"b\"}\n"), 1);
	assert_int_equal(records_count(records), 1);
	records_free(&records);
	records = read_limited("a.csv", BYTES("text\na\nb\n"), 0);
	assert_int_equal(records_count(records), 0);
	records_free(&records);
}

static void refuse(const char *name, const char *bytes, size_t size, const char *where) {
	struct cuttle_error error = {""};
	struct records *records;
	write_bytes(name, bytes, size);
	struct records_request request = {.path = path, .field = "text", .limit = SIZE_MAX};
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	assert_null(records);
	assert_non_null(strstr(error.message, where));
	assert_null(strstr(error.message, "secret"));
	assert_null(strchr(error.message, '\n'));
}

static void wrong_files(void **state) {
	(void)state;
	struct cuttle_error error;
	struct records *records;
	refuse("b.csv", BYTES(""), "line 1: ");
	refuse("b.csv", BYTES("\n\n"), "line 3: ");
	refuse("b.csv", BYTES("secret,other\nsecret,1\n"), "line 1: ");
	refuse("b.csv", BYTES("id;text\r\n1;secret\r\n"), "give --delimiter ';'");
	refuse("b.csv", BYTES("id\ttext\n1\tsecret\n"), "give --delimiter '\\t'");
	refuse("b.csv", BYTES("sep=;\r\nid;text\r\n1;secret\r\n"), "(tail -n +2) and give");
	refuse("b.csv", BYTES("ID,TEXT\n1,secret\n"), "give --text-field 'TEXT'");
	refuse("b.csv", BYTES("\"id\";\"text\"\n1;secret\n"), "give --delimiter ';'");
	refuse("b.csv", BYTES("sep=\t\nid\ttext\n1\tsecret\n"), "give --delimiter '\\t'");
	refuse("a.tsv", BYTES("id,text\n1,secret\n"), "no tab, but ',': give --delimiter ','");
	refuse("a.tsv", BYTES("\"id\"\t\"text\"\n1\tsecret\n"), "give --input-format csv");
	refuse("b.csv", BYTES("id,\"text\n1,secret\n"),
	       "line 1: the header row has a broken quote");
	refuse("b.csv", BYTES("id,\"text\n1\",secret\n"),
	       "line 1: the header row has a broken quote");
	refuse("b.csv", BYTES("id,\"te\"xt\n1,secret\n"),
	       "line 1: the header row has a broken quote");
	refuse("b.csv", BYTES("\r\n\r\nsecret,other\r\nsecret,1\r\n"), "line 3: ");
	refuse("b.csv", BYTES("\xFF\xFEt\0e\0x\0t\0\n\0a\0\n\0"), "UTF-16");
	struct records_request request = {
	    .path = "/nonexistent/file", .field = "text", .limit = SIZE_MAX};
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	request.path = folder;
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	assert_null(records);
}

/* Where all columns are wanted, that of owners or of a label is missed like that of texts. */
static void other_columns_are_missed(void **state) {
	(void)state;
	static const char *const labels[] = {"ward"};
	static const struct {
		const char *header, *says; /* NULL = nothing is missing */
	} cases[] = {{"text,who,ward", NULL},
	             {"text,Who,ward", "no column who, but Who: give --unit-key 'Who'"},
	             {"text,who,WARD", "no column ward, but WARD: give --category-field 'WARD'"},
	             {"text,who", "no column ward"}};
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		struct cuttle_error error;
		struct records *records;
		const char *says = i % 2 ? cases[i / 2].says : NULL;
		write_bytes("b.csv", cases[i / 2].header, strlen(cases[i / 2].header));
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .id_field = "who",
		                                        .all_columns = i % 2,
		                                        .limit = SIZE_MAX,
		                                        .labels = labels,
		                                        .label_count = 1};
		assert_int_equal(records_read(&request, &records, &error),
		                 says ? CUTTLE_INPUT : CUTTLE_OK);
		if (says) assert_non_null(strstr(error.message, says));
		records_free(&records);
	}
}

static void format_overrides_the_ending(void **state) {
	(void)state;
	struct cuttle_error error;
	struct records *records;
	write_bytes("a.jsonl", BYTES("text\na\n"));
	struct records_request request = {
	    .path = path, .field = "text", .format = RECORDS_CSV, .limit = SIZE_MAX};
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_OK);
	assert_int_equal(records_count(records), 1);
	records_free(&records);
}

/* Which of two columns is meant nobody can tell. The header row is public. */
static void two_columns_of_one_name(void **state) {
	(void)state;
	struct cuttle_error error;
	struct records *records;
	refuse("a.csv", BYTES("text,text,ward\nsecret,secret,A\n"),
	       "a.csv, line 1: columns 1 and 2 of the header row are both called text: give one");
	refuse("a.csv", BYTES("\nx,\"text\",x,text\nsecret\n"), "line 2: columns 2 and 4 of ");
	refuse("a.tsv", BYTES("text\tx\ttext\tx\nsecret\n"), "columns 1 and 3 of ");
	write_bytes("a.csv", BYTES("ward,id,text,id,ward\nsecret\n"));
	struct records_request request = {
	    .path = path, .field = "text", .id_field = "id", .limit = SIZE_MAX};
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "columns 2 and 4 of the header row are both "));
	request.id_field = NULL;
	request.labels = (const char *const[]){"ward"};
	request.label_count = 1;
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "columns 1 and 5 of the header row are both "));
	// A field that is text and category is one column.
	request.labels = (const char *const[]){"text"};
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_OK);
	records_free(&records);
	static const char json[] = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":"
	                           "\"string\"}}}";
	request = (struct records_request){.path = path, .limit = SIZE_MAX};
	struct schema *schema;
	assert_int_equal(schema_read(json, sizeof json - 1, &schema, NULL), CUTTLE_OK);
	request.schema = schema;
	assert_int_equal(records_read(&request, &records, &error), CUTTLE_INPUT);
	assert_non_null(strstr(error.message, "columns 2 and 4 of the header row are both "));
	schema_free(schema);
}

/* By the first bytes, or by the ending where the format is not given. */
static void foreign_formats(void **state) {
	(void)state;
	refuse("a.jsonl", BYTES("\x1f\x8b\x08 secret"), "zcat /tmp/cuttle-records-");
	refuse("a.jsonl", BYTES("\x28\xb5\x2f\xfd secret"), "zstdcat ");
	refuse("a.jsonl", BYTES("BZh91AY&SY secret"), "bzcat ");
	refuse("a.jsonl", BYTES("\xfd\x37zXZ\0 secret"), "xzcat ");
	refuse("a.jsonl", BYTES("PK\x03\x04 secret"), "unzip ");
	refuse("a.jsonl", BYTES("PAR1\x15 secret"), "read_parquet(");
	refuse("a.jsonl", BYTES("%PDF-1.7 secret"), "pdftotext ");
	refuse("a.jsonl", BYTES("SQLite format 3\0 secret"), "sqlite3 ");
	refuse("a.jsonl", BYTES("\xFF\xFE\0\0{\0\0\0"), "UTF-32");
	refuse("a.jsonl", BYTES("\xFE\xFF\0{"), "UTF-16");
	refuse("a.json", BYTES("{\"text\":\"secret\"}\n"), "jq -c '.[]' ");
	refuse("a.JSONL.GZ", BYTES("{\"text\":\"secret\"}\n"), "zcat ");
	refuse("a.json", BYTES("{\"entry\":[]}"), "jq -c '.entry[].resource' of a FHIR bundle");
	refuse("a.data", BYTES("MSH|^~\\&|secret"), "HL7 v2");
	refuse("a.xlsx", BYTES("PK\x03\x04 secret"), "libreoffice ");
	refuse("a.txt", BYTES("secret\n"), "jq -cR ");
}

/* What no mark begins is a record's own, also in the first line: an array, a torn mark, bytes that
 * are no text. */
static void first_lines_are_records(void **state) {
	(void)state;
	static const char *const lines[] = {
	    "[",   "[{\"text\":\"a\"}]", "",    " ",    "<html>", "PK",  "PAR1", "\x1f",    "\xFE",
	    "BZh", "text\tkind",         "ORC", "FEA1", "ARROW1", "Obj", "RDX3", "\x80\x04"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char bytes[64];
		const int size = snprintf(bytes, sizeof bytes, "%s\n{\"text\":\"b\"}\n", lines[i]);
		expect("a.jsonl", bytes, (size_t)size, "~|b");
	}
	// A format that is given outweighs the ending.
	write_bytes("a.json", BYTES("[1]\n{\"text\":\"b\"}\n"));
	const struct records_request request = {
	    .path = path, .field = "text", .format = RECORDS_JSONL, .limit = SIZE_MAX};
	struct records *records;
	assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
	assert_int_equal(records_count(records), 2);
	records_free(&records);
}

static void delimiters(void **state) {
	(void)state;
	struct {
		const char *name, *delimiter, *bytes, *text;
		enum records_format format;
		enum cuttle_status status;
	} tries[] = {
	    {"a.tsv", NULL, "id\ttext\n7\ta, b\n", "a, b", RECORDS_AUTO, CUTTLE_OK},
	    {"a.data", "\\t", "id\ttext\n7\t a; b \n", "a; b", RECORDS_AUTO, CUTTLE_OK},
	    {"a.data", "\t", "id\ttext\n7\t\"a\tb\"\n", "\"a", RECORDS_AUTO, CUTTLE_OK},
	    {"a.data", "\t", "id\ttext\n7\t\"a\tb\"\n", "a\tb", RECORDS_CSV, CUTTLE_OK},
	    {"a.tsv", NULL, "id\ttext\n7\t\"a\tb\"\n", "a\tb", RECORDS_CSV, CUTTLE_OK},
	    {"a.csv", ";", "id;text\n7;a, b\n", "a, b", RECORDS_AUTO, CUTTLE_OK},
	    {"a.tsv", ",", "id,text\n7,a\n", "a", RECORDS_CSV, CUTTLE_OK},
	    {"a.tsv", NULL, "id\ttext\n7\ta, b\n", "a, b", RECORDS_CSV, CUTTLE_OK},
	    {"a.csv", "", "id,text\n7,a\n", NULL, RECORDS_AUTO, CUTTLE_USAGE},
	    {"a.csv", "\"", "id,text\n7,a\n", NULL, RECORDS_AUTO, CUTTLE_USAGE},
	    {"a.csv", "\n", "id,text\n7,a\n", NULL, RECORDS_AUTO, CUTTLE_USAGE},
	    {"a.csv", ";;", "id;text\n7;a\n", NULL, RECORDS_AUTO, CUTTLE_USAGE},
	    {"a.csv", "\xC3", "id;text\n7;a\n", NULL, RECORDS_AUTO, CUTTLE_USAGE},
	    {"a.csv", ";", "{\"text\":\"a\"}\n", NULL, RECORDS_JSONL, CUTTLE_USAGE},
	};
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		struct records *records;
		size_t size;
		write_bytes(tries[i].name, tries[i].bytes, strlen(tries[i].bytes));
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .format = tries[i].format,
		                                        .delimiter = tries[i].delimiter,
		                                        .limit = SIZE_MAX};
		assert_int_equal(records_read(&request, &records, NULL), tries[i].status);
		if (!tries[i].text) continue;
		assert_memory_equal(records_text(records, 0, &size), tries[i].text,
		                    strlen(tries[i].text));
		assert_int_equal(size, strlen(tries[i].text));
		records_free(&records);
	}
}

/* What each record of a file is, and which members or columns there are, for the owner. */
static void note_field(void *user, const char *name, size_t name_size, size_t text_size) {
	char *noted = user;
	(void)snprintf(noted + strlen(noted), 256 - strlen(noted), "%.*s %zu|", (int)name_size,
	               name, text_size);
}

static void states(void **state) {
	(void)state;
	static char enormous[SOURCE_LINE + 256];
	for (int csv = 0; csv < 2; csv++) {
		const enum record_state of_jsonl[] = {
		    RECORD_READABLE, RECORD_BLANK,    RECORD_BLANK,    RECORD_NOT_JSON,
		    RECORD_NOT_JSON, RECORD_NAN,      RECORD_NAN,      RECORD_HALF_PAIR,
		    RECORD_NOT_JSON, RECORD_NO_FIELD, RECORD_NOT_TEXT, RECORD_NOT_UTF8,
		    RECORD_TOO_LONG};
		const enum record_state of_csv[] = {RECORD_READABLE, RECORD_BLANK,
		                                    RECORD_BLANK,    RECORD_NO_FIELD,
		                                    RECORD_NOT_UTF8, RECORD_TOO_LONG};
		size_t used =
		    (size_t)sprintf(enormous, "%s",
		                    csv ? "id,text\n1,a\n\n2, \n3\n4,\xFF\n5,"
		                        : "{\"text\":\"a\"}\n\n{\"text\":\" \"}\nnot "
		                          "json\n[\"text\"]\n{\"text\":NaN}\n{\"text\":\"\\ud83d\","
		                          "\"n\":-Infinity}\n{\"text\":\"\\ud83d\\ude00 "
		                          "\\ude00\"}\n{\"text\":\"NaN \\\\ud83d\",}\n"
		                          "{\"note\":\"abc\",\"n\":1}\n"
		                          "{\"text\":7}\n{\"text\":\"\xFF\"}\n");
		memset(enormous + used, 'x', SOURCE_LINE + 1);
		enormous[used + SOURCE_LINE + 1] = '\n';
		write_bytes(csv ? "a.csv" : "a.jsonl", enormous, used + SOURCE_LINE + 2);
		char noted[256] = "";
		const struct records_request request = {.path = path,
		                                        .field = "text",
		                                        .limit = SIZE_MAX,
		                                        .on_field = note_field,
		                                        .user = noted};
		struct records *records;
		assert_int_equal(records_read(&request, &records, NULL), CUTTLE_OK);
		const enum record_state *wanted = csv ? of_csv : of_jsonl;
		assert_int_equal(records_count(records), csv ? sizeof of_csv / sizeof *of_csv
		                                             : sizeof of_jsonl / sizeof *of_jsonl);
		for (size_t i = 0; i < records_count(records); i++)
			assert_int_equal(records_state(records, i), wanted[i]);
		assert_string_equal(noted,
		                    csv ? "id 0|text 0|" : "text 1|text 1|note 3|n 0|text 0|");
		records_free(&records);
	}
}

static int make_folder(void **state) {
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
	(void)state;
	static const char *const names[] = {"a.jsonl", "a.csv",  "a.CSV",      "a.data", "b.csv",
	                                    "a.tsv",   "a.json", "a.JSONL.GZ", "a.xlsx", "a.txt"};
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(jsonl_oddities),
	    cmocka_unit_test(csv_oddities),
	    cmocka_unit_test(broken_quotes),
	    cmocka_unit_test(tsv_has_no_quotes),
	    cmocka_unit_test(lines_of_broken_quotes),
	    cmocka_unit_test(many_broken_quotes),
	    cmocka_unit_test(nothing_is_said),
	    cmocka_unit_test(owners),
	    cmocka_unit_test(labels),
	    cmocka_unit_test(nul_bytes_are_kept),
	    cmocka_unit_test(enormous_lines),
	    cmocka_unit_test(cut_texts),
	    cmocka_unit_test(long_words),
	    cmocka_unit_test(very_long_lines),
	    cmocka_unit_test(many_records),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(a_line_of_100_megabytes),
	    cmocka_unit_test(quotes_move_no_cell),
	    cmocka_unit_test(no_record_shows_in_the_memory),
	    cmocka_unit_test(a_million_records),
	    cmocka_unit_test(wrong_files),
	    cmocka_unit_test(other_columns_are_missed),
	    cmocka_unit_test(format_overrides_the_ending),
	    cmocka_unit_test(two_columns_of_one_name),
	    cmocka_unit_test(foreign_formats),
	    cmocka_unit_test(first_lines_are_records),
	    cmocka_unit_test(delimiters),
	    cmocka_unit_test(states),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
