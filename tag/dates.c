// SPDX-License-Identifier: Apache-2.0
// The scanner of dates and times. A date is digits (9/15/1946, 2003-08-28), a month with a day or a
// year (12 March 2004, Mar. 3rd, 12. März 1957), a day of the week, or a year. A time may stand
// behind it, or alone (10:30, 5 pm). Years are 1800 to 2200: records are shifted to 2100 and
// later, or to before 1900, to hide them. Names of months are English, German, French, Spanish,
// Italian, Portuguese and Dutch; those of days are English.
#include "tag/scan.h"

/* English names, with a capital in the text. */
static const char *const MONTHS[] = {
    "january", "february", "march",    "april", "may", "june", "july", "august", "september",
    "october", "november", "december", "jan",   "feb", "mar",  "apr",  "jun",    "jul",
    "aug",     "sept",     "sep",      "oct",   "nov", "dec",  NULL};
/* Names that are no other English word, so that they need no capital behind a day. */
static const char *const PLAIN_MONTHS[] = {
    // English, and of these some German and Dutch
    "january", "february", "april", "june", "july", "august", "september", "october", "november",
    "december",
    // German
    "januar", "janner", "februar", "feber", "marz", "maerz", "mai", "juni", "juli", "oktober",
    "dezember",
    // French
    "janvier", "fevrier", "mars", "avril", "juin", "juillet", "aout", "septembre", "octobre",
    "novembre", "decembre",
    // Spanish
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
    "setiembre", "octubre", "noviembre", "diciembre",
    // Italian
    "gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre",
    "dicembre",
    // Portuguese
    "janeiro", "fevereiro", "marco", "maio", "junho", "julho", "setembro", "outubro", "novembro",
    "dezembro",
    // Dutch
    "januari", "februari", "maart", "mei", "augustus", NULL};
/* Names and short forms that may be other words, so that a year must stand behind them. */
static const char *const YEAR_MONTHS[] = {
    "march", "may", "jan", "feb", "mar",  "apr", "jun",  "jul", "aug",  "sept", "sep", "oct",
    "nov",   "dec", "okt", "dez", "janv", "fev", "fevr", "avr", "juil", "ene",  "abr", "ago",
    "dic",   "gen", "mag", "giu", "lug",  "set", "ott",  "out", "mrt",  NULL};
static const char *const WEEKDAYS[] = {"monday", "tuesday",  "wednesday", "thursday",
                                       "friday", "saturday", "sunday",    NULL};
static const char *const HALF_DAYS[] = {"am",  "pm",      "a.m.", "p.m.", "a.m",
                                        "p.m", "o'clock", "uhr",  NULL};
/* Behind the number of a day: 3rd, 1er, 3e. */
static const char *const DAY_ENDS[] = {"st", "nd", "rd",     "th",     "er",
                                       "re", "e",  "\u00ba", "\u00b0", NULL};
/* Between day and month, and between month and year: 3rd of May, 12 de marzo de 1957. */
static const char *const OF[] = {"of", "de", "del", "do", NULL};
/* Between a date and its time. */
static const char *const AT[] = {"at", "um", "a", "om", "alle", "ore", NULL};
/* Words before a year that is nothing else. */
static const char *const BEFORE_YEARS[] = {
    "in",    "since", "from",  "until", "till", "by",      "before", "after", "year",
    "early", "late",  "seit",  "im",    "jahr", "en",      "depuis", "desde", "nel",
    "dal",   "em",    "sinds", "born",  "dob",  "geboren", NULL};

/* The end of a name of a month at a place, with its full stop, or 0. */
static size_t end_of_month(const struct tag_text *text, size_t at, const char *const months[]) {
	const size_t length = match_words(text, at, months);
	return length ? at + length + (byte_at(text, at + length) == '.') : 0;
}

static bool is_capital(const struct tag_text *text, size_t at) {
	const unsigned char first = byte_at(text, at);
	return first >= 'A' && first <= 'Z';
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
	return match_number(text, at, 4, 1800, 2200);
}

/* Past a space and a word of the table with a space behind it, or past the space alone; 0 when no
 * space stands there. */
static size_t skip_small_word(const struct tag_text *text, size_t at, const char *const words[]) {
	const size_t next = skip_space(text, at);
	const size_t word = next > at ? match_words(text, next, words) : 0;
	const size_t behind = skip_space(text, next + word);
	return next == at ? 0 : word && behind > next + word ? behind : next;
}

