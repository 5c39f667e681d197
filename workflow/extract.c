// SPDX-License-Identifier: Apache-2.0
// From a request to a completer, and from there to an output. See extract.h. While the engine
// writes it calls the functions below that begin with show_, write_ or ask_.
#include "workflow/extract.h"

#include "io/disk/fail.h"
#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/output/output.h"
#include "io/disk/paths.h"
#include "io/disk/secrecy.h"
#include "workflow/setup.h"
#include <stdlib.h>
#include <string.h>

#define NO_REPLY SIZE_MAX

/* At it a small model goes on; greedily it soon says the same again and again. */
static const double EXTRACT_TEMPERATURE = 0.5;

void extract_default(struct extract_request *request) {
	*request = (struct extract_request){.text_field = "text"};
	cuttle_complete_params_default(&request->params);
	request->params.temperature = EXTRACT_TEMPERATURE;
}

enum cuttle_status extract_check(const struct extract_request *request,
                                 struct cuttle_error *error) {
	const struct cuttle_complete_params *params = &request->params;
	const char *fault = common_chat_fault(params->chat_format, params->system, params->form);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

static struct records_request request_documents(const struct extract_request *request) {
	return (struct records_request){.path = request->input,
	                                .field = request->text_field,
	                                .format = request->input_format,
	                                .delimiter = request->delimiter,
	                                .limit = SIZE_MAX};
}

enum cuttle_status extract_paths(const struct extract_request *request,
                                 struct cuttle_error *error) {
	const struct path_use uses[] = {
	    PATH_ALONE("-m", request->model, PATH_MODEL),
	    PATH_ALONE("-i", request->input, PATH_STREAM),
	    PATH_ALONE("--replies", request->replies, PATH_STREAM),
	    PATH_ALONE("--prompt", request->prompt, PATH_STREAM),
	    PATH_ALONE("-o", request->output, PATH_OUTPUT),
	};
	const struct records_request documents = request_documents(request);
	enum cuttle_status status = paths_check(uses, sizeof uses / sizeof *uses, error);
	if (!status && request->output) status = formats_check_lines("-o", request->output, error);
	return status ? status : records_check_name(&documents, error);
}

enum cuttle_status extract_make(const struct extract_request *request, struct cuttle_model *model,
                                struct extract *extract, struct cuttle_error *error) {
	struct cuttle_complete_params params = request->params;
	*extract = (struct extract){0};
	if (request->prompt) {
		const enum cuttle_status status =
		    setup_prompt(request->prompt, &extract->prompt, error);
		if (status) return status;
		params.prompt = extract->prompt;
	}
	return cuttle_completer_make(model, &params, &extract->completer, error);
}

void extract_free(struct extract *extract) {
	cuttle_completer_free(&extract->completer);
	free(extract->prompt);
	extract->prompt = NULL;
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Bytes of a text that a prompt can show, at most. */
static size_t count_shown_bytes(const struct extract *extract) {
	struct cuttle_completion_limits limits;
	cuttle_completer_describe(extract->completer, &limits);
	return limits.room_bytes;
}

enum cuttle_status extract_documents(const struct extract_request *request,
                                     const struct extract *extract, struct records **documents,
                                     struct cuttle_error *error) {
	struct records_request wanted = request_documents(request);
	wanted.most = count_shown_bytes(extract);
	*documents = NULL;
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	if (!status) status = records_read(&wanted, documents, error);
	if (!status) status = records_need_field(&wanted, *documents, "--text-field", error);
	if (status) return status;
	if (request->lock) records_lock(*documents);
	return records_count(*documents)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s holds no record", file_shown(request->input));
}

/* The replies of a file, and which of them belongs to each document. */
struct extract_replies {
	struct records *records;
	size_t *of; /* [documents] number of its reply, or NO_REPLY */
};

static void give_reply(void *user, size_t index, const char **text, size_t *size) {
	const struct extract_replies *replies = user;
	*text = NULL;
	*size = 0;
	if (replies->of[index] != NO_REPLY)
		*text = records_text(replies->records, replies->of[index], size);
}

/* The number that an id spells in digits alone; SIZE_MAX: it spells none. */
static size_t read_reply_index(const char *id, size_t size) {
	size_t value = 0;
	for (size_t i = 0; i < size; i++)
		if (id[i] < '0' || id[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (size_t)(id[i] - '0'), &value))
			return SIZE_MAX;
	return size ? value : SIZE_MAX;
}

/* Finds the reply of each document. Replies are no secret, so a wrong one is named. */
static enum cuttle_status match_replies(struct extract_replies *replies, size_t documents,
                                        const char *path, struct cuttle_error *error) {
	const size_t count = records_count(replies->records);
	size_t indexed = 0, size;
	if (count > documents)
		return io_fail(error, CUTTLE_INPUT, "%s holds more replies than the %zu documents",
		               path, documents);
	for (size_t i = 0; i < count; i++)
		indexed += records_id(replies->records, i, &size) != NULL;
	for (size_t i = 0; i < documents; i++)
		replies->of[i] = indexed || i >= count ? NO_REPLY : i;
	for (size_t i = 0; i < count && indexed; i++) {
		const char *id = records_id(replies->records, i, &size);
		const size_t index = id ? read_reply_index(id, size) : SIZE_MAX;
		if (!id)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: line %zu has no index, but other lines have one", path,
			               i + 1);
		if (index >= documents)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: the index in line %zu must be a number from 0 to %zu",
			               path, i + 1, documents - 1);
		if (replies->of[index] != NO_REPLY)
			return io_fail(error, CUTTLE_INPUT,
			               "%s: line %zu has an index that stands there before", path,
			               i + 1);
		replies->of[index] = i;
	}
	return CUTTLE_OK;
}

