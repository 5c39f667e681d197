// SPDX-License-Identifier: Apache-2.0
// How verification.h reads a receipt of each system, and compares it with files.
#include "workflow/verification.h"

#include "io/fail.h"
#include "io/ledger.h"
#include <string.h>
#include <sys/stat.h>

/* ---- reading --------------------------------------------------------------------------------- */

static enum cuttle_status open_generation(struct verification *v, struct attested *attested,
                                          const char *key, struct cuttle_error *error) {
	const struct receipt *receipt = &v->claim.receipt;
	const struct filter_counts *counts = &receipt->counts;
	enum cuttle_status status = claim_read(attested, &v->claim, error);
	if (!status) status = claim_check(&v->claim, key, error);
	if (status) return status;
	v->attested = &v->claim.attested;
	v->model_sha256 = receipt->model_sha256;
	v->model_bytes = receipt->model.file_bytes;
	v->dropped_sha256 = *counts->dropped_sha256 ? counts->dropped_sha256 : NULL;
	v->dataset = receipt->dataset;
	v->unit_key = receipt->unit.key ? receipt->unit.key : "";
	v->date = receipt->date;
	v->ledger = receipt->ledger;
	if (!(receipt->ledger.delta > 0)) v->order = receipt->guarantee.claim.order;
	v->private_output = receipt->guarantee.private_output;
	return CUTTLE_OK;
}

static enum cuttle_status open_rewritten(struct verification *v, struct attested *attested,
                                         const char *key, struct cuttle_error *error) {
	enum cuttle_status status = rewrite_claim_read(attested, &v->rewriting, error);
	if (!status) status = rewrite_claim_check(v->rewriting, key, error);
	if (status) return status;
	const struct rewrite_receipt *receipt = &v->rewriting->receipt;
	v->attested = &v->rewriting->attested;
	v->model_sha256 = receipt->model_sha256;
	v->model_bytes = receipt->model.file_bytes;
	v->dataset = receipt->dataset;
	v->unit_key = receipt->unit_key ? receipt->unit_key : "";
	v->date = receipt->date;
	v->ledger = receipt->ledger;
	v->order = receipt->guarantee.alpha;
	v->private_output = receipt->guarantee.private_output;
	return CUTTLE_OK;
}

static enum cuttle_status open_perturbed(struct verification *v, struct attested *attested,
                                         const char *key, struct cuttle_error *error) {
	const struct word_receipt *receipt = &v->words.receipt;
	enum cuttle_status status = word_claim_read(attested, &v->words, error);
	if (!status) status = word_claim_check(&v->words, key, error);
	if (status) return status;
	v->attested = &v->words.attested;
	v->model_sha256 = receipt->model_sha256;
	v->model_bytes = receipt->model_bytes;
	v->words_sha256 = receipt->words_sha256;
	v->dataset = receipt->dataset;
	v->unit_key = receipt->unit_key ? receipt->unit_key : "";
	v->date = receipt->date;
	v->ledger = receipt->ledger;
	v->private_output = receipt->guarantee.private_output;
	return CUTTLE_OK;
}

static enum cuttle_status open_expansion(struct verification *v, struct attested *attested,
                                         const char *key, struct cuttle_error *error) {
	const struct expand_receipt *receipt = &v->expansion.receipt;
	const struct filter_counts *counts = &receipt->counts;
	enum cuttle_status status = expand_claim_read(attested, &v->expansion, error);
	if (!status) status = expand_claim_check(&v->expansion, key, error);
	if (status) return status;
	v->attested = &v->expansion.attested;
	v->model_sha256 = receipt->model_sha256;
	v->model_bytes = receipt->model.file_bytes;
	v->dropped_sha256 = *counts->dropped_sha256 ? counts->dropped_sha256 : NULL;
	v->unit_key = "";
	v->date = receipt->date;
	v->private_output = receipt->private_output;
	return CUTTLE_OK;
}

static enum cuttle_status open_evolution(struct verification *v, struct attested *attested,
                                         const char *key, struct cuttle_error *error) {
	const struct evolve_receipt *receipt = &v->evolution.receipt;
	enum cuttle_status status = evolve_claim_read(attested, &v->evolution, error);
	if (!status) status = evolve_claim_check(&v->evolution, key, error);
	if (status) return status;
	v->attested = &v->evolution.attested;
	v->model_sha256 = receipt->model_sha256;
	v->model_bytes = receipt->model.file_bytes;
	v->dataset = receipt->dataset;
	v->unit_key = receipt->unit_key ? receipt->unit_key : "";
	v->date = receipt->date;
	v->ledger = receipt->ledger;
	v->private_output = receipt->private_output;
	return CUTTLE_OK;
}

