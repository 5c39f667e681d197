// SPDX-License-Identifier: Apache-2.0
// See shards.h. While a run is opened, a lock on run.lock keeps other openers away; the references
// that a killed one left are overwritten and removed.
#include "workflow/shards.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/records/lots.h"
#include "workflow/references.h"
#include "workflow/spending.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The scratch ending of the name that spending keeps beside run.json. */
#define OPENING FILE_PART "-open"
/* The ending of run.json until the ledger knows that the run draws. */
#define STAGED FILE_PART "-paid"
enum { STAGED_MOST = 1 << 24 }; /* bytes of it at most */

const char *shards_fault(const struct generate_request *request) {
	if (generate_counts(request))
		return "private categories, clusters and lots of owners need counts that are "
		       "drawn once for all texts. Declare categories with --category-public, or "
		       "write the run on one machine";
	if (request->rounds > 1)
		return "--rounds 2 shows texts of other shards; leave it out, or write the "
		       "run on one machine";
	if (request->filters.drop[FILTER_UNLIKELY])
		return "--drop unlikely needs the model where shards are merged; leave it "
		       "out, or write the run on one machine";
	if (request->trace) return "--trace is for a run on one machine";
	if (request->schema)
		return "--schema is for a run on one machine: give --grammar, or leave it out";
	if (request->common.receipt)
		return "--receipt is for a run on one machine; a shard's receipt stands "
		       "beside its texts";
	for (size_t i = 0; i < request->category_field_count; i++)
		if (!strcmp(request->category_fields[i], "batch") ||
		    !strcmp(request->category_fields[i], "free") ||
		    !strcmp(request->category_fields[i], "ids"))
			return "no field of --category-field can be called batch, free or "
			       "ids";
	return NULL;
}

char *shards_file(const char *folder) {
	char *path;
	return asprintf(&path, "%s/" SHARD_RUN, folder) < 0 ? NULL : path;
}

