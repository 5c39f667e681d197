// SPDX-License-Identifier: Apache-2.0
// tree.c: see tree.h. No private data.
#include "engine/grammar/tree.h"

#include "engine/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tree_grow(void **array, size_t *room, size_t count, size_t size) {
	if (count <= *room) return true;
	size_t wanted = *room ? *room * 2 : 64;
	while (wanted < count) wanted *= 2;
	void *grown = reallocarray(*array, wanted, size);
	if (!grown) return false;
	*array = grown;
	*room = wanted;
	return true;
}

uint32_t tree_add(struct tree *tree, enum tree_kind kind, size_t at, uint32_t a, uint32_t b) {
	if (!tree->node_count) tree->node_count = 1;
	if (!tree_grow((void **)&tree->nodes, &tree->node_room, tree->node_count + 1,
	               sizeof *tree->nodes))
		return 0;
	tree->nodes[tree->node_count] =
	    (struct tree_node){.kind = kind & 0xff, .a = a, .b = b, .at = at & 0xffffff};
	return (uint32_t)tree->node_count++;
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t hash_name(const char *name, size_t size) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32);
}

static size_t find_name(const struct tree *tree, const char *name, size_t size) {
	size_t slot = hash_name(name, size) & (tree->by_name_room - 1);
	for (; tree->by_name[slot]; slot = (slot + 1) & (tree->by_name_room - 1)) {
		const struct tree_rule *rule = tree->rules + tree->by_name[slot] - 1;
		if (rule->size == size && !memcmp(tree->text + rule->name, name, size)) break;
	}
	return slot;
}

/* Twice as many places as rules, or more. */
static bool widen_names(struct tree *tree) {
	if (tree->rule_count * 2 < tree->by_name_room) return true;
	const size_t room = tree->by_name_room ? tree->by_name_room * 2 : 256;
	uint32_t *wider = calloc(room, sizeof *wider);
	if (!wider) return false;
	free(tree->by_name);
	tree->by_name = wider;
	tree->by_name_room = room;
	for (size_t i = 0; i < tree->rule_count; i++) {
		const struct tree_rule *rule = tree->rules + i;
		wider[find_name(tree, tree->text + rule->name, rule->size)] = (uint32_t)i + 1;
	}
	return true;
}

bool tree_rule_of(struct tree *tree, size_t at, size_t size, uint32_t *rule) {
	if (!widen_names(tree)) return false;
	const size_t slot = find_name(tree, tree->text + at, size);
	if (!tree->by_name[slot]) {
		if (!tree_grow((void **)&tree->rules, &tree->rule_room, tree->rule_count + 1,
		               sizeof *tree->rules))
			return false;
		tree->rules[tree->rule_count++] =
		    (struct tree_rule){.name = (uint32_t)at, .size = (uint32_t)size};
		tree->by_name[slot] = (uint32_t)tree->rule_count;
	}
	*rule = tree->by_name[slot] - 1;
	return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

enum cuttle_status tree_fault(const struct tree *tree, size_t at, struct cuttle_error *error,
                              const char *format, ...) {
	size_t line = 1, column = 1;
	for (size_t i = 0; i < at && i < tree->size; i++) {
		const uint8_t byte = (uint8_t)tree->text[i];
		if (byte == '\n') {
			line++;
			column = 1;
		} else if ((byte & 0xc0) != 0x80) {
			column++; // a character counts once
		}
	}
	char reason[sizeof error->message];
	va_list list;
	va_start(list, format);
	vsnprintf(reason, sizeof reason, format, list);
	va_end(list);
	return status_fail(error, CUTTLE_INPUT, "grammar, line %zu, column %zu: %s", line, column,
	                   reason);
}

void tree_free(struct tree *tree) {
	free(tree->nodes);
	free(tree->bytes);
	free(tree->ranges);
	free(tree->rules);
	free(tree->by_name);
	free(tree->extents);
	*tree = (struct tree){0};
}
