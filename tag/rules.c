// SPDX-License-Identifier: Apache-2.0
// How rules.h finds: one walk from left to right. Where a word or a sign begins, each scanner is
// asked in turn; the first that matches makes the mark, and the walk goes on behind it. Scanners
// with a checksum come before those that take any number. Here are also the three scanners that
// look at words of any length: e-mail addresses, URLs and codes.
#include "tag/rules.h"

#include "tag/scan.h"
#include <string.h>

static const char *const TYPE_NAMES[TAG_TYPES] = {
    [TAG_EMAIL_ADDRESS] = "EMAIL_ADDRESS",
    [TAG_URL] = "URL",
    [TAG_IP_ADDRESS] = "IP_ADDRESS",
    [TAG_IBAN_CODE] = "IBAN_CODE",
    [TAG_CREDIT_CARD] = "CREDIT_CARD",
    [TAG_US_SSN] = "US_SSN",
    [TAG_PHONE_NUMBER] = "PHONE_NUMBER",
    [TAG_DATE_TIME] = "DATE_TIME",
    [TAG_CODE] = "CODE",
    [TAG_MONEY] = "MONEY",
    [TAG_PERSON] = "PERSON",
    [TAG_STREET_ADDRESS] = "STREET_ADDRESS",
    [TAG_AGE] = "AGE",
};

const char *tag_type_name(enum tag_type type) {
	return TYPE_NAMES[type];
}

/* What the walk remembers, so that no run of bytes is read twice. A run that failed from its first
 * byte fails from all others: the next scan begins behind it. */
struct tag_walk {
	struct tag_text text;
	size_t mailbox_end; /* the run before a possible @ was read up to here, and failed */
	size_t host_end;    /* likewise the run that could be a bare host */
	size_t code_end;    /* likewise the run that could be a code */
};

/* The end of the run of letters, digits and the bytes of `others` that begins at a place. */
static size_t end_of_run(const struct tag_text *text, size_t at, const char *others) {
	for (;;) {
		const unsigned char byte = byte_at(text, at);
		const size_t length = letter_at(text, at);
		if (!length && (!byte || byte >= 0x80 || !strchr(others, byte))) return at;
		at += length ? length : 1;
	}
}

/* Moves the end of start..end back past bytes of `others`. */
static size_t trim_end(const struct tag_text *text, size_t start, size_t end, const char *others) {
	while (end > start && byte_at(text, end - 1) && strchr(others, byte_at(text, end - 1)))
		end--;
	return end;
}

/* anna.may+work@mail.example.org: a run, @, and a run with a dot and two letters behind it. */
static size_t scan_email(struct tag_walk *walk, size_t at) {
	const struct tag_text *text = &walk->text;
	if (at < walk->mailbox_end) return 0;
	const size_t sign = end_of_run(text, at, ".!#$%&'*+=?^`{|}~-");
	walk->mailbox_end = sign;
	if (sign == at || byte_at(text, sign) != '@') return 0;
	const size_t host = sign + 1;
	const size_t end = trim_end(text, host, end_of_run(text, host, ".-"), ".-_");
	for (size_t dot = end; dot > host + 1; dot--)
		if (byte_at(text, dot - 1) == '.') return end - dot >= 2 ? end : 0;
	return 0;
}

/* Behind the host of a URL: all up to white space, a quote or a bracket, less full stops. */
static size_t end_of_url(const struct tag_text *text, size_t at) {
	static const char inside[] = "!#$%&'()*+,-./:;=?@[]~|";
	return trim_end(text, at, end_of_run(text, at, inside), "!'),.:;?]|");
}

/* The last parts of hosts that are taken without http:// or www. before them. */
static const char *const HOST_ENDS[] = {"com", "org", "net",  "edu", "gov",
                                        "mil", "int", "info", "biz", NULL};

static size_t scan_url(struct tag_walk *walk, size_t at) {
	const struct tag_text *text = &walk->text;
	enum { SCHEME = 16 };
	size_t i = at;
	while (i < at + SCHEME && (is_ascii_letter(byte_at(text, i)) ||
	                           (i > at && (digit_at(text, i) || byte_at(text, i) == '+'))))
		i++;
	if (i > at && byte_at(text, i) == ':' && byte_at(text, i + 1) == '/' &&
	    byte_at(text, i + 2) == '/') {
		const size_t end = end_of_url(text, i + 3);
		return end > i + 3 ? end : 0;
	}
	if (match_word(text, at, "www") && byte_at(text, at + 3) == '.' && letter_at(text, at + 4))
		return end_of_url(text, at + 4);
	if (at < walk->host_end) return 0;
	const size_t end = trim_end(text, at, end_of_run(text, at, ".-"), ".-");
	walk->host_end = end;
	size_t label = end;
	while (label > at && byte_at(text, label - 1) != '.') label--;
	if (label <= at + 1 || label == end || !match_words(text, label, HOST_ENDS)) return 0;
	return byte_at(text, end) == '/' || byte_at(text, end) == ':' ? end_of_url(text, end) : end;
}

