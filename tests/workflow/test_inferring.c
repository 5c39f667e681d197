// SPDX-License-Identifier: Apache-2.0
// Tests workflow/infer with a tiny model, and a server on this machine in place of the remote
// one. It fails if a request depends on anything but perturbed words and public parameters; if a
// record has no request, or requests come in another order; if one is sent before all records are
// perturbed, or a text extended before all replies are there; if a word is drawn again or a reply
// asked for again after a failure, a stop or a kill; if a retry has other bytes; if what is shown
// is not what is sent; if the key is in a file; if the final texts lie open.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/tables/words_file.h"
#include "tests/support/files.h"
#include "tests/support/http_server.h"
#include "tests/support/tiny_model.h"
#include "workflow/infer.h"
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 4, WORDS = 6, PLACES = 5, TOKENS = 5, ROOM = 1 << 15, MOST_ANSWERS = 16 };
#define KEY "sk-Test_0123456789.abcdef"
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json"
#define BODY(text)                                                                                 \
	"{\"choices\":[{\"message\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}]}"

static char folder[] = "/tmp/cuttle-inferring-XXXXXX";
static struct setup_model opened;
static struct cuttle_error error;

/* ---- files ----------------------------------------------------------------------------------- */

static const char *path_of(const char *name) {
	static char paths[8][128];
	static size_t next;
	char *path = paths[next++ % 8];
	(void)snprintf(path, sizeof *paths, "%s/%s", folder, name);
	return path;
}

static void put_text(const char *name, const char *text) {
	files_put(path_of(name), text, strlen(text));
}

/* A file's bytes, with a NUL behind them: "" when it is absent. The caller frees them. */
static char *text_of_file(const char *name) {
	char *bytes = malloc(ROOM);
	assert_non_null(bytes);
	bytes[files_get(path_of(name), bytes, ROOM - 1)] = 0;
	return bytes;
}

static size_t lines_of(const char *name) {
	char *bytes = text_of_file(name);
	size_t lines = 0;
	for (const char *at = bytes; (at = strchr(at, '\n')); at++) lines++;
	free(bytes);
	return lines;
}

static bool stands(const char *name) {
	return access(path_of(name), F_OK) == 0;
}

static mode_t mode_of(const char *name) {
	struct stat info;
	assert_int_equal(stat(path_of(name), &info), 0);
	return info.st_mode & 0777;
}

/* All that a run with the output out.jsonl may write. */
static const char *const WRITTEN[] = {"out.jsonl",
                                      "out.perturbed.jsonl",
                                      "out.perturbed.receipt.json",
                                      "out.replies.jsonl",
                                      "out.replies.jsonl.key",
                                      "out.replies.jsonl.input",
                                      "out.perturbed.jsonl.journal",
                                      "out.perturbed.jsonl.journal.key",
                                      "out.perturbed.jsonl.run"};

static void remove_written(void) {
	for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++)
		(void)unlink(path_of(WRITTEN[i]));
}

/* ---- the run --------------------------------------------------------------------------------- */

/* What a run told: b and c begin (c: the texts were complete), w a perturbed text, s sending
 * begins, r a reply, x extending begins, f a final text. The run stops or dies when so many letters
 * of a kind were told. */
static char told[256];
static size_t told_count, kept_told;
static char end_letter; /* 0 = the run goes to its end */
static size_t end_after;
static bool end_kills;
static bool input_changes; /* when sending begins, to one record */
static char shown[ROOM];
static size_t shown_heads, shown_bodies;
static char *bodies[MOST_ANSWERS];
static struct http_server *server;

static bool is_time(void) {
	size_t count = 0;
	for (size_t i = 0; i < told_count; i++) count += told[i] == end_letter;
	return end_letter && count >= end_after;
}

static void note(char letter) {
	assert_true(told_count + 1 < sizeof told);
	told[told_count++] = letter;
	told[told_count] = 0;
	if (end_kills && is_time()) (void)raise(SIGKILL);
}

