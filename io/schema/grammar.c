// SPDX-License-Identifier: Apache-2.0
// How schema_grammar writes: a rule for each shape. A pattern is a rule for each state of its
// automaton that more than one way leads to; "^ab*$" is "\"" "a" "b"* "\"".
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/schema/canonical.h"
#include "io/schema/literal.h"
#include "io/schema/shape.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 64 };

struct grammar_text {
	const struct schema *schema;
	FILE *out;
	bool failed;
	bool *used;                /* of each pattern: a string has it */
	uint32_t numbers[NUMBERS]; /* shapes whose ranges have a rule */
	size_t number_count;
};

/* ---- characters ------------------------------------------------------------------------------ */

static void put_class_character(FILE *out, uint32_t code_point) {
	char text[4];
	if (code_point < 0x7f && code_point >= 0x20 && !strchr("\"\\[]^-", (int)code_point))
		fputc((int)code_point, out);
	else if (code_point < 0x80) fprintf(out, "\\x%02X", (unsigned)code_point);
	else if (code_point < 0x10000) fprintf(out, "\\u%04X", (unsigned)code_point);
	else fwrite(text, 1, utf8_write(code_point, text), out);
}

static void put_class(FILE *out, const struct codepoints *set) {
	for (size_t i = 0; i < set->count; i++) {
		put_class_character(out, set->ranges[i].first);
		if (set->ranges[i].first == set->ranges[i].last) continue;
		if (set->ranges[i].first + 1 < set->ranges[i].last) fputc('-', out);
		put_class_character(out, set->ranges[i].last);
	}
}

/* A set without a last character is written as what it has not. */
static bool put_raw(FILE *out, const struct codepoints *set) {
	struct codepoints others = {0};
	if (!codepoints_have(set, 0x10ffff)) {
		fputc('[', out);
		put_class(out, set);
		fputc(']', out);
		return true;
	}
	const bool done = codepoints_join(&others, set) && codepoints_invert(&others);
	fputs("[^", out);
	if (done) put_class(out, &others);
	fputc(']', out);
	codepoints_free(&others);
	return done;
}

/* The hex digits of the controls of the set that are spelled \u000X, or \u001X. */
static void put_controls(FILE *out, const struct codepoints *set, uint32_t from,
                         const char **between) {
	char spelled[8];
	bool some = false;
	for (uint32_t i = from; i < from + 16; i++) {
		if (!codepoints_have(set, i) || canonical_character(i, spelled) != 6) continue;
		if (!some) fprintf(out, "%s\"\\\\u00%u\" [", *between, (unsigned)from / 16);
		*between = " | ";
		fputc("0123456789abcdef"[i - from], out);
		some = true;
	}
	if (some) fputc(']', out);
}

