// SPDX-License-Identifier: Apache-2.0
// The scanner of names: up to four words with a capital letter. They stand behind titles (Prof. Dr.
// med. Anna de Roe), behind a word with a colon (Patient: Roe, Jane), or behind words that present
// somebody (my name is Roe). Without any of these a name is seen by its initials: J. R. Roe, Jane
// Q. Roe, Roe, Jane Q. Titles and cues are no part of the mark.
#include "tag/scan.h"

static const char *const TITLES[] = {
    "mr",        "mrs",    "ms",         "miss",     "mx",      "dr",      "prof",
    "professor", "doctor", "sir",        "dame",     "lady",    "lord",    "judge",
    "herr",      "herrn",  "frau",       "fraulein", "mme",     "mlle",    "madame",
    "monsieur",  "nurse",  "rev",        "dott.ssa", "dott",    "dottssa", "dra",
    "sra",       "senor",  "senora",     "signor",   "signora", "docteur", "doktor",
    "doutor",    "doctor", "dottoressa", "dhr",      "mevrouw", "meneer",  "mevr",
    "drs",       "ing",    "dipl",       "priv",     "sr",      "madam",   NULL};
/* What may stand between titles and the name, with its full stop: Dr. med. Roe. */
static const char *const FACULTIES[] = {
    "med",   "dent", "phil",  "rer",   "nat", "jur",  "iur",   "vet",  "univ", "hc",  "h.c",
    "habil", "pol",  "theol", "pharm", "doz", "mult", "psych", "biol", "chem", "inf", NULL};
static const char *const CUES[] = {"patient",     "name",        "surname",    "physician",
                                   "provider",    "attending",   "client",     "applicant",
                                   "witness",     "surgeon",     "resident",   "doctor",
                                   "pt",          "patientin",   "mother",     "father",
                                   "spouse",      "husband",     "wife",       "guardian",
                                   "user",        "author",      "sender",     "practitioner",
                                   "therapist",   "referrer",    "nachname",   "vorname",
                                   "apellido",    "apellidos",   "nombre",     "nom",
                                   "prenom",      "cognome",     "nome",       "naam",
                                   "paziente",    "paciente",    "patiente",   "by",
                                   "pcp",         "consultant",  "assistant",  "anesthesiologist",
                                   "radiologist", "pathologist", "employee",   "customer",
                                   "caller",      "contact",     "kin",        "signed",
                                   "beneficiary", "insured",     "subscriber", "nurse",
                                   "cc",          "re",          NULL};
/* Behind "name" and its kin: My name is Roe. */
static const char *const IS[] = {"is", "was", "ist", "war", "est", "es", NULL};
/* Straight before a name: my wife Anna, a girl called Berta, Dear Clara. */
static const char *const NEAR[] = {
    "son",           "daughter",   "wife",      "husband",   "brother",     "sister",
    "mother",        "father",     "uncle",     "aunt",      "nephew",      "niece",
    "kid",           "child",      "grandson",  "cousin",    "grandmother", "grandfather",
    "granddaughter", "girlfriend", "boyfriend", "fiance",    "fiancee",     "partner",
    "roommate",      "neighbor",   "neighbour", "colleague", "called",      "named",
    "dear",          "hi",         "hello",     "hey",       "tochter",     "sohn",
    "ehefrau",       "ehemann",    "bruder",    "schwester", NULL};
/* Small words within a name: Anna van der Roe. */
static const char *const PARTICLES[] = {"van", "von", "der", "den", "de", "del", "della",
                                        "di",  "da",  "dos", "du",  "la", "le",  "bin",
                                        "ibn", "al",  "ter", "zu",  NULL};
/* Words that begin a sentence and are no names. */
static const char *const STOPS[] = {
    "the",    "it",      "they",  "we",    "his",     "their",  "its",   "this",  "that",
    "these",  "those",   "there", "if",    "at",      "of",     "for",   "from",  "to",
    "and",    "or",      "but",   "as",    "by",      "with",   "not",   "is",    "was",
    "were",   "has",     "had",   "are",   "once",    "upon",   "both",  "after", "before",
    "during", "then",    "when",  "while", "our",     "please", "since", "which", "what",
    "where",  "however", "mrn",   "dob",   "patient", NULL};
