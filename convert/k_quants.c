// SPDX-License-Identifier: Apache-2.0
// How a block is rounded to Q4_K or Q6_K; k_quants.h has the formulas. Each part of the block is
// rounded in three stages:
//  1. fit: find the step with the least squared error, over a grid of steps.
//  2. round: store the part's step as a small integer times the block's scale d, which is an fp16.
//  3. write the codes q that follow from the rounded step.
// Every sum runs in one order, and the compiler joins no multiplication with an addition. So the
// same weights give the same bytes on every machine.
#include "convert/k_quants.h"

#include "kernels/f16.h"

#include <math.h>
#include <string.h>

enum {
	Q4_PART = 32, /* weights with one step and minimum */
	Q4_PARTS = K_BLOCK / Q4_PART,
	Q6_PART = 16, /* weights with one step */
	Q6_PARTS = K_BLOCK / Q6_PART,
	STEPS = 9 /* steps that are tried */
};

/* Factor number i of the grid: 0.80, 0.83, .. 1.04 of the step that covers the whole range. A
 * factor below 1 cuts the outermost weights. That often costs less than the finer step gains. */
static float get_grid_factor(int i) {
	return 0.8f + 0.03f * (float)i;
}

/* x cut to 0..most and rounded, halves upwards. x may be infinite, but not NaN. */
static int round_code(float x, int most) {
	const float cut = x < 0.0f ? 0.0f : x > (float)most ? (float)most : x;
	return (int)(cut + 0.5f);
}

/* Stores the fp16 nearest to `value` and returns that fp16's value: infinite when too large. */
static float store_half(uint8_t *to, float value) {
	const uint16_t half = f16_of_float(value);
	memcpy(to, &half, sizeof half);
	return float_of_f16(half);
}

/* 1 / x, or zero where that is not finite: x is zero or very small. */
static float invert_step(float x) {
	const float inverse = 1.0f / x;
	return isfinite(inverse) ? inverse : 0.0f;
}

/* ---- Q4_K ------------------------------------------------------------------------------------ */

/* The weights that a part's codes stand for: step * q - minimum. Both are at least 0. */
struct q4_line {
	float step, minimum;
};

static double sum_q4_error(const float *x, struct q4_line line) {
	const float inverse = invert_step(line.step);
	double sum = 0;
	for (size_t i = 0; i < Q4_PART; i++) {
		const double difference =
		    (double)(line.step * (float)round_code((x[i] + line.minimum) * inverse, 15) -
		             line.minimum - x[i]);
		sum += difference * difference;
	}
	return sum;
}

/* The line with the least squared error for the codes q that `line` gives: linear regression of x
 * on q. `line` itself where regression has no answer. */
static struct q4_line refit_q4_line(const float *x, struct q4_line line) {
	const float inverse = invert_step(line.step);
	double q1 = 0, q2 = 0, x1 = 0, xq = 0;
	for (size_t i = 0; i < Q4_PART; i++) {
		const double q = round_code((x[i] + line.minimum) * inverse, 15);
		q1 += q;
		q2 += q * q;
		x1 += (double)x[i];
		xq += q * (double)x[i];
	}
	const double spread = Q4_PART * q2 - q1 * q1;
	if (spread <= 0) return line;
	const double step = (Q4_PART * xq - q1 * x1) / spread, minimum = (step * q1 - x1) / Q4_PART;
	if (step > 0 && minimum >= 0) return (struct q4_line){(float)step, (float)minimum};
	// A minimum cannot be negative: with a minimum of 0, only the step is fitted.
	return xq > 0 ? (struct q4_line){(float)(xq / q2), 0.0f} : line;
}

static struct q4_line fit_q4_line(const float *x) {
	float least = 0.0f, most = x[0];
	for (size_t i = 0; i < Q4_PART; i++) {
		least = fminf(least, x[i]);
		most = fmaxf(most, x[i]);
	}
	struct q4_line best = {0.0f, -least};
	if (!(most > least)) return best;
	double error = INFINITY;
	for (int i = 0; i < STEPS; i++) {
		const struct q4_line line = refit_q4_line(
		    x, (struct q4_line){(most - least) / 15.0f * get_grid_factor(i), -least});
		const double found = sum_q4_error(x, line);
		if (!(found < error)) continue;
		error = found;
		best = line;
	}
	return best;
}

/* Rounds the line to step = d * scale and minimum = dmin * minimum, with integers in 0..63. The
 * nearest integers and their neighbours are tried, 9 pairs in all: the error of one integer can
 * make good the error of the other. Both stay 0 unless a pair is better than weights of 0. */
static void round_q4_line(const float *x, struct q4_line line, float d, float dmin, int *scale,
                          int *minimum) {
	const int s = round_code(line.step * invert_step(d), 63),
	          m = round_code(line.minimum * invert_step(dmin), 63);
	double error = sum_q4_error(x, (struct q4_line){0.0f, 0.0f});
	*scale = *minimum = 0;
	for (int ds = -1; ds <= 1; ds++)
		for (int dm = -1; dm <= 1; dm++) {
			if (s + ds < 0 || s + ds > 63 || m + dm < 0 || m + dm > 63) continue;
			const double found = sum_q4_error(
			    x, (struct q4_line){d * (float)(s + ds), dmin * (float)(m + dm)});
			if (!(found < error)) continue;
			error = found;
			*scale = s + ds;
			*minimum = m + dm;
		}
}

