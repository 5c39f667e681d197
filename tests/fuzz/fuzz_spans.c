// SPDX-License-Identifier: Apache-2.0
// Fuzzes io/documents/spans.c, io/documents/marks.c and tag/rules.c: the input is one line of a
// JSONL file. Its first byte chooses units, form, groups and sweep; the rest is the line. It fails
// on a crash, if a span is not of whole characters, if marks overlap or leave a span open, if the
// blank context is not the public bytes with placeholders, or if a failure's message has more than
// one line.
#include "base/misuse.h"
#include "io/documents/marks.h"
#include "tag/rules.h"
#include "tests/fuzz/fuzz.h"

static bool is_boundary(const struct arena *text, size_t at) {
	return at == text->used || ((unsigned char)text->bytes[at] & 0xc0) != 0x80;
}

static void check_spans(const struct spans *spans) {
	for (size_t i = 0; i < spans_count(spans); i++) {
		const struct text_span *span = &spans_all(spans)[i];
		REQUIRE(span->start < span->end && span->end <= spans->text.used);
		REQUIRE(is_boundary(&spans->text, span->start) &&
		        is_boundary(&spans->text, span->end));
	}
}

/* The marks are in order, cover every span that is not left, and a context has the public bytes. */
static void check_marks(const struct spans *spans, const struct span_types *types,
                        const struct groups *groups, const struct marks *marks) {
	struct arena out = {0};
	size_t blank = 0, end = 0;
	for (size_t i = 0; i < marks_count(marks); i++) {
		const struct mark *mark = &marks_all(marks)[i];
		REQUIRE(mark->start >= end && mark->start < mark->end &&
		        mark->end <= spans->text.used);
		REQUIRE(is_boundary(&spans->text, mark->start) &&
		        is_boundary(&spans->text, mark->end));
		end = mark->end;
		blank += end - mark->start;
	}
	for (size_t i = 0; i < spans_count(spans) && i < 8; i++) {
		const struct text_span *span = &spans_all(spans)[i];
		bool covered = groups_of(groups, types->names[span->type]) == GROUP_LEFT;
		for (size_t j = 0; j < marks_count(marks); j++)
			covered |= marks_all(marks)[j].start <= span->start &&
			           marks_all(marks)[j].end >= span->end;
		REQUIRE(covered);
	}
	REQUIRE(!marks_write(marks, spans, types, MARKS_BLANK, "_", &out, NULL));
	REQUIRE(out.used == spans->text.used - blank + marks_count(marks));
	arena_free(&out);
}

static void check_rule(void *user, size_t start, size_t end, enum tag_type type) {
	size_t *last = user;
	REQUIRE(start >= *last && start < end && type < TAG_TYPES);
	*last = end;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct span_types types;
	struct groups *groups = calloc(1, sizeof *groups);
	struct spans spans = {0};
	struct marks marks = {0};
	struct cuttle_error error = {""};
	size_t last = 0;
	if (!size || !groups) {
		free(groups);
		return 0;
	}
	const uint8_t how = *bytes++;
	size--;
	const struct spans_request request = {.path = "-",
	                                      .text_field = "text",
	                                      .id_field = "id",
	                                      .spans_field = "spans",
	                                      .leave_identifier = how & 32 ? "NO_MASK" : NULL,
	                                      .format = (enum spans_format)(how >> 2 & 3) % 3,
	                                      .offsets = (enum spans_offsets)(how & 3) % 3};
	types.count = 0;
	if (how & 64)
		REQUIRE(!groups_add(groups, "A,B", &error) && !groups_add(groups, "C", &error) &&
		        !groups_leave(groups, "L", &error));
	tag_rules((const char *)bytes, size, check_rule, &last);
	REQUIRE(last <= size);
	enum cuttle_status status =
	    spans_read(&request, (const char *)bytes, size, 1, &types, &spans, &error);
	if (!status) {
		check_spans(&spans);
		status = marks_make(&spans, &types, groups, how & 16, &marks, &error);
		if (!status) check_marks(&spans, &types, groups, &marks);
		json_t *root = spans_encode(&request, &spans, &types);
		REQUIRE(root);
		json_decref(root);
	}
	REQUIRE(!status ||
	        (status == CUTTLE_INPUT && *error.message && !strchr(error.message, '\n')));
	marks_free(&marks);
	spans_free(&spans);
	free(groups);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL(
	        "\x50{\"id\":1,\"text\":\"Ann saw Ann\",\"spans\":[{\"start\":0,\"end\":3,"
	        "\"entity_type\":\"A\",\"score\":0.9},{\"start\":2,\"end\":5,\"label\":\"C\"}]}"),
	    FUZZ_LITERAL(
	        "\x71{\"id\":\"x\",\"text\":\"\xC3\xA9\\ud83d\\udc19 4111 1111 1111 1111\","
	        "\"spans\":[{\"start\":2,\"end\":6,\"type\":\"L\",\"byte_end\":6}]}"),
	    FUZZ_LITERAL(
	        "\x12{\"text\":\"\\u0000\xF0\x9F\x90\x99 a-a-a-a\",\"spans\":[{\"start\":1,"
	        "\"end\":3,\"type\":\"A\",\"text\":\"\xF0\x9F\x90\x99\"},{\"start\":4,\"end\":7,"
	        "\"type\":\"B\"}]}"),
	    FUZZ_LITERAL(
	        "\x20{\"text\":\"Ann of Rome\",\"annotations\":{\"a\":{\"entity_mentions\":[{"
	        "\"entity_type\":\"A\",\"start_offset\":0,\"end_offset\":3,\"span_text\":\"Ann\","
	        "\"identifier_type\":\"DIRECT\"}]},\"b\":{\"entity_mentions\":[{\"entity_type\":"
	        "\"C\","
	        "\"start_offset\":7,\"end_offset\":11,\"identifier_type\":\"NO_MASK\"}]}}}"),
	    FUZZ_LITERAL(
	        "\x00Dr. Roe <a.b@c.de> http://x.y +41 (0)71 526 on 3/4/2004 10:30 paid $5m "
	        "from 10.0.0.1, ::1 and GB29 NWBK 6016 1331 9268 19; Patient: Bo"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
