// SPDX-License-Identifier: Apache-2.0
// blocks.h: reads one block of a GGUF type, as the file stores it, into codes and scales.
// Weights are public.
// Source of the formats: ggml-common.h of ggml. Source of what they mean in numbers: gguf/quants.py
// of the PyPI package gguf.
#ifndef CUTTLE_KERNELS_BLOCKS_H
#define CUTTLE_KERNELS_BLOCKS_H

#include "kernels/gemm.h"

struct block {
	uint8_t code[GEMM_SUPER]; /* one per weight: the first 32 or all 256 are used */
	uint16_t scale;           /* fp16 */
	uint16_t minimum;         /* fp16; to be added, whatever the file says */
	int8_t scales[GEMM_SUPER / GEMM_HALF]; /* second level: one per part */
	int8_t minima[GEMM_SUPER / GEMM_HALF]; /* second level: one per part */
};

/* raw: the block's bytes, no alignment needed. Only block types, and of these only the ones whose
 * codes pack.c does not copy as they are: not Q8_0, Q4_0, Q4_1 and IQ4_NL. */
void block_read(enum packed_type type, const uint8_t *raw, struct block *block);

#endif
