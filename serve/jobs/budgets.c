// SPDX-License-Identifier: Apache-2.0
// Standings and entries of the ledger as JSON. serve/jobs/budgets.h says who asks.
#include "serve/jobs/budgets.h"

#include "io/disk/fail.h"
#include "io/disk/jsonout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const MEASURES[] = {"rho", "rdp", "epsilon"};

bool budgets_read(const json_t *quote, struct budgets_charge *charge) {
	const json_t *object = json_object_get(quote, "charge");
	const char *measure = json_string_value(json_object_get(object, "measure"));
	*charge = (struct budgets_charge){
	    .order = (unsigned)json_integer_value(json_object_get(object, "order")),
	    .loss = json_number_value(json_object_get(object, "loss")),
	    .delta = json_number_value(json_object_get(object, "delta")),
	    .lines = (uint64_t)json_integer_value(json_object_get(quote, "references_needed"))};
	for (int i = 0; measure && i < 3; i++)
		if (!strcmp(MEASURES[i], measure)) {
			charge->measure = (enum ledger_measure)i;
			return true;
		}
	return false;
}

void budgets_add(struct budgets_charge *sum, const struct budgets_charge *charge) {
	// The next number above: many small charges must not be rounded away.
	if (charge->loss > 0) sum->loss = nextafter(sum->loss + charge->loss, INFINITY);
	if (charge->delta > 0) sum->delta = nextafter(sum->delta + charge->delta, INFINITY);
	if (charge->lines > sum->lines) sum->lines = charge->lines;
}

enum cuttle_status budgets_fit(const char *ledger, const char *dataset, const char *unit_key,
                               const struct budgets_charge *charge, struct cuttle_error *error) {
	struct ledger *opened;
	struct ledger_run found;
	struct ledger_standing standing;
	char run[LEDGER_RUN];
	ledger_name_run(run);
	const struct ledger_request request = {.dataset = dataset,
	                                       .run = run,
	                                       .command = "",
	                                       .rho = charge->loss,
	                                       .delta = charge->delta,
	                                       .measure = charge->measure,
	                                       .order = charge->order,
	                                       .count = charge->lines ? charge->lines : 1};
	enum cuttle_status status = ledger_open(ledger, &opened, error);
	if (status) return status;
	status = ledger_look(opened, dataset, &standing, error);
	if (!status && strcmp(standing.dataset.unit_key, unit_key) != 0)
		status = io_fail(error, CUTTLE_USAGE,
		                 *standing.dataset.unit_key
		                     ? "data set %.64s counts per value of %.128s: give unit_key"
		                     : "data set %.64s counts lines: leave out unit_key%.0s",
		                 dataset, standing.dataset.unit_key);
	// Documents without any mark cost nothing, and are not charged.
	if (!status && charge->loss > 0)
		status = ledger_reserve(opened, &request, true, &found, error);
	ledger_close(&opened);
	return status;
}

enum cuttle_status budgets_charged(const char *ledger, const char *dataset, const char *run,
                                   bool *charged, struct cuttle_error *error) {
	struct ledger *opened;
	struct ledger_run found;
	*charged = false;
	enum cuttle_status status = ledger_open(ledger, &opened, error);
	if (status) return status;
	status = ledger_find(opened, dataset, run, &found, error);
	ledger_close(&opened);
	*charged = !status && found.state != LEDGER_UNKNOWN && found.state != LEDGER_RELEASED;
	return status;
}

/* ---- standings ------------------------------------------------------------------------------- */

