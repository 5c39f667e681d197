// SPDX-License-Identifier: Apache-2.0
// How fields.h measures: all numbers stand in one row, which is made once of the lines as they are,
// and once of each resample. A line that was drawn twice counts as two.
#include "measure/fields.h"

#include "base/misuse.h"
#include "base/sort.h"
#include "measure/scratch.h"
#include "measure/stream.h"

#include <math.h>
#include <string.h>

/* ---- numbers in bins ------------------------------------------------------------------------- */

void fields_bins_make(double *values, size_t count, struct fields_bins *bins) {
	*bins = (struct fields_bins){0};
	if (!count) return;
	size_t wanted = count / FIELDS_IN_A_BIN;
	if (wanted > FIELDS_BINS) wanted = FIELDS_BINS;
	sort_doubles(values, count);
	bins->edges[0] = values[0];
	bins->count = 1;
	for (size_t i = 1; i < wanted; i++) {
		const double edge = values[i * count / wanted];
		if (edge > bins->edges[bins->count - 1]) bins->edges[bins->count++] = edge;
	}
	bins->edges[bins->count] = values[count - 1];
}

size_t fields_bin(const struct fields_bins *bins, double value) {
	size_t bin = 0;
	if (!bins->count) return 0;
	if (value > bins->edges[bins->count]) return bins->count + 1;
	while (bin < bins->count && value >= bins->edges[bin]) bin++;
	return bin;
}

size_t fields_coarse(const struct fields_bins *bins, size_t bin) {
	const size_t coarse = bins->count < FIELDS_COARSE ? bins->count : FIELDS_COARSE;
	if (!bin) return 0;
	return bin > bins->count ? coarse + 1 : 1 + (bin - 1) * coarse / bins->count;
}

/* ---- from counts ----------------------------------------------------------------------------- */

static double total_of(const uint32_t *counts, size_t cells) {
	double total = 0;
	for (size_t i = 0; i < cells; i++) total += counts[i];
	REQUIRE(total > 0);
	return total;
}

double fields_distance(const uint32_t *one, const uint32_t *other, size_t cells) {
	const double ones = total_of(one, cells), others = total_of(other, cells);
	double sum = 0;
	for (size_t i = 0; i < cells; i++) sum += fabs(one[i] / ones - other[i] / others);
	return sum / 2;
}

/* The marginals of a table as shares. */
struct margins {
	double total;
	double rows[FIELDS_CELLS];
	double columns[FIELDS_CELLS];
};

static void add_margins(const uint32_t *counts, size_t rows, size_t columns,
                        struct margins *margins) {
	REQUIRE(rows <= FIELDS_CELLS && columns <= FIELDS_CELLS);
	*margins = (struct margins){.total = total_of(counts, rows * columns)};
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			const double share = counts[i * columns + j] / margins->total;
			margins->rows[i] += share;
			margins->columns[j] += share;
		}
}

static double count_used(const double *shares, size_t cells) {
	double used = 0;
	for (size_t i = 0; i < cells; i++) used += shares[i] > 0;
	return used;
}

/* Bergsma's: what chance adds to chi^2 / n is taken off, and from the number of values, too. */
static double find_association(const uint32_t *counts, size_t rows, size_t columns,
                               const struct margins *margins) {
	const double others = margins->total - 1, r = count_used(margins->rows, rows) - 1,
	             c = count_used(margins->columns, columns) - 1;
	if (others <= 0 || r <= 0 || c <= 0) return 0;
	double square = -1;
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			const double share = counts[i * columns + j] / margins->total;
			if (share > 0)
				square += share * share / (margins->rows[i] * margins->columns[j]);
		}
	const double left = square - r * c / others,
	             most = fmin(r - r * r / others, c - c * c / others);
	if (left <= 0 || most <= 0) return 0;
	return left < most ? sqrt(left / most) : 1;
}

double fields_association(const uint32_t *counts, size_t rows, size_t columns) {
	struct margins margins;
	add_margins(counts, rows, columns, &margins);
	const double v = find_association(counts, rows, columns, &margins);
	explicit_bzero(&margins, sizeof margins);
	return v;
}

