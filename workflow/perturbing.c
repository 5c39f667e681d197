// SPDX-License-Identifier: Apache-2.0
// From a request to a perturber and its receipt, and from there to an output.
//
// A record is cut twice. The first time its places are drawn and journalled, block after block; of
// a continued run those that the journal has are passed over, never drawn again. The second time
// the ids become a text. Example, padded to 4: "Ann fell" has the places ann, fell, null, null.
#include "workflow/perturbing.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/arena.h"
#include "io/binding.h"
#include "io/fail.h"
#include "io/jsonout.h"
#include "io/paths.h"
#include "io/secrecy.h"
#include "io/split.h"
#include "io/word_list.h"
#include "io/words_file.h"
#include "workflow/delivery.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	/* Places that are drawn at once. */
	BLOCK = 256,
	/* A record without places is journalled as one token, V + EMPTY. So every record has one,
	 * as the journal wants it. */
	EMPTY = CUTTLE_OUTPUT_DROPPED + 1,
	/* Bytes that are kept of a record with N words: N times the first, at least the second. */
	RECORD_WORD = 64,
	RECORD_LEAST = 1 << 14
};

/* ---- the request ----------------------------------------------------------------------------- */

void perturbing_default(struct perturbing_request *request) {
	*request = (struct perturbing_request){.text_field = "text", .now = (uint64_t)time(NULL)};
	cuttle_perturb_params_default(&request->params);
}

static const char *name_perturbing_fault(const struct perturbing_request *request) {
	const enum cuttle_word_method method = request->params.method;
	if (request->pad && !request->record_words) return "--pad needs -N WORDS";
	if (request->pad && (request->keep_punctuation || request->keep_numbers))
		return "--pad hides how many words there are, and --keep shows it: give one of "
		       "them";
	if (request->ledger && (method != CUTTLE_RANK || !request->pad))
		return "a ledger counts proven guarantees only: --method rank with -N WORDS --pad";
	if (!request->sensitive != (method != CUTTLE_SANTEXT_PLUS))
		return "--sensitive FILE and --method santext+ go together";
	if (!request->stop_words != (method != CUTTLE_CUSTEXT_PLUS))
		return "--stop-words FILE and --method custext+ go together";
	const char *fault = request_dataset_fault(request->ledger, request->dataset);
	if (fault) return fault;
	if (request->unit_key && !utf8_name(request->unit_key, strlen(request->unit_key)))
		return "--unit-key: must be 1 to 128 bytes";
	if (request->id_field && !utf8_name(request->id_field, strlen(request->id_field)))
		return "--id-field: must be 1 to 128 bytes";
	return request_sign_fault(request->sign, request->receipt, request->output);
}

