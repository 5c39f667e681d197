// SPDX-License-Identifier: Apache-2.0
// What one run costs whom, and what several runs cost the one they cost most: sums of rho, rounded against the spender.
//
// zCDP adds up per unit (Bun & Steinke 2016, Lemma 2.3) and g records of one unit in one batch cost g^2 rho (group privacy, Proposition
// 1.9); batches that do not share a unit compose in parallel, so a data set has spent what its most spent unit has (design note privacy.md
// 1.6, 2.4f). A unit is either a line of the data set, charged by spans of lines, or whoever a key names, charged one by one.
#ifndef CUTTLE_IO_UNITS_H
#define CUTTLE_IO_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a + b and count * rho, rounded up to a double: never below the real number, whatever the sizes (a positive subnormal is not lost). For
 * finite numbers that are not negative; +infinity on overflow. */
double units_add(double a, double b);
double units_multiply(uint64_t count, double rho);
/* limit - spent, rounded down, and 0 where that is negative. */
double units_left(double limit, double spent);

/* The number in six significant digits, rounded up or down, never to the nearer. */
enum { UNITS_NUMBER = 32 };
void units_print(double value, bool up, char text[UNITS_NUMBER]);

/* Units are 16-byte names. */
enum { UNIT_NAME = 16 };
/* One record of a run: whose it is, and which batch of the run reads it. */
struct unit_record {
	unsigned char unit[UNIT_NAME];
	uint64_t batch;
};
bool units_same(const struct unit_record *a, const struct unit_record *b);
/* By unit, then by batch. */
void units_sort(struct unit_record *records, size_t count);

/* Charges as they stand in the ledger, 24 bytes each, little-endian: a span {first, end, rho} of lines first .. end-1, or {unit, rho}. */
enum { CHARGE_BYTES = 24 };
struct charges {
	bool by_key; /* units, else spans */
	unsigned char *bytes;
	size_t size;
};
/* Every line of first .. end-1 (first < end) is charged rho. False: out of memory. charges_free in either case. */
bool charges_of_lines(uint64_t first, uint64_t end, double rho, struct charges *charges);
/* Each unit is charged the sum over batches of g^2 rho, g = its records in that batch. Reorders records. False: out of memory. */
bool charges_of_records(struct unit_record *records, size_t count, double rho, struct charges *charges);
void charges_free(struct charges *charges);
/* Whether bytes from a file are charges: whole ones, rho positive and finite, spans not empty, units in order and each once. */
bool charges_valid(const struct charges *charges);
/* The most that is charged to one unit. */
double charges_most(const struct charges *charges);

/* What the unit that is charged most pays by all of them together (a span in a data set of keys is for everybody in it): the greatest sum
 * over one line plus the greatest sum over one key. False: out of memory. */
bool units_spent(const struct charges *const *all, size_t count, double *spent);

#endif
