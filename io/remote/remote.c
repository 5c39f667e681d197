// SPDX-License-Identifier: Apache-2.0
// How a body is sent and a reply awaited, by libcurl: see remote.h.
//
// libcurl can do much more than is wanted here. So every option that matters is set, also where the
// default would do today: the defaults are not ours. What stands in the environment (proxies,
// netrc, a file for TLS secrets) has no say.
//
// It is loaded when a remote is opened. Linked, it and the 30 libraries that it needs would be in
// every process that reads private texts. They would make its start take three times as long.
#include "io/remote/remote.h"

#include "base/library.h"
#include "base/misuse.h"
#include "io/disk/arena.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	KEY_FILE = 64 << 10, /* bytes of the longest file that may be a key's */
	TOO_LARGE = 100,     /* CURLE_TOO_LARGE, which libcurl has from 8.6 on */
	KEY_ECHO = 8,        /* bytes of the key in a row that make a code unfit to show */
	SLEEP_SLICE = 100000 /* microseconds of a wait between two questions to `stop` */
};

struct remote {
	struct remote_request request;
	struct remote_events events;
	CURL *curl;
	char *url;                  /* owned */
	struct curl_slist *headers; /* with the key; owned */
	char key[REMOTE_KEY + 1];   /* "" = none */
	uint64_t attempts;          /* begun so far */
	uint64_t tokens;            /* reserved for them */
	struct arena body;          /* of the reply that is being read */
	size_t header_bytes;        /* of the same */
	const char *broken;         /* the bound that the reply broke, or NULL */
	bool no_memory;             /* for the reply */
};

/* What became of an attempt. */
enum outcome {
	OUTCOME_REPLY,   /* HTTP 200 and a whole body */
	OUTCOME_AGAIN,   /* may go well another time */
	OUTCOME_REFUSED, /* will not, of this body; of another one it may */
	OUTCOME_FINAL,   /* will not, of any */
	OUTCOME_STOPPED, /* `stop` said so */
	OUTCOME_NOMEM
};

/* ---- libcurl's memory ------------------------------------------------------------------------ */

/* libcurl copies the key into its own blocks, so those are wiped too. Old ones say "no memory" of a
 * header line beyond 100 KiB as well: curl_starved tells whether it was really memory. Static
 * because libcurl gives its allocation functions no pointer of the caller. */
static bool curl_starved;

static void *note_block(void *block) {
	curl_starved |= !block;
	return block;
}

static void *allocate_curl(size_t size) {
	return note_block(malloc(size));
}

static void *allocate_curl_zeros(size_t count, size_t size) {
	return note_block(calloc(count, size));
}

static void *grow_curl(void *block, size_t size) {
	return note_block(secrecy_realloc(block, size));
}

static char *copy_curl_text(const char *text) {
	return note_block(strdup(text));
}

/* ---- libcurl itself -------------------------------------------------------------------------- */

/* What is called of it, once begin_curl has succeeded; NULL before. */
static struct {
	__typeof__(curl_global_init_mem) *global_init_mem;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *easy_setopt;
	__typeof__(curl_easy_perform) *easy_perform;
	__typeof__(curl_easy_getinfo) *easy_getinfo;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
} libcurl;

/* Finds the functions in a library. False: it cannot be loaded, or is no libcurl. */
static bool load_functions(const char *library) {
	const struct library_function functions[] = {
	    {"curl_global_init_mem", &libcurl.global_init_mem},
	    {"curl_easy_init", &libcurl.easy_init},
	    {"curl_easy_setopt", &libcurl.easy_setopt},
	    {"curl_easy_perform", &libcurl.easy_perform},
	    {"curl_easy_getinfo", &libcurl.easy_getinfo},
	    {"curl_easy_strerror", &libcurl.easy_strerror},
	    {"curl_easy_cleanup", &libcurl.easy_cleanup},
	    {"curl_slist_append", &libcurl.slist_append},
	    {"curl_slist_free_all", &libcurl.slist_free_all}};
	// A thread that resolves a name may outlive its transfer, so libcurl must not be unloaded
	// (its manual, curl_global_cleanup, "CAUTION").
	return library_load(library, functions, sizeof functions / sizeof *functions);
}

/* Loads and begins libcurl, once for the process: all remotes are of one thread, so nobody else is
 * here. libcurl would write the secrets of each connection to the file that SSLKEYLOGFILE names. */
