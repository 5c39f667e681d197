// SPDX-License-Identifier: Apache-2.0
// The scanners of numbers that a word makes private: the number of a record behind MRN and its kin,
// and an age of 90 years or more. The word is no part of the mark.
#include "tag/scan.h"

/* ---- numbers of records ---------------------------------------------------------------------- */

/* The number of a record stands behind one of these alone. */
static const char *const RECORDS[] = {
    "mrn",           "umrn",         "emrn",          "urn",
    "uhid",          "hicn",         "mbi",           "mrno",
    "pid",           "nhs",          "csn",           "nin",
    "fallnr",        "fallnummer",   "patientennr",   "patientennummer",
    "patientnummer", "aktenzeichen", "dossiernummer", NULL};
/* Behind one of these it stands if a word for number, '#' or ':' does. */
static const char *const RECORD_WORDS[] = {
    "record",    "rec",        "records",    "chart",    "account",  "acct",      "case",
    "file",      "patient",    "pat",        "pt",       "visit",    "encounter", "hospital",
    "unit",      "member",     "policy",     "claim",    "hosp",     "accession", "specimen",
    "admission", "insurance",  "license",    "licence",  "mr",       "fall",      "akte",
    "patienten", "dossier",    "expediente", "historia", "cartella", "medical",   "med",
    "id",        "identifier", "clinica",    NULL};
static const char *const NUMBER_WORDS[] = {"number", "numbers", "no",     "num",  "nr",
                                           "id",     "nummer",  "numero", "code", NULL};

/* Past ':', '#', '=' or '(' with a gap before and behind it, a line break behind it, too, or " is
 * "; the place itself when none stands there. */
static size_t skip_mark(const struct tag_text *text, size_t at) {
	static const char *const words[] = {"is", "was", "of", NULL};
	const size_t next = skip_gap(text, at);
	const unsigned char byte = byte_at(text, next);
	if (byte && strchr(":#=(", byte)) {
		const size_t behind = skip_column(text, next + 1);
		const size_t line = behind + (byte_at(text, behind) == '\r');
		return byte_at(text, line) == '\n' ? skip_column(text, line + 1) : behind;
	}
	const size_t word = match_words(text, next, words);
	return word ? skip_gap(text, next + word) : at;
}

/* The end of a run of letters, digits and joints with `least` digits or more, all of ASCII but the
 * dashes; 0 = none, or one of more than 40 bytes. */
static size_t end_of_record(const struct tag_text *text, size_t at, size_t least) {
	enum { MOST = 40 };
	size_t end = at, digits = 0, size;
	for (size_t next = at; next < at + MOST; next += size) {
		const unsigned char sign = sign_at(text, next, &size);
		const bool inside = is_digit(sign) || is_ascii_letter(sign);
		if (!inside && (next == at || !sign || !strchr("-/.", sign)))
			return digits >= least && !letter_at(text, end) ? end : 0;
		digits += is_digit(sign);
		if (inside) end = next + size;
	}
	return 0;
}

/* Past the words of a record, such as Med. Rec. No., Fall-Nr. or MRN. The place itself when none
 * stands there. *least: digits that make a number the record's if nothing but a space is between;
 * 0 = a sign must be, as in File: 1234. */
static size_t skip_record_words(const struct tag_text *text, size_t at, size_t *least) {
	enum { WORDS = 3 };
	size_t word = match_words(text, at, RECORDS);
	*least = word ? 2 : 0;
	for (size_t i = 0; i <= WORDS; i++) {
		const size_t last = !word && i ? match_words(text, at, NUMBER_WORDS) : 0;
		if (!word) word = last ? last : match_words(text, at, RECORD_WORDS);
		if (!word) break;
		if (last) *least = 2;
		else if (i && !*least) *least = 4;
		const size_t behind = at + word + (byte_at(text, at + word) == '.');
		const size_t dash = dash_at(text, behind);
		at = dash ? behind + dash : skip_gap(text, behind);
		word = 0;
		if (last) break;
	}
	return at;
}

/* MRN1234, with nothing between: the end, or 0. Five digits are a code in any case. */
static size_t end_of_glued(const struct tag_text *text, size_t at) {
	enum { WORD = 3, LEAST = 2, MOST = 4 };
	static const char word[] = "mrn";
	for (size_t i = 0; i < WORD; i++)
		if ((byte_at(text, at + i) | 0x20) != word[i]) return 0;
	const size_t count = count_digits(text, at + WORD, MOST + 1), end = at + WORD + count;
	return count >= LEAST && count <= MOST && !letter_at(text, end) ? end : 0;
}

