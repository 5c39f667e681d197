// SPDX-License-Identifier: Apache-2.0
// filters.h: what becomes of a text after it is drawn: it is trimmed, and it is kept or dropped.
//
// The caller hands over each text in the order of the index. All here are functions of what was
// drawn, so they cost nothing (dp/PRIVACY.md). They know no reference, and must not: to drop what
// is near a private text tells about it. A dropped text was paid for like any other.
//
//     status = filters_open(&request->filters, scale, &past, error);
//     const size_t kept = filters_trim(text, size);                      a text that was cut short
//     status = filters_judge(past, text, kept, ids, count, &rule, error);   once for each text
#ifndef CUTTLE_IO_TEXT_FILTERS_H
#define CUTTLE_IO_TEXT_FILTERS_H

#include "engine/cuttle/status.h"
#include "io/disk/hash.h"
#include <stdbool.h>
#include <stdint.h>

/* Why a text is dropped. */
enum filter_rule {
	FILTER_DUPLICATES, /* it is nearly an earlier text that was kept */
	FILTER_UNLIKELY,   /* the public prompt holds it less likely than every public example */
	FILTER_LOOPS,      /* it repeats itself */
	FILTER_RULES,      /* their number */
	FILTER_KEEP = FILTER_RULES
};

/* What is asked for. All off: every text stays as it was drawn. */
struct filters {
	bool trim;               /* a text that was cut short ends with its last sentence */
	bool drop[FILTER_RULES]; /* which rules drop texts */
};

/* What became of the texts. */
struct filter_counts {
	uint64_t drawn;                 /* texts, kept and dropped */
	uint64_t dropped[FILTER_RULES]; /* by the rule that dropped them */
	uint64_t formulas; /* lines of a CSV with a cell that a spreadsheet takes for a formula; no
	                      receipt says it */
	uint64_t tokens;   /* of all texts; no receipt says it, nor the next two */
	uint64_t free_tokens; /* those of them that were free */
	uint64_t closed;      /* texts that were brought to their end (enum cuttle_finish) */
	char dropped_sha256[HASH_TEXT]; /* of their file once it is sealed; "" = there is none */
};

/* What tells how likely public data hold a text. It knows the model and what is public, and no
 * reference: or what is dropped would tell about one. */
struct filter_scale {
	/* Sets *mean to the mean of ln p over the text's tokens, in nats; NaN: it has none. */
	enum cuttle_status (*mean)(void *user, const char *text, size_t size, double *mean,
	                           struct cuttle_error *error);
	void *user;   /* first argument of mean */
	double least; /* the least mean of the public examples: a text below it is unlikely */
};

/* The name of a rule, as in --drop and in receipts. */
const char *filters_name(enum filter_rule rule);
/* Reads a list such as "duplicates,loops" into *filters. USAGE: a name is none of them, or stands
 * twice. */
enum cuttle_status filters_read(const char *list, struct filters *filters,
                                struct cuttle_error *error);
bool filters_drop_any(const struct filters *filters);

/* How many bytes of a text are left when it is cut after its last sentence. A sentence ends with
 * one of . ! ? and closing quotes or brackets, before white space or the end. Or it ends with one
 * of the full stops of Chinese and Japanese, which no space follows. Less than half would be left,
 * or no sentence ends: size. Example: `One. Two. Thr` has 9 bytes left. */
size_t filters_trim(const char *text, size_t size);

/* Whether tokens go in circles. They do if four of them in a row stand there at least five times,
 * or if less than two fifths of all runs of three are different. Fewer than three tokens never do.
 * *loops is set. NOMEM. */
enum cuttle_status filters_find_loops(const int32_t *ids, size_t count, bool *loops,
                                      struct cuttle_error *error);

/* The texts that were kept so far. */
struct filter_past;
/* `scale` is for the rule "unlikely"; NULL where that is not asked for. It must outlive the handle.
 * NOMEM. */
enum cuttle_status filters_open(const struct filters *filters, const struct filter_scale *scale,
                                struct filter_past **past, struct cuttle_error *error);
/* Decides about the next text, with its tokens, and remembers it if it is kept. Of two rules that
 * drop it the later in enum filter_rule is told: a text that goes in circles is no duplicate.
 * A text is unlikely when its mean on the scale is below the scale's least; one without is not.
 * A duplicate is equal to an earlier kept text, once A to Z are lowered and white space is one
 * space. Or the sets of its runs of five words and that text's have at least 4/5 of their union in
 * common. Words are letters and digits, lowered the same way. NOMEM, or as the scale's mean; *rule
 * is then not set. */
enum cuttle_status filters_judge(struct filter_past *past, const char *text, size_t size,
                                 const int32_t *ids, size_t count, enum filter_rule *rule,
                                 struct cuttle_error *error);
/* Closes and nulls the handle. NULL handles are fine. */
void filters_close(struct filter_past **past);

#endif
