// SPDX-License-Identifier: Apache-2.0
// From a request to a perturber and its receipt, and the system that draws with it.
//
// A record is cut twice. The first time its places are drawn and journalled, block after block. Of
// a continued run those that the journal has are passed over, never drawn again. The second time
// the ids become a text. Example, padded to 4: "Ann fell" has the places ann, fell, null, null.
#include "workflow/perturb.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/arena.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include "io/disk/paths.h"
#include "io/disk/secrecy.h"
#include "io/text/split.h"
#include "io/text/word_list.h"
#include "io/tables/words_file.h"
#include "workflow/spending.h"
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

void perturb_default(struct perturb_request *request) {
	*request =
	    (struct perturb_request){.text_field = "text", .common.now = (uint64_t)time(NULL)};
	cuttle_perturb_params_default(&request->params);
}

static const char *name_perturb_fault(const struct perturb_request *request) {
	const enum cuttle_word_method method = request->params.method;
	if (request->pad && !request->record_words) return "--pad needs -N WORDS";
	if (request->pad && (request->keep_punctuation || request->keep_numbers))
		return "--pad hides how many words there are, and --keep shows it: give one of "
		       "them";
	if (request->common.ledger && (method != CUTTLE_RANK || !request->pad))
		return "a ledger counts proven guarantees only: --method rank with -N WORDS --pad";
	if (!request->sensitive != (method != CUTTLE_SANTEXT_PLUS))
		return "--sensitive FILE and --method santext+ go together";
	if (!request->stop_words != (method != CUTTLE_CUSTEXT_PLUS))
		return "--stop-words FILE and --method custext+ go together";
	const char *fault = common_fault(&request->common), *id = request->id_field;
	if (!fault && id && !utf8_name(id, strlen(id)))
		fault = "--id-field: must be 1 to 128 bytes";
	return fault ? fault : common_sign_fault(&request->common);
}

enum cuttle_status perturb_check(const struct perturb_request *request,
                                 struct cuttle_error *error) {
	const char *fault = name_perturb_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

static struct records_request records_of(const struct perturb_request *request) {
	size_t most = (size_t)request->record_words * RECORD_WORD;
	if (most < RECORD_LEAST) most = RECORD_LEAST;
	return (struct records_request){.path = request->common.input,
	                                .field = request->text_field,
	                                .id_field = request->id_field,
	                                .format = request->input_format,
	                                .delimiter = request->delimiter,
	                                .limit = SIZE_MAX,
	                                .labels = &request->common.unit_key,
	                                .label_count = request->common.unit_key ? 1 : 0,
	                                .most = request->record_words ? most : 0};
}

/* What the method is told beforehand must not come from the records: it goes out in every text. */
static enum cuttle_status refuse_own_words(const struct perturb_request *request,
                                           struct cuttle_error *error) {
	const struct {
		const char *option, *path;
	} lists[] = {{"--words", request->words},
	             {"--sensitive", request->sensitive},
	             {"--stop-words", request->stop_words}};
	for (size_t i = 0; request->common.input && i < sizeof lists / sizeof *lists; i++)
		if (lists[i].path && file_same(lists[i].path, request->common.input))
			return io_fail(error, CUTTLE_USAGE,
			               "%s and -i are the same file: a list of words must be "
			               "public, and not made from the records",
			               lists[i].option);
	return CUTTLE_OK;
}

enum cuttle_status perturb_paths(const struct perturb_request *request,
                                 struct cuttle_error *error) {
	char *receipt;
	enum cuttle_status status =
	    common_receipt_beside(request->common.output, request->common.receipt, &receipt, error);
	if (status) return status;
	const struct path_use uses[] = {
	    PATH_ALONE("--words", request->words, PATH_FILE),
	    PATH_ALONE("-m", request->common.model, PATH_MODEL),
	    PATH_ALONE("--sensitive", request->sensitive, PATH_FILE),
	    PATH_ALONE("--stop-words", request->stop_words, PATH_FILE),
	    PATH_ALONE("-i", request->common.input, PATH_STREAM),
	    PATH_ALONE("--sign", request->common.sign, PATH_FILE),
	    {"--ledger", request->common.ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->common.output,
	     PATH_OUTPUT,
	     receipt,
	     {".journal", ".journal.key", SPENDING_BESIDE}},
	    PATH_ALONE("--receipt", request->common.receipt, PATH_RECORD),
	};
	const struct records_request records = records_of(request);
	status = paths_check(uses, sizeof uses / sizeof *uses, error);
	free(receipt);
	if (!status) status = refuse_own_words(request, error);
	return !status && records.path ? records_check_name(&records, error) : status;
}

/* ---- what is made from it -------------------------------------------------------------------- */

/* Reads the lists, makes the perturber, and keeps the hashes of what it read. */
static enum cuttle_status make_perturber(const struct perturb_request *request,
                                         struct cuttle_model *model, struct perturb *perturb,
                                         struct cuttle_error *error) {
	struct cuttle_perturb_params params = request->params;
	struct perturb_receipt *receipt = &perturb->receipt;
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
		status = cuttle_perturber_make(perturb->words, model, &params, &perturb->perturber,
		                               error);
	word_list_free(&sensitive);
	word_list_free(&stop);
	return status;
}

/* OK, or why the model cannot serve these words. */
static enum cuttle_status check_pieces(const struct perturb *perturb,
                                       const struct setup_model *opened,
                                       struct cuttle_error *error) {
	const char *wanted = cuttle_words_model_sha256(perturb->words);
	return !opened || !strcmp(wanted, opened->sha256)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT,
	                     "-m is not the model that the words were made from (its hash is not "
	                     "%.16s...)",
	                     wanted);
}