/* 12.5 and 120/80 are no codes: a decimal number, a blood pressure. */
static bool is_measure(const struct tag_text *text, size_t at, size_t end) {
	const size_t count = count_digits(text, at, end - at);
	const size_t behind = at + count + 1;
	if (behind >= end || count_digits(text, behind, end - behind) != end - behind) return false;
	const unsigned char between = byte_at(text, at + count);
	if (between == '.') return true;
	if (between != '/' || count > 3 || end - behind > 3) return false;
	const unsigned high = number_at(text, at, count),
	               low = number_at(text, behind, end - behind);
	return low >= 20 && low < high && high <= 300;
}

/* The end of a run that may be a code. A dash outside ASCII belongs to it where a digit is behind.
 */
static size_t end_of_code(const struct tag_text *text, size_t at) {
	for (;;) {
		const size_t end = end_of_run(text, at, "-/.");
		const size_t dash = end > at ? dash_at(text, end) : 0;
		if (!dash || !digit_at(text, end + dash)) return trim_end(text, at, end, "-/.");
		at = end + dash;
	}
}

/* MRN-20394, 36244/06, A1B2C3D4E5: a run with five digits or more. */
static size_t scan_code(struct tag_walk *walk, size_t at) {
	enum { LEAST = 5 };
	const struct tag_text *text = &walk->text;
	if (at < walk->code_end) return 0;
	const size_t end = end_of_code(text, at);
	walk->code_end = end;
	size_t digits = 0;
	for (size_t i = at; i < end && digits < LEAST; i++) digits += digit_at(text, i);
	return digits == LEAST && !is_measure(text, at, end) ? end : 0;
}

/* Asks each scanner of numbers. Returns the end of the first match, whose type *type gets, or 0. */
static size_t scan_numbers(const struct tag_walk *walk, size_t at, enum tag_type *type) {
	static const struct {
		size_t (*scan)(const struct tag_text *text, size_t at);
		enum tag_type type;
	} scanners[] = {
	    {scan_ip, TAG_IP_ADDRESS},
	    {scan_iban, TAG_IBAN_CODE},
	    {scan_card, TAG_CREDIT_CARD},
	    {scan_ssn, TAG_US_SSN},
	    {scan_address, TAG_STREET_ADDRESS},
	    {scan_date, TAG_DATE_TIME},
	    {scan_money, TAG_MONEY},
	    {scan_phone, TAG_PHONE_NUMBER},
	};
	size_t end = 0;
	for (size_t i = 0; !end && i < sizeof scanners / sizeof *scanners; i++) {
		*type = scanners[i].type;
		end = scanners[i].scan(&walk->text, at);
	}
	return end;
}

/* Asks each scanner at a place where a word or a sign begins. */
static struct tag_range scan_place(struct tag_walk *walk, size_t at, enum tag_type *type) {
	struct tag_range range = {at, scan_email(walk, at)};
	*type = TAG_EMAIL_ADDRESS;
	if (!range.end) {
		*type = TAG_URL;
		range.end = scan_url(walk, at);
	}
	if (!range.end) range.end = scan_numbers(walk, at, type);
	if (!range.end) {
		*type = TAG_AGE;
		range = scan_age(&walk->text, at);
	}
	if (!range.end) {
		*type = TAG_PERSON;
		range = scan_person(&walk->text, at);
	}
	if (!range.end) {
		*type = TAG_CODE;
		range = (struct tag_range){at, scan_code(walk, at)};
	}
	if (range.end) return range;
	range = scan_record(&walk->text, at);
	// Behind such a word may stand what another scanner takes as more, 415 555 0123, or a date.
	enum tag_type other = TAG_CODE;
	const size_t more = range.end ? scan_numbers(walk, range.start, &other) : 0;
	const bool date = more == range.end && other == TAG_DATE_TIME && more > range.start + 4;
	if (range.end && (more > range.end || date)) {
		*type = other;
		range.end = more;
	}
	return range;
}

/* Signs that can begin a mark: +41, (602), $5, ::1, and the first byte of a sign like the euro's.
 */
static bool is_sign(unsigned char byte) {
	return byte == '+' || byte == '(' || byte == '$' || byte == ':' || byte >= 0x80;
}

void tag_rules(const char *text, size_t size,
               void (*found)(void *user, size_t start, size_t end, enum tag_type type),
               void *user) {
	struct tag_walk walk = {.text = {text, size}};
	for (size_t at = 0; at < size;) {
		// words_piece takes whole words, so each turn stands where one begins.
		const size_t length = words_piece(text + at, size - at);
		enum tag_type type;
		struct tag_range range = {0, 0};
		if (letter_at(&walk.text, at) || is_sign((unsigned char)text[at]))
			range = scan_place(&walk, at, &type);
		if (range.end) found(user, range.start, range.end, type);
		at = range.end ? range.end : at + length;
	}
}