static enum cuttle_status begin_curl(struct cuttle_error *error) {
	static bool begun;
	(void)unsetenv("SSLKEYLOGFILE");
	if (begun) return CUTTLE_OK;
	// Debian has it with OpenSSL and with GnuTLS, under two names; both do what is asked here.
	if (!load_functions("libcurl.so.4") && !load_functions("libcurl-gnutls.so.4"))
		return io_fail(
		    error, CUTTLE_USAGE,
		    "libcurl.so.4 cannot be loaded: install the Debian package libcurl4, or "
		    "send the perturbed texts yourself");
	begun = libcurl.global_init_mem(CURL_GLOBAL_DEFAULT, allocate_curl, secrecy_free, grow_curl,
	                                copy_curl_text, allocate_curl_zeros) == CURLE_OK;
	if (!begun) return io_fail(error, CUTTLE_INTERNAL, "libcurl cannot begin");
	return CUTTLE_OK;
}

/* ---- the key --------------------------------------------------------------------------------- */

/* Copies the key, without the newline that ends a file. USAGE: it is none. */
static enum cuttle_status copy_key(struct remote *remote, const char *bytes, size_t size,
                                   const char *from, struct cuttle_error *error) {
	if (size && bytes[size - 1] == '\n' && remote->request.key_file) size--;
	bool right = size > 0 && size <= REMOTE_KEY;
	for (size_t i = 0; i < size; i++) right &= bytes[i] > 0x20 && bytes[i] < 0x7f;
	if (!right)
		return io_fail(error, CUTTLE_USAGE,
		               "%s: a key must be 1 to %d visible ASCII characters in one line",
		               from, REMOTE_KEY);
	memcpy(remote->key, bytes, size);
	return CUTTLE_OK;
}

static enum cuttle_status read_key_file(struct remote *remote, struct cuttle_error *error) {
	char *bytes;
	size_t size;
	const char *path = remote->request.key_file;
	enum cuttle_status status = file_read_secret(path, KEY_FILE, &bytes, &size, error);
	if (!status) status = copy_key(remote, bytes, size, path, error);
	secrecy_free(bytes);
	return status;
}

static enum cuttle_status load_key(struct remote *remote, struct cuttle_error *error) {
	if (remote->request.key_file) return read_key_file(remote, error);
	const char *variable = getenv(REMOTE_VARIABLE);
	if (!variable || !*variable) return CUTTLE_OK;
	return copy_key(remote, variable, strlen(variable), REMOTE_VARIABLE, error);
}

/* Whether a code repeats a part of the key: a service could answer with it. */
static bool repeats_key(const struct remote *remote, const char *code) {
	const size_t size = strlen(remote->key), part = size < KEY_ECHO ? size : KEY_ECHO;
	bool found = false;
	for (size_t at = 0; part && at + part <= size; at++)
		found |= memmem(code, strlen(code), remote->key + at, part) != NULL;
	return found;
}

/* ---- certificates ---------------------------------------------------------------------------- */

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"
#define PEM_END "-----END CERTIFICATE-----"

/* Whether there are certificates as libcurl reads them (RFC 7468, section 5), each a whole sequence
 * in Base64. The bytes take the place of their letters, which are more. */
static bool has_certificates(char *text, size_t size) {
	const char *at = text, *const end = text + size;
	bool found = false;
	while ((at = memmem(at, (size_t)(end - at), PEM_BEGIN, strlen(PEM_BEGIN)))) {
		const bool begins_line = at == text || at[-1] == '\n';
		at += strlen(PEM_BEGIN);
		if (!begins_line) continue;
		unsigned char *const bytes = (unsigned char *)text + (at - text);
		const size_t letters = (size_t)(end - at);
		size_t count;
		if (sodium_base642bin(bytes, letters, at, letters, " \t\r\n", &count, &at,
		                      sodium_base64_VARIANT_ORIGINAL) != 0)
			return false;
		// DER begins a sequence with 0x30.
		found = count && *bytes == 0x30 && (size_t)(end - at) >= strlen(PEM_END) &&
		        !memcmp(at, PEM_END, strlen(PEM_END));
		if (!found) return false;
	}
	return found;
}

