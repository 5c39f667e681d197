// SPDX-License-Identifier: Apache-2.0
// http_state.c: what the server says of itself: /health, /ready and /metrics.
//
// This table stands before the others. All of it is on the HTTP thread. No private data: counts of
// requests, and what the other tables add.
#include "serve/http/http_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct http_metrics {
	FILE *out;
};

void http_metric(struct http_metrics *metrics, const char *name, const char *labels, double value) {
	fprintf(metrics->out, "cuttle_%s%s%s%s %.17g\n", name, labels ? "{" : "",
	        labels ? labels : "", labels ? "}" : "", value);
}

void http_count(struct http_server *server, const struct http_route *route, unsigned code) {
	for (size_t i = 0; i < server->count_number; i++)
		if (server->counts[i].route == route && server->counts[i].code == code) {
			server->counts[i].count++;
			return;
		}
	struct http_count *const grown =
	    reallocarray(server->counts, server->count_number + 1, sizeof *server->counts);
	if (!grown) return;
	server->counts = grown;
	grown[server->count_number++] = (struct http_count){route, code, 1};
}

static void answer_health(void *user, const struct http_call *call, struct http_reply *reply) {
	(void)user;
	(void)call;
	static const char body[] = "{\"status\":\"ok\"}\n";
	http_bytes(reply, 200, "application/json", body, sizeof body - 1);
}

static void answer_ready(void *user, const struct http_call *call, struct http_reply *reply) {
	const struct http_server *server = user;
	const char *state = NULL;
	json_t *parts = json_object();
	(void)call;
	for (size_t i = 1; i < server->table_count; i++) {
		const struct http_table *table = &server->tables[i];
		const char *word = table->ready ? table->ready(table->user, parts) : NULL;
		if (!state) state = word;
	}
	if (state) http_add(reply, "Retry-After", "10");
	(void)json_object_set_new(parts, "status", json_string(state ? state : "ok"));
	http_json(reply, state ? 503 : 200, parts);
}

/* Kilobytes of memory that the process has in use now; 0 = the system does not say. */
static double count_resident(void) {
	unsigned long all, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file) return 0;
	if (fscanf(file, "%lu %lu", &all, &resident) != 2) resident = 0;
	(void)fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void answer_metrics(void *user, const struct http_call *call, struct http_reply *reply) {
	struct http_server *const server = user;
	char *text = NULL;
	size_t size;
	struct http_metrics metrics = {open_memstream(&text, &size)};
	(void)call;
	if (!metrics.out) {
		http_json(reply, 500, NULL);
		return;
	}
	for (size_t i = 0; i < server->count_number; i++) {
		const struct http_count *count = &server->counts[i];
		char labels[160];
		(void)snprintf(labels, sizeof labels, "route=\"%s %s\",code=\"%u\"",
		               count->route ? count->route->method : "-",
		               count->route ? count->route->pattern : "-", count->code);
		http_metric(&metrics, "requests_total", labels, (double)count->count);
	}
	http_metric(&metrics, "streams", NULL, (double)streams_count(server->streams));
	http_metric(&metrics, "resident_bytes", NULL, count_resident());
	for (size_t i = 1; i < server->table_count; i++)
		if (server->tables[i].metrics)
			server->tables[i].metrics(server->tables[i].user, &metrics);
	if (fclose(metrics.out) == 0)
		http_bytes(reply, 200, "text/plain; version=0.0.4", text, size);
	else http_json(reply, 500, NULL);
	free(text);
}

static const struct http_route ROUTES[] = {
    {.method = "GET", .pattern = "/health", .answer = answer_health},
    {.method = "GET", .pattern = "/ready", .answer = answer_ready},
    {.method = "GET", .pattern = "/metrics", .role = HTTP_METRICS, .answer = answer_metrics},
};

const struct http_table http_state_table = {.routes = ROUTES,
                                            .count = sizeof ROUTES / sizeof *ROUTES};
