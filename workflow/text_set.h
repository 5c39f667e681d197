// SPDX-License-Identifier: Apache-2.0
// text_set.h: the texts of one file, and what a model makes of each: vector, perplexity, length.
//
// Texts may be PRIVATE, and all numbers of a text are as private as it is: memory is wiped. A
// record that cannot be read is passed over and counted.
// Example: 500 records, two of which are blank: count is 498 and unreadable 2.
#ifndef CUTTLE_WORKFLOW_TEXT_SET_H
#define CUTTLE_WORKFLOW_TEXT_SET_H

#include "engine/cuttle.h"
#include "io/tables/feature_file.h"
#include "io/disk/hash.h"
#include "io/records/records.h"
#include "workflow/common.h"

enum { TEXT_SET_TASK, TEXT_SET_FINISH, TEXT_SET_NOTE, TEXT_SET_LABELS };
/* Bytes kept of a text of text_set_read_all: what CUTTLE_EMBED_TOKENS and BOS may need, by the rule
 * of references (engine/run/plan/prompt.h). */
enum { TEXT_SET_MOST = 16 * (CUTTLE_EMBED_TOKENS + 1) };

struct text_set {
	const char *path;        /* the caller's */
	char sha256[HASH_TEXT];  /* of the file; "" = it is none, but a pipe */
	struct records *records; /* all of them */
	size_t *record;          /* [count] number of each text's record */
	size_t count;            /* texts that can be read */
	size_t unreadable;       /* records without one */
	bool owned;              /* a record without an id is empty */
	bool cut;                /* of each text TEXT_SET_MOST bytes are kept */
	size_t labels;           /* of each record, beside its owner */
	size_t width;            /* numbers of a vector */
	float *vectors;          /* [count][width]; zeros: the text has no direction */
	double *perplexity;      /* [count]; NaN: a text of one token, or of numbers not finite */
	double *tokens;          /* [count] without BOS */
	uint32_t *ids;           /* tokens of all texts, one behind the other; NULL = not asked */
	size_t *first; /* [count + 1] those of text i are ids[first[i]] .. ids[first[i + 1] - 1] */
};

/* Reads the file's texts from `field`, and of each record the labels `task` (NULL = none) and
 * "finish" and "note". Call text_set_free in any case. INPUT: as records_read. NOMEM. */
enum cuttle_status text_set_read(const char *path, const char *field, const char *task,
                                 struct text_set *set, struct cuttle_error *error);
/* The same for references that are asked through noise: every record counts, readable or not, so
 * that their number is that of the file's. One without a text is empty; so is one without a value
 * of unit_key (NULL = none), which is kept. unreadable is 0. Of each text TEXT_SET_MOST bytes are
 * kept, so that no text decides how much memory there must be. Of each record labels[label_count]
 * are kept. Call secrecy_room before. INPUT, too: no record has the field, which `option` names. */
enum cuttle_status text_set_read_all(const char *path, const char *field, const char *option,
                                     const char *unit_key, const char *const *labels,
                                     size_t label_count, struct text_set *set,
                                     struct cuttle_error *error);
/* The same for the input of a system, with the room that secrets need. INPUT, too: there is no
 * record, or there are more than most_records. */
enum cuttle_status text_set_read_input(const struct common_request *common, const char *field,
                                       const char *const *labels, size_t label_count,
                                       size_t most_records, struct text_set *set,
                                       struct cuttle_error *error);
/* The same of input whose records are objects: a text is its record in the schema's form, and that
 * of one that does not fit is empty. INPUT, too: a table cannot hold the schema's objects. */
enum cuttle_status text_set_read_objects(const struct common_request *common,
                                         const struct schema *schema, const char *const *labels,
                                         size_t label_count, size_t most_records,
                                         struct text_set *set, struct cuttle_error *error);
/* The digest under `key` of all records that text_set_read_all read, with owners and labels, as
 * HASH_TEXT (io/output/binding.h). */
void text_set_digest(const struct text_set *set, const unsigned char *key, char *digest);
/* The owner of a record, for struct ledger_request; `user` is the set. */
bool text_set_owner(void *user, uint64_t index, const char **value, size_t *size);
void text_set_free(struct text_set *set);

/* Text i, and one of its labels; NULL = it has no such label. */
const char *text_set_text(const struct text_set *set, size_t i, size_t *size);
const char *text_set_label(const struct text_set *set, size_t i, size_t label, size_t *size);

/* Whether a text of the set, or the receipt beside its file, says that nothing protects it, as
 * outputs of cuttle do in "note". */
bool text_set_unprotected(const struct text_set *set);

/* Whether a text of one set stands in another, both folded (io/text/fold.h) and without white space
 * at their ends. False in *found on failure. NOMEM. */
enum cuttle_status text_set_meet(const struct text_set *one, const struct text_set *other,
                                 bool *found, struct cuttle_error *error);

/* Takes the vectors of NumPy's file, one row a record, in place of the model's. INPUT: as npy_read,
 * or it has another number of rows than the set has records. NOMEM. */
enum cuttle_status text_set_import(struct text_set *set, const char *path,
                                   struct cuttle_error *error);

struct text_set_events {
	void *user;
	/* So many more texts of the set are done. */
	void (*done)(void *user, size_t texts);
	/* true: stop with PARTIAL. */
	bool (*stop)(void *user);
};

/* Fills in what the model makes of each text: from `file` what is there, and adds the rest to it.
 * Without a `file` each text goes through the model, equal ones too, and nothing is kept but the
 * set. Where texts are cut, one that cannot be tokenized is empty.
 * Vectors are computed unless they were imported. Perplexity is exp of the mean of -ln P(token)
 * over the first CUTTLE_EMBED_TOKENS tokens, BOS before them where the model's texts begin so.
 * PARTIAL: stopped. INTERNAL: the file cannot be written. USAGE, NOMEM: as cuttle_embed. */
enum cuttle_status text_set_measure(struct text_set *set, struct cuttle_model *model,
                                    struct feature_file *file, const struct text_set_events *events,
                                    struct cuttle_error *error);

/* Fills in ids: of each text of a set that was measured, the first CUTTLE_EMBED_TOKENS tokens,
 * without BOS. INPUT: a text has other tokens than when it was measured. NOMEM, or as
 * cuttle_tokenize. */
enum cuttle_status text_set_tokenize(struct text_set *set, struct cuttle_model *model,
                                     struct cuttle_error *error);

#endif
