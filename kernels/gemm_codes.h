// SPDX-License-Identifier: Apache-2.0
// gemm_codes.h: joins the planes of packed weights (gemm.h) into codes, one byte each.
// Weights are public.

// The including file defines:
//   INLINE              static inline, always
//   vbytes              a vector of 4 bytes for each of LANES_PART channels
//   bytes_load(from)    the bytes at that address
//   bytes_or(a, b)      a | b
//   bytes_field(x, n, mask)    per byte (x >> n) & mask; for n < 0 (x << -n) & mask. Bits of the
//                              byte beside it may be shifted in: mask must take them away.
//   bytes_table(codes)         each code, 0 .. 15, by its value in the IQ4 table
//   TABLE_OFFSET               what bytes_table adds to each of these values
#ifndef CUTTLE_KERNELS_GEMM_CODES_H
#define CUTTLE_KERNELS_GEMM_CODES_H

#include "kernels/gemm.h"
#include "kernels/lanes.h"

/* The types that gemm_planes computes. */
#define PLANE_TYPES(DO)                                                                            \
	DO(PACKED_Q5_0)                                                                            \
	DO(PACKED_Q5_1)                                                                            \
	DO(PACKED_IQ4_NL)                                                                          \
	DO(PACKED_IQ4_XS)                                                                          \
	DO(PACKED_Q4_K)                                                                            \
	DO(PACKED_Q5_K)                                                                            \
	DO(PACKED_Q6_K)                                                                            \
	DO(PACKED_Q3_K)                                                                            \
	DO(PACKED_Q2_K)

/* What a joined code is more than its weight. */
INLINE int codes_offset(enum packed_type type) {
	return packed_has_table(type) ? TABLE_OFFSET : packed_offset(type);
}

/* Joins the planes of half a block, 16 weights of k, into codes. `part` says which LANES_PART
 * channels of the group. codes[i] holds k = 4 * i .. 4 * i + 3 of that half.
 * Example: Q5_K, half 1, i = 2. Bits 0-3 of the code are the high nibble of vector 2. Bit 4 is bit
 * 6 of the last plane: shifted right by 6 - 4 = 2, under the mask 1 << 4. */
INLINE void unpack_codes(enum packed_type type, const uint8_t *packed, size_t half, size_t part,
                         vbytes codes[4]) {
	const size_t bits = packed_bits(type);
	packed += part * 4 * LANES_PART;
#pragma GCC unroll 4
	for (size_t i = 0; i < 4; i++) {
		if (bits == 8) {
			codes[i] = bytes_load(packed + 64 * (4 * half + i));
			continue;
		}
		const uint8_t *plane = packed;
		vbytes code = {0};
		int up = 0; // the lowest bit of the code that this plane holds
		if (bits & 4) {
			code = bytes_field(bytes_load(plane + 64 * i), 4 * (int)half, 15);
			plane += 256, up = 4;
		}
		if (bits & 2) {
			const vbytes field =
			    bytes_field(bytes_load(plane + 64 * half), 2 * (int)i - up, 3 << up);
			code = up ? bytes_or(code, field) : field;
			plane += 128, up += 2;
		}
		if (bits & 1)
			code = bytes_or(code, bytes_field(bytes_load(plane),
			                                  (int)(4 * half + i) - up, 1 << up));
		codes[i] = packed_has_table(type) ? bytes_table(code) : code;
	}
}

#endif
