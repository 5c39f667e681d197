// SPDX-License-Identifier: Apache-2.0
// f16.h: converts between fp16 and fp32 in integer arithmetic.
// Values may be private.
// Finite values and infinity give the same bits as the hardware's conversions: rounded to the
// nearest, ties to even.
#ifndef CUTTLE_KERNELS_F16_H
#define CUTTLE_KERNELS_F16_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits) {
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline uint32_t bits_of_float(float value) {
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline float float_of_f16(uint16_t half) {
	const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
	if (magnitude >= 0x7c00)
		return float_of_bits(sign | 0x7f800000 | magnitude << 13 |
		                     (magnitude > 0x7c00) << 22);
	if (magnitude >= 0x0400) return float_of_bits(sign | ((magnitude << 13) + 0x38000000));
	// A subnormal fp16 is a multiple of 2^-24, which fp32 holds exactly.
	const float value = (float)magnitude * 0x1p-24f;
	return sign ? -value : value;
}

/* bf16 is the upper half of an fp32. */
static inline float float_of_bf16(uint16_t upper) {
	return float_of_bits((uint32_t)upper << 16);
}

static inline uint16_t f16_of_float(float value) {
	const uint32_t bits = bits_of_float(value), magnitude = bits & 0x7fffffff;
	const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
	if (magnitude >= 0x477ff000) return sign | 0x7c00;
	if (magnitude < 0x38800000) {
		// Below the smallest normal fp16. The sum's last bit stands for 2^-24, as that of a
		// subnormal fp16 does: the addition rounds there, ties to even.
		const float sum = float_of_bits(magnitude) + 0.5f;
		return sign | (uint16_t)(bits_of_float(sum) - bits_of_float(0.5f));
	}
	return sign | (uint16_t)((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

#endif
