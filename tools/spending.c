// SPDX-License-Identifier: Apache-2.0
// The ledger's side of generate.
#include "tools/spending.h"

#include "io/fail.h"
#include "io/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum cuttle_status spending_open(const struct generate_values *values, const struct setup *setup, struct spending *spending,
                                 struct cuttle_error *error) {
	struct ledger *ledger;
	struct ledger_standing standing;
	*spending = (struct spending){0};
	if (!values->ledger || !setup->receipt.guarantee.private_output) return CUTTLE_OK;
	spending->path = values->ledger;
	enum cuttle_status status = ledger_open(values->ledger, &ledger, error);
	if (status) return status;
	status = ledger_look(ledger, values->dataset, &standing, error);
	ledger_close(&ledger);
	spending->dataset = standing.dataset;
	const char *counted = standing.dataset.unit_key, *asked = values->unit_key ? values->unit_key : "";
	if (!status && strcmp(counted, asked) != 0)
		return io_fail(error, CUTTLE_USAGE,
		               *counted ? "data set %.64s counts per value of %.128s: give --unit-key with that"
		                        : "data set %.64s counts lines, not values of %.128s: --unit-key needs one made with it",
		               values->dataset, *counted ? counted : asked);
	if (status || !strcmp(values->output, "-")) return status;
	spending->name_file = file_name(values->output, ".run");
	return spending->name_file ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* The name in OUT.run, or none. */
static bool read_name(struct spending *spending) {
	char *text;
	size_t size;
	if (!spending->name_file || file_read(spending->name_file, LEDGER_RUN, &text, &size, NULL)) return false;
	bool right = size == LEDGER_RUN && text[size - 1] == '\n' && strspn(text, "0123456789abcdef") == LEDGER_RUN - 1;
	if (right) memcpy(spending->run, text, LEDGER_RUN - 1);
	free(text);
	return right;
}

static enum cuttle_status write_name(struct spending *spending, struct cuttle_error *error) {
	char line[LEDGER_RUN + 1];
	ledger_name_run(spending->run);
	if (!spending->name_file) return CUTTLE_OK;
	(void)snprintf(line, sizeof line, "%s\n", spending->run);
	int problem = file_replace(spending->name_file, line, LEDGER_RUN);
	return problem ? io_fail(error, CUTTLE_PARTIAL, "cannot write %s: %s", spending->name_file, strerror(problem)) : CUTTLE_OK;
}

static bool owner(void *user, uint64_t index, const char **value, size_t *size) {
	*value = references_unit(user, (size_t)index, size);
	return *value != NULL;
}

/* rho of one text, never below what it is. */
static double rho_of_text(const struct receipt *receipt) {
	const double rho = receipt->guarantee.rho, weight = (double)receipt->unit.weight;
	return weight > 1 ? nextafter(rho / weight, INFINITY) : rho;
}

static enum cuttle_status reserve(struct ledger *ledger, struct spending *spending, const struct setup *setup,
                                  const struct references *references, struct ledger_run *found, struct cuttle_error *error) {
	const struct places *places = &references->places;
	// In a data set of lines all up to the last one read are charged: which of them were read is no business of the ledger's.
	const bool lines = !*spending->dataset.unit_key;
	enum cuttle_status status = write_name(spending, error);
	if (status) return status;
	const struct ledger_request request = {.dataset = spending->dataset.name,
	                                       .run = spending->run,
	                                       .command = setup->fingerprint,
	                                       .rho = rho_of_text(&setup->receipt),
	                                       .count = lines ? places->lines : places->count,
	                                       .batch = setup->receipt.guarantee.batch,
	                                       .user = (void *)(uintptr_t)references, // the callback only reads
	                                       .unit = owner};
	status = ledger_reserve(ledger, &request, false, found, error);
	if (status && spending->name_file) (void)unlink(spending->name_file);
	return status;
}

enum cuttle_status spending_reserve(struct spending *spending, struct setup *setup, const struct references *references, bool resumed,
                                    struct cuttle_error *error) {
	struct ledger *ledger;
	struct ledger_run found = {.state = LEDGER_UNKNOWN};
	if (!spending->path) return CUTTLE_OK;
	enum cuttle_status status = ledger_open(spending->path, &ledger, error);
	if (status) return status;
	if (read_name(spending)) status = ledger_find(ledger, spending->dataset.name, spending->run, &found, error);
	const bool stands = found.state == LEDGER_RESERVED || (found.state == LEDGER_DRAWN && resumed);
	if (!status && (!stands || strcmp(found.command, setup->fingerprint) != 0))
		status = reserve(ledger, spending, setup, references, &found, error);
	// What the journal holds was drawn, by whatever run: it can never be released.
	if (!status && resumed) status = ledger_draw(ledger, spending->dataset.name, spending->run, error);
	ledger_close(&ledger);
	if (status) return status;
	spending->drawn = resumed;
	setup->receipt.ledger.rho = found.rho;
	(void)snprintf(setup->receipt.ledger.entry, HASH_TEXT, "%s", found.entry);
	(void)snprintf(setup->receipt.ledger.dataset, sizeof setup->receipt.ledger.dataset, "%s", spending->dataset.name);
	(void)snprintf(setup->receipt.ledger.unit_key, sizeof setup->receipt.ledger.unit_key, "%s", spending->dataset.unit_key);
	return CUTTLE_OK;
}

enum cuttle_status spending_draw(struct spending *spending, struct cuttle_error *error) {
	struct ledger *ledger;
	if (!spending->path || spending->drawn) return CUTTLE_OK;
	enum cuttle_status status = ledger_open(spending->path, &ledger, error);
	if (status) return status;
	status = ledger_draw(ledger, spending->dataset.name, spending->run, error);
	ledger_close(&ledger);
	spending->drawn = !status;
	return status;
}

void spending_done(struct spending *spending) {
	if (spending->name_file) (void)unlink(spending->name_file);
}

void spending_close(struct spending *spending) {
	free(spending->name_file);
	*spending = (struct spending){0};
}