enum cuttle_status shards_folder(const struct generate_request *request, const char *folder,
                                 struct cuttle_error *error) {
	const char *const read[] = {request->common.input,  request->common.model,
	                            request->common.ledger, request->public_examples,
	                            request->prompt_public, request->prompt_private,
	                            request->categories,    request->common.sign,
	                            request->grammar,       request->schema};
	bool made;
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		if (shard_inside(folder, read[i]))
			return io_fail(error, CUTTLE_USAGE,
			               "%s is in %s, where only files of shards may be: choose "
			               "another folder",
			               read[i], folder);
	// How large its files are tells how long the references are.
	return file_own_folder(folder, &made, error);
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum cuttle_status lock_opening(const char *folder, int *file, struct cuttle_error *error) {
	char *path;
	if (asprintf(&path, "%s/run.lock", folder) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const int problem = file_lock(path, file);
	free(path);
	if (!problem) return CUTTLE_OK;
	return problem == EWOULDBLOCK ? io_fail(error, CUTTLE_USAGE,
	                                        "another process is opening the run in %s", folder)
	                              : io_fail(error, CUTTLE_USAGE, "cannot write into %s: %s",
	                                        folder, strerror(problem));
}

/* An opening that failed leaves no lock behind. Whoever waits for the name finds it new. */
static void unlock_opening(const char *folder) {
	char *path;
	if (asprintf(&path, "%s/run.lock", folder) < 0) return;
	(void)unlink(path);
	free(path);
}

/* Which places of the run a shard has: its fourth is place 16 with 3 of a batch, shard 1 of 4. */
struct shard_view {
	const struct references *references;
	struct shard_number number;
	size_t places; /* of a batch */
};

static const char *view_text(void *user, size_t place, size_t *size) {
	const struct shard_view *view = user;
	const size_t batch = place / view->places * view->number.count + view->number.index;
	return references_text(view->references, batch * view->places + place % view->places, size);
}

/* Writes what the places of each shard hold. */
static enum cuttle_status write_shard_texts(const char *folder, const struct shard_terms *terms,
                                            const struct references *references,
                                            struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (uint64_t i = 0; !status && i < terms->shards; i++) {
		struct shard_view view = {.references = references,
		                          .number = {i, terms->shards},
		                          .places = terms->places};
		char *path = shard_path(folder, view.number, SHARD_TEXTS);
		const struct shard_texts_request wanted = {
		    .path = path,
		    .run = terms->run,
		    .number = view.number,
		    .places = references_places(terms, view.number),
		    .text = view_text,
		    .user = &view};
		status = path ? shard_texts_write(&wanted, terms->digests[i], error)
		              : io_fail(error, CUTTLE_NOMEM, "out of memory");
		free(path);
	}
	return status;
}

static enum cuttle_status explain_run(const char *path, int problem, struct cuttle_error *error) {
	return problem
	           ? io_fail(error, CUTTLE_PARTIAL, "cannot write %s: %s", path, strerror(problem))
	           : CUTTLE_OK;
}

/* Makes the document durable under the name `staged`. Takes root. */
static enum cuttle_status stage_run(const char *staged, json_t *root, const struct setup *setup,
                                    struct cuttle_error *error) {
	size_t size;
	char *bytes = receipt_seal(root, setup->signer, &size);
	if (!bytes) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const int problem = file_replace(staged, bytes, size);
	free(bytes);
	return explain_run(staged, problem, error);
}

/* Puts what was staged in place as run.json. */
static enum cuttle_status put_run(const char *path, const char *staged,
                                  struct cuttle_error *error) {
	const int problem = rename(staged, path) ? errno : file_sync_folder(path);
	return explain_run(path, problem, error);
}

/* What stands staged takes the part of a journal: the ledger keeps its length and hash. */
static int mark_staged(void *user, uint64_t most, struct journal_mark *mark) {
	char *bytes = NULL;
	size_t size;
	if (file_read(user, STAGED_MOST, &bytes, &size, NULL)) return EIO;
	if (size > most) size = (size_t)most;
	mark->bytes = size;
	hash_of(bytes, size, mark->sha256);
	free(bytes);
	return 0;
}

/* Whether an opening was stopped behind this point: all that it opens stands. */
static bool is_staged(const struct shards_request *request, const char *staged) {
	bool stands = file_same(staged, staged);
	for (uint64_t i = 0; stands && i < request->shards; i++) {
		const struct shard_number number = {i, request->shards};
		char *path = shard_path(request->folder, number, SHARD_TEXTS);
		stands = path && file_same(path, path);
		free(path);
	}
	return stands;
}

/* Whether run.json stands already, and is this command's. */
static enum cuttle_status look_for_run(const struct shards_request *request,
                                       const struct setup *setup, struct shard_run *run,
                                       bool *stands, struct cuttle_error *error) {
	*run = (struct shard_run){0};
	*stands = file_same(request->run->common.output, request->run->common.output);
	if (!*stands) return CUTTLE_OK;
	const enum cuttle_status status = shard_run_read(request->folder, NULL, run, error);
	if (status) return status;
	if (!strcmp(run->fingerprint, setup->fingerprint) && run->terms.shards == request->shards)
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "another run is open in %s: one of other options, or of %" PRIu64 " "
	               "shards. Name another folder, or give the options it was opened with",
	               request->folder, run->terms.shards);
}

/* Charges the run. The references are placed afterwards: with lots nobody is charged by place.
 * `staged` as spending_reserve takes a journal; NULL = nothing is. */
static enum cuttle_status charge_shards(struct setup *setup, const struct references *references,
                                        const struct spending_journal *staged,
                                        struct spending *spending, struct cuttle_error *error) {
	const struct ledger_request charge =
	    references_charge(references, setup, !*spending->dataset.unit_key);
	return spending_reserve(spending, &charge, staged, OPENING, &setup->receipt.ledger, error);
}

/* Without run.json nobody needs the references that a killed or failed opening left. */
static enum cuttle_status sweep_folder(const char *folder, struct cuttle_error *error) {
	const int problem = shard_texts_sweep(folder);
	return problem ? io_fail(error, CUTTLE_PARTIAL,
	                         "the references that another opening left in %s cannot be "
	                         "removed: %s",
	                         folder, strerror(problem))
	               : CUTTLE_OK;
}

static enum cuttle_status open_run(const struct shards_request *request, char *staged_path,
                                   struct setup *setup, struct references *references,
                                   struct spending *spending, struct lots *lots,
                                   struct cuttle_error *error) {
	const struct generate_request *run = request->run;
	const struct cuttle_guarantee *guarantee = &setup->receipt.guarantee;
	const struct spending_request counted =
	    common_spending(&request->run->common, setup->receipt.guarantee.private_output);
	struct shard_terms terms = {.shards = request->shards,
	                            .batches = setup->receipt.texts,
	                            .places = cuttle_guarantee_asked(guarantee),
	                            .records = setup->lots.records,
	                            .lots = setup->lots.all,
	                            .lot_count = setup->lots.count,
	                            .accountant = setup->accountant,
	                            .format = run->output_format,
	                            .lines_of_batches = guarantee->savings.token_bank ||
	                                                guarantee->savings.free_tokens > 0,
	                            .fields = run->category_fields,
	                            .field_count = run->category_field_count};
	const struct spending_journal staged = {staged_path, STAGED, true, mark_staged};
	const bool stands = is_staged(request, staged_path);
	enum cuttle_status status = stands ? CUTTLE_OK : sweep_folder(request->folder, error);
	if (!status) status = spending_open(&counted, spending, error);
	if (!status && setup->lots.count)
		status =
		    lots_begin(lots, run->plan.insecure ? &run->plan.insecure_seed : NULL, error);
	if (!status) status = references_read(run, setup, references, error);
	if (!status)
		status = charge_shards(setup, references, stands ? &staged : NULL, spending, error);
	// It was stopped behind the ledger's entry, and what the entry names is all there.
	if (!status && stands && spending->drawn) {
		status = put_run(run->common.output, staged_path, error);
		if (!status) spending_done(spending);
		return status;
	}
	if (!status && stands) status = sweep_folder(request->folder, error);
	if (!status && references->lots) status = references_draw(setup, lots, references, error);
	if (status) return status;
	// A run that nobody counts has a name, too.
	ledger_name_run(terms.run);
	if (spending->path) memcpy(terms.run, spending->run, LEDGER_RUN);
	terms.digests = calloc(terms.shards, sizeof *terms.digests);
	if (!terms.digests) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = write_shard_texts(request->folder, &terms, references, error);
	if (!status)
		status = stage_run(staged_path,
		                   shard_run_json(&terms, &setup->receipt, setup->fingerprint),
		                   setup, error);
	if (!status) status = spending_draw(spending, &staged, error);
	if (status) (void)shard_texts_sweep(request->folder), (void)unlink(staged_path);
	if (!status) status = put_run(run->common.output, staged_path, error);
	if (!status) spending_done(spending);
	free(terms.digests);
	return status;
}

enum cuttle_status shards_open(const struct shards_request *request, struct setup *setup,
                               bool *already, struct cuttle_error *error) {
	struct references references = {0};
	struct spending spending = {0};
	struct lots lots = {0};
	struct shard_run run = {0};
	bool stands = false;
	int lock = -1;
	*already = false;
	if (request->shards > setup->receipt.texts)
		return io_fail(error, CUTTLE_USAGE,
		               "--shards %" PRIu64
		               ": there are %zu batches, and a shard has at least "
		               "one",
		               request->shards, setup->receipt.texts);
	enum cuttle_status status = lock_opening(request->folder, &lock, error);
	if (!status) status = look_for_run(request, setup, &run, &stands, error);
	char *staged = file_name(request->run->common.output, STAGED);
	if (!status && !staged) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && !stands)
		status = open_run(request, staged, setup, &references, &spending, &lots, error);
	free(staged);
	if (lock >= 0 && status && !stands) unlock_opening(request->folder);
	*already = !status && stands;
	shard_run_close(&run);
	spending_close(&spending);
	lots_close(&lots);
	references_free(&references);
	if (lock >= 0) (void)close(lock);
	return status;
}

