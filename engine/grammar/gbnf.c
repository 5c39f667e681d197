// SPDX-License-Identifier: Apache-2.0
// gbnf.c: see gbnf.h. Written from the guide of llama.cpp to its notation. No private data.
// A function per construct, which leaves reader->at behind it. Any of them may set reader->status;
// then all return at once.
#include "engine/grammar/gbnf.h"

#include "base/utf8.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

struct gbnf_reader {
	struct tree *tree;
	size_t at;
	unsigned groups; /* that are open */
	enum cuttle_status status;
	struct cuttle_error *error;
};

/* Part of a rule. Node 0 is the empty text. */
struct gbnf_part {
	uint32_t node;
	unsigned height; /* nodes in each other */
};

#define FAULT(reader, at, ...)                                                                     \
	((reader)->status = tree_fault((reader)->tree, at, (reader)->error, __VA_ARGS__))

static void fail_reader(struct gbnf_reader *reader) {
	reader->status = status_fail(reader->error, CUTTLE_NOMEM, "no memory for the grammar");
}

static int peek_at(const struct gbnf_reader *reader, size_t at) {
	return at < reader->tree->size ? (uint8_t)reader->tree->text[at] : -1;
}

static int peek(const struct gbnf_reader *reader) {
	return peek_at(reader, reader->at);
}

static bool is_name_letter(int c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* Blanks and comments, and with `lines` line ends, too. */
static void pass_blanks(struct gbnf_reader *reader, bool lines) {
	for (;; reader->at++) {
		int c = peek(reader);
		if (c == '#')
			while (c >= 0 && c != '\n' && c != '\r') c = peek_at(reader, ++reader->at);
		if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) return;
	}
}

static uint32_t add_node(struct gbnf_reader *reader, enum tree_kind kind, size_t at, size_t a,
                         size_t b) {
	const uint32_t node = tree_add(reader->tree, kind, at, (uint32_t)a, (uint32_t)b);
	if (!node) fail_reader(reader);
	return node;
}

/* ---- characters ------------------------------------------------------------------------------ */

static int gbnf_hex_value(int c) {
	if (c >= '0' && c <= '9') return c - '0';
	if (c >= 'a' && c <= 'f') return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t read_escaped_hex(struct gbnf_reader *reader, size_t begin, unsigned digits) {
	uint32_t value = 0;
	for (unsigned i = 0; i < digits; i++) {
		const int digit = gbnf_hex_value(peek(reader));
		if (digit < 0) {
			FAULT(reader, begin, "\\%c wants %u hexadecimal digits",
			      reader->tree->text[begin + 1], digits);
			return 0;
		}
		value = value << 4 | (uint32_t)digit;
		reader->at++;
	}
	if (value > 0x10ffff) FAULT(reader, begin, "no character is above \\U0010FFFF");
	return value;
}

static uint32_t read_gbnf_escape(struct gbnf_reader *reader) {
	const size_t begin = reader->at;
	const int c = peek_at(reader, begin + 1);
	reader->at += 2;
	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case '\\':
	case '"':
	case '[':
	case ']':
		return (uint32_t)c;
	case 'x':
		return read_escaped_hex(reader, begin, 2);
	case 'u':
		return read_escaped_hex(reader, begin, 4);
	case 'U':
		return read_escaped_hex(reader, begin, 8);
	default:
		FAULT(reader, begin,
		      "\\ stands before n, r, t, \\, \", [, ], x, u or U alone; "
		      "write others as \\xHH");
		return 0;
	}
}

/* One character of a literal or class, which is not at its end. */
static uint32_t read_rune(struct gbnf_reader *reader, size_t begin) {
	const int c = peek(reader);
	if (c < 0) {
		FAULT(reader, begin, "this has no end: close it with %c",
		      reader->tree->text[begin] == '[' ? ']' : '"');
		return 0;
	}
	if (c == '\\') return read_gbnf_escape(reader);
	uint32_t character;
	const size_t size = utf8_decode(reader->tree->text + reader->at,
	                                reader->tree->size - reader->at, &character);
	if (!size) FAULT(reader, reader->at, "this is not UTF-8; write the character as \\uHHHH");
	reader->at += size;
	return character;
}

