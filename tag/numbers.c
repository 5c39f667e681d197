// SPDX-License-Identifier: Apache-2.0
// The scanners of numbers: IP addresses, IBANs, cards, US social security numbers, money and
// phones. tag/scan.h says what a scanner promises.
#include "tag/scan.h"

#include <string.h>

/* ---- IP addresses ---------------------------------------------------------------------------- */

/* Four numbers of 0 to 255, joined by full stops. */
static size_t scan_ipv4(const struct tag_text *text, size_t at) {
	for (size_t part = 0; part < 4; part++) {
		if (part && byte_at(text, at++) != '.') return 0;
		const size_t count = count_digits(text, at, 4);
		if (!count || count > 3 || number_at(text, at, count) > 255) return 0;
		at += count;
	}
	return at;
}

static size_t count_hex(const struct tag_text *text, size_t at, size_t most) {
	size_t count = 0;
	for (; count < most; count++) {
		const unsigned char byte = byte_at(text, at + count);
		if (!is_digit(byte) && ((byte | 0x20) < 'a' || (byte | 0x20) > 'f')) break;
	}
	return count;
}

/* Eight groups of up to four hex digits (RFC 4291); "::" once stands for groups of zeros. The last
 * two groups may be an IPv4 address. A digit must be there: dead::beef is C++. */
static size_t scan_ipv6(const struct tag_text *text, size_t at) {
	const size_t start = at;
	size_t groups = 0;
	bool shortened = false, digit = false;
	if (byte_at(text, at) == ':' && byte_at(text, at + 1) != ':') return 0;
	while (groups < 8) {
		if (byte_at(text, at) == ':' && byte_at(text, at + 1) == ':') {
			if (shortened) return 0;
			shortened = true;
			at += 2;
		} else if (groups) {
			if (byte_at(text, at) != ':' || !count_hex(text, at + 1, 1)) break;
			at++;
		}
		const size_t tail = groups <= 6 && (groups || shortened) ? scan_ipv4(text, at) : 0;
		if (tail) {
			at = tail;
			groups += 2;
			digit = true;
			break;
		}
		const size_t count = count_hex(text, at, 5);
		if (count > 4) return 0;
		if (!count) break;
		for (size_t i = 0; i < count; i++) digit |= digit_at(text, at + i);
		at += count;
		groups++;
	}
	if (!digit || at == start || (shortened ? groups > 7 : groups != 8)) return 0;
	return at;
}

size_t scan_ip(const struct tag_text *text, size_t at) {
	size_t end = is_rest(text, at, ".") ? 0 : scan_ipv4(text, at);
	if (end && !goes_on(text, end, ".")) return end;
	end = is_rest(text, at, ":") ? 0 : scan_ipv6(text, at);
	return end && !goes_on(text, end, ":.") ? end : 0;
}

/* ---- numbers with a check -------------------------------------------------------------------- */

/* The rest of an IBAN mod 97, one character more: letters count from A = 10 to Z = 35. */
static unsigned extend_mod_97(unsigned rest, unsigned char byte) {
	if (is_digit(byte)) return (10 * rest + (byte - '0')) % 97;
	return (100 * rest + ((byte | 0x20) - 'a' + 10)) % 97;
}

/* GB29 NWBK 6016 1331 9268 19: a country, two digits, 11 to 30 letters and digits, whole or in
 * groups of four. The first four moved to the end, it is 1 mod 97. Of the places where it could
 * end, the last one that gives 1 counts. */
size_t scan_iban(const struct tag_text *text, size_t at) {
	enum { LEAST = 15, MOST = 34 };
	size_t end = 0, count = 4, group = 4;
	unsigned rest = 0;
	if (!is_ascii_letter(byte_at(text, at)) || !is_ascii_letter(byte_at(text, at + 1)) ||
	    count_digits(text, at + 2, 2) != 2)
		return 0;
	for (size_t i = at + 4, size; count < MOST; i += size) {
		const unsigned char byte = sign_at(text, i, &size);
		if ((byte == ' ' || byte == '-') && group == 4) {
			group = 0;
			continue;
		}
		if (!is_digit(byte) && !is_ascii_letter(byte)) break;
		rest = extend_mod_97(rest, byte);
		count++;
		group++;
		if (count < LEAST || letter_at(text, i + 1)) continue;
		unsigned whole = rest;
		for (size_t first = at; first < at + 4; first++)
			whole = extend_mod_97(whole, byte_at(text, first));
		if (whole == 1) end = i + 1;
	}
	return end;
}

/* Whether digits[count] end with the right check digit. From the right, every second digit is
 * doubled: 8 gives 16, which counts 1 + 6. The sum is a multiple of ten. */
