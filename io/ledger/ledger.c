// SPDX-License-Identifier: Apache-2.0
// How the ledger works (ledger.h says what it counts, and why).
//
// Besides its key the file holds only entries. Each call walks through all of them (load_history)
// and rebuilds the state of one data set: its limit and its runs. For example, after the entries
// dataset, reserve, draw, close there is one run, and it is closed. If an entry cannot follow the
// ones before it, the ledger is damaged: a draw after a release, for example. A change begins a
// transaction first. So nobody else can write between the check of the limit and the new entry.
#include "io/ledger/ledger.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/cuttle/budget.h"
#include "io/disk/fail.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ledger {
	struct chain *chain;
};

struct reservation {
	char run[LEDGER_RUN];
	struct ledger_run found; /* what ledger_find tells of the run */
	struct charges charges;  /* owned; empty once the run is released */
};

/* What the entries of one data set add up to. */
struct history {
	const char *name;              /* of the data set; the caller's string */
	struct ledger_dataset dataset; /* its limit and key, once `exists` */
	bool exists;                   /* the data set's own entry was seen */
	bool no_memory;                /* memory ran out during the walk */
	struct reservation *runs;      /* in the order of their reservations */
	size_t count;                  /* of runs */
	size_t room;                   /* for so many runs there is memory */
};

/* ---- reading --------------------------------------------------------------------------------- */

static void free_history(struct history *history) {
	for (size_t i = 0; i < history->count; i++) charges_free(&history->runs[i].charges);
	free(history->runs);
	*history = (struct history){0};
}

static struct reservation *find_reservation(const struct history *history, const char *run) {
	for (size_t i = history->count; i-- > 0;)
		if (!strcmp(history->runs[i].run, run)) return &history->runs[i];
	return NULL;
}

/* Copies the string `from` with its NUL. False: it has more than `room` bytes. */
static bool copy_string(char *to, size_t room, const char *from) {
	size_t size = strlen(from) + 1;
	if (size > room) return false;
	memcpy(to, from, size);
	return true;
}

static bool is_valid_rho(double value) {
	return value > 0 && isfinite(value);
}

static bool begin_dataset(struct history *history, const struct chain_entry *entry) {
	struct ledger_dataset *dataset = &history->dataset;
	if (history->exists || !is_valid_rho(entry->rho)) return false;
	if (entry->decimal && !units_decimal(entry->rho)) return false;
	history->exists = copy_string(dataset->name, LEDGER_NAME, entry->dataset) &&
	                  copy_string(dataset->unit_key, LEDGER_NAME, entry->unit_key);
	dataset->rho = entry->rho;
	dataset->epsilon = entry->epsilon;
	dataset->delta = entry->delta;
	dataset->measure = entry->order ? LEDGER_RDP : LEDGER_RHO;
	dataset->order = entry->order;
	dataset->decimal = entry->decimal;
	return history->exists;
}

static bool add_run(struct history *history, const struct chain_entry *entry) {
	if (!history->exists || find_reservation(history, entry->run)) return false;
	if (entry->order != history->dataset.order) return false;
	// Epsilons have no unit but lines, and no Renyi loss beside them.
	if (entry->charges.delta > 0 &&
	    (entry->order || *history->dataset.unit_key || !(entry->delta < 1)))
		return false;
	if (history->count == history->room) {
		size_t room = 2 * history->room + 16;
		struct reservation *runs = reallocarray(history->runs, room, sizeof *runs);
		history->no_memory |= !runs;
		if (!runs) return false;
		history->runs = runs;
		history->room = room;
	}
	struct reservation *added = &history->runs[history->count];
	*added = (struct reservation){.found = {.state = LEDGER_RESERVED, .rho = entry->rho},
	                              .charges = entry->charges};
	bool right = copy_string(added->run, LEDGER_RUN, entry->run) &&
	             copy_string(added->found.command, HASH_TEXT, entry->command) &&
	             copy_string(added->found.entry, HASH_TEXT, entry->hash);
	if (!right) return false;
	added->charges.bytes = malloc(entry->charges.size + 1);
	history->no_memory |= !added->charges.bytes;
	if (!added->charges.bytes) return false;
	if (entry->charges.size)
		memcpy(added->charges.bytes, entry->charges.bytes, entry->charges.size);
	history->count++;
	return true;
}

static bool change_run(struct history *history, const struct chain_entry *entry,
                       enum ledger_state from, enum ledger_state to) {
	struct reservation *run = find_reservation(history, entry->run);
	if (!run || run->found.state != from) return false;
	run->found.state = to;
	if (to == LEDGER_RELEASED) charges_free(&run->charges);
	return to != LEDGER_CLOSED || copy_string(run->found.output, HASH_TEXT, entry->command);
}

