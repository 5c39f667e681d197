// SPDX-License-Identifier: Apache-2.0
// Turns option values back into the words of a shell. It walks through the verb's option table and
// prints each option whose value is not the default.
#include "tools/common/suggestion.h"

#include "io/disk/secrecy.h"
#include <inttypes.h>
#include <string.h>

void suggestion_clean(FILE *file, const char *text, size_t size) {
	for (size_t i = 0; i < size; i++)
		fputc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i], file);
}

/* Prints the text as one word of a shell. It is quoted when it is empty or has a special character.
 */
static void print_word(FILE *file, const char *text, size_t size) {
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:+-";
	bool quoted = !size;
	for (size_t i = 0; i < size; i++) quoted = quoted || !text[i] || !strchr(plain, text[i]);
	if (quoted) fputc('\'', file);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\'') fputs("'\\''", file);
		else suggestion_clean(file, &text[i], 1);
	}
	if (quoted) fputc('\'', file);
}

static void print_text_option(FILE *file, const struct option_entry *entry, const char *text) {
	fprintf(file, " --%s ", entry->name);
	print_word(file, text, strlen(text));
}

/* Prints the option when its value is not the default. */
static void print_wanted(FILE *file, const struct option_entry *entry,
                         const struct generate_values *values,
                         const struct generate_values *defaults) {
	const void *at = (const char *)values + entry->offset,
	           *usual = (const char *)defaults + entry->offset;
	switch (entry->kind) {
	case OPTION_FLAG:
		if (*(const bool *)at != *(const bool *)usual) fprintf(file, " --%s", entry->name);
		break;
	case OPTION_TEXT: {
		const char *const text = *(const char *const *)at, *const had =
		                                                       *(const char *const *)usual;
		if (text && (!had || strcmp(text, had) != 0)) print_text_option(file, entry, text);
		break;
	}
	case OPTION_LIST: {
		const struct option_list *list = at;
		for (size_t i = 0; i < list->count; i++)
			print_text_option(file, entry, list->texts[i]);
		break;
	}
	case OPTION_COUNT:
		if (*(const uint64_t *)at != *(const uint64_t *)usual)
			fprintf(file, " --%s %" PRIu64, entry->name, *(const uint64_t *)at);
		break;
	case OPTION_SMALL:
		if (*(const uint32_t *)at != *(const uint32_t *)usual)
			fprintf(file, " --%s %" PRIu32, entry->name, *(const uint32_t *)at);
		break;
	case OPTION_CHOICE:
		if (*(const int *)at != *(const int *)usual) {
			const char *name = entry->argument;
			for (int skip = *(const int *)at; skip > 0; skip--)
				name = strchr(name, '|') + 1;
			fprintf(file, " --%s %.*s", entry->name, (int)strcspn(name, "|"), name);
		}
		break;
	case OPTION_REAL:
		break;
	}
}

/* How many texts for each share of 1 the records allow, in the category where they allow least. For
 * example: 70 records, B = 7 and a share of 2 allow 5. */
static size_t count_share_texts(const struct categories *declared, const struct records *records,
                                const struct survey *survey, size_t batch) {
	size_t counts[MOST_CATEGORIES] = {0}, texts = SIZE_MAX;
	for (size_t i = 0; i < survey->category_count; i++) {
		const char *values[CATEGORY_FIELDS];
		size_t sizes[CATEGORY_FIELDS];
		for (size_t j = 0; j < declared->field_count; j++)
			values[j] =
			    records_label(records, survey->categories[i].record, j, &sizes[j]);
		const size_t category = categories_find(declared, values, sizes);
		if (category < declared->count) counts[category] = survey->categories[i].count;
	}
	for (size_t i = 0; i < declared->count; i++) {
		const size_t enough = counts[i] / batch / declared->all[i].share;
		if (enough < texts) texts = enough;
	}
	return texts;
}

static int compare_options(const char *a, size_t a_size, const char *b, size_t b_size) {
	const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
	return order ? order : (a_size > b_size) - (a_size < b_size);
}

/* The surveyed category whose name is the next one after `last`, which may be NULL, by bytes. */
static const char *next_category(const struct records *records, const struct survey *survey,
                                 size_t count, const char *last, size_t last_size, size_t *size) {
	const char *next = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t length;
		const char *name = records_label(records, survey->categories[i].record, 0, &length);
		if (last && compare_options(name, length, last, last_size) <= 0) continue;
		if (next && compare_options(name, length, next, *size) >= 0) continue;
		next = name;
		*size = length;
	}
	return next;
}

/* The first `count` categories with commas between them. They stand by name, as their order in the
 * survey tells which has more records. The caller gives the list to secrecy_free. NULL: out of
 * memory. */
