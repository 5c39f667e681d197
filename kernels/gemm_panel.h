// SPDX-License-Identifier: Apache-2.0
// gemm_panel.h: weights that are unpacked once for all rows of a gemm (gemm.h).
// Rows may be private; weights are public.
// A panel is PANEL_BLOCKS blocks of k of PANEL_WIDTH groups of channels. Its codes are bytes
// and its scales fp32. Example: 32 rows by 2 groups with k = 576 are panels of 16 and 2 blocks.

// The including file defines, before it includes this:
//   what gemm_codes.h asks for
//   prefetch_weights(packed)    fetches what a later block reads
#ifndef CUTTLE_KERNELS_GEMM_PANEL_H
#define CUTTLE_KERNELS_GEMM_PANEL_H

#include "base/misuse.h"
#include "kernels/gemm_codes.h"
#include "kernels/part_scale.h"

enum {
	PANEL_WIDTH = 2,                /* groups */
	PANEL_BLOCKS = 16,              /* of k; 8 KiB of codes a group */
	PANEL_PARTS = 2 * PANEL_BLOCKS, /* at most: some types have one scale per half block */
	PANEL_CODES = 16 * GEMM_BLOCK,  /* bytes of a block of a group */
	PANEL_ROWS = 80                 /* share a panel; of more rows each 80 unpack it anew */
};

struct panel {
	/* A block is 8 vectors of 64 bytes, [16 channels][4 k], as Q8_0 is packed. */
	_Alignas(64) uint8_t codes[PANEL_WIDTH][PANEL_BLOCKS * PANEL_CODES];
	_Alignas(64) float scales[PANEL_WIDTH][PANEL_PARTS][GEMM_GROUP];
	_Alignas(64) float minima[PANEL_WIDTH][PANEL_PARTS][GEMM_GROUP];
	/* The outputs so far. They wait here from one panel to the next. */
	_Alignas(64) float acc[PANEL_ROWS][PANEL_WIDTH][GEMM_GROUP];
	/* Of the activations, for each part: where its integer sum begins, -offset * their sum; */
	int32_t correction[PANEL_ROWS][PANEL_PARTS];
	/* and scaled_sum of gemm.h, only if parts are half blocks. */
	float scaled_half_sum[PANEL_ROWS][PANEL_PARTS];
};

/* Unpacks the codes of one block of a group. */
INLINE void unpack_block(enum packed_type type, const uint8_t *packed, uint8_t *codes) {
	for (size_t i = 0; i < packed_bits(type); i++) prefetch_weights(packed + 64 * i);
	for (size_t part = 0; part < LANES_PARTS; part++)
#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			vbytes vectors[4];
			unpack_codes(type, packed, half, part, vectors);
			for (size_t i = 0; i < 4; i++)
				memcpy(codes + 64 * (4 * half + i) + 4 * LANES_PART * part,
				       &vectors[i], sizeof vectors[i]);
		}
}

/* Unpacks blocks block .. block + blocks - 1 of a group into place g of the panel. */
INLINE void unpack_panel(enum packed_type type, struct panel *panel, size_t g,
                         const struct packed_matrix *w, size_t group, size_t block, size_t blocks) {
	const size_t all_blocks = w->k / GEMM_BLOCK, bytes = packed_bits(type) * 64;
	const size_t parts = GEMM_BLOCK / packed_span(type);
	const size_t scale_halves = group_scale_halves(type, w->k);
	const bool has_minimum = packed_has_minimum(type);
	const uint8_t *packed = (const uint8_t *)w->weights + (group * all_blocks + block) * bytes;
	const uint16_t *scales = w->scales + group * scale_halves,
	               *minima = has_minimum ? w->minima + group * scale_halves : NULL;
	for (size_t b = 0; b < blocks; b++)
		unpack_block(type, packed + b * bytes, panel->codes[g] + b * PANEL_CODES);
	for (size_t part = 0; part < blocks * parts; part++)
		for (size_t c = 0; c < GEMM_GROUP; c += LANES_PART) {
			const lanes_part scale = part_scale(type, scales, block * parts + part, c);
			memcpy(panel->scales[g][part] + c, &scale, sizeof scale);
			if (!has_minimum) continue;
			const lanes_part minimum =
			    part_scale(type, minima, block * parts + part, c);
			memcpy(panel->minima[g][part] + c, &minimum, sizeof minimum);
		}
}

/* Fills correction and scaled_half_sum for rows first .. first + count - 1. */
INLINE void sum_panel_rows(enum packed_type type, struct panel *panel, const struct gemm_rows *rows,
                           size_t first, size_t count, size_t block, size_t blocks) {
	const size_t parts = GEMM_BLOCK / packed_span(type);
	const int offset = codes_offset(type);
	for (size_t r = 0; r < count; r++) {
		const size_t at = (first + r) * (rows->k / GEMM_BLOCK) + block;
		const int32_t *sums = parts == 1 ? rows->sum + at : rows->half_sum + 2 * at;
		for (size_t i = 0; offset && i < blocks * parts; i++)
			panel->correction[r][i] = -offset * sums[i];
		if (parts == 1 || !packed_has_minimum(type)) continue;
		for (size_t i = 0; i < blocks * parts; i++)
			panel->scaled_half_sum[r][i] = rows->scale[at + i / 2] * (float)sums[i];
	}
}

#endif
