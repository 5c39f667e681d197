// SPDX-License-Identifier: Apache-2.0
// Fills the places of places.h by number or by category. With units, it then makes null the places
// that a unit may not have.
#include "io/records/places.h"

#include "engine/cuttle/histogram.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/records/lots.h"
#include "io/records/units.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = sizeof((struct cuttle_error *)NULL)->message };

/* Records that a text needs. */
static size_t count_each(const struct places_request *request) {
	return (size_t)request->batch * request->shots;
}

/* `has`: the records of the file. */
static enum cuttle_status refuse_too_few(const struct places_request *request, size_t has,
                                         struct cuttle_error *error) {
	char product[64];
	if (request->shots > 1)
		(void)snprintf(product, sizeof product, "B x R = %zu x %u x %u", request->texts,
		               request->batch, request->shots);
	else
		(void)snprintf(product, sizeof product, "B = %zu x %u", request->texts,
		               request->batch);
	return io_fail(error, CUTTLE_INPUT,
	               "%.80s has %zu records, but N x %s = %zu are needed; lower -N%s or -B",
	               file_shown(request->path), has, product,
	               request->texts * count_each(request), request->shots > 1 ? ", --shots" : "");
}

static void place_by_index(struct places *places) {
	for (size_t i = 0; i < places->count; i++) places->records[i] = i;
	places->lines = places->count;
}

/* The category of a record; their number where it has none of them. */
static size_t category_of_record(const struct records *records, const struct categories *categories,
                                 size_t record) {
	const char *values[CATEGORY_FIELDS];
	size_t sizes[CATEGORY_FIELDS];
	for (size_t j = 0; j < categories->field_count; j++)
		values[j] = records_label(records, record, j, &sizes[j]);
	return categories_find(categories, values, sizes);
}

/* Categories that have fewer records than their texts need. */
struct shortage {
	const struct places_request *request;
	size_t has[MOST_CATEGORIES]; /* records of each, at most as many as it needs */
	size_t count;                /* of those that are short */
};

/* Joins the values of a category, or the names of the fields where it is NULL. */
static void join_values(const struct categories *categories, const struct category *category,
                        char *joined, size_t room) {
	size_t used = 0;
	*joined = 0;
	for (size_t j = 0; j < categories->field_count && used < room; j++)
		used += (size_t)snprintf(joined + used, room - used, "%s%s", j ? "," : "",
		                         category ? category->values[j] : categories->fields[j]);
}

/* Lists those that are short in whole entries, with what they have and need where `counted`, until
 * there is no more room. Returns how many are left out. */
static size_t list_shortage(const struct shortage *shortage, bool counted, char *list,
                            size_t room) {
	const struct categories *categories = shortage->request->categories;
	size_t used = 0, listed = 0;
	*list = 0;
	for (size_t i = 0; i < categories->count; i++) {
		const struct category *category = &categories->all[i];
		const size_t needs = category->texts * count_each(shortage->request);
		char name[MESSAGE], entry[MESSAGE + 64], of[48] = "";
		if (shortage->has[i] == needs) continue;
		join_values(categories, category, name, sizeof name);
		if (counted) (void)snprintf(of, sizeof of, ": %zu of %zu", shortage->has[i], needs);
		const size_t size =
		    (size_t)snprintf(entry, sizeof entry, "%s%s%s", listed ? "; " : "", name, of);
		if (used + size >= room) continue;
		memcpy(list + used, entry, size + 1);
		used += size;
		listed++;
	}
	return shortage->count - listed;
}

/* Names all that are short in one message: without their counts, where these have no room. How many
 * records each has is public. */
