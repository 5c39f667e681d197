// SPDX-License-Identifier: Apache-2.0
// references.h: the references of a run: the records of the input, each in its place.
//
// A place is a number: text b reads places b*B to b*B+B-1 (io/records/places.h). The references are
// read once, before anything is drawn, and the engine gets their texts. The texts are PRIVATE: they
// are wiped by references_free, and no message says anything about one of them.
#ifndef CUTTLE_WORKFLOW_REFERENCES_H
#define CUTTLE_WORKFLOW_REFERENCES_H

#include "io/ledger/ledger.h"
#include "io/records/lots.h"
#include "io/records/places.h"
#include "io/shards/shard_texts.h"
#include "workflow/setup.h"

struct references {
	struct records *records;
	struct places places; /* which record stands in which place */
	size_t categories;    /* labels that each record has */
	bool lots;            /* records come to their places by lots: references_draw */
	uint32_t *cluster; /* [records] the private cluster of each (workflow/seats.h), or NULL */
	/* [counted_count] with lots of owners one record of each owner; else NULL. Without lots no
	 * record that has no place is read. */
	size_t *counted;
	size_t counted_count;
	/* Of a shard no records are read, but the texts of its own places; NULL = no shard. */
	const struct run_shard *shard;
	struct shard_texts texts;
};

/* Reads the input and puts its records in their places; of a shard reads what was put there when
 * the run was opened. Without a limit per unit it also changes
 * the receipt's guarantee: it becomes that of the unit which the run costs most. With lots no
 * record has a place yet. Call references_free in any case. INPUT: there are not as many records as
 * were counted for the lots. Else as secrecy_room, records_read, places_make, receipt_weigh and
 * shard_texts_read. */
enum cuttle_status references_read(const struct generate_request *request, struct setup *setup,
                                   struct references *references, struct cuttle_error *error);
/* With lots, which come after the output is open: puts the records in their places. NOMEM. */
enum cuttle_status references_draw(const struct setup *setup, const struct lots *lots,
                                   struct references *references, struct cuttle_error *error);
/* Checks only whether the input has enough records, in all and of each category. That is public. It
 * tells nothing else about a record. Only where it is declared public who has how many records
 * (RUN_RECORDS_ALL), the receipt's guarantee changes as by references_read. Errors as
 * references_read, else but for those about units. */
enum cuttle_status references_suffice(const struct generate_request *request, struct setup *setup,
                                      struct cuttle_error *error);
/* Wipes the texts. */
void references_free(struct references *references);

/* How many places the shard of that number has. */
size_t references_places(const struct shard_terms *terms, struct shard_number number);
/* The text in a place; NULL: no record stands there, or it is null. Valid until references_free. */
const char *references_text(const struct references *references, size_t place, size_t *size);

/* Digests under the key all that stands in the places. Of each place that is whether there is a
 * record, its text as it is read, its owner and its categories. With lots all records, in their
 * order, too. It is the `digest` of struct output_request; user is the struct
 * references. */
void references_digest(void *user, const unsigned char *key, char *digest);

/* What the ledger is charged, without who is: measure, order, loss and delta. The loss is the most
 * that one unit pays, and the number of the receipt. It follows from the plan alone, so generate
 * --dry-run shows it before there is a record. But with RUN_RECORDS_ALL it follows from the
 * records, too, once references_read or references_suffice has counted them. */
struct ledger_request references_price(const struct setup *setup);

/* What a run over these references costs: the charge for spending_reserve, which sets data set and
 * run. `lines`: the data set counts lines, else owners. The charge points into both arguments. */
struct ledger_request references_charge(const struct references *references,
                                        const struct setup *setup, bool lines);

#endif
