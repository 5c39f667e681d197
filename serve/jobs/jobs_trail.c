// SPDX-License-Identifier: Apache-2.0
// Entries of the trail, and the steps that they are part of: serve/jobs/jobs_trail.h has the order
// and why.
#include "serve/jobs/jobs_trail.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include "serve/http/keys.h"
#include "serve/jobs/trail_check.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MARK_FILE = 2 * MARK_KEY + 1, /* bytes of STATE/trail.key: hex digits and a newline */
	MARK_LEAST = 64 << 10         /* bytes that a small upload is said to have at most */
};

/* ---- the keyed hash -------------------------------------------------------------------------- */

static enum cuttle_status make_mark_key(const char *path, struct cuttle_error *error) {
	unsigned char key[MARK_KEY];
	char text[MARK_FILE];
	struct sink sink;
	randombytes_buf(key, sizeof key);
	(void)sodium_bin2hex(text, sizeof text, key, sizeof key);
	text[MARK_FILE - 1] = '\n';
	enum cuttle_status status = sink_open_private(&sink, path, error);
	if (!status) status = sink_close(&sink, sink_write(&sink, text, sizeof text, error), error);
	sodium_memzero(key, sizeof key);
	sodium_memzero(text, sizeof text);
	return status;
}

/* Reads STATE/trail.key, which is made where there is none. */
static enum cuttle_status open_mark_key(struct jobs *jobs, struct cuttle_error *error) {
	char *path, *text = NULL;
	size_t size = 0, bytes = 0;
	if (asprintf(&path, "%s/trail.key", jobs->options.state) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status =
	    access(path, F_OK) != 0 ? make_mark_key(path, error) : CUTTLE_OK;
	if (!status) status = file_read_secret(path, MARK_FILE, &text, &size, error);
	if (!status && (size != MARK_FILE ||
	                sodium_hex2bin(jobs->mark_key, MARK_KEY, text, MARK_FILE - 1, NULL, &bytes,
	                               NULL) != 0 ||
	                bytes != MARK_KEY))
		status =
		    io_fail(error, CUTTLE_INPUT, "%s is not %d hex digits", path, MARK_FILE - 1);
	if (text) sodium_memzero(text, size);
	free(text);
	free(path);
	return status;
}

void jobs_mark_begin(const struct jobs *jobs, struct jobs_mark *mark) {
	mark->size = 0;
	(void)crypto_auth_hmacsha256_init(&mark->state, jobs->mark_key, MARK_KEY);
}

void jobs_mark_add(struct jobs_mark *mark, const void *bytes, size_t size) {
	mark->size += size;
	(void)crypto_auth_hmacsha256_update(&mark->state, bytes, size);
}

json_t *jobs_mark_end(struct jobs_mark *mark, bool kept) {
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	char text[2 * sizeof hash + 1];
	uint64_t most = MARK_LEAST;
	(void)crypto_auth_hmacsha256_final(&mark->state, hash);
	(void)sodium_bin2hex(text, sizeof text, hash, sizeof hash);
	while (most < mark->size) most *= 2;
	return json_pack("{s:s,s:I,s:b}", "hmac_sha256", text, "bytes_at_most", (json_int_t)most,
	                 "kept", kept);
}

void jobs_who_keep(struct jobs_who *who, const struct jobs_caller *caller) {
	(void)snprintf(who->key, sizeof who->key, "%s", caller->key);
	(void)snprintf(who->address, JOBS_ADDRESS, "%s", caller->address ? caller->address : "");
	(void)snprintf(who->request, JOBS_REQUEST, "%s", caller->request ? caller->request : "");
	who->caller = *caller;
	who->caller.key = who->key;
	who->caller.approval = NULL;
	who->caller.role = caller->role; // a word of http_role_name
	who->caller.datasets = NULL;
	who->caller.address = who->address;
	who->caller.request = who->request;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* "2026-11-27T21:26:22Z", or null. */
static json_t *encode_time(bool told) {
	char text[32];
	const time_t now = time(NULL);
	struct tm parts;
	if (!told || !gmtime_r(&now, &parts)) return json_null();
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return json_string(text);
}

/* Who has asked, and from where. */
static json_t *add_caller(json_t *entry, const struct jobs_caller *caller) {
	if (!caller) return jsonout_extend(entry, &(struct jsonout_member){"key", json_null()}, 1);
	const struct jsonout_member members[] = {
	    {"key", json_stringn(caller->key, strcspn(caller->key, "#"))},
	    {"role", json_string(caller->role      ? caller->role
	                         : caller->officer ? "officer"
	                                           : "use")},
	    {"address", json_string(caller->address ? caller->address : "")},
	    {"request", json_string(caller->request ? caller->request : "")}};
	return jsonout_extend(entry, members, sizeof members / sizeof *members);
}

static json_t *add_job(json_t *entry, const struct job *job) {
	const struct jsonout_member members[] = {
	    {"job", json_string(job->row.id)},
	    {"type", json_string(job->row.type)},
	    {"dataset", json_string(job->row.dataset)},
	    {"owner", json_stringn(job->row.owner, strcspn(job->row.owner, "#"))}};
	return jsonout_extend(entry, members, sizeof members / sizeof *members);
}

/* The members of an entry. Takes event->more. NULL: no memory. */
static json_t *encode_event(const struct jobs_event *event) {
	// What a begin or an end of the server, or a change of its keys, took is no private time.
	const bool timed = event->caller || !event->job;
	const struct jsonout_member first[] = {{"time", encode_time(timed)},
	                                       {"event", json_string(event->name)}};
	json_t *entry = add_caller(jsonout_extend(json_object(), first, 2), event->caller);
	if (event->job) entry = add_job(entry, event->job);
	if (entry && event->more && json_object_update(entry, event->more) != 0) {
		json_decref(entry);
		entry = NULL;
	}
	json_decref(event->more);
	return entry;
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct lines {
	char *text; /* [size] owned */
	size_t size;
	int64_t last; /* number of the last one; at first of the trail's last */
};

static enum cuttle_status collect_unwritten(void *user, const struct store_entry *entry) {
	struct lines *lines = user;
	const size_t size = strlen(entry->line);
	// The list may not know yet that the trail has it.
	if (entry->number <= lines->last) return CUTTLE_OK;
	char *grown = realloc(lines->text, lines->size + size);
	if (!grown) return CUTTLE_NOMEM;
	memcpy(grown + lines->size, entry->line, size);
	lines->text = grown;
	lines->size += size;
	lines->last = entry->number;
	return CUTTLE_OK;
}

/* Appends what the list has and the trail has not. */
static enum cuttle_status write_trail(struct jobs *jobs, struct cuttle_error *error) {
	struct lines lines = {.last = (int64_t)jobs->in_trail};
	enum cuttle_status status = store_trail_walk(jobs->store, collect_unwritten, &lines, error);
	if (!status && lines.size)
		status = trail_append(jobs->trail, lines.text, lines.size, error);
	free(lines.text);
	jobs->stuck = status != CUTTLE_OK;
	if (status) return status;
	jobs->behind = false;
	jobs->in_trail = (uint64_t)lines.last;
	// Where this cannot be noted, it is with the next entry, or by the next server.
	if (lines.size) (void)store_trail_written(jobs->store, lines.last, NULL);
	struct cuttle_error why;
	if (trail_copy_add(&jobs->copy, jobs->trail_path, &why))
		fprintf(stderr, "cuttle serve: %s\n", why.message);
	return CUTTLE_OK;
}

enum cuttle_status jobs_trail_begin(struct jobs *jobs, struct cuttle_error *error) {
	enum cuttle_status status = jobs->behind ? write_trail(jobs, error) : CUTTLE_OK;
	jobs->telling = jobs->told;
	return status ? status : store_begin(jobs->store, error);
}

enum cuttle_status jobs_trail_add(struct jobs *jobs, const struct jobs_event *event,
                                  struct cuttle_error *error) {
	size_t size;
	char *line = trail_line(&jobs->telling, encode_event(event), jobs->signer, &size);
	if (!line) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status =
	    store_trail_add(jobs->store, (int64_t)jobs->telling.number, line, error);
	free(line);
	return status;
}

enum cuttle_status jobs_trail_end(struct jobs *jobs, enum cuttle_status status,
                                  struct cuttle_error *error) {
	struct cuttle_error why;
	status = store_end(jobs->store, status, error);
	if (status) return status;
	jobs->told = jobs->telling;
	jobs->behind = true;
	if (write_trail(jobs, &why))
		fprintf(stderr, "cuttle serve: nothing more is done until this is: %s\n",
		        why.message);
	return CUTTLE_OK;
}

enum cuttle_status jobs_trail_tell(struct jobs *jobs, const struct jobs_event *event,
                                   struct cuttle_error *error) {
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (status) {
		json_decref(event->more);
		return status;
	}
	status = jobs_trail_add(jobs, event, error);
	return jobs_trail_end(jobs, status, error);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* The trail was put back: what the list knows of it counts no more. */
static enum cuttle_status tell_restored(struct jobs *jobs, const struct trail_head *lost,
                                        struct cuttle_error *error) {
	const struct jobs_event event = {.name = "trail_restored",
	                                 .more = json_pack("{s:I,s:s}", "known_entries",
	                                                   (json_int_t)lost->number, "known_hash",
	                                                   lost->hash)};
	return jobs_trail_tell(jobs, &event, error);
}

static enum cuttle_status find_told(void *user, const struct store_entry *entry) {
	struct trail_head *head = user;
	head->number = (uint64_t)entry->number;
	(void)trail_hash(entry->line, strlen(entry->line), head->hash);
	return CUTTLE_OK;
}

/* Reads the trail as it is, where the options say that it was put back. *lost is what the list
 * knew. */
static enum cuttle_status read_restored(struct jobs *jobs, const char *path,
                                        struct trail_check *check, struct trail_head *lost,
                                        struct cuttle_error *error) {
	enum cuttle_status status = store_trail_walk(jobs->store, find_told, lost, error);
	if (!status) status = trail_check(path, NULL, NULL, NULL, check, error);
	return status ? status : store_trail_forget(jobs->store, error);
}

enum cuttle_status jobs_trail_open(struct jobs *jobs, struct cuttle_error *error) {
	struct trail_check check;
	struct cuttle_error why;
	struct trail_head lost = trail_none();
	bool restored = false;
	enum cuttle_status status = open_mark_key(jobs, error);
	if (status) return status;
	if (asprintf(&jobs->trail_path, "%s/trail.jsonl", jobs->options.state) < 0) {
		jobs->trail_path = NULL;
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	const char *const path = jobs->trail_path;
	status = trail_check(path, NULL, jobs->store, NULL, &check, &why);
	if (status == CUTTLE_LEDGER && jobs->options.trail_restored) {
		restored = true;
		status = read_restored(jobs, path, &check, &lost, &why);
	}
	if (status == CUTTLE_LEDGER)
		status = io_fail(error, status,
		                 "%s. Put the newest copy there, or move it away; then begin once "
		                 "with --trail-restored",
		                 why.message);
	else if (status) (void)io_fail(error, status, "%s", why.message);
	if (!status) {
		jobs->told = check.end.head;
		jobs->in_trail = check.end.head.number - check.waiting_count;
		jobs->behind = true;
		status = trail_open(path, check.end.size, &jobs->trail, error);
		trail_check_free(&check);
	}
	if (!status) status = trail_copy_open(jobs->options.trail_copy, path, &jobs->copy, error);
	if (!status) status = write_trail(jobs, error);
	if (!status && restored) status = tell_restored(jobs, &lost, error);
	return status;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Who changed which key: of what is told of others nobody knows who. */
struct key_change {
	const struct jobs_caller *caller;
	const char *id;
};

/* Tells of a key, and keeps what was told. `may` NULL: it is gone. */
static enum cuttle_status tell_trail_key(struct jobs *jobs, const struct key_change *change,
                                         const char *name, const char *owner, const char *may,
                                         struct cuttle_error *error) {
	const char *mark = strchr(owner, '#');
	const size_t size = strcspn(owner, "#");
	const bool theirs =
	    change->id && strlen(change->id) == size && !memcmp(change->id, owner, size);
	const struct jobs_event event = {.name = name,
	                                 .caller = theirs ? change->caller : NULL,
	                                 .more = json_pack("{s:o,s:s,s:s?}", "subject",
	                                                   json_stringn(owner, size), "mark",
	                                                   mark ? mark + 1 : "", "may", may)};
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (status) {
		json_decref(event.more);
		return status;
	}
	status = jobs_trail_add(jobs, &event, error);
	if (!status) status = store_key_put(jobs->store, owner, may, error);
	return jobs_trail_end(jobs, status, error);
}

static enum cuttle_status collect_key(void *user, const char *owner, const char *may) {
	return json_object_set_new(user, owner, json_string(may)) ? CUTTLE_NOMEM : CUTTLE_OK;
}

/* Tells what is new of the keys there are, and takes them out of `told`. */
static enum cuttle_status tell_new_keys(struct jobs *jobs, const struct key_change *change,
                                        struct keys *keys, json_t *told,
                                        struct cuttle_error *error) {
	struct keys_holder holder;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && keys && keys_at(keys, i, &holder); i++) {
		const char *before = json_string_value(json_object_get(told, holder.owner));
		char may[KEYS_DATASETS + 16];
		(void)snprintf(may, sizeof may, "%s%s%s", http_role_name(holder.role),
		               *holder.datasets ? " " : "", holder.datasets);
		if (!before || strcmp(before, may) != 0)
			status = tell_trail_key(jobs, change, before ? "key_change" : "key_add",
			                        holder.owner, may, error);
		(void)json_object_del(told, holder.owner);
	}
	return status;
}

enum cuttle_status jobs_note_keys(struct jobs *jobs, struct keys *keys,
                                  const struct jobs_caller *caller, const char *changed,
                                  struct cuttle_error *error) {
	const struct key_change change = {caller, changed};
	json_t *told = json_object();
	const char *owner;
	const json_t *may;
	(void)pthread_mutex_lock(&jobs->lock);
	enum cuttle_status status =
	    told ? store_key_walk(jobs->store, collect_key, told, error) : CUTTLE_NOMEM;
	if (status == CUTTLE_NOMEM) (void)io_fail(error, status, "out of memory");
	if (!status) status = tell_new_keys(jobs, &change, keys, told, error);
	json_object_foreach(told, owner, may) if (!status) status =
	    tell_trail_key(jobs, &change, "key_remove", owner, NULL, error);
	(void)pthread_mutex_unlock(&jobs->lock);
	json_decref(told);
	return status;
}

void jobs_trail_close(struct jobs *jobs) {
	trail_close(&jobs->trail);
	free(jobs->trail_path);
	sodium_memzero(jobs->mark_key, sizeof jobs->mark_key);
}