enum { MARK = HASH_TEXT + 21 }; /* bytes for the text of a mark, with its NUL */

static void print_mark(const struct journal_mark *mark, char text[MARK]) {
	text[0] = 0;
	if (mark && mark->bytes)
		(void)snprintf(text, MARK, "%llu %.64s", (unsigned long long)mark->bytes,
		               mark->sha256);
}

/* A run draws, and says how far it has come, never less far than before. */
static bool mark_run(struct history *history, const struct chain_entry *entry) {
	struct journal_mark mark = {0};
	char again[MARK];
	struct reservation *run = find_reservation(history, entry->run);
	if (!run) return false;
	const char *hash = strchr(entry->command, ' ');
	if (hash) {
		mark.bytes = strtoull(entry->command, NULL, 10);
		if (!copy_string(mark.sha256, HASH_TEXT, hash + 1)) return false;
	}
	print_mark(&mark, again);
	if (strcmp(again, entry->command) != 0) return false;
	if (run->found.state == LEDGER_DRAWN) {
		if (!mark.bytes || mark.bytes < run->found.mark.bytes) return false;
	} else if (run->found.state != LEDGER_RESERVED) return false;
	run->found.state = LEDGER_DRAWN;
	run->found.mark = mark;
	return true;
}

/* Takes one entry of the walk into the history. LEDGER: it cannot follow the ones before it. */
static enum cuttle_status apply_entry(void *user, const struct chain_entry *entry) {
	struct history *history = user;
	bool right = false;
	if (strcmp(entry->dataset, history->name) != 0) return CUTTLE_OK;
	if (!strcmp(entry->kind, "dataset")) right = begin_dataset(history, entry);
	if (!strcmp(entry->kind, "reserve")) right = add_run(history, entry);
	if (!strcmp(entry->kind, "draw")) right = mark_run(history, entry);
	if (!strcmp(entry->kind, "close"))
		right = change_run(history, entry, LEDGER_DRAWN, LEDGER_CLOSED);
	if (!strcmp(entry->kind, "release"))
		right = change_run(history, entry, LEDGER_RESERVED, LEDGER_RELEASED);
	return right ? CUTTLE_OK : CUTTLE_LEDGER;
}

/* What runs add up to. */
struct spent {
	struct units_total rho; /* for the unit that they cost most */
	bool in_epsilon;        /* they are charged in epsilon; `rho` is then 0 */
	double epsilon;         /* for the line that they cost most */
};

/* Whether the runs that stand are charged in epsilon (1), in rho (0), or there is none (-1). */
static int find_kind(const struct history *history) {
	for (size_t i = 0; i < history->count; i++)
		if (history->runs[i].charges.size) return history->runs[i].charges.delta > 0;
	return -1;
}

/* What one line's charges cost in epsilon, rounded up. Charges of both kinds are never within a
 * limit: ledger_reserve takes none of the other kind. */
static double compute_line_epsilon(const void *user, const struct units_sums *sums) {
	const struct ledger_dataset *dataset = user;
	const bool fits = !(sums->rho > 0) && units_deltas_fit(sums->deltas, dataset->delta);
	return fits ? sums->epsilon : INFINITY;
}

/* Computes what the data set has spent, `more` included. `more` may be NULL. */
static enum cuttle_status sum_charges(const struct history *history, const struct charges *more,
                                      struct spent *spent, struct cuttle_error *error) {
	size_t count = 0;
	*spent = (struct spent){0};
	const struct charges **all = calloc(history->count + 1, sizeof *all);
	bool summed = all != NULL;
	if (all) {
		for (size_t i = 0; i < history->count; i++)
			if (history->runs[i].charges.size) all[count++] = &history->runs[i].charges;
		if (more) all[count++] = more;
		for (size_t i = 0; i < count; i++) spent->in_epsilon |= all[i]->delta > 0;
		summed = spent->in_epsilon ? units_most(all, count, compute_line_epsilon,
		                                        &history->dataset, &spent->epsilon)
		                           : units_spent(all, count, &spent->rho);
	}
	free(all);
	return summed ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Never `above the limit`: that is false for a NaN, which would then pass. */
static bool is_within_limit(const struct ledger_dataset *dataset, const struct spent *spent) {
	return spent->in_epsilon ? spent->epsilon <= dataset->epsilon
	                         : units_within(&spent->rho, dataset->rho, dataset->decimal);
}

/* Reads the whole chain and from it the data set, which need not exist. Call free_history after it,
 * also after a failure. */
static enum cuttle_status load_history(struct ledger *ledger, const char *dataset,
                                       struct history *history, struct cuttle_error *error) {
	*history = (struct history){.name = dataset};
	if (error) error->message[0] = 0;
	enum cuttle_status status = chain_walk(ledger->chain, apply_entry, history, error);
	if (history->no_memory) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (status && error && !error->message[0])
		return io_fail(error, status,
		               "the ledger is damaged or was edited: an entry makes no sense");
	return status;
}

static enum cuttle_status refuse_missing_dataset(const char *dataset, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_USAGE,
	               "the ledger has no data set %.128s; cuttle ledger init adds it", dataset);
}