static enum cuttle_status refuse_shortage(const struct shortage *shortage,
                                          struct cuttle_error *error) {
	const struct places_request *request = shortage->request;
	const struct categories *categories = request->categories;
	char fields[64], head[128], tail[192], list[MESSAGE], more[64] = "";
	join_values(categories, NULL, fields, sizeof fields);
	const size_t before = (size_t)snprintf(
	                 head, sizeof head, "%.40s: too few records in %zu of %zu categories of %s",
	                 file_shown(request->path), shortage->count, categories->count, fields),
	             behind = (size_t)snprintf(
	                 tail, sizeof tail,
	                 "; lower %s%s or -B. cuttle expand makes more of few texts, and cuttle "
	                 "learn reads any number",
	                 request->per_share ? "--num-per-category" : "-N",
	                 request->shots > 1 ? ", --shots" : ""),
	             room = MESSAGE - before - behind - sizeof " ()";
	size_t left = list_shortage(shortage, true, list, room);
	if (left) left = list_shortage(shortage, false, list, room);
	if (left) {
		left = list_shortage(shortage, false, list, room - sizeof more / 2);
		(void)snprintf(more, sizeof more, "; %zu more: cuttle inspect", left);
	}
	return io_fail(error, CUTTLE_INPUT, "%s (%s%s)%s", head, list, more, tail);
}

/* Refuses categories that have too few records. next and end as in place_by_category. */
static enum cuttle_status check_shortage(const struct places_request *request, const size_t *next,
                                         const size_t *end, struct cuttle_error *error) {
	const struct categories *categories = request->categories;
	struct shortage shortage = {.request = request};
	bool any = false;
	for (size_t i = 0; i < categories->count; i++) {
		const size_t needs = categories->all[i].texts * count_each(request);
		shortage.has[i] = next[i] + needs - end[i];
		shortage.count += shortage.has[i] < needs;
		any = any || shortage.has[i];
	}
	if (!shortage.count) return CUTTLE_OK;
	if (!any)
		return io_fail(error, CUTTLE_INPUT,
		               "%.80s: no record is in a declared category; cuttle inspect shows "
		               "which there are in --category-field %.80s",
		               file_shown(request->path), categories->fields[0]);
	return refuse_shortage(&shortage, error);
}

static enum cuttle_status place_by_category(const struct places_request *request,
                                            struct places *places, struct cuttle_error *error) {
	const struct categories *categories = request->categories;
	// Category i has the places before end[i]; next[i] is its first free one. With texts 2 and
	// 1 and B = 4: next = {0, 8}, end = {8, 12}.
	size_t next[MOST_CATEGORIES], end[MOST_CATEGORIES], begin = 0;
	for (size_t i = 0; i < categories->count; i++) {
		next[i] = begin;
		end[i] = begin += categories->all[i].texts * count_each(request);
	}
	for (size_t i = 0; i < records_count(request->records); i++) {
		const size_t category = category_of_record(request->records, categories, i);
		if (category == categories->count || next[category] == end[category]) continue;
		places->records[next[category]++] = i;
		places->lines = i + 1;
	}
	return check_shortage(request, next, end, error);
}

/* Makes the places over the limit null, and drops them from units[count]. The units are sorted, and
 * the `batch` of each is a place, so place / R is its row, and row / B its text. Further places in
 * a row that is kept are kept, and dropped from units[count] alone. */
static void limit_units(const struct places_request *request, struct places *places,
                        struct unit_record *units, size_t *count) {
	size_t kept = 0;
	uint64_t texts = 0;
	for (size_t i = 0; i < *count; i++) {
		const struct unit_record *before = kept ? &units[kept - 1] : NULL;
		const bool same = before && units_same(before, &units[i]);
		const uint64_t row = units[i].batch / request->shots,
		               row_before = same ? before->batch / request->shots : 0;
		texts = same ? texts : 0;
		if (same && row_before == row) continue;
		if (texts == request->limit ||
		    (same && row_before / request->batch == row / request->batch)) {
			places->records[units[i].batch] = PLACE_NULL;
			continue;
		}
		texts++;
		units[kept++] = units[i];
	}
	*count = kept;
}