/* ---- drawing again --------------------------------------------------------------------------- */

/* The files of a shard that a journal before this attempt left. */
static enum cuttle_status remove_attempt(const char *folder, struct shard_number number,
                                         struct cuttle_error *error) {
	// Its taker goes last: while it stands nothing is drawn.
	static const char *const endings[] = {SHARD_LINES, SHARD_RECEIPT, SHARD_JOURNAL, SHARD_KEY,
	                                      SHARD_TAKEN};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		char *path = shard_path(folder, number, endings[i]);
		if (!path) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		const int problem = unlink(path) && errno != ENOENT ? errno : 0;
		const int synced = problem ? problem : file_sync_folder(path);
		free(path);
		if (synced)
			return io_fail(error, CUTTLE_PARTIAL,
			               "cannot remove what is left of shard %" PRIu64 ": %s",
			               number.index, strerror(synced));
	}
	return CUTTLE_OK;
}

/* Whether the shard was taken, and by a journal of this attempt. */
static enum cuttle_status look_at_attempt(const char *folder, const struct shard_run *run,
                                          struct shard_number number, bool *current,
                                          struct cuttle_error *error) {
	char command[HASH_TEXT], *text = NULL;
	size_t size;
	char *taken = shard_path(folder, number, SHARD_TAKEN),
	     *receipt = shard_path(folder, number, SHARD_RECEIPT),
	     *lines = shard_path(folder, number, SHARD_LINES);
	enum cuttle_status status =
	    taken && receipt && lines ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	shard_run_command(run, number.index, command);
	*current = false;
	if (!status && file_same(receipt, receipt) && file_same(lines, lines))
		status = io_fail(error, CUTTLE_USAGE,
		                 "--redraw: shard %" PRIu64 " is complete; nothing of it is lost",
		                 number.index);
	if (!status && !file_same(taken, taken))
		status = io_fail(error, CUTTLE_USAGE,
		                 "--redraw: shard %" PRIu64 " was never begun: generate --shard "
		                 "draws it",
		                 number.index);
	if (!status) *current = file_read(taken, 4096, &text, &size, NULL) || strstr(text, command);
	free(text);
	free(taken);
	free(receipt);
	free(lines);
	return status;
}

