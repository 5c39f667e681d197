// SPDX-License-Identifier: Apache-2.0
// groups.h: which types of spans belong together, as the operator says with --group and --leave.
//
// Types and groups are public.
// Example: --group "names=PERSON,CODE:2.0" --group DATE_TIME --leave GPE
//   group 0 "names" has PERSON and CODE, and epsilon 2.0; group 1 "DATE_TIME" has that type;
//   spans of GPE are public; any other type is blank in every row.
// With no group at all there is one, "all", of every type that is not left.
#ifndef CUTTLE_IO_DOCUMENTS_GROUPS_H
#define CUTTLE_IO_DOCUMENTS_GROUPS_H

#include "base/utf8.h"
#include "engine/cuttle/status.h"

enum { GROUPS_MOST = 16, GROUPS_NAMED = 256 }; /* groups; types that all options may name */
/* Two more numbers that a type may have in place of that of a group. */
enum {
	GROUP_BLANK = GROUPS_MOST, /* in no group: blank in every row */
	GROUP_LEFT                 /* declared public: no mark */
};

struct group {
	char name[UTF8_NAME + 1];
	double epsilon; /* as the option says; 0 = it says none */
};

/* Begin with all members zero. */
struct groups {
	struct group all[GROUPS_MOST];
	size_t count;
	struct group_member {
		char type[UTF8_NAME + 1];
		uint32_t group; /* number, or GROUP_LEFT */
	} members[GROUPS_NAMED];
	size_t member_count;
};

/* Adds a group: [NAME=]TYPE[,TYPE..][:EPS]. Without a name it is called like its types. USAGE: it
 * is not of this form; more than GROUPS_MOST groups; two of one name; a type that is named already.
 */
enum cuttle_status groups_add(struct groups *groups, const char *option,
                              struct cuttle_error *error);
/* Declares types public: TYPE[,TYPE..]. USAGE: as for groups_add. */
enum cuttle_status groups_leave(struct groups *groups, const char *option,
                                struct cuttle_error *error);
/* Whether the type was named, in a group or as public. */
bool groups_named(const struct groups *groups, const char *type);
/* The number of the type's group, GROUP_BLANK or GROUP_LEFT. */
uint32_t groups_of(const struct groups *groups, const char *type);
/* How many groups there are: count, or 1 when none was added. */
size_t groups_count(const struct groups *groups);

#endif
