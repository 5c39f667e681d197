// SPDX-License-Identifier: Apache-2.0
// Escaping, names and numbers of report_text.h.
#include "tools/report/report_text.h"

#include "base/utf8.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool report_invisible(uint32_t c) {
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

/* Writes a character as it is, or its number between `open` and `close`. Returns its bytes. */
static size_t put_character(FILE *file, const char *text, size_t left, const char *open,
                            const char *close) {
	uint32_t c;
	const size_t size = utf8_decode(text, left, &c);
	if (!size || report_invisible(c))
		fprintf(file, "%sU+%04X%s", open, size ? c : UNICODE_REPLACEMENT, close);
	else (void)fwrite(text, 1, size, file);
	return size ? size : 1;
}

/* What stands for a byte in HTML; NULL = itself. */
static const char *name_entity(char byte) {
	switch (byte) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void report_html(FILE *file, const char *text) {
	for (size_t left = text ? strlen(text) : 0; left;) {
		const char *entity = name_entity(*text);
		size_t size = 1;
		if (entity) fputs(entity, file);
		else size = put_character(file, text, left, "[", "]");
		text += size;
		left -= size;
	}
}

/* Whether text up to `end` is a number, which would begin a list, or ends in www, a link. */
static bool is_lead(const char *begin, const char *end) {
	const size_t digits = strspn(begin, "0123456789");
	return begin + digits >= end || (end - begin >= 3 && !strncasecmp(end - 3, "www", 3));
}

void report_markdown(FILE *file, const char *text) {
	const char *begin = text;
	for (size_t left = text ? strlen(text) : 0; left;) {
		const char *entity = name_entity(*text);
		size_t size = 1;
		// An apostrophe and a quotation mark mean nothing in Markdown.
		if (entity && *text != '\'' && *text != '"') fputs(entity, file);
		else {
			// At the beginning these make lists and headings; :// makes a link.
			if (strchr("\\`*_[]#!|~$", *text) ||
			    (text == begin && strchr("-+=", *text)) || !strncmp(text, "://", 3) ||
			    ((*text == '.' || *text == ')') && is_lead(begin, text)))
				fputc('\\', file);
			// In plain brackets it would be a link, if somebody went on with (.
			size = put_character(file, text, left, "\\[", "\\]");
		}
		text += size;
		left -= size;
	}
}

char *report_shell_word(const char *text) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                            "._/";
	if (*text && strspn(text, plain) == strlen(text)) return strdup(text);
	// Each byte becomes at most four: an apostrophe ends the quotes, stands, and begins new
	// ones. A name that begins with - would be an option.
	char *word = malloc(4 * strlen(text) + 5);
	size_t size = 0;
	if (!word) return NULL;
	if (*text == '-') {
		memcpy(word, "./", 2);
		size = 2;
	}
	word[size++] = '\'';
	for (; *text; text++) {
		if (*text == '\'') {
			memcpy(word + size, "'\\'", 3);
			size += 3;
		}
		word[size++] = *text;
	}
	word[size++] = '\'';
	word[size] = 0;
	return word;
}

const char *report_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

const char *report_number(double value, bool up, char text[UNITS_NUMBER]) {
	if (isfinite(value)) units_print(value, up, text);
	else (void)snprintf(text, UNITS_NUMBER, "none");
	return text;
}

const char *report_epsilon_words(const struct report_receipt *receipt, bool all) {
	const struct receipt_kind *kind = receipt->v.evidence.kind;
	if (kind == &PERTURB_KIND) return all ? "epsilon of a text" : "epsilon of a word";
	if (kind == &GENERATE_KIND && all) return "epsilon of it and its bias";
	if (kind != &SANITIZE_KIND) return "epsilon";
	if (all) return "epsilon of all groups of marks";
	return isnan(receipt->epsilon_all) ? "epsilon" : "epsilon of one group of marks";
}

double report_epsilon_spent(const struct ledger_standing *standing) {
	return standing->in_epsilon ? standing->epsilon_spent
	                            : ledger_epsilon(&standing->dataset, standing->spent, true);
}

double report_epsilon_left(const struct ledger_standing *standing) {
	return standing->in_epsilon ? standing->epsilon_left
	                            : ledger_epsilon(&standing->dataset, standing->left, false);
}

const char *report_finding(const struct report_audit *audit) {
	if (audit->contradicts) return "CONTRADICTS the guarantee";
	if (audit->is_void)
		return "void: it did not catch what has no protection, so it shows nothing";
	if (isnan(audit->claimed))
		return "numbers alone: nothing is claimed that they could contradict";
	return "nothing against the guarantee, which no audit can prove";
}

const struct report_group report_groups[REPORT_GROUPS] = {
    {"Near the references. ± is a standard deviation.", EVALUATION_MAUVE, EVALUATION_FRONTIER},
    {"Perplexity, length. ± holds the mean with 99 %.", EVALUATION_PERPLEXITY, EVALUATION_ENDED},
    {"Length and loss of a token, clamped. ± of the references is of the noise.",
     EVALUATION_NEAR_LENGTH, EVALUATION_NEAR_LOSS},
    {"Variety, of equally many texts of each row.", EVALUATION_DISTINCT_1, EVALUATION_COSINE},
    {"Next tokens guessed by a 4-gram with a cache that the texts taught: no BERT. ± holds the "
     "number with 99 %.",
     EVALUATION_NEXT, EVALUATION_NEXT_PUBLIC_BITS},
    {"Terms of the lexicon in a text. ± holds the mean with 99 %.", EVALUATION_ENTITIES,
     EVALUATION_ENTITIES},
    {"Task: learnt from these texts, tested on real ones. ± is a standard deviation.",
     EVALUATION_BAYES, EVALUATION_PROBE_RECALL}};

bool report_column_shown(const struct report_evaluation *e, int column) {
	size_t i;
	json_t *row;
	double value, error;
	bool shown = false;
	json_array_foreach(json_object_get(e->document, "rows"), i, row) {
		shown |= report_cell(row, column, &value, &error);
	}
	return shown;
}

bool report_group_shown(const struct report_evaluation *e, const struct report_group *group) {
	bool shown = false;
	for (int i = group->first; i <= group->last; i++) shown |= report_column_shown(e, i);
	return shown;
}
