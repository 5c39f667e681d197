// SPDX-License-Identifier: Apache-2.0
// rowwise_body.h: the body of the rowwise ops, included once by each tier.
// The including file defines TIER(name), which adds its suffix to a name. Example: rowwise_avx2.c.
// Rows may be private. All is written in the lanes of lanes.h, so every tier gives the same bits.
#include "base/misuse.h"
#include "kernels/lanes.h"
#include "kernels/quantise.h"
#include "kernels/rowwise.h"

void TIER(rmsnorm)(const float *x, const float *weight, size_t n, float epsilon, float *out) {
	REQUIRE(n > 0 && n % LANES == 0);
	lanes squares = lanes_of(0.0f);
	for (size_t i = 0; i < n; i += LANES) {
		const lanes value = lanes_load(x + i);
		squares = lanes_fma(value, value, squares);
	}
	const float scale = 1.0f / sqrtf(lanes_sum(squares) / (float)n + epsilon);
	for (size_t i = 0; i < n; i += LANES)
		lanes_store(out + i, lanes_mul(lanes_mul(lanes_load(x + i), lanes_of(scale)),
		                               lanes_load(weight + i)));
}

void TIER(rope)(float *x, size_t heads, size_t head_size, const float *cos_sin, size_t rotated) {
	REQUIRE(rotated % 2 == 0 && rotated <= head_size);
	for (float *head = x; heads--; head += head_size) {
		size_t i = 0;
		for (; i + LANES <= rotated; i += LANES)
			lanes_store(head + i,
			            lanes_turn(lanes_load(head + i), lanes_load(cos_sin + i)));
		for (; i < rotated; i += 2) {
			const float a = head[i], b = head[i + 1], cosine = cos_sin[i],
			            sine = cos_sin[i + 1];
			head[i] = fmaf(a, cosine, -(b * sine));
			head[i + 1] = fmaf(a, sine, b * cosine);
		}
	}
}

void TIER(narrow)(const float *x, size_t n, uint16_t *out) {
	REQUIRE(n % LANES == 0);
	for (size_t i = 0; i < n; i += LANES) lanes_store_f16(out + i, lanes_load(x + i));
}

float TIER(narrow_q8)(const float *x, size_t n, int8_t *q) {
	return quantise_to_8(x, n, q);
}

void TIER(swiglu)(const float *gate, const float *up, size_t n, float *out) {
	REQUIRE(n % LANES == 0);
	for (size_t i = 0; i < n; i += LANES) {
		const lanes g = lanes_load(gate + i);
		const lanes below =
		    lanes_add(lanes_exp(lanes_sub(lanes_of(-0.0f), g)), lanes_of(1.0f));
		lanes_store(out + i, lanes_mul(lanes_div(g, below), lanes_load(up + i)));
	}
}

void TIER(geglu)(const float *gate, const float *up, size_t n, float *out) {
	REQUIRE(n % LANES == 0);
	for (size_t i = 0; i < n; i += LANES) {
		const lanes g = lanes_load(gate + i);
		const lanes u =
		    lanes_mul(g, lanes_fma(lanes_mul(g, g), lanes_of(GEGLU_B), lanes_of(GEGLU_A)));
		const lanes below =
		    lanes_add(lanes_exp(lanes_sub(lanes_of(-0.0f), u)), lanes_of(1.0f));
		lanes_store(out + i, lanes_mul(lanes_div(g, below), lanes_load(up + i)));
	}
}
