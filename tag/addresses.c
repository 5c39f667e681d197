// SPDX-License-Identifier: Apache-2.0
// The scanner of addresses: 14 Mill Lane, Leeds; 5 Main St., Apt. 3, Springfield, IL 62701; 12 rue
// de la Paix; Hauptstraße 5, 10115 Berlin; P.O. Box 42. A word for a street must be there.
#include "tag/scan.h"

/* Behind the name of a street. */
static const char *const STREETS[] = {
    "street",    "road",    "lane",     "avenue",  "drive",  "court",   "way",     "place",
    "boulevard", "close",   "crescent", "terrace", "square", "highway", "parkway", "circle",
    "trail",     "row",     "mews",     "gardens", "grove",  "hill",    "quay",    "walk",
    "turnpike",  "strasse", "straat",   "loop",    "alley",  "green",   NULL};
/* Likewise, with a full stop behind it or none. */
static const char *const SHORT_STREETS[] = {"st",   "rd", "ln",  "ave",  "av",  "dr",  "ct", "pl",
                                            "blvd", "sq", "hwy", "pkwy", "cir", "str", NULL};
/* Before the name of a street. */
static const char *const STREETS_BEFORE[] = {
    "rue",   "avenue", "av",      "boulevard", "bd",    "place",  "chemin", "allee", "impasse",
    "quai",  "calle",  "avenida", "plaza",     "paseo", "carrer", "via",    "viale", "piazza",
    "corso", "largo",  "rua",     "travessa",  "praca", "c/",     NULL};
/* Ends of a word that is a whole street: Lindenstraße 5, Kerkstraat 12. */
static const char *const STREET_ENDS[] = {
    "strasse", "stra\u00dfe", "str",  "straat", "gasse", "gracht", "platz", "weg", "allee",
    "laan",    "plein",       "gata", "gatan",  "vej",   "gade",   "vegen", NULL};
static const char *const FLATS[] = {"apt",   "apartment", "suite",    "ste",  "unit", "flat",
                                    "floor", "room",      "building", "bldg", NULL};
/* Small words within the name of a street: rue de la Paix. */
static const char *const STREET_PARTICLES[] = {
    "de",    "la", "du",  "des", "del", "los", "las", "di",  "da", "do", "dos", "delle",
    "della", "le", "les", "van", "den", "der", "of",  "the", "l'", "d'", NULL};

/* The number of a house at a place: 14, 14a, 14-16, 1634. Its end, or 0. */
static size_t end_of_house(const struct tag_text *text, size_t at) {
	const size_t count = count_digits(text, at, 6);
	if (!count || count > 5) return 0;
	size_t end = at + count;
	const size_t dash = dash_at(text, end);
	const size_t more = dash ? count_digits(text, end + dash, 6) : 0;
	if (more && more < 6) end += dash + more;
	if (is_ascii_letter(byte_at(text, end)) && !letter_at(text, end + 1)) end++;
	return letter_at(text, end) ? 0 : end;
}

/* Past ',' and a gap, where a line may be broken; the place itself when no gap stands there. */
static size_t skip_to_line(const struct tag_text *text, size_t at) {
	const size_t comma = at + (byte_at(text, at) == ',');
	const size_t gap = skip_gap(text, comma);
	const size_t line = gap + (byte_at(text, gap) == '\n');
	return line > comma ? skip_gap(text, line) : at;
}

static bool is_capital_or_digit(unsigned char byte) {
	return is_digit(byte) || (byte >= 'A' && byte <= 'Z');
}

/* The end of a word of two letters or more with a capital, and without a digit; 0 = none. */
static size_t end_of_town_word(const struct tag_text *text, size_t at) {
	const size_t end = end_of_name(text, at);
	for (size_t i = at; i < end; i++)
		if (digit_at(text, i) || byte_at(text, i) == '.') return 0;
	return end > at + 1 ? end : 0;
}

/* The end of one or two such words, as a town has; 0 = none. */
static size_t end_of_town(const struct tag_text *text, size_t at) {
	const size_t end = end_of_town_word(text, at), next = skip_space(text, end);
	const size_t more = end && next > end ? end_of_town_word(text, next) : 0;
	return more ? more : end;
}

/* The end of a code of a place, as in 62701, 62701-1234, LS1 4AB; 0 = none. */
static size_t end_of_zip(const struct tag_text *text, size_t at) {
	const size_t count = count_digits(text, at, 6);
	if (count >= 4 && count <= 5) {
		const size_t dash = dash_at(text, at + count);
		const bool more = dash && count_digits(text, at + count + dash, 5) == 4;
		const size_t end = at + count + (more ? dash + 4 : 0);
		return letter_at(text, end) ? 0 : end;
	}
	// Two groups of capitals and digits: up to four with a letter first, three with a digit
	// first.
	size_t end = at;
	bool digit = false;
	while (end < at + 4 && is_capital_or_digit(byte_at(text, end)))
		digit |= digit_at(text, end++);
	const size_t next = skip_space(text, end);
	if (count || !digit || next == end || !digit_at(text, next)) return 0;
	for (size_t i = 1; i < 3; i++)
		if (!is_capital_or_digit(byte_at(text, next + i))) return 0;
	return letter_at(text, next + 3) ? 0 : next + 3;
}

/* Past flats behind a street: Apt. 3, Suite 12, # 4. */
static size_t skip_flats(const struct tag_text *text, size_t at) {
	for (size_t i = 0; i < 2; i++) {
		const size_t next = skip_to_line(text, at);
		const size_t flat = next > at ? match_words(text, next, FLATS) : 0;
		size_t number = next + flat;
		if (flat) number = skip_space(text, number + (byte_at(text, number) == '.'));
		if (next > at && byte_at(text, number) == '#') number++;
		const size_t end = number > next ? end_of_house(text, number) : 0;
		if (!end) break;
		at = end;
	}
	return at;
}