/* The same for a data set that must exist. */
static enum cuttle_status load_dataset(struct ledger *ledger, const char *dataset,
                                       struct history *history, struct cuttle_error *error) {
	enum cuttle_status status = load_history(ledger, dataset, history, error);
	return !status && !history->exists ? refuse_missing_dataset(dataset, error) : status;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum cuttle_status ledger_create(const char *path, struct cuttle_error *error) {
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "libsodium cannot begin");
	return chain_create(path, error);
}

enum cuttle_status ledger_open(const char *path, struct ledger **ledger,
                               struct cuttle_error *error) {
	*ledger = NULL;
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "libsodium cannot begin");
	struct ledger *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = chain_open(path, &made->chain, error);
	if (status) ledger_close(&made);
	*ledger = made;
	return status;
}

void ledger_close(struct ledger **ledger) {
	if (*ledger) chain_close(&(*ledger)->chain);
	free(*ledger);
	*ledger = NULL;
}

/* ---- data sets ------------------------------------------------------------------------------- */

/* The same for a Renyi loss. */
static double convert_renyi_loss(const struct ledger_dataset *dataset, double loss, bool up) {
	double epsilon;
	if (cuttle_renyi_epsilon(dataset->order, loss, dataset->delta, &epsilon, NULL))
		return INFINITY;
	// It is rounded up by less than 1e-15 of its largest term. The terms are the loss and some
	// below 1000, which may cancel. Taking the sum of both margins off rounds down.
	return up ? epsilon : fmax(0, epsilon * (1 - 1e-12) - 1e-12);
}

double ledger_epsilon(const struct ledger_dataset *dataset, double rho, bool up) {
	struct cuttle_budget budget;
	if (rho == dataset->rho) return dataset->epsilon;
	if (!(rho > 0)) return 0;
	if (rho < DBL_MIN && !up) return 0;
	if (dataset->measure == LEDGER_RDP)
		return convert_renyi_loss(dataset, fmax(rho, DBL_MIN), up);
	cuttle_budget_none(&budget);
	budget.rho = fmax(rho, DBL_MIN);
	budget.delta = dataset->delta;
	if (cuttle_budget_solve(&budget, CUTTLE_EPSILON, NULL)) return INFINITY;
	// The solver rounds up by less than 1e-9 of epsilon. Taking that off rounds down.
	return up ? budget.epsilon : budget.epsilon * (1 - 1e-9);
}

void ledger_print_measure(unsigned order, bool brief, char text[LEDGER_MEASURE]) {
	if (order)
		(void)snprintf(text, LEDGER_MEASURE, brief ? "rdp %u" : "Renyi losses at order %u",
		               order);
	else (void)snprintf(text, LEDGER_MEASURE, "%s", brief ? "rho" : "rho of zCDP");
}

static enum cuttle_status complete_rho(struct ledger_dataset *dataset, struct cuttle_error *error) {
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	bool from_epsilon = isnan(dataset->rho);
	budget.delta = dataset->delta;
	if (from_epsilon) budget.epsilon = dataset->epsilon;
	else budget.rho = dataset->rho;
	enum cuttle_status status =
	    cuttle_budget_solve(&budget, from_epsilon ? CUTTLE_RHO : CUTTLE_EPSILON, error);
	if (status) return status;
	dataset->epsilon = budget.epsilon;
	dataset->rho = budget.rho;
	return CUTTLE_OK;
}

static enum cuttle_status complete_renyi(struct ledger_dataset *dataset,
                                         struct cuttle_error *error) {
	if (isnan(dataset->rho))
		return cuttle_renyi_loss(dataset->order, dataset->epsilon, dataset->delta,
		                         &dataset->rho, error);
	return cuttle_renyi_epsilon(dataset->order, dataset->rho, dataset->delta, &dataset->epsilon,
	                            error);
}

/* Checks names and measure, and computes rho from epsilon or epsilon from rho. */
static enum cuttle_status complete_limit(struct ledger_dataset *dataset,
                                         struct cuttle_error *error) {
	if (!utf8_name(dataset->name, strlen(dataset->name)))
		return io_fail(error, CUTTLE_USAGE,
		               "the data set's name must be 1 to 128 bytes of text in one line");
	if (*dataset->unit_key && !utf8_name(dataset->unit_key, strlen(dataset->unit_key)))
		return io_fail(error, CUTTLE_USAGE,
		               "the unit key must be 1 to 128 bytes of text in one line");
	const bool renyi = dataset->measure == LEDGER_RDP;
	REQUIRE(renyi || !dataset->order);
	if (renyi && (dataset->order < LEDGER_ORDER_LEAST || dataset->order > LEDGER_ORDER_MOST))
		return io_fail(error, CUTTLE_USAGE, "the order must be from %d to %d",
		               LEDGER_ORDER_LEAST, LEDGER_ORDER_MOST);
	return renyi ? complete_renyi(dataset, error) : complete_rho(dataset, error);
}