static bool passes_luhn(const unsigned char *digits, size_t count) {
	unsigned sum = 0;
	for (size_t i = 0; i < count; i++) {
		const unsigned digit = digits[count - 1 - i];
		sum += i % 2 ? 2 * digit - (digit > 4 ? 9 : 0) : digit;
	}
	return sum % 10 == 0;
}

/* 12 to 19 digits, whole or in groups joined by one space or hyphen each. Of the places where it
 * could end, the last one that passes counts. */
size_t scan_card(const struct tag_text *text, size_t at) {
	enum { LEAST = 12, MOST = 19 };
	unsigned char digits[MOST];
	size_t count = 0, end = 0;
	if (!digit_at(text, at) || byte_at(text, at) == '9' || is_rest(text, at, ".-")) return 0;
	for (size_t i = at, size;; i += size) {
		const unsigned char byte = sign_at(text, i, &size);
		if ((byte == ' ' || byte == '-') && digit_at(text, i + size)) continue;
		if (!is_digit(byte) || count == MOST) break;
		digits[count++] = byte - '0';
		if (count >= LEAST && !letter_at(text, i + 1) && passes_luhn(digits, count))
			end = i + 1;
	}
	explicit_bzero(digits, sizeof digits);
	return end;
}

/* 123-45-6789 or 123 45 6789, but no number that was never given out. */
size_t scan_ssn(const struct tag_text *text, size_t at) {
	size_t size, other;
	const unsigned char joint = sign_at(text, at + 3, &size);
	const size_t middle = at + 3 + size;
	if (count_digits(text, at, 4) != 3 || (joint != '-' && joint != ' ') ||
	    count_digits(text, middle, 3) != 2 || sign_at(text, middle + 2, &other) != joint)
		return 0;
	const size_t last = middle + 2 + other;
	const unsigned area = number_at(text, at, 3);
	if (count_digits(text, last, 5) != 4 || !area || area == 666 || area >= 900 ||
	    !number_at(text, middle, 2) || !number_at(text, last, 4))
		return 0;
	return goes_on(text, last + 4, "-") || is_rest(text, at, "-") ? 0 : last + 4;
}

/* ---- money ----------------------------------------------------------------------------------- */

static const char *const CURRENCY_SIGNS[] = {"$", "\u20ac", "\u00a3", "\u00a5", "\u20b9", NULL};
static const char *const CURRENCY_CODES[] = {"usd", "eur", "gbp", "chf", "jpy", "cad",
                                             "aud", "sek", "nok", "dkk", "pln", "inr",
                                             "cny", "rub", "frf", "dem", NULL};
static const char *const CURRENCY_WORDS[] = {
    "dollars", "dollar", "euros",  "euro", "pounds sterling", "francs", "franc", "cents", "rubles",
    "roubles", "kronor", "kroner", "yen",  "rupees",          "zlotys", NULL};
static const char *const AMOUNT_WORDS[] = {"thousand", "million", "billion", "mio", "mn",
                                           "bn",       "k",       "m",       NULL};

/* Bytes of a currency's sign at a place; 0 = none. */
static size_t match_currency(const struct tag_text *text, size_t at) {
	for (size_t i = 0; CURRENCY_SIGNS[i]; i++) {
		const size_t length = strlen(CURRENCY_SIGNS[i]);
		if (at < text->size && text->size - at >= length &&
		    !memcmp(text->bytes + at, CURRENCY_SIGNS[i], length))
			return length;
	}
	return 0;
}

/* The end of an amount such as 5, 1,000.50 or 1 000 000; 0 = none, or one of more than 30 bytes. */
static size_t end_of_amount(const struct tag_text *text, size_t at) {
	size_t end = at, count;
	while ((count = count_digits(text, end, 30)) && end < at + 30) {
		size_t size;
		end += count;
		const unsigned char joint = sign_at(text, end, &size);
		const size_t next = count_digits(text, end + size, 4);
		if (!next || !joint || !strchr(",.' ", joint) || (joint == ' ' && next != 3)) break;
		end += size;
	}
	return end > at && end < at + 30 ? end : 0;
}

size_t scan_money(const struct tag_text *text, size_t at) {
	const size_t code = match_words(text, at, CURRENCY_CODES);
	const size_t sign = code ? 0 : match_currency(text, at);
	const size_t number = code || sign ? skip_space(text, at + code + sign) : at;
	size_t end = end_of_amount(text, number), more;
	if (!end) return 0;
	const size_t behind = skip_space(text, end);
	if ((more = match_words(text, behind, AMOUNT_WORDS))) end = behind + more;
	const size_t last = skip_space(text, end);
	more = match_words(text, last, CURRENCY_CODES);
	if (!more) more = match_words(text, last, CURRENCY_WORDS);
	if (!more) more = match_currency(text, last);
	if (more) return last + more;
	return (code || sign) && !goes_on(text, end, "") ? end : 0;
}