static void note_perturb(void *user, bool complete) {
	(void)user;
	note(complete ? 'c' : 'b');
}
static void ignore_reading(void *user, size_t text) {
	(void)user;
	(void)text;
}
static void ignore(void *user) {
	(void)user;
}
static void ignore_receipt(void *user, const char *receipt) {
	(void)user;
	(void)receipt;
}
static void note_word_text(void *user) {
	(void)user;
	note('w');
}
static bool ask_stop(void *user) {
	(void)user;
	return is_time();
}
static void note_send(void *user, size_t texts, size_t kept) {
	(void)user;
	assert_int_equal(texts, TEXTS);
	kept_told = kept;
	if (input_changes) put_text("in.jsonl", "{\"text\":\"Ann\"}\n");
	note('s');
}
static void note_reply(void *user) {
	(void)user;
	note('r');
}
static void keep_shown(void *user, const char *head, const char *body, size_t size) {
	(void)user;
	if (head) {
		(void)snprintf(shown, sizeof shown, "%s", head);
		shown_heads++;
	}
	assert_true(shown_bodies < MOST_ANSWERS);
	bodies[shown_bodies] = strndup(body, size);
	assert_int_equal(strlen(bodies[shown_bodies++]), size);
}
static void note_extend(void *user, size_t texts) {
	(void)user;
	assert_int_equal(texts, TEXTS);
	// All replies are there and on the disk, and there is no final text.
	assert_int_equal(lines_of("out.replies.jsonl"), 1 + TEXTS);
	assert_false(stands("out.jsonl"));
	note('x');
}
static void note_final(void *user) {
	(void)user;
	note('f');
}

static const struct run_events WORDS_TOLD = {.begin = note_perturb,
                                             .reading = ignore_reading,
                                             .token = ignore,
                                             .text = note_word_text,
                                             .stop = ask_stop,
                                             .end = ignore,
                                             .publish = ignore_receipt};
static const struct extract_events FINAL_TOLD = {
    .begin = note_extend, .text = note_final, .stop = ask_stop};
static const struct infer_events EVENTS = {.perturb = &WORDS_TOLD,
                                           .begin = note_send,
                                           .reply = note_reply,
                                           .stop = ask_stop,
                                           .show = keep_shown,
                                           .extract = &FINAL_TOLD};

static struct infer_request make_request(void) {
	static char endpoint[64], output[128], words[128], input[128];
	struct infer_request request;
	infer_default(&request);
	(void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u/v1",
	               server ? http_server_port(server) : 9u);
	(void)snprintf(output, sizeof output, "%s", path_of("out.jsonl"));
	(void)snprintf(words, sizeof words, "%s", path_of("w.cw"));
	(void)snprintf(input, sizeof input, "%s", path_of("in.jsonl"));
	request.perturb.words = words;
	request.perturb.common.input = input;
	request.perturb.params.near = 2;
	request.perturb.threads = 1;
	request.output = output;
	request.remote.endpoint = endpoint;
	request.remote.model = "far-1";
	request.remote.retries = 2;
	request.extract.params.tokens = TOKENS;
	request.extract.params.temperature = 0;
	return request;
}

static enum cuttle_status infer(const struct infer_request *request) {
	struct infer infer;
	told_count = shown_heads = shown_bodies = 0;
	told[0] = shown[0] = 0;
	enum cuttle_status status = infer_check(request, &error);
	if (!status) {
		status = infer_make(request, &opened, &infer, &error);
		if (!status) status = infer_run(&infer, &EVENTS, &error);
		infer_free(&infer);
	}
	return status;
}

/* Runs in another process, which may kill itself. Returns what waitpid tells. */
static int infer_apart(const struct infer_request *request) {
	int state;
	const pid_t child = fork();
	assert_true(child >= 0);
	if (!child) _exit((int)infer(request));
	assert_int_equal(waitpid(child, &state, 0), child);
	return state;
}

