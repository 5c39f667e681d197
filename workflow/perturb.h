// SPDX-License-Identifier: Apache-2.0
// perturb.h: the system that perturbs the words of records (workflow/system.h). The PRIVATE texts
// pass through perturb_run, from io/records/records to the engine. A record is a text of the
// journal, a place of it a step, an output id a token.
#ifndef CUTTLE_WORKFLOW_PERTURB_H
#define CUTTLE_WORKFLOW_PERTURB_H

#include "engine/cuttle/perturb.h"
#include "io/output/binding.h"
#include "io/records/records.h"
#include "io/receipts/perturb_receipt.h"
#include "workflow/run.h"
#include "workflow/setup.h"

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct perturb_request {
	struct common_request common;
	/* What the perturber takes. perturb_open adds the lists that it reads from the files
	 * named below. */
	struct cuttle_perturb_params params;
	const char *words;      /* path of the words file */
	const char *sensitive;  /* path of a list: SANTEXT_PLUS replaces these always */
	const char *stop_words; /* path of a list: CUSTEXT_PLUS lets these out */
	const char *delimiter;  /* between the columns of CSV */
	const char *text_field; /* field or column with the text */
	const char *id_field;   /* likewise of the id, which it declares public */
	uint32_t record_words;  /* N, most words that are read of a record; 0 = all */
	unsigned threads;       /* of the words, 0 = the cores that this process may use */
	enum records_format input_format;
	bool pad;              /* each record has N places: how many words it has is hidden */
	bool keep_punctuation; /* punctuation and line breaks are public, and stay */
	bool keep_numbers;     /* which places are numbers is public */
};

/* Sets the defaults: those of the library, the field "text", the time now. */
void perturb_default(struct perturb_request *request);
/* As generate_check and generate_paths. */
enum cuttle_status perturb_check(const struct perturb_request *request, struct cuttle_error *error);
enum cuttle_status perturb_paths(const struct perturb_request *request, struct cuttle_error *error);

/* What is fixed before a private byte is read. */
struct perturb {
	struct cuttle_words *words;
	struct cuttle_perturber *perturber;
	struct perturb_receipt receipt; /* without the number of records, and without the charge */
	struct cuttle_model_info model; /* its name, for the receipt */
	struct signature_key *signer;   /* NULL = the receipt is not signed */
	char fingerprint[HASH_TEXT];
	uint64_t formulas; /* as in struct filter_counts, once the texts are written */
};

/* Reads the words file and the lists, and makes perturber and receipt. `opened` is the model of
 * whose pieces unknown words are made. NULL = none, and so it is for words that were not made from
 * a model. Call perturb_free in any case. The receipt points into the request and *perturb,
 * which must stay where it is; both and the model must outlive it. INPUT: a file cannot be read or
 * is no list; the words were made from another model. USAGE: a parameter is out of range. Else as
 * signature_open, setup_date and cuttle_perturber_make. */
enum cuttle_status perturb_open(const struct perturb_request *request,
                                const struct setup_model *opened, struct perturb *perturb,
                                struct cuttle_error *error);
void perturb_free(struct perturb *perturb);

/* Only reads the records, and sets the receipt's number of them. Errors as records_read; INPUT also
 * when there is none. */
enum cuttle_status perturb_count(const struct perturb_request *request, struct perturb *perturb,
                                 struct cuttle_error *error);
/* Only reads the records, and writes their digest under `key` (io/output/binding.h). Errors as
 * perturb_count. */
enum cuttle_status perturb_digest(const struct perturb_request *request, struct perturb *perturb,
                                  const unsigned char key[BINDING_KEY], char digest[HASH_TEXT],
                                  struct cuttle_error *error);
/* Runs the request, once for each struct perturb. A bad or blank record is one without words,
 * silently. Statuses as generate_texts; INPUT also: the journal does not fit the records. */
enum cuttle_status perturb_run(const struct perturb_request *request, struct perturb *perturb,
                               const struct run_events *events, struct cuttle_error *error);
/* Reads the perturbed texts back from the output file of a run that is complete. records_text of
 * record i is that of line i, of size 0 where it has no words. The caller frees them with
 * records_free.
 * INPUT: the file cannot be read, or has another number of lines than the receipt says. */
enum cuttle_status perturb_texts(const struct perturb_request *request,
                                 const struct perturb *perturb, struct records **texts,
                                 struct cuttle_error *error);

#endif