/* The characters of the set with a short escape. */
static void put_escapes(FILE *out, const struct codepoints *set, const char **between) {
	static const char meant[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	bool some = false;
	for (size_t i = 0; i < sizeof letters - 1; i++) {
		if (!codepoints_have(set, (unsigned char)meant[i])) continue;
		if (!some) fprintf(out, "%s\"\\\\\" [", *between);
		*between = " | ";
		put_class_character(out, (unsigned char)letters[i]);
		some = true;
	}
	if (some) fputc(']', out);
}

/* One character of the set, as it is spelled within a string. */
static bool put_set(FILE *out, const struct codepoints *set) {
	struct codepoints escaped = {0}, raw = {0};
	bool done = codepoints_add(&escaped, 0, 0x1f) && codepoints_add(&escaped, '"', '"') &&
	            codepoints_add(&escaped, '\\', '\\'),
	     some = false;
	// What is raw is what is neither outside the set nor escaped.
	done = done && codepoints_join(&raw, set) && codepoints_invert(&raw) &&
	       codepoints_join(&raw, &escaped) && codepoints_invert(&raw);
	for (uint32_t i = 0; i < 0x80; i++)
		some |= codepoints_have(&escaped, i) && codepoints_have(set, i);
	if (done && !some) {
		done = put_raw(out, &raw);
	} else if (done) {
		fputc('(', out);
		const char *between = raw.count ? " | " : "";
		if (raw.count) done = put_raw(out, &raw);
		put_escapes(out, set, &between);
		put_controls(out, set, 0, &between);
		put_controls(out, set, 16, &between);
		fputc(')', out);
	}
	codepoints_free(&escaped);
	codepoints_free(&raw);
	return done;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* How a state goes on: what leads to each other state, once. */
struct state_ways {
	uint32_t targets[256];
	struct codepoints sets[256];
	uint32_t count;
	struct codepoints loop; /* what leads to itself */
};

static void free_ways(struct state_ways *ways) {
	for (uint32_t i = 0; i < ways->count; i++) codepoints_free(&ways->sets[i]);
	codepoints_free(&ways->loop);
	ways->count = 0;
}

static bool list_ways(const struct pattern *pattern, uint32_t state, struct state_ways *ways) {
	bool done = true;
	ways->count = 0;
	ways->loop = (struct codepoints){0};
	for (uint32_t i = 0; i < pattern->classes && done; i++) {
		const uint32_t next = pattern->next[(size_t)state * pattern->classes + i];
		uint32_t way = 0;
		if (next == PATTERN_NOWHERE) continue;
		if (next == state) {
			done = codepoints_join(&ways->loop, &pattern->sets[i]);
			continue;
		}
		while (way < ways->count && ways->targets[way] != next) way++;
		if (way == ways->count) {
			ways->targets[ways->count] = next;
			ways->sets[ways->count++] = (struct codepoints){0};
		}
		done = codepoints_join(&ways->sets[way], &pattern->sets[i]);
	}
	return done;
}

/* From how many other states each is reached. */
static uint32_t *count_ways(const struct pattern *pattern) {
	uint32_t *counts = calloc((size_t)pattern->states + 1, sizeof *counts);
	for (uint32_t i = 0; counts && i < pattern->states; i++)
		for (uint32_t j = 0; j < pattern->classes; j++) {
			const uint32_t next = pattern->next[(size_t)i * pattern->classes + j];
			bool first = next != PATTERN_NOWHERE && next != i;
			for (uint32_t k = 0; k < j && first; k++)
				first = pattern->next[(size_t)i * pattern->classes + k] != next;
			if (first) counts[next]++;
		}
	return counts;
}

/* Writes what follows in a state to the end of the text; states that one way leads to, with it. */
static bool put_state(FILE *out, const struct pattern *pattern, const uint32_t *counts,
                      size_t number, uint32_t state) {
	struct state_ways ways;
	bool done = true, more = true;
	while (done && more) {
		done = list_ways(pattern, state, &ways);
		more = false;
		if (done && ways.loop.count) {
			done = put_set(out, &ways.loop);
			fputs("* ", out);
		}
		const bool one = ways.count == 1 && !pattern->accepts[state];
		if (!one && ways.count) fputc('(', out);
		if (pattern->accepts[state]) fputs("\"\\\"\"", out);
		for (uint32_t i = 0; i < ways.count && done; i++) {
			if (i || pattern->accepts[state]) fputs(" | ", out);
			done = put_set(out, &ways.sets[i]);
			more = one && counts[ways.targets[i]] == 1 && ways.targets[i] != 0;
			if (more) fputc(' ', out);
			else fprintf(out, " p%zus%u", number, ways.targets[i]);
		}
		if (!one && ways.count) fputc(')', out);
		if (more) state = ways.targets[0];
		free_ways(&ways);
	}
	return done;
}

/* Whether another state's rule has the state in it: it is reached one way, from one that leads to
 * it alone. */
static void mark_inner(const struct pattern *pattern, const uint32_t *counts, bool *inner) {
	for (uint32_t i = 0; i < pattern->states; i++) {
		uint32_t only = PATTERN_NOWHERE;
		bool one = !pattern->accepts[i];
		for (uint32_t j = 0; j < pattern->classes && one; j++) {
			const uint32_t next = pattern->next[(size_t)i * pattern->classes + j];
			if (next == PATTERN_NOWHERE || next == i) continue;
			one = only == PATTERN_NOWHERE || only == next;
			only = next;
		}
		if (one && only != PATTERN_NOWHERE && only != 0 && counts[only] == 1)
			inner[only] = true;
	}
}

static bool put_pattern(FILE *out, const struct pattern *pattern, size_t number) {
	uint32_t *counts = count_ways(pattern);
	bool *inner = calloc((size_t)pattern->states + 1, sizeof *inner), done = counts && inner;
	if (done) mark_inner(pattern, counts, inner);
	for (uint32_t i = 0; i < pattern->states && done; i++) {
		if (inner[i]) continue;
		fprintf(out, "p%zus%u ::= ", number, i);
		done = put_state(out, pattern, counts, number, i);
		fputc('\n', out);
	}
	free(counts);
	free(inner);
	return done;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

enum { RULE_NAME = 48 };

/* root, or the last name of its place and its number: "ward-2". */
static const char *name_rule(const struct schema *schema, uint32_t number, char name[RULE_NAME]) {
	const struct shape_place *place = &schema->shapes[number].place;
	size_t used = 0;
	if (!number) return "root";
	while (!place->step && place->up != NO_SHAPE) place = &schema->shapes[place->up].place;
	const char *key = place->key ? place->key : place->step ? place->step : "root";
	for (; key[used] && used < 24; used++) {
		const char lower = (char)(key[used] | 0x20);
		const bool plain =
		    (lower >= 'a' && lower <= 'z') || (key[used] >= '0' && key[used] <= '9');
		name[used] = '-';
		if (plain) name[used] = key[used];
	}
	(void)snprintf(name + used, RULE_NAME - used, "-%u", (unsigned)number);
	return name;
}

static void put_name(FILE *out, const struct schema *schema, uint32_t number) {
	char name[RULE_NAME];
	fputs(name_rule(schema, number, name), out);
}

static void put_times(FILE *out, size_t least, size_t most) {
	if (most == SIZE_MAX && least <= 1) fputc(least ? '+' : '*', out);
	else if (most == SIZE_MAX) fprintf(out, "{%zu,}", least);
	else if (least == most) fprintf(out, "{%zu}", least);
	else fprintf(out, "{%zu,%zu}", least, most);
}

/* A name, with what stands before and the colon behind it. */
static bool put_key(FILE *out, const char *before, const char *key) {
	struct arena text = {0};
	const bool done = arena_append(&text, before, strlen(before)) &&
	                  canonical_string(&text, key, strlen(key)) && arena_append(&text, ": ", 2);
	if (done) literal_write(out, text.bytes, text.used);
	arena_free(&text);
	return done;
}

/* Members from `from` on, behind another one. */
static void put_later(struct grammar_text *to, const struct shape *shape, size_t from) {
	for (size_t i = from; i < shape->count; i++) {
		const struct shape_member *member = &to->schema->members[shape->first + i];
		fputs(member->required ? " " : " (", to->out);
		to->failed |= !put_key(to->out, ", ", member->key);
		fputc(' ', to->out);
		put_name(to->out, to->schema, member->shape);
		if (!member->required) fputs(")?", to->out);
	}
}

/* Where the first members are optional, what follows one of them has a rule of its own: NAME-m3 is
 * the members from number 3 on, behind another one. */
static size_t count_leading(const struct grammar_text *to, const struct shape *shape) {
	size_t leading = 0;
	while (leading < shape->count && !to->schema->members[shape->first + leading].required)
		leading++;
	return leading;
}

static void put_object(struct grammar_text *to, uint32_t number, const struct shape *shape) {
	const size_t leading = count_leading(to, shape);
	FILE *out = to->out;
	if (!leading && shape->count) {
		to->failed |= !put_key(out, "{", to->schema->members[shape->first].key);
		fputc(' ', out);
		put_name(out, to->schema, to->schema->members[shape->first].shape);
		put_later(to, shape, 1);
		fputs(" \"}\"\n", out);
		return;
	}
	if (!shape->count) {
		fputs("\"{}\"\n", out);
		return;
	}
	fputs("\"{\" (", out);
	for (size_t i = 0; i <= leading && i < shape->count; i++) {
		const struct shape_member *member = &to->schema->members[shape->first + i];
		if (i) fputs(" | ", out);
		to->failed |= !put_key(out, "", member->key);
		fputc(' ', out);
		put_name(out, to->schema, member->shape);
		fputc(' ', out);
		put_name(out, to->schema, number);
		fprintf(out, "-m%zu", i + 1);
	}
	fputs(leading == shape->count ? ")? \"}\"\n" : ") \"}\"\n", out);
	for (size_t i = 0; i <= leading && i < shape->count; i++) {
		const struct shape_member *next = &to->schema->members[shape->first + i + 1];
		put_name(out, to->schema, number);
		fprintf(out, "-m%zu ::= ", i + 1);
		if (i + 1 > leading || i + 1 == shape->count) {
			fputs("\"\"", out);
			put_later(to, shape, i + 1);
		} else {
			fputs(next->required ? "" : "(", out);
			to->failed |= !put_key(out, ", ", next->key);
			fputc(' ', out);
			put_name(out, to->schema, next->shape);
			fputs(next->required ? " " : ")? ", out);
			put_name(out, to->schema, number);
			fprintf(out, "-m%zu", i + 2);
		}
		fputc('\n', out);
	}
}

/* Any number of the items behind the first ones, of which there are `first`. */
static void put_rest(struct grammar_text *to, const struct shape *shape, size_t first) {
	FILE *out = to->out;
	if (shape->rest == NO_SHAPE || shape->most <= first) return;
	const size_t least = shape->least > first ? shape->least - first : 0,
	             most = shape->most == SIZE_MAX ? SIZE_MAX : shape->most - first;
	fputs(" (", out);
	if (!first) {
		put_name(out, to->schema, shape->rest);
		fputs(" (", out);
	}
	fputs("\", \" ", out);
	put_name(out, to->schema, shape->rest);
	fputc(')', out);
	if (first) put_times(out, least, most);
	else put_times(out, least ? least - 1 : 0, most == SIZE_MAX ? most : most - 1);
	if (!first) fputs(least ? ")" : ")?", out);
}

static void put_first_item(struct grammar_text *to, const struct shape *shape, size_t number) {
	fputs(number ? " \", \" " : " ", to->out);
	put_name(to->out, to->schema, to->schema->members[shape->first + number].shape);
}

/* Each item that may lack has a rule with what follows it: NAME-i3 is item 3 and what is behind it.
 * So rules are no deeper, however many there are. */
static void put_array(struct grammar_text *to, uint32_t number, const struct shape *shape) {
	char name[RULE_NAME];
	const char *rule = name_rule(to->schema, number, name);
	FILE *out = to->out;
	const size_t first = shape->count < shape->most ? shape->count : shape->most,
	             least = shape->least < first ? shape->least : first;
	fputs("\"[\"", out);
	for (size_t i = 0; i < least; i++) put_first_item(to, shape, i);
	if (least < first) fprintf(out, " %s-i%zu?", rule, least);
	else put_rest(to, shape, first);
	fputs(" \"]\"\n", out);
	for (size_t i = least; i < first; i++) {
		fprintf(out, "%s-i%zu ::=", rule, i);
		put_first_item(to, shape, i);
		if (i + 1 < first) fprintf(out, " %s-i%zu?", rule, i + 1);
		else put_rest(to, shape, first);
		fputc('\n', out);
	}
}

/* One of the values, each as its text. */
static void put_choice(struct grammar_text *to, uint32_t number, const struct shape *shape) {
	const size_t count = json_array_size(shape->values);
	char name[RULE_NAME];
	struct arena text = {0};
	struct literal *list = calloc(count, sizeof *list);
	size_t *ends = calloc(count, sizeof *ends);
	bool done = list && ends;
	for (size_t i = 0; i < count && done; i++) {
		done = canonical_value(&text, json_array_get(shape->values, i));
		ends[i] = text.used;
	}
	for (size_t i = 0; i < count && done; i++) {
		const size_t begin = i ? ends[i - 1] : 0;
		list[i] = (struct literal){text.bytes + begin, ends[i] - begin};
	}
	done = done && literal_choose(to->out, name_rule(to->schema, number, name), list, count);
	if (!done) to->failed = true;
	free(list);
	free(ends);
	arena_free(&text);
}

static void put_string(struct grammar_text *to, const struct shape *shape) {
	if (shape->pattern != SIZE_MAX) {
		fprintf(to->out, "\"\\\"\" p%zus0\n", shape->pattern);
		to->used[shape->pattern] = true;
		return;
	}
	fputs("\"\\\"\"", to->out);
	if (shape->most) fputs(" character", to->out);
	if (shape->most) put_times(to->out, shape->least, shape->most);
	fputs(" \"\\\"\"\n", to->out);
}

/* A range that another number has, too, is that one's rule: a long one is written once. */
static void put_number(struct grammar_text *to, uint32_t number, const struct shape *shape) {
	size_t i = 0;
	for (; i < to->number_count; i++) {
		const struct shape *other = &to->schema->shapes[to->numbers[i]];
		if (other->low == shape->low && other->high == shape->high &&
		    other->whole == shape->whole)
			break;
	}
	if (i < to->number_count) put_name(to->out, to->schema, to->numbers[i]);
	else decimal_grammar(to->out, shape->low, shape->high, shape->whole);
	if (i == to->number_count && i < NUMBERS) to->numbers[to->number_count++] = number;
	fputc('\n', to->out);
}

static void put_shape(struct grammar_text *to, uint32_t number) {
	const struct shape *shape = &to->schema->shapes[number];
	put_name(to->out, to->schema, number);
	fputs(" ::= ", to->out);
	switch (shape->kind) {
	case SHAPE_NULL:
		fputs("\"null\"\n", to->out);
		break;
	case SHAPE_BOOLEAN:
		fputs("\"true\" | \"false\"\n", to->out);
		break;
	case SHAPE_NUMBER:
		put_number(to, number, shape);
		break;
	case SHAPE_STRING:
		put_string(to, shape);
		break;
	case SHAPE_CHOICE:
		put_choice(to, number, shape);
		break;
	case SHAPE_OBJECT:
		put_object(to, number, shape);
		break;
	case SHAPE_ARRAY:
		put_array(to, number, shape);
		break;
	default:
		for (size_t i = 0; i < shape->count; i++) {
			if (i) fputs(" | ", to->out);
			put_name(to->out, to->schema, to->schema->members[shape->first + i].shape);
		}
		fputc('\n', to->out);
	}
}

/* Marks a shape that a rule was written for or is waiting for one. */
static void want_shape(uint32_t shape, bool *wanted, uint32_t *waiting, size_t *count) {
	if (wanted[shape]) return;
	wanted[shape] = true;
	waiting[(*count)++] = shape;
}

/* Only shapes that the root needs have rules: those that chose among values have none. */
static bool put_shapes(struct grammar_text *to) {
	const struct schema *schema = to->schema;
	bool *wanted = calloc(schema->count, sizeof *wanted), characters = false;
	uint32_t *waiting = calloc(schema->count, sizeof *waiting);
	size_t count = 0;
	if (wanted && waiting) want_shape(0, wanted, waiting, &count);
	for (size_t i = 0; i < count; i++) {
		const struct shape *shape = &schema->shapes[waiting[i]];
		put_shape(to, waiting[i]);
		characters |=
		    shape->kind == SHAPE_STRING && shape->pattern == SIZE_MAX && shape->most;
		for (size_t j = 0;
		     j < shape->count && (shape->kind != SHAPE_ARRAY || j < shape->most); j++)
			want_shape(schema->members[shape->first + j].shape, wanted, waiting,
			           &count);
		if (shape->rest != NO_SHAPE && shape->most > shape->count)
			want_shape(shape->rest, wanted, waiting, &count);
	}
	struct codepoints all = {0};
	if (characters) {
		fputs("character ::= ", to->out);
		to->failed |= !codepoints_invert(&all) || !put_set(to->out, &all);
		fputc('\n', to->out);
		codepoints_free(&all);
	}
	free(wanted);
	free(waiting);
	return count > 0;
}

char *schema_grammar(const struct schema *schema) {
	char *text = NULL;
	size_t size;
	struct grammar_text to = {.schema = schema, .out = open_memstream(&text, &size)};
	if (!to.out) return NULL;
	to.used = calloc(schema->pattern_count + 1, sizeof *to.used);
	bool done = to.used && put_shapes(&to);
	for (size_t i = 0; i < schema->pattern_count && done; i++) {
		const struct shape_pattern *pattern = &schema->patterns[i];
		if (!to.used[i]) continue;
		done =
		    put_pattern(to.out, pattern->bound.states ? &pattern->bound : &pattern->any, i);
	}
	done = done && !to.failed && !ferror(to.out);
	free(to.used);
	if (fclose(to.out) == 0 && done) return text;
	free(text);
	return NULL;
}

enum cuttle_status schema_compile(const struct schema *schema, struct cuttle_grammar **grammar,
                                  struct cuttle_error *error) {
	char *text = schema_grammar(schema);
	*grammar = NULL;
	if (!text) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = cuttle_grammar_read(text, strlen(text), grammar, error);
	free(text);
	return status;
}
