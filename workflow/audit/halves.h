// SPDX-License-Identifier: Apache-2.0
// halves.h: splits a file of records by lot, into those that a run may read and those kept aside.
//
// cuttle audit holdout compares the two, and its p is exact only where a lot decided. So the lot is
// drawn here and not by a recipe: which half a record is in says nothing about the record, nor
// about its place in the file. All three files are PRIVATE (mode 0600): the halves are the records,
// and the third one has their hashes, by which a guess of a half could be confirmed.
//
//     NAME.used.jsonl     for the run, in the format of the input and in its order
//     NAME.aside.jsonl    likewise, and nothing may read it before the audit
//     NAME.split.json     {"cuttle_split":1,"records":500,"used_sha256":...,"aside_sha256":...,
//                          "unit_key":null}: the audit knows by it that a lot decided
//
// The lot: units are shuffled (Fisher and Yates) by the secret key of a struct chance, which the
// system's randomness makes and nothing keeps. The first half of them is used. So both halves have
// the same number of units, or the used one has one more, and each record has a partner. A unit is
// a record or, with a unit key, all records of an owner. A record without an owner is a unit alone.
#ifndef CUTTLE_WORKFLOW_AUDIT_HALVES_H
#define CUTTLE_WORKFLOW_AUDIT_HALVES_H

#include "io/disk/hash.h"
#include "io/disk/jsonout.h"
#include "io/records/records.h"
#include "workflow/audit/canaries.h"

enum { HALVES_USED, HALVES_ASIDE, HALVES_SPLIT, HALVES_FILES };

/* Sets the paths of the three files that a split of `input` writes. The caller frees them, also
 * after a failure. False: out of memory. */
bool halves_paths(const char *input, const char *name, char *paths[HALVES_FILES]);

/* USAGE: one of them is there already: a split is never overwritten. NOMEM. */
enum cuttle_status halves_absent(const char *input, const char *name, struct cuttle_error *error);

/* For each record the number of its unit, 0 .. *units - 1, in the order in which they first stand.
 * The records were read with the unit key as id; without one each is a unit. The caller frees it
 * with secrecy_free. NULL: out of memory. */
size_t *halves_units(const struct records *records, size_t *units);

/* Splits the file, which is read twice. records[2]: how many are used and kept aside. A row of CSV
 * with a broken quote becomes an empty line, which is null as well: in another place it could
 * enclose other records. So does a line of JSONL that cannot be an object: the first line of a half
 * would be asked for marks.
 * USAGE: as halves_absent. INPUT: as records_read; no record has the text's field, or an owner; the
 * file has fewer than two units, or changed in between. NOMEM. INTERNAL: a file cannot be written,
 * or another split has made one meanwhile. After a failure none of the three is there that this
 * split made. */
enum cuttle_status halves_split(const char *input, const char *field, const char *unit_key,
                                const char *name, const struct chance *chance, size_t records[2],
                                struct cuttle_error *error);

/* Finds the split that wrote `used`, by its name. *split: what NAME.split.json says, or NULL where
 * there is none, which is OK. The caller frees it with json_decref.
 * LEDGER: one of both files is not what was written there. INPUT: a file cannot be read, or
 * NAME.split.json is no such file. */
enum cuttle_status halves_find(const char *used, const char *aside, json_t **split,
                               struct cuttle_error *error);
/* Whether a split may have written `used`: then halves_find reads the file, too. */
bool halves_named(const char *used);

#endif
