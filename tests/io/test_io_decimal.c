// SPDX-License-Identifier: Apache-2.0
// Tests io/schema/decimal.h: numbers as decimals, and grammars of ranges. It fails if a grammar
// takes a number outside its range or in another form, or lacks one; if a number that a grammar
// writes is another to whoever reads doubles.
#include "engine/grammar/automaton.h"
#include "io/schema/decimal.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct automaton *range_automaton(decimal least, decimal most, bool whole,
                                         struct cuttle_grammar **grammar) {
	char *gbnf;
	size_t size;
	struct automaton *automaton;
	FILE *out = open_memstream(&gbnf, &size);
	assert_non_null(out);
	fputs("root ::= ", out);
	decimal_grammar(out, least, most, whole);
	assert_int_equal(fclose(out), 0);
	struct cuttle_error error;
	if (cuttle_grammar_read(gbnf, strlen(gbnf), grammar, &error))
		fail_msg("%s\n%s", error.message, gbnf);
	free(gbnf);
	assert_int_equal(automaton_new(*grammar, 0, &automaton, NULL), CUTTLE_OK);
	return automaton;
}

/* A range, and a text on its way through its automaton. */
struct range_walk {
	struct automaton *automaton;
	decimal least; /* hundredths */
	decimal most;
	bool whole;
	char text[16];
	size_t size;
	size_t digits;    /* before the point */
	size_t behind;    /* digits behind it */
	decimal value;    /* hundredths; without the sign */
	uint64_t checked; /* texts */
};

static void check_range_text(struct range_walk *walk, uint32_t state) {
	const bool negative = walk->text[0] == '-',
	           point = walk->size && walk->text[walk->size - 1] == '.';
	const decimal value = negative ? -walk->value : walk->value;
	const char *digits = walk->text + negative;
	const bool canonical = walk->digits && !point && (digits[0] != '0' || walk->digits == 1) &&
	                       !(walk->behind && walk->text[walk->size - 1] == '0') &&
	                       !(negative && !value);
	const bool within = canonical && value >= walk->least && value <= walk->most &&
	                    (!walk->whole || !walk->behind);
	walk->checked++;
	if (automaton_accepts(walk->automaton, state) != within)
		fail_msg("%d to %d hundredths%s: %.*s", (int)walk->least, (int)walk->most,
		         walk->whole ? ", whole" : "", (int)walk->size, walk->text);
}

/* All texts of a sign, up to four digits, and a point with up to two. */
static void walk_range(struct range_walk *walk, uint32_t state) {
	static const char bytes[] = "0123456789-.";
	check_range_text(walk, state);
	const bool point = memchr(walk->text, '.', walk->size) != NULL;
	for (size_t i = 0; i < 12; i++) {
		const bool digit = i < 10;
		if ((bytes[i] == '-' && walk->size) ||
		    (bytes[i] == '.' && (point || !walk->digits)) ||
		    (digit && (point ? walk->behind == 2 : walk->digits == 4)))
			continue;
		const uint32_t next = automaton_step(walk->automaton, state, (uint8_t)bytes[i]);
		struct range_walk longer = *walk;
		longer.text[longer.size++] = bytes[i];
		if (digit && !point) {
			longer.value = 10 * longer.value + 100 * (decimal)i;
			longer.digits++;
		} else if (digit) {
			longer.value += (decimal)i * (longer.behind ? 1 : 10);
			longer.behind++;
		}
		walk_range(&longer, next);
		walk->checked = longer.checked;
	}
}

/* Bounds of all sizes, most of them near ends of ranges of digits. */
static decimal draw_hundredths(uint64_t *random) {
	static const int sizes[] = {10, 100, 1000, 10000, 100000, 1000000};
	const int size = sizes[tiny_random(random) % 6];
	decimal value = (decimal)(tiny_random(random) % (uint64_t)size);
	if (tiny_random(random) % 3 == 0) value = size - 1 - (decimal)(tiny_random(random) % 3);
	if (tiny_random(random) % 3 == 0) value -= value % 100;
	return tiny_random(random) % 2 ? -value : value;
}

static void ranges_are_those_numbers(void **state) {
	(void)state;
	uint64_t random = 35, checked = 0;
	const decimal hundredth = decimal_one() / 100;
	for (unsigned i = 0; i < (briefly() ? 10 : 100); i++) {
		decimal least = draw_hundredths(&random), most = draw_hundredths(&random);
		const bool whole = i % 4 == 3;
		if (whole) {
			least -= least % 100;
			most -= most % 100;
		}
		if (least > most) {
			const decimal other = least;
			least = most;
			most = other;
		}
		struct cuttle_grammar *grammar;
		struct range_walk walk = {.least = least, .most = most, .whole = whole};
		walk.automaton =
		    range_automaton(least * hundredth, most * hundredth, whole, &grammar);
		walk_range(&walk, automaton_begin(walk.automaton));
		checked += walk.checked;
		automaton_free(&walk.automaton);
		cuttle_grammar_free(&grammar);
	}
	print_message("%llu texts of numbers\n", (unsigned long long)checked);
}

