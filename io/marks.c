// SPDX-License-Identifier: Apache-2.0
// How marks.h makes marks: spans become marks of their group; the sweep adds more, group by group;
// all are sorted by their start; then one walk joins those that overlap, and a second one those
// of one group that touch.
#include "io/marks.h"

#include "base/misuse.h"
#include "base/phrases.h"
#include "base/words.h"
#include "io/fail.h"
#include <stdlib.h>
#include <string.h>

enum { SWEPT = 3 }; /* characters of the shortest content that is looked for elsewhere */

/* By start, then the longer one first, then by type and group: so the order is always the same. */
static int compare_marks(const void *one, const void *other) {
	const struct mark *a = one, *b = other;
	if (a->start != b->start) return a->start < b->start ? -1 : 1;
	if (a->end != b->end) return a->end > b->end ? -1 : 1;
	if (a->type != b->type) return a->type < b->type ? -1 : 1;
	return a->group == b->group ? 0 : a->group < b->group ? -1 : 1;
}

static struct mark *marks_in(const struct marks *marks) {
	return (struct mark *)(void *)marks->list.bytes;
}

static void sort_marks(struct marks *marks) {
	if (marks_count(marks))
		qsort(marks_in(marks), marks_count(marks), sizeof(struct mark), compare_marks);
}

