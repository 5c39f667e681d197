// SPDX-License-Identifier: Apache-2.0
// fields.h: how near the fields of synthetic records are to those of real ones: each field's law,
// and how fields go together.
//
// Values of real records are private, and so is every number. Nothing is kept; scratch is wiped.
//
// A field's value is a small number: that of a category, or of a bin. P is the real law, Q the
// other one. For each field its distance is
//     TV(P, Q) = 1/2 sum over x of |P(x) - Q(x)|                      0 = equal, 1 = nothing shared
// and for each pair of fields, with P(x) P(y) the product of the real marginals:
//     joint       1/2 sum over x, y of |P(x, y) - Q(x, y)|
//     apart       1/2 sum over x, y of |P(x, y) - P(x) P(y)|: the joint distance of columns that
//                 are right one by one and know nothing of each other
//     V           Cramer's V of P, of Q, and |V of P - V of Q|
//     dependence  1/2 sum over x, y of |P(x, y) - P(x) P(y) - (Q(x, y) - Q(x) Q(y))|
// KND, the key nodes' dependence, is the mean dependence of all pairs of key fields. It is 0 when
// all is kept, and the mean of `apart` when all is lost. Struct-Bench (Wang et al. 2025) has a
// measure of this name, from the cosines of a model's vectors; this one needs no model.
//
// Example: P is half (0, 0), half (1, 1), and Q is a quarter each of all four. Both marginals are
// kept, so their distance is 0; joint, apart and dependence are 1/2, and V falls from 1 to 0.
//
// A number's error is its standard deviation over resamples of the lines, of both sides. Few lines
// raise all distances: compare with those between halves of the real lines.
#ifndef CUTTLE_MEASURE_FIELDS_H
#define CUTTLE_MEASURE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FIELDS_CELLS = 64,  /* values of a field, at most */
	FIELDS_BINS = 20,   /* bins of real numbers, at most */
	FIELDS_COARSE = 5,  /* the same where fields are paired */
	FIELDS_IN_A_BIN = 5 /* real numbers in each bin, at least, but for equal ones */
};

/* A value, and its standard deviation over resamples. NaN: there is none. */
struct fields_number {
	double value;
	double error;
};

/* ---- numbers in bins ------------------------------------------------------------------------- */

/* Bin 0 is below edges[0]. Bin i, from 1 to count, is from edges[i - 1] to below edges[i], the last
 * one with edges[count]. Bin count + 1 is above that. */
struct fields_bins {
	size_t count;
	double edges[FIELDS_BINS + 1];
};

/* Makes bins that hold about equally many of the numbers, and none outside: of 1 to 100 there are
 * 20, and the first is from 1 to below 6. Sorts values[count]; all are finite. */
void fields_bins_make(double *values, size_t count, struct fields_bins *bins);
size_t fields_bin(const struct fields_bins *bins, double value);
/* The bin of at most FIELDS_COARSE + 2 that a bin is in, where fields are paired. */
size_t fields_coarse(const struct fields_bins *bins, size_t bin);

/* ---- from counts ----------------------------------------------------------------------------- */

/* TV of two histograms, neither of them empty. */
double fields_distance(const uint32_t *one, const uint32_t *other, size_t cells);
/* Cramer's V of counts[rows * columns], not empty, with the correction for few lines of Bergsma
 * 2013, so that it is not above 0 by chance alone. 0 where a side has one value. */
double fields_association(const uint32_t *counts, size_t rows, size_t columns);

enum fields_measure {
	FIELDS_JOINT,
	FIELDS_APART,
	FIELDS_V_REAL,
	FIELDS_V_OTHER,
	FIELDS_V_DIFFERENCE,
	FIELDS_DEPENDENCE,
	FIELDS_MEASURES
};
/* Sets all numbers of a pair, from real[rows * columns] and other[rows * columns], not empty. Both
 * dimensions are at most FIELDS_CELLS. */
void fields_pair(const uint32_t *real, const uint32_t *other, size_t rows, size_t columns,
                 double numbers[FIELDS_MEASURES]);

/* ---- from lines ------------------------------------------------------------------------------ */

/* A field of both sides. */
struct fields_column {
	const uint8_t *real;   /* [real lines] the line's value, below `cells` */
	const uint8_t *other;  /* [other lines] */
	size_t cells;          /* at most FIELDS_CELLS */
	const uint8_t *coarse; /* [cells] the value where fields are paired, below `coarse_cells` */
	size_t coarse_cells;
	bool key; /* its pairs with other key fields are in KND */
};

struct fields_comparison {
	const struct fields_column *columns; /* [column_count] */
	size_t column_count;
	size_t real_lines; /* at least 1 */
	size_t other_lines;
	size_t resamples; /* at least 2 */
	uint64_t seed;
};

struct fields_result {
	struct fields_number *fields; /* [column_count] distances */
	/* [column_count (column_count - 1) / 2] pairs 0 1, 0 2 .. 1 2 .. */
	struct fields_number (*pairs)[FIELDS_MEASURES];
	size_t pair_count;
	size_t key_pairs;
	struct fields_number mean;      /* of the fields' distances */
	struct fields_number joint;     /* mean over all pairs */
	struct fields_number knd;       /* mean dependence over pairs of key fields */
	struct fields_number knd_apart; /* KND of columns that know nothing of each other */
};

/* Call fields_free in any case. False: out of memory. */
bool fields_compare(const struct fields_comparison *comparison, struct fields_result *result);
void fields_free(struct fields_result *result);

#endif
