// SPDX-License-Identifier: Apache-2.0
// program.c: see program.h. No private data.
#include "engine/grammar/program.h"

#include "engine/grammar/characters.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

struct program_maker {
	const struct tree *tree;
	struct cuttle_grammar *grammar;
	struct characters characters;
	uint32_t *places;  /* [rules] where each begins, NOWHERE = not made */
	uint32_t *waiting; /* [rules] numbers of rules that are called and not made yet */
	size_t waiting_count;
	bool failed; /* out of memory */
};

#define NOWHERE UINT32_MAX
#define WANTED (UINT32_MAX - 1)

/* ---- one node after the other ---------------------------------------------------------------- */

static uint32_t emit(struct program_maker *maker, enum program_kind kind, uint32_t a, uint32_t b) {
	struct cuttle_grammar *grammar = maker->grammar;
	if (!tree_grow((void **)&grammar->ops, &grammar->op_room, grammar->op_count + 1,
	               sizeof *grammar->ops)) {
		maker->failed = true;
		return 0;
	}
	grammar->ops[grammar->op_count] =
	    (struct program_op){.kind = (uint8_t)kind, .a = a, .b = b};
	return (uint32_t)grammar->op_count++;
}

static uint32_t place_now(const struct program_maker *maker) {
	return (uint32_t)maker->grammar->op_count;
}

/* Room for the targets of a FORK; the first of them. */
static uint32_t reserve_targets(struct program_maker *maker, size_t count) {
	struct cuttle_grammar *grammar = maker->grammar;
	if (!tree_grow((void **)&grammar->targets, &grammar->target_room,
	               grammar->target_count + count, sizeof *grammar->targets)) {
		maker->failed = true;
		return 0;
	}
	grammar->target_count += count;
	return (uint32_t)(grammar->target_count - count);
}

static void emit_node(struct program_maker *maker, uint32_t number);

static void emit_bytes(struct program_maker *maker, uint32_t node) {
	if (!node) maker->failed = true;
	else emit(maker, PROGRAM_BYTES, node, place_now(maker) + 1);
}

static void emit_call(struct program_maker *maker, uint32_t rule) {
	if (maker->places[rule] == NOWHERE) {
		maker->places[rule] = WANTED;
		maker->waiting[maker->waiting_count++] = rule;
	}
	emit(maker, PROGRAM_CALL, rule, place_now(maker) + 1);
}

/* FORK to each alternative; a GO behind each but the last. */
static void emit_any(struct program_maker *maker, const struct tree_node *node) {
	const struct tree_node *nodes = maker->tree->nodes;
	struct cuttle_grammar *grammar = maker->grammar;
	uint32_t count = 0, open = NOWHERE;
	for (uint32_t child = node->first; child; child = nodes[child].next) count++;
	const uint32_t targets = reserve_targets(maker, count);
	emit(maker, PROGRAM_FORK, targets, count);
	for (uint32_t child = node->first, i = 0; child && !maker->failed; i++) {
		grammar->targets[targets + i] = place_now(maker);
		emit_node(maker, child);
		child = nodes[child].next;
		if (child)
			open = emit(maker, PROGRAM_GO, open, 0); // a list of those without an aim
	}
	while (open != NOWHERE && !maker->failed) {
		const uint32_t before = grammar->ops[open].a;
		grammar->ops[open].a = place_now(maker);
		open = before;
	}
}

/* ?, * and +. The one alternative of the fork is the body, the other what stands behind. */
static void emit_free(struct program_maker *maker, const struct tree_node *node) {
	struct cuttle_grammar *grammar = maker->grammar;
	const uint32_t targets = reserve_targets(maker, 2), begin = place_now(maker);
	if (!node->a) emit(maker, PROGRAM_FORK, targets, 2);
	const uint32_t body = place_now(maker);
	emit_node(maker, node->first);
	if (node->a) emit(maker, PROGRAM_FORK, targets, 2);
	if (!node->a && node->b > 1) emit(maker, PROGRAM_GO, begin, place_now(maker) + 1);
	if (maker->failed) return;
	grammar->targets[targets] = place_now(maker);
	grammar->targets[targets + 1] = body;
}