/* A number's text as units, or false where decimal.h does not write it so. */
static bool read_units(const char *text, decimal *units) {
	const bool negative = *text == '-';
	const char *at = text + negative, *first = at;
	decimal value = 0;
	int before = 0, behind = 0;
	for (; *at >= '0' && *at <= '9'; at++, before++) value = 10 * value + (*at - '0');
	if (!before || before > 18 || (*first == '0' && before > 1)) return false;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++, behind++) {
			if (behind == 17) return false;
			value = 10 * value + (*at - '0');
		}
	if (*at || at[-1] == '.' || (behind && at[-1] == '0')) return false;
	if (behind && before - (*first == '0') + behind > 15) return false;
	if (negative && !value) return false;
	for (int i = behind; i < 17; i++) value *= 10;
	*units = negative ? -value : value;
	return true;
}

/* A number of any size, with few or many digits. */
static decimal draw_units(uint64_t *random) {
	decimal value = 0;
	const unsigned digits = (unsigned)(tiny_random(random) % 36);
	for (unsigned i = 0; i < digits; i++) {
		const uint64_t draw = tiny_random(random);
		value = value * 10 + (draw % 3 ? (draw % 3 == 1 ? 9 : 0) : draw / 3 % 10);
	}
	return tiny_random(random) % 2 ? -value : value;
}

static bool is_number(struct automaton *automaton, const char *text) {
	const uint32_t begin = automaton_begin(automaton);
	return automaton_accepts(automaton, automaton_walk(automaton, begin, text, strlen(text)));
}

static void check_long_text(struct automaton *automaton, decimal least, decimal most,
                            const char *text) {
	decimal units = 0;
	const bool within = read_units(text, &units) && units >= least && units <= most;
	if (is_number(automaton, text) != within) {
		char from[DECIMAL_ROOM], to[DECIMAL_ROOM];
		decimal_write(least, from);
		decimal_write(most, to);
		fail_msg("%s to %s: %s is %d", from, to, text, within);
	}
}

static void long_ranges_are_those_numbers(void **state) {
	(void)state;
	uint64_t random = 36;
	for (unsigned i = 0; i < (briefly() ? 300 : 3000); i++) {
		decimal least = decimal_up(draw_units(&random)),
		        most = decimal_down(draw_units(&random));
		if (least > most) {
			const decimal other = least;
			least = most;
			most = other;
		}
		struct cuttle_grammar *grammar;
		struct automaton *automaton = range_automaton(least, most, false, &grammar);
		for (unsigned j = 0; j < 100; j++) {
			char text[DECIMAL_ROOM + 2];
			const decimal near[] = {least, most, draw_units(&random)};
			decimal value = near[j % 3];
			if (j % 2) value = decimal_near(value);
			const size_t size = decimal_write(value, text);
			const uint64_t draw = tiny_random(&random);
			const size_t at = (size_t)(draw / 4 % size);
			if (draw % 4 == 1) text[at] = (char)('0' + draw / 4096 % 10);
			if (draw % 4 == 2) text[at] = 0;
			if (draw % 4 == 3) strcpy(text + size, draw / 4 % 2 ? "1" : ".5");
			check_long_text(automaton, least, most, text);
		}
		automaton_free(&automaton);
		cuttle_grammar_free(&grammar);
	}
}

/* What a grammar writes is the same number to whoever reads doubles. */
static void decimals_survive_doubles(void **state) {
	(void)state;
	uint64_t random = 37;
	for (unsigned i = 0; i < 20000; i++) {
		const decimal value = decimal_near(draw_units(&random));
		char text[DECIMAL_ROOM];
		decimal again;
		bool exact;
		decimal_write(value, text);
		json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
		decimal_of(number, &again, &exact);
		if (again != value || !exact) fail_msg("%s", text);
		assert_true(decimal_down(value) == value && decimal_up(value) == value);
		json_decref(number);
		const decimal other = draw_units(&random), down = decimal_down(other),
		              up = decimal_up(other);
		assert_true(down <= other && other <= up);
		assert_true(up == down || (other != up && other != down));
		assert_true(decimal_near(other) == down || decimal_near(other) == up);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ranges_are_those_numbers),
	    cmocka_unit_test(long_ranges_are_those_numbers),
	    cmocka_unit_test(decimals_survive_doubles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