/* Reads at most one reply more than there are documents, and of each what a prompt can show. */
static enum cuttle_status read_replies(const struct extract_request *request,
                                       const struct extract *extract, size_t documents,
                                       struct extract_replies *replies,
                                       struct cuttle_error *error) {
	const struct records_request wanted = {.path = request->replies,
	                                       .field = "text",
	                                       .id_field = "index",
	                                       .format = RECORDS_JSONL,
	                                       .limit = documents + 1,
	                                       .most = count_shown_bytes(extract)};
	const enum cuttle_status status = records_read(&wanted, &replies->records, error);
	if (status) return status;
	if (request->lock) records_lock(replies->records);
	replies->of = calloc(documents, sizeof *replies->of);
	if (!replies->of) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return match_replies(replies, documents, file_shown(request->replies), error);
}

/* ---- what is written ------------------------------------------------------------------------- */

struct extract_state {
	const struct records *documents;
	const struct extract_notes *notes;
	const struct extract_events *events;
	struct sink sink;
	enum cuttle_status problem; /* of writing a line */
	struct cuttle_error *error; /* what it was */
};

static void show_document(void *user, size_t text, struct cuttle_shown *shown) {
	const struct extract_state *state = user;
	shown->document = records_text(state->documents, text, &shown->document_size);
	state->notes->give(state->notes->user, text, &shown->notes, &shown->notes_size);
}

/* Writes the line of a text. Its bytes are private: they are wiped. */
static int write_extracted(void *user, const struct cuttle_text *text) {
	struct extract_state *state = user;
	size_t size;
	json_t *object =
	    json_pack("{s:I, s:s%, s:s, s:b}", "index", (json_int_t)text->index, "text", text->text,
	              text->size, "finish", output_finish(text->finish), "private", 1);
	char *line = jsonout_dump(object, JSON_COMPACT, &size);
	state->problem = line ? sink_write(&state->sink, line, size, state->error)
	                      : io_fail(state->error, CUTTLE_NOMEM, "out of memory");
	secrecy_free(line);
	if (state->problem) return 1;
	state->events->text(state->events->user);
	return 0;
}

static int ask_to_stop(void *user, const struct cuttle_progress *progress) {
	const struct extract_state *state = user;
	(void)progress;
	return state->events->stop(state->events->user);
}

static enum cuttle_status write_texts(const struct extract *extract, struct extract_state *state,
                                      struct cuttle_error *error) {
	struct cuttle_complete_job job;
	struct cuttle_error told;
	cuttle_complete_job_default(&job);
	job.texts = records_count(state->documents);
	job.user = state;
	job.show = show_document;
	job.text = write_extracted;
	job.progress = ask_to_stop;
	const enum cuttle_status status = cuttle_completer_run(extract->completer, &job, &told);
	if (status != CUTTLE_PARTIAL) {
		if (status && error) *error = told;
		return status;
	}
	// The line that could not be written has said why.
	if (state->problem) return state->problem;
	return io_fail(error, CUTTLE_PARTIAL,
	               "stopped, and nothing is kept; the same command begins again");
}

enum cuttle_status extract_write(const struct extract_request *request,
                                 const struct extract *extract, const struct records *documents,
                                 const struct extract_notes *notes,
                                 const struct extract_events *events, struct cuttle_error *error) {
	struct extract_state state = {
	    .documents = documents, .notes = notes, .events = events, .error = error};
	enum cuttle_status status = sink_open_private(&state.sink, request->output, error);
	if (status) return status;
	events->begin(events->user, records_count(documents));
	status = write_texts(extract, &state, error);
	return sink_close(&state.sink, status, error);
}

enum cuttle_status extract_run(const struct extract_request *request, const struct extract *extract,
                               const struct extract_events *events, struct cuttle_error *error) {
	struct records *documents = NULL;
	struct extract_replies replies = {0};
	const struct extract_notes notes = {give_reply, &replies};
	enum cuttle_status status = extract_documents(request, extract, &documents, error);
	if (!status)
		status = read_replies(request, extract, records_count(documents), &replies, error);
	if (!status) status = extract_write(request, extract, documents, &notes, events, error);
	free(replies.of);
	records_free(&replies.records);
	records_free(&documents);
	return status;
}