/* ---- phones ---------------------------------------------------------------------------------- */

/* What stands in a number that may be a phone's. Of (602)272-9781 the groups are 3, 3 and 4. */
struct phone_shape {
	size_t groups;   /* runs of digits */
	size_t sizes[8]; /* digits of each group */
	size_t digits;   /* of all groups */
	bool brackets;   /* one group stands in brackets */
	bool stops;      /* joined by '.', once at least */
	bool slashes;    /* by '/' */
	bool others;     /* by ' ' or '-' */
};

/* Reads the joint between two groups. Returns the place behind it, or 0 when none joins there: a
 * joint is never at the beginning of the text. */
static size_t skip_joint(const struct tag_text *text, size_t at, struct phone_shape *shape) {
	size_t size;
	const unsigned char sign = sign_at(text, at, &size);
	if (sign == '(' || is_digit(sign)) return at;
	if (!sign || !strchr(" -./", sign)) return 0;
	if (!digit_at(text, at + size) && byte_at(text, at + size) != '(') return 0;
	shape->stops |= sign == '.';
	shape->slashes |= sign == '/';
	shape->others |= sign == ' ' || sign == '-';
	return at + size;
}

/* Past an extension such as x565 or ext. 12, if one stands there. */
static size_t skip_extension(const struct tag_text *text, size_t at) {
	size_t next = skip_space(text, at);
	const size_t word = match_word(text, next, "ext");
	if (word) next = skip_space(text, next + word + (byte_at(text, next + word) == '.'));
	else if ((byte_at(text, next) | 0x20) == 'x') next++;
	else return at;
	const size_t count = count_digits(text, next, 7);
	return count && count < 7 ? next + count : at;
}

static bool are_years(const struct tag_text *text, size_t at, const struct phone_shape *shape) {
	if (shape->groups != 2 || shape->sizes[0] != 4 || shape->sizes[1] != 4) return false;
	size_t joint;
	(void)sign_at(text, at + 4, &joint);
	const unsigned first = number_at(text, at, 2), second = number_at(text, at + 4 + joint, 2);
	return (first == 19 || first == 20) && (second == 19 || second == 20);
}

static bool is_phone(const struct tag_text *text, size_t at, const struct phone_shape *shape) {
	const size_t digits = shape->digits;
	if (digits < 7 || digits > 15) return false;
	if (byte_at(text, at) == '+') return true;
	if (shape->brackets) return shape->groups > 1;
	if (shape->groups == 1)
		return digits == 10 || digits == 11 || (byte_at(text, at) == '0' && digits == 9);
	if (byte_at(text, at) == '0') return digits >= 8;
	// From here on numbers that begin with another digit, as in 555-1234 or 1-800-555-0100.
	if (shape->slashes || (shape->stops && shape->others) || digits > 13) return false;
	const size_t least = shape->stops ? 3 : 2;
	for (size_t i = 0; i < shape->groups; i++)
		if (shape->sizes[i] > 6 || (shape->sizes[i] < least && (i || digits != 11)))
			return false;
	// Of two groups, as in 555-1234 or 99 668472: others are more often the numbers of houses.
	if (shape->groups == 2 &&
	    (shape->sizes[0] > 4 || shape->sizes[1] < 4 || shape->sizes[1] == 5))
		return false;
	return !are_years(text, at, shape);
}

/* Groups and joints are read one by one. Of the places where the number could end, the last one
 * counts that makes a phone: in "555-1234 12 345 67 89 01" the first two groups do. */
size_t scan_phone(const struct tag_text *text, size_t at) {
	enum { GROUPS = 8, GROUP = 15 };
	struct phone_shape shape = {0};
	const unsigned char first = byte_at(text, at);
	size_t end = 0, next = at + (first == '+');
	if (is_rest(text, at, ".,-/")) return 0;
	do {
		const bool open = byte_at(text, next) == '(';
		const size_t count = count_digits(text, next + open, GROUP + 1);
		if (!count || count > GROUP || (open && shape.brackets)) break;
		next += open + count;
		if (open && byte_at(text, next) != ')') break;
		next += open;
		shape.brackets |= open;
		shape.sizes[shape.groups++] = count;
		shape.digits += count;
		if (is_phone(text, at, &shape)) {
			const size_t behind = skip_extension(text, next);
			if (!goes_on(text, behind, ".-/")) end = behind;
		}
		next = skip_joint(text, next, &shape);
	} while (next && shape.groups < GROUPS);
	return end;
}
