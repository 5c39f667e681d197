// SPDX-License-Identifier: Apache-2.0
// Each route is a call of jobs.h and its answer. All read the list of jobs, so the disk thread
// calls them; those that ask the command or the ledger, or wait for the queue, get threads of their
// own.
//
// The way of a private job:
//   serve/jobs/jobs_routes.c     a request of a client to a call; what is refused to a line
//   serve/jobs/jobs.c            who may what; one idempotency key is one job
//     serve/jobs/spec.c          the request to words of a command line; no word names a file
//     serve/jobs/jobs_quote.c    the command says what the job will promise and cost
//                                (tools/common/quote.c)
//     serve/jobs/budgets.c       room in the ledger, beside what waits
//     serve/jobs/jobs_charges.c  at the begin of server and job: the ledger has all entries it has
//                                seen
//     serve/jobs/jobs_gap.c      where it has not, nothing is charged before an officer says so
//     serve/jobs/store.c         (by io/disk/database.c, as ledgers) the list of jobs: public
//                                parameters, and how far each is
//     serve/jobs/jobs_trail.c    who did it: an entry of the audit trail, in one step with the list
//                                (serve/jobs/trail.c its file, serve/jobs/trail_check.c checks it,
//                                serve/jobs/trail_read.c reads a page of it)
//     serve/jobs/jobs_upload.c   references arrive; in its turn, an upload is looked at before it
//                                may be used
//     serve/jobs/vault.c         references are encrypted as they arrive
//   serve/jobs/jobs_queue.c      one job at a time, in order; how its command ended decides
//     serve/jobs/runner.c        the command as a process: references in by a pipe, progress out
//       tools/generate.c         from here on it is a run like any other
//   serve/jobs/jobs_state.c      events; results and receipt are the command's files
#include "serve/jobs/jobs_routes.h"

#include "io/disk/signature.h"
#include "serve/jobs/jobs_state.h"
#include "serve/jobs/trail_read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct jobs_caller get_caller(const struct http_call *call) {
	return (struct jobs_caller){.key = call->owner,
	                            .officer = call->role >= HTTP_OFFICER,
	                            .role = http_role_name(call->role),
	                            .datasets = call->datasets,
	                            .address = call->address,
	                            .request = call->request};
}

static void answer_fault(struct http_reply *reply, const struct jobs_fault *fault) {
	const char *type = fault->status == 403   ? "permission_error"
	                   : fault->status == 429 ? "rate_limit_error"
	                   : fault->status >= 500 ? "server_error"
	                                          : "invalid_request_error";
	if (fault->status == 429 || fault->status == 503) http_add(reply, "Retry-After", "60");
	http_fail(reply, fault->status, type, fault->code, *fault->param ? fault->param : NULL,
	          "%s", fault->message);
}

/* Answers with the document, or with why there is none. */
static void answer_document(struct http_reply *reply, bool good, unsigned code, json_t *document,
                            const struct jobs_fault *fault) {
	if (good) http_json(reply, code, document);
	else answer_fault(reply, fault);
}

static void answer_create(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	bool created;
	const bool good = jobs_create(user, &caller, http_header(call, "Idempotency-Key"),
	                              call->body, &document, &created, &fault);
	answer_document(reply, good, created ? 201 : 200, document, &fault);
}

