// SPDX-License-Identifier: Apache-2.0
// The scanner of dates and times. A date is digits (9/15/1946, 2003-08-28), a month with a day or a
// year (12 March 2004, Mar. 3rd), a day of the week, or a year from 1900 to 2099. A time may stand
// behind it, or alone (10:30, 5 pm). Month and day names are English.
#include "tag/scan.h"

#include <string.h>

static const char *const MONTHS[] = {
    "january", "february", "march",    "april", "may", "june", "july", "august", "september",
    "october", "november", "december", "jan",   "feb", "mar",  "apr",  "jun",    "jul",
    "aug",     "sept",     "sep",      "oct",   "nov", "dec",  NULL};
static const char *const WEEKDAYS[] = {"monday", "tuesday",  "wednesday", "thursday",
                                       "friday", "saturday", "sunday",    NULL};
static const char *const HALF_DAYS[] = {"am", "pm", "a.m.", "p.m.", "a.m", "p.m", "o'clock", NULL};
static const char *const DAY_ENDS[] = {"st", "nd", "rd", "th", NULL};

/* Whether a word of the table stands at the place, with a capital letter first. */
static size_t match_month(const struct tag_text *text, size_t at) {
	const unsigned char first = byte_at(text, at);
	const size_t length = first >= 'A' && first <= 'Z' ? match_words(text, at, MONTHS) : 0;
	return length && byte_at(text, at + length) == '.' ? length + 1 : length;
}

/* Digits of a number of `least` to `most` digits and from `low` to `high`; 0 = none stands there.
 */
static size_t match_number(const struct tag_text *text, size_t at, size_t most, unsigned low,
                           unsigned high) {
	const size_t count = count_digits(text, at, most + 1);
	if (!count || count > most) return 0;
	const unsigned number = number_at(text, at, count);
	return number >= low && number <= high ? count : 0;
}

static size_t match_year(const struct tag_text *text, size_t at) {
	return match_number(text, at, 4, 1900, 2099);
}

/* 10:30, 10:30:15.5, 10:30 pm, 5 pm. Returns the end, or 0. */
static size_t end_of_time(const struct tag_text *text, size_t at) {
	size_t end = at + match_number(text, at, 2, 0, 24), minutes = 0;
	if (end == at) return 0;
	while (minutes < 2 && byte_at(text, end) == ':' && count_digits(text, end + 1, 3) == 2 &&
	       number_at(text, end + 1, 2) < 61) {
		end += 3;
		minutes++;
	}
	if (minutes && byte_at(text, end) == ':') return 0;
	const size_t fraction =
	    minutes == 2 && byte_at(text, end) == '.' ? count_digits(text, end + 1, 9) : 0;
	end += fraction ? 1 + fraction : 0;
	const size_t half = match_words(text, end, HALF_DAYS);
	if (half) return end + half;
	const size_t later = byte_at(text, end) == ' ' ? match_words(text, end + 1, HALF_DAYS) : 0;
	if (later) return end + 1 + later;
	return minutes && !digit_at(text, end) ? end : 0;
}

/* The end of a zone such as Z, +02:00 or -0500 at a place; the place itself when there is none. */
static size_t skip_zone(const struct tag_text *text, size_t at) {
	const unsigned char byte = byte_at(text, at);
	if (byte == 'Z' && !letter_at(text, at + 1)) return at + 1;
	if ((byte != '+' && byte != '-') || count_digits(text, at + 1, 2) != 2) return at;
	const size_t minutes = at + 3 + (byte_at(text, at + 3) == ':');
	return count_digits(text, minutes, 3) == 2 ? minutes + 2 : at;
}

/* The end of a date's time, behind " ", ", ", "T" or " at "; the place itself when there is none.
 */
static size_t skip_time(const struct tag_text *text, size_t at) {
	static const char *const joints[] = {" at ", ", ", " ", "T", NULL};
	for (size_t i = 0; joints[i]; i++) {
		const size_t length = strlen(joints[i]);
		if (at + length > text->size || memcmp(text->bytes + at, joints[i], length) != 0)
			continue;
		const size_t end = end_of_time(text, at + length);
		if (end) return skip_zone(text, end);
	}
	return at;
}