bool k_write_q4(uint8_t to[Q4_K_BYTES], const float *x) {
	uint8_t *const packed = to + 4, *const codes = to + 16;
	struct q4_line lines[Q4_PARTS];
	float steepest = 0.0f, deepest = 0.0f;
	for (size_t part = 0; part < Q4_PARTS; part++) {
		lines[part] = fit_q4_line(x + part * Q4_PART);
		steepest = fmaxf(steepest, lines[part].step);
		deepest = fmaxf(deepest, lines[part].minimum);
	}
	const float d = store_half(to, steepest / 63.0f),
	            dmin = store_half(to + 2, deepest / 63.0f);
	if (!isfinite(d) || !isfinite(dmin)) return false;
	memset(packed, 0, Q4_K_BYTES - 4);
	for (size_t part = 0; part < Q4_PARTS; part++) {
		const float *from = x + part * Q4_PART;
		int scale, minimum;
		round_q4_line(from, lines[part], d, dmin, &scale, &minimum);
		// Scale and minimum have 6 bits each; 8 of each are packed into 12 bytes. Part 1:
		// byte 1 has the scale, byte 5 the minimum. Part 5: byte 9 has the lower 4 bits of
		// the scale and, above them, those of the minimum. Its upper 2 bits are at the top
		// of bytes 1 (scale) and 5 (minimum).
		if (part < 4) {
			packed[part] |= (uint8_t)scale;
			packed[part + 4] |= (uint8_t)minimum;
		} else {
			packed[part + 4] |= (uint8_t)((scale & 15) | (minimum & 15) << 4);
			packed[part - 4] |= (uint8_t)(scale >> 4 << 6);
			packed[part] |= (uint8_t)(minimum >> 4 << 6);
		}
		const float inverse = invert_step(d * (float)scale), offset = dmin * (float)minimum;
		for (size_t i = 0; i < Q4_PART; i++)
			codes[part / 2 * Q4_PART + i] |=
			    (uint8_t)(round_code((from[i] + offset) * inverse, 15) << part % 2 * 4);
	}
	return true;
}

/* ---- Q6_K ------------------------------------------------------------------------------------ */

static double sum_q6_error(const float *x, float step) {
	const float inverse = invert_step(step);
	double sum = 0;
	for (size_t i = 0; i < Q6_PART; i++) {
		const double difference =
		    (double)(step * (float)(round_code(x[i] * inverse + 32.0f, 63) - 32) - x[i]);
		sum += difference * difference;
	}
	return sum;
}

static float fit_q6_step(const float *x) {
	float extreme = 0.0f, best = 0.0f;
	double error = INFINITY;
	for (size_t i = 0; i < Q6_PART; i++)
		if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
	for (int g = 0; g < STEPS; g++) {
		const float step = extreme / -32.0f * get_grid_factor(g),
		            inverse = invert_step(step);
		double q2 = 0, xq = 0;
		for (size_t i = 0; i < Q6_PART; i++) {
			const double q = round_code(x[i] * inverse + 32.0f, 63) - 32;
			q2 += q * q;
			xq += q * (double)x[i];
		}
		const float refit = q2 > 0 ? (float)(xq / q2) : 0.0f;
		const double found = sum_q6_error(x, refit);
		if (!(found < error)) continue;
		error = found;
		best = refit;
	}
	return best;
}

static int round_q6_step(const float *x, float step, float d) {
	const int nearest = round_code(step * invert_step(d) + 128.0f, 255) - 128;
	int best = nearest;
	double error = INFINITY;
	for (int scale = nearest - 1; scale <= nearest + 1; scale++) {
		const double found =
		    scale < -128 || scale > 127 ? INFINITY : sum_q6_error(x, d * (float)scale);
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
		steps[part] = fit_q6_step(x + part * Q6_PART);
		if (fabsf(steps[part]) > fabsf(extreme)) extreme = steps[part];
	}
	const float d = store_half(to + 208, extreme / -128.0f);
	if (!isfinite(d)) return false;
	memset(to, 0, 208);
	for (size_t part = 0; part < Q6_PARTS; part++) {
		const int scale = round_q6_step(x + part * Q6_PART, steps[part], d);
		const float inverse = invert_step(d * (float)scale);
		scales[part] = (uint8_t)scale;
		for (size_t i = part * Q6_PART; i < (part + 1) * Q6_PART; i++) {
			// A code has 6 bits. A byte of `low` has the lower 4 bits of two codes, 64
			// apart. A byte of `high` has the upper 2 bits of four codes, 32 apart.
			// Example: i = 70 is half 0, quarter 2, l = 6. Its lower bits are bits 4-7
			// of low[6], its upper bits are bits 4-5 of high[6].
			const size_t half = i / 128, quarter = i / 32 % 4, l = i % 32;
			const int q = round_code(x[i] * inverse + 32.0f, 63);
			low[half * 64 + quarter % 2 * 32 + l] |=
			    (uint8_t)((q & 15) << quarter / 2 * 4);
			high[half * 32 + l] |= (uint8_t)(q >> 4 << quarter * 2);
		}
	}
	return true;
}
