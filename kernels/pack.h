// SPDX-License-Identifier: Apache-2.0
// Weights as files store them -> the packed layout of gemm.h, and single channels back to fp32.
#ifndef CUTTLE_KERNELS_PACK_H
#define CUTTLE_KERNELS_PACK_H

#include "kernels/gemm.h"

/* Weights and bytes of one block in the file. */
size_t pack_block(enum packed_type type);
size_t pack_block_bytes(enum packed_type type);

/* Bytes of the three parts for a matrix of this type and shape, each rounded up to 64; false when a product overflows. */
bool pack_sizes(enum packed_type type, size_t channels, size_t k, size_t *weights, size_t *scales, size_t *minima);

/* Bytes of one channel (row) in the file. */
size_t pack_row_bytes(enum packed_type type, size_t k);

/* Packs groups [begin, end) from source (channels rows of pack_row_bytes, no alignment needed) into the matrix's own arrays, which are
 * written through. Channels beyond `channels` become zero. */
void pack_groups(const struct packed_matrix *to, const uint8_t *source, size_t begin, size_t end);

/* One channel in fp32: d * q, or d * q + m with two roundings, as the file format defines it. out[k]. */
void pack_row(const struct packed_matrix *w, size_t channel, float *out);

/* Of a block type, channel 16 * group + c: the integer weights 32 * block .. + 31, and the scale (from w->scales) or minimum (w->minima) of
 * weight number j. */
void pack_integers(const struct packed_matrix *w, size_t group, size_t c, size_t block, int8_t weights[GEMM_BLOCK]);
float pack_scale(const struct packed_matrix *w, const uint16_t *scales, size_t group, size_t c, size_t j);

#endif