enum cuttle_status perturbing_check(const struct perturbing_request *request,
                                    struct cuttle_error *error) {
	const char *fault = name_perturbing_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

static struct records_request records_of(const struct perturbing_request *request) {
	size_t most = (size_t)request->record_words * RECORD_WORD;
	if (most < RECORD_LEAST) most = RECORD_LEAST;
	return (struct records_request){.path = request->input,
	                                .field = request->text_field,
	                                .id_field = request->id_field,
	                                .format = request->input_format,
	                                .delimiter = request->delimiter,
	                                .limit = SIZE_MAX,
	                                .labels = &request->unit_key,
	                                .label_count = request->unit_key ? 1 : 0,
	                                .most = request->record_words ? most : 0};
}

/* What the method is told beforehand must not come from the records: it goes out in every text. */
static enum cuttle_status refuse_own_words(const struct perturbing_request *request,
                                           struct cuttle_error *error) {
	const struct {
		const char *option, *path;
	} lists[] = {{"--words", request->words},
	             {"--sensitive", request->sensitive},
	             {"--stop-words", request->stop_words}};
	for (size_t i = 0; request->input && i < sizeof lists / sizeof *lists; i++)
		if (lists[i].path && file_same(lists[i].path, request->input))
			return io_fail(error, CUTTLE_USAGE,
			               "%s and -i are the same file: a list of words must be "
			               "public, and not made from the records",
			               lists[i].option);
	return CUTTLE_OK;
}

enum cuttle_status perturbing_paths(const struct perturbing_request *request,
                                    struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status =
	    request_receipt_beside(request->output, request->receipt, &receipt, error);
	if (status) return status;
	const struct path_use uses[] = {
	    PATH_ALONE("--words", request->words, PATH_FILE),
	    PATH_ALONE("-m", request->model, PATH_MODEL),
	    PATH_ALONE("--sensitive", request->sensitive, PATH_FILE),
	    PATH_ALONE("--stop-words", request->stop_words, PATH_FILE),
	    PATH_ALONE("-i", request->input, PATH_STREAM),
	    PATH_ALONE("--sign", request->sign, PATH_FILE),
	    {"--ledger", request->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o", request->output, PATH_OUTPUT, receipt, {".journal", ".journal.key", ".run"}},
	    PATH_ALONE("--receipt", request->receipt, PATH_RECORD),
	};
	const struct records_request records = records_of(request);
	status = paths_check(uses, sizeof uses / sizeof *uses, error);
	free(receipt);
	if (!status) status = refuse_own_words(request, error);
	return !status && records.path ? records_check_name(&records, error) : status;
}

/* ---- what is made from it -------------------------------------------------------------------- */

/* Reads the lists, makes the perturber, and keeps the hashes of what it read. */
static enum cuttle_status make_perturber(const struct perturbing_request *request,
                                         struct cuttle_model *model, struct perturbing *perturbing,
                                         struct cuttle_error *error) {
	struct cuttle_perturb_params params = request->params;
	struct word_receipt *receipt = &perturbing->receipt;
	struct word_list sensitive = {0}, stop = {0};
	enum cuttle_status status = CUTTLE_OK;
	if (request->sensitive)
		status = word_list_read(request->sensitive, &sensitive, receipt->sensitive_sha256,
		                        error);
	if (!status && request->stop_words)
		status =
		    word_list_read(request->stop_words, &stop, receipt->stop_words_sha256, error);
	params.sensitive = sensitive.words;
	params.sensitive_count = sensitive.count;
	params.stop_words = stop.words;
	params.stop_word_count = stop.count;
	if (!status)
		status = cuttle_perturber_make(perturbing->words, model, &params,
		                               &perturbing->perturber, error);
	word_list_free(&sensitive);
	word_list_free(&stop);
	return status;
}

/* OK, or why the model cannot serve these words. */
static enum cuttle_status check_pieces(const struct perturbing *perturbing,
                                       const struct setup_model *opened,
                                       struct cuttle_error *error) {
	const char *wanted = cuttle_words_model_sha256(perturbing->words);
	return !opened || !strcmp(wanted, opened->sha256)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT,
	                     "-m is not the model that the words were made from (its hash is not "
	                     "%.16s...)",
	                     wanted);
}

static enum cuttle_status set_word_receipt(const struct perturbing_request *request,
                                           const struct setup_model *opened,
                                           struct perturbing *perturbing,
                                           struct cuttle_error *error) {
	static const char *const formats[] = {"auto", "jsonl", "csv"};
	struct word_receipt *receipt = &perturbing->receipt;
	const enum cuttle_status status = cuttle_perturber_describe(
	    perturbing->perturber, request->pad ? request->record_words : 0, &receipt->guarantee,
	    error);
	if (status) return status;
	receipt->params = request->params;
	receipt->record_words = request->record_words;
	receipt->pad = request->pad;
	receipt->keep_punctuation = request->keep_punctuation;
	receipt->keep_numbers = request->keep_numbers;
	receipt->vector = cuttle_words_width(perturbing->words);
	receipt->isa = cuttle_isa();
	receipt->id_field = request->id_field;
	receipt->unit_key = request->unit_key;
	receipt->dataset = request->dataset;
	receipt->signer = perturbing->signer;
	if (opened) {
		cuttle_model_describe(opened->model, &perturbing->model);
		receipt->model_name = perturbing->model.name;
		receipt->model_bytes = perturbing->model.file_bytes;
		memcpy(receipt->model_sha256, opened->sha256, HASH_TEXT);
	}
	const struct word_command command = {
	    .input = request->input ? request->input : "",
	    .text_field = request->text_field,
	    .input_format = formats[request->input_format],
	    .delimiter = request->delimiter,
	    .insecure_seed = request->params.insecure ? request->params.insecure_seed : UINT64_MAX};
	if (!word_receipt_fingerprint(receipt, &command, perturbing->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->now, receipt->date, error);
}

enum cuttle_status perturbing_make(const struct perturbing_request *request,
                                   const struct setup_model *opened, struct perturbing *perturbing,
                                   struct cuttle_error *error) {
	memset(perturbing, 0, sizeof *perturbing);
	enum cuttle_status status =
	    words_file_read(request->words, request->threads, &perturbing->words,
	                    perturbing->receipt.words_sha256, error);
	// Words of other vectors have no use for a model, which the environment may name.
	if (!status && !*cuttle_words_model_sha256(perturbing->words)) opened = NULL;
	if (!status) status = check_pieces(perturbing, opened, error);
	if (!status && request->sign)
		status = signature_open(request->sign, &perturbing->signer, error);
	if (!status)
		status = make_perturber(request, opened ? opened->model : NULL, perturbing, error);
	return status ? status : set_word_receipt(request, opened, perturbing, error);
}

void perturbing_free(struct perturbing *perturbing) {
	cuttle_perturber_free(&perturbing->perturber);
	cuttle_words_free(&perturbing->words);
	signature_close(&perturbing->signer);
}

/* ---- the records ----------------------------------------------------------------------------- */

static enum cuttle_status read_perturbing(const struct perturbing_request *request,
                                          struct perturbing *perturbing, struct records **records,
                                          struct cuttle_error *error) {
	const struct records_request wanted = records_of(request);
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	if (!status) status = records_read(&wanted, records, error);
	if (status) return status;
	if (request->lock) records_lock(*records);
	perturbing->receipt.records = records_count(*records);
	return perturbing->receipt.records
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT, "%s: there is no record in it",
	                     file_shown(request->input));
}

enum cuttle_status perturbing_count(const struct perturbing_request *request,
                                    struct perturbing *perturbing, struct cuttle_error *error) {
	struct records *records = NULL;
	const enum cuttle_status status = read_perturbing(request, perturbing, &records, error);
	records_free(&records);
	return status;
}

struct perturbing_state {
	const struct perturbing_request *request;
	struct perturbing *perturbing;
	const struct run_events *events;
	struct records *records;
	struct delivery delivery;
	size_t index;       /* the record whose places are drawn */
	uint32_t journaled; /* places of it that an earlier run drew */
	uint32_t drawn;     /* places of it so far, those included */
	struct arena ids;   /* int32_t, the output ids of its places so far */
	struct arena text;  /* what they become */
	struct arena block; /* a struct place_block */
	struct arena owner; /* the owner asked for last, as JSON */
	struct cuttle_error *error;
	const char *columns[6]; /* of a CSV */
};

/* Places that wait to be drawn. The words stand here until then. */
struct place_block {
	struct cuttle_place places[BLOCK];
	int32_t ids[BLOCK];
	char bytes[BLOCK][SPLIT_BYTES];
	size_t count;
};

static struct place_block *block_of(struct perturbing_state *state) {
	return (struct place_block *)(void *)state->block.bytes;
}

static int32_t id_at(const struct perturbing_state *state, uint32_t place) {
	int32_t id;
	memcpy(&id, state->ids.bytes + place * sizeof id, sizeof id);
	return id;
}

/* Whether the record may be read: where a ledger counts by a key, one without an owner may not. */
static bool is_readable(const struct perturbing_state *state, size_t index) {
	size_t size;
	return !state->request->unit_key || records_label(state->records, index, 0, &size);
}

/* The text of a record; one that cannot be read is empty, without a word. */
static const char *text_of(const struct perturbing_state *state, size_t index, size_t *size) {
	const char *text =
	    is_readable(state, index) ? records_text(state->records, index, size) : NULL;
	if (!text) *size = 0;
	return text ? text : "";
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Keeps an id that was drawn, in the journal first. */
static enum cuttle_status keep_output_id(struct perturbing_state *state, int32_t id) {
	if (delivery_token(&state->delivery, state->index, state->drawn, id) != 0)
		return CUTTLE_PARTIAL;
	state->events->token(state->events->user);
	state->drawn++;
	return arena_append(&state->ids, &id, sizeof id)
	           ? CUTTLE_OK
	           : io_fail(state->error, CUTTLE_NOMEM, "out of memory for a text");
}

/* Draws the places that wait, once each. */
static enum cuttle_status draw_block(struct perturbing_state *state) {
	struct place_block *block = block_of(state);
	if (!block->count) return CUTTLE_OK;
	enum cuttle_status status =
	    cuttle_perturb(state->perturbing->perturber, state->index, state->drawn, block->places,
	                   block->count, block->ids, state->error);
	for (size_t i = 0; i < block->count && !status; i++)
		status = keep_output_id(state, block->ids[i]);
	block->count = 0;
	if (!status && state->events->stop(state->events->user)) return CUTTLE_PARTIAL;
	return status;
}

/* Adds a place that was not drawn yet. */
static enum cuttle_status add_place(struct perturbing_state *state, enum cuttle_place_kind kind,
                                    const char *bytes, size_t size) {
	struct place_block *block = block_of(state);
	struct cuttle_place *place = &block->places[block->count];
	*place = (struct cuttle_place){.kind = kind, .word = block->bytes[block->count]};
	if (kind == CUTTLE_PLACE_WORD) {
		REQUIRE(size <= SPLIT_BYTES);
		memcpy(block->bytes[block->count], bytes, size);
		place->size = size;
	}
	return ++block->count == BLOCK ? draw_block(state) : CUTTLE_OK;
}

/* A number is hidden as null, unless it is declared public or the method deletes what it does not
 * know, so that it shows anyway. */
static enum cuttle_place_kind kind_of_place(const struct perturbing_request *request,
                                            enum split_kind kind) {
	if (kind == SPLIT_WORD) return CUTTLE_PLACE_WORD;
	return request->keep_numbers || request->params.method == CUTTLE_RANTEXT
	           ? CUTTLE_PLACE_NUMBER
	           : CUTTLE_PLACE_NULL;
}

/* Cuts the record into places and draws those that the journal lacks. *places is how many there
 * are. */
static enum cuttle_status draw_places(struct perturbing_state *state, uint32_t *places) {
	const struct perturbing_request *request = state->request;
	const uint32_t most = request->record_words ? request->record_words : UINT32_MAX;
	enum cuttle_status status = CUTTLE_OK;
	enum split_kind kind;
	struct split split;
	const char *bytes;
	size_t size;
	const char *text = text_of(state, state->index, &size);
	*places = 0;
	split_begin(&split, text, size, false);
	while (!status && *places < most && (kind = split_next(&split, &bytes, &size)) != SPLIT_END)
		if ((*places)++ >= state->journaled)
			status = add_place(state, kind_of_place(request, kind), bytes, size);
	split_end(&split);
	while (!status && request->pad && *places < request->record_words)
		if ((*places)++ >= state->journaled)
			status = add_place(state, CUTTLE_PLACE_NULL, NULL, 0);
	return status ? status : draw_block(state);
}

/* Whether an id of the journal is one that these places may have. */
static bool ids_fit(const struct perturbing_state *state, uint32_t places) {
	const int32_t words = (int32_t)cuttle_words_count(state->perturbing->words);
	const uint32_t count = (uint32_t)(state->ids.used / sizeof(int32_t));
	if (!places) return count == 1 && id_at(state, 0) == words + EMPTY;
	bool fit = count == places;
	for (uint32_t i = 0; i < count; i++)
		fit &= id_at(state, i) >= 0 && id_at(state, i) < words + EMPTY;
	return fit;
}

static enum cuttle_status draw_record(struct perturbing_state *state) {
	const int32_t words = (int32_t)cuttle_words_count(state->perturbing->words), *tokens;
	const size_t journaled = output_drawn(state->delivery.output, state->index, &tokens);
	uint32_t places;
	state->ids.used = 0;
	state->journaled = state->drawn = (uint32_t)journaled;
	if (journaled && !arena_append(&state->ids, tokens, journaled * sizeof *tokens))
		return io_fail(state->error, CUTTLE_NOMEM, "out of memory for a text");
	enum cuttle_status status = draw_places(state, &places);
	if (!status && !places && !journaled) status = keep_output_id(state, words + EMPTY);
	if (!status && !ids_fit(state, places))
		status =
		    io_fail(state->error, CUTTLE_INPUT,
		            "%s.journal is damaged: it does not fit the records; --overwrite draws "
		            "all texts anew and spends again",
		            state->request->output);
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What an output id shows; `bytes` is what stood at its place. False: nothing is shown. */
static bool show_id(const struct perturbing_state *state, int32_t id, const char **bytes,
                    size_t *size, char digits[16]) {
	const int32_t count = (int32_t)cuttle_words_count(state->perturbing->words);
	if (id < count) {
		*bytes = cuttle_words_text(state->perturbing->words, (size_t)id);
		*size = strlen(*bytes);
	} else if (id < count + CUTTLE_OUTPUT_NUMBERS) {
		*bytes = digits;
		*size = (size_t)snprintf(digits, 16, "%d", (int)(id - count) + 1);
	}
	// A padding has nothing that could be kept as it is.
	return id != count + CUTTLE_OUTPUT_DROPPED && *size;
}

/* Makes the text of a record from its ids, and from what stays of its shape. Sets *words to how
 * many words it has. False: out of memory. */
static bool write_record(struct perturbing_state *state, uint32_t *words) {
	const uint32_t places = state->drawn;
	enum split_kind kind;
	struct split split;
	const char *bytes;
	size_t size;
	const char *text = text_of(state, state->index, &size);
	bool apart = true, good = true;
	uint32_t place = 0;
	char digits[16];
	*words = 0;
	state->text.used = 0;
	if (id_at(state, 0) == (int32_t)cuttle_words_count(state->perturbing->words) + EMPTY)
		return true;
	split_begin(&split, text, size, state->request->keep_punctuation);
	while (good) {
		kind = split_next(&split, &bytes, &size);
		if (kind == SPLIT_SHAPE) {
			good = arena_append(&state->text, bytes, size);
			apart = true;
			continue;
		}
		if (place == places) break;
		if (kind == SPLIT_END) size = 0;
		if (!show_id(state, id_at(state, place++), &bytes, &size, digits)) continue;
		good = (apart || arena_append(&state->text, " ", 1)) &&
		       arena_append(&state->text, bytes, size);
		apart = false;
		++*words;
	}
	split_end(&split);
	return good;
}

static json_t *make_record_line(void *user, const struct cuttle_text *text) {
	const struct perturbing_state *state = user;
	const struct word_receipt *receipt = &state->perturbing->receipt;
	size_t size = 0;
	const char *id =
	    state->request->id_field ? records_id(state->records, text->index, &size) : NULL;
	json_t *line = json_pack("{s:I}", "index", (json_int_t)text->index);
	line = output_add_id(line, id, size);
	const struct jsonout_member members[] = {
	    {"text", json_stringn(text->text, text->size)},
	    {"words", json_integer(text->tokens)},
	    {"method", json_string(WORD_METHOD_NAMES[receipt->params.method])},
	    {"note", json_string(WORD_NOTE)},
	};
	const bool noted = receipt->params.method != CUTTLE_RANK;
	if (!noted) json_decref(members[3].value);
	return jsonout_extend(line, members, noted ? 4 : 3);
}

/* Draws what is missing of every record and writes its line, in the order of the input. */
static enum cuttle_status draw_records(struct perturbing_state *state, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	struct place_block *block;
	state->error = error;
	if (!arena_reserve(&state->block, sizeof *block))
		return io_fail(error, CUTTLE_NOMEM, "out of memory for a block of words");
	arena_grew(&state->block, sizeof *block);
	block_of(state)->count = 0;
	const size_t records = state->perturbing->receipt.records;
	for (state->index = 0; state->index < records && !status; state->index++) {
		struct cuttle_text text = {.index = state->index, .batch = state->index};
		status = draw_record(state);
		if (!status && !write_record(state, &text.tokens))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory for a text");
		if (status) break;
		text.text = state->text.used ? state->text.bytes : "";
		text.size = state->text.used;
		if (output_text(state->delivery.output, &text) != 0) status = CUTTLE_PARTIAL;
		else state->events->text(state->events->user);
	}
	state->events->end(state->events->user);
	return status == CUTTLE_PARTIAL ? delivery_explain(&state->delivery, error) : status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void digest_records(void *user, const unsigned char *key, char *digest) {
	const struct perturbing_state *state = user;
	struct binding_digest made;
	binding_digest_begin(&made, key);
	for (size_t i = 0; i < records_count(state->records); i++) {
		size_t size;
		const char *bytes = records_text(state->records, i, &size);
		binding_digest_add(&made, bytes, size);
		bytes = records_id(state->records, i, &size);
		binding_digest_add(&made, bytes, size);
		if (!state->request->unit_key) continue;
		bytes = records_label(state->records, i, 0, &size);
		binding_digest_add(&made, bytes, size);
	}
	binding_digest_end(&made, digest);
}

/* The owner of a record as JSON, as records_id writes one: 7 and "7" are the same. */
static bool give_record_owner(void *user, uint64_t index, const char **value, size_t *size) {
	struct perturbing_state *state = user;
	const char *label = records_label(state->records, (size_t)index, 0, size);
	json_t *owner = label ? json_stringn(label, *size) : NULL;
	char *text = owner ? json_dumps(owner, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	state->owner.used = 0;
	const bool good = text && arena_append(&state->owner, text, strlen(text));
	if (text) secrecy_free(text);
	json_decref(owner);
	*value = good ? state->owner.bytes : NULL;
	*size = state->owner.used;
	return good;
}

static enum cuttle_status open_perturbing(struct perturbing_state *state, struct spending *spending,
                                          bool *complete, struct cuttle_error *error) {
	const struct perturbing_request *request = state->request;
	struct word_receipt *receipt = &state->perturbing->receipt;
	const char *command = state->perturbing->fingerprint;
	// The stamp of what is not private has a column "note", too.
	const char **const columns = state->columns;
	size_t count = 0;
	columns[count++] = "index";
	if (request->id_field) columns[count++] = "id";
	columns[count++] = "text";
	columns[count++] = "words";
	columns[count++] = "method";
	if (receipt->params.method != CUTTLE_RANK && !request->params.insecure)
		columns[count++] = "note";
	const struct output_request output = {.path = request->output,
	                                      .receipt_path = request->receipt,
	                                      .fingerprint = command,
	                                      .format = output_format_of(request->output),
	                                      .columns = columns,
	                                      .column_count = count,
	                                      .texts = receipt->records,
	                                      .private_output = !request->params.insecure,
	                                      .line = make_record_line,
	                                      .overwrite = request->overwrite,
	                                      .digest = digest_records,
	                                      .user = state};
	const struct ledger_request charge = {
	    .command = command,
	    .rho = word_receipt_counts(receipt) ? word_receipt_charge(receipt) : 0,
	    .count = receipt->records,
	    .batch = 1,
	    .user = state,
	    .unit = request->unit_key ? give_record_owner : NULL};
	return delivery_open(&output, NULL, spending, &charge, &state->delivery, complete,
	                     &receipt->ledger, error);
}

/* Seals the output, closes its charge, then puts receipt and output in place. */
static enum cuttle_status publish_records(struct perturbing_state *state,
                                          struct cuttle_error *error) {
	struct perturbing *perturbing = state->perturbing;
	char sha256[HASH_TEXT];
	size_t size;
	perturbing->formulas = output_counts(state->delivery.output)->formulas;
	enum cuttle_status status = delivery_seal(&state->delivery, sha256, error);
	if (status) return status;
	char *receipt =
	    receipt_seal(word_receipt_json(&perturbing->receipt, perturbing->fingerprint, sha256),
	                 perturbing->signer, &size);
	status = delivery_publish(&state->delivery, receipt, size, error);
	if (!status)
		state->events->publish(state->events->user,
		                       output_receipt_path(state->delivery.output));
	return status;
}

enum cuttle_status perturbing_digest(const struct perturbing_request *request,
                                     struct perturbing *perturbing,
                                     const unsigned char key[BINDING_KEY], char digest[HASH_TEXT],
                                     struct cuttle_error *error) {
	struct perturbing_state state = {.request = request};
	const enum cuttle_status status =
	    read_perturbing(request, perturbing, &state.records, error);
	if (!status) digest_records(&state, key, digest);
	records_free(&state.records);
	return status;
}

enum cuttle_status perturbing_run(const struct perturbing_request *request,
                                  struct perturbing *perturbing, const struct run_events *events,
                                  struct cuttle_error *error) {
	struct perturbing_state state = {
	    .request = request, .perturbing = perturbing, .events = events};
	struct spending spending;
	bool complete = false;
	// A run that is not private is not counted.
	const struct spending_request counted = {
	    .ledger = word_receipt_counts(&perturbing->receipt) ? request->ledger : NULL,
	    .dataset = request->dataset,
	    .unit_key = request->unit_key,
	    .output = request->output};
	enum cuttle_status status = spending_open(&counted, &spending, error);
	if (!status) status = read_perturbing(request, perturbing, &state.records, error);
	if (!status) status = open_perturbing(&state, &spending, &complete, error);
	if (!status) events->begin(events->user, complete);
	if (!status && !complete) {
		status = draw_records(&state, error);
		if (!status) status = publish_records(&state, error);
	}
	if (!status) spending_done(&spending);
	delivery_close(&state.delivery);
	spending_close(&spending);
	arena_free(&state.ids);
	arena_free(&state.text);
	arena_free(&state.block);
	arena_free(&state.owner);
	records_free(&state.records);
	return status;
}

enum cuttle_status perturbing_texts(const struct perturbing_request *request,
                                    const struct perturbing *perturbing, struct records **texts,
                                    struct cuttle_error *error) {
	const struct records_request written = {
	    .path = request->output, .field = "text", .format = RECORDS_JSONL, .limit = SIZE_MAX};
	const enum cuttle_status status = records_read(&written, texts, error);
	if (status || records_count(*texts) == perturbing->receipt.records) return status;
	records_free(texts);
	return io_fail(error, CUTTLE_INPUT, "%s: it does not have a line for each record",
	               request->output);
}