enum cuttle_status ledger_add(struct ledger *ledger, struct ledger_dataset *dataset,
                              struct cuttle_error *error) {
	char hash[HASH_TEXT];
	struct history history;
	enum cuttle_status status = complete_limit(dataset, error);
	if (!status) status = chain_begin(ledger->chain, error);
	if (status) return status;
	status = load_history(ledger, dataset->name, &history, error);
	if (!status && history.exists)
		status = io_fail(error, CUTTLE_USAGE, "the ledger has a data set %s already",
		                 dataset->name);
	const struct chain_entry entry = {.time = time(NULL),
	                                  .kind = "dataset",
	                                  .dataset = dataset->name,
	                                  .run = "",
	                                  .command = "",
	                                  .unit_key = dataset->unit_key,
	                                  .order = dataset->order,
	                                  .decimal = dataset->decimal,
	                                  .rho = dataset->rho,
	                                  .epsilon = dataset->epsilon,
	                                  .delta = dataset->delta};
	if (!status) status = chain_append(ledger->chain, &entry, hash, error);
	free_history(&history);
	return chain_end(ledger->chain, status, error);
}

static uint64_t count_standing_runs(const struct history *history) {
	uint64_t runs = 0;
	for (size_t i = 0; i < history->count; i++)
		runs += history->runs[i].found.state != LEDGER_RELEASED;
	return runs;
}