static void end_at(char letter, size_t after, bool kills) {
	end_letter = letter;
	end_after = after;
	end_kills = kills;
}

/* ---- the server ------------------------------------------------------------------------------ */

static struct http_answer answers[MOST_ANSWERS];

/* Serves so many answers of 200, and the last one from then on. The test may change them first. */
static void fill_answers(size_t count) {
	static const char *const texts[TEXTS] = {BODY("Once"), BODY("Then"), BODY(""),
	                                         BODY("At last")};
	for (size_t i = 0; i < count; i++)
		answers[i] = (struct http_answer){.head = HEAD, .body = texts[i % TEXTS]};
}
static void serve(size_t count) {
	server = http_server_start(answers, count);
}

static const char *request_of(size_t index) {
	size_t size;
	const char *bytes = http_server_request(server, index, &size);
	assert_int_equal(strlen(bytes), size);
	return bytes;
}
static const char *body_of(size_t index) {
	const char *end = strstr(request_of(index), "\r\n\r\n");
	assert_non_null(end);
	return end + 4;
}

static const char FOUR[] = "{\"text\":\"Ann Boe waited, Cid Dee ran.\"}\n"
                           "{\"text\":\"\"}\n"
                           "no JSON\n"
                           "{\"text\":\"Eve Fay: Gus, Hal.\"}\n";

/* ---- what leaves ----------------------------------------------------------------------------- */

/* Two inputs with other words, lengths and faults at the same places: with padding and the same
 * draws all requests are the same bytes. */
static void requests_follow_from_what_was_drawn(void **state) {
	(void)state;
	fill_answers(TEXTS);
	serve(TEXTS);
	struct infer_request request = make_request();
	request.perturb.params.insecure = true;
	request.perturb.params.insecure_seed = 5;
	request.perturb.pad = true;
	request.perturb.record_words = PLACES;
	put_text("in.jsonl", FOUR);
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), TEXTS);
	remove_written();
	put_text("in.jsonl", "{\"text\":\"\\ud800\"}\n"
	                     "{\"text\":\"Ivy Jon Kay Lea Mia Ned Oda Pia Quin\"}\n"
	                     "{\"text\":\"Ron\"}\n"
	                     "\n");
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), 2 * TEXTS);
	for (size_t i = 0; i < TEXTS; i++)
		assert_string_equal(request_of(i), request_of(TEXTS + i));
	remove_written();
	http_server_stop(&server);
}

/* Each request has its perturbed text within the instruction, in the order of the records, and no
 * raw word. A record without words has a request like any other. */
static void every_record_has_its_request(void **state) {
	(void)state;
	static const char *const raw[] = {"Ann", "Boe",  "waited", "Cid", "Dee", "ran",    "Eve",
	                                  "Fay", "Gus,", "Hal",    "ann", "boe", "no JSON"};
	fill_answers(TEXTS);
	serve(TEXTS);
	struct infer_request request = make_request();
	char instruction[128];
	(void)snprintf(instruction, sizeof instruction, "%s", path_of("asked"));
	put_text("asked", "Go on: <{text}>!");
	put_text("in.jsonl", FOUR);
	request.instruction = instruction;
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), TEXTS);
	char *perturbed = text_of_file("out.perturbed.jsonl"), *line = perturbed;
	for (size_t i = 0; i < TEXTS; i++) {
		char expected[512];
		char *text = strstr(line, "\"text\":\"");
		assert_non_null(text);
		text += strlen("\"text\":\"");
		(void)snprintf(
		    expected, sizeof expected,
		    "{\"model\":\"far-1\",\"messages\":[{\"role\":\"user\",\"content\":"
		    "\"Go on: <%.*s>!\"}],\"max_tokens\":150,\"temperature\":0.5,\"n\":1,"
		    "\"stream\":false}",
		    (int)strcspn(text, "\""), text);
		assert_string_equal(body_of(i), expected);
		for (size_t j = 0; j < sizeof raw / sizeof *raw; j++)
			assert_null(strstr(request_of(i), raw[j]));
		line = strchr(line, '\n') + 1;
	}
	assert_non_null(strstr(body_of(1), "<>"));
	assert_non_null(strstr(body_of(2), "<>"));
	free(perturbed);
	remove_written();
	http_server_stop(&server);
}