void fields_pair(const uint32_t *real, const uint32_t *other, size_t rows, size_t columns,
                 double numbers[FIELDS_MEASURES]) {
	struct margins p, q;
	add_margins(real, rows, columns, &p);
	add_margins(other, rows, columns, &q);
	double joint = 0, apart = 0, dependence = 0;
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			const double here = real[i * columns + j] / p.total,
			             there = other[i * columns + j] / q.total,
			             tied = here - p.rows[i] * p.columns[j];
			joint += fabs(here - there);
			apart += fabs(tied);
			dependence += fabs(tied - (there - q.rows[i] * q.columns[j]));
		}
	numbers[FIELDS_JOINT] = joint / 2;
	numbers[FIELDS_APART] = apart / 2;
	numbers[FIELDS_V_REAL] = find_association(real, rows, columns, &p);
	numbers[FIELDS_V_OTHER] = find_association(other, rows, columns, &q);
	numbers[FIELDS_V_DIFFERENCE] = fabs(numbers[FIELDS_V_REAL] - numbers[FIELDS_V_OTHER]);
	numbers[FIELDS_DEPENDENCE] = dependence / 2;
	explicit_bzero(&p, sizeof p);
	explicit_bzero(&q, sizeof q);
}

/* ---- from lines ------------------------------------------------------------------------------ */

enum { REAL, OTHER, SIDES };
enum { MEAN, JOINT, KND, KND_APART, SUMMARY };

/* What a comparison works on. A row of numbers is: the fields' distances, each pair's numbers, the
 * summary. */
struct field_work {
	const struct fields_comparison *of;
	size_t pair_count;
	size_t key_pairs;
	size_t width;
	uint32_t *times[SIDES];  /* how often each line counts */
	uint32_t *counts[SIDES]; /* [FIELDS_CELLS^2] */
	double *numbers;         /* [width] of a resample */
	double *values;          /* [width] of the lines as they are */
	double *means;           /* [width] over resamples so far */
	double *squares;         /* [width] sums of squares around them */
};

static const uint8_t *codes_of(const struct fields_column *column, int side) {
	return side == REAL ? column->real : column->other;
}

static size_t lines_of(const struct field_work *work, int side) {
	return side == REAL ? work->of->real_lines : work->of->other_lines;
}

static double measure_column(const struct field_work *work, const struct fields_column *column) {
	for (int side = 0; side < SIDES; side++) {
		const uint8_t *codes = codes_of(column, side);
		uint32_t *counts = work->counts[side];
		memset(counts, 0, column->cells * sizeof *counts);
		for (size_t i = 0; i < lines_of(work, side); i++)
			counts[codes[i]] += work->times[side][i];
	}
	return fields_distance(work->counts[REAL], work->counts[OTHER], column->cells);
}

static void measure_columns_pair(const struct field_work *work, const struct fields_column *one,
                                 const struct fields_column *other,
                                 double numbers[FIELDS_MEASURES]) {
	const size_t columns = other->coarse_cells;
	for (int side = 0; side < SIDES; side++) {
		const uint8_t *a = codes_of(one, side), *b = codes_of(other, side);
		uint32_t *counts = work->counts[side];
		memset(counts, 0, one->coarse_cells * columns * sizeof *counts);
		for (size_t i = 0; i < lines_of(work, side); i++)
			counts[one->coarse[a[i]] * columns + other->coarse[b[i]]] +=
			    work->times[side][i];
	}
	fields_pair(work->counts[REAL], work->counts[OTHER], one->coarse_cells, columns, numbers);
}

/* Fills in a row of numbers, from how often each line counts. */
static void measure_fields(const struct field_work *work, double *numbers) {
	const struct fields_column *columns = work->of->columns;
	const size_t count = work->of->column_count;
	double *pair = numbers + count, *summary = numbers + work->width - SUMMARY;
	memset(summary, 0, SUMMARY * sizeof *summary);
	for (size_t i = 0; i < count; i++)
		summary[MEAN] += numbers[i] = measure_column(work, &columns[i]);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++, pair += FIELDS_MEASURES) {
			measure_columns_pair(work, &columns[i], &columns[j], pair);
			summary[JOINT] += pair[FIELDS_JOINT];
			if (!columns[i].key || !columns[j].key) continue;
			summary[KND] += pair[FIELDS_DEPENDENCE];
			summary[KND_APART] += pair[FIELDS_APART];
		}
	// Of no pairs the mean is NaN.
	summary[MEAN] /= (double)count;
	summary[JOINT] /= (double)work->pair_count;
	summary[KND] /= (double)work->key_pairs;
	summary[KND_APART] /= (double)work->key_pairs;
}

