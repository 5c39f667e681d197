// SPDX-License-Identifier: Apache-2.0
// Both documents of shard_run.h have their members in one table, and are read back member by
// member. What is missing or of a wrong type makes the whole document wrong.
#include "io/shards/shard_run.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By enum output_format and by enum cuttle_accountant. */
static const char *const FORMATS[] = {"jsonl", "csv"};
static const char *const ACCOUNTANTS[] = {"zcdp", "exact", "renyi"};
static const char PART_SENTENCE[] =
    "None of its own: this is a part of a run. cuttle merge writes the receipt of the whole.";

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *json_of_digests(const struct shard_terms *terms) {
	json_t *list = json_array();
	for (uint64_t i = 0; i < terms->shards; i++)
		(void)json_array_append_new(list, json_string(terms->digests[i]));
	return list;
}

static json_t *json_of_fields(const struct shard_terms *terms) {
	json_t *list = json_array();
	for (size_t i = 0; i < terms->field_count; i++)
		(void)json_array_append_new(list, json_string(terms->fields[i]));
	return list;
}

static json_t *json_of_counted_lots(const struct shard_terms *terms) {
	json_t *list = json_array();
	for (size_t i = 0; i < terms->lot_count; i++)
		(void)json_array_append_new(list,
		                            json_pack("{s:I, s:I, s:I}", "records",
		                                      (json_int_t)terms->lots[i].records, "batches",
		                                      (json_int_t)terms->lots[i].batches, "used",
		                                      (json_int_t)terms->lots[i].used));
	return list;
}