/* The head and bodies that are shown are those that leave afterwards, but for the key. */
static void what_is_shown_is_what_leaves(void **state) {
	(void)state;
	fill_answers(TEXTS);
	serve(TEXTS);
	put_text("in.jsonl", FOUR);
	struct infer_request request = make_request();
	request.show = true;
	assert_int_equal(setenv(REMOTE_VARIABLE, KEY, 1), 0);
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_string_equal(told, "bwwww");
	assert_int_equal(http_server_requests(server), 0);
	assert_int_equal(shown_heads, 1);
	assert_int_equal(shown_bodies, TEXTS);
	assert_null(strstr(shown, KEY));
	assert_false(stands("out.jsonl"));
	char *bodies_shown[TEXTS];
	memcpy(bodies_shown, bodies, sizeof bodies_shown);
	request.show = false;
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_string_equal(told, "csrrrrxffff");
	for (size_t i = 0; i < TEXTS; i++) {
		assert_string_equal(bodies_shown[i], body_of(i));
		assert_non_null(strstr(request_of(i), "\r\nAuthorization: Bearer " KEY "\r\n"));
		free(bodies_shown[i]);
	}
	for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++) {
		char *bytes = text_of_file(WRITTEN[i]);
		assert_null(strstr(bytes, KEY));
		free(bytes);
	}
	assert_int_equal(unsetenv(REMOTE_VARIABLE), 0);
	// Shown again, they are the same.
	request.show = true;
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_string_equal(told, "c");
	for (size_t i = 0; i < TEXTS; i++) {
		assert_string_equal(bodies[i], body_of(i));
		free(bodies[i]);
	}
	remove_written();
	http_server_stop(&server);
}

/* ---- the order of the phases ----------------------------------------------------------------- */

static atomic_size_t looks;

/* When request `index` has come, all records are perturbed, and all replies before it are kept. */
static void look_at_files(size_t index) {
	const bool right = stands("out.perturbed.jsonl") && stands("out.perturbed.receipt.json") &&
	                   !stands("out.perturbed.jsonl.journal") && !stands("out.jsonl") &&
	                   lines_of("out.perturbed.jsonl") == TEXTS &&
	                   lines_of("out.replies.jsonl") == 1 + index;
	if (right) atomic_fetch_add(&looks, 1);
}

static void phases_are_in_order(void **state) {
	(void)state;
	fill_answers(TEXTS);
	for (size_t i = 0; i < TEXTS; i++) answers[i].look = look_at_files;
	serve(TEXTS);
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_string_equal(told, "bwwwwsrrrrxffff");
	assert_int_equal(atomic_load(&looks), TEXTS);
	assert_int_equal(kept_told, 0);
	assert_int_equal(lines_of("out.jsonl"), TEXTS);
	assert_int_equal(mode_of("out.jsonl"), 0600);
	assert_int_equal(mode_of("out.replies.jsonl"), 0600);
	char *lines = text_of_file("out.jsonl");
	size_t stamps = 0;
	for (const char *at = lines; (at = strstr(at, "\"private\":true}\n")); at++) stamps++;
	assert_int_equal(stamps, TEXTS);
	free(lines);
	remove_written();
	http_server_stop(&server);
}

/* ---- failures, stops and kills --------------------------------------------------------------- */

/* The run goes on from `before`, the perturbed texts then: no word is drawn again. */
static void assert_goes_on(const struct infer_request *request, const char *before, size_t kept,
                           size_t requests) {
	assert_int_equal(infer(request), CUTTLE_OK);
	assert_int_equal(kept_told, kept);
	assert_int_equal(http_server_requests(server), requests);
	char *after = text_of_file("out.perturbed.jsonl");
	assert_string_equal(after, before);
	free(after);
	assert_int_equal(lines_of("out.jsonl"), TEXTS);
}

