// SPDX-License-Identifier: Apache-2.0
// From a request to a completer, and from there to an output. See extracting.h. While the engine
// writes it calls the functions below that begin with show_, write_ or ask_.
#include "workflow/extracting.h"

#include "io/fail.h"
#include "io/formats.h"
#include "io/jsonout.h"
#include "io/output.h"
#include "io/paths.h"
#include "io/secrecy.h"
#include "workflow/setup.h"
#include <stdlib.h>
#include <string.h>

#define NO_REPLY SIZE_MAX

/* At it a small model goes on; greedily it soon says the same again and again. */
static const double EXTRACTING_TEMPERATURE = 0.5;

void extracting_default(struct extracting_request *request) {
	*request = (struct extracting_request){.text_field = "text"};
	cuttle_complete_params_default(&request->params);
	request->params.temperature = EXTRACTING_TEMPERATURE;
}

enum cuttle_status extracting_check(const struct extracting_request *request,
                                    struct cuttle_error *error) {
	const struct cuttle_complete_params *params = &request->params;
	const char *fault = common_chat_fault(params->chat_format, params->system, params->form);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

static struct records_request request_documents(const struct extracting_request *request) {
	return (struct records_request){.path = request->input,
	                                .field = request->text_field,
	                                .format = request->input_format,
	                                .delimiter = request->delimiter,
	                                .limit = SIZE_MAX};
}

enum cuttle_status extracting_paths(const struct extracting_request *request,
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

enum cuttle_status extracting_make(const struct extracting_request *request,
                                   struct cuttle_model *model, struct extracting *extracting,
                                   struct cuttle_error *error) {
	struct cuttle_complete_params params = request->params;
	*extracting = (struct extracting){0};
	if (request->prompt) {
		const enum cuttle_status status =
		    setup_prompt(request->prompt, &extracting->prompt, error);
		if (status) return status;
		params.prompt = extracting->prompt;
	}
	return cuttle_completer_make(model, &params, &extracting->completer, error);
}

void extracting_free(struct extracting *extracting) {
	cuttle_completer_free(&extracting->completer);
	free(extracting->prompt);
	extracting->prompt = NULL;
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Bytes of a text that a prompt can show, at most. */
static size_t count_shown_bytes(const struct extracting *extracting) {
	struct cuttle_completion_limits limits;
	cuttle_completer_describe(extracting->completer, &limits);
	return limits.room_bytes;
}

enum cuttle_status extracting_documents(const struct extracting_request *request,
                                        const struct extracting *extracting,
                                        struct records **documents, struct cuttle_error *error) {
	struct records_request wanted = request_documents(request);
	wanted.most = count_shown_bytes(extracting);
	*documents = NULL;
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	if (!status) status = records_read(&wanted, documents, error);
	if (status) return status;
	if (request->lock) records_lock(*documents);
	return records_count(*documents)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s holds no record", file_shown(request->input));
}

/* The replies of a file, and which of them belongs to each document. */
struct extracting_replies {
	struct records *records;
	size_t *of; /* [documents] number of its reply, or NO_REPLY */
};

static void give_reply(void *user, size_t index, const char **text, size_t *size) {
	const struct extracting_replies *replies = user;
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
static enum cuttle_status match_replies(struct extracting_replies *replies, size_t documents,
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
static enum cuttle_status read_replies(const struct extracting_request *request,
                                       const struct extracting *extracting, size_t documents,
                                       struct extracting_replies *replies,
                                       struct cuttle_error *error) {
	const struct records_request wanted = {.path = request->replies,
	                                       .field = "text",
	                                       .id_field = "index",
	                                       .format = RECORDS_JSONL,
	                                       .limit = documents + 1,
	                                       .most = count_shown_bytes(extracting)};
	const enum cuttle_status status = records_read(&wanted, &replies->records, error);
	if (status) return status;
	if (request->lock) records_lock(replies->records);
	replies->of = calloc(documents, sizeof *replies->of);
	if (!replies->of) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return match_replies(replies, documents, file_shown(request->replies), error);
}

/* ---- what is written ------------------------------------------------------------------------- */

struct extracting_state {
	const struct records *documents;
	const struct extracting_notes *notes;
	const struct extracting_events *events;
	struct sink sink;
	enum cuttle_status problem; /* of writing a line */
	struct cuttle_error *error; /* what it was */
};

static void show_document(void *user, size_t text, struct cuttle_shown *shown) {
	const struct extracting_state *state = user;
	shown->document = records_text(state->documents, text, &shown->document_size);
	state->notes->give(state->notes->user, text, &shown->notes, &shown->notes_size);
}

/* Writes the line of a text. Its bytes are private: they are wiped. */
static int write_extracted(void *user, const struct cuttle_text *text) {
	struct extracting_state *state = user;
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
	const struct extracting_state *state = user;
	(void)progress;
	return state->events->stop(state->events->user);
}

static enum cuttle_status write_texts(const struct extracting *extracting,
                                      struct extracting_state *state, struct cuttle_error *error) {
	struct cuttle_complete_job job;
	struct cuttle_error told;
	cuttle_complete_job_default(&job);
	job.texts = records_count(state->documents);
	job.user = state;
	job.show = show_document;
	job.text = write_extracted;
	job.progress = ask_to_stop;
	const enum cuttle_status status = cuttle_completer_run(extracting->completer, &job, &told);
	if (status != CUTTLE_PARTIAL) {
		if (status && error) *error = told;
		return status;
	}
	// The line that could not be written has said why.
	if (state->problem) return state->problem;
	return io_fail(error, CUTTLE_PARTIAL,
	               "stopped, and nothing is kept; the same command begins again");
}

enum cuttle_status
extracting_write(const struct extracting_request *request, const struct extracting *extracting,
                 const struct records *documents, const struct extracting_notes *notes,
                 const struct extracting_events *events, struct cuttle_error *error) {
	struct extracting_state state = {
	    .documents = documents, .notes = notes, .events = events, .error = error};
	enum cuttle_status status = sink_open_private(&state.sink, request->output, error);
	if (status) return status;
	events->begin(events->user, records_count(documents));
	status = write_texts(extracting, &state, error);
	return sink_close(&state.sink, status, error);
}

enum cuttle_status extracting_run(const struct extracting_request *request,
                                  const struct extracting *extracting,
                                  const struct extracting_events *events,
                                  struct cuttle_error *error) {
	struct records *documents = NULL;
	struct extracting_replies replies = {0};
	const struct extracting_notes notes = {give_reply, &replies};
	enum cuttle_status status = extracting_documents(request, extracting, &documents, error);
	if (!status)
		status =
		    read_replies(request, extracting, records_count(documents), &replies, error);
	if (!status)
		status = extracting_write(request, extracting, documents, &notes, events, error);
	free(replies.of);
	records_free(&replies.records);
	records_free(&documents);
	return status;
}
