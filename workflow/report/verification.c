// SPDX-License-Identifier: Apache-2.0
// How verification.h reads a receipt of each system, and compares it with files.
#include "workflow/report/verification.h"

#include "io/disk/fail.h"
#include "io/disk/model_hash.h"
#include "io/ledger/ledger.h"
#include "io/receipts/bias.h"
#include "workflow/common.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

static const struct receipt_kind *const KINDS[] = {&SANITIZE_KIND, &PERTURB_KIND, &EXPAND_KIND,
                                                   &EVOLVE_KIND,   &LEARN_KIND,   &SAMPLE_KIND};

/* What names no mechanism of these is of generate, or is no receipt. */
static const struct receipt_kind *find_receipt_kind(const struct attested *attested) {
	for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
		if (attest_mechanism(attested, KINDS[i]->mechanism)) return KINDS[i];
	return &GENERATE_KIND;
}

/* At which order the ledger counts losses; 0 = rho. */
static unsigned find_order(const struct verification *v) {
	if (v->evidence.kind == &SANITIZE_KIND)
		return ((const struct sanitize_receipt *)v->receipt)->guarantee.alpha;
	if (v->evidence.kind == &LEARN_KIND)
		return ((const struct learn_receipt *)v->receipt)->order;
	if (v->evidence.kind != &GENERATE_KIND || v->ledger.delta > 0) return 0;
	return ((const struct receipt *)v->receipt)->guarantee.claim.order;
}

/* The bias that the receipt names, and what is copied of its own receipt; NULL = it names none. */
static const struct receipt_bias *find_bias(const struct verification *v) {
	const struct receipt_bias *bias =
	    v->evidence.kind == &GENERATE_KIND ? &((const struct receipt *)v->receipt)->bias
	    : v->evidence.kind == &EXPAND_KIND ? &((const struct expand_receipt *)v->receipt)->bias
	    : v->evidence.kind == &SAMPLE_KIND ? &((const struct sample_receipt *)v->receipt)->bias
	                                       : NULL;
	return bias && *bias->sha256 ? bias : NULL;
}

static const char *find_member_text(const struct verification *v, const char *name) {
	const char *const *text = evidence_field(&v->evidence, name);
	return text ? *text : NULL;
}

/* Takes what receipts of all systems say of other files. The receipt holds, so what is there is of
 * its type. An expansion was counted nowhere, whatever it repeats of its parent's receipt. */
static void take_common(struct verification *v) {
	const json_t *root = v->attested->root;
	const struct receipt_ledger *ledger = evidence_field(&v->evidence, "ledger");
	const char *unit = find_member_text(v, "unit_key"),
	           *model = json_string_value(json_object_get(root, "model_sha256"));
	v->model_sha256 = model ? model : "";
	v->model_bytes = (uint64_t)json_integer_value(json_object_get(root, "model_bytes"));
	v->words_sha256 = json_string_value(json_object_get(root, "words_sha256"));
	v->grammar_sha256 = json_string_value(json_object_get(root, "grammar_sha256"));
	v->schema_sha256 = json_string_value(json_object_get(root, "schema_sha256"));
	v->dropped_sha256 = json_string_value(json_object_get(root, "dropped_sha256"));
	v->date = json_string_value(json_object_get(root, "date"));
	v->private_output = json_is_true(json_object_get(root, "private"));
	v->dataset = find_member_text(v, "dataset");
	v->unit_key = unit ? unit : "";
	if (ledger) v->ledger = *ledger;
	v->order = find_order(v);
	v->bias = find_bias(v);
}

enum cuttle_status verification_open(struct verification *v, const char *path, const char *key,
                                     struct cuttle_error *error) {
	struct attested attested;
	*v = (struct verification){.unit_key = "", .model_sha256 = "", .date = ""};
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status)
		status =
		    evidence_read(find_receipt_kind(&attested), &attested, &v->evidence, error);
	attest_close(&attested);
	if (!status) status = evidence_check(&v->evidence, key, error);
	if (status) return status;
	v->attested = &v->evidence.attested;
	v->receipt = v->evidence.receipt;
	take_common(v);
	return CUTTLE_OK;
}

void verification_close(struct verification *v) {
	evidence_free(&v->evidence);
	*v = (struct verification){0};
}

/* ---- the files ------------------------------------------------------------------------------- */

static enum cuttle_status compare_file_hash(const char *path, const char *what, const char *is,
                                            const char *wanted, struct cuttle_error *error) {
	return !strcmp(is, wanted)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_LEDGER, "%s is not the %s of this receipt: other bytes",
	                     path, what);
}

static enum cuttle_status check_file_hash(const char *path, const char *what, const char *wanted,
                                          struct cuttle_error *error) {
	char is[HASH_TEXT];
	if (!path) return CUTTLE_OK;
	const enum cuttle_status status = hash_file(path, is, error);
	return status ? status : compare_file_hash(path, what, is, wanted, error);
}

