// SPDX-License-Identifier: Apache-2.0
// The three phases of InferDPT, one after the other. What leaves is made in make_body, and nowhere
// else: of a perturbed text, the instruction and the request.
#include "workflow/infer.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/formats.h"
#include "io/ledger/ledger.h"
#include "io/disk/paths.h"
#include "io/remote/replies.h"
#include "workflow/spending.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the remote model is told when the user says nothing else. */
static const char OWN_INSTRUCTION[] =
    "Continue the text below. Write only what follows it, in the same manner, and nothing about "
    "it.\n\nText: {text}\n\nContinuation:";
static const char PLACE[] = "{text}";
/* What the paths of the key and of the digest have behind that of the replies. */
#define REPLIES_KEY ".key"
#define REPLIES_INPUT ".input"

enum { REMOTE_TOKENS = 150, REMOTE_TIMEOUT_S = 120, REMOTE_RETRIES = 5 };

/* ---- the request ----------------------------------------------------------------------------- */

void infer_default(struct infer_request *request) {
	*request = (struct infer_request){.remote = {.max_tokens = REMOTE_TOKENS,
	                                             .temperature = 0.5,
	                                             .timeout_s = REMOTE_TIMEOUT_S,
	                                             .retries = REMOTE_RETRIES}};
	perturb_default(&request->perturb);
	extract_default(&request->extract);
}

/* "gen.jsonl" and ".replies.jsonl" give "gen.replies.jsonl". The caller frees it. */
static char *name_file_beside(const char *output, const char *ending) {
	size_t stem = strlen(output);
	if (file_ends_in(output, ".jsonl")) stem -= strlen(".jsonl");
	char *name = malloc(stem + strlen(ending) + 1);
	if (!name) return NULL;
	memcpy(name, output, stem);
	memcpy(name + stem, ending, strlen(ending) + 1);
	return name;
}

/* Sets what follows from other members. The two names are the caller's to free. */
static enum cuttle_status complete_request(struct infer_request *request, char **perturbed,
                                           char **replies, struct cuttle_error *error) {
	*perturbed = name_file_beside(request->output, ".perturbed.jsonl");
	*replies = name_file_beside(request->output, ".replies.jsonl");
	if (!*perturbed || !*replies) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	request->perturb.common.output = *perturbed;
	request->extract.input = request->perturb.common.input;
	request->extract.text_field = request->perturb.text_field;
	request->extract.input_format = request->perturb.input_format;
	request->extract.delimiter = request->perturb.delimiter;
	request->extract.lock = request->perturb.common.lock;
	request->extract.replies = *replies;
	request->extract.output = request->output;
	return CUTTLE_OK;
}

static enum cuttle_status check_all_paths(const struct infer_request *request,
                                          struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status = common_receipt_beside(
	    request->perturb.common.output, request->perturb.common.receipt, &receipt, error);
	if (status) return status;
	const struct path_use uses[] = {
	    PATH_ALONE("--words", request->perturb.words, PATH_FILE),
	    PATH_ALONE("-m", request->perturb.common.model, PATH_MODEL),
	    PATH_ALONE("--sensitive", request->perturb.sensitive, PATH_FILE),
	    PATH_ALONE("--stop-words", request->perturb.stop_words, PATH_FILE),
	    PATH_ALONE("-i", request->perturb.common.input, PATH_FILE),
	    PATH_ALONE("--sign", request->perturb.common.sign, PATH_FILE),
	    PATH_ALONE("--instruction", request->instruction, PATH_STREAM),
	    PATH_ALONE("--prompt", request->extract.prompt, PATH_STREAM),
	    PATH_ALONE("--api-key-file", request->remote.key_file, PATH_FILE),
	    PATH_ALONE("--ca-file", request->remote.ca_file, PATH_FILE),
	    {"--ledger", request->perturb.common.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->perturb.common.output,
	     PATH_RECORD,
	     receipt,
	     {".journal", ".journal.key", SPENDING_BESIDE}},
	    {"-o", request->extract.replies, PATH_RECORD, NULL, {REPLIES_KEY, REPLIES_INPUT}},
	    PATH_ALONE("-o", request->output, PATH_RECORD),
	    PATH_ALONE("--receipt", request->perturb.common.receipt, PATH_RECORD),
	};
	status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status) status = formats_check_lines("-o", request->output, error);
	free(receipt);
	return status;
}