/* A retry has the bytes of the first attempt, whether there was an answer or none. */
static void retries_have_the_same_bytes(void **state) {
	(void)state;
	fill_answers(TEXTS + 2);
	answers[1] = (struct http_answer){.head = "HTTP/1.1 503 Busy"};
	answers[3].head = NULL;
	serve(TEXTS + 2);
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	assert_int_equal(infer(&request), CUTTLE_OK);
	assert_int_equal(http_server_requests(server), TEXTS + 2);
	assert_string_equal(request_of(1), request_of(2));
	assert_string_equal(request_of(3), request_of(4));
	assert_string_not_equal(request_of(0), request_of(1));
	remove_written();
	http_server_stop(&server);
}

/* What ends a run, and what is told. The replies before stand, and there is no final text. */
static void failures_keep_what_stands(void **state) {
	(void)state;
	static const struct {
		struct http_answer answer;
		uint64_t most; /* requests that the run may make; 0 = any */
		enum cuttle_status status;
		const char *says;
	} cases[] = {
	    {{.head = "HTTP/1.1 401 No", .body = "{\"error\":{\"code\":\"bad_key\"}}"},
	     0,
	     CUTTLE_REMOTE,
	     "bad_key"},
	    {{.head = "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:9/"},
	     0,
	     CUTTLE_REMOTE,
	     "302"},
	    {{.head = HEAD, .body = "{\"choices\":[]}"}, 0, CUTTLE_REMOTE, "reply"},
	    {{.head = "HTTP/1.1 503 Busy"}, 0, CUTTLE_PARTIAL, "503"},
	    {{.head = HEAD, .body = BODY("unused")}, 2, CUTTLE_PARTIAL, "2 requests are used up"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t asked = cases[i].most ? 2 : 3;
		fill_answers(asked + TEXTS - 2);
		if (!cases[i].most) answers[2] = cases[i].answer;
		serve(asked + TEXTS - 2);
		put_text("in.jsonl", FOUR);
		struct infer_request request = make_request();
		request.remote.retries = 0;
		request.remote.max_requests = cases[i].most;
		assert_int_equal(infer(&request), cases[i].status);
		assert_non_null(strstr(error.message, cases[i].says));
		assert_string_equal(told, "bwwwwsrr");
		assert_int_equal(http_server_requests(server), asked);
		assert_int_equal(lines_of("out.replies.jsonl"), 1 + 2);
		assert_false(stands("out.jsonl"));
		char *before = text_of_file("out.perturbed.jsonl");
		request.remote.retries = 5;
		assert_goes_on(&request, before, 2, asked + TEXTS - 2);
		assert_string_equal(told, "csrrxffff");
		if (asked == 3) assert_string_equal(request_of(2), request_of(3));
		free(before);
		remove_written();
		http_server_stop(&server);
	}
}

/* A stop in each phase: the same request goes on. What was told before is not told again. */
static void stopped_runs_go_on(void **state) {
	(void)state;
	static const struct {
		char letter;
		size_t after, kept;
		const char *told, *then;
	} stops[] = {{'s', 1, 0, "bwwwws", "csrrrrxffff"},
	             {'r', 1, 1, "bwwwwsr", "csrrrxffff"},
	             {'r', 3, 3, "bwwwwsrrr", "csrxffff"},
	             {'x', 1, 4, "bwwwwsrrrrx", "csxffff"}};
	put_text("in.jsonl", FOUR);
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
		fill_answers(TEXTS);
		serve(TEXTS);
		const struct infer_request request = make_request();
		end_at(stops[i].letter, stops[i].after, false);
		assert_int_equal(infer(&request), CUTTLE_PARTIAL);
		assert_string_equal(told, stops[i].told);
		assert_int_equal(http_server_requests(server), stops[i].kept);
		assert_false(stands("out.jsonl"));
		char *before = text_of_file("out.perturbed.jsonl");
		end_at(0, 0, false);
		assert_goes_on(&request, before, stops[i].kept, TEXTS);
		assert_string_equal(told, stops[i].then);
		free(before);
		remove_written();
		http_server_stop(&server);
	}
}