static bool is_surrogate(uint32_t character) {
	return character >= 0xd800 && character <= 0xdfff;
}

static uint32_t read_literal(struct gbnf_reader *reader) {
	struct tree *tree = reader->tree;
	const size_t begin = reader->at++, first = tree->byte_count;
	while (peek(reader) != '"') {
		const size_t at = reader->at;
		const uint32_t character = read_rune(reader, begin);
		if (reader->status) return 0;
		if (is_surrogate(character)) {
			FAULT(reader, at,
			      "a surrogate is no character; write \\U and eight digits");
			return 0;
		}
		if (!tree_grow((void **)&tree->bytes, &tree->byte_room, tree->byte_count + 4, 1)) {
			fail_reader(reader);
			return 0;
		}
		tree->byte_count += utf8_write(character, tree->bytes + tree->byte_count);
	}
	reader->at++;
	if (tree->byte_count == first) return 0;
	return add_node(reader, TREE_TEXT, begin, first, tree->byte_count - first);
}

/* ---- classes --------------------------------------------------------------------------------- */

static void add_class_range(struct gbnf_reader *reader, uint32_t low, uint32_t high) {
	struct tree *tree = reader->tree;
	if (low > high || reader->status) return;
	if (!tree_grow((void **)&tree->ranges, &tree->range_room, tree->range_count + 1,
	               sizeof *tree->ranges)) {
		fail_reader(reader);
		return;
	}
	tree->ranges[tree->range_count++] = (struct tree_range){low, high};
}

/* Without what lies between: no surrogate is a character. */
static void add_characters(struct gbnf_reader *reader, uint32_t low, uint32_t high) {
	add_class_range(reader, low, high < 0xd7ff ? high : 0xd7ff);
	add_class_range(reader, low > 0xe000 ? low : 0xe000, high);
}

static int compare_ranges(const void *a, const void *b) {
	const struct tree_range *x = a, *y = b;
	if (x->low != y->low) return x->low < y->low ? -1 : 1;
	return (x->high > y->high) - (x->high < y->high);
}

/* Sorts the ranges from `first` on, and joins those that touch. */
static void settle_ranges(struct tree *tree, size_t first) {
	struct tree_range *ranges = tree->ranges;
	if (tree->range_count == first) return;
	qsort(ranges + first, tree->range_count - first, sizeof *ranges, compare_ranges);
	size_t last = first;
	for (size_t i = first + 1; i < tree->range_count; i++) {
		if (ranges[i].low <= ranges[last].high + 1) {
			if (ranges[i].high > ranges[last].high) ranges[last].high = ranges[i].high;
		} else {
			ranges[++last] = ranges[i];
		}
	}
	tree->range_count = last + 1;
}

/* The characters that the settled ranges from `first` on lack take their place. */
static void negate_ranges(struct gbnf_reader *reader, size_t first) {
	struct tree *tree = reader->tree;
	const size_t last = tree->range_count;
	uint32_t low = 0;
	for (size_t i = first; i < last && !reader->status; i++) {
		const struct tree_range range = tree->ranges[i];
		if (range.low) add_characters(reader, low, range.low - 1);
		low = range.high + 1;
	}
	if (low <= 0x10ffff) add_characters(reader, low, 0x10ffff);
	if (reader->status) return;
	memmove(tree->ranges + first, tree->ranges + last,
	        (tree->range_count - last) * sizeof *tree->ranges);
	tree->range_count -= last - first;
	settle_ranges(tree, first);
}