/* Past what stands behind a street: flats, a code and a town, or behind a comma a town, a state and
 * a code. The place itself when there is nothing. */
static size_t skip_rest(const struct tag_text *text, size_t at) {
	size_t end = skip_flats(text, at), next = skip_to_line(text, end);
	size_t code = next > end ? end_of_zip(text, next) : 0;
	if (code) {
		const size_t behind = skip_space(text, code);
		const size_t town = behind > code ? end_of_town(text, behind) : 0;
		return town ? town : code;
	}
	const size_t town = byte_at(text, end) == ',' ? end_of_town(text, next) : 0;
	if (!town) return end;
	next = skip_to_line(text, town);
	if (next == town) return town;
	const bool state =
	    is_ascii_letter(byte_at(text, next)) && is_capital_or_digit(byte_at(text, next)) &&
	    is_ascii_letter(byte_at(text, next + 1)) &&
	    is_capital_or_digit(byte_at(text, next + 1)) && !letter_at(text, next + 2);
	code = end_of_zip(text, state ? skip_space(text, next + 2) : next);
	return code ? code : state ? next + 2 : town;
}

/* Whether the word start..end ends as a whole street does, with something before that. */
static bool is_street_word(const struct tag_text *text, size_t start, size_t end) {
	for (size_t i = 0; STREET_ENDS[i]; i++) {
		const size_t length = strlen(STREET_ENDS[i]);
		if (end >= start + length + 3 &&
		    match_word(text, end - length, STREET_ENDS[i]) == length)
			return true;
	}
	return false;
}

/* The end of rue de la Paix, Via Roma: a word for a street, small words, one or two with capitals.
 * 0 = none. */
static size_t end_of_named_street(const struct tag_text *text, size_t at) {
	enum { PARTICLES = 3 };
	const size_t street = match_words(text, at, STREETS_BEFORE);
	size_t next = skip_space(text, at + street);
	if (!street || next == at + street) return 0;
	for (size_t i = 0; i < PARTICLES; i++) {
		const size_t word = match_words(text, next, STREET_PARTICLES);
		if (!word) break;
		next = skip_space(text, next + word);
	}
	return end_of_town(text, next);
}

/* The end of Street, of St. with its full stop, and of a quarter behind it, if the word start..end
 * is for a street; 0 = it is not. */
static size_t end_of_street_word(const struct tag_text *text, size_t start, size_t end) {
	static const char *const quarters[] = {"nw", "ne",    "sw",    "se",   "n",    "s", "e",
	                                       "w",  "north", "south", "east", "west", NULL};
	const bool abbreviated = match_words(text, start, SHORT_STREETS) == end - start;
	if (!abbreviated && match_words(text, start, STREETS) != end - start) return 0;
	const bool stop = abbreviated && byte_at(text, end) == '.';
	const size_t next = skip_space(text, end + stop);
	const size_t quarter = next > end + stop ? match_words(text, next, quarters) : 0;
	// "2 Elm Dr. Roe" is a doctor.
	if (stop && match_word(text, start, "dr") && !quarter && end_of_name(text, next)) return 0;
	return quarter ? next + quarter : end + stop;
}

/* 14 Mill Lane, 5 East 42nd Street, 12 rue de la Paix: a number and a street. */
static size_t end_of_house_first(const struct tag_text *text, size_t at) {
	enum { WORDS = 5 };
	static const char *const ordinals[] = {"st", "nd", "rd", "th", NULL};
	const size_t house = end_of_house(text, at);
	size_t next = skip_space(text, house + (byte_at(text, house) == ','));
	if (!house || next == house) return 0;
	size_t end = end_of_named_street(text, next);
	for (size_t words = 0; words < WORDS && !end; words++) {
		const size_t digits = count_digits(text, next, 3);
		const size_t ordinal = digits ? match_words(text, next + digits, ordinals) : 0;
		const size_t last = ordinal ? next + digits + ordinal : end_of_name(text, next);
		if (!last) break;
		end = words ? end_of_street_word(text, next, last) : 0;
		if (!end && is_street_word(text, next, last)) end = last;
		next = skip_space(text, last);
		if (next == last) break;
	}
	return end;
}

/* Hauptstraße 5, Rua Augusta 12, Via Roma 1. */
static size_t end_of_street_first(const struct tag_text *text, size_t at) {
	// "via IV, 850 ml": a small letter would be too little.
	if (byte_at(text, at) >= 'a' && byte_at(text, at) <= 'z') return 0;
	size_t end = end_of_named_street(text, at);
	if (!end) {
		const size_t word = end_of_name(text, at);
		if (!word || !is_street_word(text, at, word)) return 0;
		end = word + (byte_at(text, word) == '.');
	}
	const size_t number = skip_space(text, end + (byte_at(text, end) == ','));
	return number > end ? end_of_house(text, number) : 0;
}

/* P.O. Box 42, Postfach 42. */
static size_t end_of_box(const struct tag_text *text, size_t at) {
	static const char *const boxes[] = {"p.o. box", "po box",    "p.o.box", "postfach",
	                                    "postbus",  "p. o. box", NULL};
	const size_t box = match_words(text, at, boxes);
	const size_t number = skip_space(text, at + box);
	return box && number > at + box ? end_of_house(text, number) : 0;
}

size_t scan_address(const struct tag_text *text, size_t at) {
	if (is_rest(text, at, ".,-/:")) return 0;
	size_t end =
	    digit_at(text, at) ? end_of_house_first(text, at) : end_of_street_first(text, at);
	if (!end) end = end_of_box(text, at);
	return end ? skip_rest(text, end) : 0;
}
