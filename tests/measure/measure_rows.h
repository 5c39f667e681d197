// SPDX-License-Identifier: Apache-2.0
// measure_rows.h: rows of numbers by the formula of tests/golden/make_measure.py, and golden
// numbers.
#ifndef CUTTLE_TESTS_MEASURE_ROWS_H
#define CUTTLE_TESTS_MEASURE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Fills rows [count][width] and, unless it is NULL, labels[count]. A row is the centre of its group
 * plus `spread` times noise, both smaller in later columns; of 16 rows a group has about shares[].
 */
void make_rows(uint64_t seed, size_t count, size_t width, size_t groups, const unsigned *shares,
               double spread, float *rows, uint32_t *labels);

/* to [count][width] = from, each row brought to length one. */
void make_unit_rows(const float *from, size_t count, size_t width, double *to);

/* Wants got[count] to be the line `name` of tests/golden/measure.txt, each within `apart`. */
void expect_golden(const char *name, const double *got, size_t count, double apart);

#endif
