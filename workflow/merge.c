// SPDX-License-Identifier: Apache-2.0
// See merge.h. All receipts are read before the first line, all lines before the output is put in
// place: what contradicts leaves nothing behind.
#include "workflow/merge.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/shards/shard_texts.h"
#include "workflow/setup.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A complete shard: its receipt was checked, and its bytes have the receipt's hash. */
struct merged_shard {
	char *bytes; /* of its lines; owned */
	size_t size;
	size_t at;    /* where its next line begins */
	size_t lines; /* that were read */
	char isa[64];
	char sha256[HASH_TEXT];
};

struct merging {
	const struct merge_request *request;
	struct shard_run run;
	struct merged_shard *shards; /* [terms.shards] */
	bool banked;                 /* a batch may have several texts */
	struct filters filters;
	struct output *output;
	json_t *line; /* of the text that is written now */
};

static enum cuttle_status refuse_shard(uint64_t shard, const char *what,
                                       struct cuttle_error *error) {
	return io_fail(error, CUTTLE_LEDGER, "shard %" PRIu64 ": %s", shard, what);
}

/* A name that says another format than the run has is a slip. */
static enum cuttle_status check_ending(const struct merging *merging, struct cuttle_error *error) {
	static const char *const names[] = {"JSONL", "CSV"}, *const endings[] = {".jsonl", ".csv"};
	const enum output_format format = merging->run.terms.format;
	const char *output = merging->request->common.output;
	if (!file_ends_in(output, endings[format == OUTPUT_JSONL ? OUTPUT_CSV : OUTPUT_JSONL]))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "-o %.160s: this run writes %s, as shard open was told; name it %s", output,
	               names[format], endings[format]);
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool is_complete(const struct merging *merging, uint64_t index) {
	const struct shard_number number = {index, merging->run.terms.shards};
	char *lines = shard_path(merging->request->folder, number, SHARD_LINES),
	     *receipt = shard_path(merging->request->folder, number, SHARD_RECEIPT);
	const bool there =
	    lines && receipt && file_same(lines, lines) && file_same(receipt, receipt);
	free(lines);
	free(receipt);
	return there;
}

/* Lists the shards that lack, as "0-2,5". */
static enum cuttle_status list_lacking(const struct merging *merging, struct merge_result *result,
                                       struct cuttle_error *error) {
	char *list = NULL;
	size_t size;
	uint64_t lacking = 0, first = 0;
	const uint64_t shards = merging->run.terms.shards;
	FILE *file = open_memstream(&list, &size);
	bool before = false;
	for (uint64_t i = 0; file && i <= shards; i++) {
		const bool lacks = i < shards && !is_complete(merging, i);
		if (lacks && !before) {
			fprintf(file, "%s%" PRIu64, lacking ? "," : "", i);
			first = i;
		}
		if (!lacks && before && i - first > 1) fprintf(file, "-%" PRIu64, i - 1);
		lacking += lacks;
		before = lacks;
	}
	if (!file || fclose(file)) {
		free(list);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!lacking) {
		free(list);
		return CUTTLE_OK;
	}
	result->lacking = list;
	return io_fail(error, CUTTLE_PARTIAL,
	               "%" PRIu64 " of %" PRIu64 " shards lack: %.150s%s; generate --shard "
	               "continues each",
	               lacking, shards, list, size > 150 ? "..." : "");
}

static enum cuttle_status read_lines(const char *path, struct merged_shard *shard,
                                     struct cuttle_error *error) {
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	const int problem = file < 0 ? errno : file_read_open(file, &shard->bytes, &shard->size);
	if (file >= 0) (void)close(file);
	return problem ? io_fail(error, problem == ENOMEM ? CUTTLE_NOMEM : CUTTLE_INPUT,
	                         "cannot read %s: %s", path, strerror(problem))
	               : CUTTLE_OK;
}