/* 10:30, 10:30:15.5, 10:30 pm, 5 pm, 10h30. Returns the end, or 0. */
static size_t end_of_time(const struct tag_text *text, size_t at) {
	size_t end = at + match_number(text, at, 2, 0, 24), minutes = 0;
	if (end == at) return 0;
	if (byte_at(text, end) == 'h' && count_digits(text, end + 1, 3) == 2 &&
	    number_at(text, end + 1, 2) < 60)
		return end + 3;
	while (minutes < 2 && byte_at(text, end) == ':' && count_digits(text, end + 1, 3) == 2 &&
	       number_at(text, end + 1, 2) < 61) {
		end += 3;
		minutes++;
	}
	if (minutes && byte_at(text, end) == ':') return 0;
	const size_t fraction =
	    minutes == 2 && byte_at(text, end) == '.' ? count_digits(text, end + 1, 9) : 0;
	end += fraction ? 1 + fraction : 0;
	const size_t behind = skip_space(text, end);
	const size_t half = match_words(text, behind, HALF_DAYS);
	if (half) return behind + half;
	return minutes && !digit_at(text, end) ? end : 0;
}

/* The end of a zone such as Z, +02:00 or -0500 at a place; the place itself when there is none. */
static size_t skip_zone(const struct tag_text *text, size_t at) {
	size_t size;
	const unsigned char sign = sign_at(text, at, &size);
	if (sign == 'Z' && !letter_at(text, at + 1)) return at + 1;
	if ((sign != '+' && sign != '-') || count_digits(text, at + size, 2) != 2) return at;
	const size_t minutes = at + size + 2 + (byte_at(text, at + size + 2) == ':');
	return count_digits(text, minutes, 3) == 2 ? minutes + 2 : at;
}

/* The end of a date's time, behind " ", ", ", "T" or " at "; the place itself when there is none.
 */
static size_t skip_time(const struct tag_text *text, size_t at) {
	const unsigned char joint = byte_at(text, at);
	const size_t next = joint == 'T' ? at + 1 : skip_small_word(text, at + (joint == ','), AT);
	const size_t end = next ? end_of_time(text, next) : 0;
	return end ? skip_zone(text, end) : at;
}

/* 2003-08-28, 9/15/1946, 28.8.03: three numbers, of which a month and a day can be made. */
static size_t end_of_digits(const struct tag_text *text, size_t at) {
	size_t size, other;
	const size_t year = count_digits(text, at, 5) == 4 ? match_year(text, at) : 0;
	const size_t first = year ? year : match_number(text, at, 2, 1, 31);
	const unsigned char joint = sign_at(text, at + first, &size);
	if (!first || !joint || !strchr("-/.", joint)) return 0;
	const size_t second_at = at + first + size,
	             second = match_number(text, second_at, 2, 1, 31);
	if (!second || sign_at(text, second_at + second, &other) != joint) return 0;
	const size_t third_at = second_at + second + other;
	const size_t third =
	    year ? match_number(text, third_at, 2, 1, 31) : count_digits(text, third_at, 5);
	if (!third || (!year && third != 2 && third != 4)) return 0;
	const unsigned one = number_at(text, year ? third_at : at, year ? third : first);
	if (one > 12 && number_at(text, second_at, second) > 12) return 0;
	const size_t end = third_at + third;
	return sign_at(text, end, &size) == joint && digit_at(text, end + size) ? 0 : end;
}

/* The end of a day of the month, with its ending: 3, 3rd, 12th, 1er, 12.; 0 = none stands there. */
static size_t end_of_day(const struct tag_text *text, size_t at) {
	const size_t day = match_number(text, at, 2, 1, 31);
	if (!day) return 0;
	const size_t end = match_words(text, at + day, DAY_ENDS);
	return end || !letter_at(text, at + day) ? at + day + end : 0;
}

/* Past a year behind " ", ", ", "-", "/" or " of ", if one stands there; '57 is one, too. */
static size_t skip_year(const struct tag_text *text, size_t at) {
	size_t size, mark;
	const unsigned char joint = sign_at(text, at, &size);
	size_t next = joint == '-' || joint == '/' ? at + size
	                                           : skip_small_word(text, at + (joint == ','), OF);
	if (!next) return at;
	const size_t year = match_year(text, next);
	if (year && !letter_at(text, next + year)) return next + year;
	const bool marked = sign_at(text, next, &mark) == '\'';
	if (marked) next += mark;
	if (count_digits(text, next, 3) != 2 || letter_at(text, next + 2)) return at;
	// "12 Mar 57." is a year, "12 Mar 57 men" is not.
	const unsigned char behind = byte_at(text, next + 2);
	const bool last = !behind || strchr(".,;)\n", behind);
	return marked || joint == '-' || joint == '/' || (joint == ' ' && last) ? next + 2 : at;
}