/* Pays for the run again, or takes somebody's word, and writes that into run.json. */
static enum cuttle_status pay_again(const struct shards_request *request, struct setup *setup,
                                    const struct shard_run *run, struct shard_redraw redraw,
                                    struct cuttle_error *error) {
	struct references references = {0};
	struct spending spending = {0};
	const struct spending_request counted =
	    common_spending(&request->run->common, setup->receipt.guarantee.private_output);
	const bool pays = !*redraw.word && *run->ledger.entry;
	enum cuttle_status status = CUTTLE_OK;
	if (pays && !counted.ledger)
		return io_fail(error, CUTTLE_USAGE,
		               "--redraw pays again what the run was charged: give --ledger and "
		               "--dataset, or --nobody-saw");
	// Twice from the same lots is more than twice the charge of lots (dp/PRIVACY.md, step 52).
	if (!*redraw.word && run->terms.lot_count)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "--redraw: with lots a second draw cannot be paid for, as its records stay "
		    "where they are. Give --nobody-saw, or open the run anew in another folder");
	if (!pays && !*redraw.word)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "--redraw: nobody counted this run, so nothing can be charged again. "
		    "--nobody-saw says on whose word nobody has seen what was drawn");
	char *path;
	if (asprintf(&path, "%s" STAGED "-%" PRIu64, request->run->common.output, redraw.shard) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const struct spending_journal staged = {path, path + strlen(request->run->common.output),
	                                        true, mark_staged};
	const struct spending_journal *stands = file_same(path, path) ? &staged : NULL;
	if (pays) status = spending_open(&counted, &spending, error);
	if (!status && pays) status = references_read(request->run, setup, &references, error);
	if (!status && pays) status = charge_shards(setup, &references, stands, &spending, error);
	if (pays) redraw.run = spending.run, redraw.entry = setup->receipt.ledger.entry;
	// Drawn already: it was stopped behind the ledger's entry, which names what is staged.
	if (!status && !spending.drawn) {
		status = stage_run(path, shard_run_again(run, &redraw), setup, error);
		if (!status && pays) status = spending_draw(&spending, &staged, error);
	}
	if (!status) status = put_run(request->run->common.output, path, error);
	if (!status) spending_done(&spending);
	free(path);
	spending_close(&spending);
	references_free(&references);
	return status;
}