enum cuttle_status ledger_look(struct ledger *ledger, const char *dataset,
                               struct ledger_standing *standing, struct cuttle_error *error) {
	struct history history;
	*standing = (struct ledger_standing){0};
	enum cuttle_status status = load_dataset(ledger, dataset, &history, error);
	struct spent spent = {0};
	if (!status) status = sum_charges(&history, NULL, &spent, error);
	if (!status) {
		standing->dataset = history.dataset;
		standing->spent = units_most_of(&spent.rho);
		standing->in_epsilon = spent.in_epsilon;
		standing->epsilon_spent = spent.epsilon;
		standing->epsilon_left = units_left(history.dataset.epsilon, spent.epsilon);
		standing->left =
		    units_left_of(&spent.rho, history.dataset.rho, history.dataset.decimal);
		standing->runs = count_standing_runs(&history);
	}
	free_history(&history);
	return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

void ledger_name_run(char run[LEDGER_RUN]) {
	unsigned char name[LEDGER_RUN / 2];
	randombytes_buf(name, sizeof name);
	(void)sodium_bin2hex(run, LEDGER_RUN, name, sizeof name);
}

enum cuttle_status ledger_find(struct ledger *ledger, const char *dataset, const char *run,
                               struct ledger_run *found, struct cuttle_error *error) {
	struct history history;
	*found = (struct ledger_run){.state = LEDGER_UNKNOWN};
	enum cuttle_status status = load_dataset(ledger, dataset, &history, error);
	const struct reservation *reservation = status ? NULL : find_reservation(&history, run);
	if (reservation) *found = reservation->found;
	free_history(&history);
	return status;
}

/* Makes the unit's name: BLAKE2b-128 under the file's key. It is taken of the data set's name, a
 * NUL, a byte 1 and the value. For the value 7 of data set notes these are the 8 bytes
 * notes 00 01 7. */
static void name_unit(const struct ledger *ledger, const char *dataset, const char *value,
                      size_t size, unsigned char unit[UNIT_NAME]) {
	crypto_generichash_state state;
	const unsigned char value_follows = 1;
	(void)crypto_generichash_init(&state, chain_key(ledger->chain), CHAIN_KEY, UNIT_NAME);
	(void)crypto_generichash_update(&state, (const unsigned char *)dataset,
	                                strlen(dataset) + 1);
	(void)crypto_generichash_update(&state, &value_follows, 1);
	(void)crypto_generichash_update(&state, (const unsigned char *)value, size);
	(void)crypto_generichash_final(&state, unit, UNIT_NAME);
	sodium_memzero(&state, sizeof state);
}

/* Whether the owner is written as digits in quotes, such as "7". In older versions "7" and 7 were
 * two units. So in an old ledger either name may have been charged. */
static bool is_quoted_number(const char *value, size_t size) {
	return size > 2 && value[0] == '"' && value[size - 1] == '"' &&
	       strspn(value + 1, "-0123456789") == size - 2;
}

/* Charges the owners of the request's records. An owner "7" is charged under the names "7" and 7.
 * So there is room for two names a record. */
static bool charge_keys(const struct ledger *ledger, const struct ledger_request *request,
                        struct charges *charges) {
	struct unit_record *records = calloc((size_t)request->count, 2 * sizeof *records);
	size_t count = 0;
	if (!records) return false;
	for (uint64_t index = request->first; index < request->first + request->count; index++) {
		const char *value = NULL;
		size_t size = 0;
		if (!request->unit(request->user, index, &value, &size)) continue;
		name_unit(ledger, request->dataset, value, size, records[count].unit);
		records[count++].batch = index / request->batch;
		if (!is_quoted_number(value, size)) continue;
		name_unit(ledger, request->dataset, value + 1, size - 2, records[count].unit);
		records[count++].batch = index / request->batch;
	}
	bool made = charges_of_records(records, count, request->rho, request->once, charges);
	free(records);
	return made;
}

/* One order implies no zCDP, nor another order. So no charge is converted. */
static enum cuttle_status refuse_other_measure(const struct ledger_dataset *dataset,
                                               const struct ledger_request *request,
                                               struct cuttle_error *error) {
	char counted[LEDGER_MEASURE], asked[LEDGER_MEASURE];
	ledger_print_measure(dataset->order, false, counted);
	ledger_print_measure(request->order, false, asked);
	return io_fail(error, CUTTLE_USAGE,
	               "data set %.128s counts %s, and this is charged in %s. Make a data set "
	               "that counts these, by cuttle ledger init --measure",
	               dataset->name, counted, asked);
}

static enum cuttle_status make_charges(const struct ledger *ledger, const struct history *history,
                                       const struct ledger_request *request,
                                       struct charges *charges, struct cuttle_error *error) {
	const struct ledger_dataset *dataset = &history->dataset;
	uint64_t end;
	REQUIRE((request->measure == LEDGER_RDP) == (request->order > 0));
	const bool in_epsilon = request->measure == LEDGER_EPSILON;
	REQUIRE(!request->decimal ||
	        (!request->unit && !in_epsilon && units_decimal(request->rho)));
	if (in_epsilon && *dataset->unit_key)
		return io_fail(error, CUTTLE_USAGE,
		               "data set %.128s counts per value of %.128s: charge it in rho "
		               "(--charge rho)",
		               dataset->name, dataset->unit_key);
	if (request->order != dataset->order) return refuse_other_measure(dataset, request, error);
	if (find_kind(history) == !in_epsilon)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "data set %.128s has been charged in %s before, and nothing adds both up. "
		    "Charge this in %s, too (--charge %s)",
		    dataset->name, in_epsilon ? "rho" : "epsilon", in_epsilon ? "rho" : "epsilon",
		    in_epsilon ? "rho" : "epsilon");
	if (in_epsilon && !(request->delta > 0 && request->delta < 1))
		return io_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	if (!is_valid_rho(request->rho))
		return io_fail(error, CUTTLE_USAGE, "rho must be positive and finite");
	if (!request->count || __builtin_add_overflow(request->first, request->count, &end))
		return io_fail(error, CUTTLE_USAGE, "there are no records to charge, or too many");
	bool keyed = *dataset->unit_key != 0, made;
	if (keyed && request->unit && request->batch > 1 && dataset->measure == LEDGER_RDP)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "data set %.64s counts Renyi losses per value of %.64s: a text may read one "
		    "record, not %llu",
		    dataset->name, dataset->unit_key, (unsigned long long)request->batch);
	if (keyed && request->unit) made = charge_keys(ledger, request, charges);
	else if (keyed) made = charges_of_lines(0, UINT64_MAX, request->rho, charges);
	else made = charges_of_lines(request->first, end, request->rho, charges);
	if (in_epsilon) charges->delta = request->delta;
	charges->decimal = request->decimal;
	return made ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* The same where a run is charged in epsilon. */
static enum cuttle_status refuse_over_epsilon(const struct ledger_dataset *dataset,
                                              const struct charges *charges, double before,
                                              struct cuttle_error *error) {
	const double numbers[] = {charges_most(charges), before, dataset->epsilon,
	                          units_left(dataset->epsilon, before)};
	char texts[4][UNITS_NUMBER], deltas[2][UNITS_NUMBER];
	for (int i = 0; i < 4; i++) units_print(numbers[i], i < 2, texts[i]);
	units_print(charges->delta, true, deltas[0]);
	units_print(dataset->delta, false, deltas[1]);
	return io_fail(
	    error, CUTTLE_BUDGET,
	    "refused: data set %.128s: asked epsilon %s at delta %s, spent epsilon %s of "
	    "%s, remaining %s, with deltas of at most %s in all",
	    dataset->name, texts[0], deltas[0], texts[1], texts[2], texts[3], deltas[1]);
}

