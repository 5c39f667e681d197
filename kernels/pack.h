// SPDX-License-Identifier: Apache-2.0
// pack.h: turns weights as files store them into the packed layout of gemm.h, and single channels
// back into fp32.
// Weights are public.
// Example: pack_sizes(type, channels, k, &weights, &scales, &minima) says what to allocate; then
// pack_groups(&matrix, source, 0, groups) packs every group, or some threads pack some each.
#ifndef CUTTLE_KERNELS_PACK_H
#define CUTTLE_KERNELS_PACK_H

#include "kernels/gemm.h"

/* One block in the file: how many weights it holds, and how many bytes it takes. Example: Q4_0 has
 * 32 weights in 18 bytes. A float type's block is one weight. */
size_t pack_block(enum packed_type type);
size_t pack_block_bytes(enum packed_type type);

/* Bytes of the three arrays of a matrix of this type and shape, each rounded up to 64. A type
 * without scales or minima gets 0 for them. False when a product overflows. */
bool pack_sizes(enum packed_type type, size_t channels, size_t k, size_t *weights, size_t *scales,
                size_t *minima);

/* Bytes of one channel in the file, where it is a row. */
size_t pack_row_bytes(enum packed_type type, size_t k);

/* Packs groups [begin, end). source holds to->channels rows of pack_row_bytes each, and needs no
 * alignment. The result goes to the arrays that `to` points to, in spite of their const. Channels
 * beyond to->channels become zero. */
void pack_groups(const struct packed_matrix *to, const uint8_t *source, size_t begin, size_t end);

/* One channel in fp32, to out[k]: scale * weight, or scale * weight + minimum with two roundings,
 * as the file format defines it. */
void pack_row(const struct packed_matrix *w, size_t channel, float *out);

/* Only block types; channel c of a group. The integer weights of k = 32 * block .. 32 * block + 31.
 */
void pack_integers(const struct packed_matrix *w, size_t group, size_t c, size_t block,
                   int8_t weights[GEMM_BLOCK]);

/* Only block types; channel c of a group. The scale of weight j of k, with scales = w->scales, or
 * its minimum, with scales = w->minima. */
float pack_scale(const struct packed_matrix *w, const uint16_t *scales, size_t group, size_t c,
                 size_t j);

#endif