/* Sets `weight` and `rho` where there is no limit; the `batch` of each unit is a text. */
static enum cuttle_status weigh_units(struct places *places, struct unit_record *units,
                                      size_t count, double rho, struct cuttle_error *error) {
	struct charges charges;
	const bool made = charges_of_records(units, count, 1, false, &charges);
	// With rho = 1 each charge is a sum of squared counts: an integer, exact up to 2^53.
	if (made) places->weight = (uint64_t)charges_most(&charges);
	charges_free(&charges);
	// The sum that a ledger makes, in its order, so that both are the same number.
	if (!made || !charges_of_records(units, count, rho, false, &charges))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	places->rho = charges_most(&charges);
	charges_free(&charges);
	return CUTTLE_OK;
}

/* Names the owner of a record; false: it has none. */
static bool name_owner(const struct records *records, size_t record, struct unit_record *unit) {
	size_t size;
	const char *id = records_id(records, record, &size);
	if (id)
		(void)crypto_generichash(unit->unit, UNIT_NAME, (const unsigned char *)id, size,
		                         NULL, 0);
	return id != NULL;
}

bool places_first(const struct records *records, size_t *first, size_t *count) {
	const size_t all = records_count(records);
	struct unit_record *units = calloc(all + 1, sizeof *units);
	unsigned char *is_first = calloc(all + 1, 1);
	size_t owned = 0;
	*count = 0;
	for (size_t i = 0; units && i < all; i++)
		if (name_owner(records, i, &units[owned])) units[owned++].batch = i;
	if (units) units_sort(units, owned);
	for (size_t i = 0; units && is_first && i < owned; i++)
		is_first[units[i].batch] = !i || !units_same(&units[i - 1], &units[i]);
	for (size_t i = 0; is_first && i < all; i++)
		if (is_first[i]) first[(*count)++] = i;
	const bool made = units && is_first;
	if (units) sodium_memzero(units, all * sizeof *units);
	if (is_first) sodium_memzero(is_first, all);
	free(units);
	free(is_first);
	return made;
}

/* Applies the rules of units to places that are filled, and sets `weight`. */
static enum cuttle_status apply_units(const struct places_request *request, struct places *places,
                                      struct cuttle_error *error) {
	struct unit_record *units = calloc(places->count, sizeof *units);
	enum cuttle_status status = CUTTLE_OK;
	size_t count = 0;
	if (!units) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t place = 0; place < places->count; place++) {
		if (name_owner(request->records, places->records[place], &units[count]))
			units[count++].batch = place;
		else places->records[place] = PLACE_NULL;
	}
	if (!count)
		status = io_fail(error, CUTTLE_INPUT, "%s: no record has a %s",
		                 file_shown(request->path), request->unit_key);
	if (!status && request->limit) {
		units_sort(units, count);
		limit_units(request, places, units, &count);
		places->weight = request->limit;
	} else if (!status) {
		size_t rows = 0;
		for (size_t i = 0; i < count; i++) {
			if (places_repeats(places, request->records, units[i].batch)) continue;
			units[rows] = units[i];
			units[rows++].batch /= count_each(request);
		}
		status = weigh_units(places, units, rows, request->rho, error);
	}
	sodium_memzero(units, places->count * sizeof *units);
	free(units);
	return status;
}

enum cuttle_status places_make(const struct places_request *request, struct places *places,
                               struct cuttle_error *error) {
	*places = (struct places){.weight = 1, .row = request->shots};
	if (__builtin_mul_overflow(request->texts, count_each(request), &places->count))
		return io_fail(error, CUTTLE_USAGE, "N x B is too large");
	// Counted first: there may be no memory for more places than there are records.
	const size_t count = records_count(request->records);
	if (!request->categories && count < places->count)
		return refuse_too_few(request, count, error);
	places->records = calloc(places->count, sizeof *places->records);
	if (!places->records) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = CUTTLE_OK;
	if (request->categories) status = place_by_category(request, places, error);
	else place_by_index(places);
	if (!status && request->unit_key) status = apply_units(request, places, error);
	return status;
}

