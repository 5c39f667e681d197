// SPDX-License-Identifier: Apache-2.0
// How agreement.h counts: the spans of one type, or of all, are joined to ranges that do not
// overlap, from left to right. Whether a range covers or touches a span is then one search.
#include "tools/common/agreement.h"

#include "io/disk/fail.h"
#include "io/text/fold.h"
#include <stdlib.h>

enum { ANY = SPANS_TYPES }; /* in place of the number of a type: all of them */

static int compare_starts(const void *one, const void *other) {
	const struct text_span *a = one, *b = other;
	return a->start == b->start ? 0 : a->start < b->start ? -1 : 1;
}

/* A span without the white space around it, which no tagger owes to another. One that is nothing
 * else stays as it is. */
static struct text_span trim_span(const struct spans *spans, size_t index) {
	struct text_span span = spans_all(spans)[index];
	const char *text = spans->text.bytes + span.start;
	size_t size = span.end - span.start;
	fold_trim(&text, &size);
	if (!size) return span;
	span.start = (size_t)(text - spans->text.bytes);
	span.end = span.start + size;
	return span;
}

/* The spans of a type as ranges that neither overlap nor touch. False: out of memory. */
static bool make_ranges(const struct spans *spans, uint32_t type, struct arena *ranges) {
	ranges->used = 0;
	for (size_t i = 0; i < spans_count(spans); i++) {
		const struct text_span span = trim_span(spans, i);
		if ((type == ANY || span.type == type) && !arena_append(ranges, &span, sizeof span))
			return false;
	}
	struct text_span *all = (void *)ranges->bytes;
	const size_t count = ranges->used / sizeof *all;
	size_t kept = 0;
	if (count) qsort(all, count, sizeof *all, compare_starts);
	for (size_t i = 0; i < count; i++) {
		if (!kept || all[i].start > all[kept - 1].end) all[kept++] = all[i];
		else if (all[i].end > all[kept - 1].end) all[kept - 1].end = all[i].end;
	}
	ranges->used = kept * sizeof *all;
	return true;
}

/* The last range that begins before `end`; NULL = none does. */
static const struct text_span *range_before(const struct arena *ranges, size_t end) {
	const struct text_span *all = (const void *)ranges->bytes;
	size_t low = 0, high = ranges->used / sizeof *all;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (all[middle].start < end) low = middle + 1;
		else high = middle;
	}
	return low ? &all[low - 1] : NULL;
}

static bool is_covered(const struct arena *ranges, const struct text_span *span) {
	const struct text_span *range = range_before(ranges, span->start + 1);
	return range && range->end >= span->end;
}

static bool is_touched(const struct arena *ranges, const struct text_span *span) {
	const struct text_span *range = range_before(ranges, span->end);
	return range && range->end > span->start;
}

/* Counts by the ranges of one type, or of ANY. False: out of memory. */
static bool count_type(struct agreement *agreement, const struct spans *tagged,
                       const struct spans *found, uint32_t type, struct arena *ranges) {
	if (!make_ranges(found, type, ranges)) return false;
	for (size_t i = 0; i < spans_count(tagged); i++) {
		const struct text_span span = trim_span(tagged, i);
		struct agreement_counts *counts = &agreement->types[span.type];
		if (type == ANY) {
			counts->tagged++;
			counts->hidden += is_covered(ranges, &span);
		} else if (span.type == type) counts->same += is_covered(ranges, &span);
	}
	if (!make_ranges(tagged, type, ranges)) return false;
	for (size_t i = 0; i < spans_count(found); i++) {
		const struct text_span span = trim_span(found, i);
		struct agreement_counts *counts = &agreement->types[span.type];
		if (type == ANY) {
			counts->found++;
			counts->private += is_touched(ranges, &span);
		} else if (span.type == type) counts->right += is_touched(ranges, &span);
	}
	return true;
}

enum cuttle_status agreement_add(struct agreement *agreement, const struct span_types *types,
                                 const struct spans *tagged, const struct spans *found,
                                 struct cuttle_error *error) {
	struct arena ranges = {0};
	bool good = count_type(agreement, tagged, found, ANY, &ranges);
	for (uint32_t type = 0; good && type < types->count; type++)
		good = count_type(agreement, tagged, found, type, &ranges);
	arena_free(&ranges);
	return good ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static void print_share(FILE *file, size_t part, size_t whole) {
	if (whole) fprintf(file, " %9.3f", (double)part / (double)whole);
	else fprintf(file, " %9s", "-");
}

void agreement_print(const struct agreement *agreement, const struct span_types *types,
                     FILE *file) {
	fprintf(file, "%-24s %9s %9s %9s %9s %9s %9s\n", "type", "tagged", "recall", "hidden",
	        "found", "precision", "private");
	for (size_t i = 0; i < types->count; i++) {
		const struct agreement_counts *counts = &agreement->types[i];
		fprintf(file, "%-24s %9zu", types->names[i], counts->tagged);
		print_share(file, counts->same, counts->tagged);
		print_share(file, counts->hidden, counts->tagged);
		fprintf(file, " %9zu", counts->found);
		print_share(file, counts->right, counts->found);
		print_share(file, counts->private, counts->found);
		fputc('\n', file);
	}
}
