// SPDX-License-Identifier: Apache-2.0
// infer.h: InferDPT from end to end. The words of all records are perturbed. A remote model is
// asked to go on with each perturbed text. The local model extends each raw text with the reply as
// notes. A request, what is made from it, and its run.
//
// The PRIVATE records pass through the first and the last phase, which are workflow/perturb.h and
// workflow/extract.h. What leaves this machine is made of the first phase's output, the instruction
// and the request alone: no private text is in memory then.
//
// The phases are strictly in order: all are perturbed, then all are sent, then all are extended.
// Were they mixed, the pauses between requests would tell how long raw texts are. A request is sent
// for every record, in the order of the records, also where a record has no words. Beside OUT,
// "gen.jsonl" for example, stand
//
//     gen.perturbed.jsonl    the perturbed texts, with receipt and, until complete, the journal
//     gen.replies.jsonl      the replies so far, each on the disk before it is used
//     gen.replies.jsonl.key, gen.replies.jsonl.input
//                            a key, and the digest of the records under it
//
// A stopped run goes on: no word is drawn again, no reply is asked for again. With other records
// it is refused, so no record is extended with the reply to another one. Key and digest stay when
// the run is complete, as final texts may be written anew. The key has mode 0600; without it the
// digest is a random number.
#ifndef CUTTLE_WORKFLOW_INFER_H
#define CUTTLE_WORKFLOW_INFER_H

#include "io/remote/remote.h"
#include "workflow/extract.h"
#include "workflow/perturb.h"

/* Texts and paths are NULL when there is none. They are the caller's, and must outlive all that is
 * made from the request. */
struct infer_request {
	struct perturb_request perturb; /* output and receipt are set from the output below */
	struct extract_request extract; /* input, text_field, format and delimiter are those of
	                                      perturb; replies and output are set from below */
	struct remote_request remote;
	const char *instruction; /* path: what the remote model is told, with {text} once */
	const char *output;      /* path; a file */
	bool show; /* nothing is sent: infer_run ends before, and shows what would be */
};

/* Sets the defaults of all three parts. The remote gets 150 tokens at temperature 0.5, as the paper
 * has it, 120 s for an attempt, and 5 retries. */
void infer_default(struct infer_request *request);
/* As generate_check and generate_paths, for all three parts together. Opens nothing. USAGE
 * also: the input or the output is a stream, as the input is read twice. */
enum cuttle_status infer_check(const struct infer_request *request, struct cuttle_error *error);

/* What is fixed before a private byte is read. */
struct infer {
	struct infer_request request; /* with all that is set from others */
	struct perturb perturb;
	struct extract extract;
	char *instruction;      /* that of the request's file; NULL = cuttle's own */
	char *perturbed;        /* path of the perturbed texts */
	char *replies;          /* path of the replies */
	struct binding binding; /* of the records; empty before the run */
	char input[HASH_TEXT];  /* their digest; "" before the run */
	char *bound;            /* path of the digest; NULL before the run */
};

/* Reads the words file, lists and prompts; makes perturber and completer. Connects to nothing. Call
 * infer_free in any case. request and opened must outlive *inferring, which must stay where it
 * is. INPUT: the instruction lacks {text}, or has it twice. Else as perturb_open,
 * extract_make and setup_prompt. */
enum cuttle_status infer_make(const struct infer_request *request, const struct setup_model *opened,
                              struct infer *infer, struct cuttle_error *error);
void infer_free(struct infer *infer);

/* What a run tells its caller. No member but `user` may be NULL. */
struct infer_events {
	const struct run_events *perturb; /* of the first phase */
	void *user;                       /* first argument of the next five */
	/* The second phase begins: so many texts, and so many have their reply already. */
	void (*begin)(void *user, size_t texts, size_t kept);
	/* One more reply is on the disk. */
	void (*reply)(void *user);
	/* The service refused the request of a text, and others it answered: its record has no
	 * notes. `why` is the message of remote_send. */
	void (*refused)(void *user, size_t text, const char *why);
	/* Asked now and then while requests are under way. true: the run stops with PARTIAL. */
	bool (*stop)(void *user);
	/* With `show`: line and headers of each request, once, and then each body. */
	void (*show)(void *user, const char *head, const char *body, size_t size);
	const struct extract_events *extract; /* of the third phase */
};

/* Runs the request, once for each struct infer. The key is read before a word is drawn. A
 * failure of a later phase leaves what the earlier ones have written; the same request goes on from
 * there. Statuses as remote_open, perturb_run, replies_open, remote_send and extract_write.
 * INPUT also: the records were changed during the run. PARTIAL also: the key of their digest cannot
 * be written. */
enum cuttle_status infer_run(struct infer *infer, const struct infer_events *events,
                             struct cuttle_error *error);

#endif