/* libcurl reads the file at the first request only. By then texts would be drawn and paid for. */
static enum cuttle_status check_ca_file(const char *path, struct cuttle_error *error) {
	char *text = NULL;
	size_t size = 0;
	// As for a key: a pipe must not make us wait. It has no size and so no certificate.
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const int problem = file < 0 ? errno : file_read_open(file, &text, &size);
	if (file >= 0) (void)close(file);
	if (problem)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(problem));
	const bool right = has_certificates(text, size);
	free(text);
	if (!right)
		return io_fail(error, CUTTLE_INPUT,
		               "%s must be a file of certificates in PEM form, each from " PEM_BEGIN
		               " to " PEM_END,
		               path);
	return CUTTLE_OK;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* libcurl tells nobody how long a body will be if it comes in chunks, so it is counted here. To
 * return another number than `size` ends the attempt. */
static size_t take_body(char *bytes, size_t one, size_t size, void *user) {
	struct remote *remote = user;
	(void)one;
	if (size > REMOTE_BODY - remote->body.used) remote->broken = "a body over 4 MiB";
	else if (!arena_append(&remote->body, bytes, size)) remote->no_memory = true;
	return remote->broken || remote->no_memory ? 0 : size;
}

static size_t take_header(char *bytes, size_t one, size_t size, void *user) {
	struct remote *remote = user;
	(void)bytes;
	(void)one;
	remote->header_bytes += size;
	if (remote->header_bytes > REMOTE_HEADERS) remote->broken = "headers over 64 KiB";
	return remote->broken ? 0 : size;
}

static bool is_stopped(const struct remote *remote) {
	return remote->events.stop && remote->events.stop(remote->events.user);
}

static int watch_transfer(void *user, curl_off_t to_come, curl_off_t came, curl_off_t to_go,
                          curl_off_t gone) {
	(void)to_come;
	(void)came;
	(void)to_go;
	(void)gone;
	return is_stopped(user);
}

/* Whether it may go well another time, by what libcurl says of the connection. */
static enum outcome judge_transfer(const struct remote *remote, CURLcode code) {
	switch (code) {
	case CURLE_OK:
		return OUTCOME_REPLY;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return OUTCOME_AGAIN;
	case CURLE_ABORTED_BY_CALLBACK:
		return OUTCOME_STOPPED;
	case CURLE_OUT_OF_MEMORY:
		return curl_starved ? OUTCOME_NOMEM : OUTCOME_FINAL;
	default:
		return remote->no_memory ? OUTCOME_NOMEM : OUTCOME_FINAL;
	}
}

static enum outcome judge_status(long http, bool quota) {
	switch (http) {
	case 200:
		return OUTCOME_REPLY;
	case 400: // a filter of contents, or a prompt that is too long
	case 413:
	case 422:
		return quota ? OUTCOME_FINAL : OUTCOME_REFUSED;
	case 429:
		return quota ? OUTCOME_FINAL : OUTCOME_AGAIN;
	case 408:
	case 500:
	case 502:
	case 503:
	case 504:
		return OUTCOME_AGAIN;
	default:
		return OUTCOME_FINAL;
	}
}

/* Sends the body once. For an outcome that is no reply, *why gets some words of ours, or the HTTP
 * status with the service's code. */
static enum outcome attempt_once(struct remote *remote, const char *body, size_t size,
                                 char why[128]) {
	remote->body.used = remote->header_bytes = 0;
	remote->broken = NULL;
	remote->no_memory = curl_starved = false;
	long http = 0;
	CURLcode code = libcurl.easy_setopt(remote->curl, CURLOPT_POSTFIELDS, body);
	if (!code)
		code = libcurl.easy_setopt(remote->curl, CURLOPT_POSTFIELDSIZE_LARGE,
		                           (curl_off_t)size);
	if (!code) code = libcurl.easy_perform(remote->curl);
	enum outcome outcome = judge_transfer(remote, code);
	if ((code == CURLE_OUT_OF_MEMORY && !curl_starved) || (int)code == TOO_LARGE)
		remote->broken = "a header over 100 KiB";
	(void)snprintf(why, 128, "%s",
	               remote->broken ? remote->broken : libcurl.easy_strerror(code));
	if (outcome != OUTCOME_REPLY) return outcome;
	(void)libcurl.easy_getinfo(remote->curl, CURLINFO_RESPONSE_CODE, &http);
	struct reply_problem problem = {.quota = false};
	if (http != 200) reply_explain(remote->body.bytes, remote->body.used, &problem);
	const bool shown = *problem.code && !repeats_key(remote, problem.code);
	(void)snprintf(why, 128, shown ? "HTTP %ld, %s" : "HTTP %ld", http, problem.code);
	return judge_status(http, problem.quota);
}

/* ---- again ----------------------------------------------------------------------------------- */

