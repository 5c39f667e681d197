// SPDX-License-Identifier: Apache-2.0
// units.h: adds up the privacy cost of runs, for the unit that they cost most. The cost is rho of
// zCDP. Where the ledger says so it is a Renyi loss at one order; here it is called rho all the
// same.
//
// A unit is a line of the data set, or all records with one value of a key; the value comes here as
// a hash. The rules, with every rounding such that no cost is understated:
//   - zCDP adds up per unit (Bun & Steinke 2016, Lemma 2.3).
//   - Renyi losses at one order add up per unit too (Mironov 2017, Proposition 1).
//   - g records of a unit in one batch cost it g^2 rho (group privacy, Proposition 1.9). So 2 in
//     one batch and 1 in another cost 5 rho. Renyi losses have no such rule at one order: the
//     ledger takes them only from batches of one record.
//   - Numbers typed in decimal add up exactly: ten times 0.1 is 1, though no double is 0.1.
//   - Batches that share no unit compose in parallel. So a data set has spent as much as the unit
//     that spent most.
#ifndef CUTTLE_IO_RECORDS_UNITS_H
#define CUTTLE_IO_RECORDS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a + b and count * rho, rounded up to a double, so never below the real number. For finite numbers
 * that are not negative, of any size: even a positive subnormal is not lost. +infinity on
 * overflow. */
double units_add(double a, double b);
double units_multiply(uint64_t count, double rho);
/* limit - spent, rounded down, and 0 where that is negative. */
double units_left(double limit, double spent);

/* Whether the double stands for a decimal number: the one of its fewest digits that read back as
 * the same double, such as 0.1. It has at most 24 places and is below 2^48. */
bool units_decimal(double value);
/* Reads a positive number typed in decimal. True: `value` then stands for just this number. False:
 * it is a double on the safe side of what was typed, above with `up`, else below. It is NaN where
 * the text is no positive, finite number. */
bool units_read(const char *text, bool up, double *value);

/* Prints the number in six significant digits, rounded up or down: 0.12345649 up is 0.123457. */
enum { UNITS_NUMBER = 32 };
void units_print(double value, bool up, char text[UNITS_NUMBER]);

/* Bytes of a unit's name. */
enum { UNIT_NAME = 16 };
/* One record of a run. */
struct unit_record {
	unsigned char unit[UNIT_NAME]; /* whose it is */
	uint64_t batch;                /* number of the run's batch that reads it */
};
/* Whether both records are of one unit. */
bool units_same(const struct unit_record *a, const struct unit_record *b);
/* Sorts by unit, then by batch. */
void units_sort(struct unit_record *records, size_t count);

/* What one run charges, as the ledger stores it. A charge has 24 bytes, little-endian:
 *   by key    16 bytes the unit's name, 8 bytes rho
 *   by lines  8 bytes `first`, 8 bytes `end`, 8 bytes rho: a span, the lines first .. end-1 */
enum { CHARGE_BYTES = 24 };
struct charges {
	bool by_key; /* each charge is for a unit, else for a span of lines */
	unsigned char *bytes;
	size_t size;  /* of `bytes`: a multiple of CHARGE_BYTES */
	bool decimal; /* each cost stands for a decimal number (units_decimal). Only by lines. */
	/* > 0: each charge is an epsilon, at this delta, where it is called rho here. Only by
	 * lines. */
	double delta;
};
/* Charges rho to each of the lines first .. end-1 (first < end). False: out of memory. charges_free
 * in either case. */
bool charges_of_lines(uint64_t first, uint64_t end, double rho, struct charges *charges);
/* Charges each unit the sum over batches of g^2 rho, g being its records in that batch; or, with
 * `once`, rho, whatever it has. Reorders records. False: out of memory. charges_free in either
 * case. */
bool charges_of_records(struct unit_record *records, size_t count, double rho, bool once,
                        struct charges *charges);
void charges_free(struct charges *charges);
/* Whether both charge the same units the same. */
bool charges_same(const struct charges *one, const struct charges *other);
/* Whether bytes from a file are charges. Each must be whole and have a positive, finite rho. Spans
 * must not be empty. Units must be in order, each once. */
bool charges_valid(const struct charges *charges);
/* The most that is charged to one unit. */
double charges_most(const struct charges *charges);

/* The most that runs together charge one unit. */
struct units_total {
	unsigned __int128 decimals; /* of units whose costs are all decimals: their exact sum, in
	                             * units of 1e-24 */
	double others;              /* of all other units, rounded up */
};
/* What `count` runs together charge the unit that pays most: the greatest sum over one line plus
 * the greatest sum over one key. Both, as a span in a data set of keys is for everybody in it.
 * False: out of memory. */
bool units_spent(const struct charges *const *all, size_t count, struct units_total *total);
/* Whether a total is at most the limit; `decimal`: the limit stands for a decimal number. */
bool units_within(const struct units_total *total, double limit, bool decimal);
/* The total as a double, and what it leaves of the limit. They are rounded up and down. Where all
 * are decimal numbers, the doubles stand for the exact ones. */
double units_most_of(const struct units_total *total);
double units_left_of(const struct units_total *total, double limit, bool decimal);

/* Where charges are epsilons: the most that `cost` says of the sums for one line, all rounded
 * up. All charges must be by lines. False: out of memory. */
struct units_sums {
	double rho;               /* of the charges in rho */
	double epsilon;           /* of the others */
	unsigned __int128 deltas; /* in units of 1e-24, each rounded up to one, or where it stands
	                           * for a decimal number above it, this */
};
/* Whether such a sum is at most the limit, or the decimal number that this stands for. */
bool units_deltas_fit(unsigned __int128 deltas, double limit);
bool units_most(const struct charges *const *all, size_t count,
                double (*cost)(const void *user, const struct units_sums *sums), const void *user,
                double *most);

#endif