static enum cuttle_status refuse_over_limit(const struct history *history, double asked,
                                            const struct units_total *spent,
                                            struct cuttle_error *error) {
	const struct ledger_dataset *dataset = &history->dataset;
	const double rho[] = {asked, units_most_of(spent), dataset->rho,
	                      units_left_of(spent, dataset->rho, dataset->decimal)};
	const bool up[] = {true, true, false, false};
	char rhos[4][UNITS_NUMBER], epsilons[4][UNITS_NUMBER];
	for (int i = 0; i < 4; i++) {
		units_print(rho[i], up[i], rhos[i]);
		units_print(ledger_epsilon(dataset, rho[i], up[i]), up[i], epsilons[i]);
	}
	return io_fail(error, CUTTLE_BUDGET,
	               "refused: data set %.128s: %s asked %s, spent %s of %s, remaining %s "
	               "(epsilon at delta %g: asked %s, spent %s of %s, "
	               "remaining %s)",
	               dataset->name, dataset->order ? "loss" : "rho", rhos[0], rhos[1], rhos[2],
	               rhos[3], dataset->delta, epsilons[0], epsilons[1], epsilons[2], epsilons[3]);
}

static enum cuttle_status append_state(struct ledger *ledger, const struct chain_entry *entry,
                                       struct cuttle_error *error) {
	char hash[HASH_TEXT];
	struct chain_entry whole = *entry;
	whole.unit_key = "";
	if (!whole.command) whole.command = "";
	return chain_append(ledger->chain, &whole, hash, error);
}

static enum cuttle_status append_draw(struct ledger *ledger, const char *dataset, const char *run,
                                      const struct journal_mark *mark, struct cuttle_error *error) {
	char text[MARK];
	print_mark(mark, text);
	return append_state(
	    ledger,
	    &(struct chain_entry){.kind = "draw", .dataset = dataset, .run = run, .command = text},
	    error);
}

static enum cuttle_status append_run(struct ledger *ledger, const struct ledger_request *request,
                                     const struct charges *charges, struct ledger_run *found,
                                     struct cuttle_error *error) {
	const struct chain_entry entry = {.time = time(NULL),
	                                  .kind = "reserve",
	                                  .dataset = request->dataset,
	                                  .run = request->run,
	                                  .command = request->command,
	                                  .unit_key = "",
	                                  .order = request->order,
	                                  .decimal = request->decimal,
	                                  .rho = found->rho,
	                                  .delta = charges->delta,
	                                  .charges = *charges};
	enum cuttle_status status = chain_append(ledger->chain, &entry, found->entry, error);
	if (!status && request->drawn)
		status = append_draw(ledger, request->dataset, request->run, NULL, error);
	return status;
}

enum cuttle_status ledger_reserve(struct ledger *ledger, const struct ledger_request *request,
                                  bool dry, struct ledger_run *found, struct cuttle_error *error) {
	REQUIRE(strlen(request->run) == LEDGER_RUN - 1 && strlen(request->command) < HASH_TEXT &&
	        (!request->unit || request->batch));
	struct history history;
	struct charges charges = {0};
	struct spent before = {0}, after = {0};
	*found = (struct ledger_run){.state = request->drawn ? LEDGER_DRAWN : LEDGER_RESERVED};
	(void)copy_string(found->command, HASH_TEXT, request->command);
	enum cuttle_status status = chain_begin(ledger->chain, error);
	if (status) return status;
	status = load_dataset(ledger, request->dataset, &history, error);
	if (!status && find_reservation(&history, request->run))
		status =
		    io_fail(error, CUTTLE_USAGE, "run %s has a reservation already", request->run);
	if (!status) status = make_charges(ledger, &history, request, &charges, error);
	if (!status) status = sum_charges(&history, NULL, &before, error);
	if (!status) status = sum_charges(&history, &charges, &after, error);
	found->rho = charges_most(&charges);
	if (!status && !is_within_limit(&history.dataset, &after))
		status =
		    after.in_epsilon
		        ? refuse_over_epsilon(&history.dataset, &charges, before.epsilon, error)
		        : refuse_over_limit(&history, found->rho, &before.rho, error);
	if (!status && !dry) status = append_run(ledger, request, &charges, found, error);
	charges_free(&charges);
	free_history(&history);
	return chain_end(ledger->chain, status, error);
}

/* Compares the charges of a reservation with those that would be made now. */
static enum cuttle_status compare_charges(const struct ledger *ledger,
                                          const struct history *history,
                                          const struct ledger_request *request,
                                          const struct reservation *reservation, bool *same,
                                          struct cuttle_error *error) {
	struct charges charges = {0};
	const enum cuttle_status status = make_charges(ledger, history, request, &charges, error);
	*same = !status && !strcmp(reservation->found.command, request->command) &&
	        charges_same(&reservation->charges, &charges);
	charges_free(&charges);
	return status;
}