static void read_ranges(struct gbnf_reader *reader, size_t begin) {
	while (peek(reader) != ']' && !reader->status) {
		const size_t at = reader->at;
		const uint32_t low = read_rune(reader, begin);
		uint32_t high = low;
		if (peek(reader) == '-' && peek_at(reader, reader->at + 1) != ']') {
			reader->at++;
			high = read_rune(reader, begin);
		}
		if (reader->status) return;
		if (low > high) FAULT(reader, at, "the range ends before it begins; swap its ends");
		add_characters(reader, low, high);
	}
}

static uint32_t read_bracket(struct gbnf_reader *reader) {
	struct tree *tree = reader->tree;
	const size_t begin = reader->at++, first = tree->range_count;
	const bool negated = peek(reader) == '^';
	reader->at += negated;
	read_ranges(reader, begin);
	if (reader->status) return 0;
	reader->at++;
	settle_ranges(tree, first);
	if (negated) negate_ranges(reader, first);
	if (reader->status) return 0;
	if (tree->range_count == first) {
		FAULT(reader, begin,
		      "no character is in this class; put one in, or take the class away");
		return 0;
	}
	return add_node(reader, TREE_CLASS, begin, first, tree->range_count - first);
}

static uint32_t read_dot(struct gbnf_reader *reader) {
	struct tree *tree = reader->tree;
	if (tree->dot == SIZE_MAX) {
		tree->dot = tree->range_count;
		add_characters(reader, 0, 0x10ffff);
	}
	if (reader->status) return 0;
	return add_node(reader, TREE_CLASS, reader->at++, tree->dot, 2);
}

/* ---- repetitions ----------------------------------------------------------------------------- */

static bool read_digits(struct gbnf_reader *reader, uint32_t *number) {
	const size_t begin = reader->at;
	uint32_t value = 0;
	for (int c = peek(reader); c >= '0' && c <= '9'; c = peek_at(reader, ++reader->at)) {
		value = value * 10 + (uint32_t)(c - '0');
		if (value > TREE_REPETITION) {
			FAULT(reader, begin, "at most %d repetitions may be asked for",
			      TREE_REPETITION);
			return false;
		}
	}
	*number = value;
	return reader->at > begin;
}

/* Behind {: the numbers and }. */
static void read_braces(struct gbnf_reader *reader, size_t begin, uint32_t *least, uint32_t *most) {
	const bool lines = reader->groups > 0;
	pass_blanks(reader, lines);
	bool any = read_digits(reader, least);
	*most = *least;
	pass_blanks(reader, lines);
	if (peek(reader) == ',' && !reader->status) {
		reader->at++;
		pass_blanks(reader, lines);
		if (read_digits(reader, most)) any = true;
		else *most = TREE_UNLIMITED;
		pass_blanks(reader, lines);
	}
	if (reader->status) return;
	if (!any || peek(reader) != '}')
		FAULT(reader, begin, "repetitions are {3}, {3,}, {3,5} or {,5}");
	else if (*most < *least)
		FAULT(reader, begin, "the most is below the least; swap the numbers");
	reader->at++;
}

/* Whether a repetition stands here; reads it. */
static bool read_repetition(struct gbnf_reader *reader, uint32_t *least, uint32_t *most) {
	const size_t begin = reader->at;
	const int c = peek(reader);
	if (c != '*' && c != '+' && c != '?' && c != '{') return false;
	reader->at++;
	*least = c == '+';
	*most = c == '?' ? 1 : TREE_UNLIMITED;
	if (c == '{') read_braces(reader, begin, least, most);
	return !reader->status;
}

static bool is_too_high(struct gbnf_reader *reader, size_t at, unsigned height) {
	if (height <= TREE_NESTING) return false;
	FAULT(reader, at, "more than %d groups and repetitions in each other; give a rule to some",
	      TREE_NESTING);
	return true;
}

