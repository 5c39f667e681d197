// SPDX-License-Identifier: Apache-2.0
// Each call opens the ledger, does one thing and closes it. So no run keeps the ledger busy while
// it draws. workflow/spending.h says when a charge is used again.
#include "workflow/spending.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cuttle_status spending_open(const struct spending_request *request, struct spending *spending,
                                 struct cuttle_error *error) {
	struct ledger *ledger;
	struct ledger_standing standing;
	*spending = (struct spending){0};
	if (strcmp(request->output, "-") != 0) {
		static const char *const endings[] = {SPENDING_BESIDE};
		spending->name_file = file_name(request->output, endings[0]);
		spending->name_before = file_name(request->output, endings[1]);
		if (!spending->name_file || !spending->name_before)
			return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!request->ledger) return CUTTLE_OK;
	spending->path = request->ledger;
	spending->approved = request->approved;
	enum cuttle_status status = ledger_open(request->ledger, &ledger, error);
	if (status) return status;
	status = ledger_look(ledger, request->dataset, &standing, error);
	ledger_close(&ledger);
	spending->dataset = standing.dataset;
	const char *counted = standing.dataset.unit_key,
	           *asked = request->unit_key ? request->unit_key : "";
	if (!status && strcmp(counted, asked) != 0)
		return io_fail(
		    error, CUTTLE_USAGE,
		    *counted
		        ? "data set %.64s counts per value of %.128s: give --unit-key with that"
		        : "data set %.64s counts lines, not values of %.128s: --unit-key needs one "
		          "made with it",
		    request->dataset, *counted ? counted : asked);
	return status;
}

/* Reads a run's name from the file at path; NULL: from none. *known is false when there is no such
 * file. USAGE: the file holds something else, and is left alone. */
static enum cuttle_status read_run_name(const char *path, char run[LEDGER_RUN], bool *known,
                                        struct cuttle_error *error) {
	char *text = NULL;
	size_t size = 0;
	*known = false;
	if (!path || (access(path, F_OK) != 0 && errno == ENOENT)) return CUTTLE_OK;
	const bool read = !file_read(path, LEDGER_RUN, &text, &size, NULL);
	*known = read && size == LEDGER_RUN && text[size - 1] == '\n' &&
	         strspn(text, "0123456789abcdef") == LEDGER_RUN - 1;
	if (*known) memcpy(run, text, LEDGER_RUN - 1);
	free(text);
	if (*known) return CUTTLE_OK;
	return io_fail(
	    error, CUTTLE_USAGE,
	    "%s is in the way: it is not the name of a run. Move it, or choose another output "
	    "name",
	    path);
}

static enum cuttle_status write_run_name(struct spending *spending, struct cuttle_error *error) {
	char line[LEDGER_RUN + 1];
	if (!spending->name_file) return CUTTLE_OK;
	(void)snprintf(line, sizeof line, "%s\n", spending->run);
	const int problem =
	    file_replace_by(spending->name_part, spending->name_file, line, LEDGER_RUN);
	return problem ? io_fail(error, CUTTLE_PARTIAL, "cannot write %s: %s", spending->name_file,
	                         strerror(problem))
	               : CUTTLE_OK;
}

bool spending_approval(const char *text, char command[HASH_TEXT], double *loss) {
	if (strspn(text, "0123456789abcdef") != HASH_TEXT - 1 || text[HASH_TEXT - 1] != ':')
		return false;
	(void)snprintf(command, HASH_TEXT, "%s", text);
	char *end;
	*loss = strtod(text + HASH_TEXT, &end);
	return end > text + HASH_TEXT && !*end && *loss >= 0 && isfinite(*loss);
}

/* Holds a run to what was approved, if anything was: its command, and its charge where that is
 * known (else NULL). */
static enum cuttle_status hold_to_approval(const struct spending *spending, const char *command,
                                           const double *charge, struct cuttle_error *error) {
	char approved[HASH_TEXT];
	double loss;
	if (!spending->approved) return CUTTLE_OK;
	if (!spending_approval(spending->approved, approved, &loss) ||
	    strcmp(approved, command) != 0)
		return io_fail(error, CUTTLE_USAGE,
		               SPENDING_OTHER ": this is another command (model, options or "
		                              "version); look at the plan again");
	if (!charge || *charge == loss) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               SPENDING_OTHER ": the charge would be %.17g, and %.17g was approved",
	               *charge, loss);
}

/* Asks the ledger what it would charge, and whether that is what was approved. */
static enum cuttle_status ask_charge(struct ledger *ledger, const struct spending *spending,
                                     const struct ledger_request *request,
                                     struct cuttle_error *error) {
	struct ledger_run found;
	enum cuttle_status status = hold_to_approval(spending, request->command, NULL, error);
	if (!status) status = ledger_reserve(ledger, request, true, &found, error);
	return status ? status : hold_to_approval(spending, request->command, &found.rho, error);
}