enum cuttle_status ledger_match(struct ledger *ledger, const struct ledger_request *request,
                                struct ledger_run *found, bool *same, struct cuttle_error *error) {
	struct history history;
	struct ledger_request older = *request;
	older.once = false;
	older.rho = request->older;
	*found = (struct ledger_run){.state = LEDGER_UNKNOWN};
	*same = false;
	enum cuttle_status status = load_dataset(ledger, request->dataset, &history, error);
	const struct reservation *reservation =
	    status ? NULL : find_reservation(&history, request->run);
	if (reservation) {
		*found = reservation->found;
		status = compare_charges(ledger, &history, request, reservation, same, error);
		if (!status && !*same && request->older > 0)
			status =
			    compare_charges(ledger, &history, &older, reservation, same, error);
	}
	free_history(&history);
	return status;
}

/* Begins a transaction and looks the run up. After OK chain_end must follow. After a failure the
 * transaction has ended. */
static enum cuttle_status begin_change(struct ledger *ledger, const char *dataset, const char *run,
                                       struct ledger_run *found, struct cuttle_error *error) {
	enum cuttle_status status = chain_begin(ledger->chain, error);
	if (status) return status;
	status = ledger_find(ledger, dataset, run, found, error);
	return status ? chain_end(ledger->chain, status, error) : CUTTLE_OK;
}

static enum cuttle_status refuse_closed_run(const struct ledger_run *found,
                                            struct cuttle_error *error) {
	return io_fail(error, CUTTLE_BUDGET,
	               "refused: this charge (entry %.12s) has paid for the output with SHA-256 "
	               "%.12s and pays for no other. Begin a run of its own, under another "
	               "output name",
	               found->entry, found->output);
}

static bool is_same_mark(const struct journal_mark *one, const struct journal_mark *other) {
	return one->bytes == other->bytes && !strcmp(one->sha256, other->sha256);
}

/* The entry of a run that draws already. */
static enum cuttle_status draw_on(struct ledger *ledger, const char *dataset, const char *run,
                                  const struct journal_mark *before,
                                  const struct journal_mark *mark, const struct ledger_run *found,
                                  struct cuttle_error *error) {
	if (mark ? !mark->bytes : !before) return CUTTLE_OK;
	// Where the caller did not go on from the last mark, another process told it. Theirs may
	// even be the caller's own: both have copies of one journal, and drew the same token.
	const bool alone = mark && is_same_mark(before, &found->mark);
	if (alone && is_same_mark(mark, &found->mark)) return CUTTLE_OK;
	if (!alone || mark->bytes <= found->mark.bytes)
		return io_fail(error, CUTTLE_LEDGER,
		               "another process has drawn from the charge of run %s meanwhile",
		               run);
	return append_draw(ledger, dataset, run, mark, error);
}

enum cuttle_status ledger_draw(struct ledger *ledger, const char *dataset, const char *run,
                               const struct journal_mark *before, const struct journal_mark *mark,
                               struct cuttle_error *error) {
	struct ledger_run found;
	enum cuttle_status status = begin_change(ledger, dataset, run, &found, error);
	if (status) return status;
	if (found.state == LEDGER_RESERVED) status = append_draw(ledger, dataset, run, mark, error);
	else if (found.state == LEDGER_DRAWN)
		status = draw_on(ledger, dataset, run, before, mark, &found, error);
	else if (found.state == LEDGER_CLOSED) status = refuse_closed_run(&found, error);
	else
		status = io_fail(error, CUTTLE_BUDGET,
		                 found.state == LEDGER_RELEASED
		                     ? "refused: the reservation of run %s was released"
		                     : "refused: run %s has no reservation",
		                 run);
	return chain_end(ledger->chain, status, error);
}

enum cuttle_status ledger_finish(struct ledger *ledger, const char *dataset, const char *run,
                                 const char output[HASH_TEXT], struct cuttle_error *error) {
	struct ledger_run found;
	const struct chain_entry entry = {
	    .kind = "close", .dataset = dataset, .run = run, .command = output};
	enum cuttle_status status = begin_change(ledger, dataset, run, &found, error);
	if (status) return status;
	if (found.state == LEDGER_DRAWN) status = append_state(ledger, &entry, error);
	else if (found.state != LEDGER_CLOSED)
		status = io_fail(error, CUTTLE_BUDGET, "refused: run %s has drawn nothing", run);
	else if (strcmp(found.output, output) != 0) status = refuse_closed_run(&found, error);
	return chain_end(ledger->chain, status, error);
}