static void emit_counted(struct program_maker *maker, const struct tree_node *node) {
	struct cuttle_grammar *grammar = maker->grammar;
	if (!tree_grow((void **)&grammar->loops, &grammar->loop_room, grammar->loop_count + 1,
	               sizeof *grammar->loops)) {
		maker->failed = true;
		return;
	}
	const uint32_t loop = (uint32_t)grammar->loop_count++;
	const uint64_t cost = maker->tree->extents[node->first].cost;
	emit(maker, PROGRAM_LOOP, loop, 0);
	grammar->loops[loop] =
	    (struct program_loop){cost ? node->a : 0, node->b, place_now(maker), 0, cost};
	emit_node(maker, node->first);
	emit(maker, PROGRAM_AGAIN, loop, 0);
	grammar->loops[loop].behind = place_now(maker);
}

static void emit_repeat(struct program_maker *maker, const struct tree_node *node) {
	if (node->a == 1 && node->b == 1) emit_node(maker, node->first);
	else if (node->a <= 1 && (node->b == TREE_UNLIMITED || node->b == 1))
		emit_free(maker, node);
	else emit_counted(maker, node);
}

/* What can only be empty becomes nothing. */
static void emit_node(struct program_maker *maker, uint32_t number) {
	const struct tree *tree = maker->tree;
	const struct tree_node *node = tree->nodes + number;
	if (maker->failed || !tree->extents[number].full) return;
	switch ((enum tree_kind)node->kind) {
	case TREE_TEXT:
		for (uint32_t i = 0; i < node->b && !maker->failed; i++)
			emit_bytes(maker, characters_byte(&maker->characters,
			                                  (uint8_t)tree->bytes[node->a + i]));
		break;
	case TREE_CLASS:
		emit_bytes(maker,
		           characters_node(&maker->characters, tree->ranges + node->a, node->b));
		break;
	case TREE_CALL:
		emit_call(maker, node->a);
		break;
	case TREE_ALL:
		for (uint32_t child = node->first; child; child = tree->nodes[child].next)
			emit_node(maker, child);
		break;
	case TREE_ANY:
		emit_any(maker, node);
		break;
	case TREE_REPEAT:
		emit_repeat(maker, node);
		break;
	}
}

/* ---- when all places are known --------------------------------------------------------------- */

/* Where a place leads to without a choice. */
static uint32_t place_settled(const struct cuttle_grammar *grammar, uint32_t place) {
	while (grammar->ops[place].kind == PROGRAM_GO) place = grammar->ops[place].a;
	return place;
}

static void settle_calls(struct program_maker *maker) {
	struct cuttle_grammar *grammar = maker->grammar;
	for (size_t i = grammar->op_count; i--;) {
		struct program_op *op = grammar->ops + i;
		// From the end on, a GO forward already knows where it leads to.
		if (op->kind == PROGRAM_GO && op->a > i) op->a = place_settled(grammar, op->a);
		if (op->kind != PROGRAM_BYTES && op->kind != PROGRAM_CALL) continue;
		op->b = place_settled(grammar, op->b);
		if (op->kind == PROGRAM_BYTES) continue;
		const struct tree_rule *rule = maker->tree->rules + op->a;
		op->skip = !maker->tree->extents[rule->body].cost;
		op->tail = grammar->ops[op->b].kind == PROGRAM_RETURN;
		op->a = maker->places[op->a];
	}
}

/* A fork has a target behind it from which the end is not farther than from any target before. */
static uint64_t rest_of_fork(const struct cuttle_grammar *grammar, size_t place) {
	const struct program_op *op = grammar->ops + place;
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < op->b; i++) {
		const uint32_t target = grammar->targets[op->a + i];
		if (target > place && grammar->ops[target].rest < least)
			least = grammar->ops[target].rest;
	}
	return least;
}

static uint64_t rest_of(const struct program_maker *maker, size_t place, uint64_t call_cost) {
	const struct cuttle_grammar *grammar = maker->grammar;
	const struct program_op *op = grammar->ops + place, *next = op + 1;
	switch ((enum program_kind)op->kind) {
	case PROGRAM_BYTES:
		return grammar->nodes[op->a].least + next->rest;
	case PROGRAM_CALL:
		return call_cost + next->rest;
	case PROGRAM_GO:
		return grammar->ops[op->a > place ? op->a : op->b].rest;
	case PROGRAM_FORK:
		return rest_of_fork(grammar, place);
	case PROGRAM_LOOP: {
		const struct program_loop *loop = grammar->loops + op->a;
		return loop->least * loop->cost + grammar->ops[loop->behind].rest;
	}
	default:
		return 0;
	}
}

