// SPDX-License-Identifier: Apache-2.0
// gemm in plain C, as gemm.h defines it. Tests compare every tier with it. The types with planes of
// bits are in gemm_planes_scalar.c.
#include "base/misuse.h"
#include "kernels/f16.h"
#include "kernels/gemm.h"

#include <math.h>

static void store_accumulators(float *out, size_t out_stride, bool add, size_t row, size_t place,
                               const float *acc) {
	float *to = out + row * out_stride + place * GEMM_GROUP;
	for (size_t c = 0; c < GEMM_GROUP; c++) to[c] = add ? to[c] + acc[c] : acc[c];
}

void gemm_q8_scalar(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                    const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                    size_t end) {
	REQUIRE(w->type == PACKED_Q8_0 && w->k == rows->k);
	const size_t blocks = w->k / GEMM_BLOCK;
	for (size_t place = begin; place < end; place++) {
		const size_t group = groups ? groups[place] : place;
		for (size_t r = 0; r < rows->rows; r++) {
			float acc[GEMM_GROUP] = {0};
			for (size_t b = 0; b < blocks; b++) {
				const uint8_t *packed =
				    (const uint8_t *)w->weights + (group * blocks + b) * 512;
				const uint16_t *scales =
				    w->scales + (group * blocks + b) * GEMM_GROUP;
				const int8_t *a = rows->q + r * rows->k + b * GEMM_BLOCK;
				for (size_t c = 0; c < GEMM_GROUP; c++) {
					int32_t isum = 0;
					for (size_t j = 0; j < GEMM_BLOCK; j++)
						isum += ((int)packed[j / 4 * 64 + c * 4 + j % 4] -
						         128) *
						        a[j];
					acc[c] = fmaf(float_of_f16(scales[c]) *
					                  rows->scale[r * blocks + b],
					              (float)isum, acc[c]);
				}
			}
			store_accumulators(out, out_stride, add, r, place, acc);
		}
	}
}

void gemm_q4_scalar(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                    const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                    size_t end) {
	REQUIRE((w->type == PACKED_Q4_0 || w->type == PACKED_Q4_1) && w->k == rows->k);
	const size_t blocks = w->k / GEMM_BLOCK;
	const int offset = w->type == PACKED_Q4_0 ? 8 : 0;
	for (size_t place = begin; place < end; place++) {
		const size_t group = groups ? groups[place] : place;
		for (size_t r = 0; r < rows->rows; r++) {
			float acc[GEMM_GROUP] = {0};
			for (size_t b = 0; b < blocks; b++) {
				const uint8_t *packed =
				    (const uint8_t *)w->weights + (group * blocks + b) * 256;
				const size_t at = (group * blocks + b) * GEMM_GROUP;
				const int8_t *a = rows->q + r * rows->k + b * GEMM_BLOCK;
				for (size_t c = 0; c < GEMM_GROUP; c++) {
					int32_t isum = 0;
					for (size_t j = 0; j < GEMM_BLOCK / 2; j++) {
						const int byte = packed[j / 4 * 64 + c * 4 + j % 4];
						isum += ((byte & 15) - offset) * a[j] +
						        ((byte >> 4) - offset) * a[j + 16];
					}
					acc[c] = fmaf(float_of_f16(w->scales[at + c]) *
					                  rows->scale[r * blocks + b],
					              (float)isum, acc[c]);
					if (w->type == PACKED_Q4_1)
						acc[c] =
						    fmaf(float_of_f16(w->minima[at + c]),
						         rows->scaled_sum[r * blocks + b], acc[c]);
				}
			}
			store_accumulators(out, out_stride, add, r, place, acc);
		}
	}
}

void gemm_float_scalar(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                       const struct packed_matrix *w, const uint32_t *groups, size_t begin,
                       size_t end) {
	REQUIRE(packed_is_float(w->type) && w->k == rows->k);
	for (size_t place = begin; place < end; place++) {
		const size_t base = (groups ? groups[place] : place) * w->k * GEMM_GROUP;
		for (size_t r = 0; r < rows->rows; r++) {
			float acc[GEMM_GROUP] = {0};
			for (size_t j = 0; j < w->k; j++)
				for (size_t c = 0; c < GEMM_GROUP; c++) {
					const size_t at = base + j * GEMM_GROUP + c;
					const float weight =
					    w->type == PACKED_F32 ? ((const float *)w->weights)[at]
					    : w->type == PACKED_F16
					        ? float_of_f16(((const uint16_t *)w->weights)[at])
					        : float_of_bf16(((const uint16_t *)w->weights)[at]);
					acc[c] = fmaf(weight, rows->x[r * rows->k + j], acc[c]);
				}
			store_accumulators(out, out_stride, add, r, place, acc);
		}
	}
}