/* The same for a file that a run may not have had: then `wanted` is NULL. */
static enum cuttle_status check_owned(const char *path, const char *what, const char *wanted,
                                      struct cuttle_error *error) {
	return path && !wanted ? io_fail(error, CUTTLE_LEDGER, "this run had no %s", what)
	                       : check_file_hash(path, what, wanted, error);
}

/* Checks the model's hash, and then its size: a receipt with the right hash and another model_bytes
 * was changed. A run may have had no model. */
static enum cuttle_status check_model(const char *path, const struct verification *v,
                                      struct cuttle_error *error) {
	char is[HASH_TEXT];
	uint64_t size;
	// CUTTLE_MODEL in the environment names a model for every receipt.
	if (!path || !*v->model_sha256) return CUTTLE_OK;
	enum cuttle_status status = model_hash_file(path, is, &size, error);
	if (!status) status = compare_file_hash(path, "model", is, v->model_sha256, error);
	if (!status && size != v->model_bytes)
		status = io_fail(error, CUTTLE_LEDGER, "%s does not have the receipt's model_bytes",
		                 path);
	return status;
}

struct entry_search {
	const struct verification *v;
	char run[LEDGER_RUN]; /* the run of the receipt's entry; "" = not found yet */
	bool same_unit;       /* the data set counts the receipt's units, in its measure */
	bool found;           /* the receipt's entry is in the ledger */
	bool right;           /* that entry reserves what the receipt says, for its command */
	bool closed;          /* the run was closed later */
	bool same_output;     /* and with the receipt's output */
};

/* Sees each entry of the ledger, in order. So the data set comes before the receipt's entry, and
 * the entry that closes its run comes after it. */
static enum cuttle_status match_entry(void *user, const struct chain_entry *entry) {
	struct entry_search *search = user;
	const struct verification *v = search->v;
	const bool here = !strcmp(entry->dataset, v->dataset);
	if (here && !strcmp(entry->kind, "dataset"))
		search->same_unit =
		    entry->order == v->order && !strcmp(entry->unit_key, v->unit_key);
	if (here && search->found && !strcmp(entry->kind, "close") &&
	    !strcmp(entry->run, search->run)) {
		search->closed = true;
		search->same_output = !strcmp(entry->command, v->attested->output_sha256);
	}
	if (strcmp(entry->hash, v->ledger.entry) != 0) return CUTTLE_OK;
	search->found = true;
	(void)snprintf(search->run, sizeof search->run, "%s", entry->run);
	search->right = here && search->same_unit && !strcmp(entry->kind, "reserve") &&
	                entry->rho == v->ledger.rho && entry->delta == v->ledger.delta &&
	                !strcmp(entry->command, v->attested->command_sha256);
	return CUTTLE_OK;
}

static enum cuttle_status check_ledger(const char *path, const struct verification *v,
                                       struct cuttle_error *error) {
	struct ledger *ledger;
	struct entry_search search = {.v = v};
	const char *hash = v->ledger.entry;
	if (!path) return CUTTLE_OK;
	if (!*hash) return io_fail(error, CUTTLE_LEDGER, "this run was counted in no ledger");
	uint64_t entries;
	char head[HASH_TEXT];
	enum cuttle_status status = ledger_open(path, &ledger, error);
	if (status) return status;
	status = ledger_verify(ledger, NULL, &entries, head, error);
	if (!status) status = ledger_walk(ledger, NULL, match_entry, &search, error);
	ledger_close(&ledger);
	if (!status && !search.found)
		status = io_fail(error, CUTTLE_LEDGER, "%s has no entry %s", path, hash);
	if (!status && !search.right)
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s has this receipt's entry with other numbers", path);
	if (!status && !search.closed)
		status = io_fail(
		    error, CUTTLE_LEDGER,
		    "%s has this receipt's entry, but no output was ever finished under it", path);
	if (!status && !search.same_output)
		status =
		    io_fail(error, CUTTLE_LEDGER,
		            "%s says that this receipt's entry has paid for another output", path);
	return status;
}

static bool are_same_names(const char *one, const char *other) {
	return one && other ? !strcmp(one, other) : one == other;
}

/* Whether a heading is of these fields, in any order, and of no others. */
static bool has_these_fields(const char *heading, const json_t *values) {
	size_t lines = 0;
	for (const char *line = heading; line; lines++) {
		const char *end = strchr(line, '\n'), *key;
		json_t *value;
		bool found = false;
		json_object_foreach((json_t *)(uintptr_t)values, key, value) found |=
		    categories_names(line, key);
		if (!found) return false;
		line = end ? end + 1 : NULL;
	}
	return lines == json_object_size(values);
}