static void repeat_part(struct gbnf_reader *reader, struct gbnf_part *part) {
	struct tree *tree = reader->tree;
	uint32_t least, most;
	for (;;) {
		const size_t at = reader->at;
		pass_blanks(reader, reader->groups > 0);
		if (!read_repetition(reader, &least, &most) ||
		    is_too_high(reader, at, ++part->height))
			return;
		if (!part->node) continue; // the empty text so many times
		const uint32_t node = add_node(reader, TREE_REPEAT, at, least, most);
		if (!node) return;
		tree->nodes[node].first = part->node;
		tree->nodes[part->node].parent = node;
		part->node = node;
	}
}

/* ---- sequences, alternatives, rules ---------------------------------------------------------- */

static uint32_t read_call(struct gbnf_reader *reader) {
	const size_t begin = reader->at;
	while (is_name_letter(peek(reader))) reader->at++;
	uint32_t rule;
	if (!tree_rule_of(reader->tree, begin, reader->at - begin, &rule)) {
		fail_reader(reader);
		return 0;
	}
	const uint32_t node = add_node(reader, TREE_CALL, begin, rule, 0);
	if (!node) return 0;
	reader->tree->nodes[node].first = reader->tree->rules[rule].calls;
	reader->tree->rules[rule].calls = node;
	return node;
}

static struct gbnf_part read_any(struct gbnf_reader *reader);

static struct gbnf_part read_gbnf_group(struct gbnf_reader *reader) {
	const size_t begin = reader->at++;
	if (is_too_high(reader, begin, ++reader->groups)) return (struct gbnf_part){0};
	pass_blanks(reader, true);
	struct gbnf_part part = read_any(reader);
	if (!reader->status && peek(reader) != ')')
		FAULT(reader, begin, "this group has no end: close it with )");
	reader->groups--;
	reader->at++;
	return part;
}

/* Whether a part stands here; reads it, with its repetitions. */
static bool read_part(struct gbnf_reader *reader, struct gbnf_part *part) {
	const int c = peek(reader);
	*part = (struct gbnf_part){.height = 1};
	if (c == '"') part->node = read_literal(reader);
	else if (c == '[') part->node = read_bracket(reader);
	else if (c == '.') part->node = read_dot(reader);
	else if (is_name_letter(c)) part->node = read_call(reader);
	else if (c == '(') *part = read_gbnf_group(reader);
	else if (c == '<' || c == '!')
		FAULT(reader, reader->at,
		      "tokens by name are not supported; write the text itself in quotes");
	else return false;
	if (!reader->status) repeat_part(reader, part);
	return !reader->status;
}

/* Puts a part behind *last in a list that *first begins. */
static void list_part(struct tree *tree, uint32_t node, uint32_t *first, uint32_t *last) {
	if (*last) tree->nodes[*last].next = node;
	else *first = node;
	*last = node;
}

/* The list as one part: a node of this kind, or what is alone in it. */
static struct gbnf_part node_of_parts(struct gbnf_reader *reader, enum tree_kind kind, size_t at,
                                      uint32_t first, unsigned height) {
	struct tree_node *nodes = reader->tree->nodes;
	if (reader->status || !first || !nodes[first].next)
		return (struct gbnf_part){first, height};
	const uint32_t node = add_node(reader, kind, at, 0, 0);
	if (!node || is_too_high(reader, at, height + 1)) return (struct gbnf_part){0};
	nodes = reader->tree->nodes;
	nodes[node].first = first;
	for (uint32_t child = first; child; child = nodes[child].next) nodes[child].parent = node;
	return (struct gbnf_part){node, height + 1};
}

static struct gbnf_part read_all(struct gbnf_reader *reader) {
	const size_t begin = reader->at;
	uint32_t first = 0, last = 0;
	unsigned height = 1;
	struct gbnf_part part;
	while (read_part(reader, &part)) {
		if (part.node) list_part(reader->tree, part.node, &first, &last);
		if (part.height > height) height = part.height;
	}
	return node_of_parts(reader, TREE_ALL, begin, first, height);
}

