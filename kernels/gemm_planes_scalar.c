// SPDX-License-Identifier: Apache-2.0
// gemm over planes of bits as gemm.h defines it: the definition every tier is compared with.
#include "base/misuse.h"
#include "kernels/gemm.h"
#include "kernels/pack.h"

#include <math.h>

void gemm_planes_scalar(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                        const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type >= PACKED_Q5_0 && w->type < PACKED_TYPES && w->k == rows->k);
	const size_t blocks = w->k / GEMM_BLOCK, span = packed_span(w->type);
	for (size_t place = begin; place < end; place++)
		for (size_t c = 0; c < GEMM_GROUP; c++) {
			const size_t group = groups ? groups[place] : place;
			for (size_t r = 0; r < rows->rows; r++) {
				float acc = 0.0f;
				for (size_t from = 0; from < w->k; from += span) {
					const size_t at = r * blocks + from / GEMM_BLOCK;
					const int8_t *a = rows->q + r * w->k + from;
					int8_t weights[GEMM_BLOCK];
					int32_t isum = 0, sum = 0;
					pack_integers(w, group, c, from / GEMM_BLOCK, weights);
					for (size_t j = 0; j < span; j++) {
						isum += weights[from % GEMM_BLOCK + j] * a[j];
						sum += a[j];
					}
					acc = fmaf(pack_scale(w, w->scales, group, c, from) * rows->scale[at], (float)isum, acc);
					if (packed_has_minimum(w->type))
						acc = fmaf(pack_scale(w, w->minima, group, c, from), rows->scale[at] * (float)sum, acc);
				}
				float *to = out + r * out_stride + place * GEMM_GROUP + c;
				*to = add ? *to + acc : acc;
			}
		}
}
