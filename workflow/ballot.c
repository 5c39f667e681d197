// SPDX-License-Identifier: Apache-2.0
// See ballot.h. The journal is that of io/output/output, with counts and without texts.
#include "workflow/ballot.h"

#include "base/misuse.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/output/journal.h"
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_DIGITS = 16 }; /* hex digits of the key's hash in a scratch name */

struct ballot {
	struct ballot_request request;
	struct spending *spending;
	struct journal *journal; /* NULL = standard output */
	struct binding binding;
	char input[HASH_TEXT];                               /* digest of what is asked */
	char scratch[sizeof FILE_PART + SCRATCH_DIGITS + 1]; /* ending of scratch names */
	bool stood;                                          /* the journal is of this very run */
	bool resumed;                                        /* it has the answers */
};

static enum cuttle_status open_ballot_files(struct ballot *ballot, struct cuttle_error *error) {
	char tag[HASH_TEXT], *journal = file_name(ballot->request.output, ".journal"),
	                     *key = journal ? file_name(journal, ".key") : NULL;
	enum cuttle_status status = key ? file_regular(ballot->request.output, error)
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = journal_open(journal, &ballot->journal, error);
	if (!status) status = binding_open(key, &ballot->binding, error);
	free(journal);
	free(key);
	if (status) return status;
	ballot->request.digest(ballot->request.user, ballot->binding.key, ballot->input);
	hash_of(ballot->binding.key, BINDING_KEY, tag);
	(void)snprintf(ballot->scratch, sizeof ballot->scratch, FILE_PART "-%.*s", SCRATCH_DIGITS,
	               tag);
	return CUTTLE_OK;
}

/* OK, or why this command may not go on with this journal. */
static enum cuttle_status refuse_ballot(const struct ballot *ballot, enum journal_state state,
                                        struct cuttle_error *error) {
	const char *path = ballot->request.output;
	if (state == JOURNAL_FOREIGN)
		return io_fail(error, CUTTLE_USAGE,
		               "%s.journal is in the way: it is not a journal of cuttle; move it, "
		               "or choose another output name",
		               path);
	if (ballot->request.overwrite) return CUTTLE_OK;
	if (state == JOURNAL_CHANGED)
		return io_fail(error, CUTTLE_USAGE,
		               "the references, or %s, are not those that %s was begun with. "
		               "Bring them back to continue, or --overwrite draws noise anew and "
		               "spends again",
		               ballot->binding.path, path);
	if (state == JOURNAL_OTHER || state == JOURNAL_LOST)
		return io_fail(error, CUTTLE_USAGE,
		               "%s.journal belongs to another command: run that again to finish "
		               "it, or --overwrite it",
		               path);
	if (state == JOURNAL_DAMAGED)
		return io_fail(
		    error, CUTTLE_INPUT,
		    "%s.journal is damaged; --overwrite draws noise anew and spends again", path);
	return CUTTLE_OK;
}

static enum cuttle_status explain_write(const struct ballot *ballot, int problem,
                                        struct cuttle_error *error) {
	return io_fail(error, CUTTLE_PARTIAL,
	               "cannot write %s.journal: %s; the same command continues from here",
	               ballot->request.output, strerror(problem));
}

/* Loads the journal, or begins it. */
static enum cuttle_status begin_ballot(struct ballot *ballot, struct cuttle_error *error) {
	const struct journal_owner owner = {.fingerprint = ballot->request.fingerprint,
	                                    .input = ballot->input};
	enum journal_state state;
	const int64_t *counts;
	enum cuttle_status status = journal_load(ballot->journal, &owner, 0, &state, error);
	if (!status && state == JOURNAL_OURS) {
		const size_t count = journal_counts(ballot->journal, &counts);
		if (count && count != ballot->request.answers) state = JOURNAL_DAMAGED;
		ballot->resumed = count == ballot->request.answers;
	}
	if (!status) status = refuse_ballot(ballot, state, error);
	if (status) return status;
	ballot->stood = ballot->resumed || state == JOURNAL_BEGUN;
	int problem = binding_keep(&ballot->binding);
	if (!problem && !ballot->stood) problem = journal_restart(ballot->journal, &owner);
	return problem ? explain_write(ballot, problem, error) : CUTTLE_OK;
}

/* Of standard output there is no journal. */
static int mark_ballot(void *journal, uint64_t most, struct journal_mark *mark) {
	*mark = (struct journal_mark){0};
	return journal ? journal_mark(journal, most, mark) : 0;
}

enum cuttle_status ballot_open(const struct ballot_request *request, struct spending *spending,
                               const struct ledger_request *charge, struct ballot **ballot,
                               struct receipt_ledger *charged, struct cuttle_error *error) {
	REQUIRE(request->answers >= 1 && request->answers <= BALLOT_MOST);
	struct ballot *made = *ballot = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->request = *request;
	made->spending = spending;
	enum cuttle_status status = CUTTLE_OK;
	if (strcmp(request->output, "-") != 0) {
		status = open_ballot_files(made, error);
		if (!status) status = begin_ballot(made, error);
	}
	const struct spending_journal journal = {made->journal, ".journal", !made->resumed,
	                                         mark_ballot};
	return status ? status
	              : spending_reserve(spending, charge, made->stood ? &journal : NULL,
	                                 made->scratch, charged, error);
}

enum cuttle_status ballot_take(struct ballot *ballot,
                               enum cuttle_status (*draw)(void *user, int64_t *answers,
                                                          struct cuttle_error *error),
                               void *user, int64_t *answers, struct cuttle_error *error) {
	const size_t count = ballot->request.answers;
	const int64_t *kept;
	if (ballot->resumed) {
		REQUIRE(journal_counts(ballot->journal, &kept) == count);
		memcpy(answers, kept, count * sizeof *answers);
		return CUTTLE_OK;
	}
	// What is drawn cannot be given back, nor pay for other answers.
	struct spending_journal journal = {ballot->journal, ".journal", true, mark_ballot};
	enum cuttle_status status = spending_draw(ballot->spending, &journal, error);
	if (ballot->spending->path && ballot->journal && status != CUTTLE_BUDGET)
		journal_hold(ballot->journal);
	if (!status) status = draw(user, answers, error);
	if (status || !ballot->journal) return status;
	const int problem = journal_keep_counts(ballot->journal, answers, count);
	if (problem) return explain_write(ballot, problem, error);
	journal.empty = false;
	return spending_go_on(ballot->spending, &journal, error);
}

enum cuttle_status ballot_finish(struct ballot *ballot, const char sha256[HASH_TEXT],
                                 struct cuttle_error *error) {
	return spending_finish(ballot->spending, sha256, error);
}

void ballot_done(struct ballot *ballot) {
	// The journal goes last: with its name goes the lock.
	spending_done(ballot->spending);
	if (!ballot->journal) return;
	binding_remove(&ballot->binding);
	(void)journal_remove(ballot->journal);
}

void ballot_close(struct ballot **ballot) {
	struct ballot *old = *ballot;
	if (!old) return;
	if (old->journal && journal_worthless(old->journal)) binding_remove(&old->binding);
	journal_close(&old->journal);
	binding_close(&old->binding);
	free(old);
	*ballot = NULL;
}
