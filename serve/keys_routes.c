// SPDX-License-Identifier: Apache-2.0
// Each change goes to the file of keys first, then the server reads it again: what holds is what
// the file says, as after SIGHUP.
#include "serve/keys_routes.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct jobs_caller get_admin(const struct http_call *call) {
	return (struct jobs_caller){.key = call->owner,
	                            .role = http_role_name(call->role),
	                            .address = call->address,
	                            .request = call->request};
}

static void refuse_keys(struct http_reply *reply, unsigned status, const char *code,
                        const char *message) {
	http_fail(reply, status, status < 500 ? "invalid_request_error" : "server_error", code,
	          NULL, "%s", message);
}

/* Takes what the file says now, and tells the trail that this caller changed the key `id`. The
 * reply is filled on failure. */
static bool take_keys(const struct keys_routes *routes, const struct http_call *call,
                      const char *id, struct http_reply *reply) {
	const struct jobs_caller admin = get_admin(call);
	struct cuttle_error error;
	enum cuttle_status status = keys_reload(routes->keys, &error);
	if (!status) http_keys_changed(*routes->http);
	if (!status && routes->jobs)
		status = jobs_note_keys(routes->jobs, routes->keys, &admin, id, &error);
	if (status == CUTTLE_PARTIAL)
		refuse_keys(reply, 507, "disk_full", "the server's disk is full");
	else if (status) refuse_keys(reply, 500, "internal", "the server could not do it");
	return !status;
}

void keys_read_again(struct keys_routes *routes) {
	struct cuttle_error error;
	(void)pthread_mutex_lock(&routes->changing);
	if (keys_reload(routes->keys, &error))
		fprintf(stderr, "cuttle serve: the keys stay as they were: %s\n", error.message);
	else http_keys_changed(*routes->http);
	// They are as they are, whether the trail can be told now or at the next change.
	if (routes->jobs && jobs_note_keys(routes->jobs, routes->keys, NULL, NULL, &error))
		fprintf(stderr, "cuttle serve: the audit trail lacks a change of keys: %s\n",
		        error.message);
	(void)pthread_mutex_unlock(&routes->changing);
}

/* ["notes"] of the key's data sets. */
static json_t *encode_datasets(const char *datasets) {
	json_t *list = json_array();
	for (const char *at = datasets; *at; at += strcspn(at, " "), at += *at == ' ')
		(void)json_array_append_new(list, json_stringn(at, strcspn(at, " ")));
	return list;
}

static json_t *encode_key(const struct keys_holder *holder) {
	return json_pack("{s:s,s:s,s:s,s:o,s:s}", "object", "key", "id", holder->id, "role",
	                 http_role_name(holder->role), "datasets",
	                 encode_datasets(holder->datasets), "mark", strchr(holder->owner, '#') + 1);
}

static void answer_keys(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct keys_routes *routes = user;
	struct keys_holder holder;
	json_t *data = json_array();
	(void)call;
	for (size_t i = 0; keys_at(routes->keys, i, &holder); i++)
		(void)json_array_append_new(data, encode_key(&holder));
	http_json(reply, 200, json_pack("{s:s,s:o}", "object", "list", "data", data));
}

/* Reads {"id":..,"role":..,"datasets":[..]}. NULL: it is one; else what is wrong. */
static const char *read_new_key(const json_t *body, const char **id, enum http_role *role,
                                char datasets[KEYS_DATASETS]) {
	const char *name = json_string_value(json_object_get(body, "role"));
	const json_t *list = json_object_get(body, "datasets");
	const size_t known = 2 + (list != NULL);
	*id = json_string_value(json_object_get(body, "id"));
	*datasets = 0;
	if (json_object_size(body) != known) return "the members are id, role and datasets";
	if (!*id) return "id must be a string";
	if (!name || !http_role_find(name, role))
		return "role must be use, officer, metrics or admin";
	if (list && (!json_is_array(list) || !json_array_size(list)))
		return "datasets must be a list of names";
	if (list && (*role == HTTP_METRICS || *role == HTTP_ADMIN))
		return "datasets are for the roles use and officer";
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *dataset = json_string_value(json_array_get(list, i));
		if (!dataset || !keys_add_dataset(datasets, dataset))
			return "datasets must be a list of names, not too many of them";
	}
	return NULL;
}

