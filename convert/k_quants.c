// SPDX-License-Identifier: Apache-2.0
// Every sum runs in one order and nothing is contracted, so that the same weights give the same bytes on every machine.
#include "convert/k_quants.h"

#include "kernels/f16.h"

#include <math.h>
#include <string.h>

enum { Q4_PART = 32, Q4_PARTS = K_BLOCK / Q4_PART, Q6_PART = 16, Q6_PARTS = K_BLOCK / Q6_PART, STEPS = 9 };

/* Step number i of the grid about a step: 0.8 to 1.04 of it. Below 1 the outermost weights are cut, which often costs less than it
 * gains. */
static float grid(int i) {
	return 0.8f + 0.03f * (float)i;
}

/* Rounded and cut to 0..most; x may be anything but NaN. */
static int code(float x, int most) {
	const float cut = x < 0.0f ? 0.0f : x > (float)most ? (float)most : x;
	return (int)(cut + 0.5f);
}

/* The fp16 nearest to value, at `to`; its value. Not finite when too large. */
static float put_half(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
	return float_of_f16(half);
}

/* Zero where the divisor is so small that its inverse is no number. */
static float inverse_of(float x) {
	const float inverse = 1.0f / x;
	return isfinite(inverse) ? inverse : 0.0f;
}

/* ---- Q4_K ---------------------------------------------------------------------------------------------------------------------------- */

struct line { /* step * q - minimum, both at least 0 */
	float step, minimum;
};

static double q4_error(const float *x, struct line line) {
	const float inverse = inverse_of(line.step);
	double sum = 0;
	for (size_t i = 0; i < Q4_PART; i++) {
		const double difference = (double)(line.step * (float)code((x[i] + line.minimum) * inverse, 15) - line.minimum - x[i]);
		sum += difference * difference;
	}
	return sum;
}

/* The line through (q, x) with the least squares, for the q that `line` gives. */
static struct line q4_refit(const float *x, struct line line) {
	const float inverse = inverse_of(line.step);
	double q1 = 0, q2 = 0, x1 = 0, xq = 0;
	for (size_t i = 0; i < Q4_PART; i++) {
		const double q = code((x[i] + line.minimum) * inverse, 15);
		q1 += q;
		q2 += q * q;
		x1 += (double)x[i];
		xq += q * (double)x[i];
	}
	const double spread = Q4_PART * q2 - q1 * q1;
	if (spread <= 0) return line;
	const double step = (Q4_PART * xq - q1 * x1) / spread, minimum = (step * q1 - x1) / Q4_PART;
	if (step > 0 && minimum >= 0) return (struct line){(float)step, (float)minimum};
	return xq > 0 ? (struct line){(float)(xq / q2), 0.0f} : line; // a minimum cannot be negative
}

static struct line q4_fit(const float *x) {
	float least = 0.0f, most = x[0];
	for (size_t i = 0; i < Q4_PART; i++) {
		least = fminf(least, x[i]);
		most = fmaxf(most, x[i]);
	}
	struct line best = {0.0f, -least};
	if (!(most > least)) return best;
	double error = INFINITY;
	for (int i = 0; i < STEPS; i++) {
		const struct line line = q4_refit(x, (struct line){(most - least) / 15.0f * grid(i), -least});
		const double found = q4_error(x, line);
		if (!(found < error)) continue;
		error = found;
		best = line;
	}
	return best;
}

/* Both levels rounded, the integers about the line are tried: what one of them loses the other can make good. Never worse than zeros. */
static void q4_round(const float *x, struct line line, float d, float dmin, int *scale, int *minimum) {
	const int s = code(line.step * inverse_of(d), 63), m = code(line.minimum * inverse_of(dmin), 63);
	double error = q4_error(x, (struct line){0.0f, 0.0f});
	*scale = *minimum = 0;
	for (int ds = -1; ds <= 1; ds++)
		for (int dm = -1; dm <= 1; dm++) {
			if (s + ds < 0 || s + ds > 63 || m + dm < 0 || m + dm > 63) continue;
			const double found = q4_error(x, (struct line){d * (float)(s + ds), dmin * (float)(m + dm)});
			if (!(found < error)) continue;
			error = found;
			*scale = s + ds;
			*minimum = m + dm;
		}
}