enum cuttle_status verification_open(struct verification *v, const char *path, const char *key,
                                     struct cuttle_error *error) {
	struct attested attested;
	*v = (struct verification){.unit_key = "", .model_sha256 = "", .date = ""};
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status) {
		v->system = attest_mechanism(&attested, REWRITE_MECHANISM)  ? VERIFICATION_SANITIZE
		            : attest_mechanism(&attested, WORD_MECHANISM)   ? VERIFICATION_PERTURB
		            : attest_mechanism(&attested, EXPAND_MECHANISM) ? VERIFICATION_EXPAND
		            : attest_mechanism(&attested, EVOLVE_MECHANISM) ? VERIFICATION_EVOLVE
		                                                            : VERIFICATION_GENERATE;
		static enum cuttle_status (*const opens[])(
		    struct verification * v, struct attested * attested, const char *key,
		    struct cuttle_error *error) = {[VERIFICATION_GENERATE] = open_generation,
		                                   [VERIFICATION_SANITIZE] = open_rewritten,
		                                   [VERIFICATION_PERTURB] = open_perturbed,
		                                   [VERIFICATION_EXPAND] = open_expansion,
		                                   [VERIFICATION_EVOLVE] = open_evolution};
		status = opens[v->system](v, &attested, key, error);
	}
	attest_close(&attested);
	return status;
}

void verification_close(struct verification *v) {
	claim_free(&v->claim);
	rewrite_claim_free(&v->rewriting);
	word_claim_free(&v->words);
	attest_close(&v->expansion.attested);
	attest_close(&v->evolution.attested);
	*v = (struct verification){0};
}

/* ---- the files ------------------------------------------------------------------------------- */

static enum cuttle_status check_file_hash(const char *path, const char *what, const char *wanted,
                                          struct cuttle_error *error) {
	char is[HASH_TEXT];
	if (!path) return CUTTLE_OK;
	enum cuttle_status status = hash_file(path, is, error);
	if (!status && strcmp(is, wanted) != 0)
		status = io_fail(error, CUTTLE_LEDGER,
		                 "%s is not the %s of this receipt: other bytes", path, what);
	return status;
}

/* Checks the model's hash, and then its size: a receipt with the right hash and another model_bytes
 * was changed. A run may have had no model. */
static enum cuttle_status check_model(const char *path, const struct verification *v,
                                      struct cuttle_error *error) {
	struct stat file;
	// CUTTLE_MODEL in the environment names a model for every receipt.
	if (!*v->model_sha256) return CUTTLE_OK;
	enum cuttle_status status = check_file_hash(path, "model", v->model_sha256, error);
	if (!path || status) return status;
	if (stat(path, &file) != 0 || (uint64_t)file.st_size != v->model_bytes)
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

/* ---- all files ------------------------------------------------------------------------------- */

enum cuttle_status verification_compare(const struct verification *v,
                                        const struct verification_files *files,
                                        struct cuttle_error *error) {
	const bool expanded = v->system == VERIFICATION_EXPAND;
	enum cuttle_status status = CUTTLE_OK;
	if (files->parent && expanded)
		status = expand_claim_parent(&v->expansion, files->parent, error);
	if (!status)
		status =
		    check_file_hash(files->output, "output", v->attested->output_sha256, error);
	if (!status) status = check_model(files->model, v, error);
	if (!status && files->words)
		status = v->words_sha256
		             ? check_file_hash(files->words, "words file", v->words_sha256, error)
		             : io_fail(error, CUTTLE_LEDGER, "this run had no words file");
	if (!status && files->parent && !expanded)
		status = io_fail(error, CUTTLE_LEDGER, "this run expanded no other output");
	if (!status && files->dropped)
		status = v->dropped_sha256
		             ? check_file_hash(files->dropped, "file of dropped texts",
		                               v->dropped_sha256, error)
		             : io_fail(error, CUTTLE_LEDGER, "this run dropped no texts");
	if (!status && !v->private_output)
		status = io_fail(error, CUTTLE_INPUT, "%s", v->attested->sentence);
	return status ? status : check_ledger(files->ledger, v, error);
}
