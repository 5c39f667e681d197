// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits in plain C, as gemm.h defines it. Tests compare every tier with it.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/pack.h"

#include <math.h>

enum { ROWS = 8 };

static int32_t sum_products(const int8_t *weights, const int8_t *a, size_t span) {
	int32_t sum = 0;
	for (size_t j = 0; j < span; j++) sum += weights[j] * a[j];
	return sum;
}

/* Computes channel c of a group for `count` rows, at most 8, from row `first` on. The rows share
 * each unpacked block. */
static void compute_channel(float acc[ROWS], const struct gemm_rows *rows, size_t first,
                            size_t count, const struct packed_matrix *w, size_t group, size_t c) {
	static const int8_t ones[GEMM_BLOCK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	                                        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const size_t blocks = w->k / GEMM_BLOCK, span = packed_span(w->type);
	const bool has_minimum = packed_has_minimum(w->type);
	int8_t weights[GEMM_BLOCK];
	for (size_t r = 0; r < count; r++) acc[r] = 0.0f;
	for (size_t from = 0; from < w->k; from += span) {
		if (from % GEMM_BLOCK == 0) pack_integers(w, group, c, from / GEMM_BLOCK, weights);
		const float scale = pack_scale(w, w->scales, group, c, from);
		const float minimum = has_minimum ? pack_scale(w, w->minima, group, c, from) : 0.0f;
		for (size_t r = 0; r < count; r++) {
			const int8_t *a = rows->q + (first + r) * w->k + from;
			const float scale_a = rows->scale[(first + r) * blocks + from / GEMM_BLOCK];
			acc[r] =
			    fmaf(scale * scale_a,
			         (float)sum_products(weights + from % GEMM_BLOCK, a, span), acc[r]);
			if (has_minimum)
				acc[r] = fmaf(minimum, scale_a * (float)sum_products(ones, a, span),
				              acc[r]);
		}
	}
}

void gemm_planes_scalar(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                        const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                        size_t end) {
	REQUIRE(w->type >= PACKED_Q5_0 && w->type < PACKED_TYPES && w->k == rows->k);
	for (size_t place = begin; place < end; place++)
		for (size_t first = 0; first < rows->rows; first += ROWS)
			for (size_t c = 0; c < GEMM_GROUP; c++) {
				const size_t left = rows->rows - first,
				             count = left < ROWS ? left : ROWS;
				float acc[ROWS],
				    *to = out + first * out_stride + place * GEMM_GROUP + c;
				compute_channel(acc, rows, first, count, w,
				                groups ? groups[place] : place, c);
				for (size_t r = 0; r < count; r++, to += out_stride)
					*to = add ? *to + acc[r] : acc[r];
			}
}