/* Seconds before attempt number `again` + 1 of a body, 1 being the first that is a retry. */
static double seconds_to_wait(const struct remote *remote, uint32_t again) {
	curl_off_t asked = 0;
	(void)libcurl.easy_getinfo(remote->curl, CURLINFO_RETRY_AFTER, &asked);
	if (asked > 0) return asked < REMOTE_WAIT_S ? (double)asked : REMOTE_WAIT_S;
	const double most = again > 6 ? REMOTE_WAIT_S : (double)(1u << (again - 1));
	return most * (0.5 + 0.5 * randombytes_random() / UINT32_MAX);
}

/* False: `stop` ended the wait. */
static bool wait_seconds(const struct remote *remote, double seconds) {
	if (remote->events.sleep) {
		remote->events.sleep(remote->events.user, seconds);
		return !is_stopped(remote);
	}
	for (double left = seconds * 1e6; left > 0; left -= SLEEP_SLICE) {
		if (is_stopped(remote)) return false;
		(void)usleep(SLEEP_SLICE);
	}
	return !is_stopped(remote);
}

/* Reserves an attempt and its tokens. PARTIAL: a cap is reached, and nothing was reserved. */
static enum cuttle_status reserve_attempt(struct remote *remote, size_t size,
                                          struct cuttle_error *error) {
	const struct remote_request *request = &remote->request;
	const uint64_t tokens = (uint64_t)size + request->max_tokens;
	if (request->max_requests && remote->attempts >= request->max_requests)
		return io_fail(error, CUTTLE_PARTIAL,
		               "all %ju requests are used up; the same command continues, with as "
		               "many again",
		               (uintmax_t)request->max_requests);
	// remote->tokens never exceeds the cap, so the difference is no negative number.
	if (request->max_tokens_total && tokens > request->max_tokens_total - remote->tokens)
		return io_fail(error, CUTTLE_PARTIAL,
		               "of %ju remote tokens too few are left for a request that may use "
		               "%ju. The same command continues, with as many again",
		               (uintmax_t)request->max_tokens_total, (uintmax_t)tokens);
	remote->attempts++;
	remote->tokens += tokens;
	return CUTTLE_OK;
}

static enum cuttle_status explain_end(enum outcome outcome, uint64_t attempts, const char *why,
                                      struct cuttle_error *error) {
	switch (outcome) {
	case OUTCOME_NOMEM:
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	case OUTCOME_STOPPED:
		return io_fail(error, CUTTLE_PARTIAL, "stopped; the same command continues");
	case OUTCOME_AGAIN:
		return io_fail(error, CUTTLE_PARTIAL,
		               "no reply of the remote model after %ju requests (%s); the same "
		               "command continues",
		               (uintmax_t)attempts, why);
	default:
		return io_fail(error, CUTTLE_REMOTE, "the remote model will not answer: %s", why);
	}
}

