// SPDX-License-Identifier: Apache-2.0
// kernels.h: the table of functions ("kernels") that do the arithmetic of a forward pass.
// A tier is one such table, written for one set of instructions, as "avx2". All tiers give the
// same bits; each op's header says by which order of arithmetic.
// Rows, sums, laws and keys may be private; weights are public. Example: kernels_get()->rmsnorm(x,
// weight, n, epsilon, out); Rule: choose the tier before any work is started. It then stays for the
// whole process.
#ifndef CUTTLE_KERNELS_KERNELS_H
#define CUTTLE_KERNELS_KERNELS_H

#include "kernels/attention.h"
#include "kernels/chisq.h"
#include "kernels/dclip.h"
#include "kernels/gemm.h"
#include "kernels/peak.h"
#include "kernels/ranking.h"
#include "kernels/rowlaw.h"
#include "kernels/rowquant.h"
#include "kernels/rowwise.h"

struct kernels {
	const char *name;
	rowquant_fn *rowquant;
	gemm_fn *gemm_q8;           /* Q8_0 */
	gemm_fn *gemm_q4;           /* Q4_0, Q4_1 */
	gemm_fn *gemm_planes;       /* the other block types */
	gemm_fn *gemm_float;        /* F32, F16, BF16 */
	attention_fn *attention;    /* fp16 keys and values */
	attention_fn *attention_q8; /* int8 ones */
	rmsnorm_fn *rmsnorm;
	rope_fn *rope;
	narrow_fn *narrow;
	narrow_q8_fn *narrow_q8;
	swiglu_fn *swiglu;
	geglu_fn *geglu;
	dclip_fn *dclip;
	rowlaw_fn *rowlaw;
	chisq_fn *chisq;
	count_above_fn *count_above;
	find_equal_fn *find_equal;
	cosine_keys_fn *cosine_keys;
	int8_peak_fn *int8_peak;
};

/* The gemm for weights of this type. */
static inline gemm_fn *kernels_gemm(const struct kernels *kernels, enum packed_type type) {
	if (packed_is_float(type)) return kernels->gemm_float;
	if (type == PACKED_Q8_0) return kernels->gemm_q8;
	return type == PACKED_Q4_0 || type == PACKED_Q4_1 ? kernels->gemm_q4 : kernels->gemm_planes;
}

/* The table in use. It is the best tier of this CPU, until kernels_set forces another. */
const struct kernels *kernels_get(void);

/* Forces a tier by name: "scalar", "neon", "dotprod", "avx2", "avxvnni", "avx512", "amx", or "auto"
 * for the best. False when the name is unknown or this CPU lacks it. Not thread-safe: call it
 * before any work is started. */
bool kernels_set(const char *name);

/* For tests: the tables this CPU can run. The last of them is the one "auto" takes. Returns their
 * number, at most 8. */
size_t kernels_available(const struct kernels *tables[8]);

#endif
