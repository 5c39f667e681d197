// SPDX-License-Identifier: Apache-2.0
// measure.c: see measure.h. No private data.
// Costs: Knuth, A Generalization of Dijkstra's Algorithm (1977). Parts are settled from the
// cheapest on; each settles what it completes. So each part is looked at once, and rules may call
// each other in any way.
#include "engine/grammar/measure.h"

#include "engine/status.h"

#include <stdlib.h>

struct measure_entry {
	uint64_t cost;
	uint32_t node;
};

struct measure {
	struct tree *tree;
	struct measure_entry *heap; /* the cheapest first */
	size_t count;
};

static uint64_t add_costs(uint64_t a, uint64_t b) {
	return a + b < a ? UINT64_MAX - 1 : a + b;
}

static uint64_t times_cost(uint64_t a, uint64_t b) {
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX - 1 : product;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static void offer_node(struct measure *measure, uint32_t node, uint64_t cost) {
	struct tree_extent *extent = measure->tree->extents + node;
	if (extent->queued) return;
	extent->queued = true;
	size_t at = measure->count++;
	for (; at && measure->heap[(at - 1) / 2].cost > cost; at = (at - 1) / 2)
		measure->heap[at] = measure->heap[(at - 1) / 2];
	measure->heap[at] = (struct measure_entry){cost, node};
}

static struct measure_entry take_cheapest(struct measure *measure) {
	const struct measure_entry top = measure->heap[0], last = measure->heap[--measure->count];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < measure->count; at = child) {
		if (child + 1 < measure->count &&
		    measure->heap[child + 1].cost < measure->heap[child].cost)
			child++;
		if (measure->heap[child].cost >= last.cost) break;
		measure->heap[at] = measure->heap[child];
	}
	measure->heap[at] = last;
	return top;
}

/* ---- costs ----------------------------------------------------------------------------------- */

