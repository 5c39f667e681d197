// SPDX-License-Identifier: Apache-2.0
// Sums are in the order of the values. A deviation takes the mean off first.
#include "measure/samples.h"

#include "base/misuse.h"
#include "base/sort.h"
#include "measure/scratch.h"

#include <math.h>
#include <string.h>

double samples_mean(const double *values, size_t count) {
	REQUIRE(count >= 1);
	double sum = 0.0;
	for (size_t i = 0; i < count; i++) sum += values[i];
	return sum / (double)count;
}

double samples_deviation(const double *values, size_t count) {
	if (count < 2) return 0.0;
	const double mean = samples_mean(values, count);
	double squares = 0.0;
	for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (double)(count - 1));
}

double samples_half_width(const double *values, size_t count) {
	REQUIRE(count >= 1);
	return SAMPLES_Z * samples_deviation(values, count) / sqrt((double)count);
}

double samples_share(const double *sums, const double *sizes, size_t count, double *half_width) {
	double sum = 0.0, size = 0.0, squares = 0.0;
	for (size_t i = 0; i < count; i++) {
		sum += sums[i];
		size += sizes[i];
	}
	*half_width = NAN;
	if (!(size > 0.0)) return NAN;
	const double share = sum / size;
	for (size_t i = 0; i < count; i++)
		squares += (sums[i] - share * sizes[i]) * (sums[i] - share * sizes[i]);
	const double drawn = (double)count;
	*half_width = count < 2 ? 0.0 : SAMPLES_Z * sqrt(squares * drawn / (drawn - 1)) / size;
	return share;
}

bool samples_distance(const double *one, size_t one_count, const double *other, size_t other_count,
                      double *distance) {
	REQUIRE(one_count >= 1 && other_count >= 1);
	double *a = scratch_make(one_count, sizeof *a), *b = scratch_make(other_count, sizeof *b);
	const bool ok = a && b;
	if (ok) {
		memcpy(a, one, one_count * sizeof *a);
		memcpy(b, other, other_count * sizeof *b);
		sort_doubles(a, one_count);
		sort_doubles(b, other_count);
		size_t i = 0, j = 0;
		*distance = 0.0;
		// Both go past all that is equal to the next value, and only then are compared.
		while (i < one_count && j < other_count) {
			const double value = a[i] < b[j] ? a[i] : b[j];
			while (i < one_count && a[i] <= value) i++;
			while (j < other_count && b[j] <= value) j++;
			const double apart =
			    fabs((double)i / (double)one_count - (double)j / (double)other_count);
			if (apart > *distance) *distance = apart;
		}
	}
	scratch_free(a);
	scratch_free(b);
	return ok;
}
