// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/records/records.c: the input is a JSONL or CSV file. Its first byte chooses the format,
// a cut, an id, labels and a schema; the rest is the file. It fails on a crash, if a text is not
// UTF-8 or longer than was asked for, or if a file is refused that may not be.
#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/formats.h"
#include "io/records/records.h"
#include "io/schema/schema.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CUT = 5 };

/* Texts are UTF-8 and no longer than asked for; there are no more records than line ends, and one.
 */
static void check(const struct records *records, const uint8_t *bytes, size_t size, size_t most) {
	size_t ends = 1, length;
	for (size_t i = 0; i < size; i++) ends += bytes[i] == '\n' || bytes[i] == '\r';
	REQUIRE(records_count(records) <= ends);
	for (size_t i = 0; i < records_count(records); i++) {
		const char *text = records_text(records, i, &length);
		REQUIRE(text ? utf8_valid(text, length) && (!most || length <= most) : !length);
		const char *id = records_id(records, i, &length),
		           *label = records_label(records, i, 0, &length);
		REQUIRE(!label || utf8_valid(label, length));
		REQUIRE(!id || *id == '"' || *id == '-' || (*id >= '0' && *id <= '9'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static int file = -1;
	static const char *const labels[] = {"kind"};
	static const char shape[] =
	    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
	    "\"id\":{\"type\":[\"integer\",\"null\"]}},\"required\":[\"text\"]}";
	static struct schema *schema = NULL;
	if (!size) return 0;
	if (!schema) REQUIRE(!schema_read(shape, sizeof shape - 1, &schema, NULL));
	const uint8_t how = *bytes++;
	size--;
	// Memory as standard input: no path to look up.
	if (file < 0)
		REQUIRE((file = memfd_create("records", 0)) >= 0 &&
		        dup2(file, STDIN_FILENO) == STDIN_FILENO);
	REQUIRE(pwrite(file, bytes, size, 0) == (ssize_t)size && !ftruncate(file, (off_t)size) &&
	        !lseek(file, 0, SEEK_SET));
	const struct records_request request = {.path = "-",
	                                        .field = "text",
	                                        .schema = how & 8 ? schema : NULL,
	                                        .id_field = "id",
	                                        .format = how & 1 ? RECORDS_CSV : RECORDS_JSONL,
	                                        .limit = how & 4 ? 3 : SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = 1,
	                                        .most = how & 2 ? CUT : 0};
	struct cuttle_error error = {""};
	struct records *records;
	const enum cuttle_status status = records_read(&request, &records, &error);
	const bool may_fail =
	    (how & 1) || formats_check_start("-", (const char *)bytes, size, NULL);
	if (status)
		REQUIRE(status == CUTTLE_INPUT && may_fail && !records && error.message[0] &&
		        !strchr(error.message, '\n'));
	else check(records, bytes, size, request.most);
	records_free(&records);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("\x00{\"text\":\"one\",\"id\":7,\"kind\":\"x\"}\n{\"text\":"
	                 "\"t\\u0000w\\ud83d\\udc19o\",\"kind\":5.0}\r\n\n[1]\n"),
	    FUZZ_LITERAL(
	        "\x02\xEF\xBB\xBF{\"text\":\"  one two "
	        "three\",\"id\":\"seven\"}\n{\"text\":1e999,\"n\":99999999999999999999999}\n"),
	    FUZZ_LITERAL("\x01id,text,kind\r\n1,\"quoted \"\"text\"\", "
	                 "and\r\nlines\",x\r\n2,plain\n\n3,\xFF,y\n"),
	    FUZZ_LITERAL("\x00PK\x03\x04{\"text\":\"one\"}\n"),
	    FUZZ_LITERAL("\x09id,text\n7,a\n,b\n\"7.0\",\nnull,\xFF\n"),
	    FUZZ_LITERAL("\x08{\"text\":\"one\",\"id\":7}\n{\"text\":1}\n"),
	    FUZZ_LITERAL("\x07\xEF\xBB\xBFtext\ra\r\"b\rc\"\rd\re\r\"open"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