/* One mark for each span that is not left public; the same one twice counts once. */
static bool mark_spans(const struct spans *spans, const struct span_types *types,
                       const struct groups *groups, struct marks *marks) {
	uint32_t group_of_type[SPANS_TYPES];
	for (size_t i = 0; i < types->count; i++)
		group_of_type[i] = groups_of(groups, types->names[i]);
	for (size_t i = 0; i < spans_count(spans); i++) {
		const struct text_span *span = &spans_all(spans)[i];
		const struct mark mark = {span->start, span->end, group_of_type[span->type],
		                          span->type};
		if (mark.group != GROUP_LEFT && !arena_append(&marks->list, &mark, sizeof mark))
			return false;
	}
	sort_marks(marks);
	struct mark *all = marks_in(marks);
	size_t kept = 0;
	for (size_t i = 0; i < marks_count(marks); i++)
		if (!kept || compare_marks(&all[kept - 1], &all[i]) != 0) all[kept++] = all[i];
	marks->list.used = kept * sizeof *all;
	return true;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* The sweep of one group. */
struct mark_sweep {
	struct marks *marks;
	const struct mark *tagged; /* the marks of spans, by number */
	size_t first;              /* number of this group's first new mark */
	uint32_t group;
	bool no_memory;
};

/* Adds a mark where a content stands again. Those that overlap are joined at once, so that there
 * are never more of them than the text has room for. */
static void sweep_found(void *user, size_t start, size_t end, size_t name) {
	struct mark_sweep *sweep = user;
	struct mark mark = {start, end, sweep->group, sweep->tagged[name].type};
	while (marks_count(sweep->marks) > sweep->first) {
		const struct mark *last = &marks_in(sweep->marks)[marks_count(sweep->marks) - 1];
		if (last->end <= mark.start) break;
		if (last->start < mark.start) {
			mark.start = last->start;
			mark.type = last->type;
		}
		sweep->marks->list.used -= sizeof mark;
	}
	sweep->no_memory |= !arena_append(&sweep->marks->list, &mark, sizeof mark);
}

/* The content of a mark without white space around it. False: it is too short to look for. */
static bool content_of(const struct spans *spans, const struct mark *mark, const char **text,
                       size_t *size) {
	*text = spans->text.bytes + mark->start;
	*size = mark->end - mark->start;
	utf8_trim(text, size);
	size_t characters = 0;
	for (size_t i = 0; i < *size && characters < SWEPT; i++)
		characters += ((unsigned char)(*text)[i] & 0xc0) != 0x80;
	return characters >= SWEPT;
}

static bool sweep_group(const struct spans *spans, const struct mark *tagged, size_t count,
                        uint32_t group, struct marks *marks) {
	struct mark_sweep sweep = {marks, tagged, marks_count(marks), group, false};
	struct phrases *phrases = phrases_make();
	bool good = phrases, any = false;
	for (size_t i = 0; good && i < count; i++) {
		const char *text;
		size_t size;
		if (tagged[i].group != group || !content_of(spans, &tagged[i], &text, &size))
			continue;
		good = phrases_add(phrases, text, size, i);
		any = true;
	}
	if (good && any) {
		good = phrases_seal(phrases);
		if (good)
			phrases_scan(phrases, spans->text.bytes, spans->text.used, sweep_found,
			             &sweep);
	}
	phrases_free(phrases);
	return good && !sweep.no_memory;
}

/* Adds the places where contents stand again, for each group. */
static enum cuttle_status sweep_marks(const struct spans *spans, struct marks *marks,
                                      struct cuttle_error *error) {
	const size_t count = marks_count(marks), most = 2 * spans->text.used + ((size_t)1 << 20);
	size_t bytes = 0;
	bool good = true;
	for (size_t i = 0; i < count && bytes <= most; i++)
		bytes += marks_in(marks)[i].end - marks_in(marks)[i].start;
	if (bytes > most)
		return io_fail(error, CUTTLE_INPUT,
		               "the spans of a text overlap too much to look for their contents "
		               "elsewhere in it: give --no-sweep");
	// The list moves when it grows, so the marks of spans are copied.
	struct arena tagged = {0};
	if (count) good = arena_append(&tagged, marks->list.bytes, marks->list.used);
	for (uint32_t group = 0; good && count && group <= GROUP_BLANK; group++)
		good = sweep_group(spans, (const struct mark *)(const void *)tagged.bytes, count,
		                   group, marks);
	arena_free(&tagged);
	if (!good) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	sort_marks(marks);
	return CUTTLE_OK;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Joins marks that overlap. Of two groups, the union is blank in every row. */
static void join_overlaps(struct marks *marks) {
	struct mark *all = marks_in(marks);
	size_t kept = 0;
	for (size_t i = 0; i < marks_count(marks); i++) {
		struct mark *last = kept ? &all[kept - 1] : NULL;
		if (!last || all[i].start >= last->end) {
			all[kept++] = all[i];
			continue;
		}
		if (all[i].end > last->end) last->end = all[i].end;
		if (all[i].group != last->group) last->group = GROUP_BLANK;
	}
	marks->list.used = kept * sizeof *all;
}

/* Joins marks of one group that touch. */
static void join_neighbours(struct marks *marks) {
	struct mark *all = marks_in(marks);
	size_t kept = 0;
	for (size_t i = 0; i < marks_count(marks); i++) {
		struct mark *last = kept ? &all[kept - 1] : NULL;
		if (last && all[i].start == last->end && all[i].group == last->group)
			last->end = all[i].end;
		else all[kept++] = all[i];
	}
	marks->list.used = kept * sizeof *all;
}

enum cuttle_status marks_make(const struct spans *spans, const struct span_types *types,
                              const struct groups *groups, bool sweep, struct marks *marks,
                              struct cuttle_error *error) {
	marks->list.used = 0;
	if (!mark_spans(spans, types, groups, marks))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = sweep ? sweep_marks(spans, marks, error) : CUTTLE_OK;
	if (status) return status;
	join_overlaps(marks);
	join_neighbours(marks);
	return CUTTLE_OK;
}

void marks_free(struct marks *marks) {
	arena_free(&marks->list);
}

size_t marks_count(const struct marks *marks) {
	return marks->list.used / sizeof(struct mark);
}

const struct mark *marks_all(const struct marks *marks) {
	return marks_in(marks);
}

uint32_t marks_groups(const struct marks *marks) {
	uint32_t groups = 0;
	for (size_t i = 0; i < marks_count(marks); i++)
		if (marks_in(marks)[i].group < GROUPS_MOST)
			groups |= UINT32_C(1) << marks_in(marks)[i].group;
	return groups;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum cuttle_status marks_placeholder(const char *placeholder, struct cuttle_error *error) {
	if (utf8_name(placeholder, strlen(placeholder))) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "--placeholder: must have 1 to %d bytes in one line, as in _ or [{type}]",
	               UTF8_NAME);
}

bool marks_write_placeholder(const char *placeholder, const char *type, struct arena *out) {
	static const char word[] = "{type}";
	for (const char *found; (found = strstr(placeholder, word));
	     placeholder = found + sizeof word - 1)
		if (!arena_append(out, placeholder, (size_t)(found - placeholder)) ||
		    !arena_append(out, type, strlen(type)))
			return false;
	return arena_append(out, placeholder, strlen(placeholder));
}

enum cuttle_status marks_write(const struct marks *marks, const struct spans *spans,
                               const struct span_types *types, uint32_t shown,
                               const char *placeholder, struct arena *out,
                               struct cuttle_error *error) {
	const char *text = spans->text.bytes;
	size_t at = 0;
	bool good = true;
	for (size_t i = 0; good && i < marks_count(marks); i++) {
		const struct mark *mark = &marks_in(marks)[i];
		const bool shows = mark->group < GROUPS_MOST && (shown >> mark->group & 1);
		REQUIRE(mark->start >= at && mark->end <= spans->text.used);
		good = arena_append(out, text + at, mark->start - at);
		if (good && shows)
			good = arena_append(out, text + mark->start, mark->end - mark->start);
		if (good && !shows)
			good = marks_write_placeholder(placeholder, types->names[mark->type], out);
		at = mark->end;
	}
	if (good && at < spans->text.used)
		good = arena_append(out, text + at, spans->text.used - at);
	return good ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}
