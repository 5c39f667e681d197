// SPDX-License-Identifier: Apache-2.0
// One block of a GGUF type as the file stores it -> codes and scales, each on its own.
// Source: the block formats of ggml (ggml-common.h); what they mean in numbers: the package gguf of PyPI, gguf/quants.py.
#ifndef CUTTLE_KERNELS_BLOCKS_H
#define CUTTLE_KERNELS_BLOCKS_H

#include "kernels/gemm.h"

struct block {
	uint8_t code[GEMM_SUPER];                                              /* of as many weights as the block has */
	uint16_t scale, minimum;                                               /* fp16; a minimum is added (Q5_1) */
	int8_t scales[GEMM_SUPER / GEMM_HALF], minima[GEMM_SUPER / GEMM_HALF]; /* of the second level, per part */
};

/* raw: the block's bytes, no alignment needed. Block types only, but for those whose codes pack.c copies as they stand. */
void block_read(enum packed_type type, const uint8_t *raw, struct block *block);

#endif
