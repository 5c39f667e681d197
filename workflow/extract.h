// SPDX-License-Identifier: Apache-2.0
// extract.h: the local, last step of InferDPT: the model extends raw documents with the help of
// notes that a remote model wrote. A request, what is made from it, and its run.
//
// The PRIVATE documents pass through, from io/records/records.h to the engine. What comes out is as
// private as they are: no mechanism, no guarantee, no ledger. Notes are hostile text: bounded, and
// never more than text. Messages name a member as the option of extract does. Nothing is printed:
// what happens is told to struct extract_events.
//
// A run that is stopped or killed leaves nothing; the same request begins again. For example:
//
//     extract_default(&request);
//     request.input = "docs.jsonl", request.replies = "r.jsonl", request.output = "gen.jsonl";
//     status = extract_check(&request, &error);
//     if (!status) status = extract_make(&request, model, &extracting, &error);
//     if (!status) status = extract_run(&request, &extracting, &events, &error);
//     extract_free(&extracting);
#ifndef CUTTLE_WORKFLOW_EXTRACT_H
#define CUTTLE_WORKFLOW_EXTRACT_H

#include "engine/cuttle/complete.h"
#include "io/records/records.h"

/* Texts and paths are NULL when there is none. They are the caller's, and must outlive all that is
 * made from the request. */
struct extract_request {
	/* What the completer takes. extract_make adds the prompt that it reads from the file
	 * named below. */
	struct cuttle_complete_params params;
	const char *model;      /* path of the model's file, for extract_paths alone */
	const char *input;      /* path of the documents; "-" = standard input */
	const char *delimiter;  /* between the columns of CSV */
	const char *text_field; /* field or column with the document */
	const char *replies;    /* path of the notes, JSONL; "-" = standard input */
	const char *prompt;     /* path of an own prompt; NULL = cuttle's own */
	const char *output;     /* path; "-" = standard output */
	enum records_format input_format;
	bool lock; /* keep documents and notes out of swap */
};

/* Sets the defaults: those of the library, temperature 0.5 and the field "text". */
void extract_default(struct extract_request *request);
/* As generate_check and generate_paths. */
enum cuttle_status extract_check(const struct extract_request *request, struct cuttle_error *error);
enum cuttle_status extract_paths(const struct extract_request *request, struct cuttle_error *error);

/* What is fixed before a private byte is read. */
struct extract {
	struct cuttle_completer *completer;
	char *prompt; /* that of the request's file; NULL = cuttle's own */
};

/* Call extract_free in any case. The model must outlive *extracting. Errors as setup_prompt and
 * cuttle_completer_make. */
enum cuttle_status extract_make(const struct extract_request *request, struct cuttle_model *model,
                                struct extract *extract, struct cuttle_error *error);
void extract_free(struct extract *extract);

/* What a run tells its caller. The numbers are public; WHEN `text` comes follows from the private
 * texts. No member but `user` may be NULL. */
struct extract_events {
	void *user; /* first argument of all others */
	/* Documents and notes are read, and so many texts will be written. */
	void (*begin)(void *user, size_t texts);
	/* One more text is written. */
	void (*text)(void *user);
	/* Asked after each step. true: the run stops with PARTIAL. */
	bool (*stop)(void *user);
};

/* Where the notes of each document come from: PRIVATE or not, they end up in private texts. */
struct extract_notes {
	/* Sets *text and *size to the notes of document `index`, NULL = none. They stay valid until
	 * the run ends. */
	void (*give)(void *user, size_t index, const char **text, size_t *size);
	void *user; /* first argument of give */
};

/* Reads the documents: each keeps as many bytes as a prompt can show. To be freed by records_free.
 * INPUT: as records_read, or there is none. NOMEM. */
enum cuttle_status extract_documents(const struct extract_request *request,
                                     const struct extract *extract, struct records **documents,
                                     struct cuttle_error *error);

/* Writes the request's output from documents and notes: a line {"index","text","finish","private":
 * true} for each record, also for a null one, whose text is empty. The file appears whole, with
 * mode 0600 whatever the umask. PARTIAL: an event stopped it. Else as sink_open_private, sink_close
 * and cuttle_completer_run. */
enum cuttle_status extract_write(const struct extract_request *request,
                                 const struct extract *extract, const struct records *documents,
                                 const struct extract_notes *notes,
                                 const struct extract_events *events, struct cuttle_error *error);

/* Reads documents and replies, and writes. A line of the replies is {"index","text"}. It belongs to
 * the document with this index, counted from 0; where no line has an index, to the one of its own
 * number. A document without a line has no notes, nor has one whose reply is no text.
 * INPUT: as extract_documents; the replies are more than the documents; an index is no number of
 * a document, stands twice, or only some lines have one. Else as extract_write. */
enum cuttle_status extract_run(const struct extract_request *request, const struct extract *extract,
                               const struct extract_events *events, struct cuttle_error *error);

#endif
