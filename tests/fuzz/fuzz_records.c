// SPDX-License-Identifier: Apache-2.0
// Any bytes as a JSONL or CSV file. The first byte chooses the format, a cut, an id and labels; the rest is the file.
#include "base/misuse.h"
#include "base/utf8.h"
#include "io/records.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CUT = 5 };

/* Texts are UTF-8 and no longer than asked for; there are no more records than line ends, and one. */
static void check(const struct records *records, const uint8_t *bytes, size_t size, size_t most) {
	size_t ends = 1, length;
	for (size_t i = 0; i < size; i++) ends += bytes[i] == '\n' || bytes[i] == '\r';
	REQUIRE(records_count(records) <= ends);
	for (size_t i = 0; i < records_count(records); i++) {
		const char *text = records_text(records, i, &length);
		REQUIRE(text ? utf8_valid(text, length) && (!most || length <= most) : !length);
		const char *id = records_id(records, i, &length), *label = records_label(records, i, 0, &length);
		REQUIRE(!label || utf8_valid(label, length));
		REQUIRE(!id || *id == '"' || *id == '-' || (*id >= '0' && *id <= '9'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static int file = -1;
	static const char *const labels[] = {"kind"};
	char path[64];
	if (!size) return 0;
	const uint8_t how = *bytes++;
	size--;
	if (file < 0) file = memfd_create("records", 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	REQUIRE(file >= 0 && !ftruncate(file, 0) && pwrite(file, bytes, size, 0) == (ssize_t)size);
	const struct records_request request = {.path = path,
	                                        .field = "text",
	                                        .id_field = "id",
	                                        .format = how & 1 ? RECORDS_CSV : RECORDS_JSONL,
	                                        .limit = how & 4 ? 3 : SIZE_MAX,
	                                        .labels = labels,
	                                        .label_count = 1,
	                                        .most = how & 2 ? CUT : 0};
	struct cuttle_error error = {""};
	struct records *records;
	const enum cuttle_status status = records_read(&request, &records, &error);
	if (status) REQUIRE(status == CUTTLE_INPUT && (how & 1) && !records && error.message[0] && !strchr(error.message, '\n'));
	else check(records, bytes, size, request.most);
	records_free(&records);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
#define SEED(bytes)                                                                                                                        \
	{ bytes, sizeof bytes - 1 }
	static const struct {
		const char *bytes;
		size_t size;
	} seeds[] = {
	    SEED("\x00{\"text\":\"one\",\"id\":7,\"kind\":\"x\"}\n{\"text\":\"t\\u0000w\\ud83d\\udc19o\",\"kind\":5.0}\r\n\n[1]\n"),
	    SEED("\x02\xEF\xBB\xBF{\"text\":\"  one two three\",\"id\":\"seven\"}\n{\"text\":1e999,\"n\":99999999999999999999999}\n"),
	    SEED("\x01id,text,kind\r\n1,\"quoted \"\"text\"\", and\r\nlines\",x\r\n2,plain\n\n3,\xFF,y\n"),
	    SEED("\x07\xEF\xBB\xBFtext\ra\r\"b\rc\"\rd\re\r\"open"),
	};
#undef SEED
	const bool there = index < sizeof seeds / sizeof *seeds;
	*size = there ? seeds[index].size : 0;
	uint8_t *seed = there ? malloc(*size) : NULL;
	if (seed) memcpy(seed, seeds[index].bytes, *size);
	return seed;
}