/* The name goes before the charge: a charge that nobody can name would be lost. What was charged
 * under the name before keeps it until this run is charged. */
static enum cuttle_status reserve_run(struct ledger *ledger, struct spending *spending,
                                      const struct ledger_request *request,
                                      struct ledger_run *found, struct cuttle_error *error) {
	ledger_name_run(spending->run);
	enum cuttle_status status = ask_charge(ledger, spending, request, error);
	if (status) return status;
	const bool named = spending->name_file != NULL;
	const bool kept =
	    named && (link(spending->name_file, spending->name_before) == 0 || errno == EEXIST);
	status = write_run_name(spending, error);
	if (!status) status = ledger_reserve(ledger, request, false, found, error);
	if (!named) return status;
	if (!status) (void)unlink(spending->name_before);
	else if (!kept || rename(spending->name_before, spending->name_file) != 0)
		(void)unlink(spending->name_file);
	return status;
}

/* Finds the charge that OUT.run names. *same as ledger_match. */
static enum cuttle_status find_named(struct ledger *ledger, struct spending *spending,
                                     const struct ledger_request *request, struct ledger_run *found,
                                     bool *same, struct cuttle_error *error) {
	bool known;
	const enum cuttle_status status =
	    read_run_name(spending->name_file, spending->run, &known, error);
	return status || !known ? status : ledger_match(ledger, request, found, same, error);
}

/* The same. A run that was killed before it was charged gives back the name from before. */
static enum cuttle_status find_own_charge(struct ledger *ledger, struct spending *spending,
                                          const struct ledger_request *request,
                                          struct ledger_run *found, bool *same,
                                          struct cuttle_error *error) {
	char before[LEDGER_RUN];
	bool kept;
	enum cuttle_status status = read_run_name(spending->name_before, before, &kept, error);
	if (!status) status = find_named(ledger, spending, request, found, same, error);
	if (status || !kept) return status;
	if (found->state != LEDGER_UNKNOWN) {
		(void)unlink(spending->name_before);
		return CUTTLE_OK;
	}
	if (rename(spending->name_before, spending->name_file) == 0)
		return find_named(ledger, spending, request, found, same, error);
	return io_fail(error, CUTTLE_PARTIAL, "cannot write %s: %s", spending->name_file,
	               strerror(errno));
}

static enum cuttle_status refuse_rolled_back(const struct spending *spending, const char *ending,
                                             const struct journal_mark *drawn,
                                             const struct journal_mark *is,
                                             struct cuttle_error *error) {
	const int stem = (int)(strlen(spending->name_file) - strlen(".run"));
	return io_fail(error, CUTTLE_LEDGER,
	               SPENDING_OLDER ", or another: %.*s%s has %llu bytes, and the ledger "
	                              "knows %llu. Bring the newer one back, or remove it to "
	                              "draw all texts anew, which is charged again",
	               stem, spending->name_file, ending, (unsigned long long)is->bytes,
	               (unsigned long long)drawn->bytes);
}

static enum cuttle_status refuse_unreadable(int problem, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_PARTIAL, "cannot read the journal of this output: %s",
	               strerror(problem));
}

/* Checks that the journal begins as the ledger knows it, and tells the ledger how far it has come.
 */
static enum cuttle_status draw_on_from(struct ledger *ledger, struct spending *spending,
                                       const char *dataset, const struct ledger_run *found,
                                       const struct spending_journal *journal,
                                       struct cuttle_error *error) {
	struct journal_mark begins = {0}, mark = {0};
	int problem = journal->mark(journal->user, found->mark.bytes, &begins);
	if (!problem) problem = journal->mark(journal->user, UINT64_MAX, &mark);
	if (problem) return refuse_unreadable(problem, error);
	const bool closed = found->state == LEDGER_CLOSED,
	           goes_on = begins.bytes == found->mark.bytes &&
	                     (!begins.bytes || !strcmp(begins.sha256, found->mark.sha256));
	if (!goes_on && !closed)
		return refuse_rolled_back(spending, journal->ending, &found->mark, &mark, error);
	// It draws no more; its texts may be written. Any other journal the ledger refuses.
	if (goes_on && closed) return CUTTLE_OK;
	const enum cuttle_status status =
	    ledger_draw(ledger, dataset, spending->run, &found->mark, &mark, error);
	spending->told = mark;
	spending->goes_on = !status;
	return status;
}