static void resample_fields(const struct field_work *work) {
	struct stream streams[SIDES];
	for (int side = 0; side < SIDES; side++)
		streams[side] = stream_of(work->of->seed, (uint64_t)side);
	for (size_t r = 1; r <= work->of->resamples; r++) {
		for (int side = 0; side < SIDES; side++)
			stream_resample(&streams[side], lines_of(work, side), work->times[side]);
		measure_fields(work, work->numbers);
		for (size_t i = 0; i < work->width; i++) {
			const double off = work->numbers[i] - work->means[i];
			work->means[i] += off / (double)r;
			work->squares[i] += off * (work->numbers[i] - work->means[i]);
		}
	}
}

static struct fields_number take_field_number(const struct field_work *work, size_t i) {
	const double squares = work->squares[i] / (double)(work->of->resamples - 1);
	return (struct fields_number){work->values[i], sqrt(squares)};
}

static void fill_fields_result(const struct field_work *work, struct fields_result *result) {
	const size_t count = work->of->column_count, summary = work->width - SUMMARY;
	result->pair_count = work->pair_count;
	result->key_pairs = work->key_pairs;
	for (size_t i = 0; i < count; i++) result->fields[i] = take_field_number(work, i);
	for (size_t i = 0; i < work->pair_count; i++)
		for (size_t k = 0; k < FIELDS_MEASURES; k++)
			result->pairs[i][k] =
			    take_field_number(work, count + i * FIELDS_MEASURES + k);
	result->mean = take_field_number(work, summary + MEAN);
	result->joint = take_field_number(work, summary + JOINT);
	result->knd = take_field_number(work, summary + KND);
	result->knd_apart = take_field_number(work, summary + KND_APART);
}

/* Makes the memory. False: there is not enough. */
static bool begin_field_work(const struct fields_comparison *of, struct field_work *work) {
	size_t keys = 0;
	for (size_t i = 0; i < of->column_count; i++) keys += of->columns[i].key;
	*work = (struct field_work){.of = of,
	                            .pair_count = of->column_count * (of->column_count - 1) / 2,
	                            .key_pairs = keys * (keys - 1) / 2};
	work->width = of->column_count + work->pair_count * FIELDS_MEASURES + SUMMARY;
	bool ok = true;
	for (int side = 0; side < SIDES; side++) {
		work->times[side] = scratch_make(lines_of(work, side), sizeof *work->times[side]);
		work->counts[side] =
		    scratch_make((size_t)FIELDS_CELLS * FIELDS_CELLS, sizeof *work->counts[side]);
		ok = ok && work->times[side] && work->counts[side];
	}
	double **const rows[] = {&work->numbers, &work->values, &work->means, &work->squares};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		*rows[i] = scratch_make(work->width, sizeof **rows[i]);
		ok = ok && *rows[i];
	}
	return ok;
}

static void end_field_work(struct field_work *work) {
	for (int side = 0; side < SIDES; side++) {
		scratch_free(work->times[side]);
		scratch_free(work->counts[side]);
	}
	scratch_free(work->numbers);
	scratch_free(work->values);
	scratch_free(work->means);
	scratch_free(work->squares);
}

bool fields_compare(const struct fields_comparison *comparison, struct fields_result *result) {
	struct field_work work;
	REQUIRE(comparison->real_lines && comparison->other_lines && comparison->resamples >= 2);
	*result = (struct fields_result){0};
	bool ok = begin_field_work(comparison, &work);
	if (ok) {
		result->fields = scratch_make(comparison->column_count, sizeof *result->fields);
		result->pairs = scratch_make(work.pair_count, sizeof *result->pairs);
		ok = result->fields && result->pairs;
	}
	if (ok) {
		for (int side = 0; side < SIDES; side++)
			for (size_t i = 0; i < lines_of(&work, side); i++) work.times[side][i] = 1;
		measure_fields(&work, work.values);
		resample_fields(&work);
		fill_fields_result(&work, result);
	}
	end_field_work(&work);
	return ok;
}

void fields_free(struct fields_result *result) {
	scratch_free(result->fields);
	scratch_free(result->pairs);
	*result = (struct fields_result){0};
}