static enum cuttle_status load_shard(struct merging *merging, uint64_t index,
                                     struct cuttle_error *error) {
	const struct shard_number number = {index, merging->run.terms.shards};
	struct merged_shard *shard = &merging->shards[index];
	char *lines = shard_path(merging->request->folder, number, SHARD_LINES),
	     *receipt = shard_path(merging->request->folder, number, SHARD_RECEIPT), is[HASH_TEXT];
	enum cuttle_status status =
	    lines && receipt ? shard_run_check(&merging->run, index, receipt, merging->request->key,
	                                       shard->isa, shard->sha256, error)
	                     : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = read_lines(lines, shard, error);
	if (!status) hash_of(shard->bytes, shard->size, is);
	if (!status && strcmp(is, shard->sha256) != 0)
		status = refuse_shard(index, "its texts are not those of its receipt", error);
	free(lines);
	free(receipt);
	return status;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* One charge of the run: its own, or that of a shard that was drawn again. */
struct merged_charge {
	const struct merging *merging;
	const char *run;   /* its name */
	const char *entry; /* its hash */
	bool right;        /* the entry reserves what the run says, for its command */
	bool drawn;        /* and the run was marked as drawn behind it */
};

static enum cuttle_status match_charge(void *user, const struct chain_entry *entry) {
	struct merged_charge *charge = user;
	const struct shard_run *run = &charge->merging->run;
	if (strcmp(entry->dataset, run->dataset) != 0 || strcmp(entry->run, charge->run) != 0)
		return CUTTLE_OK;
	if (!strcmp(entry->hash, charge->entry))
		charge->right = !strcmp(entry->kind, "reserve") && entry->rho == run->ledger.rho &&
		                entry->delta == run->ledger.delta &&
		                !strcmp(entry->command, run->fingerprint);
	charge->drawn |= charge->right && !strcmp(entry->kind, "draw");
	return CUTTLE_OK;
}

/* Checks a charge, or with `sha256` closes it with the output's hash. */
static enum cuttle_status settle_charge(const struct merging *merging, struct ledger *ledger,
                                        const char *run, const char *entry, const char *sha256,
                                        struct cuttle_error *error) {
	struct merged_charge charge = {.merging = merging, .run = run, .entry = entry};
	const char *path = merging->request->common.ledger;
	if (sha256) return ledger_finish(ledger, merging->run.dataset, run, sha256, error);
	enum cuttle_status status =
	    ledger_walk(ledger, merging->run.dataset, match_charge, &charge, error);
	if (status == CUTTLE_USAGE) status = CUTTLE_LEDGER;
	if (!status && !charge.right)
		status = io_fail(error, CUTTLE_LEDGER, "%s has no entry %s that pays for this run",
		                 path, entry);
	if (!status && !charge.drawn)
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s has the entry %s, and does not know that its run draws", path,
		                 entry);
	return status;
}

/* Checks all charges, or closes them. */
static enum cuttle_status settle_ledger(const struct merging *merging, const char *sha256,
                                        struct cuttle_error *error) {
	const struct shard_run *run = &merging->run;
	struct ledger *ledger;
	uint64_t entries;
	char head[HASH_TEXT];
	if (!*run->ledger.entry) return CUTTLE_OK;
	enum cuttle_status status = ledger_open(merging->request->common.ledger, &ledger, error);
	if (status) return status;
	if (!sha256) status = ledger_verify(ledger, NULL, &entries, head, error);
	if (!status)
		status = settle_charge(merging, ledger, run->terms.run, run->ledger.entry, sha256,
		                       error);
	for (size_t i = 0; !status && i < shard_run_redraws(run); i++) {
		const struct shard_redraw redraw = shard_run_redraw(run, i);
		if (*redraw.entry)
			status =
			    settle_charge(merging, ledger, redraw.run, redraw.entry, sha256, error);
	}
	ledger_close(&ledger);
	return status;
}

/* ---- the lines ------------------------------------------------------------------------------- */