static bool order_targets(struct cuttle_grammar *grammar, const struct program_op *fork);

static void find_rests(struct program_maker *maker) {
	struct cuttle_grammar *grammar = maker->grammar;
	for (size_t i = grammar->op_count; i--;) {
		struct program_op *op = grammar->ops + i;
		uint64_t cost = 0;
		if (op->kind == PROGRAM_CALL) {
			const struct tree_rule *rule = maker->tree->rules + op->a;
			cost = maker->tree->extents[rule->body].cost;
		}
		op->rest = rest_of(maker, i, cost);
	}
	for (size_t i = 0; i < grammar->op_count; i++)
		if (grammar->ops[i].kind == PROGRAM_FORK)
			maker->failed |= !order_targets(grammar, grammar->ops + i);
}

struct target_order {
	uint64_t rest;
	uint32_t target;
};

static int compare_rests(const void *a, const void *b) {
	const struct target_order *x = a, *y = b;
	if (x->rest != y->rest) return x->rest < y->rest ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

static bool order_targets(struct cuttle_grammar *grammar, const struct program_op *fork) {
	uint32_t *targets = grammar->targets + fork->a;
	struct target_order few[16], *order = few;
	if (fork->b > 16 && !(order = malloc(fork->b * sizeof *order))) return false;
	for (uint32_t i = 0; i < fork->b; i++)
		order[i] = (struct target_order){grammar->ops[targets[i]].rest, targets[i]};
	qsort(order, fork->b, sizeof *order, compare_rests);
	for (uint32_t i = 0; i < fork->b; i++) targets[i] = order[i].target;
	if (order != few) free(order);
	return true;
}

static void divide_bytes(struct cuttle_grammar *grammar) {
	bool begins[257] = {true};
	for (size_t i = 0; i < grammar->edge_count; i++) {
		const struct program_edge *edge = grammar->edges + i;
		begins[edge->low] = begins[edge->high + 1] = true;
	}
	for (unsigned byte = 0; byte < 256; byte++) {
		if (begins[byte]) grammar->members[grammar->class_count++] = (uint8_t)byte;
		grammar->classes[byte] = (uint8_t)(grammar->class_count - 1);
	}
}

static void emit_rules(struct program_maker *maker) {
	const struct tree *tree = maker->tree;
	for (size_t i = 0; i < tree->rule_count; i++) maker->places[i] = NOWHERE;
	maker->waiting[maker->waiting_count++] = tree->root;
	while (maker->waiting_count && !maker->failed) {
		const uint32_t rule = maker->waiting[--maker->waiting_count];
		maker->places[rule] = place_now(maker);
		emit_node(maker, tree->rules[rule].body);
		emit(maker, PROGRAM_RETURN, 0, 0);
	}
	maker->grammar->root = maker->places[tree->root];
}

enum cuttle_status program_make(const struct tree *tree, struct cuttle_grammar *grammar,
                                struct cuttle_error *error) {
	struct program_maker maker = {.tree = tree, .grammar = grammar};
	maker.characters.grammar = grammar;
	maker.places = malloc(tree->rule_count * sizeof *maker.places);
	maker.waiting = malloc(tree->rule_count * sizeof *maker.waiting);
	maker.failed = !maker.places || !maker.waiting;
	if (!maker.failed) emit_rules(&maker);
	if (!maker.failed) {
		find_rests(&maker);
		settle_calls(&maker);
		divide_bytes(grammar);
	}
	free(maker.places);
	free(maker.waiting);
	characters_free(&maker.characters);
	return maker.failed ? status_fail(error, CUTTLE_NOMEM, "no memory for the grammar")
	                    : CUTTLE_OK;
}

void program_free(struct cuttle_grammar *grammar) {
	free(grammar->ops);
	free(grammar->targets);
	free(grammar->loops);
	free(grammar->edges);
	free(grammar->nodes);
}
