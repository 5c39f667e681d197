// SPDX-License-Identifier: Apache-2.0
// How expression.h reads: by descent. A group in a group is a call in a call, so their depth has a
// bound. What a pattern is refused for is remembered at its first place, and ends the reading.
#include "io/schema/expression.h"

#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

static const char OUT_OF_MEMORY[] = "";

struct reading {
	struct expression *to;
	const char *at;
	const char *end;
	const char *fault; /* NULL until something is wrong */
	unsigned depth;
};

static bool fault_at(struct reading *in, const char *why) {
	if (!in->fault) in->fault = why;
	return false;
}

static bool looks_at(const struct reading *in, char byte) {
	return in->at < in->end && *in->at == byte;
}

static bool takes(struct reading *in, char byte) {
	if (!looks_at(in, byte)) return false;
	in->at++;
	return true;
}

/* ---- parts and sets -------------------------------------------------------------------------- */

/* NO_PART without memory. */
static uint32_t add_expression_part(struct reading *in, enum part_kind kind) {
	struct expression *to = in->to;
	if (to->count == to->room) {
		const uint32_t room = to->room ? 2 * to->room : 64;
		struct part *parts = reallocarray(to->parts, room, sizeof *parts);
		if (!parts) {
			(void)fault_at(in, OUT_OF_MEMORY);
			return NO_PART;
		}
		to->parts = parts;
		to->room = room;
	}
	to->parts[to->count] = (struct part){kind, NO_PART, NO_PART, 0, 1, 1};
	return to->count++;
}

static void put_behind(struct expression *to, uint32_t in, uint32_t part) {
	if (in == NO_PART || part == NO_PART) return;
	to->parts[part].before = to->parts[in].last;
	to->parts[in].last = part;
}

/* Takes the set over, and gives its number. */
static uint32_t number_set(struct reading *in, struct codepoints *set) {
	struct expression *to = in->to;
	for (uint32_t i = 0; i < to->set_count; i++) {
		if (!codepoints_equal(&to->sets[i], set)) continue;
		codepoints_free(set);
		return i;
	}
	if (to->set_count == to->set_room) {
		const uint32_t room = to->set_room ? 2 * to->set_room : 16;
		struct codepoints *sets = reallocarray(to->sets, room, sizeof *sets);
		if (!sets) {
			codepoints_free(set);
			(void)fault_at(in, OUT_OF_MEMORY);
			return 0;
		}
		to->sets = sets;
		to->set_room = room;
	}
	to->sets[to->set_count] = *set;
	return to->set_count++;
}

static uint32_t add_set(struct reading *in, struct codepoints *set) {
	const uint32_t number = number_set(in, set), part = add_expression_part(in, PART_SET);
	if (part != NO_PART) in->to->parts[part].set = number;
	return part;
}

static bool add_set_range(struct reading *in, struct codepoints *set, uint32_t first,
                          uint32_t last) {
	return codepoints_add(set, first, last) || fault_at(in, OUT_OF_MEMORY);
}

/* ---- escapes --------------------------------------------------------------------------------- */

