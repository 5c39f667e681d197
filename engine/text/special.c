// SPDX-License-Identifier: Apache-2.0
// One pass over the text for each length of special tokens, longest first. A pass looks only at
// bytes that no longer token has taken.
#include "engine/text/special.h"

#include <stdlib.h>
#include <string.h>

static int compare_tokens(const void *a, const void *b) {
	const struct special_token *left = a, *right = b;
	if (left->text.size != right->text.size) return left->text.size < right->text.size ? 1 : -1;
	return memcmp(left->text.text, right->text.text, left->text.size);
}

bool special_build(struct special_set *set, struct special_token *tokens, size_t count) {
	*set = (struct special_set){.tokens = tokens, .token_count = count};
	set->groups = calloc(count + 1, sizeof *set->groups);
	if (!set->groups) {
		special_free(set);
		return false;
	}
	if (count) qsort(tokens, count, sizeof *tokens, compare_tokens);
	for (size_t i = 0; i < count; i++) {
		if (!i || tokens[i].text.size != tokens[i - 1].text.size)
			set->groups[set->group_count++] =
			    (struct special_group){.first = i, .length = tokens[i].text.size};
		struct special_group *group = &set->groups[set->group_count - 1];
		unsigned char lead = (unsigned char)*tokens[i].text.text;
		group->count++;
		group->always |= tokens[i].always;
		group->leads[lead / 64] |= UINT64_C(1) << lead % 64;
	}
	return true;
}

void special_free(struct special_set *set) {
	free(set->tokens);
	free(set->groups);
	*set = (struct special_set){0};
}

/* Returns the token of this group with which `text` begins, or NULL. */
static const struct special_token *find_token_at(const struct special_set *set,
                                                 const struct special_group *group,
                                                 const char *text, bool control_too) {
	unsigned char lead = (unsigned char)*text;
	if (!(group->leads[lead / 64] >> lead % 64 & 1)) return NULL;
	const struct special_token wanted = {.text = {text, group->length}};
	const struct special_token *token = bsearch(&wanted, set->tokens + group->first,
	                                            group->count, sizeof wanted, compare_tokens);
	return token && (token->always || control_too) ? token : NULL;
}

struct match_list {
	struct special_match *items;
	size_t count, capacity;
};

static bool append_match(struct match_list *list, struct special_match match) {
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		struct special_match *items = capacity > SIZE_MAX / 2 / sizeof *items
		                                  ? NULL
		                                  : realloc(list->items, capacity * sizeof *items);
		if (!items) return false;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = match;
	return true;
}

/* Copies `old` to `list`, and inserts the group's matches between them. */
static bool insert_matches(const struct special_set *set, const struct special_group *group,
                           const char *text, size_t size, bool control_too,
                           const struct match_list *old, struct match_list *list) {
	list->count = 0;
	size_t position = 0;
	for (size_t i = 0; i <= old->count; i++) {
		size_t end = i < old->count ? old->items[i].position : size;
		while (end - position >= group->length) {
			const struct special_token *token =
			    find_token_at(set, group, text + position, control_too);
			if (token && !append_match(list, (struct special_match){
			                                     position, group->length, token->id}))
				return false;
			position += token ? group->length : 1;
		}
		if (i == old->count) break;
		if (!append_match(list, old->items[i])) return false;
		position = end + old->items[i].length;
	}
	return true;
}

bool special_find(const struct special_set *set, const char *text, size_t size, bool control_too,
                  struct special_match **matches, size_t *count) {
	struct match_list found = {0}, next = {0};
	bool ok = true;
	for (size_t i = 0; i < set->group_count && ok; i++) {
		if (!control_too && !set->groups[i].always) continue;
		ok = insert_matches(set, &set->groups[i], text, size, control_too, &found, &next);
		struct match_list swap = found;
		found = next;
		next = swap;
	}
	free(next.items);
	if (!ok) {
		free(found.items);
		found = (struct match_list){0};
	}
	*matches = found.items;
	*count = found.count;
	return ok;
}
