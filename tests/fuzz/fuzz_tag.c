// SPDX-License-Identifier: Apache-2.0
// Fuzzes tag/rules.c and its scanners: the input is a text. It fails on a crash, if marks overlap,
// are empty, go backwards or leave the text, or if there are too many. In a text that is UTF-8 no
// mark may begin or end within a character.
#include "base/misuse.h"
#include "base/utf8.h"
#include "tag/rules.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

struct seen {
	const char *text;
	size_t size, end, count;
	bool utf8;
};

static bool is_inside(const struct seen *seen, size_t at) {
	return at < seen->size && ((unsigned char)seen->text[at] & 0xc0) == 0x80;
}

static void check_mark(void *user, size_t start, size_t end, enum tag_type type) {
	struct seen *seen = user;
	REQUIRE(tag_type_name(type) && start >= seen->end && start < end && end <= seen->size);
	REQUIRE(!seen->utf8 || (!is_inside(seen, start) && !is_inside(seen, end)));
	seen->end = end;
	REQUIRE(++seen->count <= seen->size / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const char *text = (const char *)bytes;
	struct seen seen = {.text = text, .size = size, .utf8 = utf8_valid(text, size)};
	tag_rules(text, size, check_mark, &seen);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL(
	        "Prof. Dr. med. Anna O\u2019Neil\u2011Roe, J. R. Roe; Patient: ROE, JANE M.\n"),
	    FUZZ_LITERAL(
	        "on 12. M\u00e4rz 1957, 1er aou\u0302t 2118 at 8:30 pm, Mar 12 '57, in 2145, "
	        "2118\u201106\u201114T08:30:00Z"),
	    FUZZ_LITERAL(
	        "+41\u202f44 668\u00a018 00 x12, (415) 555\u22120123, 078\u201305\u20131120, "
	        "4111 1111 1111 1111, GB29 NWBK 6016 1331 9268 19"),
	    FUZZ_LITERAL(
	        "Med. Rec. No. 1234, MRN: A\u20111234, aged 93, ninety-three y/o; \u20ac5 mio"),
	    FUZZ_LITERAL(
	        "14 Mill Lane, Leeds LS1 4AB; 5 Main St. Apt. 3, Ayr, IL 62701; rue de la Paix 5; "
	        "P.O. Box 42"),
	    FUZZ_LITERAL(
	        "a.b@x.org http://x.org/?a=1 www.x.de 1.2.3.4 ::1 A1B2C3D4E5 \xff\xe2\x80")};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
