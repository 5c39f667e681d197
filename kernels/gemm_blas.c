// SPDX-License-Identifier: Apache-2.0
// Each panel of channels is turned into fp32 and multiplied by all rows, in one call of the BLAS.
#include "kernels/gemm_blas.h"

#include "base/library.h"
#include "base/misuse.h"
#include "kernels/pack.h"

#include <cblas.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 256 << 20 }; /* bytes that OpenBLAS and its first buffer have place in */

/* What is called of it, once gemm_blas_init has succeeded; NULL before. */
static struct {
	__typeof__(openblas_set_num_threads) *set_num_threads;
	__typeof__(cblas_sgemm) *sgemm;
} openblas;

enum gemm_blas_init gemm_blas_init(void) {
	// Where it finds no memory it asks again without end. So there must be enough beforehand.
	void *const room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED) return GEMM_BLAS_NO_ROOM;
	(void)munmap(room, ROOM);
	// Otherwise it would start a thread for each processor before it can be told not to.
	if (setenv("OPENBLAS_NUM_THREADS", "1", 1)) return GEMM_BLAS_NO_ROOM;
	const struct library_function functions[] = {
	    {"openblas_set_num_threads", &openblas.set_num_threads},
	    {"cblas_sgemm", &openblas.sgemm}};
	if (!library_load("libopenblas.so.0", functions, sizeof functions / sizeof *functions))
		return GEMM_BLAS_ABSENT;
	openblas.set_num_threads(1);
	return GEMM_BLAS_READY;
}

size_t gemm_blas_panel(size_t k) {
	REQUIRE(k > 0 && k <= GEMM_BLAS_K_MOST);
	return GEMM_BLAS_K_MOST / k;
}

void gemm_blas(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
               const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end,
               float *scratch) {
	const size_t k = w->k, panel = gemm_blas_panel(k);
	REQUIRE(openblas.sgemm && k == rows->k && begin % panel == 0);
	REQUIRE(rows->rows <= INT_MAX && out_stride <= INT_MAX);
	for (size_t place = begin; place < end; place += panel) {
		const size_t count = end - place < panel ? end - place : panel;
		for (size_t i = 0; i < count * GEMM_GROUP; i++) {
			const size_t at = place + i / GEMM_GROUP,
			             channel =
			                 (groups ? groups[at] : at) * GEMM_GROUP + i % GEMM_GROUP;
			if (channel < w->channels) pack_row(w, channel, scratch + i * k);
			else memset(scratch + i * k, 0, k * sizeof *scratch);
		}
		openblas.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows->rows,
		               (blasint)(count * GEMM_GROUP), (blasint)k, 1.0f, rows->x, (blasint)k,
		               scratch, (blasint)k, add ? 1.0f : 0.0f, out + place * GEMM_GROUP,
		               (blasint)out_stride);
	}
}