struct tag_range scan_record(const struct tag_text *text, size_t at) {
	const struct tag_range none = {0, 0};
	const size_t glued = end_of_glued(text, at);
	if (glued) return (struct tag_range){at, glued};
	size_t least, next = skip_record_words(text, at, &least);
	if (next == at) return none;
	for (size_t i = 0; i < 2; i++) {
		const unsigned char mark = byte_at(text, skip_gap(text, next));
		if (mark == '#') least = 2;
		// "Visit: 12" may count something; "Visit no. 12" does not.
		else if (mark == ':' && !least) least = 4;
		next = skip_mark(text, next);
	}
	next = skip_gap(text, next);
	const size_t end = least ? end_of_record(text, next, least) : 0;
	return end ? (struct tag_range){next, end} : none;
}

/* ---- ages ------------------------------------------------------------------------------------ */

/* Before an age. */
static const char *const AGE_CUES[] = {"age/sex", "aged",  "age",      "agee",   "alter", "edad",
                                       "eta",     "idade", "leeftijd", "turned", NULL};
static const char *const AGE_JOINTS[] = {"of", "de", "von", "van", "di", "is", "was", NULL};
/* Behind an age: 93-year-old, 93 y/o, 93 years of age, 93 Jahre alt. */
static const char *const YEARS[] = {
    "years",  "year", "yrs",  "yr",   "yo",   "y",      "jahre", "jahriger", "jahrige", "jahrigen",
    "jahrig", "ans",  "anos", "anni", "jaar", "jarige", "yof",   "yom",      NULL};
static const char *const WHOLE[] = {"yo",  "jahriger", "jahrige", "jahrigen", "jahrig", "jarige",
                                    "yof", "yom",      "ans",     "anos",     "anni",   NULL};
static const char *const OLD[] = {"old",     "o",        "alt",    "oud", "d'age",
                                  "de edad", "de idade", "of age", NULL};

/* The end of an age of 90 to 125 at a place, in digits or as in ninety-three; 0 = none. */
static size_t end_of_age(const struct tag_text *text, size_t at) {
	static const char *const units[] = {"one", "two",   "three", "four", "five",
	                                    "six", "seven", "eight", "nine", NULL};
	size_t size;
	const size_t ninety = match_word(text, at, "ninety");
	const unsigned char joint = sign_at(text, at + ninety, &size);
	if (ninety) {
		const size_t unit =
		    joint == ' ' || joint == '-' ? match_words(text, at + ninety + size, units) : 0;
		return at + ninety + (unit ? size + unit : 0);
	}
	const size_t count = count_digits(text, at, 4);
	if (count < 2 || count > 3) return 0;
	const unsigned age = number_at(text, at, count);
	return age >= 90 && age <= 125 ? at + count : 0;
}

/* Past one space, dash, slash or full stop; the place itself when none stands there. */
static size_t skip_age_joint(const struct tag_text *text, size_t at) {
	size_t size;
	const unsigned char sign = sign_at(text, at, &size);
	return sign && strchr(" -/.", sign) ? at + size : at;
}

/* Whether words behind the number that ends there say that it is an age: years old, or M with. */
static bool has_years_old(const struct tag_text *text, size_t end) {
	static const char *const told[] = {
	    "with", "who", "presents", "presenting", "presented", "admitted", "s/p",
	    "w/",   "c/o", "h/o",      "pt",         "patient",   NULL};
	const size_t letter = skip_age_joint(text, end);
	const unsigned char sex = byte_at(text, letter);
	if ((sex == 'M' || sex == 'F') && space_at(text, letter + 1))
		return match_words(text, skip_space(text, letter + 1), told) > 0;
	const size_t years = skip_age_joint(text, end);
	const size_t word = match_words(text, years, YEARS);
	if (!word) return false;
	if (match_words(text, years, WHOLE)) return true;
	return match_words(text, skip_age_joint(text, years + word), OLD) > 0;
}

struct tag_range scan_age(const struct tag_text *text, size_t at) {
	const struct tag_range none = {0, 0};
	size_t end = is_rest(text, at, ".,-/:") ? 0 : end_of_age(text, at);
	if (end) return has_years_old(text, end) ? (struct tag_range){at, end} : none;
	const size_t cue = match_words(text, at, AGE_CUES);
	if (!cue) return none;
	size_t next = skip_gap(text, at + cue);
	const size_t joint = match_words(text, next, AGE_JOINTS);
	next = skip_gap(text, joint ? next + joint : skip_mark(text, at + cue));
	end = end_of_age(text, next);
	return end && !goes_on(text, end, ".,/:") ? (struct tag_range){next, end} : none;
}