/* Whether `text` begins with the whole lines of `beginning`. */
static void assert_begins(const char *text, const char *beginning) {
	const char *last = strrchr(beginning, '\n');
	assert_non_null(last);
	assert_memory_equal(text, beginning, (size_t)(last + 1 - beginning));
}

/* Kills after each event, in one run after the other until one comes to its end. Every file only
 * grows, every reply is asked for once, and the texts are those of the first draw. */
static void killed_runs_go_on(void **state) {
	(void)state;
	static const struct {
		char letter;
		size_t after, replies;
	} kills[] = {{'w', 1, 0}, {'w', 2, 0}, {'s', 1, 0}, {'r', 1, 1},
	             {'r', 1, 2}, {'r', 2, 4}, {'x', 1, 4}, {'f', 2, 4}};
	fill_answers(TEXTS);
	serve(TEXTS);
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	char *journal = NULL, *perturbed = NULL, *replies = NULL;
	for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
		end_at(kills[i].letter, kills[i].after, true);
		const int ended = infer_apart(&request);
		assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
		assert_false(stands("out.jsonl"));
		assert_int_equal(http_server_requests(server), kills[i].replies);
		if (kills[i].letter == 'w') {
			char *now = text_of_file("out.perturbed.jsonl.journal");
			if (journal) assert_begins(now, journal);
			free(journal);
			journal = now;
			assert_false(stands("out.perturbed.jsonl"));
			continue;
		}
		char *now = text_of_file("out.perturbed.jsonl");
		if (perturbed) assert_string_equal(now, perturbed);
		free(perturbed);
		perturbed = now;
		now = text_of_file("out.replies.jsonl");
		if (replies && *replies) assert_begins(now, replies);
		free(replies);
		replies = now;
	}
	end_at(0, 0, false);
	assert_goes_on(&request, perturbed, TEXTS, TEXTS);
	free(journal);
	free(perturbed);
	free(replies);
	remove_written();
	http_server_stop(&server);
}

static atomic_int asking; /* process that is killed while it waits for an answer */

static void kill_who_asks(size_t index) {
	(void)index;
	while (!atomic_load(&asking)) (void)usleep(1000);
	(void)kill(atomic_load(&asking), SIGKILL);
}