enum cuttle_status shards_redraw(const struct shards_request *request, struct setup *setup,
                                 uint64_t shard, const char *word, struct cuttle_error *error) {
	struct shard_run run = {0};
	int lock = -1, journal = -1;
	bool stands = false, current = false;
	const struct shard_number number = {shard, request->shards};
	if (shard >= request->shards)
		return io_fail(error, CUTTLE_USAGE, "--redraw: the shards are 0 to %" PRIu64,
		               request->shards - 1);
	char *path = shard_path(request->folder, number, SHARD_JOURNAL);
	enum cuttle_status status = path ? lock_opening(request->folder, &lock, error)
	                                 : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = look_for_run(request, setup, &run, &stands, error);
	if (!status && !stands)
		status =
		    io_fail(error, CUTTLE_USAGE, "--redraw: no run is open in %s", request->folder);
	// Locked before it is looked at: a process that draws it could complete it in between.
	if (!status && file_lock(path, &journal))
		status = io_fail(error, CUTTLE_USAGE,
		                 "--redraw: a process is drawing shard %" PRIu64, shard);
	if (!status) status = look_at_attempt(request->folder, &run, number, &current, error);
	const struct shard_redraw redraw = {
	    .shard = shard, .run = "", .entry = "", .word = word ? word : ""};
	if (!status && current) status = pay_again(request, setup, &run, redraw, error);
	if (!status) status = remove_attempt(request->folder, number, error);
	// Where there was no journal, the lock has made one. An empty one holds no token.
	if (status && journal >= 0 && !lseek(journal, 0, SEEK_END)) (void)unlink(path);
	shard_run_close(&run);
	free(path);
	if (journal >= 0) (void)close(journal);
	if (lock >= 0) (void)close(lock);
	return status;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Waits until run.json is there, at most so many seconds. */
static void wait_for_run(const char *path, uint64_t seconds) {
	const struct timespec moment = {0, 200000000};
	struct timespec now, begun;
	(void)clock_gettime(CLOCK_MONOTONIC, &begun);
	now = begun;
	while (access(path, F_OK) != 0 && (uint64_t)(now.tv_sec - begun.tv_sec) < seconds) {
		(void)nanosleep(&moment, NULL);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

enum cuttle_status shards_join(const char *folder, const char *text, uint64_t shards, uint64_t wait,
                               struct run_shard *shard, struct cuttle_error *error) {
	bool made;
	*shard = (struct run_shard){0};
	enum cuttle_status status = shard_read(text, shards, &shard->number, error);
	if (status) return status;
	char *path = shards_file(folder);
	if (!path) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	wait_for_run(path, wait);
	const bool there = !access(path, F_OK);
	free(path);
	if (!there)
		return io_fail(error, CUTTLE_LEDGER,
		               "no run is open in %s: cuttle shard open opens one, --wait waits "
		               "for it",
		               folder);
	// A folder that was copied may have another mode.
	status = file_own_folder(folder, &made, error);
	if (!status) status = shard_run_read(folder, NULL, &shard->run, error);
	if (status) return status;
	if (shard->number.count != shard->run.terms.shards)
		return io_fail(error, CUTTLE_USAGE,
		               "--shard: this is one of %" PRIu64 ", and the run in %s has %" PRIu64
		               " shards",
		               shard->number.count, folder, shard->run.terms.shards);
	shard_run_command(&shard->run, shard->number.index, shard->command);
	shard->texts = shard_path(folder, shard->number, SHARD_TEXTS);
	shard->taken = shard_path(folder, shard->number, SHARD_TAKEN);
	shard->lines = shard_path(folder, shard->number, SHARD_LINES);
	return shard->texts && shard->taken && shard->lines
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

void shards_leave(struct run_shard *shard) {
	shard_run_close(&shard->run);
	free(shard->texts);
	free(shard->taken);
	free(shard->lines);
	*shard = (struct run_shard){0};
}