/* Likewise, but some families have these names. */
static const char *const PRONOUNS[] = {"he",  "she", "you", "her", "an",  "in", "on", "no",
                                       "all", "my",  "who", "how", "why", "so", NULL};
/* Fields of a form, which may stand behind a name. */
static const char *const FIELDS[] = {"age",  "aged", "sex",   "gender",  "male", "female", "room",
                                     "date", "born", "phone", "address", "id",   NULL};
/* First words before a single letter that is no initial: Hepatitis B. Then. */
static const char *const LETTERED[] = {
    "vitamin",  "hepatitis", "type",      "grade",   "stage",    "class",  "group",
    "part",     "plan",      "section",   "level",   "phase",    "figure", "table",
    "exhibit",  "appendix",  "ward",      "unit",    "model",    "factor", "lead",
    "category", "point",     "line",      "block",   "building", "route",  "suite",
    "apt",      "apartment", "influenza", "protein", "box",      "option", "schedule",
    "strep",    "child",     "item",      "zone",    "team",     NULL};
/* Last words of a firm or a house, which is no person where no title says so. */
static const char *const HOUSES[] = {"inc", "llc",    "ltd",      "corp",       "gmbh",
                                     "plc", "clinic", "hospital", "university", NULL};
/* What follows a cue, or Dear, and is no name. */
static const char *const NOBODY[] = {"none",       "unknown", "nil",     "doctor", "colleague",
                                     "colleagues", "friend",  "friends", "team",   "customer",
                                     "sirs",       "editor",  NULL};
/* Pairs of letters with full stops that are no initials. */
static const char *const PAIRS[] = {"md", "us", "po", "iv", "am", "pm", "er", "ct", "do", "or",
                                    "bc", "dc", "uk", "np", "pa", "rn", "gi", "gu", "ed", "eg",
                                    "ie", "ad", "ns", "pt", "op", "im", "sc", "un", "eu", NULL};

/* Before MR and MS, which are findings then. */
static const char *const DEGREES[] = {"mild", "moderate", "severe", "significant", "trace", NULL};

/* Whether a title of letters behind the name stands there: MD, M.D., PhD. */
static bool is_credential(const struct tag_text *text, size_t at) {
	static const char *const credentials[] = {"MD",  "M.D", "PhD",  "Ph.D", "RN",  "R.N",
	                                          "DDS", "DPM", "FACS", "LPN",  "MPH", NULL};
	for (size_t i = 0; credentials[i]; i++) {
		const size_t length = strlen(credentials[i]);
		if (at < text->size && text->size - at >= length &&
		    !memcmp(text->bytes + at, credentials[i], length) &&
		    !letter_at(text, at + length))
			return true;
	}
	return false;
}

/* Whether the word at a place ends the name before it. */
static bool ends_name(const struct tag_text *text, size_t at) {
	const size_t title = match_words(text, at, TITLES), field = match_words(text, at, FIELDS),
	             cue = match_words(text, at, CUES);
	return match_words(text, at, STOPS) || is_credential(text, at) ||
	       (title && byte_at(text, at + title) == '.') ||
	       (cue && byte_at(text, at + cue) == ':') ||
	       (field &&
	        (byte_at(text, at + field) == ':' || digit_at(text, skip_space(text, at + field))));
}

/* The end of the name at a place: at most `most` words with capitals, and particles between them;
 * 0 = none. */
static size_t end_of_names(const struct tag_text *text, size_t at, size_t most) {
	enum { PARTICLE_RUN = 2 };
	size_t end = 0, next = at;
	for (size_t words = 0; words < most; words++) {
		for (size_t i = 0; i < PARTICLE_RUN; i++) {
			const size_t particle = match_words(text, next, PARTICLES);
			const size_t gap = particle ? skip_gap(text, next + particle) : next;
			if (!particle || gap == next + particle) break;
			next = gap;
		}
		const size_t word = words && ends_name(text, next) ? 0 : end_of_name(text, next);
		if (!word) break;
		end = word;
		next = skip_gap(text, end);
		const bool stop = byte_at(text, end - 1) == '.';
		// "J.R. Roe" has no space between its initials.
		if (next == end && !(stop && end_of_name(text, end))) break;
		// "By Dr. X.  He said": a sentence may end with an initial, before two spaces.
		if (stop && next > skip_space(text, end) && match_words(text, next, PRONOUNS))
			break;
	}
	return end;
}

