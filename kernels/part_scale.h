// SPDX-License-Identifier: Apache-2.0
// part_scale.h: reads the scales or minima of one part of k, as gemm.h lays them out, into fp32.
// Scales belong to weights and are public.
#ifndef CUTTLE_KERNELS_PART_SCALE_H
#define CUTTLE_KERNELS_PART_SCALE_H

#include "kernels/gemm.h"
#include "kernels/lanes.h"

/* Halves (of 2 bytes) of the scales, or minima, of one group with rows of k weights. */
static LANES_INLINE size_t group_scale_halves(enum packed_type type, size_t k) {
	const size_t span = packed_has_levels(type) ? GEMM_SUPER : GEMM_BLOCK;
	return packed_scale_bytes(type) / 2 * (k / span);
}

/* The scales of part `part` of k, for LANES_PART channels of a group from `channel` on. `scales`
 * is where the group's scales (or minima) begin. type is a constant after inlining. Two levels are
 * multiplied exactly: 11 + 8 bits. */
static LANES_INLINE lanes_part part_scale(enum packed_type type, const uint16_t *scales,
                                          size_t part, size_t channel) {
	if (!packed_has_levels(type))
		return lanes_part_of_f16(scales + part * GEMM_GROUP + channel);
	const size_t parts = GEMM_SUPER / packed_span(type);
	scales += part / parts * (packed_scale_bytes(type) / 2);
	const int8_t *second = (const int8_t *)(scales + GEMM_GROUP) + part % parts * GEMM_GROUP;
	return lanes_part_of_f16(scales + channel) * lanes_part_of_i8(second + channel);
}

#endif