enum cuttle_status ledger_release(struct ledger *ledger, const char *dataset, const char *run,
                                  struct cuttle_error *error) {
	struct ledger_run found;
	const struct chain_entry entry = {
	    .time = time(NULL), .kind = "release", .dataset = dataset, .run = run};
	enum cuttle_status status = begin_change(ledger, dataset, run, &found, error);
	if (status) return status;
	if (found.state == LEDGER_RESERVED) status = append_state(ledger, &entry, error);
	else if (found.state == LEDGER_DRAWN || found.state == LEDGER_CLOSED)
		status =
		    io_fail(error, CUTTLE_USAGE,
		            "run %s has drawn tokens: what it spent cannot be given back", run);
	else
		status = io_fail(error, CUTTLE_USAGE,
		                 "there is no reservation of run %.64s to release", run);
	return chain_end(ledger->chain, status, error);
}

/* ---- looking through ------------------------------------------------------------------------- */

struct walk_filter {
	const char *dataset; /* NULL = all data sets */
	bool seen;           /* an entry was passed on */
	enum cuttle_status (*each)(void *user, const struct chain_entry *entry);
	void *user;
};

static enum cuttle_status show_entry(void *user, const struct chain_entry *entry) {
	struct walk_filter *look = user;
	if (look->dataset && strcmp(look->dataset, entry->dataset) != 0) return CUTTLE_OK;
	look->seen = true;
	return look->each(look->user, entry);
}

enum cuttle_status ledger_walk(struct ledger *ledger, const char *dataset,
                               enum cuttle_status (*each)(void *user,
                                                          const struct chain_entry *entry),
                               void *user, struct cuttle_error *error) {
	struct walk_filter look = {dataset, false, each, user};
	enum cuttle_status status = chain_walk(ledger->chain, show_entry, &look, error);
	return !status && dataset && !look.seen ? refuse_missing_dataset(dataset, error) : status;
}

struct inspection {
	const char *hash; /* that is looked for, or NULL */
	char *head;       /* [HASH_TEXT] gets the hash of each entry, at last of the last */
	char (*names)[LEDGER_NAME]; /* [count] of the data sets seen so far */
	size_t count;               /* of names */
	uint64_t entries;           /* seen so far */
	bool found;                 /* an entry has the hash */
	bool no_memory;             /* memory ran out during the walk */
};

static enum cuttle_status inspect_entry(void *user, const struct chain_entry *entry) {
	struct inspection *inspection = user;
	inspection->entries++;
	inspection->found |= inspection->hash && !strcmp(inspection->hash, entry->hash);
	(void)copy_string(inspection->head, HASH_TEXT, entry->hash);
	for (size_t i = 0; i < inspection->count; i++)
		if (!strcmp(inspection->names[i], entry->dataset)) return CUTTLE_OK;
	void *names =
	    reallocarray(inspection->names, inspection->count + 1, sizeof *inspection->names);
	if (names) inspection->names = names;
	else inspection->no_memory = true;
	if (!names ||
	    !copy_string(inspection->names[inspection->count], LEDGER_NAME, entry->dataset))
		return CUTTLE_LEDGER;
	inspection->count++;
	return CUTTLE_OK;
}

static enum cuttle_status check_dataset(struct ledger *ledger, const char *name,
                                        struct cuttle_error *error) {
	struct history history;
	struct spent spent;
	enum cuttle_status status = load_dataset(ledger, name, &history, error);
	if (!status) status = sum_charges(&history, NULL, &spent, error);
	if (!status && !is_within_limit(&history.dataset, &spent))
		status = io_fail(
		    error, CUTTLE_LEDGER,
		    "the ledger is damaged or was edited: data set %s is over its limit", name);
	free_history(&history);
	return status;
}

enum cuttle_status ledger_verify(struct ledger *ledger, const char *hash, uint64_t *entries,
                                 char head[HASH_TEXT], struct cuttle_error *error) {
	struct inspection inspection = {.hash = hash, .head = head};
	struct cuttle_error reason = {{0}};
	head[0] = 0;
	enum cuttle_status status = chain_check(ledger->chain, &reason);
	if (!status) status = chain_walk(ledger->chain, inspect_entry, &inspection, &reason);
	if (inspection.no_memory) status = io_fail(&reason, CUTTLE_NOMEM, "out of memory");
	else if (status && !reason.message[0])
		(void)io_fail(&reason, status,
		              "the ledger is damaged or was edited: an entry makes no sense");
	for (size_t i = 0; !status && i < inspection.count; i++)
		status = check_dataset(ledger, inspection.names[i], &reason);
	if (!status && hash && !inspection.found)
		status = io_fail(
		    &reason, CUTTLE_LEDGER,
		    "the ledger has no entry %.64s: it is an older copy, or another ledger", hash);
	free(inspection.names);
	*entries = inspection.entries;
	if (error) *error = reason;
	return status;
}
