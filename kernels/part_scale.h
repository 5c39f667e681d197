// SPDX-License-Identifier: Apache-2.0
// The scales of one part of k, as gemm.h lays them out, in fp32; of minima likewise.
#ifndef CUTTLE_KERNELS_PART_SCALE_H
#define CUTTLE_KERNELS_PART_SCALE_H

#include "kernels/gemm.h"
#include "kernels/lanes.h"

/* Of channels [channel, channel + LANES_PART) of the group whose scales begin at `scales`, part `part` of k; type is a constant after
 * inlining. Exact: 11 + 8 bits. */
static LANES_INLINE lanes_part part_scale(enum packed_type type, const uint16_t *scales, size_t part, size_t channel) {
	if (!packed_has_levels(type)) return lanes_part_of_f16(scales + part * GEMM_GROUP + channel);
	const size_t parts = GEMM_SUPER / packed_span(type);
	scales += part / parts * (packed_scale_bytes(type) / 2);
	const int8_t *second = (const int8_t *)(scales + GEMM_GROUP) + part % parts * GEMM_GROUP;
	return lanes_part_of_f16(scales + channel) * lanes_part_of_i8(second + channel);
}

#endif