/* Which of the words of output_finish it is. */
static bool read_finish(const json_t *line, enum cuttle_finish *finish) {
	const char *word;
	if (!attest_text(line, "finish", &word)) return false;
	for (*finish = CUTTLE_FINISH_EOS; *finish <= CUTTLE_FINISH_CLOSED; ++*finish)
		if (!strcmp(word, output_finish(*finish))) return true;
	return false;
}

static bool read_ids(const json_t *line, int32_t **ids, uint32_t count) {
	const json_t *list = json_object_get(line, "ids");
	// A line must have as many as it claims before memory is taken for them.
	if (!json_is_array(list) || json_array_size(list) != count) return false;
	*ids = calloc((size_t)count + 1, sizeof **ids);
	bool right = *ids;
	for (uint32_t i = 0; right && i < count; i++) {
		const json_t *id = json_array_get(list, i);
		(*ids)[i] = (int32_t)json_integer_value(id);
		right = json_is_integer(id) && (*ids)[i] == json_integer_value(id);
	}
	return right;
}

/* Reads the next line of a shard into *text, which points into merging->line and *ids. */
static bool read_line(struct merging *merging, struct merged_shard *shard, struct cuttle_text *text,
                      int32_t **ids) {
	const struct shard_terms *terms = &merging->run.terms;
	const char *begin = shard->bytes + shard->at,
	           *end = memchr(begin, '\n', shard->size - shard->at);
	uint64_t index, batch;
	bool stamped = false;
	*ids = NULL;
	*text = (struct cuttle_text){0};
	if (!end) return false;
	shard->at += (size_t)(end - begin) + 1;
	json_decref(merging->line);
	merging->line =
	    json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const json_t *words = json_object_get(merging->line, "text");
	bool right = json_is_string(words) &&
	             attest_count(merging->line, "index", SIZE_MAX / 2, &index) &&
	             index == shard->lines++ &&
	             attest_count(merging->line, "batch", terms->batches - 1, &batch);
	right = right && attest_number(merging->line, "tokens", &text->tokens) &&
	        attest_number(merging->line, "free", &text->free_tokens) &&
	        read_finish(merging->line, &text->finish) &&
	        read_ids(merging->line, ids, text->tokens);
	stamped = json_object_get(merging->line, "note") != NULL;
	for (size_t i = 0; right && i < terms->field_count; i++)
		right = json_is_string(json_object_get(merging->line, terms->fields[i]));
	if (!right || stamped == merging->run.private_output) return false;
	text->batch = (size_t)batch;
	text->text = json_string_value(words);
	text->size = json_string_length(words);
	text->ids = *ids;
	return true;
}

/* The line of the merged output: that of the shard with its place in the run, as one machine writes
 * it. */
static json_t *make_merged_line(void *user, const struct cuttle_text *text) {
	const struct merging *merging = user;
	json_t *line = json_copy(merging->line);
	const struct jsonout_member members[] = {{"index", json_integer((json_int_t)text->index)},
	                                         {"text", json_stringn(text->text, text->size)}};
	static const char *const inner[] = {"ids", "private", "note", "batch", "free"};
	const size_t removed = merging->run.terms.lines_of_batches ? 3 : 5;
	for (size_t i = 0; line && i < removed; i++) (void)json_object_del(line, inner[i]);
	return jsonout_extend(line, members, 2);
}

static const char *give_merged_cell(void *user, const struct cuttle_text *text, size_t column) {
	const struct merging *merging = user;
	(void)text;
	return json_string_value(json_object_get(merging->line, merging->run.terms.fields[column]));
}