bool k_write_q4(uint8_t to[Q4_K_BYTES], const float *x) {
	uint8_t *const packed = to + 4, *const codes = to + 16;
	struct line lines[Q4_PARTS];
	float steepest = 0.0f, deepest = 0.0f;
	for (size_t part = 0; part < Q4_PARTS; part++) {
		lines[part] = q4_fit(x + part * Q4_PART);
		steepest = fmaxf(steepest, lines[part].step);
		deepest = fmaxf(deepest, lines[part].minimum);
	}
	const float d = put_half(to, steepest / 63.0f), dmin = put_half(to + 2, deepest / 63.0f);
	if (!isfinite(d) || !isfinite(dmin)) return false;
	memset(packed, 0, Q4_K_BYTES - 4);
	for (size_t part = 0; part < Q4_PARTS; part++) {
		const float *from = x + part * Q4_PART;
		int scale, minimum;
		q4_round(from, lines[part], d, dmin, &scale, &minimum);
		if (part < 4) { // six bits each; of the last four the upper two are above those of the first
			packed[part] |= (uint8_t)scale;
			packed[part + 4] |= (uint8_t)minimum;
		} else {
			packed[part + 4] |= (uint8_t)((scale & 15) | (minimum & 15) << 4);
			packed[part - 4] |= (uint8_t)(scale >> 4 << 6);
			packed[part] |= (uint8_t)(minimum >> 4 << 6);
		}
		const float inverse = inverse_of(d * (float)scale), offset = dmin * (float)minimum;
		for (size_t i = 0; i < Q4_PART; i++)
			codes[part / 2 * Q4_PART + i] |= (uint8_t)(code((from[i] + offset) * inverse, 15) << part % 2 * 4);
	}
	return true;
}

/* ---- Q6_K ---------------------------------------------------------------------------------------------------------------------------- */

static double q6_error(const float *x, float step) {
	const float inverse = inverse_of(step);
	double sum = 0;
	for (size_t i = 0; i < Q6_PART; i++) {
		const double difference = (double)(step * (float)(code(x[i] * inverse + 32.0f, 63) - 32) - x[i]);
		sum += difference * difference;
	}
	return sum;
}

static float q6_fit(const float *x) {
	float extreme = 0.0f, best = 0.0f;
	double error = INFINITY;
	for (size_t i = 0; i < Q6_PART; i++)
		if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
	for (int g = 0; g < STEPS; g++) {
		const float step = extreme / -32.0f * grid(g), inverse = inverse_of(step);
		double q2 = 0, xq = 0;
		for (size_t i = 0; i < Q6_PART; i++) {
			const double q = code(x[i] * inverse + 32.0f, 63) - 32;
			q2 += q * q;
			xq += q * (double)x[i];
		}
		const float refit = q2 > 0 ? (float)(xq / q2) : 0.0f;
		const double found = q6_error(x, refit);
		if (!(found < error)) continue;
		error = found;
		best = refit;
	}
	return best;
}

static int q6_round(const float *x, float step, float d) {
	const int nearest = code(step * inverse_of(d) + 128.0f, 255) - 128;
	int best = nearest;
	double error = INFINITY;
	for (int scale = nearest - 1; scale <= nearest + 1; scale++) {
		const double found = scale < -128 || scale > 127 ? INFINITY : q6_error(x, d * (float)scale);
		if (!(found < error)) continue;
		error = found;
		best = scale;
	}
	return best;
}

bool k_write_q6(uint8_t to[Q6_K_BYTES], const float *x) {
	uint8_t *const low = to, *const high = to + 128, *const scales = to + 192;
	float steps[Q6_PARTS], extreme = 0.0f;
	for (size_t part = 0; part < Q6_PARTS; part++) {
		steps[part] = q6_fit(x + part * Q6_PART);
		if (fabsf(steps[part]) > fabsf(extreme)) extreme = steps[part];
	}
	const float d = put_half(to + 208, extreme / -128.0f);
	if (!isfinite(d)) return false;
	memset(to, 0, 208);
	for (size_t part = 0; part < Q6_PARTS; part++) {
		const int scale = q6_round(x + part * Q6_PART, steps[part], d);
		const float inverse = inverse_of(d * (float)scale);
		scales[part] = (uint8_t)scale;
		for (size_t i = part * Q6_PART; i < (part + 1) * Q6_PART; i++) {
			// Of each half of 128: quarters of 32, two to a byte of low bits, four to a byte of high ones.
			const size_t half = i / 128, quarter = i / 32 % 4, l = i % 32;
			const int q = code(x[i] * inverse + 32.0f, 63);
			low[half * 64 + quarter % 2 * 32 + l] |= (uint8_t)((q & 15) << quarter / 2 * 4);
			high[half * 32 + l] |= (uint8_t)(q >> 4 << quarter * 2);
		}
	}
	return true;
}