static uint64_t bytes_of_character(uint32_t character) {
	return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

/* Offers what is settled without its children. */
static void begin_costs(struct measure *measure) {
	struct tree *tree = measure->tree;
	for (uint32_t i = 1; i < tree->node_count; i++) {
		struct tree_node *node = tree->nodes + i;
		if (node->kind == TREE_TEXT) offer_node(measure, i, node->b);
		else if (node->kind == TREE_CLASS)
			offer_node(measure, i, bytes_of_character(tree->ranges[node->a].low));
		else if (node->kind == TREE_REPEAT && !node->a) offer_node(measure, i, 0);
		else if (node->kind == TREE_ALL) {
			node->b = 0;
			for (uint32_t child = node->first; child; child = tree->nodes[child].next)
				node->b++;
			if (!node->b) offer_node(measure, i, 0);
		}
	}
}

/* A part of this node costs so much, and no less. */
static void settle_part(struct measure *measure, uint32_t parent, uint64_t cost) {
	struct tree_node *node = measure->tree->nodes + parent;
	struct tree_extent *extent = measure->tree->extents + parent;
	if (node->kind == TREE_ALL) {
		extent->cost = add_costs(extent->cost, cost);
		if (!--node->b) offer_node(measure, parent, extent->cost);
	} else {
		offer_node(measure, parent,
		           node->kind == TREE_REPEAT ? times_cost(node->a, cost) : cost);
	}
}

static void settle_costs(struct measure *measure) {
	struct tree *tree = measure->tree;
	begin_costs(measure);
	while (measure->count) {
		const struct measure_entry entry = take_cheapest(measure);
		tree->extents[entry.node].cost = entry.cost;
		tree->extents[entry.node].done = true;
		const uint32_t parent = tree->nodes[entry.node].parent;
		if (!(parent & TREE_RULE)) {
			settle_part(measure, parent, entry.cost);
			continue;
		}
		uint32_t call = tree->rules[parent & ~TREE_RULE].calls;
		for (; call; call = tree->nodes[call].first) offer_node(measure, call, entry.cost);
	}
}

static enum cuttle_status check_rules_end(const struct tree *tree, struct cuttle_error *error) {
	for (size_t i = 0; i < tree->rule_count; i++) {
		const struct tree_rule *rule = tree->rules + i;
		if (!tree->extents[rule->body].done)
			return tree_fault(
			    tree, tree->nodes[rule->body].at, error,
			    "rule \"%.*s\" never ends; give it an alternative without itself",
			    rule->size < 80 ? (int)rule->size : 80, tree->text + rule->name);
	}
	for (size_t i = 1; i < tree->node_count; i++)
		if (tree->extents[i].cost > TREE_COST_MOST)
			return tree_fault(
			    tree, tree->nodes[i].at, error,
			    "this never ends: its shortest text has more than 2^40 bytes; "
			    "lower the numbers of repetitions");
	return CUTTLE_OK;
}

/* ---- what may be something ------------------------------------------------------------------- */

static void push_full(struct measure *measure, uint32_t node) {
	if (measure->tree->extents[node].full) return;
	measure->tree->extents[node].full = true;
	measure->heap[measure->count++].node = node; // a stack now
}

static void find_full(struct measure *measure) {
	struct tree *tree = measure->tree;
	for (uint32_t i = 1; i < tree->node_count; i++)
		if (tree->nodes[i].kind <= TREE_CLASS) push_full(measure, i);
	while (measure->count) {
		const uint32_t node = measure->heap[--measure->count].node,
		               parent = tree->nodes[node].parent;
		if (!(parent & TREE_RULE)) {
			if (tree->nodes[parent].kind != TREE_REPEAT || tree->nodes[parent].b)
				push_full(measure, parent);
			continue;
		}
		uint32_t call = tree->rules[parent & ~TREE_RULE].calls;
		for (; call; call = tree->nodes[call].first) push_full(measure, call);
	}
}

/* ---- left recursion -------------------------------------------------------------------------- */

/* A walk to what a text of a rule may begin with. Its way is kept in the heap's memory. */
enum { WALK_NEW, WALK_OPEN, WALK_CLOSED };

struct first_walk {
	const struct tree *tree;
	uint8_t *marks;   /* [node_count] */
	uint32_t *way;    /* nodes that are open, from the rule's body on */
	uint32_t *coming; /* the child that each looks at next, 0 = none */
	size_t depth;
};

static void open_node(struct first_walk *walk, uint32_t node) {
	const struct tree_node *at = walk->tree->nodes + node;
	walk->marks[node] = WALK_OPEN;
	walk->way[walk->depth] = node;
	walk->coming[walk->depth++] = at->kind == TREE_CALL ? walk->tree->rules[at->a].body
	                              : at->kind < TREE_CALL || (at->kind == TREE_REPEAT && !at->b)
	                                  ? 0
	                                  : at->first;
}

/* The child behind this one, where a text may begin with it, too. */
static uint32_t coming_after(const struct tree *tree, uint32_t node, uint32_t child) {
	const enum tree_kind kind = tree->nodes[node].kind;
	if (kind == TREE_ANY || (kind == TREE_ALL && !tree->extents[child].cost))
		return tree->nodes[child].next;
	return 0;
}

/* The node that begins with itself, 0 = none. */
static uint32_t walk_from(struct first_walk *walk, uint32_t body) {
	if (walk->marks[body]) return 0;
	open_node(walk, body);
	while (walk->depth) {
		const uint32_t node = walk->way[walk->depth - 1],
		               child = walk->coming[walk->depth - 1];
		if (!child) {
			walk->marks[node] = WALK_CLOSED;
			walk->depth--;
			continue;
		}
		if (walk->marks[child] == WALK_OPEN) return child;
		walk->coming[walk->depth - 1] = coming_after(walk->tree, node, child);
		if (walk->marks[child] == WALK_NEW) open_node(walk, child);
	}
	return 0;
}

static enum cuttle_status check_begins(const struct tree *tree, struct cuttle_error *error) {
	const size_t count = tree->node_count;
	struct first_walk walk = {tree, calloc(count, 1), malloc(count * sizeof *walk.way),
	                          malloc(count * sizeof *walk.coming), 0};
	enum cuttle_status status = CUTTLE_OK;
	if (!walk.marks || !walk.way || !walk.coming)
		status = status_fail(error, CUTTLE_NOMEM, "no memory for the grammar");
	for (size_t i = 0; i < tree->rule_count && !status; i++) {
		const uint32_t node = walk_from(&walk, tree->rules[i].body);
		if (!node) continue;
		const struct tree_rule *rule =
		    tree->rules + (tree->nodes[node].parent & ~TREE_RULE);
		status =
		    tree_fault(tree, tree->nodes[node].at, error,
		               "rule \"%.*s\" begins with itself (left recursion); "
		               "write a repetition, as in a (\"+\" a)*",
		               rule->size < 80 ? (int)rule->size : 80, tree->text + rule->name);
	}
	free(walk.marks);
	free(walk.way);
	free(walk.coming);
	return status;
}

/* ---- what may be left ------------------------------------------------------------------------ */

/* Nodes are settled from the leaves on; those of a rule within itself never are. */
struct far_walk {
	const struct tree *tree;
	uint64_t *far;     /* [node_count] bytes left within the node behind its first, at most */
	uint32_t *waiting; /* [node_count] children that are not settled */
	uint32_t *ready;   /* [node_count] a stack of settled nodes */
	size_t count;
};

static uint64_t more_of(uint64_t a, uint64_t b) {
	return a > b ? a : b;
}

/* Of a node whose children are settled. */
static uint64_t far_of(const struct far_walk *walk, uint32_t number) {
	const struct tree *tree = walk->tree;
	const struct tree_node *node = tree->nodes + number;
	uint64_t far = 0, behind = tree->extents[number].cost;
	switch ((enum tree_kind)node->kind) {
	case TREE_TEXT:
		return node->b ? node->b - 1 : 0;
	case TREE_CLASS:
		return bytes_of_character(tree->ranges[node->a + node->b - 1].high) - 1;
	case TREE_CALL:
		return walk->far[tree->rules[node->a].body];
	case TREE_REPEAT:
		return add_costs(walk->far[node->first],
		                 node->a ? times_cost(node->a - 1, tree->extents[node->first].cost)
		                         : 0);
	case TREE_ALL:
		for (uint32_t child = node->first; child; child = tree->nodes[child].next) {
			behind -= tree->extents[child].cost;
			far = more_of(far, add_costs(walk->far[child], behind));
		}
		return far;
	case TREE_ANY:
		for (uint32_t child = node->first; child; child = tree->nodes[child].next)
			far = more_of(far, walk->far[child]);
		return far;
	}
	return UINT64_MAX;
}

static void settle_far(struct far_walk *walk, uint32_t node) {
	walk->far[node] = far_of(walk, node);
	walk->ready[walk->count++] = node;
}

static void find_far(struct far_walk *walk) {
	const struct tree *tree = walk->tree;
	for (uint32_t i = 1; i < tree->node_count; i++) {
		const struct tree_node *node = tree->nodes + i;
		if (node->kind == TREE_CALL) walk->waiting[i] = 1;
		if (node->kind > TREE_CALL)
			for (uint32_t child = node->first; child; child = tree->nodes[child].next)
				walk->waiting[i]++;
	}
	for (uint32_t i = 1; i < tree->node_count; i++)
		if (!walk->waiting[i]) settle_far(walk, i);
	while (walk->count) {
		const uint32_t parent = tree->nodes[walk->ready[--walk->count]].parent;
		if (!(parent & TREE_RULE)) {
			if (!--walk->waiting[parent]) settle_far(walk, parent);
			continue;
		}
		uint32_t call = tree->rules[parent & ~TREE_RULE].calls;
		for (; call; call = tree->nodes[call].first)
			if (!--walk->waiting[call]) settle_far(walk, call);
	}
}

enum cuttle_status measure_farthest(const struct tree *tree, uint64_t *farthest,
                                    struct cuttle_error *error) {
	const size_t count = tree->node_count;
	struct far_walk walk = {tree, malloc(count * sizeof *walk.far),
	                        calloc(count, sizeof *walk.waiting),
	                        malloc(count * sizeof *walk.ready), 0};
	const bool room = walk.far && walk.waiting && walk.ready;
	if (room) {
		const uint32_t body = tree->rules[tree->root].body;
		for (size_t i = 0; i < count; i++) walk.far[i] = UINT64_MAX;
		find_far(&walk);
		*farthest = more_of(tree->extents[body].cost, walk.far[body]);
	}
	free(walk.far);
	free(walk.waiting);
	free(walk.ready);
	return room ? CUTTLE_OK : status_fail(error, CUTTLE_NOMEM, "no memory for the grammar");
}

enum cuttle_status measure_tree(struct tree *tree, struct cuttle_error *error) {
	tree->extents = calloc(tree->node_count, sizeof *tree->extents);
	struct measure measure = {tree, malloc(tree->node_count * sizeof *measure.heap), 0};
	if (!tree->extents || !measure.heap) {
		free(measure.heap);
		return status_fail(error, CUTTLE_NOMEM, "no memory for the grammar");
	}
	settle_costs(&measure);
	enum cuttle_status status = check_rules_end(tree, error);
	if (!status) find_full(&measure);
	free(measure.heap);
	return status ? status : check_begins(tree, error);
}