/* March 12th, 2004; Mar 2004; May 3; Août 1957. */
static size_t end_of_month_first(const struct tag_text *text, size_t at) {
	const size_t month = is_capital(text, at) ? end_of_month(text, at, MONTHS) : 0;
	if (month) {
		const size_t dash = dash_at(text, month);
		const size_t day = end_of_day(text, dash ? month + dash : skip_space(text, month));
		const size_t end = skip_year(text, day ? day : month);
		// Mar-04 has a year, Mar-4-2004 a day before it.
		if (day && (!dash || end > day)) return end;
		if (skip_year(text, month) > month) return skip_year(text, month);
		return 0;
	}
	size_t foreign = end_of_month(text, at, PLAIN_MONTHS);
	if (!foreign && is_capital(text, at)) foreign = end_of_month(text, at, YEAR_MONTHS);
	const size_t end = foreign ? skip_year(text, foreign) : 0;
	return end > foreign ? end : 0;
}

/* 12 March 2004; 3rd of May; 12-Mar-04; 12-14 March; 12. März 1957; 12 de marzo de 1957. */
static size_t end_of_day_first(const struct tag_text *text, size_t at) {
	size_t size, end = end_of_day(text, at);
	if (!end) return 0;
	const size_t next = end + (byte_at(text, end) == '.'), dash = dash_at(text, next),
	             last = dash ? end_of_day(text, next + dash) : 0;
	if (last) end = last;
	const unsigned char joint = sign_at(text, end, &size);
	const bool stop = joint == '.';
	if (stop) end = skip_space(text, end + 1);
	else end = joint == '-' || joint == '/' ? end + size : skip_small_word(text, end, OF);
	if (!end) return 0;
	// "Grade 3. May be": behind a full stop the name must be no other word.
	size_t month = is_capital(text, end) && !stop ? end_of_month(text, end, MONTHS) : 0;
	if (!month) month = end_of_month(text, end, PLAIN_MONTHS);
	if (month) return skip_year(text, month);
	month = end_of_month(text, end, YEAR_MONTHS);
	const size_t year = month ? skip_year(text, month) : 0;
	return year > month ? year : 0;
}

/* 1977, the 1990s, 1977-1990, 2118-06: a year, with another one or a month behind a dash. Beyond
 * 1900 to 2099, where numbers are more often amounts, a year must stand behind a word such as in.
 */
static size_t end_of_year(const struct tag_text *text, size_t at) {
	const size_t year = match_year(text, at);
	if (!year) return 0;
	size_t end = at + year;
	const size_t dash = dash_at(text, end);
	const size_t more = dash ? match_year(text, end + dash) : 0;
	const bool two = dash && count_digits(text, end + dash, 3) == 2;
	if (more) end += dash + more;
	else if (two && match_number(text, end + dash, 2, 1, 12)) end += dash + 2;
	else if (number_at(text, at, 4) - 1900 > 199 && !follows_words(text, at, BEFORE_YEARS))
		return 0;
	else end += byte_at(text, end) == 's';
	return goes_on(text, end, ".,-/:") ? 0 : end;
}

size_t scan_date(const struct tag_text *text, size_t at) {
	if (is_rest(text, at, ".,-/:")) return 0;
	if (!digit_at(text, at)) {
		const size_t date = end_of_month_first(text, at);
		if (date) return skip_time(text, date);
		const size_t day = match_words(text, at, WEEKDAYS);
		return day ? skip_time(text, at + day) : 0;
	}
	size_t end = end_of_digits(text, at);
	if (!end) end = end_of_day_first(text, at);
	if (end) end = skip_time(text, end);
	if (!end) {
		end = end_of_time(text, at);
		// 08:30-09:30 are two times, and no zone.
		if (end && byte_at(text, end) == 'Z') end = skip_zone(text, end);
	}
	if (!end) end = end_of_year(text, at);
	return end && !letter_at(text, end) ? end : 0;
}