static struct gbnf_part read_any(struct gbnf_reader *reader) {
	const size_t begin = reader->at;
	uint32_t first = 0, last = 0;
	unsigned height = 1;
	bool empty = false;
	for (;;) {
		const size_t at = reader->at;
		struct gbnf_part part = read_all(reader);
		if (reader->status) break;
		// Of several empty alternatives one is enough: a sequence of nothing.
		if (!part.node && !empty) {
			empty = true;
			part.node = add_node(reader, TREE_ALL, at, 0, 0);
		}
		if (part.node) list_part(reader->tree, part.node, &first, &last);
		if (part.height > height) height = part.height;
		if (peek(reader) != '|') break;
		reader->at++;
		pass_blanks(reader, true);
	}
	return node_of_parts(reader, TREE_ANY, begin, first, height);
}

static void read_line_end(struct gbnf_reader *reader) {
	const int c = peek(reader);
	if (c < 0 || c == '\n' || c == '\r') return;
	if (c == ')') FAULT(reader, reader->at, "there is no ( for this )");
	else if (c == ':') FAULT(reader, reader->at, "a rule begins on a line of its own");
	else FAULT(reader, reader->at, "this character begins nothing; put text in quotes");
}

static void read_rule(struct gbnf_reader *reader) {
	struct tree *tree = reader->tree;
	const size_t begin = reader->at;
	while (is_name_letter(peek(reader))) reader->at++;
	const size_t size = reader->at - begin;
	pass_blanks(reader, false);
	const size_t left = tree->size - reader->at;
	if (!size || left < 3 || memcmp(tree->text + reader->at, "::=", 3)) {
		FAULT(reader, begin,
		      "a rule is NAME ::= ..., and goes on behind | or in parentheses");
		return;
	}
	reader->at += 3;
	uint32_t rule;
	if (!tree_rule_of(tree, begin, size, &rule)) {
		fail_reader(reader);
		return;
	}
	if (tree->rules[rule].body) {
		FAULT(reader, begin, "there are two rules \"%.*s\"; join them with |",
		      size < 80 ? (int)size : 80, tree->text + begin);
		return;
	}
	pass_blanks(reader, true);
	const struct gbnf_part body = read_any(reader);
	if (reader->status) return;
	read_line_end(reader);
	tree->rules[rule].body = body.node;
	tree->nodes[body.node].parent = TREE_RULE | rule;
}

static void check_rules(struct gbnf_reader *reader) {
	struct tree *tree = reader->tree;
	bool found = false;
	for (size_t i = 0; i < tree->rule_count && !reader->status; i++) {
		const struct tree_rule *rule = tree->rules + i;
		const bool root = rule->size == 4 && !memcmp(tree->text + rule->name, "root", 4);
		if (root) tree->root = (uint32_t)i;
		found |= root && rule->body;
		if (!rule->body)
			FAULT(reader, rule->name,
			      "there is no rule \"%.*s\"; write one, or put text in quotes",
			      rule->size < 80 ? (int)rule->size : 80, tree->text + rule->name);
	}
	if (!found && !reader->status)
		FAULT(reader, 0, "there is no rule \"root\", which says what a whole text is");
}

enum cuttle_status gbnf_read(const char *gbnf, size_t size, struct tree *tree,
                             struct cuttle_error *error) {
	*tree = (struct tree){.text = gbnf, .size = size, .dot = SIZE_MAX};
	if (size > GBNF_MOST)
		return status_fail(error, CUTTLE_INPUT,
		                   "the grammar has %zu bytes, and at most %d are read", size,
		                   GBNF_MOST);
	struct gbnf_reader reader = {.tree = tree, .error = error};
	for (pass_blanks(&reader, true); reader.at < size && !reader.status;
	     pass_blanks(&reader, true))
		read_rule(&reader);
	if (!reader.status) check_rules(&reader);
	return reader.status;
}