/* Whether the word start..end has two letters at least, and each is a capital of ASCII. */
static bool is_all_capitals(const struct tag_text *text, size_t start, size_t end) {
	for (size_t i = start; i < end; i++)
		if ((byte_at(text, i) | 0x20) == byte_at(text, i) &&
		    is_ascii_letter(byte_at(text, i)))
			return false;
	return end > start + 1;
}

/* Past all titles and faculties at a place, and the gap behind them: Prof. Dr. med. The place
 * itself when none stands there. */
static size_t skip_titles(const struct tag_text *text, size_t at) {
	enum { MOST = 8 };
	if (byte_at(text, at) == 'M' && byte_at(text, at + 1) <= 'Z' &&
	    follows_words(text, at, DEGREES))
		return at;
	for (size_t i = 0; i < MOST; i++) {
		size_t word = match_words(text, at, TITLES);
		const bool title = word > 0;
		if (!word && i) word = match_words(text, at, FACULTIES);
		size_t next = at + word;
		const bool stop = byte_at(text, next) == '.';
		if (!word || (!title && !stop)) break;
		next += stop;
		// Dipl.-Ing.
		if (stop && dash_at(text, next)) next += dash_at(text, next);
		const size_t gap = skip_gap(text, next);
		// "dr" may stand for itself; with no gap it is part of something else.
		if (gap == next && !stop) break;
		// A line may be broken there: "Dr.", but not "50 ms.".
		const unsigned char second = byte_at(text, at + 1);
		const bool broken =
		    byte_at(text, gap) == '\n' && byte_at(text, at) <= 'Z' && second >= 'a';
		at = gap + broken;
	}
	return at;
}

/* The end of a word of a name that is no initial, has small letters, and is none that begins a
 * sentence; 0 = none stands there. */
static size_t end_of_mixed(const struct tag_text *text, size_t at) {
	const size_t end = end_of_name(text, at);
	if (end < at + 2 || byte_at(text, end - 1) == '.' || is_all_capitals(text, at, end))
		return 0;
	return ends_name(text, at) || match_words(text, at, PRONOUNS) ? 0 : end;
}

/* Past a word of NEAR and its space, if a name stands behind it. The place itself when not. */
static size_t skip_near(const struct tag_text *text, size_t at) {
	const size_t word = match_words(text, at, NEAR), next = skip_space(text, at + word);
	return word && next > at + word && end_of_mixed(text, next) &&
	               !match_words(text, next, NOBODY) && !match_words(text, next, TITLES)
	           ? next
	           : at;
}

/* Past a cue and what joins it to a name: "Patient:", "name is". The place itself when none stands
 * there. */
static size_t skip_cue(const struct tag_text *text, size_t at) {
	const size_t cue = match_words(text, at, CUES);
	const size_t next = skip_gap(text, at + cue);
	if (cue && byte_at(text, next) == ':') return skip_column(text, next + 1);
	const size_t is = cue && next > at + cue ? match_words(text, next, IS) : 0;
	static const char *const names[] = {"name", "surname", "nom", "nombre",
	                                    "nome", "naam",    NULL};
	if (!is || !match_words(text, at, names)) return at;
	const size_t name = skip_gap(text, next + is);
	return name > next + is && !match_words(text, name, STOPS) ? name : at;
}

/* The end of the name behind a cue: it may be the family name, a comma and the rest. */
static size_t end_of_listed(const struct tag_text *text, size_t at) {
	const size_t end = match_words(text, at, NOBODY) ? 0 : end_of_names(text, at, 4);
	if (!end || byte_at(text, end) != ',') return end;
	const size_t next = skip_gap(text, end + 1);
	if (ends_name(text, next) || match_words(text, next, TITLES) ||
	    match_words(text, next, FIELDS))
		return end;
	const size_t rest = end_of_names(text, next, 3);
	return rest ? rest : end;
}

