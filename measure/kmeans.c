// SPDX-License-Identifier: Apache-2.0
// How distances are fast without changing their order of summation: centres stand in tiles of
// eight, element j of all eight side by side. A row meets a tile with eight sums at once, each over
// j in ascending order, and a compiler may use vectors for them.
// Example: with 10 centres of width 3 there are two tiles of 3 * 8 doubles, the second with 6
// unused.
#include "measure/kmeans.h"

#include "base/misuse.h"
#include "measure/scratch.h"
#include "measure/stream.h"

#include <math.h>
#include <string.h>

enum { TILE = 8 };

static size_t count_tiles(size_t clusters) {
	return (clusters + TILE - 1) / TILE;
}

static void set_centre(double *tiles, size_t width, size_t centre, const double *values) {
	double *tile = tiles + centre / TILE * width * TILE + centre % TILE;
	for (size_t j = 0; j < width; j++) tile[j * TILE] = values[j];
}

/* The squared distance to the nearest centre, which becomes *label. */
static double find_nearest(const double *row, size_t width, const double *tiles, size_t clusters,
                           uint32_t *label) {
	double best = INFINITY;
	*label = 0;
	for (size_t first = 0; first < clusters; first += TILE, tiles += width * TILE) {
		double sum[TILE] = {0};
		for (size_t j = 0; j < width; j++)
			for (size_t l = 0; l < TILE; l++) {
				const double apart = row[j] - tiles[j * TILE + l];
				sum[l] += apart * apart;
			}
		for (size_t l = 0; l < TILE && first + l < clusters; l++)
			if (sum[l] < best) {
				best = sum[l];
				*label = (uint32_t)(first + l);
			}
	}
	return best;
}

bool kmeans_assign(const double *rows, size_t count, size_t width, const double *centres,
                   size_t clusters, uint32_t *labels) {
	REQUIRE(clusters >= 1);
	double *tiles = scratch_make(count_tiles(clusters) * width * TILE, sizeof *tiles);
	if (!tiles) return false;
	for (size_t c = 0; c < clusters; c++) set_centre(tiles, width, c, centres + c * width);
	for (size_t i = 0; i < count; i++)
		find_nearest(rows + i * width, width, tiles, clusters, &labels[i]);
	scratch_free(tiles);
	return true;
}

/* One start, and what it works on. */
struct lloyd {
	const double *rows; /* [count][width] */
	size_t count;
	size_t width;
	size_t clusters;
	uint32_t *labels;  /* [count] */
	double *distances; /* [count], of rows to their centres, squared; -1: it became a centre */
	double *centres;   /* [clusters][width] */
	double *tiles;     /* the same in tiles */
	uint32_t *members; /* [clusters] */
	uint32_t *order;   /* [count], row numbers */
};

static void choose_rows(struct lloyd *k, struct stream *stream) {
	for (size_t i = 0; i < k->count; i++) k->order[i] = (uint32_t)i;
	for (size_t c = 0; c < k->clusters; c++) {
		const size_t other = c + (size_t)stream_below(stream, k->count - c);
		const uint32_t chosen = k->order[other];
		k->order[other] = k->order[c];
		k->order[c] = chosen;
		const double *row = k->rows + chosen * k->width;
		memcpy(k->centres + c * k->width, row, k->width * sizeof *row);
		set_centre(k->tiles, k->width, c, row);
	}
}

/* Gives each row to its nearest centre. Returns whether a label changed. */
static bool label_rows(struct lloyd *k) {
	bool changed = false;
	for (size_t i = 0; i < k->count; i++) {
		const uint32_t before = k->labels[i];
		k->distances[i] = find_nearest(k->rows + i * k->width, k->width, k->tiles,
		                               k->clusters, &k->labels[i]);
		changed |= k->labels[i] != before;
	}
	return changed;
}

/* The row that is farthest from its centre; `count` when all are upon theirs. */
static size_t find_farthest(const struct lloyd *k) {
	size_t farthest = k->count;
	double most = 0.0;
	for (size_t i = 0; i < k->count; i++)
		if (k->distances[i] > most) {
			most = k->distances[i];
			farthest = i;
		}
	return farthest;
}

static void move_centres(struct lloyd *k) {
	memset(k->members, 0, k->clusters * sizeof *k->members);
	for (size_t i = 0; i < k->count; i++) {
		double *centre = k->centres + k->labels[i] * k->width;
		const double *row = k->rows + i * k->width;
		if (!k->members[k->labels[i]]++) memset(centre, 0, k->width * sizeof *centre);
		for (size_t j = 0; j < k->width; j++) centre[j] += row[j];
	}
	for (size_t c = 0; c < k->clusters; c++) {
		double *centre = k->centres + c * k->width;
		if (k->members[c]) {
			for (size_t j = 0; j < k->width; j++) centre[j] /= k->members[c];
		} else {
			const size_t farthest = find_farthest(k);
			if (farthest == k->count) continue;
			k->distances[farthest] = -1.0;
			memcpy(centre, k->rows + farthest * k->width, k->width * sizeof *centre);
		}
		set_centre(k->tiles, k->width, c, centre);
	}
}

/* Runs one start to its end. Returns its sum of squared distances. */
static double run_start(struct lloyd *k, size_t rounds, struct stream stream) {
	choose_rows(k, &stream);
	for (size_t i = 0; i < k->count; i++) k->labels[i] = UINT32_MAX;
	while (label_rows(k) && rounds--) move_centres(k);
	double sum = 0.0;
	for (size_t i = 0; i < k->count; i++) sum += k->distances[i];
	return sum;
}

bool kmeans_fit(const double *rows, size_t count, size_t width, const struct kmeans_params *params,
                uint32_t *labels, double *centres, double *objective) {
	const size_t clusters = params->clusters;
	REQUIRE(clusters >= 1 && clusters <= count && count < UINT32_MAX);
	REQUIRE(params->restarts >= 1 && params->rounds >= 1);
	struct lloyd k = {
	    .rows = rows,
	    .count = count,
	    .width = width,
	    .clusters = clusters,
	    .labels = scratch_make(count, sizeof *k.labels),
	    .distances = scratch_make(count, sizeof *k.distances),
	    .centres = scratch_make(clusters * width, sizeof *k.centres),
	    .tiles = scratch_make(count_tiles(clusters) * width * TILE, sizeof *k.tiles),
	    .members = scratch_make(clusters, sizeof *k.members),
	    .order = scratch_make(count, sizeof *k.order),
	};
	const bool ok = k.labels && k.distances && k.centres && k.tiles && k.members && k.order;
	double best = INFINITY;
	for (size_t start = 0; ok && start < params->restarts; start++) {
		const double sum = run_start(&k, params->rounds, stream_of(params->seed, start));
		if (start > 0 && !(sum < best)) continue;
		best = sum;
		memcpy(labels, k.labels, count * sizeof *labels);
		if (centres) memcpy(centres, k.centres, clusters * width * sizeof *centres);
	}
	if (ok && objective) *objective = best;
	scratch_free(k.labels);
	scratch_free(k.distances);
	scratch_free(k.centres);
	scratch_free(k.tiles);
	scratch_free(k.members);
	scratch_free(k.order);
	return ok;
}
