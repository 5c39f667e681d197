// SPDX-License-Identifier: Apache-2.0
// Tests io/receipts/kept.c: which group a text of an output has, and how much a group weighs. It
// fails if a text is of another category than its line says, if a noisy count is not what weighs
// where there is one, or if a line without an index is taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/receipts/kept.h"
#include "tests/support/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/cuttle-kept-XXXXXX";

/* Reads an output by a receipt with these members. */
static enum cuttle_status read_kept(struct kept *kept, const char *members, const char *lines,
                                    enum records_format format) {
	files_put(path, lines, strlen(lines));
	*kept = (struct kept){0};
	json_t *root = kept->evidence.attested.root = json_loads(members, 0, NULL);
	assert_non_null(root);
	return kept_read(kept, path, format, NULL);
}

static void assert_text(const struct kept *kept, size_t number, uint64_t index, size_t group,
                        const char *text) {
	assert_true(number < kept->count);
	const struct kept_text *is = &kept->texts[number];
	assert_int_equal(is->index, index);
	if (!text) {
		assert_null(is->text);
		return;
	}
	assert_int_equal(is->group, group);
	assert_int_equal(is->size, strlen(text));
	assert_memory_equal(is->text, text, is->size);
}

static void one_group(void **state) {
	(void)state;
	struct kept kept;
	assert_int_equal(read_kept(&kept, "{\"categories\":null}",
	                           "{\"index\":0,\"text\":\"a b\"}\n{\"index\":2,\"text\":\"\"}\n"
	                           "{\"index\":5,\"text\":\"x\\u0000y\"}\n"
	                           "{\"index\":7,\"text\":\"c\",\"cluster\":9}\n",
	                           RECORDS_JSONL),
	                 CUTTLE_OK);
	assert_int_equal(kept.group_count, 1);
	assert_null(kept.groups[0].heading);
	assert_int_equal(kept.count, 4);
	assert_int_equal(kept.groups[0].weight, 4);
	assert_text(&kept, 0, 0, 0, "a b");
	assert_text(&kept, 1, 2, 0, NULL);
	assert_text(&kept, 2, 5, 0, NULL);
	assert_text(&kept, 3, 7, 0, "c");
	kept_close(&kept);
	static const char *const wrong[] = {
	    "{\"text\":\"a\"}\n", "{\"index\":-1,\"text\":\"a\"}\n",
	    "{\"index\":\"1x\",\"text\":\"a\"}\n", "[]\n", "{\"index\":\"\",\"text\":\"a\"}\n",
	    // 2^64 + 1, and a number whose tenth fits.
	    "{\"index\":\"18446744073709551617\",\"text\":\"a\"}\n",
	    "{\"index\":\"20000000000000000000\",\"text\":\"a\"}\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(read_kept(&kept, "{}", wrong[i], RECORDS_JSONL), CUTTLE_INPUT);
		kept_close(&kept);
	}
}

#define TWO_FIELDS                                                                                 \
	"{\"categories\":[{\"texts\":2,\"values\":{\"genre\":\"sea\",\"land\":\"5\"}},"            \
	"{\"texts\":1,\"values\":{\"genre\":\"hill\",\"land\":\"5\"}},"                            \
	"{\"texts\":1,\"values\":{\"genre\":\"sea\",\"land\":\"6\"}}]"

static void categories(void **state) {
	(void)state;
	struct kept kept;
	assert_int_equal(
	    read_kept(
	        &kept, TWO_FIELDS "}",
	        "index,text,tokens,finish,land,genre\r\n0,a,1,eos,5,sea\r\n1,b,1,eos,5,hill\r\n"
	        "3,d,1,eos,5,sea\r\n4,\"e, f\",1,eos,6,lake\r\n5,g,1,eos,5,se\r\n",
	        RECORDS_CSV),
	    CUTTLE_OK);
	assert_int_equal(kept.group_count, 3);
	assert_int_equal(kept.field_count, 2);
	assert_string_equal(kept.groups[1].heading, "genre: hill\nland: 5");
	assert_text(&kept, 0, 0, 0, "a");
	assert_text(&kept, 1, 1, 1, "b");
	assert_text(&kept, 2, 3, 0, "d");
	assert_text(&kept, 3, 4, 0, NULL);
	assert_text(&kept, 4, 5, 0, NULL); // the beginning of a value is another one
	assert_int_equal(kept.groups[0].weight, 2);
	assert_int_equal(kept.groups[1].weight, 1);
	assert_int_equal(kept.groups[2].weight, 0);
	kept_close(&kept);
	// The noisy counts weigh where there are any, and a negative one is none.
	assert_int_equal(read_kept(&kept, TWO_FIELDS ",\"histogram\":{\"counts\":[40,-3,7]}}",
	                           "{\"index\":0,\"text\":\"a\",\"genre\":\"hill\",\"land\":5}\n",
	                           RECORDS_JSONL),
	                 CUTTLE_OK);
	assert_text(&kept, 0, 0, 1, "a");
	assert_int_equal(kept.groups[0].weight, 40);
	assert_int_equal(kept.groups[1].weight, 0);
	assert_int_equal(kept.groups[2].weight, 7);
	kept_close(&kept);
}

/* A receipt may name more fields than a run can have. */
static void too_many_fields(void **state) {
	(void)state;
	struct kept kept;
	assert_int_equal(read_kept(&kept,
	                           "{\"categories\":[{\"texts\":1,\"values\":{\"a\":\"1\",\"b\":"
	                           "\"2\",\"c\":\"3\",\"d\":\"4\",\"e\":\"5\"}}]}",
	                           "{\"index\":0,\"text\":\"a\"}\n", RECORDS_JSONL),
	                 CUTTLE_OK);
	assert_int_equal(kept.field_count, CATEGORY_FIELDS);
	assert_text(&kept, 0, 0, 0, NULL);
	kept_close(&kept);
}

static void clusters(void **state) {
	(void)state;
	struct kept kept;
	assert_int_equal(read_kept(&kept, "{\"histogram\":{\"counts\":[5,0,12]}}",
	                           "{\"index\":0,\"text\":\"a\",\"cluster\":2}\n"
	                           "{\"index\":1,\"text\":\"b\",\"cluster\":0}\n"
	                           "{\"index\":2,\"text\":\"c\",\"cluster\":3}\n"
	                           "{\"index\":3,\"text\":\"d\"}\n",
	                           RECORDS_JSONL),
	                 CUTTLE_OK);
	assert_int_equal(kept.group_count, 3);
	assert_text(&kept, 0, 0, 2, "a");
	assert_text(&kept, 1, 1, 0, "b");
	assert_text(&kept, 2, 2, 0, NULL);
	assert_text(&kept, 3, 3, 0, NULL);
	assert_int_equal(kept.groups[2].weight, 12);
	assert_null(kept.groups[2].heading);
	kept_close(&kept);
}

int main(void) {
	const int file = mkstemp(path);
	if (file < 0) return 1;
	(void)close(file);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_group),
	    cmocka_unit_test(categories),
	    cmocka_unit_test(too_many_fields),
	    cmocka_unit_test(clusters),
	};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	return failed;
}