/* Writes the texts of a batch, which its shard must have now, and once. */
static enum cuttle_status merge_batch(struct merging *merging, size_t batch, size_t *texts,
                                      struct cuttle_error *error) {
	const uint64_t index = batch % merging->run.terms.shards;
	struct merged_shard *shard = &merging->shards[index];
	struct merged_shard before;
	enum cuttle_status status = CUTTLE_OK;
	bool any = false;
	for (;;) {
		struct cuttle_text text;
		int32_t *ids = NULL;
		before = *shard;
		const bool read = shard->at < shard->size && read_line(merging, shard, &text, &ids);
		const bool here = read && text.batch == batch;
		if (here) {
			text.index = (*texts)++;
			any = true;
			if (output_text(merging->output, &text))
				status = output_problem(merging->output, error);
		}
		free(ids);
		if (!here && read) *shard = before; // of a later batch
		else if (!here && before.at < before.size)
			return refuse_shard(index, "a line of it is none that cuttle writes",
			                    error);
		if (status || !here || !merging->banked) break;
	}
	if (!any && !status)
		status =
		    refuse_shard(index, "it has not the batches of its number, each once", error);
	return status;
}

static enum cuttle_status merge_lines(struct merging *merging, size_t *texts,
                                      struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t batch = 0; !status && batch < merging->run.terms.batches; batch++)
		status = merge_batch(merging, batch, texts, error);
	for (uint64_t i = 0; !status && i < merging->run.terms.shards; i++)
		if (merging->shards[i].at != merging->shards[i].size)
			status = refuse_shard(i, "it has not the batches of its number, each once",
			                      error);
	return status;
}

/* ---- the output ------------------------------------------------------------------------------ */

/* A merge that was stopped is of the same shards, or begins anew. */
static void digest_shards(void *user, const unsigned char *key, char *digest) {
	const struct merging *merging = user;
	struct hash hash;
	(void)key;
	hash_begin(&hash);
	for (uint64_t i = 0; i < merging->run.terms.shards; i++)
		hash_add(&hash, merging->shards[i].sha256, HASH_TEXT);
	hash_end(&hash, digest);
}

static enum cuttle_status open_merged(struct merging *merging, bool *complete,
                                      struct cuttle_error *error) {
	const struct merge_request *request = merging->request;
	const struct shard_terms *terms = &merging->run.terms;
	struct filter_counts none = {0};
	// It is false where texts may be dropped, as none are yet, and their file has no hash.
	(void)attest_filters(merging->run.receipt, &merging->filters, &none);
	const struct output_request output = {.path = request->common.output,
	                                      .receipt_path = request->common.receipt,
	                                      .fingerprint = merging->run.fingerprint,
	                                      .format = terms->format,
	                                      .texts = (size_t)terms->batches,
	                                      .private_output = merging->run.private_output,
	                                      .line = make_merged_line,
	                                      .cell_names = terms->fields,
	                                      .cell_count = terms->field_count,
	                                      .cell = give_merged_cell,
	                                      .batches = terms->lines_of_batches,
	                                      .filters = merging->filters,
	                                      .overwrite = request->common.overwrite,
	                                      .drawn_before = true,
	                                      .digest = digest_shards,
	                                      .user = merging};
	return output_open(&output, &merging->output, complete, error);
}

static json_t *list_shards(const struct merging *merging, size_t offset) {
	json_t *list = json_array();
	for (uint64_t i = 0; i < merging->run.terms.shards; i++)
		(void)json_array_append_new(
		    list, json_string((const char *)&merging->shards[i] + offset));
	return list;
}

/* The receipt of the run, with its output and shards. */
static json_t *make_merged_receipt(const struct merging *merging, const char *sha256,
                                   const char *date) {
	const struct shard_run *run = &merging->run;
	const struct jsonout_member members[] = {
	    {"date", json_string(date)},
	    {"isa", json_string(merging->shards->isa)},
	    {"output_sha256", json_string(sha256)},
	    {"shard_isa", list_shards(merging, offsetof(struct merged_shard, isa))},
	    {"shard_sha256", list_shards(merging, offsetof(struct merged_shard, sha256))},
	    {"shards", json_integer((json_int_t)run->terms.shards)},
	};
	const struct jsonout_member redraws = {
	    "shard_redraws", json_deep_copy(json_object_get(run->attested.root, "redraws"))};
	json_t *root =
	    jsonout_extend(json_deep_copy(run->receipt), members, sizeof members / sizeof *members);
	if (shard_run_redraws(run)) root = jsonout_extend(root, &redraws, 1);
	else json_decref(redraws.value);
	return receipt_add_filters(root, &merging->filters, output_counts(merging->output));
}