/* The end of an initial and the gap behind it: "J. ", "J."; without its full stop "J ". 0 = none.
 */
static size_t skip_initial(const struct tag_text *text, size_t at, bool bare) {
	const unsigned char byte = byte_at(text, at);
	if (byte < 'A' || byte > 'Z' || letter_at(text, at + 1)) return 0;
	const bool stop = byte_at(text, at + 1) == '.';
	// "Is A" and "so I" are words.
	if (!stop && (!bare || byte == 'A' || byte == 'I')) return 0;
	const size_t next = at + 1 + stop, behind = skip_space(text, next);
	return stop || behind > next ? behind : 0;
}

/* J. R. Roe: two initials or more before a word. 0 = none. */
static size_t end_of_initials(const struct tag_text *text, size_t at) {
	enum { MOST = 4 };
	char pair[3] = "";
	size_t count = 0, next = at, behind;
	while (count < MOST && (behind = skip_initial(text, next, false))) {
		if (count < 2) pair[count] = (char)(byte_at(text, next) | 0x20);
		next = behind;
		count++;
	}
	for (size_t i = 0; PAIRS[i]; i++)
		if (!strcmp(PAIRS[i], pair)) return 0;
	return count > 1 && end_of_mixed(text, next) ? end_of_names(text, next, 2) : 0;
}

/* Jane Q. Roe, Roe, Jane Q.: an initial in the middle, or at the end behind a comma. 0 = none. */
static size_t end_of_middle(const struct tag_text *text, size_t at) {
	const size_t first = end_of_name(text, at);
	if (first < at + 2 || match_words(text, at, STOPS) || match_words(text, at, PRONOUNS) ||
	    match_words(text, at, LETTERED))
		return 0;
	const bool comma = byte_at(text, first) == ',';
	const size_t next = skip_space(text, first + comma);
	if (next == first + comma) return 0;
	if (!comma) {
		const size_t last =
		    is_all_capitals(text, at, first) ? 0 : skip_initial(text, next, true);
		return last && end_of_mixed(text, last) ? end_of_names(text, at, 4) : 0;
	}
	const bool other = ends_name(text, next) || match_words(text, next, LETTERED);
	const size_t given = other ? 0 : end_of_name(text, next);
	if (given < next + 2 ||
	    is_all_capitals(text, at, first) != is_all_capitals(text, next, given))
		return 0;
	const size_t initial = skip_space(text, given);
	return initial > given && skip_initial(text, initial, false) ? initial + 2 : 0;
}

/* Whether the last word of start..end is that of a house. */
static bool ends_as_house(const struct tag_text *text, size_t start, size_t end) {
	enum { MOST = 12 };
	size_t word = end;
	while (word > start && end - word <= MOST && letter_at(text, word - 1)) word--;
	return word < end && match_words(text, word, HOUSES) == end - word;
}

/* XXX: a name that somebody has blanked. */
static bool is_blanked(const struct tag_text *text, size_t start, size_t end) {
	for (size_t i = start; i < end; i++)
		if (byte_at(text, i) != 'X') return false;
	return end - start > 2;
}

struct tag_range scan_person(const struct tag_text *text, size_t at) {
	const struct tag_range none = {0, 0};
	size_t size, end, start = skip_near(text, at);
	if (start > at) {
		end = end_of_names(text, start, 4);
	} else {
		const size_t cue = skip_cue(text, at);
		start = skip_titles(text, cue);
		if (start > at) {
			end = cue > at ? end_of_listed(text, start) : end_of_names(text, start, 4);
			return end && !is_blanked(text, start, end) ? (struct tag_range){start, end}
			                                            : none;
		}
		const unsigned char before = sign_before(text, at, &size);
		if (before == '-' || before == '\'' || before == '.') return none;
		end = end_of_initials(text, at);
		if (!end) end = end_of_middle(text, at);
	}
	return end && !ends_as_house(text, start, end) ? (struct tag_range){start, end} : none;
}