static const struct codepoint_range DIGITS[] = {{'0', '9'}},
                                    WORDS[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                                    SPACES[] = {{'\t', '\r'},     {' ', ' '},
                                                {0xa0, 0xa0},     {0x1680, 0x1680},
                                                {0x2000, 0x200a}, {0x2028, 0x2029},
                                                {0x202f, 0x202f}, {0x205f, 0x205f},
                                                {0x3000, 0x3000}, {0xfeff, 0xfeff}},
                                    LINE_ENDS[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

static bool add_ranges(struct reading *in, struct codepoints *set,
                       const struct codepoint_range *ranges, size_t count, bool others) {
	struct codepoints named = {0};
	bool done = true;
	for (size_t i = 0; i < count && done; i++)
		done = codepoints_add(&named, ranges[i].first, ranges[i].last);
	if (done && others) done = codepoints_invert(&named);
	done = done && codepoints_join(set, &named);
	codepoints_free(&named);
	return done || fault_at(in, OUT_OF_MEMORY);
}

/* Adds what \d, \w, \s or their opposites mean. False with no fault: the letter is none of them. */
static bool add_named(struct reading *in, struct codepoints *set, char letter) {
	const bool others = letter >= 'A' && letter <= 'Z';
	switch (letter | 0x20) {
	case 'd':
		return add_ranges(in, set, DIGITS, 1, others);
	case 'w':
		return add_ranges(in, set, WORDS, 4, others);
	case 's':
		return add_ranges(in, set, SPACES, 10, others);
	default:
		return false;
	}
}

static int value_of_hex(char digit) {
	const char *digits = "0123456789abcdef", *at = strchr(digits, digit | 0x20);
	if (digit >= '0' && digit <= '9') return digit - '0';
	return at && (digit | 0x20) >= 'a' ? (int)(at - digits) : -1;
}

/* Exactly so many hex digits. */
static bool read_hex_digits(struct reading *in, unsigned digits, uint32_t *value) {
	*value = 0;
	for (unsigned i = 0; i < digits; i++, in->at++) {
		const int digit = in->at < in->end && *in->at ? value_of_hex(*in->at) : -1;
		if (digit < 0) return fault_at(in, "a \\x or \\u lacks a hex digit");
		*value = *value * 16 + (uint32_t)digit;
	}
	return true;
}

static bool read_braced_hex(struct reading *in, uint32_t *value) {
	const char *digits = in->at;
	*value = 0;
	for (; in->at < in->end && *in->at != '}'; in->at++) {
		const int digit = *in->at ? value_of_hex(*in->at) : -1;
		if (digit < 0 || *value > 0x10ffff) return fault_at(in, "a \\u{ } is no character");
		*value = *value * 16 + (uint32_t)digit;
	}
	if (in->at == digits || *value > 0x10ffff || !takes(in, '}'))
		return fault_at(in, "a \\u{ } is no character");
	return true;
}

/* Behind "\u". Two halves of a pair are one character. */
static bool read_unicode(struct reading *in, uint32_t *value) {
	uint32_t low;
	if (takes(in, '{')) {
		if (!read_braced_hex(in, value)) return false;
	} else if (!read_hex_digits(in, 4, value)) {
		return false;
	} else if (*value >= 0xd800 && *value < 0xdc00) {
		if (!takes(in, '\\') || !takes(in, 'u') || !read_hex_digits(in, 4, &low) ||
		    low < 0xdc00 || low > 0xdfff)
			return fault_at(in, "a \\u is half a character");
		*value = 0x10000 + ((*value - 0xd800) << 10) + (low - 0xdc00);
	}
	return (*value < 0xd800 || *value > 0xdfff) || fault_at(in, "a \\u is half a character");
}

static bool refuse_letter(struct reading *in, char letter) {
	switch (letter) {
	case 'b':
	case 'B':
		return fault_at(in, "cuttle does not read \\b");
	case 'p':
	case 'P':
		return fault_at(in, "cuttle does not read \\p; write a class of ranges");
	case 'k':
		return fault_at(in, "cuttle does not read \\k: what follows text is not regular");
	default:
		break;
	}
	if (letter >= '0' && letter <= '9')
		return fault_at(in, "cuttle does not read \\1: what follows text is not regular");
	return fault_at(in, "a \\ stands before a character that needs none");
}

/* Behind the backslash of an escape that is one character. */
static bool read_class_escape(struct reading *in, uint32_t *value) {
	static const char letters[] = "tnvfr", meant[] = "\t\n\v\f\r";
	if (in->at == in->end) return fault_at(in, "it ends with a \\");
	const char letter = *in->at++;
	const char *found = letter ? strchr(letters, letter) : NULL;
	if (found) *value = (unsigned char)meant[found - letters];
	else if (letter == 'x') return read_hex_digits(in, 2, value);
	else if (letter == 'u') return read_unicode(in, value);
	else if (letter == '0' && !(in->at < in->end && *in->at >= '0' && *in->at <= '9'))
		*value = 0;
	else if (letter == 'c' && in->at < in->end && (*in->at | 0x20) >= 'a' &&
	         (*in->at | 0x20) <= 'z')
		*value = (uint32_t)*in->at++ & 31;
	else if (letter > ' ' && letter < 0x7f && letter != '_' &&
	         !((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z') &&
	         !(letter >= '0' && letter <= '9'))
		*value = (uint32_t)letter;
	else return refuse_letter(in, letter);
	return true;
}

static bool read_code_point(struct reading *in, uint32_t *value) {
	const size_t size = utf8_decode(in->at, (size_t)(in->end - in->at), value);
	in->at += size;
	return size > 0 || fault_at(in, "it is not UTF-8");
}

/* ---- classes --------------------------------------------------------------------------------- */

/* One end of a range, or a set by name, which goes into *set; *named then says so. */
static bool read_class_end(struct reading *in, struct codepoints *set, uint32_t *value,
                           bool *named) {
	*named = false;
	if (!takes(in, '\\')) return read_code_point(in, value);
	if (in->at < in->end && *in->at && strchr("dwsDWS", *in->at)) {
		*named = true;
		return add_named(in, set, *in->at++);
	}
	if (takes(in, 'b')) {
		*value = '\b';
		return true;
	}
	return read_class_escape(in, value);
}

/* Behind its [. */
static bool fill_class(struct reading *in, struct codepoints *set) {
	bool named, named_last;
	const bool others = takes(in, '^');
	while (!takes(in, ']')) {
		uint32_t first, last;
		if (in->at == in->end) return fault_at(in, "a [ has no ]");
		if (!read_class_end(in, set, &first, &named)) return false;
		if (!looks_at(in, '-') || (in->end - in->at > 1 && in->at[1] == ']')) {
			if (!named && !add_set_range(in, set, first, first)) return false;
			continue;
		}
		in->at++;
		if (in->at == in->end) return fault_at(in, "a [ has no ]");
		if (!read_class_end(in, set, &last, &named_last)) return false;
		if (named || named_last)
			return fault_at(in, "a range of [ ] has a class at an end; write \\-");
		if (first > last) return fault_at(in, "a range of [ ] ends before it begins");
		if (!add_set_range(in, set, first, last)) return false;
	}
	return !others || codepoints_invert(set) || fault_at(in, OUT_OF_MEMORY);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static uint32_t read_either(struct reading *in);

static uint32_t read_parenthesis(struct reading *in) {
	if (takes(in, '?') && !takes(in, ':')) {
		(void)fault_at(in, looks_at(in, '<') && in->end - in->at > 1 && in->at[1] != '=' &&
		                           in->at[1] != '!'
		                       ? "cuttle does not read groups with names; write ( )"
		                       : "cuttle does not read (? but in (?:");
		return NO_PART;
	}
	if (in->depth == EXPRESSION_DEEPEST) {
		(void)fault_at(in, "its groups are nested more than 100 deep");
		return NO_PART;
	}
	in->depth++;
	const uint32_t group = read_either(in);
	in->depth--;
	if (!takes(in, ')')) (void)fault_at(in, "a ( has no )");
	return group;
}

static uint32_t read_atom(struct reading *in) {
	struct codepoints set = {0};
	uint32_t value = 0;
	bool done;
	if (takes(in, '(')) return read_parenthesis(in);
	if (takes(in, '[')) {
		done = fill_class(in, &set);
	} else if (takes(in, '.')) {
		done = add_ranges(in, &set, LINE_ENDS, 3, true);
	} else if (takes(in, '\\')) {
		if (in->at < in->end && *in->at && strchr("dwsDWS", *in->at))
			done = add_named(in, &set, *in->at++);
		else done = read_class_escape(in, &value) && add_set_range(in, &set, value, value);
	} else if (strchr("*+?", *in->at) && *in->at) {
		done = fault_at(in, "a *, + or ? has nothing before it; write \\*");
	} else if (strchr("{}]", *in->at) && *in->at) {
		done = fault_at(in, "a {, } or ] stands alone; write \\{");
	} else {
		done = read_code_point(in, &value) && add_set_range(in, &set, value, value);
	}
	if (done) return add_set(in, &set);
	codepoints_free(&set);
	return NO_PART;
}

static bool read_times_number(struct reading *in, uint32_t *value) {
	const char *first = in->at;
	*value = 0;
	for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
		if (*value <= EXPRESSION_MANY) *value = *value * 10 + (uint32_t)(*in->at - '0');
	if (*value > EXPRESSION_MANY)
		return fault_at(in, "a number in { } is greater than 100,000");
	return in->at > first || fault_at(in, "a { is no {n}, {n,} or {n,m}; write \\{");
}

/* Sets how often the atom before stands there. False: no such sign comes next, or a fault. */
static bool read_quantifier(struct reading *in, uint32_t *least, uint32_t *most) {
	*least = 0;
	*most = EXPRESSION_ENDLESS;
	if (takes(in, '*')) return true;
	if (takes(in, '+')) {
		*least = 1;
		return true;
	}
	if (takes(in, '?')) {
		*most = 1;
		return true;
	}
	if (!takes(in, '{') || !read_times_number(in, least)) return false;
	*most = *least;
	if (takes(in, ',')) {
		*most = EXPRESSION_ENDLESS;
		if (!looks_at(in, '}') && !read_times_number(in, most)) return false;
	}
	if (!takes(in, '}')) return fault_at(in, "a { is no {n}, {n,} or {n,m}; write \\{");
	return *least <= *most || fault_at(in, "the numbers in { } are the wrong way round");
}

static uint32_t read_factor(struct reading *in) {
	uint32_t least, most;
	if (takes(in, '^')) return add_expression_part(in, PART_START);
	if (takes(in, '$')) return add_expression_part(in, PART_END);
	const uint32_t atom = read_atom(in);
	if (in->fault || !read_quantifier(in, &least, &most)) return atom;
	(void)takes(in, '?');
	const uint32_t repeat = add_expression_part(in, PART_REPEAT);
	if (repeat == NO_PART) return NO_PART;
	in->to->parts[repeat].least = least;
	in->to->parts[repeat].most = most;
	put_behind(in->to, repeat, atom);
	return repeat;
}

static uint32_t read_sequence(struct reading *in) {
	const uint32_t list = add_expression_part(in, PART_LIST);
	while (!in->fault && in->at < in->end && *in->at != '|' && *in->at != ')')
		put_behind(in->to, list, read_factor(in));
	return list;
}

static uint32_t read_either(struct reading *in) {
	const uint32_t either = add_expression_part(in, PART_EITHER);
	do put_behind(in->to, either, read_sequence(in));
	while (!in->fault && takes(in, '|'));
	return either;
}

const char *expression_read(const char *text, size_t size, struct expression *expression) {
	struct reading in = {.to = expression, .at = text, .end = text + size};
	*expression = (struct expression){0};
	if (size > EXPRESSION_LONGEST) return "it has more than 4,096 bytes";
	expression->root = read_either(&in);
	if (!in.fault && in.at < in.end) (void)fault_at(&in, "a ) has no (");
	return in.fault;
}

void expression_free(struct expression *expression) {
	for (uint32_t i = 0; i < expression->set_count; i++) codepoints_free(&expression->sets[i]);
	free(expression->sets);
	free(expression->parts);
	*expression = (struct expression){0};
}