/* Nobody needs the references any more. */
static enum cuttle_status remove_texts(const struct merging *merging, struct cuttle_error *error) {
	const int problem = shard_texts_sweep(merging->request->folder);
	return problem ? io_fail(error, CUTTLE_PARTIAL,
	                         "the output is there, but the references in %s cannot be "
	                         "removed: %s",
	                         merging->request->folder, strerror(problem))
	               : CUTTLE_OK;
}

static enum cuttle_status publish_merged(struct merging *merging, struct merge_result *result,
                                         struct cuttle_error *error) {
	char sha256[HASH_TEXT], date[RECEIPT_DATE], *receipt = NULL;
	struct signature_key *signer = NULL;
	size_t size;
	enum cuttle_status status = setup_date(merging->request->common.now, date, error);
	if (!status && merging->request->common.sign)
		status = signature_open(merging->request->common.sign, &signer, error);
	if (!status) status = output_seal(merging->output, sha256, error);
	if (!status) status = settle_ledger(merging, sha256, error);
	if (!status) {
		receipt = receipt_seal(make_merged_receipt(merging, sha256, date), signer, &size);
		status = receipt ? output_publish(merging->output, receipt, size, error)
		                 : io_fail(error, CUTTLE_NOMEM, "out of memory");
		free(receipt);
	}
	signature_close(&signer);
	const struct filter_counts *counts = output_counts(merging->output);
	result->texts = result->kept = counts->drawn;
	result->formulas = counts->formulas;
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++)
		result->kept -= counts->dropped[rule];
	return status;
}

static enum cuttle_status merge_shards(struct merging *merging, struct merge_result *result,
                                       struct cuttle_error *error) {
	const struct shard_run *run = &merging->run;
	const char *sentence;
	size_t texts = 0;
	result->shards = run->terms.shards;
	merging->banked = json_object_get(run->receipt, "token_bank") != NULL;
	if (attest_text(run->receipt, "guarantee", &sentence))
		(void)snprintf(result->guarantee, sizeof result->guarantee, "%s", sentence);
	enum cuttle_status status = check_ending(merging, error);
	if (status) return status;
	if (*run->ledger.entry && !merging->request->common.ledger)
		return io_fail(error, CUTTLE_USAGE,
		               "this run was charged in a ledger, which must know its output: give "
		               "--ledger FILE");
	status = list_lacking(merging, result, error);
	if (!status) status = settle_ledger(merging, NULL, error);
	if (status) return status;
	merging->shards = calloc(run->terms.shards, sizeof *merging->shards);
	if (!merging->shards) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (uint64_t i = 0; !status && i < run->terms.shards; i++)
		status = load_shard(merging, i, error);
	if (!status) status = open_merged(merging, &result->complete, error);
	if (!status && !result->complete) {
		status = merge_lines(merging, &texts, error);
		if (!status) status = publish_merged(merging, result, error);
	}
	return status ? status : remove_texts(merging, error);
}

enum cuttle_status merge_outputs(const struct merge_request *request, struct merge_result *result,
                                 struct cuttle_error *error) {
	struct merging merging = {.request = request};
	*result = (struct merge_result){0};
	enum cuttle_status status =
	    shard_run_read(request->folder, request->key, &merging.run, error);
	if (!status) status = merge_shards(&merging, result, error);
	output_close(&merging.output);
	json_decref(merging.line);
	for (uint64_t i = 0; merging.shards && i < merging.run.terms.shards; i++)
		free(merging.shards[i].bytes);
	free(merging.shards);
	shard_run_close(&merging.run);
	return status;
}