enum cuttle_status remote_send(struct remote *remote, const char *body, size_t size,
                               struct reply *reply, struct cuttle_error *error) {
	char why[128];
	*reply = (struct reply){0};
	for (uint32_t again = 0;; again++) {
		enum cuttle_status status = reserve_attempt(remote, size, error);
		if (status) return status;
		enum outcome outcome =
		    is_stopped(remote) ? OUTCOME_STOPPED : attempt_once(remote, body, size, why);
		if (outcome == OUTCOME_REPLY)
			return reply_parse(remote->body.bytes, remote->body.used,
			                   remote->request.api == REMOTE_CHAT, reply, error);
		if (outcome == OUTCOME_AGAIN && again < remote->request.retries) {
			if (wait_seconds(remote, seconds_to_wait(remote, again + 1))) continue;
			outcome = OUTCOME_STOPPED;
		}
		reply->refused = outcome == OUTCOME_REFUSED;
		return explain_end(outcome, (uint64_t)again + 1, why, error);
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes the list of headers. An empty one, such as "Expect:", is left out of what is sent. */
static bool list_headers(struct remote *remote) {
	char bearer[sizeof REMOTE_BEARER + REMOTE_KEY];
	(void)snprintf(bearer, sizeof bearer, "%s%s", REMOTE_BEARER, remote->key);
	const char *const lines[] = {REMOTE_AGENT, REMOTE_ACCEPT, REMOTE_TYPE,
	                             "Expect:", *remote->key ? bearer : "Authorization:"};
	bool listed = true;
	for (size_t i = 0; i < sizeof lines / sizeof *lines && listed; i++) {
		struct curl_slist *longer = libcurl.slist_append(remote->headers, lines[i]);
		listed = longer != NULL;
		if (listed) remote->headers = longer;
	}
	sodium_memzero(bearer, sizeof bearer);
	return listed;
}

static bool set_text(struct remote *remote, CURLoption option, const char *text) {
	return libcurl.easy_setopt(remote->curl, option, text) == CURLE_OK;
}

static bool set_number(struct remote *remote, CURLoption option, long number) {
	return libcurl.easy_setopt(remote->curl, option, number) == CURLE_OK;
}

/* Where to, and whom to believe there. */
static bool set_peer(struct remote *remote) {
	const struct remote_request *request = &remote->request;
	const bool secure = !strncmp(remote->url, "https:", 6);
	bool set = set_text(remote, CURLOPT_URL, remote->url) &&
	           set_text(remote, CURLOPT_PROTOCOLS_STR, secure ? "https" : "http") &&
	           set_number(remote, CURLOPT_FOLLOWLOCATION, 0) &&
	           set_number(remote, CURLOPT_SSL_VERIFYPEER, 1) &&
	           set_number(remote, CURLOPT_SSL_VERIFYHOST, 2) &&
	           set_number(remote, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
	           set_text(remote, CURLOPT_PROXY, request->proxy ? request->proxy : "") &&
	           set_text(remote, CURLOPT_NOPROXY, "") &&
	           set_number(remote, CURLOPT_HEADEROPT, CURLHEADER_SEPARATE) &&
	           set_number(remote, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
	           set_number(remote, CURLOPT_DISALLOW_USERNAME_IN_URL, 1);
	// The system's folder of certificates would be trusted beside the file.
	if (request->ca_file)
		set = set && set_text(remote, CURLOPT_CAINFO, request->ca_file) &&
		      set_text(remote, CURLOPT_CAPATH, NULL);
	return set;
}

/* What is sent, how long it may take, and how much may come back. */
static bool set_transfer(struct remote *remote) {
	// The header checks types where its own name is called; here these declarations do.
	const curl_write_callback body = take_body, header = take_header;
	const curl_xferinfo_callback watch = watch_transfer;
	// All of an attempt has timeout_s. To connect has less, so that one where nobody answers is
	// repeated soon.
	return set_number(remote, CURLOPT_POST, 1) &&
	       set_number(remote, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
	       set_number(remote, CURLOPT_NOSIGNAL, 1) &&
	       set_number(remote, CURLOPT_CONNECTTIMEOUT, REMOTE_CONNECT_S) &&
	       set_number(remote, CURLOPT_TIMEOUT, (long)remote->request.timeout_s) &&
	       set_number(remote, CURLOPT_NOPROGRESS, 0) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_HTTPHEADER, remote->headers) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_WRITEFUNCTION, body) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_WRITEDATA, remote) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_HEADERFUNCTION, header) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_HEADERDATA, remote) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_XFERINFOFUNCTION, watch) &&
	       !libcurl.easy_setopt(remote->curl, CURLOPT_XFERINFODATA, remote);
}

enum cuttle_status remote_open(const struct remote_request *request,
                               const struct remote_events *events, struct remote **remote,
                               struct cuttle_error *error) {
	*remote = NULL;
	enum cuttle_status status = remote_check(request, error);
	if (status) return status;
	if (request->ca_file) status = check_ca_file(request->ca_file, error);
	if (status) return status;
	struct remote *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->request = *request;
	if (events) made->events = *events;
	status = load_key(made, error);
	if (!status && sodium_init() < 0)
		status = io_fail(error, CUTTLE_INTERNAL, "libsodium cannot begin");
	if (!status) status = begin_curl(error);
	if (!status) {
		made->curl = libcurl.easy_init();
		made->url = remote_url(request);
		if (!made->curl || !made->url || !list_headers(made))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!status && !(set_peer(made) && set_transfer(made)))
		status = io_fail(error, CUTTLE_INTERNAL, "libcurl lacks what is needed here");
	if (status) remote_close(&made);
	*remote = made;
	return status;
}

void remote_close(struct remote **remote) {
	struct remote *old = *remote;
	if (!old) return;
	// Without a handle libcurl may not be loaded, and there is no list either.
	if (old->curl) {
		libcurl.easy_cleanup(old->curl);
		libcurl.slist_free_all(old->headers);
	}
	arena_free(&old->body);
	free(old->url);
	sodium_memzero(old, sizeof *old);
	free(old);
	*remote = NULL;
}