json_t *shard_run_json(const struct shard_terms *terms, const struct receipt *receipt,
                       const char *fingerprint) {
	const struct jsonout_member members[] = {
	    {"accountant", json_string(ACCOUNTANTS[terms->accountant])},
	    {"batches", json_integer((json_int_t)terms->batches)},
	    {"digests", json_of_digests(terms)},
	    {"fields", json_of_fields(terms)},
	    {"format", json_string(FORMATS[terms->format])},
	    {"guarantee", json_string(PART_SENTENCE)},
	    {"lines_of_batches", json_boolean(terms->lines_of_batches)},
	    {"lots", json_of_counted_lots(terms)},
	    {"places", json_integer((json_int_t)terms->places)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"records", json_integer((json_int_t)terms->records)},
	    {"redraws", json_array()},
	    {"run", json_string(terms->run)},
	    {"shards", json_integer((json_int_t)terms->shards)},
	    {"version", json_string(cuttle_version())},
	    {"whole", receipt_json(receipt, fingerprint, "")},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

json_t *shard_run_again(const struct shard_run *run, const struct shard_redraw *redraw) {
	json_t *root = json_deep_copy(run->attested.root);
	(void)json_object_del(root, "signature");
	(void)json_object_del(root, "public_key");
	json_t *one = json_pack("{s:I, s:s, s:s, s:s}", "shard", (json_int_t)redraw->shard, "run",
	                        redraw->run, "entry", redraw->entry, "word", redraw->word);
	if (one && json_array_append_new(json_object_get(root, "redraws"), one) == 0) return root;
	json_decref(root);
	return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The position of a member's word in a list. */
static bool take_word(const json_t *root, const char *key, const char *const *words, size_t count,
                      size_t *which) {
	const char *word;
	if (!attest_text(root, key, &word)) return false;
	for (*which = 0; *which < count; ++*which)
		if (!strcmp(word, words[*which])) return true;
	return false;
}

static bool take_hex(const char *text, size_t digits) {
	return text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

static bool take_counted_lots(const json_t *root, struct shard_terms *terms) {
	const json_t *list = json_object_get(root, "lots");
	const size_t count = json_array_size(list);
	terms->lots = calloc(count + 1, sizeof *terms->lots);
	terms->lot_count = count;
	bool right = terms->lots && json_is_array(list) && count <= MOST_CATEGORIES;
	for (size_t i = 0; right && i < count; i++) {
		const json_t *lots = json_array_get(list, i);
		right = attest_count(lots, "records", INT64_MAX, &terms->lots[i].records) &&
		        attest_count(lots, "batches", INT64_MAX, &terms->lots[i].batches) &&
		        attest_count(lots, "used", INT64_MAX, &terms->lots[i].used);
	}
	return right;
}

static bool take_digests(const json_t *root, struct shard_terms *terms) {
	const json_t *list = json_object_get(root, "digests");
	bool right = json_is_array(list) && json_array_size(list) == terms->shards;
	terms->digests = right ? calloc(terms->shards, sizeof *terms->digests) : NULL;
	right = terms->digests != NULL;
	for (uint64_t i = 0; right && i < terms->shards; i++) {
		const char *digest = json_string_value(json_array_get(list, i));
		right = take_hex(digest, HASH_TEXT - 1);
		if (right) memcpy(terms->digests[i], digest, HASH_TEXT);
	}
	return right;
}

static bool take_fields(const json_t *root, struct shard_run *run) {
	const json_t *list = json_object_get(root, "fields");
	bool right = json_is_array(list) && json_array_size(list) <= CATEGORY_FIELDS;
	run->terms.fields = run->field_names;
	run->terms.field_count = right ? json_array_size(list) : 0;
	for (size_t i = 0; i < run->terms.field_count; i++) {
		run->field_names[i] = json_string_value(json_array_get(list, i));
		right &= run->field_names[i] != NULL;
	}
	return right;
}

static bool take_redraws(const struct shard_run *run) {
	const json_t *list = json_object_get(run->attested.root, "redraws");
	bool right = json_is_array(list);
	for (size_t i = 0; right && i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *name, *entry, *word;
		uint64_t shard;
		right = attest_count(one, "shard", run->terms.shards - 1, &shard) &&
		        attest_text(one, "run", &name) && attest_text(one, "entry", &entry) &&
		        attest_text(one, "word", &word);
		right = right && (take_hex(entry, HASH_TEXT - 1) ? take_hex(name, LEDGER_RUN - 1)
		                                                 : !*entry && *word);
	}
	return right;
}

/* What the run's receipt says that shards and merge need. */
static bool take_whole(struct shard_run *run) {
	const json_t *whole = json_object_get(run->attested.root, "whole"),
	             *ledger = json_object_get(whole, "ledger");
	run->receipt = whole;
	bool right = attest_hash(whole, "command_sha256", run->fingerprint) &&
	             attest_flag(whole, "private", &run->private_output) &&
	             attest_text(whole, "model_sha256", &run->model_sha256);
	right &= attest_text(whole, "template_sha256", &run->template_sha256) &&
	         attest_name(whole, "dataset", &run->dataset);
	if (!json_is_object(ledger)) return right && json_is_null(ledger);
	const bool in_epsilon = json_object_get(ledger, "epsilon"),
	           order = json_object_get(ledger, "loss");
	right &= attest_hash(ledger, "entry", run->ledger.entry) && run->dataset &&
	         attest_real(ledger,
	                     in_epsilon ? "epsilon"
	                     : order    ? "loss"
	                                : "rho",
	                     &run->ledger.rho);
	return right && (!in_epsilon || attest_real(ledger, "delta", &run->ledger.delta));
}

static bool take_run(struct shard_run *run) {
	const json_t *root = run->attested.root;
	struct shard_terms *terms = &run->terms;
	const char *name;
	size_t format, accountant;
	bool right = attest_text(root, "run", &name) && take_hex(name, LEDGER_RUN - 1) &&
	             attest_count(root, "shards", SHARDS_MOST, &terms->shards) && terms->shards;
	right = right && attest_count(root, "batches", SIZE_MAX / 2, &terms->batches) &&
	        terms->batches >= terms->shards &&
	        attest_count(root, "places", UINT32_MAX, &terms->places) && terms->places;
	right = right && attest_count(root, "records", INT64_MAX, &terms->records) &&
	        attest_flag(root, "lines_of_batches", &terms->lines_of_batches) &&
	        take_word(root, "format", FORMATS, 2, &format) &&
	        take_word(root, "accountant", ACCOUNTANTS, 3, &accountant);
	right = right && take_counted_lots(root, terms) && take_digests(root, terms) &&
	        take_fields(root, run) && take_redraws(run) && take_whole(run);
	if (!right) return false;
	memcpy(terms->run, name, LEDGER_RUN);
	terms->format = (enum output_format)format;
	terms->accountant = (enum cuttle_accountant)accountant;
	return attest_text(root, "public_key", &run->attested.public_key) ==
	       attest_text(root, "signature", &run->attested.signature);
}

bool shard_run_stands(const char *path, const char *fingerprint) {
	char *bytes = NULL;
	size_t size = 0;
	json_t *root = NULL;
	if (file_same(path, path) && !file_read(path, (size_t)1 << 24, &bytes, &size, NULL))
		root = json_loadb(bytes, size, 0, NULL);
	free(bytes);
	const char *command =
	    json_string_value(json_object_get(json_object_get(root, "whole"), "command_sha256"));
	const bool stands = command && !strcmp(command, fingerprint);
	json_decref(root);
	return stands;
}

enum cuttle_status shard_run_read(const char *folder, const char *key, struct shard_run *run,
                                  struct cuttle_error *error) {
	char *path;
	*run = (struct shard_run){0};
	if (asprintf(&path, "%s/" SHARD_RUN, folder) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status =
	    access(path, F_OK) != 0 && errno == ENOENT
	        ? io_fail(error, CUTTLE_LEDGER,
	                  "no run is open in %s: name the folder that cuttle shard open made",
	                  folder)
	        : attest_open(path, &run->attested, error);
	if (status == CUTTLE_INPUT) status = CUTTLE_LEDGER;
	if (!status && !take_run(run))
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s: it is not what cuttle shard open writes", path);
	if (!status) status = attest_refuse(&run->attested, true, error);
	const char *problem = status ? NULL : attest_signature(&run->attested, key);
	if (problem) status = io_fail(error, CUTTLE_LEDGER, "%s: %s", path, problem);
	run->attested.path = NULL;
	free(path);
	return status;
}

void shard_run_close(struct shard_run *run) {
	attest_close(&run->attested);
	free(run->terms.lots);
	free(run->terms.digests);
	*run = (struct shard_run){0};
}

size_t shard_run_redraws(const struct shard_run *run) {
	return json_array_size(json_object_get(run->attested.root, "redraws"));
}

struct shard_redraw shard_run_redraw(const struct shard_run *run, size_t index) {
	struct shard_redraw redraw = {.run = "", .entry = "", .word = ""};
	const json_t *one = json_array_get(json_object_get(run->attested.root, "redraws"), index);
	(void)attest_count(one, "shard", SHARDS_MOST, &redraw.shard);
	(void)attest_text(one, "run", &redraw.run);
	(void)attest_text(one, "entry", &redraw.entry);
	(void)attest_text(one, "word", &redraw.word);
	return redraw;
}

/* ---- the receipt of a shard ------------------------------------------------------------------ */

static uint64_t count_attempts(const struct shard_run *run, uint64_t index) {
	uint64_t attempts = 0;
	for (size_t i = 0; i < shard_run_redraws(run); i++)
		attempts += shard_run_redraw(run, i).shard == index;
	return attempts;
}

void shard_run_command(const struct shard_run *run, uint64_t index, char fingerprint[HASH_TEXT]) {
	char line[256];
	const int size = snprintf(
	    line, sizeof line, "cuttle shard %s %s %" PRIu64 " %" PRIu64 " %" PRIu64,
	    run->fingerprint, run->terms.run, index, run->terms.shards, count_attempts(run, index));
	hash_of(line, (size_t)size, fingerprint);
}

json_t *shard_run_part(const struct shard_run *run, uint64_t index, const char *isa,
                       const char *output_sha256) {
	const uint64_t batches = (run->terms.batches - index - 1) / run->terms.shards + 1;
	char command[HASH_TEXT];
	shard_run_command(run, index, command);
	const struct jsonout_member members[] = {
	    {"attempt", json_integer((json_int_t)count_attempts(run, index))},
	    {"batches", json_integer((json_int_t)batches)},
	    {"command_sha256", json_string(command)},
	    {"guarantee", json_string(PART_SENTENCE)},
	    {"isa", json_string(isa)},
	    {"ledger_entry", json_string(run->ledger.entry)},
	    {"model_sha256", json_string(run->model_sha256)},
	    {"output_sha256", json_string(output_sha256)},
	    {"private", json_boolean(run->private_output)},
	    {"receipt", json_integer(RECEIPT_FORMAT)},
	    {"run", json_string(run->terms.run)},
	    {"run_command_sha256", json_string(run->fingerprint)},
	    {"shard", json_integer((json_int_t)index)},
	    {"shards", json_integer((json_int_t)run->terms.shards)},
	    {"template_sha256", json_string(run->template_sha256)},
	    {"version", json_string(cuttle_version())},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

enum cuttle_status shard_run_check(const struct shard_run *run, uint64_t index, const char *path,
                                   const char *key, char isa[64], char output_sha256[HASH_TEXT],
                                   struct cuttle_error *error) {
	struct attested attested;
	const char *tier = "";
	enum cuttle_status status = attest_open(path, &attested, error);
	// A receipt that another cuttle wrote contradicts run.json like any other.
	if (status == CUTTLE_INPUT) status = CUTTLE_LEDGER;
	const char *problem = NULL;
	if (!status &&
	    (!attest_words(&attested) || !attest_text(attested.root, "isa", &tier) ||
	     strlen(tier) >= 64 || !attest_hash(attested.root, "output_sha256", output_sha256)))
		problem = "it is no receipt of a shard";
	if (!status && !problem) status = attest_refuse(&attested, true, error);
	if (!status && !problem) problem = attest_signature(&attested, key);
	if (!status && !problem) (void)snprintf(isa, 64, "%s", tier);
	if (!status) {
		json_t *again = problem ? NULL : shard_run_part(run, index, tier, output_sha256);
		status = attest_conclude(&attested, problem, again, NULL, 0, error);
	}
	attest_close(&attested);
	return status;
}