/* Whether the run leaves open what a bias with categories tells: how many records each has. An
 * expansion's receipt repeats whom its parent protects. */
static bool leaves_categories_public(const struct verification *v, const struct bias *bias) {
	const struct receipt *receipt = v->receipt;
	const json_t *root = v->attested->root,
	             *first = json_array_get(json_object_get(root, "categories"), 0);
	const char *adjacency = json_string_value(json_object_get(root, "adjacency"));
	if (v->evidence.kind == &EXPAND_KIND)
		return adjacency && (strstr(adjacency, "category stays") ||
		                     strstr(adjacency, "categories stay"));
	return v->evidence.kind != &GENERATE_KIND ||
	       (receipt->categories && !receipt->histogram &&
	        has_these_fields(bias->headings[0], json_object_get(first, "values")));
}

/* Whether the run's receipt says of model, units and privacy what that of its bias says. Texts of
 * the bias alone have its whole guarantee, and its data set. */
static bool repeats_bias(const struct verification *v, const struct bias *bias) {
	const struct learn_receipt *learnt = bias->receipt;
	const char *key = json_string_value(json_object_get(v->attested->root, "unit_key"));
	const bool alone = v->evidence.kind == &SAMPLE_KIND;
	return !strcmp(learnt->model_sha256, v->model_sha256) &&
	       (are_same_names(learnt->unit_key, key) || (learnt->from_public && !alone)) &&
	       (!learnt->categories || learnt->from_public || leaves_categories_public(v, bias)) &&
	       (alone ? learnt->categories ==
	                        ((const struct sample_receipt *)v->receipt)->categories &&
	                    learnt->private_output == v->private_output &&
	                    are_same_names(learnt->dataset, v->dataset)
	              : learnt->private_output || !v->private_output);
}

/* Checks the bias with the receipt beside it, and that the run's receipt promises what that does.
 */
static enum cuttle_status check_bias(const char *path, const struct verification *v,
                                     struct cuttle_error *error) {
	const struct receipt_bias *bias = v->bias;
	struct bias is;
	char *beside;
	if (!bias) return io_fail(error, CUTTLE_LEDGER, "this run had no bias");
	enum cuttle_status status = common_receipt_beside(path, NULL, &beside, error);
	if (status) return status;
	status = bias_open(&is, path, beside, error);
	if (!status) status = bias_compare(path, &is.evidence, error);
	const struct receipt_bias told =
	    status ? (struct receipt_bias){.from_public = false} : bias_told(&is);
	if (!status && (strcmp(told.sha256, bias->sha256) != 0 ||
	                strcmp(told.receipt_sha256, bias->receipt_sha256) != 0))
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s is not the bias of this receipt: other bytes", path);
	if (!status &&
	    (told.from_public != bias->from_public || told.epsilon != bias->epsilon ||
	     told.delta != bias->delta || told.rho != bias->rho || !repeats_bias(v, &is)))
		status =
		    io_fail(error, CUTTLE_LEDGER,
		            "the receipt of %s promises something else than this one says", path);
	bias_close(&is);
	free(beside);
	return status;
}

/* ---- all files ------------------------------------------------------------------------------- */

enum cuttle_status verification_compare(const struct verification *v,
                                        const struct verification_files *files,
                                        struct cuttle_error *error) {
	const bool expanded = v->evidence.kind == &EXPAND_KIND;
	enum cuttle_status status = CUTTLE_OK;
	if (files->parent && expanded) status = expand_parent(&v->evidence, files->parent, error);
	if (!status)
		status =
		    check_file_hash(files->output, "output", v->attested->output_sha256, error);
	// What a receipt of a bias says of it stands in the bias, too.
	if (!status && files->output && v->evidence.kind == &LEARN_KIND)
		status = bias_compare(files->output, &v->evidence, error);
	if (!status) status = check_model(files->model, v, error);
	if (!status) status = check_owned(files->words, "words file", v->words_sha256, error);
	if (!status) status = check_owned(files->grammar, "grammar", v->grammar_sha256, error);
	if (!status) status = check_owned(files->schema, "schema", v->schema_sha256, error);
	if (!status && files->parent && !expanded)
		status = io_fail(error, CUTTLE_LEDGER, "this run expanded no other output");
	if (!status && files->bias) status = check_bias(files->bias, v, error);
	if (!status && files->dropped)
		status = v->dropped_sha256
		             ? check_file_hash(files->dropped, "file of dropped texts",
		                               v->dropped_sha256, error)
		             : io_fail(error, CUTTLE_LEDGER, "this run dropped no texts");
	if (!status && !v->private_output)
		status = io_fail(error, CUTTLE_INPUT, "%s", v->attested->sentence);
	return status ? status : check_ledger(files->ledger, v, error);
}
