// SPDX-License-Identifier: Apache-2.0
// gemm_blas: prompts through cblas_sgemm: the portable prompt path, and the oracle of the other kernels. Only in builds with CUTTLE_BLAS.
//
//   out = x * w^T (+ out): x in fp32, not quantised; w dequantised as pack_row does, panel by panel of channels.
//
// A BLAS picks its order of additions by the shape of the call: the same row may have other bits with another number of rows. So one call
// takes the rows of ONE context and no other; a panel's channels depend on k alone; one thread works inside. Every shape the library sees
// is then a function of that context's own length and the model, and so are the results. They are not the bits of the other gemms.
#ifndef CUTTLE_KERNELS_GEMM_BLAS_H
#define CUTTLE_KERNELS_GEMM_BLAS_H

#include "kernels/gemm.h"

/* Floats of scratch, and the largest k: at least one group of channels fits. */
enum { GEMM_BLAS_SCRATCH = 1 << 18, GEMM_BLAS_K_MOST = GEMM_BLAS_SCRATCH / GEMM_GROUP };

/* Tells the library to use one thread. Once per process, before the first gemm_blas and before threads are started. */
void gemm_blas_init(void);

/* Groups in a panel, 1 <= k <= GEMM_BLAS_K_MOST: where work may be cut without changing a bit. */
size_t gemm_blas_panel(size_t k);

/* As gemm_fn for every packed type, reading rows->x alone, with scratch[GEMM_BLAS_SCRATCH] of the caller. begin is a multiple of
 * gemm_blas_panel(k); end is one too, or is the end of the list. */
void gemm_blas(float *out, size_t out_stride, bool add, const struct gemm_rows *rows, const struct packed_matrix *w, const uint32_t *groups,
               size_t begin, size_t end, float *scratch);

#endif