static enum cuttle_status set_perturb_receipt(const struct perturb_request *request,
                                              const struct setup_model *opened,
                                              struct perturb *perturb, struct cuttle_error *error) {
	static const char *const formats[] = {"auto", "jsonl", "csv"};
	struct perturb_receipt *receipt = &perturb->receipt;
	const enum cuttle_status status =
	    cuttle_perturber_describe(perturb->perturber, request->pad ? request->record_words : 0,
	                              &receipt->guarantee, error);
	if (status) return status;
	receipt->params = request->params;
	receipt->record_words = request->record_words;
	receipt->pad = request->pad;
	receipt->keep_punctuation = request->keep_punctuation;
	receipt->keep_numbers = request->keep_numbers;
	receipt->vector = cuttle_words_width(perturb->words);
	receipt->isa = cuttle_isa();
	receipt->id_field = request->id_field;
	receipt->unit_key = request->common.unit_key;
	receipt->dataset = request->common.dataset;
	receipt->signer = perturb->signer;
	if (opened) {
		cuttle_model_describe(opened->model, &perturb->model);
		receipt->model_name = perturb->model.name;
		receipt->model_bytes = perturb->model.file_bytes;
		memcpy(receipt->model_sha256, opened->sha256, HASH_TEXT);
	}
	const struct perturb_command command = {
	    .input = request->common.input ? request->common.input : "",
	    .text_field = request->text_field,
	    .input_format = formats[request->input_format],
	    .delimiter = request->delimiter,
	    .insecure_seed = request->params.insecure ? request->params.insecure_seed : UINT64_MAX};
	if (!perturb_receipt_fingerprint(receipt, &command, perturb->fingerprint))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return setup_date(request->common.now, receipt->date, error);
}