/* A kill between a request and its reply: it is asked once more, by the same bytes. */
static void a_lost_reply_is_asked_for_again(void **state) {
	(void)state;
	int ended;
	fill_answers(TEXTS + 1);
	answers[1].look = kill_who_asks;
	serve(TEXTS + 1);
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	const pid_t child = fork();
	assert_true(child >= 0);
	if (!child) _exit((int)infer(&request));
	atomic_store(&asking, child);
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_true(WIFSIGNALED(ended));
	char *before = text_of_file("out.perturbed.jsonl");
	assert_goes_on(&request, before, 1, TEXTS + 1);
	assert_string_equal(request_of(1), request_of(2));
	free(before);
	remove_written();
	http_server_stop(&server);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Another input does not go on with a run: neither one that draws nor one that has drawn. */
static void another_input_is_refused(void **state) {
	(void)state;
	fill_answers(TEXTS);
	serve(TEXTS);
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	end_at('w', 1, true);
	assert_true(WIFSIGNALED(infer_apart(&request)));
	end_at(0, 0, false);
	put_text("in.jsonl", "{\"text\":\"Ann Boe waited, Cid Dee ran.\"}\n\n\n"
	                     "{\"text\":\"Eve Fay: Gus, Ida.\"}\n");
	assert_int_equal(infer(&request), CUTTLE_USAGE);
	assert_string_equal(told, "");
	put_text("in.jsonl", FOUR);
	end_at('x', 1, false);
	assert_int_equal(infer(&request), CUTTLE_PARTIAL);
	end_at(0, 0, false);
	// All is perturbed and asked for: another number of records, and as many with one other.
	for (int i = 0; i < 2; i++) {
		put_text("in.jsonl", i ? "{\"text\":\"Ann Boe waited, Cid Dee ran.\"}\n\n\n"
		                         "{\"text\":\"Eve Fay: Gus, Ida.\"}\n"
		                       : "{\"text\":\"Ann\"}\n");
		assert_int_equal(infer(&request), CUTTLE_USAGE);
		assert_string_equal(told, "");
		assert_false(stands("out.jsonl"));
		assert_int_equal(http_server_requests(server), TEXTS);
	}
	// It changes while the run goes on.
	put_text("in.jsonl", FOUR);
	input_changes = true;
	assert_int_equal(infer(&request), CUTTLE_INPUT);
	input_changes = false;
	assert_string_equal(told, "cs");
	assert_false(stands("out.jsonl"));
	put_text("in.jsonl", FOUR);
	assert_int_equal(infer(&request), CUTTLE_OK);
	remove_written();
	http_server_stop(&server);
}

/* Replies belong to the service and to the bytes that were sent. With `overwrite` others are asked
 * for; the words are not drawn again. */
static void replies_of_another_command(void **state) {
	(void)state;
	fill_answers(TEXTS);
	serve(TEXTS);
	put_text("in.jsonl", FOUR);
	put_text("asked", "Again: {text}");
	char instruction[128], elsewhere[64];
	(void)snprintf(instruction, sizeof instruction, "%s", path_of("asked"));
	struct infer_request request = make_request();
	assert_int_equal(infer(&request), CUTTLE_OK);
	char *before = text_of_file("out.perturbed.jsonl");
	(void)snprintf(elsewhere, sizeof elsewhere, "http://localhost:%u/v1",
	               http_server_port(server));
	for (int i = 0; i < 4; i++) {
		struct infer_request other = make_request();
		if (i == 0) other.instruction = instruction;
		else if (i == 1) other.remote.model = "far-2";
		else if (i == 2) other.remote.max_tokens = 149;
		else other.remote.endpoint = elsewhere;
		assert_int_equal(infer(&other), CUTTLE_USAGE);
		assert_string_equal(told, "c");
		assert_int_equal(http_server_requests(server), TEXTS);
	}
	request.instruction = instruction;
	request.perturb.common.overwrite = true;
	(void)unlink(path_of("out.jsonl"));
	assert_goes_on(&request, before, 0, 2 * TEXTS);
	assert_string_equal(told, "csrrrrxffff");
	free(before);
	remove_written();
	http_server_stop(&server);
}

/* An instruction has {text} once: without it nothing of the text would be asked. */
static void wrong_instructions(void **state) {
	(void)state;
	static const char *const wrong[] = {"", "Go on.", "{text} and {text}", "{Text}", "{text"};
	char instruction[128];
	(void)snprintf(instruction, sizeof instruction, "%s", path_of("asked"));
	put_text("in.jsonl", FOUR);
	struct infer_request request = make_request();
	request.instruction = instruction;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		put_text("asked", wrong[i]);
		assert_int_equal(infer(&request), CUTTLE_INPUT);
		assert_non_null(strstr(error.message, "{text} once"));
		assert_string_equal(told, "");
	}
	(void)unlink(instruction);
	assert_int_equal(infer(&request), CUTTLE_INPUT);
	assert_false(stands("out.perturbed.jsonl"));
}

/* A key that cannot be used is told before a word is drawn. */
static void wrong_keys(void **state) {
	(void)state;
	put_text("in.jsonl", FOUR);
	const struct infer_request request = make_request();
	assert_int_equal(setenv(REMOTE_VARIABLE, "two words", 1), 0);
	assert_int_equal(infer(&request), CUTTLE_USAGE);
	assert_string_equal(told, "");
	assert_int_equal(unsetenv(REMOTE_VARIABLE), 0);
	for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++)
		assert_false(stands(WRITTEN[i]));
}