/* Uses the charge that OUT.run names when it is this run's, else makes a new one. */
static enum cuttle_status charge_run(struct ledger *ledger, struct spending *spending,
                                     const struct ledger_request *request,
                                     const struct spending_journal *resumed,
                                     struct ledger_run *found, struct cuttle_error *error) {
	bool same = false;
	enum cuttle_status status = find_own_charge(ledger, spending, request, found, &same, error);
	if (status) return status;
	const bool drawn = found->state == LEDGER_DRAWN || found->state == LEDGER_CLOSED;
	// An older version told the ledger of no first line. Then tokens may have been seen.
	const bool holds = resumed && (!resumed->empty || found->mark.bytes > 0);
	const bool stands = found->state == LEDGER_RESERVED || (drawn && holds);
	if (!stands || !same) status = reserve_run(ledger, spending, request, found, error);
	else status = hold_to_approval(spending, request->command, &found->rho, error);
	// The journal's tokens or counts were drawn, maybe under another name. So this charge
	// counts as drawn at once, and can never be released.
	const bool begun = resumed && (!resumed->empty || found->state == LEDGER_DRAWN);
	if (!status && begun) {
		status = draw_on_from(ledger, spending, request->dataset, found, resumed, error);
		spending->drawn = !status && found->state != LEDGER_CLOSED;
	}
	return status;
}

/* Nobody counts the run: then it is none that a ledger was charged for. */
static enum cuttle_status refuse_charged(const struct spending *spending,
                                         struct cuttle_error *error) {
	if (!spending->name_file || !file_same(spending->name_file, spending->name_file))
		return CUTTLE_OK;
	const int stem = (int)(strlen(spending->name_file) - strlen(".run"));
	return io_fail(error, CUTTLE_USAGE,
	               "%s says that this output was charged in a ledger: give --ledger and "
	               "--dataset to go on; or move it "
	               "and %.*s.journal away to begin a run that nobody counts",
	               spending->name_file, stem, spending->name_file);
}

enum cuttle_status spending_reserve(struct spending *spending, const struct ledger_request *charge,
                                    const struct spending_journal *resumed, const char *scratch,
                                    struct receipt_ledger *charged, struct cuttle_error *error) {
	struct ledger *ledger;
	struct ledger_run found = {.state = LEDGER_UNKNOWN};
	if (!spending->path) return refuse_charged(spending, error);
	if (spending->name_file) {
		spending->name_part = file_name(spending->name_file, scratch);
		if (!spending->name_part) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		(void)unlink(spending->name_part);
	}
	enum cuttle_status status = ledger_open(spending->path, &ledger, error);
	if (status) return status;
	struct ledger_request request = *charge;
	request.dataset = spending->dataset.name;
	request.run = spending->run;
	status = charge_run(ledger, spending, &request, resumed, &found, error);
	ledger_close(&ledger);
	if (status) return status;
	charged->delta = charge->measure == LEDGER_EPSILON ? charge->delta : 0;
	charged->rho = found.rho;
	(void)snprintf(charged->entry, HASH_TEXT, "%s", found.entry);
	return CUTTLE_OK;
}

/* Tells the ledger how far the journal has come. Standard output has none. */
static enum cuttle_status tell_mark(struct spending *spending,
                                    const struct spending_journal *journal,
                                    struct cuttle_error *error) {
	struct ledger *ledger;
	struct journal_mark mark;
	const int problem = journal->mark(journal->user, UINT64_MAX, &mark);
	if (problem) return refuse_unreadable(problem, error);
	enum cuttle_status status = ledger_open(spending->path, &ledger, error);
	if (status) return status;
	status = ledger_draw(ledger, spending->dataset.name, spending->run, &spending->told,
	                     mark.bytes ? &mark : NULL, error);
	ledger_close(&ledger);
	if (!status) spending->told = mark;
	return status;
}

enum cuttle_status spending_draw(struct spending *spending, const struct spending_journal *journal,
                                 struct cuttle_error *error) {
	if (!spending->path || spending->drawn) return CUTTLE_OK;
	const enum cuttle_status status = tell_mark(spending, journal, error);
	spending->drawn = !status;
	spending->goes_on = !status && spending->told.bytes > 0;
	return status;
}

enum cuttle_status spending_go_on(struct spending *spending, const struct spending_journal *journal,
                                  struct cuttle_error *error) {
	if (!spending->goes_on) return CUTTLE_OK;
	const enum cuttle_status status = tell_mark(spending, journal, error);
	spending->goes_on = status != CUTTLE_OK;
	return status;
}

void spending_stop(struct spending *spending, const struct spending_journal *journal) {
	if (!spending->path || !spending->drawn || !spending->name_file) return;
	(void)tell_mark(spending, journal, NULL);
}

enum cuttle_status spending_finish(struct spending *spending, const char output_sha256[HASH_TEXT],
                                   struct cuttle_error *error) {
	struct ledger *ledger;
	if (!spending->path) return CUTTLE_OK;
	enum cuttle_status status = ledger_open(spending->path, &ledger, error);
	if (status) return status;
	status = ledger_finish(ledger, spending->dataset.name, spending->run, output_sha256, error);
	ledger_close(&ledger);
	return status;
}

void spending_done(struct spending *spending) {
	if (spending->path && spending->name_file) (void)unlink(spending->name_file);
}

void spending_close(struct spending *spending) {
	free(spending->name_file);
	free(spending->name_before);
	free(spending->name_part);
	*spending = (struct spending){0};
}
