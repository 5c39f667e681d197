// SPDX-License-Identifier: Apache-2.0
// gemm_blas.h: computes prompts by cblas_sgemm: a portable way, and a check of the other kernels.
// Only in builds with CUTTLE_BLAS, which need its header alone: a process that does not ask for
// it has none of it. Rows may be private.
//   out = x * w^T (+ out)    x in fp32, not quantised; w in fp32, as pack_row gives it
// Channels are taken in panels of as many groups as the scratch holds.
// A BLAS picks its order of additions by the shape of the call. So with another number of rows the
// same row may get other bits. Three rules keep rows isolated. One call takes the rows of ONE
// context and no other. The channels of a panel depend on k alone. One thread works inside.
// Then every shape depends on that context's own length and the model, and so do the results. Their
// bits differ from those of the other gemms.
#ifndef CUTTLE_KERNELS_GEMM_BLAS_H
#define CUTTLE_KERNELS_GEMM_BLAS_H

#include "kernels/gemm.h"

enum {
	GEMM_BLAS_SCRATCH = 1 << 18,                      /* floats */
	GEMM_BLAS_K_MOST = GEMM_BLAS_SCRATCH / GEMM_GROUP /* with it, one group still fits */
};

enum gemm_blas_init {
	GEMM_BLAS_READY,
	GEMM_BLAS_ABSENT, /* the library is not installed */
	GEMM_BLAS_NO_ROOM /* OpenBLAS would find no memory, and then it tries for ever */
};

/* Loads OpenBLAS and tells it to use one thread. Call it before the first gemm_blas and before
 * threads are started. It sets OPENBLAS_NUM_THREADS, which OpenBLAS reads as it is loaded. */
enum gemm_blas_init gemm_blas_init(void);

/* Groups in a panel, for 1 <= k <= GEMM_BLAS_K_MOST. Work may be cut between panels without
 * changing a bit. Example: k = 576 gives 16384 / 576 = 28 groups. */
size_t gemm_blas_panel(size_t k);

/* As gemm_fn, for every packed type. Of the rows it reads x alone. scratch[GEMM_BLAS_SCRATCH] is
 * the caller's. begin is a multiple of gemm_blas_panel(k); end is one too, or is the end of the
 * list. */
void gemm_blas(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
               const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end,
               float *scratch);

#endif
