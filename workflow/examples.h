// SPDX-License-Identifier: Apache-2.0
// examples.h: which public examples a prompt shows, where it shows E of them.
//
// All is public. An example belongs to a group (a category, or a cluster of public texts), or to
// none. Of its group a prompt shows the first E in the order of the file. Where the group has
// fewer, the first of the others fill up. For example, E = 3, groups 0 1 0 2 1 0 0:
//
//     of group 0: numbers 0 2 5        of group 1: 0 1 4        of group 3: 0 1 2
#ifndef CUTTLE_WORKFLOW_EXAMPLES_H
#define CUTTLE_WORKFLOW_EXAMPLES_H

#include <stddef.h>

#define EXAMPLES_NO_GROUP ((size_t)-1)

/* Writes the numbers of the examples to chosen[count], ascending. Returns how many there are:
 * `most`, or all if there are fewer; most 0 = all. groups[count] is each one's group. `but` is left
 * out as if it were not there; EXAMPLES_NO_GROUP = none is. `group` is whose prompt it is, or
 * EXAMPLES_NO_GROUP. */
size_t examples_choose(const size_t *groups, size_t count, size_t group, size_t most, size_t but,
                       size_t *chosen);

/* Which of headings[count] the example begins with, before a line end: its category. *text becomes
 * what stands behind it. EXAMPLES_NO_GROUP: none of them; *text becomes the example. */
size_t examples_group(const char *example, const char *const *headings, size_t count,
                      const char **text);

#endif
