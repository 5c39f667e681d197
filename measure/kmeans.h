// SPDX-License-Identifier: Apache-2.0
// kmeans.h: groups rows of numbers by nearness, the same groups on every run.
//
// Rows may follow from private texts: scratch is wiped, and what goes out is the caller's to
// protect.
// How: Lloyd's algorithm (Lloyd 1982). A start is `clusters` different rows, drawn by the seed. A
// round gives each row to its nearest centre, ties to the lower one, then moves each centre to the
// mean of its rows. Rounds end when no row changes its centre, or at the limit. A centre that has
// lost all its rows moves to the row that is farthest from its own centre, ties to the lower row.
// Of all restarts the one with the least sum of squared distances counts, ties to the earlier.
// Arithmetic is IEEE double in a fixed order: the same bits on every machine.
// Example: rows 0, 1, 10, 11 of width 1 and two clusters: centres .5 and 10.5, in either order.
#ifndef CUTTLE_MEASURE_KMEANS_H
#define CUTTLE_MEASURE_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmeans_params {
	size_t clusters; /* 1 .. number of rows */
	size_t restarts; /* starts that are tried, at least 1 */
	size_t rounds;   /* of each start, at least 1 */
	uint64_t seed;   /* public */
};

/* Groups rows [count][width], all finite. Sets labels[count], each below `clusters`; centres
 * [clusters][width] unless it is NULL; and *objective, the sum of squared distances of rows to
 * their centres, unless it is NULL. With fewer different rows than clusters some stay empty.
 * False: out of memory. */
bool kmeans_fit(const double *rows, size_t count, size_t width, const struct kmeans_params *params,
                uint32_t *labels, double *centres, double *objective);

/* labels[count] = the nearest of centres [clusters][width] for each of rows [count][width], ties to
 * the lower. A row's label depends on that row and the centres alone. False: out of memory. */
bool kmeans_assign(const double *rows, size_t count, size_t width, const double *centres,
                   size_t clusters, uint32_t *labels);

#endif