/* What some function tells this caller. */
static void answer_told(struct jobs *jobs, const struct http_call *call, struct http_reply *reply,
                        bool (*tell)(struct jobs *jobs, const struct jobs_caller *caller,
                                     json_t **document, struct jobs_fault *fault)) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	const bool good = tell(jobs, &caller, &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

static void answer_list(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_told(user, call, reply, jobs_list);
}

/* A call that is about one job and answers with its document. */
typedef bool job_call(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                      json_t **document, struct jobs_fault *fault);

static void answer_job(job_call *ask, unsigned code, void *user, const struct http_call *call,
                       struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	const bool good = ask(user, &caller, call->id, &document, &fault);
	answer_document(reply, good, code, document, &fault);
}

static void answer_get(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_job(jobs_get, 200, user, call, reply);
}

/* If-Match: "APPROVAL" starts the job only while it is what the caller has seen. */
static void answer_start(void *user, const struct http_call *call, struct http_reply *reply) {
	struct jobs_caller caller = get_caller(call);
	const char *match = http_header(call, "If-Match");
	char approval[128];
	const size_t size = match ? strlen(match) : 0;
	const bool quoted = size >= 2 && *match == '"' && match[size - 1] == '"';
	if (match)
		(void)snprintf(approval, sizeof approval, "%.*s", (int)(quoted ? size - 2 : size),
		               match + quoted);
	if (match) caller.approval = approval;
	struct jobs_fault fault;
	json_t *document;
	const bool good = jobs_start(user, &caller, call->id, &document, &fault);
	answer_document(reply, good, 202, document, &fault);
}

static void answer_cancel(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_job(jobs_cancel, 202, user, call, reply);
}

static void answer_remove(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	if (jobs_remove(user, &caller, call->id, &fault)) http_bytes(reply, 204, NULL, "", 0);
	else answer_fault(reply, &fault);
}

static void answer_file(void *user, const struct http_call *call, bool receipt,
                        struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	int file;
	if (!jobs_file(user, &caller, call->id, receipt, &file, &fault))
		answer_fault(reply, &fault);
	else http_file(reply, 200, receipt ? "application/json" : "application/x-ndjson", file);
}

static void answer_results(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_file(user, call, false, reply);
}

static void answer_receipt(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_file(user, call, true, reply);
}

static void answer_trail(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	int file;
	if (!jobs_trail_file(user, &caller, &file, &fault)) answer_fault(reply, &fault);
	else http_file(reply, 200, "application/x-ndjson", file);
}

/* The value of a query as a number above 0; `none` where it is absent, -1 where it is another. */
static int64_t read_trail_place(const struct http_call *call, const char *name, int64_t none) {
	const char *text = http_query(call, name);
	if (!text) return none;
	const bool digits = *text && strspn(text, "0123456789") == strlen(text);
	return digits && strlen(text) < 18 && *text != '0' ? strtoll(text, NULL, 10) : -1;
}

/* The value of a query as a word of the trail; NULL where it is absent. False: it is none. */
static bool read_trail_word(const struct http_call *call, const char *name, const char **word) {
	*word = http_query(call, name);
	return !*word || (**word && strlen(*word) <= HTTP_ID_MOST &&
	                  strspn(*word, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(*word));
}

static void answer_trail_page(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	const int64_t before = read_trail_place(call, "before", 0),
	              limit = read_trail_place(call, "limit", 50);
	struct trail_query query = {.before = before, .limit = (size_t)limit};
	struct jobs_fault fault;
	json_t *document = NULL;
	const char *wrong = before < 0                                      ? "before"
	                    : limit < 0 || limit > TRAIL_PAGE               ? "limit"
	                    : !read_trail_word(call, "event", &query.event) ? "event"
	                    : !read_trail_word(call, "job", &query.job)     ? "job"
	                                                                    : NULL;
	const bool good = wrong ? jobs_refuse(&fault, 400, "invalid_value", wrong,
	                                      "%s is none of the trail's", wrong)
	                        : jobs_trail_page(user, &caller, &query, &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

/* As a file of cuttle ledger key has it, so that receipt verify --key takes what was fetched. */
static void answer_public_key(void *user, const struct http_call *call, struct http_reply *reply) {
	const char *key = jobs_public_key(user);
	char line[SIGNATURE_PUBLIC + 1];
	(void)call;
	if (key)
		http_bytes(reply, 200, "text/plain", line,
		           (size_t)snprintf(line, sizeof line, "%s\n", key));
	else
		http_fail(reply, 404, "invalid_request_error", "not_found", NULL,
		          "this server signs nothing");
}

/* ---- uploads --------------------------------------------------------------------------------- */

static bool begin_references(void *user, const struct http_call *call, void **upload,
                             struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_upload *begun;
	struct jobs_fault fault;
	const bool good = jobs_upload_begin(user, &caller, call->id, &begun, &fault);
	*upload = begun;
	if (!good) answer_fault(reply, &fault);
	return good;
}

static bool take_references(void *user, void *upload, const void *bytes, size_t size) {
	(void)user;
	return jobs_upload_piece(upload, bytes, size);
}

static void drop_references(void *user, void *upload) {
	(void)user;
	jobs_upload_drop(upload);
}

static void answer_upload(void *user, const struct http_call *call, struct http_reply *reply) {
	struct jobs_fault fault;
	(void)user;
	if (jobs_upload_end(call->upload, &fault)) http_bytes(reply, 204, NULL, "", 0);
	else answer_fault(reply, &fault);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Full for a moment is not gone: a listener has at most fourteen events in 64 KiB. The server adds
 * keep-alives of its own, and here a comment asks whether somebody is left. */
static bool send_to_stream(void *user, const char *bytes, size_t size) {
	return size ? http_stream_send(user, bytes, size) != HTTP_GONE
	            : http_stream_send(user, ":\n\n", 3) != HTTP_GONE;
}

static void end_stream(void *user) {
	http_stream_end(user);
}

static void answer_events(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	const char *last = http_header(call, "Last-Event-ID");
	// Another text than a number of ours means: from the beginning.
	const uint64_t after =
	    last && strspn(last, "0123456789") == strlen(last) && strlen(last) < 4
	        ? strtoull(last, NULL, 10)
	        : 0;
	struct jobs_fault fault;
	bool more;
	if (!jobs_may_follow(user, &caller, call->id, after, &more, &fault)) {
		answer_fault(reply, &fault);
		return;
	}
	// 204 is how a browser's EventSource is told not to connect again.
	if (!more) {
		http_bytes(reply, 204, NULL, "", 0);
		return;
	}
	struct http_stream *stream = http_events(reply);
	if (!stream) return;
	const struct jobs_listener listener = {send_to_stream, end_stream, stream};
	if (!jobs_follow(user, &caller, call->id, after, &listener, &fault))
		http_stream_end(stream);
}

/* ---- budgets --------------------------------------------------------------------------------- */

static void answer_budget(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	const bool good = jobs_budget(user, &caller, call->id, &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

static void answer_entries(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	const bool good = jobs_entries(user, &caller, call->id, &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

static void answer_verify(void *user, const struct http_call *call, struct http_reply *reply) {
	struct jobs_fault fault;
	json_t *document;
	const json_t *head = json_object_get(call->body, "head");
	const bool good = jobs_verify(user, json_string_value(head), &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

static void answer_gap(void *user, const struct http_call *call, struct http_reply *reply) {
	answer_told(user, call, reply, jobs_gap);
}

static void answer_confirm(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct jobs_caller caller = get_caller(call);
	struct jobs_fault fault;
	json_t *document;
	const json_t *name = json_object_get(call->body, "gap");
	const bool good =
	    jobs_gap_confirm(user, &caller, json_string_value(name), &document, &fault);
	answer_document(reply, good, 200, document, &fault);
}

/* Jobs that have ended are counted, and those that wait: public, as the list of jobs is. */
static void add_metrics(void *user, struct http_metrics *metrics) {
	static const char *const types[] = {"generate", "sanitize"}, *const ends[] = {"done",
	                                                                              "failed",
	                                                                              "cancelled"};
	const struct jobs_counts counts = jobs_count(user);
	http_metric(metrics, "queue_jobs", NULL, counts.waiting);
	for (int type = 0; type < 2; type++)
		for (int end = 0; end < 3; end++) {
			char labels[64];
			(void)snprintf(labels, sizeof labels, "type=\"%s\",state=\"%s\"",
			               types[type], ends[end]);
			http_metric(metrics, "jobs_total", labels, counts.ended[type][end]);
		}
}

static const char *find_missing(void *user, json_t *parts) {
	return jobs_ready(user, parts);
}

static const struct http_route ROUTES[] = {
    {"POST", "/v1/jobs", HTTP_USE, HTTP_BODY_JSON, HTTP_WAITING, answer_create, NULL, NULL, NULL},
    {"GET", "/v1/jobs", HTTP_USE, HTTP_BODY_NONE, HTTP_SLOW, answer_list, NULL, NULL, NULL},
    {"GET", "/v1/jobs/{id}", HTTP_USE, HTTP_BODY_NONE, HTTP_WAITING, answer_get, NULL, NULL, NULL},
    {"DELETE", "/v1/jobs/{id}", HTTP_USE, HTTP_BODY_NONE, HTTP_RESERVED, answer_remove, NULL, NULL,
     NULL},
    {"PUT", "/v1/jobs/{id}/references", HTTP_USE, HTTP_BODY_UPLOAD, HTTP_RESERVED, answer_upload,
     begin_references, take_references, drop_references},
    {"POST", "/v1/jobs/{id}/start", HTTP_USE, HTTP_BODY_NONE, HTTP_WAITING, answer_start, NULL,
     NULL, NULL},
    {"POST", "/v1/jobs/{id}/cancel", HTTP_USE, HTTP_BODY_NONE, HTTP_RESERVED, answer_cancel, NULL,
     NULL, NULL},
    {"GET", "/v1/jobs/{id}/events", HTTP_USE, HTTP_BODY_NONE, HTTP_SLOW, answer_events, NULL, NULL,
     NULL},
    {"GET", "/v1/jobs/{id}/results", HTTP_USE, HTTP_BODY_NONE, HTTP_SLOW, answer_results, NULL,
     NULL, NULL},
    {"GET", "/v1/jobs/{id}/receipt", HTTP_USE, HTTP_BODY_NONE, HTTP_SLOW, answer_receipt, NULL,
     NULL, NULL},
    {"GET", "/v1/budget", HTTP_USE, HTTP_BODY_NONE, HTTP_WAITING, answer_budget, NULL, NULL, NULL},
    {"GET", "/v1/budget/{id}", HTTP_USE, HTTP_BODY_NONE, HTTP_WAITING, answer_budget, NULL, NULL,
     NULL},
    {"GET", "/v1/ledger/{id}/entries", HTTP_OFFICER, HTTP_BODY_NONE, HTTP_WAITING, answer_entries,
     NULL, NULL, NULL},
    {"GET", "/v1/public-key", HTTP_NOBODY, HTTP_BODY_NONE, HTTP_AT_ONCE, answer_public_key, NULL,
     NULL, NULL},
    {"GET", "/v1/trail", HTTP_OFFICER, HTTP_BODY_NONE, HTTP_SLOW, answer_trail, NULL, NULL, NULL},
    {"GET", "/v1/trail/entries", HTTP_OFFICER, HTTP_BODY_NONE, HTTP_SLOW, answer_trail_page, NULL,
     NULL, NULL},
    {"GET", "/v1/ledger/gap", HTTP_OFFICER, HTTP_BODY_NONE, HTTP_WAITING, answer_gap, NULL, NULL,
     NULL},
    {"POST", "/v1/ledger/gap", HTTP_OFFICER, HTTP_BODY_JSON, HTTP_WAITING, answer_confirm, NULL,
     NULL, NULL},
    {"POST", "/v1/ledger/verify", HTTP_OFFICER, HTTP_BODY_JSON, HTTP_WAITING, answer_verify, NULL,
     NULL, NULL},
};

struct http_table jobs_table(struct jobs *jobs) {
	return (struct http_table){.routes = ROUTES,
	                           .count = sizeof ROUTES / sizeof *ROUTES,
	                           .user = jobs,
	                           .metrics = add_metrics,
	                           .ready = find_missing};
}