static char *list_categories(const struct records *records, const struct survey *survey,
                             size_t count) {
	char *list = NULL;
	const char *name = NULL;
	size_t size = 0, length;
	FILE *words = open_memstream(&list, &length);
	for (size_t i = 0; words && i < count; i++) {
		name = next_category(records, survey, count, name, size, &size);
		if (name) fprintf(words, "%s%.*s", i ? "," : "", (int)size, name);
	}
	if (words && fclose(words) == 0) return list;
	secrecy_free(list);
	return NULL;
}

/* Prints the categories, unless they are given, and the number of texts per category. False: there
 * are too few records. Without given categories, those with at least a batch of records are taken;
 * the survey has the largest first. */
static bool print_categories(FILE *file, const struct generate_values *values,
                             const struct records *records, const struct survey *survey,
                             size_t batch) {
	const struct option_list *fields = &values->category_fields;
	size_t enough = 0, texts = 0;
	while (enough < survey->category_count && survey->categories[enough].count >= batch)
		enough++;
	if (!values->request.categories && !enough) return false;
	char *made = values->request.categories ? NULL : list_categories(records, survey, enough);
	const char *list = values->request.categories ? values->request.categories : made;
	struct categories declared = {0};
	const bool good =
	    list && !categories_read(fields->texts, fields->count, list, &declared, NULL);
	if (values->request.categories) {
		if (good) texts = count_share_texts(&declared, records, survey, batch);
	} else {
		// A list cannot hold categories of several fields, or a name with a comma in it.
		const bool listed = good && declared.count == enough;
		fputs(" --categories ", file);
		print_word(file, listed ? list : "categories.csv",
		           strlen(listed ? list : "categories.csv"));
		texts = survey->categories[enough - 1].count / batch;
	}
	// The numbers of texts follow from how many records each category has, so they must be
	// public.
	fprintf(file, " --category-public --num-per-category %zu", texts);
	categories_free(&declared);
	secrecy_free(made);
	return texts > 0;
}

/* Whether the line declares categories public: owners as units, and shares, go with no others. */
static bool needs_public(const struct generate_values *values) {
	const struct option_list *fields = &values->category_fields;
	struct categories declared = {0};
	if (!fields->count) return false;
	if (values->request.common.unit_key) return true;
	const bool uneven = values->request.categories &&
	                    !categories_read(fields->texts, fields->count,
	                                     values->request.categories, &declared, NULL) &&
	                    categories_shares(&declared) != declared.count;
	categories_free(&declared);
	return uneven;
}

uint32_t suggestion_shots(const struct generate_values *given) {
	const bool hidden =
	    (given->category_fields.count || given->request.clusters) && !needs_public(given);
	return hidden || given->request.common.unit_key ? 1 : given->request.plan.shots;
}

char *suggestion_line(const struct verb *verb, const struct generate_values *given,
                      const struct records *records, const struct survey *survey,
                      const char *text_field) {
	const struct generate_values defaults = values_defaults();
	struct generate_values values = *given;
	// What a text reads is a batch: B rows of R records each.
	const size_t shots = suggestion_shots(given), count = records_count(records) / shots,
	             batch = values.request.plan.batch < count ? values.request.plan.batch : count;
	char *line = NULL;
	size_t size;
	FILE *file = batch ? open_memstream(&line, &size) : NULL;
	if (!file) return NULL;
	if (text_field) values.request.text_field = text_field;
	fputs("cuttle generate", file);
	values.request.plan.batch = defaults.request.plan.batch;
	values.request.plan.shots = (uint32_t)shots;
	for (size_t i = 0; i < verb->option_count; i++)
		if (strcmp(verb->options[i].name, "json") != 0)
			print_wanted(file, &verb->options[i], &values, &defaults);
	char output[VERB_NAME];
	verb_unused("out.jsonl", output);
	fprintf(file, " -o %s -e 10 -B %zu", output, batch);
	bool enough = true;
	const bool private = values.category_fields.count || values.request.clusters;
	if (needs_public(&values))
		enough = print_categories(file, &values, records, survey, batch * shots);
	else if (private) {
		// No name comes from the records. Lots use half of them.
		if (!values.request.categories && values.category_fields.count)
			fputs(" --categories categories.csv", file);
		fprintf(file, " -N %zu", count / batch < 2 ? 1 : count / batch / 2);
	} else fprintf(file, " -N %zu", count / batch);
	if (values.request.common.unit_key) fputs(" --one-per-unit", file);
	if (fclose(file) == 0 && enough) return line;
	secrecy_free(line);
	return NULL;
}