/* {"epsilon":..,"delta":..,"rho":..}; of Renyi losses "loss" stands for "rho". */
static json_t *encode_amount(const struct ledger_dataset *dataset, double loss, double epsilon) {
	const struct jsonout_member members[] = {
	    {"epsilon", jsonout_real(epsilon)},
	    {"delta", jsonout_real(dataset->delta)},
	    {dataset->measure == LEDGER_RDP ? "loss" : "rho", jsonout_real(loss)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

static json_t *encode_budget_of(const struct ledger_standing *standing) {
	const struct ledger_dataset *dataset = &standing->dataset;
	const bool in_epsilon = standing->in_epsilon;
	const double spent = in_epsilon ? standing->epsilon_spent
	                                : ledger_epsilon(dataset, standing->spent, true),
	             left = in_epsilon ? standing->epsilon_left
	                               : ledger_epsilon(dataset, standing->left, false);
	const struct jsonout_member members[] = {
	    {"object", json_string("budget")},
	    {"dataset", json_string(dataset->name)},
	    {"unit", json_string(*dataset->unit_key ? dataset->unit_key : "line")},
	    {"measure", json_string(in_epsilon ? "epsilon" : MEASURES[dataset->measure])},
	    {"order", dataset->order ? json_integer(dataset->order) : json_null()},
	    {"limit", encode_amount(dataset, dataset->rho, dataset->epsilon)},
	    {"spent", encode_amount(dataset, in_epsilon ? NAN : standing->spent, spent)},
	    {"remaining", encode_amount(dataset, in_epsilon ? NAN : standing->left, left)},
	    {"runs", json_integer((json_int_t)standing->runs)},
	};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* Names of data sets, in the order in which they were made. */
static enum cuttle_status collect_name(void *user, const struct chain_entry *entry) {
	json_t *names = user;
	if (strcmp(entry->kind, "dataset") != 0) return CUTTLE_OK;
	return json_array_append_new(names, json_string(entry->dataset)) ? CUTTLE_NOMEM : CUTTLE_OK;
}

static enum cuttle_status show_budget(struct ledger *opened, const char *dataset, json_t **document,
                                      struct cuttle_error *error) {
	struct ledger_standing standing;
	const enum cuttle_status status = ledger_look(opened, dataset, &standing, error);
	if (status) return status;
	*document = encode_budget_of(&standing);
	return *document ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* {"object":"list","data":[..]}. Takes data. */
static enum cuttle_status list_documents(json_t *data, json_t **document,
                                         struct cuttle_error *error) {
	const struct jsonout_member members[] = {{"object", json_string("list")}, {"data", data}};
	*document = jsonout_extend(json_object(), members, 2);
	return *document ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status show_budgets(struct ledger *opened, json_t **document,
                                       struct cuttle_error *error) {
	json_t *names = json_array(), *all = json_array();
	enum cuttle_status status = CUTTLE_OK;
	if (!names || !all) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = ledger_walk(opened, NULL, collect_name, names, error);
	for (size_t i = 0; !status && i < json_array_size(names); i++) {
		json_t *one = NULL;
		status =
		    show_budget(opened, json_string_value(json_array_get(names, i)), &one, error);
		if (!status && json_array_append_new(all, one) != 0)
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	json_decref(names);
	if (!status) return list_documents(all, document, error);
	json_decref(all);
	return status;
}

enum cuttle_status budgets_show(const char *ledger, const char *dataset, json_t **document,
                                struct cuttle_error *error) {
	struct ledger *opened;
	*document = NULL;
	enum cuttle_status status = ledger_open(ledger, &opened, error);
	if (status) return status;
	status = dataset ? show_budget(opened, dataset, document, error)
	                 : show_budgets(opened, document, error);
	ledger_close(&opened);
	return status;
}

double budgets_remaining(const char *ledger, const char *dataset,
                         const struct budgets_charge *charge) {
	struct ledger *opened;
	struct ledger_standing standing;
	if (ledger_open(ledger, &opened, NULL)) return NAN;
	const enum cuttle_status status = ledger_look(opened, dataset, &standing, NULL);
	ledger_close(&opened);
	if (status) return NAN;
	// A data set without a run has no kind yet: then its whole limit is left.
	if (charge->measure == LEDGER_EPSILON)
		return standing.in_epsilon ? standing.epsilon_left : standing.dataset.epsilon;
	return standing.in_epsilon ? NAN : standing.left;
}

/* ---- entries --------------------------------------------------------------------------------- */

static enum cuttle_status collect_entry(void *user, const struct chain_entry *entry) {
	size_t size;
	char *line = chain_json(entry, true, &size);
	json_t *object = line ? json_loadb(line, size, 0, NULL) : NULL;
	free(line);
	return object && !json_array_append_new(user, object) ? CUTTLE_OK : CUTTLE_NOMEM;
}

enum cuttle_status budgets_entries(const char *ledger, const char *dataset, json_t **document,
                                   struct cuttle_error *error) {
	struct ledger *opened;
	json_t *data = json_array();
	*document = NULL;
	enum cuttle_status status = data ? ledger_open(ledger, &opened, error)
	                                 : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		status = ledger_walk(opened, dataset, collect_entry, data, error);
		ledger_close(&opened);
	}
	if (!status) return list_documents(data, document, error);
	json_decref(data);
	return status;
}

enum cuttle_status budgets_verify(const char *ledger, const char *head, json_t **document,
                                  struct cuttle_error *error) {
	struct ledger *opened;
	struct cuttle_error reason = {{0}};
	uint64_t entries = 0;
	char last[HASH_TEXT] = "";
	*document = NULL;
	enum cuttle_status status = ledger_open(ledger, &opened, &reason);
	if (!status) {
		status = ledger_verify(opened, head, &entries, last, &reason);
		ledger_close(&opened);
	}
	if (status == CUTTLE_NOMEM) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// The message names the ledger's file, which is the operator's to know.
	*document = status ? json_pack("{s:b,s:s}", "ok", 0, "message", reason.message)
	                   : json_pack("{s:b,s:I,s:s}", "ok", 1, "entries", (json_int_t)entries,
	                               "head", last);
	return *document ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}