bool places_repeats(const struct places *places, const struct records *records, size_t place) {
	const size_t own = places->records[place];
	size_t size, other_size;
	const char *owner = own == PLACE_NULL ? NULL : records_id(records, own, &size);
	for (size_t i = place - place % places->row; owner && i < place; i++) {
		const size_t record = places->records[i];
		const char *other =
		    record == PLACE_NULL ? NULL : records_id(records, record, &other_size);
		if (other && other_size == size && memcmp(other, owner, size) == 0) return true;
	}
	return false;
}

void places_count(const struct records *records, const struct categories *categories,
                  uint64_t *counts) {
	memset(counts, 0, categories->count * sizeof *counts);
	for (size_t i = 0; i < records_count(records); i++) {
		const size_t category = category_of_record(records, categories, i);
		if (category < categories->count) counts[category]++;
	}
}

void places_clusters(const struct records *records, const struct categories *categories,
                     uint32_t *cluster) {
	for (size_t i = 0; i < records_count(records); i++) {
		const size_t category = category_of_record(records, categories, i);
		cluster[i] = category < categories->count ? (uint32_t)category : CUTTLE_NO_CLUSTER;
	}
}

/* The lot of a record, or of the group that begins with it. */
static uint64_t draw_text(const struct places_lots *request, size_t cluster, size_t record) {
	size_t size;
	const uint64_t batches = request->batches[cluster];
	const char *owner = request->by_owner ? records_id(request->records, record, &size) : NULL;
	return owner ? lots_of_owner(request->key, owner, size, batches)
	             : lots_batch(request->key, (uint32_t)cluster, record, batches);
}

enum cuttle_status places_draw(const struct places_lots *request, struct places *places,
                               struct cuttle_error *error) {
	const struct categories *categories = request->categories;
	const size_t rows = request->rows, shots = request->shots;
	// begin[c] is the first text of category c, and filled[t] how many rows of text t are
	// taken. Of category c's last group grouped[c] records are placed, and next[c] is the place
	// of the next one.
	size_t begin[MOST_CATEGORIES] = {0}, grouped[MOST_CATEGORIES] = {0}, next[MOST_CATEGORIES];
	*places = (struct places){
	    .weight = 1, .lines = records_count(request->records), .row = request->shots};
	if (__builtin_mul_overflow(request->texts, rows * shots, &places->count))
		return io_fail(error, CUTTLE_USAGE, "N x B is too large");
	uint32_t *filled = calloc(request->texts, sizeof *filled);
	places->records = calloc(places->count, sizeof *places->records);
	if (!filled || !places->records) {
		free(filled);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < places->count; i++) places->records[i] = PLACE_NULL;
	for (size_t c = 1; categories && c < categories->count; c++)
		begin[c] = begin[c - 1] + categories->all[c - 1].texts;
	for (size_t i = 0; i < places->lines; i++) {
		const size_t cluster = request->cluster ? request->cluster[i]
		                       : categories
		                           ? category_of_record(request->records, categories, i)
		                           : 0;
		if (cluster >= (categories ? categories->count : 1)) continue;
		const size_t used = categories ? categories->all[cluster].texts : request->texts;
		if (!grouped[cluster]) {
			const size_t text = begin[cluster] + (size_t)draw_text(request, cluster, i);
			const bool read = text < begin[cluster] + used && filled[text] < rows;
			next[cluster] = read ? (text * rows + filled[text]++) * shots : PLACE_NULL;
		}
		grouped[cluster] = (grouped[cluster] + 1) % shots;
		if (next[cluster] != PLACE_NULL) places->records[next[cluster]++] = i;
	}
	sodium_memzero(filled, request->texts * sizeof *filled);
	free(filled);
	return CUTTLE_OK;
}

void places_free(struct places *places) {
	if (places->records)
		sodium_memzero(places->records, places->count * sizeof *places->records);
	free(places->records);
	*places = (struct places){0};
}
