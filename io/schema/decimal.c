// SPDX-License-Identifier: Apache-2.0
// How decimal.h reads, writes and makes ranges. A range of digits is cut where its first digits
// part: from 27 to 254 are 27..29, 30..99, 100..199, 200..249, 250..254. Numbers with a point have
// fewer digits behind it the more stand before it: 0 to 1000 is 0, 0.5; [1-9] with 14 digits behind
// it, or one more digit and 13 behind it, and so on.
#include "io/schema/decimal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* 10^digits, for 0 to 36. */
static decimal power_of_ten(unsigned digits) {
	decimal power = 1;
	while (digits--) power *= 10;
	return power;
}

decimal decimal_one(void) {
	return power_of_ten(DECIMAL_BEHIND);
}

decimal decimal_most(void) {
	return power_of_ten(DECIMAL_BEFORE + DECIMAL_BEHIND) - 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The fewest digits that a double is read back from: "-d.ddde+dd". */
static void spell_real(double value, char *text, size_t size) {
	for (int digits = 14; digits <= 16; digits++) {
		(void)snprintf(text, size, "%.*e", digits, value);
		if (strtod(text, NULL) == value) return;
	}
}

static void clamp_decimal(decimal *value, bool *exact) {
	const decimal most = decimal_most();
	if (*value >= -most && *value <= most) return;
	*value = *value < 0 ? -most - 1 : most + 1;
	*exact = false;
}

/* digits * 10^exponent units, of which the fraction is cut off upwards or downwards. */
static void scale_digits(decimal digits, int exponent, bool negative, decimal *value, bool *exact) {
	*exact = true;
	if (exponent > 0) {
		// 17 digits and 19 more are more than any decimal has.
		*value = exponent > 19 && digits
		             ? decimal_most() + 1
		             : digits * power_of_ten(digits ? (unsigned)exponent : 0);
	} else {
		const decimal power = power_of_ten(exponent < -36 ? 36 : (unsigned)-exponent);
		*value = digits / power;
		*exact = *value * power == digits;
	}
	if (!negative) return;
	*value = -*value - !*exact;
}

void decimal_of(const json_t *number, decimal *value, bool *exact) {
	char text[64] = "";
	decimal digits = 0;
	const double real = json_is_real(number) ? json_real_value(number) : 0;
	if (json_is_integer(number)) {
		*value = (decimal)json_integer_value(number) * decimal_one();
		*exact = true;
	} else if (real > -1e18 && real < 1e18 && real == (double)(int64_t)real) {
		// Its shortest spelling may be another number: that of 2^57 ends with 0.
		*value = (decimal)(int64_t)real * decimal_one();
		*exact = true;
	} else {
		spell_real(real, text, sizeof text);
		const bool negative = *text == '-';
		const char *at = text + negative;
		int behind = -1;
		for (; *at && *at != 'e'; at++) {
			if (*at < '0' || *at > '9') continue;
			digits = digits * 10 + (*at - '0');
			behind++;
		}
		const int exponent = *at ? atoi(at + 1) : 0;
		scale_digits(digits, exponent - behind + DECIMAL_BEHIND, negative, value, exact);
		explicit_bzero(text, sizeof text);
	}
	clamp_decimal(value, exact);
}

size_t decimal_write(decimal value, char text[DECIMAL_ROOM]) {
	const bool negative = value < 0;
	decimal left = negative ? -value : value;
	char digits[DECIMAL_ROOM];
	size_t used = 0, count = 0;
	for (; left || count <= DECIMAL_BEHIND; left /= 10)
		digits[count++] = (char)('0' + (int)(left % 10));
	size_t zeros = 0;
	while (zeros < DECIMAL_BEHIND && digits[zeros] == '0') zeros++;
	if (negative) text[used++] = '-';
	for (size_t i = count; i-- > zeros;) {
		if (i == DECIMAL_BEHIND - 1) text[used++] = '.';
		text[used++] = digits[i];
	}
	text[used] = 0;
	explicit_bzero(digits, sizeof digits);
	return used;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static unsigned count_decimal_digits(decimal value) {
	unsigned count = 1;
	while (value >= 10) {
		value /= 10;
		count++;
	}
	return count;
}

/* How many digits may stand behind the point of a number of this whole part. */
static unsigned digits_behind(decimal whole) {
	const unsigned before = whole ? count_decimal_digits(whole) : 0;
	return before < DECIMAL_DIGITS ? DECIMAL_DIGITS - before : 0;
}

/* What the last of these digits counts. */
static decimal unit_behind(unsigned digits) {
	return power_of_ten(DECIMAL_BEHIND - digits);
}

decimal decimal_down(decimal value) {
	const decimal size = value < 0 ? -value : value,
	              unit = unit_behind(digits_behind(size / decimal_one())), rest = size % unit;
	if (value >= 0) return size - rest;
	return rest ? -(size - rest + unit) : value;
}

decimal decimal_up(decimal value) {
	return -decimal_down(-value);
}

decimal decimal_near(decimal value) {
	const decimal down = decimal_down(value), up = decimal_up(value);
	return value - down < up - value ? down : up;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Writes " | " between alternatives. */
struct choices {
	FILE *out;
	bool some;
};

static void next_choice(struct choices *choices) {
	if (choices->some) fputs(" | ", choices->out);
	choices->some = true;
}

static void write_digit_range(FILE *out, int first, int last) {
	if (first == last) fprintf(out, "\"%d\"", first);
	else fprintf(out, "[%d-%d]", first, last);
}

/* Exactly `count` digits that are least to most, which have so many with zeros in front. */
static void write_digits(FILE *out, unsigned count, decimal least, decimal most) {
	if (!count) return;
	const decimal power = power_of_ten(count - 1);
	if (least == 0 && most == power * 10 - 1) {
		fprintf(out, count > 1 ? "[0-9]{%u}" : "[0-9]", count);
		return;
	}
	const int low = (int)(least / power), high = (int)(most / power);
	const decimal from = least % power, to = most % power;
	// Digits between the first and the last have all of what follows; those two perhaps not.
	const bool whole_low = from == 0 && low != high,
	           whole_high = to == power - 1 && low != high;
	struct choices choices = {out, false};
	if (low == high) {
		write_digit_range(out, low, low);
		if (count > 1) fputc(' ', out);
		write_digits(out, count - 1, from, to);
		return;
	}
	fputs("(", out);
	if (!whole_low) {
		next_choice(&choices);
		write_digit_range(out, low, low);
		fputc(' ', out);
		write_digits(out, count - 1, from, power - 1);
	}
	const int first = low + !whole_low, last = high - !whole_high;
	if (first <= last) {
		next_choice(&choices);
		write_digit_range(out, first, last);
		if (count > 1) fputc(' ', out);
		write_digits(out, count - 1, 0, power - 1);
	}
	if (!whole_high) {
		next_choice(&choices);
		write_digit_range(out, high, high);
		fputc(' ', out);
		write_digits(out, count - 1, 0, to);
	}
	fputs(")", out);
}

/* Whole numbers from least >= 0 to most, without zeros in front. */
static void write_whole_numbers(FILE *out, decimal least, decimal most) {
	struct choices choices = {out, false};
	fputs("(", out);
	for (unsigned count = count_decimal_digits(least); count <= count_decimal_digits(most);
	     count++) {
		const decimal first = count == 1 ? 0 : power_of_ten(count - 1),
		              last = power_of_ten(count) - 1;
		next_choice(&choices);
		if (count > 1 && least <= first && last <= most) {
			// All numbers of so many digits, and of more while all of those are in it.
			unsigned more = count;
			while (power_of_ten(more + 1) - 1 <= most) more++;
			if (more == count) fprintf(out, "[1-9] [0-9]{%u}", count - 1);
			else fprintf(out, "[1-9] [0-9]{%u,%u}", count - 1, more - 1);
			count = more;
			continue;
		}
		write_digits(out, count, least > first ? least : first, most < last ? most : last);
	}
	fputs(")", out);
}

/* Up to `count` digits behind a point of which the last is no zero, and which are least to most
 * when zeros fill them up. None is one of them if `empty` and least is 0. */
static void write_behind(FILE *out, unsigned count, decimal least, decimal most, bool empty) {
	struct choices choices = {out, false};
	const decimal power = power_of_ten(count - 1);
	const bool may_end = empty && least == 0;
	// Where none is not meant, the last digit says that the least is 1.
	if (least <= !empty && most == 10 * power - 1) {
		if (count == 1) fprintf(out, may_end ? "[1-9]?" : "[1-9]");
		else
			fprintf(out, may_end ? "([0-9]{0,%u} [1-9])?" : "[0-9]{0,%u} [1-9]",
			        count - 1);
		return;
	}
	if (most == 0) {
		fputs("\"\"", out);
		return;
	}
	fputs("(", out);
	if (count == 1) {
		write_digit_range(out, least > 0 ? (int)least : 1, (int)most);
	} else {
		const int low = (int)(least / power), high = (int)(most / power);
		for (int digit = low; digit <= high;) {
			const decimal from = digit == low ? least % power : 0,
			              to = digit == high ? most % power : power - 1;
			int last = digit;
			// Digits that all have the same behind them stand together; 0 must have
			// more.
			if (digit > 0 && from == 0 && to == power - 1)
				while (last + 1 < high ||
				       (last + 1 == high && most % power == power - 1))
					last++;
			if (digit > 0 || to > 0) {
				next_choice(&choices);
				write_digit_range(out, digit, last);
				fputc(' ', out);
				write_behind(out, count - 1, from, to, digit > 0);
			}
			digit = last + 1;
		}
	}
	fputs(may_end ? ")?" : ")", out);
}

/* The point and what follows, least to most of 10^17, where `digits` may stand. */
static void write_fraction(FILE *out, unsigned digits, decimal least, decimal most) {
	if (most == 0) return;
	fputs(least == 0 ? " (\".\" " : " \".\" ", out);
	write_behind(out, digits, least / unit_behind(digits), most / unit_behind(digits), false);
	if (least == 0) fputs(")?", out);
}

static void write_any_fraction(FILE *out, unsigned digits) {
	write_fraction(out, digits, 0, decimal_one() - unit_behind(digits));
}

/* Behind `count` digits: up to `most` of them, and a fraction. */
static void write_more_digits(FILE *out, unsigned count, unsigned most) {
	unsigned open = 0;
	for (; count < most && count < DECIMAL_DIGITS; count++, open++) {
		fputs(" (\".\" ", out);
		write_behind(out, DECIMAL_DIGITS - count, 0,
		             power_of_ten(DECIMAL_DIGITS - count) - 1, false);
		fputs(" | [0-9]", out);
	}
	if (count < most) fprintf(out, " [0-9]{0,%u}", most - count);
	else if (count < DECIMAL_DIGITS) write_any_fraction(out, DECIMAL_DIGITS - count);
	while (open--) fputs(")?", out);
}

/* Numbers from the whole number `first` to below `last` + 1. */
static void write_all_between(FILE *out, decimal first, decimal last) {
	struct choices choices = {out, false};
	fputs("(", out);
	if (first == 0) {
		next_choice(&choices);
		fputs("\"0\"", out);
		write_any_fraction(out, DECIMAL_DIGITS);
		first = 1;
	}
	for (unsigned count = count_decimal_digits(first);
	     first <= last && count <= count_decimal_digits(last); count++) {
		const decimal least = power_of_ten(count - 1);
		unsigned more = count;
		next_choice(&choices);
		if (first <= least && 10 * least - 1 <= last) {
			// All numbers of so many digits, and of more while all of those are in it.
			while (power_of_ten(more + 1) - 1 <= last) more++;
			fputs("[1-9]", out);
			if (count > 1) fprintf(out, " [0-9]{%u}", count - 1);
		} else {
			write_digits(out, count, first > least ? first : least,
			             last < 10 * least ? last : 10 * least - 1);
		}
		write_more_digits(out, count, more);
		count = more;
	}
	fputs(")", out);
}

/* From least >= 0 to most. */
static void write_magnitudes(FILE *out, decimal least, decimal most, bool whole) {
	const decimal one = decimal_one();
	decimal first = least / one, last = most / one;
	const decimal from = least % one, to = most % one;
	const unsigned behind = digits_behind(first), behind_last = digits_behind(last);
	struct choices choices = {out, false};
	if (whole) {
		write_whole_numbers(out, first, last);
		return;
	}
	fputs("(", out);
	if (first == last) {
		write_whole_numbers(out, first, first);
		write_fraction(out, behind, from, to);
		fputs(")", out);
		return;
	}
	if (from > 0) {
		next_choice(&choices);
		write_whole_numbers(out, first, first);
		write_fraction(out, behind, from, one - unit_behind(behind));
		first++;
	}
	const decimal end = to == one - unit_behind(behind_last) ? last : last - 1;
	if (first <= end) {
		next_choice(&choices);
		write_all_between(out, first, end);
	}
	if (end < last) {
		next_choice(&choices);
		write_whole_numbers(out, last, last);
		write_fraction(out, behind_last, 0, to);
	}
	fputs(")", out);
}

void decimal_grammar(FILE *out, decimal least, decimal most, bool whole) {
	const decimal step = whole ? decimal_one() : unit_behind(DECIMAL_DIGITS);
	struct choices choices = {out, false};
	if (least < 0) {
		next_choice(&choices);
		fputs("\"-\" ", out);
		write_magnitudes(out, most < 0 ? -most : step, -least, whole);
	}
	if (most >= 0) {
		next_choice(&choices);
		write_magnitudes(out, least > 0 ? least : 0, most, whole);
	}
}