/* 2003-08-28, 9/15/1946, 28.8.03: three numbers, of which a month and a day can be made. */
static size_t end_of_digits(const struct tag_text *text, size_t at) {
	size_t year = count_digits(text, at, 5) == 4 ? match_year(text, at) : 0;
	const size_t first = year ? year : match_number(text, at, 2, 1, 31);
	const unsigned char joint = byte_at(text, at + first);
	if (!first || !joint || !strchr("-/.", joint)) return 0;
	const size_t second_at = at + first + 1, second = match_number(text, second_at, 2, 1, 31);
	if (!second || byte_at(text, second_at + second) != joint) return 0;
	const size_t third_at = second_at + second + 1;
	const size_t third =
	    year ? match_number(text, third_at, 2, 1, 31) : count_digits(text, third_at, 5);
	if (!third || (!year && third != 2 && third != 4)) return 0;
	const unsigned one = number_at(text, year ? third_at : at, year ? third : first);
	if (one > 12 && number_at(text, second_at, second) > 12) return 0;
	const size_t end = third_at + third;
	return byte_at(text, end) == joint && digit_at(text, end + 1) ? 0 : end;
}

/* The end of a day of the month, with its ending: 3, 3rd, 12th; 0 = none stands there. */
static size_t end_of_day(const struct tag_text *text, size_t at) {
	const size_t day = match_number(text, at, 2, 1, 31);
	if (!day) return 0;
	const size_t end = match_words(text, at + day, DAY_ENDS);
	return end || !letter_at(text, at + day) ? at + day + end : 0;
}

/* Past a year behind " ", ", ", "-" or " of ", if one stands there. */
static size_t skip_year(const struct tag_text *text, size_t at) {
	static const char *const joints[] = {", ", " of ", " ", "-", NULL};
	for (size_t i = 0; joints[i]; i++) {
		const size_t length = strlen(joints[i]);
		if (at + length > text->size || memcmp(text->bytes + at, joints[i], length) != 0)
			continue;
		const size_t year = match_year(text, at + length);
		if (year && !letter_at(text, at + length + year)) return at + length + year;
		if (*joints[i] == '-' && count_digits(text, at + 1, 3) == 2) return at + 3;
	}
	return at;
}

/* March 12th, 2004; Mar 2004; May 3. */
static size_t end_of_month_first(const struct tag_text *text, size_t at) {
	const size_t month = match_month(text, at);
	if (!month) return 0;
	const size_t next = at + month + (byte_at(text, at + month) == ' ');
	const size_t day = end_of_day(text, next);
	const size_t end = skip_year(text, day ? day : at + month);
	return day || end > at + month ? end : 0;
}

/* 12 March 2004; 3rd of May; 12-Mar-04. */
static size_t end_of_day_first(const struct tag_text *text, size_t at) {
	size_t end = end_of_day(text, at);
	if (!end || (byte_at(text, end) != ' ' && byte_at(text, end) != '-')) return 0;
	end += match_word(text, end + 1, "of") ? 4 : 1;
	const size_t month = match_month(text, end);
	return month ? skip_year(text, end + month) : 0;
}

size_t scan_date(const struct tag_text *text, size_t at) {
	const unsigned char before = at ? byte_at(text, at - 1) : 0;
	if (before && strchr(".,-/:", before) && at > 1 && digit_at(text, at - 2)) return 0;
	if (!digit_at(text, at)) {
		size_t day = match_words(text, at, WEEKDAYS);
		const size_t date = end_of_month_first(text, at);
		if (!date) return day ? skip_time(text, at + day) : 0;
		return skip_time(text, date);
	}
	size_t end = end_of_digits(text, at);
	if (!end) end = end_of_day_first(text, at);
	if (end) end = skip_time(text, end);
	if (!end) end = end_of_time(text, at);
	if (!end && match_year(text, at)) {
		end = at + 4 + (byte_at(text, at + 4) == 's');
		const unsigned char joint = byte_at(text, end);
		if (joint && strchr(".,-/:", joint) && digit_at(text, end + 1)) return 0;
	}
	return end && !letter_at(text, end) ? end : 0;
}
