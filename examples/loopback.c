// SPDX-License-Identifier: Apache-2.0
// loopback.c: a model of this machine answers as a remote service would, for tries of cuttle infer.
//
// It listens on 127.0.0.1 alone and answers one request after the other, in the shape of chat
// completions: POST .../chat/completions, JSON in, JSON out. It prints what it is asked: that is
// what a remote service sees. It is an example of cuttle_completer_run, not a server for a network:
// it knows no keys and no encryption.
// Usage: loopback MODEL.gguf PORT-FILE [SEED]
// The file gets the port, once requests are answered. With a seed, question i is answered by draws
// from SEED + i, so that a measurement can be repeated.
#include "engine/cuttle.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	REQUEST_BYTES = 1 << 20, /* of a request with its headers, at most */
	DEFAULT_TOKENS = 100,    /* of an answer, where the request has no max_tokens */
	MOST_TOKENS = 1024
};

/* Reads one request: headers, an empty line, and as many bytes as Content-Length says. Returns the
 * body within `bytes`, ended by a NUL; NULL: it is none that we take. */
static char *read_request(int client, char *bytes) {
	size_t size = 0, wanted = 0;
	char *body = NULL;
	for (;;) {
		const ssize_t got = read(client, bytes + size, REQUEST_BYTES - size);
		if (got <= 0) return NULL;
		size += (size_t)got;
		bytes[size] = 0;
		if (!body) {
			char *end = strstr(bytes, "\r\n\r\n");
			const char *length = strcasestr(bytes, "\r\nContent-Length:");
			if (end && (!length || length > end)) return NULL;
			if (!end) {
				if (size == REQUEST_BYTES) return NULL;
				continue;
			}
			body = end + 4;
			wanted = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
			if (wanted > REQUEST_BYTES - (size_t)(body - bytes)) return NULL;
		}
		if (size >= (size_t)(body - bytes) + wanted) {
			body[wanted] = 0;
			return body;
		}
	}
}

/* The text of the last message of a chat, or NULL. */
static const char *find_question(const json_t *request) {
	const json_t *messages = json_object_get(request, "messages");
	const size_t count = json_array_size(messages);
	if (count == 0) return NULL;
	return json_string_value(json_object_get(json_array_get(messages, count - 1), "content"));
}

struct answer {
	const char *question;
	json_t *text;
	const char *finish;
	uint32_t tokens;
};

static void show_question(void *user, size_t text, struct cuttle_shown *shown) {
	(void)text;
	const struct answer *answer = user;
	*shown = (struct cuttle_shown){.document = answer->question,
	                               .document_size = strlen(answer->question)};
}

static int keep_answer(void *user, const struct cuttle_text *text) {
	struct answer *answer = user;
	// A tiny model may write NUL bytes, with which no reply is a text.
	answer->text = json_stringn(text->text, strnlen(text->text, text->size));
	answer->finish = text->finish == CUTTLE_FINISH_LENGTH ? "length" : "stop";
	answer->tokens = text->tokens;
	return answer->text == NULL;
}

/* What all answers come from. */
struct server {
	struct cuttle_model *model;
	bool seeded;   /* answers are drawn from the seed */
	uint64_t seed; /* of the next answer */
};

static enum cuttle_status answer_question(struct server *server, const json_t *request,
                                          struct answer *answer, struct cuttle_error *error) {
	struct cuttle_complete_params params;
	struct cuttle_complete_job job;
	struct cuttle_completer *completer = NULL;
	cuttle_complete_params_default(&params);
	params.prompt = "{document}";
	params.stop_at_blank = false;
	params.temperature = json_number_value(json_object_get(request, "temperature"));
	const json_int_t tokens = json_integer_value(json_object_get(request, "max_tokens"));
	params.tokens = tokens > 0 && tokens <= MOST_TOKENS ? (uint32_t)tokens : DEFAULT_TOKENS;
	params.insecure = server->seeded;
	params.insecure_seed = server->seed++;
	enum cuttle_status status =
	    cuttle_completer_make(server->model, &params, &completer, error);
	if (!status) {
		cuttle_complete_job_default(&job);
		job.texts = 1;
		job.user = answer;
		job.show = show_question;
		job.text = keep_answer;
		status = cuttle_completer_run(completer, &job, error);
	}
	cuttle_completer_free(&completer);
	return status;
}

static void send_answer(int client, const char *status, json_t *root) {
	char *body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	if (body)
		dprintf(client,
		        "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: "
		        "%zu\r\nConnection: close\r\n\r\n%s",
		        status, strlen(body), body);
	free(body);
	json_decref(root);
}

static void refuse_request(int client, const char *status, const char *code) {
	send_answer(client, status, json_pack("{s:{s:s}}", "error", "code", code));
}

static void serve_client(struct server *server, int client, char *bytes) {
	struct cuttle_error error;
	struct answer answer = {0};
	char *body = read_request(client, bytes);
	json_t *request = body ? json_loads(body, 0, NULL) : NULL;
	answer.question = find_question(request);
	if (strncmp(bytes, "POST ", 5) != 0 || !answer.question) {
		refuse_request(client, "400 Bad Request", "no_question");
	} else {
		printf("--- the remote service was asked: ---\n%s\n", answer.question);
		fflush(stdout);
		if (answer_question(server, request, &answer, &error))
			refuse_request(client, "500 Internal Server Error", "no_answer");
		else
			send_answer(client, "200 OK",
			            json_pack("{s:s,s:[{s:i,s:{s:s,s:o},s:s}],s:{s:i}}", "object",
			                      "chat.completion", "choices", "index", 0, "message",
			                      "role", "assistant", "content", answer.text,
			                      "finish_reason", answer.finish, "usage",
			                      "completion_tokens", (int)answer.tokens));
	}
	json_decref(request);
}

/* Listens on a port of 127.0.0.1 that the system chooses. Returns the socket, or -1. */
static int listen_on_loopback(uint16_t *port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof address;
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) ||
	    listen(listener, 8) || getsockname(listener, (struct sockaddr *)&address, &size))
		return -1;
	*port = ntohs(address.sin_port);
	return listener;
}

static bool write_port(const char *path, uint16_t port) {
	FILE *file = fopen(path, "w");
	if (!file) return false;
	fprintf(file, "%u\n", (unsigned)port);
	return fclose(file) == 0;
}

int main(int argc, char **argv) {
	struct cuttle_error error;
	struct server server = {.seeded = argc == 4};
	uint16_t port;
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: loopback MODEL.gguf PORT-FILE [SEED]\n");
		return CUTTLE_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	const int listener = listen_on_loopback(&port);
	char *bytes = calloc(1, REQUEST_BYTES + 1);
	if (listener < 0 || !bytes) {
		perror("loopback");
		return 1;
	}
	if (cuttle_model_open(argv[1], NULL, &server.model, &error)) {
		fprintf(stderr, "loopback: %s\n", error.message);
		return 1;
	}
	if (server.seeded) server.seed = strtoull(argv[3], NULL, 10);
	if (!write_port(argv[2], port)) {
		perror(argv[2]);
		return 1;
	}
	for (;;) {
		const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0) continue;
		serve_client(&server, client, bytes);
		close(client);
	}
}