enum cuttle_status infer_check(const struct infer_request *given, struct cuttle_error *error) {
	struct infer_request request = *given;
	char *perturbed = NULL, *replies = NULL;
	if (!strcmp(request.output, "-"))
		return io_fail(error, CUTTLE_USAGE,
		               "-o must be a file: a run keeps its perturbed texts and replies "
		               "beside it");
	if (request.perturb.common.input && !strcmp(request.perturb.common.input, "-"))
		return io_fail(error, CUTTLE_USAGE, "-i must be a file: it is read twice");
	enum cuttle_status status = complete_request(&request, &perturbed, &replies, error);
	if (!status) status = perturb_check(&request.perturb, error);
	if (!status) status = remote_check(&request.remote, error);
	if (!status) status = extract_check(&request.extract, error);
	if (!status) status = perturb_paths(&request.perturb, error);
	if (!status) status = check_all_paths(&request, error);
	free(perturbed);
	free(replies);
	return status;
}

/* ---- what is made from it -------------------------------------------------------------------- */

static enum cuttle_status read_instruction(struct infer *infer, struct cuttle_error *error) {
	const char *path = infer->request.instruction;
	if (!path) return CUTTLE_OK;
	const enum cuttle_status status = setup_prompt(path, &infer->instruction, error);
	if (status) return status;
	const char *first = strstr(infer->instruction, PLACE);
	return first && !strstr(first + 1, PLACE)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT,
	                     "%s: it must hold {text} once, where the perturbed text goes",
	                     file_shown(path));
}

enum cuttle_status infer_make(const struct infer_request *request, const struct setup_model *opened,
                              struct infer *infer, struct cuttle_error *error) {
	*infer = (struct infer){.request = *request};
	struct infer_request *mine = &infer->request;
	enum cuttle_status status =
	    complete_request(mine, &infer->perturbed, &infer->replies, error);
	if (!status) status = read_instruction(infer, error);
	if (!status) status = perturb_open(&mine->perturb, opened, &infer->perturb, error);
	if (!status) status = extract_make(&mine->extract, opened->model, &infer->extract, error);
	return status;
}

void infer_free(struct infer *infer) {
	extract_free(&infer->extract);
	perturb_free(&infer->perturb);
	binding_close(&infer->binding);
	free(infer->instruction);
	free(infer->perturbed);
	free(infer->replies);
	free(infer->bound);
	*infer = (struct infer){0};
}

/* ---- which records they are ------------------------------------------------------------------ */

/* Whether the file at inferring->bound holds the digest inferring->input. Without a key nothing was
 * begun, so the file may then be missing, or of a run that was killed before it had its key. */
static enum cuttle_status read_bound(const struct infer *infer, bool *same,
                                     struct cuttle_error *error) {
	char *line = NULL;
	size_t size = 0;
	*same = false;
	if (access(infer->bound, F_OK) != 0 && errno == ENOENT) return CUTTLE_OK;
	enum cuttle_status status = file_regular(infer->bound, error);
	if (status) return status;
	const bool formed = !file_read(infer->bound, HASH_TEXT, &line, &size, NULL) &&
	                    size == HASH_TEXT && line[size - 1] == '\n' &&
	                    strspn(line, "0123456789abcdef") == size - 1;
	*same = formed && !memcmp(line, infer->input, size - 1);
	free(line);
	return formed ? CUTTLE_OK
	              : io_fail(error, CUTTLE_USAGE,
	                        "%s is in the way: it is no digest of cuttle; move it, or choose "
	                        "another output name",
	                        infer->bound);
}

/* Opens the key and checks that the records are those it was made for. With `overwrite` others get
 * a new key. */
static enum cuttle_status open_binding(struct infer *infer, const char *path,
                                       struct cuttle_error *error) {
	struct binding *binding = &infer->binding;
	const struct perturb_request *request = &infer->request.perturb;
	for (;;) {
		bool same = false;
		enum cuttle_status status = binding_open(path, binding, error);
		if (!status)
			status = perturb_digest(request, &infer->perturb, binding->key,
			                        infer->input, error);
		if (!status) status = read_bound(infer, &same, error);
		if (status || !binding->stands || same) return status;
		if (!request->common.overwrite)
			return io_fail(error, CUTTLE_USAGE,
			               "%s was changed since its words were perturbed; "
			               "--overwrite begins anew",
			               file_shown(request->common.input));
		binding_remove(binding);
		binding_close(binding);
	}
}

/* Binds the run to its records. The key makes the command another one than that of any other
 * records; so what stands without its key is another command's. The digest stays in a file of its
 * own: the command's hash is published, and must not depend on the records. *fresh: the key was
 * made now. */