enum cuttle_status perturb_open(const struct perturb_request *request,
                                const struct setup_model *opened, struct perturb *perturb,
                                struct cuttle_error *error) {
	memset(perturb, 0, sizeof *perturb);
	enum cuttle_status status =
	    words_file_read(request->words, request->threads, &perturb->words,
	                    perturb->receipt.words_sha256, error);
	// Words of other vectors have no use for a model, which the environment may name.
	if (!status && !*cuttle_words_model_sha256(perturb->words)) opened = NULL;
	if (!status) status = check_pieces(perturb, opened, error);
	if (!status && request->common.sign)
		status = signature_open(request->common.sign, &perturb->signer, error);
	if (!status)
		status = make_perturber(request, opened ? opened->model : NULL, perturb, error);
	return status ? status : set_perturb_receipt(request, opened, perturb, error);
}

void perturb_free(struct perturb *perturb) {
	cuttle_perturber_free(&perturb->perturber);
	cuttle_words_free(&perturb->words);
	signature_close(&perturb->signer);
}

/* ---- the records ----------------------------------------------------------------------------- */

struct perturb_state {
	struct run run; /* first: it is what the functions of run.h are told */
	const struct perturb_request *request;
	struct perturb *perturb;
	struct records *records;
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

static enum cuttle_status read_perturb(void *user, struct cuttle_error *error) {
	struct perturb_state *state = user;
	const struct perturb_request *request = state->request;
	const struct records_request wanted = records_of(request);
	enum cuttle_status status = secrecy_room(SIZE_MAX, error);
	if (!status) status = records_read(&wanted, &state->records, error);
	if (!status) status = records_need_field(&wanted, state->records, "--text-field", error);
	if (status) return status;
	if (request->common.lock) records_lock(state->records);
	const size_t count = state->perturb->receipt.records = records_count(state->records);
	return count ? CUTTLE_OK
	             : io_fail(error, CUTTLE_INPUT, "%s: there is no record in it",
	                       file_shown(request->common.input));
}

enum cuttle_status perturb_count(const struct perturb_request *request, struct perturb *perturb,
                                 struct cuttle_error *error) {
	struct perturb_state state = {.request = request, .perturb = perturb};
	const enum cuttle_status status = read_perturb(&state, error);
	records_free(&state.records);
	return status;
}

static struct place_block *block_of(struct perturb_state *state) {
	return (struct place_block *)(void *)state->block.bytes;
}

static int32_t id_at(const struct perturb_state *state, uint32_t place) {
	int32_t id;
	memcpy(&id, state->ids.bytes + place * sizeof id, sizeof id);
	return id;
}

/* Whether the record may be read: where a ledger counts by a key, one without an owner may not. */
static bool is_readable(const struct perturb_state *state, size_t index) {
	size_t size;
	return !state->request->common.unit_key || records_label(state->records, index, 0, &size);
}

/* The text of a record; one that cannot be read is empty, without a word. */
static const char *text_of(const struct perturb_state *state, size_t index, size_t *size) {
	const char *text =
	    is_readable(state, index) ? records_text(state->records, index, size) : NULL;
	if (!text) *size = 0;
	return text ? text : "";
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Keeps an id that was drawn, in the journal first. */
static enum cuttle_status keep_output_id(struct perturb_state *state, int32_t id) {
	if (run_token(state, state->index, state->drawn, id) != 0) return CUTTLE_PARTIAL;
	state->drawn++;
	return arena_append(&state->ids, &id, sizeof id)
	           ? CUTTLE_OK
	           : io_fail(state->error, CUTTLE_NOMEM, "out of memory for a text");
}

/* Draws the places that wait, once each. */
static enum cuttle_status draw_block(struct perturb_state *state) {
	struct place_block *block = block_of(state);
	if (!block->count) return CUTTLE_OK;
	enum cuttle_status status =
	    cuttle_perturb(state->perturb->perturber, state->index, state->drawn, block->places,
	                   block->count, block->ids, state->error);
	for (size_t i = 0; i < block->count && !status; i++)
		status = keep_output_id(state, block->ids[i]);
	block->count = 0;
	return !status && run_stop(state) ? CUTTLE_PARTIAL : status;
}

/* Adds a place that was not drawn yet. */
static enum cuttle_status add_place(struct perturb_state *state, enum cuttle_place_kind kind,
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
static enum cuttle_place_kind kind_of_place(const struct perturb_request *request,
                                            enum split_kind kind) {
	if (kind == SPLIT_WORD) return CUTTLE_PLACE_WORD;
	return request->keep_numbers || request->params.method == CUTTLE_RANTEXT
	           ? CUTTLE_PLACE_NUMBER
	           : CUTTLE_PLACE_NULL;
}

/* Cuts the record into places and draws those that the journal lacks. *places is how many there
 * are. */
static enum cuttle_status draw_places(struct perturb_state *state, uint32_t *places) {
	const struct perturb_request *request = state->request;
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
static bool ids_fit(const struct perturb_state *state, uint32_t places) {
	const int32_t words = (int32_t)cuttle_words_count(state->perturb->words);
	const uint32_t count = (uint32_t)(state->ids.used / sizeof(int32_t));
	if (!places) return count == 1 && id_at(state, 0) == words + EMPTY;
	bool fit = count == places;
	for (uint32_t i = 0; i < count; i++)
		fit &= id_at(state, i) >= 0 && id_at(state, i) < words + EMPTY;
	return fit;
}

static enum cuttle_status draw_record(struct perturb_state *state) {
	const int32_t words = (int32_t)cuttle_words_count(state->perturb->words), *tokens;
	const size_t journaled = run_drawn(state, state->index, &tokens);
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
		            state->request->common.output);
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What an output id shows; `bytes` is what stood at its place. False: nothing is shown. */
static bool show_id(const struct perturb_state *state, int32_t id, const char **bytes, size_t *size,
                    char digits[16]) {
	const int32_t count = (int32_t)cuttle_words_count(state->perturb->words);
	if (id < count) {
		*bytes = cuttle_words_text(state->perturb->words, (size_t)id);
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
static bool write_record(struct perturb_state *state, uint32_t *words) {
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
	if (id_at(state, 0) == (int32_t)cuttle_words_count(state->perturb->words) + EMPTY)
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
	const struct perturb_state *state = user;
	const struct perturb_receipt *receipt = &state->perturb->receipt;
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
static enum cuttle_status draw_records(void *user, struct cuttle_error *error) {
	struct perturb_state *state = user;
	enum cuttle_status status = CUTTLE_OK;
	struct place_block *block;
	state->error = error;
	if (!arena_reserve(&state->block, sizeof *block))
		return io_fail(error, CUTTLE_NOMEM, "out of memory for a block of words");
	arena_grew(&state->block, sizeof *block);
	block_of(state)->count = 0;
	const size_t records = state->perturb->receipt.records;
	for (state->index = 0; state->index < records && !status; state->index++) {
		struct cuttle_text text = {.index = state->index, .batch = state->index};
		status = draw_record(state);
		if (!status && !write_record(state, &text.tokens))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory for a text");
		if (status) break;
		text.text = state->text.used ? state->text.bytes : "";
		text.size = state->text.used;
		if (run_text(state, &text) != 0) status = CUTTLE_PARTIAL;
	}
	return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void digest_records(void *user, const unsigned char *key, char *digest) {
	const struct perturb_state *state = user;
	struct binding_digest made;
	binding_digest_begin(&made, key);
	for (size_t i = 0; i < records_count(state->records); i++) {
		size_t size;
		const char *bytes = records_text(state->records, i, &size);
		binding_digest_add(&made, bytes, size);
		bytes = records_id(state->records, i, &size);
		binding_digest_add(&made, bytes, size);
		if (!state->request->common.unit_key) continue;
		bytes = records_label(state->records, i, 0, &size);
		binding_digest_add(&made, bytes, size);
	}
	binding_digest_end(&made, digest);
}

/* The owner of a record as JSON, as records_id writes one: 7 and "7" are the same. */
static bool give_record_owner(void *user, uint64_t index, const char **value, size_t *size) {
	struct perturb_state *state = user;
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

/* Lists the columns of a CSV. The stamp of what is not private has a column "note", too. */
static size_t list_columns(struct perturb_state *state) {
	const struct perturb_request *request = state->request;
	const char **const columns = state->columns;
	size_t count = 0;
	columns[count++] = "index";
	if (request->id_field) columns[count++] = "id";
	columns[count++] = "text";
	columns[count++] = "words";
	columns[count++] = "method";
	if (request->params.method != CUTTLE_RANK && !request->params.insecure)
		columns[count++] = "note";
	return count;
}

static void set_perturb_terms(void *user, struct system_terms *terms) {
	struct perturb_state *state = user;
	const struct perturb_request *request = state->request;
	struct perturb_receipt *receipt = &state->perturb->receipt;
	const char *command = state->perturb->fingerprint;
	terms->output = (struct output_request){.fingerprint = command,
	                                        .format = output_format_of(request->common.output),
	                                        .columns = state->columns,
	                                        .column_count = list_columns(state),
	                                        .texts = receipt->records,
	                                        .private_output = !request->params.insecure,
	                                        .line = make_record_line,
	                                        .digest = digest_records};
	terms->charge = (struct ledger_request){
	    .command = command,
	    .rho = perturb_receipt_counts(receipt) ? perturb_receipt_charge(receipt) : 0,
	    .count = receipt->records,
	    .batch = 1,
	    .user = state,
	    .unit = request->common.unit_key ? give_record_owner : NULL};
	terms->charged = &receipt->ledger;
}

static json_t *describe_records(void *user, const struct filter_counts *counts,
                                const char *sha256) {
	struct perturb *perturb = ((struct perturb_state *)user)->perturb;
	perturb->formulas = counts->formulas;
	return perturb_receipt_json(&perturb->receipt, perturb->fingerprint, sha256);
}

static void free_records(void *user) {
	struct perturb_state *state = user;
	arena_free(&state->ids);
	arena_free(&state->text);
	arena_free(&state->block);
	arena_free(&state->owner);
	records_free(&state->records);
}

enum cuttle_status perturb_digest(const struct perturb_request *request, struct perturb *perturb,
                                  const unsigned char key[BINDING_KEY], char digest[HASH_TEXT],
                                  struct cuttle_error *error) {
	struct perturb_state state = {.request = request, .perturb = perturb};
	const enum cuttle_status status = read_perturb(&state, error);
	if (!status) digest_records(&state, key, digest);
	records_free(&state.records);
	return status;
}

static const struct system PERTURB = {.read = read_perturb,
                                      .terms = set_perturb_terms,
                                      .draw = draw_records,
                                      .receipt = describe_records,
                                      .free = free_records};

enum cuttle_status perturb_run(const struct perturb_request *request, struct perturb *perturb,
                               const struct run_events *events, struct cuttle_error *error) {
	struct perturb_state state = {.run = {.request = &request->common,
	                                      .events = events,
	                                      .signer = perturb->signer,
	                                      .counted = perturb_receipt_counts(&perturb->receipt)},
	                              .request = request,
	                              .perturb = perturb};
	return run_system(&PERTURB, &state, error);
}

enum cuttle_status perturb_texts(const struct perturb_request *request,
                                 const struct perturb *perturb, struct records **texts,
                                 struct cuttle_error *error) {
	const struct records_request written = {.path = request->common.output,
	                                        .field = "text",
	                                        .format = RECORDS_JSONL,
	                                        .limit = SIZE_MAX};
	const enum cuttle_status status = records_read(&written, texts, error);
	if (status || records_count(*texts) == perturb->receipt.records) return status;
	records_free(texts);
	return io_fail(error, CUTTLE_INPUT, "%s: it does not have a line for each record",
	               request->common.output);
}
