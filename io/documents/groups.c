// SPDX-License-Identifier: Apache-2.0
// How groups.h reads its options: split by '=', ',' and the last ':'.
#include "io/documents/groups.h"

#include "io/disk/fail.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool groups_named(const struct groups *groups, const char *type) {
	for (size_t i = 0; i < groups->member_count; i++)
		if (!strcmp(groups->members[i].type, type)) return true;
	return false;
}

/* Adds the types of a list, text[size], to a group. */
static enum cuttle_status name_types(struct groups *groups, const char *option, const char *text,
                                     size_t size, uint32_t group, struct cuttle_error *error) {
	for (const char *end = text + size, *comma; text <= end; text = comma + 1) {
		comma = memchr(text, ',', (size_t)(end - text));
		if (!comma) comma = end;
		const size_t length = (size_t)(comma - text);
		struct group_member member = {.group = group};
		if (!utf8_name(text, length))
			return io_fail(error, CUTTLE_USAGE,
			               "%s: a type is empty or too long; write TYPE,TYPE", option);
		memcpy(member.type, text, length);
		if (groups_named(groups, member.type))
			return io_fail(error, CUTTLE_USAGE,
			               "%s: the type %s is named twice; it has one group", option,
			               member.type);
		if (groups->member_count == GROUPS_NAMED)
			return io_fail(error, CUTTLE_USAGE, "%s: more than %d types are named",
			               option, GROUPS_NAMED);
		groups->members[groups->member_count++] = member;
	}
	return CUTTLE_OK;
}

enum cuttle_status groups_add(struct groups *groups, const char *option,
                              struct cuttle_error *error) {
	struct group group = {.epsilon = 0};
	const char *equals = strchr(option, '='), *colon = strrchr(option, ':');
	const char *types = equals ? equals + 1 : option;
	const size_t size = colon ? (size_t)(colon - types) : strlen(types);
	const char *name = option;
	const size_t length = equals ? (size_t)(equals - option) : size;
	char *rest = NULL;
	if (colon) group.epsilon = strtod(colon + 1, &rest);
	if ((colon && (colon < types || *rest || rest == colon + 1 || !isfinite(group.epsilon) ||
	               group.epsilon <= 0)) ||
	    !utf8_name(name, length))
		return io_fail(error, CUTTLE_USAGE,
		               "--group: \"%.80s\" is not [NAME=]TYPE[,TYPE..][:EPSILON], as in "
		               "names=PERSON,CODE:2.0",
		               option);
	memcpy(group.name, name, length);
	for (size_t i = 0; i < groups->count; i++)
		if (!strcmp(groups->all[i].name, group.name))
			return io_fail(error, CUTTLE_USAGE, "--group: two groups are called %s",
			               group.name);
	if (groups->count == GROUPS_MOST)
		return io_fail(error, CUTTLE_USAGE, "--group: at most %d groups", GROUPS_MOST);
	groups->all[groups->count] = group;
	return name_types(groups, "--group", types, size, (uint32_t)groups->count++, error);
}

enum cuttle_status groups_leave(struct groups *groups, const char *option,
                                struct cuttle_error *error) {
	return name_types(groups, "--leave", option, strlen(option), GROUP_LEFT, error);
}

uint32_t groups_of(const struct groups *groups, const char *type) {
	for (size_t i = 0; i < groups->member_count; i++)
		if (!strcmp(groups->members[i].type, type)) return groups->members[i].group;
	return groups->count ? GROUP_BLANK : 0;
}

size_t groups_count(const struct groups *groups) {
	return groups->count ? groups->count : 1;
}