static void paths_that_collide(void **state) {
	(void)state;
	char path[128];
	for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++) {
		(void)snprintf(path, sizeof path, "%s", path_of(WRITTEN[i]));
		for (int j = 0; j < 7; j++) {
			struct infer_request request = make_request();
			assert_int_equal(infer_check(&request, &error), CUTTLE_OK);
			if (j == 0) request.perturb.words = path;
			else if (j == 1)
				request.perturb.common.model = request.extract.model = path;
			else if (j == 2) request.perturb.common.input = path;
			else if (j == 3) request.instruction = path;
			else if (j == 4) request.extract.prompt = path;
			else if (j == 5) request.remote.key_file = path;
			else request.remote.ca_file = path;
			assert_int_equal(infer_check(&request, &error), CUTTLE_USAGE);
		}
	}
	struct infer_request request = make_request();
	request.perturb.common.input = "-";
	assert_int_equal(infer_check(&request, &error), CUTTLE_USAGE);
	request = make_request();
	request.output = "-";
	assert_int_equal(infer_check(&request, &error), CUTTLE_USAGE);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void write_words(void) {
	static const char *const words[WORDS] = {"cat", "dog", "cow", "car", "bus", "van"};
	float vectors[WORDS][2];
	struct cuttle_words_params params;
	struct cuttle_words *list;
	char sha256[HASH_TEXT];
	for (size_t i = 0; i < WORDS; i++) {
		vectors[i][0] = (float)cos(0.4 * (double)i);
		vectors[i][1] = (float)sin(0.4 * (double)i);
	}
	cuttle_words_params_default(&params);
	params.count = WORDS;
	params.width = 2;
	params.words = words;
	params.vectors = vectors[0];
	params.threads = 1;
	assert_int_equal(cuttle_words_make(&params, &list, &error), CUTTLE_OK);
	assert_int_equal(words_file_write(path_of("w.cw"), list, NULL, 0, sha256, &error),
	                 CUTTLE_OK);
	cuttle_words_free(&list);
}

static int prepare_infer(void **state) {
	(void)state;
	// A process that was forked has no other threads, so the model may not have any.
	struct cuttle_model_params params;
	cuttle_model_params_default(&params);
	params.threads = 1;
	size_t size;
	if (!mkdtemp(folder)) return -1;
	(void)unsetenv(REMOTE_VARIABLE);
	tiny_model_finite = true;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	files_put(path_of("m.gguf"), bytes, size);
	free(bytes);
	write_words();
	return setup_open(path_of("m.gguf"), &params, &opened, &error) ? -1 : 0;
}

static int remove_infer(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "w.cw", "asked"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(requests_follow_from_what_was_drawn),
	                                   cmocka_unit_test(every_record_has_its_request),
	                                   cmocka_unit_test(what_is_shown_is_what_leaves),
	                                   cmocka_unit_test(phases_are_in_order),
	                                   cmocka_unit_test(retries_have_the_same_bytes),
	                                   cmocka_unit_test(failures_keep_what_stands),
	                                   cmocka_unit_test(stopped_runs_go_on),
	                                   cmocka_unit_test(killed_runs_go_on),
	                                   cmocka_unit_test(a_lost_reply_is_asked_for_again),
	                                   cmocka_unit_test(another_input_is_refused),
	                                   cmocka_unit_test(replies_of_another_command),
	                                   cmocka_unit_test(wrong_instructions),
	                                   cmocka_unit_test(wrong_keys),
	                                   cmocka_unit_test(paths_that_collide)};
#ifndef CUTTLE_CURL
	(void)tests;
	(void)prepare_infer;
	(void)remove_infer;
	printf("skipped: cuttle was built without libcurl\n");
	return 0;
#else
	return cmocka_run_group_tests(tests, prepare_infer, remove_infer);
#endif
}
