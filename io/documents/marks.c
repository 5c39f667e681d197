// SPDX-License-Identifier: Apache-2.0
// How marks.h makes marks. Spans become marks of their group, sorted by their start. One walk joins
// those that overlap, and a second one those of one group that touch. Now the groups are known.
// Then the sweep finds places, group by group, and what of them stands between those marks is
// joined in the same way, for itself.
#include "io/documents/marks.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/text/terms.h"
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

static struct mark *marks_of(const struct arena *list) {
	return (struct mark *)(void *)list->bytes;
}

static size_t count_marks(const struct arena *list) {
	return list->used / sizeof(struct mark);
}

static void sort_marks(const struct arena *list) {
	if (list->used) qsort(list->bytes, count_marks(list), sizeof(struct mark), compare_marks);
}

/* One mark for each span that is not left public; the same one twice counts once. */
static bool mark_spans(const struct spans *spans, const struct span_types *types,
                       const struct groups *groups, struct arena *list) {
	uint32_t group_of_type[SPANS_TYPES];
	for (size_t i = 0; i < types->count; i++)
		group_of_type[i] = groups_of(groups, types->names[i]);
	for (size_t i = 0; i < spans_count(spans); i++) {
		const struct text_span *span = &spans_all(spans)[i];
		const struct mark mark = {span->start, span->end, group_of_type[span->type],
		                          span->type};
		if (mark.group != GROUP_LEFT && !arena_append(list, &mark, sizeof mark))
			return false;
	}
	sort_marks(list);
	struct mark *all = marks_of(list);
	size_t kept = 0;
	for (size_t i = 0; i < count_marks(list); i++)
		if (!kept || compare_marks(&all[kept - 1], &all[i]) != 0) all[kept++] = all[i];
	list->used = kept * sizeof *all;
	return true;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Joins marks that overlap. Of two groups, the union is blank in every row. */
static void join_overlaps(struct arena *list) {
	struct mark *all = marks_of(list);
	size_t kept = 0;
	for (size_t i = 0; i < count_marks(list); i++) {
		struct mark *last = kept ? &all[kept - 1] : NULL;
		if (!last || all[i].start >= last->end) {
			all[kept++] = all[i];
			continue;
		}
		if (all[i].end > last->end) last->end = all[i].end;
		if (all[i].group != last->group) last->group = GROUP_BLANK;
	}
	list->used = kept * sizeof *all;
}

/* Joins marks of one group that touch. */
static void join_neighbours(struct arena *list) {
	struct mark *all = marks_of(list);
	size_t kept = 0;
	for (size_t i = 0; i < count_marks(list); i++) {
		struct mark *last = kept ? &all[kept - 1] : NULL;
		if (last && all[i].start == last->end && all[i].group == last->group)
			last->end = all[i].end;
		else all[kept++] = all[i];
	}
	list->used = kept * sizeof *all;
}

/* Joins marks that are sorted. */
static void join_marks(struct arena *list) {
	join_overlaps(list);
	join_neighbours(list);
}

/* The groups that have a mark, as bits. */
static uint32_t collect_groups(const struct arena *list) {
	uint32_t groups = 0;
	for (size_t i = 0; i < count_marks(list); i++)
		if (marks_of(list)[i].group < GROUPS_MOST)
			groups |= UINT32_C(1) << marks_of(list)[i].group;
	return groups;
}

/* Gives each span the group of the mark that it is part of. What two groups mark is both's, so it
 * is blank wherever it stands again. Both lists are sorted. */
static void follow_joined(const struct arena *tagged, const struct arena *list) {
	const struct mark *mark = marks_of(list);
	for (size_t i = 0; i < count_marks(tagged); i++) {
		struct mark *span = &marks_of(tagged)[i];
		while (mark->end <= span->start) mark++;
		span->group = mark->group;
	}
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* The sweep of a text. */
struct mark_sweep {
	const struct spans *spans;
	struct arena tagged;  /* struct mark of each span */
	struct folded folded; /* the text */
	struct arena places;  /* struct mark: where contents stand, each group for itself */
	struct arena rest;    /* struct mark: what of them no span marks */
	uint32_t group;       /* whose contents are looked for now */
	size_t first;         /* number of this group's first place */
	bool no_memory;
};

/* Adds a place where a content stands. Those of one group that overlap are joined at once, so that
 * there are never more of them than the text has room for. */
static void sweep_found(void *user, size_t start, size_t end, size_t name) {
	struct mark_sweep *sweep = user;
	struct mark mark = {start, end, sweep->group, marks_of(&sweep->tagged)[name].type};
	while (count_marks(&sweep->places) > sweep->first) {
		const struct mark *last =
		    &marks_of(&sweep->places)[count_marks(&sweep->places) - 1];
		if (last->end <= mark.start) break;
		if (last->start < mark.start) {
			mark.start = last->start;
			mark.type = last->type;
		}
		if (last->end > mark.end) mark.end = last->end;
		sweep->places.used -= sizeof mark;
	}
	sweep->no_memory |= !arena_append(&sweep->places, &mark, sizeof mark);
}

static bool sweep_group(struct mark_sweep *sweep, uint32_t group) {
	bool any = false;
	for (size_t i = 0; !any && i < count_marks(&sweep->tagged); i++)
		any = marks_of(&sweep->tagged)[i].group == group;
	if (!any) return true;
	struct terms *terms = terms_make();
	bool good = terms != NULL;
	sweep->group = group;
	sweep->first = count_marks(&sweep->places);
	for (size_t i = 0; good && i < count_marks(&sweep->tagged); i++) {
		const struct mark *mark = &marks_of(&sweep->tagged)[i];
		if (mark->group == group)
			good = terms_add(terms, sweep->spans->text.bytes + mark->start,
			                 mark->end - mark->start, SWEPT, i);
	}
	good = good && terms_seal(terms);
	if (good) terms_scan(terms, &sweep->folded, sweep_found, sweep);
	terms_free(terms);
	return good && !sweep->no_memory;
}

/* Adds what stands at start .. end - 1 of a place to the rest, without white space around it. */
static bool add_rest(struct mark_sweep *sweep, struct mark place, size_t start, size_t end) {
	const char *text = sweep->spans->text.bytes + start;
	size_t size = end - start;
	fold_trim(&text, &size);
	place.start = (size_t)(text - sweep->spans->text.bytes);
	place.end = place.start + size;
	return !size || arena_append(&sweep->rest, &place, sizeof place);
}

/* Takes what no span marks of a place to the rest. A mark of spans that another group claims here
 * is blank in every row; otherwise it stays as it is. */
static bool divide_place(struct mark_sweep *sweep, const struct mark *place, struct arena *list) {
	struct mark *all = marks_of(list);
	size_t low = 0, high = count_marks(list), at = place->start;
	bool good = true;
	// The first mark that ends behind the place's start.
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (all[middle].end <= at) low = middle + 1;
		else high = middle;
	}
	for (; good && low < count_marks(list) && all[low].start < place->end; low++) {
		if (all[low].group != place->group) all[low].group = GROUP_BLANK;
		if (all[low].start > at) good = add_rest(sweep, *place, at, all[low].start);
		at = all[low].end;
	}
	return good && (at >= place->end || add_rest(sweep, *place, at, place->end));
}

/* Finds the places of all groups, and adds their rest to the marks of spans. */
static bool sweep_groups(struct mark_sweep *sweep, struct arena *list) {
	bool good = fold_text(&sweep->folded, sweep->spans->text.bytes, sweep->spans->text.used);
	for (uint32_t group = 0; good && group <= GROUP_BLANK; group++)
		good = sweep_group(sweep, group);
	for (size_t i = 0; good && i < count_marks(&sweep->places); i++)
		good = divide_place(sweep, &marks_of(&sweep->places)[i], list);
	if (!good) return false;
	sort_marks(&sweep->rest);
	join_marks(&sweep->rest);
	good = arena_append(list, sweep->rest.bytes, sweep->rest.used);
	sort_marks(list);
	return good;
}

/* Adds the places where the contents of `tagged` stand again. */
static enum cuttle_status sweep_marks(struct mark_sweep *sweep, struct arena *list,
                                      struct cuttle_error *error) {
	const size_t count = count_marks(&sweep->tagged),
	             most = 2 * sweep->spans->text.used + ((size_t)1 << 20);
	size_t bytes = 0;
	for (size_t i = 0; i < count && bytes <= most; i++)
		bytes += marks_of(&sweep->tagged)[i].end - marks_of(&sweep->tagged)[i].start;
	if (bytes > most)
		return io_fail(error, CUTTLE_INPUT,
		               "the spans of a text overlap too much to look for their contents "
		               "elsewhere in it: give --no-sweep");
	return !count || sweep_groups(sweep, list) ? CUTTLE_OK
	                                           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum cuttle_status marks_make(const struct spans *spans, const struct span_types *types,
                              const struct groups *groups, bool sweep, struct marks *marks,
                              struct cuttle_error *error) {
	struct mark_sweep swept = {.spans = spans};
	marks->list.used = 0;
	bool good = mark_spans(spans, types, groups, &marks->list);
	if (good && sweep) good = arena_append(&swept.tagged, marks->list.bytes, marks->list.used);
	enum cuttle_status status =
	    good ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		join_marks(&marks->list);
		// Before the sweep: what a document costs must not follow from its contents.
		marks->groups = collect_groups(&marks->list);
		follow_joined(&swept.tagged, &marks->list);
		if (sweep) status = sweep_marks(&swept, &marks->list, error);
	}
	arena_free(&swept.tagged);
	fold_free(&swept.folded);
	arena_free(&swept.places);
	arena_free(&swept.rest);
	return status;
}

void marks_free(struct marks *marks) {
	arena_free(&marks->list);
}

size_t marks_count(const struct marks *marks) {
	return count_marks(&marks->list);
}

const struct mark *marks_all(const struct marks *marks) {
	return marks_of(&marks->list);
}

uint32_t marks_groups(const struct marks *marks) {
	return marks->groups;
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
		const struct mark *mark = &marks_all(marks)[i];
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