/* Makes the key; its text is read back from a file that is in memory alone. */
static bool make_new_key(const struct keys_routes *routes, const char *id, enum http_role role,
                         const char *datasets, char text[KEYS_TOKEN + 1],
                         struct http_reply *reply) {
	struct cuttle_error error;
	const int file = memfd_create("key", MFD_CLOEXEC);
	if (file < 0) {
		refuse_keys(reply, 500, "internal", "the server could not do it");
		return false;
	}
	const enum cuttle_status status =
	    keys_make(keys_place(routes->keys), id, role, datasets, file, &error);
	const ssize_t got = status ? 0 : pread(file, text, KEYS_TOKEN, 0);
	(void)close(file);
	// The line names a file of the server, which is the operator's to know.
	if (status == CUTTLE_USAGE)
		refuse_keys(
		    reply, 400, "invalid_value",
		    "the ID is taken, or none: 1 to 32 of a-z, digits and '-'; or there are too "
		    "many keys");
	else if (status || got < 2)
		refuse_keys(reply, 500, "internal",
		            "the server cannot write its file of keys: its operator can");
	if (status || got < 2) return false;
	text[got - 1] = 0; // in place of the newline
	return true;
}

static void answer_new_key(void *user, const struct http_call *call, struct http_reply *reply) {
	struct keys_routes *routes = user;
	const char *id;
	enum http_role role;
	char datasets[KEYS_DATASETS], text[KEYS_TOKEN + 1];
	const char *wrong = read_new_key(call->body, &id, &role, datasets);
	if (wrong) {
		refuse_keys(reply, 400, "invalid_value", wrong);
		return;
	}
	(void)pthread_mutex_lock(&routes->changing);
	const bool made = make_new_key(routes, id, role, datasets, text, reply);
	const bool told = made && take_keys(routes, call, id, reply);
	(void)pthread_mutex_unlock(&routes->changing);
	if (told)
		http_json(reply, 201,
		          json_pack("{s:s,s:s,s:s,s:o,s:s}", "object", "key", "id", id, "role",
		                    http_role_name(role), "datasets", encode_datasets(datasets),
		                    "key", text));
	if (made) sodium_memzero(text, sizeof text);
}

static void answer_drop(void *user, const struct http_call *call, struct http_reply *reply) {
	struct keys_routes *routes = user;
	struct cuttle_error error;
	bool found;
	(void)pthread_mutex_lock(&routes->changing);
	if (keys_drop(keys_place(routes->keys), call->id, &found, &error))
		refuse_keys(reply, 500, "internal",
		            "the server cannot write its file of keys: its operator can");
	// A line that somebody took out of the file by hand may hold here still.
	else if (take_keys(routes, call, call->id, reply)) {
		if (found) http_bytes(reply, 204, NULL, "", 0);
		else refuse_keys(reply, 404, "not_found", "there is no such key");
	}
	(void)pthread_mutex_unlock(&routes->changing);
}

static const struct http_route ROUTES[] = {
    {.method = "GET", .pattern = "/v1/keys", .role = HTTP_ADMIN, .answer = answer_keys},
    {.method = "POST",
     .pattern = "/v1/keys",
     .role = HTTP_ADMIN,
     .body = HTTP_BODY_JSON,
     .pace = HTTP_WAITING,
     .answer = answer_new_key},
    {.method = "DELETE",
     .pattern = "/v1/keys/{id}",
     .role = HTTP_ADMIN,
     .pace = HTTP_WAITING,
     .answer = answer_drop},
};

struct http_table keys_table(struct keys_routes *routes) {
	return (struct http_table){
	    .routes = ROUTES, .count = sizeof ROUTES / sizeof *ROUTES, .user = routes};
}