static enum cuttle_status bind_records(struct infer *infer, bool *fresh,
                                       struct cuttle_error *error) {
	struct perturb *perturb = &infer->perturb;
	char *path = file_name(infer->replies, REPLIES_KEY), line[HASH_TEXT + 1];
	infer->bound = file_name(infer->replies, REPLIES_INPUT);
	enum cuttle_status status = path && infer->bound
	                                ? open_binding(infer, path, error)
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	free(path);
	if (status) return status;
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, perturb->fingerprint, HASH_TEXT);
	hash_add(&hash, infer->binding.key, BINDING_KEY);
	hash_end(&hash, perturb->fingerprint);
	*fresh = !infer->binding.stands;
	if (!*fresh) return CUTTLE_OK;
	// The key goes last: where it stands, the digest stands too.
	(void)snprintf(line, sizeof line, "%s\n", infer->input);
	int problem = file_replace(infer->bound, line, HASH_TEXT);
	if (!problem) problem = binding_keep(&infer->binding);
	if (!problem) return CUTTLE_OK;
	return io_fail(error, CUTTLE_PARTIAL, "cannot write beside %s: %s", infer->replies,
	               strerror(problem));
}

/* Removes the key and the digest of a run that was refused. */
static void unbind_records(struct infer *infer) {
	binding_remove(&infer->binding);
	(void)unlink(infer->bound);
}

/* documents: as they were read for the last phase. */
static enum cuttle_status check_records(struct infer *infer, const struct records *documents,
                                        size_t count, struct cuttle_error *error) {
	char now[HASH_TEXT];
	const struct perturb_request *request = &infer->request.perturb;
	const enum cuttle_status status =
	    perturb_digest(request, &infer->perturb, infer->binding.key, now, error);
	if (status) return status;
	if (records_count(documents) == count && !strcmp(now, infer->input)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT, "%s was changed since its words were perturbed",
	               file_shown(request->common.input));
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The body of the request for one perturbed text, to be freed; NULL: out of memory. */
static char *make_body(const struct infer *infer, const struct records *perturbed, size_t index,
                       size_t *count) {
	const char *instruction = infer->instruction ? infer->instruction : OWN_INSTRUCTION;
	const size_t before = (size_t)(strstr(instruction, PLACE) - instruction);
	const char *after = instruction + before + strlen(PLACE);
	size_t size;
	const char *text = records_text(perturbed, index, &size);
	if (!text) size = 0;
	const size_t rest = strlen(after), whole = before + size + rest;
	char *prompt = malloc(whole + 1);
	if (!prompt) return NULL;
	memcpy(prompt, instruction, before);
	if (size) memcpy(prompt + before, text, size);
	memcpy(prompt + before + size, after, rest + 1);
	char *body = remote_body(&infer->request.remote, prompt, whole, count);
	free(prompt);
	return body;
}

/* Hashes all bodies, one after the other: replies are kept for exactly these. */
static enum cuttle_status hash_bodies(const struct infer *infer, const struct records *perturbed,
                                      char sha256[HASH_TEXT], struct cuttle_error *error) {
	struct hash hash;
	size_t size;
	hash_begin(&hash);
	for (size_t i = 0; i < records_count(perturbed); i++) {
		char *body = make_body(infer, perturbed, i, &size);
		if (!body) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		hash_add(&hash, body, size);
		free(body);
	}
	hash_end(&hash, sha256);
	return CUTTLE_OK;
}

/* A reply of one service is none of another's. */
static void hash_service(const struct infer *infer, char sha256[HASH_TEXT]) {
	const char *endpoint = infer->request.remote.endpoint;
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, infer->perturb.fingerprint, HASH_TEXT);
	hash_add(&hash, endpoint, strlen(endpoint) + 1);
	hash_end(&hash, sha256);
}

/* Requests that were refused one after the other. They wait here for an answer to another one:
 * where there is none, the fault is not theirs. */
enum { MOST_REFUSED = 10 };
struct refusals {
	size_t texts[MOST_REFUSED];
	struct cuttle_error why[MOST_REFUSED];
	size_t count;
};

/* The service answers others: keeps empty replies, so that nobody asks again. */
static enum cuttle_status keep_refusals(const struct infer_events *events, struct replies *replies,
                                        struct refusals *refusals, struct cuttle_error *error) {
	char nothing[] = "";
	const struct reply empty = {.text = nothing, .finish = REPLY_REFUSED};
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < refusals->count && !status; i++) {
		status = replies_keep(replies, refusals->texts[i], &empty, error);
		if (!status)
			events->refused(events->user, refusals->texts[i], refusals->why[i].message);
	}
	refusals->count = 0;
	return status;
}

static enum cuttle_status send_text(const struct infer *infer, struct remote *remote,
                                    const struct records *perturbed, size_t index,
                                    const struct infer_events *events, struct replies *replies,
                                    struct refusals *refusals, struct cuttle_error *error) {
	struct cuttle_error why;
	struct reply reply = {0};
	size_t size;
	char *body = make_body(infer, perturbed, index, &size);
	if (!body) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = remote_send(remote, body, size, &reply, &why);
	free(body);
	if (status == CUTTLE_REMOTE && reply.refused && refusals->count + 1 < MOST_REFUSED) {
		refusals->texts[refusals->count] = index;
		refusals->why[refusals->count++] = why;
		return CUTTLE_OK;
	}
	if (status) return io_fail(error, status, "%s", why.message);
	status = keep_refusals(events, replies, refusals, error);
	if (!status) status = replies_keep(replies, index, &reply, error);
	if (!status) events->reply(events->user);
	reply_free(&reply);
	return status;
}

