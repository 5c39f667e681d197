// SPDX-License-Identifier: Apache-2.0
// The scanner of names: up to four words with a capital letter, behind a title (Dr. Anna de Roe) or
// behind a word with a colon (Patient: J. Roe). The title is no part of the mark.
#include "tag/scan.h"

#include <string.h>

static const char *const TITLES[] = {"mr",     "mrs",       "ms",     "miss", "mx",   "dr",
                                     "prof",   "professor", "doctor", "sir",  "dame", "lady",
                                     "lord",   "judge",     "herr",   "frau", "mme",  "mlle",
                                     "madame", "monsieur",  "nurse",  NULL};
static const char *const CUES[] = {"patient",   "name",   "surname",   "physician", "provider",
                                   "attending", "client", "applicant", "witness",   NULL};
/* Small words within a name: Anna van der Roe. */
static const char *const PARTICLES[] = {"van", "von", "der", "den", "de", "del", "della",
                                        "di",  "da",  "dos", "du",  "la", "le",  "bin",
                                        "ibn", "al",  "ter", "zu",  NULL};

/* The end of a word that begins with a capital; 0 = none stands there. A letter outside ASCII may
 * be one. Letters, full stops of initials, hyphens and apostrophes belong to it: O'Neil-Roe, J. */
static size_t end_of_name(const struct tag_text *text, size_t at) {
	const unsigned char first = byte_at(text, at);
	if ((first < 'A' || first > 'Z') && first < 0x80) return 0;
	size_t end = at, length;
	while ((length = letter_at(text, end))) {
		end += length;
		const unsigned char joint = byte_at(text, end);
		const bool typographic =
		    end + 3 <= text->size && !memcmp(text->bytes + end, "\u2019", 3);
		const size_t joined = typographic ? 3 : joint == '-' || joint == '\'';
		// "Roe's" is Roe with an ending; "O'Neil" is one word.
		const unsigned char next = byte_at(text, end + joined);
		if (joined && (next < 'a' || next > 'z') && letter_at(text, end + joined))
			end += joined;
	}
	// An initial has its full stop: one letter of ASCII.
	return end == at + 1 && byte_at(text, end) == '.' ? end + 1 : end > at ? end : 0;
}

/* Past one or two spaces or tabs; the place itself when none stands there. */
static size_t skip_gap(const struct tag_text *text, size_t at) {
	size_t end = at;
	while (end < at + 2 && (byte_at(text, end) == ' ' || byte_at(text, end) == '\t')) end++;
	return end;
}

/* The end of the name at a place: words with capitals, and particles between them; 0 = none. */
static size_t end_of_names(const struct tag_text *text, size_t at) {
	enum { WORDS = 4, PARTICLE_RUN = 2 };
	size_t end = 0, next = at;
	for (size_t words = 0; words < WORDS; words++) {
		for (size_t i = 0; i < PARTICLE_RUN; i++) {
			const size_t particle = match_words(text, next, PARTICLES);
			const size_t gap = particle ? skip_gap(text, next + particle) : next;
			if (!particle || gap == next + particle) break;
			next = gap;
		}
		const size_t word = end_of_name(text, next);
		if (!word) break;
		end = word;
		next = skip_gap(text, end);
		if (next == end) break;
	}
	return end;
}

struct tag_range scan_person(const struct tag_text *text, size_t at) {
	const struct tag_range none = {0, 0};
	const size_t title = match_words(text, at, TITLES);
	size_t next = at + title;
	if (title) {
		next += byte_at(text, next) == '.';
		const size_t name = skip_gap(text, next);
		// "dr" may stand for itself; with no gap it is part of something else.
		if (name == next && byte_at(text, next - 1) != '.') return none;
		next = name;
	} else {
		const size_t cue = match_words(text, at, CUES);
		next = skip_gap(text, at + cue);
		if (!cue || byte_at(text, next) != ':') return none;
		next = skip_gap(text, next + 1);
	}
	const size_t end = end_of_names(text, next);
	return end ? (struct tag_range){next, end} : none;
}