/* Sends every text that has no reply yet, in order. */
static enum cuttle_status send_texts(const struct infer *infer, struct remote *remote,
                                     const struct records *perturbed,
                                     const struct infer_events *events, struct replies **replies,
                                     struct cuttle_error *error) {
	char sent[HASH_TEXT], service[HASH_TEXT];
	const struct replies_owner owner = {service, sent};
	const size_t count = records_count(perturbed);
	enum cuttle_status status = hash_bodies(infer, perturbed, sent, error);
	if (status) return status;
	hash_service(infer, service);
	status = replies_open(infer->replies, &owner, count,
	                      infer->request.perturb.common.overwrite, replies, error);
	if (status) return status;
	struct refusals refusals = {.count = 0};
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) kept += replies_get(*replies, i) != NULL;
	events->begin(events->user, count, kept);
	for (size_t i = 0; i < count && !status; i++) {
		if (replies_get(*replies, i)) continue;
		status = send_text(infer, remote, perturbed, i, events, *replies, &refusals, error);
	}
	// Refusals without an answer behind them: there was one before, or the service answers
	// none.
	for (size_t i = 0; i < count && !status && refusals.count; i++) {
		const struct reply *reply = replies_get(*replies, i);
		if (reply && strcmp(reply->finish, REPLY_REFUSED) != 0)
			return keep_refusals(events, *replies, &refusals, error);
	}
	return status || !refusals.count
	           ? status
	           : io_fail(error, CUTTLE_REMOTE, "%s", refusals.why[0].message);
}

static enum cuttle_status show_texts(const struct infer *infer, const struct records *perturbed,
                                     const struct infer_events *events,
                                     struct cuttle_error *error) {
	char *head = remote_shown(&infer->request.remote);
	bool made = head != NULL;
	for (size_t i = 0; made && i < records_count(perturbed); i++) {
		size_t size;
		char *body = make_body(infer, perturbed, i, &size);
		made = body != NULL;
		if (made) events->show(events->user, i == 0 ? head : NULL, body, size);
		free(body);
	}
	free(head);
	return made ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* ---- the run --------------------------------------------------------------------------------- */

static void give_remote_reply(void *user, size_t index, const char **text, size_t *size) {
	const struct reply *reply = replies_get(user, index);
	*text = reply ? reply->text : NULL;
	*size = reply ? reply->size : 0;
}

static enum cuttle_status extend_texts(struct infer *infer, struct replies *replies, size_t count,
                                       const struct extract_events *events,
                                       struct cuttle_error *error) {
	const struct extract_request *request = &infer->request.extract;
	const struct extract_notes notes = {give_remote_reply, replies};
	struct records *documents = NULL;
	enum cuttle_status status = extract_documents(request, &infer->extract, &documents, error);
	if (!status) status = check_records(infer, documents, count, error);
	if (!status)
		status = extract_write(request, &infer->extract, documents, &notes, events, error);
	records_free(&documents);
	return status;
}

enum cuttle_status infer_run(struct infer *infer, const struct infer_events *events,
                             struct cuttle_error *error) {
	const struct perturb_request *request = &infer->request.perturb;
	struct records *perturbed = NULL;
	struct replies *replies = NULL;
	struct remote *remote = NULL;
	const struct remote_events asked = {.stop = events->stop, .user = events->user};
	enum cuttle_status status = CUTTLE_OK;
	bool fresh = false;
	// A key that is missing is told before a word is drawn, which costs.
	if (!infer->request.show)
		status = remote_open(&infer->request.remote, &asked, &remote, error);
	if (!status) status = bind_records(infer, &fresh, error);
	if (!status) status = perturb_run(request, &infer->perturb, events->perturb, error);
	// What stands is another's: nothing was drawn under this key.
	if (status == CUTTLE_USAGE && fresh) unbind_records(infer);
	if (!status) status = perturb_texts(request, &infer->perturb, &perturbed, error);
	if (!status && infer->request.show) {
		status = show_texts(infer, perturbed, events, error);
	} else if (!status) {
		status = send_texts(infer, remote, perturbed, events, &replies, error);
		remote_close(&remote);
		if (!status)
			status = extend_texts(infer, replies, records_count(perturbed),
			                      events->extract, error);
	}
	remote_close(&remote);
	replies_close(&replies);
	records_free(&perturbed);
	return status;
}
